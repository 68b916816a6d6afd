//! Discounts: codes of an event that make its tickets cheaper.

use super::amount::Amount;
use super::id::{DiscountId, EventId, TicketTypeId, kind};
use super::page::PageRequest;
use super::timestamp::Timestamp;
use crate::form::change::Change;
use crate::form::fields::{Fields, FromFields, object_value};
use crate::text_enum::text_enum;

text_enum! {
    /// How a discount takes something off.
    pub enum DiscountType {
        /// A part of each item, in percent.
        Percentage = "PERCENTAGE",
        /// An amount, spread over the items.
        FixedAmount = "FIXED_AMOUNT",
    }
}

text_enum! {
    /// Why a discount does not apply. Where several reasons hold, the first in this order is given.
    pub enum DiscountRefusal {
        /// The event has no discount with this code.
        NotFound = "Discount code not found",
        /// The organizer switched it off.
        NotActive = "Discount code is not active",
        /// Its `validFrom` is to come.
        NotYetValid = "Discount code is not valid yet",
        /// Its `validTo` is past.
        Expired = "Discount code has expired",
        /// As many orders use it as may.
        UsedUp = "Discount code usage limit reached",
        /// The basket costs less than its `minimumPurchase`.
        BelowMinimum = "Minimum purchase amount not reached",
        /// Nothing in the basket is of a ticket type that it is for.
        NotApplicable = "Discount code does not apply to these tickets",
    }
}

/// A discount.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Discount {
    /// Its id.
    pub id: DiscountId,
    /// The event.
    pub event_id: EventId,
    /// What a customer enters; upper and lower case are alike.
    pub code: String,
    /// How it takes something off.
    #[serde(rename = "type")]
    pub discount_type: DiscountType,
    /// How much: percent, or an amount in the event's currency.
    pub value: Amount,
    /// What it is for.
    pub description: Option<String>,
    /// Whether it applies to an order that names no code.
    pub auto_apply: bool,
    /// How many orders may use it; any number where there is no limit.
    pub usage_limit: Option<i64>,
    /// How many pending and completed orders use it. A use ends at the instant at which the hold of its order runs out.
    pub used_count: i64,
    /// It applies from this instant on.
    pub valid_from: Timestamp,
    /// It applies no more from this instant on.
    pub valid_to: Timestamp,
    /// Whether it is switched on.
    pub is_active: bool,
    /// What a basket must cost at least before the discount, in the event's currency.
    pub minimum_purchase: Option<Amount>,
    /// The ticket types that it is for; every one of the event where it is empty.
    pub applicable_ticket_types: Vec<TicketTypeId>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was changed last; uses are no change.
    pub updated_at: Timestamp,
    /// Raised by every change of the discount; uses are none. Not part of the JSON.
    #[serde(skip, default = "super::first_revision")]
    pub revision: i64,
}

/// A new discount.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct CreateDiscount {
    /// The event.
    pub event_id: EventId,
    /// From 3 to 20 characters; unique within the event, upper and lower case alike.
    pub code: String,
    /// How it takes something off.
    #[cfg_attr(feature = "server", schemars(rename = "type"))]
    pub discount_type: DiscountType,
    /// From 0 to 100 percent with at most 12 decimals; or from 0 to 1,000,000,000 with no more decimals than the event's
    /// currency has.
    pub value: Amount,
    /// At most 255 characters.
    pub description: Option<String>,
    /// From 1 to 10,000,000; no limit where it is not given.
    pub usage_limit: Option<i64>,
    /// Before `valid_to`.
    pub valid_from: Timestamp,
    /// After `valid_from`.
    pub valid_to: Timestamp,
    /// From 0 to 1,000,000,000, with no more decimals than the event's currency has.
    pub minimum_purchase: Option<Amount>,
    /// Ticket types of the event; empty, which means every one, where it is not given.
    pub applicable_ticket_types: Option<Vec<TicketTypeId>>,
    /// True where it is not given.
    pub is_active: Option<bool>,
    /// False where it is not given.
    pub auto_apply: Option<bool>,
}

impl CreateDiscount {
    /// `percent` off every ticket type of the event for whoever knows the code, as often as they like, between the two
    /// instants.
    #[must_use]
    pub fn percentage(
        event_id: EventId,
        code: impl Into<String>,
        percent: Amount,
        valid_from: Timestamp,
        valid_to: Timestamp,
    ) -> Self {
        Self {
            event_id,
            code: code.into(),
            discount_type: DiscountType::Percentage,
            value: percent,
            description: None,
            usage_limit: None,
            valid_from,
            valid_to,
            minimum_purchase: None,
            applicable_ticket_types: None,
            is_active: None,
            auto_apply: None,
        }
    }

    /// The same with an amount in the event's currency off each order.
    #[must_use]
    pub fn fixed_amount(
        event_id: EventId,
        code: impl Into<String>,
        amount: Amount,
        valid_from: Timestamp,
        valid_to: Timestamp,
    ) -> Self {
        let discount_type = DiscountType::FixedAmount;
        Self { discount_type, ..Self::percentage(event_id, code, amount, valid_from, valid_to) }
    }
}

