//! Operations on issued tickets, and check-in at the entrance.

use crate::enums::scope::Scope;
use crate::error::{Error, Result};
use crate::form::request::{Nothing, Request};
use crate::model::sale::ticket::{
    CancelledIssuedTicket, CheckInTicket, FindTicket, IssueTickets, IssueTicketsResponse, IssuedTicket, ListTickets,
};
use crate::model::tenants::caller::{Caller, IdempotentCall, KeyedCaller};
use crate::model::tenants::idempotency::Replayable;
use crate::model::values::id::TicketId;
use crate::model::values::page::Page;
use crate::rules::{checked_request, ticket as rules};
use crate::sales::idempotent_operation::{IdempotentOperation, OperationTarget};
use crate::sales::tickets::check_in::{self, Scan};
use crate::sales::tickets::ticket_issuing;
use crate::service::TicketingService;
use crate::store::Transaction;
use crate::store::tickets::issued_tickets;
use crate::store::tickets::ticket_lists;
use crate::write::{AfterWrite, Prepared};

/// A scan by this caller: with a key of one event, it is a scan at the entrance of that event.
fn at_entrance(caller: &Caller, mut request: Request<CheckInTicket>) -> Result<Request<CheckInTicket>> {
    if caller.event.is_some() {
        request.body.event_id.map_or(Ok(()), |event| caller.require_event(event))?;
        request.body.event_id = caller.event;
    }
    Ok(request)
}

/// A scan whose result has what this caller sees of the ticket: with a key of one event, nothing of its holder.
fn visible_to(caller: &Caller, scan: Prepared<Replayable<IssuedTicket>>) -> Prepared<Replayable<IssuedTicket>> {
    if caller.event.is_none() {
        return scan;
    }
    scan.map(|scanned| {
        scanned.map(|ticket| IssuedTicket { customer: None, customer_id: None, download_ticket_url: None, ..ticket })
    })
}

