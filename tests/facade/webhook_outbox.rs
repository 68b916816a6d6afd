//! What webhooks are to report: each change is queued in its own transaction, once for each endpoint that wants it, and
//! nothing else is.

use crate::common::outbox::{self, ALL_NOTIFICATIONS, OutboxRow, insert_webhook};
use crate::common::*;
use serde_json::{Value, json};
use ticketing::{
    Caller, Change, CheckInTicket, CheckoutOutcome, CreateOrder, CreateTicketType, Error, EventStatus, NewCustomer,
    NewOrderItem, Notification, NotificationType, Order, OrderId, OrderStatus, Reason, TicketType, UpdateTicketType,
};

use NotificationType::{OrderCancelled, OrderCompleted, TicketCheckedIn, TicketIssued};

/// What the clock shows when a shop opens, as JSON has it.
const AT_FIRST: &str = "2026-06-01T12:00:00.000Z";
const AFTER_THE_HOLD: &str = "2026-06-01T12:30:00.000Z";

/// A shop with one endpoint that wants everything.
fn heard(fixture: Fixture) -> Fixture {
    insert_webhook(&fixture.database(), fixture.caller.organization(), &ALL_NOTIFICATIONS, true);
    fixture
}

fn rows(fixture: &Fixture) -> Vec<OutboxRow> {
    outbox::rows(&fixture.database())
}

/// What `work` gives, and what is queued by it.
fn queued_by<T>(fixture: &Fixture, work: impl FnOnce() -> T) -> (T, Vec<OutboxRow>) {
    let before = rows(fixture).len();
    let done = work();
    (done, rows(fixture).split_off(before))
}

/// The bodies without their ids, which are those of the rows.
fn told(rows: &[OutboxRow]) -> Vec<Value> {
    let tell = |row: &OutboxRow| {
        let mut body: Value = serde_json::from_str(&row.body).expect("JSON");
        assert_eq!(body["id"], row.event_id.to_string());
        assert_eq!(body["type"], row.kind);
        assert_eq!(body["createdAt"], row.created_at.to_string());
        assert_eq!((row.state.as_str(), row.attempts, row.due_at), ("WAITING", 0, row.created_at));
        body.as_object_mut().expect("an object").remove("id");
        body
    };
    rows.iter().map(tell).collect()
}

/// What is told of an order's completion at `at`, whose total is `total`: first the order, then each ticket.
fn completion(order: &Order, at: &str, total: &Value) -> Vec<Value> {
    let (id, event) = (order.id.to_string(), order.event_id.to_string());
    let completed = json!({"orderId": id, "eventId": event, "customerId": order.customer_id.to_string(),
        "total": total, "currency": "EUR"});
    let issued = order.items.iter().flat_map(|item| &item.issued_tickets).map(|ticket| {
        json!({"type": "ticket.issued", "createdAt": at, "data": {"issuedTicketId": ticket.id.to_string(),
            "ticketId": ticket.ticket_type_id.to_string(), "eventId": event, "orderId": id}})
    });
    [json!({"type": "order.completed", "createdAt": at, "data": completed})].into_iter().chain(issued).collect()
}

fn cancellation(order: &Order, at: &str, requires_manual_refund: bool) -> Vec<Value> {
    let data = json!({"orderId": order.id.to_string(), "eventId": order.event_id.to_string(),
        "customerId": order.customer_id.to_string(), "requiresManualRefund": requires_manual_refund});
    vec![json!({"type": "order.cancelled", "createdAt": at, "data": data})]
}

fn seat(fixture: &Fixture) -> TicketType {
    fixture.ticket_type(&fixture.event(), 1250, 10)
}

/// An order whose hold has run out; where `written` is true, that was written down.
fn expired(fixture: &Fixture, of: &TicketType, quantity: i64, written: bool) -> Order {
    let order = fixture.order(of, quantity);
    fixture.expire_holds();
    if written {
        fixture.service.run_maintenance().expect("a run");
    }
    order
}

