//! A database file is copied to PostgreSQL.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use rusqlite::params;
use serde_json::Value;
use ticketing::error::StoreErrorKind;
use ticketing::organization::{CreateOrganization, ListOrganizations};
use ticketing::{DatabaseFile, Error, PostgresDatabase, TicketingService};

use crate::common::cluster::{Cluster, PASSWORD};
use crate::common::postgres_server;
use crate::common::program::{finish, program, text};
use crate::common::shop::Shop;

/// A copy of the stored fixture, which has rows in most tables, with the current schema.
fn file(folder: &Path) -> PathBuf {
    let path = folder.join("ticketing.db");
    std::fs::write(&path, crate::storage::upgrade::file_of_0_3_0()).unwrap();
    drop(TicketingService::builder(DatabaseFile::new(&path).copy_before_migration(false)).open().unwrap());
    path
}

fn copy(file: &Path, url: &str) -> ticketing::Result<u64> {
    let service = TicketingService::open(file)?;
    let copied = service.copy_to(PostgresDatabase::new(url)?, |_| ControlFlow::Continue(()))?;
    assert_eq!(copied.rows, copied.total_rows);
    Ok(copied.rows)
}

#[test]
fn tables_of_others_in_the_target_are_ignored() {
    let Some(cluster) = Cluster::start("") else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path());
    let url = cluster.url("postgres");
    let others = "CREATE TABLE monitor_heartbeat (id BIGINT PRIMARY KEY); INSERT INTO monitor_heartbeat VALUES (1)";
    cluster.client("postgres").batch_execute(others).unwrap();
    assert!(copy(&path, &url).unwrap() > 50);
    assert!(
        TicketingService::postgres(PostgresDatabase::new(&url).unwrap()).open().unwrap().check().unwrap().is_clean()
    );

    // Control: a further column of a table is not ignored.
    cluster.create("other");
    let url = cluster.url("other");
    drop(TicketingService::postgres(PostgresDatabase::new(&url).unwrap()).open().unwrap());
    cluster.client("other").batch_execute("ALTER TABLE orders ADD COLUMN further BIGINT").unwrap();
    let error = copy(&path, &url).unwrap_err().to_string();
    assert!(error.contains("orders.further"), "{error}");
}

/// The rows of each table as sorted text.
type Rows = BTreeMap<String, Vec<String>>;

fn rows_of_file(path: &Path) -> Rows {
    let connection = rusqlite::Connection::open(path).unwrap();
    let mut query = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").unwrap();
    let tables: Vec<String> = query.query_map(params![], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
    let own = tables.into_iter().filter(|table| !table.starts_with("sqlite_"));
    own.map(|table| {
        let names = columns(&connection, &table);
        let mut query = connection.prepare(&format!("SELECT {names} FROM {table}")).unwrap();
        let number = query.column_count();
        let row = |row: &rusqlite::Row<'_>| {
            (0..number).map(|index| row.get::<_, rusqlite::types::Value>(index)).collect::<Result<Vec<_>, _>>()
        };
        let rows = query.query_map(params![], row).unwrap();
        let mut rows: Vec<String> = rows.map(|row| format!("{:?}", row.unwrap())).collect();
        rows.sort();
        (table, rows)
    })
    .collect()
}

fn columns(connection: &rusqlite::Connection, table: &str) -> String {
    let mut query = connection.prepare("SELECT '\"' || name || '\"' FROM pragma_table_info(?1) ORDER BY name").unwrap();
    let names = query.query_map([table], |row| row.get::<_, String>(0)).unwrap();
    names.collect::<Result<Vec<_>, _>>().unwrap().join(", ")
}

/// The rows of the tables that a file has.
fn rows_of_server(url: &str, file: &Path) -> Rows {
    let connection = rusqlite::Connection::open(file).unwrap();
    let database = postgres_server::Database::open(url);
    rows_of_file(file)
        .into_keys()
        .map(|table| {
            let (_, rows) =
                database.query(&format!("SELECT {} FROM {table}", columns(&connection, &table)), &[]).unwrap();
            let mut rows: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
            rows.sort();
            (table, rows)
        })
        .collect()
}

#[test]
fn every_row_of_every_table_is_copied_and_the_service_goes_on() {
    let Some(cluster) = Cluster::start("") else { return };
    let url = cluster.create("hall");
    let folder = tempfile::tempdir().unwrap();
    let file = file(folder.path());
    let rows = copy(&file, &url).unwrap();
    let expected = rows_of_file(&file);
    assert_eq!(rows, expected.values().map(|rows| rows.len() as u64).sum::<u64>());
    assert!(expected.values().filter(|rows| !rows.is_empty()).count() > 15, "{expected:?}");
    assert_eq!(rows_of_server(&url, &file), expected);

    let service = TicketingService::postgres(PostgresDatabase::new(&url).unwrap()).open().unwrap();
    assert!(service.check().unwrap().is_clean());
    let all = TicketingService::open(&file).unwrap().list_organizations(ListOrganizations::default()).unwrap();
    assert_eq!(service.list_organizations(ListOrganizations::default()).unwrap(), all);
    Shop::create(&service).order(&service, 2);
    assert!(service.check().unwrap().is_clean());
}

