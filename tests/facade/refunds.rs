//! Refunds: due with the cancellation, asked for at once, and asked for again until the gateway answers.

use crate::common::*;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;
use ticketing::{
    CancelOrderResponse, Checkout, CheckoutRequest, CreateOrder, CreateTicketType, GatewayError, ListRefunds,
    ManualClock, Order, OrderId, OrderStatus, PageRequest, PaymentGateway, PaymentStatus, Refund, RefundRequest,
    RefundStatus, TicketType, TicketingService,
};

fn paid(fixture: &Fixture) -> (TicketType, Order) {
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    let order = fixture.paid_order(&ticket_type, 2);
    (ticket_type, order)
}

fn cancel(fixture: &Fixture, id: OrderId) -> bool {
    let CancelOrderResponse { success, requires_manual_refund } =
        fixture.service.cancel_order(&fixture.caller, id).expect("cancelled");
    assert!(success);
    requires_manual_refund
}

fn refunds(fixture: &Fixture, status: Option<RefundStatus>) -> Vec<Refund> {
    let request = ListRefunds { status, ..Default::default() };
    fixture.service.list_refunds(&fixture.caller, request).expect("a page").data
}

fn maintain(fixture: &Fixture) -> usize {
    fixture.service.run_maintenance().expect("a run").answered_refunds
}

#[test]
fn cancelling_a_paid_order_gives_the_money_back() {
    let fixture = Fixture::new();
    let (_, order) = paid(&fixture);
    assert!(!cancel(&fixture, order.id));
    assert_eq!(
        (fixture.order_status(order.id), fixture.payment_status(order.id)),
        (OrderStatus::Cancelled, Some(PaymentStatus::Refunded))
    );
    let asked = fixture.gateway.refunds();
    assert_eq!(asked.len(), 1);
    assert_eq!((asked[0].order_id, asked[0].amount, asked[0].currency.as_str()), (order.id, eur(2500), "EUR"));
    assert_eq!(asked[0].reference, Some(format!("pay-{}", order.id)));
    let listed = refunds(&fixture, None);
    assert_eq!((listed.len(), listed[0].order_id, listed[0].status), (1, order.id, RefundStatus::Done));
    assert_eq!((listed[0].amount, listed[0].attempts, &listed[0].last_error), (eur(2500), 1, &None));
    assert_eq!((maintain(&fixture), fixture.gateway.refunds().len()), (0, 1), "never twice");
}

#[test]
fn an_order_paid_another_way_is_refunded_by_hand() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    let order = fixture.order(&ticket_type, 2);
    fixture.service.mark_order_paid(&fixture.caller, order.id).expect("paid in cash");
    assert_eq!(fixture.payment_status(order.id), Some(PaymentStatus::Waiting), "left as it is");
    assert!(cancel(&fixture, order.id));
    assert!(fixture.gateway.refunds().is_empty() && refunds(&fixture, None).is_empty());

    // Where the gateway's money came on top, that went back, and the other still has to.
    let order = fixture.order(&ticket_type, 2);
    fixture.service.mark_order_paid(&fixture.caller, order.id).expect("paid in cash");
    fixture.service.payment_completed(&fixture.caller, order.id).expect("noted");
    assert_eq!(fixture.order_status(order.id), OrderStatus::Completed);
    assert_eq!(fixture.payment_status(order.id), Some(PaymentStatus::Refunded));
    assert!(cancel(&fixture, order.id));
    assert_eq!(fixture.gateway.refunds().len(), 1);
}

#[test]
fn a_pending_an_expired_and_a_free_order_need_no_refund() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let (ticket_type, free) = (fixture.ticket_type(&event, 1250, 10), fixture.ticket_type(&event, 0, 10));
    let expired = fixture.order(&ticket_type, 1);
    fixture.expire_holds();
    for order in [fixture.order(&ticket_type, 1), expired, fixture.order(&free, 1)] {
        assert!(!cancel(&fixture, order.id));
    }
    assert!(fixture.gateway.refunds().is_empty() && refunds(&fixture, None).is_empty());
}

