//! Organizations as the embedding program manages them: references, changes, suspension, deletion and usage.

use ticketing::error::{Reason, ResourceKind};
use ticketing::event::ListEvents;
use ticketing::id::OrganizationId;
use ticketing::order::{ListOrders, OrderStatus, PaymentStatus};
use ticketing::organization::{
    CreateApiKey, CreateOrganization, CreatedApiKey, ListOrganizations, Organization, Scopes, UpdateOrganization,
};
use ticketing::ticket::CheckInTicket;
use ticketing::webhook::{CreateWebhook, EventType};
use ticketing::{Error, Result};

use crate::common::door::let_in;
use crate::common::*;

const UNKNOWN: &str = "org_0000000000001";

fn unknown() -> OrganizationId {
    UNKNOWN.parse().expect("an id")
}

fn key() -> CreateApiKey {
    CreateApiKey::new("Office")
}

impl Fixture {
    fn organization(&self) -> Organization {
        self.service.get_organization(self.caller.organization()).expect("the organization")
    }

    fn update_organization(&self, changes: UpdateOrganization) -> Result<Organization> {
        self.service.update_organization(self.caller.organization(), changes)
    }

    fn suspend(&self) -> Organization {
        self.service.suspend_organization(self.caller.organization()).expect("suspended")
    }

    fn resume(&self) -> Organization {
        self.service.resume_organization(self.caller.organization()).expect("resumed")
    }

    fn api_key(&self) -> CreatedApiKey {
        self.service.create_api_key(self.caller.organization(), key()).expect("a key")
    }
}

fn fields<T>(result: Result<T>) -> Vec<String> {
    let error = result.err().expect("a refusal");
    error.fields().iter().map(|field| field.path.clone()).collect()
}

fn reason<T>(result: Result<T>) -> Option<Reason> {
    result.err().expect("a refusal").reason()
}

#[test]
fn an_organization_is_found_by_its_id_and_by_its_exact_reference() {
    let fixture = Fixture::new();
    let service = &fixture.service;
    let cellar = service.create_organization(CreateOrganization::new("Cellar").reference("customer-17")).expect("new");
    assert_eq!(cellar.reference.as_deref(), Some("customer-17"));
    assert_eq!(service.get_organization(cellar.id), Ok(cellar.clone()));
    for reference in ["customer-17", " customer-17\n"] {
        assert_eq!(service.get_organization_by_reference(reference), Ok(cellar.clone()), "{reference:?}");
    }
    for other in ["", "customer-1", "customer-170", "CUSTOMER-17", "customer- 17"] {
        assert_eq!(
            service.get_organization_by_reference(other),
            Err(Error::NotFound(ResourceKind::Organization)),
            "{other}"
        );
    }
    assert_eq!(service.get_organization(unknown()), Err(Error::NotFound(ResourceKind::Organization)));
}

#[test]
fn no_two_organizations_have_the_same_reference() {
    let fixture = Fixture::new();
    let cellar = || CreateOrganization::new("Cellar").reference("customer-17");
    let first = fixture.service.create_organization(cellar()).expect("new");
    assert_eq!(reason(fixture.service.create_organization(cellar())), Some(Reason::ReferenceTaken));
    let same = UpdateOrganization::default().reference("customer-17");
    assert_eq!(reason(fixture.update_organization(same.clone())), Some(Reason::ReferenceTaken));
    assert_eq!(fixture.organization().reference, None);

    let cleared = UpdateOrganization::default().clear_reference();
    assert_eq!(fixture.service.update_organization(first.id, cleared).expect("cleared").reference, None);
    assert_eq!(fixture.update_organization(same).expect("free again").reference.as_deref(), Some("customer-17"));
}

