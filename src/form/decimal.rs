//! Exact decimal numbers in the notation of JSON.

use std::str::FromStr;

/// The greatest number of decimals. It is far more than any currency has.
pub(crate) const MAX_DECIMALS: u8 = 18;

/// A decimal number: `digits` divided by ten to the power of `decimals`. It has no trailing zeros after the decimal
/// point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decimal {
    pub(crate) digits: i64,
    pub(crate) decimals: u8,
}

/// A value cannot be an [`Amount`](crate::Amount).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum AmountError {
    /// The text is not a decimal number.
    #[error("must be a number with a point, such as 12.50")]
    NotANumber,
    /// The number has more digits than 64 bits can hold.
    #[error("is too large: it must have at most 18 digits")]
    TooLarge,
    /// The number has more than 18 decimals.
    #[error("must have at most 18 decimals")]
    TooManyDecimals,
    /// There is no such currency.
    #[error("must be in a currency of ISO 4217")]
    UnknownCurrency,
}

impl FromStr for Decimal {
    type Err = AmountError;

    /// Reads a decimal number in the notation of JSON, with an optional exponent. Never rounds.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        use AmountError::{NotANumber, TooLarge, TooManyDecimals};
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
            return Ok(Self { digits: 0, decimals: 0 });
        }
        // An exponent that does not fit into 64 bits means too many decimals if it is negative, else too large a
        // number.
        let out_of_range = if text.contains("e-") || text.contains("E-") { TooManyDecimals } else { TooLarge };
        let trailing = digits.len() - digits.trim_end_matches('0').len();
        let exponent = exponent.ok_or(out_of_range)?;
        let scale = i64::try_from(fraction.len()).ok().zip(i64::try_from(trailing).ok());
        let decimals =
            scale.and_then(|(fraction, trailing)| (fraction - trailing).checked_sub(exponent)).ok_or(out_of_range)?;
        let number: i64 = significant.parse().map_err(|_| if decimals > 18 { TooManyDecimals } else { TooLarge })?;
        let (number, decimals) = match u8::try_from(decimals) {
            Ok(decimals) if decimals > MAX_DECIMALS => return Err(TooManyDecimals),
            Ok(decimals) => (number, decimals),
            Err(_) if decimals > 0 => return Err(TooManyDecimals),
            Err(_) => {
                let factor = u32::try_from(decimals.unsigned_abs()).ok().and_then(|power| 10_i64.checked_pow(power));
                (factor.and_then(|factor| number.checked_mul(factor)).ok_or(TooLarge)?, 0)
            }
        };
        Ok(Self { digits: if negative { -number } else { number }, decimals })
    }
}
