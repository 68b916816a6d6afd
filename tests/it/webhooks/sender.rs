//! The sender: how fast it sends, how it stops, and how it handles a transport or store that fails.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::sleep;
use std::time::Duration;

use crate::common::processes::{child_role, run_child_by, send_to_parent};
use crate::common::receiver::{MockResponse, ReceivedRequest, WebhookReceiver};
use crate::common::transport::*;
use crate::common::webhooks::*;
use crate::common::*;
use ticketing::environment::{Clock, SystemClock};
use ticketing::webhook::{EVENT_ID_HEADER, SenderOptions};
use ticketing::{TicketingService, Timestamp};

const CHILD: &str = concat!(module_path!(), "::a_child_process_plays_its_role");

fn event_ids(requests: &[ReceivedRequest]) -> HashSet<String> {
    requests.iter().map(|request| request.header(EVENT_ID_HEADER).expect("an id").to_owned()).collect()
}

/// A clock by which everything takes longer by this time. The poller pauses for 300 times as long, because its scans
/// seem to take long.
#[derive(Debug)]
struct SlowClock {
    longer: Duration,
    calls: AtomicU32,
}

impl SlowClock {
    fn new(longer: Duration) -> Self {
        Self { longer, calls: AtomicU32::new(0) }
    }
}

impl Clock for SlowClock {
    fn now(&self) -> Timestamp {
        at(NOW)
    }

    fn monotonic(&self) -> Duration {
        SystemClock.monotonic() + self.longer * self.calls.fetch_add(1, Ordering::Relaxed)
    }
}

#[test]
fn a_commit_wakes_the_sender_so_that_no_notification_waits_for_the_poller() {
    const NOTIFICATIONS: u32 = 15;
    /// The pause of the poller between two scans.
    const PAUSE: Duration = Duration::from_secs(10);
    let fixture = Fixture::for_sender(|builder| {
        builder.allow_local_webhooks(true).clock(SlowClock::new(Duration::from_millis(40)))
    });
    let receiver = WebhookReceiver::start();
    fixture.ticket_webhook(receiver.url("/hook"));
    let _sender = fixture.start_sender(SenderOptions::default());
    let started = SystemClock.monotonic();
    for number in 1..=NOTIFICATIONS {
        fixture.queue_notifications(1);
        receiver.wait_for(usize::try_from(number).expect("a small number"));
    }
    // Each is queued after the one before has arrived, so that the poller would find at most one with each scan. That
    // would take more than two minutes; with the wake-ups, it would take a machine that needs ten seconds for each.
    let took = SystemClock.monotonic() - started;
    assert!(took < PAUSE * (NOTIFICATIONS - 1), "{took:?}");
}

#[test]
fn rows_that_a_worker_hands_back_do_not_wait_for_the_poller() {
    const ROUNDS: u32 = 40;
    /// How much longer everything takes, and with it the pause of the poller between two scans.
    const LONGER: Duration = Duration::from_millis(5);
    const PAUSE: Duration = Duration::from_millis(1500);
    // One attempt succeeds, and the next three fail, so that the worker hands back the rest of its batch.
    let attempts = AtomicU32::new(0);
    let transport = FakeTransport::new(move |_, _, _| match attempts.fetch_add(1, Ordering::Relaxed) % 4 {
        0 => respond(204),
        _ => respond(500),
    });
    let sent = transport.clone();
    let fixture = Fixture::for_sender(|builder| builder.webhook_transport(transport).clock(SlowClock::new(LONGER)));
    fixture.ticket_webhook("https://example.com/hook".to_owned());
    let _sender = fixture.start_sender(SenderOptions::default().workers(2).workers_per_endpoint(1));
    let started = SystemClock.monotonic();
    let wait_for = |number: u32| wait_until("all are sent", || sent.sent().len() >= usize::try_from(number).unwrap());
    for round in 0..ROUNDS {
        fixture.queue_notifications(1);
        wait_for(4 * round + 1);
        fixture.queue_notifications(3);
        wait_for(4 * (round + 1));
    }
    // Each round would need another scan of the poller.
    let took = SystemClock.monotonic() - started;
    assert!(took < PAUSE * (ROUNDS / 2), "{took:?}");
}

