//! The tokens of order forms, which customers send from the page of an event.
//!
//! A token is 48 bytes in Base64 (RFC 4648, section 5): when the form was made, 96 random bits, and 224 bits of the
//! HMAC-SHA256 of both and of what the form is for, under the secret of the store's links. So nothing is stored for a
//! form, and nobody can send one that the service has not made.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use super::document_link::{DocumentLinks, FORM_CODE_BYTES};
use crate::model::sale::new_order::NewOrderItem;
use crate::model::values::id::EventId;
use crate::model::values::timestamp::Timestamp;

/// A person takes longer to fill in a form, and programs that send forms mostly do not wait.
const MIN_AGE: Duration = Duration::from_secs(2);
const MAX_AGE: Duration = Duration::from_hours(2);

const TIME_BYTES: usize = 8;
const RANDOM_BYTES: usize = 12;
const HEAD_BYTES: usize = TIME_BYTES + RANDOM_BYTES;
const BYTES: usize = HEAD_BYTES + FORM_CODE_BYTES;

/// What an order form is for. A token is right for only one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FormContent<'a> {
    pub(crate) event: EventId,
    pub(crate) items: &'a [NewOrderItem],
    pub(crate) code: Option<&'a str>,
    /// What the form says that the order costs, in minor units.
    pub(crate) total: i64,
}

/// Whether the form with a token may create an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenState {
    Usable,
    /// The service has made it for this form, but it was sent too early or too late. It is still that of an order that
    /// it has created.
    TooEarlyOrLate,
    /// The service has not made it for this form.
    Wrong,
}

/// Makes a token for a form.
pub(crate) fn make(
    links: &DocumentLinks,
    content: &FormContent<'_>,
    now: Timestamp,
    random: [u8; RANDOM_BYTES],
) -> String {
    let mut bytes = [0; BYTES];
    bytes[..TIME_BYTES].copy_from_slice(&now.millis().to_be_bytes());
    bytes[TIME_BYTES..HEAD_BYTES].copy_from_slice(&random);
    let code = links.form_code(&message(&bytes[..HEAD_BYTES], content));
    bytes[HEAD_BYTES..].copy_from_slice(&code);
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

/// Checks the token of a form that was sent.
pub(crate) fn check(links: &DocumentLinks, token: &str, content: &FormContent<'_>, now: Timestamp) -> TokenState {
    let decoded = BASE64_URL_SAFE_NO_PAD.decode(token).ok();
    let Some(bytes) = decoded.and_then(|bytes| <[u8; BYTES]>::try_from(bytes).ok()) else { return TokenState::Wrong };
    let (head, code) = bytes.split_at(HEAD_BYTES);
    if !links.is_form_code(code, &message(head, content)) {
        return TokenState::Wrong;
    }
    let made_at =
        head.first_chunk().map(|time| i64::from_be_bytes(*time)).and_then(|time| Timestamp::from_millis(time).ok());
    let age = made_at.and_then(|made_at| now.duration_since(made_at));
    match age {
        Some(age) if (MIN_AGE..=MAX_AGE).contains(&age) => TokenState::Usable,
        _ => TokenState::TooEarlyOrLate,
    }
}

/// What the code is of. Each part has a fixed length or its length before it, so that no two forms have the same.
fn message(head: &[u8], content: &FormContent<'_>) -> Vec<u8> {
    let FormContent { event, items, code, total } = content;
    let mut message = head.to_vec();
    message.extend(event.raw().to_be_bytes());
    message.extend(total.to_be_bytes());
    message.extend((items.len() as u64).to_be_bytes());
    for item in *items {
        message.extend(item.ticket_type_id.raw().to_be_bytes());
        message.extend(item.quantity.to_be_bytes());
    }
    // Without a code is another form than with an empty one.
    message.extend(code.map(str::as_bytes).map(|code| [b"code ", code].concat()).unwrap_or_default());
    message
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::model::tickets::link_token::LinkSecret;
    use crate::model::values::id::TicketTypeId;

    fn links(secret: u8) -> DocumentLinks {
        DocumentLinks::new(LinkSecret([secret; 32]), "https://tickets.example.com")
    }

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis).expect("in the range")
    }

    const ITEMS: [NewOrderItem; 1] = [NewOrderItem::new(TicketTypeId::from_raw(7), 2)];

    fn content() -> FormContent<'static> {
        FormContent { event: EventId::from_raw(1), items: &ITEMS, code: Some("EARLY"), total: 2500 }
    }

    #[test]
    fn a_token_is_that_of_another_implementation() {
        // Computed with Python:
        // head = struct.pack(">q", 1_000_000) + bytes([9] * 12)
        // message = b"order form" + head + struct.pack(">qqQqq", 1, 2500, 1, 7, 2) + b"code EARLY"
        // base64.urlsafe_b64encode(head + hmac.new(bytes([5] * 32), message, "sha256").digest()[:28])
        let token = make(&links(5), &content(), at(1_000_000), [9; RANDOM_BYTES]);
        assert_eq!(token, "AAAAAAAPQkAJCQkJCQkJCQkJCQmHoPUb8HgtKhTkaS1pY0bUM0sIJ2QkqSD49SzQ");
        assert_eq!(check(&links(5), &token, &content(), at(1_010_000)), TokenState::Usable);
    }

    #[test]
    fn a_token_is_for_one_form_of_one_store() {
        let token = make(&links(5), &content(), at(0), [9; RANDOM_BYTES]);
        let state = |secret, content: &FormContent<'_>| check(&links(secret), &token, content, at(5000));
        assert_eq!(state(5, &content()), TokenState::Usable);
        assert_eq!(state(6, &content()), TokenState::Wrong);
        let twice = [ITEMS[0], ITEMS[0]];
        for other in [
            FormContent { event: EventId::from_raw(2), ..content() },
            FormContent { items: &[], ..content() },
            FormContent { items: &twice, ..content() },
            FormContent { code: None, ..content() },
            FormContent { code: Some(""), ..content() },
            FormContent { total: 2499, ..content() },
        ] {
            assert_eq!(state(5, &other), TokenState::Wrong, "{other:?}");
        }
    }

    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

    #[test]
    fn of_a_hundred_thousand_changed_tokens_none_is_accepted() {
        let token = make(&links(5), &content(), at(0), [9; RANDOM_BYTES]);
        let mut random = StdRng::seed_from_u64(48);
        for _ in 0..100_000 {
            let mut changed = token.clone().into_bytes();
            for _ in 0..random.random_range(1..4) {
                let position = random.random_range(0..changed.len());
                match random.random_range(0..4) {
                    0 => drop(changed.remove(position)),
                    1 => changed.insert(position, random.random_range(b'!'..=b'~')),
                    _ => changed[position] = LETTERS[random.random_range(0..LETTERS.len())],
                }
            }
            let changed = String::from_utf8(changed).expect("ASCII");
            if changed != token {
                assert_eq!(check(&links(5), &changed, &content(), at(5000)), TokenState::Wrong, "{changed}");
            }
        }
    }
}
