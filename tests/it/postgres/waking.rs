//! Processes wake the background threads of each other.

use std::sync::mpsc::channel;

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

/// The backend in which the poller of a webhook sender waits for the lock of this table, and since when.
const WAITING_POLLER: &str = "SELECT pid, query_start::TEXT FROM pg_stat_activity
    WHERE query LIKE 'SELECT id FROM webhook_fan_outs LIMIT%' AND wait_event_type = 'Lock'";

fn waiting_poller(client: &mut impl postgres::GenericClient) -> Option<(i32, String)> {
    client.query(WAITING_POLLER, &[]).unwrap().first().map(|row| (row.get(0), row.get(1)))
}

#[test]
fn a_webhook_of_another_process_is_sent_without_waiting_for_the_poller() {
    let Some(cluster) = Cluster::start("") else { return };
    let url = cluster.create("hall");
    let (seller, sender) = (open(&url), open(&url));
    let shop = Shop::create(&seller);
    let receiver = WebhookReceiver::start();
    let webhook = CreateWebhook::new(receiver.url("/hook"), [EventType::OrderCompleted]);
    seller.create_webhook(&shop.caller, webhook).unwrap();
    let _guard = sender.start_webhook_sender(SenderOptions::default()).unwrap();
    shop.order(&seller, 1);
    receiver.wait_for(1);
    wait_until("the sender listens", || listener(&cluster).is_some());

    // The poller looks at this table last. While it waits for the lock, it finds nothing. It gives up after 5 seconds,
    // so that this may need several attempts on a busy machine.
    let mut client = cluster.client("hall");
    let mut observer = cluster.client("hall");
    let proven = (2..22).any(|orders| {
        let mut transaction = client.transaction().unwrap();
        transaction.batch_execute("LOCK TABLE webhook_fan_outs").unwrap();
        let mut before = None;
        wait_until("the poller waits", || {
            before = waiting_poller(&mut observer);
            before.is_some()
        });
        shop.order(&seller, 1);
        receiver.wait_for(orders);
        waiting_poller(&mut observer) == before
    });
    assert!(proven);
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
