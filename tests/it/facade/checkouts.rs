//! Checkouts: closed when their orders end, looked up when a notice is lost, and compared with what the orders cost.

use std::time::Duration;

use ticketing::event::UpdateEvent;
use ticketing::order::{CreateOrder, Order, OrderStatus};
use ticketing::payment::{CheckoutState, CheckoutStatus, GatewayPayment, ListRefunds, RefundSource, RefundStatus};
use ticketing::ticket_type::{TicketType, UpdateTicketType};
use ticketing::{Amount, Error};

use crate::common::invariants::assert_consistent;
use crate::common::*;
use crate::facade::checkout_runs::minutes;

/// The hold of the orders of the fixture.
const HOLD: Duration = Duration::from_mins(30);

/// After what time a checkout may be looked up for a page again.
const PAUSE: Duration = Duration::from_secs(4);

fn status(fixture: &Fixture, order: &Order) -> CheckoutStatus {
    fixture.service.get_checkout(&fixture.caller, order.id).expect("a checkout").status
}

fn order_status(fixture: &Fixture, order: &Order) -> OrderStatus {
    fixture.service.get_order(&fixture.caller, order.id).expect("the order").status
}

fn run(fixture: &Fixture) {
    fixture.service.run_maintenance().expect("maintenance");
}

fn paid(order: &Order, reference: &str) -> CheckoutState {
    CheckoutState::Paid(GatewayPayment::new(reference, order.total, "EUR"))
}

fn fixture() -> (Fixture, TicketType) {
    let fixture = Fixture::new();
    fixture.gateway.set_state(Some(CheckoutState::Open));
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 100);
    (fixture, ticket_type)
}

#[test]
fn a_paid_order_has_nothing_to_close() {
    let (fixture, ticket_type) = fixture();
    let order = fixture.paid_order(&ticket_type, 1);
    assert_eq!(status(&fixture, &order), CheckoutStatus::Closed);
    fixture.clock.advance(HOLD);
    run(&fixture);
    assert!(fixture.gateway.closed().is_empty() && fixture.gateway.looked_up().is_empty());
}

#[test]
fn an_order_without_a_gateway_or_without_a_price_has_no_checkout() {
    let (fixture, _) = fixture();
    let free = fixture.ticket_type(&fixture.event(), 0, 10);
    let created =
        fixture.service.create_order(&fixture.caller, CreateOrder::new(free.event_id, new_customer(), free.id, 1));
    let order = created.expect("an order").order;
    assert!(matches!(fixture.service.get_checkout(&fixture.caller, order.id), Err(Error::NotFound(_))));
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM checkouts"), 0);
}

#[test]
fn a_gateway_that_does_not_answer_is_asked_again_less_and_less_often() {
    let (fixture, ticket_type) = fixture();
    let order = fixture.order(&ticket_type, 1);
    fixture.gateway.on_close(GatewayBehavior::Unavailable);
    fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled");
    let mut attempts = Vec::new();
    for second in 0..=30 {
        let before = fixture.gateway.closed().len();
        run(&fixture);
        if fixture.gateway.closed().len() > before {
            attempts.push(second);
        }
        fixture.clock.advance(Duration::from_secs(1));
    }
    // 2, 4, 8 and 16 seconds after the one before.
    assert_eq!(attempts, [0, 2, 6, 14, 30]);
    assert_eq!(fixture.service.backlog().expect("a backlog").checkouts_closing, 1);
    fixture.gateway.on_close(GatewayBehavior::Succeed);
    fixture.clock.advance(Duration::from_mins(1));
    run(&fixture);
    assert_eq!(status(&fixture, &order), CheckoutStatus::Closed);
    assert_eq!(fixture.service.backlog().expect("a backlog").checkouts_closing, 0);
}

#[test]
fn a_checkout_that_the_gateway_cannot_close_is_looked_up_for_a_day() {
    let (fixture, ticket_type) = fixture();
    let order = fixture.order(&ticket_type, 1);
    fixture.gateway.on_close(GatewayBehavior::Refuse);
    let mut look_ups = Vec::new();
    let mut now = 0;
    for minute in minutes(30 + 25 * 60) {
        fixture.clock.advance(Duration::from_mins(minute - now));
        now = minute;
        let before = fixture.gateway.looked_up().len();
        run(&fixture);
        if fixture.gateway.looked_up().len() > before {
            look_ups.push(minute);
        }
    }
    assert_eq!(look_ups, [29, 30, 35, 90, 30 + 24 * 60]);
    assert_eq!(status(&fixture, &order), CheckoutStatus::Closed);
}

