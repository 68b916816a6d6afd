//! Compares the crate with a small model of its rules: random steps must have the same outcome and lead to the same
//! state, while the clock moves forwards and backwards. A failure is reduced to the steps that it needs.
//!
//! For longer runs, see `common/long_runs.rs`.

mod allocations;
mod discounts;
mod model;
mod notifications;
mod orders;
mod refunds;
mod scan_merge;
mod steps;
mod summary;

use std::time::Duration;

use proptest::prelude::*;
use ticketing::allocation::{CreateAllocation, ImportTickets, ImportedTicket};
use ticketing::discount::{CreateDiscount, DiscountValue, Percentage, UpdateDiscount};
use ticketing::event::{EventSettings, EventStatus};
use ticketing::id::{AllocationId, DiscountId, EventId, OrderId, TicketId, TicketTypeId};
use ticketing::order::{CreateOrder, NewOrderItem, OrderStatus};
use ticketing::payment::ManualMethod;
use ticketing::payment::RefundOrder;
use ticketing::ticket::{CheckInTicket, IssueTickets, ListTickets, TicketStatus};
use ticketing::ticket_type::{CreateTicketType, UpdateTicketType};
use ticketing::{Change, Result, TicketingService, Timestamp};

use crate::common::long_runs::repetitions;
use crate::common::outbox;
use crate::common::*;
use model::{Model, Outcome};
use steps::{Item, Step, pick};

/// The system under test: the crate, with the ids of the rows that the model has by index.
struct System {
    fixture: Fixture,
    event: EventId,
    types: Vec<TicketTypeId>,
    discounts: Vec<DiscountId>,
    orders: Vec<OrderId>,
    tickets: Vec<IssuedTicket>,
    allocations: Vec<AllocationId>,
    /// How many codes were imported.
    imported: usize,
}

struct IssuedTicket {
    id: TicketId,
    code: String,
}

fn outcome<T>(result: Result<T>) -> Outcome {
    match result {
        Ok(_) => Outcome::Done,
        Err(error) => match (error.reason(), error.fields()) {
            (Some(reason), _) => Outcome::Refused(ticketing::text_enum::TextEnum::as_str(reason)),
            (None, [field, ..]) => Outcome::Field(field.path.clone(), field.message.clone()),
            (None, []) => panic!("neither a conflict nor a field error: {error:?}"),
        },
    }
}

fn code(index: usize) -> String {
    format!("Code-{index}")
}

impl System {
    fn new() -> Self {
        let fixture = Fixture::new();
        let over = start().saturating_add(EVENT_DURATION);
        let event = fixture.event_with(|new| {
            new.start_date = start();
            new.end_date = Some(over);
        });
        outbox::insert_webhook(&fixture.database(), fixture.caller.organization(), &outbox::SALE_NOTIFICATIONS);
        let (types, discounts, orders, tickets, allocations) = Default::default();
        Self { fixture, event: event.id, types, discounts, orders, tickets, allocations, imported: 0 }
    }

    fn service(&self) -> &TicketingService {
        &self.fixture.service
    }

