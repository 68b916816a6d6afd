//! The program with payments through Stripe: options, and the command `stripe-check`.
#![cfg(all(feature = "program", feature = "stripe", unix))]

use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};
use ticketing::environment::SystemClock;

use crate::common::fake_stripe::{FakeStripe, WEBHOOK_SECRET};
use crate::common::program::{Server, finish, program, text};

/// Writes the file with the key and that with the secrets.
fn write_files(folder: &Path, key: &str, secrets: &str) {
    std::fs::write(folder.join("key"), key).unwrap();
    std::fs::write(folder.join("secrets"), secrets).unwrap();
}

/// Runs `stripe-check` against the fake.
fn check(folder: &Path, fake: &FakeStripe) -> Output {
    let mut command = program(folder, &["stripe-check", "--stripe-key-file", "key", "--stripe-api-base", &fake.url()]);
    finish(&mut command)
}

#[test]
fn both_files_are_needed_and_a_wrong_one_starts_no_server() {
    let folder = tempfile::tempdir().unwrap();
    write_files(folder.path(), "sk_test_topsecret\n", "\n");
    for (arguments, named, status) in [
        (&["--stripe-key-file", "key"][..], "--stripe-webhook-secret-file", 2),
        (&["--stripe-webhook-secret-file", "secrets"], "--stripe-key-file", 2),
        (&["--stripe-api-base", "https://api.stripe.com"], "--stripe-key-file", 2),
        (&["--stripe-key-file", "", "--stripe-webhook-secret-file", "secrets"], "--stripe-key-file", 2),
        (&["--stripe-key-file", "none", "--stripe-webhook-secret-file", "secrets"], "none", 1),
        (&["--stripe-key-file", "key", "--stripe-webhook-secret-file", "secrets"], "secrets", 1),
        (
            &[
                "--stripe-key-file",
                "key",
                "--stripe-webhook-secret-file",
                "key",
                "--stripe-api-base",
                "http://example.com",
            ],
            "--stripe-api-base",
            2,
        ),
        (
            &["--stripe-key-file", "key", "--stripe-webhook-secret-file", "key", "--sandbox"],
            "--sandbox and --stripe-key-file exclude each other",
            2,
        ),
        (&["stripe-check", "--sandbox"], "--sandbox", 2),
        (&["stripe-check"], "--stripe-key-file", 2),
        (&["stripe-check", "now"], "stripe-check", 2),
        (&["stripe-check", "--stripe-key-file", "key", "--listen", "127.0.0.1:0"], "--listen", 2),
        (&["check", "--stripe-key-file", "key"], "--stripe-key-file", 2),
        (&["stripe-reconcile", "--to", "2026-12-01", "--stripe-key-file", "key"], "--from", 2),
        (&["stripe-reconcile", "--from", "2026-11-01", "--to", "2026-12-01"], "--stripe-key-file", 2),
        (&["stripe-reconcile", "--from", "November", "--to", "2026-12-01"], "--from: must be a date", 2),
        (&["stripe-reconcile", "--from", "2026-11-01", "--to", "2026-11-01T00:00:00Z"], "--to must be after", 2),
        (&["stripe-reconcile", "now", "--stripe-key-file", "key"], "Usage: ticketing stripe-reconcile", 2),
        (&["stripe-check", "--apply", "--stripe-key-file", "key"], "unexpected argument '--apply'", 2),
        (
            &["stripe-reconcile", "--from", "2026-11-01", "--to", "2026-12-01", "--stripe-key-file", "key"],
            "there is no database",
            2,
        ),
    ] {
        let output = finish(&mut program(folder.path(), arguments));
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {error}");
        assert!(error.contains(named) && !error.contains("topsecret"), "{arguments:?}: {error}");
        assert!(!folder.path().join("ticketing.db").exists(), "{arguments:?}");
    }
    let mut command = program(folder.path(), &[]);
    let output = finish(command.env("TICKETING_STRIPE_KEY_FILE", "key"));
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--stripe-webhook-secret-file"), "{}", text(&output.stderr));
}

