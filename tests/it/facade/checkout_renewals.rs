//! Renewing the checkout of a pending order: who may, what it costs the order, and that one checkout at most is
//! payable.

use std::time::Duration;

use ticketing::error::Reason;
use ticketing::order::{Order, OrderStatus, PaymentChoice, PaymentStatus};
use ticketing::payment::{
    CheckoutOutcome, CheckoutState, CheckoutStatus, GatewayEvent, GatewayPayment, RenewCheckoutResponse,
};
use ticketing::ticket_type::TicketType;
use ticketing::{Error, Result};

use crate::common::invariants::assert_consistent;
use crate::common::*;

/// The limit that the documentation names.
const MAX_RENEWALS: usize = 10;

/// A fixture with a pending order, whose checkout has ended at the gateway.
fn fixture() -> (Fixture, TicketType, Order) {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 100);
    let order = fixture.order(&ticket_type, 2);
    fixture.gateway.set_state(Some(CheckoutState::Closed));
    (fixture, ticket_type, order)
}

fn renew(fixture: &Fixture, order: &Order) -> Result<RenewCheckoutResponse> {
    fixture.service.renew_checkout(&fixture.caller, order.id)
}

fn status(fixture: &Fixture, order: &Order) -> CheckoutStatus {
    fixture.service.get_checkout(&fixture.caller, order.id).expect("a checkout").status
}

fn keys(fixture: &Fixture) -> Vec<String> {
    fixture.gateway.checkouts().into_iter().map(|request| request.idempotency_key).collect()
}

#[test]
fn a_checkout_that_has_ended_is_replaced_by_a_new_one_and_the_hold_stays_as_it_was() {
    let (fixture, _, order) = fixture();
    let hold = |fixture: &Fixture| fixture.service.get_order_details(&fixture.caller, order.id).expect("it").hold_until;
    let before = hold(&fixture);
    fixture.clock.advance(Duration::from_mins(10));
    fixture.gateway.set_shortest_checkout(Duration::from_mins(31));
    let renewed = renew(&fixture, &order).expect("renewed");
    assert_eq!(renewed.order_id, order.id);
    assert_eq!(renewed.checkout_url, format!("https://pay.example/pay-{}-2", order.id));
    assert!(renewed.renewed);
    // 31 minutes after the renewal.
    assert_eq!(renewed.expires_at, at("2026-06-01T12:41:00Z"));
    assert_eq!((hold(&fixture), before), (Some(at("2026-06-01T12:30:00Z")), Some(at("2026-06-01T12:30:00Z"))));
    assert_eq!(fixture.stored("SELECT SUM(held) FROM ticket_types"), 2);

    assert_eq!(keys(&fixture), [format!("checkout-{}", order.id), format!("checkout-{}-2", order.id)]);
    let [first, second] = &fixture.gateway.checkouts()[..] else { panic!("two") };
    assert_eq!((first.renewed_at, second.renewed_at), (None, Some(at("2026-06-01T12:10:00Z"))));
    assert_eq!((first.created_at, first.hold_until), (second.created_at, second.hold_until));
    assert_eq!((&first.items, first.amount, &first.customer), (&second.items, second.amount, &second.customer));

    let payment = fixture.read_order(order.id).payment_gateway.expect("a payment");
    assert_eq!((payment.link, payment.status), (renewed.checkout_url, PaymentStatus::Waiting));
    let checkout = fixture.service.get_checkout(&fixture.caller, order.id).expect("a checkout");
    assert_eq!(checkout.reference, Some(format!("pay-{}-2", order.id)));
    assert_eq!((checkout.status, checkout.renewals), (CheckoutStatus::Open, 1));
    assert_eq!(checkout.expires_at, renewed.expires_at);
    assert_consistent(&fixture.database());
}

#[test]
fn a_checkout_that_is_open_or_of_which_the_gateway_knows_nothing_is_returned_as_it_is() {
    for state in [Some(CheckoutState::Open), Some(CheckoutState::Unknown), None] {
        let (fixture, _, order) = fixture();
        let link = order.payment_gateway.as_ref().map(|payment| payment.link.clone());
        fixture.gateway.set_state(state.clone());
        let before = fixture.all_rows();
        let same = renew(&fixture, &order).expect("the same");
        assert_eq!((Some(same.checkout_url), same.renewed), (link, false), "{state:?}");
        assert_eq!(fixture.all_rows(), before, "{state:?}");
        assert_eq!((fixture.gateway.checkouts().len(), fixture.gateway.closed().len()), (1, 0), "{state:?}");
    }
}

