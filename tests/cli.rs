//! The example server as a person meets it: its command line, what it prints, and how it ends.
#![cfg(all(feature = "server", unix))]

#[path = "common/program.rs"]
mod program;

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use program::{Server, finish, has_curl, program, text};
use serde_json::Value;
use ticketing::{
    Amount, CreateEvent, CreateTicketType, EventStatus, ListOrders, OrderStatus, TicketingService, Timestamp,
};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// The names of what is in a folder.
fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

/// The one JSON object that a command answers with.
fn answer(folder: &Path, arguments: &[&str]) -> Value {
    let output = finish(&mut program(folder, arguments));
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
    assert_eq!(text(&output.stdout).lines().count(), 1, "{arguments:?}");
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(value.is_object(), "{arguments:?}");
    value
}

/// The one line with which a command that does not work says why.
fn refusal(command: &mut Command, status: i32) -> String {
    let output = finish(command);
    let line = text(&output.stderr).strip_suffix('\n').unwrap_or_default().to_owned();
    assert_eq!(output.status.code(), Some(status), "{command:?}: {line}");
    assert!(!line.is_empty() && !line.contains('\n'), "{command:?}: {line:?}");
    assert!(output.stdout.is_empty(), "{command:?}");
    line
}

#[test]
fn the_first_start_prints_an_organization_a_key_the_address_and_a_curl_command() {
    let folder = folder();
    let server = Server::start(folder.path(), &[]);
    assert_eq!(server.lines.len(), 4, "{:?}", server.lines);
    assert!(server.lines[0].starts_with("Organization: org_"));
    assert!(server.lines[1].starts_with("API key: tk_"));
    assert!(server.lines[2].starts_with("Listening on http://127.0.0.1:") && server.lines[2].ends_with("/v1"));
    assert!(!server.address().ends_with(":0"));
    assert_eq!(server.get("/v1/events", server.key()).0, 200);
    assert!(folder.path().join("ticketing.db").exists());
}

#[test]
fn later_starts_print_no_key_and_know_the_first_one() {
    let folder = folder();
    let first = Server::start(folder.path(), &[]);
    let key = first.key().to_owned();
    first.stop("TERM");
    let second = Server::start(folder.path(), &[]);
    assert_eq!(second.lines.len(), 2, "{:?}", second.lines);
    assert!(second.lines[0].starts_with("Listening on "));
    assert_eq!(second.get("/v1/events", &key).0, 200);
}

#[test]
fn the_curl_command_works_when_pasted_on_the_first_start_and_on_later_ones() {
    if !has_curl() {
        eprintln!("there is no curl here: nothing was pasted");
        return;
    }
    let folder = folder();
    for start in ["first", "second"] {
        let server = Server::start(folder.path(), &[]);
        let output = finish(Command::new("sh").args(["-c", &format!("{} --fail", server.lines.last().unwrap())]));
        assert!(output.status.success(), "{start}: {}", text(&output.stderr));
        assert!(!output.stdout.is_empty(), "{start}");
        assert_eq!(text(&output.stdout).contains("\"nextCursor\":null"), start == "first", "{}", text(&output.stdout));
        server.stop("TERM");
    }
}

