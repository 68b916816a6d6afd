//! Notices of the payment gateway: repeated, in any order, for orders that ended, and hostile ones.

use ticketing::order::{Order, OrderStatus, PaymentStatus};
use ticketing::payment::{
    CheckoutState, GatewayEvent, GatewayNotice, GatewayPayment, NoticeError, NoticeHeaders, NoticeOutcome,
};
use ticketing::{Amount, Error};

use crate::common::invariants::assert_consistent;
use crate::common::random::Random;
use crate::common::*;

fn paid(order: &Order) -> Notice {
    Notice::paid(order, order.total, "pi_1")
}

fn fixture() -> (Fixture, Order) {
    let fixture = Fixture::new();
    fixture.gateway.set_state(Some(CheckoutState::Open));
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 1);
    let order = fixture.order(&ticket_type, 1);
    (fixture, order)
}

#[test]
fn each_notice_five_times_in_any_order_ends_as_once() {
    for seed in 1..=30 {
        let (fixture, order) = fixture();
        let notices = [
            paid(&order),
            Notice::about(&order, GatewayEvent::PaymentFailed),
            Notice::about(&order, GatewayEvent::Checkout(CheckoutState::Open)),
            Notice::about(&order, GatewayEvent::Checkout(CheckoutState::Processing)),
            Notice::about(&order, GatewayEvent::Checkout(CheckoutState::Closed)),
        ];
        let mut sent: Vec<_> = (0..25).map(|number| &notices[number % 5]).collect();
        let mut random = Random::new(seed);
        for last in (1..sent.len()).rev() {
            sent.swap(last, random.below(last + 1));
        }
        notices.iter().for_each(|notice| fixture.gateway.know(notice));
        for notice in sent {
            assert_eq!(notice.send(&fixture.service), Ok(vec![NoticeOutcome::Processed]), "seed {seed}");
        }
        assert_eq!(fixture.order_status(order.id), OrderStatus::Completed, "seed {seed}");
        assert_eq!(fixture.payment_status(order.id), Some(PaymentStatus::Completed), "seed {seed}");
        assert_eq!(fixture.stored("SELECT COUNT(*) FROM tickets"), 1, "seed {seed}");
        assert!(fixture.gateway.refunds().is_empty(), "seed {seed}");
        assert_consistent(&fixture.database());
    }
}

#[test]
fn a_notice_finds_its_order_by_the_id_if_the_reference_was_never_stored() {
    let (fixture, order) = fixture();
    // The process was killed between the answer of the gateway and the next transaction.
    fixture
        .database()
        .execute("UPDATE orders SET payment_reference = NULL, payment_link = NULL, payment_status = NULL", []);
    let payment = GatewayPayment::new("pi_1", order.total, "EUR");
    let notice = GatewayNotice::new("evt_1", GatewayEvent::Checkout(CheckoutState::Paid(payment)));
    let notice = Notice { notice: notice.checkout_reference("cs_lost").order(order.id) };
    fixture.gateway.know(&notice);
    assert_eq!(notice.send(&fixture.service), Ok(vec![NoticeOutcome::Processed]));
    assert_eq!(fixture.order_status(order.id), OrderStatus::Completed);
    let checkout = fixture.service.get_checkout(&fixture.caller, order.id).expect("a checkout");
    assert_eq!(checkout.reference.as_deref(), Some("cs_lost"));
    assert_consistent(&fixture.database());
}

#[test]
fn a_notice_about_another_checkout_does_not_complete_the_order_that_it_names() {
    let (fixture, order) = fixture();
    let payment = GatewayPayment::new("pi_1", order.total, "EUR");
    let event = GatewayEvent::Checkout(CheckoutState::Paid(payment));
    let foreign =
        Notice { notice: GatewayNotice::new("evt_1", event).checkout_reference("cs_foreign").order(order.id) };
    fixture.gateway.know(&foreign);
    assert_eq!(foreign.send(&fixture.service), Ok(vec![NoticeOutcome::UnknownOrder]));
    assert_eq!(fixture.order_status(order.id), OrderStatus::Pending);
}

