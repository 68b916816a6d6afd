//! Prices of orders and their items, in minor units.

use super::amount_limits::MAX_TOTAL;
use crate::error::Error;
use crate::model::sale::discount_value::DiscountValue;
use crate::model::values::percentage::Percentage;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ItemPrice {
    /// The price of one ticket.
    pub(crate) price: i64,
    pub(crate) quantity: i64,
    pub(crate) discount: i64,
}

impl ItemPrice {
    pub(crate) const fn full(price: i64, quantity: i64) -> Self {
        Self { price, quantity, discount: 0 }
    }

    pub(crate) fn subtotal(self) -> i64 {
        self.price * self.quantity
    }

    pub(crate) fn final_amount(self) -> i64 {
        self.subtotal() - self.discount
    }

    /// What is paid for each ticket. `None` if the tickets do not all cost the same.
    #[cfg(feature = "documents")]
    pub(crate) fn paid_for_each(self) -> Option<i64> {
        let quantity = self.quantity.max(1);
        (self.final_amount() % quantity == 0).then(|| self.final_amount() / quantity)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OrderPrice {
    pub(crate) items: Vec<ItemPrice>,
    pub(crate) total: i64,
    /// The reduction by a discount; `None` if no discount applies.
    pub(crate) discounted: Option<i64>,
}

/// Adds up the full prices of items. `None` if the total is more than an order may cost.
pub(crate) fn full_price(items: Vec<ItemPrice>) -> Option<OrderPrice> {
    let mut total = 0_i64;
    for item in &items {
        let subtotal = item.price.checked_mul(item.quantity)?;
        total = total.checked_add(subtotal).filter(|total| *total <= MAX_TOTAL)?;
    }
    Some(OrderPrice { items, total, discounted: None })
}

/// The error of a list of items that costs more than an order may. `path` is the field with the items.
pub(crate) fn too_expensive(path: &str) -> Error {
    Error::field(path, format!("must cost at most {MAX_TOTAL} minor units of the currency in total"))
}

/// Applies a discount to the items of a full price for which `applies` is true. A fixed amount is in minor units of the
/// currency of the order.
///
/// What is left of each item that the discount reduces is a multiple of `step`, the least amount in minor units that
/// the gateway can take: the discount is rounded up, in favour of the customer. With the step 1 it stays as it is.
pub(crate) fn reduce(full: &OrderPrice, value: DiscountValue, applies: &[bool], step: i64) -> OrderPrice {
    let step = step.max(1);
    // Items to which the discount does not apply count as 0, so that they get no share of it.
    let subtotals: Vec<i64> =
        full.items.iter().zip(applies).map(|(item, applies)| if *applies { item.subtotal() } else { 0 }).collect();
    let discounts: Vec<i64> = match value {
        DiscountValue::Percentage(percentage) => {
            subtotals.iter().map(|subtotal| percent_of(*subtotal, percentage)).collect()
        }
        DiscountValue::FixedAmount(amount) => distribute_steps(amount.minor_units(), &subtotals, step),
    };
    let to_step =
        |(subtotal, discount): (&i64, i64)| if discount == 0 { 0 } else { discount + (subtotal - discount) % step };
    let discounts: Vec<i64> = subtotals.iter().zip(discounts).map(to_step).collect();
    let discounted = discounts.iter().sum();
    let items = full.items.iter().zip(discounts).map(|(item, discount)| ItemPrice { discount, ..*item }).collect();
    OrderPrice { items, total: full.total - discounted, discounted: Some(discounted) }
}

/// The percentage of a subtotal, rounded half up.
fn percent_of(subtotal: i64, percentage: Percentage) -> i64 {
    let whole = 100 * 10_i128.pow(u32::from(percentage.decimals()));
    let part = i128::from(subtotal) * i128::from(percentage.units());
    narrow((2 * part + whole) / (2 * whole))
}

/// Distributes an amount in whole steps, rounded up.
fn distribute_steps(amount: i64, subtotals: &[i64], step: i64) -> Vec<i64> {
    let steps: Vec<i64> = subtotals.iter().map(|subtotal| subtotal / step).collect();
    let amount_in_steps = amount / step + i64::from(amount % step != 0);
    distribute(amount_in_steps, &steps).into_iter().map(|share| share * step).collect()
}

/// Distributes an amount over subtotals in proportion, up to their sum. Uses the method of the largest remainder:
/// shares are rounded down, and the minor units that are left go to the shares with the largest remainders, one each.
/// Of equal remainders the first has priority.
fn distribute(amount: i64, subtotals: &[i64]) -> Vec<i64> {
    let sum: i64 = subtotals.iter().sum();
    let amount = amount.min(sum);
    if amount == 0 {
        return vec![0; subtotals.len()];
    }
    let mut shares = Vec::with_capacity(subtotals.len());
    let mut remainders = Vec::with_capacity(subtotals.len());
    for subtotal in subtotals {
        let product = i128::from(amount) * i128::from(*subtotal);
        shares.push(narrow(product / i128::from(sum)));
        remainders.push(product % i128::from(sum));
    }
    let left = amount - shares.iter().sum::<i64>();
    let mut by_remainder: Vec<usize> = (0..shares.len()).collect();
    // The sort is stable: of equal remainders the first stays first.
    by_remainder.sort_by_key(|index| std::cmp::Reverse(remainders[*index]));
    for index in by_remainder.into_iter().take(usize::try_from(left).unwrap_or(0)) {
        shares[index] += 1;
    }
    shares
}

/// Converts a part of a subtotal, which always fits.
fn narrow(part: i128) -> i64 {
    i64::try_from(part).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_after_rounding_goes_to_the_largest_remainder() {
        // 2/7, 4/7 and 8/7: the remainders are 2, 4 and 1.
        assert_eq!(distribute(2, &[1, 2, 4]), [0, 1, 1]);
        // 3/8, 9/8 and 12/8: the remainders are 3, 1 and 4.
        assert_eq!(distribute(3, &[1, 3, 4]), [0, 1, 2]);
    }

    #[cfg(feature = "documents")]
    #[test]
    fn what_is_paid_for_each_ticket_is_known_if_all_cost_the_same() {
        assert_eq!(ItemPrice::full(1250, 2).paid_for_each(), Some(1250));
        assert_eq!(ItemPrice { price: 1250, quantity: 2, discount: 500 }.paid_for_each(), Some(1000));
        assert_eq!(ItemPrice { price: 1250, quantity: 3, discount: 2000 }.paid_for_each(), None);
        assert_eq!(ItemPrice { price: 1250, quantity: 3, discount: 3750 }.paid_for_each(), Some(0));
    }
    use crate::model::values::amount::Amount;

    /// The discount of each item.
    fn discounts(prices: &[(i64, i64)], value: DiscountValue, step: i64) -> Vec<i64> {
        let items = prices.iter().map(|(price, quantity)| ItemPrice::full(*price, *quantity)).collect();
        let full = full_price(items).expect("small");
        let reduced = reduce(&full, value, &vec![true; prices.len()], step);
        let discounts: Vec<i64> = reduced.items.iter().map(|item| item.discount).collect();
        assert_eq!(reduced.discounted, Some(discounts.iter().sum()));
        assert_eq!(reduced.total, reduced.items.iter().map(|item| item.final_amount()).sum::<i64>());
        assert!(reduced.items.iter().all(|item| item.final_amount() >= 0), "{reduced:?}");
        discounts
    }

    fn percent(percentage: i64) -> DiscountValue {
        DiscountValue::Percentage(Percentage::new(percentage, 0).expect("a percentage"))
    }

    fn minor(amount: i64, decimals: u8) -> DiscountValue {
        DiscountValue::FixedAmount(Amount::new(amount, decimals).expect("an amount"))
    }

    #[test]
    fn a_fixed_amount_is_rounded_up_to_the_step_and_distributed_in_steps() {
        // 10.000 dinars over three items of the same price: 1,000 steps are 334, 333 and 333.
        assert_eq!(discounts(&[(9_990, 1); 3], minor(10_000, 3), 10), [3_340, 3_330, 3_330]);
        // 1.005 dinars become 1.010, and 0.50 ariary become 1.
        assert_eq!(discounts(&[(9_990, 1)], minor(1_005, 3), 10), [1_010]);
        assert_eq!(discounts(&[(33_300, 1)], minor(50, 2), 100), [100]);
        // No more than the items cost.
        assert_eq!(discounts(&[(9_990, 1), (10, 1)], minor(20_005, 3), 10), [9_990, 10]);
        assert_eq!(discounts(&[(9_990, 1); 3], minor(10_000, 3), 1), [3_334, 3_333, 3_333]);
    }

    #[test]
    fn an_item_that_the_discount_reduces_becomes_a_multiple_of_the_step_whatever_it_cost() {
        // 9.995 less 50 % (4.9975, rounded 4.998) is 4.997: 4.990 is left.
        assert_eq!(discounts(&[(9_995, 1)], percent(50), 10), [5_005]);
        // 9.995 less 5.000 is 4.995: 4.990 is left.
        assert_eq!(discounts(&[(9_995, 1)], minor(5_000, 3), 10), [5_005]);
        assert_eq!(discounts(&[(9_995, 1)], minor(20_000, 3), 10), [9_995]);
        // A price below the step, and an item to which the discount does not apply.
        assert_eq!(discounts(&[(5, 1), (9_990, 1)], minor(1_000, 3), 10), [0, 1_000]);
        let full = full_price(vec![ItemPrice::full(9_995, 1), ItemPrice::full(9_995, 1)]).expect("small");
        let reduced = reduce(&full, percent(50), &[false, true], 10);
        assert_eq!(reduced.items.iter().map(|item| item.discount).collect::<Vec<_>>(), [0, 5_005]);
    }
}
