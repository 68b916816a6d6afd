//! The outbox: each change queues a notification for every subscribed endpoint, in the transaction of the change, and
//! nothing else does.

use crate::common::outbox::{self, OutboxRow, SALE_NOTIFICATIONS, insert_disabled_webhook, insert_webhook};
use crate::common::*;
use serde_json::{Value, json};
use ticketing::error::Reason;
use ticketing::event::EventStatus;
use ticketing::id::OrderId;
use ticketing::order::{CreateOrder, NewCustomer, NewOrderItem, Order, OrderStatus};
use ticketing::payment::CheckoutOutcome;
use ticketing::payment::ManualMethod;
use ticketing::ticket::CheckInTicket;
use ticketing::ticket_type::{CreateTicketType, TicketType, UpdateTicketType};
use ticketing::webhook::{EventType, WebhookNotification};
use ticketing::{Caller, Error};

use EventType::{OrderCancelled, OrderCompleted, TicketCheckedIn, TicketIssued};

/// The time of a new fixture, in JSON.
const START: &str = "2026-06-01T12:00:00.000Z";
/// The time after [`Fixture::expire_holds`], in JSON.
const AFTER_HOLD: &str = "2026-06-01T12:30:00.000Z";

/// Creates a fixture with one endpoint that is subscribed to all notifications of a sale.
fn fixture_with_endpoint() -> Fixture {
    with_endpoint(Fixture::new())
}

fn with_endpoint(fixture: Fixture) -> Fixture {
    insert_webhook(&fixture.database(), fixture.caller.organization(), &SALE_NOTIFICATIONS);
    fixture
}

fn rows(fixture: &Fixture) -> Vec<OutboxRow> {
    outbox::rows(&fixture.database())
}

/// Runs `work`, and returns its result and the rows that it queued.
fn queued_by<T>(fixture: &Fixture, work: impl FnOnce() -> T) -> (T, Vec<OutboxRow>) {
    let before = rows(fixture).len();
    let result = work();
    (result, rows(fixture).split_off(before))
}

/// Checks new rows of the outbox, and returns their bodies without the ids.
fn bodies(rows: &[OutboxRow]) -> Vec<Value> {
    let body_of = |row: &OutboxRow| {
        let mut body: Value = serde_json::from_str(&row.body).expect("JSON");
        assert_eq!(body["id"], row.event_id.to_string());
        assert_eq!(body["type"], row.kind);
        assert_eq!(body["createdAt"], row.created_at.to_string());
        assert_eq!((row.state.as_str(), row.attempts, row.due_at), ("WAITING", 0, row.created_at));
        body.as_object_mut().expect("an object").remove("id");
        body
    };
    rows.iter().map(body_of).collect()
}

/// Returns the expected bodies for the completion of an order: first that of the order, then one for each ticket.
fn completion(order: &Order, at: &str, total: &Value) -> Vec<Value> {
    let id = order.id.to_string();
    let event = order.event_id.to_string();
    let completed = json!({"orderId": id, "eventId": event, "customerId": order.customer_id.to_string(),
        "total": total, "currency": "EUR"});
    let issued = order.tickets().map(|ticket| {
        json!({"type": "ticket.issued", "createdAt": at, "data": {"issuedTicketId": ticket.id.to_string(),
            "ticketId": ticket.ticket_type_id.to_string(), "eventId": event, "orderId": id}})
    });
    [json!({"type": "order.completed", "createdAt": at, "data": completed})].into_iter().chain(issued).collect()
}

/// Returns the expected body for the cancellation of an order.
fn cancellation(order: &Order, at: &str, requires_manual_refund: bool) -> Vec<Value> {
    let data = json!({"orderId": order.id.to_string(), "eventId": order.event_id.to_string(),
        "customerId": order.customer_id.to_string(), "requiresManualRefund": requires_manual_refund});
    vec![json!({"type": "order.cancelled", "createdAt": at, "data": data})]
}