#[test]
fn a_wrong_command_line_ends_with_status_2_and_one_line_that_names_it_and_makes_nothing() {
    for (arguments, named) in [
        (&["--nonsense"][..], "--nonsense"),
        (&["--nonsense\nand more"], "--nonsense"),
        (&["-x"], "-x"),
        (&["--listen"], "--listen"),
        (&["--listen", "8080"], "--listen"),
        (&["--listen", "127.0.0.1:99999"], "--listen"),
        (&["--listen", "a\nb"], "--listen"),
        (&["--database", ""], "--database"),
        (&["--public-url", "tickets.example.com"], "--public-url"),
        (&["--public-url", "ftp://tickets.example.com"], "--public-url"),
        (&["--public-url", "https://"], "--public-url"),
        (&["--public-url", "https://tickets.example.com/?a=b"], "--public-url"),
        (&["--public-url", "https://tickets.example.com/a|b", "--listen", "127.0.0.1:0"], "--public-url"),
        (&["--order-hold", "0"], "--order-hold"),
        (&["--order-hold", "-1"], "--order-hold"),
        (&["--order-hold", "1.5"], "--order-hold"),
        (&["--order-hold", "99999999999"], "--order-hold"),
        (&["--rate-limit", "many"], "--rate-limit"),
        (&["--log-format", "xml"], "--log-format"),
        (&["--log-format"], "--log-format"),
        (&["--rate-limit", "-1"], "--rate-limit"),
        (&["--failed-authentications", "some"], "--failed-authentications"),
        (&["--allow-local-webhooks=perhaps"], "--allow-local-webhooks"),
        (&["--scopes", "all"], "--scopes"),
        (&["serve"], "serve"),
        (&["create-organization"], "create-organization"),
        (&["create-organization", ""], "NAME"),
        (&["create-organization", "Cellar", "Attic"], "create-organization"),
        (&["create-organization", "Cellar", "--currency", "EURO"], "--currency"),
        (&["create-organization", "Cellar", "--currency", "QQQ"], "--currency"),
        (&["create-organization", "Cellar", "--timezone", "Europe/Atlantis"], "--timezone"),
        (&["create-organization", "Cellar", "--listen", "127.0.0.1:0"], "--listen"),
        (&["list-organizations", "all"], "list-organizations"),
        (&["list-organizations", "--name", "x"], "--name"),
        (&["create-key"], "create-key"),
        (&["create-key", "org_0000000000001", "--scopes", "events:read,events:eat"], "events:eat"),
        (&["create-key", "org_0000000000001", "--scopes", ""], "--scopes"),
        (&["create-key", "org_0000000000001", "--name", ""], "--name"),
        (&["create-key", "org_0000000000001", "--expires", "tomorrow"], "--expires"),
        (&["list-keys"], "list-keys"),
        (&["revoke-key"], "revoke-key"),
        (&["revoke-key", "a", "b"], "revoke-key"),
        (&["backup"], "backup"),
        (&["backup", "a.db", "b.db"], "backup"),
        (&["backup", "a.db", "--name", "x"], "--name"),
        (&["check", "all"], "check"),
        (&["check", "--listen", "127.0.0.1:0"], "--listen"),
    ] {
        let folder = folder();
        let line = refusal(&mut program(folder.path(), arguments), 2);
        assert!(line.contains(named), "{arguments:?}: {line}");
        assert!(files(folder.path()).is_empty(), "{arguments:?}");
    }
}

#[test]
fn a_wrong_environment_ends_with_status_2_and_one_line_that_names_it_and_makes_nothing() {
    for (name, value) in [
        ("TICKETING_DATABASE", ""),
        ("TICKETING_LISTEN", "here"),
        ("TICKETING_PUBLIC_URL", "there"),
        ("TICKETING_ORDER_HOLD", "soon"),
        ("TICKETING_RATE_LIMIT", "none"),
        ("TICKETING_FAILED_AUTHENTICATIONS", "1.5"),
        ("TICKETING_ALLOW_LOCAL_WEBHOOKS", "perhaps"),
    ] {
        let folder = folder();
        let line = refusal(program(folder.path(), &[]).env(name, value), 2);
        assert!(line.contains(name), "{line}");
        assert!(files(folder.path()).is_empty(), "{name}");
    }
}

#[test]
fn the_environment_sets_every_option_and_an_option_wins_over_it() {
    let folder = folder();
    let mut command = program(folder.path(), &["--database", "option.db", "--order-hold", "60"]);
    command
        .env("TICKETING_DATABASE", "environment.db")
        .env("TICKETING_LISTEN", "127.0.0.1:0")
        .env("TICKETING_PUBLIC_URL", "https://tickets.example.com")
        .env("TICKETING_ORDER_HOLD", "not looked at")
        .env("TICKETING_RATE_LIMIT", "0")
        .env("TICKETING_FAILED_AUTHENTICATIONS", "10")
        .env("TICKETING_ALLOW_LOCAL_WEBHOOKS", "true");
    let server = Server::start_program(&mut command);
    assert!(!server.address().ends_with(":8080"));
    assert!(folder.path().join("option.db").exists() && !folder.path().join("environment.db").exists());
    let mut command = program(folder.path(), &["list-organizations"]);
    assert!(finish(command.env("TICKETING_DATABASE", "option.db")).status.success());
}

