//! Orders: what a customer buys for one event.

use super::customer::Customer;
use super::new_order::{CheckoutRedirectUrls, ShippingAddress};
use super::ticket::TicketStatus;
use crate::enums::text_enum::text_enum;
use crate::form::limits::TextLimit::{Email, MaxLength};
use crate::form::limits::{EMAIL_LENGTH, LINE_LENGTH};
use crate::model::values::amount::Amount;
use crate::model::values::id::{
    CustomerId, DiscountId, EventId, OrderId, OrderItemId, OrganizationId, TicketId, TicketTypeId,
};
use crate::model::values::metadata::Metadata;
use crate::model::values::page::{PageRequest, list_request};
use crate::model::values::responses::{responses, with_shared_fields};
use crate::model::values::timestamp::Timestamp;

text_enum! {
    /// The status of an order.
    pub enum OrderStatus {
        /// It reserves its seats and waits for the payment.
        Pending = "PENDING",
        /// It is paid, or free of charge, and its tickets are issued.
        Completed = "COMPLETED",
        /// It was cancelled.
        Cancelled = "CANCELLED",
        /// It was not paid in time.
        Expired = "EXPIRED",
    }
}

text_enum! {
    /// The status of a payment.
    pub enum PaymentStatus {
        /// The customer has not paid yet.
        Waiting = "WAITING",
        /// The customer has paid.
        Completed = "COMPLETED",
        /// An attempt to pay failed. Another one may follow.
        Failed = "FAILED",
        /// The payment was refunded.
        Refunded = "REFUNDED",
    }
}

text_enum! {
    /// How a completed order was paid.
    pub enum PaymentMethod {
        /// Through the payment gateway.
        Gateway = "GATEWAY",
        /// In another way: the order was marked as paid.
        Manual = "MANUAL",
        /// It cost nothing.
        Free = "FREE",
    }
}

with_shared_fields! {
    shared {
        /// The id.
        id: OrderId,
        /// What the customer pays, in the currency of the event: the sum of the final amounts of the items.
        total: Amount,
        /// The reduction by a discount. Not set if no discount applied.
        discounted_amount: Option<Amount>,
        /// The state. A pending order is reported as EXPIRED as soon as its hold has expired.
        status: OrderStatus,
        /// The customer.
        customer_id: CustomerId,
        /// The event.
        event_id: EventId,
        /// The organization.
        organizer_id: OrganizationId,
        /// The code of the affiliate who referred the customer.
        affiliate_code: Option<String>,
        /// The code of the discount that applied, as the organizer wrote it.
        discount_code: Option<String>,
        /// The organization's own name for the order.
        reference: Option<String>,
        /// What the organization has attached to the order.
        metadata: Metadata [default],
        /// Whether the customer was reminded to pay.
        checkout_reminder_sent: bool,
        /// The currency of the amounts: an ISO 4217 code.
        currency: String [default],
        /// How the order was paid. Not set if it was never completed.
        payment_method: Option<PaymentMethod>,
        /// When the order was completed. Not set if it never was.
        completed_at: Option<Timestamp>,
        /// When the order was created.
        created_at: Timestamp,
        /// When the order last changed.
        updated_at: Timestamp,
        /// The customer, with the name given in this order.
        customer: Customer,
        /// The payment through the gateway. Not set for a free order, or if no gateway is configured.
        payment_gateway: Option<Payment>,
    }

    /// An order without its issued tickets.
    pub struct OrderSummary {
        /// The items, in the order of the request.
        items: Vec<OrderItemSummary>,
    }
    /// An order with its issued tickets.
    pub struct Order {
        /// The items, in the order of the request.
        items: Vec<OrderItem>,
    }
}

impl Order {
    /// The issued tickets of all items.
    pub fn tickets(&self) -> impl Iterator<Item = &OrderTicket> {
        self.items.iter().flat_map(|item| &item.issued_tickets)
    }
}

responses! {
    /// A payment through the gateway.
    pub struct Payment {
        /// The URL at which the customer pays. Empty if the gateway reported a payment for an order without a checkout
        /// URL.
        pub link: String,
        /// The status of the payment.
        pub status: PaymentStatus,
    }
}

with_shared_fields! {
    shared {
        /// The id.
        id: OrderItemId,
        /// The number of tickets.
        quantity: i64,
        /// The price of one ticket when the order was created.
        price: Amount,
        /// Price times quantity.
        item_subtotal: Amount,
        /// The reduction by a discount.
        item_discount: Amount,
        /// The subtotal less the discount.
        final_amount: Amount,
        /// The number of its tickets that are cancelled, whether their price was refunded or not.
        cancelled_quantity: i64 [default],
        /// What the cancelled tickets have cost: their shares of the final amount, as a refund of these tickets gives
        /// them back. What was given back is known of an order only, and is among its details: an amount can be refunded
        /// without tickets, and tickets can be cancelled without a refund.
        cancelled_amount: Amount [default],
        /// The order.
        order_id: OrderId,
        /// The ticket type.
        #[serde(rename = "ticketId")]
        ticket_type_id: TicketTypeId,
        /// When the order was created.
        created_at: Timestamp,
        /// The same as the time of creation: what was ordered never changes.
        updated_at: Timestamp,
    }

    /// One item of an order, without its tickets.
    pub struct OrderItemSummary {}
    /// One item of an order.
    pub struct OrderItem {
        /// The name of the ticket type: the current one, even if it was changed after the order. Lists of orders do not
        /// contain it.
        ticket_type_name: String [default],
        /// The tickets; empty until the order is completed.
        issued_tickets: Vec<OrderTicket>,
    }
}

