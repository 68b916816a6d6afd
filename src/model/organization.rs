//! Organizations and their API keys.

use super::id::{ApiKeyId, OrganizationId};
use super::secret::Secret;
use super::timestamp::Timestamp;
use crate::scope::Scopes;

/// An organization. A caller only sees the events, orders and tickets of its organization.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Organization {
    /// The id.
    pub id: OrganizationId,
    /// The name.
    pub name: String,
    /// The default currency of events: an ISO 4217 code.
    pub currency: String,
    /// The default time zone of events: an IANA name.
    pub timezone: String,
    /// When the organization was created.
    pub created_at: Timestamp,
}

/// A new organization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateOrganization {
    /// The name: at least 1 character.
    pub name: String,
    /// The default currency of events: an ISO 4217 code.
    pub currency: String,
    /// The default time zone of events: an IANA name.
    pub timezone: String,
}

impl Default for CreateOrganization {
    fn default() -> Self {
        Self { name: "My organization".to_owned(), currency: "EUR".to_owned(), timezone: "UTC".to_owned() }
    }
}

/// An API key without its secret, of which only a hash is stored.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiKey {
    /// The id.
    pub id: ApiKeyId,
    /// The organization.
    pub organization_id: OrganizationId,
    /// The name.
    pub name: String,
    /// The scopes.
    pub scopes: Scopes,
    /// The key is refused from this time on.
    pub expires_at: Option<Timestamp>,
    /// When the key was created.
    pub created_at: Timestamp,
    /// When the key was last used. Accurate to about a minute.
    pub last_used_at: Option<Timestamp>,
    /// When the key was revoked.
    pub revoked_at: Option<Timestamp>,
}

/// A new API key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateApiKey {
    /// The name: at least 1 character.
    pub name: String,
    /// The scopes: at least one.
    pub scopes: Scopes,
    /// The key is refused from this time on.
    pub expires_at: Option<Timestamp>,
}

/// A newly created API key, with its secret. The secret cannot be read again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatedApiKey {
    /// The key without its secret.
    pub api_key: ApiKey,
    /// The secret: `tk_` and 36 letters and digits.
    pub key: Secret,
}
