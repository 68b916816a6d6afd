//! `kill -9` in the middle of the work, fifty times on one database file. A child process sells, accepts payments,
//! cancels, issues and checks in, and reports what was acknowledged. The parent kills it and asserts that all of it is
//! stored.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ticketing::id::{EventId, OrderId, TicketId, TicketTypeId};
use ticketing::order::{NewCustomer, OrderStatus};
use ticketing::text_enum::TextEnum;
use ticketing::ticket::{CheckInTicket, IssueTickets, TicketStatus};
use ticketing::{Caller, TicketingService};

use crate::common::invariants::assert_consistent;
use crate::common::outbox;
use crate::common::processes::{ChildProcess, child_process, child_role, child_variable, next_message, send_to_parent};
use crate::common::threads::run_at_once;
use crate::common::*;

const CHILD: &str = concat!(module_path!(), "::a_child_process_sells_until_it_is_killed");
const KILLS: u64 = 50;
const THREADS: usize = 6;

#[test]
fn a_child_process_sells_until_it_is_killed() {
    if child_role().is_none() {
        return;
    }
    let path = PathBuf::from(child_variable("TICKETING_TEST_FILE"));
    let service = TicketingService::builder(path).sandbox_gateway().open().unwrap();
    let seller = Seller {
        caller: service.act_for(child_variable("TICKETING_TEST_ORGANIZATION").parse().unwrap()).unwrap(),
        event: child_variable("TICKETING_TEST_EVENT").parse().unwrap(),
        free: child_variable("TICKETING_TEST_FREE").parse().unwrap(),
        paid: child_variable("TICKETING_TEST_PAID").parse().unwrap(),
        service,
    };
    send_to_parent("ready");
    run_at_once(THREADS, |_| {
        loop {
            seller.create_free_order();
            seller.create_paid_order(true);
            seller.create_cancelled_order();
            seller.create_paid_order(false);
            seller.issue_and_cancel_tickets();
        }
    });
}

struct Seller {
    service: TicketingService,
    caller: Caller,
    event: EventId,
    free: TicketTypeId,
    paid: TicketTypeId,
}

impl Seller {
    /// Creates a free order of two tickets and checks one in.
    fn create_free_order(&self) {
        let created = self.service.create_order(&self.caller, new_order(self.event, self.free, 2)).unwrap();
        let order = created.order;
        for ticket in &created.issued_tickets {
            send_to_parent(format_args!("ticket {} {}", ticket.id, ticket.code));
        }
        send_to_parent(format_args!("order {} COMPLETED 2", order.id));
        let ticket = &created.issued_tickets[0];
        self.service.check_in_ticket(&self.caller, CheckInTicket::new(ticket.code.clone())).unwrap();
        send_to_parent(format_args!("checked-in {}", ticket.id));
    }

    /// Creates an order of two tickets and pays for it.
    fn create_paid_order(&self, by_gateway: bool) {
        let id = self.service.create_order(&self.caller, new_order(self.event, self.paid, 2)).unwrap().order.id;
        send_to_parent(format_args!("order {id} PENDING 0"));
        let paid = if by_gateway {
            self.service.payment_completed(&self.caller, id)
        } else {
            self.service.mark_order_paid(&self.caller, id)
        };
        let order = paid.unwrap();
        send_to_parent(format_args!("order {id} {} {}", order.status, order.items[0].issued_tickets.len()));
    }

    fn create_cancelled_order(&self) {
        let id = self.service.create_order(&self.caller, new_order(self.event, self.paid, 1)).unwrap().order.id;
        self.service.payment_completed(&self.caller, id).unwrap();
        send_to_parent(format_args!("order {id} COMPLETED 1"));
        self.service.cancel_order(&self.caller, id).unwrap();
        send_to_parent(format_args!("order {id} CANCELLED 1"));
    }

    fn issue_and_cancel_tickets(&self) {
        let customer = NewCustomer::new("Press", "press@example.com");
        let request = IssueTickets::new(self.free, customer, 2);
        let issued = self.service.issue_tickets(&self.caller, request).unwrap().issued_tickets;
        for ticket in &issued {
            send_to_parent(format_args!("ticket {} {}", ticket.id, ticket.code));
        }
        self.service.cancel_ticket(&self.caller, issued[0].id).unwrap();
        send_to_parent(format_args!("cancelled {}", issued[0].id));
    }
}

/// What was acknowledged in one round.
#[derive(Default)]
struct Acknowledged {
    /// The last status of each order, and the number of its tickets at that time.
    orders: HashMap<OrderId, (OrderStatus, usize)>,
    tickets: HashMap<TicketId, String>,
    checked_in: Vec<TicketId>,
    cancelled: Vec<TicketId>,
}

impl Acknowledged {
    fn record(&mut self, message: &str) {
        let fields: Vec<_> = message.split(' ').collect();
        match fields[..] {
            ["order", id, status, tickets] => {
                let status = OrderStatus::from_text(status).unwrap();
                self.orders.insert(id.parse().unwrap(), (status, tickets.parse().unwrap()));
            }
            ["ticket", id, code] => drop(self.tickets.insert(id.parse().unwrap(), code.to_owned())),
            ["checked-in", id] => self.checked_in.push(id.parse().unwrap()),
            ["cancelled", id] => self.cancelled.push(id.parse().unwrap()),
            _ => panic!("{message}"),
        }
    }

