//! The decimals of amounts that are read from JSON.
//!
//! In JSON an amount is a number, and `20.00` is written as `20`. What this crate reads from its own JSON is therefore
//! set to the decimals of its currency, so that an amount is printed in the same way wherever it comes from.

use serde::{Deserialize, Deserializer};

use super::amount::Amount;
use super::currency::Decimals;
use super::id::{Id, Kind};
use super::metadata::Metadata;
use super::secret::Secret;
use super::timestamp::Timestamp;
use crate::enums::text_enum::TextEnum;

/// A value with amounts in one currency.
pub(crate) trait Amounts {
    /// Calls `change` with each amount.
    fn change_amounts(&mut self, change: &mut dyn FnMut(&mut Amount)) {
        let _ = change;
    }

    /// Sets the number of decimals of each amount that has no more.
    fn set_decimals(&mut self, decimals: u8) {
        self.change_amounts(&mut |amount| {
            if let Some(same) = amount.with_decimals(decimals) {
                *amount = same;
            }
        });
    }

    /// The number of decimals of the amounts. `None` if there are no amounts.
    fn decimals(&self) -> Option<u8>
    where
        Self: Clone,
    {
        let mut decimals = None;
        self.clone().change_amounts(&mut |amount| decimals = decimals.max(Some(amount.decimals())));
        decimals
    }
}

impl Amounts for Amount {
    fn change_amounts(&mut self, change: &mut dyn FnMut(&mut Amount)) {
        change(self);
    }
}

impl<T: Amounts> Amounts for Option<T> {
    fn change_amounts(&mut self, change: &mut dyn FnMut(&mut Amount)) {
        if let Some(value) = self {
            value.change_amounts(change);
        }
    }
}

impl<T: Amounts> Amounts for Vec<T> {
    fn change_amounts(&mut self, change: &mut dyn FnMut(&mut Amount)) {
        for value in self {
            value.change_amounts(change);
        }
    }
}

/// Values that are no amounts and contain none.
macro_rules! without_amounts {
    ($($type:ty),+) => { $(impl Amounts for $type {})+ };
}

without_amounts!(bool, i64, u32, String, Timestamp, Secret, Metadata, serde_json::Value);

impl<T: TextEnum> Amounts for T {}

impl<K: Kind> Amounts for Id<K> {}

/// Implements [`Amounts`] for a struct with these fields.
macro_rules! amounts {
    ($type:ident { $($field:ident),* }) => {
        impl $crate::model::values::amounts::Amounts for $type {
            fn change_amounts(&mut self, change: &mut dyn FnMut(&mut $crate::model::values::amount::Amount)) {
                $($crate::model::values::amounts::Amounts::change_amounts(&mut self.$field, change);)*
            }
        }
    };
}

/// Implements [`InCurrency`] for structs with a field `currency`.
macro_rules! names_currency {
    ($($type:ident),+) => { $(
        impl $crate::model::values::amounts::InCurrency for $type {
            fn currency(&self) -> &str {
                &self.currency
            }
        }
    )+ };
}

pub(crate) use {amounts, names_currency};

/// A value with amounts that names their currency.
pub(crate) trait InCurrency: Amounts {
    /// The ISO 4217 code.
    fn currency(&self) -> &str;
}

/// Deserializes a value, and sets its amounts to the decimals of their currency.
pub(crate) fn in_currency<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: Deserialize<'de> + InCurrency,
    D: Deserializer<'de>,
{
    let mut value = T::deserialize(deserializer)?;
    if let Some(decimals) = Decimals::of_currency(value.currency()) {
        value.set_decimals(decimals.get());
    }
    Ok(value)
}
