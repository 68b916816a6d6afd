//! Isolation between endpoints: receivers that hang delay no others, however many they are and however many
//! notifications wait for them. The control tests show that without the limits they would.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::thread::sleep;
use std::time::Duration;

use crate::common::receiver::{MockResponse, WebhookReceiver};
use crate::common::transport::*;
use crate::common::webhooks::*;
use crate::common::*;
use ticketing::Caller;
use ticketing::environment::{Clock, SystemClock};
use ticketing::id::WebhookId;
use ticketing::ticket::IssueTickets;
use ticketing::ticket_type::CreateTicketType;
use ticketing::webhook::{CreateWebhook, EventType, ListWebhookDeliveries};
use ticketing::webhook::{FailureKind, HttpsTransport, Resolver, SenderOptions, WebhookSenderGuard};

/// Creates an endpoint and delivers a first notification to it, so that it is healthy.
fn healthy_endpoint(fixture: &Fixture, url: &str) -> WebhookId {
    let endpoint = fixture.ticket_webhook(url).endpoint.id;
    fixture.queue_notifications(1);
    wait_until("the first delivery", || fixture.delivery_history(endpoint).len() == 1);
    endpoint
}

/// Creates an organization with an endpoint, and queues a notification for it.
fn endpoint_of_another_organization(fixture: &Fixture, url: &str) -> (Caller, WebhookId) {
    let caller = fixture.other_organization();
    let webhook = CreateWebhook::new(url, [EventType::TicketIssued]);
    let endpoint = fixture.service.create_webhook(&caller, webhook).expect("an endpoint").endpoint.id;
    queue_notification(fixture, &caller);
    (caller, endpoint)
}

fn queue_notification(fixture: &Fixture, caller: &Caller) {
    let event = fixture.service.create_event(caller, new_event(|_| {})).expect("an event");
    let ticket_type = CreateTicketType::new("Seat", eur(0), 1);
    let ticket_type = fixture.service.create_ticket_type(caller, event.id, ticket_type).expect("a ticket type");
    fixture.service.issue_tickets(caller, IssueTickets::new(ticket_type.id, new_customer(), 1)).expect("issued");
}

fn attempts_at(fixture: &Fixture, caller: &Caller, endpoint: WebhookId) -> usize {
    let history = fixture.service.list_webhook_deliveries(caller, endpoint, ListWebhookDeliveries::default());
    history.expect("a history").data.len()
}

/// Two workers without limits for endpoints. Each organization gets one of them.
fn without_limits() -> SenderOptions {
    SenderOptions::default().workers(2).workers_per_endpoint(2).throttled_workers(2)
}

/// A healthy endpoint next to a hanging one with many waiting rows.
struct Scenario {
    fixture: Fixture,
    transport: FakeTransport,
    healthy: WebhookId,
    /// For each attempt at the healthy endpoint: how many attempts at the hanging one had ended before.
    ended_before: Arc<Mutex<Vec<usize>>>,
}

/// Creates both endpoints, and waits until `hanging` attempts hang: as many as may at once.
fn beside_a_hanging_endpoint(options: SenderOptions, rows: i64, hanging: usize) -> (Scenario, WebhookSenderGuard) {
    let ended = AtomicUsize::new(0);
    let ended_before = Arc::new(Mutex::new(Vec::new()));
    let transport = FakeTransport::new({
        let ended_before = Arc::clone(&ended_before);
        move |transport, request, _| {
            if request.url.ends_with("/hanging") {
                // Until the test releases it.
                let result = transport.block(TIMEOUT);
                ended.fetch_add(1, Ordering::SeqCst);
                return result;
            }
            ended_before.lock().expect("no panic").push(ended.load(Ordering::SeqCst));
            respond(204)
        }
    });
    let fixture = Fixture::with_transport(&transport);
    let sender = fixture.start_sender(options);
    let healthy = healthy_endpoint(&fixture, "https://example.com/healthy");
    fixture.ticket_webhook("https://example.com/hanging");
    fixture.set_webhook_enabled(healthy, false);
    fixture.queue_notifications(rows);
    wait_until("they are only for the hanging endpoint", || fixture.stored_notifications() == 0);
    fixture.set_webhook_enabled(healthy, true);
    wait_until("the hanging endpoint occupies its workers", || transport.sent_to("/hanging") == hanging);
    (Scenario { fixture, transport, healthy, ended_before }, sender)
}

