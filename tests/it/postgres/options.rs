//! The settings of a service on PostgreSQL.

use ticketing::error::StoreErrorKind;
use ticketing::organization::CreateOrganization;
use ticketing::{Error, PostgresDatabase, TicketingService};

use crate::common::cluster::Cluster;

#[test]
fn an_invalid_url_is_refused_without_repeating_it() {
    for url in ["http://swordfish@host", "postgres://ada:swordfish@host:no-port/db", "a b"] {
        let Err(error) = PostgresDatabase::new(url) else { panic!("{url}") };
        assert_eq!(error.fields()[0].path, "url");
        assert!(!format!("{error} {error:?}").contains("swordfish"), "{error:?}");
    }
}

#[test]
fn a_password_is_in_no_debug_output() {
    let database = PostgresDatabase::new("postgres://ada:sword%66ish@host/db").unwrap();
    assert!(!format!("{database:?}").contains("swordfish"));
    assert!(!format!("{:?}", database.password("goldfish")).contains("goldfish"));
}

#[test]
fn tables_are_not_created_if_they_must_not_be() {
    let Some(cluster) = Cluster::start("") else { return };
    let url = cluster.create("empty");
    let open = |create| TicketingService::postgres(PostgresDatabase::new(&url).unwrap().create_tables(create)).open();
    let Err(Error::Store(error)) = open(false) else { panic!("opened") };
    assert!(matches!(error.kind(), StoreErrorKind::CannotOpen(problem) if problem.contains("none of the tables")));
    let tables = "SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'public'";
    assert_eq!(cluster.client("empty").query_one(tables, &[]).unwrap().get::<_, i64>(0), 0);
    open(true).unwrap();
    open(false).unwrap();
}

#[test]
fn an_older_schema_is_refused_without_migration_and_a_newer_one_always() {
    let Some(cluster) = Cluster::start("") else { return };
    let url = cluster.create("hall");
    drop(TicketingService::postgres(PostgresDatabase::new(&url).unwrap()).open().unwrap());
    cluster.client("hall").batch_execute("UPDATE schema_version SET version = 1000").unwrap();
    let Err(Error::Store(error)) = TicketingService::postgres(PostgresDatabase::new(&url).unwrap()).open() else {
        panic!("opened")
    };
    assert!(matches!(error.kind(), StoreErrorKind::SchemaTooNew { found: 1000, .. }), "{error}");
}

#[test]
fn the_migrations_that_a_database_lacks_are_applied_when_it_is_opened() {
    let Some(cluster) = Cluster::start("") else { return };
    let url = cluster.create("hall");
    let mut client = cluster.client("hall");
    client.batch_execute(include_str!("../../../src/store/migrations/postgres/0008_schema.sql")).unwrap();
    client
        .batch_execute(
            "CREATE TABLE schema_version (id BIGINT PRIMARY KEY CHECK (id = 1), version BIGINT NOT NULL);
            INSERT INTO schema_version (id, version) VALUES (1, 7)",
        )
        .unwrap();
    // A database that is older than 0.3.0.
    for migrates in [true, false] {
        let Err(Error::Store(error)) =
            TicketingService::postgres(PostgresDatabase::new(&url).unwrap()).migrate(migrates).open()
        else {
            panic!("opened")
        };
        assert!(error.to_string().contains("version 0.3, which upgrades it"), "{error}");
    }
    client.batch_execute("UPDATE schema_version SET version = 8").unwrap();
    let tables = "SELECT COUNT(*) FROM pg_tables WHERE tablename = 'ticket_logos'";
    let mut number = |sql| client.query_one(sql, &[]).unwrap().get::<_, i64>(0);
    assert_eq!(number(tables), 0);
    let Err(Error::Store(error)) =
        TicketingService::postgres(PostgresDatabase::new(&url).unwrap()).migrate(false).open()
    else {
        panic!("opened")
    };
    assert!(matches!(error.kind(), StoreErrorKind::SchemaTooOld { found: 8, .. }), "{error}");
    let migrated = TicketingService::postgres(PostgresDatabase::new(&url).unwrap()).open().unwrap();
    assert_eq!(number(tables), 1);
    assert!(number("SELECT version FROM schema_version") > 8);
    migrated.create_organization(CreateOrganization::default()).unwrap();
    // Nothing is left to do.
    TicketingService::postgres(PostgresDatabase::new(&url).unwrap()).migrate(false).open().unwrap();
}

#[test]
fn a_user_without_the_right_to_create_tables_can_open_a_database_that_has_them() {
    let Some(cluster) = Cluster::start("") else { return };
    let url = cluster.create("hall");
    drop(TicketingService::postgres(PostgresDatabase::new(&url).unwrap()).open().unwrap());
    cluster
        .client("hall")
        .batch_execute(
            "CREATE ROLE seller LOGIN PASSWORD 'goldfish'; REVOKE CREATE ON SCHEMA public FROM PUBLIC;
            GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO seller",
        )
        .unwrap();
    let url = format!("postgres://seller@127.0.0.1:{}/hall", cluster.port);
    let service = TicketingService::postgres(PostgresDatabase::new(&url).unwrap().password("goldfish")).open().unwrap();
    service.create_organization(CreateOrganization::default()).unwrap();
}

#[test]
fn of_several_hosts_the_one_that_accepts_writes_is_used() {
    let Some(cluster) = Cluster::start("") else { return };
    let standby = cluster.standby();
    cluster.create("hall");
    let hosts = |first: &Cluster, second: &Cluster| {
        let url = first.url_without_password("hall?target_session_attrs=read-write");
        let (before, after) = url.rsplit_once('/').unwrap();
        let hosts = format!("{before},127.0.0.1:1,127.0.0.1:{}/{after}", second.port);
        TicketingService::postgres(PostgresDatabase::new(&hosts).unwrap().password(crate::common::cluster::PASSWORD))
            .open()
    };
    let service = hosts(&standby, &cluster).unwrap();
    service.create_organization(CreateOrganization::default()).unwrap();
    cluster.stop();
    standby.promote();
    // The same service goes on with the new primary, and another one can be opened.
    let created = (0..600).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(100));
        service.create_organization(CreateOrganization::default()).is_ok()
    });
    assert!(created);
    hosts(&cluster, &standby).unwrap().ready().unwrap();
}
