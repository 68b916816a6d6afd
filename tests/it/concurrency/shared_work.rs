//! Work that two services on one database share: notifications, removals, deletions, and what has expired. Each part of
//! it is done once, whichever service does it, and neither service fails because of the other.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ticketing::environment::Clock;
use ticketing::error::Reason;
use ticketing::event::EventStatus;
use ticketing::id::NotificationId;
use ticketing::maintenance::MaintenanceReport;
use ticketing::organization::CreateApiKey;
use ticketing::ticket::IssueTickets;
use ticketing::webhook::{CreateWebhook, EventType};
use ticketing::{Builder, Error, TicketingService};

use crate::common::database::params;
use crate::common::threads::{run_at_once, run_both};
use crate::common::webhooks::wait_until;
use crate::common::*;

/// Runs the maintenance of both services at once, until neither of them finds anything to do.
fn run_maintenance(services: &[TicketingService; 2]) -> [MaintenanceReport; 2] {
    let run = |service: &TicketingService| service.run_maintenance().expect("a run");
    let (first, second) = run_both(|| run(&services[0]), || run(&services[1]));
    [first, second]
}

#[test]
fn two_services_call_a_handler_once_with_each_notification() {
    let calls: Arc<Mutex<BTreeMap<NotificationId, u32>>> = Arc::default();
    let with_handler = |builder: Builder| {
        let calls = Arc::clone(&calls);
        builder.on_notification("test", move |_, notification| {
            *calls.lock().unwrap().entry(notification.id).or_default() += 1;
            Ok(())
        })
    };
    let fixture = Fixture::with(with_handler);
    let second = fixture.second_service_with(with_handler);
    let ticket_type = fixture.new_ticket_type(0, 1000);
    for _ in 0..40 {
        fixture.issue(&ticket_type, 5);
    }
    wait_until("an empty queue", || fixture.stored("SELECT COUNT(*) FROM work WHERE kind LIKE 'call %'") == 0);
    drop(second);
    let calls = calls.lock().unwrap();
    assert_eq!(calls.len(), 200);
    assert!(calls.values().all(|number| *number == 1), "{calls:?}");
}

#[test]
fn two_services_remove_every_notification_of_a_deleted_endpoint() {
    const ROWS: i64 = 5500;
    let fixture = Fixture::new();
    let services = [fixture.service.clone(), fixture.second_service()];
    let endpoint = fixture.webhook([EventType::TicketIssued]).endpoint.id;
    fixture.issue(&fixture.new_ticket_type(0, 10), 1);
    fixture.expand();
    let copy = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1 - 1)
        INSERT INTO webhook_outbox (id, endpoint_id, event_id, type, state, due_at, created_at)
        SELECT o.id + n.i, endpoint_id, event_id, type, state, due_at, created_at
        FROM n, webhook_outbox o";
    fixture.database().execute(copy, params![ROWS]);
    outbox::store_notifications(&fixture.database(), "");
    assert_eq!(fixture.outbox_count("WAITING"), ROWS);
    fixture.service.delete_webhook(&fixture.caller, endpoint).unwrap();
    run_maintenance(&services);
    assert_eq!(fixture.outbox_count("WAITING"), 0);
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM work WHERE kind = 'remove notifications'"), 0);
}

#[test]
fn no_notification_waits_for_an_endpoint_that_was_unsubscribed_at_the_same_moment() {
    let fixture = Fixture::new();
    let ticket_type = fixture.new_ticket_type(0, 10_000);
    let endpoint = fixture.webhook([EventType::TicketIssued]).endpoint.id;
    let second = fixture.second_service();
    for _ in 0..30 {
        let issue = || {
            for _ in 0..5 {
                let request = IssueTickets::new(ticket_type.id, new_customer(), 1);
                second.issue_tickets(&fixture.caller, request).expect("a ticket");
            }
        };
        let unsubscribe = || fixture.set_webhook_events(endpoint, &[EventType::OrderCompleted]);
        run_both(issue, unsubscribe);
        assert_eq!(fixture.outbox_count("WAITING"), 0);
        fixture.set_webhook_events(endpoint, &[EventType::TicketIssued]);
    }
}

#[test]
fn one_key_on_two_services_issues_the_last_ticket_once() {
    for round in 0..20 {
        let fixture = Fixture::new();
        let ticket_type = fixture.new_ticket_type(0, 1);
        let services = [fixture.service.clone(), fixture.second_service()];
        let issued = run_at_once(8, |number| {
            let request = IssueTickets::new(ticket_type.id, new_customer(), 1);
            let issued = services[number % 2].issue_tickets(&fixture.caller_with_key("key"), request);
            issued.map(|response| response.value.issued_tickets.iter().map(|ticket| ticket.id).collect::<Vec<_>>())
        });
        let first = issued.iter().find_map(|issued| issued.as_ref().ok()).expect("a ticket");
        for issued in &issued {
            assert!(
                matches!(issued, Err(Error::IdempotencyInProgress { .. })) || *issued == Ok(first.clone()),
                "{round}: {issued:?}"
            );
        }
    }
}

#[test]
fn control_with_a_key_for_each_request_the_last_ticket_is_refused_to_the_others() {
    let fixture = Fixture::new();
    let ticket_type = fixture.new_ticket_type(0, 1);
    let services = [fixture.service.clone(), fixture.second_service()];
    let issued = run_at_once(8, |number| {
        let request = IssueTickets::new(ticket_type.id, new_customer(), 1);
        services[number % 2].issue_tickets(&fixture.caller_with_key(&format!("key-{number}")), request).map(drop)
    });
    let refused = issued.iter().filter_map(|issued| issued.as_ref().err());
    assert_eq!(refused.map(Error::reason).collect::<Vec<_>>(), [Some(Reason::SoldOut); 7]);
}

