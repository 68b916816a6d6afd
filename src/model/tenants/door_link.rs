//! Links with which the staff at an entrance check tickets in.

use super::organization::{ApiKey, CreateApiKey};
use crate::enums::scope::Scope;
use crate::form::declare::setters::with_setters;
use crate::model::values::id::EventId;
use crate::model::values::secret::Secret;
use crate::model::values::timestamp::Timestamp;

/// # Constructors
impl CreateDoorLink {
    /// Creates a request for a link of an entrance, such as `Gate A`, that works until six hours after the end of the
    /// event.
    #[must_use]
    pub fn new(event_id: EventId, name: impl Into<String>) -> Self {
        Self { event_id, name: name.into(), until: None }
    }

    /// The key of the link.
    pub(crate) fn key(self, until: Timestamp) -> CreateApiKey {
        CreateApiKey::new(self.name).scopes([Scope::TicketsCheckIn]).event(self.event_id).expires_at(until)
    }
}

with_setters! {
    /// A request to create a link for the staff of an entrance.
    #[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub struct CreateDoorLink {
        /// The event.
        pub event_id: EventId,
        /// The name of the entrance: 1 to 255 characters. It becomes the name of the API key, and the staff see it.
        pub name: String,
        /// The link works until this time: at most 7 days after the end of the event. The default is six hours after
        /// the end.
        pub until: Option<Timestamp>,
    }
}

/// A link for the staff of an entrance. It contains an API key, so whoever has the link can check tickets of the event in. It
/// works until it expires, or until the key is [revoked](crate::TicketingService::revoke_api_key). It shows no name of a
/// holder, and no code of a ticket.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DoorLink {
    /// The link: the [public URL](crate::Builder::public_url), `/door/#`, the id of the event, `/` and the key. Browsers
    /// do not send what follows `#`.
    pub url: Secret,
    /// The key, without its secret.
    pub api_key: ApiKey,
    /// The link works until this time.
    pub expires_at: Timestamp,
}