#[test]
fn a_hanging_endpoint_with_two_thousand_rows_delays_no_healthy_one() {
    let options = SenderOptions::default().workers(8).workers_per_endpoint(2);
    let (Scenario { fixture, transport, healthy, ended_before }, sender) = beside_a_hanging_endpoint(options, 2000, 2);
    fixture.queue_notifications(50);
    wait_until("all rows of the healthy endpoint are delivered", || fixture.delivery_history(healthy).len() == 51);
    // None of the hanging attempts had ended.
    assert_eq!(*ended_before.lock().expect("no panic"), [0; 51]);
    assert_eq!((transport.sent_to("/hanging"), fixture.outbox_count("DELIVERED")), (2, 51));
    transport.release();
    wait_until("the other endpoint is served too", || transport.sent_to("/hanging") > 100);
    drop(sender);
}

#[test]
fn control_without_limits_a_healthy_endpoint_waits_for_a_hanging_one() {
    let (Scenario { fixture, transport, healthy, ended_before }, _sender) =
        beside_a_hanging_endpoint(without_limits(), 40, 1);
    endpoint_of_another_organization(&fixture, "https://example.com/hanging");
    wait_until("another one occupies the other worker", || transport.sent_to("/hanging") == 2);
    fixture.queue_notifications(1);
    sleep(POLL_TIME);
    transport.release();
    wait_until("the notification is delivered", || fixture.delivery_history(healthy).len() == 2);
    // A worker was free only after a hanging attempt had ended.
    let ended_before = ended_before.lock().expect("no panic").clone();
    assert!(ended_before[0] == 0 && ended_before[1] > 0, "{ended_before:?}");
}

/// Resends a notification to a healthy receiver while endpoints that respond byte by byte occupy both workers. Returns
/// the time from when the slow endpoints had something to receive until it arrived.
fn arrival_beside_slow_endpoints(options: SenderOptions) -> Duration {
    let healthy = WebhookReceiver::start();
    let slow = WebhookReceiver::start();
    let head = format!("HTTP/1.1 200 OK\r\nX-Filler: {}\r\n\r\n", "x".repeat(1000)).into_bytes();
    slow.set_default_response(MockResponse::Dribble(head, Duration::from_millis(20)));
    let fixture = Fixture::with_local_webhooks();
    let _sender = fixture.start_sender(options);
    let endpoint = healthy_endpoint(&fixture, &healthy.url("/hook"));
    fixture.insert_ticket_webhooks(100, &slow.url("/"));
    let queued = SystemClock.monotonic();
    fixture.queue_notifications(1);
    endpoint_of_another_organization(&fixture, &slow.url("/"));
    slow.wait_for(2);
    // A resend is only for the healthy endpoint.
    let delivery = fixture.delivery_history(endpoint)[0].id;
    fixture.service.resend_webhook_delivery(&fixture.caller, endpoint, delivery).expect("resent");
    healthy.wait_for(3);
    SystemClock.monotonic() - queued
}

#[test]
fn seven_hundred_hanging_endpoints_delay_no_healthy_one() {
    const BUSY: usize = 4;
    const RESENDS: usize = 20;
    let ended = Arc::new(AtomicUsize::new(0));
    let transport = FakeTransport::new({
        let ended = Arc::clone(&ended);
        move |transport, request, _| {
            if !request.url.contains("/hanging") {
                return respond(204);
            }
            // Until the test releases it.
            let result = transport.block(TIMEOUT);
            ended.fetch_add(1, Ordering::SeqCst);
            result
        }
    });
    let fixture = Fixture::with_transport(&transport);
    let sender = fixture.start_sender(SenderOptions::default().workers(4 * BUSY));
    let healthy = healthy_endpoint(&fixture, "https://example.com/healthy");
    fixture.insert_ticket_webhooks(700, "https://example.com/hanging/");
    fixture.queue_notifications(1);
    wait_until("the hanging endpoints occupy their workers", || transport.sent_to("/hanging") == BUSY);
    wait_until("the second delivery", || fixture.delivery_history(healthy).len() == 2);
    for number in 0..RESENDS {
        // A resend is only for the healthy endpoint.
        let delivery = fixture.delivery_history(healthy)[0].id;
        fixture.service.resend_webhook_delivery(&fixture.caller, healthy, delivery).expect("resent");
        wait_until("the resent delivery", || fixture.delivery_history(healthy).len() == 3 + number);
    }
    // No worker became free for the healthy endpoint, and none was needed.
    assert_eq!((ended.load(Ordering::SeqCst), transport.sent_to("/hanging")), (0, BUSY));
    transport.release();
    drop(sender);
}