#[test]
fn stripe_check_tells_whether_the_key_is_accepted_and_what_the_endpoint_lacks() {
    let folder = tempfile::tempdir().unwrap();
    let fake = FakeStripe::start(SystemClock);
    write_files(folder.path(), "sk_test_topsecret", WEBHOOK_SECRET);
    let output = check(folder.path(), &fake);
    assert_eq!(output.status.code(), Some(1));
    let error = text(&output.stderr);
    assert!(error.contains("does not accept the secret key") && !error.contains("topsecret"), "{error}");

    write_files(folder.path(), &fake.secret_key(), WEBHOOK_SECRET);
    let output = check(folder.path(), &fake);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("/gateway/notices"), "{}", text(&output.stderr));

    let url = "http://127.0.0.1:8080/gateway/notices";
    let some = ["checkout.session.completed", "checkout.session.expired", "charge.refunded", "refund.failed"];
    fake.set_endpoint_with(url, &[WEBHOOK_SECRET], &some);
    let output = check(folder.path(), &fake);
    assert_eq!(output.status.code(), Some(1));
    let missing = [
        "charge.dispute.closed",
        "charge.dispute.created",
        "charge.dispute.funds_reinstated",
        "charge.dispute.funds_withdrawn",
        "charge.dispute.updated",
        "checkout.session.async_payment_failed",
        "checkout.session.async_payment_succeeded",
        "refund.updated",
    ];
    let endpoint = json!({"url": url, "enabled": true, "live": false, "connect": false, "missingEventTypes": missing});
    let expected = json!({"mode": "test", "canRefund": true, "canReconcile": true, "endpoints": [endpoint]});
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap(), expected);

    fake.set_endpoint(url);
    let output = check(folder.path(), &fake);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(printed["endpoints"][0]["missingEventTypes"], json!([]));

    // A restricted key.
    fake.permit_refunds(false);
    let output = check(folder.path(), &fake);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("may not make refunds"), "{}", text(&output.stderr));
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(printed["canRefund"], false);
    fake.permit_refunds(true);
    fake.permit_balance(false);
    let output = check(folder.path(), &fake);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("may not read disputes and balance"), "{}", text(&output.stderr));
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&printed["canRefund"], &printed["canReconcile"]), (&json!(true), &json!(false)));
}

/// Sells two tickets over 12.50 while the notices of the fake are lost. Returns the path of the order and the payment.
fn sell(server: &Server, fake: &FakeStripe) -> (String, String) {
    let create = |path: &str, body: &Value| {
        let (status, response) = server.send("POST", path, server.key(), &body.to_string());
        assert_eq!(status, 201, "{response}");
        serde_json::from_str::<Value>(response.split("\r\n\r\n").nth(1).unwrap()).unwrap()
    };
    let event = json!({
        "title": "Jazz", "slug": "jazz", "startDate": "2100-01-01T00:00:00Z", "deliveryMethod": "DIGITAL", "status": "PUBLISHED",
    });
    let event = create("/v1/events", &event);
    let event = event["id"].as_str().unwrap();
    let ticket_type = json!({"name": "Seat", "price": 12.5, "quantity": 10});
    let ticket_type = create(&format!("/v1/events/{event}/ticket-types"), &ticket_type);
    let customer = json!({"name": "Ada", "email": "ada@example.com"});
    let items = json!([{"ticketId": ticket_type["id"], "quantity": 2}]);
    let order = create("/v1/orders", &json!({"eventId": event, "customer": customer, "items": items}));
    let [session] = &fake.all("checkout.session")[..] else { panic!("{order}") };
    let intent = fake.pay(session["id"].as_str().unwrap()).unwrap();
    (format!("/v1/orders/{}", order["order"]["id"].as_str().unwrap()), intent)
}