fn new_ticket_type(fixture: &Fixture) -> TicketType {
    fixture.ticket_type(&fixture.event(), 1250, 10)
}

/// Creates an order and lets its hold expire. With `recorded`, maintenance has recorded the expiry.
fn expired_order(fixture: &Fixture, ticket_type: &TicketType, quantity: i64, recorded: bool) -> Order {
    let order = fixture.order(ticket_type, quantity);
    fixture.expire_holds();
    if recorded {
        fixture.service.run_maintenance().expect("a run");
    }
    order
}

#[test]
fn a_free_order_reports_its_completion_and_each_of_its_tickets() {
    let fixture = fixture_with_endpoint();
    let event = fixture.event();
    let first = fixture.ticket_type(&event, 0, 10);
    let second = fixture.ticket_type(&event, 0, 10);
    let mut request = CreateOrder::new(event.id, new_customer(), first.id, 2);
    request.items.push(NewOrderItem::new(second.id, 1));
    let (order, rows) =
        queued_by(&fixture, || fixture.service.create_order(&fixture.caller, request).expect("an order").order);
    assert_eq!(rows.len(), 4);
    assert_eq!(bodies(&rows), completion(&order, START, &json!(0)));
    // The body, byte for byte.
    let expected = format!(
        concat!(
            r#"{{"id":"{}","type":"order.completed","createdAt":"2026-06-01T12:00:00.000Z","#,
            r#""data":{{"orderId":"{}","eventId":"{}","customerId":"{}","total":0,"currency":"EUR"}}}}"#
        ),
        rows[0].event_id, order.id, event.id, order.customer_id
    );
    assert_eq!(rows[0].body, expected);
}

#[test]
fn a_paid_order_reports_nothing_before_its_payment_and_everything_with_it() {
    type Pay = fn(&Fixture, OrderId) -> ticketing::Result<Order>;
    let by_gateway: Pay = |fixture, id| fixture.service.payment_completed(&fixture.caller, id);
    let by_hand: Pay = |fixture, id| fixture.service.mark_order_paid(&fixture.caller, id, ManualMethod::Cash);
    for pay in [by_gateway, by_hand] {
        let fixture = fixture_with_endpoint();
        let (order, rows) = queued_by(&fixture, || fixture.order(&new_ticket_type(&fixture), 3));
        assert_eq!(rows, []);
        let (paid, rows) = queued_by(&fixture, || pay(&fixture, order.id).expect("paid"));
        assert_eq!(paid.items[0].issued_tickets.len(), 3);
        assert_eq!(bodies(&rows), completion(&paid, START, &json!(37.5)));

        // The payment of an expired order revives it, whether or not its expiry was recorded.
        for recorded in [true, false] {
            let fixture = fixture_with_endpoint();
            let (order, rows) =
                queued_by(&fixture, || expired_order(&fixture, &new_ticket_type(&fixture), 1, recorded));
            assert_eq!(rows, []);
            let (paid, rows) = queued_by(&fixture, || pay(&fixture, order.id).expect("revived"));
            assert_eq!(bodies(&rows), completion(&paid, AFTER_HOLD, &json!(12.5)));
        }
    }
}

#[test]
fn each_outcome_of_the_sandbox_checkout_is_reported() {
    let fixture = with_endpoint(Fixture::with(ticketing::Builder::sandbox_gateway));
    let ticket_type = new_ticket_type(&fixture);
    let click = |order: &Order, outcome| {
        let link = order.payment_gateway.clone().expect("a payment").link;
        let (_, token) = link.rsplit_once('/').expect("a token");
        fixture.service.finish_hosted_checkout(token, outcome).expect("done");
    };
    let paid = fixture.order(&ticket_type, 1);
    let cancelled = fixture.order(&ticket_type, 2);
    let (_, rows) = queued_by(&fixture, || click(&paid, CheckoutOutcome::Failure));
    assert_eq!(rows, []);
    let (_, rows) = queued_by(&fixture, || click(&paid, CheckoutOutcome::Success));
    assert_eq!(bodies(&rows), completion(&fixture.read_order(paid.id), START, &json!(12.5)));
    let (_, rows) = queued_by(&fixture, || click(&cancelled, CheckoutOutcome::Cancel));
    assert_eq!(bodies(&rows), cancellation(&cancelled, START, false));
    // Neither order is pending now.
    let again = || [&paid, &cancelled].map(|order| click(order, CheckoutOutcome::Cancel));
    assert_eq!(queued_by(&fixture, again).1, []);
}

