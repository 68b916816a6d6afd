//! Events.

use super::TicketingService;
use crate::error::Result;
use crate::form::request::Request;
use crate::model::caller::Caller;
use crate::model::event::{CreateEvent, Event, EventSettings, ListEvents, UpdateEvent};
use crate::model::id::{EventId, kind};
use crate::model::page::Page;
use crate::model::scope::Scope;
use crate::rules::event as rules;
use crate::sales::event_changes;
use crate::sales::idempotency::OperationTarget;
use crate::store::events;

impl TicketingService {
    /// Lists events, newest first. Scope `events:read`.
    ///
    /// # Errors
    /// A validation error names `limit`, `cursor` or `q`.
    ///
    /// ```
    /// use ticketing::ListEvents;
    #[doc = include_str!("../doc_fixture.md")]
    /// let found = service.list_events(&caller, ListEvents { q: Some("night".to_owned()), ..Default::default() })?;
    /// assert_eq!(found.data, [event]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn list_events(
        &self,
        caller: &Caller,
        request: impl Into<Request<ListEvents>>,
    ) -> Result<Page<Event, kind::Event>> {
        caller.require(Scope::EventsRead)?;
        let Request { body, errors } = request.into();
        let request = rules::check_list(body, errors)?;
        self.store().read(|tx| events::list(tx, caller.organization, &request))
    }

    /// Creates an event. Scope `events:write`.
    ///
    /// # Errors
    /// A validation error names every field that breaks its limit (see [`CreateEvent`]); the conflict `slug-taken`.
    ///
    /// ```
    /// use ticketing::{CreateEvent, EventStatus};
    #[doc = include_str!("../doc_fixture.md")]
    /// let mut event = CreateEvent::new("Jazz Night", "jazz-night", "2026-06-01T18:00:00Z".parse()?);
    /// event.timezone = Some("Europe/Berlin".to_owned());
    /// let event = service.create_event(&caller, event)?;
    /// assert_eq!(event.status, EventStatus::Drafted);
    /// assert_eq!(event.start_time.as_deref(), Some("20:00"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create_event(&self, caller: &Caller, request: impl Into<Request<CreateEvent>>) -> Result<Event> {
        caller.require(Scope::EventsWrite)?;
        let organization = caller.organization;
        self.write_idempotent(caller, OperationTarget::new("create_event"), request, move |tx, request| {
            event_changes::create(tx, organization, request)
        })
    }

    /// Reads one event. Scope `events:read`.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// assert_eq!(service.get_event(&caller, event.id)?.slug, "summer-night");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_event(&self, caller: &Caller, id: EventId) -> Result<Event> {
        caller.require(Scope::EventsRead)?;
        self.store().read_one(|tx| events::get(tx, caller.organization, id))
    }

    /// Changes an event. Cancelling it cancels its pending orders; completed ones stay. Scope `events:write`.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::RevisionMismatch`]; a validation error as for creation; the conflicts
    /// `invalid-transition` (the status cannot follow), `in-use` (the currency, once something has an amount in it) and `slug-taken`.
    ///
    /// ```
    /// use ticketing::{Change, EventStatus, UpdateEvent};
    #[doc = include_str!("../doc_fixture.md")]
    /// let changes = UpdateEvent { status: Change::Set(EventStatus::Cancelled), ..Default::default() };
    /// assert_eq!(service.update_event(&caller, event.id, changes)?.status, EventStatus::Cancelled);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn update_event(
        &self,
        caller: &Caller,
        id: EventId,
        request: impl Into<Request<UpdateEvent>>,
    ) -> Result<Event> {
        caller.require(Scope::EventsWrite)?;
        let Request { body, errors } = request.into();
        let caller = caller.clone();
        self.store().write(move |tx| event_changes::update(tx, &caller, id, body, errors))
    }

    /// Changes what an event carries beside its sale. Scope `events:write`.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::RevisionMismatch`]; a validation error where a text holds U+0000.
    ///
    /// ```
    /// use ticketing::{Change, EventSettings};
    #[doc = include_str!("../doc_fixture.md")]
    /// let settings = EventSettings { tags: Change::Set(vec!["jazz".to_owned()]), ..Default::default() };
    /// assert_eq!(service.update_event_settings(&caller, event.id, settings)?.tags, ["jazz"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn update_event_settings(
        &self,
        caller: &Caller,
        id: EventId,
        request: impl Into<Request<EventSettings>>,
    ) -> Result<Event> {
        caller.require(Scope::EventsWrite)?;
        let Request { body, errors } = request.into();
        let (organization, caller) = (caller.organization, caller.clone());
        self.store().write(move |tx| {
            let current = events::get(tx, organization, id)?;
            caller.check_revision(current.revision)?;
            let settings = rules::check_settings(body, errors)?;
            events::update_settings(tx, current, &settings)?;
            events::get(tx, organization, id)
        })
    }

    /// Counts a view of the event's page. It is no change of the event. Scope `events:read`.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// service.record_page_view(&caller, event.id)?;
    /// assert_eq!(service.get_event(&caller, event.id)?.page_views, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn record_page_view(&self, caller: &Caller, id: EventId) -> Result<()> {
        caller.require(Scope::EventsRead)?;
        let organization = caller.organization;
        self.store().write(move |tx| events::record_page_view(tx, organization, id))
    }

    /// Deletes an event with its ticket types and discounts. Scope `events:write`.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::RevisionMismatch`]; the conflict `in-use` once it has orders or tickets.
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// service.delete_event(&caller, event.id)?;
    /// assert!(service.get_event(&caller, event.id).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn delete_event(&self, caller: &Caller, id: EventId) -> Result<()> {
        caller.require(Scope::EventsWrite)?;
        let (organization, caller) = (caller.organization, caller.clone());
        self.store().write(move |tx| {
            caller.check_revision(events::get(tx, organization, id)?.revision)?;
            events::delete(tx, organization, id)
        })
    }
}
