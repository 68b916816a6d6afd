//! What the README tells people to paste, pasted.
#![cfg(all(feature = "server", unix))]

#[path = "common/program.rs"]
#[expect(dead_code, reason = "the tests of the command line use the rest")]
mod program;

use std::process::Command;

use program::{Server, finish, has_curl, text};

const README: &str = include_str!("../README.md");

/// The shell blocks of the README that talk to a server, in their order.
fn commands() -> Vec<&'static str> {
    let blocks = README.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.filter(|block| block.contains("curl")).collect()
}

#[test]
fn the_first_sale_is_five_curl_commands() {
    assert_eq!(commands().len(), 5);
    assert!(commands().iter().all(|command| command.matches("curl ").count() == 1));
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
    let scan = commands().pop().unwrap();
    let output = finish(Command::new("sh").args(["-c", &(setup + &commands().concat() + scan)]));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let answers: Vec<_> = text(&output.stdout).lines().collect();
    let [.., first, second] = answers.as_slice() else { panic!("{answers:?}") };
    assert!(first.contains("\"status\":\"CHECKED_IN\""), "{first}");
    assert!(second.contains("already-checked-in"), "{second}");
    let orders = server.get("/v1/orders?status=COMPLETED", server.key()).1;
    assert!(orders.contains("\"total\":12.5") && orders.contains("\"status\":\"COMPLETED\""), "{orders}");
}