#[test]
fn the_page_name_and_the_urls_of_an_organization_are_set_and_cleared() {
    let fixture = Fixture::new();
    let before = fixture.organization();
    assert_eq!(
        (&before.page_name, &before.website, &before.imprint_url, &before.privacy_url),
        (&None, &None, &None, &None)
    );
    let (website, imprint, privacy) = ("https://example.com", "https://example.com/i", "https://example.com/p");
    let shown = UpdateOrganization::default().page_name("cellar").website(website);
    let shown = fixture.update_organization(shown.imprint_url(imprint).privacy_url(privacy)).expect("changed");
    let expected = with!(
        before.clone(),
        page_name = Some("cellar".to_owned()),
        website = Some(website.to_owned()),
        imprint_url = Some(imprint.to_owned()),
        privacy_url = Some(privacy.to_owned())
    );
    assert_eq!(shown, expected);
    assert_eq!(fixture.organization(), expected);
    let created = CreateOrganization::new("Attic").page_name("attic").website(website).imprint_url(imprint);
    let created = fixture.service.create_organization(created.privacy_url(privacy)).expect("new");
    assert_eq!(
        [created.page_name, created.website, created.imprint_url, created.privacy_url],
        ["attic", website, imprint, privacy].map(|text| Some(text.to_owned()))
    );

    let refused = UpdateOrganization::default().page_name("The Cellar").website("http://example.com");
    let refused = fixture.update_organization(refused.imprint_url("imprint").privacy_url("javascript:x"));
    assert_eq!(fields(refused), ["pageName", "website", "imprintUrl", "privacyUrl"]);
    assert_eq!(fields(fixture.update_organization(UpdateOrganization::default().page_name(UNKNOWN))), ["pageName"]);
    assert_eq!(fixture.organization(), expected);
    let cleared = UpdateOrganization::default().clear_page_name().clear_website().clear_imprint_url();
    assert_eq!(fixture.update_organization(cleared.clear_privacy_url()), Ok(before));
}

#[test]
fn no_two_organizations_have_the_same_page_name() {
    let fixture = Fixture::new();
    let cellar = || CreateOrganization::new("Cellar").page_name("cellar");
    let first = fixture.service.create_organization(cellar()).expect("new");
    let refused = fixture.service.create_organization(cellar()).expect_err("taken");
    assert_eq!(refused.reason(), Some(Reason::PageNameTaken));
    assert_eq!(refused.to_string(), "another organization has the page name cellar");
    assert_eq!(reason(fixture.service.create_organization_with_key(cellar(), key())), Some(Reason::PageNameTaken));
    let same = UpdateOrganization::default().page_name("cellar");
    assert_eq!(reason(fixture.update_organization(same.clone().reference("17"))), Some(Reason::PageNameTaken));
    assert_eq!((fixture.organization().page_name, fixture.organization().reference), (None, None));
    // The other unique field has its own reason.
    let first = fixture.service.update_organization(first.id, same.clone().reference("17")).expect("its own");
    let taken = UpdateOrganization::default().reference("17").page_name("attic");
    assert_eq!(reason(fixture.update_organization(taken)), Some(Reason::ReferenceTaken));

    fixture.service.delete_organization(first.id).expect("deleted");
    assert_eq!(fixture.update_organization(same).expect("free again").page_name.as_deref(), Some("cellar"));
}

#[test]
fn an_update_changes_what_it_names_and_new_events_inherit_it() {
    let fixture = Fixture::new();
    let before = fixture.organization();
    let event_before = fixture.event();
    let changes = UpdateOrganization::default().currency("JPY").timezone("Asia/Tokyo");
    let changed = fixture.update_organization(changes).expect("changed");
    let expected = with!(before, currency = "JPY".to_owned(), timezone = "Asia/Tokyo".to_owned());
    assert_eq!(changed, expected);
    let event = fixture.event();
    assert_eq!((event.currency.as_str(), event.timezone.as_str()), ("JPY", "Asia/Tokyo"));
    assert_eq!(fixture.service.get_event(&fixture.caller, event_before.id), Ok(event_before));

    let renamed = fixture.update_organization(UpdateOrganization::default().name("Cellar")).expect("renamed");
    assert_eq!(renamed, with!(expected, name = "Cellar".to_owned()));
    let wrong = UpdateOrganization::default().name("").currency("EURO").timezone("Mars");
    assert_eq!(fields(fixture.update_organization(wrong)), ["name", "currency", "timezone"]);
    let unknown = fixture.service.update_organization(unknown(), UpdateOrganization::default());
    assert_eq!(unknown, Err(Error::NotFound(ResourceKind::Organization)));
}

