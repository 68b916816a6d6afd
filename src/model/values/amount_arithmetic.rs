//! The order, the equality and the arithmetic of amounts. All of them are by value, and exact.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use super::amount::Amount;

impl Amount {
    /// Whether the amount is zero.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.minor == 0
    }

    /// Adds an amount. The sum has as many decimals as the summand with more of them. `None` if it does not fit into 64
    /// bits.
    ///
    /// ```
    /// use ticketing::Amount;
    /// let sum = Amount::whole(10).checked_add(Amount::cents(250));
    /// assert_eq!(sum.map(|sum| sum.to_string()), Some("12.50".to_owned()));
    /// assert_eq!(Amount::whole(i64::MAX).checked_add(Amount::cents(1)), None);
    /// ```
    #[must_use]
    pub fn checked_add(self, other: Self) -> Option<Self> {
        let decimals = self.decimals.max(other.decimals);
        fit(self.scaled_to(decimals) + other.scaled_to(decimals), decimals)
    }

    /// Adds an amount of the same currency. The sum stops at 2^63 - 1 minor units.
    #[cfg(any(feature = "exports", feature = "mail", feature = "server"))]
    pub(crate) const fn plus(self, other: Self) -> Self {
        Self { minor: self.minor.saturating_add(other.minor), decimals: other.decimals }
    }

    /// Subtracts an amount. The difference has as many decimals as the operand with more of them. `None` if it does not
    /// fit into 64 bits.
    #[must_use]
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        let decimals = self.decimals.max(other.decimals);
        fit(self.scaled_to(decimals) - other.scaled_to(decimals), decimals)
    }

    /// Multiplies the amount, for example a price by a quantity. `None` if the product does not fit into 64 bits.
    #[must_use]
    pub fn checked_mul(self, factor: i64) -> Option<Self> {
        fit(i128::from(self.minor) * i128::from(factor), self.decimals)
    }

    /// Adds up amounts. [`Amount::ZERO`] if there are none. `None` if one of the sums does not fit into 64 bits.
    ///
    /// ```
    /// use ticketing::Amount;
    /// let prices = [Amount::cents(1250), Amount::whole(5)];
    /// assert_eq!(Amount::checked_sum(prices), Some(Amount::cents(1750)));
    /// assert_eq!(Amount::checked_sum(prices.iter().filter(|price| price.is_zero())), Some(Amount::ZERO));
    /// ```
    #[must_use]
    pub fn checked_sum(amounts: impl IntoIterator<Item = impl Borrow<Self>>) -> Option<Self> {
        amounts.into_iter().try_fold(Self::ZERO, |sum, amount| sum.checked_add(*amount.borrow()))
    }

    /// The amount as a number of units with `decimals` decimals, at least as many as the amount has. The number is less
    /// than 10³⁷.
    fn scaled_to(self, decimals: u8) -> i128 {
        i128::from(self.minor) * 10_i128.pow(u32::from(decimals - self.decimals))
    }
}

/// The amount of `minor` units with `decimals` decimals. Drops trailing zeros only if it does not fit with them, so
/// that the result depends on the values of the operands and not on their decimals.
fn fit(mut minor: i128, mut decimals: u8) -> Option<Amount> {
    loop {
        if let Ok(minor) = i64::try_from(minor) {
            return Some(Amount { minor, decimals });
        }
        if decimals == 0 || minor % 10 != 0 {
            return None;
        }
        minor /= 10;
        decimals -= 1;
    }
}

impl PartialEq for Amount {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}
impl Eq for Amount {}

impl Hash for Amount {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.parts().hash(state);
    }
}

impl Ord for Amount {
    fn cmp(&self, other: &Self) -> Ordering {
        let decimals = self.decimals.max(other.decimals);
        self.scaled_to(decimals).cmp(&other.scaled_to(decimals))
    }
}

impl PartialOrd for Amount {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use std::hash::{BuildHasher, RandomState};

    use proptest::prelude::*;

    use super::*;

    fn amount(text: &str) -> Amount {
        text.parse().expect(text)
    }

