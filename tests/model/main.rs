//! The crate beside a small model of its rules: the same steps, the same answers, the same state after each of them, the
//! clock turned forwards and backwards. A failure is shrunk to the few steps that it takes.
//!
//! A longer run: `TICKETING_MODEL_CASES=100000 cargo test --release --test model`.

#[path = "../common/mod.rs"]
mod common;
mod news;
mod prices;
mod sale;
mod steps;
mod world;

use common::outbox;
use common::*;
use proptest::prelude::*;
use std::time::Duration;
use ticketing::{
    Amount, Change, CheckInTicket, CreateDiscount, CreateOrder, CreateTicketType, DiscountId, DiscountType, EventId,
    EventStatus, IssueTickets, NewOrderItem, OrderId, OrderStatus, Result, TicketId, TicketTypeId, TicketingService,
    Timestamp, UpdateDiscount, UpdateTicketType,
};

use steps::{Step, pick};
use world::{Outcome, World};

/// The crate, with the ids of what the model numbers.
struct Real {
    fixture: Fixture,
    event: EventId,
    types: Vec<TicketTypeId>,
    discounts: Vec<DiscountId>,
    orders: Vec<OrderId>,
    tickets: Vec<(TicketId, String)>,
}

fn outcome<T>(result: Result<T>) -> Outcome {
    match result {
        Ok(_) => Outcome::Done,
        Err(error) => match (error.reason(), error.fields()) {
            (Some(reason), _) => Outcome::Refused(ticketing::TextEnum::as_str(reason)),
            (None, [field, ..]) => Outcome::Field(field.path.clone(), field.message.clone()),
            (None, []) => panic!("neither a conflict nor a field error: {error:?}"),
        },
    }
}

fn code(index: usize) -> String {
    format!("Code-{index}")
}

impl Real {
    fn new() -> Self {
        let fixture = Fixture::new();
        let over = Timestamp::from_millis(shop_now().millis() + OVER_AFTER);
        let event = fixture.event_with(|new| (new.start_date, new.end_date) = (shop_now(), Some(over)));
        outbox::insert_webhook(&fixture.database(), fixture.caller.organization(), &outbox::ALL_NOTIFICATIONS, true);
        let (types, discounts, orders, tickets) = Default::default();
        Self { fixture, event: event.id, types, discounts, orders, tickets }
    }

    fn service(&self) -> &TicketingService {
        &self.fixture.service
    }

