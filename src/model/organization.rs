//! Organizations and their API keys.

use super::id::{ApiKeyId, OrganizationId};
use super::secret::Secret;
use super::timestamp::Timestamp;
use crate::scope::Scopes;

/// An organization: whose events, orders and tickets a caller sees.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Organization {
    /// Its id.
    pub id: OrganizationId,
    /// Its name.
    pub name: String,
    /// The currency of its events that name none: an ISO 4217 code.
    pub currency: String,
    /// The time zone of its events that name none: an IANA name.
    pub timezone: String,
    /// When it was created.
    pub created_at: Timestamp,
}

/// A new organization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateOrganization {
    /// Its name, 1 character or more.
    pub name: String,
    /// The currency of its events that name none: an ISO 4217 code.
    pub currency: String,
    /// The time zone of its events that name none: an IANA name.
    pub timezone: String,
}

impl Default for CreateOrganization {
    fn default() -> Self {
        Self { name: "My organization".to_owned(), currency: "EUR".to_owned(), timezone: "UTC".to_owned() }
    }
}

/// An API key, without the key itself: only its hash is stored.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiKey {
    /// The id under which it is listed and revoked.
    pub id: ApiKeyId,
    /// The organization it acts for.
    pub organization_id: OrganizationId,
    /// Its name.
    pub name: String,
    /// What it may do.
    pub scopes: Scopes,
    /// From this instant on it is refused.
    pub expires_at: Option<Timestamp>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was used last, to the minute and a little late.
    pub last_used_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

/// A new API key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateApiKey {
    /// Its name, 1 character or more.
    pub name: String,
    /// What it may do: at least one scope.
    pub scopes: Scopes,
    /// From this instant on it is refused.
    pub expires_at: Option<Timestamp>,
}

/// An API key at the one moment at which it can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatedApiKey {
    /// What is stored of it.
    pub api_key: ApiKey,
    /// The key itself: `tk_` and 36 letters and digits.
    pub key: Secret,
}
