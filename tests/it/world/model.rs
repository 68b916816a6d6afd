//! A second implementation of the rules, over plain vectors: the state of an event, its ticket types, discounts, orders
//! and tickets after each step, and the outcome of each step. Other files add orders and discounts.

use ticketing::allocation::AllocationState;
use ticketing::event::EventStatus;
use ticketing::order::{OrderStatus, PaymentStatus};
use ticketing::ticket::TicketStatus;
use ticketing::webhook::EventType;

use super::steps::{Item, Step, pick};

pub const HOLD: i64 = 30 * 60_000;
const DAY: i64 = 24 * 60 * 60_000;

/// How a step ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Done,
    /// A conflict with this reason.
    Refused(&'static str),
    /// A field error: path and message.
    Field(String, String),
    /// The step needs a row that does not exist.
    Skipped,
}

use Outcome::{Done, Refused, Skipped};

#[derive(Debug, Clone)]
pub struct TicketType {
    pub price: i64,
    pub quantity: i64,
    pub sold: i64,
    pub max_per_order: i64,
    pub validity_days: Option<i64>,
    pub validity_hours: Option<i64>,
    pub used: bool,
    pub deleted: bool,
}

#[derive(Debug, Clone)]
pub struct Discount {
    pub percent: bool,
    pub value: i64,
    pub limit: Option<i64>,
    pub minimum: Option<i64>,
    pub automatic: bool,
    pub active: bool,
    /// The only ticket type that it applies to.
    pub only: Option<usize>,
    pub used: bool,
    pub deleted: bool,
}

#[derive(Debug, Clone)]
pub struct Order {
    pub items: Vec<Item>,
    pub total: i64,
    pub discounted: Option<i64>,
    pub discount: Option<usize>,
    /// The status after the last operation. The expiry of the hold does not change it.
    pub stored: OrderStatus,
    pub hold_until: i64,
    pub payment: Option<PaymentStatus>,
    pub paid_by_gateway: bool,
    /// What each item costs after its discount.
    pub amounts: Vec<i64>,
    /// What was decided to be given back of the total: through the gateway, and by hand.
    pub refunded: i64,
    pub manual: i64,
    /// What the gateway has given back of the payment.
    pub given_back: i64,
    pub reminded: bool,
}

/// An allocation. An import is one too.
#[derive(Debug, Clone)]
pub struct Allocation {
    pub ticket_type: usize,
    pub quantity: i64,
    pub issued: i64,
    pub state: AllocationState,
    /// Since when its tickets are to be issued or cancelled.
    pub due_at: i64,
}

#[derive(Debug, Clone)]
pub struct Ticket {
    pub ticket_type: usize,
    pub order: Option<usize>,
    pub allocation: Option<usize>,
    /// Whether another seller has sold it.
    pub imported: bool,
    pub has_customer: bool,
    pub status: TicketStatus,
    pub scans: i64,
    pub checked_in_at: Option<i64>,
    pub expires: Option<i64>,
    pub scanned_first: bool,
}

#[derive(Debug, Clone)]
pub struct Model {
    pub now: i64,
    /// The latest time that the clock has shown.
    pub latest: i64,
    pub status: EventStatus,
    pub over_at: i64,
    /// How long after midnight the days of the event begin.
    pub day_start: i64,
    pub types: Vec<TicketType>,
    pub discounts: Vec<Discount>,
    pub orders: Vec<Order>,
    pub tickets: Vec<Ticket>,
    pub allocations: Vec<Allocation>,
    /// The refunded orders and amounts.
    pub refunds: Vec<(usize, i64)>,
    /// The notifications, with the index of their order or ticket.
    pub notifications: Vec<(EventType, usize)>,
}

impl Model {
    pub fn new(now: i64, over_at: i64) -> Self {
        let (types, discounts, orders, tickets, allocations, refunds, notifications) = Default::default();
        let status = EventStatus::Published;
        let (latest, day_start) = (now, 0);
        Self {
            now,
            latest,
            status,
            over_at,
            day_start,
            types,
            discounts,
            orders,
            tickets,
            allocations,
            refunds,
            notifications,
        }
    }

    pub fn event_status(&self) -> EventStatus {
        match self.status {
            EventStatus::Published | EventStatus::SoldOut if self.now >= self.over_at => EventStatus::Expired,
            other => other,
        }
    }

    pub fn order_status(&self, order: usize) -> OrderStatus {
        match self.orders[order].stored {
            OrderStatus::Pending if self.now >= self.orders[order].hold_until => OrderStatus::Expired,
            other => other,
        }
    }

    pub fn is_live(&self, order: usize) -> bool {
        matches!(self.order_status(order), OrderStatus::Pending | OrderStatus::Completed)
    }

    /// The number of live orders that use a discount.
    pub fn uses(&self, discount: usize) -> i64 {
        let using = |order: &usize| self.orders[*order].discount == Some(discount) && self.is_live(*order);
        i64::try_from((0..self.orders.len()).filter(using).count()).expect("few")
    }

