//! Notifications for many endpoints: the transaction of the change stores them once, and the sender inserts their rows.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::common::outbox::{OutboxRow, SALE_NOTIFICATIONS, insert_webhook};
use crate::common::transport::{FakeTransport, header, respond};
use crate::common::*;
use ticketing::environment::Clock;
use ticketing::error::Error;
use ticketing::event::EventStatus;
use ticketing::id::WebhookId;
use ticketing::maintenance::MaintenanceReport;
use ticketing::order::{CreateOrder, NewOrderItem};
use ticketing::organization::CreateApiKey;
use ticketing::payment::ManualMethod;
use ticketing::ticket::{CheckInTicket, IssueTickets};
use ticketing::ticket_type::{CreateTicketType, TicketType};
use ticketing::webhook::{CreateWebhook, EVENT_ID_HEADER, EventType};
use ticketing::{Amount, Caller, Change};

fn free_type(fixture: &Fixture) -> TicketType {
    fixture.ticket_type_with(fixture.default_event(), |new| {
        new.price = eur(0);
        new.quantity = 10_000;
        new.max_per_order = Some(100);
    })
}

/// Creates an endpoint for issued tickets at `https://example.com/NAME/`.
fn endpoint(fixture: &Fixture, caller: &Caller, name: &str) -> WebhookId {
    let new = CreateWebhook::new(format!("https://example.com/{name}/"), [EventType::TicketIssued]);
    fixture.service.create_webhook(caller, new).expect("an endpoint").endpoint.id
}

/// Creates endpoints for issued tickets with these names.
fn endpoints(fixture: &Fixture, names: std::ops::Range<usize>) -> Vec<WebhookId> {
    names.map(|name| endpoint(fixture, &fixture.caller, &name.to_string())).collect()
}

fn outbox_rows(fixture: &Fixture) -> i64 {
    fixture.stored("SELECT COUNT(*) FROM webhook_outbox")
}

fn deliver(fixture: &Fixture) -> usize {
    fixture.service.deliver_due_webhooks().expect("delivered")
}

/// Lets the sender insert rows, and make no attempt.
fn expand(fixture: &Fixture) {
    let is_claim = "new.claim IS NOT NULL";
    fixture.database().refuse("no_attempt", "BEFORE UPDATE ON webhook_outbox", is_claim);
    fixture.service.deliver_due_webhooks().expect_err("no attempt");
    fixture.database().end_trigger("no_attempt");
}

/// The ids of the notifications in the order in which they were sent to this endpoint.
fn sent_to(transport: &FakeTransport, name: &str) -> Vec<String> {
    let url = format!("https://example.com/{name}/");
    let sent = transport.sent();
    let to_it = sent.iter().filter(|request| request.url == url);
    to_it.map(|request| header(request, EVENT_ID_HEADER).to_owned()).collect()
}

#[test]
fn the_largest_order_inserts_no_more_rows_for_a_hundred_endpoints_than_for_one() {
    let transport = FakeTransport::succeeding();
    let fixture = Fixture::with_transport(&transport);
    let types = [(); 5].map(|()| free_type(&fixture));
    let add = || insert_webhook(&fixture.database(), fixture.caller.organization(), &SALE_NOTIFICATIONS);
    let mut endpoints = vec![add()];
    let added_by_order = || {
        let before = fixture.all_rows().len();
        let mut request = CreateOrder::new(types[0].event_id, new_customer(), types[0].id, 100);
        request.items.extend(types[1..].iter().map(|ticket_type| NewOrderItem::new(ticket_type.id, 100)));
        fixture.service.create_order(&fixture.caller, request).expect("an order");
        fixture.all_rows().len() - before
    };
    let for_one = added_by_order();
    assert_eq!((outbox_rows(&fixture), fixture.stored_notifications()), (0, 501));
    endpoints.extend((1..100).map(|_| add()));
    // The customer exists since the first order.
    assert_eq!(added_by_order(), for_one - 1);
    assert_eq!((outbox_rows(&fixture), fixture.stored_notifications()), (0, 2 * 501));
    // Both orders are for the endpoints of now.
    let waiting = || fixture.service.backlog().expect("a backlog").webhooks_waiting;
    assert_eq!((fixture.service.statistics().webhooks.queued, waiting()), (0, 2 * 100 * 501));

    expand(&fixture);
    assert_eq!((outbox_rows(&fixture), fixture.stored_notifications()), (2 * 100 * 501, 0));
    assert_eq!((fixture.service.statistics().webhooks.queued, waiting()), (2 * 100 * 501, 2 * 100 * 501));
    let per_endpoint = "SELECT COUNT(*) FROM (SELECT endpoint_id FROM webhook_outbox GROUP BY endpoint_id
        HAVING COUNT(*) = 1002 AND COUNT(DISTINCT event_id) = 1002) AS complete";
    assert_eq!(fixture.stored(per_endpoint), 100);
}

