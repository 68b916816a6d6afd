//! Several processes on one database. The child processes are this test binary with a role.

use std::path::PathBuf;

use ticketing::Error;
use ticketing::error::Reason;
use ticketing::organization::CreateApiKey;

use crate::common::invariants::assert_consistent;
use crate::common::processes::{
    ChildProcess, child_process, child_role, child_variable, send_to_parent, start_together, wait_for_parent,
};
use crate::common::threads::run_at_once;
use crate::common::*;

const CHILD: &str = concat!(module_path!(), "::a_child_process_plays_its_role");
const SEATS: i64 = 2000;

#[test]
#[ignore = "other tests start it"]
fn a_child_process_plays_its_role() {
    let path = || PathBuf::from(child_variable("TICKETING_TEST_FILE"));
    match child_role().as_str() {
        "sell" => sell(&path()),
        "open" => {
            send_to_parent("ready");
            wait_for_parent();
            let service = database::builder_without_schema(path()).open().unwrap();
            send_to_parent(service.create_organization(Default::default()).unwrap().id);
        }
        "authenticate" => authenticate(&path()),
        other => panic!("{other}"),
    }
}

/// Buys tickets until they are sold out, and reports how many it got.
fn sell(path: &std::path::Path) {
    let service = database::builder(path).open().unwrap();
    let caller = service.act_for(child_variable("TICKETING_TEST_ORGANIZATION").parse().unwrap()).unwrap();
    let event = child_variable("TICKETING_TEST_EVENT");
    let ticket_type = child_variable("TICKETING_TEST_TICKET_TYPE");
    let event = event.parse().unwrap();
    let ticket_type = ticket_type.parse().unwrap();
    send_to_parent("ready");
    wait_for_parent();
    let bought = run_at_once(8, |_| {
        let mut bought = 0;
        loop {
            match service.create_order(&caller, new_order(event, ticket_type, 1)) {
                Ok(_) => bought += 1,
                Err(error) if error.reason() == Some(Reason::SoldOut) => return bought,
                Err(error) => panic!("after {bought}: {error}"),
            }
        }
    });
    send_to_parent(bought.iter().sum::<i64>());
}

#[test]
fn several_processes_sell_each_of_the_last_seats_once() {
    let fixture = Fixture::new();
    // The second ticket type keeps the event open, so that orders fail because of the seats.
    fixture.new_ticket_type(0, 1);
    let ticket_type = fixture.new_ticket_type(0, SEATS);
    let children = (0..3).map(|_| {
        let mut command = child_process(CHILD, "sell");
        command
            .env("TICKETING_TEST_FILE", fixture.path())
            .env("TICKETING_TEST_ORGANIZATION", fixture.caller.organization().to_string())
            .env("TICKETING_TEST_EVENT", fixture.default_event().id.to_string())
            .env("TICKETING_TEST_TICKET_TYPE", ticket_type.id.to_string());
        command
    });
    let ended: Vec<_> = start_together(children).into_iter().map(ChildProcess::finish).collect();
    assert!(ended.iter().all(|process| process.status.success()));
    let bought: Vec<i64> = ended.iter().map(|process| process.messages[0].parse().unwrap()).collect();
    assert_eq!(bought.iter().sum::<i64>(), SEATS, "{bought:?}");
    assert_eq!(fixture.sold(&ticket_type), SEATS);
    assert_consistent(&fixture.database());
}

#[test]
fn processes_that_open_a_new_database_at_the_same_time_all_succeed() {
    for _ in 0..3 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ticketing.db");
        database::create_empty(&path);
        let children = (0..8).map(|_| {
            let mut command = child_process(CHILD, "open");
            command.env("TICKETING_TEST_FILE", &path);
            command
        });
        let mut created: Vec<_> =
            start_together(children).into_iter().flat_map(|child| child.finish().messages).collect();
        created.sort();
        created.dedup();
        assert_eq!(created.len(), 8);
        let connection = Database::open(&path);
        assert_eq!(connection.value::<i64>("SELECT COUNT(*) FROM organizations"), 8);
        if connection.is_file() {
            assert_eq!(connection.value::<String>("PRAGMA journal_mode"), "wal");
        }
        assert_consistent(&connection);
    }
}

/// Reports for each line of its input whether the key is valid.
fn authenticate(path: &std::path::Path) {
    let service = database::builder(path).open().unwrap();
    let key = child_variable("TICKETING_TEST_KEY");
    while wait_for_parent() == "try" {
        match service.authenticate(&key) {
            Ok(_) => send_to_parent("valid"),
            Err(Error::Unauthenticated) => send_to_parent("refused"),
            Err(other) => panic!("{other}"),
        }
    }
}

#[test]
fn a_key_revoked_in_one_process_is_refused_in_the_other() {
    let fixture = Fixture::new();
    let request = CreateApiKey::new("Entrance");
    let key = fixture.service.create_api_key(fixture.caller.organization(), request).unwrap();
    let mut command = child_process(CHILD, "authenticate");
    command.env("TICKETING_TEST_FILE", fixture.path()).env("TICKETING_TEST_KEY", key.key.expose());
    let mut child = ChildProcess::start(command);
    let mut authenticates = || {
        child.send("try");
        child.next_message().unwrap()
    };
    assert_eq!(authenticates(), "valid");
    assert_eq!(authenticates(), "valid");
    fixture.service.revoke_api_key(key.api_key.organization_id, key.api_key.id).unwrap();
    assert_eq!(authenticates(), "refused");
    assert!(child.finish().status.success());
}
