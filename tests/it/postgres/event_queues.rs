//! Each event has a queue of its own: what waits for one event does not delay the others.

use std::sync::mpsc::channel;
use std::sync::{Barrier, Mutex};
use std::time::Duration;

use postgres::Client;
use ticketing::discount::CreateDiscount;
use ticketing::environment::ManualClock;
use ticketing::error::Unavailable;
use ticketing::event::{CreateEvent, EventSettings, EventStatus, UpdateEvent};
use ticketing::order::{CreateOrder, CreateOrderResponse, NewCustomer};
use ticketing::payment::ManualMethod;
use ticketing::ticket_type::CreateTicketType;
use ticketing::{Amount, Error, PostgresDatabase, TicketingService};

use crate::common::cluster::Cluster;
use crate::postgres::clusters::start;
use crate::postgres::sale::{Sale, assert_clean, open};

/// Locks the events with these slugs in a session of its own, until the client is dropped.
fn lock(cluster: &Cluster, slugs: &[String]) -> Client {
    let mut client = cluster.client("postgres");
    client.batch_execute("BEGIN").unwrap();
    let locked = client.execute("SELECT id FROM events WHERE slug = ANY ($1) FOR NO KEY UPDATE", &[&slugs]).unwrap();
    assert_eq!(locked, u64::try_from(slugs.len()).unwrap());
    client
}

/// Adds a ticket type for 10.00, and returns what orders one seat of it.
fn paid_seats(
    service: &TicketingService,
    sale: &Sale,
) -> impl Fn(&TicketingService, &str) -> Result<CreateOrderResponse, Error> {
    let caller = service.act_for(sale.organization).unwrap();
    let request = CreateTicketType::new("Front", Amount::whole(10), 1000);
    let ticket_type = service.create_ticket_type(&caller, sale.event, request).unwrap().id;
    let event = sale.event;
    move |service, email| {
        service.create_order(&caller, CreateOrder::new(event, NewCustomer::new("Ada", email), ticket_type, 1))
    }
}

fn is_busy<T>(result: &Result<T, Error>) -> bool {
    matches!(result, Err(Error::Unavailable(Unavailable::Busy)))
}

#[test]
fn a_call_that_names_the_event_of_another_organization_does_not_wait_for_its_lock() {
    let Some(cluster) = start() else { return };
    let service = open(&cluster.url("postgres"));
    let sale = Sale::new(&service, "event", 100);
    let owner = service.act_for(sale.organization).unwrap();
    let order = paid_seats(&service, &sale)(&service, "ada@example.com").unwrap().order.id;
    let discount = CreateDiscount::percentage("EARLY", 10).event(sale.event);
    let discount = service.create_discount(&owner, discount).unwrap().id;
    let other = Sale::new(&service, "other", 100);
    let caller = service.act_for(other.organization).unwrap();

    let held = lock(&cluster, &["event".to_owned()]);
    let foreign_event = Sale { organization: other.organization, ..sale };
    let ordered = foreign_event.order(&service, "eve@example.com");
    assert!(matches!(ordered, Err(Error::Validation(_))), "{ordered:?}");
    let changes = [
        service.update_event(&caller, sale.event, UpdateEvent::default()).map(drop),
        service.update_event_settings(&caller, sale.event, EventSettings::default()).map(drop),
        service.delete_event(&caller, sale.event),
        service.delete_ticket_type(&caller, sale.ticket_type),
        service.delete_discount(&caller, discount),
        service.cancel_order(&caller, order).map(drop),
        service.mark_order_paid(&caller, order, ManualMethod::Cash).map(drop),
        service.mark_checkout_reminder_sent(&caller, order).map(drop),
        service.payment_failed(&caller, order).map(drop),
        service.renew_checkout(&caller, order).map(drop),
    ];
    for (number, change) in changes.iter().enumerate() {
        assert!(matches!(change, Err(Error::NotFound(_))), "{number}: {change:?}");
    }
    drop(held);
    assert_clean(&service);
}

