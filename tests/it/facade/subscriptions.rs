//! `TicketingService::subscribe`: the changes of this process, best effort.

use std::collections::BTreeSet;
use std::sync::mpsc::{RecvError, RecvTimeoutError, TryRecvError};
use std::time::Duration;

use crate::common::webhooks::TIMEOUT;
use crate::common::*;
use ticketing::environment::Clock;
use ticketing::notification::{Notification, NotificationDetails, NotificationReceiver, NotificationTopic};
use ticketing::ticket::CheckInTicket;
use ticketing::webhook::EventType;

const MANY: usize = 1000;

/// What the receiver has now.
fn received(receiver: &NotificationReceiver) -> Vec<Notification> {
    std::iter::from_fn(|| receiver.try_recv().ok()).collect()
}

/// The topics of what the receiver has now.
fn topics(receiver: &NotificationReceiver) -> Vec<NotificationTopic> {
    received(receiver).iter().map(|notification| notification.details.topic()).collect()
}

#[test]
fn a_change_is_received_when_its_operation_has_returned() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    let receiver = fixture.service.subscribe(MANY);
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));

    let order = fixture.order(&ticket_type, 1);
    let [created] = &received(&receiver)[..] else { panic!("not one notification") };
    assert_eq!(created.organization_id, fixture.caller.organization());
    assert_eq!((created.created_at, created.attempt), (fixture.clock.now(), 1));
    let NotificationDetails::OrderCreated(details) = &created.details else { panic!("{created:?}") };
    assert_eq!((details.order_id, details.total, details.currency.as_str()), (order.id, eur(1250), "EUR"));

    fixture.service.payment_completed(&fixture.caller, order.id).unwrap();
    let ticket = fixture.read_order(order.id).items[0].issued_tickets[0].clone();
    let notifications = received(&receiver);
    let [completed, issued] = &notifications[..] else { panic!("{notifications:?}") };
    let ids = BTreeSet::from([created.id, completed.id, issued.id]);
    assert_eq!(ids.len(), 3, "each has an id of its own");
    assert_eq!(completed.details.topic(), NotificationTopic::OrderCompleted);
    let NotificationDetails::TicketIssued(details) = &issued.details else { panic!("{issued:?}") };
    assert_eq!((details.issued_ticket_id, details.order_id), (ticket.id, Some(order.id)));

    fixture.service.check_in_ticket(&fixture.caller, CheckInTicket::new(&ticket.code)).unwrap();
    assert_eq!(topics(&receiver), [NotificationTopic::TicketCheckedIn]);
    fixture.service.cancel_order(&fixture.caller, order.id).unwrap();
    use NotificationTopic::{OrderCancelled, RefundDue, RefundSucceeded, TicketCancelled};
    let expected = [TicketCancelled, RefundDue, OrderCancelled, RefundSucceeded];
    assert_eq!(topics(&receiver).into_iter().collect::<BTreeSet<_>>(), BTreeSet::from(expected));

    fixture.order(&ticket_type, 1);
    fixture.expire_holds();
    fixture.service.run_maintenance().unwrap();
    assert_eq!(topics(&receiver), [NotificationTopic::OrderCreated, NotificationTopic::OrderExpired]);
    assert_eq!(receiver.missed(), 0);
}

#[test]
fn every_subscriber_receives_the_changes_since_its_subscription_of_all_organizations() {
    let fixture = Fixture::new();
    let ticket_type = fixture.default_ticket_type();
    let first = fixture.service.subscribe(MANY);
    fixture.order(ticket_type, 1);
    let second = fixture.service.clone().subscribe(MANY);
    let other = fixture.other_organization();
    let event = fixture.service.create_event(&other, new_event(|_| {})).unwrap();
    let new = ticketing::ticket_type::CreateTicketType::new("General admission", eur(0), 10);
    let free = fixture.service.create_ticket_type(&other, event.id, new).unwrap();
    fixture.service.create_order(&other, new_order(event.id, free.id, 1)).unwrap();

    let first = received(&first);
    let second = received(&second);
    assert_eq!(first.len(), 4);
    assert_eq!(second, first[1..], "one created before, then created, completed and issued");
    assert_eq!(first[0].organization_id, fixture.caller.organization());
    assert!(second.iter().all(|notification| notification.organization_id == other.organization()));
}

