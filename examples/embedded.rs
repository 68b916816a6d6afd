//! The whole job inside one program, told as it happens: an event is put on sale, people buy, and on the evening they
//! come to the door. The clock is turned by hand, and the payments are those of the sandbox.
//!
//! `cargo run --example embedded`

use std::error::Error;
use std::time::Duration;

use ticketing::{
    Amount, CheckInTicket, CheckoutOutcome, CreateEvent, CreateOrder, CreateOrderResponse, CreateOrganization,
    CreateTicketType, Event, EventStatus, ManualClock, NewCustomer, OrderId, OrderStatus, PaymentStatus, TicketType,
    TicketingService,
};

type Told = Result<(), Box<dyn Error>>;

fn main() -> Told {
    let folder = tempfile::tempdir()?;
    let clock = ManualClock::at("2026-05-01T09:00:00Z".parse()?);
    let service = TicketingService::builder(folder.path().join("ticketing.db"))
        .clock(clock.clone())
        .sandbox_gateway()
        .order_hold(Duration::from_mins(30))
        .open()?;
    let evening = Evening::announce(service, clock)?;

    evening.a_free_ticket()?;
    let ada = evening.a_paid_ticket()?;
    evening.an_order_that_nobody_pays()?;
    evening.sold_out()?;
    evening.at_the_door(&ada)?;
    evening.a_refund(ada.order)
}

/// One concert, and what is sold for it.
struct Evening {
    service: TicketingService,
    clock: ManualClock,
    caller: ticketing::Caller,
    event: Event,
    guest: TicketType,
    seat: TicketType,
}

/// What a customer takes home.
struct Bought {
    order: OrderId,
    code: String,
}

impl Evening {
    fn announce(service: TicketingService, clock: ManualClock) -> Result<Self, Box<dyn Error>> {
        let cellar = CreateOrganization {
            name: "Jazz Cellar".to_owned(),
            timezone: "Europe/Berlin".to_owned(),
            ..Default::default()
        };
        let organization = service.create_organization(cellar)?;
        let caller = service.act_for(organization.id)?;
        let mut event = CreateEvent::new("Summer Night", "summer-night", "2026-06-01T18:00:00Z".parse()?);
        event.status = Some(EventStatus::Published);
        event.end_date = Some("2026-06-01T22:00:00Z".parse()?);
        let event = service.create_event(&caller, event)?;
        let guest =
            service.create_ticket_type(&caller, event.id, CreateTicketType::new("Guest list", Amount::ZERO, 1))?;
        let mut seat = CreateTicketType::new("Seat", Amount::new(1250, 2), 2);
        seat.valid_from = Some("2026-06-01T17:00:00Z".parse()?);
        let seat = service.create_ticket_type(&caller, event.id, seat)?;
        let start = event.start_time.as_deref().unwrap_or("an hour to be told");
        println!("{} announces {}, on 1 June at {start} in Berlin.", organization.name, event.title);
        println!(
            "There are {} seats at {} {}, and one place on the guest list.",
            seat.quantity, seat.price, event.currency
        );
        Ok(Self { service, clock, caller, event, guest, seat })
    }

    fn a_free_ticket(&self) -> Told {
        let placed = self.order("Grace", &self.guest)?;
        println!("\nGrace is on the guest list. Her order is {} at once: she pays nothing.", placed.order.status);
        println!("Her ticket is {}.", placed.issued_tickets[0].code);
        Ok(())
    }

    fn a_paid_ticket(&self) -> Result<Bought, Box<dyn Error>> {
        let placed = self.order("Ada", &self.seat)?;
        let order = placed.order.id;
        println!("\nAda orders a seat. The order is {} and holds the seat for 30 minutes.", placed.order.status);
        self.pay(&placed)?;
        let order = self.service.get_order(&self.caller, order)?;
        let code = order.items[0].issued_tickets[0].code.clone();
        println!(
            "She pays {} {} on the checkout page. Now the order is {}.",
            order.total, self.event.currency, order.status
        );
        println!("Her ticket is {code}.");
        Ok(Bought { order: order.id, code })
    }

