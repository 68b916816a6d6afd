//! Several processes on one file. The children are this same test binary, run again for one test with a part to play.

use std::path::PathBuf;

use crate::common::invariants::assert_consistent;
use crate::common::processes::{
    ChildProcess, child_process, child_role, child_variable, send_to_parent, start_together, wait_for_parent,
};
use crate::common::threads::run_at_once;
use crate::common::*;
use ticketing::{CreateApiKey, Error, Reason, Scopes, TicketingService};

const CHILD: &str = concat!(module_path!(), "::a_child_process_plays_its_part");
const PLACES: i64 = 2000;

#[test]
fn a_child_process_plays_its_part() {
    let path = || PathBuf::from(child_variable("TICKETING_TEST_FILE"));
    match child_role().as_deref() {
        None => {}
        Some("sell") => sell(&path()),
        Some("open") => {
            send_to_parent("ready");
            wait_for_parent();
            let service = TicketingService::open(path()).unwrap();
            send_to_parent(service.create_organization(Default::default()).unwrap().id);
        }
        Some("authenticate") => authenticate(&path()),
        Some(other) => panic!("{other}"),
    }
}

/// Buys until there is nothing left; says how many tickets it got.
fn sell(path: &std::path::Path) {
    let service = TicketingService::open(path).unwrap();
    let caller = service.act_for(child_variable("TICKETING_TEST_ORGANIZATION").parse().unwrap()).unwrap();
    let (event, ticket_type) = (child_variable("TICKETING_TEST_EVENT"), child_variable("TICKETING_TEST_TICKET_TYPE"));
    let (event, ticket_type) = (event.parse().unwrap(), ticket_type.parse().unwrap());
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
fn processes_that_sell_the_last_places_of_one_file_sell_each_once_and_leave_none() {
    let fixture = Fixture::new();
    // The second type keeps the event open, so that a buyer is told of the places.
    fixture.new_ticket_type(0, 1);
    let ticket_type = fixture.new_ticket_type(0, PLACES);
    let children = (0..3).map(|_| {
        let mut command = child_process(CHILD, "sell");
        command
            .env("TICKETING_TEST_FILE", fixture.path())
            .env("TICKETING_TEST_ORGANIZATION", fixture.caller.organization().to_string())
            .env("TICKETING_TEST_EVENT", fixture.default_event().id.to_string())
            .env("TICKETING_TEST_TICKET_TYPE", ticket_type.id.to_string());
        command
    });
    let ends: Vec<_> = start_together(children).into_iter().map(ChildProcess::finish).collect();
    assert!(ends.iter().all(|(status, _)| status.success()));
    let bought: Vec<i64> = ends.iter().map(|(_, said)| said[0].parse().unwrap()).collect();
    assert_eq!(bought.iter().sum::<i64>(), PLACES, "{bought:?}");
    assert_eq!(fixture.sold(&ticket_type), PLACES);
    assert_consistent(&fixture.database());
}

#[test]
fn processes_that_open_a_fresh_file_at_once_all_succeed_and_share_it() {
    for _ in 0..3 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ticketing.db");
        let children = (0..8).map(|_| {
            let mut command = child_process(CHILD, "open");
            command.env("TICKETING_TEST_FILE", &path);
            command
        });
        let mut made: Vec<_> = start_together(children).into_iter().flat_map(|child| child.finish().1).collect();
        made.sort();
        made.dedup();
        assert_eq!(made.len(), 8);
        let connection = Database::open(&path);
        assert_eq!(connection.value::<i64>("SELECT COUNT(*) FROM organizations"), 8);
        assert_eq!(connection.value::<String>("PRAGMA journal_mode"), "wal");
        assert_consistent(&connection);
    }
}

/// Says for each line of its input whether the key is good.
fn authenticate(path: &std::path::Path) {
    let service = TicketingService::open(path).unwrap();
    let key = child_variable("TICKETING_TEST_KEY");
    while wait_for_parent() == "try" {
        match service.authenticate(&key) {
            Ok(_) => send_to_parent("in"),
            Err(Error::Unauthenticated) => send_to_parent("out"),
            Err(other) => panic!("{other}"),
        }
    }
}

#[test]
fn a_key_revoked_in_one_process_is_refused_in_the_other_from_the_next_request_on() {
    let fixture = Fixture::new();
    let request = CreateApiKey { name: "Door".to_owned(), scopes: Scopes::all(), expires_at: None };
    let key = fixture.service.create_api_key(fixture.caller.organization(), request).unwrap();
    let mut command = child_process(CHILD, "authenticate");
    command.env("TICKETING_TEST_FILE", fixture.path()).env("TICKETING_TEST_KEY", key.key.expose());
    let mut door = ChildProcess::start(command);
    let mut ask = || {
        door.send("try");
        door.next_message().unwrap()
    };
    assert_eq!(ask(), "in");
    assert_eq!(ask(), "in");
    fixture.service.revoke_api_key(key.api_key.id).unwrap();
    assert_eq!(ask(), "out");
    assert!(door.finish().0.success());
}
