//! A service whose payment gateway is Stripe's fake, with clocks that the test moves together.

use std::time::Duration;

use ticketing::TicketingService;
use ticketing::environment::ManualClock;
use ticketing::id::OrderId;
use ticketing::order::{Order, OrderStatus};
use ticketing::payment::{ListRefunds, NoticeHeaders, NoticeOutcome, Refund};

use ticketing::ticket_type::TicketType;

use crate::common::fake_stripe::{FakeStripe, Notice};
use crate::common::{Fixture, HOLD, NOW, at};
use crate::stripe::gateway::gateway;

/// By when a payment is settled whose notices were all lost, counted from the end of the hold.
pub const SETTLED_AFTER: Duration = Duration::from_secs(70);

pub struct Shop {
    pub fixture: Fixture,
    pub fake: FakeStripe,
    /// Stripe's clock.
    pub clock: ManualClock,
    pub ticket_type: TicketType,
}

impl Shop {
    pub fn open() -> Self {
        let clock = ManualClock::new(at(NOW));
        let fake = FakeStripe::start(clock.clone());
        let fixture = Fixture::with(|builder| builder.payment_gateway(gateway(&fake)));
        let ticket_type = fixture.new_ticket_type(1250, 1000);
        Self { fixture, fake, clock, ticket_type }
    }

    pub fn service(&self) -> &TicketingService {
        &self.fixture.service
    }

    /// Lets time pass at both ends, and runs the maintenance as often as a background thread would.
    pub fn pass(&self, time: Duration) {
        let step = Duration::from_secs(1);
        for _ in 0..time.as_secs() {
            self.skip(step);
            self.maintain();
        }
    }

    /// Lets time pass at both ends, in which the service does nothing.
    pub fn skip(&self, time: Duration) {
        self.clock.advance(time);
        self.fixture.clock.advance(time);
    }

    pub fn maintain(&self) {
        self.service().run_maintenance().unwrap();
    }

    /// Drops the service and opens another on the same file.
    pub fn crash(&mut self) {
        let next = self.fixture.second_service_with(|builder| builder.payment_gateway(gateway(&self.fake)));
        self.fixture.service = next;
    }

    /// An order of two tickets over 25 euros, and its session.
    pub fn order(&self) -> (Order, String) {
        let order = self.fixture.order(&self.ticket_type, 2);
        let session = self.session(order.id).expect("a session");
        (order, session)
    }

    /// The session of an order.
    pub fn session(&self, order: OrderId) -> Option<String> {
        let sessions = self.fake.all("checkout.session");
        let session = sessions.iter().find(|session| session["client_reference_id"] == order.to_string())?;
        Some(session["id"].as_str().unwrap().to_owned())
    }

    /// Signs a notice and passes it to the service.
    pub fn receive(&self, notice: &Notice) -> ticketing::Result<Vec<NoticeOutcome>> {
        let headers = NoticeHeaders::from_iter([("stripe-signature", self.fake.sign(notice))]);
        self.service().receive_gateway_notice(&headers, notice.body.as_bytes())
    }

    /// Delivers all notices in the order of their events.
    pub fn deliver_all(&self) {
        for notice in self.fake.take_notices() {
            self.receive(&notice).unwrap();
        }
    }

    pub fn status(&self, order: &Order) -> OrderStatus {
        self.fixture.order_status(order.id)
    }

    pub fn cancel(&self, order: &Order) {
        assert!(self.service().cancel_order(&self.fixture.caller, order.id).unwrap().success);
    }

    pub fn refunds(&self) -> Vec<Refund> {
        self.service().list_refunds(&self.fixture.caller, ListRefunds::default()).unwrap().data
    }

    /// Lets the hold of an order that was created now end, and the time pass by which its payment has to be settled.
    pub fn pass_hold(&self) {
        let before = HOLD - Duration::from_secs(70);
        self.skip(before);
        self.pass(Duration::from_secs(70) + SETTLED_AFTER);
    }

    /// The money that Stripe keeps of a payment: its amount less its refunds.
    pub fn kept(&self, intent: &str) -> i64 {
        let refunds = self.fake.all("refund");
        let back = refunds.iter().filter(|refund| refund["payment_intent"] == intent && refund["status"] != "failed");
        let back: i64 = back.map(|refund| refund["amount"].as_i64().unwrap()).sum();
        self.fake.get(intent)["amount_received"].as_i64().unwrap() - back
    }
}
