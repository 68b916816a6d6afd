//! A child process that sells, accepts payments, cancels, issues and checks in, and reports what was acknowledged.
//! After a crash, all of it must be stored.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use tempfile::TempDir;
use ticketing::error::Reason;
use ticketing::id::{EventId, OrderId, OrganizationId, TicketId, TicketTypeId};
use ticketing::order::{NewCustomer, OrderStatus};
use ticketing::payment::ManualMethod;
use ticketing::text_enum::TextEnum;
use ticketing::ticket::{CheckInTicket, IssueTickets, TicketStatus};
use ticketing::{Builder, Caller, Result, TicketingService};

use super::database;
use super::fixture::Fixture;
use super::processes::{child_process, child_variable};
use super::sales::new_order;

/// A database with an event on sale, which no process has open.
pub struct Sale {
    pub folder: Arc<TempDir>,
    pub path: PathBuf,
    pub organization: OrganizationId,
    variables: Vec<(&'static str, String)>,
}

impl Sale {
    /// Adds two ticket types to the fixture's event, and closes the database.
    pub fn prepare(fixture: Fixture) -> Self {
        Self::with_seats(fixture, 1_000_000)
    }

    /// The same with this number of seats of each ticket type.
    pub fn with_seats(fixture: Fixture, seats: i64) -> Self {
        let free = fixture.new_ticket_type(0, seats);
        let paid = fixture.new_ticket_type(1250, seats);
        let organization = fixture.caller.organization();
        let variables = vec![
            ("TICKETING_TEST_FILE", fixture.path().to_str().expect("a path").to_owned()),
            ("TICKETING_TEST_ORGANIZATION", organization.to_string()),
            ("TICKETING_TEST_EVENT", fixture.default_event().id.to_string()),
            ("TICKETING_TEST_FREE", free.id.to_string()),
            ("TICKETING_TEST_PAID", paid.id.to_string()),
        ];
        let (folder, path) = fixture.into_file();
        Self { folder, path, organization, variables }
    }

    /// The command that runs `test` in a process of its own, where [`Seller::of_child`] sells.
    pub fn child(&self, test: &str, role: &str) -> Command {
        let mut command = child_process(test, role);
        command.envs(self.variables.iter().cloned());
        command
    }

    /// Sells with a service in this process.
    pub fn seller<R: Fn(String)>(&self, service: TicketingService, report: R) -> Seller<R> {
        let variable = |name| self.variables.iter().find(|(known, _)| *known == name).unwrap().1.clone();
        Seller::new(service, variable, report)
    }

    /// Opens the database as after a crash.
    pub fn reopen(&self) -> TicketingService {
        database::builder(&self.path).sandbox_gateway().open().unwrap()
    }
}

/// Sells for a [`Sale`], and reports each acknowledged change.
pub struct Seller<R> {
    pub service: TicketingService,
    caller: Caller,
    event: EventId,
    free: TicketTypeId,
    paid: TicketTypeId,
    report: R,
}

impl<R: Fn(String)> Seller<R> {
    /// The seller of a child process that was started with [`Sale::child`].
    pub fn of_child(configure: impl FnOnce(Builder) -> Builder, report: R) -> Self {
        let path = PathBuf::from(child_variable("TICKETING_TEST_FILE"));
        let service = configure(database::builder(path).sandbox_gateway()).open().unwrap();
        Self::new(service, child_variable, report)
    }

