//! Check-in on devices at the entrance, with or without a connection.

use crate::enums::scope::Scope;
use crate::error::{Error, ResourceKind, Result};
use crate::form::request::Request;
use crate::model::tenants::caller::{Caller, IdempotentCall, Identity};
use crate::model::tenants::door_link::{CreateDoorLink, CreatedDoorLink, DoorLink, ListDoorLinks};
use crate::model::tenants::idempotency::Replayable;
use crate::model::tickets::roster::{GetRoster, MAX_TICKETS, Roster, RosterOrder};
use crate::model::tickets::scan::{ListScans, LoggedScan, UploadScans, UploadedScans};
use crate::model::values::id::{ApiKeyId, EventId, OrderId, ScanId};
use crate::model::values::page::Page;
use crate::rules::checked_request;
use crate::rules::entrance::door as rules;
use crate::sales::catalog::organization_changes;
use crate::sales::idempotent_operation::OperationTarget;
use crate::sales::tickets::scan_uploads;
use crate::service::TicketingService;
use crate::store::Transaction;
use crate::store::sale::events;
use crate::store::tenants::api_keys;
use crate::store::tickets::{roster, scan_log};

/// # Check-in on phones
///
/// A [link](Self::create_door_link) gives the staff of an entrance a key of one event. With it a device reads the
/// [roster](Self::get_roster), decides by it while it has no connection, and [reports](Self::upload_scans) its scans
/// later. All scans of a ticket are put in the order in which they happened, so the order of the reports makes no
/// difference. A ticket that two devices without a connection admitted is found then:
/// [`ScanOutcome::AdmittedTwice`](crate::door::ScanOutcome::AdmittedTwice).
impl TicketingService {
    /// Creates a link for the staff of an entrance: an API key of one event, in the URL of the page for check-in. From then
    /// on, all scans of the event are logged, and each check-in writes a row more.
    ///
    /// The result contains the link, which no read operation returns. With an
    /// [idempotency key](Caller::with_idempotency_key), the result is stored for 24 hours, including the link.
    ///
    /// Requires the scope `events:write`.
    ///
    /// # Errors
    /// - [`Error::NotFound`] if the event does not exist.
    /// - [`Error::Validation`] for `name` (1 to 255 characters), `until` (in the future, and at most 7 days after the end of
    ///   the event), and `public_url` if the service has no [public URL](crate::Builder::public_url).
    /// - [`Error::Conflict`] with the reason `event-cancelled`, or `limit-reached` as in
    ///   [`create_api_key`](Self::create_api_key).
    ///
    /// ```
    /// use ticketing::door::CreateDoorLink;
    #[doc = include_str!("../../doc_fixture.md")]
    /// # drop(service);
    /// # let path = folder.path().join("ticketing.db");
    /// let service = TicketingService::builder(path).public_url("https://tickets.example.com").open()?;
    /// let created = service.create_door_link(&caller, event.id, CreateDoorLink::new("Gate A"))?;
    /// assert!(created.url.expose().starts_with("https://tickets.example.com/door/#event_"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create_door_link<C: IdempotentCall>(
        &self,
        caller: &C,
        event: EventId,
        request: impl Into<Request<CreateDoorLink>>,
    ) -> Result<C::Output<CreatedDoorLink>> {
        self.writes().require(caller.as_caller(), Scope::EventsWrite)?;
        let (key, public_url) = (self.random_api_key(), self.payments().public_url.clone());
        let target = OperationTarget::on("create_door_link", event);
        self.write(caller, target, request).run_on(event, move |tx, caller, request, _| {
            organization_changes::create_door_link(tx, caller.organization, event, request, &key, public_url.as_deref())
        })
    }

    /// Lists the links of the entrances of an event, newest first, including expired and revoked ones.
    ///
    /// Requires the scope `events:write`.
    ///
    /// # Errors
    /// - [`Error::NotFound`] if the event does not exist.
    /// - [`Error::Validation`] for an invalid `limit` or `cursor`.
    ///
    /// ```
    /// use ticketing::door::ListDoorLinks;
    /// use ticketing::organization::{CreateApiKey, Scope};
    #[doc = include_str!("../../doc_fixture.md")]
    /// let key = CreateApiKey::new("Gate A").scopes([Scope::TicketsCheckIn]).event(event.id);
    /// let key = service.create_api_key(organization.id, key)?.api_key;
    /// let links = service.list_door_links(&caller, event.id, ListDoorLinks::new())?;
    /// assert_eq!((links.data[0].id, &*links.data[0].name), (key.id, "Gate A"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn list_door_links(
        &self,
        caller: &Caller,
        event: EventId,
        request: ListDoorLinks,
    ) -> Result<Page<DoorLink, ApiKeyId>> {
        caller.require(Scope::EventsWrite)?;
        let request = checked_request(request)?;
        self.store()?.read(|tx| {
            if !events::exists(tx, caller.organization, event)? {
                return Err(Error::NotFound(ResourceKind::Event));
            }
            api_keys::list_door_links(tx, event, &request)
        })
    }

    /// Revokes the link of an entrance. From the next request on it is refused, in every process. Phones keep what they have
    /// not reported, for another link of the event. Revoking a link again changes nothing.
    ///
    /// Requires the scope `events:write`.
    ///
    /// # Errors
    /// - [`Error::NotFound`] if the event has no such link.
    ///
    /// ```
    /// use ticketing::organization::{CreateApiKey, Scope};
    #[doc = include_str!("../../doc_fixture.md")]
    /// let key = CreateApiKey::new("Gate A").scopes([Scope::TicketsCheckIn]).event(event.id);
    /// let created = service.create_api_key(organization.id, key)?;
    /// service.revoke_door_link(&caller, event.id, created.api_key.id)?;
    /// assert!(service.authenticate(&created.key).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn revoke_door_link(&self, caller: &Caller, event: EventId, id: ApiKeyId) -> Result<()> {
        caller.require(Scope::EventsWrite)?;
        let organization = caller.organization;
        self.store()?.write(organization, move |tx| api_keys::revoke_door_link(tx, organization, event, id))
    }

    /// Returns a part of the roster of an event: the rules of admission, and the tickets without names and codes. In place
    /// of a code it has a hash, with which a device that sees the code finds the ticket. First come all tickets, in parts;
    /// after that, what has changed since, with the [conflicts](crate::door::ScanConflict) of these tickets.
    ///
    /// Requires the scope `tickets:check-in`.
    ///
    /// # Errors
    /// - [`Error::NotFound`] if the event does not exist, or is not that of the caller's key.
    /// - [`Error::Conflict`] with the reason `no-door-link`.
    /// - [`Error::Validation`] for an invalid `since` or `limit`.
    ///
    /// ```
    /// use ticketing::door::GetRoster;
    /// use ticketing::organization::{CreateApiKey, Scope};
    #[doc = include_str!("../../doc_fixture.md")]
    /// service.issue_tickets(&caller, IssueTickets::new(ticket_type.id, ada, 2))?;
    /// let key = CreateApiKey::new("Gate A").scopes([Scope::TicketsCheckIn]).event(event.id);
    /// let gate = service.authenticate(&service.create_api_key(organization.id, key)?.key)?;
    /// let roster = service.get_roster(&gate, event.id, GetRoster::new())?;
    /// assert_eq!((roster.tickets.len(), roster.complete), (2, true));
    /// let changes = service.get_roster(&gate, event.id, GetRoster::new().since(roster.cursor))?;
    /// assert_eq!(changes.counts, roster.counts);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_roster(&self, caller: &Caller, event: EventId, request: GetRoster) -> Result<Roster> {
        caller.require(Scope::TicketsCheckIn)?;
        caller.require_event(event)?;
        let request = checked_request(request)?;
        let Identity { organization, key, .. } = caller.identity();
        let limit = request.limit.unwrap_or(MAX_TICKETS);
        self.store()?.scan(Some(organization), |tx| {
            let part = roster::read(tx, organization, event, request.since.as_deref(), limit)?;
            let gate = key.map(|key| api_keys::name(tx, key)).transpose()?.flatten();
            Ok(Roster { gate, ..part })
        })
    }

    /// Returns the tickets of an order without names and codes, for a holder who has no code to show but knows the number of
    /// the order. Each has the proof with which a device reports a scan of it.
    ///
    /// Whoever knows the number of an order can check its tickets in with this. The server lets a door link look up 60 orders
    /// in an hour, so that numbers cannot be tried out.
    ///
    /// Requires the scope `tickets:check-in`.
    ///
    /// # Errors
    /// - [`Error::NotFound`] if the event does not exist, or is not that of the caller's key, or if no order of the event
    ///   with this id has tickets.
    /// - [`Error::Conflict`] with the reason `no-door-link`.
    ///
    /// ```
    /// use ticketing::door::{NewScan, ScanKind, ScanOutcome, UploadScans};
    /// use ticketing::organization::{CreateApiKey, Scope};
    #[doc = include_str!("../../doc_fixture.md")]
    /// let order = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2).payment(PaymentChoice::Paid))?.order;
    /// let key = CreateApiKey::new("Gate A").scopes([Scope::TicketsCheckIn]).event(event.id);
    /// let gate = service.authenticate(&service.create_api_key(organization.id, key)?.key)?;
    ///
    /// let tickets = service.get_roster_order(&gate, event.id, order.id)?.tickets;
    /// assert_eq!(tickets.len(), 2);
    /// let id = "0192f0c1-2a3b-7c4d-8e5f-0123456789ab";
    /// let now = "2026-06-01T18:00:00Z".parse()?;
    /// let scan = NewScan::of_ticket(id, ScanKind::In, tickets[0].ticket_id, &*tickets[0].proof, now);
    /// let results = service.upload_scans(&gate, UploadScans::new("Phone 1", [scan]))?.results;
    /// assert_eq!(results[0].outcome, ScanOutcome::Admitted);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_roster_order(&self, caller: &Caller, event: EventId, order: OrderId) -> Result<RosterOrder> {
        caller.require(Scope::TicketsCheckIn)?;
        caller.require_event(event)?;
        let organization = caller.organization;
        self.store()?.read(|tx| roster::of_order(tx, organization, event, order))
    }

    /// Adds the scans of a device to the log of an event, and returns the result of each. Scans without a verdict are
    /// decided on now. A scan whose id is in the log already is not added again: its outcome as it stands is returned.
    ///
    /// A ticket has at most 200 rows, and an API key adds at most 1,000 rows of codes that no ticket has. Beyond that, scans
    /// are not logged: see [`ScanResult::log_full`](crate::door::ScanResult::log_full). The ids of the scans make a report
    /// safe to repeat, so a caller with the key of a door link needs no idempotency key: it is ignored, and nothing is
    /// stored for it.
    ///
    /// An outcome can change when another device reports scans of the same ticket that happened before: see
    /// [`Roster::conflicts`](crate::door::Roster::conflicts). `ticket.checked_in` is sent once for each admission that counts.
    ///
    /// Requires the scope `tickets:check-in`.
    ///
    /// # Errors
    /// - [`Error::Validation`] for every field outside its limits (see [`UploadScans`]), and for `eventId` if neither the
    ///   request nor the caller's key names an event. Nothing is stored then.
    /// - [`Error::NotFound`] if the event does not exist, or is not that of the caller's key.
    /// - [`Error::Conflict`] with the reason `no-door-link`.
    ///
    /// ```
    /// use ticketing::door::{NewScan, ScanKind, ScanOutcome, UploadScans};
    /// use ticketing::organization::{CreateApiKey, Scope};
    #[doc = include_str!("../../doc_fixture.md")]
    /// let request = IssueTickets::new(ticket_type.id, ada, 1);
    /// let code = service.issue_tickets(&caller, request)?.issued_tickets.remove(0).code;
    /// let key = CreateApiKey::new("Gate A").scopes([Scope::TicketsCheckIn]).event(event.id);
    /// let gate = service.authenticate(&service.create_api_key(organization.id, key)?.key)?;
    ///
    /// let id = "0192f0c1-2a3b-7c4d-8e5f-0123456789ab";
    /// let scan = NewScan::of_code(id, ScanKind::In, code, "2026-06-01T18:00:00Z".parse()?);
    /// let report = UploadScans::new("Phone 1", [scan]);
    /// assert_eq!(service.upload_scans(&gate, report.clone())?.results[0].outcome, ScanOutcome::Admitted);
    /// assert_eq!(service.upload_scans(&gate, report)?.results[0].outcome, ScanOutcome::Admitted);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn upload_scans<C: IdempotentCall>(
        &self,
        caller: &C,
        request: impl Into<Request<UploadScans>>,
    ) -> Result<C::Output<UploadedScans>> {
        caller.as_caller().require(Scope::TicketsCheckIn)?;
        let request: Request<UploadScans> = request.into();
        request.body.event_id.map_or(Ok(()), |event| caller.as_caller().require_event(event))?;
        let own = caller.as_caller().event;
        let upload = move |tx: &Transaction<'_>, caller: Identity, request: &Request<UploadScans>| {
            let (event, request) = rules::check_upload(request.clone(), own)?;
            scan_uploads::upload(tx, caller, event, &request)
        };
        if own.is_some() {
            let identity = caller.as_caller().identity();
            let uploaded = self.writes().run(identity, move |tx| upload(tx, identity, &request))?;
            return Ok(C::output(Replayable::executed(uploaded)));
        }
        self.write(caller, OperationTarget::new("upload_scans"), request).run(upload)
    }

    /// Lists the log of an event, newest first: scans, and cancelled tickets. Filters select by outcome, device and time.
    /// The log begins with the first [link](Self::create_door_link) of the event.
    ///
    /// Requires the scope `tickets:read`.
    ///
    /// # Errors
    /// - [`Error::NotFound`] if the event does not exist.
    /// - [`Error::Validation`] for an invalid `limit` or `cursor`.
    ///
    /// ```
    /// use ticketing::door::{ListScans, LoggedKind};
    /// use ticketing::organization::{CreateApiKey, Scope};
    /// use ticketing::ticket::CheckInTicket;
    #[doc = include_str!("../../doc_fixture.md")]
    /// let key = CreateApiKey::new("Gate A").scopes([Scope::TicketsCheckIn]).event(event.id);
    /// service.create_api_key(organization.id, key)?;
    /// let request = IssueTickets::new(ticket_type.id, ada, 1);
    /// let code = service.issue_tickets(&caller, request)?.issued_tickets.remove(0).code;
    /// service.check_in_ticket(&caller, CheckInTicket::new(code))?;
    /// let log = service.list_scans(&caller, event.id, ListScans::new())?;
    /// assert_eq!(log.data[0].kind, LoggedKind::In);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn list_scans(&self, caller: &Caller, event: EventId, request: ListScans) -> Result<Page<LoggedScan, ScanId>> {
        caller.require(Scope::TicketsRead)?;
        let request = checked_request(request)?;
        let has_filters = request.outcome.is_some() || request.device.is_some();
        self.store()?.list(caller.organization, has_filters, |tx| {
            if !events::exists(tx, caller.organization, event)? {
                return Err(Error::NotFound(ResourceKind::Event));
            }
            scan_log::list(tx, caller.organization, event, &request)
        })
    }
}
