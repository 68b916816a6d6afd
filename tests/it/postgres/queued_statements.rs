//! Statements that are sent together with the next one, instead of in a round trip of their own.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use ticketing::discount::CreateDiscount;
use ticketing::environment::{Entropy, SystemEntropy};
use ticketing::error::Reason;
use ticketing::id::TicketTypeId;
use ticketing::order::{CreateOrder, NewCustomer, NewOrderItem};
use ticketing::ticket::{CheckInTicket, ListTickets};
use ticketing::ticket_type::CreateTicketType;
use ticketing::{Amount, Error, PostgresDatabase, TicketingService};

use crate::common::cluster::Cluster;
use crate::postgres::clusters::start;
use crate::postgres::sale::{Sale, assert_clean, assert_not_oversold, open};

/// Creates a trigger that runs before each change of this kind, such as `INSERT ON orders`.
fn before(cluster: &Cluster, change: &str, body: &str) {
    let sql = format!(
        "CREATE FUNCTION before_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} RETURN NEW; END $$;
        CREATE TRIGGER before_change BEFORE {change} FOR EACH ROW EXECUTE FUNCTION before_change()"
    );
    cluster.client("postgres").batch_execute(&sql).unwrap();
}

#[test]
fn an_order_is_created_again_if_one_of_its_rows_was_not_inserted() {
    for table in ["orders", "order_items", "tickets"] {
        let Some(cluster) = start() else { return };
        let service = open(&cluster.url("postgres"));
        let sale = Sale::new(&service, "event", 100);
        cluster.client("postgres").batch_execute("CREATE SEQUENCE rows").unwrap();
        // As if the id were taken, which is no error of the statement. The sequence is not rolled back.
        before(&cluster, &format!("INSERT ON {table}"), "IF nextval('rows') = 1 THEN RETURN NULL; END IF;");

        let caller = service.act_for(sale.organization).unwrap();
        let ada = NewCustomer::new("Ada", "ada@example.com");
        let created = service.create_order(&caller, CreateOrder::new(sale.event, ada, sale.ticket_type, 2)).unwrap();
        assert_eq!(service.get_order(&caller, created.order.id).unwrap(), created.order, "{table}");
        assert_not_oversold(&mut cluster.client("postgres"));
        assert_clean(&service);
    }
}

