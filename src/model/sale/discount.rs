//! Discounts: codes of an event that reduce the price of its tickets.

use super::discount_value::{DiscountType, DiscountValue};
use super::new_order::MAX_ITEMS;
use super::ticket_type::{MAX_QUANTITY, MAX_TICKET_TYPES};
use crate::enums::text_enum::text_enum;
use crate::form::declare::fields::form;
use crate::form::declare::writable_fields::writable_fields;
use crate::form::limits::LINE_LENGTH;
use crate::form::limits::ListLimit::{MaxItems, Unique};
use crate::form::limits::NumberLimit::{Max, Min, Rounded};
use crate::form::limits::TextLimit::{MaxLength, MinLength};
use crate::form::object::Form;
use crate::model::values::amount::{Amount, MAX_PRICE};
use crate::model::values::id::{DiscountId, EventId, TicketTypeId};
use crate::model::values::page::{PageRequest, list_request};
use crate::model::values::responses::responses;
use crate::model::values::timestamp::Timestamp;

text_enum! {
    /// Why a discount does not apply. If there are several reasons, the first in this order is reported.
    pub enum DiscountRefusal {
        /// The event has no discount with this code.
        NotFound = "Discount code not found",
        /// The organizer has disabled the discount.
        NotActive = "Discount code is not active",
        /// Its `validFrom` is in the future.
        NotYetValid = "Discount code is not valid yet",
        /// Its `validTo` is in the past.
        Expired = "Discount code has expired",
        /// Its `usageLimit` is reached.
        UsedUp = "Discount code usage limit reached",
        /// The basket costs less than its `minimumPurchase`.
        BelowMinimum = "Minimum purchase amount not reached",
        /// The basket has no ticket type to which it applies.
        NotApplicable = "Discount code does not apply to these tickets",
    }
}

responses! {
    /// A discount.
    pub struct Discount {
        /// The id.
        pub id: DiscountId,
        /// The event.
        pub event_id: EventId,
        /// The code that a customer enters. Upper and lower case are equivalent, and so are different encodings of a
        /// letter.
        pub code: String,
        /// The reduction: a percentage, or an amount in the currency of the event.
        #[serde(flatten)]
        pub value: DiscountValue,
        /// What the discount is for.
        pub description: Option<String>,
        /// Whether the discount applies to orders without a code.
        pub auto_apply: bool,
        /// How many orders may use the discount; any number if not set.
        pub usage_limit: Option<i64>,
        /// How many pending and completed orders use the discount. A pending order stops counting when its hold
        /// expires.
        pub used_count: i64,
        /// The discount applies from this time on.
        pub valid_from: Timestamp,
        /// The discount no longer applies from this time on.
        pub valid_to: Timestamp,
        /// Whether the discount is enabled.
        pub is_active: bool,
        /// The least price of a basket before the discount, in the currency of the event.
        pub minimum_purchase: Option<Amount>,
        /// The ticket types to which the discount applies. Empty means all ticket types of the event.
        pub applicable_ticket_types: Vec<TicketTypeId>,
        /// When the discount was created.
        pub created_at: Timestamp,
        /// When the discount was last changed. Uses do not count as changes.
        pub updated_at: Timestamp,
        /// The number of the current version. Every change increases it; uses do not.
        pub revision: i64,
    }
}