#[test]
fn a_free_order_reports_its_completion_and_each_of_its_tickets() {
    let fixture = heard(Fixture::new());
    let event = fixture.event();
    let (one, other) = (fixture.ticket_type(&event, 0, 10), fixture.ticket_type(&event, 0, 10));
    let mut request = CreateOrder::new(event.id, new_customer(), one.id, 2);
    request.items.push(NewOrderItem { ticket_type_id: other.id, quantity: 1 });
    let (order, rows) =
        queued_by(&fixture, || fixture.service.create_order(&fixture.caller, request).expect("an order").order);
    assert_eq!(rows.len(), 4);
    assert_eq!(told(&rows), completion(&order, AT_FIRST, &json!(0)));
    // The body, byte for byte.
    assert_eq!(
        rows[0].body,
        format!(
            r#"{{"id":"{}","type":"order.completed","createdAt":"2026-06-01T12:00:00.000Z","data":{{"orderId":"{}","eventId":"{}","customerId":"{}","total":0,"currency":"EUR"}}}}"#,
            rows[0].event_id, order.id, event.id, order.customer_id
        )
    );
}

#[test]
fn an_order_that_is_paid_reports_nothing_before_and_everything_then() {
    type Pay = fn(&Fixture, OrderId) -> ticketing::Result<Order>;
    let by_gateway: Pay = |fixture, id| fixture.service.payment_completed(&fixture.caller, id);
    let by_hand: Pay = |fixture, id| fixture.service.mark_order_paid(&fixture.caller, id);
    for pay in [by_gateway, by_hand] {
        let fixture = heard(Fixture::new());
        let (order, rows) = queued_by(&fixture, || fixture.order(&seat(&fixture), 3));
        assert_eq!(rows, []);
        let (paid, rows) = queued_by(&fixture, || pay(&fixture, order.id).expect("paid"));
        assert_eq!(paid.items[0].issued_tickets.len(), 3);
        assert_eq!(told(&rows), completion(&paid, AT_FIRST, &json!(37.5)));

        // One that expired is revived, whether or not somebody wrote its end down.
        for written in [true, false] {
            let fixture = heard(Fixture::new());
            let (order, rows) = queued_by(&fixture, || expired(&fixture, &seat(&fixture), 1, written));
            assert_eq!(rows, []);
            let (paid, rows) = queued_by(&fixture, || pay(&fixture, order.id).expect("revived"));
            assert_eq!(told(&rows), completion(&paid, AFTER_THE_HOLD, &json!(12.5)));
        }
    }
}

#[test]
fn the_sandbox_checkout_reports_what_its_buttons_do() {
    let fixture = heard(Fixture::with(ticketing::Builder::sandbox_gateway));
    let seat = seat(&fixture);
    let click = |order: &Order, outcome| {
        let link = order.payment_gateway.clone().expect("a payment").link;
        let (_, token) = link.rsplit_once('/').expect("a token");
        fixture.service.finish_hosted_checkout(token, outcome).expect("done");
    };
    let (paid, given_up) = (fixture.order(&seat, 1), fixture.order(&seat, 2));
    let (_, rows) = queued_by(&fixture, || click(&paid, CheckoutOutcome::Failure));
    assert_eq!(rows, []);
    let (_, rows) = queued_by(&fixture, || click(&paid, CheckoutOutcome::Success));
    assert_eq!(told(&rows), completion(&fixture.read_order(paid.id), AT_FIRST, &json!(12.5)));
    let (_, rows) = queued_by(&fixture, || click(&given_up, CheckoutOutcome::Cancel));
    assert_eq!(told(&rows), cancellation(&given_up, AT_FIRST, false));
    // Neither is pending any more.
    let again = || [&paid, &given_up].map(|order| click(order, CheckoutOutcome::Cancel));
    assert_eq!(queued_by(&fixture, again).1, []);
}