#[test]
fn an_organization_and_its_first_key_are_created_together_or_not_at_all() {
    let fixture = Fixture::new();
    let service = &fixture.service;
    let cellar = || CreateOrganization::new("Cellar").reference("customer-17");
    let without_scopes = CreateApiKey::new("Office").scopes(Scopes::default());
    assert_eq!(fields(service.create_organization_with_key(cellar(), without_scopes)), ["scopes"]);
    assert_eq!(service.list_organizations(ListOrganizations::default()).expect("a list").data.len(), 1);

    let (organization, created) = service.create_organization_with_key(cellar(), key()).expect("both");
    let caller = service.authenticate(&created.key).expect("a caller");
    assert_eq!((caller.organization(), caller.key()), (organization.id, Some(created.api_key.id)));
    assert_eq!(reason(service.create_organization_with_key(cellar(), key())), Some(Reason::ReferenceTaken));
    assert_eq!(service.list_organizations(ListOrganizations::default()).expect("a list").data.len(), 2);
}

#[test]
fn a_suspended_organization_is_refused_and_a_resumed_one_is_as_before() {
    let fixture = Fixture::new();
    let service = &fixture.service;
    let api_key = fixture.api_key();
    let by_key = service.authenticate(&api_key.key).expect("a caller");
    let event = fixture.event();
    assert_eq!(fixture.suspend().suspended_at, Some(at(NOW)));
    fixture.clock.advance(HOLD);
    assert_eq!(fixture.suspend().suspended_at, Some(at(NOW)), "it was suspended before");

    assert_eq!(service.authenticate(&api_key.key), Err(Error::OrganizationSuspended));
    let by_id = service.act_for(fixture.caller.organization()).expect("a caller for payments");
    for caller in [&fixture.caller, &by_key, &by_id] {
        assert_eq!(service.list_events(caller, ListEvents::default()), Err(Error::OrganizationSuspended));
        assert_eq!(service.get_event(caller, event.id), Err(Error::OrganizationSuspended));
        assert_eq!(service.create_event(caller, new_event(|_| {})), Err(Error::OrganizationSuspended));
        assert_eq!(service.delete_event(caller, event.id), Err(Error::OrganizationSuspended));
    }
    let others = fixture.other_organization();
    assert!(service.list_events(&others, ListEvents::default()).is_ok());

    assert_eq!(fixture.resume().suspended_at, None);
    service.authenticate(&api_key.key).expect("a caller");
    for caller in [&fixture.caller, &by_key, &by_id] {
        assert_eq!(service.get_event(caller, event.id), Ok(event.clone()));
    }
    assert_eq!(service.suspend_organization(unknown()), Err(Error::NotFound(ResourceKind::Organization)));
    assert_eq!(service.resume_organization(unknown()), Err(Error::NotFound(ResourceKind::Organization)));
}

#[test]
fn another_service_refuses_changes_at_once_and_reads_after_its_maintenance() {
    let fixture = Fixture::new();
    let ticket_type = fixture.new_ticket_type(1250, 10);
    let second = fixture.second_service();
    let caller = second.act_for(fixture.caller.organization()).expect("a caller");
    fixture.suspend();
    let order = || second.create_order(&caller, new_order(ticket_type.event_id, ticket_type.id, 1));
    assert_eq!(order(), Err(Error::OrganizationSuspended));
    assert!(second.list_orders(&caller, ListOrders::default()).expect("still readable").data.is_empty());
    second.run_maintenance().expect("a run");
    assert_eq!(second.list_orders(&caller, ListOrders::default()), Err(Error::OrganizationSuspended));
    // A service that is opened later knows it from the beginning.
    let third = fixture.second_service();
    let third_caller = third.act_for(fixture.caller.organization()).expect("a caller");
    assert_eq!(third.list_orders(&third_caller, ListOrders::default()), Err(Error::OrganizationSuspended));

    fixture.resume();
    second.run_maintenance().expect("a run");
    assert!(order().is_ok());
}

