//! What the README tells people to paste, pasted.
#![cfg(all(feature = "server", unix))]

#[path = "common/program.rs"]
#[expect(dead_code, reason = "the tests of the command line use the rest")]
mod program;

use std::process::Command;

use program::{Server, finish, has_curl, text};

const README: &str = include_str!("../README.md");

const SALE: &str = "A first sale over HTTP";

/// The shell blocks of a section of the README that talk to a server, in their order.
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
fn the_curl_commands_of_the_readme_sell_a_paid_ticket_and_check_it_in() {
    if !has_curl() {
        eprintln!("there is no curl here: nothing was pasted");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let setup = format!("API=http://{}/v1\nKEY={}\n", server.address(), server.key());
    let scan = commands(SALE).pop().unwrap();
    let output = finish(Command::new("sh").args(["-c", &(setup + &commands(SALE).concat() + scan)]));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let answers: Vec<_> = text(&output.stdout).lines().collect();
    let [.., first, second] = answers.as_slice() else { panic!("{answers:?}") };
    assert!(first.contains("\"status\":\"CHECKED_IN\""), "{first}");
    assert!(second.contains("already-checked-in"), "{second}");
    let orders = server.get("/v1/orders?status=COMPLETED", server.key()).1;
    assert!(orders.contains("\"total\":12.5") && orders.contains("\"status\":\"COMPLETED\""), "{orders}");
}

#[test]
fn an_order_that_is_asked_for_twice_is_one_and_of_two_changes_of_what_was_seen_the_second_is_refused() {
    if !has_curl() {
        eprintln!("there is no curl here: nothing was pasted");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let setup = format!("API=http://{}/v1\nKEY={}\n", server.address(), server.key());
    let commands = [&commands(SALE)[..2], &commands("Asking again, and changing what was seen")].concat();
    let output = finish(Command::new("sh").args(["-c", &(setup + &commands.concat())]));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let answers: Vec<_> = text(&output.stdout).lines().collect();
    let [order, again, changed, refused] = answers.as_slice() else { panic!("{answers:?}") };
    assert!(order.contains("\"total\":25") && order == again, "{order}\n{again}");
    assert!(changed.contains("\"title\":\"Summer Nights\""), "{changed}");
    assert!(refused.contains("precondition-failed"), "{refused}");
    let orders = server.get("/v1/orders", server.key()).1;
    assert_eq!(orders.matches("\"affiliateCode\"").count(), 1, "{orders}");
}
