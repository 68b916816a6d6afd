//! Links with which the staff at an entrance check tickets in.

use super::organization::{ApiKey, CreateApiKey};
use crate::enums::scope::Scope;
use crate::form::declare::fields::form;
use crate::form::limits::LINE_LENGTH;
use crate::form::limits::TextLimit::{MaxLength, MinLength};
use crate::model::values::id::{ApiKeyId, EventId};
use crate::model::values::page::{PageRequest, list_request};
use crate::model::values::responses::responses;
use crate::model::values::secret::Secret;
use crate::model::values::timestamp::Timestamp;

/// # Constructors
impl CreateDoorLink {
    /// Creates a request for a link of an entrance, such as `Gate A`, that works until six hours after the end of the
    /// event.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), until: None }
    }

    /// The key of the link.
    pub(crate) fn key(self, event: EventId, until: Timestamp) -> CreateApiKey {
        CreateApiKey::new(self.name).scopes([Scope::TicketsCheckIn]).event(event).expires_at(until)
    }
}

form! {
    /// A new link for the staff of an entrance.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct CreateDoorLink {
        /// The name of the entrance: 1 to 255 characters. It becomes the name of the API key, and the staff see it.
        pub name: String [MinLength(1), MaxLength(LINE_LENGTH)],
        /// The link works until this time: at most 7 days after the end of the event. The default is six hours after
        /// the end.
        pub until: Option<Timestamp> [nullable],
    }
}

responses! {
    /// A link for the staff of an entrance, without its secret. The link works until it expires or is revoked. It shows no
    /// name of a holder, and no code of a ticket.
    pub struct DoorLink {
        /// The id, which is that of the API key in the link.
        pub id: ApiKeyId,
        /// The event.
        pub event_id: EventId,
        /// The name of the entrance.
        pub name: String,
        /// When the link was created.
        pub created_at: Timestamp,
        /// The link works until this time.
        pub expires_at: Option<Timestamp>,
        /// When the link was last used. Accurate to about a minute.
        pub last_used_at: Option<Timestamp>,
        /// When the link was revoked.
        pub revoked_at: Option<Timestamp>,
    }

    /// A newly created link for the staff of an entrance. Whoever has it can check tickets of the event in.
    pub struct CreatedDoorLink {
        /// The link without its secret.
        #[serde(flatten)]
        pub link: DoorLink,
        /// The link: the public URL of the service, `/door/#`, the id of the event, `/` and an API key. Browsers do not
        /// send what follows `#`. No other response contains it.
        pub url: Secret,
    }
}

impl DoorLink {
    pub(crate) fn of(event_id: EventId, key: ApiKey) -> Self {
        let ApiKey { id, name, created_at, expires_at, last_used_at, revoked_at, .. } = key;
        Self { id, event_id, name, created_at, expires_at, last_used_at, revoked_at }
    }
}

list_request! {
    /// A request to list the links for the staff of the entrances of an event.
    pub struct ListDoorLinks {
        /// The part of the list to return.
        pub page: PageRequest<ApiKeyId>,
    }
}
