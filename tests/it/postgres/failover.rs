//! A primary with a synchronous standby, which is promoted when the primary was killed under load.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ticketing::environment::{Clock, SystemClock};

use crate::common::cluster::Cluster;
use crate::common::long_runs::repetitions;
use crate::postgres::clusters::{crash, start, start_synchronous_standby, url_of_both};
use crate::postgres::sale::{Attempts, PAUSE, Sale, assert_clean, open};

/// How long it may take on a busy machine until orders succeed again.
const MAX_OUTAGE: Duration = Duration::from_secs(60);

#[test]
fn a_failover_loses_no_acknowledged_order_and_servers_serve_again_by_themselves() {
    fail_over("killed", crash);
}

#[test]
fn a_primary_that_is_stopped_with_its_connections_is_left_for_the_standby() {
    fail_over("stopped", Cluster::freeze);
}

/// Sells through two services while the primary is lost, and its standby is promoted.
fn fail_over(how: &str, lose: impl Fn(&Cluster)) {
    for round in 1..=repetitions("TICKETING_FAILOVERS", 1) {
        let Some(primary) = start() else { return };
        let standby = start_synchronous_standby(&primary);
        let url = url_of_both(&primary, &standby);
        let services = [open(&url), open(&url)];
        let sale = Sale::new(&services[0], "event", 1_000_000);
        let (serves, ends) = (AtomicBool::new(false), AtomicBool::new(false));
        let mut all = Attempts::default();
        let outage = std::thread::scope(|scope| {
            let sellers: Vec<_> = (0..16)
                .map(|number| {
                    let (sale, service, ends) = (&sale, &services[number % 2], &ends);
                    scope.spawn(move || sale.order_until(service, &format!("seller-{number}"), ends))
                })
                .collect();
            std::thread::sleep(Duration::from_secs(1));
            lose(&primary);
            standby.promote();
            let promoted = SystemClock.monotonic();
            // A service that does not leave the primary waits for it without an end.
            let (serves, stopped) = (&serves, &primary);
            scope.spawn(move || {
                while !serves.load(Ordering::Relaxed) && SystemClock.monotonic() - promoted < MAX_OUTAGE {
                    std::thread::sleep(PAUSE);
                }
                if !serves.load(Ordering::Relaxed) {
                    stopped.unfreeze();
                }
            });
            for service in &services {
                while sale.order(service, "probe@example.com").is_err() {
                    std::thread::sleep(PAUSE);
                }
            }
            let outage = SystemClock.monotonic() - promoted;
            serves.store(true, Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(500));
            ends.store(true, Ordering::Relaxed);
            sellers.into_iter().for_each(|seller| all.append(seller.join().unwrap()));
            outage
        });
        assert!(outage < MAX_OUTAGE, "{outage:?} until it served again");
        assert!(!all.acknowledged.is_empty());
        all.assert_stored(
            &mut standby.client("postgres"),
            &format!("failover {round}, primary {how}, {outage:?} until it served again"),
        );
        assert_clean(&services[0]);
    }
}