#[test]
fn control_without_limits_a_healthy_endpoint_waits_for_slow_ones() {
    const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(3);
    let waited = arrival_beside_slow_endpoints(without_limits().attempt_timeout(ATTEMPT_TIMEOUT));
    // A worker was free only when the first attempt at a slow endpoint had timed out.
    assert!(waited >= ATTEMPT_TIMEOUT, "{waited:?}");
}

#[test]
fn many_slow_endpoints_delay_no_new_one() {
    let attempts = AtomicUsize::new(0);
    let transport = FakeTransport::new(move |transport, request, _| match request.url.contains("/hanging") {
        true if attempts.fetch_add(1, Ordering::SeqCst) < 97 => Err(failure(FailureKind::TimedOut, "timed out")),
        true => transport.block(TIMEOUT),
        false => respond(204),
    });
    let fixture = Fixture::with_transport(&transport);
    fixture.insert_ticket_webhooks(97, "https://example.com/hanging/");
    let sender = fixture.start_sender(SenderOptions::default().workers(16));
    fixture.queue_notifications(1);
    wait_until("each endpoint has had an attempt", || fixture.stored("SELECT COUNT(*) FROM webhook_deliveries") == 97);
    fixture.clock.advance(Duration::from_mins(1));
    // Throttled endpoints get eight workers, slow ones at most six of them, and one organization half of those.
    wait_until("the slow endpoints occupy their workers", || transport.sent_to("/hanging") == 100);
    let new = [1, 2, 3].map(|number| fixture.ticket_webhook(format!("https://example.com/new/{number}")).endpoint.id);
    fixture.queue_notifications(1);
    wait_until("the new endpoints have their notifications", || {
        new.iter().all(|id| fixture.delivery_history(*id).len() == 1)
    });
    assert_eq!(transport.sent_to("/hanging"), 100, "no hanging attempt has ended");
    wait_until("the statistics count the throttled endpoints", || {
        fixture.service.statistics().webhooks.throttled == 97
    });
    drop(sender);
}

/// Returns how many attempts at `hanging` new endpoints were started before the first attempt at another new
/// endpoint, which belongs to another organization or to the same one.
fn started_before_the_first(hanging: usize, other_organization: bool) -> usize {
    let started = AtomicUsize::new(0);
    let before = Arc::new(Mutex::new(None));
    let transport = FakeTransport::new({
        let before = Arc::clone(&before);
        move |transport, request, timeout| {
            if request.url.contains("/hanging") {
                started.fetch_add(1, Ordering::SeqCst);
                return transport.block(timeout);
            }
            before.lock().expect("no panic").get_or_insert(started.load(Ordering::SeqCst));
            respond(204)
        }
    });
    let fixture = Fixture::with_transport(&transport);
    fixture.insert_ticket_webhooks(hanging, "https://example.com/hanging/");
    let url = "https://example.com/new";
    let (caller, new) = if other_organization {
        fixture.queue_notifications(1);
        endpoint_of_another_organization(&fixture, url)
    } else {
        let new = fixture.ticket_webhook(url).endpoint.id;
        fixture.queue_notifications(1);
        (fixture.caller.clone(), new)
    };
    // Throttled endpoints, such as new ones, get four workers, and one organization half of them.
    let sender = fixture.start_sender(SenderOptions::default().workers(8).attempt_timeout(Duration::from_millis(200)));
    wait_until("the new endpoint has had an attempt", || attempts_at(&fixture, &caller, new) > 0);
    drop(sender);
    before.lock().expect("no panic").expect("an attempt")
}

