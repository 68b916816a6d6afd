//! `deliver_due_notifications`: handlers and webhooks without threads.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::transport::{FakeTransport, respond};
use crate::common::*;
use ticketing::Builder;
use ticketing::notification::NotificationTopic;
use ticketing::order::ListOrders;
use ticketing::payment::ManualMethod;
use ticketing::ticket::IssueTickets;
use ticketing::ticket_type::CreateTicketType;
use ticketing::webhook::EventType;

/// The names of the handlers that were called, and the numbers of their calls.
type Calls = Arc<Mutex<Vec<(&'static str, u32)>>>;

/// Adds a handler whose first `failures` calls for each notification fail.
fn with_handler(builder: Builder, calls: &Calls, name: &'static str, failures: u32) -> Builder {
    let calls = Arc::clone(calls);
    let thread = std::thread::current().id();
    builder.on_topics(name, [NotificationTopic::TicketIssued], move |_, notification| {
        assert_eq!(std::thread::current().id(), thread, "no other thread calls handlers");
        calls.lock().unwrap().push((name, notification.attempt));
        if notification.attempt <= failures { Err("the test lets the call fail".into()) } else { Ok(()) }
    })
}

#[test]
fn due_handlers_and_webhooks_are_called_on_the_calling_thread_and_at_no_other_time() {
    let calls = Calls::default();
    let transport = FakeTransport::new(|_, _, _| respond(204));
    let fixture = Fixture::with(|builder| {
        let builder = builder.handler_threads(false).webhook_transport(transport.clone());
        with_handler(with_handler(builder, &calls, "works", 0), &calls, "fails", 1)
    });
    fixture.webhook([EventType::TicketIssued]);
    assert_eq!(fixture.service.deliver_due_notifications().unwrap(), 0);
    fixture.issue(fixture.default_ticket_type(), 2);
    assert!(calls.lock().unwrap().is_empty());
    assert_eq!(fixture.service.deliver_due_notifications().unwrap(), 2 + 2 + 2);
    assert_eq!(*calls.lock().unwrap(), [("works", 1), ("works", 1), ("fails", 1), ("fails", 1)]);
    assert_eq!(transport.sent().len(), 2);

    fixture.clock.advance(Duration::from_mins(1) - Duration::from_millis(1));
    assert_eq!(fixture.service.deliver_due_notifications().unwrap(), 0);
    fixture.clock.advance(Duration::from_millis(1));
    assert_eq!(fixture.service.deliver_due_notifications().unwrap(), 2);
    assert_eq!(calls.lock().unwrap()[4..], [("fails", 2), ("fails", 2)]);
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM work WHERE kind LIKE 'call %'"), 0);
}

#[test]
fn notifications_of_changes_that_a_handler_makes_are_delivered_in_the_same_call() {
    let fixture = Fixture::with(|builder| {
        builder
            .handler_threads(false)
            .on_topics("second", [NotificationTopic::OrderCompleted], |_, _| Ok(()))
            .on_topics("first", [NotificationTopic::OrderCreated], |service, notification| {
                let caller = service.act_for(notification.organization_id)?;
                let order = service.list_orders(&caller, ListOrders::default())?.data.remove(0);
                service.mark_order_paid(&caller, order.id, ManualMethod::Cash)?;
                Ok(())
            })
    });
    fixture.order(fixture.default_ticket_type(), 1);
    assert_eq!(fixture.service.deliver_due_notifications().unwrap(), 2);
}

#[test]
fn a_closed_service_delivers_nothing() {
    let calls = Calls::default();
    let fixture = Fixture::with(|builder| with_handler(builder.handler_threads(false), &calls, "works", 0));
    fixture.issue(fixture.default_ticket_type(), 1);
    fixture.skip_final_check();
    fixture.service.clone().close(Duration::ZERO).unwrap_err();
    fixture.service.deliver_due_notifications().unwrap_err();
    assert!(calls.lock().unwrap().is_empty());
}

#[test]
fn organizations_take_turns_however_many_notifications_one_of_them_has() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let fixture = Fixture::with(|builder| {
        let seen = Arc::clone(&seen);
        builder.handler_threads(false).on_topics("mail", [NotificationTopic::TicketIssued], move |_, notification| {
            seen.lock().unwrap().push(notification.organization_id);
            Ok(())
        })
    });
    let callers = [fixture.caller.clone(), fixture.other_organization(), fixture.other_organization()];
    for (caller, number) in callers.iter().zip([6, 2, 1]) {
        let event = fixture.service.create_event(caller, new_event(|_| {})).unwrap();
        let ticket_type = CreateTicketType::new("General admission", eur(0), 10);
        let ticket_type = fixture.service.create_ticket_type(caller, event.id, ticket_type).unwrap();
        let tickets = IssueTickets::new(ticket_type.id, new_customer(), number);
        fixture.service.issue_tickets(caller, tickets).unwrap();
    }
    assert_eq!(fixture.service.deliver_due_notifications().unwrap(), 9);
    let [many, two, one] = callers.map(|caller| caller.organization());
    assert_eq!(*seen.lock().unwrap(), [many, two, one, many, two, many, many, many, many]);
}

#[test]
fn an_organization_behind_many_that_wait_for_a_later_time_gets_its_turn() {
    let calls = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&calls);
    let fixture = Fixture::with(|builder| {
        builder.handler_threads(false).on_topics("mail", [NotificationTopic::TicketIssued], move |_, notification| {
            log.lock().unwrap().push(notification.organization_id);
            Ok(())
        })
    });
    fixture.issue(fixture.default_ticket_type(), 10);
    fixture.issue(fixture.default_ticket_type(), 10);
    // The next 200 organizations have notifications that are due in an hour, and the one after them has one now.
    fixture.database().run(
        "INSERT INTO work (id, kind, organization_id, body, due_at, created_at)
            WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 201)
            SELECT id + n, kind, organization_id + n, body, due_at + (CASE WHEN n < 201 THEN 3600000 ELSE 0 END), created_at
            FROM number, (SELECT * FROM work ORDER BY id DESC LIMIT 1) AS queued",
    );
    assert_eq!(fixture.service.deliver_due_notifications().unwrap(), 21);
    let position = calls.lock().unwrap().iter().position(|organization| *organization != fixture.caller.organization());
    assert!(position.is_some_and(|position| position < 6), "{position:?}");
}

#[test]
fn an_organization_is_served_although_many_others_wait_for_a_later_time() {
    let calls = Calls::default();
    let fixture = Fixture::with(|builder| with_handler(builder.handler_threads(false), &calls, "works", 0));
    fixture.issue(fixture.default_ticket_type(), 1);
    // Notifications of 200 organizations with lower ids that are due in an hour.
    fixture.database().run(
        "INSERT INTO work (id, kind, organization_id, body, due_at, created_at)
            WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 200)
            SELECT n, kind, n, body, due_at + 3600000, created_at FROM number, (SELECT * FROM work) AS queued",
    );
    assert_eq!(fixture.service.deliver_due_notifications().unwrap(), 1);
    assert_eq!(fixture.service.deliver_due_notifications().unwrap(), 0);
    fixture.clock.advance(Duration::from_hours(1));
    assert_eq!(fixture.service.deliver_due_notifications().unwrap(), 200);
}
