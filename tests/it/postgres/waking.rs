//! Processes wake the background threads of each other.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use ticketing::Timestamp;
use ticketing::environment::{Clock, SystemClock};
use ticketing::webhook::{CreateWebhook, EventType, SenderOptions};
use ticketing::{PostgresDatabase, TicketingService};

use crate::common::cluster::Cluster;
use crate::common::receiver::WebhookReceiver;
use crate::common::shop::Shop;
use crate::common::webhooks::wait_until;

fn open(url: &str) -> TicketingService {
    TicketingService::postgres(PostgresDatabase::new(url).unwrap()).allow_local_webhooks(true).open().unwrap()
}

/// The connection that listens. Its last statement is the one that checks it, which is empty, or the first one.
const LISTENER: &str = "SELECT pid FROM pg_stat_activity WHERE datname = 'hall' AND backend_type = 'client backend'
    AND query IN ('LISTEN ticketing', '') AND state = 'idle'";

fn listener(cluster: &Cluster) -> Option<i32> {
    cluster.client("hall").query(LISTENER, &[]).unwrap().first().map(|row| row.get(0))
}

/// A clock on which a search takes so long that the poller of a webhook sender looks every ten seconds.
#[derive(Debug, Default)]
struct SlowClock(AtomicU64);

impl Clock for SlowClock {
    fn now(&self) -> Timestamp {
        SystemClock.now()
    }

    fn monotonic(&self) -> Duration {
        SystemClock.monotonic() + Duration::from_millis(40 * self.0.fetch_add(1, Ordering::Relaxed))
    }
}

#[test]
fn a_webhook_of_another_process_is_sent_without_waiting_for_the_poller() {
    let Some(cluster) = Cluster::start("") else { return };
    let url = cluster.create("hall");
    let seller = open(&url);
    let builder = TicketingService::postgres(PostgresDatabase::new(&url).unwrap()).allow_local_webhooks(true);
    let sender = builder.clock(SlowClock::default()).open().unwrap();
    let shop = Shop::create(&seller);
    let receiver = WebhookReceiver::start();
    let webhook = CreateWebhook::new(receiver.url("/hook"), [EventType::OrderCompleted]);
    seller.create_webhook(&shop.caller, webhook).unwrap();
    let _guard = sender.start_webhook_sender(SenderOptions::default()).unwrap();
    wait_until("the sender listens", || listener(&cluster).is_some());
    // With the poller, five would take 50 seconds.
    let started = SystemClock.monotonic();
    for orders in 1..6 {
        shop.order(&seller, 1);
        receiver.wait_for(orders);
    }
    let duration = SystemClock.monotonic() - started;
    assert!(duration < Duration::from_secs(20), "{duration:?}");
}

#[test]
fn a_handler_is_called_for_the_order_of_another_process() {
    let Some(cluster) = Cluster::start("") else { return };
    let url = cluster.create("hall");
    let (called, calls) = channel();
    let builder = TicketingService::postgres(PostgresDatabase::new(&url).unwrap()).on_notification(
        "mail",
        move |_, notification| {
            called.send(notification.id)?;
            Ok(())
        },
    );
    let handling = builder.open().unwrap();
    let seller = open(&url);
    let shop = Shop::create(&seller);
    shop.order(&seller, 1);
    calls.recv_timeout(std::time::Duration::from_secs(60)).unwrap();
    drop(handling);
}

#[test]
fn a_process_listens_again_when_its_connection_was_lost() {
    let Some(cluster) = Cluster::start("") else { return };
    let url = cluster.create("hall");
    let (seller, sender) = (open(&url), open(&url));
    let shop = Shop::create(&seller);
    let receiver = WebhookReceiver::start();
    let webhook = CreateWebhook::new(receiver.url("/hook"), [EventType::OrderCompleted]);
    seller.create_webhook(&shop.caller, webhook).unwrap();
    let _guard = sender.start_webhook_sender(SenderOptions::default()).unwrap();
    wait_until("the sender listens", || listener(&cluster).is_some());
    let first = listener(&cluster).unwrap();
    cluster.client("hall").execute("SELECT pg_terminate_backend($1)", &[&first]).unwrap();
    shop.order(&seller, 1);
    receiver.wait_for(1);
    wait_until("the sender listens again", || listener(&cluster).is_some_and(|pid| pid != first));
    shop.order(&seller, 1);
    receiver.wait_for(2);
    cluster.stop();
    cluster.run();
    wait_until("the sender listens to the restarted server", || listener(&cluster).is_some());
    shop.order(&seller, 1);
    receiver.wait_for(3);
}