#[test]
fn a_checkout_whose_payment_has_failed_is_closed_before_it_is_replaced() {
    let (fixture, _, order) = fixture();
    fixture.gateway.set_state(Some(CheckoutState::Open));
    fixture.service.payment_failed(&fixture.caller, order.id).expect("failed");
    let renewed = renew(&fixture, &order).expect("renewed");
    assert!(renewed.renewed);
    assert_eq!(closed(&fixture), [format!("pay-{}", order.id)]);
    assert_eq!(fixture.payment_status(order.id), Some(PaymentStatus::Waiting));

    // A gateway that can neither close nor look up: the page may still be payable.
    fixture.gateway.set_state(None);
    fixture.service.payment_failed(&fixture.caller, order.id).expect("failed");
    let same = renew(&fixture, &order).expect("the same");
    assert_eq!((same.checkout_url, same.renewed), (renewed.checkout_url, false));
}

#[test]
fn a_checkout_that_the_notices_have_closed_is_renewed_without_asking_about_it() {
    let (fixture, _, order) = fixture();
    let notice = Notice::about(&order, GatewayEvent::Checkout(CheckoutState::Closed));
    fixture.gateway.know(&notice);
    notice.send(&fixture.service).expect("received");
    assert_eq!(status(&fixture, &order), CheckoutStatus::Closed);
    assert!(renew(&fixture, &order).expect("renewed").renewed);
    assert!(fixture.gateway.looked_up().is_empty());
    // The notice comes once more: it is about the first checkout.
    notice.send(&fixture.service).expect("received");
    let failed = Notice::about(&order, GatewayEvent::PaymentFailed);
    fixture.gateway.know(&failed);
    failed.send(&fixture.service).expect("received");
    assert_eq!(status(&fixture, &order), CheckoutStatus::Open);
    assert_eq!(fixture.payment_status(order.id), Some(PaymentStatus::Waiting));
}

#[test]
fn an_order_that_does_not_wait_for_its_payment_at_the_gateway_has_no_checkout_to_renew() {
    let (fixture, ticket_type, order) = fixture();
    let paid = fixture.paid_order(&ticket_type, 1);
    let cancelled = fixture.order(&ticket_type, 1);
    fixture.service.cancel_order(&fixture.caller, cancelled.id).expect("cancelled");
    let by_hand = new_order(ticket_type.event_id, ticket_type.id, 1).payment(PaymentChoice::Manual);
    let by_hand = fixture.service.create_order(&fixture.caller, by_hand).expect("an order").order;
    let asked = (fixture.gateway.checkouts().len(), fixture.gateway.looked_up().len());
    for order in [&paid, &cancelled] {
        assert_eq!(reason(renew(&fixture, order)), Reason::OrderNotPending);
    }
    assert_not_found(renew(&fixture, &by_hand));
    fixture.expire_holds();
    assert_eq!(reason(renew(&fixture, &order)), Reason::OrderNotPending);
    assert_eq!((fixture.gateway.checkouts().len(), fixture.gateway.looked_up().len()), asked);
}

#[test]
fn a_checkout_can_be_renewed_ten_times() {
    let (fixture, _, order) = fixture();
    for _ in 0..MAX_RENEWALS {
        assert!(renew(&fixture, &order).expect("renewed").renewed);
    }
    assert_eq!(reason(renew(&fixture, &order)), Reason::LimitReached);
    assert_eq!(pages(&fixture), 1 + MAX_RENEWALS);
    assert_consistent(&fixture.database());
}

#[test]
fn a_gateway_that_fails_leaves_the_order_as_it_is() {
    for (behavior, next_key) in [(GatewayBehavior::Unavailable, 2), (GatewayBehavior::Refuse, 3)] {
        let (fixture, _, order) = fixture();
        fixture.gateway.on_look_up(GatewayBehavior::Unavailable);
        assert!(matches!(renew(&fixture, &order), Err(Error::CheckoutNotRenewed(_))));
        fixture.gateway.on_look_up(GatewayBehavior::Succeed);
        fixture.gateway.on_checkout(behavior);
        assert!(matches!(renew(&fixture, &order), Err(Error::CheckoutNotRenewed(_))));
        assert_eq!(fixture.order_status(order.id), OrderStatus::Pending);
        assert_eq!(fixture.stored("SELECT SUM(held) FROM ticket_types"), 2);
        assert_consistent(&fixture.database());

        // A request that may have had an effect is repeated unchanged.
        fixture.gateway.on_checkout(GatewayBehavior::Succeed);
        fixture.clock.advance(Duration::from_secs(1));
        assert!(renew(&fixture, &order).expect("renewed").renewed);
        assert_eq!(keys(&fixture).pop(), Some(format!("checkout-{}-{next_key}", order.id)));
        if behavior == GatewayBehavior::Unavailable {
            let requests = fixture.gateway.checkouts();
            assert_eq!(requests[1], requests[2]);
        }
        assert_consistent(&fixture.database());
    }
}