    /// Does a step that the model did not skip. `world` is the model before it.
    fn take(&mut self, step: &Step, world: &World) -> Outcome {
        let (service, caller) = (self.fixture.service.clone(), self.fixture.caller.clone());
        let of = |index: &usize| self.types[world.pick_type(*index).expect("not skipped")];
        let order = |index: &usize| self.orders[pick(*index, self.orders.len()).expect("not skipped")];
        let ticket = |index: &usize| &self.tickets[pick(*index, self.tickets.len()).expect("not skipped")];
        let discount = |index: &usize| self.discounts[pick(*index, self.discounts.len()).expect("not skipped")];
        match step {
            Step::AddType { price, quantity, max_per_order, days, hours } => {
                let mut new = CreateTicketType::new("Seat", eur(*price), *quantity);
                new.max_per_order = Some(*max_per_order);
                (new.validity_days, new.validity_hours) = (*days, *hours);
                let made = service.create_ticket_type(&caller, self.event, new);
                outcome(made.map(|made| self.types.push(made.id)))
            }
            Step::SetQuantity { of: index, quantity } => {
                let changes = UpdateTicketType { quantity: Change::Set(*quantity), ..Default::default() };
                outcome(service.update_ticket_type(&caller, of(index), changes))
            }
            Step::DeleteType(index) => outcome(service.delete_ticket_type(&caller, of(index))),
            Step::AddDiscount { percent, value, limit, minimum, automatic, only } => {
                let (from, to) = (at("2020-01-01T00:00:00Z"), Timestamp::MAX);
                let value = Amount::new(*value, if *percent { 0 } else { 2 });
                let mut new = CreateDiscount::percentage(self.event, code(self.discounts.len()), value, from, to);
                if !percent {
                    new.discount_type = DiscountType::FixedAmount;
                }
                new.usage_limit = *limit;
                new.minimum_purchase = minimum.map(eur);
                new.auto_apply = Some(*automatic);
                let only = only.and_then(|only| world.pick_type(only));
                new.applicable_ticket_types = only.map(|of| vec![self.types[of]]);
                outcome(service.create_discount(&caller, new).map(|made| self.discounts.push(made.id)))
            }
            Step::SwitchDiscount { discount: index, active, limit } => {
                let (is_active, usage_limit) = (Change::Set(*active), Change::Set(*limit));
                let changes = UpdateDiscount { is_active, usage_limit, ..Default::default() };
                outcome(service.update_discount(&caller, discount(index), changes))
            }
            Step::DeleteDiscount(index) => outcome(service.delete_discount(&caller, discount(index))),
            Step::Order { lines, code: used } => {
                let item =
                    |(index, quantity): &(usize, i64)| NewOrderItem { ticket_type_id: of(index), quantity: *quantity };
                let mut request = CreateOrder::new(self.event, new_customer(), of(&lines[0].0), 1);
                request.items = lines.iter().map(item).collect();
                request.discount_code = used.map(|used| code(used).to_lowercase());
                let placed = service.create_order(&caller, request);
                outcome(placed.map(|placed| self.orders.push(placed.order.id)))
            }
            Step::Pay(index) => outcome(service.payment_completed(&caller, order(index))),
            Step::Fail(index) => outcome(service.payment_failed(&caller, order(index))),
            Step::MarkPaid(index) => outcome(service.mark_order_paid(&caller, order(index))),
            Step::Cancel(index) => outcome(service.cancel_order(&caller, order(index))),
            Step::Remind(index) => outcome(service.mark_checkout_reminder_sent(&caller, order(index))),
            Step::Issue { of: index, quantity } => {
                let request = IssueTickets { ticket_type_id: of(index), customer: new_customer(), quantity: *quantity };
                outcome(service.issue_tickets(&caller, request).map(|issued| {
                    self.tickets.extend(issued.issued_tickets.into_iter().map(|ticket| (ticket.id, ticket.code)));
                }))
            }
            Step::Scan(index) => outcome(service.check_in_ticket(&caller, CheckInTicket::new(&ticket(index).1))),
            Step::Leave(index) => outcome(service.check_out_ticket(&caller, CheckInTicket::new(&ticket(index).1))),
            Step::CancelTicket(index) => outcome(service.cancel_ticket(&caller, ticket(index).0)),
            Step::Move(status) => outcome(self.fixture.set_event_status(self.event, *status)),
            Step::Turn(minutes) => {
                let now = Timestamp::from_millis(world.now + minutes * 60_000);
                self.fixture.clock.set(now);
                Outcome::Done
            }
            Step::Maintain => outcome(service.run_maintenance()),
        }
    }

    /// Learns the ids of the tickets that orders got in the last step.
    fn find_new_tickets(&mut self, world: &World) {
        while let Some(new) = world.tickets.get(self.tickets.len()) {
            let order = self.fixture.read_order(self.orders[new.order.expect("others are known when they are issued")]);
            let tickets = order.items.iter().flat_map(|item| &item.issued_tickets);
            let known = self.tickets.len();
            self.tickets.extend(tickets.map(|ticket| (ticket.id, ticket.code.clone())));
            assert!(self.tickets.len() > known, "an order that is complete has tickets");
        }
    }

    /// A clock that goes back undoes an expiry only where nobody wrote it down. Which it was is not for the model to know.
    fn settle_after_turning_back(&self, world: &mut World) {
        for (index, id) in self.orders.iter().enumerate() {
            let pending = world.order_status(index) == OrderStatus::Pending;
            if pending && self.fixture.order_status(*id) == OrderStatus::Expired {
                let order = &mut world.orders[index];
                assert!(world.latest >= order.hold_until, "no order expires before its time");
                order.stored = OrderStatus::Expired;
            }
        }
        let open = matches!(world.event_status(), EventStatus::Published | EventStatus::SoldOut);
        if open && self.fixture.event_status(self.event) == EventStatus::Expired {
            assert!(world.latest >= world.over_at, "no event expires before its time");
            world.status = EventStatus::Expired;
        }
    }

