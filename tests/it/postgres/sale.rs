//! A sale whose orders all have customers of their own, so that each attempt is found in the database.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use postgres::Client;
use ticketing::error::{Reason, Unavailable};
use ticketing::event::{CreateEvent, EventStatus};
use ticketing::id::{EventId, OrganizationId, TicketTypeId};
use ticketing::order::{CreateOrder, NewCustomer};
use ticketing::ticket_type::CreateTicketType;
use ticketing::{Amount, Error, PostgresDatabase, TicketingService};

/// How long a customer waits who was refused because the database does not answer.
pub(crate) const PAUSE: Duration = Duration::from_millis(50);

/// An event on sale.
#[derive(Clone, Copy)]
pub(crate) struct Sale {
    pub(crate) organization: OrganizationId,
    pub(crate) event: EventId,
    pub(crate) ticket_type: TicketTypeId,
}

/// How the attempts to order ended, by the address of the customer.
#[derive(Default)]
pub(crate) struct Attempts {
    pub(crate) acknowledged: Vec<String>,
    pub(crate) failed: Vec<String>,
    /// The outcome is not known.
    pub(crate) unknown: Vec<String>,
}

pub(crate) fn open(url: &str) -> TicketingService {
    TicketingService::postgres(PostgresDatabase::new(url).unwrap()).sandbox_gateway().open().unwrap()
}

impl Sale {
    /// Creates an event with this number of free tickets.
    pub(crate) fn new(service: &TicketingService, slug: &str, seats: i64) -> Self {
        let organization = service.create_organization(Default::default()).unwrap().id;
        let caller = service.act_for(organization).unwrap();
        let mut event = CreateEvent::new("Summer Night", slug, "2100-07-01T18:00:00Z".parse().unwrap());
        event.status = Some(EventStatus::Published);
        let event = service.create_event(&caller, event).unwrap().id;
        let request = CreateTicketType::new("Seat", Amount::cents(0), seats);
        let ticket_type = service.create_ticket_type(&caller, event, request).unwrap().id;
        Self { organization, event, ticket_type }
    }

    /// Orders one ticket.
    pub(crate) fn order(&self, service: &TicketingService, email: &str) -> Result<(), Error> {
        let caller = service.act_for(self.organization)?;
        let customer = NewCustomer::new("Ada", email);
        service.create_order(&caller, CreateOrder::new(self.event, customer, self.ticket_type, 1)).map(drop)
    }

    /// Orders until `ends` or the sale is over. `name` is a part of the addresses.
    pub(crate) fn order_until(&self, service: &TicketingService, name: &str, ends: &AtomicBool) -> Attempts {
        let mut attempts = Attempts::default();
        for number in 0.. {
            if ends.load(Ordering::Relaxed) {
                break;
            }
            let email = format!("{name}-{number}@example.com");
            match self.order(service, &email) {
                Ok(()) => attempts.acknowledged.push(email),
                Err(error) if matches!(error.reason(), Some(Reason::SoldOut | Reason::EventNotOnSale)) => break,
                Err(Error::Unavailable(Unavailable::OutcomeUnknown)) => attempts.unknown.push(email),
                Err(Error::Unavailable(_)) => {
                    attempts.failed.push(email);
                    std::thread::sleep(PAUSE);
                }
                Err(error) => panic!("{email}: {error:?}"),
            }
        }
        attempts
    }
}

impl Attempts {
    pub(crate) fn append(&mut self, mut other: Self) {
        self.acknowledged.append(&mut other.acknowledged);
        self.failed.append(&mut other.failed);
        self.unknown.append(&mut other.unknown);
    }

    /// Asserts that each acknowledged order is stored once, that none is stored whose customer was refused, and that no
    /// ticket type is oversold.
    pub(crate) fn assert_stored(&self, client: &mut Client, what: &str) {
        let orders = orders_by_customer(client);
        for email in &self.acknowledged {
            assert_eq!(orders.get(email), Some(&1), "{email} was acknowledged");
        }
        for email in &self.failed {
            assert_eq!(orders.get(email), None, "{email} was refused");
        }
        assert!(self.unknown.iter().all(|email| orders.get(email).is_none_or(|number| *number == 1)));
        assert_not_oversold(client);
        let (acknowledged, failed, unknown) = (self.acknowledged.len(), self.failed.len(), self.unknown.len());
        eprintln!("{what}: {acknowledged} orders acknowledged, {failed} refused, {unknown} unknown");
    }
}

fn orders_by_customer(client: &mut Client) -> HashMap<String, i64> {
    let sql = "SELECT c.email, COUNT(*) FROM orders o JOIN customers c ON c.id = o.customer_id GROUP BY c.email";
    client.query(sql, &[]).unwrap().iter().map(|row| (row.get(0), row.get(1))).collect()
}

pub(crate) fn assert_not_oversold(client: &mut Client) {
    let wrong = "SELECT id FROM ticket_types t WHERE sold + held > quantity OR sold <>
        (SELECT COUNT(*) FROM tickets WHERE ticket_type_id = t.id AND status <> 'CANCELLED')";
    assert!(client.query(wrong, &[]).unwrap().is_empty(), "a ticket type is oversold, or miscounted");
}

/// Asserts that the database has no finding of the program's own check.
pub(crate) fn assert_clean(service: &TicketingService) {
    let report = service.check().unwrap();
    assert!(report.is_clean(), "{:#?}", report.findings);
}
