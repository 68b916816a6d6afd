//! Statistics of a time when tables were small, or nothing was pending. A statement about one row still finds it by its
//! id, and not by a scan of the table, or of all rows that are pending by now, which the planner believes to be none.

use std::time::Duration;

use postgres::Client;
use ticketing::environment::ManualClock;
use ticketing::order::{CreateOrder, NewCustomer};
use ticketing::payment::ManualMethod;
use ticketing::ticket_type::CreateTicketType;
use ticketing::webhook::{CreateWebhook, EventType, SenderOptions};
use ticketing::{Amount, PostgresDatabase, TicketingService};

use crate::common::cluster::Cluster;
use crate::common::transport::FakeTransport;
use crate::common::webhooks::wait_until;
use crate::postgres::sale::Sale;

/// How many orders are paid, and how many expire.
const PAID: usize = 180;
const EXPIRED: usize = 20;

/// The rows that have ended, of which there are many: copies of one order and of one notification.
const ENDED: &str = "
    INSERT INTO orders (id, organization_id, event_id, customer_id, customer_name, status, currency, total, completed_at,
        created_at, updated_at)
    SELECT o.id + n, organization_id, event_id, customer_id, customer_name, status, currency, total, completed_at,
        created_at, updated_at
    FROM orders o, GENERATE_SERIES(1, 5000) n;
    INSERT INTO webhook_outbox (id, endpoint_id, event_id, type, state, attempts, due_at, finished_at, created_at)
    SELECT o.id + n, endpoint_id, event_id, type, state, attempts, due_at, finished_at, created_at
    FROM webhook_outbox o, GENERATE_SERIES(1, 5000) n";

/// How often the indexes of what is pending were read: those of orders, and that of notifications. All other sessions
/// have to end before they are counted.
fn scans(client: &mut Client) -> [i64; 2] {
    wait_for_other_sessions(client);
    let of = |pending: &str| {
        let sql = "SELECT CAST(SUM(idx_scan) AS BIGINT) FROM pg_stat_user_indexes WHERE indexrelname ~ $1";
        client.query_one(sql, &[&pending]).unwrap().get(0)
    };
    ["^orders_(pending|held)", "^webhook_outbox_waiting"].map(of)
}

fn wait_for_other_sessions(client: &mut Client) {
    let sessions = "SELECT 1 FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
    wait_until("the sessions have ended", || client.query(sessions, &[]).unwrap().is_empty());
}

fn waiting(client: &mut Client) -> i64 {
    let sql = "SELECT (SELECT COUNT(*) FROM webhook_outbox WHERE state = 'WAITING')
        + (SELECT COUNT(*) FROM webhook_notifications WHERE organization_id IS NOT NULL)";
    client.query_one(sql, &[]).unwrap().get(0)
}

#[test]
fn payments_holds_and_webhooks_do_not_read_all_that_is_pending() {
    let Some(cluster) = Cluster::start("fsync = off\nautovacuum = off\nmax_connections = 200") else { return };
    let clock = ManualClock::new("2099-01-01T00:00:00Z".parse().unwrap());
    let open = || {
        let builder = TicketingService::postgres(PostgresDatabase::new(&cluster.url("postgres")).unwrap());
        let transport = FakeTransport::succeeding();
        builder.clock(clock.clone()).sandbox_gateway().webhook_transport(transport).open().unwrap()
    };
    let service = open();
    let sale = Sale::new(&service, "night", 100);
    let caller = service.act_for(sale.organization).unwrap();
    let seat = CreateTicketType::new("Paid seat", Amount::cents(1250), 1000);
    let seat = service.create_ticket_type(&caller, sale.event, seat).unwrap().id;
    let endpoint = CreateWebhook::new("https://example.com/", [EventType::OrderCompleted]);
    service.create_webhook(&caller, endpoint).unwrap();
    sale.order(&service, "ada@example.com").unwrap();
    let mut client = cluster.client("postgres");
    let sender = service.start_webhook_sender(SenderOptions::default()).unwrap();
    wait_until("the notification is delivered", || waiting(&mut client) == 0);
    drop((sender, service));
    let before = scans(&mut client);
    client.batch_execute(ENDED).unwrap();
    client.batch_execute("VACUUM ANALYZE").unwrap();

    let service = open();
    let order = |number| {
        let customer = NewCustomer::new("Ada", format!("ada{number}@example.com"));
        let created = service.create_order(&caller, CreateOrder::new(sale.event, customer, seat, 1)).unwrap();
        assert!(created.checkout_url.is_some());
        created.order.id
    };
    let orders: Vec<_> = (0..PAID + EXPIRED).map(order).collect();
    for order in &orders[..PAID] {
        service.mark_order_paid(&caller, *order, ManualMethod::Cash).unwrap();
    }
    clock.advance(Duration::from_hours(1));
    assert_eq!(service.run_maintenance().unwrap().expired_orders, EXPIRED);
    assert_eq!(waiting(&mut client), 180);
    // Without threads, which read the list of what is due more often, the busier the machine is.
    while waiting(&mut client) > 0 {
        service.deliver_due_webhooks().unwrap();
    }
    drop(service);
    let after = scans(&mut client);
    let [of_orders, of_notifications] = [after[0] - before[0], after[1] - before[1]];
    // Each attempt reads the list of what is due twice. To read all that is pending for it would be another 180 times.
    assert!(of_orders < 10, "{of_orders} scans for {PAID} payments and {EXPIRED} holds");
    assert!(of_notifications < 480, "{of_notifications} scans for {PAID} notifications");
}

#[test]
fn orders_do_not_read_tables_as_a_whole_that_were_small() {
    let Some(cluster) = Cluster::start("fsync = off\nautovacuum = off\nmax_connections = 200") else { return };
    let open = || TicketingService::postgres(PostgresDatabase::new(&cluster.url("postgres")).unwrap()).open().unwrap();
    let service = open();
    let sale = Sale::new(&service, "night", 100);
    sale.order(&service, "ada@example.com").unwrap();
    drop(service);
    let mut client = cluster.client("postgres");
    client.batch_execute("VACUUM ANALYZE").unwrap();
    let whole_tables = |client: &mut Client| -> i64 {
        let sql = "SELECT CAST(SUM(seq_scan) AS BIGINT) FROM pg_stat_user_tables
            WHERE relname IN ('customers', 'events', 'ticket_types', 'orders')";
        client.query_one(sql, &[]).unwrap().get(0)
    };
    wait_for_other_sessions(&mut client);
    let before = whole_tables(&mut client);
    let service = open();
    for number in 0..20 {
        sale.order(&service, &format!("{number}@example.com")).unwrap();
    }
    drop(service);
    wait_for_other_sessions(&mut client);
    // Opening the database reads the newest id.
    let read = whole_tables(&mut client) - before;
    assert!(read < 10, "{read} tables were read as a whole for 20 orders");
}