impl FromFields for CreateDiscount {
    fn from_fields(fields: &mut Fields<'_>) -> Self {
        Self {
            event_id: fields.required("eventId"),
            code: fields.required("code"),
            discount_type: fields.required("type"),
            value: fields.required("value"),
            description: fields.optional("description"),
            usage_limit: fields.nullable("usageLimit"),
            valid_from: fields.required("validFrom"),
            valid_to: fields.required("validTo"),
            minimum_purchase: fields.nullable("minimumPurchase"),
            applicable_ticket_types: fields.optional("applicableTicketTypes"),
            is_active: fields.optional("isActive"),
            auto_apply: fields.optional("autoApply"),
        }
    }
}

/// Changes to a discount, under the same limits as [`CreateDiscount`]. Orders keep what they were given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct UpdateDiscount {
    /// What a customer enters; orders keep the code that they were made with.
    pub code: Change<String>,
    /// How it takes something off.
    #[cfg_attr(feature = "server", schemars(rename = "type"))]
    pub discount_type: Change<DiscountType>,
    /// How much.
    pub value: Change<Amount>,
    /// What it is for.
    pub description: Change<String>,
    /// How many orders may use it. Below what is used, nobody else can use it.
    pub usage_limit: Change<Option<i64>>,
    /// It applies from this instant on.
    pub valid_from: Change<Timestamp>,
    /// It applies no more from this instant on.
    pub valid_to: Change<Timestamp>,
    /// What a basket must cost at least.
    pub minimum_purchase: Change<Option<Amount>>,
    /// The ticket types that it is for.
    pub applicable_ticket_types: Change<Vec<TicketTypeId>>,
    /// Whether it is switched on.
    pub is_active: Change<bool>,
    /// Whether it applies to an order that names no code.
    pub auto_apply: Change<bool>,
}

impl FromFields for UpdateDiscount {
    fn from_fields(fields: &mut Fields<'_>) -> Self {
        Self {
            code: fields.change("code"),
            discount_type: fields.change("type"),
            value: fields.change("value"),
            description: fields.change("description"),
            usage_limit: fields.change_nullable("usageLimit"),
            valid_from: fields.change("validFrom"),
            valid_to: fields.change("validTo"),
            minimum_purchase: fields.change_nullable("minimumPurchase"),
            applicable_ticket_types: fields.change("applicableTicketTypes"),
            is_active: fields.change("isActive"),
            auto_apply: fields.change("autoApply"),
        }
    }
}

/// Which discounts to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct ListDiscounts {
    /// Only those of this event.
    pub event_id: Option<EventId>,
    /// Only those with this code: the whole of it, upper and lower case alike.
    pub code: Option<String>,
    /// Only those that are switched on, or only the others.
    pub is_active: Option<bool>,
    /// Which part of the list.
    #[cfg_attr(feature = "server", schemars(flatten))]
    pub page: PageRequest<kind::Discount>,
}

impl FromFields for ListDiscounts {
    fn from_fields(fields: &mut Fields<'_>) -> Self {
        Self {
            event_id: fields.optional("eventId"),
            code: fields.optional("code"),
            is_active: fields.optional("isActive"),
            page: PageRequest::from_fields(fields),
        }
    }
}

/// Asks whether a code applies to a basket, and what it takes off.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct ValidateDiscount {
    /// The event.
    pub event_id: EventId,
    /// What the customer entered: at least 1 character.
    pub code: String,
    /// What the client thinks that the basket costs. It counts for nothing: the sum of the items does.
    pub order_amount: Amount,
    /// The basket.
    pub ticket_items: Vec<BasketItem>,
}

impl FromFields for ValidateDiscount {
    fn from_fields(fields: &mut Fields<'_>) -> Self {
        Self {
            event_id: fields.required("eventId"),
            code: fields.required("code"),
            order_amount: fields.required("orderAmount"),
            ticket_items: fields.required("ticketItems"),
        }
    }
}

/// One entry of a basket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct BasketItem {
    /// The ticket type.
    #[cfg_attr(feature = "server", schemars(rename = "ticketId"))]
    pub ticket_type_id: TicketTypeId,
    /// 1 or more.
    pub quantity: i64,
    /// The price of one, from 0 to 1,000,000,000, with no more decimals than the event's currency has.
    pub price: Amount,
}

impl FromFields for BasketItem {
    fn from_fields(fields: &mut Fields<'_>) -> Self {
        Self {
            ticket_type_id: fields.required("ticketId"),
            quantity: fields.required("quantity"),
            price: fields.required("price"),
        }
    }
}

object_value!(BasketItem);

/// Whether a code applies to a basket.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DiscountValidationResponse {
    /// Whether it applies.
    pub valid: bool,
    /// Why it does not.
    pub error: Option<DiscountRefusal>,
    /// The discount, where it applies.
    pub discount: Option<ValidatedDiscount>,
    /// What was not reached, where the basket costs too little; otherwise left out of the JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "server", schemars(with = "DiscountErrorData"))]
    pub error_data: Option<DiscountErrorData>,
}

/// A discount that applies to a basket.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ValidatedDiscount {
    /// Its id.
    pub id: DiscountId,
    /// Its code, as its organizer wrote it.
    pub code: String,
    /// How it takes something off.
    #[serde(rename = "type")]
    pub discount_type: DiscountType,
    /// How much: percent, or an amount in the event's currency.
    pub value: Amount,
    /// The ticket types that it is for; every one of the event where it is empty.
    pub applicable_ticket_types: Vec<TicketTypeId>,
    /// What it takes off the basket.
    pub discounted_amount: Amount,
}

/// What a refusal of a discount is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
pub struct DiscountErrorData {
    /// The discount's `minimumPurchase`.
    pub amount: Amount,
}