#[test]
fn without_a_gateway_that_can_refund_the_organizer_does() {
    let fixture = Fixture::new();
    let (ticket_type, order) = paid(&fixture);
    fixture.gateway.disable_refunds();
    assert!(cancel(&fixture, order.id));
    assert_eq!(fixture.payment_status(order.id), Some(PaymentStatus::Completed));
    assert!(fixture.gateway.refunds().is_empty());
    // A payment that comes too late is listed: nobody would hear of it otherwise.
    let late = fixture.order(&ticket_type, 1);
    assert!(!cancel(&fixture, late.id));
    fixture.service.payment_completed(&fixture.caller, late.id).expect("noted");
    assert_eq!(fixture.payment_status(late.id), Some(PaymentStatus::Completed));
    let listed = refunds(&fixture, Some(RefundStatus::Refused));
    assert_eq!(listed.iter().map(|refund| refund.order_id).collect::<Vec<_>>(), [late.id]);
    fixture.clock.advance(Duration::from_hours(2));
    assert_eq!((maintain(&fixture), fixture.gateway.refunds().len()), (0, 0));

    let fixture = Fixture::without_gateway();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    let order = fixture.order(&ticket_type, 1);
    fixture.service.mark_order_paid(&fixture.caller, order.id).expect("paid in cash");
    assert!(cancel(&fixture, order.id));
}

#[test]
fn what_the_gateway_refuses_for_good_is_listed_and_not_asked_again() {
    let fixture = Fixture::new();
    let (_, order) = paid(&fixture);
    fixture.gateway.on_refund(GatewayBehavior::Refuse);
    assert!(!cancel(&fixture, order.id), "it was due when that was answered");
    assert_eq!(
        (fixture.order_status(order.id), fixture.payment_status(order.id)),
        (OrderStatus::Cancelled, Some(PaymentStatus::Completed))
    );
    let listed = refunds(&fixture, Some(RefundStatus::Refused));
    assert_eq!((listed.len(), listed[0].order_id), (1, order.id));
    assert!(listed[0].last_error.as_ref().is_some_and(|error| error.contains("the card is blocked")));
    fixture.gateway.on_refund(GatewayBehavior::Succeed);
    fixture.clock.advance(Duration::from_hours(48));
    assert_eq!((maintain(&fixture), fixture.gateway.refunds().len()), (0, 1));
}

#[test]
fn an_outage_is_outlasted_with_one_idempotency_key_and_growing_patience() {
    for mood in [GatewayBehavior::Unavailable, GatewayBehavior::Panic] {
        let fixture = Fixture::new();
        let (_, order) = paid(&fixture);
        fixture.gateway.on_refund(mood);
        assert!(!cancel(&fixture, order.id));
        let due = || refunds(&fixture, Some(RefundStatus::Due)).len();
        assert_eq!((due(), fixture.payment_status(order.id)), (1, Some(PaymentStatus::Completed)), "{mood:?}");
        // Asked again after a while, and each while is longer than the one before it.
        let mut whiles = Vec::new();
        for _ in 0..4 {
            let (asked, mut waited) = (fixture.gateway.refunds().len(), 0);
            while fixture.gateway.refunds().len() == asked {
                assert!(waited < 3600, "{mood:?}: at least once an hour");
                fixture.clock.advance(Duration::from_secs(1));
                waited += 1;
                assert_eq!(maintain(&fixture), 0, "{mood:?}");
            }
            whiles.push(waited);
        }
        assert!(whiles.is_sorted_by(|one, next| one < next), "{mood:?}: {whiles:?}");
        fixture.gateway.on_refund(GatewayBehavior::Succeed);
        fixture.clock.advance(Duration::from_hours(1));
        assert_eq!((maintain(&fixture), due()), (1, 0), "{mood:?}");
        assert_eq!(fixture.payment_status(order.id), Some(PaymentStatus::Refunded), "{mood:?}");
        let asked = fixture.gateway.refunds();
        assert_eq!(asked.len(), 6, "{mood:?}");
        assert_eq!(asked.iter().map(|refund| &refund.idempotency_key).collect::<HashSet<_>>().len(), 1, "{mood:?}");
        assert_eq!(refunds(&fixture, None)[0].attempts, 6, "{mood:?}");
        fixture.clock.advance(Duration::from_hours(48));
        assert_eq!((maintain(&fixture), fixture.gateway.refunds().len()), (0, 6), "{mood:?}");
    }
}