    fn new(service: TicketingService, variable: impl Fn(&'static str) -> String, report: R) -> Self {
        Self {
            caller: service.act_for(variable("TICKETING_TEST_ORGANIZATION").parse().unwrap()).unwrap(),
            event: variable("TICKETING_TEST_EVENT").parse().unwrap(),
            free: variable("TICKETING_TEST_FREE").parse().unwrap(),
            paid: variable("TICKETING_TEST_PAID").parse().unwrap(),
            service,
            report,
        }
    }

    /// Makes one sale of each kind, but none that is sold out. Returns at the first other error. The last place that is
    /// sold makes the event SOLD_OUT, and from then on it is the event that is not on sale.
    pub fn sell(&self) -> Result<()> {
        let sales: [fn(&Self) -> Result<()>; 5] = [
            Self::create_free_order,
            |seller| seller.create_paid_order(true),
            Self::create_cancelled_order,
            |seller| seller.create_paid_order(false),
            Self::issue_and_cancel_tickets,
        ];
        for sale in sales {
            match sale(self) {
                Err(error) if matches!(error.reason(), Some(Reason::SoldOut | Reason::EventNotOnSale)) => {}
                result => result?,
            }
        }
        Ok(())
    }

    /// Creates a free order of two tickets and checks one in.
    fn create_free_order(&self) -> Result<()> {
        let created = self.service.create_order(&self.caller, new_order(self.event, self.free, 2))?;
        let order = created.order;
        for ticket in &created.issued_tickets {
            (self.report)(format!("ticket {} {}", ticket.id, ticket.code));
        }
        (self.report)(format!("order {} COMPLETED 2", order.id));
        let ticket = &created.issued_tickets[0];
        self.service.check_in_ticket(&self.caller, CheckInTicket::new(ticket.code.clone()))?;
        (self.report)(format!("checked-in {}", ticket.id));
        Ok(())
    }

    /// Creates an order of two tickets and pays for it.
    fn create_paid_order(&self, by_gateway: bool) -> Result<()> {
        let id = self.service.create_order(&self.caller, new_order(self.event, self.paid, 2))?.order.id;
        (self.report)(format!("order {id} PENDING 0"));
        let order = if by_gateway {
            self.service.payment_completed(&self.caller, id)?
        } else {
            self.service.mark_order_paid(&self.caller, id, ManualMethod::Cash)?
        };
        (self.report)(format!("order {id} {} {}", order.status, order.items[0].issued_tickets.len()));
        Ok(())
    }

    fn create_cancelled_order(&self) -> Result<()> {
        let id = self.service.create_order(&self.caller, new_order(self.event, self.paid, 1))?.order.id;
        self.service.payment_completed(&self.caller, id)?;
        (self.report)(format!("order {id} COMPLETED 1"));
        self.service.cancel_order(&self.caller, id)?;
        (self.report)(format!("order {id} CANCELLED 1"));
        Ok(())
    }

    fn issue_and_cancel_tickets(&self) -> Result<()> {
        let customer = NewCustomer::new("Press", "press@example.com");
        let request = IssueTickets::new(self.free, customer, 2);
        let issued = self.service.issue_tickets(&self.caller, request)?.issued_tickets;
        for ticket in &issued {
            (self.report)(format!("ticket {} {}", ticket.id, ticket.code));
        }
        self.service.cancel_ticket(&self.caller, issued[0].id)?;
        (self.report)(format!("cancelled {}", issued[0].id));
        Ok(())
    }
}

/// What a [`Seller`] has reported as acknowledged.
#[derive(Default)]
pub struct Acknowledged {
    /// The last status of each order, and the number of its tickets at that time.
    pub orders: HashMap<OrderId, (OrderStatus, usize)>,
    pub tickets: HashMap<TicketId, String>,
    pub checked_in: Vec<TicketId>,
    pub cancelled: Vec<TicketId>,
}

impl Acknowledged {
    pub fn record(&mut self, report: &str) {
        let fields: Vec<_> = report.split(' ').collect();
        match fields[..] {
            ["order", id, status, tickets] => {
                let status = OrderStatus::from_text(status).unwrap();
                self.orders.insert(id.parse().unwrap(), (status, tickets.parse().unwrap()));
            }
            ["ticket", id, code] => drop(self.tickets.insert(id.parse().unwrap(), code.to_owned())),
            ["checked-in", id] => self.checked_in.push(id.parse().unwrap()),
            ["cancelled", id] => self.cancelled.push(id.parse().unwrap()),
            _ => panic!("{report}"),
        }
    }

    #[track_caller]
    pub fn assert_stored(&self, service: &TicketingService, caller: &Caller) {
        let difference = self.difference(service, caller);
        assert_eq!(difference, None);
    }

    /// Compares with what is stored. Returns the first acknowledged change that is not there.
    pub fn difference(&self, service: &TicketingService, caller: &Caller) -> Option<String> {
        self.compare(service, caller).err()
    }

    fn compare(&self, service: &TicketingService, caller: &Caller) -> std::result::Result<(), String> {
        for (id, (acknowledged, tickets)) in &self.orders {
            let order = service.get_order(caller, *id).map_err(|error| format!("{id}: {error}"))?;
            // An operation that was running when the process was killed may be stored, too.
            let later: &[OrderStatus] = match acknowledged {
                OrderStatus::Pending => &[OrderStatus::Pending, OrderStatus::Completed],
                OrderStatus::Completed => &[OrderStatus::Completed, OrderStatus::Cancelled],
                other => &[*other],
            };
            let found = order.items[0].issued_tickets.len();
            if !later.contains(&order.status) || order.status == *acknowledged && found != *tickets {
                let stored = order.status;
                return Err(format!("{id} was {acknowledged} with {tickets} tickets, and is {stored} with {found}"));
            }
        }
        let ticket = |id| service.get_ticket(caller, id).map_err(|error| format!("{id}: {error}"));
        for (id, code) in &self.tickets {
            if ticket(*id)?.code != *code {
                return Err(format!("{id} has another code"));
            }
        }
        let checked_in = self.checked_in.iter().map(|id| (id, TicketStatus::CheckedIn));
        let cancelled = self.cancelled.iter().map(|id| (id, TicketStatus::Cancelled));
        for (id, acknowledged) in checked_in.chain(cancelled) {
            let stored = ticket(*id)?.status;
            if stored != acknowledged {
                return Err(format!("{id} was {acknowledged}, and is {stored}"));
            }
        }
        Ok(())
    }
}
