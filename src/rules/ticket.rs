//! Validation of scans, the conditions for issuing tickets, and the codes of tickets.

use unicode_normalization::UnicodeNormalization;

use super::Checked;
use super::event::status_at;
use super::text::{is_blank, is_dash};
use crate::error::{Error, FieldErrors, Reason, Result};
use crate::model::sale::event::EventStatus;
use crate::model::sale::ticket::CheckInTicket;
use crate::model::values::id::crockford;
use crate::model::values::timestamp::Timestamp;

/// 20 characters of 5 bits: 100 random bits.
const CODE_LENGTH: usize = 20;

/// Checks that tickets for an event can still be issued.
pub(crate) fn check_issuable(stored: EventStatus, over_at: Timestamp, now: Timestamp) -> Result<()> {
    match status_at(stored, over_at, now) {
        EventStatus::Cancelled => {
            Err(Error::conflict(Reason::EventCancelled, "the event is CANCELLED: no more tickets can be issued for it"))
        }
        EventStatus::Expired => {
            Err(Error::conflict(Reason::EventNotOnSale, "the event is EXPIRED: no more tickets can be issued for it"))
        }
        _ => Ok(()),
    }
}

pub(crate) fn check_scan(mut request: CheckInTicket, errors: FieldErrors) -> Result<Checked<CheckInTicket>> {
    errors.into_result()?;
    request.code = normalize_code(&request.code);
    Ok(Checked(request))
}

/// Converts a code that was typed or scanned into the form in which codes are stored. `door.js` has the same rule, and
/// `guide/ticket_codes.json` examples of it.
pub(crate) fn normalize_code(text: &str) -> String {
    let letters = text.nfkc().filter(|c| !is_blank(*c) && !is_dash(*c)).flat_map(char::to_uppercase);
    let digits = letters.map(|letter| match letter {
        'O' => '0',
        'I' | 'L' => '1',
        other => other,
    });
    digits.collect()
}

/// Builds a code from random bytes: each one yields a character of 5 bits.
pub(crate) fn code_from_random(random: [u8; CODE_LENGTH]) -> String {
    random.iter().map(|byte| char::from(crockford::ALPHABET[usize::from(byte % 32)])).collect()
}

pub(crate) fn is_code(text: &str) -> bool {
    text.len() == CODE_LENGTH && text.bytes().all(|byte| crockford::ALPHABET.contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_random_byte_yields_one_of_32_characters() {
        let bytes = |first: u8| std::array::from_fn(|index| first + u8::try_from(index).unwrap());
        assert_eq!(code_from_random(bytes(0)), "0123456789ABCDEFGHJK");
        // 236 is 7 * 32 + 12.
        assert_eq!(code_from_random(bytes(236)), "CDEFGHJKMNPQRSTVWXYZ");
    }

    #[test]
    fn a_typed_or_scanned_code_is_read_as_the_vectors_say() {
        let vectors: Vec<(String, String)> =
            serde_json::from_str(include_str!("../guide/ticket_codes.json")).expect("pairs of texts");
        assert!(vectors.len() >= 30);
        for (typed, stored) in vectors {
            assert_eq!(normalize_code(&typed), stored, "{typed:?}");
            assert_eq!(normalize_code(&stored), stored, "{stored:?}");
        }
    }

    #[test]
    fn a_stored_code_has_20_characters_of_the_alphabet() {
        assert!(is_code("0123456789ABCDEFGHJK"));
        for other in ["0123456789ABCDEFGHJ", "0123456789ABCDEFGHJKM", "0123456789ABCDEFGHJU", "0123456789abcdefghjk"] {
            assert!(!is_code(other), "{other}");
        }
    }
}