#[test]
fn an_event_that_stays_locked_does_not_keep_the_holds_of_others_from_expiring() {
    let Some(cluster) = start() else { return };
    let clock = ManualClock::new("2099-01-01T00:00:00Z".parse().unwrap());
    let service = TicketingService::postgres(PostgresDatabase::new(&cluster.url("postgres")).unwrap());
    let service = service.clock(clock.clone()).sandbox_gateway().open().unwrap();
    // Events with lower and higher ids than that of the locked one.
    let sales: Vec<_> = ["a", "b", "locked", "c"].iter().map(|slug| Sale::new(&service, slug, 100)).collect();
    for sale in &sales {
        paid_seats(&service, sale)(&service, "ada@example.com").unwrap();
    }
    clock.advance(Duration::from_secs(2 * 3600));

    let held = lock(&cluster, &["locked".to_owned()]);
    let report = service.run_maintenance().unwrap();
    assert_eq!((report.expired_orders, report.skipped_rows), (3, 0));
    sales[0].order(&service, "eve@example.com").unwrap();
    drop(held);
    assert_eq!(service.run_maintenance().unwrap().expired_orders, 1);
    assert_clean(&service);
}

fn page_views(service: &TicketingService, sale: &Sale) -> i64 {
    let caller = service.act_for(sale.organization).unwrap();
    service.get_event(&caller, sale.event).unwrap().page_views
}

#[test]
fn page_views_do_not_wait_for_the_lock_of_their_event_and_none_is_lost() {
    const VIEWS: i64 = 300;
    let Some(cluster) = start() else { return };
    let service = open(&cluster.url("postgres"));
    let sales = ["a", "locked", "c"].map(|slug| Sale::new(&service, slug, 100));
    let held = lock(&cluster, &["locked".to_owned()]);
    for sale in &sales {
        let caller = service.act_for(sale.organization).unwrap();
        // One that waited for the lock would fail.
        (0..VIEWS).for_each(|_| service.record_page_view(&caller, sale.event).unwrap());
    }
    service.run_maintenance().unwrap();
    assert_eq!(sales.map(|sale| page_views(&service, &sale)), [VIEWS, 0, VIEWS]);
    drop(held);
    service.run_maintenance().unwrap();
    assert_eq!(page_views(&service, &sales[1]), VIEWS);
    service.run_maintenance().unwrap();
    assert_eq!(page_views(&service, &sales[1]), VIEWS, "they are stored once");
}

#[test]
fn a_locked_ticket_type_does_not_keep_the_holds_of_other_events_from_expiring() {
    let Some(cluster) = start() else { return };
    let clock = ManualClock::new("2099-01-01T00:00:00Z".parse().unwrap());
    let service = TicketingService::postgres(PostgresDatabase::new(&cluster.url("postgres")).unwrap());
    let service = service.clock(clock.clone()).sandbox_gateway().open().unwrap();
    let sales: Vec<_> = ["a", "locked", "c"].iter().map(|slug| Sale::new(&service, slug, 100)).collect();
    for sale in &sales {
        paid_seats(&service, sale)(&service, "ada@example.com").unwrap();
    }
    clock.advance(Duration::from_secs(2 * 3600));

    let mut held = cluster.client("postgres");
    held.batch_execute("BEGIN").unwrap();
    let types =
        "SELECT t.id FROM ticket_types t JOIN events e ON e.id = t.event_id WHERE e.slug = 'locked' FOR UPDATE OF t";
    held.execute(types, &[]).unwrap();
    assert_eq!(service.run_maintenance().unwrap().expired_orders, 2);
    drop(held);
    assert_eq!(service.run_maintenance().unwrap().expired_orders, 1);
    assert_clean(&service);
}

#[test]
fn orders_through_the_gateway_share_the_transactions_that_record_their_links() {
    const CALLERS: usize = 32;
    const ORDERS: usize = 4;
    // A commit takes as long as with a standby in another zone.
    let Some(cluster) = Cluster::start("fsync = on\ncommit_delay = 5000\ncommit_siblings = 0") else { return };
    let service = open(&cluster.url("postgres"));
    let sale = Sale::new(&service, "event", 100);
    let order = paid_seats(&service, &sale);
    let mut client = cluster.client("postgres");
    let mut transactions =
        || client.query_one("SELECT COUNT(*) FROM transaction_tokens", &[]).unwrap().get::<_, i64>(0);
    let before = transactions();
    std::thread::scope(|scope| {
        for caller in 0..CALLERS {
            let (service, order) = (&service, &order);
            scope.spawn(move || {
                for number in 0..ORDERS {
                    let created = order(service, &format!("{caller}-{number}@example.com")).unwrap();
                    assert!(created.checkout_url.is_some());
                }
            });
        }
    });
    let needed = usize::try_from(transactions() - before).unwrap();
    // Each order would need one of its own, and few share one on a machine that is busy with something else.
    assert!(needed < CALLERS * ORDERS * 3 / 4, "{needed} transactions for {} orders", CALLERS * ORDERS);
    assert_clean(&service);
}

