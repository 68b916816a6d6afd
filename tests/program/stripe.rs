//! The example server with payments through Stripe: options, and the command `stripe-check`.
#![cfg(all(feature = "stripe", feature = "http", unix))]

use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};
use ticketing::environment::SystemClock;

use crate::common::example_server::{ExampleServer, finish, program, text};
use crate::common::fake_stripe::{FakeStripe, WEBHOOK_SECRET};

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

#[test]
fn a_server_with_a_key_of_test_mode_says_that_it_takes_no_money() {
    for (key, expected) in [("sk_test_topsecret", 1), ("sk_live_topsecret", 0)] {
        let folder = tempfile::tempdir().unwrap();
        write_files(folder.path(), key, WEBHOOK_SECRET);
        let files = ["--stripe-key-file", "key", "--stripe-webhook-secret-file", "secrets"];
        let server = ExampleServer::start(folder.path(), &files);
        assert_eq!(server.lines.iter().filter(|line| line.contains("test mode")).count(), expected, "{key}");
        assert!(!server.lines.iter().any(|line| line.contains("topsecret")), "{:?}", server.lines);
    }
}