#[test]
fn every_endpoint_gets_the_same_notifications_in_the_same_order_as_of_the_time_of_the_sale() {
    let transport = FakeTransport::succeeding();
    let fixture = Fixture::with_transport(&transport);
    let endpoints = endpoints(&fixture, 0..30);
    let sold_at = fixture.clock.now();
    fixture.order(&free_type(&fixture), 10);
    fixture.clock.advance(Duration::from_secs(90));
    let backlog = fixture.service.backlog().expect("a backlog");
    assert_eq!((backlog.webhooks_waiting, backlog.webhooks_due), (300, 300));
    assert_eq!(backlog.webhook_oldest_due, Some(Duration::from_secs(90)));
    assert_eq!(deliver(&fixture), 300);
    let rows = fixture.outbox();
    let of = |endpoint: WebhookId| -> Vec<&OutboxRow> { rows.iter().filter(|row| row.webhook == endpoint).collect() };
    let first = of(endpoints[0]);
    assert_eq!(first.len(), 10);
    for (number, endpoint) in endpoints.iter().enumerate() {
        let same = |row: &&OutboxRow| (row.event_id, row.body.clone(), row.created_at);
        assert_eq!(of(*endpoint).iter().map(same).collect::<Vec<_>>(), first.iter().map(same).collect::<Vec<_>>());
        let ids: Vec<_> = first.iter().map(|row| row.event_id.to_string()).collect();
        assert_eq!(sent_to(&transport, &number.to_string()), ids);
    }
    assert!(rows.iter().all(|row| row.created_at == sold_at));
    let backlog = fixture.service.backlog().expect("a backlog");
    assert_eq!((backlog.webhooks_waiting, backlog.webhooks_due, backlog.webhook_oldest_due), (0, 0, None));
}

#[test]
fn notifications_are_for_the_endpoints_that_are_enabled_and_subscribed_when_their_rows_are_inserted() {
    let transport = FakeTransport::succeeding();
    let fixture = Fixture::with_transport(&transport);
    let service = &fixture.service;
    let ids = endpoints(&fixture, 0..10);
    fixture.set_webhook_enabled(ids[9], false);
    let free = free_type(&fixture);
    fixture.order(&free, 10);
    let backlog = || fixture.service.backlog().expect("a backlog");
    let (waiting, due) = (|| backlog().webhooks_waiting, || backlog().webhooks_due);
    assert_eq!((waiting(), due()), (90, 90));

    service.delete_webhook(&fixture.caller, ids[0]).expect("deleted");
    fixture.set_webhook_events(ids[1], &[EventType::OrderCompleted]);
    fixture.set_webhook_events(ids[2], &[EventType::OrderCompleted]);
    fixture.set_webhook_events(ids[2], &[EventType::TicketIssued]);
    fixture.set_webhook_enabled(ids[3], false);
    fixture.set_webhook_url(ids[4], "https://example.com/moved/");
    fixture.update_webhook(ids[5], |changes| changes.description = Change::Set(Some("another".to_owned())));
    let both = [EventType::OrderCompleted, EventType::TicketIssued];
    fixture.set_webhook_events(ids[6], &both);
    fixture.set_webhook_enabled(ids[9], true);
    endpoint(&fixture, &fixture.caller, "new");
    assert_eq!((waiting(), due()), (80, 80));
    assert_eq!(deliver(&fixture), 80);
    let counts: Vec<_> = (0..10).map(|index| sent_to(&transport, &index.to_string()).len()).collect();
    assert_eq!(counts, [0, 0, 10, 0, 0, 10, 10, 10, 10, 10]);
    assert_eq!((sent_to(&transport, "moved").len(), sent_to(&transport, "new").len()), (10, 10));
    assert_eq!((waiting(), due()), (0, 0));

    // Rows wait for a disabled endpoint, and go with the subscription.
    fixture.issue(&free, 1);
    expand(&fixture);
    for index in [5, 6] {
        fixture.set_webhook_enabled(ids[index], false);
    }
    fixture.set_webhook_events(ids[6], &[EventType::OrderCompleted]);
    fixture.set_webhook_events(ids[6], &both);
    assert_eq!((waiting(), due()), (7, 6));
    assert_eq!(deliver(&fixture), 6);
    for index in [5, 6] {
        fixture.set_webhook_enabled(ids[index], true);
    }
    assert_eq!(deliver(&fixture), 1);
}