#[test]
fn a_cancelled_order_reports_whether_it_requires_a_manual_refund() {
    let fixture = fixture_with_endpoint();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 10);
    let free_type = fixture.ticket_type(&event, 0, 10);
    let pending = fixture.order(&ticket_type, 1);
    let paid = fixture.paid_order(&ticket_type, 2);
    let marked = fixture
        .service
        .mark_order_paid(&fixture.caller, fixture.order(&ticket_type, 2).id, ManualMethod::Cash)
        .expect("paid");
    let free = fixture.order(&free_type, 2);
    for (order, requires_manual_refund) in [(&pending, false), (&paid, false), (&marked, true), (&free, false)] {
        let cancel = || fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled");
        let (cancelled, rows) = queued_by(&fixture, cancel);
        assert_eq!(cancelled.requires_manual_refund, requires_manual_refund);
        assert_eq!(bodies(&rows), cancellation(order, START, requires_manual_refund));
    }
    for recorded in [true, false] {
        let fixture = fixture_with_endpoint();
        let order = expired_order(&fixture, &new_ticket_type(&fixture), 1, recorded);
        let (_, rows) =
            queued_by(&fixture, || fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled"));
        assert_eq!(bodies(&rows), cancellation(&order, AFTER_HOLD, false));
    }
}

#[test]
fn an_order_without_a_payment_link_is_reported_as_cancelled() {
    let fixture = fixture_with_endpoint();
    let ticket_type = new_ticket_type(&fixture);
    for behavior in [GatewayBehavior::Refuse, GatewayBehavior::Unavailable, GatewayBehavior::Panic] {
        fixture.gateway.on_checkout(behavior);
        let (refused, rows) = queued_by(&fixture, || fixture.try_order(&ticket_type, 2));
        assert!(matches!(refused, Err(Error::PaymentGatewayFailed(_))), "{refused:?}");
        let order = fixture.read_order(fixture.gateway.checkouts().last().expect("a checkout").order_id);
        assert_eq!(order.status, OrderStatus::Cancelled);
        assert_eq!(bodies(&rows), cancellation(&order, START, false));
    }
}

#[test]
fn a_cancelled_event_reports_its_pending_orders_and_no_others() {
    let fixture = fixture_with_endpoint();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 100);
    fixture.paid_order(&ticket_type, 1);
    // An order whose hold expires.
    fixture.order(&ticket_type, 1);
    fixture.expire_holds();
    let cancelled = fixture.order(&ticket_type, 1);
    fixture.service.cancel_order(&fixture.caller, cancelled.id).expect("cancelled");
    // An order of another event.
    fixture.order(&new_ticket_type(&fixture), 1);
    let mut pending = [fixture.order(&ticket_type, 2), fixture.order(&ticket_type, 3)];
    let cancel = || fixture.set_event_status(event.id, EventStatus::Cancelled).expect("cancelled");
    let (_, rows) = queued_by(&fixture, cancel);
    let mut reported = bodies(&rows);
    reported.sort_by_key(|body| body["data"]["orderId"].to_string());
    pending.sort_by_key(|order| order.id.to_string());
    let expected: Vec<_> = pending.iter().flat_map(|order| cancellation(order, AFTER_HOLD, false)).collect();
    assert_eq!(reported, expected);
    assert_eq!(queued_by(&fixture, cancel).1, []);
}

