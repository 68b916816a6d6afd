//! `create_order`: a free order of one item and two tickets.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use ticketing::Amount;
use ticketing::order::{CreateOrder, NewCustomer};
use ticketing::ticket_type::CreateTicketType;

use crate::by_hand;
use crate::large_store::{LargeStore, email, scatter};
use crate::ratio::{Bench, median};

static NEXT: AtomicU64 = AtomicU64::new(0);

pub fn create_order(store: &LargeStore) {
    store.fixture.service.create_order(&store.fixture.caller, request(store)).expect("created");
}

pub fn request(store: &LargeStore) -> CreateOrder {
    let customer = NewCustomer::new("Ada Lovelace", email(scatter(NEXT.fetch_add(1, Ordering::Relaxed))));
    CreateOrder::new(store.event, customer, store.ticket_type, 2)
}

/// Calls `work` `count` times on `callers` threads, with the number of the caller.
pub fn spread(callers: u64, count: u64, work: impl Fn(u64) + Sync) {
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for caller in 0..callers.min(count) {
            let (next, work) = (&next, &work);
            scope.spawn(move || {
                while next.fetch_add(1, Ordering::Relaxed) < count {
                    work(caller);
                }
            });
        }
    });
}

pub fn bench(bench: &mut Bench) {
    let many = "create_order, 64 callers";
    let one = "create_order, 1 caller";
    let tail_latency = "create_order, 64 callers, p99 / p50";
    let paid = "payment_completed, 1 caller";
    if ![many, one, tail_latency, paid].iter().any(|name| bench.includes(name)) {
        return;
    }
    let ours = LargeStore::open();
    let hand = LargeStore::open();
    let mut by_hand = by_hand::Orders::new(&hand);
    let _folder = hand.fixture.close();
    if bench.includes(many) {
        bench.compare(
            many,
            64 * 80,
            |count| spread(64, count, |_| create_order(&ours)),
            |count| by_hand.write(count, 64),
        );
    }
    if bench.includes(one) {
        bench.compare(one, 400, |count| (0..count).for_each(|_| create_order(&ours)), |count| by_hand.write(count, 1));
    }
    if bench.includes(paid) {
        payments(bench, paid, &ours);
    }
    if bench.includes(tail_latency) {
        latencies(bench, tail_latency, &ours);
    }
}

/// `payment_completed` of an order of two tickets, beside `create_order`: the payment, its entry in the ledger, the
/// tickets.
fn payments(bench: &mut Bench, name: &str, store: &LargeStore) {
    const ROUND: u32 = 200;
    let service = &store.fixture.service;
    let caller = &store.fixture.caller;
    let seat = CreateTicketType::new("Seat", Amount::cents(1250), 1_000_000);
    let seat = service.create_ticket_type(caller, store.event, seat).expect("a type").id;
    let mut ratios = Vec::new();
    let mut of_payments = Vec::new();
    for _ in 0..15 {
        let orders: Vec<_> = (0..ROUND)
            .map(|_| {
                let mut order = request(store);
                order.items[0].ticket_type_id = seat;
                service.create_order(caller, order).expect("an order").order.id
            })
            .collect();
        let start = Instant::now();
        for order in orders {
            service.payment_completed(caller, order).expect("paid");
        }
        let paid = start.elapsed();
        let start = Instant::now();
        (0..ROUND).for_each(|_| create_order(store));
        ratios.push(start.elapsed().as_secs_f64() / paid.as_secs_f64());
        of_payments.push(paid.as_secs_f64() / f64::from(ROUND) * 1e6);
    }
    let (ratio, paid) = (median(&mut ratios), median(&mut of_payments));
    bench.report(format!("{name}: ratio {ratio:.2} to create_order ({paid:.1} µs each)"));
}

fn latencies(bench: &mut Bench, name: &str, store: &LargeStore) {
    let mut ratios = Vec::new();
    let mut line = String::new();
    for _ in 0..7 {
        let latencies_ms = std::sync::Mutex::new(Vec::new());
        spread(64, 64 * 200, |_| {
            let start = Instant::now();
            create_order(store);
            latencies_ms.lock().expect("no panic").push(start.elapsed().as_secs_f64() * 1e3);
        });
        let mut latencies_ms = latencies_ms.into_inner().expect("no panic");
        let p50 = median(&mut latencies_ms);
        let p99 = latencies_ms[latencies_ms.len() * 99 / 100];
        ratios.push(p99 / p50);
        line = format!("last round p50 {p50:.2} ms, p99 {p99:.2} ms");
    }
    let ratio = median(&mut ratios);
    bench.report(format!("{name}: {ratio:.2} ({line})"));
}
