//! The operations during which calls of the operating system fail.

use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use ticketing::allocation::{CreateAllocation, ImportTickets, ImportedTicket};
use ticketing::environment::{ManualClock, SeededEntropy};
use ticketing::event::{CreateEvent, Event, EventStatus, UpdateEvent};
use ticketing::order::Order;
use ticketing::organization::CreateApiKey;
use ticketing::payment::ManualMethod;
use ticketing::ticket::{CheckInTicket, IssueTickets, NewTicket};
use ticketing::ticket_type::{CreateTicketType, TicketType};
use ticketing::webhook::{CreateWebhook, EventType};
use ticketing::{Caller, Result, TicketingService};

use crate::common::transport::FakeTransport;
use crate::common::webhooks::{LEASE, LEASE_SPREAD};
use crate::common::*;

/// A service that can be closed and opened again, on a file with an event on sale.
pub struct World {
    pub path: PathBuf,
    /// `None` if the file could not be opened again.
    service: RefCell<Option<TicketingService>>,
    pub caller: Caller,
    clock: ManualClock,
    gateway: FakeGateway,
    event: Event,
    free: TicketType,
    paid: TicketType,
    opened: Cell<u64>,
    backups: Cell<u64>,
}

impl World {
    pub fn open(path: PathBuf) -> Self {
        let clock = ManualClock::new(at(NOW));
        let gateway = FakeGateway::new();
        let service = open(&path, &clock, &gateway, 1).unwrap();
        let organization = service.create_organization(Default::default()).unwrap().id;
        let caller = service.act_for(organization).unwrap();
        let event = service.create_event(&caller, far_event()).unwrap();
        let new_type = |price| CreateTicketType::new("Seat", eur(price), 1_000_000);
        let free = service.create_ticket_type(&caller, event.id, new_type(0)).unwrap();
        let paid = service.create_ticket_type(&caller, event.id, new_type(1250)).unwrap();
        let topics = [EventType::OrderCompleted, EventType::OrderCancelled, EventType::TicketCheckedIn];
        let webhook = CreateWebhook::new("https://example.com/hook", topics);
        service.create_webhook(&caller, webhook).unwrap();
        Self {
            path,
            service: RefCell::new(Some(service)),
            caller,
            clock,
            gateway,
            event,
            free,
            paid,
            opened: Cell::new(1),
            backups: Cell::new(0),
        }
    }

    pub fn service(&self) -> TicketingService {
        self.service.borrow().clone().expect("the service is open")
    }

    pub fn is_open(&self) -> bool {
        self.service.borrow().is_some()
    }

    /// Closes the service if it is open, and opens it.
    pub fn reopen(&self) -> Result<()> {
        if let Some(service) = self.service.borrow_mut().take() {
            // What could not be moved from the log is recovered by the next start.
            let _ = service.close(Duration::ZERO);
        }
        self.opened.set(self.opened.get() + 1);
        let opened = open(&self.path, &self.clock, &self.gateway, self.opened.get())?;
        *self.service.borrow_mut() = Some(opened);
        Ok(())
    }

    fn order(&self, ticket_type: &TicketType) -> Order {
        let request = new_order(self.event.id, ticket_type.id, 2);
        self.service().create_order(&self.caller, request).unwrap().order
    }

    fn ticket(&self) -> NewTicket {
        let request = IssueTickets::new(self.free.id, new_customer(), 1);
        self.service().issue_tickets(&self.caller, request).unwrap().issued_tickets.remove(0)
    }

    fn count(&self, sql: &str) -> i64 {
        Database::open(&self.path).value(sql)
    }
}

/// A request for an event in the far future: the operations move the clock.
fn far_event() -> CreateEvent {
    new_event(|new| {
        new.start_date = at("2100-01-01T00:00:00Z");
        new.end_date = None;
    })
}

fn open(path: &PathBuf, clock: &ManualClock, gateway: &FakeGateway, seed: u64) -> Result<TicketingService> {
    TicketingService::builder(path)
        .clock(clock.clone())
        .entropy(SeededEntropy::new(seed))
        .payment_gateway(gateway.clone())
        .webhook_transport(FakeTransport::succeeding())
        .open()
}

/// What may fail, and can be tried again.
pub type Attempt = Box<dyn Fn(&World) -> Result<()>>;