#[test]
fn a_checkout_is_open_for_the_time_that_the_gateway_needs_at_least() {
    let (fixture, ticket_type) = fixture();
    fixture.gateway.set_shortest_checkout(Duration::from_mins(31));
    let order = fixture.order(&ticket_type, 1);
    let checkout = fixture.service.get_checkout(&fixture.caller, order.id).expect("a checkout");
    assert_eq!(checkout.expires_at, order.created_at.saturating_add(Duration::from_mins(31)));
    assert_eq!(checkout.reference, Some(format!("pay-{}", order.id)));
}

#[test]
fn a_start_that_was_never_answered_is_asked_for_again_unchanged_and_then_closed() {
    let (fixture, ticket_type) = fixture();
    fixture.gateway.on_checkout(GatewayBehavior::Unavailable);
    let failed = fixture
        .service
        .create_order(&fixture.caller, CreateOrder::new(ticket_type.event_id, new_customer(), ticket_type.id, 2));
    assert!(matches!(failed, Err(Error::PaymentGatewayFailed(_))));
    // What the request contains changes meanwhile.
    let renamed = UpdateEvent::default().title("Another title");
    fixture.service.update_event(&fixture.caller, ticket_type.event_id, renamed).expect("renamed");
    let renamed = UpdateTicketType::default().name("Another name");
    fixture.service.update_ticket_type(&fixture.caller, ticket_type.id, renamed).expect("renamed");

    fixture.gateway.on_checkout(GatewayBehavior::Succeed);
    run(&fixture);
    let requests = fixture.gateway.checkouts();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0], requests[1]);
    assert_eq!(requests[0].items[0].name, ticket_type.name);
    assert_eq!(requests[0].amount, Amount::cents(2500));
    let closed = fixture.gateway.closed();
    assert_eq!(closed.len(), 1);
    assert_eq!(closed[0].reference, format!("pay-{}", requests[0].order_id));
    let of_order = (closed[0].order_id, closed[0].event_id, closed[0].organization_id);
    assert_eq!(of_order, (requests[0].order_id, ticket_type.event_id, fixture.caller.organization()));
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM checkouts WHERE status = 'CLOSED'"), 1);
    assert_consistent(&fixture.database());
}

#[test]
fn a_start_that_was_refused_leaves_nothing_to_close() {
    let (fixture, ticket_type) = fixture();
    fixture.gateway.on_checkout(GatewayBehavior::Refuse);
    let failed = fixture
        .service
        .create_order(&fixture.caller, CreateOrder::new(ticket_type.event_id, new_customer(), ticket_type.id, 2));
    assert!(matches!(failed, Err(Error::PaymentGatewayFailed(_))));
    run(&fixture);
    assert_eq!((fixture.gateway.checkouts().len(), fixture.gateway.closed().len()), (1, 0));
}

#[test]
fn an_order_that_the_gateway_cannot_take_is_refused_before_anything_is_stored() {
    let (fixture, ticket_type) = fixture();
    fixture.gateway.refuse_terms("must cost at least 0.50 EUR in total");
    let refused = fixture
        .service
        .create_order(&fixture.caller, CreateOrder::new(ticket_type.event_id, new_customer(), ticket_type.id, 2));
    let error = refused.expect_err("refused");
    let fields: Vec<_> = error.fields().iter().map(|field| (field.path.as_str(), field.message.as_str())).collect();
    assert_eq!(fields, [("items", "must cost at least 0.50 EUR in total")]);
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM orders"), 0);
    assert_eq!(fixture.stored("SELECT held FROM ticket_types"), 0);
    assert!(fixture.gateway.checkouts().is_empty());
}

#[test]
fn a_gateway_that_hangs_delays_no_other_background_work() {
    // Long enough for the calls that do not hang, on any machine.
    let fixture = Fixture::with_gateway(|builder| builder.gateway_timeout(Duration::from_secs(2)));
    fixture.gateway.set_state(Some(CheckoutState::Open));
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 100);
    for _ in 0..20 {
        let order = fixture.order(&ticket_type, 1);
        fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled");
    }
    let waiting = fixture.order(&ticket_type, 1);
    fixture.gateway.on_close(GatewayBehavior::Hang);
    for _ in 0..10 {
        run(&fixture);
        fixture.clock.advance(Duration::from_secs(10));
    }
    assert!(fixture.gateway.closed().len() <= 16, "calls that hang are bounded: {}", fixture.gateway.closed().len());
    fixture.clock.advance(HOLD);
    run(&fixture);
    assert_eq!(order_status(&fixture, &waiting), OrderStatus::Expired);
    // Customers still get their links.
    fixture.order(&ticket_type, 1);
}