#[test]
fn a_subscriber_receives_the_same_changes_as_a_handler() {
    let (calls, handled) = std::sync::mpsc::channel();
    let calls = std::sync::Mutex::new(calls);
    let fixture = Fixture::with_gateway(|builder| {
        builder.on_notification("test", move |_, notification| {
            Ok(calls.lock().unwrap().send(notification.details.clone())?)
        })
    });
    let receiver = fixture.service.subscribe(MANY);
    let order = fixture.paid_order(fixture.default_ticket_type(), 2);
    fixture.service.cancel_order(&fixture.caller, order.id).unwrap();
    let received: Vec<_> = received(&receiver).into_iter().map(|notification| notification.details).collect();
    // Created, completed, two issued, two cancelled tickets, refund due, cancelled order, refund succeeded.
    assert_eq!(received.len(), 9);
    for details in &received {
        assert_eq!(handled.recv_timeout(TIMEOUT).as_ref(), Ok(details));
    }
}

#[test]
fn a_full_receiver_drops_the_oldest_and_counts_them() {
    let fixture = Fixture::without_gateway();
    let ticket_type = fixture.default_ticket_type();
    let two = fixture.service.subscribe(2);
    let one = fixture.service.subscribe(0);
    let all = fixture.service.subscribe(MANY);
    // Three in one commit, and two in one each.
    fixture.issue(ticket_type, 3);
    fixture.issue(ticket_type, 1);
    fixture.issue(ticket_type, 1);
    assert_eq!((two.missed(), one.missed(), all.missed()), (3, 4, 0));
    let all = received(&all);
    assert_eq!(all.len(), 5);
    assert_eq!(received(&two), all[3..]);
    assert_eq!(received(&one), all[4..]);
    fixture.issue(ticket_type, 1);
    assert_eq!((received(&two).len(), two.missed()), (1, 3), "there was room");
}

#[test]
fn what_is_refused_or_undone_is_not_received() {
    let fixture = Fixture::without_gateway();
    let free = fixture.ticket_type(&fixture.event(), 0, 2);
    fixture.webhook([EventType::TicketIssued]);
    let receiver = fixture.service.subscribe(MANY);
    fixture.try_order(&free, 3).unwrap_err();
    // The last statement of a free order queues its notifications for the webhook. Let it fail, first so that the
    // operation is undone, then so that its transaction is.
    let file = fixture.database();
    file.refuse("fails", "BEFORE INSERT ON webhook_outbox", "TRUE");
    fixture.try_order(&free, 1).unwrap_err();
    file.end_trigger("fails");
    // Only SQLite ends a transaction by itself.
    if file.is_file() {
        file.trigger("fails", "BEFORE INSERT ON webhook_outbox", "TRUE", "SELECT RAISE(ROLLBACK, 'the test')");
        fixture.try_order(&free, 1).unwrap_err();
        file.end_trigger("fails");
    }
    assert_eq!(received(&receiver), []);
    fixture.order(&free, 1);
    use NotificationTopic::{OrderCompleted, OrderCreated, TicketIssued};
    assert_eq!(topics(&receiver), [OrderCreated, OrderCompleted, TicketIssued]);
}

#[test]
fn the_repetition_of_a_request_is_not_received() {
    let fixture = Fixture::without_gateway();
    let ticket_type = fixture.default_ticket_type();
    let receiver = fixture.service.subscribe(MANY);
    let caller = fixture.caller_with_key("once");
    let request = || new_order(ticket_type.event_id, ticket_type.id, 1);
    let first = fixture.service.create_order(&caller, request()).unwrap();
    let second = fixture.service.create_order(&caller, request()).unwrap();
    assert!(!first.replayed && second.replayed);
    assert_eq!(topics(&receiver), [NotificationTopic::OrderCreated]);
}