#[test]
fn checkout_links_begin_with_the_public_url_and_the_order_hold_ends_when_it_says() {
    let folder = folder();
    let url = "https://tickets.example.com/shop/";
    let server = Server::start(folder.path(), &["--public-url", url, "--order-hold", "1"]);
    let service = TicketingService::open(folder.path().join("ticketing.db")).unwrap();
    let caller = service.authenticate(server.key()).unwrap();
    let mut event = CreateEvent::new("Summer Night", "summer-night", Timestamp::MAX);
    event.status = Some(EventStatus::Published);
    let event = service.create_event(&caller, event).unwrap().id;
    let seat = CreateTicketType::new("Seat", Amount::new(1250, 2), 1);
    let seat = service.create_ticket_type(&caller, event, seat).unwrap().id;
    let order = format!(
        r#"{{"eventId": "{event}", "customer": {{"name": "Ada", "email": "ada@example.com"}},
            "items": [{{"ticketId": "{seat}", "quantity": 1}}]}}"#
    );
    let (status, answer) = server.send("POST", "/v1/orders", server.key(), &order);
    assert!(
        status < 300 && answer.contains(r#""checkoutUrl":"https://tickets.example.com/shop/checkout/"#),
        "{answer}"
    );
    let expired = (0..600).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        service.list_orders(&caller, ListOrders::default()).unwrap().data[0].status == OrderStatus::Expired
    });
    assert!(expired);
}

#[test]
fn help_and_version_are_shown_and_nothing_is_made() {
    let folder = folder();
    let help = finish(&mut program(folder.path(), &["--help"]));
    assert!(help.status.success());
    for option in [
        "database",
        "listen",
        "public-url",
        "order-hold",
        "rate-limit",
        "failed-authentications",
        "allow-local-webhooks",
        "log-format",
    ] {
        assert!(text(&help.stdout).contains(&format!("--{option}")));
        let variable = format!("TICKETING_{}", option.to_uppercase().replace('-', "_"));
        assert!(text(&help.stdout).contains(&variable));
    }
    let version = finish(&mut program(folder.path(), &["--version"]));
    assert_eq!(text(&version.stdout), concat!("ticketing ", env!("CARGO_PKG_VERSION"), "\n"));
    assert!(files(folder.path()).is_empty());
}

#[test]
fn organizations_and_keys_are_managed_without_a_server() {
    let folder = folder();
    let cellar = ["create-organization", "Jazz Cellar", "--currency", "JPY", "--timezone", "Asia/Tokyo"];
    let created = answer(folder.path(), &cellar);
    let organization = created["id"].as_str().unwrap();
    assert!(organization.starts_with("org_"), "{created}");
    assert_eq!((&created["currency"], &created["timezone"]), (&"JPY".into(), &"Asia/Tokyo".into()));
    assert_eq!(answer(folder.path(), &["list-organizations"])["organizations"], serde_json::json!([created]));

    let scopes = ["--scopes", "tickets:check-in,tickets:read", "--name", "Door", "--expires", "2100-01-01T00:00Z"];
    let door = answer(folder.path(), &[&["create-key", organization][..], &scopes].concat());
    assert!(door["key"].as_str().unwrap().starts_with("tk_"));
    assert_eq!(door["scopes"], serde_json::json!(["tickets:read", "tickets:check-in"]));
    assert_eq!(door["expiresAt"], "2100-01-01T00:00:00.000Z");
    let office = answer(folder.path(), &["create-key", organization]);
    assert_eq!(office["scopes"].as_array().unwrap().len(), 13);

    let keys = answer(folder.path(), &["list-keys", organization])["keys"].clone();
    assert_eq!((&keys[1]["id"], &keys[1]["name"]), (&door["id"], &"Door".into()));
    assert!(!keys.to_string().contains(door["key"].as_str().unwrap()));
    assert_eq!(keys[1]["revokedAt"], Value::Null);
    assert_eq!(answer(folder.path(), &["revoke-key", door["id"].as_str().unwrap()])["id"], door["id"]);
    let keys = answer(folder.path(), &["list-keys", organization])["keys"].clone();
    assert!(keys[1]["revokedAt"].is_string());
    assert_eq!(files(folder.path()), ["ticketing.db"]);
}

