//! What webhooks are to report: each change is queued in its own transaction, once for each endpoint that wants it, and
//! nothing else is.

mod common;
#[path = "common/outbox.rs"]
mod outbox;

use common::*;
use outbox::{ALL, Queued, listen, queued};
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
fn heard(shop: Shop) -> Shop {
    listen(&shop.file(), shop.caller.organization(), &ALL, true);
    shop
}

fn rows(shop: &Shop) -> Vec<Queued> {
    queued(&rusqlite::Connection::open(shop.file()).expect("the file"))
}

/// What `work` gives, and what is queued by it.
fn queued_by<T>(shop: &Shop, work: impl FnOnce() -> T) -> (T, Vec<Queued>) {
    let before = rows(shop).len();
    let done = work();
    (done, rows(shop).split_off(before))
}

/// The bodies without their ids, which are those of the rows.
fn told(rows: &[Queued]) -> Vec<Value> {
    let tell = |row: &Queued| {
        let mut body: Value = serde_json::from_str(&row.body).expect("JSON");
        assert_eq!(body["id"], row.event_id.to_string());
        assert_eq!(body["type"], row.of);
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

fn seat(shop: &Shop) -> TicketType {
    shop.ticket_type(&shop.event(), 1250, 10)
}

/// An order whose hold has run out; where `written` is true, that was written down.
fn expired(shop: &Shop, of: &TicketType, quantity: i64, written: bool) -> Order {
    let order = shop.order(of, quantity);
    shop.let_holds_lapse();
    if written {
        shop.service.run_maintenance().expect("a run");
    }
    order
}

#[test]
fn a_free_order_reports_its_completion_and_each_of_its_tickets() {
    let shop = heard(Shop::new());
    let event = shop.event();
    let (one, other) = (shop.ticket_type(&event, 0, 10), shop.ticket_type(&event, 0, 10));
    let mut request = CreateOrder::new(event.id, ada(), one.id, 2);
    request.items.push(NewOrderItem { ticket_type_id: other.id, quantity: 1 });
    let (order, rows) = queued_by(&shop, || shop.service.create_order(&shop.caller, request).expect("an order").order);
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
    type Pay = fn(&Shop, OrderId) -> ticketing::Result<Order>;
    let by_gateway: Pay = |shop, id| shop.service.payment_completed(&shop.caller, id);
    let by_hand: Pay = |shop, id| shop.service.mark_order_paid(&shop.caller, id);
    for pay in [by_gateway, by_hand] {
        let shop = heard(Shop::new());
        let (order, rows) = queued_by(&shop, || shop.order(&seat(&shop), 3));
        assert_eq!(rows, []);
        let (paid, rows) = queued_by(&shop, || pay(&shop, order.id).expect("paid"));
        assert_eq!(paid.items[0].issued_tickets.len(), 3);
        assert_eq!(told(&rows), completion(&paid, AT_FIRST, &json!(37.5)));

        // One that expired is revived, whether or not somebody wrote its end down.
        for written in [true, false] {
            let shop = heard(Shop::new());
            let (order, rows) = queued_by(&shop, || expired(&shop, &seat(&shop), 1, written));
            assert_eq!(rows, []);
            let (paid, rows) = queued_by(&shop, || pay(&shop, order.id).expect("revived"));
            assert_eq!(told(&rows), completion(&paid, AFTER_THE_HOLD, &json!(12.5)));
        }
    }
}

#[test]
fn the_sandbox_checkout_reports_what_its_buttons_do() {
    let shop = heard(Shop::with(&FakeGateway::new(), ticketing::Builder::sandbox_gateway));
    let seat = seat(&shop);
    let click = |order: &Order, outcome| {
        let link = order.payment_gateway.clone().expect("a payment").link;
        let (_, token) = link.rsplit_once('/').expect("a token");
        shop.service.finish_hosted_checkout(token, outcome).expect("done");
    };
    let (paid, given_up) = (shop.order(&seat, 1), shop.order(&seat, 2));
    let (_, rows) = queued_by(&shop, || click(&paid, CheckoutOutcome::Failure));
    assert_eq!(rows, []);
    let (_, rows) = queued_by(&shop, || click(&paid, CheckoutOutcome::Success));
    assert_eq!(told(&rows), completion(&shop.get(paid.id), AT_FIRST, &json!(12.5)));
    let (_, rows) = queued_by(&shop, || click(&given_up, CheckoutOutcome::Cancel));
    assert_eq!(told(&rows), cancellation(&given_up, AT_FIRST, false));
    // Neither is pending any more.
    let again = || [&paid, &given_up].map(|order| click(order, CheckoutOutcome::Cancel));
    assert_eq!(queued_by(&shop, again).1, []);
}

#[test]
fn a_cancelled_order_reports_whether_somebody_has_to_give_money_back() {
    let shop = heard(Shop::new());
    let event = shop.event();
    let (seat, free) = (shop.ticket_type(&event, 1250, 10), shop.ticket_type(&event, 0, 10));
    let pending = shop.order(&seat, 1);
    let paid = shop.paid_order(&seat, 2);
    let marked = shop.service.mark_order_paid(&shop.caller, shop.order(&seat, 2).id).expect("paid");
    let given = shop.order(&free, 2);
    for (order, requires_manual_refund) in [(&pending, false), (&paid, false), (&marked, true), (&given, false)] {
        let cancel = || shop.service.cancel_order(&shop.caller, order.id).expect("cancelled");
        let (answer, rows) = queued_by(&shop, cancel);
        assert_eq!(answer.requires_manual_refund, requires_manual_refund);
        assert_eq!(told(&rows), cancellation(order, AT_FIRST, requires_manual_refund));
    }
    for written in [true, false] {
        let shop = heard(Shop::new());
        let order = expired(&shop, &self::seat(&shop), 1, written);
        let (_, rows) = queued_by(&shop, || shop.service.cancel_order(&shop.caller, order.id).expect("cancelled"));
        assert_eq!(told(&rows), cancellation(&order, AFTER_THE_HOLD, false));
    }
}

#[test]
fn an_order_for_which_the_gateway_gives_no_link_reports_that_it_was_cancelled() {
    let shop = heard(Shop::new());
    let seat = seat(&shop);
    for mood in [Mood::Refusing, Mood::Unavailable, Mood::Panicking] {
        shop.gateway.on_checkout(mood);
        let (refused, rows) = queued_by(&shop, || shop.try_order(&seat, 2));
        assert!(matches!(refused, Err(Error::PaymentGatewayFailed(_))), "{refused:?}");
        let order = shop.get(shop.gateway.checkouts().last().expect("it was asked").order_id);
        assert_eq!(order.status, OrderStatus::Cancelled);
        assert_eq!(told(&rows), cancellation(&order, AT_FIRST, false));
    }
}

#[test]
fn a_cancelled_event_reports_its_pending_orders_and_no_others() {
    let shop = heard(Shop::new());
    let event = shop.event();
    let seat = shop.ticket_type(&event, 1250, 100);
    shop.paid_order(&seat, 1);
    shop.order(&seat, 1); // its hold runs out
    shop.let_holds_lapse();
    let cancelled = shop.order(&seat, 1);
    shop.service.cancel_order(&shop.caller, cancelled.id).expect("cancelled");
    shop.order(&self::seat(&shop), 1); // of another event
    let mut pending = [shop.order(&seat, 2), shop.order(&seat, 3)];
    let (_, rows) = queued_by(&shop, || shop.move_event(event.id, EventStatus::Cancelled).expect("cancelled"));
    let mut told = told(&rows);
    told.sort_by_key(|body| body["data"]["orderId"].to_string());
    pending.sort_by_key(|order| order.id.to_string());
    let expected: Vec<_> = pending.iter().flat_map(|order| cancellation(order, AFTER_THE_HOLD, false)).collect();
    assert_eq!(told, expected);
    let (_, rows) = queued_by(&shop, || shop.move_event(event.id, EventStatus::Cancelled).expect("it is already"));
    assert_eq!(rows, []);
}

#[test]
fn tickets_that_are_issued_without_an_order_are_reported_without_one() {
    let shop = heard(Shop::new());
    let seat = seat(&shop);
    let (issued, rows) = queued_by(&shop, || shop.issue(&seat, 3));
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
    let shop = heard(Shop::new());
    let event = shop.event();
    let days = shop.ticket_type_with(&event, |new| (new.price, new.validity_days) = (eur(0), Some(2)));
    let order = shop.order(&days, 1);
    let bought = order.items[0].issued_tickets[0].clone();
    let given = shop.issue(&days, 1).remove(0);
    let scan = |code: &str| shop.service.check_in_ticket(&shop.caller, CheckInTicket::new(code));
    let entry = |ticket: ticketing::TicketId, order: Value, at: &str| {
        vec![json!({"type": "ticket.checked_in", "createdAt": at, "data": {"issuedTicketId": ticket.to_string(),
            "ticketId": days.id.to_string(), "eventId": event.id.to_string(), "orderId": order, "checkInDate": at}})]
    };
    let of_order = json!(order.id.to_string());
    let (_, rows) = queued_by(&shop, || scan(&bought.code).expect("inside"));
    assert_eq!(told(&rows), entry(bought.id, of_order.clone(), AT_FIRST));
    let (_, rows) = queued_by(&shop, || scan(&given.code).expect("inside"));
    assert_eq!(told(&rows), entry(given.id, Value::Null, AT_FIRST));

    let (refused, rows) = queued_by(&shop, || scan(&bought.code));
    assert_eq!((reason(refused), rows), (Reason::AlreadyCheckedIn, Vec::new()));
    // Out and in again on the same day, and in once more on the next.
    let leave = || shop.service.check_out_ticket(&shop.caller, CheckInTicket::new(&bought.code)).expect("outside");
    assert_eq!(queued_by(&shop, leave).1, []);
    let (_, rows) = queued_by(&shop, || scan(&bought.code).expect("inside"));
    assert_eq!(told(&rows), entry(bought.id, of_order.clone(), AT_FIRST));
    shop.turn("2026-06-02T09:30:00Z");
    let (_, rows) = queued_by(&shop, || scan(&bought.code).expect("inside"));
    assert_eq!(told(&rows), entry(bought.id, of_order, "2026-06-02T09:30:00.000Z"));
}

#[test]
fn what_is_refused_and_what_no_type_is_for_reports_nothing() {
    let shop = heard(Shop::new());
    let (service, caller) = (&shop.service, &shop.caller);
    let event = shop.event();
    let seat = shop.ticket_type(&event, 1250, 10);
    let ticket = shop.issue(&seat, 1).remove(0);
    let full = shop.ticket_type(&event, 0, 1);
    let taken = shop.order(&full, 1);
    let pending = shop.order(&seat, 2);
    let paid = shop.paid_order(&seat, 1);
    let cancelled = shop.order(&seat, 1);
    service.cancel_order(caller, cancelled.id).expect("cancelled");
    let ((), rows) = queued_by(&shop, || {
        assert_eq!(reason(shop.try_order(&full, 1)), Reason::SoldOut);
        assert_eq!(reason(shop.try_issue(full.id, 1)), Reason::SoldOut);
        paths(shop.try_order(&seat, 0));
        service.payment_failed(caller, pending.id).expect("noted");
        service.mark_checkout_reminder_sent(caller, pending.id).expect("noted");
        service.payment_completed(caller, paid.id).expect("the same notice again");
        assert_eq!(reason(service.mark_order_paid(caller, paid.id)), Reason::OrderNotPending);
        assert_eq!(reason(service.cancel_order(caller, cancelled.id)), Reason::OrderNotCancellable);
        // A payment that comes too late is refunded.
        service.payment_completed(caller, cancelled.id).expect("noted");
        // Scans that let nobody in, and one of which the ticket is void.
        let early = UpdateTicketType { valid_from: Change::Set(Some(at(START))), ..Default::default() };
        service.update_ticket_type(caller, seat.id, early).expect("changed");
        let scan = || service.check_in_ticket(caller, CheckInTicket::new(&ticket.code));
        assert_eq!(reason(scan()), Reason::NotYetValid);
        service.cancel_ticket(caller, ticket.id).expect("cancelled");
        assert_eq!(reason(scan()), Reason::TicketCancelled);
        is_not_found(service.check_in_ticket(caller, CheckInTicket::new("00000000000000000000")));
        // A hold that runs out.
        shop.let_holds_lapse();
        assert_eq!(service.run_maintenance().expect("a run").expired_orders, 1);
        shop.move_event(event.id, EventStatus::Cancelled).expect("nothing is pending");
        let entered = &taken.items[0].issued_tickets[0].code;
        assert_eq!(reason(service.check_in_ticket(caller, CheckInTicket::new(entered))), Reason::EventCancelled);
    });
    assert_eq!(rows, []);
}

#[test]
fn a_late_payment_that_finds_no_place_reports_nothing_of_what_was_undone() {
    let shop = heard(Shop::new());
    let event = shop.event();
    let (seat, chair) = (shop.ticket_type(&event, 1250, 1), shop.ticket_type(&event, 1250, 1));
    let mut both = CreateOrder::new(event.id, ada(), seat.id, 1);
    both.items.push(NewOrderItem { ticket_type_id: chair.id, quantity: 1 });
    let both = shop.service.create_order(&shop.caller, both).expect("an order").order;
    shop.let_holds_lapse();
    shop.paid_order(&chair, 1);
    // The seat is free, and then the chair is not.
    let pay = || shop.service.payment_completed(&shop.caller, both.id).expect("noted");
    let (late, rows) = queued_by(&shop, pay);
    assert_eq!((late.status, rows), (OrderStatus::Expired, Vec::new()));
}

#[test]
fn each_enabled_endpoint_of_the_organization_that_wants_the_type_gets_one_and_the_same_notification() {
    let shop = Shop::new();
    let stranger = shop.stranger();
    let mine = |events: &[NotificationType], enabled| listen(&shop.file(), shop.caller.organization(), events, enabled);
    let everything = mine(&ALL, true);
    let tickets = mine(&[TicketIssued, TicketCheckedIn], true);
    mine(&ALL, false);
    let orders = mine(&[OrderCancelled, OrderCompleted], true);
    let theirs = listen(&shop.file(), stranger.organization(), &ALL, true);

    let free = shop.ticket_type(&shop.event(), 0, 10);
    let (order, rows) = queued_by(&shop, || shop.order(&free, 1));
    let ticket = order.items[0].issued_tickets[0].clone();
    let who = |rows: &[Queued]| -> Vec<_> { rows.iter().map(|row| (row.of.clone(), row.endpoint)).collect() };
    let [completed, issued] = ["order.completed", "ticket.issued"].map(str::to_owned);
    let expected =
        [(completed.clone(), everything), (completed, orders), (issued.clone(), everything), (issued, tickets)];
    assert_eq!(who(&rows), expected);
    // One id and one body for all of them, another for another notification.
    assert_eq!((rows[0].event_id, &rows[0].body), (rows[1].event_id, &rows[1].body));
    assert_eq!((rows[2].event_id, &rows[2].body), (rows[3].event_id, &rows[3].body));
    assert_ne!(rows[0].event_id, rows[2].event_id);

    let scan = || shop.service.check_in_ticket(&shop.caller, CheckInTicket::new(&ticket.code)).expect("inside");
    let (_, rows) = queued_by(&shop, scan);
    let entered = "ticket.checked_in".to_owned();
    assert_eq!(who(&rows), [(entered.clone(), everything), (entered, tickets)]);
    let (_, rows) = queued_by(&shop, || shop.service.cancel_order(&shop.caller, order.id).expect("cancelled"));
    let cancelled = "order.cancelled".to_owned();
    assert_eq!(who(&rows), [(cancelled.clone(), everything), (cancelled, orders)]);

    let (_, rows) = queued_by(&shop, || order_of(&shop, &stranger));
    assert!(!rows.is_empty() && rows.iter().all(|row| row.endpoint == theirs), "{rows:?}");
}

/// A free order in another organization.
fn order_of(shop: &Shop, caller: &Caller) -> Order {
    let event = shop.service.create_event(caller, new_event(|_| {})).expect("an event");
    let free = CreateTicketType::new("Free", eur(0), 10);
    let free = shop.service.create_ticket_type(caller, event.id, free).expect("a type");
    shop.service.create_order(caller, CreateOrder::new(event.id, ada(), free.id, 1)).expect("an order").order
}

#[test]
fn however_many_endpoints_there_are_each_gets_the_same_notifications_in_the_same_order() {
    let shop = Shop::new();
    let mut endpoints: Vec<_> = (0..75).map(|_| listen(&shop.file(), shop.caller.organization(), &ALL, true)).collect();
    let free = shop.ticket_type(&shop.event(), 0, 10);
    let (order, rows) = queued_by(&shop, || shop.order(&free, 2));
    let expected = completion(&order, AT_FIRST, &json!(0));
    for endpoint in &endpoints {
        let mine: Vec<_> = rows.iter().filter(|row| row.endpoint == *endpoint).cloned().collect();
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
    let shop = Shop::new();
    listen(&shop.file(), shop.caller.organization(), &ALL, false);
    listen(&shop.file(), shop.stranger().organization(), &ALL, true);
    let seat = seat(&shop);
    let order = shop.paid_order(&seat, 1);
    shop.service.cancel_order(&shop.caller, order.id).expect("cancelled");
    shop.issue(&seat, 1);
    assert_eq!(rows(&shop), []);
}

/// Ids without randomness, so that two services with one clock draw the same; the codes of their tickets differ.
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
fn two_processes_that_draw_the_same_ids_give_no_notification_the_id_of_another() {
    let shop = heard(Shop::new());
    let open = |seed| {
        let builder = ticketing::TicketingService::builder(shop.file()).clock(shop.clock.clone());
        builder.entropy(Alike(ticketing::SeededEntropy::new(seed))).open().expect("the file")
    };
    let twins = [open(1), open(2)];
    let free = shop.ticket_type(&shop.event(), 0, 1000);
    for _ in 0..20 {
        for service in &twins {
            let request = CreateOrder::new(free.event_id, ada(), free.id, 2);
            service.create_order(&shop.caller, request).expect("an order");
        }
    }
    let rows = rows(&shop);
    assert_eq!(rows.len(), 40 * 3);
    told(&rows);
    let ids: std::collections::BTreeSet<_> = rows.iter().map(|row| row.event_id).collect();
    assert_eq!(ids.len(), rows.len());
}

#[test]
fn a_request_that_is_answered_from_its_idempotency_key_reports_nothing_again() {
    let shop = heard(Shop::new());
    let event = shop.event();
    let (seat, free) = (shop.ticket_type(&event, 1250, 10), shop.ticket_type(&event, 0, 10));
    let pending = shop.order(&seat, 1);
    let paid = shop.order(&seat, 1);
    let ticket = shop.issue(&free, 1).remove(0);
    let all = || {
        let request = CreateOrder::new(event.id, ada(), free.id, 2);
        shop.service.create_order(&shop.once("order"), request).expect("an order");
        shop.service.mark_order_paid(&shop.once("paid"), paid.id).expect("paid");
        shop.service.cancel_order(&shop.once("cancel"), pending.id).expect("cancelled");
        let request = ticketing::IssueTickets { ticket_type_id: free.id, customer: ada(), quantity: 2 };
        shop.service.issue_tickets(&shop.once("issue"), request).expect("tickets");
        shop.service.check_in_ticket(&shop.once("scan"), CheckInTicket::new(&ticket.code)).expect("inside");
    };
    // Three of the free order, two of the paid one, a cancellation, two tickets, and a scan.
    assert_eq!(queued_by(&shop, all).1.len(), 3 + 2 + 1 + 2 + 1);
    assert_eq!(queued_by(&shop, all).1, []);
}

#[test]
fn a_commit_that_fails_leaves_neither_the_change_nor_its_notification() {
    let shop = heard(Shop::new());
    let event = shop.event();
    let (seat, free) = (shop.ticket_type(&event, 1250, 10), shop.ticket_type(&event, 0, 10));
    let order = shop.order(&seat, 1);
    let ticket = shop.issue(&free, 1).remove(0);
    let run_sql =
        |sql: &str| rusqlite::Connection::open(shop.file()).and_then(|file| file.execute_batch(sql)).expect(sql);
    // A debt that is noticed when the transaction is to be committed.
    run_sql(
        "CREATE TABLE debts (id INTEGER REFERENCES organizations (id) DEFERRABLE INITIALLY DEFERRED);
        CREATE TRIGGER debt AFTER INSERT ON webhook_outbox BEGIN INSERT INTO debts VALUES (0); END",
    );
    let before = shop.contents();
    let fails = |result: ticketing::Result<()>| assert!(matches!(result, Err(Error::Store(_))), "{result:?}");
    fails(shop.try_order(&free, 1).map(drop));
    fails(shop.service.payment_completed(&shop.caller, order.id).map(drop));
    fails(shop.service.cancel_order(&shop.caller, order.id).map(drop));
    fails(shop.try_issue(free.id, 1).map(drop));
    fails(shop.service.check_in_ticket(&shop.caller, CheckInTicket::new(&ticket.code)).map(drop));
    assert_eq!(shop.contents(), before);
    run_sql("DROP TRIGGER debt; DROP TABLE debts");
    assert_eq!(queued_by(&shop, || shop.order(&free, 1)).1.len(), 2);
}

#[test]
fn no_code_name_or_address_is_in_a_notification() {
    let shop = heard(Shop::new());
    let free = shop.ticket_type(&shop.event(), 0, 10);
    let customer = NewCustomer::new("Grace Hopper", "grace@navy.example");
    let request = CreateOrder::new(free.event_id, customer, free.id, 2);
    let placed = shop.service.create_order(&shop.caller, request).expect("an order");
    let code = &placed.issued_tickets[0].code;
    shop.service.check_in_ticket(&shop.caller, CheckInTicket::new(code)).expect("inside");
    shop.service.cancel_order(&shop.caller, placed.order.id).expect("cancelled");
    let rows = rows(&shop);
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
