//! Operations on events.

use crate::enums::scope::Scope;
use crate::error::{Error, ResourceKind, Result};
use crate::form::request::Request;
use crate::model::sale::event::{CreateEvent, Event, EventSettings, EventStatus, ListEvents, UpdateEvent};
use crate::model::sale::summary::EventSummary;
use crate::model::tenants::caller::{Caller, ConditionalCaller, IdempotentCall};
use crate::model::values::id::{EventId, OrganizationId};
use crate::model::values::page::Page;
use crate::sales::catalog::event_changes;
use crate::sales::idempotent_operation::OperationTarget;
use crate::service::TicketingService;
use crate::service::background::row_changes::cancel_orders;
use crate::service::state::ticketing_service::Inner;
use crate::store::sale::event_lists;
use crate::store::sale::{event_cancellations, event_figures, events};
use crate::store::{LockedEvent, work};
use crate::write::batches::Run;

/// The page views of how many events one transaction stores, if it locks none. Other writes wait for as long as this
/// takes.
const EVENTS_PER_TRANSACTION: usize = 500;

/// # Events
impl TicketingService {
    /// Lists events, newest first. Filters select by status, visibility, start date, and text in title or slug.
    ///
    /// `q` searches the events that the other filters find. If there are very many, it fails with
    /// [`Error::Unavailable`](crate::Error::Unavailable) after the time limit of a search. The other filters are
    /// look-ups.
    ///
    /// Requires the scope `events:read`.
    ///
    /// # Errors
    /// - [`Error::Validation`](crate::Error::Validation) for an invalid `limit`, `cursor` or `q`.
    ///
    /// ```
    /// use ticketing::event::ListEvents;
    #[doc = include_str!("../../doc_fixture.md")]
    /// let filter = ListEvents::default().q("night");
    /// let page = service.list_events(&caller, filter)?;
    /// assert_eq!(page.data, [event]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn list_events(&self, caller: &Caller, request: ListEvents) -> Result<Page<Event, EventId>> {
        self.list(caller, Scope::EventsRead, request, event_lists::list)
    }

    /// Creates an event. Its status is `DRAFTED` unless the request sets another; its currency and time zone default to
    /// those of the organization.
    ///
    /// Requires the scope `events:write`.
    ///
    /// # Errors
    /// - [`Error::Validation`](crate::Error::Validation) lists every field outside its limits (see [`CreateEvent`]).
    /// - [`Error::Conflict`](crate::Error::Conflict) with the reason `slug-taken` if another event of the organization
    ///   has the slug.
    ///
    /// ```
    /// use ticketing::event::{CreateEvent, EventStatus};
    #[doc = include_str!("../../doc_fixture.md")]
    /// let mut event = CreateEvent::new("Jazz Night", "jazz-night", "2026-06-01T18:00:00Z".parse()?);
    /// event.timezone = Some("Europe/Berlin".to_owned());
    /// let event = service.create_event(&caller, event)?;
    /// assert_eq!(event.status, EventStatus::Drafted);
    /// assert_eq!(event.start_time.as_deref(), Some("20:00"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create_event<C: IdempotentCall>(
        &self,
        caller: &C,
        request: impl Into<Request<CreateEvent>>,
    ) -> Result<C::Output<Event>> {
        self.writes().require(caller.as_caller(), Scope::EventsWrite)?;
        self.write(caller, OperationTarget::new("create_event"), request)
            .run(|tx, caller, request| event_changes::create(tx, caller.organization, request))
    }

    /// Returns an event.
    ///
    /// Requires the scope `events:read`.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the event does not exist.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// assert_eq!(service.get_event(&caller, event.id)?.slug, "summer-night");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_event(&self, caller: &Caller, id: EventId) -> Result<Event> {
        caller.require(Scope::EventsRead)?;
        self.store()?.read_one(|tx| events::get(tx, caller.organization, id))
    }

    /// Returns the event with a slug. The slug must be equal, also in upper and lower case.
    ///
    /// Requires the scope `events:read`.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if no event of the organization has the slug.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// assert_eq!(service.get_event_by_slug(&caller, "summer-night")?.id, event.id);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_event_by_slug(&self, caller: &Caller, slug: &str) -> Result<Event> {
        caller.require(Scope::EventsRead)?;
        self.store()?.read_one(|tx| events::get_by_slug(tx, caller.organization, slug))
    }

    /// Updates the fields of an event that the request sets.
    ///
    /// Setting the status to `CANCELLED` ends sales and check-in at once, and cancels the event's pending orders.
    /// Completed orders stay: refunds are the organizer's decision.
    ///
    /// The pending orders are cancelled after the event, in transactions of up to 200 orders, so that other writes do
    /// not wait. They are cancelled when this method returns. Until then, some are still reported as `PENDING`, but
    /// they can no longer be paid: a payment is refunded. If the program ends meanwhile, or the database cannot be
    /// written to, [maintenance](Self::run_maintenance) cancels the rest.
    ///
    /// Requires the scope `events:write`.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the event does not exist.
    /// - [`Error::RevisionMismatch`](crate::Error::RevisionMismatch) if the caller
    ///   [expects another revision](Caller::if_revision).
    /// - [`Error::Validation`](crate::Error::Validation) lists every field outside its limits (see [`CreateEvent`]).
    /// - [`Error::Conflict`](crate::Error::Conflict) with the reason `invalid-transition` if the status cannot follow
    ///   the current one, `in-use` if the currency changes although orders, prices or discounts have amounts in it, or
    ///   `slug-taken`.
    ///
    /// ```
    /// use ticketing::event::{EventStatus, UpdateEvent};
    /// use ticketing::Change;
    #[doc = include_str!("../../doc_fixture.md")]
    /// let changes = UpdateEvent::default().status(EventStatus::Cancelled);
    /// let event = service.update_event(&caller, event.id, changes)?;
    /// assert_eq!(event.status, EventStatus::Cancelled);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn update_event(
        &self,
        caller: impl Into<ConditionalCaller>,
        id: EventId,
        request: impl Into<Request<UpdateEvent>>,
    ) -> Result<Event> {
        let call = caller.into();
        self.writes().require(&call.caller, Scope::EventsWrite)?;
        let request = request.into();
        let identity = call.caller.identity();
        let event = self.writes().run_on(identity, id, move |tx, _| event_changes::update(tx, &call, id, &request))?;
        if event.status == EventStatus::Cancelled {
            self.cancel_pending_orders(identity.organization, id);
        }
        Ok(event)
    }

    /// Cancels the pending orders of a cancelled event. What fails is left to the maintenance.
    fn cancel_pending_orders(&self, organization: OrganizationId, event: EventId) {
        let (kind, never) = (event_cancellations::KIND, || false);
        let cancel = || {
            if self.store()?.read_one(|tx| work::is_there(tx, kind, event.raw()))?
                && cancel_orders(self, &mut Run::new(&never).of(organization), event)?.1.is_none()
            {
                self.store()?.write(Some(organization), move |tx| work::cancel(tx, kind, event.raw()))?;
            }
            Ok::<(), Error>(())
        };
        if let Err(error) = cancel() {
            tracing::warn!(
                target: "ticketing::maintenance",
                %event,
                %error,
                "the pending orders of a cancelled event could not be cancelled; the maintenance does it"
            );
        }
    }

    /// Updates the settings of an event that its sale does not depend on, such as its tags, its tracking pixels, and the time
    /// at which [its days begin](crate::guide::door#events-that-go-on-after-midnight).
    ///
    /// Requires the scope `events:write`.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the event does not exist.
    /// - [`Error::RevisionMismatch`](crate::Error::RevisionMismatch) if the caller
    ///   [expects another revision](Caller::if_revision).
    /// - [`Error::Validation`](crate::Error::Validation) lists every field outside its limits (see [`EventSettings`]).
    ///
    /// ```
    /// use ticketing::event::EventSettings;
    /// use ticketing::Change;
    #[doc = include_str!("../../doc_fixture.md")]
    /// let settings = EventSettings::default().tags(["jazz"]);
    /// let event = service.update_event_settings(&caller, event.id, settings)?;
    /// assert_eq!(event.tags, ["jazz"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn update_event_settings(
        &self,
        caller: impl Into<ConditionalCaller>,
        id: EventId,
        request: impl Into<Request<EventSettings>>,
    ) -> Result<Event> {
        let call = caller.into();
        self.writes().require(&call.caller, Scope::EventsWrite)?;
        let request = request.into();
        let identity = call.caller.identity();
        self.writes().run_on(identity, id, move |tx, _| event_changes::update_settings(tx, &call, id, &request))
    }

    /// Counts a view of the event's page. This does not change the event's revision.
    ///
    /// Views are counted in memory, and stored by the [maintenance](Self::run_maintenance), which runs every second,
    /// and when the service is closed or dropped. Reads show what is stored. If the process is killed, the views of
    /// about a second are lost. Those of an event that other transactions keep locked are stored later.
    ///
    /// Requires the scope `events:read`.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the event does not exist.
    /// - The error of [`ready`](Self::ready) if nothing can be stored: the view is not counted.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// service.record_page_view(&caller, event.id)?;
    /// service.run_maintenance()?;
    /// assert_eq!(service.get_event(&caller, event.id)?.page_views, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn record_page_view(&self, caller: &Caller, id: EventId) -> Result<()> {
        caller.require(Scope::EventsRead)?;
        let organization = caller.organization;
        if !self.store()?.read_one(|tx| events::exists(tx, organization, id))? {
            return Err(Error::NotFound(ResourceKind::Event));
        }
        // What is counted here is stored later.
        if !self.store_in_operation().is_writable() {
            self.store()?.ready()?;
        }
        if !self.inner.page_views.add(id, 1) {
            // There is no room in memory.
            self.writes().run_on(caller.identity(), id, move |tx, _| events::add_page_views(tx, id, 1))?;
        }
        Ok(())
    }

    /// Deletes an event with its ticket types and discounts.
    ///
    /// Of more than a thousand discounts, a thousand are deleted in one transaction, so that other writes wait only for
    /// one of these. From the first one on, the event is a draft. If the program ends in between, the event is left as
    /// a draft without these discounts, and can be deleted again.
    ///
    /// Requires the scope `events:write`.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the event does not exist.
    /// - [`Error::RevisionMismatch`](crate::Error::RevisionMismatch) if the caller
    ///   [expects another revision](Caller::if_revision).
    /// - [`Error::Conflict`](crate::Error::Conflict) with the reason `in-use` if the event has orders or tickets.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// service.delete_event(&caller, event.id)?;
    /// assert!(service.get_event(&caller, event.id).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn delete_event(&self, caller: impl Into<ConditionalCaller>, id: EventId) -> Result<()> {
        let call = caller.into();
        call.caller.require(Scope::EventsWrite)?;
        let mut is_first = true;
        loop {
            let call = call.clone();
            let identity = call.caller.identity();
            if self.writes().run_on(identity, id, move |tx, _| event_changes::delete(tx, &call, id, is_first))? {
                return Ok(());
            }
            is_first = false;
        }
    }

    /// Summarizes an event: its orders, revenue, tickets and ticket types, all at the same instant.
    ///
    /// The figures are kept up to date by the operations that change them, so that a summary costs the same however
    /// much was sold.
    ///
    /// Requires the scope `events:read`.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the event does not exist.
    ///
    /// ```
    /// use ticketing::order::CreateOrder;
    /// use ticketing::Amount;
    #[doc = include_str!("../../doc_fixture.md")]
    /// let order = |quantity| CreateOrder::new(event.id, ada.clone(), ticket_type.id, quantity);
    /// let paid = service.create_order(&caller, order(2))?.order;
    /// service.payment_completed(&caller, paid.id)?;
    /// service.create_order(&caller, order(3))?;
    ///
    /// let summary = service.get_event_summary(&caller, event.id)?;
    /// assert_eq!(summary.gross_revenue, Amount::cents(2500));
    /// assert_eq!(summary.orders_by_status.completed, 1);
    /// assert_eq!(summary.orders_by_status.pending, 1);
    /// let ticket_type = &summary.ticket_types[0];
    /// assert_eq!((ticket_type.sold, ticket_type.reserved, ticket_type.available), (2, 3, 95));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_event_summary(&self, caller: &Caller, id: EventId) -> Result<EventSummary> {
        caller.require(Scope::EventsRead)?;
        self.store()?.read(|tx| event_figures::of_event(tx, caller.organization, id))
    }
}

impl Inner {
    /// Stores how often the pages of events were viewed. Events that other transactions keep locked are left to the
    /// next time.
    pub(in crate::service) fn store_page_views(&self, stop: &dyn Fn() -> bool) -> Result<()> {
        let store = self.writes.store_in_operation();
        let events_at_once = if store.locks_events() { 1 } else { EVENTS_PER_TRANSACTION };
        self.page_views.store(events_at_once, stop, |viewed| {
            let Some((first, _)) = viewed.first().copied() else { return Ok(true) };
            let add_all = move |tx: &LockedEvent<'_>| {
                viewed.iter().try_for_each(|(event, views)| events::add_page_views(tx, *event, *views))
            };
            Ok(store.write_unless_locked(None, first.into(), add_all)?.is_some())
        })
    }
}
