//! The tokens of links. A link opens a page without an API key: that of a ticket, an order, or the report of an event.
//!
//! A token is an id, and a part of the HMAC-SHA256 of the id under the secret of the store. So nothing secret is stored
//! for a link, and its resource is found by its primary key. Knowing an id, or other tokens, does not help to guess a
//! token: 130 bits of it are unknown.

use std::fmt;

#[cfg(any(feature = "documents", feature = "server"))]
use hmac::digest::CtOutput;
use hmac::digest::Output;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::model::values::id::{EventId, crockford};
#[cfg(feature = "documents")]
use crate::model::values::id::{OrderId, TicketId};

/// The number of base32 digits of a token: 64 bits for the id, 130 for the code, and a last one that is 0.
const DIGITS: usize = 39;
const ID_BYTES: usize = 8;
/// The bytes of the code that are in a token. Of the last one, only the upper two bits.
const CODE_BYTES: usize = 17;
const LAST_CODE_BITS: u8 = 0b1100_0000;
type Code = Output<Hmac<Sha256>>;

/// The secret of a store, with which its tokens are made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct LinkSecret(pub(crate) [u8; 32]);

impl fmt::Debug for LinkSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LinkSecret")
    }
}

impl LinkSecret {
    /// What a code of this kind begins with: the kinds differ, so that the link of an order is not that of a ticket.
    #[expect(clippy::expect_used, reason = "an HMAC key may have any length")]
    pub(in crate::model) fn mac(&self, kind: &str) -> Hmac<Sha256> {
        Hmac::<Sha256>::new_from_slice(&self.0).expect("a key of any length").chain_update(kind)
    }

    /// The token of a resource.
    pub(in crate::model) fn token(&self, kind: &str, id: i64, version: i64) -> LinkToken {
        let mac = self.mac(kind).chain_update(id.to_be_bytes()).chain_update(version.to_be_bytes());
        let mut code = mac.finalize().into_bytes();
        code[CODE_BYTES - 1] &= LAST_CODE_BITS;
        code[CODE_BYTES..].fill(0);
        LinkToken { id, code }
    }

    /// Whether the token is that of its resource. Takes the same time for every token.
    #[cfg(any(feature = "documents", feature = "server"))]
    pub(in crate::model) fn is(&self, kind: &str, token: LinkToken, version: i64) -> bool {
        CtOutput::<Hmac<Sha256>>::new(self.token(kind, token.id, version).code) == CtOutput::new(token.code)
    }

    /// The token of the report of an event. `version` is how many links to it there were before.
    pub(crate) fn report_token(&self, event: EventId, version: i64) -> LinkToken {
        self.token("report", event.raw(), version)
    }

    /// Whether the token is that of the report of its event. Takes the same time for every token.
    #[cfg(feature = "server")]
    pub(crate) fn is_of_report(&self, token: LinkToken, version: i64) -> bool {
        self.is("report", token, version)
    }
}

/// A token that is spelled as tokens are. Whether it is one must still be checked.
#[derive(Clone, Copy)]
pub(crate) struct LinkToken {
    id: i64,
    code: Code,
}

impl LinkToken {
    /// Reads a token. There is one spelling of each.
    #[cfg(any(feature = "documents", feature = "server"))]
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let digits: &[u8; DIGITS] = text.as_bytes().try_into().ok()?;
        let mut bytes = [0; ID_BYTES + CODE_BYTES];
        for (index, digit) in digits.iter().enumerate() {
            let value = crockford::ALPHABET.iter().position(|known| known == digit)?;
            let value = u8::try_from(value).ok()?;
            for bit in 0..5 {
                let position = index * 5 + bit;
                bytes[position / 8] |= (value >> (4 - bit) & 1) << (7 - position % 8);
            }
        }
        let (id, code) = bytes.split_first_chunk::<ID_BYTES>()?;
        if code.last()? & !LAST_CODE_BITS != 0 {
            return None;
        }
        let mut padded = Code::default();
        padded.get_mut(..CODE_BYTES)?.copy_from_slice(code);
        Some(Self { id: i64::from_be_bytes(*id), code: padded })
    }

    /// The id of the event that the token would be of the report of.
    #[cfg(feature = "server")]
    pub(crate) fn event(self) -> EventId {
        EventId::from_raw(self.id)
    }

    /// The id of the ticket that the token would be of.
    #[cfg(feature = "documents")]
    pub(crate) fn ticket(self) -> TicketId {
        TicketId::from_raw(self.id)
    }

    /// The id of the order that the token would be of.
    #[cfg(feature = "documents")]
    pub(crate) fn order(self) -> OrderId {
        OrderId::from_raw(self.id)
    }
}

impl fmt::Display for LinkToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = [0; ID_BYTES + CODE_BYTES];
        bytes[..ID_BYTES].copy_from_slice(&self.id.to_be_bytes());
        bytes[ID_BYTES..].copy_from_slice(&self.code[..CODE_BYTES]);
        for index in 0..DIGITS {
            let bits = (0..5).map(|bit| index * 5 + bit).map(|position| bytes[position / 8] >> (7 - position % 8) & 1);
            let value = bits.fold(0, |value, bit| value << 1 | bit);
            fmt::Write::write_char(f, char::from(crockford::ALPHABET[usize::from(value)]))?;
        }
        Ok(())
    }
}