#[test]
fn rows_that_another_process_queues_are_found_soon() {
    let fixture = Fixture::with_local_webhooks();
    let receiver = WebhookReceiver::start();
    fixture.ticket_webhook(receiver.url("/hook"));
    let _sender = fixture.start_sender(SenderOptions::default());
    sleep(POLL_TIME);
    // A second service does not notify the sender of the first, so its rows are found by polling.
    let other = fixture.second_service_with(|builder| builder);
    let request =
        ticketing::ticket::IssueTickets::new(fixture.default_ticket_type().id, crate::common::new_customer(), 3);
    other.issue_tickets(&fixture.caller, request).expect("tickets");
    receiver.wait_for(3);
    fixture.wait_for_outbox(3, "DELIVERED");
}

#[test]
fn stopping_interrupts_hanging_attempts_and_the_next_sender_repeats_them() {
    let fixture = Fixture::with_local_webhooks();
    let receiver = WebhookReceiver::start();
    receiver.enqueue(MockResponse::Hang).enqueue(MockResponse::Hang);
    let endpoint = fixture.ticket_webhook(receiver.url("/hook")).endpoint.id;
    for number in 1..=2 {
        let sender = fixture.start_sender(SenderOptions::default());
        if number == 1 {
            fixture.queue_notifications(1);
        }
        receiver.wait_for(number);
        drop(sender);
        // It did not wait for the timeout of the attempt, which would count.
        let row = &fixture.outbox()[0];
        assert!(row.is("WAITING", 0) && !row.claimed && row.interruptions == 0, "{row:?}");
        assert_eq!((row.due_at, fixture.delivery_history(endpoint).len()), (fixture.clock.now(), 0));
    }
    let _sender = fixture.start_sender(SenderOptions::default());
    assert!(fixture.wait_for_attempt(1).is("DELIVERED", 1));
    assert_eq!(event_ids(&receiver.requests()).len(), 1);
    let history = fixture.delivery_history(endpoint);
    assert_eq!((history.len(), history[0].attempt, history[0].success), (1, 1, true));
}

#[test]
fn stopping_waits_for_fast_attempts_and_starts_no_more() {
    let fixture = Fixture::with_local_webhooks();
    let receiver = WebhookReceiver::start();
    receiver.set_default_response(MockResponse::After(Duration::from_millis(300), Box::new(MockResponse::Status(204))));
    fixture.ticket_webhook(receiver.url("/hook"));
    let sender = fixture.start_sender(SenderOptions::default().workers(8).workers_per_endpoint(2));
    // Two at a time take a minute for all.
    fixture.queue_notifications(400);
    receiver.wait_for(2);
    drop(sender);
    let sent = receiver.requests().len();
    // The attempts in progress were finished and recorded.
    assert_eq!(fixture.outbox_count("DELIVERED"), i64::try_from(sent).expect("a small number"));
    assert!(sent < 400, "no row was left waiting");
    assert!(fixture.outbox().iter().all(|row| !row.claimed));
    sleep(POLL_TIME);
    assert_eq!(receiver.requests().len(), sent);
    receiver.set_default_response(MockResponse::Status(204));
    let _sender = fixture.start_sender(SenderOptions::default());
    fixture.wait_for_outbox(400, "DELIVERED");
    assert_eq!((receiver.requests().len(), event_ids(&receiver.requests()).len()), (400, 400));
}

#[test]
fn stopping_does_not_wait_for_a_transport_that_cannot_be_interrupted() {
    let (release, released) = channel();
    let released = Mutex::new(released);
    // Until the test has ended.
    let transport = FakeTransport::new(move |_, _, _| {
        let _ = released.lock().unwrap().recv_timeout(TIMEOUT);
        respond(204)
    });
    let fixture = Fixture::with_transport(&transport);
    fixture.ticket_webhook("https://example.com/hook");
    let sender = fixture.start_sender(SenderOptions::default());
    fixture.queue_notifications(1);
    transport.wait_for(1);
    let started = SystemClock.monotonic();
    drop(sender);
    let took = SystemClock.monotonic() - started;
    assert!(took < TIMEOUT / 2, "{took:?}");
    // The result is unknown: the attempt is repeated when its lease expires.
    let row = &fixture.outbox()[0];
    assert!(row.is("WAITING", 0) && row.claimed, "{row:?}");
    assert_eq!(row.due_at, fixture.clock.now().saturating_add(LEASE));
    drop::<Sender<()>>(release);
}