    /// The number of seats of a ticket type that pending orders and allocations reserve.
    pub fn reserved(&self, ticket_type: usize) -> i64 {
        let pending = (0..self.orders.len()).filter(|order| self.order_status(*order) == OrderStatus::Pending);
        let items = pending.flat_map(|order| &self.orders[order].items);
        let of_orders: i64 = items.filter(|item| item.ticket_type == ticket_type).map(|item| item.quantity).sum();
        of_orders + self.set_aside(ticket_type)
    }

    pub fn free(&self, ticket_type: usize) -> i64 {
        self.types[ticket_type].quantity - self.types[ticket_type].sold - self.reserved(ticket_type)
    }

    pub fn unsold(&self) -> i64 {
        self.types
            .iter()
            .filter(|ticket_type| !ticket_type.deleted)
            .map(|ticket_type| ticket_type.quantity - ticket_type.sold)
            .sum()
    }

    /// Takes a step and returns its outcome.
    pub fn apply(&mut self, step: &Step) -> Outcome {
        let unsold = self.unsold();
        let outcome = self.outcome_of(step);
        let left_zero = unsold == 0 && self.unsold() > 0;
        if outcome == Done && left_zero && self.event_status() == EventStatus::SoldOut {
            self.status = EventStatus::Published;
        }
        outcome
    }

    fn outcome_of(&mut self, step: &Step) -> Outcome {
        let orders = self.orders.len();
        let with_order = |index: &usize| pick(*index, orders);
        match step {
            Step::AddType { price, quantity, max_per_order, days, hours } => {
                self.types.push(TicketType {
                    price: *price,
                    quantity: *quantity,
                    sold: 0,
                    max_per_order: *max_per_order,
                    validity_days: *days,
                    validity_hours: *hours,
                    used: false,
                    deleted: false,
                });
                Done
            }
            Step::SetQuantity { ticket_type, quantity } => self.with_type(*ticket_type, |model, ticket_type| {
                if model.types[ticket_type].sold + model.reserved(ticket_type) > *quantity {
                    return Refused("quantity-below-sold");
                }
                model.types[ticket_type].quantity = *quantity;
                Done
            }),
            Step::DeleteType(ticket_type) => self.with_type(*ticket_type, |model, ticket_type| {
                if model.types[ticket_type].used {
                    return Refused("in-use");
                }
                model.types[ticket_type].deleted = true;
                Done
            }),
            Step::AddDiscount { percent, value, limit, minimum, automatic, only } => {
                let only = only.and_then(|index| self.pick_type(index));
                self.discounts.push(Discount {
                    percent: *percent,
                    value: *value,
                    limit: *limit,
                    minimum: *minimum,
                    automatic: *automatic,
                    active: true,
                    only,
                    used: false,
                    deleted: false,
                });
                Done
            }
            Step::UpdateDiscount { discount, active, limit } => self.with_discount(*discount, |model, discount| {
                model.discounts[discount].active = *active;
                model.discounts[discount].limit = *limit;
                Done
            }),
            Step::DeleteDiscount(discount) => self.with_discount(*discount, |model, discount| {
                if model.discounts[discount].used {
                    return Refused("in-use");
                }
                model.discounts[discount].deleted = true;
                Done
            }),
            Step::Order { items, code } => self.order(items, *code),
            Step::PayByGateway(index) => with_order(index).map_or(Skipped, |order| self.pay(order)),
            Step::FailPayment(index) => with_order(index).map_or(Skipped, |order| {
                let waiting = self.orders[order].payment == Some(PaymentStatus::Waiting);
                if self.order_status(order) == OrderStatus::Pending && waiting {
                    self.orders[order].payment = Some(PaymentStatus::Failed);
                }
                Done
            }),
            Step::MarkPaid(index) => with_order(index).map_or(Skipped, |order| self.complete(order, false)),
            Step::Cancel(index) => with_order(index).map_or(Skipped, |order| self.cancel(order)),
            Step::Remind(index) => with_order(index).map_or(Skipped, |order| {
                if self.order_status(order) != OrderStatus::Pending {
                    return Refused("order-not-pending");
                }
                self.orders[order].reminded = true;
                Done
            }),
            Step::Issue { ticket_type, quantity } => {
                self.with_type(*ticket_type, |model, ticket_type| model.issue(ticket_type, *quantity))
            }
            Step::SetAside { ticket_type, quantity } => {
                self.with_type(*ticket_type, |model, ticket_type| model.set_aside_seats(ticket_type, *quantity))
            }
            Step::CancelAllocation(index) => {
                pick(*index, self.allocations.len()).map_or(Skipped, |allocation| self.cancel_allocation(allocation))
            }
            Step::Import { ticket_type, quantity } => {
                self.with_type(*ticket_type, |model, ticket_type| model.import(ticket_type, *quantity))
            }
            Step::Assign(index) => pick(*index, self.tickets.len()).map_or(Skipped, |ticket| self.assign(ticket)),
            Step::CheckIn(index) => pick(*index, self.tickets.len()).map_or(Skipped, |ticket| self.check_in(ticket)),
            Step::CheckOut(index) => pick(*index, self.tickets.len()).map_or(Skipped, |ticket| {
                let ticket = &mut self.tickets[ticket];
                match ticket.status {
                    TicketStatus::Cancelled => Refused("ticket-cancelled"),
                    TicketStatus::CheckedIn => {
                        ticket.status = TicketStatus::NotCheckedIn;
                        Done
                    }
                    _ => Refused("not-checked-in"),
                }
            }),
            Step::CancelTicket(index) => pick(*index, self.tickets.len()).map_or(Skipped, |ticket| {
                if self.tickets[ticket].status == TicketStatus::Cancelled {
                    return Refused("ticket-cancelled");
                }
                self.tickets[ticket].status = TicketStatus::Cancelled;
                self.types[self.tickets[ticket].ticket_type].sold -= 1;
                Done
            }),
            Step::RefundAmount { order, cents } => {
                with_order(order).map_or(Skipped, |order| self.refund_amount(order, *cents))
            }
            Step::RefundTicket(index) => {
                let found =
                    pick(*index, self.tickets.len()).and_then(|ticket| Some((ticket, self.tickets[ticket].order?)));
                found.map_or(Skipped, |(ticket, order)| self.refund_ticket(ticket, order))
            }
            Step::SetStatus(status) => self.set_status(*status),
            Step::BeginDaysAt(minutes) => {
                self.day_start = minutes * 60_000;
                Done
            }
            Step::MoveClock(minutes) => {
                self.now += minutes * 60_000;
                self.latest = self.latest.max(self.now);
                Done
            }
            Step::Maintain => {
                self.change_allocations();
                Done
            }
        }
    }

