//! The conditions for orders, and the transitions of their status.

use super::event::check_on_sale;
use crate::error::{Error, FieldErrors, Reason, Result};
use crate::model::sale::event::{DeliveryMethod, EventStatus};
use crate::model::sale::new_order::{CreateOrder, MAX_ITEM_QUANTITY, MAX_TICKETS};
use crate::model::sale::order::{OrderStatus, PaymentMethod};
use crate::model::values::timestamp::Timestamp;

/// Checks the tickets of an order, all items together.
pub(crate) fn check_tickets(request: &CreateOrder, errors: &mut FieldErrors) {
    // A quantity beyond its own limit has an error already.
    let tickets: i64 = request.items.iter().map(|item| item.quantity.clamp(0, MAX_ITEM_QUANTITY)).sum();
    if tickets > MAX_TICKETS {
        errors.add("items", format!("must have at most {MAX_TICKETS} tickets in total"));
    }
}

/// Checks that an order which is paid already has nothing to do with a checkout, and that only such an order has a
/// payment.
pub(crate) fn check_payment(request: &CreateOrder, errors: &mut FieldErrors) {
    let is_paid = request.payment_taken().is_some();
    errors.check(is_paid || request.paid.is_none(), "paid", "must be absent unless the payment is PAID");
    errors.check(
        !is_paid || request.checkout_redirect_urls.is_none(),
        "checkoutRedirectUrls",
        "must be absent if the payment is PAID: there is no checkout",
    );
}

/// The conditions of an event for orders.
#[derive(Debug, Clone)]
pub(crate) struct Sale {
    pub(crate) title: String,
    pub(crate) status: EventStatus,
    pub(crate) over_at: Timestamp,
    pub(crate) currency: String,
    pub(crate) delivery_method: DeliveryMethod,
    pub(crate) shipping_countries: Vec<String>,
    pub(crate) accepts_company: bool,
    /// Whether the organizer gets no mails of the orders of the event.
    pub(crate) disable_notifications: bool,
    /// Whether the event has automatic discounts, enabled or not.
    pub(crate) has_automatic_discounts: bool,
}

impl Sale {
    pub(crate) fn check_on_sale(&self, now: Timestamp) -> Result<()> {
        check_on_sale(self.status, self.over_at, now).map_err(|refused| refused.into_error(""))
    }

    /// Checks that the event accepts the company of the customer and ships to the address.
    pub(crate) fn check_buyer(&self, request: &CreateOrder) -> Result<()> {
        let mut errors = FieldErrors::default();
        let company_ok = self.accepts_company || request.customer.company_name.is_none();
        errors.check(
            company_ok,
            "customer.companyName",
            "must be absent: this event does not accept orders by companies",
        );
        if self.delivery_method == DeliveryMethod::Physical {
            match &request.shipping_address {
                None => errors.add("shippingAddress", "is required: the tickets of this event are sent by mail"),
                Some(address) => {
                    let ships = self.shipping_countries.is_empty()
                        || self.shipping_countries.iter().any(|country| country.eq_ignore_ascii_case(&address.country));
                    errors.check(
                        ships,
                        "shippingAddress.country",
                        "must be one of the event's shippingCountries, which are two-letter codes (ISO 3166-1 alpha-2)",
                    );
                }
            }
        }
        errors.into_result()
    }
}

/// Checks that one more order with `seats` keeps the unpaid orders of a customer for an event within the limit.
pub(crate) fn check_customer_limit(most: u32, reserved: i64, seats: i64) -> Result<()> {
    if reserved.saturating_add(seats) <= i64::from(most) {
        return Ok(());
    }
    let detail = match reserved {
        0 => format!("unpaid orders of a customer may reserve at most {most} seats of an event"),
        _ => format!(
            "unpaid orders of a customer may reserve at most {most} seats of an event, and those of this one reserve \
             {reserved} already"
        ),
    };
    Err(Error::conflict(Reason::LimitReached, detail))
}

/// The status of an order at the time `now`: a pending order is EXPIRED once its hold has expired.
pub(crate) fn status_at_hold(stored: OrderStatus, hold_until: Option<Timestamp>, now: Timestamp) -> OrderStatus {
    match (stored, hold_until) {
        (OrderStatus::Pending, Some(until)) if now >= until => OrderStatus::Expired,
        (other, _) => other,
    }
}

/// How an order was paid that was completed.
pub(crate) fn payment_method(is_free: bool, by_gateway: bool) -> PaymentMethod {
    match (is_free, by_gateway) {
        (true, _) => PaymentMethod::Free,
        (_, true) => PaymentMethod::Gateway,
        (_, false) => PaymentMethod::Manual,
    }
}

/// Checks that an order can be marked as paid. An EXPIRED order must then claim its seats and its discount use again.
pub(crate) fn check_payable(status: OrderStatus) -> Result<()> {
    match status {
        OrderStatus::Pending | OrderStatus::Expired => Ok(()),
        other => Err(Error::conflict(Reason::OrderNotPending, format!("the order is {other}, not PENDING or EXPIRED"))),
    }
}

pub(crate) fn check_pending(status: OrderStatus) -> Result<()> {
    match status {
        OrderStatus::Pending => Ok(()),
        other => Err(Error::conflict(Reason::OrderNotPending, format!("the order is {other}, not PENDING"))),
    }
}

pub(crate) fn check_cancellable(status: OrderStatus) -> Result<()> {
    match status {
        OrderStatus::Cancelled => Err(Error::conflict(Reason::OrderNotCancellable, "the order is already CANCELLED")),
        _ => Ok(()),
    }
}
