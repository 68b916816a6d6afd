//! Ids: 63 bits that sort by creation. Their text is a prefix and 13 characters of Crockford base32.

use std::fmt;
use std::hash::Hash;
use std::marker::PhantomData;
use std::str::FromStr;

use crate::error::FieldErrors;
use crate::form::declare::schema::{NamedSchemas, add_description, text_without_nul};
use crate::form::json::Value;
use crate::form::limits::NoLimit;
use crate::form::path::Path;
use crate::form::text::CONTAINS_NUL;
use crate::form::value::{FormValue, or_error, text};

/// The number of base32 digits of an id.
const DIGITS: usize = 13;

/// A kind of resource that has ids.
///
/// The trait is sealed: only the types of [`kind`] implement it.
pub trait Kind: sealed::Sealed + Copy + Ord + Hash + fmt::Debug + 'static {
    /// The prefix of the ids, without the underscore.
    const PREFIX: &'static str;
    /// The name of the resource in messages, such as `ticket type`.
    const NAME: &'static str;
    /// The name of the ids in the OpenAPI document, such as `TicketTypeId`.
    const ID: &'static str;
    /// The description of the ids in the OpenAPI document.
    const ID_DOC: &'static str;
}

mod sealed {
    pub trait Sealed {}
}

/// The id of a resource of the kind `K`. Opaque to callers. Ids sort by creation, until the year 2248.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id<K: Kind>(i64, PhantomData<fn() -> K>);

impl<K: Kind> Id<K> {
    /// An id that no resource has, less than every other. A text in a request that is not an id is read as this one.
    pub(crate) const UNKNOWN: Self = Self::from_raw(0);

    /// What a required field of a request has until it is set. No text is read as this one.
    const MISSING: Self = Self::from_raw(-1);

    pub(crate) const fn from_raw(raw: i64) -> Self {
        Self(raw, PhantomData)
    }

    pub(crate) const fn raw(self) -> i64 {
        self.0
    }

    /// The JSON Schema of ids in requests and responses. It allows more than ids: a request may name any text, and one
    /// that is not an id is reported like an id that does not exist.
    pub(in crate::model) fn json_schema() -> serde_json::Value {
        let mut schema = text_without_nul();
        schema["minLength"] = 1.into();
        add_description(&mut schema, K::ID_DOC);
        schema
    }
}

impl<K: Kind> Id<K> {
    /// The length of the text of an id.
    const TEXT_LENGTH: usize = K::PREFIX.len() + 1 + DIGITS;

    /// Returns the text of an id: its first [`TEXT_LENGTH`](Self::TEXT_LENGTH) bytes are used. It is written digit by
    /// digit, which is faster than the formatting of the standard library: responses and notifications contain many
    /// ids.
    fn text(self) -> [u8; 32] {
        let mut text = [b'_'; 32];
        text[..K::PREFIX.len()].copy_from_slice(K::PREFIX.as_bytes());
        let mut rest = self.0.cast_unsigned();
        for digit in text[..Self::TEXT_LENGTH].iter_mut().rev().take(DIGITS) {
            *digit = crockford::ALPHABET[(rest & 31) as usize];
            rest >>= 5;
        }
        text
    }
}

impl<K: Kind> Id<K> {
    /// The id without its prefix, as people read it.
    #[cfg(any(feature = "documents", feature = "server"))]
    pub(crate) fn number(self) -> String {
        self.to_string().split_off(K::PREFIX.len() + 1)
    }
}

impl<K: Kind> fmt::Display for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(std::str::from_utf8(&self.text()[..Self::TEXT_LENGTH]).map_err(|_| fmt::Error)?)
    }
}

impl<K: Kind> fmt::Debug for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not an id of the expected kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[error("not a valid {name} id: must be {prefix}_ and 13 characters of Crockford base32")]
pub struct ParseIdError {
    name: &'static str,
    prefix: &'static str,
}