#[test]
fn organizations_and_keys_are_managed_while_a_server_runs_and_a_revoked_key_is_refused_at_its_next_request() {
    let folder = folder();
    let server = Server::start(folder.path(), &[]);
    let organization = server.said("Organization: ").unwrap();
    let key = answer(folder.path(), &["create-key", organization, "--scopes", "events:read"]);
    let secret = key["key"].as_str().unwrap();
    assert_eq!(server.get("/v1/events", secret).0, 200);
    assert_eq!(server.get("/v1/orders", secret).0, 403);
    answer(folder.path(), &["revoke-key", key["id"].as_str().unwrap()]);
    assert_eq!(server.get("/v1/events", secret).0, 401);
    assert_eq!(server.get("/v1/events", server.key()).0, 200);
    answer(folder.path(), &["create-organization", "Another"]);
    let listed = answer(folder.path(), &["list-organizations", "--database", "ticketing.db"]);
    assert_eq!(listed["organizations"].as_array().unwrap().len(), 2);
    let (status, _) = server.stop("TERM");
    assert_eq!(status.code(), Some(0));
}

#[test]
fn what_is_not_there_ends_with_status_1_and_one_line() {
    let folder = folder();
    answer(folder.path(), &["create-organization", "Cellar"]);
    for arguments in [
        ["create-key", "org_0000000000001"],
        ["create-key", "nobody"],
        ["list-keys", "org_0000000000001"],
        ["list-keys", "key_0000000000001"],
        ["revoke-key", "key_0000000000001"],
        ["revoke-key", ""],
    ] {
        refusal(&mut program(folder.path(), &arguments), 1);
    }
}

#[test]
fn a_database_that_is_not_there_ends_with_status_1_and_is_not_made() {
    for arguments in [
        &["list-organizations"][..],
        &["create-key", "org_0000000000001"],
        &["list-keys", "org_0000000000001"],
        &["revoke-key", "key_0000000000001"],
        &["backup", "copy.db"],
        &["check"],
    ] {
        let folder = folder();
        let line = refusal(program(folder.path(), arguments).args(["--database", "elsewhere.db"]), 1);
        assert!(line.contains("elsewhere.db"), "{line}");
        assert!(files(folder.path()).is_empty(), "{arguments:?}");
    }
}

#[test]
fn a_database_that_cannot_be_used_ends_with_status_1_and_one_line_that_names_it() {
    let folder = folder();
    std::fs::write(folder.path().join("letter.txt"), "Dear Ada, this is no database.".repeat(100)).unwrap();
    for database in ["letter.txt", "no-such-folder/ticketing.db", "."] {
        for command in [&["--listen", "127.0.0.1:0"][..], &["create-organization", "Cellar"]] {
            let line = refusal(program(folder.path(), command).args(["--database", database]), 1);
            assert!(line.contains(database), "{line}");
        }
    }
    assert_eq!(files(folder.path()), ["letter.txt"]);
}

#[test]
fn a_port_that_is_taken_ends_with_status_1_and_makes_no_database() {
    let folder = folder();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let line = refusal(&mut program(folder.path(), &["--listen", &address]), 1);
    assert!(line.contains(&address), "{line}");
    assert!(files(folder.path()).is_empty());
}

#[test]
fn two_first_starts_at_once_on_one_file_make_one_organization() {
    for _ in 0..3 {
        let folder = folder();
        let servers: Vec<_> = std::thread::scope(|scope| {
            let starts: Vec<_> = (0..2).map(|_| scope.spawn(|| Server::start(folder.path(), &[]))).collect();
            starts.into_iter().map(|start| start.join().unwrap()).collect()
        });
        let keys: Vec<_> = servers.iter().filter_map(|server| server.said("API key: ")).collect();
        assert_eq!(keys.len(), 1);
        for server in &servers {
            assert_eq!(server.get("/v1/events", keys[0]).0, 200);
        }
        let listed = answer(folder.path(), &["list-organizations"]);
        assert_eq!(listed["organizations"].as_array().unwrap().len(), 1);
    }
}

