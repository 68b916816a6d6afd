//! What issuing may ask for, and the codes that are scanned.

use super::event::status_at;
use super::{Checked, order, text};
use crate::error::{Error, FieldErrors, Reason, Result};
use crate::model::event::EventStatus;
use crate::model::id::crockford;
use crate::model::ticket::{CheckInTicket, IssueTickets, ListTickets};
use crate::model::timestamp::Timestamp;

/// 20 characters of 5 bits: 100 random bits.
const CODE_LENGTH: usize = 20;

/// Checks everything about issuing that does not depend on what is stored.
pub(crate) fn check_issue(request: IssueTickets, errors: &mut FieldErrors) -> Option<Checked<IssueTickets>> {
    order::check_customer(errors, &request.customer);
    errors.check((1..=10).contains(&request.quantity), "quantity", "must be from 1 to 10");
    errors.is_empty().then_some(Checked(request))
}

/// Whether tickets of an event can still be issued.
pub(crate) fn check_issuable(stored: EventStatus, over_at: Timestamp, now: Timestamp) -> Result<()> {
    match status_at(stored, over_at, now) {
        EventStatus::Cancelled => Err(Error::conflict(Reason::EventCancelled, "the event is CANCELLED")),
        EventStatus::Expired => Err(Error::conflict(Reason::EventNotOnSale, "the event is EXPIRED")),
        _ => Ok(()),
    }
}

pub(crate) fn check_list(request: ListTickets, mut errors: FieldErrors) -> Result<Checked<ListTickets>> {
    super::page::check(&mut errors, &request.page);
    text::check_optional(&mut errors, "customerEmail", request.customer_email.as_deref(), 0);
    errors.into_result().map(|()| Checked(request))
}

/// Checks a scan, and brings its code into the stored form.
pub(crate) fn check_scan(mut request: CheckInTicket, mut errors: FieldErrors) -> Result<Checked<CheckInTicket>> {
    text::check_text(&mut errors, "code", &request.code, 1);
    errors.into_result()?;
    request.code = normal_code(&request.code);
    Ok(Checked(request))
}

/// The stored form of a code as somebody typed it.
pub(crate) fn normal_code(text: &str) -> String {
    text.chars().filter(|c| !matches!(c, ' ' | '-')).map(|c| c.to_ascii_uppercase()).collect()
}

/// Builds a code from random bytes: each one yields a character of 5 bits.
pub(crate) fn code_from_random(random: [u8; CODE_LENGTH]) -> String {
    random.iter().map(|byte| char::from(crockford::ALPHABET[usize::from(byte % 32)])).collect()
}

/// Whether a text has the form of a stored code.
pub(crate) fn is_code(text: &str) -> bool {
    text.len() == CODE_LENGTH && text.bytes().all(|byte| crockford::ALPHABET.contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_read_however_it_was_typed() {
        assert_eq!(normal_code("abcde-FGH12 34567-890ab"), "ABCDEFGH1234567890AB");
    }
}
