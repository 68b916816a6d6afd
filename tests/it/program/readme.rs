//! Runs the shell commands of the README and of the guide to HTTP against the program.
#![cfg(all(feature = "program", unix))]

use std::process::Command;

#[cfg(feature = "stripe")]
use ticketing::environment::SystemClock;

#[cfg(feature = "stripe")]
use crate::common::fake_stripe::{FakeStripe, WEBHOOK_SECRET};
#[cfg(feature = "stripe")]
use crate::common::program::program;
use crate::common::program::{Server, finish, has_curl, text};
use crate::common::unavailable;

const SALE: &str = include_str!("../../../README.md");
const RETRIES: &str = include_str!("../../../src/guide/http.md");

/// Returns the shell blocks with curl commands from a text, in order.
fn commands(text: &'static str) -> Vec<&'static str> {
    let blocks = text.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.filter(|block| block.contains("curl")).collect()
}

#[test]
fn the_first_sale_is_five_curl_commands() {
    assert_eq!(commands(SALE).len(), 5);
    assert!(commands(SALE).iter().all(|command| command.matches("curl ").count() == 1));
}

#[test]
fn the_first_sale_of_the_readme_pays_an_order_and_checks_its_ticket_in() {
    if !has_curl() {
        return unavailable("curl is not installed");
    }
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let setup = format!("API=http://{}/v1\nKEY={}\n", server.address(), server.key());
    let scan = commands(SALE).pop().unwrap();
    let output = finish(Command::new("sh").args(["-c", &(setup + &commands(SALE).concat() + scan)]));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let lines: Vec<_> = text(&output.stdout).lines().collect();
    let [.., first, second] = lines.as_slice() else { panic!("{lines:?}") };
    assert!(first.contains("\"status\":\"CHECKED_IN\""), "{first}");
    assert!(second.contains("already-checked-in"), "{second}");
    let orders = server.get("/v1/orders?status=COMPLETED", server.key()).1;
    assert!(orders.contains("\"total\":12.5") && orders.contains("\"status\":\"COMPLETED\""), "{orders}");
}

#[test]
fn the_guide_to_http_retries_an_order_once_and_refuses_an_update_of_an_old_revision() {
    if !has_curl() {
        return unavailable("curl is not installed");
    }
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let setup = format!("API=http://{}/v1\nKEY={}\n", server.address(), server.key());
    let commands = [&commands(SALE)[..2], &commands(RETRIES)].concat();
    let output = finish(Command::new("sh").args(["-c", &(setup + &commands.concat())]));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let lines: Vec<_> = text(&output.stdout).lines().collect();
    let [_event, _ticket_type, order, retry, sold, updated, refused] = lines.as_slice() else { panic!("{lines:?}") };
    assert!(order.contains("\"total\":25") && order == retry, "{order}\n{retry}");
    assert!(sold.contains("\"status\":\"COMPLETED\"") && sold.contains("@walk-in.invalid"), "{sold}");
    assert!(updated.contains("\"title\":\"Summer Nights\""), "{updated}");
    assert!(refused.contains("precondition-failed"), "{refused}");
    let orders = server.get("/v1/orders", server.key()).1;
    assert_eq!(orders.matches("\"affiliateCode\"").count(), 2, "{orders}");
}

/// The page of the fake accepts the same form as the sandbox's.
#[cfg(feature = "stripe")]
#[test]
fn the_first_sale_of_the_readme_is_paid_on_the_page_of_stripe_s_fake() {
    if !has_curl() {
        return unavailable("curl is not installed");
    }
    let folder = tempfile::tempdir().unwrap();
    let mut fake = FakeStripe::start(SystemClock);
    std::fs::write(folder.path().join("stripe-key"), fake.secret_key()).unwrap();
    std::fs::write(folder.path().join("stripe-webhook-secret"), WEBHOOK_SECRET).unwrap();
    let api = fake.url();
    let options = ["--stripe-key-file", "stripe-key", "--stripe-webhook-secret-file", "stripe-webhook-secret"];
    let server = Server::start(folder.path(), &[&options[..], &["--stripe-api-base", &api]].concat());
    fake.set_endpoint(&format!("http://{}/gateway/notices", server.address()));
    fake.deliver_automatically();
    let setup = format!("API=http://{}/v1\nKEY={}\n", server.address(), server.key());
    let output = finish(Command::new("sh").args(["-c", &(setup + &commands(SALE).concat())]));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let output = text(&output.stdout);
    assert!(output.contains(&format!("{api}/c/pay/cs_test_")), "{output}");
    assert!(output.lines().last().unwrap().contains("\"status\":\"CHECKED_IN\""), "{output}");
    let [intent] = &fake.all("payment_intent")[..] else { panic!() };
    assert_eq!(intent["amount_received"], 1250);
    let check =
        finish(&mut program(folder.path(), &[&["stripe-check"], &options[..2], &["--stripe-api-base", &api]].concat()));
    assert!(check.status.success(), "{}", text(&check.stderr));
}