responses! {
    /// A ticket as shown in its order.
    pub struct OrderTicket {
        /// The id.
        pub id: TicketId,
        /// The code that is scanned at check-in.
        pub code: String,
        /// The state.
        pub status: TicketStatus,
        /// The ticket type.
        #[serde(rename = "ticketId")]
        pub ticket_type_id: TicketTypeId,
    }

    /// Details of an order that the order itself does not contain: of the request that created it, and of its payment.
    /// Fields that the request did not have are not set.
    pub struct OrderDetails {
        /// The order.
        pub order_id: OrderId,
        /// The company that buys.
        pub company_name: Option<String>,
        /// The language and country of the customer.
        pub locale: Option<String>,
        /// The language of the order.
        pub language: Option<String>,
        /// Where physical tickets are sent.
        pub shipping_address: Option<ShippingAddress>,
        /// Where the customer is redirected after the checkout.
        pub checkout_redirect_urls: Option<CheckoutRedirectUrls>,
        /// Until when the order reserves or reserved its seats without a payment. Not set for an order that cost
        /// nothing.
        pub hold_until: Option<Timestamp>,
        /// When the order was completed. Not set if it never was.
        pub completed_at: Option<Timestamp>,
        /// When the order was cancelled. Not set if it was not, or by a version that did not store it.
        pub cancelled_at: Option<Timestamp>,
        /// How the order was paid. Not set if it was never completed.
        pub payment_method: Option<PaymentMethod>,
        /// What was decided to be given back of the order's total, through the gateway or manually.
        pub refunded: Amount [default],
        /// The part of it that is still to be returned manually.
        pub manual_refund_due: Amount [default],
        /// The link of the page with all tickets of the order, for the buyer. It works without an API key. Like the
        /// order itself, it shows the codes of the tickets, so the scope `orders:read` suffices. Not set if the order
        /// was never completed, or if ticket documents are not switched on.
        pub documents_url: Option<String> [default],
        /// The link of the page of the order, for the buyer, which exists from its creation. It works without an API key.
        /// With [event pages](crate::Builder::event_pages), the buyer can pay or cancel a pending order there. Not set if
        /// ticket documents are not switched on.
        pub order_url: Option<String> [default],
    }

    /// The response to a new order.
    pub struct CreateOrderResponse {
        /// The order.
        pub order: Order,
        /// The URL at which the customer pays. Not set for a free order, if no gateway is configured, or if the gateway
        /// reported a payment before it returned a URL.
        pub checkout_url: Option<String>,
        /// All tickets of the order; empty until it is completed.
        pub issued_tickets: Vec<OrderTicket>,
    }
}

impl From<Order> for CreateOrderResponse {
    fn from(order: Order) -> Self {
        // The link is empty if the gateway reported a payment for an order without a checkout URL.
        let link = order.payment_gateway.as_ref().map(|payment| payment.link.clone());
        let checkout_url = link.filter(|link| !link.is_empty());
        let issued_tickets = order.tickets().cloned().collect();
        Self { order, checkout_url, issued_tickets }
    }
}

responses! {
    /// The response to a cancellation.
    #[derive(Copy)]
    pub struct CancelOrderResponse {
        /// Always true.
        pub success: bool,
        /// Whether the organizer has to return the money manually. False if the gateway handles the refund.
        pub requires_manual_refund: bool,
    }
}

list_request! {
    /// A request to list orders.
    pub struct ListOrders {
        /// Only orders for this event.
        pub event_id: Option<EventId>,
        /// Only orders that currently have this status.
        pub status: Option<OrderStatus>,
        /// Only orders of the customer with exactly this e-mail address. Upper and lower case are equivalent, and so
        /// are both spellings of an international domain.
        pub customer_email: Option<String> [MaxLength(EMAIL_LENGTH), Email],
        /// Only orders created at this time or later.
        pub created_from: Option<Timestamp>,
        /// Only orders created before this time.
        pub created_before: Option<Timestamp>,
        /// Only orders completed at this time or later. An order that was completed and then cancelled is one of them.
        pub completed_from: Option<Timestamp>,
        /// Only orders completed before this time.
        pub completed_before: Option<Timestamp>,
        /// Only orders that last changed at this time or later. To poll for changes, overlap by a minute: the time of a
        /// change is that at which its transaction began, and others that began later may appear before it.
        pub updated_from: Option<Timestamp>,
        /// Only orders that last changed before this time.
        pub updated_before: Option<Timestamp>,
        /// Only orders that this discount applied to.
        pub discount_id: Option<DiscountId>,
        /// Only orders with tickets of this type.
        pub ticket_type_id as "ticketId": Option<TicketTypeId>,
        /// Only orders with exactly this reference.
        pub reference: Option<String> [MaxLength(LINE_LENGTH)],
        /// Only orders that were paid in this way. An order that was completed and then cancelled is one of them.
        pub payment_method: Option<PaymentMethod>,
        /// The part of the list to return.
        pub page: PageRequest<OrderId>,
    }
}
