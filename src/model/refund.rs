//! Refunds: money that goes back through the gateway.

use super::amount::Amount;
use super::id::{OrderId, kind};
use super::page::PageRequest;
use super::timestamp::Timestamp;
use crate::form::fields::{Fields, FromFields};
use crate::text_enum::text_enum;

text_enum! {
    /// Where a refund stands.
    pub enum RefundStatus {
        /// The gateway has not answered yet; it is asked again.
        Due = "DUE",
        /// The money went back.
        Done = "DONE",
        /// The gateway refused for good: the organizer has to return the money by hand.
        Refused = "REFUSED",
    }
}

/// A refund of an order's whole payment. An order has at most one.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Refund {
    /// The order.
    pub order_id: OrderId,
    /// How much, in the order's currency.
    pub amount: Amount,
    /// An ISO 4217 code.
    pub currency: String,
    /// Where it stands.
    pub status: RefundStatus,
    /// How often the gateway was asked.
    pub attempts: i64,
    /// What the gateway said last, where it did not do it.
    pub last_error: Option<String>,
    /// When it was decided.
    pub created_at: Timestamp,
    /// When it changed last.
    pub updated_at: Timestamp,
}

/// Which refunds to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct ListRefunds {
    /// Only those with this status.
    pub status: Option<RefundStatus>,
    /// Which part of the list, by order.
    #[cfg_attr(feature = "server", schemars(flatten))]
    pub page: PageRequest<kind::Order>,
}

impl FromFields for ListRefunds {
    fn from_fields(fields: &mut Fields<'_>) -> Self {
        Self { status: fields.optional("status"), page: PageRequest::from_fields(fields) }
    }
}