#[test]
fn tickets_issued_without_an_order_are_reported_without_one() {
    let fixture = fixture_with_endpoint();
    let ticket_type = new_ticket_type(&fixture);
    let (issued, rows) = queued_by(&fixture, || fixture.issue(&ticket_type, 3));
    let expected: Vec<_> = issued
        .iter()
        .map(|ticket| {
            json!({"type": "ticket.issued", "createdAt": START, "data": {"issuedTicketId": ticket.id.to_string(),
                "ticketId": ticket_type.id.to_string(), "eventId": ticket_type.event_id.to_string(), "orderId": null}})
        })
        .collect();
    assert_eq!(bodies(&rows), expected);
}

#[test]
fn each_accepted_scan_is_reported_on_every_day() {
    let fixture = fixture_with_endpoint();
    let event = fixture.event();
    let two_days = fixture.ticket_type_with(&event, |new| {
        new.price = eur(0);
        new.validity_days = Some(2);
    });
    let order = fixture.order(&two_days, 1);
    let bought = order.items[0].issued_tickets[0].clone();
    let issued = fixture.issue(&two_days, 1).remove(0);
    let scan = |code: &str| fixture.service.check_in_ticket(&fixture.caller, CheckInTicket::new(code));
    let admission = |ticket: ticketing::id::TicketId, order: Value, at: &str| {
        let data = json!({"issuedTicketId": ticket.to_string(), "ticketId": two_days.id.to_string(),
            "eventId": event.id.to_string(), "orderId": order, "checkInDate": at});
        vec![json!({"type": "ticket.checked_in", "createdAt": at, "data": data})]
    };
    let order_id = json!(order.id.to_string());
    let (_, rows) = queued_by(&fixture, || scan(&bought.code).expect("an accepted scan"));
    assert_eq!(bodies(&rows), admission(bought.id, order_id.clone(), START));
    let (_, rows) = queued_by(&fixture, || scan(&issued.code).expect("an accepted scan"));
    assert_eq!(bodies(&rows), admission(issued.id, Value::Null, START));

    let (refused, rows) = queued_by(&fixture, || scan(&bought.code));
    assert_eq!((reason(refused), rows), (Reason::AlreadyCheckedIn, Vec::new()));
    // Check-out and check-in on the same day, and check-in on the next day.
    let leave =
        || fixture.service.check_out_ticket(&fixture.caller, CheckInTicket::new(&bought.code)).expect("a check-out");
    assert_eq!(queued_by(&fixture, leave).1, []);
    let (_, rows) = queued_by(&fixture, || scan(&bought.code).expect("an accepted scan"));
    assert_eq!(bodies(&rows), admission(bought.id, order_id.clone(), START));
    fixture.set_clock("2026-06-02T09:30:00Z");
    let (_, rows) = queued_by(&fixture, || scan(&bought.code).expect("an accepted scan"));
    assert_eq!(bodies(&rows), admission(bought.id, order_id, "2026-06-02T09:30:00.000Z"));
}

