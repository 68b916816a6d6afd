//! Exact amounts of money, in integer minor units.

use std::fmt;
use std::str::FromStr;

use crate::error::FieldErrors;
pub use crate::form::decimal::ParseDecimalError as ParseAmountError;
use crate::form::decimal::{Decimal, MAX_DECIMALS};
use crate::form::json::Value;
use crate::form::limits::NumberLimit;
use crate::form::path::Path;
use crate::form::schema::NamedSchemas;
use crate::form::value::{FormValue, read_decimal};

/// The highest price, in major units.
pub(crate) const MAX_PRICE: i64 = 1_000_000_000;

/// An exact amount of money: a number of minor units and their decimals (ISO 4217: JPY 0, EUR 2, KWD 3).
///
/// Amounts are compared by value: 12.5 equals 12.50. In JSON an amount is a number.
///
/// ```
/// use ticketing::Amount;
/// let price = Amount::new(1250, 2);
/// assert_eq!(price, "12.5".parse()?);
/// assert_eq!(price.to_string(), "12.50");
/// assert_eq!(serde_json::to_string(&price)?, "12.5");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Amount {
    minor: i64,
    decimals: u8,
}

impl Amount {
    /// An amount of zero.
    pub const ZERO: Self = Self { minor: 0, decimals: 0 };

    /// Creates an amount of `minor` units with `decimals` decimals: `Amount::new(1250, 2)` is 12.50. More than 18
    /// decimals are treated as 18.
    #[must_use]
    pub const fn new(minor: i64, decimals: u8) -> Self {
        Self { minor, decimals: if decimals > MAX_DECIMALS { MAX_DECIMALS } else { decimals } }
    }

    /// The number of minor units.
    #[must_use]
    pub const fn minor(self) -> i64 {
        self.minor
    }

    /// The number of decimals of a minor unit.
    #[must_use]
    pub const fn decimals(self) -> u8 {
        self.decimals
    }

    /// The amount in minor units with `decimals` decimals. `None` if the amount has more decimals or does not fit.
    pub(crate) fn minor_with(self, decimals: u8) -> Option<i64> {
        let (minor, own) = self.parts();
        10_i64.checked_pow(u32::from(decimals.checked_sub(own)?)).and_then(|factor| minor.checked_mul(factor))
    }

    /// The minor units and decimals without trailing zeros: the same pair for equal amounts.
    const fn parts(self) -> (i64, u8) {
        let mut minor = self.minor;
        let mut decimals = self.decimals;
        while decimals > 0 && minor % 10 == 0 {
            minor /= 10;
            decimals -= 1;
        }
        (minor, decimals)
    }
}

impl PartialEq for Amount {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}
impl Eq for Amount {}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = 10_u64.pow(u32::from(self.decimals));
        let sign = if self.minor < 0 { "-" } else { "" };
        let size = self.minor.unsigned_abs();
        match self.decimals {
            0 => write!(f, "{sign}{size}"),
            decimals => write!(f, "{sign}{}.{:0width$}", size / unit, size % unit, width = usize::from(decimals)),
        }
    }
}

impl FromStr for Amount {
    type Err = ParseAmountError;

    /// Reads a decimal number in the notation of JSON, with an optional exponent. Never rounds.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let Decimal { digits, decimals } = text.parse()?;
        Ok(Self::new(digits, decimals))
    }
}

impl serde::Serialize for Amount {
    /// Writes a JSON number without trailing zeros. It is exact up to 15 significant digits; prices and totals never
    /// have more.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.parts() {
            (minor, 0) => serializer.serialize_i64(minor),
            #[expect(clippy::cast_precision_loss, reason = "an amount of up to 15 digits is exact")]
            (minor, decimals) => serializer.serialize_f64(minor as f64 / 10_i64.pow(u32::from(decimals)) as f64),
        }
    }
}

impl<'de> serde::Deserialize<'de> for Amount {
    /// Reads a JSON number. Reads exactly what [`Amount`] writes.
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = serde_json::Number::deserialize(deserializer)?;
        number.to_string().parse().map_err(serde::de::Error::custom)
    }
}

impl FormValue for Amount {
    type Limit = NumberLimit;

    fn placeholder() -> Self {
        Self::ZERO
    }

    fn read(value: &Value, path: Path<'_>, errors: &mut FieldErrors) -> Option<Self> {
        let Decimal { digits, decimals } = read_decimal(value, path, errors)?;
        Some(Self::new(digits, decimals))
    }

    fn is_within(&self, limit: NumberLimit) -> bool {
        let minor = i128::from(self.minor);
        let in_minor = |major: i64| i128::from(major) * 10_i128.pow(u32::from(self.decimals));
        match limit {
            NumberLimit::Min(least) => minor >= in_minor(least),
            NumberLimit::Max(most) => minor <= in_minor(most),
        }
    }

    fn schema(_: &mut NamedSchemas) -> serde_json::Value {
        serde_json::json!({"type": "number"})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_numbers_are_read_exactly() {
        for (text, minor, decimals) in [
            ("0", 0, 0),
            ("-0.0", 0, 0),
            ("12.5", 125, 1),
            ("12.50", 125, 1),
            ("100", 100, 0),
            ("1e2", 100, 0),
            ("1.25e1", 125, 1),
            ("125E-2", 125, 2),
            ("-3", -3, 0),
            ("0.001", 1, 3),
            ("1.0", 1, 0),
            ("0.000000000000000001", 1, 18),
        ] {
            let amount: Amount = text.parse().expect(text);
            assert_eq!(amount, Amount::new(minor, decimals), "{text}");
        }
    }

    #[test]
    fn numbers_that_do_not_fit_are_refused_and_never_rounded() {
        use ParseAmountError::{NotANumber, TooLarge, TooManyDecimals};
        for (text, error) in [
            ("", NotANumber),
            ("abc", NotANumber),
            (".5", NotANumber),
            ("1e30", TooLarge),
            ("1e99999999999999999999", TooLarge),
            ("10e9223372036854775807", TooLarge),
            ("10e-9223372036854775808", TooManyDecimals),
            ("1e-99999999999999999999", TooManyDecimals),
            ("1e-19", TooManyDecimals),
            ("12.5000000000000000001", TooManyDecimals),
            ("99999999999999999999", TooLarge),
        ] {
            assert_eq!(text.parse::<Amount>(), Err(error), "{text}");
        }
    }

    #[test]
    fn an_amount_with_more_decimals_than_the_currency_has_no_minor_units() {
        assert_eq!(Amount::new(125, 1).minor_with(2), Some(1250));
        assert_eq!(Amount::new(12_500, 3).minor_with(2), Some(1250));
        assert_eq!(Amount::new(12_501, 3).minor_with(2), None);
        assert_eq!(Amount::new(5, 1).minor_with(0), None);
    }

    #[test]
    fn limits_are_in_major_units() {
        let is_price = |text: &str| {
            let amount: Amount = text.parse().expect(text);
            amount.is_within(NumberLimit::Min(0)) && amount.is_within(NumberLimit::Max(MAX_PRICE))
        };
        for text in ["0", "-0", "0.01", "999999999.999999999", "1000000000", "1000000000.00", "1e9"] {
            assert!(is_price(text), "{text}");
        }
        for text in ["-0.01", "-1", "1000000000.01", "1000000000.000000001", "9223372036854775807"] {
            assert!(!is_price(text), "{text}");
        }
        assert!(!Amount::new(i64::MIN, 18).is_within(NumberLimit::Min(0)));
        assert!(!Amount::new(i64::MAX, 0).is_within(NumberLimit::Max(MAX_PRICE)));
    }
}