/// # Constructors
impl CreateDiscount {
    /// Creates a discount of whole percent, 0 to 100, on all ticket types of an event, for any number of orders with
    /// the code and at any time. [`event`](Self::event) names the event; [`valid_from`](Self::valid_from) and
    /// [`valid_to`](Self::valid_to) limit the time. For a fraction of a percent, use [`value`](Self::value).
    ///
    /// ```
    /// use ticketing::discount::{CreateDiscount, Percentage};
    #[doc = include_str!("../../doc_fixture.md")]
    /// let early = CreateDiscount::percentage("EARLY", 10).event(event.id).valid_to("2100-01-01T00:00:00Z".parse()?);
    /// service.create_discount(&caller, early)?;
    /// let members = CreateDiscount::percentage("MEMBERS", 0).event(event.id).value(Percentage::new(125, 1)?);
    /// assert_eq!(service.create_discount(&caller, members)?.value, Percentage::new(125, 1)?.into());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn percentage(code: impl Into<String>, percent: u32) -> Self {
        Self::always(code).discount_type(DiscountType::Percentage).number(Amount::whole(percent.into()))
    }

    /// Creates a discount of an amount on each order, in the currency of the event, for any number of orders with the
    /// code and at any time. [`event`](Self::event) names the event; [`valid_from`](Self::valid_from) and
    /// [`valid_to`](Self::valid_to) limit the time.
    #[must_use]
    pub fn fixed_amount(code: impl Into<String>, amount: Amount) -> Self {
        Self::always(code).value(amount)
    }

    /// A discount that is valid at any time, without an event and a value.
    fn always(code: impl Into<String>) -> Self {
        Self { code: code.into(), valid_from: Timestamp::UNIX_EPOCH, valid_to: Timestamp::MAX, ..Self::blank() }
    }
}

/// # Setters
/// Each sets one field.
impl CreateDiscount {
    /// Sets the event, which a discount must have.
    #[must_use]
    pub fn event(mut self, event: EventId) -> Self {
        self.event_id = event;
        self
    }

    /// Sets the reduction: a percentage, or an amount from 0 to 1,000,000,000 with at most as many decimals as the
    /// currency of the event.
    #[must_use]
    pub fn value(self, value: impl Into<DiscountValue>) -> Self {
        let value = value.into();
        self.discount_type(value.discount_type()).number(value.number())
    }
}

writable_fields! {
    /// A request to create a discount.
    create CreateDiscount {
        /// The event.
        event_id: EventId;
    };
    /// Changes to a discount, with the same limits as for its creation. Existing orders keep their discount.
    update UpdateDiscount;
    fields DiscountFields of CurrentDiscount;

    /// The code that a customer enters: 3 to 20 characters, unique within the event. Upper and lower case are
    /// equivalent, and so are different encodings of a letter.
    code: String => required, MinLength(3), MaxLength(20);
    /// How the reduction is calculated.
    #[doc(hidden)]
    discount_type as "type": DiscountType => required;
    /// The reduction: 0 to 100 percent with at most 12 decimals, or an amount from 0 to 1,000,000,000 with at most as
    /// many decimals as the currency of the event.
    #[doc(hidden)]
    number as "value": Amount => required, Min(0), Max(MAX_PRICE);
    /// What the discount is for: at most 255 characters.
    description: String => optional, MaxLength(255);
    /// How many orders may use the discount: 1 to 10,000,000, or any number if not set.
    usage_limit: i64 => nullable, Min(1), Max(MAX_QUANTITY);
    /// The discount applies from this time on.
    valid_from: Timestamp => required;
    /// The discount no longer applies from this time on. Must be after its start.
    valid_to: Timestamp => required;
    /// The least price of a basket before the discount: 0 to 1,000,000,000, with at most as many decimals as the
    /// currency of the event.
    minimum_purchase: Amount => nullable, Min(0), Max(MAX_PRICE);
    /// The ticket types to which the discount applies: at most 500, each once. Empty means all ticket types of the
    /// event.
    applicable_ticket_types: Vec<TicketTypeId> => default(Vec::new()), MaxItems(MAX_TICKET_TYPES), Unique;
    /// Whether the discount is enabled.
    is_active: bool => default(true);
    /// Whether the discount applies to orders without a code.
    auto_apply: bool => default(false);
}

impl UpdateDiscount {
    /// Sets the reduction: a percentage, or an amount from 0 to 1,000,000,000 with at most as many decimals as the
    /// currency of the event.
    #[must_use]
    pub fn value(self, value: impl Into<DiscountValue>) -> Self {
        let value = value.into();
        self.discount_type(value.discount_type()).number(value.number())
    }
}

/// A discount, with its reduction as the two fields in which requests write it.
#[derive(Debug)]
pub(crate) struct CurrentDiscount {
    discount: Discount,
    discount_type: DiscountType,
    number: Amount,
}