#[test]
fn a_notification_that_no_endpoint_wants_any_more_is_deleted() {
    let fixture = Fixture::with_transport(&FakeTransport::succeeding());
    let ids = endpoints(&fixture, 0..2);
    let free = free_type(&fixture);
    fixture.issue(&free, 3);
    fixture.set_webhook_enabled(ids[0], false);
    fixture.set_webhook_events(ids[1], &[EventType::OrderCompleted]);
    assert_eq!((deliver(&fixture), fixture.stored("SELECT COUNT(*) FROM webhook_notifications")), (0, 0));
    // Nor is any stored from now on.
    fixture.issue(&free, 3);
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM webhook_notifications"), 0);
}

#[test]
fn a_notification_for_more_endpoints_than_a_batch_is_queued_for_all_of_them() {
    let transport = FakeTransport::new(|_, _, _| respond(500));
    let fixture = Fixture::with_transport(&transport);
    // Version 0.1 had no limit.
    fixture.insert_ticket_webhooks(600, "https://example.com/");
    fixture.issue(fixture.default_ticket_type(), 2);
    assert_eq!((outbox_rows(&fixture), fixture.stored_notifications()), (0, 2));
    let backlog = || fixture.service.backlog().expect("a backlog").webhooks_waiting;
    assert_eq!(backlog(), 1200);
    assert_eq!(deliver(&fixture), 1200);
    let complete = "SELECT COUNT(*) FROM (SELECT endpoint_id FROM webhook_outbox GROUP BY endpoint_id
        HAVING COUNT(*) = 2 AND COUNT(DISTINCT event_id) = 2) AS complete";
    assert_eq!(fixture.stored(complete), 600);
    assert_eq!(backlog(), 1200, "they failed, and wait");
}

#[test]
fn a_batch_that_fails_is_inserted_later_as_a_whole() {
    let transport = FakeTransport::succeeding();
    let fixture = Fixture::with_transport(&transport);
    endpoints(&fixture, 0..60);
    fixture.order(&free_type(&fixture), 10);
    let rows = 60 * 10;
    // It fails in its middle.
    let many = "(SELECT COUNT(*) FROM webhook_outbox) >= 400";
    fixture.database().refuse("crash", "BEFORE INSERT ON webhook_outbox", many);
    fixture.service.deliver_due_webhooks().expect_err("the batch fails");
    assert_eq!((outbox_rows(&fixture), fixture.stored_notifications()), (0, 10));
    assert_eq!(fixture.service.backlog().expect("a backlog").webhooks_waiting, 600);
    fixture.database().end_trigger("crash");
    // The next program on the file.
    let service = fixture.second_service_with(|builder| builder.webhook_transport(transport.clone()));
    assert_eq!(service.deliver_due_webhooks().expect("delivered"), rows);
    let sent: BTreeSet<_> =
        transport.sent().iter().map(|sent| (sent.url.clone(), header(sent, EVENT_ID_HEADER).to_owned())).collect();
    assert_eq!((sent.len(), transport.sent().len()), (rows, rows));
}

