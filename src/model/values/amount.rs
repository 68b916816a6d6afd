//! Exact amounts of money, in integer minor units.

use std::fmt;
use std::str::FromStr;

use super::currency::Decimals;
use crate::error::FieldErrors;
pub use crate::form::decimal::AmountError;
use crate::form::decimal::{Decimal, MAX_DECIMALS};
use crate::form::declare::schema::NamedSchemas;
use crate::form::json::Value;
use crate::form::limits::NumberLimit;
use crate::form::path::Path;
use crate::form::value::{FormValue, read_decimal};

/// The highest price, in major units.
pub(crate) const MAX_PRICE: i64 = 1_000_000_000;

/// An exact amount of money: a number of minor units and their decimals (ISO 4217: JPY 0, EUR 2, KWD 3).
///
/// An amount does not name its currency. Amounts are compared by value: 12.5 equals 12.50, also as a key of a map.
/// Arithmetic is exact and checked: [`checked_add`](Self::checked_add), [`checked_sub`](Self::checked_sub),
/// [`checked_mul`](Self::checked_mul) and [`checked_sum`](Self::checked_sum). In JSON an amount is a number, without
/// trailing zeros: see [`with_decimals`](Self::with_decimals).
///
/// ```
/// use ticketing::Amount;
/// let price = Amount::cents(1250);
/// assert_eq!(price, "12.5".parse()?);
/// assert_eq!(price, Amount::from_minor(1250, "EUR")?);
/// assert_eq!(price.to_string(), "12.50");
/// assert_eq!(format!("{price:>8}"), "   12.50");
/// assert_eq!(serde_json::to_string(&price)?, "12.5");
///
/// let fee = "0.35".parse()?;
/// let total = price.checked_mul(2).and_then(|tickets| tickets.checked_add(fee));
/// assert_eq!(total, Some(Amount::cents(2535)));
/// assert!(price > fee);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Amount {
    pub(in crate::model) minor: i64,
    /// At most [`MAX_DECIMALS`].
    pub(in crate::model) decimals: u8,
}

impl Amount {
    /// An amount of zero.
    pub const ZERO: Self = Self::whole(0);

    /// Creates an amount of `minor` units with `decimals` decimals: `Amount::new(1250, 2)` is 12.50.
    ///
    /// # Errors
    /// [`AmountError::TooManyDecimals`] if there are more than 18 decimals.
    pub const fn new(minor: i64, decimals: u8) -> Result<Self, AmountError> {
        if decimals > MAX_DECIMALS { Err(AmountError::TooManyDecimals) } else { Ok(Self { minor, decimals }) }
    }

    /// Creates an amount of minor units of a currency: 1250 minor units are 12.50 in EUR, 1250 in JPY and 1.250 in
    /// KWD. Currencies without a minor unit, such as gold (XAU), have no decimals.
    ///
    /// ```
    /// use ticketing::Amount;
    /// assert_eq!(Amount::from_minor(1250, "JPY")?, Amount::whole(1250));
    /// assert!(Amount::from_minor(1250, "ABC").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`AmountError::UnknownCurrency`] if `currency` is not a code of ISO 4217. Codes are upper-case.
    pub fn from_minor(minor: i64, currency: &str) -> Result<Self, AmountError> {
        Decimals::of_currency(currency)
            .map(|decimals| Self::in_currency(minor, decimals))
            .ok_or(AmountError::UnknownCurrency)
    }

    /// Creates an amount of whole major units: `Amount::whole(25)` is 25.
    #[must_use]
    pub const fn whole(major: i64) -> Self {
        Self { minor: major, decimals: 0 }
    }

    /// Creates an amount of hundredths: `Amount::cents(1250)` is 12.50.
    #[must_use]
    pub const fn cents(cents: i64) -> Self {
        Self { minor: cents, decimals: 2 }
    }

    /// Creates an amount of minor units of a currency with these decimals.
    pub(crate) const fn in_currency(minor: i64, decimals: Decimals) -> Self {
        Self { minor, decimals: decimals.get() }
    }

    /// The number of minor units.
    #[must_use]
    pub const fn minor_units(self) -> i64 {
        self.minor
    }

    /// The number of decimals of a minor unit.
    #[must_use]
    pub const fn decimals(self) -> u8 {
        self.decimals
    }

    /// The amount in minor units with `decimals` decimals. `None` if the amount has more decimals or does not fit.
    ///
    /// ```
    /// use ticketing::Amount;
    /// assert_eq!(Amount::whole(25).minor_with(2), Some(2500));
    /// assert_eq!(Amount::cents(1250).minor_with(0), None);
    /// ```
    #[must_use]
    pub fn minor_with(self, decimals: u8) -> Option<i64> {
        let (minor, own) = self.parts();
        10_i64.checked_pow(u32::from(decimals.checked_sub(own)?)).and_then(|factor| minor.checked_mul(factor))
    }

    /// The amount in minor units of a currency. `None` if there is no such currency, or it cannot express the amount.
    pub(crate) fn minor_in(self, currency: &str) -> Option<i64> {
        self.minor_with(Decimals::of_currency(currency)?.get())
    }

    /// The same amount with `decimals` decimals: 20 with two decimals is 20.00. `None` if the amount has more decimals
    /// or does not fit.
    ///
    /// All amounts that the operations return have the decimals of their currency. This is for amounts that the program
    /// itself reads from text or JSON.
    ///
    /// ```
    /// use ticketing::Amount;
    /// let amount: Amount = serde_json::from_str("20")?;
    /// assert_eq!(amount.to_string(), "20");
    /// assert_eq!(amount.with_decimals(2).map(|amount| amount.to_string()), Some("20.00".to_owned()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_decimals(self, decimals: u8) -> Option<Self> {
        if decimals > MAX_DECIMALS {
            return None;
        }
        self.minor_with(decimals).map(|minor| Self { minor, decimals })
    }

    /// The minor units and decimals without trailing zeros: the same pair for equal amounts.
    pub(in crate::model) const fn parts(self) -> (i64, u8) {
        let mut minor = self.minor;
        let mut decimals = self.decimals;
        while decimals > 0 && minor % 10 == 0 {
            minor /= 10;
            decimals -= 1;
        }
        (minor, decimals)
    }
}

