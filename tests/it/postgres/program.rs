//! The program `ticketing` on PostgreSQL.

use std::process::{Command, Output};

use serde_json::Value;
#[cfg(feature = "stripe")]
use ticketing::environment::SystemClock;

use crate::common::cluster::{Cluster, PASSWORD};
#[cfg(feature = "stripe")]
use crate::common::fake_stripe::FakeStripe;
use crate::common::program::{Server, finish, program, text};

/// A command of the program, without the password of the environment.
fn command(folder: &std::path::Path, arguments: &[&str]) -> Command {
    let mut command = program(folder, arguments);
    command.env_remove("PGPASSWORD");
    command
}

/// The output of a command that ends with `status`. The password is not in it.
#[track_caller]
fn ends_with(status: i32, command: &mut Command) -> Output {
    let output = finish(command);
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(status), "{command:?}: {stderr}");
    assert!(!stdout.contains(PASSWORD) && !stderr.contains(PASSWORD), "{stdout} {stderr}");
    output
}

#[track_caller]
fn error_line(status: i32, command: &mut Command) -> String {
    let output = ends_with(status, command);
    let line = text(&output.stderr).trim_end().to_owned();
    assert!(!line.is_empty() && !line.contains('\n'), "{line:?}");
    line
}

#[test]
fn a_password_on_the_command_line_is_refused_and_not_repeated() {
    let folder = tempfile::tempdir().unwrap();
    for url in ["postgres://ada:sword:fish/7@host/db", "postgresql://ada@host/db?sslmode=require&password=sword:fish/7"]
    {
        let line = error_line(2, &mut command(folder.path(), &["--database", url]));
        assert_eq!(line, "--database must have no password: set PGPASSWORD or --database-password-file");
    }
    let file = ["--database", "a.db", "--database-password-file", "password"];
    assert_eq!(
        error_line(2, &mut command(folder.path(), &file)),
        "--database-password-file is for PostgreSQL databases"
    );
    let copy = ["--database", "postgres://ada@host/db", "--no-migration-copy"];
    assert_eq!(error_line(2, &mut command(folder.path(), &copy)), "--no-migration-copy is for database files");
    let backups = ["--database", "postgres://ada@host/db", "--backup-folder", "."];
    let line = error_line(2, &mut command(folder.path(), &backups));
    assert!(line.starts_with("--backup-folder is for database files: use pg_dump"), "{line}");
    let url = ["--database", "postgres://ada@host:port/db", "list-organizations"];
    let line = error_line(2, &mut command(folder.path(), &url));
    assert!(line.starts_with("--database must be a PostgreSQL connection URL"), "{line}");
}

#[test]
fn backup_and_restore_name_the_programs_of_postgresql() {
    let folder = tempfile::tempdir().unwrap();
    let url = "postgres://ada@127.0.0.1:1/db";
    let line = error_line(1, &mut command(folder.path(), &["backup", "copy.db", "--database", url]));
    assert!(line.contains("pg_dump"), "{line}");
    let line = error_line(1, &mut command(folder.path(), &["restore", "copy.db", "--database", url]));
    assert!(line.contains("pg_restore"), "{line}");
}

#[test]
fn two_servers_and_every_command_use_one_database_with_a_password() {
    let Some(cluster) = Cluster::start("") else { return };
    cluster.create("hall");
    let url = cluster.url_without_password("hall");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("password"), format!("{PASSWORD}\n")).unwrap();
    let with_file = |arguments: &[&str]| {
        let all = [arguments, &["--database", &url, "--database-password-file", "password"]].concat();
        command(folder.path(), &all)
    };
    let json = |arguments: &[&str]| -> Value {
        serde_json::from_slice(&ends_with(0, &mut with_file(arguments)).stdout).unwrap()
    };

    let line = error_line(1, &mut with_file(&["list-organizations"]));
    assert!(line.contains("none of the tables"), "{line}");
    let line = error_line(2, &mut with_file(&["check"]));
    assert!(line.contains("none of the tables"), "{line}");
    let wrong = &mut command(folder.path(), &["list-organizations", "--database", &url]);
    let line = error_line(1, wrong.env("PGPASSWORD", "wrong"));
    assert!(line.contains("password authentication failed for user \"ticketing\""), "{line}");

    let first = Server::start_program(&mut with_file(&["--listen", "127.0.0.1:0"]));
    let second = &mut command(folder.path(), &["--listen", "127.0.0.1:0"]);
    let second = second.env("TICKETING_DATABASE", &url).env("PGPASSWORD", PASSWORD);
    let second = Server::start_program(second);
    assert_eq!(second.printed("API key: "), None, "{:?}", second.lines);
    let event = r#"{"title": "Summer Night", "slug": "summer-night", "startDate": "2100-06-01T18:00:00Z",
        "deliveryMethod": "DIGITAL"}"#;
    let (status, response) = first.send("POST", "/v1/events", first.key(), event);
    assert_eq!(status, 201, "{response}");
    let (status, events) = second.get("/v1/events", first.key());
    assert!(status == 200 && events.contains("summer-night"), "{events}");

    let organization = json(&["create-organization", "Second hall"])["id"].as_str().unwrap().to_owned();
    assert_eq!(json(&["list-organizations"])["organizations"].as_array().unwrap().len(), 2);
    assert_eq!(json(&["get-organization", &organization])["name"], "Second hall");
    assert_eq!(json(&["update-organization", &organization, "--name", "Third hall"])["name"], "Third hall");
    let key = json(&["create-key", &organization]);
    assert_eq!(json(&["list-keys", &organization])["keys"].as_array().unwrap().len(), 1);
    assert_eq!(second.get("/v1/events", key["key"].as_str().unwrap()).0, 200);
    json(&["revoke-key", key["id"].as_str().unwrap()]);
    assert_eq!(second.get("/v1/events", key["key"].as_str().unwrap()).0, 401);
    json(&["suspend-organization", &organization]);
    json(&["resume-organization", &organization]);
    json(&["organization-usage", &organization]);
    assert_eq!(json(&["check"])["clean"], true);
    #[cfg(feature = "stripe")]
    {
        let fake = FakeStripe::start(SystemClock);
        std::fs::write(folder.path().join("key"), fake.secret_key()).unwrap();
        let of_stripe = ["--stripe-key-file", "key", "--stripe-api-base", &fake.url()];
        let reconcile =
            ["stripe-reconcile", "--from", "2026-01-01", "--to", "2027-01-01", "--organization", &organization];
        let output = ends_with(0, &mut with_file(&[&reconcile[..], &of_stripe, &["--apply"]].concat()));
        assert!(text(&output.stdout).contains("At Stripe and not here  0\n"), "{}", text(&output.stdout));
    }
    json(&["delete-organization", &organization]);
}

#[test]
fn a_server_is_ready_again_when_the_database_is_back() {
    let Some(cluster) = Cluster::start("") else { return };
    cluster.create("hall");
    let folder = tempfile::tempdir().unwrap();
    let url = cluster.url_without_password("hall");
    let start = &mut command(folder.path(), &["--listen", "127.0.0.1:0", "--database", &url]);
    let server = Server::start_program(start.env("PGPASSWORD", PASSWORD));
    let ready = || server.get("/health/ready", "").0;
    assert_eq!(ready(), 200);
    cluster.stop();
    assert_eq!(ready(), 503);
    cluster.run();
    let ready_again = (0..600).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(100));
        ready() == 200
    });
    assert!(ready_again);
}
