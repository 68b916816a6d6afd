//! Allocations: tickets that are set aside, and tickets that were sold elsewhere.

use crate::enums::scope::Scope;
use crate::error::Result;
use crate::form::request::{Nothing, Request};
use crate::model::sale::allocation::{Allocation, CreateAllocation, ListAllocations};
use crate::model::sale::ticket::{AssignTicket, IssuedTicket};
use crate::model::sale::ticket_import::{ImportTickets, TicketImport};
use crate::model::tenants::caller::{Caller, IdempotentCall};
use crate::model::values::id::{AllocationId, TicketId, TicketTypeId};
use crate::model::values::page::Page;
use crate::sales::idempotent_operation::OperationTarget;
use crate::sales::tickets::{ticket_allocation, ticket_imports};
use crate::service::TicketingService;
use crate::store::tickets::allocations;

/// # Allocations
///
/// The guide [`guest_lists`](crate::guide::guest_lists) says more.
impl TicketingService {
    /// Sets tickets of a type aside, for example for a guest list or for another seller. It takes their seats as a sale
    /// does.
    ///
    /// The tickets are issued after this call, in batches, by the [maintenance](Self::run_maintenance), without an order
    /// and without a customer. [`get_allocation`](Self::get_allocation) tells how far that is.
    ///
    /// Requires the scope `tickets:write`.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the ticket type does not exist.
    /// - [`Error::Validation`](crate::Error::Validation) lists every field outside its limits (see
    ///   [`CreateAllocation`]).
    /// - [`Error::Conflict`](crate::Error::Conflict) with the reason `event-cancelled`, `event-not-on-sale` (the event
    ///   has ended), or `sold-out`, whose message tells how many seats are left.
    ///
    /// ```
    /// use ticketing::allocation::{AllocationState, CreateAllocation};
    #[doc = include_str!("../../doc_fixture.md")]
    /// let request = CreateAllocation::of_labels("Press", ["Ada Lovelace, Gazette", "Row A, seat 3"]);
    /// let allocation = service.create_allocation(&caller, ticket_type.id, request)?;
    /// assert_eq!((allocation.state, allocation.quantity), (AllocationState::Issuing, 2));
    ///
    /// // In the background, if the service was built with `Builder::maintenance`.
    /// service.run_maintenance()?;
    /// let tickets = service.list_tickets(&caller, ListTickets::new().allocation(allocation.id))?.data;
    /// assert_eq!(tickets[0].ticket_label.as_deref(), Some("Row A, seat 3"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create_allocation<C: IdempotentCall>(
        &self,
        caller: &C,
        ticket_type: TicketTypeId,
        request: impl Into<Request<CreateAllocation>>,
    ) -> Result<C::Output<Allocation>> {
        self.writes().require_to_notify(caller.as_caller(), Scope::TicketsWrite)?;
        let target = OperationTarget::on("create_allocation", ticket_type);
        self.write(caller, target, request).run_on(ticket_type, move |tx, caller, request, release_limit| {
            ticket_allocation::create(tx, caller.organization, ticket_type, request, release_limit)
        })
    }

    /// Lists allocations, also those of imported tickets, newest first. Filters select by event, ticket type and state.
    ///
    /// Requires the scope `tickets:read`.
    ///
    /// # Errors
    /// - [`Error::Validation`](crate::Error::Validation) for an invalid `limit` or `cursor`.
    ///
    /// ```
    /// use ticketing::allocation::{CreateAllocation, ListAllocations};
    #[doc = include_str!("../../doc_fixture.md")]
    /// let guests = service.create_allocation(&caller, ticket_type.id, CreateAllocation::new("Guest list", 20))?;
    /// let of_event = ListAllocations::new().event(event.id);
    /// assert_eq!(service.list_allocations(&caller, of_event)?.data, [guests]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn list_allocations(
        &self,
        caller: &Caller,
        request: ListAllocations,
    ) -> Result<Page<Allocation, AllocationId>> {
        self.list(caller, Scope::TicketsRead, request, allocations::list)
    }

    /// Returns an allocation, with the numbers of its tickets that are issued, cancelled, and checked in.
    ///
    /// Requires the scope `tickets:read`.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the allocation does not exist.
    ///
    /// ```
    /// use ticketing::allocation::CreateAllocation;
    #[doc = include_str!("../../doc_fixture.md")]
    /// let guests = service.create_allocation(&caller, ticket_type.id, CreateAllocation::new("Guest list", 20))?;
    /// service.run_maintenance()?;
    /// assert_eq!(service.get_allocation(&caller, guests.id)?.issued, 20);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_allocation(&self, caller: &Caller, id: AllocationId) -> Result<Allocation> {
        caller.require(Scope::TicketsRead)?;
        self.store()?.read(|tx| allocations::get(tx, caller.organization, id))
    }

    /// Cancels the tickets of an allocation, and makes their seats available again. Tickets whose holders are or were
    /// inside stay valid. Tickets that are not issued yet will not be.
    ///
    /// The tickets are cancelled after this call, in batches, by the [maintenance](Self::run_maintenance). An allocation
    /// that is CANCELLING or CANCELLED stays as it is.
    ///
    /// Requires the scope `tickets:write`.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the allocation does not exist.
    ///
    /// ```
    /// use ticketing::allocation::{AllocationState, CreateAllocation};
    #[doc = include_str!("../../doc_fixture.md")]
    /// let guests = service.create_allocation(&caller, ticket_type.id, CreateAllocation::new("Guest list", 20))?;
    /// service.run_maintenance()?;
    /// assert_eq!(service.cancel_allocation(&caller, guests.id)?.state, AllocationState::Cancelling);
    /// service.run_maintenance()?;
    /// let cancelled = service.get_allocation(&caller, guests.id)?;
    /// assert_eq!((cancelled.state, cancelled.cancelled, cancelled.kept), (AllocationState::Cancelled, 20, Some(0)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cancel_allocation<C: IdempotentCall>(&self, caller: &C, id: AllocationId) -> Result<C::Output<Allocation>> {
        caller.as_caller().require(Scope::TicketsWrite)?;
        self.write(caller, OperationTarget::on("cancel_allocation", id), Nothing)
            .run_on(id, move |tx, caller, _, _| ticket_allocation::cancel(tx, caller.organization, id))
    }

    /// Gives a ticket of an allocation to a customer. If the service sends [mails](crate::guide::mail), the customer gets
    /// the ticket.
    ///
    /// Requires the scope `tickets:write`.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the ticket does not exist.
    /// - [`Error::Validation`](crate::Error::Validation) lists every field outside its limits.
    /// - [`Error::Conflict`](crate::Error::Conflict) with the first reason that applies, in this order:
    ///   `ticket-imported`, `ticket-cancelled`, `already-checked-in` (the holder is or was inside), `already-assigned`
    ///   (the ticket has a customer).
    ///
    /// ```
    /// use ticketing::allocation::CreateAllocation;
    #[doc = include_str!("../../doc_fixture.md")]
    /// let guests = service.create_allocation(&caller, ticket_type.id, CreateAllocation::new("Guest list", 20))?;
    /// service.run_maintenance()?;
    /// let request = ListTickets::new().allocation(guests.id);
    /// let ticket = service.list_tickets(&caller, request)?.data.remove(0);
    /// let assigned = service.assign_ticket(&caller, ticket.id, ada)?;
    /// assert_eq!(assigned.customer.expect("the holder").name, "Ada");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn assign_ticket<C: IdempotentCall>(
        &self,
        caller: &C,
        id: TicketId,
        request: impl Into<Request<AssignTicket>>,
    ) -> Result<C::Output<IssuedTicket>> {
        self.writes().require(caller.as_caller(), Scope::TicketsWrite)?;
        self.write(caller, OperationTarget::on("assign_ticket", id), request)
            .run_on(id, move |tx, caller, request, _| ticket_allocation::assign(tx, caller.organization, id, request))
    }

    /// Imports tickets that were sold elsewhere, with the codes of their seller: all of the request, or none. They can be
    /// checked in as others can.
    ///
    /// They belong to an allocation, whose name is the channel over which they were sold. Its id in a further request
    /// adds tickets to it. There is no order, no money and no mail; webhook endpoints and functions get `ticket.issued`
    /// only if the request says so. A code is unique among the valid tickets of an event.
    ///
    /// Requires the scope `tickets:write`.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the ticket type does not exist.
    /// - [`Error::Validation`](crate::Error::Validation) lists every field outside its limits (see [`ImportTickets`]),
    ///   every code that this service could have issued or that is there twice, and `allocationId` if it is not an import
    ///   of the ticket type.
    /// - [`Error::Conflict`](crate::Error::Conflict) with the reason `event-cancelled`, `event-not-on-sale` (the event
    ///   has ended), `allocation-not-complete` (the allocation is cancelled), `code-taken`, which lists the
    ///   [fields](crate::Error::fields) with these codes, or `sold-out`, whose message tells how many seats are left.
    ///
    /// ```
    /// use ticketing::allocation::{ImportTickets, ImportedTicket};
    /// use ticketing::ticket::CheckInTicket;
    #[doc = include_str!("../../doc_fixture.md")]
    /// let tickets = [ImportedTicket::new("4006381333931").label("Seat 12"), ImportedTicket::new("4006381333948")];
    /// let import = service.import_tickets(&caller, ticket_type.id, ImportTickets::new("Box office", tickets))?;
    /// assert_eq!((import.imported, import.allocation.issued), (2, 2));
    /// let ticket = service.check_in_ticket(&caller, CheckInTicket::new("4006381333931").event(event.id))?;
    /// assert_eq!(ticket.ticket_label.as_deref(), Some("Seat 12"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn import_tickets<C: IdempotentCall>(
        &self,
        caller: &C,
        ticket_type: TicketTypeId,
        request: impl Into<Request<ImportTickets>>,
    ) -> Result<C::Output<TicketImport>> {
        self.writes().require_to_notify(caller.as_caller(), Scope::TicketsWrite)?;
        let target = OperationTarget::on("import_tickets", ticket_type);
        self.write(caller, target, request).run_on(ticket_type, move |tx, caller, request, release_limit| {
            ticket_imports::import(tx, caller.organization, ticket_type, request, release_limit)
        })
    }
}
