//! API keys: their form, who may use them until when, and what is kept of them.

mod common;

use common::*;
use std::time::Duration;
use ticketing::{ApiKey, CreateApiKey, CreatedApiKey, Error, ListEvents, Scope, Scopes, TicketingService, Timestamp};

fn create_with(shop: &Shop, expires_at: Option<Timestamp>) -> CreatedApiKey {
    let request = CreateApiKey { name: "Office".to_owned(), scopes: Scopes::all(), expires_at };
    shop.service.create_api_key(shop.caller.organization(), request).expect("a key")
}

fn create(shop: &Shop) -> CreatedApiKey {
    create_with(shop, None)
}

#[track_caller]
fn is_refused(service: &TicketingService, key: &str) {
    assert_eq!(service.authenticate(key), Err(Error::Unauthenticated), "{key}");
}

/// The checksum of a key, worked out by the book: CRC-32 as six digits of base 62.
fn checksum(random: &str) -> String {
    let digits: Vec<char> = ('0'..='9').chain('A'..='Z').chain('a'..='z').collect();
    let crc = u64::from(crc32fast::hash(random.as_bytes()));
    (0..6).rev().map(|power| digits[usize::try_from(crc / 62_u64.pow(power) % 62).expect("small")]).collect()
}

#[test]
fn a_key_is_its_prefix_thirty_random_characters_and_their_checksum() {
    let shop = Shop::new();
    let (one, other) = (create(&shop), create(&shop));
    for created in [&one, &other] {
        let rest = created.key.expose().strip_prefix("tk_").expect("the prefix");
        assert!(rest.len() == 36 && rest.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{rest}");
        assert_eq!(rest[30..], checksum(&rest[..30]));
    }
    assert_ne!(one.key, other.key);
}

#[test]
fn a_key_says_for_whom_it_acts_and_what_it_may_do() {
    let shop = Shop::new();
    let scopes: Scopes = [Scope::EventsRead, Scope::TicketsCheckIn].into_iter().collect();
    let request = CreateApiKey { name: "Door".to_owned(), scopes, expires_at: Some(at(END)) };
    let created = shop.service.create_api_key(shop.caller.organization(), request).expect("a key");
    let expected = ApiKey {
        id: created.api_key.id,
        organization_id: shop.caller.organization(),
        name: "Door".to_owned(),
        scopes,
        expires_at: Some(at(END)),
        created_at: at(NOW),
        last_used_at: None,
        revoked_at: None,
    };
    assert_eq!(created.api_key, expected);
    let caller = shop.service.authenticate(created.key.expose()).expect("a caller");
    assert_eq!(
        (caller.organization(), caller.scopes(), caller.key()),
        (shop.caller.organization(), scopes, Some(expected.id))
    );
    assert_eq!(shop.caller.key(), None, "the program itself shows none");
    assert_eq!(shop.caller.scopes(), Scopes::all());
}

#[test]
fn a_key_that_is_mistyped_unknown_or_of_another_file_is_refused_alike() {
    let shop = Shop::new();
    let created = create(&shop);
    let key = created.key.expose();
    let mut swapped: Vec<char> = key.chars().collect();
    let (one, other) = (3, (4..33).find(|index| swapped[*index] != swapped[3]).expect("not all alike"));
    swapped.swap(one, other);
    let random = "0123456789abcdefghijABCDEFGHIJ";
    for wrong in [
        String::new(),
        "tk_".to_owned(),
        key[..38].to_owned(),
        format!("{key} "),
        format!(" {key}"),
        key.to_uppercase(),
        key.replacen("tk_", "", 1),
        swapped.into_iter().collect(),
        // Well formed, and nobody's.
        format!("tk_{random}{}", checksum(random)),
        "ü".repeat(19),
        "\0".to_owned(),
    ] {
        is_refused(&shop.service, &wrong);
    }
    shop.service.authenticate(key).expect("the right one");
}

#[test]
fn a_key_is_refused_from_the_instant_at_which_it_expires() {
    let shop = Shop::new();
    let created = create_with(&shop, Some(at("2026-06-01T13:00Z")));
    let key = created.key.expose();
    shop.turn("2026-06-01T12:59:59.999Z");
    shop.service.authenticate(key).expect("just before");
    shop.turn("2026-06-01T13:00Z");
    is_refused(&shop.service, key);
}

#[test]
fn a_revoked_key_is_refused_from_the_next_request_on_also_where_another_process_revoked_it() {
    let shop = Shop::new();
    let second = shop.second();
    let (created, other) = (create(&shop), create(&shop));
    let key = created.key.expose();
    shop.service.authenticate(key).expect("not revoked");
    second.authenticate(key).expect("not revoked");
    let revoked = second.revoke_api_key(created.api_key.id).expect("revoked");
    assert_eq!(revoked.revoked_at, Some(at(NOW)));
    is_refused(&shop.service, key);
    is_refused(&second, key);
    shop.service.authenticate(other.key.expose()).expect("another key");
    shop.clock.advance(Duration::from_secs(60));
    let again = shop.service.revoke_api_key(created.api_key.id).expect("revoking twice changes nothing");
    assert_eq!(again, revoked);
    is_not_found(shop.service.revoke_api_key("key_0000000000001".parse().expect("an id")));
}

#[test]
fn the_keys_of_an_organization_are_listed_newest_first_revoked_ones_included() {
    let shop = Shop::new();
    let (one, other) = (create(&shop).api_key, create(&shop).api_key);
    let revoked = shop.service.revoke_api_key(one.id).expect("revoked");
    assert_eq!(shop.service.list_api_keys(shop.caller.organization()).expect("a list"), [other, revoked]);
    assert_eq!(shop.service.list_api_keys(shop.stranger().organization()).expect("a list"), []);
    let nobody = "org_0000000000001".parse().expect("an id");
    is_not_found(shop.service.list_api_keys(nobody));
    is_not_found(shop.service.act_for(nobody));
    let request = CreateApiKey { name: "Lost".to_owned(), scopes: Scopes::all(), expires_at: None };
    is_not_found(shop.service.create_api_key(nobody, request));
}

#[test]
fn when_a_key_was_used_last_is_written_to_the_minute_with_the_next_maintenance() {
    let shop = Shop::new();
    let created = create(&shop);
    let last_used = || shop.service.list_api_keys(shop.caller.organization()).expect("a list")[0].last_used_at;
    shop.turn("2026-06-01T12:34:56.789Z");
    shop.service.authenticate(created.key.expose()).expect("a caller");
    assert_eq!(last_used(), None);
    shop.service.run_maintenance().expect("a run");
    assert_eq!(last_used(), Some(at("2026-06-01T12:34:00Z")));
    shop.turn("2026-06-01T12:40:00Z");
    shop.service.run_maintenance().expect("a run");
    assert_eq!(last_used(), Some(at("2026-06-01T12:34:00Z")), "not used since");
    shop.service.authenticate(created.key.expose()).expect("a caller");
    shop.turn("2026-06-01T12:50:00Z");
    shop.service.run_maintenance().expect("a run");
    assert_eq!(last_used(), Some(at("2026-06-01T12:40:00Z")));
    // A refused key was not used.
    shop.service.revoke_api_key(created.api_key.id).expect("revoked");
    is_refused(&shop.service, created.key.expose());
    shop.service.run_maintenance().expect("a run");
    assert_eq!(last_used(), Some(at("2026-06-01T12:40:00Z")));
}

#[test]
fn a_key_is_printed_nowhere_and_stands_in_no_file() {
    let shop = Shop::new();
    let created = create(&shop);
    let caller = shop.service.authenticate(created.key.expose()).expect("a caller");
    shop.service.list_events(&caller, ListEvents::default()).expect("a page");
    let secret = &created.key.expose()[3..33];
    for text in
        [format!("{created:?}"), format!("{:?}", created.key), format!("{caller:?}"), format!("{:?}", shop.service)]
    {
        assert!(!text.contains(secret), "{text}");
    }
    for file in std::fs::read_dir(shop.file().parent().expect("a folder")).expect("a folder") {
        let path = file.expect("a file").path();
        let bytes = std::fs::read(&path).expect("bytes");
        assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()), "{}", path.display());
    }
}

#[test]
fn a_caller_can_only_lose_scopes() {
    let shop = Shop::new();
    let reader = shop.caller.with_only([Scope::EventsRead, Scope::OrdersRead]);
    assert_eq!(reader.scopes(), [Scope::EventsRead, Scope::OrdersRead].into_iter().collect());
    let less = reader.with_only([Scope::EventsRead, Scope::EventsWrite]);
    assert_eq!(less.scopes(), [Scope::EventsRead].into_iter().collect(), "what it had not it does not get");
    assert_eq!((less.organization(), less.key()), (shop.caller.organization(), None));
}
