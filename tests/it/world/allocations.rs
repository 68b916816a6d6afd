//! Allocations and imports in the model.

use ticketing::allocation::AllocationState;
use ticketing::event::EventStatus;
use ticketing::ticket::TicketStatus;

use super::model::Outcome::{Done, Refused};
use super::model::{Allocation, Model, Outcome, Ticket};

/// Work that is due later than this from now was set by a clock that was wrong, and is done now.
const LATEST_DUE: i64 = 2 * 60_000;

impl Ticket {
    /// A ticket that has a customer, and neither order nor allocation.
    pub fn new(ticket_type: usize) -> Self {
        Self {
            ticket_type,
            order: None,
            allocation: None,
            imported: false,
            has_customer: true,
            status: TicketStatus::NotCheckedIn,
            scans: 0,
            checked_in_at: None,
            expires: None,
            scanned_first: false,
        }
    }
}

impl Model {
    /// The number of seats of a ticket type that allocations reserve.
    pub fn set_aside(&self, ticket_type: usize) -> i64 {
        let issuing = self.allocations.iter().filter(|allocation| allocation.state == AllocationState::Issuing);
        let of_type = issuing.filter(|allocation| allocation.ticket_type == ticket_type);
        of_type.map(|allocation| allocation.quantity - allocation.issued).sum()
    }

    fn refuse_issuing(&self, ticket_type: usize, quantity: i64) -> Option<Outcome> {
        match self.event_status() {
            EventStatus::Cancelled => Some(Refused("event-cancelled")),
            EventStatus::Expired => Some(Refused("event-not-on-sale")),
            _ if self.free(ticket_type) < quantity => Some(Refused("sold-out")),
            _ => None,
        }
    }

    fn add_allocation(&mut self, ticket_type: usize, quantity: i64, state: AllocationState) -> usize {
        self.types[ticket_type].used = true;
        let issued = if state == AllocationState::Complete { quantity } else { 0 };
        self.allocations.push(Allocation { ticket_type, quantity, issued, state, due_at: self.now });
        self.allocations.len() - 1
    }

    pub fn set_aside_seats(&mut self, ticket_type: usize, quantity: i64) -> Outcome {
        self.refuse_issuing(ticket_type, quantity).unwrap_or_else(|| {
            self.add_allocation(ticket_type, quantity, AllocationState::Issuing);
            Done
        })
    }

    pub fn import(&mut self, ticket_type: usize, quantity: i64) -> Outcome {
        self.refuse_issuing(ticket_type, quantity).unwrap_or_else(|| {
            let allocation = Some(self.add_allocation(ticket_type, quantity, AllocationState::Complete));
            let ticket = Ticket { allocation, imported: true, has_customer: false, ..Ticket::new(ticket_type) };
            self.add_tickets(&ticket, quantity);
            Done
        })
    }

    pub fn cancel_allocation(&mut self, index: usize) -> Outcome {
        let now = self.now;
        let allocation = &mut self.allocations[index];
        if matches!(allocation.state, AllocationState::Issuing | AllocationState::Complete) {
            allocation.state = AllocationState::Cancelling;
            allocation.due_at = now;
        }
        Done
    }

    pub fn assign(&mut self, index: usize) -> Outcome {
        let ticket = &mut self.tickets[index];
        if ticket.imported {
            return Refused("ticket-imported");
        }
        if ticket.status == TicketStatus::Cancelled {
            return Refused("ticket-cancelled");
        }
        if ticket.scanned_first {
            return Refused("already-checked-in");
        }
        if ticket.has_customer {
            return Refused("already-assigned");
        }
        ticket.has_customer = true;
        Done
    }

    /// Issues and cancels tickets of allocations, as the maintenance does.
    pub fn change_allocations(&mut self) {
        // The event may be sold out between two of them.
        for index in 0..self.allocations.len() {
            let unsold = self.unsold();
            let Allocation { ticket_type, quantity, issued, state, due_at } = self.allocations[index].clone();
            if due_at > self.now && due_at <= self.now + LATEST_DUE {
                continue;
            }
            match state {
                AllocationState::Issuing => {
                    self.allocations[index].state = AllocationState::Complete;
                    if self.status != EventStatus::Cancelled {
                        self.allocations[index].issued = quantity;
                        let allocation = Some(index);
                        let ticket = Ticket { allocation, has_customer: false, ..Ticket::new(ticket_type) };
                        self.add_tickets(&ticket, quantity - issued);
                    }
                }
                AllocationState::Cancelling => {
                    self.allocations[index].state = AllocationState::Cancelled;
                    let is_unseen = |ticket: &&mut Ticket| {
                        let is_outside = ticket.status == TicketStatus::NotCheckedIn && !ticket.scanned_first;
                        ticket.allocation == Some(index) && is_outside
                    };
                    for ticket in self.tickets.iter_mut().filter(is_unseen) {
                        ticket.status = TicketStatus::Cancelled;
                        self.types[ticket_type].sold -= 1;
                    }
                    if unsold == 0 && self.unsold() > 0 && self.event_status() == EventStatus::SoldOut {
                        self.status = EventStatus::Published;
                    }
                }
                _ => {}
            }
        }
    }
}
