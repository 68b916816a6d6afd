//! Events, ticket types, orders, discounts and tickets: builders of requests, and short forms of the facade's methods.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ticketing::discount::{CreateDiscount, Discount, Percentage};
use ticketing::event::{CreateEvent, Event, EventStatus, UpdateEvent};
use ticketing::id::{DiscountId, EventId, OrderId, TicketTypeId};
use ticketing::order::{CreateOrder, NewCustomer, Order, OrderStatus, PaymentStatus};
use ticketing::ticket::{IssueTickets, NewTicket};
use ticketing::ticket_type::{CreateTicketType, TicketType, UpdateTicketType};
use ticketing::{Amount, Change, Result};

use super::database::stored_id;
use super::fixture::{Fixture, at};
use super::pictures::pixel_logo;

/// When the events of [`new_event`] start and end, unless the test says otherwise.
pub const EVENT_START: &str = "2026-07-01T18:00:00Z";
pub const EVENT_END: &str = "2026-07-01T22:00:00Z";

/// How long a pending order reserves its seats.
pub const HOLD: Duration = Duration::from_mins(30);

/// An amount in euros with two decimals.
pub fn eur(cents: i64) -> Amount {
    Amount::cents(cents)
}

/// An amount with any number of decimals.
pub fn amount(minor: i64, decimals: u8) -> Amount {
    Amount::new(minor, decimals).expect("at most 18 decimals")
}

/// The size of the logo of [`set_large_logo`]: nearly the largest text that a request may have.
pub const LARGE_LOGO: usize = 690_000;

/// Gives a ticket type a large logo that is filled with one letter.
pub fn set_large_logo(fixture: &Fixture, ticket_type: &TicketType, letter: &str) {
    // Each three bytes have four letters.
    let logo = pixel_logo(LARGE_LOGO / 4 * 3, letter.as_bytes()[0]);
    let change = UpdateTicketType::default().ticket_logo(logo);
    fixture.service.update_ticket_type(&fixture.caller, ticket_type.id, change).expect("changed");
}

/// Stores the logo of a ticket type that has none, as earlier versions did: they looked at no picture.
pub fn store_logo(fixture: &Fixture, ticket_type: &TicketType, logo: &str) {
    let id = stored_id(ticket_type.id);
    fixture.database().run(&format!("INSERT INTO ticket_logos (ticket_type_id, logo) VALUES ({id}, '{logo}')"));
}

/// A customer named Ada.
pub fn new_customer() -> NewCustomer {
    NewCustomer::new("Ada", "ada@example.com")
}

