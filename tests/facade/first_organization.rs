//! The organization of a fresh file.

use std::sync::Barrier;

use ticketing::{CreateApiKey, CreateOrganization, Scopes, TicketingService};

fn key() -> CreateApiKey {
    CreateApiKey { name: "Fixture".to_owned(), scopes: Scopes::all(), expires_at: None }
}

#[test]
fn of_several_services_that_open_one_fresh_file_at_once_one_makes_the_organization() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ticketing.db");
    let together = Barrier::new(6);
    let made = std::thread::scope(|scope| {
        let start = || {
            together.wait();
            let service = TicketingService::open(&path).unwrap();
            service.create_first_organization(CreateOrganization::default(), key()).unwrap().is_some()
        };
        let services: Vec<_> = (0..6).map(|_| scope.spawn(start)).collect();
        services.into_iter().map(|service| usize::from(service.join().unwrap())).sum::<usize>()
    });
    assert_eq!(made, 1);
    let service = TicketingService::open(&path).unwrap();
    let organizations = service.list_organizations().unwrap();
    assert_eq!(organizations.len(), 1);
    assert_eq!(service.list_api_keys(organizations[0].id).unwrap().len(), 1);
}

#[test]
fn a_refused_first_organization_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let service = TicketingService::open(folder.path().join("ticketing.db")).unwrap();
    let nameless = CreateOrganization { name: String::new(), ..Default::default() };
    assert_eq!(service.create_first_organization(nameless, key()).unwrap_err().fields()[0].path, "name");
    let powerless = CreateApiKey { scopes: Scopes::default(), ..key() };
    let refused = service.create_first_organization(CreateOrganization::default(), powerless).unwrap_err();
    assert_eq!(refused.fields()[0].path, "scopes");
    assert!(service.list_organizations().unwrap().is_empty());
}
