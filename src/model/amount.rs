//! Money: exact, in integer minor units.

use std::fmt;
use std::str::FromStr;

use crate::error::FieldErrors;
use crate::form::fields::{FromValue, or_error};
use crate::form::json::Value;

/// An exact amount of money: a number of minor units, and how many decimals they are (ISO 4217: JPY 0, EUR 2, KWD 3).
///
/// Two amounts are equal when their values are, whatever their decimals. In JSON it is a number.
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

/// More decimals than any amount may have: no currency comes near.
const MAX_DECIMALS: u8 = 18;

impl Amount {
    /// Nothing.
    pub const ZERO: Self = Self { minor: 0, decimals: 0 };

    /// `minor` units of which ten to the power of `decimals` make one: `Amount::new(1250, 2)` is 12.50.
    /// More than 18 decimals count as 18.
    #[must_use]
    pub const fn new(minor: i64, decimals: u8) -> Self {
        Self { minor, decimals: if decimals > MAX_DECIMALS { MAX_DECIMALS } else { decimals } }
    }

    /// The number of minor units.
    #[must_use]
    pub const fn minor(self) -> i64 {
        self.minor
    }

    /// How many decimals the minor units are.
    #[must_use]
    pub const fn decimals(self) -> u8 {
        self.decimals
    }

    /// The minor units of a currency with `decimals`; `None` where the amount has more decimals than that, or is too
    /// large to be written with so many.
    pub(crate) fn minor_with(self, decimals: u8) -> Option<i64> {
        let (minor, own) = self.parts();
        10_i64.checked_pow(u32::from(decimals.checked_sub(own)?)).and_then(|factor| minor.checked_mul(factor))
    }

    /// The value without trailing zeros: one pair for each value.
    const fn parts(self) -> (i64, u8) {
        let (mut minor, mut decimals) = (self.minor, self.decimals);
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
        let (sign, size) = (if self.minor < 0 { "-" } else { "" }, self.minor.unsigned_abs());
        match self.decimals {
            0 => write!(f, "{sign}{size}"),
            decimals => write!(f, "{sign}{}.{:0width$}", size / unit, size % unit, width = usize::from(decimals)),
        }
    }
}

/// The text is no amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ParseAmountError {
    /// Not a decimal number.
    #[error("must be a number")]
    NotANumber,
    /// Beyond what can be counted.
    #[error("is too large")]
    TooLarge,
    /// More than 18 decimals.
    #[error("has too many decimals")]
    TooManyDecimals,
}

impl FromStr for Amount {
    type Err = ParseAmountError;

    /// Reads a decimal number as JSON writes it, an exponent included. Nothing is rounded.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        use ParseAmountError::{NotANumber, TooLarge, TooManyDecimals};
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()),
            None => (text, Some(0)),
        };
        let (negative, mantissa) = mantissa.strip_prefix('-').map_or((false, mantissa), |rest| (true, rest));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}");
        if whole.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(NotANumber);
        }
        let significant = digits.trim_start_matches('0').trim_end_matches('0');
        if significant.is_empty() {
            return Ok(Self::ZERO);
        }
        // An exponent that does not fit 64 bits moves the point beyond any limit, to one side or the other.
        let beyond = if text.contains("e-") || text.contains("E-") { TooManyDecimals } else { TooLarge };
        let trailing = digits.len() - digits.trim_end_matches('0').len();
        let exponent = exponent.ok_or(beyond)?;
        let scale = i64::try_from(fraction.len()).ok().zip(i64::try_from(trailing).ok());
        let decimals =
            scale.and_then(|(fraction, trailing)| (fraction - trailing).checked_sub(exponent)).ok_or(beyond)?;
        let minor: i64 = significant.parse().map_err(|_| if decimals > 18 { TooManyDecimals } else { TooLarge })?;
        let (minor, decimals) = match u8::try_from(decimals) {
            Ok(decimals) if decimals > MAX_DECIMALS => return Err(TooManyDecimals),
            Ok(decimals) => (minor, decimals),
            Err(_) if decimals > 0 => return Err(TooManyDecimals),
            Err(_) => {
                let factor = u32::try_from(decimals.unsigned_abs()).ok().and_then(|power| 10_i64.checked_pow(power));
                (factor.and_then(|factor| minor.checked_mul(factor)).ok_or(TooLarge)?, 0)
            }
        };
        Ok(Self::new(if negative { -minor } else { minor }, decimals))
    }
}

impl serde::Serialize for Amount {
    /// A JSON number without trailing zeros. It is exact up to 15 significant digits, which the limits on prices and
    /// totals keep to.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.parts() {
            (minor, 0) => serializer.serialize_i64(minor),
            #[expect(clippy::cast_precision_loss, reason = "an amount of up to 15 digits is exact")]
            (minor, decimals) => serializer.serialize_f64(minor as f64 / 10_i64.pow(u32::from(decimals)) as f64),
        }
    }
}

impl<'de> serde::Deserialize<'de> for Amount {
    /// Reads a JSON number, as exactly as it was written by [`Amount`] itself.
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = serde_json::Number::deserialize(deserializer)?;
        number.to_string().parse().map_err(serde::de::Error::custom)
    }
}

impl FromValue for Amount {
    fn placeholder() -> Self {
        Self::ZERO
    }

    fn from_value(value: &Value, path: &str, errors: &mut FieldErrors) -> Option<Self> {
        let read = match value {
            Value::Number(text) | Value::Query(text) => text.parse(),
            _ => Err(ParseAmountError::NotANumber),
        };
        read.map_err(|error| errors.add(path, error.to_string())).ok()
    }

    #[cfg(feature = "server")]
    fn schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        <Self as schemars::JsonSchema>::json_schema(generator)
    }
}

impl FromValue for i64 {
    fn placeholder() -> Self {
        0
    }

    /// Any way to write a whole number: `10`, `10.0` and `1e1` are the same.
    fn from_value(value: &Value, path: &str, errors: &mut FieldErrors) -> Option<Self> {
        let amount = Amount::from_value(value, path, errors)?;
        or_error(amount.minor_with(0), path, errors, "must be a whole number")
    }

    #[cfg(feature = "server")]
    fn schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "integer", "format": "int64", "minimum": -i64::MAX, "maximum": i64::MAX})
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
    fn what_does_not_fit_is_refused_and_never_rounded() {
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
    fn minor_units_take_no_more_decimals_than_the_currency_has() {
        assert_eq!(Amount::new(125, 1).minor_with(2), Some(1250));
        assert_eq!(Amount::new(12_500, 3).minor_with(2), Some(1250));
        assert_eq!(Amount::new(12_501, 3).minor_with(2), None);
        assert_eq!(Amount::new(5, 1).minor_with(0), None);
    }
}