#[test]
fn a_database_is_backed_up_and_checked_while_a_server_runs_and_without_one() {
    let folder = folder();
    let server = Server::start(folder.path(), &[]);
    let clean = serde_json::json!({ "clean": true, "counts": {}, "findings": [] });
    for (copy, server) in [("first.db", Some(server)), ("second.db", None)] {
        let output = finish(&mut program(folder.path(), &["backup", copy]));
        assert!(output.status.success() && output.stderr.is_empty(), "no bar is drawn where nobody looks");
        let said: Value = serde_json::from_slice(&output.stdout).unwrap();
        let length = std::fs::metadata(folder.path().join(copy)).unwrap().len();
        assert_eq!((said["path"].as_str(), said["bytes"].as_u64()), (Some(copy), Some(length)));
        assert!(said["pages"].as_u64().unwrap() > 0);
        for database in ["ticketing.db", copy] {
            assert_eq!(answer(folder.path(), &["check", "--database", database]), clean);
        }
        let listed = answer(folder.path(), &["list-organizations", "--database", copy]);
        assert_eq!(listed["organizations"].as_array().unwrap().len(), 1);
        if let Some(server) = server {
            assert_eq!(server.get("/v1/events", server.key()).0, 200);
            assert_eq!(server.stop("TERM").0.code(), Some(0));
        }
    }
    assert_eq!(files(folder.path()), ["first.db", "second.db", "ticketing.db"]);
}

#[test]
fn a_copy_is_not_made_where_something_is_already() {
    let folder = folder();
    answer(folder.path(), &["create-organization", "Cellar"]);
    std::fs::write(folder.path().join("letter.txt"), "Dear Ada").unwrap();
    for target in ["letter.txt", "ticketing.db", "ticketing.db-wal", "."] {
        let line = refusal(&mut program(folder.path(), &["backup", target]), 2);
        assert!(line.starts_with("PATH "), "{line}");
    }
    let line = refusal(&mut program(folder.path(), &["backup", "no-such-folder/copy.db"]), 1);
    assert!(line.contains("no-such-folder/copy.db"), "{line}");
    assert_eq!(files(folder.path()), ["letter.txt", "ticketing.db"]);
    assert_eq!(std::fs::read_to_string(folder.path().join("letter.txt")).unwrap(), "Dear Ada");
}

#[test]
fn a_check_that_finds_something_says_what_and_ends_with_status_1() {
    let folder = folder();
    answer(folder.path(), &["create-organization", "Cellar"]);
    let file = rusqlite::Connection::open(folder.path().join("ticketing.db")).unwrap();
    file.execute("UPDATE organizations SET timezone = 'Mars/Base'", []).unwrap();
    drop(file);
    let output = finish(&mut program(folder.path(), &["check"]));
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stdout).lines().count(), 1);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["clean"], false);
    assert_eq!(report["counts"], serde_json::json!({ "organization-settings": 1 }));
    let finding = &report["findings"][0];
    assert_eq!((&finding["invariant"], &finding["table"]), (&"organization-settings".into(), &"organizations".into()));
    assert!(finding["row"].is_string() && finding["sentence"].as_str().unwrap().contains("time zone"));
    assert_eq!(text(&output.stderr).lines().count(), 1);
}

#[test]
fn sigterm_and_ctrl_c_end_it_with_status_0_and_leave_one_file() {
    for signal in ["TERM", "INT"] {
        let folder = folder();
        let server = Server::start(folder.path(), &[]);
        assert_eq!(server.get("/v1/events", server.key()).0, 200);
        let (status, said) = server.stop(signal);
        assert_eq!(status.code(), Some(0), "{signal}");
        assert!(said.is_empty(), "{signal}: {said:?}");
        assert_eq!(files(folder.path()), ["ticketing.db"], "{signal}");
    }
}