    /// Everything that can be seen is as the model has it.
    fn compare(&self, world: &World) {
        let (service, caller) = (self.service(), &self.fixture.caller);
        assert_eq!(self.fixture.event_status(self.event), world.event_status(), "the event");
        for (id, of) in self.types.iter().zip(&world.types) {
            match service.get_ticket_type(caller, *id) {
                Ok(real) => assert_eq!((real.quantity, real.sold, false), (of.quantity, of.sold, of.deleted), "{id}"),
                Err(_) => assert!(of.deleted, "{id} is gone"),
            }
        }
        for (index, (id, discount)) in self.discounts.iter().zip(&world.discounts).enumerate() {
            match service.get_discount(caller, *id) {
                Ok(real) => assert_eq!((real.used_count, false), (world.uses(index), discount.deleted), "{id}"),
                Err(_) => assert!(discount.deleted, "{id} is gone"),
            }
        }
        for (index, (id, order)) in self.orders.iter().zip(&world.orders).enumerate() {
            let real = self.fixture.read_order(*id);
            assert_eq!(real.status, world.order_status(index), "{id}");
            assert_eq!((real.total, real.discounted_amount), (eur(order.total), order.discounted.map(eur)), "{id}");
            assert_eq!(real.discount_code, order.discount.map(code), "{id}");
            assert_eq!(real.payment_gateway.map(|payment| payment.status), order.payment, "{id}");
            assert_eq!(real.checkout_reminder_sent, order.reminded, "{id}");
            let of_items: i64 = real.items.iter().map(|item| item.item.final_amount.minor()).sum();
            assert_eq!(of_items, order.total, "{id}: its items");
        }
        for ((id, _), ticket) in self.tickets.iter().zip(&world.tickets) {
            let real = service.get_ticket(caller, *id).expect("a ticket");
            assert_eq!(real.ticket_type_id, self.types[ticket.of], "{id}");
            assert_eq!((real.status, real.scan_count), (ticket.status, ticket.scans), "{id}");
            let instants = (real.check_in_date.map(Timestamp::millis), real.expires_at.map(Timestamp::millis));
            assert_eq!(instants, (ticket.entered, ticket.expires), "{id}");
        }
        let refunds = self.fixture.gateway.refunds();
        let refunds: Vec<_> = refunds.iter().map(|refund| (refund.order_id, refund.amount)).collect();
        let expected: Vec<_> =
            world.refunds.iter().map(|(order, amount)| (self.orders[*order], eur(*amount))).collect();
        assert_eq!(refunds, expected, "what went back");
    }
}

fn shop_now() -> Timestamp {
    at(NOW)
}

/// The event is over so long after the first step, in milliseconds.
const OVER_AFTER: i64 = 20 * 60 * 60_000;

fn cases() -> u32 {
    std::env::var("TICKETING_MODEL_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(48)
}

/// Takes the steps in both, and compares after each.
fn run<'s>(steps: impl IntoIterator<Item = &'s Step>) -> (Real, World) {
    let mut world = World::new(shop_now().millis(), shop_now().millis() + OVER_AFTER);
    let mut real = Real::new();
    for step in steps {
        let before = world.clone();
        let expected = world.take(step);
        if expected == Outcome::Skipped {
            continue;
        }
        let got = real.take(step, &before);
        assert_eq!(got, expected, "{step:?}");
        real.find_new_tickets(&world);
        if matches!(step, Step::Turn(minutes) if *minutes < 0) {
            real.settle_after_turning_back(&mut world);
        }
        real.compare(&world);
    }
    (real, world)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(),
        max_shrink_time: u32::try_from(Duration::from_mins(2).as_millis()).unwrap_or(u32::MAX),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn after_every_step_the_crate_answers_and_stands_as_the_model_of_its_rules(
        steps in proptest::collection::vec(steps::step(), 1..80),
    ) {
        let opening = steps::opening();
        let (real, world) = run(opening.iter().chain(&steps));
        news::compare(&real, &world);
    }
}