#[test]
fn notifications_whose_rows_are_not_inserted_yet_are_kept_for_ever() {
    let transport = FakeTransport::succeeding();
    let fixture = Fixture::with_transport(&transport);
    endpoints(&fixture, 0..60);
    fixture.order(&free_type(&fixture), 10);
    fixture.clock.advance(Duration::from_hours(1000 * 24));
    assert_eq!(fixture.service.run_maintenance().expect("a run"), MaintenanceReport::default());
    assert_eq!(deliver(&fixture), 600);
}

#[test]
fn a_backup_has_the_notifications_whose_rows_are_not_inserted_yet() {
    if !database::is_file() {
        return skipped("a PostgreSQL database is copied by its own tools");
    }
    let transport = FakeTransport::succeeding();
    let fixture = Fixture::with_transport(&transport);
    endpoints(&fixture, 0..60);
    fixture.order(&free_type(&fixture), 10);
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("copy.db");
    fixture.service.backup(&copy, |_| std::ops::ControlFlow::Continue(())).expect("a backup");
    let builder = ticketing::TicketingService::builder(&copy).clock(fixture.clock.clone());
    let restored = builder.webhook_transport(transport.clone()).open().expect("the copy");
    assert_eq!(restored.deliver_due_webhooks().expect("delivered"), 600);
}

#[test]
fn cancelling_an_event_with_many_orders_stores_one_notification_for_each() {
    let fixture = Fixture::with_transport(&FakeTransport::succeeding());
    let database = fixture.database();
    for _ in 0..100 {
        insert_webhook(&database, fixture.caller.organization(), &SALE_NOTIFICATIONS);
    }
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 1000);
    for _ in 0..100 {
        fixture.order(&ticket_type, 1);
    }
    assert_eq!(outbox_rows(&fixture), 0);
    fixture.set_event_status(event.id, EventStatus::Cancelled).expect("cancelled");
    assert_eq!((outbox_rows(&fixture), fixture.stored_notifications()), (0, 100));
    assert_eq!(fixture.service.backlog().expect("a backlog").webhooks_waiting, 100 * 100);
}

#[test]
fn a_failed_commit_leaves_no_notification() {
    let fixture = Fixture::with_transport(&FakeTransport::succeeding());
    endpoints(&fixture, 0..60);
    let free = free_type(&fixture);
    // A deferred foreign key, so that the commit itself fails.
    let database = fixture.database();
    database.run("CREATE TABLE broken (id BIGINT REFERENCES organizations (id) DEFERRABLE INITIALLY DEFERRED)");
    database.trigger("break_commit", "AFTER INSERT ON webhook_notifications", "TRUE", "INSERT INTO broken VALUES (0)");
    fixture.try_order(&free, 10).expect_err("the commit fails");
    assert_eq!((outbox_rows(&fixture), fixture.stored_notifications()), (0, 0));
    assert_eq!(fixture.service.backlog().expect("a backlog").webhooks_waiting, 0);
    database.end_trigger("break_commit");
    database.run("DROP TABLE broken");
    fixture.order(&free, 10);
    assert_eq!((outbox_rows(&fixture), fixture.stored_notifications()), (0, 10));
}

/// A caller with an API key.
fn with_key(fixture: &Fixture, caller: &Caller) -> Caller {
    let key = fixture.service.create_api_key(caller.organization(), CreateApiKey::new("Shop")).expect("a key").key;
    fixture.service.authenticate(key.expose()).expect("valid")
}

