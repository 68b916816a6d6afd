//! Exact percentages.

use std::fmt;
use std::str::FromStr;

use super::amount::{Amount, AmountError};

/// The greatest number of decimals, so that a percentage is exact as a JSON number.
const MAX_DECIMALS: u8 = 12;

/// An exact percentage from 0 to 100, with at most 12 decimals.
///
/// A percentage has no zeros at the end of its decimals: 12.50 is 12.5. In JSON it is a number.
///
/// ```
/// use ticketing::discount::Percentage;
/// let ten = Percentage::whole(10)?;
/// let more = "12.5".parse()?;
/// assert!(ten < more);
/// assert_eq!(more, Percentage::new(125, 1)?);
/// assert_eq!(more.to_string(), "12.5");
/// assert!(Percentage::whole(101).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "Amount")]
pub struct Percentage(Amount);

impl Percentage {
    /// 0 percent.
    pub const ZERO: Self = Self(Amount::ZERO);

    /// 100 percent.
    pub const ALL: Self = Self(Amount::whole(100));

    /// Creates a percentage of whole percent: `Percentage::whole(10)` is 10 percent.
    ///
    /// # Errors
    /// [`PercentageError::OutOfRange`] if it is more than 100.
    pub const fn whole(percent: u8) -> Result<Self, PercentageError> {
        if percent > 100 { Err(PercentageError::OutOfRange) } else { Ok(Self(Amount::whole(percent as i64))) }
    }

    /// Creates a percentage of `units` with `decimals` decimals: `Percentage::new(125, 1)` is 12.5 percent.
    ///
    /// # Errors
    /// [`PercentageError::OutOfRange`] if it is less than 0 or more than 100, and [`PercentageError::TooManyDecimals`]
    /// if it has more than 12 decimals other than zeros at the end.
    pub fn new(units: i64, decimals: u8) -> Result<Self, PercentageError> {
        Amount::new(units, decimals).map_err(|_| PercentageError::TooManyDecimals)?.try_into()
    }

    /// The number of units. One percent is `10^decimals` units.
    #[must_use]
    pub const fn units(self) -> i64 {
        self.0.minor_units()
    }

    /// The number of decimals.
    #[must_use]
    pub const fn decimals(self) -> u8 {
        self.0.decimals()
    }

    /// The percentage as a number without a meaning.
    pub(crate) const fn number(self) -> Amount {
        self.0
    }
}

/// A value cannot be a [`Percentage`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum PercentageError {
    /// The text is not a decimal number.
    #[error("must be a number")]
    NotANumber,
    /// The number is less than 0 or more than 100.
    #[error("must be from 0 to 100 percent")]
    OutOfRange,
    /// The number has more than 12 decimals.
    #[error("must have at most 12 decimals")]
    TooManyDecimals,
}

impl TryFrom<Amount> for Percentage {
    type Error = PercentageError;

    /// Takes the number of an amount as a percentage.
    fn try_from(number: Amount) -> Result<Self, Self::Error> {
        if number < Self::ZERO.0 || number > Self::ALL.0 {
            return Err(PercentageError::OutOfRange);
        }
        if number.minor_with(MAX_DECIMALS).is_none() {
            return Err(PercentageError::TooManyDecimals);
        }
        let (minor, decimals) = number.parts();
        Ok(Self(Amount { minor, decimals }))
    }
}

impl fmt::Display for Percentage {
    /// Writes the number, without a percent sign.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Percentage {
    type Err = PercentageError;

    /// Reads a decimal number in the notation of JSON, with an optional exponent. Never rounds.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.parse::<Amount>() {
            Ok(number) => number.try_into(),
            Err(AmountError::NotANumber) => Err(PercentageError::NotANumber),
            Err(AmountError::TooManyDecimals) => Err(PercentageError::TooManyDecimals),
            Err(_) => Err(PercentageError::OutOfRange),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_is_from_0_to_100_with_at_most_12_decimals() {
        use PercentageError::{NotANumber, OutOfRange, TooManyDecimals};
        for text in ["0", "-0", "0.000000000001", "12.5", "33.333333333333", "1e2", "100.000"] {
            let percentage: Percentage = text.parse().expect(text);
            assert_eq!(Ok(percentage), Percentage::new(percentage.units(), percentage.decimals()));
            let json = serde_json::to_string(&percentage).expect("a number");
            assert_eq!(serde_json::from_str::<Percentage>(&json).ok(), Some(percentage), "{text}");
        }
        for (text, error) in [
            ("", NotANumber),
            ("10%", NotANumber),
            ("-1", OutOfRange),
            ("-0.000000000001", OutOfRange),
            ("100.000000000001", OutOfRange),
            ("101", OutOfRange),
            ("1e30", OutOfRange),
            ("0.0000000000001", TooManyDecimals),
            ("1e-19", TooManyDecimals),
        ] {
            assert_eq!(text.parse::<Percentage>(), Err(error), "{text}");
        }
        assert_eq!(Percentage::new(1, 19), Err(TooManyDecimals));
        assert_eq!(Percentage::new(10_000_000_000_000, 12), Ok("10".parse().expect("a percentage")));
        assert_eq!(Percentage::whole(100), Ok(Percentage::ALL));
        let with_zeros = Percentage::new(12_500, 3).expect("12.5 percent");
        assert_eq!((with_zeros.units(), with_zeros.decimals(), with_zeros.to_string().as_str()), (125, 1, "12.5"));
        assert_eq!(Percentage::whole(101), Err(OutOfRange));
        assert!(serde_json::from_str::<Percentage>("100.5").is_err());
    }
}
