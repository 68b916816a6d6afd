//! Endpoints with many queued notifications that are deleted or unsubscribed: they get no more of them at once, and the
//! rows are removed in batches.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::common::database::{params, stored_id};
use crate::common::transport::{FakeTransport, respond};
use crate::common::*;
use ticketing::TicketingService;
use ticketing::id::WebhookId;
use ticketing::maintenance::MaintenanceReport;
use ticketing::webhook::{CreateWebhook, EventType, ListWebhookDeliveries, UpdateWebhook};

use EventType::{OrderCompleted, TicketIssued};

/// The most rows that one transaction removes.
const BATCH: i64 = 1000;

fn endpoint(fixture: &Fixture, name: &str, types: &[EventType]) -> WebhookId {
    let new = CreateWebhook::new(format!("https://example.com/{name}"), types.iter().copied());
    fixture.service.create_webhook(&fixture.caller, new).expect("an endpoint").endpoint.id
}

/// Queues one notification of each type, and copies of them until the endpoint has `number` of each type.
fn queue(fixture: &Fixture, endpoint: WebhookId, number: i64) {
    fixture.order(&fixture.new_ticket_type(0, 10), 1);
    let copy = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2 - 1)
        INSERT INTO webhook_outbox (id, endpoint_id, event_id, type, state, due_at, created_at)
        SELECT (SELECT MAX(id) FROM webhook_outbox) + n.i, endpoint_id, event_id, type, state, due_at, created_at
        FROM n, webhook_outbox o WHERE o.id = ?1";
    let rows = fixture.outbox();
    for row in rows.iter().filter(|row| row.webhook == endpoint) {
        fixture.database().execute(copy, params![row.id, number]);
    }
    outbox::store_notifications(&fixture.database(), "");
}

/// A fixture with an endpoint that has this many queued notifications of each of two types.
fn fixture_with(transport: &FakeTransport, number: i64) -> (Fixture, WebhookId) {
    let fixture = Fixture::with_transport(transport);
    let endpoint = endpoint(&fixture, "hook", &[OrderCompleted, TicketIssued]);
    queue(&fixture, endpoint, number);
    assert_eq!(fixture.outbox_count("WAITING"), 2 * number);
    (fixture, endpoint)
}

/// How many rows of deleted or unsubscribed endpoints are left.
fn unfinished(fixture: &Fixture) -> i64 {
    fixture.stored("SELECT COUNT(*) FROM work WHERE kind = 'remove notifications'")
}

fn waiting(fixture: &Fixture) -> u64 {
    let backlog = fixture.service.backlog().expect("a backlog");
    assert_eq!(backlog.webhooks_due, backlog.webhooks_waiting);
    backlog.webhooks_waiting
}

/// Logs how many rows each run of a statement takes from those that wait.
fn log_removals(fixture: &Fixture) {
    let database = fixture.database();
    database.run("CREATE TABLE removed (at_commit BIGINT)");
    let log = "INSERT INTO removed VALUES (1)";
    database.trigger("log_deleted", "AFTER DELETE ON webhook_outbox", "TRUE", log);
    database.trigger("log_removed", "AFTER UPDATE OF state ON webhook_outbox", "new.state = 'REMOVED'", log);
}

fn removed(fixture: &Fixture) -> i64 {
    fixture.stored("SELECT COUNT(*) FROM removed")
}

#[test]
fn a_deleted_endpoint_with_many_rows_is_gone_at_once_and_its_rows_go_in_batches() {
    let transport = FakeTransport::succeeding();
    let (fixture, id) = fixture_with(&transport, 1250);
    let other = endpoint(&fixture, "other", &[TicketIssued]);
    fixture.issue(fixture.default_ticket_type(), 1);
    fixture.expand();
    log_removals(&fixture);
    fixture.service.delete_webhook(&fixture.caller, id).expect("deleted");
    assert_eq!((removed(&fixture), unfinished(&fixture)), (BATCH, 1));

    assert_not_found(fixture.service.get_webhook(&fixture.caller, id));
    assert_not_found(fixture.service.list_webhook_deliveries(&fixture.caller, id, ListWebhookDeliveries::default()));
    assert_not_found(fixture.service.delete_webhook(&fixture.caller, id));
    assert_eq!(waiting(&fixture), 1, "that of the other endpoint");
    assert!(fixture.service.check().expect("a check").is_clean());
    assert_eq!(fixture.service.deliver_due_webhooks().expect("delivered"), 1);
    assert_eq!((transport.sent_to("hook"), transport.sent_to("other")), (0, 1));

    let commits = || fixture.service.statistics().commits.done;
    fixture.service.run_maintenance().expect("a run");
    let before = commits();
    fixture.service.run_maintenance().expect("a run");
    let idle = commits() - before;
    assert_eq!((removed(&fixture), unfinished(&fixture)), (2501, 0), "with that of the issued ticket");
    assert_eq!(fixture.outbox().iter().map(|row| row.webhook).collect::<Vec<_>>(), [other]);
    assert_eq!(idle, 0);
}