#[test]
fn jobs_that_wait_behind_one_that_has_waited_for_a_lock_in_vain_are_refused_with_it() {
    const CALLERS: usize = 40;
    let Some(cluster) = start() else { return };
    let service = open(&cluster.url("postgres"));
    let sale = Sale::new(&service, "event", 1000);
    // Undoes a group, because the statement fails after its job. Until then it waits for the test.
    cluster
        .client("postgres")
        .batch_execute(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                PERFORM pg_advisory_lock(1); PERFORM pg_advisory_unlock(1);
                IF NEW.customer_name = 'Eve' THEN RAISE EXCEPTION 'not Eve'; END IF; RETURN NEW; END $$;
            CREATE TRIGGER refuse BEFORE INSERT ON tickets FOR EACH ROW EXECUTE FUNCTION refuse()",
        )
        .unwrap();
    let mut gate = cluster.client("postgres");
    gate.batch_execute("SELECT pg_advisory_lock(1)").unwrap();
    let waiting = |what: &str, number: i64| {
        let sql = "SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE $1";
        let mut client = cluster.client("postgres");
        while client.query_one(sql, &[&what]).unwrap().get::<_, i64>(0) < number {
            std::thread::yield_now();
        }
    };
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        let (service, results) = (&service, &results);
        let (answered, answers) = channel();
        for number in 0..CALLERS {
            let answered = answered.clone();
            scope.spawn(move || {
                let customer = NewCustomer::new("Eve", format!("{number}@example.com"));
                let caller = service.act_for(sale.organization).unwrap();
                let result = service.create_order(&caller, CreateOrder::new(sale.event, customer, sale.ticket_type, 1));
                let _ = answered.send(is_busy(&result));
                results.lock().unwrap().push(result.map(drop));
            });
        }
        waiting("%tickets%", 1);
        // A session that gets the lock of the event as soon as the group is undone.
        let cluster = &cluster;
        let (locked, is_locked) = channel();
        let holder = scope.spawn(move || {
            let held = lock(cluster, &["event".to_owned()]);
            locked.send(()).unwrap();
            held
        });
        waiting("%FOR NO KEY UPDATE%", 1);
        gate.batch_execute("SELECT pg_advisory_unlock(1)").unwrap();
        is_locked.recv().unwrap();
        // Until the session has the lock, jobs of the group may be faster.
        drop(answered);
        assert!(answers.iter().any(|is_busy| is_busy));
        drop(holder.join().unwrap());
    });
    let results = results.into_inner().unwrap();
    let before = results.iter().take_while(|result| !is_busy(result)).count();
    let busy = results.iter().filter(|result| is_busy(result)).count();
    assert!(
        busy > 1 && before + busy == CALLERS,
        "{busy} after {before} were refused because of the lock: {results:?}"
    );
}

#[test]
fn jobs_that_have_waited_for_a_connection_as_long_as_their_leader_fail_with_it() {
    /// An organization alone gets 12 connections, each for 10 seconds: the second half waits for the first one.
    const LOCKED: usize = 24;
    const WAITING: usize = 4;
    let Some(cluster) = start() else { return };
    let service = open(&cluster.url("postgres"));
    let sale = Sale::new(&service, "event", 100);
    let caller = service.act_for(sale.organization).unwrap();
    let slugs: Vec<_> = (0..LOCKED).map(|number| format!("locked-{number}")).collect();
    let add_event = |slug: &String| {
        let mut event = CreateEvent::new("Summer Night", slug, "2100-07-01T18:00:00Z".parse().unwrap());
        event.status = Some(EventStatus::Published);
        service.create_event(&caller, event).unwrap().id
    };
    let events: Vec<_> = slugs.iter().map(add_event).collect();
    let held = lock(&cluster, &slugs);
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        let (service, caller, results) = (&service, &caller, &results);
        for event in events {
            scope.spawn(move || service.update_event_settings(caller, event, EventSettings::default().tags(["jazz"])));
        }
        while service.statistics().commits.jobs_waiting < LOCKED {
            std::thread::yield_now();
        }
        for number in 0..WAITING {
            scope.spawn(move || {
                let result = sale.order(service, &format!("{number}@example.com"));
                results.lock().unwrap().push(result);
            });
        }
    });
    drop(held);
    let results = results.into_inner().unwrap();
    assert_eq!(results.iter().filter(|result| is_busy(result)).count(), WAITING, "{results:?}");
    sale.order(&service, "later@example.com").unwrap();
}