#[test]
fn a_payment_of_another_amount_completes_nothing_and_is_refunded_once() {
    for (amount, currency) in [
        (Amount::cents(1249), "EUR"),
        (Amount::cents(1251), "EUR"),
        (Amount::cents(125_000), "EUR"),
        (Amount::cents(1250), "USD"),
        (Amount::whole(1250), "JPY"),
    ] {
        let (fixture, ticket_type) = fixture();
        let order = fixture.order(&ticket_type, 1);
        fixture.gateway.set_state(Some(CheckoutState::Paid(GatewayPayment::new("pi_1", amount, currency))));
        for _ in 0..3 {
            let settled = fixture.service.settle_checkout(&format!("pay-{}", order.id)).expect("settled");
            assert_eq!(settled.order.status, OrderStatus::Pending);
            assert_eq!(
                settled.order.payment_gateway,
                fixture.service.get_order(&fixture.caller, order.id).expect("it").payment_gateway
            );
            fixture.clock.advance(PAUSE);
        }
        assert_eq!(fixture.gateway.looked_up().len(), 3);
        assert!(fixture.gateway.refunds().is_empty(), "the customer does not wait for the refund");
        run(&fixture);
        let refunds = fixture.service.list_refunds(&fixture.caller, ListRefunds::default()).expect("refunds").data;
        assert_eq!(refunds.len(), 1, "{amount} {currency}");
        assert_eq!((refunds[0].amount, refunds[0].currency.as_str()), (amount, currency));
        assert_eq!((refunds[0].source, refunds[0].status), (RefundSource::OtherPayment, RefundStatus::Done));
        assert_eq!(fixture.gateway.refunds()[0].payment_reference.as_deref(), Some("pi_1"));
        assert_eq!(fixture.service.statistics().payments.amounts_mismatched, 1);
        // The order is over when its hold is, and the gateway is not asked about it again.
        fixture.clock.advance(HOLD);
        run(&fixture);
        assert_eq!(order_status(&fixture, &order), OrderStatus::Expired);
        assert!(fixture.gateway.closed().is_empty());
        assert_eq!(fixture.gateway.refunds().len(), 1);
        assert_consistent(&fixture.database());
    }
}

#[test]
fn the_same_amount_with_more_decimals_is_the_same_amount() {
    let (fixture, ticket_type) = fixture();
    let order = fixture.order(&ticket_type, 1);
    let amount = Amount::new(12_500, 3).expect("an amount");
    fixture.gateway.set_state(Some(CheckoutState::Paid(GatewayPayment::new("pi_1", amount, "EUR"))));
    let settled = fixture.service.settle_checkout(&format!("pay-{}", order.id)).expect("settled");
    assert_eq!(settled.order.status, OrderStatus::Completed);
}

#[test]
fn a_checkout_is_looked_up_for_a_page_once_in_four_seconds_and_ten_are_in_a_second() {
    let (fixture, _) = fixture();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 100);
    let orders: Vec<_> = (0..50).map(|_| fixture.order(&ticket_type, 1)).collect();
    let settle = |order: &Order| fixture.service.settle_checkout(&format!("pay-{}", order.id)).expect("settled");
    for _ in 0..3 {
        let before = fixture.gateway.looked_up().len();
        for _ in 0..20 {
            settle(&orders[0]);
        }
        assert_eq!(fixture.gateway.looked_up().len(), before + 1);
        assert_eq!(settle(&orders[0]).state, CheckoutState::Unknown, "it is not asked");
        orders.iter().for_each(|order| drop(settle(order)));
        assert_eq!(fixture.gateway.looked_up().len(), before + 40);
        fixture.clock.advance(PAUSE - Duration::from_millis(1));
        settle(&orders[0]);
        assert_eq!(fixture.gateway.looked_up().len(), before + 40, "the pause is not over");
        fixture.clock.advance(Duration::from_millis(1));
    }
    // What is stored is told at any time.
    settle(&orders[1]);
    let notice = Notice::paid(&orders[1], orders[1].total, "pi_1");
    fixture.gateway.know(&notice);
    notice.send(&fixture.service).expect("received");
    assert_eq!(settle(&orders[1]).order.status, OrderStatus::Completed);
}

