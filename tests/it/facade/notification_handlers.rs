//! `Builder::on_notification`: functions of the program that are called with every change.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::processes::{
    ChildProcess, child_process, child_role, child_variable, send_to_parent, wait_for_parent,
};
use crate::common::webhooks::{TIMEOUT, wait_until};
use crate::common::*;
use ticketing::environment::{Clock, ManualClock};
use ticketing::notification::{Notification, NotificationDetails, NotificationTopic};
use ticketing::organization::ListOrganizations;
use ticketing::payment::ManualMethod;
use ticketing::payment::{CheckoutState, DisputeStatus, GatewayDispute, GatewayEvent, GatewayPayment, GatewayRefund};
use ticketing::webhook::{EventType, ListWebhooks};
use ticketing::{Builder, TicketingService, Timestamp};

const CHILD: &str = concat!(module_path!(), "::a_child_process_plays_its_role");

/// What a handler received.
type Calls = Receiver<Notification>;

/// Adds a handler that passes on what it receives, after `answer` has decided how the call ends.
fn with_handler(
    builder: Builder,
    name: &str,
    topics: &[NotificationTopic],
    answer: impl Fn(&Notification) -> Result<(), String> + Send + Sync + 'static,
) -> (Builder, Calls) {
    let (calls, received): (Sender<Notification>, _) = channel();
    let calls = Mutex::new(calls);
    let builder = builder.on_topics(name, topics.to_vec(), move |_, notification| {
        // The test has ended if nobody receives.
        let _ = calls.lock().unwrap().send(notification.clone());
        Ok(answer(notification)?)
    });
    (builder, received)
}

/// A fixture with a handler of these topics that always succeeds.
fn fixture_with_handler(topics: &[NotificationTopic]) -> (Fixture, Calls) {
    let mut calls = None;
    let fixture = Fixture::with_gateway(|builder| {
        let (builder, received) = with_handler(builder, "test", topics, |_| Ok(()));
        calls = Some(received);
        builder
    });
    (fixture, calls.unwrap())
}

#[track_caller]
fn next(calls: &Calls) -> Notification {
    calls.recv_timeout(TIMEOUT).expect("a call of the handler")
}

fn queued(fixture: &Fixture) -> i64 {
    fixture.stored("SELECT COUNT(*) FROM work WHERE kind LIKE 'call %'")
}

#[track_caller]
fn wait_for_queue(fixture: &Fixture, length: i64) {
    wait_until("the queue is processed", || queued(fixture) == length);
}