impl<K: Kind> FromStr for Id<K> {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = ParseIdError { name: K::NAME, prefix: K::PREFIX };
        let digits = text.strip_prefix(K::PREFIX).and_then(|rest| rest.strip_prefix('_')).ok_or(error)?;
        // The digits hold 65 bits. The upper two must be zero, so that every id has exactly one text.
        if digits.len() != DIGITS || digits.as_bytes()[0] > b'7' {
            return Err(error);
        }
        let raw = digits.bytes().try_fold(0, |raw, digit| Some((raw << 5) | i64::from(crockford::value(digit)?)));
        raw.map(Self::from_raw).ok_or(error)
    }
}

impl<K: Kind> TryFrom<&str> for Id<K> {
    type Error = ParseIdError;

    fn try_from(text: &str) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl<K: Kind> TryFrom<String> for Id<K> {
    type Error = ParseIdError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl<K: Kind> serde::Serialize for Id<K> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = self.text();
        let text = std::str::from_utf8(&text[..Self::TEXT_LENGTH]).map_err(serde::ser::Error::custom)?;
        serializer.serialize_str(text)
    }
}

impl<'de, K: Kind> serde::Deserialize<'de> for Id<K> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::enums::text_enum::from_text(deserializer)
    }
}

impl<K: Kind> FormValue for Id<K> {
    type Limit = NoLimit;

    fn placeholder() -> Self {
        Self::MISSING
    }

    /// Reads any text. One that is not an id of this kind becomes an id that does not exist, so that the operation
    /// reports it like every other unknown id.
    fn read(value: &Value, path: Path<'_>, errors: &mut FieldErrors) -> Option<Self> {
        let text = or_error(text(value), path, errors, "must be a string")?;
        if text.is_empty() {
            errors.add(path, "must not be empty");
            return None;
        }
        if text.contains('\0') {
            errors.add(path, CONTAINS_NUL);
            return None;
        }
        Some(text.parse().unwrap_or(Self::UNKNOWN))
    }

    fn is_missing(&self) -> bool {
        *self == Self::MISSING
    }

    /// Different texts that are not ids are read as the same unknown id.
    fn is_same(&self, other: &Self) -> bool {
        self == other && *self != Self::UNKNOWN
    }

    fn schema(named: &mut NamedSchemas) -> serde_json::Value {
        named.refer_to(K::ID, Self::json_schema())
    }
}

/// Crockford's base32 (<https://www.crockford.com/base32.html>): digits and upper-case letters without I, L, O and U.
pub(crate) mod crockford {
    pub(crate) const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

    /// The value of each byte as a digit.
    const DECODED: [Option<u8>; 256] = {
        let mut values = [None; 256];
        let mut value = 0;
        while value < 32 {
            values[ALPHABET[value as usize] as usize] = Some(value);
            value += 1;
        }
        values
    };

    /// The value of a digit. `None` if the byte is not one.
    pub(crate) fn value(digit: u8) -> Option<u8> {
        DECODED[usize::from(digit)]
    }
}