#[test]
fn a_gateway_that_hangs_keeps_nobody_waiting_longer_than_its_time() {
    let fixture = Fixture::with_gateway(|builder| builder.gateway_timeout(Duration::from_secs(1)));
    let (_, order) = paid(&fixture);
    fixture.gateway.on_refund(GatewayBehavior::Hang);
    assert!(!cancel(&fixture, order.id));
    assert_eq!(refunds(&fixture, Some(RefundStatus::Due)).len(), 1);
    fixture.gateway.on_refund(GatewayBehavior::Succeed);
    fixture.clock.advance(Duration::from_hours(1));
    assert_eq!(maintain(&fixture), 1);
    assert_eq!(fixture.payment_status(order.id), Some(PaymentStatus::Refunded));
}

#[test]
fn a_refund_survives_a_crash_between_its_decision_and_its_answer() {
    let fixture = Fixture::with_gateway(|builder| builder.gateway_timeout(Duration::from_secs(600)));
    let (_, order) = paid(&fixture);
    fixture.gateway.on_refund(GatewayBehavior::Hang);
    // The process hangs in the gateway, as good as dead: it never hears the answer.
    let (service, caller) = (fixture.service.clone(), fixture.caller.clone());
    let dead = std::thread::spawn(move || service.cancel_order(&caller, order.id));
    while fixture.gateway.refunds().is_empty() {
        assert!(!dead.is_finished());
        std::thread::yield_now();
    }
    fixture.gateway.on_refund(GatewayBehavior::Succeed);
    let next = fixture.second_service();
    assert_eq!(next.get_order(&fixture.caller, order.id).expect("the order").status, OrderStatus::Cancelled);
    fixture.clock.advance(Duration::from_mins(10));
    assert_eq!(next.run_maintenance().expect("a run").answered_refunds, 1);
    let payment = next.get_order(&fixture.caller, order.id).expect("the order").payment_gateway.expect("a payment");
    assert_eq!(payment.status, PaymentStatus::Refunded);
    let asked = fixture.gateway.refunds();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0], asked[1], "the same request under the same key: the gateway does it once");
}

#[test]
fn a_refund_decided_by_a_process_that_died_at_once_is_asked_for_by_the_next() {
    let fixture = Fixture::new();
    let (_, order) = paid(&fixture);
    fixture.gateway.on_refund(GatewayBehavior::Unavailable);
    cancel(&fixture, order.id);
    // As if it had never been asked for.
    let file = fixture.database();
    let never_asked = "UPDATE refunds SET attempts = 0, next_attempt_at = created_at";
    assert_eq!(file.execute(never_asked, []), 1);
    fixture.gateway.on_refund(GatewayBehavior::Succeed);
    assert_eq!(fixture.second_service().run_maintenance().expect("a run").answered_refunds, 1);
    assert_eq!(fixture.payment_status(order.id), Some(PaymentStatus::Refunded));
}

#[test]
fn two_processes_ask_for_a_refund_once() {
    let fixture = Fixture::new();
    let (_, order) = paid(&fixture);
    fixture.gateway.on_refund(GatewayBehavior::Unavailable);
    cancel(&fixture, order.id);
    fixture.gateway.on_refund(GatewayBehavior::Succeed);
    fixture.clock.advance(Duration::from_hours(1));
    let (one, other) = (fixture.service.clone(), fixture.second_service());
    let answered: usize = std::thread::scope(|scope| {
        let runs = [one, other].map(|service| scope.spawn(move || service.run_maintenance().expect("a run")));
        runs.into_iter().map(|run| run.join().expect("no panic").answered_refunds).sum()
    });
    assert_eq!((answered, fixture.gateway.refunds().len()), (1, 2));
}