#[test]
fn nobody_is_sent_to_the_page_for_failure_while_the_gateway_may_know_of_a_payment() {
    let (fixture, ticket_type) = fixture();
    let order = fixture.order(&ticket_type, 1);
    let settle = || fixture.service.settle_checkout(&format!("pay-{}", order.id)).expect("settled");
    fixture.clock.advance(HOLD);
    fixture.gateway.set_state(Some(CheckoutState::Open));
    assert_eq!(
        settle().outcome.map(|outcome| outcome.as_str()),
        Some("failure"),
        "the gateway says that nothing is paid"
    );
    fixture.gateway.set_state(Some(paid(&order, "pi_1")));
    let too_soon = settle();
    assert_eq!(
        (too_soon.order.status, too_soon.outcome),
        (OrderStatus::Expired, None),
        "the gateway is not asked again"
    );
    fixture.gateway.set_state(Some(CheckoutState::Processing));
    fixture.clock.advance(PAUSE);
    let on_its_way = settle();
    assert_eq!((on_its_way.state, on_its_way.outcome), (CheckoutState::Processing, None));
    fixture.gateway.set_state(Some(paid(&order, "pi_1")));
    fixture.clock.advance(PAUSE);
    assert_eq!(settle().outcome.map(|outcome| outcome.as_str()), Some("success"));
}

#[test]
fn a_settled_checkout_says_where_the_customer_goes() {
    let (fixture, ticket_type) = fixture();
    let order = fixture.order(&ticket_type, 1);
    let reference = format!("pay-{}", order.id);
    let settle = || fixture.service.settle_checkout(&reference).expect("settled");
    assert_eq!(settle().outcome.map(|outcome| outcome.as_str()), Some("cancel"));
    fixture.clock.advance(PAUSE);
    fixture.gateway.set_state(Some(CheckoutState::Processing));
    assert_eq!(settle().outcome, None);
    fixture.clock.advance(PAUSE);
    fixture.gateway.set_state(Some(paid(&order, "pi_1")));
    assert_eq!(settle().outcome.map(|outcome| outcome.as_str()), Some("success"));
    let asked = fixture.gateway.looked_up().len();
    assert_eq!(settle().outcome.map(|outcome| outcome.as_str()), Some("success"));
    assert_eq!(fixture.gateway.looked_up().len(), asked, "nothing is asked about a paid order");
    assert!(matches!(fixture.service.settle_checkout("unknown"), Err(Error::NotFound(_))));

    fixture.gateway.set_state(Some(CheckoutState::Open));
    let late = fixture.order(&ticket_type, 1);
    fixture.service.cancel_order(&fixture.caller, late.id).expect("cancelled");
    fixture.gateway.set_state(Some(paid(&late, "pi_2")));
    run(&fixture);
    let settled = fixture.service.settle_checkout(&format!("pay-{}", late.id)).expect("settled");
    assert_eq!(settled.outcome.map(|outcome| outcome.as_str()), Some("failure"));
    assert!(settled.paid_too_late);
}

#[test]
fn the_payment_of_an_order_that_is_cancelled_later_has_not_come_too_late() {
    let (fixture, ticket_type) = fixture();
    let order = fixture.order(&ticket_type, 1);
    fixture.gateway.set_state(Some(paid(&order, "pi_1")));
    let settle = || fixture.service.settle_checkout(&format!("pay-{}", order.id)).expect("settled");
    assert!(!settle().paid_too_late);
    fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled");
    run(&fixture);
    let settled = settle();
    assert_eq!(settled.order.status, OrderStatus::Cancelled);
    assert_eq!(settled.outcome.map(|outcome| outcome.as_str()), Some("failure"));
    assert!(!settled.paid_too_late);
}

#[test]
fn a_seeded_program_asks_for_the_same_checkouts_in_each_run() {
    let return_url = || {
        let fixture = Fixture::new();
        fixture.order(fixture.default_ticket_type(), 1);
        fixture.gateway.checkouts().remove(0).return_url.expect("a page")
    };
    assert_eq!(return_url(), return_url());
}
