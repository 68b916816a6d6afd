//! What the lock of an event is for.

use std::sync::Barrier;
use std::sync::atomic::AtomicBool;

use crate::common::cluster::Cluster;
use crate::postgres::clusters::start;
use crate::postgres::sale::{Attempts, Sale, assert_clean, open};

/// Two transactions that both read how many seats are left before one of them writes. Returns how many seats they have
/// sold of the last one.
fn sell_last_seat_twice(cluster: &Cluster, locks: bool) -> i64 {
    let mut client = cluster.client("postgres");
    client
        .batch_execute(
            "DROP TABLE IF EXISTS seats; CREATE TABLE seats (event BIGINT PRIMARY KEY, quantity BIGINT, sold BIGINT);
            DROP TABLE IF EXISTS sold; CREATE TABLE sold (seller BIGINT PRIMARY KEY); INSERT INTO seats VALUES (1, 1, 0)",
        )
        .unwrap();
    let both_have_read = Barrier::new(2);
    std::thread::scope(|scope| {
        for seller in 0..2_i64 {
            let (cluster, both_have_read) = (&cluster, &both_have_read);
            scope.spawn(move || {
                let mut client = cluster.client("postgres");
                let mut tx = client.transaction().unwrap();
                if locks {
                    tx.execute("SELECT event FROM seats WHERE event = 1 FOR NO KEY UPDATE", &[]).unwrap();
                }
                let left: i64 = tx.query_one("SELECT quantity - sold FROM seats WHERE event = 1", &[]).unwrap().get(0);
                if !locks {
                    both_have_read.wait();
                }
                if left > 0 {
                    tx.execute("INSERT INTO sold VALUES ($1)", &[&seller]).unwrap();
                    tx.execute("UPDATE seats SET sold = sold + 1 WHERE event = 1", &[]).unwrap();
                }
                tx.commit().unwrap();
            });
        }
    });
    client.query_one("SELECT COUNT(*) FROM sold", &[]).unwrap().get(0)
}

#[test]
fn control_without_the_lock_of_the_event_the_last_seat_is_sold_twice() {
    let Some(cluster) = start() else { return };
    assert_eq!(sell_last_seat_twice(&cluster, false), 2);
    assert_eq!(sell_last_seat_twice(&cluster, true), 1);
}

#[test]
fn three_servers_sell_each_of_the_last_seats_once() {
    const SEATS: i64 = 300;
    let Some(cluster) = start() else { return };
    let services = [open(&cluster.url("postgres")), open(&cluster.url("postgres")), open(&cluster.url("postgres"))];
    let sale = Sale::new(&services[0], "event", SEATS);
    let never = AtomicBool::new(false);
    let mut all = Attempts::default();
    std::thread::scope(|scope| {
        let sellers: Vec<_> = (0..12)
            .map(|number| {
                let (sale, service, never) = (&sale, &services[number % 3], &never);
                scope.spawn(move || sale.order_until(service, &format!("seller-{number}"), never))
            })
            .collect();
        sellers.into_iter().for_each(|seller| all.append(seller.join().unwrap()));
    });
    assert_eq!(all.acknowledged.len(), usize::try_from(SEATS).unwrap());
    all.assert_stored(&mut cluster.client("postgres"), "three servers");
    assert_clean(&services[0]);
}