#[test]
fn maintenance_removes_one_batch_in_each_transaction() {
    let (fixture, id) = fixture_with(&FakeTransport::succeeding(), 1750);
    fixture.service.delete_webhook(&fixture.caller, id).expect("deleted");
    let commits = || fixture.service.statistics().commits.done;
    fixture.service.run_maintenance().expect("a run");
    assert_eq!((fixture.outbox().len(), unfinished(&fixture)), (0, 0));
    // The same once more: 1000 rows by the deletion, and then 1000, 1000 and 500, between a claim and its end.
    let id = endpoint(&fixture, "again", &[OrderCompleted, TicketIssued]);
    queue(&fixture, id, 1750);
    fixture.service.delete_webhook(&fixture.caller, id).expect("deleted");
    let before = commits();
    fixture.service.run_maintenance().expect("a run");
    assert_eq!((commits() - before, unfinished(&fixture)), (5, 0));
}

#[test]
fn a_type_with_many_rows_is_gone_at_once_and_its_old_rows_are_removed_before_it_is_added_again() {
    let transport = FakeTransport::succeeding();
    let (fixture, id) = fixture_with(&transport, 2500);
    log_removals(&fixture);
    fixture.set_webhook_events(id, &[OrderCompleted]);
    assert_eq!((removed(&fixture), unfinished(&fixture)), (BATCH, 1));
    assert_eq!(waiting(&fixture), 2500);
    assert!(fixture.service.check().expect("a check").is_clean());

    fixture.set_webhook_events(id, &[OrderCompleted, TicketIssued]);
    assert_eq!((removed(&fixture), waiting(&fixture), unfinished(&fixture)), (2500, 2500, 0));
    fixture.database().run(
        "DELETE FROM webhook_outbox WHERE type = 'order.completed'
        AND id <> (SELECT MIN(id) FROM webhook_outbox WHERE type = 'order.completed')",
    );
    outbox::store_notifications(&fixture.database(), "");
    fixture.issue(fixture.default_ticket_type(), 3);
    assert_eq!(waiting(&fixture), 1 + 3);
    assert!(fixture.service.check().expect("a check").is_clean());
    assert_eq!(fixture.service.deliver_due_webhooks().expect("delivered"), 1 + 3);

    // The next program on the file.
    let second = fixture.second_service_with(|builder| builder.webhook_transport(transport.clone()));
    assert_eq!(second.run_maintenance().expect("a run"), MaintenanceReport::default());
    assert_eq!((fixture.outbox_count("REMOVED"), unfinished(&fixture)), (2500, 0));
    assert_eq!((fixture.outbox_count("WAITING"), fixture.outbox_count("DELIVERED")), (0, 4));
    assert_eq!(fixture.service.deliver_due_webhooks().expect("delivered"), 0);
    assert_eq!(transport.sent().len(), 4);
}

#[test]
fn a_type_can_be_removed_again_and_the_endpoint_deleted_while_rows_are_being_removed() {
    let transport = FakeTransport::succeeding();
    let (fixture, id) = fixture_with(&transport, 2500);
    for _ in 0..2 {
        fixture.set_webhook_events(id, &[OrderCompleted]);
        fixture.set_webhook_events(id, &[OrderCompleted, TicketIssued]);
        fixture.issue(fixture.default_ticket_type(), 1);
    }
    // What is not expanded yet is for the subscriptions of later.
    assert_eq!((waiting(&fixture), unfinished(&fixture)), (2500 + 2, 0));
    assert!(fixture.service.check().expect("a check").is_clean());
    fixture.service.delete_webhook(&fixture.caller, id).expect("deleted");
    assert_eq!((waiting(&fixture), unfinished(&fixture)), (0, 1));
    assert!(fixture.service.check().expect("a check").is_clean());
    fixture.service.run_maintenance().expect("a run");
    assert_eq!((fixture.outbox_count("WAITING"), unfinished(&fixture)), (0, 0));
}

