//! What changes is seen by the very next request, also if another service on the same database has changed it: nothing
//! that decides about a request is taken from memory.

use ticketing::TicketingService;

use crate::common::Fixture;
use crate::common::database::params;
use crate::common::http::{Server, event_on_sale};

/// Changes something by a service, with the path of an event and the server's key.
type Change = fn(&TicketingService, &Server, &str);

fn revoke_key(service: &TicketingService, server: &Server, _: &str) {
    let key = service.authenticate(&server.key).unwrap().key().unwrap();
    service.revoke_api_key(server.organization, key).unwrap();
}

fn suspend(service: &TicketingService, server: &Server, _: &str) {
    service.suspend_organization(server.organization).unwrap();
}

fn delete_event(service: &TicketingService, server: &Server, event: &str) {
    let caller = service.act_for(server.organization).unwrap();
    service.delete_event(&caller, event.parse().unwrap()).unwrap();
}

/// No operation changes the scopes of a key.
fn take_scope(_: &TicketingService, server: &Server, _: &str) {
    server.database().execute("UPDATE api_keys SET scopes = ?1", params!["orders:read"]);
}

#[test]
fn a_change_by_any_service_is_seen_by_the_very_next_request() {
    let changes: [(Change, u16); 4] = [(revoke_key, 401), (suspend, 403), (delete_event, 404), (take_scope, 403)];
    for (change, expected) in changes {
        for by_another in [false, true] {
            let fixture = Fixture::new();
            let (own, other) = (fixture.service.clone(), fixture.second_service());
            let server = Server::of(fixture);
            let mut client = server.client();
            let event = event_on_sale(&mut client, "summer-night").event;
            let path = format!("/v1/events/{event}");
            let list = format!("{path}/ticket-types");
            // The look-ups of a connection that has had many.
            for _ in 0..20 {
                client.get(&path).expect(200);
                client.get(&list).expect(200);
            }
            change(if by_another { &other } else { &own }, &server, &event);
            let statuses = [&path, &list].map(|path| client.get(path).status);
            assert_eq!(statuses, [expected; 2], "by another service: {by_another}");
        }
    }
}
