//! The steps of a history. An index chooses among the existing rows, modulo their number.

use proptest::option::weighted;
use proptest::prelude::*;
use ticketing::event::EventStatus;

/// An item of an order: the index of its ticket type, and its quantity.
#[derive(Debug, Clone, Copy)]
pub struct Item {
    pub ticket_type: usize,
    pub quantity: i64,
}

#[derive(Debug, Clone)]
pub enum Step {
    AddType {
        price: i64,
        quantity: i64,
        max_per_order: i64,
        days: Option<i64>,
        hours: Option<i64>,
    },
    SetQuantity {
        ticket_type: usize,
        quantity: i64,
    },
    DeleteType(usize),
    AddDiscount {
        percent: bool,
        value: i64,
        limit: Option<i64>,
        minimum: Option<i64>,
        automatic: bool,
        only: Option<usize>,
    },
    UpdateDiscount {
        discount: usize,
        active: bool,
        limit: Option<i64>,
    },
    DeleteDiscount(usize),
    Order {
        items: Vec<Item>,
        code: Option<usize>,
    },
    PayByGateway(usize),
    FailPayment(usize),
    MarkPaid(usize),
    Cancel(usize),
    Remind(usize),
    Issue {
        ticket_type: usize,
        quantity: i64,
    },
    /// Creates an allocation. The maintenance issues its tickets.
    SetAside {
        ticket_type: usize,
        quantity: i64,
    },
    CancelAllocation(usize),
    Import {
        ticket_type: usize,
        quantity: i64,
    },
    Assign(usize),
    CheckIn(usize),
    CheckOut(usize),
    CancelTicket(usize),
    RefundTicket(usize),
    RefundAmount {
        order: usize,
        cents: i64,
    },
    SetStatus(EventStatus),
    /// Lets the days of the event begin this many minutes after midnight.
    BeginDaysAt(i64),
    /// Moves the clock by this many minutes, forwards or backwards.
    MoveClock(i64),
    Maintain,
}

/// The row that an index chooses from `number` rows; `None` if there are none.
pub fn pick(index: usize, number: usize) -> Option<usize> {
    (number > 0).then(|| index % number)
}

/// The first steps of every history: two ticket types and a discount.
pub fn opening() -> [Step; 3] {
    let ticket_type = |price, quantity| Step::AddType { price, quantity, max_per_order: 10, days: None, hours: None };
    let discount =
        Step::AddDiscount { percent: false, value: 777, limit: Some(2), minimum: None, automatic: false, only: None };
    [ticket_type(1250, 6), ticket_type(0, 4), discount]
}

pub fn step() -> impl Strategy<Value = Step> {
    let ticket_type = 0..4_usize;
    let any = 0..64_usize;
    let item = (ticket_type.clone(), 1..3_i64).prop_map(|(ticket_type, quantity)| Item { ticket_type, quantity });
    let statuses = prop_oneof![
        9 => Just(EventStatus::Published),
        1 => Just(EventStatus::Drafted),
        1 => Just(EventStatus::SoldOut),
        1 => Just(EventStatus::Expired),
        1 => Just(EventStatus::Cancelled),
    ];
    let minutes =
        prop_oneof![6 => 1..20_i64, 4 => 25..45_i64, 1 => 200..1500_i64, 3 => -40..0_i64, 1 => -900..-100_i64];
    let add_type = (
        prop_oneof![Just(0), Just(1250), Just(999)],
        1..8_i64,
        prop_oneof![1 => Just(2_i64), 4 => Just(10)],
        weighted(0.3, 1..4_i64),
        weighted(0.2, 1..5_i64),
    );
    let add_discount = (
        proptest::bool::ANY,
        0..=100_i64,
        weighted(0.6, 1..3_i64),
        weighted(0.2, prop_oneof![Just(0), Just(1250), Just(2500)]),
        proptest::bool::ANY,
        weighted(0.3, ticket_type.clone()),
    );
    prop_oneof![
        2 => add_type.prop_map(|(price, quantity, max_per_order, days, hours)| {
            Step::AddType { price, quantity, max_per_order, days, hours }
        }),
        2 => (ticket_type.clone(), 1..8_i64).prop_map(|(ticket_type, quantity)| Step::SetQuantity { ticket_type, quantity }),
        1 => ticket_type.clone().prop_map(Step::DeleteType),
        3 => add_discount.prop_map(|(percent, value, limit, minimum, automatic, only)| {
            // A fixed amount has euros and cents; a percentage is a whole number.
            let value = if percent { value } else { value * 37 };
            Step::AddDiscount { percent, value, limit, minimum, automatic, only }
        }),
        1 => (0..4_usize, proptest::bool::ANY, weighted(0.5, 1..4_i64))
            .prop_map(|(discount, active, limit)| Step::UpdateDiscount { discount, active, limit }),
        1 => (0..4_usize).prop_map(Step::DeleteDiscount),
        14 => (proptest::collection::vec(item, 1..4), weighted(0.4, 0..5_usize))
            .prop_map(|(items, code)| Step::Order { items, code }),
        8 => any.clone().prop_map(Step::PayByGateway),
        2 => any.clone().prop_map(Step::FailPayment),
        4 => any.clone().prop_map(Step::MarkPaid),
        4 => any.clone().prop_map(Step::Cancel),
        1 => any.clone().prop_map(Step::Remind),
        3 => (ticket_type.clone(), 1..4_i64).prop_map(|(ticket_type, quantity)| Step::Issue { ticket_type, quantity }),
        3 => (ticket_type.clone(), 1..4_i64).prop_map(|(ticket_type, quantity)| Step::SetAside { ticket_type, quantity }),
        2 => any.clone().prop_map(Step::CancelAllocation),
        2 => (ticket_type, 1..4_i64).prop_map(|(ticket_type, quantity)| Step::Import { ticket_type, quantity }),
        2 => any.clone().prop_map(Step::Assign),
        6 => any.clone().prop_map(Step::CheckIn),
        2 => any.clone().prop_map(Step::CheckOut),
        3 => any.clone().prop_map(Step::CancelTicket),
        4 => any.clone().prop_map(Step::RefundTicket),
        3 => (any, prop_oneof![1 => Just(0), 9 => 1..2600_i64])
            .prop_map(|(order, cents)| Step::RefundAmount { order, cents }),
        1 => statuses.prop_map(Step::SetStatus),
        1 => (0..24 * 60_i64).prop_map(Step::BeginDaysAt),
        5 => minutes.prop_map(Step::MoveClock),
        2 => Just(Step::Maintain),
    ]
}
