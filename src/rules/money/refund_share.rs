//! Which part of an order a ticket is worth, and when a refund is tried again.

use std::time::Duration;

use super::pricing::ItemPrice;
use crate::error::FieldErrors;
use crate::model::sale::refund::RefundOrder;
use crate::model::values::amount::Amount;
use crate::model::values::currency::Decimals;

/// The delay after the attempt with this number, counted from 1, if the gateway was unavailable: 10 seconds, doubled by
/// each further attempt, up to an hour.
pub(crate) fn delay_after(attempt: i64) -> Duration {
    let doublings = u32::try_from(attempt - 1).unwrap_or(0).min(9);
    Duration::from_secs(10 << doublings).min(Duration::from_hours(1))
}

/// The longest delay, and a minute in which clocks may differ. No attempt is due later: a due time beyond it comes from
/// a clock that was wrong, and counts as due now.
pub(crate) const LATEST_DUE: Duration = Duration::from_mins(60 + 1);

/// How many times a refund is attempted, which takes at least 7 days. After that, somebody has to give the money back
/// manually.
pub(crate) const MAX_ATTEMPTS: i64 = 176;

/// The part of the final amount of an item that one of its tickets is worth, in minor units. The amount is divided by
/// the number of tickets, in multiples of `step`; the steps that are left go to the first tickets, one each, so that
/// the shares add up to the amount. `index` is the number of the ticket in the item, from 0.
pub(crate) fn ticket_share(price: ItemPrice, index: usize, step: i64) -> i64 {
    let (tickets, step) = (price.quantity.max(1), step.max(1));
    let steps = price.final_amount() / step;
    let has_one_more = i64::try_from(index).is_ok_and(|index| index < steps % tickets);
    let share = (steps / tickets + i64::from(has_one_more)) * step;
    // What is less than a step, which the gateway could not have taken.
    let rest = if index == 0 { price.final_amount() % step } else { 0 };
    share + rest
}

/// Checks that an amount in minor units is a multiple of the least amount that can be refunded.
pub(crate) fn check_step(amount: i64, step: i64, decimals: Decimals, errors: &mut FieldErrors) {
    if step > 1 && amount % step != 0 {
        let step = Amount::in_currency(step, decimals);
        errors
            .add("amount", format!("must be a multiple of {step}, the least amount that the payment gateway refunds"));
    }
}

pub(crate) fn check_parts(request: &RefundOrder, errors: &mut FieldErrors) {
    match (&request.tickets, request.amount) {
        (None, None) => errors.add("amount", "is required, unless tickets are given"),
        (Some(_), Some(_)) => errors.add("tickets", "must be absent if an amount is given"),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delay_doubles_from_10_seconds_up_to_an_hour() {
        let seconds: Vec<_> = [1, 2, 3, 9, 10, 1_000_000].map(|attempt| delay_after(attempt).as_secs()).into();
        assert_eq!(seconds, [10, 20, 40, 2560, 3600, 3600]);
    }

    #[test]
    fn a_refund_is_attempted_for_7_days() {
        let total = |attempts: i64| (1..attempts).map(delay_after).sum::<Duration>();
        // 10 s, 20 s, … 2560 s, and an hour 166 times: 5110 s + 166 h.
        assert_eq!(total(MAX_ATTEMPTS), Duration::from_secs(5110) + Duration::from_hours(166));
        assert!(total(MAX_ATTEMPTS + 1) > Duration::from_hours(7 * 24));
    }

    #[test]
    fn the_shares_of_the_tickets_of_an_item_add_up_to_its_final_amount() {
        let shares_in = |step: i64, price: ItemPrice| {
            let tickets = usize::try_from(price.quantity).expect("few");
            (0..tickets).map(|index| ticket_share(price, index, step)).collect::<Vec<_>>()
        };
        let shares = |price| shares_in(1, price);
        // 10.00 for three: 3.34 + 3.33 + 3.33.
        assert_eq!(shares(ItemPrice { price: 400, quantity: 3, discount: 200 }), [334, 333, 333]);
        // 11.99 for three: 4.00 + 4.00 + 3.99.
        assert_eq!(shares(ItemPrice { price: 400, quantity: 3, discount: 1 }), [400, 400, 399]);
        assert_eq!(shares(ItemPrice::full(1250, 2)), [1250, 1250]);
        assert_eq!(shares(ItemPrice { price: 1, quantity: 3, discount: 2 }), [1, 0, 0]);
        assert_eq!(shares(ItemPrice { price: 1250, quantity: 2, discount: 2500 }), [0, 0]);
        // 10.000 dinars for three, in multiples of 0.010: 3.340 + 3.330 + 3.330.
        assert_eq!(shares_in(10, ItemPrice { price: 4000, quantity: 3, discount: 2000 }), [3340, 3330, 3330]);
        // 10.00 ariary for three, in whole ariary.
        assert_eq!(shares_in(100, ItemPrice { price: 400, quantity: 3, discount: 200 }), [400, 300, 300]);
        assert_eq!(shares_in(10, ItemPrice::full(1000, 2)), [1000, 1000]);
        // A price that is no multiple.
        assert_eq!(shares_in(10, ItemPrice { price: 4000, quantity: 3, discount: 1996 }), [3344, 3330, 3330]);
    }
}
