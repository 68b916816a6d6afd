//! API keys: their format, expiry and revocation, and what is stored about them.

use std::time::Duration;

use ticketing::event::ListEvents;
use ticketing::organization::{ApiKey, CreateApiKey, CreatedApiKey, Scope, Scopes};
use ticketing::{Error, TicketingService, Timestamp};

use crate::common::*;

fn create_with(fixture: &Fixture, expires_at: Option<Timestamp>) -> CreatedApiKey {
    let mut request = CreateApiKey::new("Office");
    request.expires_at = expires_at;
    fixture.service.create_api_key(fixture.caller.organization(), request).expect("a key")
}

fn create(fixture: &Fixture) -> CreatedApiKey {
    create_with(fixture, None)
}

#[track_caller]
fn assert_refused(service: &TicketingService, key: &str) {
    assert_eq!(service.authenticate(key), Err(Error::Unauthenticated), "{key}");
}

/// Calculates the checksum of a key independently: CRC-32 as six digits of base 62.
fn checksum(random: &str) -> String {
    let digits: Vec<char> = ('0'..='9').chain('A'..='Z').chain('a'..='z').collect();
    let crc = u64::from(crc32fast::hash(random.as_bytes()));
    (0..6).rev().map(|power| digits[usize::try_from(crc / 62_u64.pow(power) % 62).expect("small")]).collect()
}