#[test]
fn two_services_expire_what_is_over_and_delete_what_is_old_once() {
    const EVENTS: usize = 60;
    let fixture = Fixture::new();
    let services = [fixture.service.clone(), fixture.second_service()];
    let types: Vec<_> = (0..EVENTS)
        .map(|_| {
            let event = fixture.event();
            fixture.ticket_type(&event, 500, 10)
        })
        .collect();
    for ticket_type in &types {
        fixture.order(ticket_type, 1);
        let request = IssueTickets::new(ticket_type.id, new_customer(), 1);
        fixture.service.issue_tickets(&fixture.caller_with_key(&ticket_type.id.to_string()), request).unwrap();
    }
    fixture.clock.advance(Duration::from_hours(24 * 365));
    let mut total = MaintenanceReport::default();
    // A service leaves to the next run what the other one is at.
    for _ in 0..3 {
        for report in run_maintenance(&services) {
            total.expired_orders += report.expired_orders;
            total.expired_events += report.expired_events;
            total.forgotten_keys += report.forgotten_keys;
            assert_eq!(report.skipped_rows, 0);
        }
    }
    assert_eq!((total.expired_orders, total.expired_events, total.forgotten_keys), (EVENTS, EVENTS, EVENTS));
    assert_eq!(fixture.event_status(types[0].event_id), EventStatus::Expired);
}

#[test]
fn two_services_store_the_uses_of_the_same_keys() {
    let fixture = Fixture::new();
    let services = [fixture.service.clone(), fixture.second_service()];
    let organization = fixture.caller.organization();
    let keys: Vec<String> = (0..90)
        .map(|number| {
            let new = CreateApiKey::new(format!("Key {number}"));
            fixture.service.create_api_key(organization, new).expect("a key").key.expose().to_owned()
        })
        .collect();
    for _ in 0..10 {
        fixture.clock.advance(Duration::from_mins(1));
        for service in &services {
            for key in &keys {
                service.authenticate(key).expect("valid");
            }
        }
        run_maintenance(&services);
    }
    let last = fixture.stored("SELECT MIN(last_used_at) FROM api_keys WHERE last_used_at IS NOT NULL");
    let used = fixture.stored("SELECT COUNT(*) FROM api_keys WHERE last_used_at IS NOT NULL");
    assert_eq!(used, 90);
    assert_eq!(last, fixture.clock.now().millis() / 60_000 * 60_000);
}

#[test]
fn endpoints_are_deleted_while_two_services_queue_and_send_notifications_for_them() {
    let transport = crate::common::transport::FakeTransport::succeeding();
    let fixture = Fixture::with_transport(&transport);
    let second = fixture.second_service_with(|builder| builder.webhook_transport(transport.clone()));
    let senders = [&fixture.service, &second].map(|service| service.start_webhook_sender(Default::default()).unwrap());
    let ticket_type = fixture.new_ticket_type(0, 10_000);
    for round in 0..20 {
        let endpoints: Vec<_> = (0..12)
            .map(|number| {
                let new =
                    CreateWebhook::new(format!("https://example.com/{round}/{number}"), [EventType::TicketIssued]);
                fixture.service.create_webhook(&fixture.caller, new).expect("an endpoint").endpoint.id
            })
            .collect();
        let issue = || {
            for _ in 0..5 {
                let request = IssueTickets::new(ticket_type.id, new_customer(), 3);
                second.issue_tickets(&fixture.caller, request).expect("tickets");
            }
        };
        let delete = || {
            for endpoint in endpoints {
                fixture.service.delete_webhook(&fixture.caller, endpoint).expect("deleted");
            }
        };
        run_both(issue, delete);
    }
    wait_until("all are expanded", || fixture.stored_notifications() == 0);
    fixture.service.run_maintenance().unwrap();
    drop(senders);
    assert_eq!(fixture.outbox_count("WAITING"), 0);
}

#[test]
fn two_transactions_remove_the_last_rows_of_the_same_notifications() {
    let fixture = Fixture::new();
    let second = fixture.second_service();
    let ticket_type = fixture.new_ticket_type(0, 10_000);
    for _ in 0..3 {
        let queue = |notifications: i64| {
            (0..notifications / 10).for_each(|_| drop(fixture.issue(&ticket_type, 10)));
            fixture.expand();
        };
        let first_endpoint = fixture.webhook([EventType::TicketIssued]).endpoint.id;
        queue(1000);
        let second_endpoint = fixture.webhook([EventType::TicketIssued]).endpoint.id;
        queue(200);
        // A deletion removes a thousand rows at once. The maintenance removes the others: those that both have.
        fixture.service.delete_webhook(&fixture.caller, first_endpoint).expect("deleted");
        assert_eq!(fixture.outbox_count("WAITING"), 400);
        let (run, deleted) = run_both(
            || fixture.service.run_maintenance().expect("a run"),
            || second.delete_webhook(&fixture.caller, second_endpoint),
        );
        assert_eq!((run.skipped_rows, deleted), (0, Ok(())));
        assert_eq!(fixture.stored("SELECT COUNT(*) FROM webhook_notifications"), 0);
    }
}
