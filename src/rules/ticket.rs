//! Validation of scans, the conditions for issuing tickets, and the codes of tickets.

use std::collections::HashMap;

use unicode_normalization::UnicodeNormalization;

use super::Checked;
use super::event::status_at;
use super::text::{is_blank, is_dash};
use crate::error::{Error, FieldErrors, Reason, Result};
use crate::form::request::Request;
use crate::form::text_kind::trimmed;
use crate::model::sale::allocation::CreateAllocation;
use crate::model::sale::event::EventStatus;
use crate::model::sale::ticket::{CheckInTicket, FindTicket, IssuedTicket, TicketStatus};
use crate::model::sale::ticket_import::ImportTickets;
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
    request.code = read_code(&request.code);
    Ok(Checked(request))
}

/// Checks a request for the ticket with a code.
pub(crate) fn check_find(request: FindTicket) -> Result<Checked<FindTicket>> {
    let Request { mut body, errors } = Request::from(request);
    errors.into_result()?;
    body.code = read_code(&body.code);
    Ok(Checked(body))
}

/// Converts a code that was typed or scanned into the form in which codes are stored. `admission.js` of the page for check-in has the same rule, and
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

/// Reads a code that was typed or scanned: one of ours in the form in which it is stored, and one of another seller exactly
/// as it is, without white space at its ends. `admission.js` of the
/// page for check-in has the same rule.
pub(crate) fn read_code(text: &str) -> String {
    let own = normalize_code(text);
    if is_code(&own) { own } else { trimmed(text).to_owned() }
}

/// Checks the codes of an import: that each is there once, and that none can be read as one of ours.
pub(crate) fn check_import(request: Request<ImportTickets>) -> Result<Checked<ImportTickets>> {
    let Request { body, mut errors } = request;
    let is_one = body.name.is_some() != body.allocation_id.is_some();
    errors.check(is_one, "name", "or allocationId must be set, and not both");
    let mut first_of: HashMap<&str, usize> = HashMap::with_capacity(body.tickets.len());
    for (index, ticket) in body.tickets.iter().enumerate() {
        let field = || format!("tickets[{index}].code");
        if is_code(&normalize_code(&ticket.code)) {
            errors.add(
                field(),
                "must not be a code that this service could have issued: 20 characters of Crockford base32",
            );
        }
        let first = *first_of.entry(&ticket.code).or_insert(index);
        if first != index {
            errors.add(field(), format!("must not repeat that of tickets[{first}]"));
        }
    }
    super::checked(body, errors)
}

/// Checks that there are not more labels than tickets.
pub(crate) fn check_allocation(request: Request<CreateAllocation>) -> Result<Checked<CreateAllocation>> {
    let Request { body, mut errors } = request;
    let labels = body.labels.as_ref().map_or(0, Vec::len);
    // A quantity that is wrong itself says nothing about the labels.
    let has_room = usize::try_from(body.quantity).is_ok_and(|quantity| labels <= quantity);
    errors.check(
        has_room || errors.covers("quantity"),
        "labels",
        "must have at most as many entries as there are tickets",
    );
    super::checked(body, errors)
}

/// Checks that no other seller has sold a ticket.
pub(crate) fn check_own(ticket: &IssuedTicket) -> Result<()> {
    match is_code(&ticket.code) {
        true => Ok(()),
        false => Err(Error::conflict(Reason::TicketImported, "the ticket was sold by another seller")),
    }
}

/// Checks that a ticket can be given to a customer.
pub(crate) fn check_assignable(ticket: &IssuedTicket) -> Result<()> {
    let conflict = |reason, detail: &str| Err(Error::conflict(reason, detail));
    check_own(ticket)?;
    if ticket.status == TicketStatus::Cancelled {
        return conflict(Reason::TicketCancelled, "the ticket is cancelled");
    }
    if ticket.first_scan_date.is_some() {
        return conflict(Reason::AlreadyCheckedIn, "its holder is or was inside");
    }
    if ticket.customer_id.is_some() {
        return conflict(Reason::AlreadyAssigned, "the ticket has a customer");
    }
    Ok(())
}

/// Builds a code from random bytes: each one yields a character of 5 bits.
pub(crate) fn code_from_random(random: [u8; CODE_LENGTH]) -> String {
    random.iter().map(|byte| char::from(crockford::ALPHABET[usize::from(byte % 32)])).collect()
}

pub(crate) fn is_code(text: &str) -> bool {
    text.len() == CODE_LENGTH && text.bytes().all(|byte| crockford::ALPHABET.contains(&byte))
}

/// Whether a text can be the code of another seller.
pub(crate) fn is_foreign_code(text: &str) -> bool {
    (6..=200).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_graphic())
        && !is_code(&normalize_code(text))
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
    fn the_code_of_another_seller_is_read_as_it_is() {
        let vectors: Vec<(String, String)> =
            serde_json::from_str(include_str!("../guide/foreign_codes.json")).expect("pairs of texts");
        for (typed, read) in vectors {
            assert_eq!(read_code(&typed), read, "{typed:?}");
            assert_eq!(read_code(&read), read, "{read:?}");
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
