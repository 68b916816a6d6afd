//! Connections that are terminated, PostgreSQL servers that crash, and servers that are killed, while orders are
//! placed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::common::cluster::Cluster;
use crate::common::long_runs::repetitions;
use crate::common::processes::{ChildProcess, child_process, child_role, child_variable, next_message, send_to_parent};
use crate::postgres::clusters::{crash, start};
use crate::postgres::sale::{Attempts, PAUSE, Sale, assert_clean, assert_not_oversold, open};

const CHILD: &str = concat!(module_path!(), "::a_child_process_sells_until_it_is_killed");
const THREADS: usize = 4;
/// How often an order is tried after the database was started again.
const MAX_PROBES: u32 = 200;

/// Tells the sellers to end.
struct EndOnDrop<'a>(&'a AtomicBool);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Orders on two events, with two services, while `disturb` runs.
fn sell_while(cluster: &Cluster, disturb: impl FnOnce(&dyn Fn())) -> Attempts {
    let services = [open(&cluster.url("postgres")), open(&cluster.url("postgres"))];
    let sales = [Sale::new(&services[0], "first", 100_000), Sale::new(&services[0], "second", 100_000)];
    let ends = AtomicBool::new(false);
    let attempts = std::thread::scope(|scope| {
        let sellers: Vec<_> = (0..2 * 2 * THREADS)
            .map(|number| {
                let (sale, service, ends) = (&sales[number % 2], &services[number / 2 % 2], &ends);
                scope.spawn(move || sale.order_until(service, &format!("seller-{number}"), ends))
            })
            .collect();
        // Also if `disturb` panics: the scope waits for the sellers.
        let _ends = EndOnDrop(&ends);
        // A read on a connection that was lost a moment ago fails, and the next one has a new connection.
        let all_work = || {
            for (sale, service) in sales.iter().zip(&services) {
                let order = |_| {
                    let ordered = sale.order(service, "probe@example.com");
                    ordered.inspect_err(|_| std::thread::sleep(PAUSE)).is_ok()
                };
                assert!((0..MAX_PROBES).any(order), "the service does not serve again");
            }
        };
        disturb(&all_work);
        ends.store(true, Ordering::Relaxed);
        let mut all = Attempts::default();
        sellers.into_iter().for_each(|seller| all.append(seller.join().unwrap()));
        all
    });
    assert_clean(&services[0]);
    attempts
}

#[test]
fn connections_that_are_terminated_at_random_lose_no_order_and_double_none() {
    let Some(cluster) = start() else { return };
    let attempts = sell_while(&cluster, |_| {
        let mut client = cluster.client("postgres");
        let terminate = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE application_name = 'ticketing' AND state <> 'idle' ORDER BY RANDOM() LIMIT 1";
        let mut terminated = 0;
        while terminated < repetitions("TICKETING_TERMINATIONS", 100) {
            terminated += u64::try_from(client.query(terminate, &[]).unwrap().len()).unwrap();
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    assert!(!attempts.acknowledged.is_empty());
    attempts.assert_stored(&mut cluster.client("postgres"), "terminated connections");
}

#[test]
fn a_database_that_crashes_and_starts_again_has_every_acknowledged_order_once() {
    let Some(cluster) = start() else { return };
    let attempts = sell_while(&cluster, |all_work| {
        for _ in 0..repetitions("TICKETING_DATABASE_CRASHES", 4) {
            std::thread::sleep(Duration::from_millis(300));
            crash(&cluster);
            cluster.run();
            // Without a restart of the services.
            all_work();
        }
    });
    attempts.assert_stored(&mut cluster.client("postgres"), "crashes of the database");
}

#[test]
#[ignore = "other tests start it"]
fn a_child_process_sells_until_it_is_killed() {
    child_role();
    let service = open(&child_variable("TICKETING_TEST_URL"));
    let id = |name| child_variable(name);
    let sale = Sale {
        organization: id("TICKETING_TEST_ORGANIZATION").parse().unwrap(),
        event: id("TICKETING_TEST_EVENT").parse().unwrap(),
        ticket_type: id("TICKETING_TEST_TICKET_TYPE").parse().unwrap(),
    };
    std::thread::scope(|scope| {
        for seller in 0..THREADS {
            let (service, sale) = (&service, &sale);
            scope.spawn(move || {
                for number in 0.. {
                    let email = format!("{}-{seller}-{number}@example.com", child_variable("TICKETING_TEST_NAME"));
                    sale.order(service, &email).unwrap();
                    send_to_parent(email);
                }
            });
        }
    });
}

#[test]
fn servers_that_are_killed_leave_every_acknowledged_order_and_no_lock() {
    let Some(cluster) = start() else { return };
    let service = open(&cluster.url("postgres"));
    let sale = Sale::new(&service, "event", 1_000_000);
    let mut all = Attempts::default();
    for round in 0..repetitions("TICKETING_SERVER_KILLS", 50) {
        let mut command = child_process(CHILD, "sell");
        command
            .env("TICKETING_TEST_URL", cluster.url("postgres"))
            .env("TICKETING_TEST_ORGANIZATION", sale.organization.to_string())
            .env("TICKETING_TEST_EVENT", sale.event.to_string())
            .env("TICKETING_TEST_TICKET_TYPE", sale.ticket_type.to_string())
            .env("TICKETING_TEST_NAME", format!("round-{round}"));
        let mut server = ChildProcess::start(command);
        // On a busy machine the first order may take longer than the sale.
        all.acknowledged.push(server.next_message().unwrap());
        std::thread::scope(|scope| {
            let ChildProcess { child, lines } = &mut server;
            scope.spawn(move || {
                std::thread::sleep(Duration::from_millis(20 + round * 7919 % 100));
                child.kill().unwrap();
            });
            all.acknowledged.extend(std::iter::from_fn(|| next_message(lines)));
        });
        assert!(!server.finish().status.success(), "it was killed");
        sale.order(&service, &format!("after-{round}@example.com")).unwrap();
    }
    all.assert_stored(&mut cluster.client("postgres"), "killed servers");
    assert_not_oversold(&mut cluster.client("postgres"));
    assert_clean(&service);
}