#[test]
fn a_target_with_rows_is_refused_and_left_as_it_is() {
    let Some(cluster) = Cluster::start("") else { return };
    let url = cluster.create("hall");
    let folder = tempfile::tempdir().unwrap();
    let file = file(folder.path());
    let target = TicketingService::postgres(PostgresDatabase::new(&url).unwrap()).open().unwrap();
    let organization = target.create_organization(CreateOrganization::default()).unwrap();
    let Err(Error::Store(error)) = copy(&file, &url) else { panic!("copied") };
    let StoreErrorKind::CannotCopy(problem) = error.kind() else { panic!("{error}") };
    assert_eq!(problem, "the target is not empty: its table organizations has rows");
    let all = target.list_organizations(ListOrganizations::default()).unwrap().data;
    assert_eq!(all.iter().map(|found| found.id).collect::<Vec<_>>(), [organization.id]);
    // A table without rows is no obstacle.
    target.delete_organization(organization.id).unwrap();
    copy(&file, &url).unwrap();
}

#[test]
fn a_copy_that_is_stopped_or_fails_leaves_nothing_and_can_be_repeated() {
    let Some(cluster) = Cluster::start("") else { return };
    let url = cluster.create("hall");
    let folder = tempfile::tempdir().unwrap();
    let file = file(folder.path());
    let service = TicketingService::open(&file).unwrap();
    let stopped = service.copy_to(PostgresDatabase::new(&url).unwrap(), |_| ControlFlow::Break(()));
    assert!(matches!(stopped, Err(Error::Store(error)) if *error.kind() == StoreErrorKind::CopyStopped));
    let tables = "SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'public'";
    assert_eq!(cluster.client("hall").query_one(tables, &[]).unwrap().get::<_, i64>(0), 0);

    // A row that PostgreSQL cannot store.
    let change = |name: &str| {
        let connection = rusqlite::Connection::open(&file).unwrap();
        connection.execute("UPDATE organizations SET name = ?1", [name]).unwrap();
    };
    change("a\0b");
    let Err(Error::Store(error)) = copy(&file, &url) else { panic!("copied") };
    assert!(error.to_string().contains("table organizations: a text contains the character NUL"), "{error}");
    change("ab");
    copy(&file, &url).unwrap();
}

#[test]
fn a_table_or_a_column_that_would_be_forgotten_is_refused() {
    let Some(cluster) = Cluster::start("") else { return };
    let url = cluster.create("hall");
    let folder = tempfile::tempdir().unwrap();
    let file = file(folder.path());
    let run = |sql: &str| rusqlite::Connection::open(&file).unwrap().execute_batch(sql).unwrap();
    for (add, remove, name) in [
        ("CREATE TABLE seat_maps (id INTEGER PRIMARY KEY)", "DROP TABLE seat_maps", "seat_maps.id"),
        ("ALTER TABLE orders ADD COLUMN color TEXT", "ALTER TABLE orders DROP COLUMN color", "orders.color"),
    ] {
        run(add);
        let Err(Error::Store(error)) = copy(&file, &url) else { panic!("copied") };
        assert!(
            error.to_string().ends_with(&format!("only one of the two databases has the column {name}")),
            "{error}"
        );
        run(remove);
    }
    copy(&file, &url).unwrap();
}

#[test]
fn only_a_file_is_copied() {
    let Some(cluster) = Cluster::start("") else { return };
    let url = cluster.create("hall");
    let service = TicketingService::postgres(PostgresDatabase::new(&url).unwrap()).open().unwrap();
    let target = PostgresDatabase::new(&cluster.create("other")).unwrap();
    let error = service.copy_to(target, |_| ControlFlow::Continue(())).unwrap_err();
    assert!(error.to_string().contains("pg_dump"), "{error}");
}

#[test]
fn the_program_copies_a_file_and_checks_both() {
    let Some(cluster) = Cluster::start("") else { return };
    cluster.create("hall");
    let folder = tempfile::tempdir().unwrap();
    file(folder.path());
    let url = cluster.url_without_password("hall");
    let copy = || {
        let mut command = program(folder.path(), &["copy", "--to", &url]);
        finish(command.env("PGPASSWORD", PASSWORD))
    };
    let output = copy();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(json["clean"] == true && json["moved"] == true && json["rows"].as_u64().unwrap() > 100, "{json}");
    // Also the server refuses the file.
    for arguments in [&["list-organizations"][..], &["--listen", "127.0.0.1:0"], &["copy", "--to", &url]] {
        let output = finish(&mut program(folder.path(), arguments));
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(text(&output.stderr).contains("copy --undo"), "{}", text(&output.stderr));
    }
    let output = finish(&mut program(folder.path(), &["copy", "--undo"]));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(finish(&mut program(folder.path(), &["list-organizations"])).status.code(), Some(0));
    let output = copy();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("the target is not empty"), "{}", text(&output.stderr));
    for (arguments, problem) in [
        (&["copy"][..], "the following required arguments were not provided: --to <URL>"),
        (&["copy", "--undo", "--to", &url], "the argument '--undo' cannot be used with '--to <URL>'"),
        (&["copy", "--to", "other.db"], "--to must be the URL of a PostgreSQL database"),
        (&["copy", "--to", &url, "--database", &url], "--database must be a database file"),
        (
            &["copy", "--to", "postgres://a:b@host/db"],
            "--to must have no password: set PGPASSWORD or --database-password-file",
        ),
    ] {
        let output = finish(&mut program(folder.path(), arguments));
        // After the problem, clap names the usage.
        let line = text(&output.stderr).trim_end();
        let named = line.split("; Usage: ").next().unwrap_or_default();
        assert_eq!((output.status.code(), named), (Some(2), problem));
    }
}
