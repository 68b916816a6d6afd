//! Prices of orders, in minor units.

use super::money::MAX_TOTAL;
use crate::error::Error;
use crate::model::amount::Amount;
use crate::model::discount::DiscountType;

/// The price of one item of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ItemPrice {
    pub(crate) price: i64,
    pub(crate) quantity: i64,
    pub(crate) discount: i64,
}

impl ItemPrice {
    pub(crate) fn subtotal(self) -> i64 {
        self.price * self.quantity
    }

    pub(crate) fn final_amount(self) -> i64 {
        self.subtotal() - self.discount
    }
}

/// The price of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OrderPrice {
    pub(crate) items: Vec<ItemPrice>,
    pub(crate) total: i64,
    /// The amount of the discount; `None` if no discount applied.
    pub(crate) discounted: Option<i64>,
}

/// Returns the price of `(price, quantity)` items without a discount; `None` if it exceeds [`MAX_TOTAL`].
pub(crate) fn full_price(items: impl IntoIterator<Item = (i64, i64)>) -> Option<OrderPrice> {
    let mut total = 0_i64;
    let mut priced = Vec::new();
    for (price, quantity) in items {
        let subtotal = price.checked_mul(quantity)?;
        total = total.checked_add(subtotal).filter(|total| *total <= MAX_TOTAL)?;
        priced.push(ItemPrice { price, quantity, discount: 0 });
    }
    Some(OrderPrice { items: priced, total, discounted: None })
}

/// The error for items whose total exceeds [`MAX_TOTAL`]. `path` is the field of the items.
pub(crate) fn too_expensive(path: &str) -> Error {
    Error::field(path, format!("must cost at most {MAX_TOTAL} minor units of the currency in total"))
}

/// Subtracts a discount from the items to which it `applies`. The value of a discount of a fixed amount is in minor
/// units of the order's currency.
pub(crate) fn reduce(full: &OrderPrice, discount_type: DiscountType, value: Amount, applies: &[bool]) -> OrderPrice {
    // A subtotal of 0 gets no discount.
    let subtotals: Vec<i64> =
        full.items.iter().zip(applies).map(|(item, applies)| if *applies { item.subtotal() } else { 0 }).collect();
    let parts = match discount_type {
        DiscountType::Percentage => subtotals.iter().map(|subtotal| percent_of(*subtotal, value)).collect(),
        DiscountType::FixedAmount => spread(value.minor(), &subtotals),
    };
    let discounted = parts.iter().sum();
    let items = full.items.iter().zip(parts).map(|(item, discount)| ItemPrice { discount, ..*item }).collect();
    OrderPrice { items, total: full.total - discounted, discounted: Some(discounted) }
}

/// Returns `percent` (at most 100) percent of an amount, rounded half up.
fn percent_of(subtotal: i64, percent: Amount) -> i64 {
    let whole = 100 * 10_i128.pow(u32::from(percent.decimals()));
    let part = i128::from(subtotal) * i128::from(percent.minor());
    narrow((2 * part + whole) / (2 * whole))
}

/// Splits an amount, but at most the sum of the subtotals, in proportion to the subtotals (largest remainder method).
/// Each part is rounded down. The units that are left go to the parts with the largest remainders, one each; if
/// remainders are equal, to the earlier part.
fn spread(amount: i64, subtotals: &[i64]) -> Vec<i64> {
    let sum: i64 = subtotals.iter().sum();
    let amount = amount.min(sum);
    if amount == 0 {
        return vec![0; subtotals.len()];
    }
    let shares = subtotals.iter().map(|subtotal| i128::from(amount) * i128::from(*subtotal));
    let (mut parts, remainders): (Vec<i64>, Vec<i128>) =
        shares.map(|share| (narrow(share / i128::from(sum)), share % i128::from(sum))).unzip();
    let left = amount - parts.iter().sum::<i64>();
    let mut by_remainder: Vec<usize> = (0..parts.len()).collect();
    // The sort is stable, so earlier parts stay first.
    by_remainder.sort_by_key(|index| std::cmp::Reverse(remainders[*index]));
    for index in by_remainder.into_iter().take(usize::try_from(left).unwrap_or(0)) {
        parts[index] += 1;
    }
    parts
}

/// Converts a part of a subtotal. It fits: no part is greater than its subtotal.
fn narrow(part: i128) -> i64 {
    i64::try_from(part).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_total_is_the_sum_of_price_times_quantity() {
        let price = full_price([(1250, 2), (0, 5), (999, 3)]).expect("small");
        assert_eq!(price.total, 2500 + 2997);
        assert_eq!(price.discounted, None);
        assert_eq!(price.items[2].final_amount(), 2997);
    }

    #[test]
    fn a_total_that_json_could_not_carry_exactly_is_refused() {
        let highest_price_in_kwd = 1_000_000_000_000;
        assert!(full_price([(highest_price_in_kwd, 100); 10]).is_some());
        assert!(full_price([(highest_price_in_kwd, 100); 11]).is_none());
        assert!(full_price([(i64::MAX, 100)]).is_none());
    }

    #[test]
    fn a_percentage_is_rounded_half_up_at_any_size() {
        let of = |subtotal, minor, decimals| percent_of(subtotal, Amount::new(minor, decimals));
        assert_eq!(of(1, 50, 0), 1);
        assert_eq!(of(1, 49_999_999_999_999, 12), 0);
        assert_eq!(of(3, 50, 0), 2);
        assert_eq!(of(999, 10, 0), 100);
        assert_eq!(of(994, 10, 0), 99);
        assert_eq!(of(MAX_TOTAL, 100, 0), MAX_TOTAL);
        assert_eq!(of(MAX_TOTAL, 100_000_000_000_000_000, 15), MAX_TOTAL);
        assert_eq!(of(MAX_TOTAL, 0, 0), 0);
    }

    #[test]
    fn an_amount_is_spread_by_largest_remainder_and_ties_go_to_the_earlier() {
        assert_eq!(spread(100, &[1, 1, 1]), [1, 1, 1]);
        assert_eq!(spread(10, &[100, 100, 100]), [4, 3, 3]);
        assert_eq!(spread(11, &[100, 100, 100]), [4, 4, 3]);
        // 10 of 1 + 2 + 3 + 4: 1, 2, 3, 4; 5 of it: 0.5, 1, 1.5, 2.
        assert_eq!(spread(5, &[1, 2, 3, 4]), [1, 1, 1, 2]);
        assert_eq!(spread(1, &[0, 1, 2, 0]), [0, 0, 1, 0]);
        assert_eq!(spread(0, &[5]), [0]);
        assert_eq!(spread(7, &[0, 0]), [0, 0]);
        assert_eq!(spread(7, &[]), [0; 0]);
        assert_eq!(spread(MAX_TOTAL - 1, &[MAX_TOTAL - 1, 1]), [MAX_TOTAL - 2, 1]);
    }
}
