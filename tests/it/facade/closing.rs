//! Closing a service, and what lives as long as it: weak handles, the maintenance and the webhook sender of the
//! builder.

use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use crate::common::transport::{FakeTransport, respond};
use crate::common::webhooks::wait_until;
use crate::common::*;
use ticketing::environment::ManualClock;
use ticketing::event::ListEvents;
use ticketing::order::{CreateOrder, OrderStatus};
use ticketing::organization::CreateApiKey;
use ticketing::payment::ManualMethod;
use ticketing::payment::{Checkout, CheckoutRequest, GatewayError, GatewayRefund, PaymentGateway, RefundRequest};
use ticketing::ticket_type::CreateTicketType;
use ticketing::webhook::{CreateWebhook, EventType, SenderOptions};
use ticketing::{Builder, Caller, CloseError, Error, TicketingService, WeakTicketingService};

/// Longer than any handle in these tests exists, if the code is right.
const LONG: Duration = Duration::from_secs(30);
const NOT_AT_ALL: Duration = Duration::ZERO;

/// A service of its own, which a test can close.
struct Opened {
    folder: tempfile::TempDir,
    service: TicketingService,
    caller: Caller,
    order: CreateOrder,
    clock: ManualClock,
}

fn open(configure: impl FnOnce(Builder) -> Builder) -> Opened {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::new(at(NOW));
    let builder = database::builder(folder.path().join("ticketing.db")).clock(clock.clone());
    let service = configure(builder).open().unwrap();
    let organization = service.create_organization(Default::default()).unwrap();
    let caller = service.act_for(organization.id).unwrap();
    let event = service.create_event(&caller, new_event(|_| {})).unwrap();
    let ticket_type = CreateTicketType::new("General admission", eur(1250), 100);
    let ticket_type = service.create_ticket_type(&caller, event.id, ticket_type).unwrap();
    let order = new_order(event.id, ticket_type.id, 2);
    Opened { folder, service, caller, order, clock }
}

impl Opened {
    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join(database::FILE)
    }
}

/// The number of handles that keep a service open.
fn handles(error: &CloseError) -> usize {
    match error {
        CloseError::StillInUse { handles, .. } => *handles,
        other => panic!("{other}"),
    }
}

#[test]
fn closing_the_last_handle_leaves_one_file_with_everything_in_it() {
    if !database::is_file() {
        return skipped("it is about a database file");
    }
    let opened = open(|builder| builder);
    let path = opened.path();
    assert!(path.with_extension("db-wal").exists());
    opened.service.close(NOT_AT_ALL).expect("there is no other handle");
    Database::assert_closed(&path);
    let copy = opened.folder.path().join("copy.db");
    std::fs::copy(&path, &copy).unwrap();
    let service = TicketingService::open(&copy).unwrap();
    assert_eq!(service.list_events(&opened.caller, ListEvents::default()).unwrap().data.len(), 1);
}

#[test]
fn closing_fails_while_there_are_other_handles_and_says_how_many() {
    let opened = open(|builder| builder);
    let path = opened.path();
    let clones = [opened.service.clone(), opened.service.clone()];
    let error = opened.service.close(Duration::from_millis(10)).unwrap_err();
    assert_eq!(handles(&error), 2);
    assert_eq!(error.to_string(), "the service is still in use: 2 other handles must be dropped");
    let [first, second] = clones;
    drop(first);
    assert_eq!(second.clone().close(NOT_AT_ALL).map_err(|error| handles(&error)), Err(1));
    second.close(NOT_AT_ALL).expect("it is the last one");
    Database::assert_closed(&path);
}

#[test]
fn a_notification_handler_with_a_handle_of_the_service_does_not_keep_it_open() {
    let held = std::sync::Arc::new(OnceLock::<TicketingService>::new());
    let handle = std::sync::Arc::clone(&held);
    let opened = open(|builder| {
        builder.on_notification("mail", move |_, _| {
            assert!(handle.get().is_some());
            Ok(())
        })
    });
    let path = opened.path();
    held.set(opened.service.clone()).expect("it is set once");
    drop(held);
    opened.service.close(LONG).expect("the handler and its handle are dropped");
    Database::assert_closed(&path);
}