    fn an_order_that_nobody_pays(&self) -> Told {
        let bob = self.order("Bob", &self.seat)?;
        println!("\nBob orders the last seat and wanders off.");
        println!("Carol comes too late: {}.", refusal(self.order("Carol", &self.seat))?);
        self.clock.advance(Duration::from_mins(31));
        let bob = self.service.get_order(&self.caller, bob.order.id)?;
        println!("Half an hour later Bob's order is {}, and the seat is free again.", bob.status);
        Ok(())
    }

    fn sold_out(&self) -> Told {
        let carol = self.order("Carol", &self.seat)?;
        self.pay(&carol)?;
        let event = self.service.get_event(&self.caller, self.event.id)?;
        println!("\nCarol tries again and pays for the last seat. The event is {}.", event.status);
        println!("Dave hears: {}.", refusal(self.order("Dave", &self.seat))?);
        Ok(())
    }

    fn at_the_door(&self, ada: &Bought) -> Told {
        let scan = || CheckInTicket { event_id: Some(self.event.id), ..CheckInTicket::new(&ada.code) };
        println!("\nAda comes to the door a month early, to be sure.");
        println!("She is sent home: {}.", refusal(self.service.check_in_ticket(&self.caller, scan()))?);
        self.clock.set("2026-06-01T17:30:00Z".parse()?);
        println!("On the evening the doors open at seven. Half an hour later Ada is there.");
        let inside = self.service.check_in_ticket(&self.caller, scan())?;
        println!("Her ticket is scanned: {}.", inside.status);
        println!("Somebody shows a copy of it: {}.", refusal(self.service.check_in_ticket(&self.caller, scan()))?);
        self.service.check_out_ticket(&self.caller, scan())?;
        println!("Ada steps out for some air and is checked out.");
        let back = self.service.check_in_ticket(&self.caller, scan())?;
        println!("She comes back and is {} again, after {} scans.", back.status, back.scan_count);
        Ok(())
    }

    fn a_refund(&self, order: OrderId) -> Told {
        println!("\nThe piano is out of tune, and Ada wants her money back.");
        let cancelled = self.service.cancel_order(&self.caller, order)?;
        let order = self.service.get_order(&self.caller, order)?;
        let refunded = order.payment_gateway.is_some_and(|payment| payment.status == PaymentStatus::Refunded);
        println!("Her order is {}, and her ticket is {}.", order.status, order.items[0].issued_tickets[0].status);
        if order.status == OrderStatus::Cancelled && refunded && !cancelled.requires_manual_refund {
            println!("The payment gateway has sent back {} {}.", order.total, self.event.currency);
        }
        let event = self.service.get_event(&self.caller, self.event.id)?;
        println!("Her seat can be sold once more: the event is {}.", event.status);
        Ok(())
    }

    fn order(&self, name: &str, ticket_type: &TicketType) -> ticketing::Result<CreateOrderResponse> {
        let customer = NewCustomer::new(name, format!("{}@example.com", name.to_lowercase()));
        self.service.create_order(&self.caller, CreateOrder::new(self.event.id, customer, ticket_type.id, 1))
    }

    /// Does what the button on the sandbox's page does. The last part of the link is the token that lets in.
    fn pay(&self, placed: &CreateOrderResponse) -> Told {
        let link = placed.checkout_url.as_deref().ok_or("this order has nothing to pay")?;
        let token = link.rsplit('/').next().unwrap_or_default();
        self.service.finish_hosted_checkout(token, CheckoutOutcome::Success)?;
        Ok(())
    }
}

/// What stood in the way of something that must not be possible.
fn refusal<T>(answer: ticketing::Result<T>) -> Result<ticketing::Error, &'static str> {
    answer.err().ok_or("this should have been refused")
}

#[test]
fn the_story_is_true() {
    main().unwrap();
}