/// A request for a published event in the future, with a slug that no other event has.
pub fn new_event(change: impl FnOnce(&mut CreateEvent)) -> CreateEvent {
    static NUMBER: AtomicU64 = AtomicU64::new(1);
    let slug = format!("event-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
    let mut new = CreateEvent::new("Summer Night", slug, at(EVENT_START));
    new.end_date = Some(at(EVENT_END));
    new.status = Some(EventStatus::Published);
    change(&mut new);
    new
}

/// A request for an order of the customer of [`new_customer`].
pub fn new_order(event: EventId, ticket_type: TicketTypeId, quantity: i64) -> CreateOrder {
    CreateOrder::new(event, new_customer(), ticket_type, quantity)
}

/// A percentage of whole percent.
pub fn percent(percent: u8) -> Percentage {
    Percentage::whole(percent).expect("at most 100 percent")
}

/// A discount of `whole` percent on every ticket type of the event, valid in 2026.
pub fn percent_off(event: &Event, code: &str, whole: u32) -> CreateDiscount {
    let (from, to) = (at("2026-01-01T00:00:00Z"), at("2027-01-01T00:00:00Z"));
    CreateDiscount::percentage(code, whole).event(event.id).valid_from(from).valid_to(to)
}

/// A discount of a fixed amount on every ticket type of the event, valid in 2026.
pub fn amount_off(event: &Event, code: &str, amount: Amount) -> CreateDiscount {
    percent_off(event, code, 0).value(amount)
}

impl Fixture {
    /// Creates a published event in the future.
    pub fn event(&self) -> Event {
        self.event_with(|_| {})
    }

    pub fn event_with(&self, change: impl FnOnce(&mut CreateEvent)) -> Event {
        self.service.create_event(&self.caller, new_event(change)).expect("an event")
    }

    /// The event for tests that need only one: published, and in the far future by any clock. Created on first use.
    pub fn default_event(&self) -> &Event {
        self.default_event.get_or_init(|| {
            self.event_with(|new| {
                new.start_date = at("2100-01-01T00:00:00Z");
                new.end_date = None;
            })
        })
    }

    /// The ticket type for tests that need only one: a million seats at the default event. Created on first use.
    pub fn default_ticket_type(&self) -> &TicketType {
        let create = || self.ticket_type_with(self.default_event(), |new| new.quantity = 1_000_000);
        self.default_ticket_type.get_or_init(create)
    }

    /// Creates a ticket type of the default event.
    pub fn new_ticket_type(&self, cents: i64, quantity: i64) -> TicketType {
        self.ticket_type(self.default_event(), cents, quantity)
    }

    pub fn ticket_type(&self, event: &Event, cents: i64, quantity: i64) -> TicketType {
        self.ticket_type_with(event, |new| {
            new.price = eur(cents);
            new.quantity = quantity;
        })
    }

    pub fn ticket_type_with(&self, event: &Event, change: impl FnOnce(&mut CreateTicketType)) -> TicketType {
        let mut new = CreateTicketType::new("Seat", eur(1250), 100);
        change(&mut new);
        self.service.create_ticket_type(&self.caller, event.id, new).expect("a ticket type")
    }

    /// Returns the ticket type as it is now.
    pub fn read_ticket_type(&self, id: TicketTypeId) -> TicketType {
        self.service.get_ticket_type(&self.caller, id).expect("the ticket type")
    }

    pub fn set_quantity(&self, id: TicketTypeId, quantity: i64) -> Result<TicketType> {
        let changes = UpdateTicketType::default().quantity(quantity);
        self.service.update_ticket_type(&self.caller, id, changes)
    }

    /// Returns how many tickets of the type are sold.
    pub fn sold(&self, ticket_type: &TicketType) -> i64 {
        self.read_ticket_type(ticket_type.id).sold
    }

    pub fn try_order(&self, ticket_type: &TicketType, quantity: i64) -> Result<Order> {
        let request = new_order(ticket_type.event_id, ticket_type.id, quantity);
        self.service.create_order(&self.caller, request).map(|response| response.order)
    }

    pub fn order(&self, ticket_type: &TicketType, quantity: i64) -> Order {
        self.try_order(ticket_type, quantity).expect("an order")
    }

    pub fn try_order_with_code(&self, ticket_type: &TicketType, quantity: i64, code: &str) -> Result<Order> {
        let mut request = new_order(ticket_type.event_id, ticket_type.id, quantity);
        request.discount_code = Some(code.to_owned());
        self.service.create_order(&self.caller, request).map(|response| response.order)
    }

    pub fn order_with_code(&self, ticket_type: &TicketType, quantity: i64, code: &str) -> Order {
        self.try_order_with_code(ticket_type, quantity, code).expect("an order")
    }

    /// Creates an order that the gateway reports as paid.
    pub fn paid_order(&self, ticket_type: &TicketType, quantity: i64) -> Order {
        let order = self.order(ticket_type, quantity);
        self.service.payment_completed(&self.caller, order.id).expect("a payment")
    }

    /// Returns the order as it is now.
    pub fn read_order(&self, id: OrderId) -> Order {
        self.service.get_order(&self.caller, id).expect("the order")
    }

    pub fn order_status(&self, id: OrderId) -> OrderStatus {
        self.read_order(id).status
    }

    pub fn payment_status(&self, id: OrderId) -> Option<PaymentStatus> {
        self.read_order(id).payment_gateway.map(|payment| payment.status)
    }

    /// Advances the clock to the instant at which the holds of orders created now expire.
    pub fn expire_holds(&self) {
        self.clock.advance(HOLD);
    }

    pub fn discount(&self, new: CreateDiscount) -> Discount {
        self.service.create_discount(&self.caller, new).expect("a discount")
    }

    /// Returns the discount as it is now.
    pub fn read_discount(&self, id: DiscountId) -> Discount {
        self.service.get_discount(&self.caller, id).expect("the discount")
    }

    /// Returns how many orders use the discount now.
    pub fn discount_uses(&self, discount: &Discount) -> i64 {
        self.read_discount(discount.id).used_count
    }

    pub fn try_issue(&self, ticket_type: TicketTypeId, quantity: i64) -> Result<Vec<NewTicket>> {
        let request = IssueTickets::new(ticket_type, new_customer(), quantity);
        self.service.issue_tickets(&self.caller, request).map(|response| response.issued_tickets)
    }

    pub fn issue(&self, ticket_type: &TicketType, quantity: i64) -> Vec<NewTicket> {
        self.try_issue(ticket_type.id, quantity).expect("tickets")
    }

    pub fn set_event_status(&self, id: EventId, status: EventStatus) -> Result<Event> {
        let changes = UpdateEvent::default().status(status);
        self.service.update_event(&self.caller, id, changes)
    }

    pub fn event_status(&self, id: EventId) -> EventStatus {
        self.service.get_event(&self.caller, id).expect("the event").status
    }
}