#[test]
fn a_cancelled_order_reports_whether_somebody_has_to_give_money_back() {
    let fixture = heard(Fixture::new());
    let event = fixture.event();
    let (seat, free) = (fixture.ticket_type(&event, 1250, 10), fixture.ticket_type(&event, 0, 10));
    let pending = fixture.order(&seat, 1);
    let paid = fixture.paid_order(&seat, 2);
    let marked = fixture.service.mark_order_paid(&fixture.caller, fixture.order(&seat, 2).id).expect("paid");
    let given = fixture.order(&free, 2);
    for (order, requires_manual_refund) in [(&pending, false), (&paid, false), (&marked, true), (&given, false)] {
        let cancel = || fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled");
        let (answer, rows) = queued_by(&fixture, cancel);
        assert_eq!(answer.requires_manual_refund, requires_manual_refund);
        assert_eq!(told(&rows), cancellation(order, AT_FIRST, requires_manual_refund));
    }
    for written in [true, false] {
        let fixture = heard(Fixture::new());
        let order = expired(&fixture, &self::seat(&fixture), 1, written);
        let (_, rows) =
            queued_by(&fixture, || fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled"));
        assert_eq!(told(&rows), cancellation(&order, AFTER_THE_HOLD, false));
    }
}

#[test]
fn an_order_for_which_the_gateway_gives_no_link_reports_that_it_was_cancelled() {
    let fixture = heard(Fixture::new());
    let seat = seat(&fixture);
    for mood in [GatewayBehavior::Refuse, GatewayBehavior::Unavailable, GatewayBehavior::Panic] {
        fixture.gateway.on_checkout(mood);
        let (refused, rows) = queued_by(&fixture, || fixture.try_order(&seat, 2));
        assert!(matches!(refused, Err(Error::PaymentGatewayFailed(_))), "{refused:?}");
        let order = fixture.read_order(fixture.gateway.checkouts().last().expect("it was asked").order_id);
        assert_eq!(order.status, OrderStatus::Cancelled);
        assert_eq!(told(&rows), cancellation(&order, AT_FIRST, false));
    }
}

#[test]
fn a_cancelled_event_reports_its_pending_orders_and_no_others() {
    let fixture = heard(Fixture::new());
    let event = fixture.event();
    let seat = fixture.ticket_type(&event, 1250, 100);
    fixture.paid_order(&seat, 1);
    fixture.order(&seat, 1); // its hold runs out
    fixture.expire_holds();
    let cancelled = fixture.order(&seat, 1);
    fixture.service.cancel_order(&fixture.caller, cancelled.id).expect("cancelled");
    fixture.order(&self::seat(&fixture), 1); // of another event
    let mut pending = [fixture.order(&seat, 2), fixture.order(&seat, 3)];
    let (_, rows) =
        queued_by(&fixture, || fixture.set_event_status(event.id, EventStatus::Cancelled).expect("cancelled"));
    let mut told = told(&rows);
    told.sort_by_key(|body| body["data"]["orderId"].to_string());
    pending.sort_by_key(|order| order.id.to_string());
    let expected: Vec<_> = pending.iter().flat_map(|order| cancellation(order, AFTER_THE_HOLD, false)).collect();
    assert_eq!(told, expected);
    let (_, rows) =
        queued_by(&fixture, || fixture.set_event_status(event.id, EventStatus::Cancelled).expect("it is already"));
    assert_eq!(rows, []);
}

#[test]
fn tickets_that_are_issued_without_an_order_are_reported_without_one() {
    let fixture = heard(Fixture::new());
    let seat = seat(&fixture);
    let (issued, rows) = queued_by(&fixture, || fixture.issue(&seat, 3));
    let expected: Vec<_> = issued
        .iter()
        .map(|ticket| {
            json!({"type": "ticket.issued", "createdAt": AT_FIRST, "data": {"issuedTicketId": ticket.id.to_string(),
                "ticketId": seat.id.to_string(), "eventId": seat.event_id.to_string(), "orderId": null}})
        })
        .collect();
    assert_eq!(told(&rows), expected);
}

#[test]
fn each_scan_that_lets_somebody_in_is_reported_and_each_day_anew() {
    let fixture = heard(Fixture::new());
    let event = fixture.event();
    let days = fixture.ticket_type_with(&event, |new| (new.price, new.validity_days) = (eur(0), Some(2)));
    let order = fixture.order(&days, 1);
    let bought = order.items[0].issued_tickets[0].clone();
    let given = fixture.issue(&days, 1).remove(0);
    let scan = |code: &str| fixture.service.check_in_ticket(&fixture.caller, CheckInTicket::new(code));
    let entry = |ticket: ticketing::TicketId, order: Value, at: &str| {
        vec![json!({"type": "ticket.checked_in", "createdAt": at, "data": {"issuedTicketId": ticket.to_string(),
            "ticketId": days.id.to_string(), "eventId": event.id.to_string(), "orderId": order, "checkInDate": at}})]
    };
    let of_order = json!(order.id.to_string());
    let (_, rows) = queued_by(&fixture, || scan(&bought.code).expect("inside"));
    assert_eq!(told(&rows), entry(bought.id, of_order.clone(), AT_FIRST));
    let (_, rows) = queued_by(&fixture, || scan(&given.code).expect("inside"));
    assert_eq!(told(&rows), entry(given.id, Value::Null, AT_FIRST));

    let (refused, rows) = queued_by(&fixture, || scan(&bought.code));
    assert_eq!((reason(refused), rows), (Reason::AlreadyCheckedIn, Vec::new()));
    // Out and in again on the same day, and in once more on the next.
    let leave =
        || fixture.service.check_out_ticket(&fixture.caller, CheckInTicket::new(&bought.code)).expect("outside");
    assert_eq!(queued_by(&fixture, leave).1, []);
    let (_, rows) = queued_by(&fixture, || scan(&bought.code).expect("inside"));
    assert_eq!(told(&rows), entry(bought.id, of_order.clone(), AT_FIRST));
    fixture.set_clock("2026-06-02T09:30:00Z");
    let (_, rows) = queued_by(&fixture, || scan(&bought.code).expect("inside"));
    assert_eq!(told(&rows), entry(bought.id, of_order, "2026-06-02T09:30:00.000Z"));
}

#[test]
fn what_is_refused_and_what_no_type_is_for_reports_nothing() {
    let fixture = heard(Fixture::new());
    let (service, caller) = (&fixture.service, &fixture.caller);
    let event = fixture.event();
    let seat = fixture.ticket_type(&event, 1250, 10);
    let ticket = fixture.issue(&seat, 1).remove(0);
    let full = fixture.ticket_type(&event, 0, 1);
    let taken = fixture.order(&full, 1);
    let pending = fixture.order(&seat, 2);
    let paid = fixture.paid_order(&seat, 1);
    let cancelled = fixture.order(&seat, 1);
    service.cancel_order(caller, cancelled.id).expect("cancelled");
    let ((), rows) = queued_by(&fixture, || {
        assert_eq!(reason(fixture.try_order(&full, 1)), Reason::SoldOut);
        assert_eq!(reason(fixture.try_issue(full.id, 1)), Reason::SoldOut);
        paths(fixture.try_order(&seat, 0));
        service.payment_failed(caller, pending.id).expect("noted");
        service.mark_checkout_reminder_sent(caller, pending.id).expect("noted");
        service.payment_completed(caller, paid.id).expect("the same notice again");
        assert_eq!(reason(service.mark_order_paid(caller, paid.id)), Reason::OrderNotPending);
        assert_eq!(reason(service.cancel_order(caller, cancelled.id)), Reason::OrderNotCancellable);
        // A payment that comes too late is refunded.
        service.payment_completed(caller, cancelled.id).expect("noted");
        // Scans that let nobody in, and one of which the ticket is void.
        let early = UpdateTicketType { valid_from: Change::Set(Some(at(EVENT_START))), ..Default::default() };
        service.update_ticket_type(caller, seat.id, early).expect("changed");
        let scan = || service.check_in_ticket(caller, CheckInTicket::new(&ticket.code));
        assert_eq!(reason(scan()), Reason::NotYetValid);
        service.cancel_ticket(caller, ticket.id).expect("cancelled");
        assert_eq!(reason(scan()), Reason::TicketCancelled);
        assert_not_found(service.check_in_ticket(caller, CheckInTicket::new("00000000000000000000")));
        // A hold that runs out.
        fixture.expire_holds();
        assert_eq!(service.run_maintenance().expect("a run").expired_orders, 1);
        fixture.set_event_status(event.id, EventStatus::Cancelled).expect("nothing is pending");
        let entered = &taken.items[0].issued_tickets[0].code;
        assert_eq!(reason(service.check_in_ticket(caller, CheckInTicket::new(entered))), Reason::EventCancelled);
    });
    assert_eq!(rows, []);
}

#[test]
fn a_late_payment_that_finds_no_place_reports_nothing_of_what_was_undone() {
    let fixture = heard(Fixture::new());
    let event = fixture.event();
    let (seat, chair) = (fixture.ticket_type(&event, 1250, 1), fixture.ticket_type(&event, 1250, 1));
    let mut both = CreateOrder::new(event.id, new_customer(), seat.id, 1);
    both.items.push(NewOrderItem { ticket_type_id: chair.id, quantity: 1 });
    let both = fixture.service.create_order(&fixture.caller, both).expect("an order").order;
    fixture.expire_holds();
    fixture.paid_order(&chair, 1);
    // The seat is free, and then the chair is not.
    let pay = || fixture.service.payment_completed(&fixture.caller, both.id).expect("noted");
    let (late, rows) = queued_by(&fixture, pay);
    assert_eq!((late.status, rows), (OrderStatus::Expired, Vec::new()));
}

#[test]
fn each_enabled_endpoint_of_the_organization_that_wants_the_type_gets_one_and_the_same_notification() {
    let fixture = Fixture::new();
    let stranger = fixture.other_organization();
    let mine = |events: &[NotificationType], enabled| {
        insert_webhook(&fixture.database(), fixture.caller.organization(), events, enabled)
    };
    let everything = mine(&ALL_NOTIFICATIONS, true);
    let tickets = mine(&[TicketIssued, TicketCheckedIn], true);
    mine(&ALL_NOTIFICATIONS, false);
    let orders = mine(&[OrderCancelled, OrderCompleted], true);
    let theirs = insert_webhook(&fixture.database(), stranger.organization(), &ALL_NOTIFICATIONS, true);

    let free = fixture.ticket_type(&fixture.event(), 0, 10);
    let (order, rows) = queued_by(&fixture, || fixture.order(&free, 1));
    let ticket = order.items[0].issued_tickets[0].clone();
    let who = |rows: &[OutboxRow]| -> Vec<_> { rows.iter().map(|row| (row.kind.clone(), row.webhook)).collect() };
    let [completed, issued] = ["order.completed", "ticket.issued"].map(str::to_owned);
    let expected =
        [(completed.clone(), everything), (completed, orders), (issued.clone(), everything), (issued, tickets)];
    assert_eq!(who(&rows), expected);
    // One id and one body for all of them, another for another notification.
    assert_eq!((rows[0].event_id, &rows[0].body), (rows[1].event_id, &rows[1].body));
    assert_eq!((rows[2].event_id, &rows[2].body), (rows[3].event_id, &rows[3].body));
    assert_ne!(rows[0].event_id, rows[2].event_id);

    let scan = || fixture.service.check_in_ticket(&fixture.caller, CheckInTicket::new(&ticket.code)).expect("inside");
    let (_, rows) = queued_by(&fixture, scan);
    let entered = "ticket.checked_in".to_owned();
    assert_eq!(who(&rows), [(entered.clone(), everything), (entered, tickets)]);
    let (_, rows) = queued_by(&fixture, || fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled"));
    let cancelled = "order.cancelled".to_owned();
    assert_eq!(who(&rows), [(cancelled.clone(), everything), (cancelled, orders)]);

    let (_, rows) = queued_by(&fixture, || order_of(&fixture, &stranger));
    assert!(!rows.is_empty() && rows.iter().all(|row| row.webhook == theirs), "{rows:?}");
}

/// A free order in another organization.
fn order_of(fixture: &Fixture, caller: &Caller) -> Order {
    let event = fixture.service.create_event(caller, new_event(|_| {})).expect("an event");
    let free = CreateTicketType::new("Free", eur(0), 10);
    let free = fixture.service.create_ticket_type(caller, event.id, free).expect("a type");
    fixture
        .service
        .create_order(caller, CreateOrder::new(event.id, new_customer(), free.id, 1))
        .expect("an order")
        .order
}

#[test]
fn however_many_endpoints_there_are_each_gets_the_same_notifications_in_the_same_order() {
    let fixture = Fixture::new();
    let mut endpoints: Vec<_> = (0..75)
        .map(|_| insert_webhook(&fixture.database(), fixture.caller.organization(), &ALL_NOTIFICATIONS, true))
        .collect();
    let free = fixture.ticket_type(&fixture.event(), 0, 10);
    let (order, rows) = queued_by(&fixture, || fixture.order(&free, 2));
    let expected = completion(&order, AT_FIRST, &json!(0));
    for endpoint in &endpoints {
        let mine: Vec<_> = rows.iter().filter(|row| row.webhook == *endpoint).cloned().collect();
        assert_eq!(told(&mine), expected);
    }
    assert_eq!(rows.len(), 75 * 3);
    let ids: std::collections::BTreeSet<_> = rows.iter().map(|row| row.event_id).collect();
    assert_eq!(ids.len(), 3);
    endpoints.dedup();
    assert_eq!(endpoints.len(), 75);
}

#[test]
fn where_nobody_listens_nothing_is_queued() {
    let fixture = Fixture::new();
    insert_webhook(&fixture.database(), fixture.caller.organization(), &ALL_NOTIFICATIONS, false);
    insert_webhook(&fixture.database(), fixture.other_organization().organization(), &ALL_NOTIFICATIONS, true);
    let seat = seat(&fixture);
    let order = fixture.paid_order(&seat, 1);
    fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled");
    fixture.issue(&seat, 1);
    assert_eq!(rows(&fixture), []);
}

/// Ids without randomness, so that two services with one clock draw the same. With equal seeds they draw the same ticket
/// codes as well.
#[derive(Debug)]
struct Alike(ticketing::SeededEntropy);

impl ticketing::Entropy for Alike {
    fn fill(&self, bytes: &mut [u8]) {
        match bytes {
            [_, _] => bytes.fill(0),
            _ => self.0.fill(bytes),
        }
    }
}

#[test]
fn two_processes_that_draw_the_same_ids_and_codes_store_different_ones() {
    for seeds in [[1, 2], [1, 1]] {
        let fixture = heard(Fixture::new());
        let twins = seeds.map(|seed| {
            let builder = ticketing::TicketingService::builder(fixture.path()).clock(fixture.clock.clone());
            builder.entropy(Alike(ticketing::SeededEntropy::new(seed))).open().expect("the file")
        });
        let free = fixture.ticket_type(&fixture.event(), 0, 1000);
        let mut codes = std::collections::BTreeSet::new();
        for _ in 0..20 {
            for service in &twins {
                let request = CreateOrder::new(free.event_id, new_customer(), free.id, 2);
                let order = service.create_order(&fixture.caller, request).expect("an order").order;
                codes.extend(order.items[0].issued_tickets.iter().map(|ticket| ticket.code.clone()));
            }
        }
        assert_eq!(codes.len(), 40 * 2);
        let rows = rows(&fixture);
        assert_eq!(rows.len(), 40 * 3);
        told(&rows);
        let ids: std::collections::BTreeSet<_> = rows.iter().map(|row| row.event_id).collect();
        assert_eq!(ids.len(), rows.len());
    }
}

#[test]
fn a_request_that_is_answered_from_its_idempotency_key_reports_nothing_again() {
    let fixture = heard(Fixture::new());
    let event = fixture.event();
    let (seat, free) = (fixture.ticket_type(&event, 1250, 10), fixture.ticket_type(&event, 0, 10));
    let pending = fixture.order(&seat, 1);
    let paid = fixture.order(&seat, 1);
    let ticket = fixture.issue(&free, 1).remove(0);
    let all = || {
        let request = CreateOrder::new(event.id, new_customer(), free.id, 2);
        fixture.service.create_order(&fixture.caller_with_key("order"), request).expect("an order");
        fixture.service.mark_order_paid(&fixture.caller_with_key("paid"), paid.id).expect("paid");
        fixture.service.cancel_order(&fixture.caller_with_key("cancel"), pending.id).expect("cancelled");
        let request = ticketing::IssueTickets { ticket_type_id: free.id, customer: new_customer(), quantity: 2 };
        fixture.service.issue_tickets(&fixture.caller_with_key("issue"), request).expect("tickets");
        fixture
            .service
            .check_in_ticket(&fixture.caller_with_key("scan"), CheckInTicket::new(&ticket.code))
            .expect("inside");
    };
    // Three of the free order, two of the paid one, a cancellation, two tickets, and a scan.
    assert_eq!(queued_by(&fixture, all).1.len(), 3 + 2 + 1 + 2 + 1);
    assert_eq!(queued_by(&fixture, all).1, []);
}

#[test]
fn a_commit_that_fails_leaves_neither_the_change_nor_its_notification() {
    let fixture = heard(Fixture::new());
    let event = fixture.event();
    let (seat, free) = (fixture.ticket_type(&event, 1250, 10), fixture.ticket_type(&event, 0, 10));
    let order = fixture.order(&seat, 1);
    let ticket = fixture.issue(&free, 1).remove(0);
    let run_sql = |sql: &str| fixture.database().run(sql);
    // A debt that is noticed when the transaction is to be committed.
    run_sql(
        "CREATE TABLE debts (id INTEGER REFERENCES organizations (id) DEFERRABLE INITIALLY DEFERRED);
        CREATE TRIGGER debt AFTER INSERT ON webhook_outbox BEGIN INSERT INTO debts VALUES (0); END",
    );
    let before = fixture.all_rows();
    let fails = |result: ticketing::Result<()>| assert!(matches!(result, Err(Error::Store(_))), "{result:?}");
    fails(fixture.try_order(&free, 1).map(drop));
    fails(fixture.service.payment_completed(&fixture.caller, order.id).map(drop));
    fails(fixture.service.cancel_order(&fixture.caller, order.id).map(drop));
    fails(fixture.try_issue(free.id, 1).map(drop));
    fails(fixture.service.check_in_ticket(&fixture.caller, CheckInTicket::new(&ticket.code)).map(drop));
    assert_eq!(fixture.all_rows(), before);
    run_sql("DROP TRIGGER debt; DROP TABLE debts");
    assert_eq!(queued_by(&fixture, || fixture.order(&free, 1)).1.len(), 2);
}

#[test]
fn no_code_name_or_address_is_in_a_notification() {
    let fixture = heard(Fixture::new());
    let free = fixture.ticket_type(&fixture.event(), 0, 10);
    let customer = NewCustomer::new("Grace Hopper", "grace@navy.example");
    let request = CreateOrder::new(free.event_id, customer, free.id, 2);
    let placed = fixture.service.create_order(&fixture.caller, request).expect("an order");
    let code = &placed.issued_tickets[0].code;
    fixture.service.check_in_ticket(&fixture.caller, CheckInTicket::new(code)).expect("inside");
    fixture.service.cancel_order(&fixture.caller, placed.order.id).expect("cancelled");
    let rows = rows(&fixture);
    assert_eq!(rows.len(), 3 + 1 + 1);
    for row in &rows {
        for secret in ["Grace", "navy", code] {
            assert!(!row.body.contains(secret), "{}", row.body);
        }
        // What is sent reads back as what the crate calls a notification.
        let read: Notification = serde_json::from_str(&row.body).expect("a notification");
        assert_eq!((read.id, read.created_at), (row.event_id, row.created_at));
    }
}
