//! Organizations and their API keys.

use super::id::{ApiKeyId, OrganizationId};
use super::secret::Secret;
use super::timestamp::Timestamp;
use crate::form::setters::with_setters;
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

with_setters! {
    /// A new organization. In JSON, an absent field has its default.
    #[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    pub struct CreateOrganization {
        /// The name: at least 1 character. The default is `My organization`.
        pub name: String,
        /// The default currency of events: an ISO 4217 code. The default is `EUR`.
        pub currency: String,
        /// The default time zone of events: an IANA name. The default is `UTC`.
        pub timezone: String,
    }
}

impl Default for CreateOrganization {
    fn default() -> Self {
        Self::new("My organization")
    }
}

impl CreateOrganization {
    /// Creates an organization with a name, the currency `EUR` and the time zone `UTC`.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), currency: "EUR".to_owned(), timezone: "UTC".to_owned() }
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

with_setters! {
    /// A new API key.
    #[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub struct CreateApiKey {
        /// The name: at least 1 character.
        pub name: String,
        /// The scopes: at least one.
        pub scopes: Scopes,
        /// The key is refused from this time on.
        pub expires_at: Option<Timestamp>,
    }
}

impl CreateApiKey {
    /// Creates a key with a name and scopes that does not expire.
    #[must_use]
    pub fn new(name: impl Into<String>, scopes: impl Into<Scopes>) -> Self {
        Self { name: name.into(), scopes: scopes.into(), expires_at: None }
    }
}

/// A newly created API key, with its secret. The secret cannot be read again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatedApiKey {
    /// The key without its secret.
    pub api_key: ApiKey,
    /// The secret: `tk_` and 36 letters and digits.
    pub key: Secret,
}
