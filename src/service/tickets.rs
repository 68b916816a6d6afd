//! Issued tickets, and the door.

use super::TicketingService;
use super::idempotency::Start;
use crate::error::{Error, Result};
use crate::form::request::{Nothing, Request};
use crate::model::caller::Caller;
use crate::model::id::{TicketId, kind};
use crate::model::page::Page;
use crate::model::scope::Scope;
use crate::model::ticket::{
    CancelledIssuedTicket, CheckInTicket, IssueTickets, IssueTicketsResponse, IssuedTicket, ListTickets,
};
use crate::rules::ticket as rules;
use crate::sales::check_in::{self, Scan};
use crate::sales::idempotency::{OperationTarget, PriorOutcome};
use crate::sales::ticket_issuing;
use crate::store::tickets;

impl TicketingService {
    /// Lists tickets, newest first. Scope `tickets:read`.
    ///
    /// # Errors
    /// A validation error names `limit` or `cursor`.
    ///
    /// ```
    /// use ticketing::{IssueTickets, ListTickets};
    #[doc = include_str!("../doc_fixture.md")]
    /// let request = IssueTickets { ticket_type_id: ticket_type.id, customer: ada, quantity: 3 };
    /// service.issue_tickets(&caller, request)?;
    /// let of_event = ListTickets { event_id: Some(event.id), ..Default::default() };
    /// assert_eq!(service.list_tickets(&caller, of_event)?.data.len(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn list_tickets(
        &self,
        caller: &Caller,
        request: impl Into<Request<ListTickets>>,
    ) -> Result<Page<IssuedTicket, kind::Ticket>> {
        caller.require(Scope::TicketsRead)?;
        let Request { body, errors } = request.into();
        let request = rules::check_list(body, errors)?;
        self.store().read(|tx| tickets::list(tx, caller.organization, &request))
    }

    /// Issues tickets without an order, whatever the status of their type, on free places. Scope `tickets:write`.
    ///
    /// # Errors
    /// A validation error names every field that breaks its limit (see [`IssueTickets`]), or `ticketId` where there is
    /// no such ticket type; the conflicts `event-cancelled`, `event-not-on-sale` (the event is over) and `sold-out`.
    ///
    /// ```
    /// use ticketing::{IssueTickets, NewCustomer};
    #[doc = include_str!("../doc_fixture.md")]
    /// let press = NewCustomer::new("Press", "press@example.com");
    /// let request = IssueTickets { ticket_type_id: ticket_type.id, customer: press, quantity: 2 };
    /// let issued = service.issue_tickets(&caller, request)?;
    /// assert_eq!(issued.issued_tickets.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn issue_tickets(
        &self,
        caller: &Caller,
        request: impl Into<Request<IssueTickets>>,
    ) -> Result<IssueTicketsResponse> {
        caller.require(Scope::TicketsWrite)?;
        let organization = caller.organization;
        self.write_idempotent(caller, OperationTarget::new("issue_tickets"), request, move |tx, request| {
            ticket_issuing::issue(tx, organization, request)
        })
    }

    /// Reads one ticket. Scope `tickets:read`.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// let request = IssueTickets { ticket_type_id: ticket_type.id, customer: ada, quantity: 1 };
    /// let issued = service.issue_tickets(&caller, request)?.issued_tickets.remove(0);
    /// let ticket = service.get_ticket(&caller, issued.id)?;
    /// assert!(ticket.is_internal && ticket.code == issued.code);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_ticket(&self, caller: &Caller, id: TicketId) -> Result<IssuedTicket> {
        caller.require(Scope::TicketsRead)?;
        self.store().read_one(|tx| tickets::get(tx, caller.organization, id))
    }

    /// Reads one ticket by the code that is scanned, however it was typed, without scanning it. Scope `tickets:read`.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// let request = IssueTickets { ticket_type_id: ticket_type.id, customer: ada, quantity: 1 };
    /// let issued = service.issue_tickets(&caller, request)?.issued_tickets.remove(0);
    /// let ticket = service.get_ticket_by_code(&caller, &issued.code.to_lowercase())?;
    /// assert_eq!(ticket.id, issued.id);
    /// assert_eq!(ticket.scan_count, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_ticket_by_code(&self, caller: &Caller, code: &str) -> Result<IssuedTicket> {
        caller.require(Scope::TicketsRead)?;
        let code = rules::normal_code(code);
        self.store().read_one(|tx| tickets::get_by_code(tx, caller.organization, &code))
    }

    /// Lets a ticket's holder in. Every scan of a ticket is counted, refused ones too. Of two scans at once exactly one
    /// is accepted. Scope `tickets:check-in`.
    ///
    /// # Errors
    /// A validation error names `code`; [`Error::NotFound`] where there is no such code. Conflicts, of which the first
    /// that applies is given: `wrong-event`, `ticket-cancelled`, `event-cancelled`, `not-yet-valid`, `no-longer-valid`,
    /// `not-valid-today`, `already-checked-in`.
    ///
    /// ```
    /// use ticketing::{CheckInTicket, IssueTickets, Reason, TicketStatus};
    #[doc = include_str!("../doc_fixture.md")]
    /// let request = IssueTickets { ticket_type_id: ticket_type.id, customer: ada, quantity: 1 };
    /// let code = service.issue_tickets(&caller, request)?.issued_tickets.remove(0).code;
    /// let inside = service.check_in_ticket(&caller, CheckInTicket::new(&code))?;
    /// assert_eq!(inside.status, TicketStatus::CheckedIn);
    /// let again = service.check_in_ticket(&caller, CheckInTicket::new(&code)).unwrap_err();
    /// assert_eq!(again.reason(), Some(Reason::AlreadyCheckedIn));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_in_ticket(&self, caller: &Caller, request: impl Into<Request<CheckInTicket>>) -> Result<IssuedTicket> {
        caller.require(Scope::TicketsCheckIn)?;
        let request = request.into();
        let running = match self.begin_idempotent(caller, OperationTarget::new("check_in_ticket"), &request)? {
            Start::Replay(ticket) => return Ok(ticket),
            Start::Run(running) => running,
        };
        let operation = running.operation();
        let scan = rules::check_scan(request.body, request.errors)?;
        let (organization, key) = (caller.organization, caller.key);
        let result = self.store().write(move |tx| {
            if let PriorOutcome::Result(ticket) = operation.prior_outcome(tx)? {
                return Ok(Scan::Accepted(Box::new(ticket)));
            }
            let result = check_in::check_in(tx, organization, &scan, key)?;
            if let Scan::Accepted(ticket) = &result {
                operation.store_result(tx, ticket)?;
            }
            Ok(result)
        });
        match result.inspect_err(|error| self.store().counters().scan_failed(error))? {
            Scan::Accepted(ticket) => Ok(*ticket),
            Scan::Refused(refusal) => Err(Error::Conflict(refusal)),
        }
    }

    /// Lets a ticket's holder out, so that the ticket can be used again. It is no scan and counts none. Scope
    /// `tickets:check-in`.
    ///
    /// # Errors
    /// A validation error names `code`; [`Error::NotFound`] where there is no such code; the conflicts `wrong-event`,
    /// `ticket-cancelled` and `not-checked-in`.
    ///
    /// ```
    /// use ticketing::{CheckInTicket, IssueTickets, TicketStatus};
    #[doc = include_str!("../doc_fixture.md")]
    /// let request = IssueTickets { ticket_type_id: ticket_type.id, customer: ada, quantity: 1 };
    /// let code = service.issue_tickets(&caller, request)?.issued_tickets.remove(0).code;
    /// service.check_in_ticket(&caller, CheckInTicket::new(&code))?;
    /// let outside = service.check_out_ticket(&caller, CheckInTicket::new(&code))?;
    /// assert_eq!(outside.status, TicketStatus::NotCheckedIn);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_out_ticket(
        &self,
        caller: &Caller,
        request: impl Into<Request<CheckInTicket>>,
    ) -> Result<IssuedTicket> {
        caller.require(Scope::TicketsCheckIn)?;
        let organization = caller.organization;
        self.write_idempotent(caller, OperationTarget::new("check_out_ticket"), request, move |tx, request| {
            check_in::check_out(tx, organization, request)
        })
    }

    /// Cancels a ticket and frees its place. Scope `tickets:write`.
    ///
    /// # Errors
    /// [`Error::NotFound`]; the conflict `ticket-cancelled`.
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// let request = IssueTickets { ticket_type_id: ticket_type.id, customer: ada, quantity: 1 };
    /// let issued = service.issue_tickets(&caller, request)?.issued_tickets.remove(0);
    /// assert_eq!(service.cancel_ticket(&caller, issued.id)?.status, TicketStatus::Cancelled);
    /// assert_eq!(service.get_ticket_type(&caller, ticket_type.id)?.sold, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cancel_ticket(&self, caller: &Caller, id: TicketId) -> Result<CancelledIssuedTicket> {
        caller.require(Scope::TicketsWrite)?;
        let organization = caller.organization;
        self.write_idempotent(caller, OperationTarget::on("cancel_ticket", id), Nothing, move |tx, _| {
            ticket_issuing::cancel(tx, organization, id)
        })
    }
}