#[test]
fn rows_that_the_sender_inserts_later_count_for_the_quota_of_the_order() {
    const QUOTA: u64 = 4 * 1024 * 1024;
    let fixture = Fixture::with(|builder| {
        builder.webhook_transport(FakeTransport::succeeding()).write_quota(Some(QUOTA)).max_waiting_notifications(None)
    });
    let free = free_type(&fixture);
    for _ in 0..100 {
        insert_webhook(&fixture.database(), fixture.caller.organization(), &SALE_NOTIFICATIONS);
    }
    let caller = with_key(&fixture, &fixture.caller);
    let order = || fixture.service.create_order(&caller, CreateOrder::new(free.event_id, new_customer(), free.id, 100));
    // Each order is about 10,000 rows of 84 bytes for the endpoints, 100 notifications and 100 tickets.
    let refused = (0..20).find_map(|number| order().err().map(|error| (number, error)));
    let (accepted, error) = refused.expect("the quota refuses an order");
    assert!(matches!(error, Error::WriteQuotaExceeded { .. }), "{error:?}");
    assert!(accepted >= 2, "{accepted}");
    let other = with_key(&fixture, &fixture.other_organization());
    fixture.service.create_event(&other, new_event(|_| {})).expect("another organization is not refused");

    // What the sender inserts without any request is what was counted, and at most one order more.
    expand(&fixture);
    assert_eq!((outbox_rows(&fixture), fixture.stored_notifications()), (100 * 101 * accepted, 0));
    let bytes = fixture.stored("SELECT CAST(SUM(56 + LENGTH(type) + LENGTH(state)) AS BIGINT) FROM webhook_outbox");
    let bytes = u64::try_from(bytes).expect("a size");
    assert!(bytes <= QUOTA + QUOTA / 3, "{bytes}");
    assert!(bytes > QUOTA / 2, "{bytes}");
    // What is sent is stored once for all endpoints.
    let notifications = fixture.stored("SELECT COUNT(*) FROM webhook_notifications WHERE outbox_rows = 100");
    assert_eq!(notifications, 101 * accepted);
}

#[test]
fn with_too_many_waiting_notifications_no_more_are_sold_until_fewer_wait() {
    let transport = FakeTransport::succeeding();
    let fixture = Fixture::with_gateway(|builder| {
        builder.webhook_transport(transport.clone()).write_quota(None).max_waiting_notifications(Some(2000))
    });
    let free = free_type(&fixture);
    let priced = fixture.ticket_type(fixture.default_event(), 1250, 100);
    let unpaid = fixture.order(&priced, 1);
    let tickets = fixture.issue(&priced, 2);
    for _ in 0..10 {
        insert_webhook(&fixture.database(), fixture.caller.organization(), &SALE_NOTIFICATIONS);
    }
    let caller = with_key(&fixture, &fixture.caller);
    let service = &fixture.service;
    let order =
        |caller: &Caller| service.create_order(caller, CreateOrder::new(free.event_id, new_customer(), free.id, 100));
    // 1,010 rows each: the second order is accepted below the limit.
    order(&caller).expect("an order");
    order(&caller).expect("an order");
    let refused = order(&caller).expect_err("too many are waiting");
    assert!(matches!(refused, Error::WebhookBacklogExceeded { most: 2000, .. }), "{refused:?}");
    assert_eq!((refused.code(), refused.is_retryable()), ("rate-limited", true));
    let issue = || service.issue_tickets(&caller, IssueTickets::new(free.id, new_customer(), 1));
    assert!(matches!(issue(), Err(Error::WebhookBacklogExceeded { .. })));

    // What is urgent or ends something is not refused, nor is another organization, nor the program itself.
    service.check_in_ticket(&caller, CheckInTicket::new(&tickets[0].code)).expect("admitted");
    service.cancel_ticket(&caller, tickets[1].id).expect("cancelled");
    service.mark_order_paid(&caller, unpaid.id, ManualMethod::Cash).expect("paid");
    service.create_event(&caller, new_event(|_| {})).expect("an event");
    let other = with_key(&fixture, &fixture.other_organization());
    let event = service.create_event(&other, new_event(|_| {})).expect("an event");
    let seat = CreateTicketType::new("Seat", Amount::cents(0), 10);
    let seat = service.create_ticket_type(&other, event.id, seat).expect("a ticket type");
    service.issue_tickets(&other, IssueTickets::new(seat.id, new_customer(), 1)).expect("another organization");
    order(&fixture.caller).expect("the program");

    // The limit is counted again after a while, and the notifications are still waiting.
    fixture.clock.advance(Duration::from_secs(10));
    assert!(order(&caller).is_err());
    while deliver(&fixture) > 0 {}
    fixture.clock.advance(Duration::from_secs(10));
    order(&caller).expect("they were sent");
}
