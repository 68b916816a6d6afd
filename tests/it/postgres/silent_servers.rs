//! Servers that keep their connections and do not answer, and servers that accept no writes.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use ticketing::error::{StoreErrorKind, Unavailable};
use ticketing::webhook::SenderOptions;
use ticketing::{Error, PostgresDatabase, TicketingService};

use crate::common::cluster::Cluster;
use crate::common::webhooks::wait_until;
use crate::postgres::clusters::{start, start_synchronous_standby};
use crate::postgres::sale::{Attempts, PAUSE, Sale, assert_clean, open};

/// Far longer than any call may take.
const LONG: Duration = Duration::from_secs(60);

/// The result of `call`, which must end by itself.
#[track_caller]
fn ends<T: Send + 'static>(call: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(call()));
    receiver.recv_timeout(LONG).expect("an answer")
}

/// Orders until it succeeds.
fn order_again(sale: Sale, service: &Arc<TicketingService>, email: &str) {
    let ordered = (0..600).any(|_| {
        let (service, email) = (Arc::clone(service), email.to_owned());
        let ordered = ends(move || sale.order(&service, &email));
        ordered.inspect_err(|_| std::thread::sleep(PAUSE)).is_ok()
    });
    assert!(ordered, "it serves again");
}

fn is_ready(service: &Arc<TicketingService>) -> bool {
    let service = Arc::clone(service);
    ends(move || service.ready()).is_ok()
}

#[test]
fn a_server_that_is_stopped_leaves_no_call_without_an_answer() {
    let Some(cluster) = start() else { return };
    let service = Arc::new(open(&cluster.url("postgres")));
    let sale = Sale::new(&service, "event", 100);
    sale.order(&service, "before@example.com").unwrap();
    assert!(is_ready(&service));
    cluster.freeze();
    assert!(!is_ready(&service));
    let (order, read) = (Arc::clone(&service), Arc::clone(&service));
    let ordered = ends(move || sale.order(&order, "during@example.com"));
    assert!(matches!(ordered, Err(Error::Unavailable(_))), "{ordered:?}");
    let found = ends(move || read.get_organization(sale.organization));
    assert!(matches!(found, Err(Error::Unavailable(_))), "{found:?}");
    cluster.unfreeze();
    order_again(sale, &service, "after@example.com");
    assert!(is_ready(&service));
    assert_clean(&service);
}

#[test]
fn while_a_synchronous_standby_is_away_writes_are_answered_and_the_service_is_not_ready() {
    let Some(primary) = start() else { return };
    let standby = start_synchronous_standby(&primary);
    let service = Arc::new(open(&primary.url("postgres")));
    let sale = Sale::new(&service, "event", 100);
    sale.order(&service, "before@example.com").unwrap();
    standby.stop();
    let orders = ["first", "second"].map(|name| {
        let service = Arc::clone(&service);
        std::thread::spawn(move || ends(move || sale.order(&service, &format!("{name}@example.com"))))
    });
    let (mut failed, mut unknown) = (vec!["refused@example.com".to_owned()], Vec::new());
    for (name, order) in ["first", "second"].into_iter().zip(orders) {
        let Err(Error::Unavailable(reason)) = order.join().unwrap() else { panic!("{name} was acknowledged") };
        // One that waited behind another was not begun.
        let outcomes = if reason == Unavailable::OutcomeUnknown { &mut unknown } else { &mut failed };
        outcomes.push(format!("{name}@example.com"));
    }
    assert!(!unknown.is_empty(), "one has committed");
    assert!(!is_ready(&service));
    let refused = Arc::clone(&service);
    let refused = ends(move || sale.order(&refused, "refused@example.com"));
    assert!(matches!(refused, Err(Error::Unavailable(reason)) if reason != Unavailable::OutcomeUnknown), "{refused:?}");
    let reads = Arc::clone(&service);
    ends(move || reads.get_organization(sale.organization)).unwrap();
    let waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    let waiting = primary.client("postgres").query(waiting, &[]).unwrap().len();
    assert!(waiting <= 2, "{waiting} transactions wait for the standby, and only orders may");

    standby.run();
    order_again(sale, &service, "after@example.com");
    assert!(is_ready(&service));
    let acknowledged = vec!["before@example.com".to_owned(), "after@example.com".to_owned()];
    Attempts { acknowledged, failed, unknown }
        .assert_stored(&mut primary.client("postgres"), "a standby that was away");
    assert_clean(&service);
}

/// How long each answer takes behind a slow proxy. To connect takes three of them, to set the connection up one, and to
/// ask for the outcome of a commit another: each step is within the time for the question, and all together are not.
const SLOW: Duration = Duration::from_millis(2100);

/// A proxy that cuts the next connection which commits, before the answer. From then on it is slow.
#[derive(Clone, Default)]
struct Cuts {
    next_commit: Arc<AtomicBool>,
    is_slow: Arc<AtomicBool>,
}