    /// Takes a step that the model does not skip. `model` is its state before the step.
    fn apply(&mut self, step: &Step, model: &Model) -> Outcome {
        let service = self.fixture.service.clone();
        let caller = self.fixture.caller.clone();
        let type_id = |index: &usize| self.types[model.pick_type(*index).expect("not skipped")];
        let order = |index: &usize| self.orders[pick(*index, self.orders.len()).expect("not skipped")];
        let ticket = |index: &usize| &self.tickets[pick(*index, self.tickets.len()).expect("not skipped")];
        let discount = |index: &usize| self.discounts[pick(*index, self.discounts.len()).expect("not skipped")];
        match step {
            Step::AddType { price, quantity, max_per_order, days, hours } => {
                let mut new = CreateTicketType::new("Seat", eur(*price), *quantity);
                new.max_per_order = Some(*max_per_order);
                new.validity_days = *days;
                new.validity_hours = *hours;
                let created = service.create_ticket_type(&caller, self.event, new);
                outcome(created.map(|created| self.types.push(created.id)))
            }
            Step::SetQuantity { ticket_type: index, quantity } => {
                let changes = UpdateTicketType::default().quantity(*quantity);
                outcome(service.update_ticket_type(&caller, type_id(index), changes))
            }
            Step::DeleteType(index) => outcome(service.delete_ticket_type(&caller, type_id(index))),
            Step::AddDiscount { percent, value, limit, minimum, automatic, only } => {
                let value = match percent {
                    true => Percentage::new(*value, 0).expect("at most 100 percent").into(),
                    false => DiscountValue::FixedAmount(eur(*value)),
                };
                let code = code(self.discounts.len());
                let mut new = CreateDiscount::percentage(code, 0).event(self.event).value(value);
                new.usage_limit = *limit;
                new.minimum_purchase = minimum.map(eur);
                new.auto_apply = Some(*automatic);
                let only = only.and_then(|only| model.pick_type(only));
                new.applicable_ticket_types = only.map(|index| vec![self.types[index]]);
                outcome(service.create_discount(&caller, new).map(|created| self.discounts.push(created.id)))
            }
            Step::UpdateDiscount { discount: index, active, limit } => {
                let mut changes = UpdateDiscount::default().is_active(*active);
                changes.usage_limit = Change::Set(*limit);
                outcome(service.update_discount(&caller, discount(index), changes))
            }
            Step::DeleteDiscount(index) => outcome(service.delete_discount(&caller, discount(index))),
            Step::Order { items, code: used } => {
                let item = |item: &Item| NewOrderItem::new(type_id(&item.ticket_type), item.quantity);
                let mut request = CreateOrder::new(self.event, new_customer(), type_id(&items[0].ticket_type), 1);
                request.items = items.iter().map(item).collect();
                request.discount_code = used.map(|used| code(used).to_lowercase());
                let created = service.create_order(&caller, request);
                outcome(created.map(|created| self.orders.push(created.order.id)))
            }
            Step::PayByGateway(index) => outcome(service.payment_completed(&caller, order(index))),
            Step::FailPayment(index) => outcome(service.payment_failed(&caller, order(index))),
            Step::MarkPaid(index) => outcome(service.mark_order_paid(&caller, order(index), ManualMethod::Cash)),
            Step::Cancel(index) => outcome(service.cancel_order(&caller, order(index))),
            Step::Remind(index) => outcome(service.mark_checkout_reminder_sent(&caller, order(index))),
            Step::Issue { ticket_type: index, quantity } => {
                let request = IssueTickets::new(type_id(index), new_customer(), *quantity);
                outcome(service.issue_tickets(&caller, request).map(|issued| {
                    self.tickets.extend(
                        issued
                            .issued_tickets
                            .into_iter()
                            .map(|ticket| IssuedTicket { id: ticket.id, code: ticket.code }),
                    );
                }))
            }
            Step::SetAside { ticket_type: index, quantity } => {
                let request = CreateAllocation::new("Guests", *quantity);
                let created = service.create_allocation(&caller, type_id(index), request);
                outcome(created.map(|created| self.allocations.push(created.id)))
            }
            Step::CancelAllocation(index) => {
                let allocation = self.allocations[pick(*index, self.allocations.len()).expect("not skipped")];
                outcome(service.cancel_allocation(&caller, allocation))
            }
            Step::Import { ticket_type: index, quantity } => {
                let codes = self.imported..self.imported + usize::try_from(*quantity).expect("few");
                let tickets = codes.map(|number| ImportedTicket::new(format!("foreign-{number}")));
                let request = ImportTickets::new("Box office", tickets);
                let imported = service.import_tickets(&caller, type_id(index), request);
                outcome(imported.map(|imported| {
                    self.imported += usize::try_from(imported.imported).expect("few");
                    self.allocations.push(imported.allocation.id);
                }))
            }
            Step::Assign(index) => outcome(service.assign_ticket(&caller, ticket(index).id, new_customer())),
            Step::CheckIn(index) => outcome(service.check_in_ticket(&caller, CheckInTicket::new(&ticket(index).code))),
            Step::CheckOut(index) => {
                outcome(service.check_out_ticket(&caller, CheckInTicket::new(&ticket(index).code)))
            }
            Step::RefundAmount { order: index, cents } => {
                outcome(self.fixture.refund_amount(order(index), eur(*cents)))
            }
            Step::RefundTicket(index) => {
                let of = model.tickets[pick(*index, self.tickets.len()).expect("not skipped")].order;
                let order = self.orders[of.expect("not skipped")];
                outcome(service.refund_order(&caller, order, RefundOrder::of_tickets([ticket(index).id])))
            }
            Step::CancelTicket(index) => outcome(service.cancel_ticket(&caller, ticket(index).id)),
            Step::SetStatus(status) => outcome(self.fixture.set_event_status(self.event, *status)),
            Step::BeginDaysAt(minutes) => {
                let settings =
                    EventSettings::default().day_starts_at(format!("{:02}:{:02}", minutes / 60, minutes % 60));
                outcome(service.update_event_settings(&caller, self.event, settings))
            }
            Step::MoveClock(minutes) => {
                let now = Timestamp::from_millis(model.now + minutes * 60_000).expect("in the range");
                self.fixture.clock.set(now);
                Outcome::Done
            }
            Step::Maintain => outcome(service.run_maintenance()),
        }
    }

