//! The format of API keys, and validation of requests to create them.

use super::Checked;
use crate::error::{FieldErrors, Result};
use crate::form::limits::LINE_LENGTH;
use crate::form::limits::TextLimit::{MaxLength, MinLength};
use crate::form::path::Path;
use crate::form::value::FormValue;
use crate::model::tenants::organization::CreateApiKey;
use crate::model::values::timestamp::Timestamp;

const PREFIX: &str = "tk_";
const CHECKSUM_LENGTH: usize = 6;

pub(crate) const RANDOM_LENGTH: usize = 30;

/// The base62 digits in ascending order: the characters of a key after `tk_`.
pub(crate) const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

pub(crate) fn check(mut request: CreateApiKey, now: Timestamp) -> Result<Checked<CreateApiKey>> {
    let mut errors = FieldErrors::default();
    request.name.check(&[MinLength(1), MaxLength(LINE_LENGTH)], Path::Root.field("name"), &mut errors);
    errors.check(!request.scopes.is_empty(), "scopes", "must name at least one scope");
    let is_allowed = request.event_id.is_none() || request.only_checks_in();
    errors.check(is_allowed, "scopes", "must be tickets:check-in, the only scope of a key of one event");
    errors.check(request.expires_at.is_none_or(|at| at > now), "expiresAt", "must be in the future");
    errors.into_result().map(|()| Checked(request))
}

/// Builds a key: `tk_`, `random` ([`RANDOM_LENGTH`] characters of [`ALPHABET`]), and their checksum.
pub(crate) fn from_random(random: &str) -> String {
    let checksum = checksum(random);
    format!("{PREFIX}{random}{checksum}")
}

/// Whether `key` has the format of an API key and a correct checksum. This detects typing errors without a query.
pub(crate) fn is_well_formed(key: &str) -> bool {
    let Some(rest) = key.strip_prefix(PREFIX) else { return false };
    let has_length = rest.len() == RANDOM_LENGTH + CHECKSUM_LENGTH;
    let has_format = has_length && rest.bytes().all(|byte| byte.is_ascii_alphanumeric());
    has_format && checksum(&rest[..RANDOM_LENGTH]) == rest[RANDOM_LENGTH..]
}

/// The CRC-32 of `text` as six base62 digits, the most significant first.
fn checksum(text: &str) -> String {
    let mut remaining = crc32fast::hash(text.as_bytes()) as usize;
    let mut digits = [b'0'; CHECKSUM_LENGTH];
    for digit in digits.iter_mut().rev() {
        *digit = ALPHABET[remaining % 62];
        remaining /= 62;
    }
    digits.iter().map(|digit| char::from(*digit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_key_is_not_well_formed() {
        let random = "0123456789ABCDEFGHIJabcdefghij";
        let key = format!("tk_{random}{}", checksum(random));
        assert!(is_well_formed(&key));
        for wrong in [
            key.replace("tk_", "TK_"),
            key.replace("01", "10"),
            key[..38].to_owned(),
            format!("{key}0"),
            String::new(),
            "tk_ö".repeat(9),
        ] {
            assert!(!is_well_formed(&wrong), "{wrong}");
        }
    }
}
