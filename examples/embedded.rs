//! A complete sale in one program: an event is published, customers order and pay, and tickets are checked in at the
//! entrance. The clock is set by the program, and payments go through the sandbox gateway.
//!
//! `cargo run --example embedded`

use std::error::Error;
use std::time::Duration;

use ticketing::environment::ManualClock;
use ticketing::event::{CreateEvent, Event, EventStatus};
use ticketing::id::OrderId;
use ticketing::order::{CreateOrder, CreateOrderResponse, NewCustomer, OrderStatus, PaymentStatus};
use ticketing::organization::CreateOrganization;
use ticketing::payment::CheckoutOutcome;
use ticketing::ticket::CheckInTicket;
use ticketing::ticket_type::{CreateTicketType, TicketType};
use ticketing::{Amount, TicketingService};

type Step<T = ()> = Result<T, Box<dyn Error>>;

fn main() -> Step {
    let folder = tempfile::tempdir()?;
    let clock = ManualClock::new("2026-05-01T09:00:00Z".parse()?);
    let service = TicketingService::builder(folder.path().join("ticketing.db"))
        .clock(clock.clone())
        .sandbox_gateway()
        .order_hold(Duration::from_mins(30))
        .open()?;
    let sale = Sale::open(service, clock)?;

    sale.free_ticket()?;
    let ada = sale.paid_ticket()?;
    sale.expired_order()?;
    sale.sold_out()?;
    sale.check_in(&ada)?;
    sale.refund(ada.order)
}

/// A concert and its two ticket types.
struct Sale {
    service: TicketingService,
    clock: ManualClock,
    caller: ticketing::Caller,
    event: Event,
    guest_list: TicketType,
    ticket_type: TicketType,
}

/// A paid order for one ticket.
struct Purchase {
    order: OrderId,
    code: String,
}

impl Sale {
    /// Publishes the event.
    fn open(service: TicketingService, clock: ManualClock) -> Step<Self> {
        let cellar = CreateOrganization::new("Jazz Cellar").timezone("Europe/Berlin");
        let organization = service.create_organization(cellar)?;
        let caller = service.act_for(organization.id)?;
        let mut event = CreateEvent::new("Summer Night", "summer-night", "2026-06-01T18:00:00Z".parse()?);
        event.status = Some(EventStatus::Published);
        event.end_date = Some("2026-06-01T22:00:00Z".parse()?);
        let event = service.create_event(&caller, event)?;
        let guest_list = CreateTicketType::new("Guest list", Amount::ZERO, 1);
        let guest_list = service.create_ticket_type(&caller, event.id, guest_list)?;
        let mut ticket_type = CreateTicketType::new("Seat", Amount::cents(1250), 2);
        ticket_type.valid_from = Some("2026-06-01T17:00:00Z".parse()?);
        let ticket_type = service.create_ticket_type(&caller, event.id, ticket_type)?;
        let start = event.start_time.as_deref().unwrap_or("a time to be announced");
        println!("{} announces {} on 1 June at {start} in Berlin.", organization.name, event.title);
        println!(
            "There are {} seats at {} {}, and one free ticket for the guest list.",
            ticket_type.quantity, ticket_type.price, event.currency
        );
        Ok(Self { service, clock, caller, event, guest_list, ticket_type })
    }

    fn free_ticket(&self) -> Step {
        let created = self.order("Grace", &self.guest_list)?;
        println!(
            "\nGrace is on the guest list. Her ticket is free, so her order is {} immediately.",
            created.order.status
        );
        println!("The code of her ticket is {}.", created.issued_tickets[0].code);
        Ok(())
    }

    fn paid_ticket(&self) -> Step<Purchase> {
        let created = self.order("Ada", &self.ticket_type)?;
        let order = created.order.id;
        println!("\nAda orders a seat. The order is {} and reserves the seat for 30 minutes.", created.order.status);
        self.pay(&created)?;
        let order = self.service.get_order(&self.caller, order)?;
        let code = order.items[0].issued_tickets[0].code.clone();
        println!(
            "She pays {} {} on the checkout page. The order is now {}.",
            order.total, self.event.currency, order.status
        );
        println!("The code of her ticket is {code}.");
        Ok(Purchase { order: order.id, code })
    }