#[test]
fn closing_a_service_with_a_sender_closes_the_database() {
    let fixture = Fixture::with_local_webhooks();
    let receiver = WebhookReceiver::start();
    receiver.enqueue(MockResponse::Status(204)).set_default_response(MockResponse::Hang);
    fixture.ticket_webhook(receiver.url("/hook"));
    let options = SenderOptions::default();
    let sending = fixture.second_service_with(|builder| builder.allow_local_webhooks(true).webhook_sender(options));
    fixture.queue_notifications(3);
    receiver.wait_for(3);
    // Drops the last handles of the service, with two attempts in progress.
    let (_folder, path) = fixture.into_file();
    drop(sending);
    Database::assert_closed(&path);
}

#[test]
fn options_out_of_range_are_rejected_by_name() {
    let fixture = Fixture::with_local_webhooks();
    let options = SenderOptions::default;
    let second = Duration::from_secs(1);
    let cases: [(SenderOptions, &[&str]); 12] = [
        (options().workers(0), &["workers"]),
        (options().workers(1), &["workers"]),
        (options().workers(1025), &["workers"]),
        (options().workers_per_endpoint(0), &["workers_per_endpoint"]),
        (options().workers_per_endpoint(65), &["workers_per_endpoint"]),
        (options().workers(4).workers_per_endpoint(5), &["workers_per_endpoint"]),
        (options().throttled_workers(0), &["throttled_workers"]),
        (options().throttled_workers(65), &["throttled_workers"]),
        (options().attempt_timeout(Duration::ZERO), &["attempt_timeout"]),
        (options().attempt_timeout(Duration::from_micros(999)), &["attempt_timeout"]),
        (options().attempt_timeout(10 * second + Duration::from_millis(1)), &["attempt_timeout"]),
        (
            options().workers(0).throttled_workers(9).attempt_timeout(11 * second),
            &["workers", "throttled_workers", "attempt_timeout"],
        ),
    ];
    for (options, names) in cases {
        assert_eq!(paths(fixture.service.start_webhook_sender(options.clone())), names, "{options:?}");
        let file = fixture.path().with_extension("other");
        let opened = TicketingService::builder(&file).webhook_sender(options).open();
        assert_eq!(paths(opened.map(drop)), names);
        assert!(!file.exists(), "no file was created");
    }
    for options in [
        options().workers(2),
        options().attempt_timeout(Duration::from_millis(1)),
        options().workers(2).throttled_workers(1),
    ] {
        drop(fixture.start_sender(options));
    }
}

#[test]
fn a_panic_of_the_transport_is_a_failed_attempt() {
    let transport = FakeTransport::new(|transport, request, _| {
        assert!(!(request.url.ends_with("/broken") && transport.sent_to("/broken") <= 20), "a transport that panics");
        respond(204)
    });
    let fixture = Fixture::with_transport(&transport);
    let broken = fixture.ticket_webhook("https://example.com/broken").endpoint.id;
    fixture.ticket_webhook("https://example.com/fine");
    let _sender = fixture.start_sender(SenderOptions::default().workers(4));
    fixture.queue_notifications(20);
    fixture.wait_for_outbox(20, "DELIVERED");
    wait_until("all attempts have failed", || fixture.delivery_history(broken).len() == 20);
    for delivery in fixture.delivery_history(broken) {
        let message = delivery.error_message.as_deref();
        assert_eq!(message, Some("internal error of the sender"));
        assert_eq!((delivery.attempt, delivery.response_status, delivery.duration_ms), (1, None, None));
    }
    fixture.clock.advance(Duration::from_mins(1));
    fixture.wait_for_outbox(40, "DELIVERED");
}