#[test]
fn every_topic_is_reported_with_its_organization_and_its_subject() {
    let (fixture, calls) = fixture_with_handler(NotificationTopic::ALL);
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    let organization = fixture.caller.organization();
    let mut seen = Vec::new();
    let mut expect = |number: usize| {
        let mut received: Vec<Notification> = (0..number).map(|_| next(&calls)).collect();
        received.sort_by_key(|notification| notification.id);
        for notification in &received {
            assert_eq!((notification.organization_id, notification.attempt), (organization, 1));
            assert_eq!(notification.created_at, fixture.clock.now());
            seen.push(notification.details.topic());
        }
        received.into_iter().map(|notification| notification.details).collect::<Vec<_>>()
    };

    let order = fixture.order(&ticket_type, 1);
    let [NotificationDetails::OrderCreated(created)] = &expect(1)[..] else { panic!("not created") };
    assert_eq!((created.order_id, created.total, created.currency.as_str()), (order.id, eur(1250), "EUR"));

    fixture.service.payment_completed(&fixture.caller, order.id).unwrap();
    let ticket = fixture.read_order(order.id).items[0].issued_tickets[0].clone();
    let [NotificationDetails::OrderCompleted(completed), NotificationDetails::TicketIssued(issued)] = &expect(2)[..]
    else {
        panic!("not completed")
    };
    assert_eq!((completed.order_id, completed.total), (order.id, eur(1250)));
    assert_eq!((issued.issued_ticket_id, issued.order_id), (ticket.id, Some(order.id)));

    let check_in = ticketing::ticket::CheckInTicket::new(&ticket.code);
    fixture.service.check_in_ticket(&fixture.caller, check_in).unwrap();
    let [NotificationDetails::TicketCheckedIn(checked_in)] = &expect(1)[..] else { panic!("not checked in") };
    assert_eq!(checked_in.issued_ticket_id, ticket.id);

    fixture.gateway.on_refund(GatewayBehavior::Refuse);
    fixture.service.cancel_order(&fixture.caller, order.id).unwrap();
    let mut details = expect(5);
    details.sort_by_key(|details| details.topic().as_str());
    let [
        NotificationDetails::OrderCancelled(cancelled),
        NotificationDetails::RefundDue(due),
        NotificationDetails::RefundFailed(failed),
        NotificationDetails::RefundRefused(refused),
        NotificationDetails::TicketCancelled(cancelled_ticket),
    ] = &details[..]
    else {
        panic!("{details:?}")
    };
    assert_eq!(cancelled.order_id, order.id);
    assert_eq!((due.order_id, due.amount, due.currency.as_str()), (order.id, eur(1250), "EUR"));
    assert_eq!(refused, due);
    assert_eq!((Some(failed.refund_id), failed.requires_manual_refund), (due.refund_id, true));
    assert_eq!((cancelled_ticket.issued_ticket_id, cancelled_ticket.order_id), (ticket.id, Some(order.id)));

    fixture.gateway.on_refund(GatewayBehavior::Succeed);
    let paid_twice = fixture.order(&ticket_type, 1);
    let dispute = GatewayDispute::new("dp_1", eur(1250), "EUR");
    for notice in [
        Notice::paid(&paid_twice, eur(1250), "pi_1"),
        Notice::paid(&paid_twice, eur(1250), "pi_2"),
        Notice::about(&paid_twice, GatewayEvent::Dispute(dispute.clone())),
        Notice::about(&paid_twice, GatewayEvent::Dispute(dispute.status(DisputeStatus::Lost))),
    ] {
        fixture.gateway.know(&notice);
        notice.send(&fixture.service).unwrap();
    }
    fixture.service.run_maintenance().unwrap();
    let topics = expect(8).iter().map(NotificationDetails::topic).collect::<BTreeSet<_>>();
    use NotificationTopic::{
        DisputeClosed, DisputeOpened, OrderCompleted, OrderCreated, PaymentReturned, RefundDue, RefundSucceeded,
        TicketIssued,
    };
    let expected = [OrderCreated, OrderCompleted, TicketIssued, PaymentReturned, RefundDue, RefundSucceeded];
    assert_eq!(topics, expected.into_iter().chain([DisputeOpened, DisputeClosed]).collect());

    let expiring = fixture.order(&ticket_type, 1);
    fixture.expire_holds();
    fixture.service.run_maintenance().unwrap();
    let details: Vec<_> = [next(&calls), next(&calls)].map(|notification| notification.details).into();
    seen.extend(details.iter().map(NotificationDetails::topic));
    let Some(NotificationDetails::OrderExpired(expired)) = details.last() else { panic!("{details:?}") };
    assert_eq!(expired.order_id, expiring.id);

    for topic in NotificationTopic::ALL {
        assert!(seen.contains(topic), "{topic}");
    }
    wait_for_queue(&fixture, 0);
}

#[test]
fn a_ticket_that_is_cancelled_by_itself_is_reported() {
    let (fixture, calls) = fixture_with_handler(&[NotificationTopic::TicketCancelled]);
    let ticket = fixture.issue(fixture.default_ticket_type(), 1)[0].id;
    fixture.service.cancel_ticket(&fixture.caller, ticket).unwrap();
    let NotificationDetails::TicketCancelled(cancelled) = next(&calls).details else { panic!("another topic") };
    assert_eq!((cancelled.issued_ticket_id, cancelled.order_id), (ticket, None));
}

#[test]
fn only_the_topics_of_a_handler_are_queued_for_it() {
    let (fixture, calls) = fixture_with_handler(&[NotificationTopic::OrderCompleted]);
    fixture.paid_order(fixture.default_ticket_type(), 2);
    assert_eq!(next(&calls).details.topic(), NotificationTopic::OrderCompleted);
    wait_for_queue(&fixture, 0);
    assert!(calls.try_recv().is_err());
}

#[test]
fn a_change_that_is_undone_is_not_reported() {
    let (fixture, calls) = fixture_with_handler(NotificationTopic::ALL);
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 1);
    fixture.try_order(&ticket_type, 2).unwrap_err();
    assert_eq!(queued(&fixture), 0);
    fixture.order(&ticket_type, 1);
    assert_eq!(next(&calls).details.topic(), NotificationTopic::OrderCreated);
    wait_for_queue(&fixture, 0);
    assert!(calls.try_recv().is_err());
}

