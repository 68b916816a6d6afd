//! What an order costs, in minor units.

use super::money::MAX_TOTAL;
use crate::error::{Error, Result};

/// What one item of an order costs.
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

/// What an order costs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OrderPrice {
    pub(crate) items: Vec<ItemPrice>,
    pub(crate) total: i64,
    /// What a discount took off; `None` where none applied.
    pub(crate) discounted: Option<i64>,
}

/// Prices items given as price and quantity, without a discount.
pub(crate) fn full_price(items: impl IntoIterator<Item = (i64, i64)>) -> Result<OrderPrice> {
    let too_large = || Error::field("items", "cost more than an order may");
    let mut total = 0_i64;
    let mut priced = Vec::new();
    for (price, quantity) in items {
        let subtotal = price.checked_mul(quantity).ok_or_else(too_large)?;
        total = total.checked_add(subtotal).filter(|total| *total <= MAX_TOTAL).ok_or_else(too_large)?;
        priced.push(ItemPrice { price, quantity, discount: 0 });
    }
    Ok(OrderPrice { items: priced, total, discounted: None })
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
        assert!(full_price([(highest_price_in_kwd, 100); 90]).is_ok());
        assert!(full_price([(highest_price_in_kwd, 100); 91]).is_err());
        assert!(full_price([(i64::MAX, 100)]).is_err());
    }
}