#[test]
fn payments_that_arrive_during_a_suspension_complete_their_orders() {
    let fixture = Fixture::new();
    let service = &fixture.service;
    let ticket_type = fixture.new_ticket_type(1250, 10);
    let paid = fixture.try_order(&ticket_type, 1).expect("an order").id;
    let failed = fixture.try_order(&ticket_type, 1).expect("an order").id;
    fixture.suspend();
    let psp = service.act_for(fixture.caller.organization()).expect("a caller");
    let order = service.payment_completed(&psp, paid).expect("a payment");
    assert_eq!(order.status, OrderStatus::Completed);
    let code = order.items[0].issued_tickets[0].code.clone();
    let order = service.payment_failed(&psp, failed).expect("a failed payment");
    assert_eq!(order.payment_gateway.map(|payment| payment.status), Some(PaymentStatus::Failed));
    fixture.clock.advance(HOLD);
    assert_eq!(service.run_maintenance().expect("a run").expired_orders, 1);

    assert_eq!(service.check_in_ticket(&psp, CheckInTicket::new(&code)), Err(Error::OrganizationSuspended));
    fixture.resume();
    assert!(service.check_in_ticket(&fixture.caller, CheckInTicket::new(&code)).is_ok());
}

#[test]
fn only_an_empty_organization_can_be_deleted() {
    let fixture = Fixture::new();
    let service = &fixture.service;
    let caller = fixture.other_organization();
    let id = caller.organization();
    let api_key = service.create_api_key(id, key()).expect("a key");
    let keyed = caller.with_idempotency_key("once");
    let event = service.create_event(&keyed, new_event(|_| {})).expect("an event").value;
    assert_eq!(reason(service.delete_organization(id)), Some(Reason::InUse));
    service.authenticate(&api_key.key).expect("the refusal has changed nothing");
    service.delete_event(&caller, event.id).expect("deleted");

    let url = "https://receiver.example.com/";
    let webhook = service.create_webhook(&caller, CreateWebhook::new(url, [EventType::OrderCompleted]));
    assert_eq!(reason(service.delete_organization(id)), Some(Reason::InUse));
    service.delete_webhook(&caller, webhook.expect("an endpoint").endpoint.id).expect("deleted");

    service.delete_organization(id).expect("it is empty");
    assert_eq!(service.get_organization(id), Err(Error::NotFound(ResourceKind::Organization)));
    assert_eq!(service.authenticate(&api_key.key), Err(Error::Unauthenticated));
    let late = service.create_event(&caller, new_event(|_| {}));
    assert_eq!(late, Err(Error::NotFound(ResourceKind::Organization)));
    assert_eq!(service.delete_organization(id), Err(Error::NotFound(ResourceKind::Organization)));
    assert_eq!(service.list_organizations(ListOrganizations::default()).expect("a list").data.len(), 1);
}

#[test]
fn an_organization_that_has_sold_something_cannot_be_deleted() {
    let fixture = Fixture::new();
    let ticket_type = fixture.new_ticket_type(0, 10);
    fixture.try_order(&ticket_type, 1).expect("an order");
    assert_eq!(reason(fixture.service.delete_organization(fixture.caller.organization())), Some(Reason::InUse));
}

#[test]
fn usage_counts_the_rows_of_one_organization_and_estimates_their_bytes() {
    let fixture = Fixture::without_gateway();
    let other = fixture.other_organization();
    let usage = |id| fixture.service.get_organization_usage(id).expect("the usage");
    assert_eq!(usage(other.organization()).bytes, 0);
    let ticket_type = fixture.new_ticket_type(0, 10_000);
    let size = || fixture.database().size();
    let (size_before, bytes_before) = (size(), usage(fixture.caller.organization()).bytes);
    for number in 0..400 {
        let mut order = new_order(ticket_type.event_id, ticket_type.id, 2);
        order.customer.email = format!("customer{number}@example.com");
        fixture.service.create_order(&fixture.caller, order).expect("an order");
    }
    let found = usage(fixture.caller.organization());
    assert_eq!((found.events, found.customers, found.orders, found.tickets), (1, 400, 400, 800));
    assert_eq!(usage(other.organization()).orders, 0);
    let grown = u64::try_from(size() - size_before).expect("it has grown");
    let estimated = found.bytes - bytes_before;
    // The estimate may be wrong by half. A server makes room at times of its own, so that only the magnitude is known.
    let (least, most) = if database::is_file() { (grown / 2, grown * 3 / 2) } else { (grown / 3, grown * 3) };
    assert!(least <= estimated && estimated <= most, "estimated {estimated}, grown by {grown}");
    assert_eq!(fixture.service.get_organization_usage(unknown()), Err(Error::NotFound(ResourceKind::Organization)));
}

