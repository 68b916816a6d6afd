//! What does not need Stripe continues while Stripe accepts requests and never answers.

use crate::common::fake_stripe::Fault;
use crate::common::webhooks::wait_until;
use crate::stripe::shop::Shop;
use ticketing::order::OrderStatus;
use ticketing::ticket::CheckInTicket;

/// As many calls to the gateway as run at the same time.
const CALLS: usize = 64;

#[test]
fn while_stripe_hangs_tickets_are_scanned_and_free_orders_are_completed() {
    let Shop { fixture, fake, ticket_type, .. } = Shop::open();
    let free = fixture.new_ticket_type(0, 100);
    let issued = fixture.issue(&ticket_type, 10);
    let paid = fixture.order(&ticket_type, 1);
    fake.fail("POST", "/v1/checkout/sessions", Fault::HangBefore, usize::MAX);
    std::thread::scope(|scope| {
        let buyers: Vec<_> = (0..CALLS).map(|_| scope.spawn(|| fixture.try_order(&ticket_type, 1))).collect();
        wait_until("all calls hang", || fake.requests().len() == 1 + CALLS);
        for ticket in &issued {
            fixture.service.check_in_ticket(&fixture.caller, CheckInTicket::new(&ticket.code)).unwrap();
            assert_eq!(fixture.order(&free, 1).status, OrderStatus::Completed);
        }
        // Orders end, and what is reported is recorded.
        fixture.service.payment_completed(&fixture.caller, paid.id).unwrap();
        assert!(fixture.try_order(&ticket_type, 1).is_err(), "there is no call left");
        assert!(buyers.iter().all(|buyer| !buyer.is_finished()));
        // The connections end.
        drop(fake);
        for buyer in buyers {
            assert!(buyer.join().unwrap().is_err());
        }
    });
}