    /// Adds the tickets that were issued to orders and for allocations in the last step.
    fn find_new_tickets(&mut self, model: &Model) {
        while let Some(new) = model.tickets.get(self.tickets.len()) {
            if let Some(allocation) = new.allocation {
                let request = ListTickets::new().allocation(self.allocations[allocation]);
                let issued = self.service().list_tickets(&self.fixture.caller, request).expect("a page").data;
                assert!(!issued.is_empty(), "an allocation that is complete has tickets");
                let issued = issued.into_iter().rev();
                self.tickets.extend(issued.map(|ticket| IssuedTicket { id: ticket.id, code: ticket.code }));
                continue;
            }
            let order = self.fixture.read_order(self.orders[new.order.expect("a ticket of an order")]);
            let tickets = order.tickets();
            let known = self.tickets.len();
            self.tickets.extend(tickets.map(|ticket| IssuedTicket { id: ticket.id, code: ticket.code.clone() }));
            assert!(self.tickets.len() > known, "an order that is complete has tickets");
        }
    }

    /// Setting the clock back undoes an expiry only if it is not stored yet. The model does not know this: it adopts
    /// the state of the system.
    fn adopt_stored_expiries(&self, model: &mut Model) {
        for (index, id) in self.orders.iter().enumerate() {
            let pending = model.order_status(index) == OrderStatus::Pending;
            if pending && self.fixture.order_status(*id) == OrderStatus::Expired {
                let order = &mut model.orders[index];
                assert!(model.latest >= order.hold_until, "no order expires before its time");
                order.stored = OrderStatus::Expired;
            }
        }
        let open = matches!(model.event_status(), EventStatus::Published | EventStatus::SoldOut);
        if open && self.fixture.event_status(self.event) == EventStatus::Expired {
            assert!(model.latest >= model.over_at, "no event expires before its time");
            model.status = EventStatus::Expired;
        }
    }

