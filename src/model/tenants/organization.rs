//! Organizations and their API keys.

use crate::enums::scope::{Scope, Scopes};
use crate::form::change::Change;
use crate::form::declare::setters::with_setters;
use crate::form::declare::writable_fields::writable_fields;
use crate::form::limits::TextLimit::{HttpsUrl, MaxLength, MinLength, Slug};
use crate::form::limits::{LINE_LENGTH, PAGE_NAME_LENGTH, URL_LENGTH};
use crate::model::values::id::{ApiKeyId, EventId, OrganizationId};
use crate::model::values::page::{PageRequest, list_request};
use crate::model::values::secret::Secret;
use crate::model::values::timestamp::Timestamp;

/// An organization. A caller only sees the events, orders and tickets of its organization.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Organization {
    /// The id.
    pub id: OrganizationId,
    /// The name.
    pub name: String,
    /// The default currency of events: an ISO 4217 code.
    pub currency: String,
    /// The default time zone of events: an IANA name.
    pub timezone: String,
    /// The embedding program's own name for the organization.
    pub reference: Option<String>,
    /// The name in the addresses of the pages of its events, in place of the id.
    pub page_name: Option<String>,
    /// The `https` URL of its website.
    pub website: Option<String>,
    /// The `https` URL of the page that says who the organization is.
    pub imprint_url: Option<String>,
    /// The `https` URL of the page that says how the organization treats personal data.
    pub privacy_url: Option<String>,
    /// Since when the organization is [suspended](crate::TicketingService::suspend_organization). Not set if it is not.
    pub suspended_at: Option<Timestamp>,
    /// When the organization was created.
    pub created_at: Timestamp,
}

impl Organization {
    /// What names it in the addresses of the pages of its events: its page name, or its id.
    #[cfg(feature = "event-pages")]
    pub(crate) fn page(&self) -> String {
        self.page_name.clone().unwrap_or_else(|| self.id.to_string())
    }
}

/// # Constructors
impl CreateOrganization {
    /// Creates an organization with a name, the currency `EUR` and the time zone `UTC`.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            currency: "EUR".to_owned(),
            timezone: "UTC".to_owned(),
            reference: None,
            page_name: None,
            website: None,
            imprint_url: None,
            privacy_url: None,
        }
    }
}

with_setters! {
    /// A request to create an organization. In JSON, an absent field has its default.
    #[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    pub struct CreateOrganization {
        /// The name: 1 to 255 characters. The default is `My organization`.
        pub name: String,
        /// The default currency of events: an ISO 4217 code. The default is `EUR`.
        pub currency: String,
        /// The default time zone of events: an IANA name. The default is `UTC`.
        pub timezone: String,
        /// The embedding program's own name for the organization, such as a customer number: 1 to 255 characters. No
        /// two organizations have the same.
        pub reference: Option<String>,
        /// The name in the addresses of the pages of its events, in place of the id: 1 to 60 characters, which are
        /// lower-case letters and digits, in groups joined by single hyphens. No two organizations have the same. It
        /// cannot be an id, because ids have an underscore.
        pub page_name: Option<String>,
        /// The `https` URL of its website, with a host and without a user: at most 2,048 characters.
        pub website: Option<String>,
        /// The `https` URL of the page that says who the organization is, with a host and without a user: at most 2,048
        /// characters.
        pub imprint_url: Option<String>,
        /// The `https` URL of the page that says how the organization treats personal data, with a host and without a
        /// user: at most 2,048 characters.
        pub privacy_url: Option<String>,
    }
}

/// The name of an organization that was given none.
pub(crate) const DEFAULT_NAME: &str = "My organization";

impl Default for CreateOrganization {
    fn default() -> Self {
        Self::new(DEFAULT_NAME)
    }
}

writable_fields! {
    /// Changes to an organization, with the same limits as for its creation.
    update UpdateOrganization;
    fields OrganizationFields of Organization;

    /// The name: 1 to 255 characters.
    name: String => required, MinLength(1), MaxLength(LINE_LENGTH);
    /// The default currency of new events: an ISO 4217 code.
    currency: String => required;
    /// The default time zone of new events: an IANA name.
    timezone: String => required;
    /// The embedding program's own name for the organization: 1 to 255 characters. No two organizations have the same.
    reference: String => nullable, MinLength(1), MaxLength(LINE_LENGTH);
    /// The name in the addresses of the pages of its events, in place of the id: 1 to 60 characters, which are
    /// lower-case letters and digits, in groups joined by single hyphens. No two organizations have the same. It cannot
    /// be an id, because ids have an underscore.
    page_name: String => nullable, Slug, MaxLength(PAGE_NAME_LENGTH);
    /// The `https` URL of its website, with a host and without a user: at most 2,048 characters.
    website: String => nullable, HttpsUrl, MaxLength(URL_LENGTH);
    /// The `https` URL of the page that says who the organization is, with a host and without a user: at most 2,048
    /// characters.
    imprint_url: String => nullable, HttpsUrl, MaxLength(URL_LENGTH);
    /// The `https` URL of the page that says how the organization treats personal data, with a host and without a user:
    /// at most 2,048 characters.
    privacy_url: String => nullable, HttpsUrl, MaxLength(URL_LENGTH);
}