#[test]
fn refused_requests_and_changes_without_a_notification_type_report_nothing() {
    let fixture = fixture_with_endpoint();
    let service = &fixture.service;
    let caller = &fixture.caller;
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 10);
    let ticket = fixture.issue(&ticket_type, 1).remove(0);
    let sold_out = fixture.ticket_type(&event, 0, 1);
    let last_seat = fixture.order(&sold_out, 1);
    let pending = fixture.order(&ticket_type, 2);
    let paid = fixture.paid_order(&ticket_type, 1);
    let cancelled = fixture.order(&ticket_type, 1);
    service.cancel_order(caller, cancelled.id).expect("cancelled");
    let ((), rows) = queued_by(&fixture, || {
        assert_eq!(reason(fixture.try_order(&sold_out, 1)), Reason::SoldOut);
        assert_eq!(reason(fixture.try_issue(sold_out.id, 1)), Reason::SoldOut);
        paths(fixture.try_order(&ticket_type, 0));
        service.payment_failed(caller, pending.id).expect("recorded");
        service.mark_checkout_reminder_sent(caller, pending.id).expect("recorded");
        service.payment_completed(caller, paid.id).expect("a repeated report");
        assert_eq!(reason(service.mark_order_paid(caller, paid.id, ManualMethod::Cash)), Reason::OrderNotPending);
        assert_eq!(reason(service.cancel_order(caller, cancelled.id)), Reason::OrderNotCancellable);
        // A payment after the cancellation is refunded.
        service.payment_completed(caller, cancelled.id).expect("recorded");
        // Refused scans.
        let early = UpdateTicketType::default().valid_from(at(EVENT_START));
        service.update_ticket_type(caller, ticket_type.id, early).expect("changed");
        let scan = || service.check_in_ticket(caller, CheckInTicket::new(&ticket.code));
        assert_eq!(reason(scan()), Reason::NotYetValid);
        service.cancel_ticket(caller, ticket.id).expect("cancelled");
        assert_eq!(reason(scan()), Reason::TicketCancelled);
        assert_not_found(service.check_in_ticket(caller, CheckInTicket::new("00000000000000000000")));
        // A hold that expires.
        fixture.expire_holds();
        assert_eq!(service.run_maintenance().expect("a run").expired_orders, 1);
        fixture.set_event_status(event.id, EventStatus::Cancelled).expect("a cancelled event");
        let code = &last_seat.items[0].issued_tickets[0].code;
        assert_eq!(reason(service.check_in_ticket(caller, CheckInTicket::new(code))), Reason::EventCancelled);
    });
    assert_eq!(rows, []);
}

#[test]
fn a_late_payment_without_free_seats_reports_nothing() {
    let fixture = fixture_with_endpoint();
    let event = fixture.event();
    let first = fixture.ticket_type(&event, 1250, 1);
    let second = fixture.ticket_type(&event, 1250, 1);
    let mut request = CreateOrder::new(event.id, new_customer(), first.id, 1);
    request.items.push(NewOrderItem::new(second.id, 1));
    let order = fixture.service.create_order(&fixture.caller, request).expect("an order").order;
    fixture.expire_holds();
    fixture.paid_order(&second, 1);
    // The seat of the first type is free, that of the second is not.
    let pay = || fixture.service.payment_completed(&fixture.caller, order.id).expect("recorded");
    let (late, rows) = queued_by(&fixture, pay);
    assert_eq!((late.status, rows), (OrderStatus::Expired, Vec::new()));
}