    pub fn pick_type(&self, index: usize) -> Option<usize> {
        pick(index, self.types.len()).filter(|index| !self.types[*index].deleted)
    }

    fn with_type(&mut self, index: usize, work: impl FnOnce(&mut Self, usize) -> Outcome) -> Outcome {
        self.pick_type(index).map_or(Skipped, |index| work(self, index))
    }

    fn with_discount(&mut self, index: usize, work: impl FnOnce(&mut Self, usize) -> Outcome) -> Outcome {
        let discount = pick(index, self.discounts.len()).filter(|discount| !self.discounts[*discount].deleted);
        discount.map_or(Skipped, |discount| work(self, discount))
    }

    fn check_in(&mut self, index: usize) -> Outcome {
        let now = self.now;
        let cancelled = self.status == EventStatus::Cancelled;
        let ticket = &mut self.tickets[index];
        let ticket_type = &self.types[ticket.ticket_type];
        ticket.scans += 1;
        if ticket.status == TicketStatus::Cancelled {
            return Refused("ticket-cancelled");
        }
        if cancelled {
            return Refused("event-cancelled");
        }
        if ticket.expires.is_some_and(|expires| now >= expires) {
            return Refused("no-longer-valid");
        }
        let day_start = self.day_start;
        let day = |at: i64| (at - day_start).div_euclid(DAY);
        let another_day = ticket.checked_in_at.is_some_and(|checked_in_at| day(checked_in_at) < day(now));
        let again = another_day && ticket_type.validity_days.is_some_and(|days| days > 1);
        if ticket.status == TicketStatus::CheckedIn && !again {
            return Refused("already-checked-in");
        }
        if !ticket.scanned_first {
            ticket.scanned_first = true;
            let days = ticket_type.validity_days.map(|days| (day(now) + days) * DAY + day_start);
            let hours = ticket_type.validity_hours.map(|hours| now + hours * 60 * 60_000);
            ticket.expires = days.into_iter().chain(hours).min();
        }
        ticket.status = TicketStatus::CheckedIn;
        ticket.checked_in_at = Some(now);
        self.notifications.push((EventType::TicketCheckedIn, index));
        Done
    }

    fn set_status(&mut self, to: EventStatus) -> Outcome {
        use EventStatus::{Cancelled, Drafted, Expired, Published, SoldOut};
        let from = self.event_status();
        let in_use = !self.tickets.is_empty()
            || !self.allocations.is_empty()
            || (0..self.orders.len()).any(|order| self.is_live(order));
        let allowed = match (from, to) {
            (from, to) if from == to => true,
            (Drafted, Published | Cancelled | Expired)
            | (Published, SoldOut | Expired | Cancelled)
            | (SoldOut, Published | Expired | Cancelled)
            | (Expired, Cancelled) => true,
            (Published, Drafted) => !in_use,
            (Expired, Published) => self.now < self.over_at,
            _ => false,
        };
        if !allowed {
            return Refused("invalid-transition");
        }
        self.status = to;
        if to == Cancelled && from != Cancelled {
            for order in 0..self.orders.len() {
                match self.order_status(order) {
                    OrderStatus::Pending => self.set_cancelled(order),
                    other => self.orders[order].stored = other,
                }
            }
        }
        Done
    }
}
