//! Runs the shell commands of the README against the example server.
#![cfg(all(feature = "http", unix))]

use std::process::Command;

use crate::common::example_server::{ExampleServer, finish, has_curl, text};

const README: &str = include_str!("../../README.md");

const SALE: &str = "Quick start: a sale over HTTP";
const RETRIES: &str = "Safe retries and concurrent updates";

/// Returns the shell blocks with curl commands from a section of the README, in order.
fn commands(section: &str) -> Vec<&'static str> {
    let section = README.split("\n## ").find(|part| part.starts_with(section)).unwrap();
    let blocks = section.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
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
        eprintln!("skipped: curl is not installed");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let server = ExampleServer::start(folder.path(), &[]);
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
fn the_readme_retries_an_order_once_and_refuses_an_update_of_an_old_revision() {
    if !has_curl() {
        eprintln!("skipped: curl is not installed");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let server = ExampleServer::start(folder.path(), &[]);
    let setup = format!("API=http://{}/v1\nKEY={}\n", server.address(), server.key());
    let commands = [&commands(SALE)[..2], &commands(RETRIES)].concat();
    let output = finish(Command::new("sh").args(["-c", &(setup + &commands.concat())]));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let lines: Vec<_> = text(&output.stdout).lines().collect();
    let [_event, _ticket_type, order, retry, updated, refused] = lines.as_slice() else { panic!("{lines:?}") };
    assert!(order.contains("\"total\":25") && order == retry, "{order}\n{retry}");
    assert!(updated.contains("\"title\":\"Summer Nights\""), "{updated}");
    assert!(refused.contains("precondition-failed"), "{refused}");
    let orders = server.get("/v1/orders", server.key()).1;
    assert_eq!(orders.matches("\"affiliateCode\"").count(), 1, "{orders}");
}
