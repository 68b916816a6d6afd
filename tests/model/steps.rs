//! What can happen. The indices choose among what there is, round and round.

use proptest::option::weighted;
use proptest::prelude::*;
use ticketing::EventStatus;

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
        of: usize,
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
    SwitchDiscount {
        discount: usize,
        active: bool,
        limit: Option<i64>,
    },
    DeleteDiscount(usize),
    Order {
        lines: Vec<(usize, i64)>,
        code: Option<usize>,
    },
    Pay(usize),
    Fail(usize),
    MarkPaid(usize),
    Cancel(usize),
    Remind(usize),
    Issue {
        of: usize,
        quantity: i64,
    },
    Scan(usize),
    Leave(usize),
    CancelTicket(usize),
    Move(EventStatus),
    /// By so many minutes, back too.
    Turn(i64),
    Maintain,
}

/// One of `number` things.
pub fn pick(index: usize, number: usize) -> Option<usize> {
    (number > 0).then(|| index % number)
}

/// What every history begins with: something to sell.
pub fn opening() -> [Step; 3] {
    let seats = |price, quantity| Step::AddType { price, quantity, max_per_order: 10, days: None, hours: None };
    let discount =
        Step::AddDiscount { percent: false, value: 777, limit: Some(2), minimum: None, automatic: false, only: None };
    [seats(1250, 6), seats(0, 4), discount]
}

pub fn step() -> impl Strategy<Value = Step> {
    let (of, any) = (0..4_usize, 0..64_usize);
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
        weighted(0.3, of.clone()),
    );
    prop_oneof![
        2 => add_type.prop_map(|(price, quantity, max_per_order, days, hours)| {
            Step::AddType { price, quantity, max_per_order, days, hours }
        }),
        2 => (of.clone(), 1..8_i64).prop_map(|(of, quantity)| Step::SetQuantity { of, quantity }),
        1 => of.clone().prop_map(Step::DeleteType),
        3 => add_discount.prop_map(|(percent, value, limit, minimum, automatic, only)| {
            // An amount is some euros and cents, a percentage a whole number.
            let value = if percent { value } else { value * 37 };
            Step::AddDiscount { percent, value, limit, minimum, automatic, only }
        }),
        1 => (0..4_usize, proptest::bool::ANY, weighted(0.5, 1..4_i64))
            .prop_map(|(discount, active, limit)| Step::SwitchDiscount { discount, active, limit }),
        1 => (0..4_usize).prop_map(Step::DeleteDiscount),
        14 => (proptest::collection::vec((of.clone(), 1..3_i64), 1..4), weighted(0.4, 0..5_usize))
            .prop_map(|(lines, code)| Step::Order { lines, code }),
        8 => any.clone().prop_map(Step::Pay),
        2 => any.clone().prop_map(Step::Fail),
        4 => any.clone().prop_map(Step::MarkPaid),
        4 => any.clone().prop_map(Step::Cancel),
        1 => any.clone().prop_map(Step::Remind),
        3 => (of, 1..4_i64).prop_map(|(of, quantity)| Step::Issue { of, quantity }),
        6 => any.clone().prop_map(Step::Scan),
        2 => any.clone().prop_map(Step::Leave),
        3 => any.prop_map(Step::CancelTicket),
        1 => statuses.prop_map(Step::Move),
        5 => minutes.prop_map(Step::Turn),
        2 => Just(Step::Maintain),
    ]
}
