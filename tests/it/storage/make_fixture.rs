//! Writes a database with rows of every kind, and what this version returns about them: see the README of
//! `tests/fixtures`.

use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use ticketing::Metadata;
use ticketing::door::{ScanKind, Verdict};
use ticketing::environment::Clock;
use ticketing::event::EventStatus;
use ticketing::id::{EventId, TicketTypeId};
use ticketing::order::CreateOrder;
use ticketing::organization::{CreateApiKey, CreateOrganization, Scope};
use ticketing::payment::{CheckoutState, ManualMethod, MarkRefunded, RefundMethod};
use ticketing::ticket::IssueTickets;
use ticketing::webhook::CreateWebhook;

use crate::common::door::decided;
use crate::common::*;
use crate::storage::history::fill;
use crate::storage::upgrade::answers;

/// Compresses a file of the fixture.
fn write_compressed(to: &Path, name: &str, content: &[u8]) {
    let file = std::fs::File::create(to.join(name)).expect("a file in the folder");
    let mut encoder = GzEncoder::new(file, Compression::best());
    encoder.write_all(content).and_then(|()| encoder.finish().map(drop)).expect("written");
}

#[test]
fn write_the_fixture() {
    let folder = std::env::var_os("FIXTURE");
    let fixture = Fixture::with_gateway(|builder| builder.max_reserved_per_customer(100));
    fill(&fixture);
    let keys = add_what_is_new(&fixture);
    let service = &fixture.service;
    let other = service.get_organization_by_reference("tenant-2").expect("the organization").id;
    let other = service.act_for(other).expect("the organization exists");
    let answers = json!({
        "now": fixture.clock.now(),
        "keys": keys,
        "first": answers(&fixture, &fixture.caller),
        "other": answers(&fixture, &other),
    });
    let database = fixture.folder().path().join("fixture.db");
    service.backup(&database, |_| std::ops::ControlFlow::Continue(())).expect("a copy");
    Database::open(&database).run("PRAGMA journal_mode = DELETE; VACUUM");
    let Some(folder) = folder else {
        println!("not written, because FIXTURE does not name a folder");
        return;
    };
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder).expect("a folder");
    write_compressed(folder, "ticketing.sqlite.gz", &std::fs::read(&database).expect("the copy"));
    write_compressed(folder, "answers.json.gz", &serde_json::to_vec_pretty(&answers).expect("JSON"));
}

