//! What links cost: nothing for a sale, and the same for every renewal.

use ticketing::documents::TicketDocuments;
use ticketing::order::CreateOrder;
use ticketing::payment::ManualMethod;

use crate::common::transactions::{Cost, measured};
use crate::common::*;
use crate::documents::tools::*;

const UNMEASURED: &str = "transactions are measured by instructions of SQLite";

/// A transaction without its time.
fn cost(work: impl FnOnce()) -> Vec<(u64, u64, u64)> {
    measured(work).into_iter().map(|Cost { statements, rows, steps, .. }| (statements, rows, steps)).collect()
}

#[test]
fn an_order_costs_the_same_with_and_without_documents() {
    if !database::is_file() {
        return skipped(UNMEASURED);
    }
    let costs = [true, false].map(|has_documents| {
        let fixture = match has_documents {
            true => with_documents(TicketDocuments::default()),
            false => Fixture::with_gateway(|builder| builder),
        };
        let (service, caller) = (&fixture.service, &fixture.caller);
        let event = fixture.event();
        let [paid, free] = [1250, 0].map(|price| fixture.ticket_type(&event, price, 100));
        let order = CreateOrder::new(event.id, new_customer(), paid.id, 3);
        let mut created = None;
        let creation = cost(|| created = Some(service.create_order(caller, order).expect("an order").order.id));
        let payment = cost(|| {
            drop(service.mark_order_paid(caller, created.expect("an order"), ManualMethod::Cash).expect("paid"))
        });
        let order = CreateOrder::new(event.id, new_customer(), free.id, 3);
        let free = cost(|| drop(service.create_order(caller, order).expect("an order")));
        [creation, payment, free]
    });
    assert!(costs[0].iter().all(|transactions| !transactions.is_empty()), "{costs:?}");
    assert_eq!(costs[0], costs[1]);
}

#[test]
fn a_renewal_changes_one_row_of_a_store_of_any_size() {
    if !database::is_file() {
        return skipped(UNMEASURED);
    }
    let fixture = with_documents(TicketDocuments::default());
    let (service, caller) = (&fixture.service, &fixture.caller);
    let ticket_type = fixture.ticket_type(&fixture.event(), 0, 1000);
    let ticket = fixture.issue(&ticket_type, 1).remove(0).id;
    let [few, many] = [1, 40].map(|times| {
        (0..times).for_each(|_| drop(fixture.issue(&ticket_type, 10)));
        cost(|| drop(service.renew_ticket_link(caller, ticket).expect("renewed")))
    });
    let ([(statements, rows, few_steps)], [(many_statements, many_rows, steps)]) = (&*few, &*many) else {
        panic!("each renewal is one transaction: {few:?} {many:?}");
    };
    // The status of the organization, the update, and the ticket as it is then.
    assert_eq!((*statements, *rows), (3, 1));
    assert_eq!((many_statements, many_rows), (statements, rows));
    assert!(*steps <= few_steps + few_steps / 10 + 20, "{few_steps} and {steps} steps");
}