macro_rules! kinds {
    ($($(#[doc = $doc:literal])* $id:ident = $kind:ident($prefix:literal, $name:literal);)+) => {
        /// The kinds of resources that have ids.
        pub mod kind {
            $(
                #[doc = concat!("A ", $name, ".")]
                #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
                #[expect(clippy::exhaustive_enums, reason = "it is only a type: it has no values")]
                pub enum $kind {}
                impl super::sealed::Sealed for $kind {}
                impl super::Kind for $kind {
                    const PREFIX: &'static str = $prefix;
                    const NAME: &'static str = $name;
                    const ID: &'static str = stringify!($id);
                    const ID_DOC: &'static str = concat!($($doc),*);
                }
            )+
        }
        $($(#[doc = $doc])* pub type $id = Id<kind::$kind>;)+
    };
}

kinds! {
    /// The id of an organization: `org_…`.
    OrganizationId = Organization("org", "organization");
    /// The id of an API key: `key_…`. It is not the key itself.
    ApiKeyId = ApiKey("key", "API key");
    /// The id of an event: `event_…`.
    EventId = Event("event", "event");
    /// The id of a ticket type: `type_…`.
    TicketTypeId = TicketType("type", "ticket type");
    /// The id of an allocation: `allocation_…`.
    AllocationId = Allocation("allocation", "allocation");
    /// The id of a run that cancels the orders of an event: `run_…`.
    CancellationRunId = CancellationRun("run", "cancellation run");
    /// The id of an order: `order_…`.
    OrderId = Order("order", "order");
    /// The id of a payment: `payment_…`. It is not the gateway's id of it.
    PaymentId = Payment("payment", "payment");
    /// The id of a refund: `refund_…`.
    RefundId = Refund("refund", "refund");
    /// The id of an entry of the ledger: `entry_…`.
    LedgerEntryId = LedgerEntry("entry", "ledger entry");
    /// The id of a dispute: `dispute_…`.
    DisputeId = Dispute("dispute", "dispute");
    /// The id of an item of an order: `item_…`.
    OrderItemId = OrderItem("item", "order item");
    /// The id of an issued ticket: `ticket_…`. It is not the code that is scanned.
    TicketId = Ticket("ticket", "ticket");
    /// The id of a scan in the log of an event: `scan_…`. It is not the id that the device gave it.
    ScanId = Scan("scan", "scan");
    /// The id of a discount: `discount_…`. It is not its code.
    DiscountId = Discount("discount", "discount");
    /// The id of a customer: `customer_…`.
    CustomerId = Customer("customer", "customer");
    /// The id of a webhook endpoint: `webhook_…`.
    WebhookId = Webhook("webhook", "webhook endpoint");
    /// The id of a notification: `evt_…`. It is the same for every endpoint, attempt and resend.
    NotificationId = Notification("evt", "notification");
    /// The id of a notification that is queued for one endpoint: `outbox_…`.
    OutboxId = Outbox("outbox", "outbox item");
    /// The id of one attempt to deliver a notification: `delivery_…`.
    WebhookDeliveryId = WebhookDelivery("delivery", "webhook delivery");
    /// The id of a mail: `mail_…`.
    MailId = Mail("mail", "mail");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_its_prefix_and_thirteen_base32_digits() {
        assert_eq!(OrderId::from_raw(0).to_string(), "order_0000000000000");
        assert_eq!(OrderId::from_raw(33).to_string(), "order_0000000000011");
        assert_eq!(OrderId::from_raw(i64::MAX).to_string(), "order_7ZZZZZZZZZZZZ");
        assert_eq!(format!("{:>21}", OrderId::from_raw(33)), "  order_0000000000011");
        assert_eq!(format!("{:-<25}|", DiscountId::from_raw(0)), "discount_0000000000000---|");
    }

    #[test]
    fn no_text_is_read_as_a_missing_id() {
        assert!(EventId::MISSING.to_string().parse::<EventId>().is_err());
    }

    #[test]
    fn an_id_is_parsed_from_its_own_text_only() {
        assert_eq!("order_7ZZZZZZZZZZZZ".parse(), Ok(OrderId::from_raw(i64::MAX)));
        assert_eq!("order_7ZZZZZZZZZZZZ".try_into(), Ok(OrderId::from_raw(i64::MAX)));
        assert_eq!(OrderId::try_from("order_7ZZZZZZZZZZZZ".to_owned()), Ok(OrderId::from_raw(i64::MAX)));
        for text in [
            "",
            "order_",
            "event_0000000000011",
            "order_8000000000000",
            "order_000000000001",
            "order_00000000000II",
            "order_000000000001a",
            "order_0000000000ö",
        ] {
            assert!(text.parse::<OrderId>().is_err(), "{text}");
        }
        assert_eq!(
            "order_1".parse::<OrderId>().unwrap_err().to_string(),
            "not a valid order id: must be order_ and 13 characters of Crockford base32"
        );
    }
}
