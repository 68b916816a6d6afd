//! One of two processes that sell and send webhooks from one file is stopped at random moments, with SIGSTOP, and goes
//! on later. The other one goes on, or reports in bounded time that the store is busy. Nothing is lost, sold twice or
//! sent twice.
//!
//! `TICKETING_STOPS` is how often the process is stopped, by default 10.
#![cfg(unix)]

use std::process::{Child, Command};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::common::invariants::assert_consistent;
use crate::common::long_runs::{first_seed, repetitions};
use crate::common::outbox;
use crate::common::processes::{ChildProcess, child_role, next_message, send_to_parent, wait_for_parent};
use crate::common::random::Random;
use crate::common::receiver::WebhookReceiver;
use crate::common::seller::{Acknowledged, Sale, Seller};
use crate::common::threads::run_at_once;
use crate::common::webhooks::*;
use crate::common::*;
use crate::webhooks::receipts::Receipts;
use ticketing::environment::{Clock, SystemClock};
use ticketing::webhook::{CreateWebhook, SenderOptions};
use ticketing::{Builder, Error, TicketingService};

const CHILD: &str = concat!(module_path!(), "::a_child_process_sells_and_sends");
const THREADS: usize = 3;

/// More than the time for which a call waits for another process. The machine may be busy.
const BOUND: Duration = Duration::from_secs(30);

fn with_sender(builder: Builder) -> Builder {
    builder.allow_local_webhooks(true).webhook_sender(SenderOptions::default().workers(8).workers_per_endpoint(4))
}

#[test]
#[ignore = "other tests start it"]
fn a_child_process_sells_and_sends() {
    child_role();
    let ends = AtomicBool::new(false);
    let seller = Seller::of_child(with_sender, send_to_parent);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            wait_for_parent();
            ends.store(true, Ordering::Relaxed);
        });
        run_at_once(THREADS, |_| {
            while !ends.load(Ordering::Relaxed) {
                match seller.sell() {
                    Ok(()) | Err(Error::Unavailable(_)) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        });
    });
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

/// Two processes that sell from one file: a child process, and this one.
struct TwoProcesses {
    sale: Sale,
    receiver: WebhookReceiver,
    child: ChildProcess,
    service: TicketingService,
}

impl TwoProcesses {
    fn start(seats: i64) -> Self {
        let receiver = WebhookReceiver::start();
        let fixture = Fixture::with_gateway(|builder| builder.allow_local_webhooks(true));
        let new = CreateWebhook::new(receiver.url("/hook"), outbox::SALE_NOTIFICATIONS);
        fixture.service.create_webhook(&fixture.caller, new).unwrap();
        let sale = Sale::with_seats(fixture, seats);
        let child = ChildProcess::start(sale.child(CHILD, "sell"));
        let service = with_sender(database::builder(&sale.path).sandbox_gateway()).open().unwrap();
        Self { sale, receiver, child, service }
    }

    /// Waits for the end of the child process. Returns what it has acknowledged.
    fn end_child(child: ChildProcess) -> Vec<String> {
        let ended = child.finish();
        assert!(ended.status.success(), "{}", ended.status);
        ended.messages
    }
}