#[cfg(feature = "mail")]
#[test]
fn usage_counts_mails() {
    use ticketing::documents::TicketDocuments;
    use ticketing::mail::{FolderTransport, MailOptions};

    let folder = tempfile::tempdir().expect("a folder");
    let options = MailOptions::new(FolderTransport::new(folder.path()), "tickets@example.com").threads(false);
    let fixture = Fixture::with(|builder| {
        builder.public_url("https://tickets.example.com").ticket_documents(TicketDocuments::default()).mail(options)
    });
    let other = fixture.other_organization();
    let ticket_type = fixture.new_ticket_type(0, 10);
    let usage = |id| fixture.service.get_organization_usage(id).expect("the usage");
    for _ in 0..3 {
        fixture.try_order(&ticket_type, 1).expect("an order");
    }
    assert_eq!((usage(fixture.caller.organization()).mails, usage(other.organization()).mails), (3, 0));
    let bytes = usage(fixture.caller.organization()).bytes;
    fixture.database().run("DELETE FROM work WHERE kind = 'mail'");
    fixture.database().run("DELETE FROM mails");
    let of_mails = bytes - usage(fixture.caller.organization()).bytes;
    assert!((600..=1800).contains(&of_mails), "{of_mails} bytes for three short rows in six indexes");
}

#[test]
fn usage_counts_the_rows_of_the_log_of_scans() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let gate = fixture.gate(&event);
    let usage = || fixture.service.get_organization_usage(fixture.caller.organization()).expect("the usage");
    let size = || fixture.database().size();
    let (size_before, before) = (size(), usage());
    for start in 0..10 {
        let scans = (0..100).map(|number| let_in(start * 100 + number, "0000", NOW));
        fixture.report(&gate, "Gate A, phone of the volunteers", scans);
    }
    let found = usage();
    assert_eq!((before.scans, found.scans), (0, 1000));
    let grown = u64::try_from(size() - size_before).expect("it has grown");
    let estimated = found.bytes - before.bytes;
    let (least, most) = if database::is_file() { (grown / 2, grown * 3 / 2) } else { (grown / 3, grown * 3) };
    assert!(least <= estimated && estimated <= most, "estimated {estimated}, grown by {grown}");
}

#[test]
fn an_organization_with_many_revoked_keys_and_idempotency_keys_is_deleted_in_batches() {
    let fixture = Fixture::new();
    let other = fixture.other_organization();
    let key = fixture.service.create_api_key(other.organization(), CreateApiKey::new("Old")).expect("a key");
    fixture.service.revoke_api_key(other.organization(), key.api_key.id).expect("revoked");
    let usable = fixture.service.create_api_key(other.organization(), CreateApiKey::new("New")).expect("a key");
    let event = fixture.service.create_event(&other.with_idempotency_key("key"), new_event(|_| {})).expect("an event");
    let database = fixture.database();
    let revoked: i64 = database.value("SELECT id FROM api_keys WHERE revoked_at IS NOT NULL");
    database.insert_api_keys(revoked, 1499);
    database.run(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1499)
        INSERT INTO idempotency_records (organization_id, key, fingerprint, answer, created_at)
        SELECT organization_id, key || n.i, fingerprint, answer, created_at FROM n, idempotency_records",
    );
    let rows = || {
        (fixture.stored("SELECT COUNT(*) FROM api_keys"), fixture.stored("SELECT COUNT(*) FROM idempotency_records"))
    };
    let delete = || fixture.service.delete_organization(other.organization());
    assert_eq!(reason(delete()), Some(Reason::InUse));
    assert_eq!(rows(), (1501, 1500), "the organization has an event");
    fixture.service.authenticate(&usable.key).expect("a caller");
    fixture.service.delete_event(&other, event.value.id).expect("deleted");
    let before = fixture.commits();
    delete().expect("deleted");
    assert_eq!(rows(), (0, 0));
    // 1,000 keys; 500 keys and 500 records; 1,000 records; the organization with its other key.
    fixture.assert_commits(before, 4, "one for each batch");
}