#[test]
fn other_handles_refuse_new_work_after_close() {
    let opened = open(|builder| builder);
    let path = opened.path();
    let other = opened.service.clone();
    let order = opened.service.create_order(&opened.caller, opened.order.clone()).unwrap().order;
    opened.service.close(NOT_AT_ALL).unwrap_err();
    let refused = [
        other.list_events(&opened.caller, ListEvents::default()).map(drop),
        other.get_order(&opened.caller, order.id).map(drop),
        other.create_order(&opened.caller, opened.order.clone()).map(drop),
        other.mark_order_paid(&opened.caller, order.id, ManualMethod::Cash).map(drop),
        other.run_maintenance().map(drop),
        other.deliver_due_webhooks().map(drop),
        other.start_webhook_sender(SenderOptions::default()).map(drop),
        other.backup(opened.folder.path().join("copy.db"), |_| ControlFlow::Continue(())).map(drop),
        other.check().map(drop),
        other.ready(),
        other.on_one_snapshot(|| {}),
    ];
    for result in refused {
        let error = result.unwrap_err();
        assert!(matches!(error, Error::Unavailable(_)), "{error:?}");
        assert_eq!(error.to_string(), "the service is closed");
    }
    drop(other);
    Database::assert_closed(&path);
}

#[test]
fn closing_waits_for_handles_that_are_dropped_in_time() {
    let opened = open(|builder| builder);
    let path = opened.path();
    let other = opened.service.clone();
    let weak = other.downgrade();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // Only close can make this happen.
            wait_until("the service is being closed", || weak.upgrade().is_none());
            drop(other);
        });
        opened.service.close(LONG).expect("the thread drops its handle");
    });
    Database::assert_closed(&path);
}

/// A gateway that reports each call, and answers when the test says so.
#[derive(Debug)]
struct PausedGateway {
    called: Mutex<Sender<()>>,
    answer: Mutex<Receiver<()>>,
}

impl PaymentGateway for PausedGateway {
    fn start_checkout(&self, _: &CheckoutRequest) -> Result<Checkout, GatewayError> {
        self.called.lock().unwrap().send(()).unwrap();
        self.answer.lock().unwrap().recv().unwrap();
        Ok(Checkout::new("https://pay.example/1", "1"))
    }

    fn refund(&self, request: &RefundRequest) -> Result<GatewayRefund, GatewayError> {
        Ok(request.made("refund"))
    }
}

#[test]
fn an_operation_that_is_running_finishes_while_the_service_is_closed() {
    let (called, calls) = channel();
    let (answers, answer) = channel();
    let gateway = PausedGateway { called: Mutex::new(called), answer: Mutex::new(answer) };
    let opened = open(|builder| builder.payment_gateway(gateway));
    let keyed = opened.caller.with_idempotency_key("the-order");
    let other = opened.service.clone();
    let weak = other.downgrade();
    let created = std::thread::scope(|scope| {
        let caller = &keyed;
        let request = opened.order.clone();
        let ordering = scope.spawn(move || other.create_order(caller, request).expect("an order").value);
        calls.recv().unwrap();
        scope.spawn(move || {
            wait_until("the service is being closed", || weak.upgrade().is_none());
            answers.send(()).unwrap();
        });
        opened.service.close(LONG).expect("the operation ends");
        ordering.join().unwrap()
    });
    assert_eq!(created.checkout_url.as_deref(), Some("https://pay.example/1"));
    let builder = database::builder(opened.folder.path().join(database::FILE));
    let service = builder.clock(opened.clock).open().unwrap();
    let replayed = service.create_order(&keyed, opened.order).expect("the stored result");
    assert_eq!((replayed.replayed, replayed.value.checkout_url), (true, created.checkout_url));
}

#[test]
fn a_weak_handle_does_not_keep_the_service_open() {
    let opened = open(|builder| builder);
    let path = opened.path();
    let weak = opened.service.downgrade();
    weak.upgrade().expect("the service is open").ready().expect("it works");
    drop(opened.service);
    Database::assert_closed(&path);
    assert!(weak.upgrade().is_none());
}