#[test]
fn a_removal_that_fails_is_continued_by_the_next_run() {
    let (fixture, id) = fixture_with(&FakeTransport::succeeding(), 2000);
    fixture.service.delete_webhook(&fixture.caller, id).expect("deleted");
    assert_eq!(fixture.outbox_count("WAITING"), 4000 - BATCH);
    // The second batch of the run fails in its middle.
    let few = "(SELECT COUNT(*) FROM webhook_outbox) < 1500";
    fixture.database().refuse("crash", "BEFORE DELETE ON webhook_outbox", few);
    assert_eq!(fixture.service.run_maintenance().expect("a run").skipped_rows, 1);
    assert_eq!((fixture.outbox_count("WAITING"), unfinished(&fixture)), (4000 - 2 * BATCH, 1));
    fixture.database().end_trigger("crash");
    assert!(fixture.service.check().expect("a check").is_clean());
    fixture.clock.advance(Duration::from_mins(1));
    fixture.service.run_maintenance().expect("a run");
    assert_eq!((fixture.outbox().len(), unfinished(&fixture)), (0, 0));
}

/// Makes the first attempt of many, in the middle of which `change` happens.
fn attempt_with_change(change: fn(&TicketingService, &ticketing::Caller, WebhookId)) -> (Fixture, WebhookId) {
    type Target = (TicketingService, ticketing::Caller, WebhookId);
    let target: Arc<OnceLock<Target>> = Arc::default();
    let during = Arc::clone(&target);
    let transport = FakeTransport::new(move |_, _, _| {
        let (service, caller, endpoint) = during.get().expect("set before the first attempt");
        change(service, caller, *endpoint);
        respond(500)
    });
    let fixture = Fixture::with_transport(&transport);
    let id = endpoint(&fixture, "hook", &[TicketIssued]);
    queue(&fixture, id, 1500);
    // It is the last attempt for the first notification.
    let rows = fixture.outbox();
    for _ in 0..7 {
        outbox::record_failure_at(&fixture.database(), rows[0].id, at(NOW));
    }
    let first = "UPDATE webhook_outbox SET due_at = due_at - 1 WHERE id = ?1";
    fixture.database().execute(first, [rows[0].id]);
    target.set((fixture.service.clone(), fixture.caller.clone(), id)).unwrap_or_else(|_| panic!("set once"));
    assert_eq!(fixture.service.deliver_due_webhooks().expect("delivered"), 1);
    assert_eq!(fixture.service.statistics().webhooks.dead, 0);
    (fixture, id)
}

#[test]
fn the_last_attempt_of_a_notification_that_is_being_removed_makes_it_removed_and_not_dead() {
    let (fixture, id) = attempt_with_change(|service, caller, endpoint| {
        let other_type = UpdateWebhook::default().events([OrderCompleted]);
        service.update_webhook(caller, endpoint, other_type).expect("unsubscribed");
    });
    assert_eq!((fixture.outbox_count("REMOVED"), fixture.outbox_count("WAITING")), (BATCH + 1, 1500 - BATCH - 1));
    let history = fixture.delivery_history(id);
    assert_eq!(history.last().map(|last| (last.attempt, last.success)), Some((8, false)));
    fixture.service.run_maintenance().expect("a run");
    assert_eq!(fixture.outbox_count("REMOVED"), 1500);
}

#[test]
fn an_attempt_whose_endpoint_is_deleted_meanwhile_leaves_nothing_to_be_sent() {
    let (fixture, id) = attempt_with_change(|service, caller, endpoint| {
        service.delete_webhook(caller, endpoint).expect("deleted");
    });
    let of_it =
        format!("SELECT COUNT(*) FROM webhook_outbox WHERE state = 'WAITING' AND endpoint_id = {}", stored_id(id));
    assert_eq!(fixture.stored(&of_it), 1500 - BATCH - 1);
    fixture.service.run_maintenance().expect("a run");
    assert_eq!((fixture.stored(&of_it), unfinished(&fixture)), (0, 0));
}