impl From<Discount> for CurrentDiscount {
    fn from(discount: Discount) -> Self {
        Self { discount_type: discount.value.discount_type(), number: discount.value.number(), discount }
    }
}

impl std::ops::Deref for CurrentDiscount {
    type Target = Discount;

    fn deref(&self) -> &Discount {
        &self.discount
    }
}

list_request! {
    /// A request to list discounts.
    pub struct ListDiscounts {
        /// Only discounts of this event.
        pub event_id: Option<EventId>,
        /// Only discounts with exactly this code. Upper and lower case and different encodings of a letter are
        /// equivalent.
        pub code: Option<String> [MaxLength(LINE_LENGTH)],
        /// Only enabled discounts, or only the others.
        pub is_active: Option<bool>,
        /// The part of the list to return.
        pub page: PageRequest<DiscountId>,
    }
}

/// # Constructors
impl ValidateDiscount {
    /// Creates a question about a code that the customer entered and the items of the basket.
    #[must_use]
    pub fn new(event_id: EventId, code: impl Into<String>, ticket_items: impl IntoIterator<Item = BasketItem>) -> Self {
        let ticket_items = ticket_items.into_iter().collect();
        Self { event_id, code: code.into(), order_amount: Amount::ZERO, ticket_items }
    }
}

form! {
    /// A request to validate a code: whether it applies to a basket, and how much it reduces the price.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct ValidateDiscount {
        /// The event.
        pub event_id: EventId,
        /// The code that the customer entered: 1 to 255 characters.
        pub code: String [MinLength(1), MaxLength(LINE_LENGTH)],
        /// The price of the basket according to the client: any number from 0. It is ignored: the sum of the items
        /// counts.
        pub order_amount: Amount [Min(0), Rounded],
        /// The items of the basket: at most 100.
        pub ticket_items: Vec<BasketItem> [MaxItems(MAX_ITEMS)],
    }
}

impl BasketItem {
    /// Creates an item of `quantity` tickets of one type at this price each.
    #[must_use]
    pub const fn new(ticket_type_id: TicketTypeId, quantity: i64, price: Amount) -> Self {
        Self { ticket_type_id, quantity, price }
    }
}

form! {
    /// One item of a basket.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct BasketItem {
        /// The ticket type.
        pub ticket_type_id as "ticketId": TicketTypeId,
        /// The number of tickets: at least 1.
        pub quantity: i64 [Min(1)],
        /// The price of one ticket: 0 to 1,000,000,000, with at most as many decimals as the currency of the event.
        pub price: Amount [Min(0), Max(MAX_PRICE)],
    }
}

responses! {
    /// The response to the validation of a code: whether it applies to a basket.
    pub struct DiscountValidationResponse {
        /// Whether it applies.
        pub valid: bool,
        /// Why it does not apply.
        pub error: Option<DiscountRefusal>,
        /// The discount, if it applies.
        pub discount: Option<ValidatedDiscount>,
        /// The amount that was not reached, if the basket costs too little. Omitted from the JSON otherwise. If the
        /// code applies, it is the least amount that the payment gateway takes: an order would be refused.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "server", schemars(with = "DiscountErrorData"))]
        pub error_data: Option<DiscountErrorData>,
    }

    /// A discount that applies to a basket.
    pub struct ValidatedDiscount {
        /// The id.
        pub id: DiscountId,
        /// The code, as the organizer wrote it.
        pub code: String,
        /// The reduction: a percentage, or an amount in the currency of the event.
        #[serde(flatten)]
        pub value: DiscountValue,
        /// The ticket types to which the discount applies. Empty means all ticket types of the event.
        pub applicable_ticket_types: Vec<TicketTypeId>,
        /// By how much it reduces the price of the basket.
        pub discounted_amount: Amount,
    }

    /// The amount that a basket does not reach.
    #[derive(Copy)]
    pub struct DiscountErrorData {
        /// The `minimumPurchase` of the discount, or the least amount that the payment gateway takes.
        pub amount: Amount,
    }
}