fn metadata() -> Metadata {
    [("crm", "ä-17"), ("seat", "12")].into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// An order with a reference and metadata.
pub fn basket(event: EventId, ticket_type: TicketTypeId) -> CreateOrder {
    let mut order = new_order(event, ticket_type, 2);
    (order.reference, order.metadata) = (Some("basket".to_owned()), Some(metadata()));
    order.customer.metadata = Some(metadata());
    order
}

/// Adds what a new database does not have. Returns the text of the API keys.
fn add_what_is_new(fixture: &Fixture) -> Value {
    let (service, caller) = (&fixture.service, &fixture.caller);
    // API keys, and a second organization with a reference, which is suspended.
    let key = |organization, name: &str| service.create_api_key(organization, CreateApiKey::new(name)).expect("a key");
    let (active, revoked) = (key(caller.organization(), "active"), key(caller.organization(), "revoked"));
    service.revoke_api_key(caller.organization(), revoked.api_key.id).expect("revoked");
    let mut tenant = CreateOrganization::default().name("Zürich Events").currency("CHF").timezone("Europe/Zurich");
    tenant.reference = Some("tenant-2".to_owned());
    tenant = tenant.page_name("zurich-events").website("https://zurich.example");
    tenant = tenant.imprint_url("https://zurich.example/imprint").privacy_url("https://zurich.example/privacy");
    let tenant = service.create_organization(tenant).expect("an organization");
    let of_tenant = service.act_for(tenant.id).expect("the organization exists");
    let event =
        service.create_event(&of_tenant, new_event(|new| "Swiss".clone_into(&mut new.title))).expect("an event");
    let platz = ticketing::ticket_type::CreateTicketType::new("Platz", eur(2000), 50);
    service.create_ticket_type(&of_tenant, event.id, platz).expect("a ticket type");
    let closed = service.create_organization(CreateOrganization::default().name("Closed")).expect("an organization");
    let suspended = key(closed.id, "suspended");
    service.suspend_organization(closed.id).expect("suspended");

    // References and metadata of everything, and an order under an idempotency key.
    let event = fixture.event_with(|new| {
        "Tour".clone_into(&mut new.title);
        (new.reference, new.metadata) = (Some("tour".to_owned()), Some(metadata()));
    });
    let ticket_type = fixture.ticket_type_with(&event, |new| {
        "Stand".clone_into(&mut new.name);
        (new.reference, new.metadata) = (Some("stand".to_owned()), Some(metadata()));
    });
    let order = || basket(event.id, ticket_type.id);
    let finished = service.create_order(&fixture.caller_with_key("finished"), order()).expect("an order").value.order;
    service.payment_completed(caller, finished.id).expect("paid");
    let pending = service.create_order(caller, order()).expect("an order").order;
    fixture.gateway.set_state(Some(CheckoutState::Closed));
    assert!(service.renew_checkout(caller, pending.id).expect("a checkout").renewed);
    fixture.gateway.set_state(None);

    // An event whose pending orders are still to be cancelled, because the program ended in between.
    let cancelled = fixture.event_with(|new| "Cancelled".clone_into(&mut new.title));
    fixture.order(&fixture.ticket_type(&cancelled, 900, 10), 1);
    let database = fixture.database();
    let trigger = "CREATE TRIGGER crash BEFORE UPDATE ON orders WHEN new.status = 'CANCELLED' BEGIN SELECT RAISE(ABORT, 'no'); END";
    database.run(trigger);
    fixture.set_event_status(cancelled.id, EventStatus::Cancelled).expect("cancelled");
    database.run("DROP TRIGGER crash");

    // An endpoint that was removed.
    let endpoint = CreateWebhook::new("https://removed.example/hook", [ticketing::webhook::EventType::TicketIssued]);
    let endpoint = service.create_webhook(caller, endpoint).expect("an endpoint").endpoint;
    fixture.issue(&ticket_type, 1);
    service.delete_webhook(caller, endpoint.id).expect("deleted");
    // A ticket whose holder has a locale.
    let mut holder = new_customer();
    holder.locale = Some("de-AT".to_owned());
    service.issue_tickets(caller, IssueTickets::new(ticket_type.id, holder, 1)).expect("a ticket");
    // What 0.2.0 did not have: the refund of an amount, an order that was paid in cash and given back, and the log of the
    // scans of an event.
    fixture.refund_amount(finished.id, eur(100)).expect("a refund");
    let cash = service.create_order(caller, order()).expect("an order").order;
    service.mark_order_paid(caller, cash.id, ManualMethod::Cash).expect("paid");
    service.cancel_order(caller, cash.id).expect("cancelled");
    let given_back = MarkRefunded::all(RefundMethod::Cash).amount(eur(500));
    service.mark_order_refunded(&fixture.caller_with_key("given-back"), cash.id, given_back).expect("given back");
    let door = CreateApiKey::new("Gate A").scopes([Scope::TicketsCheckIn]).event(event.id);
    let door = service.create_api_key(caller.organization(), door).expect("a key");
    let gate = service.authenticate(&door.key).expect("a valid key");
    let tickets = fixture.issue(&ticket_type, 3);
    let now = fixture.clock.now();
    let let_in = |number, code: &str| decided(number, ScanKind::In, code, now, Verdict::Admitted);
    let scans = [
        let_in(101, &tickets[0].code),
        let_in(102, &tickets[0].code),
        let_in(103, "0000"),
        let_in(104, &tickets[1].code),
    ];
    fixture.report(&gate, "Phone 1", scans);
    service.cancel_ticket(caller, tickets[1].id).expect("cancelled");
    // What was done since then, as if it were not: the removal of its notifications, and a run of the maintenance.
    let removal = "INSERT INTO work (id, kind, key, organization_id, body, due_at, created_at)
        VALUES ((SELECT COALESCE(MAX(id), 0) + 1 FROM work), 'remove notifications', ?1, ?2, '', 0, 0)";
    database.execute(removal, [database::stored_id(endpoint.id), database::stored_id(caller.organization())]);
    let run = "INSERT INTO maintenance_clock (id, believed_at) VALUES (1, ?1)
        ON CONFLICT (id) DO UPDATE SET believed_at = excluded.believed_at";
    database.execute(run, [fixture.clock.now().millis()]);
    // The secret of the links of tickets and orders, which a service with links stores.
    database.run("INSERT INTO link_secret (id, secret) VALUES (1, '000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f')");
    let finished: &str = &finished.id.to_string();
    json!({
        "active": active.key.expose(), "revoked": revoked.key.expose(), "suspended": suspended.key.expose(),
        "door": door.key.expose(),
        "finishedOrder": finished,
    })
}
