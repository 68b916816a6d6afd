//! Several processes on one file. The children are this same test binary, run again for one test with a part to play.

#[path = "common/load.rs"]
mod load;

use std::path::PathBuf;

use load::{Running, Shop, assert_sound, at_once, child, order_of, role, say, sql, together, value, wait_for_a_word};
use ticketing::{CreateApiKey, Error, Reason, Scopes, TicketingService};

const CHILD: &str = "a_child_process_plays_its_part";
const PLACES: i64 = 2000;

fn variable(name: &str) -> String {
    std::env::var(name).unwrap()
}

#[test]
fn a_child_process_plays_its_part() {
    let path = || PathBuf::from(variable("TICKETING_TEST_FILE"));
    match role().as_deref() {
        None => {}
        Some("sell") => sell(&path()),
        Some("open") => {
            say("ready");
            wait_for_a_word();
            let service = TicketingService::open(path()).unwrap();
            say(service.create_organization(Default::default()).unwrap().id);
        }
        Some("authenticate") => authenticate(&path()),
        Some(other) => panic!("{other}"),
    }
}

/// Buys until there is nothing left; says how many tickets it got.
fn sell(path: &std::path::Path) {
    let service = TicketingService::open(path).unwrap();
    let caller = service.act_for(variable("TICKETING_TEST_ORGANIZATION").parse().unwrap()).unwrap();
    let (event, seats) = (variable("TICKETING_TEST_EVENT"), variable("TICKETING_TEST_SEATS"));
    let (event, seats) = (event.parse().unwrap(), seats.parse().unwrap());
    say("ready");
    wait_for_a_word();
    let bought = at_once(8, |_| {
        let mut bought = 0;
        loop {
            match service.create_order(&caller, order_of(event, seats, 1)) {
                Ok(_) => bought += 1,
                Err(error) if error.reason() == Some(Reason::SoldOut) => return bought,
                Err(error) => panic!("after {bought}: {error}"),
            }
        }
    });
    say(bought.iter().sum::<i64>());
}

#[test]
fn processes_that_sell_the_last_places_of_one_file_sell_each_once_and_leave_none() {
    let shop = Shop::open();
    // The second type keeps the event open, so that a buyer is told of the places.
    shop.seats(0, 1);
    let seats = shop.seats(0, PLACES);
    let children = (0..3).map(|_| {
        let mut command = child(CHILD, "sell");
        command
            .env("TICKETING_TEST_FILE", &shop.path)
            .env("TICKETING_TEST_ORGANIZATION", shop.caller.organization().to_string())
            .env("TICKETING_TEST_EVENT", shop.event.id.to_string())
            .env("TICKETING_TEST_SEATS", seats.to_string());
        command
    });
    let ends: Vec<_> = together(children).into_iter().map(Running::rest).collect();
    assert!(ends.iter().all(|(status, _)| status.success()));
    let bought: Vec<i64> = ends.iter().map(|(_, said)| said[0].parse().unwrap()).collect();
    assert_eq!(bought.iter().sum::<i64>(), PLACES, "{bought:?}");
    assert_eq!(shop.ticket_type(seats).sold, PLACES);
    assert_sound(&sql(&shop.path));
}

#[test]
fn processes_that_open_a_fresh_file_at_once_all_succeed_and_share_it() {
    for _ in 0..3 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ticketing.db");
        let children = (0..8).map(|_| {
            let mut command = child(CHILD, "open");
            command.env("TICKETING_TEST_FILE", &path);
            command
        });
        let mut made: Vec<_> = together(children).into_iter().flat_map(|child| child.rest().1).collect();
        made.sort();
        made.dedup();
        assert_eq!(made.len(), 8);
        let connection = sql(&path);
        assert_eq!(value::<i64>(&connection, "SELECT COUNT(*) FROM organizations"), 8);
        assert_eq!(value::<String>(&connection, "PRAGMA journal_mode"), "wal");
        assert_sound(&connection);
    }
}

/// Says for each line of its input whether the key is good.
fn authenticate(path: &std::path::Path) {
    let service = TicketingService::open(path).unwrap();
    let key = variable("TICKETING_TEST_KEY");
    while wait_for_a_word() == "try" {
        match service.authenticate(&key) {
            Ok(_) => say("in"),
            Err(Error::Unauthenticated) => say("out"),
            Err(other) => panic!("{other}"),
        }
    }
}

#[test]
fn a_key_revoked_in_one_process_is_refused_in_the_other_from_the_next_request_on() {
    let shop = Shop::open();
    let request = CreateApiKey { name: "Door".to_owned(), scopes: Scopes::all(), expires_at: None };
    let key = shop.service.create_api_key(shop.caller.organization(), request).unwrap();
    let mut command = child(CHILD, "authenticate");
    command.env("TICKETING_TEST_FILE", &shop.path).env("TICKETING_TEST_KEY", key.key.expose());
    let mut door = Running::start(command);
    let mut ask = || {
        door.tell("try");
        door.next().unwrap()
    };
    assert_eq!(ask(), "in");
    assert_eq!(ask(), "in");
    shop.service.revoke_api_key(key.api_key.id).unwrap();
    assert_eq!(ask(), "out");
    assert!(door.rest().0.success());
}