#[test]
fn changes_through_another_service_on_the_same_file_are_not_received() {
    let fixture = Fixture::new();
    let ticket_type = fixture.default_ticket_type();
    let receiver = fixture.service.subscribe(MANY);
    let other = fixture.second_service();
    other.create_order(&fixture.caller, new_order(ticket_type.event_id, ticket_type.id, 1)).unwrap();
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    fixture.order(ticket_type, 1);
    assert_eq!(topics(&receiver), [NotificationTopic::OrderCreated]);
}

#[test]
fn changes_of_many_threads_are_received_once_each() {
    let fixture = Fixture::new();
    let ticket_type = fixture.default_ticket_type();
    let receiver = fixture.service.subscribe(MANY);
    let ordered: BTreeSet<_> = std::thread::scope(|scope| {
        let sellers: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| (0..20).map(|_| fixture.order(ticket_type, 1).id).collect::<Vec<_>>()))
            .collect();
        sellers.into_iter().flat_map(|seller| seller.join().unwrap()).collect()
    });
    let notifications = received(&receiver);
    let reported: BTreeSet<_> = notifications
        .iter()
        .map(|notification| match &notification.details {
            NotificationDetails::OrderCreated(created) => created.order_id,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!((notifications.len(), reported), (80, ordered));
}

#[test]
fn a_receiver_waits_for_the_next_change() {
    let fixture = Fixture::without_gateway();
    let ticket_type = fixture.default_ticket_type();
    let receiver = fixture.service.subscribe(MANY);
    assert_eq!(receiver.recv_timeout(Duration::from_millis(1)), Err(RecvTimeoutError::Timeout));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let first = receiver.recv().unwrap();
            let second = receiver.recv_timeout(TIMEOUT).unwrap();
            [first.details.topic(), second.details.topic()]
        });
        fixture.issue(ticket_type, 1);
        fixture.order(ticket_type, 1);
        assert_eq!(waiting.join().unwrap(), [NotificationTopic::TicketIssued, NotificationTopic::OrderCreated]);
    });
}

#[test]
fn a_dropped_receiver_does_not_disturb_the_others() {
    let fixture = Fixture::without_gateway();
    let receivers = [1, 2, 3].map(|_| fixture.service.subscribe(MANY));
    let [first, dropped, last] = receivers;
    drop(dropped);
    for _ in 0..2 {
        fixture.issue(fixture.default_ticket_type(), 1);
    }
    drop(first);
    fixture.issue(fixture.default_ticket_type(), 1);
    assert_eq!(received(&last).len(), 3);
}

#[test]
fn closing_ends_a_waiting_subscriber_that_has_a_handle_of_the_service() {
    let service = ticketing::TicketingService::temporary().open().unwrap();
    let receiver = service.subscribe(MANY);
    let handle = service.clone();
    let view = std::thread::spawn(move || {
        let seen = receiver.count();
        drop(handle);
        seen
    });
    service.close(TIMEOUT).expect("the view drops its handle");
    assert_eq!(view.join().unwrap(), 0);
}

#[test]
fn a_closed_service_leaves_what_was_not_received_yet() {
    let fixture = Fixture::without_gateway();
    fixture.default_ticket_type();
    let receiver = fixture.service.subscribe(MANY);
    let other = fixture.service.clone();
    fixture.issue(fixture.default_ticket_type(), 2);
    fixture.service.clone().close(Duration::ZERO).unwrap_err();
    assert_eq!(received(&receiver).len(), 2);
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
    assert_eq!(receiver.recv(), Err(RecvError));
    assert_eq!(receiver.recv_timeout(TIMEOUT), Err(RecvTimeoutError::Disconnected));
    assert_eq!(other.subscribe(MANY).count(), 0, "a subscription to a closed service has ended");
    fixture.skip_final_check();
}

#[test]
fn dropping_the_last_handle_of_a_service_ends_its_subscriptions() {
    let fixture = Fixture::without_gateway();
    fixture.default_ticket_type();
    let receiver = fixture.service.subscribe(MANY);
    fixture.issue(fixture.default_ticket_type(), 1);
    drop(fixture);
    assert_eq!(receiver.count(), 1);
}