#[test]
fn a_payment_of_an_earlier_checkout_completes_the_order_once_and_a_second_payment_goes_back() {
    for has_second in [false, true] {
        let (fixture, ticket_type, order) = fixture();
        renew(&fixture, &order).expect("renewed");
        let late = Notice::paid(&order, order.total, "pi_1");
        fixture.gateway.know(&late);
        for _ in 0..3 {
            late.send(&fixture.service).expect("received");
        }
        assert_eq!(fixture.order_status(order.id), OrderStatus::Completed);
        assert_eq!(fixture.sold(&ticket_type), 2);
        // The new checkout must be closed.
        assert_eq!(status(&fixture, &order), CheckoutStatus::Closing);
        let second = CheckoutState::Paid(GatewayPayment::new("pi_2", order.total, "EUR"));
        fixture.gateway.set_state(Some(if has_second { second } else { CheckoutState::Open }));
        for _ in 0..3 {
            fixture.service.run_maintenance().expect("maintenance");
            fixture.clock.advance(Duration::from_mins(5));
            late.send(&fixture.service).expect("received");
        }
        assert_eq!(closed(&fixture), [format!("pay-{}-2", order.id)]);
        assert_eq!(status(&fixture, &order), CheckoutStatus::Closed);
        let refunded: Vec<_> =
            fixture.gateway.refunds().into_iter().filter_map(|refund| refund.payment_reference).collect();
        assert_eq!(refunded, ["pi_2"][usize::from(!has_second)..]);
        assert_eq!(fixture.order_status(order.id), OrderStatus::Completed);

        // What is given back later is the payment that completed the order.
        fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled");
        assert_eq!(fixture.gateway.refunds().pop().and_then(|refund| refund.payment_reference), Some("pi_1".into()));
        assert_consistent(&fixture.database());
    }
}

/// The program reports the payment without its id, so the gateway has to find it.
#[test]
fn a_refund_names_the_earlier_checkouts_under_which_the_order_may_have_been_paid() {
    let (fixture, _, order) = fixture();
    for _ in 0..2 {
        renew(&fixture, &order).expect("renewed");
    }
    fixture.service.payment_completed(&fixture.caller, order.id).expect("paid");
    fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled");
    let refund = &fixture.gateway.refunds()[0];
    assert_eq!(refund.reference, Some(format!("pay-{}-3", order.id)));
    assert_eq!(refund.earlier_references, [format!("pay-{}-2", order.id), format!("pay-{}", order.id)]);
}

#[test]
fn a_payment_of_an_earlier_checkout_of_an_order_that_has_ended_goes_back_once() {
    let (fixture, _, order) = fixture();
    renew(&fixture, &order).expect("renewed");
    fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled");
    let late = Notice::paid(&order, order.total, "pi_1");
    fixture.gateway.know(&late);
    for _ in 0..3 {
        late.send(&fixture.service).expect("received");
        fixture.service.run_maintenance().expect("maintenance");
    }
    let refunds = fixture.gateway.refunds();
    assert_eq!(refunds.len(), 1);
    assert_eq!(refunds[0].payment_reference.as_deref(), Some("pi_1"));
    assert_eq!(closed(&fixture), [format!("pay-{}-2", order.id)]);
    assert_consistent(&fixture.database());
}

#[test]
fn the_page_of_the_sandbox_is_replaced_with_its_checkout() {
    let fixture = Fixture::with(ticketing::Builder::sandbox_gateway);
    let ticket_type = fixture.new_ticket_type(1250, 10);
    let order = fixture.order(&ticket_type, 1);
    let token = |url: &str| url.rsplit_once('/').expect("a token").1.to_owned();
    let first = token(&order.payment_gateway.as_ref().expect("a payment").link);
    let service = &fixture.service;
    assert!(!renew(&fixture, &order).expect("the same").renewed);
    service.finish_hosted_checkout(&first, CheckoutOutcome::Failure).expect("failed");
    let renewed = renew(&fixture, &order).expect("renewed");
    let second = token(&renewed.checkout_url);
    assert!(renewed.renewed && second != first);
    assert!(matches!(service.get_hosted_checkout(&first), Err(Error::Gone(_))));
    assert!(matches!(service.finish_hosted_checkout(&first, CheckoutOutcome::Success), Err(Error::Gone(_))));
    assert_eq!(service.get_hosted_checkout(&second).expect("a page").order.id, order.id);
    service.finish_hosted_checkout(&second, CheckoutOutcome::Success).expect("paid");
    assert_eq!(fixture.order_status(order.id), OrderStatus::Completed);
}