#[test]
fn each_enabled_and_subscribed_endpoint_gets_the_same_notification() {
    let fixture = Fixture::new();
    let other_caller = fixture.other_organization();
    let endpoint = |events: &[EventType]| insert_webhook(&fixture.database(), fixture.caller.organization(), events);
    let everything = endpoint(&SALE_NOTIFICATIONS);
    let tickets = endpoint(&[TicketIssued, TicketCheckedIn]);
    insert_disabled_webhook(&fixture.database(), fixture.caller.organization(), &SALE_NOTIFICATIONS);
    let orders = endpoint(&[OrderCancelled, OrderCompleted]);
    let foreign = insert_webhook(&fixture.database(), other_caller.organization(), &SALE_NOTIFICATIONS);

    let free = fixture.ticket_type(&fixture.event(), 0, 10);
    let (order, rows) = queued_by(&fixture, || fixture.order(&free, 1));
    let ticket = order.items[0].issued_tickets[0].clone();
    let recipients =
        |rows: &[OutboxRow]| -> Vec<_> { rows.iter().map(|row| (row.kind.clone(), row.webhook)).collect() };
    let [completed, issued] = ["order.completed", "ticket.issued"].map(str::to_owned);
    let expected =
        [(completed.clone(), everything), (completed, orders), (issued.clone(), everything), (issued, tickets)];
    assert_eq!(recipients(&rows), expected);
    // All endpoints get the same id and body.
    assert_eq!((rows[0].event_id, &rows[0].body), (rows[1].event_id, &rows[1].body));
    assert_eq!((rows[2].event_id, &rows[2].body), (rows[3].event_id, &rows[3].body));
    assert_ne!(rows[0].event_id, rows[2].event_id);

    let scan = || {
        fixture.service.check_in_ticket(&fixture.caller, CheckInTicket::new(&ticket.code)).expect("an accepted scan")
    };
    let (_, rows) = queued_by(&fixture, scan);
    let checked_in = "ticket.checked_in".to_owned();
    assert_eq!(recipients(&rows), [(checked_in.clone(), everything), (checked_in, tickets)]);
    let (_, rows) = queued_by(&fixture, || fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled"));
    let cancelled = "order.cancelled".to_owned();
    assert_eq!(recipients(&rows), [(cancelled.clone(), everything), (cancelled, orders)]);

    let (_, rows) = queued_by(&fixture, || create_free_order(&fixture, &other_caller));
    assert!(!rows.is_empty() && rows.iter().all(|row| row.webhook == foreign), "{rows:?}");
}

/// Creates a free order in the organization of this caller.
fn create_free_order(fixture: &Fixture, caller: &Caller) -> Order {
    let event = fixture.service.create_event(caller, new_event(|_| {})).expect("an event");
    let free = CreateTicketType::new("Free", eur(0), 10);
    let free = fixture.service.create_ticket_type(caller, event.id, free).expect("a ticket type");
    fixture
        .service
        .create_order(caller, CreateOrder::new(event.id, new_customer(), free.id, 1))
        .expect("an order")
        .order
}

#[test]
fn seventy_five_endpoints_get_the_same_notifications_in_the_same_order() {
    let fixture = Fixture::new();
    let mut endpoints: Vec<_> = (0..75)
        .map(|_| insert_webhook(&fixture.database(), fixture.caller.organization(), &SALE_NOTIFICATIONS))
        .collect();
    let free = fixture.ticket_type(&fixture.event(), 0, 10);
    let (order, rows) = queued_by(&fixture, || fixture.order(&free, 2));
    let expected = completion(&order, START, &json!(0));
    for endpoint in &endpoints {
        let queued: Vec<_> = rows.iter().filter(|row| row.webhook == *endpoint).cloned().collect();
        assert_eq!(bodies(&queued), expected);
    }
    assert_eq!(rows.len(), 75 * 3);
    let ids: std::collections::BTreeSet<_> = rows.iter().map(|row| row.event_id).collect();
    assert_eq!(ids.len(), 3);
    endpoints.dedup();
    assert_eq!(endpoints.len(), 75);
}

#[test]
fn nothing_is_queued_without_an_enabled_endpoint() {
    let fixture = Fixture::new();
    insert_disabled_webhook(&fixture.database(), fixture.caller.organization(), &SALE_NOTIFICATIONS);
    insert_webhook(&fixture.database(), fixture.other_organization().organization(), &SALE_NOTIFICATIONS);
    let ticket_type = new_ticket_type(&fixture);
    let order = fixture.paid_order(&ticket_type, 1);
    fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled");
    fixture.issue(&ticket_type, 1);
    assert_eq!(rows(&fixture), []);
}

/// Returns zeros for ids, so that two services with one clock draw the same ids. With equal seeds they draw the same
/// ticket codes as well.
#[derive(Debug)]
struct EqualIds(ticketing::environment::SeededEntropy);

impl ticketing::environment::Entropy for EqualIds {
    fn fill(&self, bytes: &mut [u8]) {
        match bytes {
            [_, _] => bytes.fill(0),
            _ => self.0.fill(bytes),
        }
    }
}

#[test]
fn two_processes_that_draw_equal_ids_and_codes_store_different_ones() {
    for seeds in [[1, 2], [1, 1]] {
        let fixture = fixture_with_endpoint();
        let services = seeds.map(|seed| {
            let builder = database::builder(fixture.path()).clock(fixture.clock.clone());
            builder.entropy(EqualIds(ticketing::environment::SeededEntropy::new(seed))).open().expect("the file")
        });
        let free = fixture.ticket_type(&fixture.event(), 0, 1000);
        let mut codes = std::collections::BTreeSet::new();
        for _ in 0..20 {
            for service in &services {
                let request = CreateOrder::new(free.event_id, new_customer(), free.id, 2);
                let order = service.create_order(&fixture.caller, request).expect("an order").order;
                codes.extend(order.items[0].issued_tickets.iter().map(|ticket| ticket.code.clone()));
            }
        }
        assert_eq!(codes.len(), 40 * 2);
        let rows = rows(&fixture);
        assert_eq!(rows.len(), 40 * 3);
        bodies(&rows);
        let ids: std::collections::BTreeSet<_> = rows.iter().map(|row| row.event_id).collect();
        assert_eq!(ids.len(), rows.len());
    }
}

#[test]
fn a_failed_commit_leaves_neither_the_change_nor_its_notification() {
    let fixture = fixture_with_endpoint();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 10);
    let free = fixture.ticket_type(&event, 0, 10);
    let order = fixture.order(&ticket_type, 1);
    let ticket = fixture.issue(&free, 1).remove(0);
    let run_sql = |sql: &str| fixture.database().run(sql);
    // A deferred foreign key, so that the commit itself fails.
    run_sql("CREATE TABLE broken (id BIGINT REFERENCES organizations (id) DEFERRABLE INITIALLY DEFERRED)");
    let database = fixture.database();
    database.trigger("break_commit", "AFTER INSERT ON webhook_notifications", "TRUE", "INSERT INTO broken VALUES (0)");
    let before = fixture.all_rows();
    let fails = |result: ticketing::Result<()>| assert!(matches!(result, Err(Error::Store(_))), "{result:?}");
    fails(fixture.try_order(&free, 1).map(drop));
    fails(fixture.service.payment_completed(&fixture.caller, order.id).map(drop));
    fails(fixture.service.cancel_order(&fixture.caller, order.id).map(drop));
    fails(fixture.try_issue(free.id, 1).map(drop));
    fails(fixture.service.check_in_ticket(&fixture.caller, CheckInTicket::new(&ticket.code)).map(drop));
    assert_eq!(fixture.all_rows(), before);
    database.end_trigger("break_commit");
    run_sql("DROP TABLE broken");
    assert_eq!(queued_by(&fixture, || fixture.order(&free, 1)).1.len(), 2);
}

#[test]
fn notifications_contain_no_code_name_or_e_mail_address() {
    let fixture = fixture_with_endpoint();
    let free = fixture.ticket_type(&fixture.event(), 0, 10);
    let customer = NewCustomer::new("Grace Hopper", "grace@navy.example");
    let request = CreateOrder::new(free.event_id, customer, free.id, 2);
    let created = fixture.service.create_order(&fixture.caller, request).expect("an order");
    let code = &created.issued_tickets[0].code;
    fixture.service.check_in_ticket(&fixture.caller, CheckInTicket::new(code)).expect("an accepted scan");
    fixture.service.cancel_order(&fixture.caller, created.order.id).expect("cancelled");
    let rows = rows(&fixture);
    assert_eq!(rows.len(), 3 + 1 + 1);
    for row in &rows {
        for secret in ["Grace", "navy", code] {
            assert!(!row.body.contains(secret), "{}", row.body);
        }
        // The body can be read as a `WebhookNotification`.
        let read: WebhookNotification = serde_json::from_str(&row.body).expect("a notification");
        assert_eq!((read.id, read.created_at), (row.event_id, row.created_at));
    }
}
