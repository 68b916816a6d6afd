//! Lists of organizations, and of what they store.

use crate::common::database::stored_id;
use crate::common::*;
use ticketing::id::OrganizationId;
use ticketing::organization::{CreateOrganization, ListOrganizations, Organization, OrganizationWithUsage};
use ticketing::page;
use ticketing::request::Request;
use ticketing::{Result, TicketingService};

fn references(service: &TicketingService, request: ListOrganizations) -> Result<Vec<String>> {
    let page = service.list_organizations(request)?;
    Ok(page.data.into_iter().filter_map(|organization| organization.reference).collect())
}

/// Creates organizations with the references `0`, `1`, … Returns them, oldest first.
fn create(fixture: &Fixture, number: usize) -> Vec<Organization> {
    let request = |number: usize| CreateOrganization::new("Tenant").reference(number.to_string());
    (0..number).map(|number| fixture.service.create_organization(request(number)).unwrap()).collect()
}

#[test]
fn organizations_are_listed_in_pages_newest_first() {
    let fixture = Fixture::new();
    let created = create(&fixture, 110);
    let service = &fixture.service;
    let first = service.list_organizations(ListOrganizations::default()).unwrap();
    assert_eq!(first.data.len(), 25);
    assert_eq!(first.next_cursor, Some(first.data[24].id));
    assert_eq!(first.data[0], created[109]);

    let pages = page::all(|page| service.list_organizations(ListOrganizations::default().page(page)));
    let all: Vec<OrganizationId> = pages.map(|organization| organization.unwrap().id).collect();
    let mut expected = vec![fixture.caller.organization()];
    expected.extend(created.iter().map(|organization| organization.id));
    expected.reverse();
    assert_eq!(all, expected);

    let last = ListOrganizations::default().limit(100).after(created[0].id);
    let last = service.list_organizations(last).unwrap();
    assert_eq!((last.data.len(), last.next_cursor), (1, None));
    assert_eq!(paths(service.list_organizations(ListOrganizations::default().limit(101))), ["limit"]);
    let from_query = Request::<ListOrganizations>::from_value(serde_json::json!({ "reference": "7" }));
    assert_eq!(service.list_organizations(from_query.into_inner().unwrap()).unwrap().data, [created[7].clone()]);
}

#[test]
fn organizations_are_filtered_by_their_exact_reference() {
    let fixture = Fixture::new();
    create(&fixture, 12);
    let by = |reference: &str| references(&fixture.service, ListOrganizations::default().reference(reference));
    assert_eq!(by("1").unwrap(), ["1"]);
    assert_eq!(by("12").unwrap(), [""; 0]);
    assert_eq!(by("").unwrap(), [""; 0]);
    assert_eq!(paths(by(&"x".repeat(256))), ["reference"]);
}

#[test]
fn an_iteration_goes_on_although_the_organization_of_its_cursor_is_deleted() {
    let fixture = Fixture::new();
    let created = create(&fixture, 4);
    let mut pages = page::all(|page| {
        let request = ListOrganizations::default().page(page).limit(2);
        let page = fixture.service.list_organizations(request)?;
        if let Some(last) = page.next_cursor {
            fixture.service.delete_organization(last)?;
        }
        Ok(page)
    });
    let listed: Vec<OrganizationId> = pages.by_ref().map(|organization| organization.unwrap().id).collect();
    let mut expected: Vec<OrganizationId> = created.iter().rev().map(|organization| organization.id).collect();
    expected.push(fixture.caller.organization());
    assert_eq!(listed, expected);
}

#[test]
fn usage_is_listed_for_a_page_of_organizations() {
    let fixture = Fixture::without_gateway();
    let service = &fixture.service;
    let other = fixture.other_organization();
    fixture.order(fixture.default_ticket_type(), 3);
    fixture.issue(fixture.default_ticket_type(), 2);
    let page = service.list_organization_usage(ListOrganizations::default()).unwrap();
    assert_eq!(page.next_cursor, None);
    let [empty, selling] = &page.data[..] else { panic!("{page:?}") };
    assert_eq!(empty.organization.id, other.organization());
    assert_eq!((empty.usage.events, empty.usage.orders, empty.usage.bytes), (0, 0, 0));
    assert_eq!(selling.organization.id, fixture.caller.organization());
    let usage = selling.usage;
    assert_eq!((usage.events, usage.customers, usage.orders, usage.tickets), (1, 1, 1, 2));
    assert_eq!(service.get_organization_usage(fixture.caller.organization()), Ok(usage));
    assert_eq!(paths(service.list_organization_usage(ListOrganizations::default().limit(0))), ["limit"]);
}

#[test]
fn a_page_of_usage_ends_early_after_a_large_organization() {
    let fixture = Fixture::new();
    let created = create(&fixture, 3);
    let insert_customers = |organization: &Organization, number: i64| {
        fixture.database().execute(
            "INSERT INTO customers (id, organization_id, email, email_key, created_at)
                WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ?2)
                SELECT (SELECT COALESCE(MAX(id), 0) FROM customers) + n, ?1, n || '@example.com', n || '@example.com', 0
                FROM number",
            (stored_id(organization.id), number),
        );
    };
    insert_customers(&created[2], 99_999);
    insert_customers(&created[1], 1);
    let list = |request: ListOrganizations| fixture.service.list_organization_usage(request).unwrap();
    let customers = |data: &[OrganizationWithUsage]| -> Vec<u64> { data.iter().map(|it| it.usage.customers).collect() };
    let first = list(ListOrganizations::default());
    assert_eq!(customers(&first.data), [99_999, 1], "100,000 rows are counted");
    assert_eq!(first.next_cursor, Some(created[1].id));
    let second = list(ListOrganizations::default().after(created[1].id));
    assert_eq!((customers(&second.data), second.next_cursor), (vec![0, 0], None));
    // The page is complete, so it is not followed by another.
    let only = list(ListOrganizations::default().reference("2"));
    assert_eq!((customers(&only.data), only.next_cursor), (vec![99_999], None));

    let all = page::all(|page| fixture.service.list_organization_usage(ListOrganizations::default().page(page)));
    assert_eq!(all.collect::<Result<Vec<_>>>().unwrap().len(), 4);
}