    /// Asserts that everything visible is as in the model.
    fn compare(&self, model: &Model) {
        let service = self.service();
        let caller = &self.fixture.caller;
        assert_eq!(self.fixture.event_status(self.event), model.event_status(), "the event");
        for (id, ticket_type) in self.types.iter().zip(&model.types) {
            match service.get_ticket_type(caller, *id) {
                Ok(system) => {
                    assert_eq!(
                        (system.quantity, system.sold, false),
                        (ticket_type.quantity, ticket_type.sold, ticket_type.deleted),
                        "{id}"
                    )
                }
                Err(_) => assert!(ticket_type.deleted, "{id} is missing"),
            }
        }
        for (index, (id, discount)) in self.discounts.iter().zip(&model.discounts).enumerate() {
            match service.get_discount(caller, *id) {
                Ok(system) => assert_eq!((system.used_count, false), (model.uses(index), discount.deleted), "{id}"),
                Err(_) => assert!(discount.deleted, "{id} is missing"),
            }
        }
        for (index, (id, order)) in self.orders.iter().zip(&model.orders).enumerate() {
            let system = self.fixture.read_order(*id);
            assert_eq!(system.status, model.order_status(index), "{id}");
            assert_eq!((system.total, system.discounted_amount), (eur(order.total), order.discounted.map(eur)), "{id}");
            assert_eq!(system.discount_code, order.discount.map(code), "{id}");
            assert_eq!(system.payment_gateway.map(|payment| payment.status), order.payment, "{id}");
            assert_eq!(system.checkout_reminder_sent, order.reminded, "{id}");
            let of_items: i64 = system.items.iter().map(|item| item.final_amount.minor_units()).sum();
            assert_eq!(of_items, order.total, "{id}: its items");
        }
        for (IssuedTicket { id, .. }, ticket) in self.tickets.iter().zip(&model.tickets) {
            let system = service.get_ticket(caller, *id).expect("a ticket");
            assert_eq!(system.ticket_type_id, self.types[ticket.ticket_type], "{id}");
            assert_eq!((system.status, system.scan_count), (ticket.status, ticket.scans), "{id}");
            let instants = (system.check_in_date.map(Timestamp::millis), system.expires_at.map(Timestamp::millis));
            assert_eq!(instants, (ticket.checked_in_at, ticket.expires), "{id}");
        }
        for (index, (id, allocation)) in self.allocations.iter().zip(&model.allocations).enumerate() {
            let system = service.get_allocation(caller, *id).expect("an allocation");
            assert_eq!((system.state, system.issued), (allocation.state, allocation.issued), "{id}");
            let of_status = |status| {
                let is_one = |ticket: &&model::Ticket| ticket.allocation == Some(index) && ticket.status == status;
                i64::try_from(model.tickets.iter().filter(is_one).count()).expect("few")
            };
            let counts = (of_status(TicketStatus::Cancelled), of_status(TicketStatus::CheckedIn));
            assert_eq!((system.cancelled, system.checked_in), counts, "{id}");
        }
        let refunds = self.fixture.gateway.refunds();
        let refunds: Vec<_> = refunds.iter().map(|refund| (refund.order_id, refund.amount)).collect();
        let expected: Vec<_> =
            model.refunds.iter().map(|(order, amount)| (self.orders[*order], eur(*amount))).collect();
        assert_eq!(refunds, expected, "the refunds");
        summary::compare(self, model);
    }
}

fn start() -> Timestamp {
    at(NOW)
}

/// When the event ends after the first step, in milliseconds.
const EVENT_DURATION: Duration = Duration::from_hours(20);

fn cases() -> u32 {
    u32::try_from(repetitions("TICKETING_MODEL_CASES", 48)).expect("a number of cases")
}

/// Takes the steps in both, and compares both after each step.
fn run<'s>(steps: impl IntoIterator<Item = &'s Step>) -> (System, Model) {
    let mut model = Model::new(start().millis(), start().saturating_add(EVENT_DURATION).millis());
    let mut system = System::new();
    for step in steps {
        let before = model.clone();
        let expected = model.apply(step);
        if expected == Outcome::Skipped {
            continue;
        }
        let got = system.apply(step, &before);
        assert_eq!(got, expected, "{step:?}");
        system.find_new_tickets(&model);
        if matches!(step, Step::MoveClock(minutes) if *minutes < 0) {
            system.adopt_stored_expiries(&mut model);
        }
        system.compare(&model);
    }
    (system, model)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(),
        max_shrink_time: u32::try_from(Duration::from_mins(2).as_millis()).unwrap_or(u32::MAX),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn after_every_step_the_crate_agrees_with_the_model(
        steps in proptest::collection::vec(steps::step(), 1..80),
    ) {
        let opening = steps::opening();
        let (system, model) = run(opening.iter().chain(&steps));
        notifications::compare(&system, &model);
    }
}
