//! Check-in on devices at the entrance, with or without a connection.

use crate::enums::scope::Scope;
use crate::error::{Error, ResourceKind, Result};
use crate::form::request::Request;
use crate::model::tenants::caller::{Caller, IdempotentCall, Identity};
use crate::model::tenants::door_link::{CreateDoorLink, DoorLink};
use crate::model::tickets::roster::{GetRoster, MAX_TICKETS, Roster};
use crate::model::tickets::scan::{ListScans, LoggedScan, UploadScans, UploadedScans};
use crate::model::values::id::{EventId, OrganizationId, ScanId};
use crate::model::values::page::Page;
use crate::model::values::secret::Secret;
use crate::rules::checked_request;
use crate::rules::entrance::door as rules;
use crate::sales::idempotent_operation::OperationTarget;
use crate::sales::tickets::scan_uploads;
use crate::service::TicketingService;
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
    /// This method takes no caller, because it is for the program that embeds the service. The server has no route for it.
    ///
    /// # Errors
    /// - [`Error::NotFound`] if the organization has no such event.
    /// - [`Error::Conflict`] with the reason `event-cancelled`, or `limit-reached` as in
    ///   [`create_api_key`](Self::create_api_key).
    /// - [`Error::Validation`] for `name` (1 to 255 characters), `until` (in the future, and at most 7 days after the end of
    ///   the event), and `public_url` if the service has no [public URL](crate::Builder::public_url).
    ///
    /// ```
    /// use ticketing::door::CreateDoorLink;
    #[doc = include_str!("../../doc_fixture.md")]
    /// # drop(service);
    /// # let path = folder.path().join("ticketing.db");
    /// let service = TicketingService::builder(path).public_url("https://tickets.example.com").open()?;
    /// let link = service.create_door_link(organization.id, CreateDoorLink::new(event.id, "Gate A"))?;
    /// assert!(link.url.expose().starts_with("https://tickets.example.com/door/#event_"));
    /// service.revoke_api_key(organization.id, link.api_key.id)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create_door_link(&self, organization: OrganizationId, request: CreateDoorLink) -> Result<DoorLink> {
        let public_url = self.inner.public_url.as_deref();
        let public_url = public_url.ok_or_else(|| Error::field("public_url", "must be set for links to the page"))?;
        let event = request.event_id;
        let sale = self.store()?.read_one(|tx| events::sale(tx, organization, event))?;
        let sale = sale.ok_or(Error::NotFound(ResourceKind::Event))?;
        let until = rules::link_until(&request, sale.status, sale.over_at, self.now())?;
        let created = self.create_api_key(organization, request.key(until))?;
        let url = Secret::from(format!("{public_url}/door/#{event}/{}", created.key.expose()));
        Ok(DoorLink { url, api_key: created.api_key, expires_at: until })
    }

    /// Returns a part of the roster of an event: the rules of admission, and the tickets without names and codes. In place
    /// of a code it has a hash, with which a device that sees the code finds the ticket. First come all tickets, in parts;
    /// after that, what has changed since.
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
        let Identity { organization, key } = caller.identity();
        let limit = request.limit.unwrap_or(MAX_TICKETS);
        self.store()?.scan(Some(organization), |tx| {
            let part = roster::read(tx, organization, event, request.since.as_deref(), limit)?;
            let gate = key.map(|key| api_keys::name(tx, key)).transpose()?.flatten();
            Ok(Roster { gate, ..part })
        })
    }

    /// Adds the scans of a device to the log of an event, and returns the result of each. Scans without a verdict are
    /// decided on now. A scan whose id is in the log already is not added again: its outcome as it stands is returned.
    ///
    /// An outcome can change when another device reports scans of the same ticket that happened before: see
    /// [`list_scans`](Self::list_scans). `ticket.checked_in` is sent once for each admission that counts.
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
        self.write_idempotent(caller, OperationTarget::new("upload_scans"), request, move |tx, caller, request| {
            let (event, request) = rules::check_upload(request.clone(), own)?;
            scan_uploads::upload(tx, caller, event, &request)
        })
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