#[test]
fn a_statement_that_fails_after_its_job_does_not_undo_the_other_orders_of_the_group() {
    let Some(cluster) = start() else { return };
    let service = open(&cluster.url("postgres"));
    let sale = Sale::new(&service, "event", 1000);
    before(&cluster, "INSERT ON tickets", "IF NEW.customer_name = 'Eve' THEN RAISE EXCEPTION 'not Eve'; END IF;");

    let (created, refused) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for caller in 0..12 {
            let (service, created, refused) = (&service, &created, &refused);
            scope.spawn(move || {
                for number in 0..10 {
                    let name = if caller % 4 == 0 && number % 3 == 0 { "Eve" } else { "Ada" };
                    let customer = NewCustomer::new(name, format!("{caller}-{number}@example.com"));
                    let request = CreateOrder::new(sale.event, customer, sale.ticket_type, 1);
                    let result = service.create_order(&service.act_for(sale.organization).unwrap(), request);
                    assert_eq!(result.is_ok(), name == "Ada", "{result:?}");
                    (if result.is_ok() { created } else { refused }).fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    let (created, refused) = (created.into_inner(), refused.into_inner());
    assert_eq!((created, refused), (108, 12));
    let mut client = cluster.client("postgres");
    let stored: i64 = client.query_one("SELECT COUNT(*) FROM tickets", &[]).unwrap().get(0);
    assert_eq!(stored, 108);
    assert_not_oversold(&mut client);
    assert_clean(&service);
}

/// Returns the URL of the same server behind a proxy, and how often a client sent something after the server's last
/// answer.
fn count_round_trips(cluster: &Cluster) -> (String, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = cluster
        .url("postgres")
        .replace(&format!(":{}/", cluster.port), &format!(":{}/", listener.local_addr().unwrap().port()));
    let round_trips = Arc::new(AtomicU64::new(0));
    let (counted, port) = (Arc::clone(&round_trips), cluster.port);
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let server = TcpStream::connect(("127.0.0.1", port)).unwrap();
            let answered = Arc::new(AtomicBool::new(true));
            let (from_server, to_client) = (server.try_clone().unwrap(), client.try_clone().unwrap());
            let (counted, has_answered) = (Arc::clone(&counted), Arc::clone(&answered));
            std::thread::spawn(move || {
                forward(client, server, || {
                    if has_answered.swap(false, Ordering::SeqCst) {
                        counted.fetch_add(1, Ordering::SeqCst);
                    }
                });
            });
            std::thread::spawn(move || forward(from_server, to_client, || answered.store(true, Ordering::SeqCst)));
        }
    });
    (format!("{url}?sslmode=disable"), round_trips)
}

/// Forwards everything, and calls `note` before each part.
fn forward(mut from: TcpStream, mut to: TcpStream, note: impl Fn()) {
    to.set_nodelay(true).unwrap();
    let mut buffer = vec![0; 1 << 20];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        note();
        if to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    drop(to.shutdown(std::net::Shutdown::Both));
}

#[test]
fn frequent_operations_cost_few_round_trips() {
    let Some(cluster) = start() else { return };
    let (url, round_trips) = count_round_trips(&cluster);
    let service = open(&url);
    let sale = Sale::new(&service, "event", 1000);
    let caller = service.act_for(sale.organization).unwrap();
    // Connections are opened and statements prepared at first, and a connection that was idle is checked.
    let fewest = |what: &str, work: &dyn Fn()| {
        let count = |_| {
            let before = round_trips.load(Ordering::SeqCst);
            work();
            round_trips.load(Ordering::SeqCst) - before
        };
        let fewest = (0..20).map(count).min().unwrap();
        eprintln!("{what}: {fewest} round trips");
        fewest
    };
    let order = || {
        let ada = NewCustomer::new("Ada", "ada@example.com");
        let request = CreateOrder::new(sale.event, ada, sale.ticket_type, 2);
        service.create_order(&caller, request).unwrap().issued_tickets
    };
    let tickets = std::cell::RefCell::new((0..20).flat_map(|_| order()).collect::<Vec<_>>());
    let code = tickets.borrow()[0].code.clone();
    let check_in = || {
        let code = tickets.borrow_mut().pop().unwrap().code;
        service.check_in_ticket(&caller, CheckInTicket::new(code)).unwrap();
    };
    // The lock of the event, everything that is read, the seats, the rows, and the commit.
    assert_eq!(fewest("an order by itself", &|| drop(order())), 5);
    // Everything that is read, and all changes with the commit.
    assert_eq!(fewest("a check-in", &check_in), 2);
    assert_eq!(fewest("a ticket by its code", &|| drop(service.get_ticket_by_code(&caller, &code).unwrap())), 1);
    let page = || drop(service.list_tickets(&caller, ListTickets::default()).unwrap());
    assert_eq!(fewest("a page of tickets", &page), 1);
}

#[test]
fn what_is_read_with_the_lock_of_an_event_is_what_was_committed_before_the_lock() {
    let Some(cluster) = start() else { return };
    let service = open(&cluster.url("postgres"));
    let sale = Sale::new(&service, "event", 100);
    let caller = service.act_for(sale.organization).unwrap();
    let mut other = cluster.client("postgres");
    let mut changing = other.transaction().unwrap();
    changing.batch_execute("SELECT id FROM events FOR NO KEY UPDATE").unwrap();
    std::thread::scope(|scope| {
        let created = scope.spawn(|| {
            let ada = NewCustomer::new("Ada", "ada@example.com");
            service.create_order(&caller, CreateOrder::new(sale.event, ada, sale.ticket_type, 1))
        });
        let waiting = "SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
        let mut watching = cluster.client("postgres");
        while watching.query_one(waiting, &[]).unwrap().get::<_, i64>(0) == 0 {
            std::thread::sleep(Duration::from_millis(5));
        }
        changing.batch_execute("UPDATE ticket_types SET status = 'ONLY_VISIBLE_TO_OWNER'").unwrap();
        changing.commit().unwrap();
        let error = created.join().unwrap().unwrap_err();
        assert_eq!(error.reason(), Some(Reason::TicketTypeNotOnSale), "{error:?}");
    });
}

#[test]
fn an_order_does_not_get_what_an_earlier_order_of_its_group_asked_for_and_did_not_use() {
    let Some(cluster) = start() else { return };
    let (first_server, service) = (open(&cluster.url("postgres")), open(&cluster.url("postgres")));
    let sale = Sale::new(&service, "event", 100);
    let caller = service.act_for(sale.organization).unwrap();
    let seat = CreateTicketType::new("Reserved seat", Amount::whole(20), 100);
    let seat = service.create_ticket_type(&caller, sale.event, seat).unwrap().id;
    let order = |service: &TicketingService, email: &str, key: Option<&str>| {
        let request = CreateOrder::new(sale.event, NewCustomer::new("Ada", email), seat, 1);
        let created = match key {
            Some(key) => service.create_order(&caller.with_idempotency_key(key), request).unwrap().value,
            None => service.create_order(&caller, request).unwrap(),
        };
        (created.order.id, created.order.total.minor_units())
    };
    // A group takes jobs for some milliseconds only, so its statements must be prepared.
    for server in [&first_server, &service] {
        order(server, "before@example.com", Some("before"));
        order(server, "before@example.com", None);
    }
    let (from, to) = ("2000-01-01T00:00:00Z".parse().unwrap(), "2100-01-01T00:00:00Z".parse().unwrap());
    let discount = CreateDiscount::fixed_amount("EARLY", Amount::whole(20)).event(sale.event);
    let discount = discount.valid_from(from).valid_to(to).auto_apply(true).usage_limit(2);
    service.create_discount(&caller, discount).unwrap();

    let mut other = cluster.client("postgres");
    let mut locking = other.transaction().unwrap();
    locking.batch_execute("SELECT id FROM events FOR NO KEY UPDATE").unwrap();
    let wait_for = |service: &TicketingService, jobs| {
        while service.statistics().commits.jobs_waiting < jobs {
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    std::thread::scope(|scope| {
        let order = &order;
        let first = scope.spawn(|| order(&first_server, "first@example.com", Some("key")));
        wait_for(&first_server, 1);
        // When this server gets the lock, it finds the order, and does not use what it has looked up for a new one.
        let repeated = scope.spawn(|| order(&service, "first@example.com", Some("key")));
        wait_for(&service, 1);
        let others = ["second@example.com", "third@example.com"].map(|email| {
            let service = &service;
            scope.spawn(move || order(service, email, None).1)
        });
        wait_for(&service, 3);
        locking.commit().unwrap();
        let first = first.join().unwrap();
        assert_eq!(first.1, 0);
        assert_eq!(repeated.join().unwrap(), first);
        let mut totals = others.map(|other| other.join().unwrap());
        totals.sort_unstable();
        assert_eq!(totals, [0, 2000], "the discount has one use left");
    });
}

/// Panics once when it is asked for a ticket code.
#[derive(Debug, Clone, Default)]
struct PanickingEntropy(Arc<AtomicBool>);

impl Entropy for PanickingEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        // An id has fewer.
        assert!(bytes.len() <= 2 || !self.0.swap(false, Ordering::SeqCst), "there is no entropy");
        SystemEntropy.fill(bytes);
    }
}

#[test]
fn what_a_failed_order_has_queued_does_not_run_with_the_next_order_of_its_group() {
    let Some(cluster) = start() else { return };
    let entropy = PanickingEntropy::default();
    let builder =
        TicketingService::postgres(PostgresDatabase::new(&cluster.url("postgres")).unwrap()).entropy(entropy.clone());
    let service = builder.open().unwrap();
    let sale = Sale::new(&service, "event", 100);
    sale.order(&service, "ada@example.com").unwrap();
    // Counts the statements that insert an order. The sequence is not rolled back.
    cluster.client("postgres").batch_execute("CREATE SEQUENCE rows").unwrap();
    before(&cluster, "INSERT ON orders", "PERFORM nextval('rows');");
    entropy.0.store(true, Ordering::SeqCst);

    let mut other = cluster.client("postgres");
    let mut locking = other.transaction().unwrap();
    locking.batch_execute("SELECT id FROM events FOR NO KEY UPDATE").unwrap();
    let wait_for = |jobs| {
        while service.statistics().commits.jobs_waiting < jobs {
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    std::thread::scope(|scope| {
        // It fails after its order was inserted.
        let refused = scope.spawn(|| sale.order(&service, "ada@example.com"));
        wait_for(1);
        let next = scope.spawn(|| sale.order(&service, "ada@example.com"));
        wait_for(2);
        locking.commit().unwrap();
        assert!(matches!(refused.join().unwrap(), Err(Error::Internal(message)) if message.contains("panicked")));
        next.join().unwrap().unwrap();
    });
    let inserted: i64 = cluster.client("postgres").query_one("SELECT last_value FROM rows", &[]).unwrap().get(0);
    assert_eq!(inserted, 1);
    assert_clean(&service);
}

#[test]
fn an_order_that_fails_after_it_has_taken_seats_takes_none_and_changes_no_other_order_of_its_group() {
    let Some(cluster) = start() else { return };
    let service = open(&cluster.url("postgres"));
    let sale = Sale::new(&service, "event", 1000);
    let caller = service.act_for(sale.organization).unwrap();
    let last = CreateTicketType::new("Last seat", Amount::cents(0), 1);
    let last = service.create_ticket_type(&caller, sale.event, last).unwrap().id;
    let order = |service: &TicketingService, email: &str, types: &[TicketTypeId]| {
        let items = types.iter().map(|ticket_type| NewOrderItem::new(*ticket_type, 1));
        let request = CreateOrder::with_items(sale.event, NewCustomer::new("Ada", email), items);
        service.create_order(&caller, request).map(|created| created.order.items.len())
    };
    order(&service, "first@example.com", &[sale.ticket_type, last]).unwrap();
    let mut client = cluster.client("postgres");
    // The first group is undone, and later ones set savepoints. Each round opens a new service: after a refusal, a
    // service refuses the next orders of the event on a reader.
    for round in 0..3 {
        let service = open(&cluster.url("postgres"));
        let mut other = cluster.client("postgres");
        let mut locking = other.transaction().unwrap();
        locking.batch_execute("SELECT id FROM events FOR NO KEY UPDATE").unwrap();
        std::thread::scope(|scope| {
            let (service, order) = (&service, &order);
            let orders = [0, 1, 2, 3].map(|number| {
                let wants_last = number % 2 == 1;
                let started = scope.spawn(move || {
                    let types = [sale.ticket_type, last];
                    let types = if wants_last { &types } else { &types[..1] };
                    order(service, &format!("{round}-{number}@example.com"), types)
                });
                while service.statistics().commits.jobs_waiting <= number {
                    std::thread::sleep(Duration::from_millis(5));
                }
                (wants_last, started)
            });
            locking.commit().unwrap();
            for (wants_last, started) in orders {
                match (wants_last, started.join().unwrap()) {
                    (false, created) => assert_eq!(created.unwrap(), 1),
                    (true, refused) => assert_eq!(refused.unwrap_err().reason(), Some(Reason::SoldOut)),
                }
            }
        });
        let sold = "SELECT sold FROM ticket_types WHERE name <> 'Last seat'";
        assert_eq!(client.query_one(sold, &[]).unwrap().get::<_, i64>(0), 1 + 2 * (round + 1));
        let orders: i64 = client.query_one("SELECT COUNT(*) FROM orders", &[]).unwrap().get(0);
        assert_eq!(orders, 1 + 2 * (round + 1));
    }
    assert_clean(&service);
}