/// # Tickets and check-in
impl TicketingService {
    /// Lists tickets, newest first. Filters select by event, ticket type, order, allocation, customer, status and the time
    /// of the first check-in.
    ///
    /// Each filter alone is a look-up: it costs the same however many tickets there are, and whether it matches many or
    /// none. So do `eventId`, `ticketId` and `status` together. Two kinds of requests may search instead, and fail with
    /// [`Error::Unavailable`] after the time limit of a search:
    /// - Other combinations: the most selective filter is looked up, in the order `orderId`, `customerEmail`,
    ///   `allocationId`, times of the first check-in, and the rest. What it finds is searched for the others.
    /// - Times of the first check-in that match more than 5,000 tickets, if most of the newer tickets do not match.
    ///
    /// Requires the scope `tickets:read`.
    ///
    /// # Errors
    /// - [`Error::Validation`] for an invalid `limit`, `cursor` or `customerEmail`.
    ///
    /// ```
    /// use ticketing::ticket::{IssueTickets, ListTickets};
    #[doc = include_str!("../../doc_fixture.md")]
    /// let request = IssueTickets::new(ticket_type.id, ada, 3);
    /// service.issue_tickets(&caller, request)?;
    /// let of_event = ListTickets::default().event(event.id);
    /// assert_eq!(service.list_tickets(&caller, of_event)?.data.len(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn list_tickets(&self, caller: &Caller, request: ListTickets) -> Result<Page<IssuedTicket, TicketId>> {
        caller.require(Scope::TicketsRead)?;
        let request = checked_request(request)?;
        // The tickets of one order are few.
        let (order_id, page) = (request.order_id, request.page.clone());
        let has_filters = *request != ListTickets { order_id, page, ..ListTickets::default() };
        let list = |tx: &Transaction<'_>| ticket_lists::list(tx, caller.organization, &request);
        match has_filters || order_id.is_some() || request.page.cursor.is_some() {
            true => self.store()?.list(caller.organization, has_filters, list),
            // The first page of all tickets is one statement.
            false => self.store()?.read_one(list),
        }
    }

    /// Issues tickets for available seats without an order, for example to guests. The ticket type may have any status.
    ///
    /// Requires the scope `tickets:write`.
    ///
    /// # Errors
    /// - [`Error::Validation`] lists every field outside its limits (see [`IssueTickets`]), and `ticketId` if the
    ///   ticket type does not exist.
    /// - [`Error::Conflict`] with the reason `event-cancelled`, `event-not-on-sale` (the event has ended) or
    ///   `sold-out`.
    ///
    /// ```
    /// use ticketing::order::NewCustomer;
    /// use ticketing::ticket::IssueTickets;
    #[doc = include_str!("../../doc_fixture.md")]
    /// let press = NewCustomer::new("Press", "press@example.com");
    /// let request = IssueTickets::new(ticket_type.id, press, 2);
    /// let issued = service.issue_tickets(&caller, request)?;
    /// assert_eq!(issued.issued_tickets.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn issue_tickets<C: IdempotentCall>(
        &self,
        caller: &C,
        request: impl Into<Request<IssueTickets>>,
    ) -> Result<C::Output<IssueTicketsResponse>> {
        self.writes().require_to_notify(caller.as_caller(), Scope::TicketsWrite)?;
        let (target, request) = (OperationTarget::new("issue_tickets"), request.into());
        let event = request.body.ticket_type_id;
        self.write(caller, target, request).run_on(event, |tx, caller, request, release_limit| {
            ticket_issuing::issue(tx, caller.organization, request, release_limit)
        })
    }

    /// Returns a ticket.
    ///
    /// Requires the scope `tickets:read`.
    ///
    /// # Errors
    /// - [`Error::NotFound`] if the ticket does not exist.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// let request = IssueTickets::new(ticket_type.id, ada, 1);
    /// let issued = service.issue_tickets(&caller, request)?.issued_tickets.remove(0);
    /// let ticket = service.get_ticket(&caller, issued.id)?;
    /// assert_eq!(ticket.code, issued.code);
    /// assert!(ticket.is_internal);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_ticket(&self, caller: &Caller, id: TicketId) -> Result<IssuedTicket> {
        caller.require(Scope::TicketsRead)?;
        self.store()?.read_one(|tx| issued_tickets::get(tx, caller.organization, id))
    }

    /// Returns the ticket that has this code, without checking it in. The code is read as for
    /// [`check_in_ticket`](Self::check_in_ticket). This does not count as a scan.
    ///
    /// Requires the scope `tickets:read`.
    ///
    /// # Errors
    /// - [`Error::Validation`] for an invalid `code`.
    /// - [`Error::NotFound`] if no ticket, or none of the event, has the code.
    /// - [`Error::Conflict`] with the reason `ambiguous-code` if tickets of several events were imported with the code,
    ///   and the request names no event.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// let request = IssueTickets::new(ticket_type.id, ada, 1);
    /// let issued = service.issue_tickets(&caller, request)?.issued_tickets.remove(0);
    /// let ticket = service.get_ticket_by_code(&caller, &issued.code.to_lowercase())?;
    /// assert_eq!(ticket.id, issued.id);
    /// assert_eq!(ticket.scan_count, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_ticket_by_code(&self, caller: &Caller, request: impl Into<FindTicket>) -> Result<IssuedTicket> {
        caller.require(Scope::TicketsRead)?;
        let request = rules::check_find(request.into())?;
        let find = |tx: &Transaction<'_>| issued_tickets::get_by_code(tx, caller.organization, &request);
        // A code of ours takes one statement.
        if rules::is_code(&request.code) { self.store()?.read_one(find) } else { self.store()?.read(find) }
    }

    /// Checks a ticket in: its holder is admitted. The guide has [examples](crate::guide::door#codes) of how codes are
    /// read.
    ///
    /// Every scan of a ticket is counted, including a refused one. Of several simultaneous scans, exactly one succeeds.
    /// A ticket that is valid on several days can be checked in once a day.
    ///
    /// Requires the scope `tickets:check-in`.
    ///
    /// # Errors
    /// - [`Error::Validation`] for an invalid `code`.
    /// - [`Error::NotFound`] if no ticket has the code, or for another event than that of the caller's key.
    /// - [`Error::Conflict`] with the first reason that applies, in this order: `ambiguous-code` (tickets of several
    ///   events were imported with the code, and the request names no event), `wrong-event`, `ticket-cancelled`,
    ///   `event-cancelled`, `not-yet-valid`, `no-longer-valid`, `not-valid-today`, `already-checked-in`.
    ///
    /// ```
    /// use ticketing::error::Reason;
    /// use ticketing::ticket::{CheckInTicket, IssueTickets, TicketStatus};
    #[doc = include_str!("../../doc_fixture.md")]
    /// let request = IssueTickets::new(ticket_type.id, ada, 1);
    /// let code = service.issue_tickets(&caller, request)?.issued_tickets.remove(0).code;
    /// let ticket = service.check_in_ticket(&caller, CheckInTicket::new(&code))?;
    /// assert_eq!(ticket.status, TicketStatus::CheckedIn);
    /// let second_scan = service.check_in_ticket(&caller, CheckInTicket::new(&code)).unwrap_err();
    /// assert_eq!(second_scan.reason(), Some(Reason::AlreadyCheckedIn));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_in_ticket<C: IdempotentCall>(
        &self,
        caller: &C,
        request: impl Into<Request<CheckInTicket>>,
    ) -> Result<C::Output<IssuedTicket>> {
        self.prepare_check_in(&caller.keyed(), request.into())?.run().map(C::output)
    }

    /// Checks what [`check_in_ticket`](Self::check_in_ticket) checks before its transaction.
    pub(crate) fn prepare_check_in(
        &self,
        caller: &KeyedCaller,
        request: Request<CheckInTicket>,
    ) -> Result<Prepared<Replayable<IssuedTicket>>> {
        let (service, identity) = (self.clone(), caller.caller.identity());
        self.prepare_scan(caller, request, "check_in_ticket", |operation, request| {
            let request = rules::check_scan(request.body, request.errors)?;
            let check_in = move |tx: &Transaction<'_>| check_in::check_in(tx, &operation, identity, &request);
            Ok(Prepared::new(self.writes(), identity, check_in, move |scan| {
                match scan.inspect_err(|error| service.store_in_operation().counters().scan_failed(error))? {
                    Scan::Accepted(ticket) => Ok(AfterWrite::Done(ticket.map(|ticket| *ticket))),
                    Scan::Refused(refusal) => Err(Error::Conflict(refusal)),
                }
            }))
        })
    }

    /// A scan that `prepare` prepares.
    fn prepare_scan(
        &self,
        caller: &KeyedCaller,
        request: Request<CheckInTicket>,
        operation: &'static str,
        prepare: impl FnOnce(IdempotentOperation, Request<CheckInTicket>) -> Result<Prepared<Replayable<IssuedTicket>>>,
    ) -> Result<Prepared<Replayable<IssuedTicket>>> {
        caller.caller.require(Scope::TicketsCheckIn)?;
        let request = at_entrance(&caller.caller, request)?;
        let scan = self.write(caller, OperationTarget::new(operation), request).prepare(prepare)?;
        Ok(visible_to(&caller.caller, scan))
    }

    /// Checks a ticket out: its holder leaves, and the ticket can be checked in again. This does not count as a scan.
    ///
    /// Requires the scope `tickets:check-in`.
    ///
    /// # Errors
    /// - [`Error::Validation`] for an invalid `code`.
    /// - [`Error::NotFound`] if no ticket has the code, or for another event than that of the caller's key.
    /// - [`Error::Conflict`] with the first reason that applies, in this order: `ambiguous-code`, `wrong-event`,
    ///   `ticket-cancelled`, `not-checked-in`.
    ///
    /// ```
    /// use ticketing::ticket::{CheckInTicket, IssueTickets, TicketStatus};
    #[doc = include_str!("../../doc_fixture.md")]
    /// let request = IssueTickets::new(ticket_type.id, ada, 1);
    /// let code = service.issue_tickets(&caller, request)?.issued_tickets.remove(0).code;
    /// service.check_in_ticket(&caller, CheckInTicket::new(&code))?;
    /// let ticket = service.check_out_ticket(&caller, CheckInTicket::new(&code))?;
    /// assert_eq!(ticket.status, TicketStatus::NotCheckedIn);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_out_ticket<C: IdempotentCall>(
        &self,
        caller: &C,
        request: impl Into<Request<CheckInTicket>>,
    ) -> Result<C::Output<IssuedTicket>> {
        self.prepare_check_out(&caller.keyed(), request.into())?.run().map(C::output)
    }

    /// Checks what [`check_out_ticket`](Self::check_out_ticket) checks before its transaction.
    pub(crate) fn prepare_check_out(
        &self,
        caller: &KeyedCaller,
        request: Request<CheckInTicket>,
    ) -> Result<Prepared<Replayable<IssuedTicket>>> {
        let identity = caller.caller.identity();
        self.prepare_scan(caller, request, "check_out_ticket", |operation, request| {
            let check_out =
                move |tx: &Transaction<'_>| operation.run(tx, || check_in::check_out(tx, identity, &request));
            Ok(Prepared::new(self.writes(), identity, check_out, |ticket| ticket.map(AfterWrite::Done)))
        })
    }

    /// Cancels a ticket and releases its seat. Its order stays as it is.
    ///
    /// Requires the scope `tickets:write`.
    ///
    /// # Errors
    /// - [`Error::NotFound`] if the ticket does not exist.
    /// - [`Error::Conflict`] with the reason `ticket-cancelled` if the ticket is already cancelled.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// let request = IssueTickets::new(ticket_type.id, ada, 1);
    /// let issued = service.issue_tickets(&caller, request)?.issued_tickets.remove(0);
    /// assert_eq!(service.cancel_ticket(&caller, issued.id)?.status, TicketStatus::Cancelled);
    /// assert_eq!(service.get_ticket_type(&caller, ticket_type.id)?.sold, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cancel_ticket<C: IdempotentCall>(
        &self,
        caller: &C,
        id: TicketId,
    ) -> Result<C::Output<CancelledIssuedTicket>> {
        caller.as_caller().require(Scope::TicketsWrite)?;
        let target = OperationTarget::on("cancel_ticket", id);
        self.write(caller, target, Nothing)
            .run_on(id, move |tx, caller, _, _| ticket_issuing::cancel(tx, caller.organization, id))
    }
}
