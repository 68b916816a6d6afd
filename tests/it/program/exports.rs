//! The command `export`.
#![cfg(all(feature = "program", feature = "exports", unix))]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::common::program::{Server, finish, program, text};

/// The one line on standard error of a command that fails with this status.
fn failure(folder: &std::path::Path, arguments: &[&str], status: i32) -> String {
    let output = finish(&mut program(folder, arguments));
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {}", text(&output.stderr));
    assert!(output.stdout.is_empty());
    text(&output.stderr).trim_end().to_owned()
}

#[test]
fn export_writes_a_new_file_for_its_owner_beside_a_server_and_prints_the_sums() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let post = |path: &str, body: &Value| -> Value {
        let (status, answer) = server.send("POST", path, server.key(), &body.to_string());
        assert!((200..300).contains(&status), "{path}: {answer}");
        serde_json::from_str(answer.lines().last().unwrap_or_default()).expect(&answer)
    };
    let event = json!({"title": "Jazz", "slug": "jazz", "startDate": "2100-06-01T18:00:00Z", "deliveryMethod": "DIGITAL",
        "status": "PUBLISHED"});
    let event = post("/v1/events", &event)["id"].as_str().unwrap().to_owned();
    let ticket_type =
        post(&format!("/v1/events/{event}/ticket-types"), &json!({"name": "Seat", "price": 12.5, "quantity": 10}));
    let customer = json!({"name": "Ada", "email": "ada@example.com"});
    let items = json!([{"ticketId": ticket_type["id"], "quantity": 2}]);
    post("/v1/orders", &json!({"eventId": event, "customer": customer, "items": items}));

    let output =
        finish(&mut program(folder.path(), &["export", "orders", "--event", &event, "--output", "orders.csv"]));
    assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&printed["path"], &printed["rows"]), (&json!("orders.csv"), &json!(1)));
    assert_eq!(printed["totals"], json!([{"currency": "EUR", "mode": null, "amount": 25}]));
    let file = folder.path().join("orders.csv");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let written = fs::read_to_string(&file).unwrap();
    assert!(written.starts_with("\"orderId\"") && written.lines().count() == 2, "{written}");

    let again = failure(folder.path(), &["export", "orders", "--event", &event, "--output", "orders.csv"], 1);
    assert_eq!(again, "cannot write orders.csv: the file exists, and is not overwritten: choose another name");
    assert_eq!(fs::read_to_string(&file).unwrap(), written);

    let named = || finish(&mut program(folder.path(), &["export", "orders", "--event", &event]));
    let printed: Value = serde_json::from_slice(&named().stdout).unwrap();
    let path = printed["path"].as_str().unwrap();
    let date = path.strip_prefix("./jazz-orders-").and_then(|rest| rest.strip_suffix(".csv")).expect(path);
    assert!(date.len() == 10 && date.split('-').count() == 3, "{path}");
    let file = folder.path().join(path);
    assert_eq!(fs::read_to_string(&file).unwrap(), written, "the same file");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let again = named();
    assert!(text(&again.stderr).contains("choose another name"), "{}", text(&again.stderr));

    let to_output = finish(&mut program(folder.path(), &["export", "orders", "--event", &event, "--output", "-"]));
    assert!(to_output.status.success(), "{}", text(&to_output.stderr));
    assert_eq!(text(&to_output.stdout), written, "the same file");
    let printed: Value = serde_json::from_slice(&to_output.stderr).unwrap();
    assert_eq!((&printed["path"], &printed["rows"]), (&json!("-"), &json!(1)));
    assert!(!folder.path().join("-").exists());

    let organization = post_organization(folder.path());
    let dates = ["--from", "2020-01-01", "--before", "2020-12-31"];
    let arguments =
        [&["export", "ledger", "--organization", &organization, "--output", "ledger.csv"][..], &dates].concat();
    assert!(finish(&mut program(folder.path(), &arguments)).status.success());
    assert_eq!(fs::read_to_string(folder.path().join("ledger.csv")).unwrap().lines().count(), 1);
}

/// The id of the first organization.
fn post_organization(folder: &std::path::Path) -> String {
    let output = finish(&mut program(folder, &["list-organizations"]));
    let listed: Value = serde_json::from_slice(&output.stdout).unwrap();
    listed["organizations"][0]["id"].as_str().unwrap().to_owned()
}

#[test]
fn export_says_what_is_wrong_and_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let organization = post_organization(folder.path());
    drop(server);
    let of_organization = ["--organization", organization.as_str(), "--output", "x.csv"];
    for (arguments, status, problem) in [
        (&["export"][..], 2, "KIND is ledger, orders, attendees, check-ins or settlement"),
        (&["export", "tickets", "--output", "x.csv"], 2, "tickets"),
        (&["export", "orders", "--output", "x.csv"], 2, "--event"),
        (&["export", "orders", "--event", "event_0000000000001", "--output", "x.csv"], 1, "there is no event"),
        (&["export", "orders", "--event", "x", "--output", "x.csv", "--format", "pdf"], 2, "--format"),
        (&["export", "orders", "--event", "x", "--output", "x.csv", "--from", "May"], 2, "--from"),
        (&[&["export", "ledger"][..], &of_organization].concat(), 2, "--from must be given"),
        (&[&["export", "settlement"][..], &of_organization].concat(), 2, "--event is required"),
    ] {
        let line = failure(folder.path(), arguments, status);
        assert!(line.contains(problem) && line.lines().count() == 1, "{arguments:?}: {line}");
        let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let others: Vec<_> = names.filter(|name| !name.starts_with("ticketing.db")).collect();
        assert!(others.is_empty(), "{arguments:?}: {others:?}");
    }
}
