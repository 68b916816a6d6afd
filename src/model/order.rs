//! Orders: what a customer buys for one event.

use super::amount::Amount;
use super::customer::{Customer, NewCustomer};
use super::id::{CustomerId, EventId, OrderId, OrderItemId, OrganizationId, TicketId, TicketTypeId, kind};
use super::page::PageRequest;
use super::ticket::TicketStatus;
use super::timestamp::Timestamp;
use crate::form::fields::{Fields, FromFields, object_value};
use crate::text_enum::text_enum;

text_enum! {
    /// Where an order stands.
    pub enum OrderStatus {
        /// It holds its places and waits for the payment.
        Pending = "PENDING",
        /// It is paid, or cost nothing; its tickets are issued.
        Completed = "COMPLETED",
        /// It was cancelled.
        Cancelled = "CANCELLED",
        /// It was not paid in time.
        Expired = "EXPIRED",
    }
}

text_enum! {
    /// Where a payment stands.
    pub enum PaymentStatus {
        /// The customer has not paid yet.
        Waiting = "WAITING",
        /// The money came.
        Completed = "COMPLETED",
        /// An attempt to pay failed; another may follow.
        Failed = "FAILED",
        /// The money went back.
        Refunded = "REFUNDED",
    }
}

/// An order. `T` is what it shows of its issued tickets: [`Order`] lists them with each item, [`OrderSummary`] does not.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "server", schemars(rename = "OrderOf{Item}", description = "An order."))]
#[serde(rename_all = "camelCase")]
pub struct OrderOf<Item> {
    /// Its id.
    pub id: OrderId,
    /// What the customer pays, in the event's currency: the sum of the items' final amounts.
    pub total: Amount,
    /// What a discount took off; `None` where none applied.
    pub discounted_amount: Option<Amount>,
    /// Where it stands: EXPIRED from the instant at which its hold has run out.
    pub status: OrderStatus,
    /// The customer.
    pub customer_id: CustomerId,
    /// The event.
    pub event_id: EventId,
    /// The organization.
    pub organizer_id: OrganizationId,
    /// Who sent the customer.
    pub affiliate_code: Option<String>,
    /// The discount that applied, as its organizer wrote it.
    pub discount_code: Option<String>,
    /// Whether the customer was reminded to pay.
    pub checkout_reminder_sent: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it changed last.
    pub updated_at: Timestamp,
    /// The customer, with the name given at the time.
    pub customer: Customer,
    /// The payment through the gateway; `None` for a free order and where no gateway is set up.
    pub payment_gateway: Option<Payment>,
    /// What was bought, in the order of the request.
    pub items: Vec<Item>,
}

/// An order with its issued tickets.
pub type Order = OrderOf<OrderItem>;

/// An order without its issued tickets.
pub type OrderSummary = OrderOf<OrderItemSummary>;

/// A payment through the gateway.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
pub struct Payment {
    /// Where the customer pays. Empty where a payment was reported of an order for which no gateway gave a link.
    pub link: String,
    /// Where the payment stands.
    pub status: PaymentStatus,
}

/// One item of an order, without its tickets.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct OrderItemSummary {
    /// Its id.
    pub id: OrderItemId,
    /// How many.
    pub quantity: i64,
    /// The price of one when the order was made.
    pub price: Amount,
    /// Price times quantity.
    pub item_subtotal: Amount,
    /// What a discount takes off.
    pub item_discount: Amount,
    /// What remains to be paid.
    pub final_amount: Amount,
    /// The order.
    pub order_id: OrderId,
    /// The ticket type.
    #[serde(rename = "ticketId")]
    pub ticket_type_id: TicketTypeId,
    /// When the order was made.
    pub created_at: Timestamp,
    /// The same: an item never changes.
    pub updated_at: Timestamp,
}

/// One item of an order.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct OrderItem {
    /// What was bought.
    #[serde(flatten)]
    pub item: OrderItemSummary,
    /// Its tickets: none before the order is completed.
    pub issued_tickets: Vec<OrderTicket>,
}

/// A ticket as its order shows it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct OrderTicket {
    /// Its id.
    pub id: TicketId,
    /// What is scanned at the door.
    pub code: String,
    /// Where it stands.
    pub status: TicketStatus,
    /// The ticket type.
    #[serde(rename = "ticketId")]
    pub ticket_type_id: TicketTypeId,
}

/// What the request of an order said and [`Order`] does not show; `None` where it was not given.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct OrderDetails {
    /// The order.
    pub order_id: OrderId,
    /// The company that buys.
    pub company_name: Option<String>,
    /// The customer's language and country.
    pub locale: Option<String>,
    /// The language of the order.
    pub language: Option<String>,
    /// Where physical tickets go.
    pub shipping_address: Option<ShippingAddress>,
    /// Where the customer goes after the checkout.
    pub checkout_redirect_urls: Option<CheckoutRedirectUrls>,
}

/// The answer to a new order.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CreateOrderResponse {
    /// The order.
    pub order: Order,
    /// Where the customer pays; `None` for a free order, where no gateway is set up, and where the payment was reported
    /// and the link never came.
    pub checkout_url: Option<String>,
    /// Every ticket of the order; none before it is completed.
    pub issued_tickets: Vec<OrderTicket>,
}