    fn assert_stored(&self, service: &TicketingService, caller: &Caller) {
        for (id, (acknowledged, tickets)) in &self.orders {
            let order = service.get_order(caller, *id).unwrap();
            // An operation that was running when the process was killed may be stored, too.
            let later: &[OrderStatus] = match acknowledged {
                OrderStatus::Pending => &[OrderStatus::Pending, OrderStatus::Completed],
                OrderStatus::Completed => &[OrderStatus::Completed, OrderStatus::Cancelled],
                other => &[*other],
            };
            assert!(later.contains(&order.status), "{id} was {acknowledged} and is {}", order.status);
            let found = order.items[0].issued_tickets.len();
            assert!(
                found == *tickets || order.status != *acknowledged,
                "{id} has {found} tickets instead of {tickets}"
            );
        }
        for (id, code) in &self.tickets {
            assert_eq!(service.get_ticket(caller, *id).unwrap().code, *code);
        }
        for id in &self.checked_in {
            assert_eq!(service.get_ticket(caller, *id).unwrap().status, TicketStatus::CheckedIn);
        }
        for id in &self.cancelled {
            assert_eq!(service.get_ticket(caller, *id).unwrap().status, TicketStatus::Cancelled);
        }
    }
}

/// Starts a child process, kills it after a while, and returns what it has acknowledged.
fn work_and_kill(options: &ChildOptions, round: u64) -> Acknowledged {
    let mut command = child_process(CHILD, "sell");
    for (name, value) in &options.variables {
        command.env(name, value);
    }
    let mut seller = ChildProcess::start(command);
    assert_eq!(seller.next_message().as_deref(), Some("ready"));
    // A different time each round, always in the middle of the work.
    let millis = 100 + round * 7919 % 200;
    let mut acknowledged = Acknowledged::default();
    // On a busy machine the first order may take longer than this time.
    acknowledged.record(&seller.next_message().unwrap());
    std::thread::scope(|scope| {
        let ChildProcess { child, lines } = &mut seller;
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(millis));
            child.kill().unwrap();
        });
        while let Some(message) = next_message(lines) {
            acknowledged.record(&message);
        }
    });
    assert!(!seller.finish().status.success(), "it was killed");
    acknowledged
}

struct ChildOptions {
    variables: Vec<(&'static str, String)>,
}

#[test]
fn after_fifty_kills_everything_acknowledged_is_stored_completely() {
    let fixture = Fixture::new();
    let free = fixture.new_ticket_type(0, 1_000_000);
    let paid = fixture.new_ticket_type(1250, 1_000_000);
    let organization = fixture.caller.organization();
    outbox::insert_webhook(&fixture.database(), organization, &outbox::ALL_NOTIFICATIONS);
    let options = ChildOptions {
        variables: vec![
            ("TICKETING_TEST_FILE", fixture.path().to_str().unwrap().to_owned()),
            ("TICKETING_TEST_ORGANIZATION", organization.to_string()),
            ("TICKETING_TEST_EVENT", fixture.default_event().id.to_string()),
            ("TICKETING_TEST_FREE", free.id.to_string()),
            ("TICKETING_TEST_PAID", paid.id.to_string()),
        ],
    };
    let (_folder, path) = fixture.into_file();
    let mut orders = 0;
    let mut first = None;
    for round in 0..KILLS {
        let acknowledged = work_and_kill(&options, round);
        orders += acknowledged.orders.len();
        let service = reopen(&path);
        let caller = service.act_for(organization).unwrap();
        acknowledged.assert_stored(&service, &caller);
        drop(service);
        assert_consistent(&Database::open(&path));
        outbox::assert_one_notification_each(&Database::open(&path));
        first.get_or_insert(acknowledged);
    }
    // What the first round acknowledged has survived all others.
    let service = reopen(&path);
    first.unwrap().assert_stored(&service, &service.act_for(organization).unwrap());
    eprintln!("{orders} orders were acknowledged over {KILLS} kills");
}

fn reopen(path: &Path) -> TicketingService {
    TicketingService::builder(path).sandbox_gateway().open().unwrap()
}

#[test]
fn control_a_missing_ticket_and_a_wrong_counter_are_noticed() {
    for damage in ["DELETE FROM tickets WHERE id = (SELECT MIN(id) FROM tickets)", "UPDATE ticket_types SET held = 1"] {
        let fixture = Fixture::new();
        fixture.skip_final_check();
        let ticket_type = fixture.new_ticket_type(0, 10);
        fixture.order(&ticket_type, 2);
        let connection = fixture.database();
        assert_consistent(&connection);
        connection.execute(damage, []);
        let path = fixture.path();
        std::panic::catch_unwind(|| assert_consistent(&Database::open(&path))).unwrap_err();
    }
}

#[test]
fn control_a_missing_notification_and_one_without_its_change_are_noticed() {
    for damage in [
        "DELETE FROM webhook_outbox WHERE id = (SELECT MAX(id) FROM webhook_outbox)",
        "DELETE FROM tickets WHERE check_in_at IS NULL",
    ] {
        let fixture = Fixture::new();
        fixture.skip_final_check();
        outbox::insert_webhook(&fixture.database(), fixture.caller.organization(), &outbox::ALL_NOTIFICATIONS);
        let order = fixture.order(&fixture.new_ticket_type(0, 10), 2);
        let code = order.items[0].issued_tickets[0].code.clone();
        fixture.service.check_in_ticket(&fixture.caller, CheckInTicket::new(code)).unwrap();
        let connection = fixture.database();
        outbox::assert_one_notification_each(&connection);
        assert_eq!(connection.execute(damage, []), 1);
        let path = fixture.path();
        std::panic::catch_unwind(|| outbox::assert_one_notification_each(&Database::open(&path))).unwrap_err();
    }
}
