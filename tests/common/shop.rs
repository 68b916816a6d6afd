//! A service with something to sell, on any database.

use ticketing::event::{CreateEvent, EventStatus};
use ticketing::id::{EventId, OrderId, TicketTypeId};
use ticketing::order::{CreateOrder, NewCustomer};
use ticketing::organization::CreateOrganization;
use ticketing::ticket_type::CreateTicketType;
use ticketing::{Amount, Caller, TicketingService, Timestamp};

/// An organization with an event and a ticket type, which is free.
pub struct Shop {
    pub caller: Caller,
    pub event: EventId,
    pub ticket_type: TicketTypeId,
}

impl Shop {
    /// Creates the organization with everything in it.
    pub fn create(service: &TicketingService) -> Self {
        let organization = service.create_organization(CreateOrganization::default()).expect("an organization");
        let caller = service.act_for(organization.id).expect("a caller");
        let event = CreateEvent::new("Summer Night", "summer-night", Timestamp::MAX).status(EventStatus::Published);
        let event = service.create_event(&caller, event).expect("an event").id;
        let ticket_type = CreateTicketType::new("General admission", Amount::cents(0), 1_000_000);
        let ticket_type = service.create_ticket_type(&caller, event, ticket_type).expect("a ticket type").id;
        Self { caller, event, ticket_type }
    }

    /// An order of `quantity` tickets.
    pub fn new_order(&self, quantity: i64) -> CreateOrder {
        CreateOrder::new(self.event, NewCustomer::new("Ada", "ada@example.com"), self.ticket_type, quantity)
    }

    /// Creates an order of `quantity` tickets, which is completed at once.
    pub fn order(&self, service: &TicketingService, quantity: i64) -> OrderId {
        service.create_order(&self.caller, self.new_order(quantity)).expect("an order").order.id
    }
}