impl From<Order> for CreateOrderResponse {
    fn from(order: Order) -> Self {
        // Where the payment was reported and the link never came, the link is empty.
        let link = order.payment_gateway.as_ref().map(|payment| payment.link.clone());
        let checkout_url = link.filter(|link| !link.is_empty());
        let issued_tickets = order.items.iter().flat_map(|item| item.issued_tickets.clone()).collect();
        Self { order, checkout_url, issued_tickets }
    }
}

/// The answer to a cancellation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CancelOrderResponse {
    /// Always true.
    #[cfg_attr(feature = "server", schemars(extend("const" = true)))]
    pub success: bool,
    /// Whether the organizer has to return the money by hand. False while the gateway has the refund in hand.
    pub requires_manual_refund: bool,
}

/// A new order.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct CreateOrder {
    /// The event.
    pub event_id: EventId,
    /// Who buys.
    pub customer: NewCustomer,
    /// At least one entry.
    pub items: Vec<NewOrderItem>,
    /// The code of a discount; without one the best automatic discount applies.
    pub discount_code: Option<String>,
    /// Who sent the customer.
    pub affiliate_code: Option<String>,
    /// The language of the order.
    pub language: Option<String>,
    /// Where physical tickets go; required where the event delivers physically.
    pub shipping_address: Option<ShippingAddress>,
    /// Where the customer goes after the checkout.
    pub checkout_redirect_urls: Option<CheckoutRedirectUrls>,
}

impl CreateOrder {
    /// An order of `quantity` tickets of one type.
    #[must_use]
    pub fn new(event_id: EventId, customer: NewCustomer, ticket_type_id: TicketTypeId, quantity: i64) -> Self {
        Self {
            event_id,
            customer,
            items: vec![NewOrderItem { ticket_type_id, quantity }],
            discount_code: None,
            affiliate_code: None,
            language: None,
            shipping_address: None,
            checkout_redirect_urls: None,
        }
    }
}

impl FromFields for CreateOrder {
    fn from_fields(fields: &mut Fields<'_>) -> Self {
        Self {
            event_id: fields.required("eventId"),
            customer: fields.required("customer"),
            items: fields.required("items"),
            discount_code: fields.nullable("discountCode"),
            affiliate_code: fields.nullable("affiliateCode"),
            language: fields.nullable("language"),
            shipping_address: fields.nullable("shippingAddress"),
            checkout_redirect_urls: fields.optional("checkoutRedirectUrls"),
        }
    }
}

/// One entry of a new order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct NewOrderItem {
    /// The ticket type.
    #[cfg_attr(feature = "server", schemars(rename = "ticketId"))]
    pub ticket_type_id: TicketTypeId,
    /// From 1 to 100.
    pub quantity: i64,
}

impl FromFields for NewOrderItem {
    fn from_fields(fields: &mut Fields<'_>) -> Self {
        Self { ticket_type_id: fields.required("ticketId"), quantity: fields.required("quantity") }
    }
}

object_value!(NewOrderItem);

/// Where physical tickets go.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
pub struct ShippingAddress {
    /// Street and number: at least 1 character.
    pub street: String,
    /// Postal code: at least 1 character.
    pub zip: String,
    /// Town: at least 1 character.
    pub city: String,
    /// Exactly 2 characters (ISO 3166-1 alpha-2).
    pub country: String,
}

impl FromFields for ShippingAddress {
    fn from_fields(fields: &mut Fields<'_>) -> Self {
        Self {
            street: fields.required("street"),
            zip: fields.required("zip"),
            city: fields.required("city"),
            country: fields.required("country"),
        }
    }
}

object_value!(ShippingAddress);

/// Where the customer goes after the checkout: URIs (RFC 3986).
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
pub struct CheckoutRedirectUrls {
    /// After the payment.
    pub success: String,
    /// After a payment that failed.
    pub failure: String,
    /// After the customer gave up.
    pub cancel: String,
}

impl FromFields for CheckoutRedirectUrls {
    fn from_fields(fields: &mut Fields<'_>) -> Self {
        Self {
            success: fields.required("success"),
            failure: fields.required("failure"),
            cancel: fields.required("cancel"),
        }
    }
}

object_value!(CheckoutRedirectUrls);

/// Which orders to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct ListOrders {
    /// Only those of this event.
    pub event_id: Option<EventId>,
    /// Only those that read this status now.
    pub status: Option<OrderStatus>,
    /// Only those of this customer: the whole address, upper and lower case alike.
    pub customer_email: Option<String>,
    /// Only those made at this instant or later.
    pub created_from: Option<Timestamp>,
    /// Only those made before this instant.
    pub created_before: Option<Timestamp>,
    /// Which part of the list.
    #[cfg_attr(feature = "server", schemars(flatten))]
    pub page: PageRequest<kind::Order>,
}

impl FromFields for ListOrders {
    fn from_fields(fields: &mut Fields<'_>) -> Self {
        Self {
            event_id: fields.optional("eventId"),
            status: fields.optional("status"),
            customer_email: fields.optional("customerEmail"),
            created_from: fields.optional("createdFrom"),
            created_before: fields.optional("createdBefore"),
            page: PageRequest::from_fields(fields),
        }
    }
}