#[test]
fn a_failed_or_panicking_call_is_repeated_on_the_schedule_of_webhooks_eight_times() {
    let mut calls = None;
    let fixture = Fixture::with(|builder| {
        let (builder, received) = with_handler(builder, "test", &[NotificationTopic::TicketIssued], |notification| {
            assert!(notification.attempt % 2 == 0, "the test makes every other call panic");
            Err("the mail server is down".to_owned())
        });
        calls = Some(received);
        builder
    });
    let calls = calls.unwrap();
    fixture.issue(fixture.default_ticket_type(), 1);
    let first = next(&calls);
    for (number, minutes) in (2..).zip([1, 2, 5, 10, 20, 40, 80]) {
        wait_until("the failure is recorded", || {
            fixture.stored("SELECT COUNT(claim) FROM work WHERE kind LIKE 'call %'") == 0
        });
        let due = fixture.stored("SELECT due_at FROM work WHERE kind LIKE 'call %'");
        assert_eq!(due - fixture.clock.now().millis(), minutes * 60_000);
        fixture.clock.set(Timestamp::from_millis(due).unwrap());
        let again = next(&calls);
        assert_eq!((again.id, again.attempt, &again.details), (first.id, number, &first.details));
    }
    wait_for_queue(&fixture, 0);
    fixture.clock.advance(Duration::from_hours(24));
    fixture.issue(fixture.default_ticket_type(), 1);
    assert_ne!(next(&calls).id, first.id, "the first notification was given up");
}

#[test]
fn a_handler_that_hangs_or_fails_delays_neither_another_handler_nor_a_sale() {
    let (release, released) = channel::<()>();
    let released = Mutex::new(released);
    let topics = [NotificationTopic::TicketIssued];
    let mut calls = None;
    let fixture = Fixture::with(|builder| {
        let (builder, _) = with_handler(builder, "hangs", &topics, move |_| {
            let _ = released.lock().unwrap().recv();
            Ok(())
        });
        let (builder, _) = with_handler(builder, "panics", &topics, |_| panic!("the test panics"));
        let (builder, received) = with_handler(builder, "works", &topics, |_| Ok(()));
        calls = Some(received);
        builder
    });
    let calls = calls.unwrap();
    for _ in 0..5 {
        fixture.issue(fixture.default_ticket_type(), 1);
        next(&calls);
    }
    wait_until("the good handler is done", || {
        fixture.stored("SELECT COUNT(*) FROM work WHERE kind = 'call works'") == 0
    });
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM work WHERE kind = 'call hangs'"), 5);
    drop(release);
}

#[test]
fn a_handler_calls_operations_that_write_and_cause_notifications() {
    let changed = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&changed);
    let fixture = Fixture::with(|builder| {
        let topics = [NotificationTopic::OrderCreated, NotificationTopic::OrderCompleted];
        builder.on_topics("pays", topics, move |service, notification| {
            let caller = service.act_for(notification.organization_id)?;
            match &notification.details {
                NotificationDetails::OrderCreated(created) => {
                    service.mark_order_paid(&caller, created.order_id, ManualMethod::Cash)?;
                }
                NotificationDetails::OrderCompleted(completed) => {
                    service.cancel_order(&caller, completed.order_id)?;
                    counter.fetch_add(1, Ordering::SeqCst);
                }
                other => return Err(format!("unexpected: {other:?}").into()),
            }
            Ok(())
        })
    });
    let order = fixture.order(fixture.default_ticket_type(), 1);
    wait_until("the handler has cancelled the order", || changed.load(Ordering::SeqCst) == 1);
    assert_eq!(fixture.order_status(order.id), ticketing::order::OrderStatus::Cancelled);
}

#[test]
fn tenants_do_not_see_handlers() {
    let (fixture, calls) = fixture_with_handler(&[NotificationTopic::TicketIssued]);
    let webhook = fixture.webhook([EventType::TicketIssued]).endpoint;
    fixture.issue(fixture.default_ticket_type(), 1);
    next(&calls);
    let listed = fixture.service.list_webhooks(&fixture.caller, ListWebhooks::default()).unwrap().data;
    assert_eq!(listed.iter().map(|webhook| webhook.id).collect::<Vec<_>>(), [webhook.id]);
    assert_eq!(fixture.service.backlog().unwrap().webhooks_waiting, 1);
}