#[test]
fn results_are_kept_while_another_program_locks_the_tables() {
    // Shorter and longer than the store waits for the lock.
    for seconds in [3, 7] {
        let fixture = Fixture::with_local_webhooks();
        let receiver = WebhookReceiver::start();
        receiver
            .set_default_response(MockResponse::After(Duration::from_millis(100), Box::new(MockResponse::Status(204))));
        let endpoint = fixture.ticket_webhook(receiver.url("/hook")).endpoint.id;
        let other = fixture.database();
        let _sender = fixture.start_sender(SenderOptions::default().workers(8).workers_per_endpoint(4));
        fixture.queue_notifications(30);
        receiver.wait_for(4);
        other.begin();
        sleep(Duration::from_secs(seconds));
        other.run("COMMIT");
        fixture.wait_for_outbox(30, "DELIVERED");
        assert_eq!((receiver.requests().len(), event_ids(&receiver.requests()).len()), (30, 30));
        assert_eq!(fixture.delivery_history(endpoint).len(), 30);
    }
}

#[test]
#[ignore = "other tests start it"]
fn a_child_process_plays_its_role() {
    match child_role().as_str() {
        "full disk" => send_from_a_full_disk(),
        other => panic!("{other}"),
    }
}

/// Sends from a file on a full disk. The disk is unmounted when the mount namespace of this process ends.
fn send_from_a_full_disk() {
    let folder = tempfile::tempdir().unwrap();
    let mount = ["-t", "tmpfs", "-o", "size=6m", "ticketing-test", folder.path().to_str().unwrap()];
    if !std::process::Command::new("mount").args(mount).status().is_ok_and(|status| status.success()) {
        return send_to_parent(NO_MOUNT);
    }
    let transport = FakeTransport::new(|transport, _, _| {
        let mut response = transport.block(TIMEOUT)?;
        // The history of a hundred of these does not fit on the disk.
        response.body = vec![b'x'; 4096];
        Ok(response)
    });
    let below = tempfile::tempdir_in(folder.path()).expect("a folder");
    let fixture = Fixture::in_folder(below, |builder| builder.webhook_transport(transport.clone()));
    fixture.ticket_webhook("https://example.com/hook");
    let sender =
        fixture.start_sender(SenderOptions::default().workers(64).workers_per_endpoint(64).throttled_workers(64));
    fixture.queue_notifications(100);
    // Half of the workers, because it is one organization.
    transport.wait_for(32);
    // The log has no room that could be used again.
    fixture.database().run("PRAGMA wal_checkpoint(TRUNCATE)");
    let ballast = folder.path().join("ballast");
    // Copies until the disk is full.
    let filled = std::io::copy(&mut std::io::repeat(1), &mut std::fs::File::create(&ballast).unwrap());
    filled.unwrap_err();
    let failed_before = fixture.service.statistics().commits.failed;
    transport.release();
    wait_until("the store is full", || fixture.service.statistics().commits.failed > failed_before + 1);
    assert_eq!(fixture.outbox_count("DELIVERED"), 0);
    std::fs::remove_file(&ballast).unwrap();
    fixture.wait_for_outbox(100, "DELIVERED");
    // The results of attempts made while the disk was full were kept: none was repeated.
    assert_eq!(transport.sent().len(), 100);
    assert!(fixture.outbox().iter().all(|row| row.is("DELIVERED", 1)));
    drop(sender);
    drop(fixture);
    std::process::Command::new("umount").arg(folder.path()).status().unwrap();
    send_to_parent("done");
}

#[cfg(unix)]
#[test]
fn results_are_kept_while_the_disk_is_full() {
    if !database::is_file() {
        return skipped("it is about the disk of a database file");
    }
    // Uses its own namespaces, so that nothing stays mounted.
    match run_child_by(&["unshare", "--user", "--map-root-user", "--mount"], CHILD, "full disk") {
        Some(messages) if messages == [NO_MOUNT] => skipped(NO_MOUNT),
        Some(messages) => assert_eq!(messages, ["done"]),
        None => skipped("there is no unshare here, or it is not allowed"),
    }
}