#[test]
fn while_one_process_is_stopped_the_other_sells_and_nothing_is_sold_or_sent_twice() {
    let seed = first_seed();
    eprintln!("seed {seed}");
    let mut random = Random::new(seed);
    let stops = repetitions("TICKETING_STOPS", 10);
    let seats = 100 * i64::try_from(stops).unwrap();
    let TwoProcesses { sale, receiver, mut child, service } = TwoProcesses::start(seats);
    let reports = Mutex::new(Vec::new());
    let busy = AtomicU64::new(0);
    let longest = Mutex::new(Duration::ZERO);
    let ends = AtomicBool::new(false);
    let seller = sale.seller(service.clone(), |report| reports.lock().unwrap().push(report));
    let first = child.next_message().unwrap();
    std::thread::scope(|scope| {
        let sellers = scope.spawn(|| {
            run_at_once(THREADS, |_| {
                while !ends.load(Ordering::Relaxed) {
                    let start = SystemClock.monotonic();
                    match seller.sell() {
                        Ok(()) => {}
                        Err(Error::Unavailable(_)) => drop(busy.fetch_add(1, Ordering::Relaxed)),
                        Err(error) => panic!("{error}"),
                    }
                    let mut longest = longest.lock().unwrap();
                    *longest = (*longest).max(SystemClock.monotonic() - start);
                }
            });
        });
        let (reading, lines) = (&reports, &mut child.lines);
        let reader = scope.spawn(move || {
            reading.lock().unwrap().push(first);
            while let Some(message) = next_message(lines) {
                reading.lock().unwrap().push(message);
            }
        });
        let mut pause = |from: usize, to: usize| {
            let millis = from + random.below(to - from);
            std::thread::sleep(Duration::from_millis(u64::try_from(millis).unwrap()));
        };
        for _ in 0..stops {
            pause(10, 200);
            signal(&child.child, "STOP");
            pause(50, 400);
            signal(&child.child, "CONT");
        }
        ends.store(true, Ordering::Relaxed);
        drop(child.child.stdin.take());
        sellers.join().unwrap();
        reader.join().unwrap();
    });
    assert!(child.child.wait().unwrap().success());
    let longest = longest.into_inner().unwrap();
    assert!(longest < BOUND, "{longest:?}");

    let database = Database::open(&sale.path);
    wait_until_none("notifications that are not sent", || {
        database.value(
            "SELECT (SELECT COUNT(*) FROM webhook_outbox WHERE state <> 'DELIVERED')
        + (SELECT COUNT(*) FROM webhook_notifications WHERE organization_id IS NOT NULL)",
        )
    });
    let mut acknowledged = Acknowledged::default();
    let reports = reports.into_inner().unwrap();
    reports.iter().for_each(|report| acknowledged.record(report));
    acknowledged.assert_stored(&service, &service.act_for(sale.organization).unwrap());
    assert_consistent(&database);
    outbox::assert_one_notification_each(&database);
    // No stop was as long as a lease, so each attempt was made by one of them.
    let rows = outbox::rows(&database);
    let receipts = Receipts::compare(&rows, &receiver.requests());
    assert_eq!(receipts, Receipts::default());
    let orders = acknowledged.orders.len();
    eprintln!("{orders} orders, {} notifications, {} times busy, {longest:?}", rows.len(), busy.into_inner());
}

#[test]
fn beside_a_process_stopped_in_a_transaction_writes_fail_in_bounded_time_and_go_on_afterwards() {
    if !database::is_file() {
        return skipped(
            "on PostgreSQL, a stopped process holds the locks of single rows: see tests/it/postgres/stopped_server.rs",
        );
    }
    let TwoProcesses { sale, mut child, service, .. } = TwoProcesses::start(1_000_000);
    let first = child.next_message().unwrap();
    let database = Database::open(&sale.path);
    let is_locked = || {
        let free = database.try_begin();
        if free {
            database.run("ROLLBACK");
        }
        !free
    };
    let caught = (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(5));
        signal(&child.child, "STOP");
        // The process goes on for a moment after the signal, and may commit in it.
        let locked = is_locked() && {
            std::thread::sleep(Duration::from_millis(100));
            is_locked()
        };
        if !locked {
            signal(&child.child, "CONT");
        }
        locked
    });
    assert!(caught, "the process was never stopped in a transaction");
    let seller = sale.seller(service.clone(), |_| {});
    let start = SystemClock.monotonic();
    let error = seller.sell().unwrap_err();
    let waited = SystemClock.monotonic() - start;
    assert!(matches!(error, Error::Unavailable(_)) && error.code() == "unavailable", "{error:?}");
    assert!(waited < BOUND, "{waited:?}");
    // Reads go on.
    assert_eq!(service.get_organization(sale.organization).unwrap().id, sale.organization);
    signal(&child.child, "CONT");
    wait_until("the other process goes on", || seller.sell().is_ok());
    let mut acknowledged = Acknowledged::default();
    acknowledged.record(&first);
    TwoProcesses::end_child(child).iter().for_each(|report| acknowledged.record(report));
    acknowledged.assert_stored(&service, &service.act_for(sale.organization).unwrap());
    assert_consistent(&database);
}
