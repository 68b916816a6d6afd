//! A process that sells and sends webhooks is killed at random moments. What it acknowledged is stored, each change was
//! reported at least once, and nothing else was reported.
//!
//! `TICKETING_WEBHOOK_KILLS` is the number of kills, by default 12.

use std::time::Duration;

use crate::common::long_runs::{first_seed, repetitions};
use crate::common::outbox;
use crate::common::processes::{ChildProcess, child_role, next_message, send_to_parent};
use crate::common::random::Random;
use crate::common::receiver::{MockResponse, WebhookReceiver};
use crate::common::seller::{Acknowledged, Sale, Seller};
use crate::common::threads::run_at_once;
use crate::common::webhooks::*;
use crate::common::*;
use crate::webhooks::receipts::Receipts;
use ticketing::environment::{Clock, ManualClock, SystemClock};
use ticketing::webhook::{CreateWebhook, SenderOptions};

const CHILD: &str = concat!(module_path!(), "::a_child_process_sells_and_sends");
const THREADS: usize = 3;

#[test]
#[ignore = "other tests start it"]
fn a_child_process_sells_and_sends() {
    child_role();
    let with_sender = |builder: ticketing::Builder| {
        builder.allow_local_webhooks(true).webhook_sender(SenderOptions::default().workers(8).workers_per_endpoint(4))
    };
    let seller = Seller::of_child(with_sender, send_to_parent);
    run_at_once(THREADS, |_| {
        loop {
            seller.sell().unwrap();
        }
    });
}

/// Creates a sale whose notifications go to the receiver.
fn new_sale(receiver: &WebhookReceiver) -> Sale {
    let fixture = Fixture::with_gateway(|builder| builder.allow_local_webhooks(true));
    let new = CreateWebhook::new(receiver.url("/hook"), outbox::SALE_NOTIFICATIONS);
    fixture.service.create_webhook(&fixture.caller, new).unwrap();
    Sale::prepare(fixture)
}

/// Sells in a child process, and kills it after a while: at the earliest when the receiver has got a request.
fn sell_and_kill(sale: &Sale, receiver: &WebhookReceiver, acknowledged: &mut Acknowledged, lifetime: Duration) {
    let mut seller = ChildProcess::start(sale.child(CHILD, "sell"));
    acknowledged.record(&seller.next_message().expect("a first change"));
    std::thread::scope(|scope| {
        let ChildProcess { child, lines } = &mut seller;
        scope.spawn(move || {
            receiver.wait_for(1);
            std::thread::sleep(lifetime);
            child.kill().unwrap();
        });
        while let Some(message) = next_message(lines) {
            acknowledged.record(&message);
        }
    });
    assert!(!seller.finish().status.success(), "it was killed");
}

#[test]
fn after_kills_every_acknowledged_change_is_reported_at_least_once_and_nothing_else() {
    let seed = first_seed();
    eprintln!("seed {seed}");
    let mut random = Random::new(seed);
    let receiver = WebhookReceiver::start();
    let sale = new_sale(&receiver);
    let mut acknowledged = Acknowledged::default();
    let kills = repetitions("TICKETING_WEBHOOK_KILLS", 12);
    for _ in 0..kills {
        for _ in 0..random.below(4) {
            receiver.enqueue(MockResponse::Status(500));
        }
        let lifetime = Duration::from_millis(u64::try_from(random.below(400)).unwrap());
        sell_and_kill(&sale, &receiver, &mut acknowledged, lifetime);
    }
    let before = receiver.requests().len();

    // After the leases of the interrupted attempts.
    let clock = ManualClock::new(SystemClock.now().saturating_add(LEASE + LEASE_SPREAD));
    let builder = database::builder(&sale.path).clock(clock.clone()).sandbox_gateway();
    let service = builder.allow_local_webhooks(true).open().unwrap();
    let database = Database::open(&sale.path);
    let waiting = || -> i64 {
        database.value(
            "SELECT (SELECT COUNT(*) FROM webhook_outbox WHERE state = 'WAITING')
        + (SELECT COUNT(*) FROM webhook_notifications WHERE organization_id IS NOT NULL)",
        )
    };
    let sender = service.start_webhook_sender(SenderOptions::default()).unwrap();
    while waiting() > 0 {
        let due = format!(
            "SELECT COUNT(*) FROM webhook_outbox WHERE state = 'WAITING' AND due_at <= {}",
            clock.now().millis()
        );
        wait_until_none("notifications that are due", || database.value(&due));
        // Failed attempts are repeated later.
        clock.advance(Duration::from_mins(2));
    }
    drop(sender);
    acknowledged.assert_stored(&service, &service.act_for(sale.organization).unwrap());
    assert!(service.check().unwrap().is_clean());
    outbox::assert_one_notification_each(&database);
    let rows = outbox::rows(&database);
    let receipts = Receipts::compare(&rows, &receiver.requests());
    assert_eq!((receipts.missing, receipts.unknown), (0, 0), "{receipts:?}");
    let orders = acknowledged.orders.len();
    eprintln!("{orders} orders over {kills} kills, {} notifications, {before} requests before", rows.len());
    eprintln!("{} requests were repeated", receipts.repeated);
}
