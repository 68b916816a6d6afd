//! Races about organizations: their references, their suspension and their deletion. Each test has a control that
//! checks first and writes later: what the check has found then no longer holds.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

use ticketing::Error;
use ticketing::error::{Reason, ResourceKind};
use ticketing::organization::{CreateOrganization, ListOrganizations, UpdateOrganization};

use crate::common::threads::{run_at_once, run_both};
use crate::common::*;

const ROUNDS: usize = 30;

#[test]
fn one_of_sixteen_new_organizations_gets_the_reference() {
    let fixture = Fixture::new();
    let services = [fixture.second_service(), fixture.second_service()];
    let created = run_at_once(16, |number| {
        let new = CreateOrganization::new("Cellar").reference("customer-17");
        services[number % 2].create_organization(new)
    });
    let refused = created.iter().filter_map(|created| created.as_ref().err());
    assert_eq!(refused.map(Error::reason).collect::<Vec<_>>(), [Some(Reason::ReferenceTaken); 15]);
}

#[test]
fn one_of_sixteen_organizations_gets_the_page_name() {
    let fixture = Fixture::new();
    let services = [fixture.second_service(), fixture.second_service()];
    let new = || services[0].create_organization(CreateOrganization::new("Cellar")).expect("new").id;
    let existing: Vec<_> = (0..8).map(|_| new()).collect();
    let named = run_at_once(16, |number| {
        let service = &services[number % 2];
        match existing.get(number) {
            Some(id) => service.update_organization(*id, UpdateOrganization::default().page_name("cellar")),
            None => service.create_organization(CreateOrganization::new("Attic").page_name("cellar")),
        }
    });
    let refused = named.iter().filter_map(|named| named.as_ref().err());
    assert_eq!(refused.map(Error::reason).collect::<Vec<_>>(), [Some(Reason::PageNameTaken); 15]);
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM organizations WHERE page_name = 'cellar'"), 1);
}

#[test]
fn control_without_the_unique_index_sixteen_organizations_get_the_reference() {
    let (_folder, path) = Fixture::new().into_file();
    Database::open(&path).run("DROP INDEX organizations_by_reference");
    let have_read = Barrier::new(16);
    let count = "SELECT COUNT(*) FROM organizations WHERE reference = 'customer-17'";
    run_at_once(16, |number| {
        let database = Database::open(&path);
        let is_free = database.value::<i64>(count) == 0;
        have_read.wait();
        if is_free {
            let sql = "INSERT INTO organizations (id, name, currency, timezone, reference, created_at)
                VALUES (?1, 'Cellar', 'EUR', 'UTC', 'customer-17', 0)";
            database.execute(sql, [i64::try_from(number).unwrap() + 1]);
        }
    });
    assert_eq!(Database::open(&path).value::<i64>(count), 16);
}

#[test]
fn no_order_is_created_after_a_suspension_has_returned() {
    let fixture = Fixture::new();
    let ticket_type = fixture.new_ticket_type(0, 1_000_000);
    let id = fixture.caller.organization();
    // Another service, which does not learn of the suspension other than from the file.
    let seller = fixture.second_service();
    for _ in 0..ROUNDS {
        let caller = seller.act_for(id).unwrap();
        let has_failed = AtomicBool::new(false);
        let sell = || {
            let mut sold = 0;
            loop {
                match seller.create_order(&caller, new_order(ticket_type.event_id, ticket_type.id, 1)) {
                    Ok(_) if !has_failed.load(Ordering::Relaxed) => sold += 1,
                    Ok(_) => panic!("the suspension has failed"),
                    Err(Error::OrganizationSuspended) => return sold,
                    Err(error) => panic!("after {sold}: {error}"),
                }
            }
        };
        let before = fixture.sold(&ticket_type);
        let sold_when_suspended = || {
            let suspended = fixture.service.suspend_organization(id);
            has_failed.store(suspended.is_err(), Ordering::Relaxed);
            suspended.unwrap();
            fixture.stored("SELECT sold FROM ticket_types")
        };
        let (sold, at_suspension) = run_both(sell, sold_when_suspended);
        assert_eq!(before + sold, at_suspension);
        fixture.service.resume_organization(id).unwrap();
        assert_eq!(fixture.sold(&ticket_type), at_suspension);
    }
}

#[test]
fn control_with_a_check_before_the_transaction_an_order_follows_the_suspension() {
    let fixture = Fixture::new();
    fixture.new_ticket_type(0, 10);
    let seller = fixture.database();
    let is_active = seller.value::<bool>("SELECT suspended_at IS NULL FROM organizations");
    fixture.service.suspend_organization(fixture.caller.organization()).unwrap();
    if is_active {
        seller.execute("UPDATE ticket_types SET sold = sold + 1", []);
    }
    assert_eq!(fixture.stored("SELECT sold FROM ticket_types"), 1);
    fixture.skip_final_check();
}

#[test]
fn an_event_and_the_deletion_of_its_organization_exclude_each_other() {
    let fixture = Fixture::new();
    let second = fixture.second_service();
    let mut deletions = 0;
    for _ in 0..ROUNDS {
        let caller = fixture.other_organization();
        let id = caller.organization();
        let (event, deleted) =
            run_both(|| second.create_event(&caller, new_event(|_| {})), || fixture.service.delete_organization(id));
        match deleted {
            Ok(()) => {
                assert_eq!(event, Err(Error::NotFound(ResourceKind::Organization)));
                deletions += 1;
            }
            Err(error) => {
                assert_eq!(error.reason(), Some(Reason::InUse));
                assert!(fixture.service.get_event(&caller, event.unwrap().id).is_ok());
            }
        }
    }
    let left = fixture.service.list_organizations(ListOrganizations::default().limit(50)).unwrap().data.len();
    assert_eq!(left, 1 + ROUNDS - deletions);
}

#[test]
fn control_with_a_check_before_the_transaction_an_event_loses_its_organization() {
    let fixture = Fixture::new();
    let caller = fixture.other_organization();
    let database = Database::open_without_constraints(&fixture.path());
    let condition = "organization_id = (SELECT MAX(id) FROM organizations)";
    let is_empty = database.value::<i64>(&format!("SELECT COUNT(*) FROM events WHERE {condition}")) == 0;
    let event = fixture.service.create_event(&caller, new_event(|_| {})).unwrap();
    if is_empty {
        database.execute("DELETE FROM organizations WHERE id = (SELECT MAX(id) FROM organizations)", []);
    }
    assert!(fixture.service.get_event(&caller, event.id).is_ok());
    assert_eq!(fixture.service.list_organizations(ListOrganizations::default()).unwrap().data.len(), 1);
    // A check does not repeat what PostgreSQL checks.
    assert!(!database::is_file() || !fixture.service.check().unwrap().is_clean());
    fixture.skip_final_check();
}