#[test]
fn hanging_endpoints_of_one_organization_delay_no_other_organization() {
    let started = started_before_the_first(100, true);
    assert!(started <= 8, "{started}: more than four rounds of the two workers");
}

#[test]
fn control_within_one_organization_a_new_endpoint_waits_for_earlier_ones() {
    let started = started_before_the_first(99, false);
    assert!(started >= 95, "{started}");
}

#[test]
fn healthy_endpoints_of_one_organization_that_begin_to_hang_delay_no_other_organization() {
    let hangs = Arc::new(AtomicBool::new(false));
    let ended = Arc::new(AtomicUsize::new(0));
    let transport = FakeTransport::new({
        let (hangs, ended) = (Arc::clone(&hangs), Arc::clone(&ended));
        move |transport, request, _| {
            if !hangs.load(Ordering::SeqCst) || request.url.ends_with("/other") {
                return respond(204);
            }
            // Until the test releases it.
            let result = transport.block(TIMEOUT);
            ended.fetch_add(1, Ordering::SeqCst);
            result
        }
    });
    let fixture = Fixture::with_transport(&transport);
    // Two for each endpoint: eight endpoints could occupy all.
    let sender = fixture.start_sender(SenderOptions::default().workers(16));
    let (other, endpoint) = endpoint_of_another_organization(&fixture, "https://example.com/other");
    let eight = [1, 2, 3, 4, 5, 6, 7, 8].map(|number| {
        let url = format!("https://example.com/of-one/{number}");
        fixture.ticket_webhook(url).endpoint.id
    });
    fixture.queue_notifications(1);
    wait_until("all endpoints are healthy", || {
        eight.iter().all(|id| fixture.delivery_history(*id).len() == 1) && attempts_at(&fixture, &other, endpoint) == 1
    });
    hangs.store(true, Ordering::SeqCst);
    fixture.queue_notifications(40);
    wait_until("half of the workers hang", || transport.sent_to("/of-one/") == 8 + 8);
    queue_notification(&fixture, &other);
    wait_until("the other organization is served", || attempts_at(&fixture, &other, endpoint) == 2);
    assert_eq!((ended.load(Ordering::SeqCst), transport.sent_to("/of-one/")), (0, 8 + 8));
    transport.release();
    drop(sender);
}

/// A resolver that finds every name at this machine. Lookups of names that begin with `hanging` wait while the lock is held.
#[derive(Debug, Clone, Default)]
struct HangingNames(Arc<RwLock<()>>);

impl Resolver for HangingNames {
    fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        if host.starts_with("hanging") {
            drop(self.0.read());
        }
        Ok(vec![Ipv4Addr::LOCALHOST.into()])
    }
}

#[test]
fn names_of_one_organization_whose_lookups_hang_delay_no_new_name_of_another() {
    let names = HangingNames::default();
    let hanging = names.0.write().expect("no panic");
    let transport = HttpsTransport::builder().allow_local(true).resolver(names.clone()).build().expect("a transport");
    let fixture = Fixture::for_sender(|builder| builder.allow_local_webhooks(true).webhook_transport(transport));
    fixture.insert_ticket_webhooks(100, "https://hanging.example.com/");
    // One organization gets 16 of the 32 workers for new endpoints.
    let options = SenderOptions::default().workers(64).attempt_timeout(Duration::from_millis(500));
    let sender = fixture.start_sender(options);
    fixture.queue_notifications(1);
    let attempts = || fixture.stored("SELECT COUNT(*) FROM webhook_deliveries WHERE success = 0");
    wait_until("more lookups have timed out than there are threads for new names", || attempts() > 32);
    let receiver = WebhookReceiver::start();
    let url = receiver.url("/").replace("127.0.0.1", "new.example.com");
    let (other, endpoint) = endpoint_of_another_organization(&fixture, &url);
    receiver.wait_for(1);
    wait_until("the attempt is recorded", || attempts_at(&fixture, &other, endpoint) == 1);
    drop(hanging);
    drop(sender);
}