#[test]
fn a_renewed_checkout_whose_first_notice_was_faster_than_the_answer_has_the_new_link() {
    let (fixture, _, order) = fixture();
    let (path, reference) = (fixture.path(), format!("pay-{}-2", order.id));
    fixture.gateway.during_checkout(move |_| {
        // What a notice does that names the order and the reference.
        Database::open(&path).execute("UPDATE orders SET payment_reference = ?1", [reference.clone()]);
    });
    let renewed = renew(&fixture, &order).expect("renewed");
    assert_eq!(renewed.checkout_url, format!("https://pay.example/pay-{}-2", order.id));
    assert_eq!(fixture.read_order(order.id).payment_gateway.expect("a payment").link, renewed.checkout_url);
}

/// The different keys under which checkouts were started. A gateway has one page for each.
fn pages(fixture: &Fixture) -> usize {
    let mut keys = keys(fixture);
    keys.sort_unstable();
    keys.dedup();
    keys.len()
}

fn closed(fixture: &Fixture) -> Vec<String> {
    fixture.gateway.closed().into_iter().map(|request| request.reference).collect()
}

#[test]
fn renewals_at_once_leave_one_payable_checkout() {
    for _ in 0..10 {
        let (fixture, _, order) = fixture();
        let gateway = fixture.gateway.clone();
        fixture.gateway.during_checkout(move |_| gateway.set_state(Some(CheckoutState::Open)));
        let services = [&fixture.service, &fixture.second_service()];
        let results: Vec<_> = std::thread::scope(|scope| {
            let renew = |thread: usize| services[thread % 2].renew_checkout(&fixture.caller, order.id);
            let threads: Vec<_> = (0..8).map(|thread| scope.spawn(move || renew(thread))).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        let mut links = Vec::new();
        for result in results {
            match result {
                Ok(renewed) => links.push(renewed.checkout_url),
                other => assert_eq!(reason(other), Reason::CheckoutInProgress),
            }
        }
        let link = format!("https://pay.example/pay-{}-2", order.id);
        assert!(!links.is_empty() && links.iter().all(|found| *found == link), "{links:?}");
        assert_eq!(pages(&fixture), 2);
    }
}

#[test]
fn an_order_that_ends_during_its_renewal_leaves_nothing_payable() {
    let (fixture, _, order) = fixture();
    let (service, caller) = (fixture.service.clone(), fixture.caller.clone());
    fixture.gateway.during_checkout(move |request| {
        // Meanwhile no other request gets a checkout.
        assert_eq!(reason(service.renew_checkout(&caller, request.order_id)), Reason::CheckoutInProgress);
        service.cancel_order(&caller, request.order_id).expect("cancelled");
    });
    assert_eq!(reason(renew(&fixture, &order)), Reason::OrderNotPending);
    fixture.gateway.during_checkout(|_| {});
    assert_eq!((pages(&fixture), status(&fixture, &order)), (2, CheckoutStatus::Closing));
    fixture.service.run_maintenance().expect("maintenance");
    assert_eq!(closed(&fixture), [format!("pay-{}-2", order.id)]);
    assert_eq!(status(&fixture, &order), CheckoutStatus::Closed);
    assert_consistent(&fixture.database());
}

#[test]
fn a_renewal_that_a_process_did_not_finish_is_taken_up_after_its_lease() {
    let (fixture, _, order) = fixture();
    renew(&fixture, &order).expect("renewed");
    // As if the process had ended between the answer of the gateway and the next transaction.
    let lease = at("2026-06-01T12:00:30Z").millis();
    let database = fixture.database();
    database.execute("UPDATE orders SET payment_reference = NULL", []);
    database.execute("UPDATE checkouts SET lease_ends_at = ?1", [lease]);
    assert_eq!(reason(renew(&fixture, &order)), Reason::CheckoutInProgress);
    fixture.clock.advance(Duration::from_secs(30));
    let renewed = renew(&fixture, &order).expect("renewed");
    assert_eq!(renewed.checkout_url, format!("https://pay.example/pay-{}-2", order.id));
    assert_eq!(pages(&fixture), 2);

    // The other way to take it up: the order ends.
    database.execute("UPDATE orders SET payment_reference = NULL", []);
    fixture.expire_holds();
    fixture.service.run_maintenance().expect("maintenance");
    assert_eq!((pages(&fixture), closed(&fixture)), (2, vec![format!("pay-{}-2", order.id)]));
}