#[test]
fn changes_of_every_organization_are_reported() {
    let (fixture, calls) = fixture_with_handler(&[NotificationTopic::OrderCreated]);
    let other = fixture.other_organization();
    let event = fixture.service.create_event(&other, new_event(|_| {})).unwrap();
    let ticket_type = ticketing::ticket_type::CreateTicketType::new("General admission", eur(0), 10);
    let ticket_type = fixture.service.create_ticket_type(&other, event.id, ticket_type).unwrap();
    fixture.service.create_order(&other, new_order(event.id, ticket_type.id, 1)).unwrap();
    assert_eq!(next(&calls).organization_id, other.organization());
}

#[test]
fn notifications_wait_for_a_program_with_their_handler_and_are_deleted_after_the_retention() {
    let (fixture, calls) = fixture_with_handler(&[NotificationTopic::TicketIssued]);
    fixture.default_ticket_type();
    let (folder, path) = fixture.into_file();
    drop(calls);
    let clock = ManualClock::new(at(NOW));
    let open = |configure: &dyn Fn(Builder) -> Builder| {
        configure(database::builder(&path).clock(clock.clone())).open().unwrap()
    };
    let database = Database::open(&path);
    let waiting = || database.value::<i64>("SELECT COUNT(*) FROM work WHERE kind LIKE 'call %'");

    // A program without the handler.
    let service = open(&|builder| builder);
    let caller = service.act_for(service.list_organizations(ListOrganizations::default()).unwrap().data[0].id).unwrap();
    let event = service.list_events(&caller, ticketing::event::ListEvents::default()).unwrap().data.remove(0);
    let ticket_types = ticketing::ticket_type::ListTicketTypes::default();
    let ticket_type = service.list_ticket_types(&caller, event.id, ticket_types).unwrap().data.remove(0);
    let issue = || {
        let request = ticketing::ticket::IssueTickets::new(ticket_type.id, new_customer(), 1);
        service.issue_tickets(&caller, request).unwrap();
    };
    issue();
    assert_eq!(waiting(), 1);

    // A program with the handler again.
    let (calls, received) = channel();
    let calls = Mutex::new(calls);
    let with_handler = database::builder(&path).clock(clock.clone());
    let with_handler = with_handler.on_topics("test", [NotificationTopic::TicketIssued], move |_, notification| {
        Ok(calls.lock().unwrap().send(notification.clone())?)
    });
    let with_handler = with_handler.open().unwrap();
    next(&received);
    wait_until("the notification is processed", || waiting() == 0);
    drop(with_handler);

    // A program that has only another handler.
    let other = open(&|builder| builder.on_topics("new", [NotificationTopic::OrderCreated], |_, _| Ok(())));
    issue();
    clock.advance(Duration::from_hours(30 * 24) - Duration::from_millis(1));
    assert_eq!((other.run_maintenance().unwrap().forgotten_notifications, waiting()), (0, 1));
    clock.advance(Duration::from_millis(1));
    assert_eq!((other.run_maintenance().unwrap().forgotten_notifications, waiting()), (1, 0));
    assert_eq!(database.column::<String>("SELECT name FROM notification_handlers"), ["new"]);
    issue();
    assert_eq!(waiting(), 0, "nothing is queued for a handler that no program has");
    drop(folder);
}

#[test]
fn invalid_handlers_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let topics = [NotificationTopic::OrderCreated];
    let error = TicketingService::builder(folder.path().join("ticketing.db"))
        .on_topics("", topics, |_, _| Ok(()))
        .on_topics("a".repeat(101), topics, |_, _| Ok(()))
        .on_topics("mail", [], |_, _| Ok(()))
        .on_notification("mail", |_, _| Ok(()))
        .open()
        .unwrap_err();
    let paths: Vec<&str> = error.fields().iter().map(|field| field.path.as_str()).collect();
    let expected = ["on_notification[0].name", "on_notification[1].name", "on_notification[2].topics"];
    assert_eq!(paths, [&expected[..], &["on_notification[3].name"]].concat());
}

#[test]
fn a_service_with_handlers_closes_and_stops_calling_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ticketing.db");
    let service =
        database::builder(&path).on_topics("test", [NotificationTopic::OrderCreated], |_, _| Ok(())).open().unwrap();
    service.close(Duration::ZERO).expect("a handler is no handle");
    Database::assert_closed(&path);
}