#[test]
fn a_key_is_its_prefix_thirty_random_characters_and_their_checksum() {
    let fixture = Fixture::new();
    let first = create(&fixture);
    let second = create(&fixture);
    for created in [&first, &second] {
        let rest = created.key.expose().strip_prefix("tk_").expect("the prefix");
        assert!(rest.len() == 36 && rest.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{rest}");
        assert_eq!(rest[30..], checksum(&rest[..30]));
    }
    assert_ne!(first.key, second.key);
}

#[test]
fn a_key_has_an_organization_and_scopes() {
    let fixture = Fixture::new();
    let scopes: Scopes = [Scope::EventsRead, Scope::TicketsCheckIn].into_iter().collect();
    let request = CreateApiKey::new("Entrance").scopes(scopes).expires_at(at(EVENT_END));
    let created = fixture.service.create_api_key(fixture.caller.organization(), request).expect("a key");
    let expected = from_json::<ApiKey>(json!({
        "id": created.api_key.id,
        "organizationId": fixture.caller.organization(),
        "name": "Entrance",
        "scopes": scopes,
        "eventId": null,
        "expiresAt": at(EVENT_END),
        "createdAt": at(NOW),
        "lastUsedAt": null,
        "revokedAt": null
    }));
    assert_eq!(created.api_key, expected);
    let caller = fixture.service.authenticate(&created.key).expect("a caller");
    assert_eq!(
        (caller.organization(), caller.scopes(), caller.key()),
        (fixture.caller.organization(), scopes, Some(expected.id))
    );
    assert_eq!(fixture.caller.key(), None, "a caller without an API key");
    assert_eq!(fixture.caller.scopes(), Scopes::all());
}

#[test]
fn a_key_for_which_no_scopes_are_named_has_all() {
    let fixture = Fixture::new();
    let created = create(&fixture);
    let caller = fixture.service.authenticate(&created.key).expect("a caller");
    assert_eq!(caller.scopes(), Scopes::all());
    // In JSON they must be named.
    assert!(serde_json::from_str::<CreateApiKey>(r#"{"name": "Office"}"#).is_err());
}

#[test]
fn a_mistyped_or_unknown_key_is_refused() {
    let fixture = Fixture::new();
    let created = create(&fixture);
    let key = created.key.expose();
    let mut swapped: Vec<char> = key.chars().collect();
    let other = (4..33).find(|index| swapped[*index] != swapped[3]).expect("not all are equal");
    swapped.swap(3, other);
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
        // Well formed, but unknown.
        format!("tk_{random}{}", checksum(random)),
        "ü".repeat(19),
        "\0".to_owned(),
    ] {
        assert_refused(&fixture.service, &wrong);
    }
    fixture.service.authenticate(key).expect("the valid key");
}

#[test]
fn a_key_is_refused_from_the_instant_it_expires() {
    let fixture = Fixture::new();
    let created = create_with(&fixture, Some(at("2026-06-01T13:00Z")));
    let key = created.key.expose();
    fixture.set_clock("2026-06-01T12:59:59.999Z");
    fixture.service.authenticate(key).expect("just before");
    fixture.set_clock("2026-06-01T13:00Z");
    assert_refused(&fixture.service, key);
}

#[test]
fn a_revoked_key_is_refused_from_the_next_request_in_every_service() {
    let fixture = Fixture::new();
    let second = fixture.second_service();
    let created = create(&fixture);
    let other = create(&fixture);
    let key = created.key.expose();
    fixture.service.authenticate(key).expect("not revoked");
    second.authenticate(key).expect("not revoked");
    let revoked = second.revoke_api_key(created.api_key.organization_id, created.api_key.id).expect("revoked");
    assert_eq!(revoked.revoked_at, Some(at(NOW)));
    assert_refused(&fixture.service, key);
    assert_refused(&second, key);
    fixture.service.authenticate(&other.key).expect("another key");
    fixture.clock.advance(Duration::from_secs(60));
    let again = fixture
        .service
        .revoke_api_key(created.api_key.organization_id, created.api_key.id)
        .expect("revoking twice changes nothing");
    assert_eq!(again, revoked);
    let organization = fixture.caller.organization();
    assert_not_found(fixture.service.revoke_api_key(organization, "key_0000000000001".parse().expect("an id")));
    let other_key = create(&fixture);
    let other = fixture.other_organization().organization();
    assert_not_found(fixture.service.revoke_api_key(other, other_key.api_key.id));
    fixture.service.authenticate(&other_key.key).expect("a key of this organization");
}

#[test]
fn keys_are_listed_newest_first_including_revoked_ones() {
    let fixture = Fixture::new();
    let first = create(&fixture).api_key;
    let second = create(&fixture).api_key;
    let revoked = fixture.service.revoke_api_key(first.organization_id, first.id).expect("revoked");
    assert_eq!(fixture.service.list_api_keys(fixture.caller.organization()).expect("a list"), [second, revoked]);
    assert_eq!(fixture.service.list_api_keys(fixture.other_organization().organization()).expect("a list"), []);
    let unknown = "org_0000000000001".parse().expect("an id");
    assert_not_found(fixture.service.list_api_keys(unknown));
    assert_not_found(fixture.service.act_for(unknown));
    let request = CreateApiKey::new("Lost");
    assert_not_found(fixture.service.create_api_key(unknown, request));
}

#[test]
fn maintenance_stores_when_a_key_was_last_used_to_the_minute() {
    let fixture = Fixture::new();
    let created = create(&fixture);
    let last_used = || fixture.service.list_api_keys(fixture.caller.organization()).expect("a list")[0].last_used_at;
    fixture.set_clock("2026-06-01T12:34:56.789Z");
    fixture.service.authenticate(&created.key).expect("a caller");
    assert_eq!(last_used(), None);
    fixture.service.run_maintenance().expect("a run");
    assert_eq!(last_used(), Some(at("2026-06-01T12:34:00Z")));
    fixture.set_clock("2026-06-01T12:40:00Z");
    fixture.service.run_maintenance().expect("a run");
    assert_eq!(last_used(), Some(at("2026-06-01T12:34:00Z")), "not used since");
    fixture.service.authenticate(&created.key).expect("a caller");
    fixture.set_clock("2026-06-01T12:50:00Z");
    fixture.service.run_maintenance().expect("a run");
    assert_eq!(last_used(), Some(at("2026-06-01T12:40:00Z")));
    // A refused request does not count as a use.
    fixture.service.revoke_api_key(created.api_key.organization_id, created.api_key.id).expect("revoked");
    assert_refused(&fixture.service, created.key.expose());
    fixture.service.run_maintenance().expect("a run");
    assert_eq!(last_used(), Some(at("2026-06-01T12:40:00Z")));
}

#[test]
fn a_key_appears_in_no_debug_output_and_no_file() {
    let fixture = Fixture::new();
    let created = create(&fixture);
    let caller = fixture.service.authenticate(&created.key).expect("a caller");
    fixture.service.list_events(&caller, ListEvents::default()).expect("a page");
    let secret = &created.key.expose()[3..33];
    for text in
        [format!("{created:?}"), format!("{:?}", created.key), format!("{caller:?}"), format!("{:?}", fixture.service)]
    {
        assert!(!text.contains(secret), "{text}");
    }
    for file in std::fs::read_dir(fixture.path().parent().expect("a folder")).expect("a folder") {
        let path = file.expect("a file").path();
        let bytes = std::fs::read(&path).expect("bytes");
        assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()), "{}", path.display());
    }
}

#[test]
fn a_caller_can_only_lose_scopes() {
    let fixture = Fixture::new();
    let reader = fixture.caller.with_scopes([Scope::EventsRead, Scope::OrdersRead]);
    assert_eq!(reader.scopes(), [Scope::EventsRead, Scope::OrdersRead].into_iter().collect());
    let less = reader.with_scopes([Scope::EventsRead, Scope::EventsWrite]);
    assert_eq!(less.scopes(), [Scope::EventsRead].into_iter().collect(), "scopes can only be removed");
    assert_eq!((less.organization(), less.key()), (fixture.caller.organization(), None));
}
