//! The time of a service is that of the database server.

use ticketing::environment::{Clock, SystemClock};
use ticketing::event::{CreateEvent, EventStatus};
use ticketing::order::{CreateOrder, NewCustomer, OrderStatus};
use ticketing::organization::{CreateApiKey, CreateOrganization};
use ticketing::ticket_type::CreateTicketType;
use ticketing::{Amount, Error, PostgresDatabase, TicketingService, Timestamp};

use crate::common::cluster::Cluster;

/// In milliseconds.
const QUARTER_OF_AN_HOUR: i64 = 900_000;

/// Sets the clock of the server, for connections that look for functions in the schema `public` first.
fn set_clock(cluster: &Cluster, ahead: &str) {
    let function = format!(
        "CREATE OR REPLACE FUNCTION public.clock_timestamp() RETURNS TIMESTAMPTZ LANGUAGE sql VOLATILE
            AS $$ SELECT pg_catalog.clock_timestamp() + INTERVAL '{ahead}' $$"
    );
    cluster.client("hall").batch_execute(&function).unwrap();
}

#[test]
fn an_hour_between_the_clocks_of_the_server_and_of_the_machine_does_not_matter() {
    let Some(cluster) = Cluster::start("") else { return };
    let url = format!("{}?options=-csearch_path%3Dpublic,pg_catalog", cluster.create("hall"));
    set_clock(&cluster, "-1 hour");
    let builder = || TicketingService::postgres(PostgresDatabase::new(&url).unwrap()).sandbox_gateway();
    let service = builder().open().unwrap();
    let organization = service.create_organization(CreateOrganization::default()).unwrap().id;
    let caller = service.act_for(organization).unwrap();
    let event = CreateEvent::new("Summer Night", "summer-night", Timestamp::MAX).status(EventStatus::Published);
    let event = service.create_event(&caller, event).unwrap().id;
    let seat = CreateTicketType::new("Seat", Amount::cents(1250), 1);
    let seat = service.create_ticket_type(&caller, event, seat).unwrap().id;
    let ada = NewCustomer::new("Ada", "ada@example.com");
    let order = service.create_order(&caller, CreateOrder::new(event, ada, seat, 1)).unwrap().order.id;

    let hold_until = service.get_order_details(&caller, order).unwrap().hold_until.unwrap();
    assert!(hold_until.millis() < SystemClock.now().millis() - QUARTER_OF_AN_HOUR, "30 minutes by the server");
    assert_eq!(service.get_order(&caller, order).unwrap().status, OrderStatus::Pending);
    assert_eq!(service.run_maintenance().unwrap().expired_orders, 0);
    // The control: by the clock of this machine, the order has expired.
    let with_own_clock = builder().clock(SystemClock).open().unwrap();
    assert_eq!(with_own_clock.get_order(&caller, order).unwrap().status, OrderStatus::Expired);

    // When the clock of the server changes, reads know it after the next sale.
    let key = CreateApiKey::new("door").expires_at(SystemClock.now());
    let key = service.create_api_key(organization, key).unwrap().key;
    assert!(service.authenticate(key.expose()).is_ok());
    set_clock(&cluster, "1 hour");
    let grace = NewCustomer::new("Grace", "grace@example.com");
    service.create_order(&caller, CreateOrder::new(event, grace, seat, 1)).unwrap();
    assert_eq!(service.authenticate(key.expose()), Err(Error::Unauthenticated));
    assert_eq!(service.get_order(&caller, order).unwrap().status, OrderStatus::Expired);
}