#[test]
#[ignore = "other tests start it"]
fn a_child_process_plays_its_role() {
    match child_role().as_str() {
        "crash in the handler" => run_handler(|| std::process::abort()),
        "handle" => run_handler(|| {}),
        other => panic!("{other}"),
    }
}

/// Runs a handler that reports each call to the parent, until this process ends.
fn run_handler(after_call: impl Fn() + Send + Sync + 'static) {
    let now = Timestamp::from_millis(child_variable("TICKETING_TEST_NOW").parse().unwrap()).unwrap();
    let reports = Arc::new(Mutex::new(()));
    let of_handler = Arc::clone(&reports);
    // The parent wants to know first that the service is open.
    let opening = reports.lock().unwrap();
    let _service = database::builder(child_variable("TICKETING_TEST_FILE"))
        .clock(ManualClock::new(now))
        .on_topics("test", [NotificationTopic::TicketIssued], move |_, notification| {
            let _open = of_handler.lock().unwrap();
            send_to_parent(format!("{} {}", notification.id, notification.attempt));
            after_call();
            Ok(())
        })
        .open()
        .unwrap();
    send_to_parent("ready");
    drop(opening);
    wait_for_parent();
}

fn start(fixture: &Fixture, role: &str) -> ChildProcess {
    let mut command = child_process(CHILD, role);
    command.env("TICKETING_TEST_FILE", fixture.path());
    command.env("TICKETING_TEST_NOW", fixture.clock.now().millis().to_string());
    let mut child = ChildProcess::start(command);
    assert_eq!(child.next_message().as_deref(), Some("ready"));
    child
}

#[test]
fn after_a_crash_in_the_handler_another_process_calls_it_again_a_minute_later() {
    let fixture = Fixture::without_gateway();
    fixture.default_ticket_type();
    let mut crashing = start(&fixture, "crash in the handler");
    fixture.issue(fixture.default_ticket_type(), 1);
    let first = crashing.next_message().expect("a call");
    let (id, attempt) = first.split_once(' ').unwrap();
    assert_eq!(attempt, "1");
    // The process ends without another message.
    assert_eq!(crashing.next_message(), None);
    assert!(!crashing.finish().status.success(), "it crashed");
    let due = fixture.stored("SELECT due_at FROM work WHERE kind LIKE 'call %'");
    assert_eq!(due - fixture.clock.now().millis(), 60_000);
    fixture.clock.advance(Duration::from_mins(1));
    let mut next_process = start(&fixture, "handle");
    assert_eq!(next_process.next_message(), Some(format!("{id} 2")));
    wait_for_queue(&fixture, 0);
    assert_eq!(next_process.finish().messages, [""; 0]);
}

#[test]
fn of_two_processes_with_a_handler_one_is_called_with_each_notification() {
    let fixture = Fixture::without_gateway();
    fixture.default_ticket_type();
    let children = [start(&fixture, "handle"), start(&fixture, "handle")];
    for _ in 0..20 {
        fixture.issue(fixture.default_ticket_type(), 5);
    }
    wait_for_queue(&fixture, 0);
    let mut calls: Vec<String> = children.into_iter().flat_map(|child| child.finish().messages).collect();
    calls.sort();
    assert_eq!(calls.len(), 100);
    calls.dedup();
    assert_eq!(calls.len(), 100, "no notification twice");
    assert!(calls.iter().all(|call| call.ends_with(" 1")));
}

#[test]
fn a_refund_that_is_due_is_told_once_however_often_its_payment_changes() {
    let (fixture, calls) = fixture_with_handler(&[NotificationTopic::RefundDue]);
    let order = fixture.order(&fixture.ticket_type(&fixture.event(), 1250, 10), 2);
    let report = |event: GatewayEvent| {
        let notice = Notice::about(&order, event);
        fixture.gateway.know(&notice);
        notice.send(&fixture.service).expect("received");
    };
    report(GatewayEvent::Checkout(CheckoutState::Paid(GatewayPayment::new("pi_1", eur(2500), "EUR"))));
    fixture.gateway.on_refund(GatewayBehavior::Unavailable);
    fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled");
    assert_eq!(next(&calls).details.topic(), NotificationTopic::RefundDue);
    // A part goes back elsewhere: the rest is still due.
    report(GatewayEvent::Refund(GatewayRefund::new("re_out", eur(1000), "EUR")));
    wait_for_queue(&fixture, 0);
    assert!(calls.try_recv().is_err());
}