    fn expired_order(&self) -> Step {
        let bob = self.order("Bob", &self.ticket_type)?;
        println!("\nBob orders the last seat and does not pay.");
        println!("Carol wants it too and is refused: {}.", refusal(self.order("Carol", &self.ticket_type))?);
        self.clock.advance(Duration::from_mins(31));
        let bob = self.service.get_order(&self.caller, bob.order.id)?;
        println!("After 31 minutes Bob's order is {}, and its seat is available again.", bob.status);
        Ok(())
    }

    fn sold_out(&self) -> Step {
        let carol = self.order("Carol", &self.ticket_type)?;
        self.pay(&carol)?;
        let event = self.service.get_event(&self.caller, self.event.id)?;
        println!("\nCarol tries again and pays for the last seat. The event is {}.", event.status);
        println!("Dave is refused: {}.", refusal(self.order("Dave", &self.ticket_type))?);
        Ok(())
    }

    fn check_in(&self, ada: &Purchase) -> Step {
        let scan = || CheckInTicket::new(&ada.code).event(self.event.id);
        println!("\nAda tries her ticket a month early.");
        println!("She is refused: {}.", refusal(self.service.check_in_ticket(&self.caller, scan()))?);
        self.clock.set("2026-06-01T17:30:00Z".parse()?);
        println!("On the evening of the concert, admission starts at 19:00. Ada arrives at 19:30.");
        let checked_in = self.service.check_in_ticket(&self.caller, scan())?;
        println!("Her ticket is scanned: {}.", checked_in.status);
        println!(
            "Somebody else shows a copy of it and is refused: {}.",
            refusal(self.service.check_in_ticket(&self.caller, scan()))?
        );
        self.service.check_out_ticket(&self.caller, scan())?;
        println!("Ada steps out for some air and is checked out.");
        let back = self.service.check_in_ticket(&self.caller, scan())?;
        println!(
            "She comes back and is {} again. So far there were {} scans, refused ones included.",
            back.status, back.scan_count
        );
        Ok(())
    }

    fn refund(&self, order: OrderId) -> Step {
        println!("\nThe piano is out of tune, and Ada asks for a refund.");
        let cancelled = self.service.cancel_order(&self.caller, order)?;
        let order = self.service.get_order(&self.caller, order)?;
        let refunded = order.payment_gateway.is_some_and(|payment| payment.status == PaymentStatus::Refunded);
        println!("Her order is {}, and her ticket is {}.", order.status, order.items[0].issued_tickets[0].status);
        if order.status == OrderStatus::Cancelled && refunded && !cancelled.requires_manual_refund {
            println!("The payment gateway has refunded {} {}.", order.total, self.event.currency);
        }
        let event = self.service.get_event(&self.caller, self.event.id)?;
        println!("Her seat can be sold again: the event is {}.", event.status);
        Ok(())
    }

    fn order(&self, name: &str, ticket_type: &TicketType) -> ticketing::Result<CreateOrderResponse> {
        let customer = NewCustomer::new(name, format!("{}@example.com", name.to_lowercase()));
        self.service.create_order(&self.caller, CreateOrder::new(self.event.id, customer, ticket_type.id, 1))
    }

    /// Does the same as the pay button on the sandbox's checkout page. The last part of the link is the checkout token.
    fn pay(&self, created: &CreateOrderResponse) -> Step {
        let link = created.checkout_url.as_deref().ok_or("the order has no checkout link")?;
        let token = link.rsplit('/').next().unwrap_or_default();
        self.service.finish_hosted_checkout(token, CheckoutOutcome::Success)?;
        Ok(())
    }
}

/// Returns the error of a call that must fail.
fn refusal<T>(result: ticketing::Result<T>) -> Result<ticketing::Error, &'static str> {
    result.err().ok_or("this call should have failed")
}

#[test]
fn the_example_runs_to_the_end() {
    main().unwrap();
}