impl From<Decimal> for Amount {
    fn from(number: Decimal) -> Self {
        Self { minor: number.digits, decimals: number.decimals }
    }
}

impl fmt::Display for Amount {
    /// Writes all decimals. Width, alignment, `+` and `0` have the same effect as for integers; a precision has none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = 10_u64.pow(u32::from(self.decimals));
        let size = self.minor.unsigned_abs();
        let digits = match self.decimals {
            0 => size.to_string(),
            decimals => format!("{}.{:0width$}", size / unit, size % unit, width = usize::from(decimals)),
        };
        f.pad_integral(self.minor >= 0, "", &digits)
    }
}

impl FromStr for Amount {
    type Err = AmountError;

    /// Reads a decimal number in the notation of JSON, with an optional exponent. Never rounds.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number: Decimal = text.parse()?;
        Ok(number.into())
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
        match number.as_i64() {
            Some(whole) => Ok(Self::whole(whole)),
            None => number.to_string().parse().map_err(serde::de::Error::custom),
        }
    }
}

impl FormValue for Amount {
    type Limit = NumberLimit;

    fn placeholder() -> Self {
        Self::ZERO
    }

    fn read(value: &Value, path: Path<'_>, errors: &mut FieldErrors) -> Option<Self> {
        read_decimal(value, path, errors).map(Self::from)
    }

    fn read_within(value: &Value, limits: &[NumberLimit], path: Path<'_>, errors: &mut FieldErrors) -> Option<Self> {
        if let Value::Number(text) = value
            && limits.iter().any(|limit| matches!(limit, NumberLimit::Rounded))
            && let (Err(_), Ok(number)) = (text.parse::<Decimal>(), text.parse::<f64>())
        {
            #[expect(clippy::cast_possible_truncation, reason = "a number that is too large becomes the greatest")]
            return Some(Self::cents((number * 100.0).floor() as i64));
        }
        Self::read(value, path, errors)
    }

    fn is_within(&self, limit: NumberLimit) -> bool {
        let minor = i128::from(self.minor);
        let in_minor = |major: i64| i128::from(major) * 10_i128.pow(u32::from(self.decimals));
        match limit {
            NumberLimit::Min(least) => minor >= in_minor(least),
            NumberLimit::Max(most) => minor <= in_minor(most),
            NumberLimit::Above(bound) => minor > in_minor(bound),
            NumberLimit::Rounded => true,
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
            assert_eq!(Ok(amount), Amount::new(minor, decimals), "{text}");
        }
    }

    #[test]
    fn a_decimal_comma_is_refused_with_a_hint_at_the_point() {
        let error = "12,50".parse::<Amount>().expect_err("a comma");
        assert_eq!(error.to_string(), "must be a number with a point, such as 12.50");
    }

    #[test]
    fn numbers_that_do_not_fit_are_refused_and_never_rounded() {
        use AmountError::{NotANumber, TooLarge, TooManyDecimals};
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
        for (text, decimals, minor) in
            [("12.5", 2, Some(1250)), ("12.500", 2, Some(1250)), ("12.501", 2, None), ("0.5", 0, None)]
        {
            let amount: Amount = text.parse().expect(text);
            assert_eq!(amount.minor_with(decimals), minor, "{text}");
        }
        assert_eq!(Amount::new(12_500, 3).expect("3 decimals").minor_with(2), Some(1250));
        assert_eq!(Amount::whole(i64::MAX).minor_with(1), None);
    }

    #[test]
    fn an_amount_has_at_most_18_decimals() {
        assert_eq!(Amount::new(5, 18).map(|amount| amount.to_string()), Ok("0.000000000000000005".to_owned()));
        assert_eq!(Amount::new(5, 19), Err(AmountError::TooManyDecimals));
        assert_eq!(Amount::new(0, u8::MAX), Err(AmountError::TooManyDecimals));
    }

    #[test]
    fn an_amount_is_padded_like_an_integer() {
        let amount = Amount::cents(-1205);
        assert_eq!(
            format!("{amount:10}|{amount:<10}|{amount:^10}|{amount:*>3}"),
            "    -12.05|-12.05    |  -12.05  |-12.05"
        );
        assert_eq!(format!("{amount:010}|{:+}|{:+.1}", Amount::cents(5), Amount::whole(3)), "-000012.05|+0.05|+3");
        assert_eq!(Amount::whole(i64::MIN).to_string(), "-9223372036854775808");
    }

    #[test]
    fn minor_units_of_a_currency_have_its_decimals() {
        for (currency, text) in
            [("JPY", "1250"), ("EUR", "12.50"), ("KWD", "1.250"), ("CLF", "0.1250"), ("XAU", "1250")]
        {
            assert_eq!(Amount::from_minor(1250, currency).map(|amount| amount.to_string()), Ok(text.to_owned()));
        }
        for unknown in ["eur", "ABC", "", "EURO"] {
            assert_eq!(Amount::from_minor(1250, unknown), Err(AmountError::UnknownCurrency), "{unknown:?}");
        }
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
        assert!(!Amount::new(i64::MIN, 18).expect("18 decimals").is_within(NumberLimit::Min(0)));
        assert!(!Amount::whole(i64::MAX).is_within(NumberLimit::Max(MAX_PRICE)));
    }
}
