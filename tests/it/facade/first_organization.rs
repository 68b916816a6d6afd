//! The first organization of a new database.

use std::sync::Barrier;

use ticketing::organization::{CreateApiKey, CreateOrganization, ListOrganizations, Scopes};

use crate::common::database;

fn key() -> CreateApiKey {
    CreateApiKey::new("Office")
}

#[test]
fn only_one_of_several_services_creates_the_first_organization() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ticketing.db");
    database::create_empty(&path);
    let start = Barrier::new(6);
    let created = std::thread::scope(|scope| {
        let create = || {
            start.wait();
            let service = database::builder_without_schema(&path).open().unwrap();
            service.create_first_organization(CreateOrganization::default(), key()).unwrap().is_some()
        };
        let services: Vec<_> = (0..6).map(|_| scope.spawn(create)).collect();
        services.into_iter().map(|service| usize::from(service.join().unwrap())).sum::<usize>()
    });
    assert_eq!(created, 1);
    let service = database::builder(&path).open().unwrap();
    let organizations = service.list_organizations(ListOrganizations::default()).unwrap().data;
    assert_eq!(organizations.len(), 1);
    assert_eq!(service.list_api_keys(organizations[0].id).unwrap().len(), 1);
}

#[test]
fn an_invalid_first_organization_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let service = database::builder(folder.path().join("ticketing.db")).open().unwrap();
    let without_name = CreateOrganization::new("");
    assert_eq!(service.create_first_organization(without_name, key()).unwrap_err().fields()[0].path, "name");
    let without_scopes = key().scopes(Scopes::default());
    let refused = service.create_first_organization(CreateOrganization::default(), without_scopes).unwrap_err();
    assert_eq!(refused.fields()[0].path, "scopes");
    assert!(service.list_organizations(ListOrganizations::default()).unwrap().data.is_empty());
}