    #[test]
    fn sums_and_products_are_exact() {
        let written = |amount: Option<Amount>| amount.map(|amount| amount.to_string());
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(written(Amount::cents(1999).checked_add(Amount::cents(1))), some("20.00"));
        assert_eq!(written(Amount::ZERO.checked_add(Amount::cents(1250))), some("12.50"));
        assert_eq!(written(amount("0.1").checked_add(amount("0.2"))), some("0.3"));
        assert_eq!(written(Amount::whole(10).checked_sub(Amount::cents(1))), some("9.99"));
        assert_eq!(written(Amount::cents(1).checked_sub(Amount::whole(10))), some("-9.99"));
        assert_eq!(written(Amount::cents(1999).checked_mul(3)), some("59.97"));
        assert_eq!(written(Amount::cents(1999).checked_mul(-1)), some("-19.99"));
        assert_eq!(written(Amount::cents(1999).checked_mul(0)), some("0.00"));
        assert_eq!(
            written(Amount::checked_sum([Amount::cents(1250), Amount::whole(5), amount("0.125")])),
            some("17.625")
        );
    }

    #[test]
    fn a_result_that_does_not_fit_is_none() {
        let highest = Amount::whole(i64::MAX);
        let lowest = Amount::whole(i64::MIN);
        assert_eq!(highest.checked_add(Amount::whole(1)), None);
        assert_eq!(lowest.checked_sub(Amount::whole(1)), None);
        assert_eq!(lowest.checked_mul(-1), None);
        assert_eq!(highest.checked_sub(Amount::cents(1)), None);
        assert_eq!(Amount::checked_sum([highest, highest, lowest]), None);
        // The sum would need 20 digits.
        assert_eq!(Amount::whole(10).checked_add(Amount::new(1, 18).expect("18 decimals")), None);
        // 18 decimals would not fit, but are not needed.
        let tenths = Amount::new(5_000_000_000_000_000_000, 18).expect("18 decimals");
        assert_eq!(tenths.checked_add(tenths), Some(Amount::whole(10)));
        assert_eq!(highest.checked_add(Amount::cents(0)), Some(highest));
    }

    fn amounts() -> impl Strategy<Value = Amount> {
        let minor =
            prop_oneof![any::<i64>(), -1000_i64..1000, (-1000_i64..1000).prop_map(|thousands| thousands * 1000)];
        (minor, 0..=18_u8).prop_map(|(minor, decimals)| Amount { minor, decimals })
    }

    /// The value as a multiple of the smallest unit.
    fn value(amount: Amount) -> i128 {
        i128::from(amount.minor) * 10_i128.pow(u32::from(18 - amount.decimals))
    }

    /// The same value with another number of decimals, if it fits.
    fn with_decimals(amount: Amount, decimals: u8) -> Amount {
        amount.minor_with(decimals).map_or(amount, |minor| Amount { minor, decimals })
    }

    proptest! {
        #[test]
        fn order_equality_and_hash_are_those_of_the_value(a in amounts(), b in amounts(), decimals in 0..=18_u8) {
            prop_assert_eq!(a.cmp(&b), value(a).cmp(&value(b)));
            prop_assert_eq!(a == b, value(a) == value(b));
            let same = with_decimals(a, decimals);
            prop_assert_eq!(a, same);
            prop_assert_eq!(a.cmp(&same), Ordering::Equal);
            let hasher = RandomState::new();
            prop_assert_eq!(hasher.hash_one(a), hasher.hash_one(same));
        }

        #[test]
        fn arithmetic_is_that_of_the_values(a in amounts(), b in amounts(), factor in any::<i64>()) {
            if let Some(sum) = a.checked_add(b) {
                prop_assert_eq!(value(sum), value(a) + value(b));
                prop_assert_eq!(sum.checked_sub(b), Some(a));
            }
            if let Some(difference) = a.checked_sub(b) {
                prop_assert_eq!(value(difference), value(a) - value(b));
                prop_assert_eq!(difference.cmp(&Amount::ZERO), a.cmp(&b));
            }
            if let Some(product) = a.checked_mul(factor % 1000) {
                prop_assert_eq!(value(product), value(a) * i128::from(factor % 1000));
            }
            prop_assert_eq!(a.checked_add(b), b.checked_add(a));
        }

        #[test]
        fn equal_operands_give_equal_results(a in amounts(), b in amounts(), factor in any::<i64>(), decimals in 0..=18_u8) {
            let same = with_decimals(a, decimals);
            prop_assert_eq!(a.checked_add(b), same.checked_add(b));
            prop_assert_eq!(a.checked_sub(b), same.checked_sub(b));
            prop_assert_eq!(b.checked_sub(a), b.checked_sub(same));
            prop_assert_eq!(a.checked_mul(factor), same.checked_mul(factor));
        }
    }
}
