//! Servers of different versions on one database, and databases that none of them can use.

use std::time::Duration;

use postgres::Client;
use ticketing::error::StoreErrorKind;
use ticketing::{Error, PostgresDatabase, TicketingService};

use crate::common::cluster::Cluster;
use crate::common::log;
use crate::common::webhooks::wait_until;
use crate::postgres::sale::{Sale, open};

/// A transaction that waits for a lock.
const WAITS: &str = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'";

fn number(client: &mut Client, sql: &str) -> i64 {
    client.query_one(sql, &[]).unwrap().get(0)
}

#[track_caller]
fn assert_too_new<T>(result: Result<T, Error>) {
    let Err(Error::Store(error)) = result else { panic!("an older program has written") };
    assert!(matches!(error.kind(), StoreErrorKind::SchemaTooNew { found: 1000, .. }), "{error}");
    assert!(error.to_string().contains("start a newer version"), "{error}");
}

#[test]
fn a_server_stops_writing_when_a_newer_one_has_migrated_the_schema() {
    let Some(cluster) = Cluster::start("") else { return };
    let service = open(&cluster.url("postgres"));
    let sale = Sale::new(&service, "event", 100);
    let mut client = cluster.client("postgres");
    sale.order(&service, "before@example.com").unwrap();
    client.batch_execute("BEGIN; SELECT 1 FROM events FOR UPDATE").unwrap();
    let mut newer = cluster.client("postgres");
    std::thread::scope(|scope| {
        // It has begun before the migration, and ends after it.
        let order = scope.spawn(|| sale.order(&service, "during@example.com"));
        wait_until("the order waits for its event", || !newer.query(WAITS, &[]).unwrap().is_empty());
        newer.batch_execute("UPDATE schema_version SET version = 1000").unwrap();
        client.batch_execute("COMMIT").unwrap();
        assert_too_new(order.join().unwrap());
    });
    assert!(matches!(service.stopped().unwrap().kind(), StoreErrorKind::SchemaTooNew { .. }));
    assert_too_new(sale.order(&service, "after@example.com"));
    assert_too_new(service.create_organization(Default::default()));
    assert_too_new(service.ready());
    let caller = service.act_for(sale.organization).unwrap();
    assert_eq!(service.get_event(&caller, sale.event).unwrap().id, sale.event, "it can still be read");
    assert_eq!(number(&mut newer, "SELECT COUNT(*) FROM orders"), 1);
    assert_eq!(number(&mut newer, "SELECT COUNT(*) FROM organizations"), 1);
}

#[test]
fn what_a_newer_schema_has_changed_stops_a_server_like_its_version() {
    let Some(cluster) = Cluster::start("") else { return };
    let changes = [
        "ALTER TABLE customers RENAME COLUMN metadata TO details",
        "ALTER TABLE events RENAME TO shows",
        "ALTER TABLE customers ALTER COLUMN email TYPE VARCHAR (300)",
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let url = cluster.create(&format!("hall_{number}"));
        let service = open(&url);
        let sale = Sale::new(&service, "event", 100);
        sale.order(&service, "before@example.com").unwrap();
        let mut client = cluster.client(&format!("hall_{number}"));
        client.batch_execute(change).unwrap();
        // Somebody has changed the tables by hand: then the error says what is missing.
        let Err(Error::Store(error)) = sale.order(&service, "before@example.com") else { panic!("{change}") };
        assert!(matches!(error.kind(), StoreErrorKind::Failed(_)), "{error}");
        assert_eq!(service.stopped(), None);

        client.batch_execute("UPDATE schema_version SET version = 1000").unwrap();
        assert_too_new(sale.order(&service, "before@example.com"));
        assert!(matches!(service.stopped().unwrap().kind(), StoreErrorKind::SchemaTooNew { .. }), "{change}");
    }
}

#[test]
fn a_migration_that_waits_for_a_long_transaction_keeps_nobody_else_waiting() {
    let Some(cluster) = Cluster::start("") else { return };
    let url = cluster.create("hall");
    let mut client = cluster.client("hall");
    client.batch_execute(include_str!("../../../src/store/migrations/postgres/0008_schema.sql")).unwrap();
    client
        .batch_execute(
            "CREATE TABLE schema_version (id BIGINT PRIMARY KEY CHECK (id = 1), version BIGINT NOT NULL);
            INSERT INTO schema_version (id, version) VALUES (1, 8)",
        )
        .unwrap();
    let mut dump = cluster.client("hall");
    dump.batch_execute(
        "SET idle_in_transaction_session_timeout = '40s'; BEGIN; LOCK TABLE events IN ACCESS SHARE MODE",
    )
    .unwrap();
    let migrated = std::thread::scope(|scope| {
        let opened = scope.spawn(|| TicketingService::postgres(PostgresDatabase::new(&url).unwrap()).open());
        wait_until("the migration waits", || !client.query(WAITS, &[]).unwrap().is_empty());
        client.batch_execute("SET lock_timeout = '20s'").unwrap();
        assert_eq!(number(&mut client, "SELECT COUNT(*) FROM events"), 0, "others read meanwhile");
        assert_eq!(number(&mut client, "SELECT version FROM schema_version"), 8);
        std::thread::sleep(Duration::from_millis(200));
        dump.batch_execute("COMMIT").unwrap();
        opened.join().unwrap().unwrap()
    });
    assert!(number(&mut client, "SELECT version FROM schema_version") > 8);
    migrated.create_organization(Default::default()).unwrap();
}

#[test]
fn a_database_whose_encoding_is_not_utf_8_is_refused() {
    let Some(cluster) = Cluster::start("") else { return };
    let mut client = cluster.client("postgres");
    for encoding in ["SQL_ASCII", "LATIN1"] {
        let name = encoding.to_lowercase();
        let create = format!("CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0");
        client.batch_execute(&create).unwrap();
        let Err(Error::Store(error)) =
            TicketingService::postgres(PostgresDatabase::new(&cluster.url(&name)).unwrap()).open()
        else {
            panic!("{encoding} was opened")
        };
        let message = error.to_string();
        assert!(message.contains(encoding) && message.contains("TEMPLATE template0"), "{message}");
        assert_eq!(number(&mut cluster.client(&name), "SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'public'"), 0);
    }
}

#[test]
fn a_server_warns_if_a_crash_or_a_failover_may_lose_what_was_acknowledged() {
    let Some(cluster) = Cluster::start("") else { return };
    for (value, warning) in [("on", None), ("off", Some("a crash")), ("local", Some("a failover to a standby"))] {
        let name = format!("commit_{value}");
        let url = cluster.create(&name);
        let set = format!("ALTER DATABASE {name} SET synchronous_commit = {value}");
        cluster.client("postgres").batch_execute(&set).unwrap();
        let (_, log) = log::during(|| open(&url));
        let warned = log.lines().into_iter().find(|line| line.contains("synchronous_commit is"));
        assert_eq!(warned.is_some(), warning.is_some(), "{value}");
        assert!(warned.is_none_or(|line| line.contains(warning.unwrap_or_default())), "{value}");
    }
}
