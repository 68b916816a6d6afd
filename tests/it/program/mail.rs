//! The options of mails, and the command `mail-test`.

#![cfg(all(feature = "program", unix))]
#![expect(clippy::disallowed_methods, reason = "the test waits for a process")]

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::program::{Server, finish, program, text};

/// The files of a folder.
fn files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    names.filter(|name| !name.starts_with('.')).collect()
}

#[test]
fn a_server_with_a_folder_writes_the_mail_of_a_sale_within_seconds() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["--mail-folder", "mails"]);
    let post = |path: &str, body: &Value| -> Value {
        let (status, answer) = server.send("POST", path, server.key(), &body.to_string());
        assert!((200..300).contains(&status), "{path}: {answer}");
        serde_json::from_str(answer.lines().last().unwrap_or_default()).expect(&answer)
    };
    let event = json!({"title": "Jazz", "slug": "jazz", "startDate": "2100-06-01T18:00:00Z", "deliveryMethod": "DIGITAL",
        "status": "PUBLISHED"});
    let event = post("/v1/events", &event)["id"].as_str().unwrap().to_owned();
    let ticket_type =
        post(&format!("/v1/events/{event}/ticket-types"), &json!({"name": "Seat", "price": 0, "quantity": 10}));
    let customer = json!({"name": "Ada", "email": "ada@example.com"});
    let items = json!([{"ticketId": ticket_type["id"], "quantity": 2}]);
    post("/v1/orders", &json!({"eventId": event, "customer": customer, "items": items}));
    let mails = folder.path().join("mails");
    let start = Instant::now();
    while files(&mails).is_empty() {
        assert!(start.elapsed() < Duration::from_secs(30), "no mail");
        std::thread::sleep(Duration::from_millis(20));
    }
    let names = files(&mails);
    assert_eq!(names.len(), 1);
    let message = std::fs::read_to_string(mails.join(&names[0])).unwrap();
    assert!(message.contains("From: ticketing@localhost\r\n") && message.contains("To: Ada <ada@example.com>\r\n"));
    let (status, listed) = server.get("/v1/mails", server.key());
    assert!(status == 200 && listed.contains("\"state\":\"SENT\""), "{listed}");
}

#[test]
fn mail_test_prints_the_answer_and_options_that_contradict_each_other_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| finish(&mut program(folder.path(), arguments));
    let sent = run(&["mail-test", "ada@example.com", "--mail-folder", "mails"]);
    assert!(sent.status.success(), "{}", text(&sent.stderr));
    let printed: Value = serde_json::from_slice(&sent.stdout).unwrap();
    assert_eq!(printed["accepted"], true);
    assert_eq!(files(&folder.path().join("mails")).len(), 1);
    let smtp = ["--smtp-url", "smtp://localhost:1", "--mail-from", "tickets@example.com"];
    let refused = run(&[&["mail-test", "ada@example.com"][..], &smtp].concat());
    assert_eq!(refused.status.code(), Some(1), "{}", text(&refused.stderr));
    for (arguments, problem) in [
        (&["mail-test", "ada@example.com"][..], "mail-test needs --smtp-url or --mail-folder"),
        (&["mail-test", "ada", "--mail-folder", "mails"], "ADDRESS must be an e-mail address"),
        (
            &["mail-test", "ada@example.com", "--mail-folder", "mails", "--mail-from", "tickets"],
            "--mail-from must be an e-mail address",
        ),
        (&["--smtp-url", "smtp://localhost"], "--smtp-url needs --mail-from"),
        (&["--mail-from", "tickets@example.com"], "--mail-from needs --smtp-url or --mail-folder"),
        (
            &["--smtp-url", "smtp://localhost:1", "--mail-from", "Tickets <a@example.com>"],
            "--mail-from must be an e-mail address",
        ),
        (&["--smtp-url", "smtp://user@localhost", "--mail-from", "a@example.com"], "needs --smtp-password-file"),
        (&["--smtp-url", "smtp://user:secret@localhost", "--mail-from", "a@example.com"], "must have no password"),
        (&["--smtp-url", "http://localhost", "--mail-from", "a@example.com"], "must be smtps://USER@HOST:465"),
        (&["--smtp-url", "smtp://localhost", "--mail-folder", "mails"], "cannot be used with"),
        (&["--mail-folder", "mails", "--mail-per-second", "0"], "--mail-per-second"),
    ] {
        let refused = run(arguments);
        assert_eq!(refused.status.code(), Some(2), "{arguments:?}");
        assert!(text(&refused.stderr).contains(problem), "{arguments:?}: {}", text(&refused.stderr));
        assert!(!text(&refused.stderr).contains("secret"), "{}", text(&refused.stderr));
    }
}
