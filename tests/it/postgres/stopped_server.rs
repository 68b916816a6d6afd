//! A server that is stopped while it holds the lock of an event.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use postgres::{Client, NoTls};
use ticketing::environment::{Clock, SystemClock};
use ticketing::{PostgresDatabase, TicketingService, Timestamp};

use crate::common::processes::{ChildProcess, child_process, child_role, child_variable, send_to_parent};
use crate::postgres::clusters::start;
use crate::postgres::sale::{Attempts, Sale, assert_clean, open};

const CHILD: &str = concat!(module_path!(), "::a_child_process_holds_the_lock_of_an_event");

/// A transaction that has locked an event and waits for its server.
const HOLDS_LOCK: &str =
    "SELECT 1 FROM pg_stat_activity WHERE state = 'idle in transaction' AND query LIKE '%EXECUTE lock_event%'";

/// A clock that stands still when a transaction reads it that has locked an event.
#[derive(Debug, Default)]
struct StoppingClock(AtomicBool);

impl Clock for &'static StoppingClock {
    fn now(&self) -> Timestamp {
        let url = || child_variable("TICKETING_TEST_URL");
        let is_held = || !Client::connect(&url(), NoTls).unwrap().query(HOLDS_LOCK, &[]).unwrap().is_empty();
        if self.0.load(Ordering::Relaxed) && is_held() {
            send_to_parent("locked");
            std::thread::sleep(Duration::from_secs(3600));
        }
        SystemClock.now()
    }

    fn monotonic(&self) -> Duration {
        SystemClock.monotonic()
    }
}

static CLOCK: StoppingClock = StoppingClock(AtomicBool::new(false));

#[test]
#[ignore = "other tests start it"]
fn a_child_process_holds_the_lock_of_an_event() {
    child_role();
    let url = child_variable("TICKETING_TEST_URL");
    let service = TicketingService::postgres(PostgresDatabase::new(&url).unwrap())
        .clock(&CLOCK)
        .sandbox_gateway()
        .open()
        .unwrap();
    let sale = Sale {
        organization: child_variable("TICKETING_TEST_ORGANIZATION").parse().unwrap(),
        event: child_variable("TICKETING_TEST_EVENT").parse().unwrap(),
        ticket_type: child_variable("TICKETING_TEST_TICKET_TYPE").parse().unwrap(),
    };
    sale.order(&service, "before@example.com").unwrap();
    CLOCK.0.store(true, Ordering::Relaxed);
    sale.order(&service, "stopped@example.com").unwrap();
}

#[test]
fn a_stopped_server_that_holds_an_event_delays_only_that_event_until_its_lock_is_broken() {
    let Some(cluster) = start() else { return };
    let service = open(&cluster.url("postgres"));
    let (stopped, other) = (Sale::new(&service, "stopped", 100), Sale::new(&service, "other", 100));
    let mut command = child_process(CHILD, "stop");
    command
        .env("TICKETING_TEST_URL", cluster.url("postgres"))
        .env("TICKETING_TEST_ORGANIZATION", stopped.organization.to_string())
        .env("TICKETING_TEST_EVENT", stopped.event.to_string())
        .env("TICKETING_TEST_TICKET_TYPE", stopped.ticket_type.to_string());
    let mut child = ChildProcess::start(command);
    assert_eq!(child.next_message().as_deref(), Some("locked"));
    let signalled = Command::new("kill").args(["-STOP", &child.child.id().to_string()]).status();
    assert!(signalled.unwrap().success());
    assert_eq!(
        cluster.client("postgres").query(HOLDS_LOCK, &[]).unwrap().len(),
        1,
        "the stopped server holds the lock"
    );

    other.order(&service, "other@example.com").unwrap();
    let still = cluster.client("postgres").query(HOLDS_LOCK, &[]).unwrap().len();
    stopped.order(&service, "waiting@example.com").unwrap();
    assert!(cluster.client("postgres").query(HOLDS_LOCK, &[]).unwrap().is_empty(), "the lock is broken");
    assert_eq!(still, 1, "the other event was sold while the lock was held");
    drop(child);
    let acknowledged = ["before", "other", "waiting"].map(|name| format!("{name}@example.com")).to_vec();
    let failed = vec!["stopped@example.com".to_owned()];
    Attempts { acknowledged, failed, unknown: Vec::new() }
        .assert_stored(&mut cluster.client("postgres"), "a stopped server");
    assert_clean(&service);
}