#[test]
fn hostile_notices_change_nothing_and_are_counted() {
    let (fixture, order) = fixture();
    let before = fixture.all_rows();
    let refused = |body: &str| match send_notice(&fixture.service, body) {
        Err(Error::NoticeRefused(refusal)) => refusal,
        other => panic!("{other:?}"),
    };
    let headers = NoticeHeaders::from_iter([("Fake-Signature", "another")]);
    let forged = fixture.service.receive_gateway_notice(&headers, b"evt_1");
    assert_eq!(forged, Err(Error::NoticeRefused(NoticeError::InvalidSignature)));
    let twice = NoticeHeaders::from_iter([("Fake-Signature", "evt_1"), ("fake-signature", "evt_1")]);
    let twice = fixture.service.receive_gateway_notice(&twice, b"evt_1");
    assert_eq!(twice, Err(Error::NoticeRefused(NoticeError::InvalidSignature)));
    assert_eq!(send_notice(&fixture.service, "unreadable"), Ok(vec![NoticeOutcome::Unreadable]));
    assert!(matches!(refused("unavailable"), NoticeError::Unavailable(_)));
    assert!(matches!(refused("panic"), NoticeError::Unavailable(_)));
    assert_eq!(send_notice(&fixture.service, "something else"), Ok(Vec::new()));
    let unknown = GatewayNotice::new("evt_9", GatewayEvent::PaymentFailed).checkout_reference("cs_unknown");
    fixture.gateway.know(&Notice { notice: unknown });
    assert_eq!(send_notice(&fixture.service, "evt_9"), Ok(vec![NoticeOutcome::UnknownOrder]));
    assert_eq!(fixture.all_rows(), before);

    let counts = fixture.service.statistics().payments.notices;
    let count = |outcome| counts.iter().find(|(known, _)| *known == outcome).map(|(_, times)| *times);
    for (outcome, times) in [
        (NoticeOutcome::InvalidSignature, 2),
        (NoticeOutcome::Unreadable, 1),
        (NoticeOutcome::Unavailable, 2),
        (NoticeOutcome::Ignored, 1),
        (NoticeOutcome::UnknownOrder, 1),
        (NoticeOutcome::Processed, 0),
    ] {
        assert_eq!(count(outcome), Some(times), "{outcome}");
    }
    assert_eq!(fixture.order_status(order.id), OrderStatus::Pending);
    let without = Fixture::without_gateway();
    let unsupported = without.service.receive_gateway_notice(&NoticeHeaders::default(), b"");
    assert_eq!(unsupported, Err(Error::NoticeRefused(NoticeError::Unsupported)));
}

#[test]
fn a_mismatched_amount_is_reported_and_the_right_one_still_completes_the_order() {
    let (fixture, order) = fixture();
    let wrong = Notice::paid(&order, Amount::cents(1), "pi_wrong");
    let right = Notice::paid(&order, order.total, "pi_right");
    fixture.gateway.know(&wrong);
    fixture.gateway.know(&right);
    assert_eq!(wrong.send(&fixture.service), Ok(vec![NoticeOutcome::AmountMismatch]));
    assert_eq!(right.send(&fixture.service), Ok(vec![NoticeOutcome::Processed]));
    assert_eq!(wrong.send(&fixture.service), Ok(vec![NoticeOutcome::Processed]));
    assert_eq!(fixture.order_status(order.id), OrderStatus::Completed);
    fixture.service.run_maintenance().expect("maintenance");
    let refunds = fixture.gateway.refunds();
    assert_eq!(refunds.len(), 1);
    assert_eq!((refunds[0].amount, refunds[0].payment_reference.as_deref()), (Amount::cents(1), Some("pi_wrong")));
    assert_consistent(&fixture.database());
}