/// Two events of one organization.
fn two_sales(service: &TicketingService) -> [Sale; 2] {
    let first = Sale::new(service, "first", 10_000);
    let caller = service.act_for(first.organization).unwrap();
    let mut event = CreateEvent::new("Winter Night", "second", "2100-12-01T18:00:00Z".parse().unwrap());
    event.status = Some(EventStatus::Published);
    let event = service.create_event(&caller, event).unwrap().id;
    let request = CreateTicketType::new("Seat", Amount::cents(0), 10_000);
    let ticket_type = service.create_ticket_type(&caller, event, request).unwrap().id;
    [first, Sale { event, ticket_type, ..first }]
}

/// Asserts that the server has resolved no deadlock.
fn assert_no_deadlock(service: TicketingService, cluster: &Cluster) {
    assert_clean(&service);
    // A connection reports what it has counted when it ends.
    service.close(Duration::from_secs(5)).unwrap();
    let sql = "SELECT deadlocks FROM pg_stat_database WHERE datname = 'postgres'";
    assert_eq!(cluster.client("postgres").query_one(sql, &[]).unwrap().get::<_, i64>(0), 0);
}

#[test]
fn orders_of_the_same_customers_for_two_events_end_in_no_deadlock() {
    const CUSTOMERS: usize = 20;
    let Some(cluster) = Cluster::start("fsync = on\ndeadlock_timeout = 20ms") else { return };
    let service = open(&cluster.url("postgres"));
    let sales = two_sales(&service);
    let caller = service.act_for(sales[0].organization).unwrap();
    let order = |sale: &Sale, customer: usize, number: usize| {
        let mut customer = NewCustomer::new("Ada", format!("{customer}@example.com"));
        customer.metadata = Some([("number".to_owned(), number.to_string())].into_iter().collect());
        service.create_order(&caller, CreateOrder::new(sale.event, customer, sale.ticket_type, 1)).unwrap();
    };
    (0..CUSTOMERS).for_each(|customer| order(&sales[0], customer, 0));
    std::thread::scope(|scope| {
        for thread in 0..24 {
            let (sale, order) = (&sales[thread % 2], &order);
            scope.spawn(move || {
                for number in 1..=CUSTOMERS {
                    // The two events have the customers in opposite orders.
                    let customer = (thread + number) % CUSTOMERS;
                    let customer = if thread % 2 == 0 { customer } else { CUSTOMERS - 1 - customer };
                    order(sale, customer, thread * CUSTOMERS + number);
                }
            });
        }
    });
    drop(caller);
    assert_no_deadlock(service, &cluster);
}

#[test]
fn orders_of_new_customers_for_two_events_end_in_no_deadlock() {
    const CUSTOMERS: usize = 16;
    const ROUNDS: usize = 20;
    let Some(cluster) = Cluster::start("fsync = on\ndeadlock_timeout = 20ms\nmax_connections = 200") else { return };
    // Two servers: each has a group of each event.
    let services = [open(&cluster.url("postgres")), open(&cluster.url("postgres"))];
    let sales = two_sales(&services[0]);
    let all_ready = Barrier::new(4 * CUSTOMERS);
    std::thread::scope(|scope| {
        for thread in 0..4 * CUSTOMERS {
            let (sale, service, all_ready) = (&sales[thread % 2], &services[thread / 2 % 2], &all_ready);
            // The two events have the customers in opposite orders.
            let customer = if thread % 2 == 0 { thread / 4 } else { CUSTOMERS - 1 - thread / 4 };
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    all_ready.wait();
                    sale.order(service, &format!("{round}-{customer}@example.com")).unwrap();
                }
            });
        }
    });
    let sql = "SELECT (SELECT COUNT(*) FROM customers), (SELECT COUNT(*) FROM orders)";
    let numbers = cluster.client("postgres").query_one(sql, &[]).unwrap();
    let [customers, orders] = [0, 1].map(|column| numbers.get::<_, i64>(column));
    assert_eq!(
        [customers, orders],
        [CUSTOMERS * ROUNDS, 4 * CUSTOMERS * ROUNDS].map(|number| i64::try_from(number).unwrap())
    );
    let [first, second] = services;
    second.close(Duration::from_secs(5)).unwrap();
    assert_no_deadlock(first, &cluster);
}