impl Cuts {
    /// Returns the URL of the server behind the proxy.
    fn start(&self, cluster: &Cluster) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = |port: u16| format!(":{port}/");
        let own = port(listener.local_addr().unwrap().port());
        let url = cluster.url("postgres").replace(&port(cluster.port), &own);
        let (cuts, server) = (self.clone(), cluster.port);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let server = TcpStream::connect(("127.0.0.1", server)).unwrap();
                let (answers, to_client) = (server.try_clone().unwrap(), client.try_clone().unwrap());
                let (requests, slow) = (cuts.clone(), cuts.clone());
                std::thread::spawn(move || drop(requests.forward(client, server)));
                std::thread::spawn(move || drop(slow.answer(answers, to_client)));
            }
        });
        format!("{url}?sslmode=disable&connect_timeout=30")
    }

    fn forward(&self, mut client: TcpStream, mut server: TcpStream) -> io::Result<()> {
        let mut buffer = vec![0; 1 << 20];
        while let length @ 1.. = client.read(&mut buffer)? {
            let commits = buffer[..length].windows(6).any(|window| window == b"COMMIT");
            if commits && self.next_commit.swap(false, Ordering::SeqCst) {
                self.is_slow.store(true, Ordering::SeqCst);
                client.shutdown(Shutdown::Both)?;
            }
            server.write_all(&buffer[..length])?;
        }
        server.shutdown(Shutdown::Both)
    }

    fn answer(&self, mut server: TcpStream, mut client: TcpStream) -> io::Result<()> {
        let mut buffer = vec![0; 1 << 20];
        loop {
            server.peek(&mut [0])?;
            if self.is_slow.load(Ordering::SeqCst) {
                // The answers to requests that were sent together come together.
                std::thread::sleep(SLOW);
            }
            let length @ 1.. = server.read(&mut buffer)? else { break };
            client.write_all(&buffer[..length])?;
        }
        client.shutdown(Shutdown::Both)
    }
}

#[test]
fn the_time_to_ask_for_the_outcome_of_a_commit_includes_that_of_connecting() {
    let Some(cluster) = start() else { return };
    let cuts = Cuts::default();
    let service = Arc::new(open(&cuts.start(&cluster)));
    let sale = Sale::new(&service, "event", 100);
    sale.order(&service, "before@example.com").unwrap();
    cuts.next_commit.store(true, Ordering::SeqCst);
    let ordering = Arc::clone(&service);
    let ordered = ends(move || sale.order(&ordering, "cut@example.com"));
    assert!(matches!(ordered, Err(Error::Unavailable(Unavailable::OutcomeUnknown))), "{ordered:?}");
    cuts.is_slow.store(false, Ordering::SeqCst);
    order_again(sale, &service, "after@example.com");
}

#[test]
fn a_host_that_accepts_connections_and_says_nothing_is_left_for_the_next_one() {
    let Some(cluster) = Cluster::start("") else { return };
    cluster.create("hall");
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let first = format!("127.0.0.1:{},127.0.0.1:", silent.local_addr().unwrap().port());
    for parameters in ["", "&sslmode=no-verify"] {
        let url = format!("{}?connect_timeout=1{parameters}", cluster.url("hall").replace("127.0.0.1:", &first));
        let opened = ends(move || TicketingService::postgres(PostgresDatabase::new(&url).unwrap()).open());
        match opened {
            Ok(service) => drop(service.create_organization(Default::default()).unwrap()),
            // The server has no TLS, which is found out behind the silent host.
            Err(error) => assert!(!parameters.is_empty() && error.to_string().contains("TLS"), "{error}"),
        }
    }
}

#[test]
fn a_process_listens_to_the_second_host_if_the_first_one_says_nothing() {
    let Some(cluster) = Cluster::start("") else { return };
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let first = format!("127.0.0.1:{},127.0.0.1:", silent.local_addr().unwrap().port());
    let url = format!("{}?connect_timeout=1", cluster.url("postgres").replace("127.0.0.1:", &first));
    let service = ends(move || open(&url));
    let sender = service.start_webhook_sender(SenderOptions::default()).unwrap();
    let listens = "SELECT 1 FROM pg_stat_activity WHERE query IN ('LISTEN ticketing', '') AND state = 'idle'
        AND backend_type = 'client backend' AND application_name = 'ticketing'";
    let mut client = cluster.client("postgres");
    let listens = (0..300).any(|_| {
        std::thread::sleep(PAUSE);
        !client.query(listens, &[]).unwrap().is_empty()
    });
    // Ends what waits for the silent host.
    drop(silent);
    ends(move || drop((sender, service)));
    assert!(listens);
}

#[test]
fn a_database_that_is_read_only_refuses_writes_at_once_and_costs_no_connections() {
    let Some(cluster) = Cluster::start("") else { return };
    let service = Arc::new(open(&cluster.url("postgres")));
    let sale = Sale::new(&service, "event", 100);
    sale.order(&service, "before@example.com").unwrap();
    let mut client = cluster.client("postgres");
    let mut sessions = || {
        let sessions = "SELECT COUNT(*) FROM pg_stat_activity, pg_sleep(0.1) WHERE application_name = 'ticketing'
            AND backend_start > now() - interval '1 hour'";
        let newest = "SELECT MAX(backend_start)::TEXT FROM pg_stat_activity WHERE application_name = 'ticketing'";
        let number: i64 = client.query_one(sessions, &[]).unwrap().get(0);
        (number, client.query_one(newest, &[]).unwrap().get::<_, String>(0))
    };
    let before = sessions();
    let mut admin = cluster.client("postgres");
    let mut set = |value: &str| {
        admin.batch_execute(&format!("ALTER SYSTEM SET default_transaction_read_only = {value}")).unwrap();
        admin.batch_execute("SELECT pg_reload_conf()").unwrap();
    };
    set("on");
    wait_until("the database is read-only", || sale.order(&service, "refused@example.com").is_err());
    for number in 0..20 {
        let refused = sale.order(&service, &format!("refused-{number}@example.com"));
        let Err(Error::Store(error)) = refused else { panic!("{refused:?}") };
        assert!(matches!(error.kind(), StoreErrorKind::ReadOnly(_)), "{error}");
        assert_eq!(Error::Store(error).code(), "unavailable");
    }
    assert!(!is_ready(&service));
    assert_eq!(sessions(), before, "no connection was opened");
    set("off");
    order_again(sale, &service, "after@example.com");
    assert!(is_ready(&service));
}