#[test]
fn a_transport_with_a_weak_handle_calls_the_service_and_lets_it_close() {
    static SERVICE: OnceLock<WeakTicketingService> = OnceLock::new();
    let transport = FakeTransport::new(|_, _, _| {
        let service = SERVICE.get().unwrap().upgrade().expect("the service is open");
        respond(if service.ready().is_ok() { 204 } else { 500 })
    });
    let opened = open(|builder| builder.webhook_transport(transport.clone()));
    SERVICE.set(opened.service.downgrade()).expect("set once");
    pay_an_order_with_a_webhook(&opened);
    assert_eq!(opened.service.deliver_due_webhooks().unwrap(), 1);
    opened.service.close(NOT_AT_ALL).expect("nothing else holds the service");
}

fn pay_an_order_with_a_webhook(opened: &Opened) {
    let webhook = CreateWebhook::new("https://example.com/hook", [EventType::OrderCompleted]);
    opened.service.create_webhook(&opened.caller, webhook).unwrap();
    let order = opened.service.create_order(&opened.caller, opened.order.clone()).unwrap().order;
    opened.service.mark_order_paid(&opened.caller, order.id, ManualMethod::Cash).unwrap();
}

#[test]
fn maintenance_and_webhooks_of_the_builder_run_with_the_service_and_end_with_it() {
    let transport = FakeTransport::succeeding();
    let sent = transport.clone();
    let opened = open(|builder| {
        builder.maintenance().webhook_transport(transport).webhook_sender(SenderOptions::default().workers(2))
    });
    let path = opened.path();
    let expiring = opened.service.create_order(&opened.caller, opened.order.clone()).unwrap().order;
    pay_an_order_with_a_webhook(&opened);
    sent.wait_for(1);
    opened.clock.advance(Duration::from_hours(1));
    let database = Database::open(&path);
    wait_until("the maintenance has expired the order", || {
        database.value::<i64>("SELECT COUNT(*) FROM orders WHERE status = 'EXPIRED'") == 1
    });
    drop(database);
    assert_eq!(opened.service.get_order(&opened.caller, expiring.id).unwrap().status, OrderStatus::Expired);
    opened.service.close(LONG).expect("its own threads are no handles");
    Database::assert_closed(&path);
}

#[test]
fn a_webhook_sender_that_is_still_running_counts_as_a_handle() {
    let opened = open(|builder| builder.webhook_transport(FakeTransport::succeeding()));
    let path = opened.path();
    let sender = opened.service.start_webhook_sender(SenderOptions::default()).unwrap();
    let handles = handles(&opened.service.close(NOT_AT_ALL).unwrap_err());
    assert_eq!(handles, 1);
    drop(sender);
    Database::assert_closed(&path);
}

#[test]
fn page_views_and_uses_of_keys_are_stored_when_a_service_is_closed_or_dropped() {
    let fixture = Fixture::new();
    let event = fixture.event().id;
    let organization = fixture.caller.organization();
    let key = fixture.service.create_api_key(organization, CreateApiKey::new("Website")).unwrap().key;
    let stored = || {
        let event = fixture.service.get_event(&fixture.caller, event).unwrap();
        (event.page_views, fixture.service.list_api_keys(organization).unwrap()[0].last_used_at)
    };
    let view = |used_at| {
        fixture.set_clock(used_at);
        let service = fixture.second_service();
        let caller = service.authenticate(&key).unwrap();
        service.record_page_view(&caller, event).unwrap();
        service
    };
    let closed = view("2026-06-01T12:34:00Z");
    assert_eq!(stored(), (0, None));
    closed.close(LONG).unwrap();
    assert_eq!(stored(), (1, Some(at("2026-06-01T12:34:00Z"))));
    let dropped = view("2026-06-01T12:40:00Z");
    drop(dropped);
    assert_eq!(stored(), (2, Some(at("2026-06-01T12:40:00Z"))));
}
