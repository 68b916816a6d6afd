//! Kill -9 in the middle of the work, fifty times on one file. A child sells, takes payments, cancels, issues and checks
//! in, and says what was acknowledged after it was; the parent kills it and looks whether all of that is there.

use crate::common::outbox;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::common::invariants::assert_consistent;
use crate::common::processes::{ChildProcess, child_process, child_role, child_variable, next_message, send_to_parent};
use crate::common::threads::run_at_once;
use crate::common::*;
use ticketing::{
    Caller, CheckInTicket, EventId, IssueTickets, NewCustomer, OrderId, OrderStatus, TextEnum, TicketId, TicketStatus,
    TicketTypeId, TicketingService,
};

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
            seller.a_free_order();
            seller.a_paid_order(true);
            seller.an_order_that_is_cancelled();
            seller.a_paid_order(false);
            seller.issued_tickets();
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
    /// Buys two tickets for nothing and enters with one.
    fn a_free_order(&self) {
        let placed = self.service.create_order(&self.caller, new_order(self.event, self.free, 2)).unwrap();
        let order = placed.order;
        for ticket in &placed.issued_tickets {
            send_to_parent(format_args!("ticket {} {}", ticket.id, ticket.code));
        }
        send_to_parent(format_args!("order {} COMPLETED 2", order.id));
        let ticket = &placed.issued_tickets[0];
        self.service.check_in_ticket(&self.caller, CheckInTicket::new(ticket.code.clone())).unwrap();
        send_to_parent(format_args!("inside {}", ticket.id));
    }

    /// Orders two places, and pays for them.
    fn a_paid_order(&self, by_gateway: bool) {
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

    fn an_order_that_is_cancelled(&self) {
        let id = self.service.create_order(&self.caller, new_order(self.event, self.paid, 1)).unwrap().order.id;
        self.service.payment_completed(&self.caller, id).unwrap();
        send_to_parent(format_args!("order {id} COMPLETED 1"));
        self.service.cancel_order(&self.caller, id).unwrap();
        send_to_parent(format_args!("order {id} CANCELLED 1"));
    }

    fn issued_tickets(&self) {
        let customer = NewCustomer::new("Press", "press@example.com");
        let request = IssueTickets { ticket_type_id: self.free, customer, quantity: 2 };
        let issued = self.service.issue_tickets(&self.caller, request).unwrap().issued_tickets;
        for ticket in &issued {
            send_to_parent(format_args!("ticket {} {}", ticket.id, ticket.code));
        }
        self.service.cancel_ticket(&self.caller, issued[0].id).unwrap();
        send_to_parent(format_args!("void {}", issued[0].id));
    }
}

/// What was acknowledged in one round.
#[derive(Default)]
struct Acknowledged {
    /// The last status of each order, and how many tickets it had then.
    orders: HashMap<OrderId, (OrderStatus, usize)>,
    tickets: HashMap<TicketId, String>,
    inside: Vec<TicketId>,
    void: Vec<TicketId>,
}

impl Acknowledged {
    fn note(&mut self, said: &str) {
        let words: Vec<_> = said.split(' ').collect();
        match words[..] {
            ["order", id, status, tickets] => {
                let status = OrderStatus::from_text(status).unwrap();
                self.orders.insert(id.parse().unwrap(), (status, tickets.parse().unwrap()));
            }
            ["ticket", id, code] => drop(self.tickets.insert(id.parse().unwrap(), code.to_owned())),
            ["inside", id] => self.inside.push(id.parse().unwrap()),
            ["void", id] => self.void.push(id.parse().unwrap()),
            _ => panic!("{said}"),
        }
    }

    fn assert_there(&self, service: &TicketingService, caller: &Caller) {
        for (id, (acknowledged, tickets)) in &self.orders {
            let order = service.get_order(caller, *id).unwrap();
            // What was under way when the end came may have been done too.
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
        for id in &self.inside {
            assert_eq!(service.get_ticket(caller, *id).unwrap().status, TicketStatus::CheckedIn);
        }
        for id in &self.void {
            assert_eq!(service.get_ticket(caller, *id).unwrap().status, TicketStatus::Cancelled);
        }
    }
}

/// Lets a child work for a while on the file, kills it, and gives what it had acknowledged.
fn work_and_kill(fixture: &Facts, round: u64) -> Acknowledged {
    let mut command = child_process(CHILD, "sell");
    for (name, value) in &fixture.variables {
        command.env(name, value);
    }
    let mut seller = ChildProcess::start(command);
    assert_eq!(seller.next_message().as_deref(), Some("ready"));
    // The instant is another one each time, and comes in the middle of the same work.
    let millis = 100 + round * 7919 % 200;
    let mut acknowledged = Acknowledged::default();
    // On a busy machine the first order may take longer than all of the time that the child has.
    acknowledged.note(&seller.next_message().unwrap());
    std::thread::scope(|scope| {
        let ChildProcess { child, lines } = &mut seller;
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(millis));
            child.kill().unwrap();
        });
        while let Some(said) = next_message(lines) {
            acknowledged.note(&said);
        }
    });
    assert!(!seller.finish().0.success(), "it was killed");
    acknowledged
}

struct Facts {
    variables: Vec<(&'static str, String)>,
}

#[test]
fn after_fifty_kills_under_load_everything_acknowledged_is_there_and_nothing_is_half_there() {
    let fixture = Fixture::new();
    let (free, paid) = (fixture.new_ticket_type(0, 1_000_000), fixture.new_ticket_type(1250, 1_000_000));
    let organization = fixture.caller.organization();
    outbox::insert_webhook(&fixture.database(), organization, &outbox::ALL_NOTIFICATIONS, true);
    let facts = Facts {
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
        let acknowledged = work_and_kill(&facts, round);
        orders += acknowledged.orders.len();
        let service = reopen(&path);
        let caller = service.act_for(organization).unwrap();
        acknowledged.assert_there(&service, &caller);
        drop(service);
        assert_consistent(&Database::open(&path));
        outbox::assert_one_notification_each(&Database::open(&path));
        first.get_or_insert(acknowledged);
    }
    // What the first round acknowledged has outlived all the others.
    let service = reopen(&path);
    first.unwrap().assert_there(&service, &service.act_for(organization).unwrap());
    eprintln!("{orders} orders were acknowledged over {KILLS} kills");
}

fn reopen(path: &Path) -> TicketingService {
    TicketingService::builder(path).sandbox_gateway().open().unwrap()
}

#[test]
fn control_an_order_that_lost_a_ticket_and_a_miscounted_place_are_noticed() {
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
fn control_a_change_without_its_notification_and_a_notification_without_its_change_are_noticed() {
    for damage in [
        "DELETE FROM webhook_outbox WHERE id = (SELECT MAX(id) FROM webhook_outbox)",
        "DELETE FROM tickets WHERE check_in_at IS NULL",
    ] {
        let fixture = Fixture::new();
        fixture.skip_final_check();
        outbox::insert_webhook(&fixture.database(), fixture.caller.organization(), &outbox::ALL_NOTIFICATIONS, true);
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