pub struct Operation {
    pub name: &'static str,
    /// Whether it is one transaction: it changes nothing if it fails.
    pub is_atomic: bool,
    /// Prepares a new attempt.
    pub prepare: fn(&World) -> Attempt,
    /// Asserts what holds when the attempt has succeeded.
    pub verify: fn(&World),
}

const fn one_transaction(name: &'static str, prepare: fn(&World) -> Attempt) -> Operation {
    Operation { name, is_atomic: true, prepare, verify: |_| {} }
}

const fn in_steps(name: &'static str, prepare: fn(&World) -> Attempt, verify: fn(&World)) -> Operation {
    Operation { name, is_atomic: false, prepare, verify }
}

pub const OPERATIONS: &[Operation] = &[
    one_transaction("create an event", |_| {
        let request = far_event();
        Box::new(move |world| world.service().create_event(&world.caller, request.clone()).map(drop))
    }),
    one_transaction("update an event", |world| {
        let title = format!("Night {}", world.count("SELECT MAX(revision) FROM events"));
        let changes = UpdateEvent::default().title(title);
        let update =
            move |world: &World| world.service().update_event(&world.caller, world.event.id, changes.clone()).map(drop);
        Box::new(update)
    }),
    one_transaction("create a discount", |world| {
        let code = format!("CODE-{}", world.count("SELECT COUNT(*) FROM discounts"));
        let request = percent_off(&world.event, &code, 10);
        Box::new(move |world| world.service().create_discount(&world.caller, request.clone()).map(drop))
    }),
    one_transaction("create an API key", |_| {
        let create = |world: &World| {
            let request = CreateApiKey::new("Entrance");
            world.service().create_api_key(world.caller.organization(), request).map(drop)
        };
        Box::new(create)
    }),
    one_transaction("create a free order", |world| {
        let key = format!("key-{}", world.count("SELECT COUNT(*) FROM orders"));
        let create = move |world: &World| {
            let caller = world.caller.with_idempotency_key(&key);
            world.service().create_order(&caller, new_order(world.event.id, world.free.id, 2)).map(drop)
        };
        Box::new(create)
    }),
    in_steps(
        "create an order with a checkout",
        |_| {
            let create = |world: &World| {
                let request = new_order(world.event.id, world.paid.id, 2);
                world.service().create_order(&world.caller, request).map(drop)
            };
            Box::new(create)
        },
        |_| {},
    ),
    one_transaction("accept a payment", |world| {
        let id = world.order(&world.paid).id;
        Box::new(move |world| world.service().payment_completed(&world.caller, id).map(drop))
    }),
    one_transaction("mark an order as paid", |world| {
        let id = world.order(&world.paid).id;
        Box::new(move |world| world.service().mark_order_paid(&world.caller, id, ManualMethod::Cash).map(drop))
    }),
    one_transaction("cancel a pending order", |world| {
        let id = world.order(&world.paid).id;
        Box::new(move |world| world.service().cancel_order(&world.caller, id).map(drop))
    }),
    in_steps(
        "cancel a paid order and refund it",
        |world| {
            let id = world.order(&world.paid).id;
            world.service().payment_completed(&world.caller, id).unwrap();
            let cancel = move |world: &World| {
                match world.service().cancel_order(&world.caller, id) {
                    // The refund failed before, and is due again later.
                    Err(error) if error.reason().is_some() => {}
                    other => drop(other?),
                }
                world.clock.advance(Duration::from_hours(24));
                world.service().run_maintenance().map(drop)
            };
            Box::new(cancel)
        },
        |world| assert_eq!(world.count("SELECT COUNT(*) FROM refunds WHERE status <> 'DONE'"), 0),
    ),
    one_transaction("check a ticket in", |world| {
        let code = world.ticket().code;
        Box::new(move |world| world.service().check_in_ticket(&world.caller, CheckInTicket::new(&code)).map(drop))
    }),
    one_transaction("check a ticket out", |world| {
        let code = world.ticket().code;
        world.service().check_in_ticket(&world.caller, CheckInTicket::new(&code)).unwrap();
        Box::new(move |world| world.service().check_out_ticket(&world.caller, CheckInTicket::new(&code)).map(drop))
    }),
    one_transaction("issue tickets", |_| {
        let issue = |world: &World| {
            let request = IssueTickets::new(world.free.id, new_customer(), 3);
            world.service().issue_tickets(&world.caller, request).map(drop)
        };
        Box::new(issue)
    }),
    one_transaction("import tickets", |world| {
        let number: i64 = world.count("SELECT COUNT(*) FROM tickets");
        let import = move |world: &World| {
            let tickets =
                [ImportedTicket::new(format!("A{number:0>7}")), ImportedTicket::new(format!("B{number:0>7}"))];
            let request = ImportTickets::new("Box office", tickets);
            world.service().import_tickets(&world.caller, world.free.id, request).map(drop)
        };
        Box::new(import)
    }),
    in_steps(
        "issue and cancel the tickets of an allocation",
        |world| {
            let guests = CreateAllocation::of_labels("Guests", ["Ada", "Bob", "Cy"]);
            let guests = world.service().create_allocation(&world.caller, world.free.id, guests).unwrap().id;
            let change = move |world: &World| {
                world.clock.advance(Duration::from_mins(2));
                world.service().run_maintenance()?;
                world.service().cancel_allocation(&world.caller, guests)?;
                world.clock.advance(Duration::from_mins(2));
                world.service().run_maintenance().map(drop)
            };
            Box::new(change)
        },
        |world| assert_eq!(world.count("SELECT COUNT(*) FROM work WHERE kind = 'change allocation'"), 0),
    ),
    one_transaction("cancel a ticket", |world| {
        let id = world.ticket().id;
        Box::new(move |world| world.service().cancel_ticket(&world.caller, id).map(drop))
    }),
    in_steps(
        "cancel an event with pending orders",
        |world| {
            let event = world.service().create_event(&world.caller, far_event()).unwrap().id;
            let new = CreateTicketType::new("Seat", eur(1250), 100);
            let ticket_type = world.service().create_ticket_type(&world.caller, event, new).unwrap();
            for _ in 0..5 {
                world.service().create_order(&world.caller, new_order(event, ticket_type.id, 1)).unwrap();
            }
            let cancel = move |world: &World| {
                let changes = UpdateEvent::default().status(EventStatus::Cancelled);
                world.service().update_event(&world.caller, event, changes)?;
                // Cancels the orders that are left, when the claim of an attempt that could not be ended is over.
                world.clock.advance(Duration::from_mins(1));
                world.service().run_maintenance().map(drop)
            };
            Box::new(cancel)
        },
        |world| assert_eq!(world.count("SELECT COUNT(*) FROM work WHERE kind = 'cancel orders'"), 0),
    ),
    in_steps(
        "run the maintenance",
        |world| {
            world.order(&world.paid);
            world.clock.advance(HOLD);
            Box::new(|world| world.service().run_maintenance().map(drop))
        },
        |world| assert_eq!(world.count("SELECT COUNT(*) FROM orders WHERE status = 'PENDING'"), 0),
    ),
    in_steps(
        "deliver webhooks",
        |world| {
            world.order(&world.free);
            // The time after which an attempt whose end could not be recorded is repeated.
            let deliver = |world: &World| {
                world.clock.advance(LEASE + LEASE_SPREAD);
                world.service().deliver_due_webhooks()?;
                world.clock.advance(LEASE_SPREAD);
                world.service().deliver_due_webhooks().map(drop)
            };
            Box::new(deliver)
        },
        |world| {
            for _ in 0..3 {
                world.clock.advance(LEASE + LEASE_SPREAD);
                world.service().deliver_due_webhooks().unwrap();
            }
            assert_eq!(
                world.count(
                    "SELECT (SELECT COUNT(*) FROM webhook_outbox WHERE state <> 'DELIVERED')
        + (SELECT COUNT(*) FROM webhook_notifications WHERE organization_id IS NOT NULL)"
                ),
                0
            );
        },
    ),
    in_steps(
        "make a backup",
        |world| {
            world.backups.set(world.backups.get() + 1);
            let back_up = |world: &World| {
                let copy = backup_of(world);
                let made = world.service().backup(&copy, |_| ControlFlow::Continue(()));
                assert_eq!(copy.exists(), made.is_ok(), "{made:?}");
                made.map(drop)
            };
            Box::new(back_up)
        },
        |world| {
            let copy = Database::open(&backup_of(world));
            assert!(copy.all_rows() == Database::open(&world.path).all_rows());
        },
    ),
    in_steps("close and open", |_| Box::new(World::reopen), |_| {}),
];

fn backup_of(world: &World) -> PathBuf {
    world.path.with_file_name(format!("backup-{}.db", world.backups.get()))
}