#[test]
fn refunds_are_listed_newest_first_by_status_and_in_pages() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 100);
    let mut orders = Vec::new();
    for mood in
        [GatewayBehavior::Succeed, GatewayBehavior::Refuse, GatewayBehavior::Unavailable, GatewayBehavior::Succeed]
    {
        let order = fixture.paid_order(&ticket_type, 1);
        fixture.gateway.on_refund(mood);
        cancel(&fixture, order.id);
        orders.push(order.id);
    }
    let ids = |status| refunds(&fixture, status).iter().map(|refund| refund.order_id).collect::<Vec<_>>();
    assert_eq!(ids(None), [orders[3], orders[2], orders[1], orders[0]]);
    assert_eq!(ids(Some(RefundStatus::Done)), [orders[3], orders[0]]);
    assert_eq!(ids(Some(RefundStatus::Refused)), [orders[1]]);
    assert_eq!(ids(Some(RefundStatus::Due)), [orders[2]]);
    let page = |page| fixture.service.list_refunds(&fixture.caller, ListRefunds { status: None, page });
    let first = page(PageRequest::first(3)).expect("a page");
    assert_eq!((first.data.len(), first.next_cursor), (3, Some(orders[1])));
    let last = page(PageRequest::first(3).after(orders[1])).expect("a page");
    assert_eq!((last.data.len(), last.next_cursor), (1, None));
    assert_eq!(paths(page(PageRequest::first(0))), ["limit"]);
    let unpaid = fixture.order(&ticket_type, 1);
    assert_eq!(paths(page(PageRequest::first(3).after(unpaid.id))), ["cursor"]);
    let stranger = fixture.other_organization();
    assert!(fixture.service.list_refunds(&stranger, ListRefunds::default()).expect("a page").data.is_empty());
}

#[test]
fn an_error_of_the_gateway_says_whether_it_is_asked_again() {
    assert!(GatewayError::Unavailable("x".to_owned()).to_string().contains('x'));
    assert!(GatewayError::Refused("y".to_owned()).to_string().contains('y'));
}

/// A gateway that lets another process do its maintenance while the first refund is asked for.
#[derive(Clone)]
struct Interrupted {
    other: Arc<OnceLock<TicketingService>>,
    asked: Arc<Mutex<Vec<OrderId>>>,
    open: Arc<AtomicBool>,
}

impl PaymentGateway for Interrupted {
    fn start_checkout(&self, request: &CheckoutRequest) -> Result<Checkout, GatewayError> {
        let reference = request.order_id.to_string();
        Ok(Checkout { link: "https://pay.example".to_owned(), reference })
    }

    fn refund(&self, request: &RefundRequest) -> Result<(), GatewayError> {
        if !self.open.load(Ordering::SeqCst) {
            return Err(GatewayError::Unavailable("closed".to_owned()));
        }
        let first = {
            let mut asked = self.asked.lock().expect("no panic");
            asked.push(request.order_id);
            asked.len() == 1
        };
        if !first {
            return Err(GatewayError::Unavailable("closed again".to_owned()));
        }
        self.other.get().expect("set").run_maintenance().expect("a run");
        Ok(())
    }
}

#[test]
fn a_refund_that_another_process_has_just_asked_for_is_not_asked_for_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let (other, asked, open) = (Arc::default(), Arc::default(), Arc::default());
    let gateway = Interrupted { other, asked, open };
    let clock = ManualClock::at(at(NOW));
    let start = || {
        let builder = TicketingService::builder(folder.path().join("ticketing.db")).clock(clock.clone());
        builder.payment_gateway(gateway.clone()).readers(2).open().expect("the file")
    };
    let service = start();
    assert!(gateway.other.set(start()).is_ok());
    let organization = service.create_organization(Default::default()).expect("an organization");
    let caller = service.act_for(organization.id).expect("it is there");
    let event = service.create_event(&caller, new_event(|_| {})).expect("an event");
    let ticket_type = CreateTicketType::new("Seat", eur(1250), 10);
    let ticket_type = service.create_ticket_type(&caller, event.id, ticket_type).expect("a type");
    let orders = [(); 2].map(|()| {
        let request = CreateOrder::new(event.id, new_customer(), ticket_type.id, 1);
        let order = service.create_order(&caller, request).expect("an order").order.id;
        service.payment_completed(&caller, order).expect("paid");
        assert!(service.cancel_order(&caller, order).expect("cancelled").success);
        clock.advance(Duration::from_secs(1));
        order
    });
    clock.advance(Duration::from_mins(1));
    gateway.open.store(true, Ordering::SeqCst);
    // Both are on this run's list; while it asks for the first, the other process asks for the second.
    assert_eq!(service.run_maintenance().expect("a run").answered_refunds, 1);
    assert_eq!(*gateway.asked.lock().expect("no panic"), orders);
}