#[test]
fn stripe_reconcile_prints_what_differs_and_applies_it_while_the_server_runs() {
    let folder = tempfile::tempdir().unwrap();
    let fake = FakeStripe::start(SystemClock);
    write_files(folder.path(), &fake.secret_key(), WEBHOOK_SECRET);
    let api = fake.url();
    let of_stripe = ["--stripe-key-file", "key", "--stripe-api-base", &api];
    let secrets = ["--stripe-webhook-secret-file", "secrets"];
    let server = Server::start(folder.path(), &[&of_stripe[..], &secrets].concat());
    let (order, intent) = sell(&server, &fake);
    let run = |further: &[&str]| {
        let period = ["stripe-reconcile", "--from", "2020-01-01", "--to", "2100-01-01T00:00:00Z"];
        let output = finish(&mut program(folder.path(), &[&period[..], &of_stripe, further].concat()));
        let (printed, errors) = (text(&output.stdout).to_owned(), text(&output.stderr).to_owned());
        (output.status.code().unwrap(), printed, errors)
    };
    let (status, printed, errors) = run(&[]);
    assert_eq!((status, errors.as_str()), (1, "differences that are not explained: 1\n"), "{printed}");
    let lines: Vec<_> = printed.lines().collect();
    assert_eq!(lines[..2], ["Matched    count  gross  fee  net", "  nothing      0"], "{printed}");
    assert_eq!(lines[2], "At Stripe and not here  1  25.00 EUR", "{printed}");
    assert_eq!(lines[3..6], ["Here and not at Stripe  0", "Different               0", "Refunded now            0"]);
    assert_eq!(lines[6..8], ["", "At Stripe and not here"]);
    let item = lines[8];
    let is_item = item.starts_with("  PAYMENT  25.00 EUR  20") && item.ends_with("the payment is not recorded");
    assert!(is_item && item.contains(&intent) && item.contains(order.rsplit('/').next().unwrap()), "{item}");
    assert!(server.get(&order, server.key()).1.contains("\"status\":\"PENDING\""));

    let (status, printed, errors) = run(&["--apply"]);
    assert_eq!((status, errors.as_str()), (0, ""), "{printed}");
    assert!(printed.contains("At Stripe and not here  1  25.00 EUR  1 resolved\n"), "{printed}");
    assert!(server.get(&order, server.key()).1.contains("\"status\":\"COMPLETED\""));

    let (status, printed, _) = run(&[]);
    assert_eq!(status, 0, "{printed}");
    // 0.35 and 0.25 of 25.00.
    let totals = "Matched             count  gross   fee    net\n  \
        EUR TEST PAYMENT      1  25.00  0.60  24.40\n  \
        EUR TEST all          1  25.00  0.60  24.40\n\
        At Stripe and not here  0\n";
    assert!(printed.starts_with(totals), "{printed}");
    let organization = server.printed("Organization: ").unwrap();
    assert_eq!(run(&["--organization", organization]).0, 0);
    for unknown in ["A-17", "org_1NR6E9XB00000"] {
        let (status, printed, errors) = run(&["--organization", unknown]);
        assert_eq!((status, printed.as_str()), (2, ""), "{errors}");
        assert!(errors.contains("there is no"), "{errors}");
    }
    // A refund in the Dashboard, and a key that may not read what is needed.
    fake.refund_outside(&intent, Some(500));
    let (status, printed, _) = run(&[]);
    assert!(status == 1 && printed.contains("At Stripe and not here  1  -5.00 EUR\n"), "{printed}");
    fake.permit_balance(false);
    let (status, printed, errors) = run(&[]);
    assert_eq!(status, 1, "{printed}");
    assert!(printed.contains("The account of the key was not compared completely:"), "{printed}");
    assert!(errors.contains("accounts that were not compared: 1"), "{errors}");
}

#[test]
fn a_server_with_a_key_of_test_mode_says_that_it_takes_no_money() {
    for (key, expected) in [("sk_test_topsecret", 1), ("sk_live_topsecret", 0)] {
        let folder = tempfile::tempdir().unwrap();
        write_files(folder.path(), key, WEBHOOK_SECRET);
        let files = ["--stripe-key-file", "key", "--stripe-webhook-secret-file", "secrets"];
        let server = Server::start(folder.path(), &files);
        assert_eq!(server.lines.iter().filter(|line| line.contains("test mode")).count(), expected, "{key}");
        assert!(!server.lines.iter().any(|line| line.contains("topsecret")), "{:?}", server.lines);
    }
}

#[test]
fn a_key_of_test_mode_does_not_start_a_server_on_payments_of_real_money() {
    let folder = tempfile::tempdir().unwrap();
    let fake = FakeStripe::start(SystemClock);
    fake.go_live();
    let live_key = fake.secret_key();
    write_files(folder.path(), &live_key, WEBHOOK_SECRET);
    let api = fake.url();
    let of_stripe = ["--stripe-key-file", "key", "--stripe-api-base", &api];
    let files = [&of_stripe[..], &["--stripe-webhook-secret-file", "secrets"]].concat();
    let server = Server::start(folder.path(), &files);
    sell(&server, &fake);
    let period = ["stripe-reconcile", "--apply", "--from", "2020-01-01", "--to", "2100-01-01T00:00:00Z"];
    assert!(finish(&mut program(folder.path(), &[&period[..], &of_stripe].concat())).status.success());
    assert_eq!(server.stop("TERM").0.code(), Some(0));

    write_files(folder.path(), "sk_test_topsecret", WEBHOOK_SECRET);
    let output = finish(&mut program(folder.path(), &[&files[..], &["--listen", "127.0.0.1:0"]].concat()));
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("secret key is one of test mode") && error.contains("--sandbox"), "{error}");

    assert_eq!(Server::start(folder.path(), &["--sandbox"]).stop("TERM").0.code(), Some(0));
    write_files(folder.path(), &live_key, WEBHOOK_SECRET);
    assert_eq!(Server::start(folder.path(), &files).stop("TERM").0.code(), Some(0));
}