impl From<CreateOrganization> for UpdateOrganization {
    fn from(request: CreateOrganization) -> Self {
        let CreateOrganization { name, currency, timezone, reference, page_name, website, imprint_url, privacy_url } =
            request;
        Self {
            name: Change::Set(name),
            currency: Change::Set(currency),
            timezone: Change::Set(timezone),
            reference: Change::Set(reference),
            page_name: Change::Set(page_name),
            website: Change::Set(website),
            imprint_url: Change::Set(imprint_url),
            privacy_url: Change::Set(privacy_url),
        }
    }
}

impl From<UpdateOrganization> for OrganizationFields {
    /// The fields of a new organization. What is not set is empty.
    fn from(request: UpdateOrganization) -> Self {
        Self {
            name: request.name.over(String::new()),
            currency: request.currency.over(String::new()),
            timezone: request.timezone.over(String::new()),
            reference: request.reference.over(None),
            page_name: request.page_name.over(None),
            website: request.website.over(None),
            imprint_url: request.imprint_url.over(None),
            privacy_url: request.privacy_url.over(None),
        }
    }
}

list_request! {
    /// A request to list organizations.
    pub struct ListOrganizations {
        /// Only the organization with exactly this reference.
        pub reference: Option<String> [MaxLength(LINE_LENGTH)],
        /// The part of the list to return.
        pub page: PageRequest<OrganizationId>,
    }
}

/// How much an organization stores.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct OrganizationUsage {
    /// The events.
    pub events: u64,
    /// The customers.
    pub customers: u64,
    /// The orders, in every state.
    pub orders: u64,
    /// The tickets, including cancelled ones.
    pub tickets: u64,
    /// The rows of the logs of scans.
    #[serde(default)]
    pub scans: u64,
    /// The mails, as long as they are listed.
    #[serde(default)]
    pub mails: u64,
    /// An estimate of the bytes that all this takes in the database file, with its indexes: the lengths of long texts,
    /// and for each row what such a row usually takes. It can be wrong by half. Notifications, which are deleted after
    /// some time, and discounts are not included.
    pub bytes: u64,
}

/// An organization and how much it stores.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct OrganizationWithUsage {
    /// The organization.
    pub organization: Organization,
    /// How much it stores.
    pub usage: OrganizationUsage,
}

/// An API key without its secret. Only a hash of the secret is stored.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ApiKey {
    /// The id.
    pub id: ApiKeyId,
    /// The organization.
    pub organization_id: OrganizationId,
    /// The name.
    pub name: String,
    /// The scopes.
    pub scopes: Scopes,
    /// The only event whose tickets the key checks in. Not set if it is not restricted to one.
    pub event_id: Option<EventId>,
    /// The key is refused from this time on.
    pub expires_at: Option<Timestamp>,
    /// When the key was created.
    pub created_at: Timestamp,
    /// When the key was last used. Accurate to about a minute.
    pub last_used_at: Option<Timestamp>,
    /// When the key was revoked.
    pub revoked_at: Option<Timestamp>,
}

/// # Constructors
impl CreateApiKey {
    /// Creates a key that has all scopes and does not expire. [`scopes`](Self::scopes) restricts what it may do.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), scopes: Scopes::all(), event_id: None, expires_at: None }
    }

    /// Whether `tickets:check-in` is the only scope.
    pub(crate) fn only_checks_in(&self) -> bool {
        self.scopes.iter().eq([Scope::TicketsCheckIn])
    }
}

with_setters! {
    /// A request to create an API key.
    #[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub struct CreateApiKey {
        /// The name: 1 to 255 characters.
        pub name: String,
        /// The scopes: at least one. In JSON they have no default.
        pub scopes: Scopes,
        /// Restricts the key to check-in at this event. Its only scope is then `tickets:check-in`, and the answers to it
        /// name no holder. The scans of the event are logged from now on.
        pub event_id: Option<EventId>,
        /// The key is refused from this time on.
        pub expires_at: Option<Timestamp>,
    }
}

/// A newly created API key, with its secret. The secret cannot be read again.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CreatedApiKey {
    /// The key without its secret.
    pub api_key: ApiKey,
    /// The secret: `tk_` and 36 letters and digits.
    pub key: Secret,
}
