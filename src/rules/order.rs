//! What an order may be, and which status may follow which.

use super::event::status_at;
use super::{Checked, text};
use crate::error::{Error, FieldErrors, Reason, Result};
use crate::model::customer::NewCustomer;
use crate::model::event::{DeliveryMethod, EventStatus};
use crate::model::order::{CreateOrder, ListOrders, OrderStatus};
use crate::model::timestamp::Timestamp;

/// Checks everything about an order that does not depend on what is stored.
pub(crate) fn check(request: CreateOrder, errors: &mut FieldErrors) -> Option<Checked<CreateOrder>> {
    check_customer(errors, &request.customer);
    errors.check(!request.items.is_empty(), "items", "must have at least one entry");
    for (index, item) in request.items.iter().enumerate() {
        let in_range = (1..=100).contains(&item.quantity);
        errors.check(in_range, format!("items[{index}].quantity"), "must be from 1 to 100");
    }
    text::check_optional(errors, "discountCode", request.discount_code.as_deref(), 0);
    text::check_optional(errors, "affiliateCode", request.affiliate_code.as_deref(), 0);
    text::check_optional(errors, "language", request.language.as_deref(), 0);
    if let Some(address) = &request.shipping_address {
        text::check_text(errors, "shippingAddress.street", &address.street, 1);
        text::check_text(errors, "shippingAddress.zip", &address.zip, 1);
        text::check_text(errors, "shippingAddress.city", &address.city, 1);
        text::check_plain(errors, "shippingAddress.country", &address.country);
        let two = address.country.chars().count() == 2;
        errors.check(two, "shippingAddress.country", "must have exactly 2 characters");
    }
    if let Some(urls) = &request.checkout_redirect_urls {
        text::check_uri(errors, "checkoutRedirectUrls.success", &urls.success);
        text::check_uri(errors, "checkoutRedirectUrls.failure", &urls.failure);
        text::check_uri(errors, "checkoutRedirectUrls.cancel", &urls.cancel);
    }
    errors.is_empty().then_some(Checked(request))
}

pub(crate) fn check_customer(errors: &mut FieldErrors, customer: &NewCustomer) {
    text::check_email(errors, "customer.email", &customer.email);
    text::check_text(errors, "customer.name", &customer.name, 1);
    text::check_optional(errors, "customer.companyName", customer.company_name.as_deref(), 0);
    text::check_optional(errors, "customer.locale", customer.locale.as_deref(), 0);
}

pub(crate) fn check_list(request: ListOrders, mut errors: FieldErrors) -> Result<Checked<ListOrders>> {
    super::page::check(&mut errors, &request.page);
    text::check_optional(&mut errors, "customerEmail", request.customer_email.as_deref(), 0);
    errors.into_result().map(|()| Checked(request))
}

/// What an event says about who may order.
#[derive(Debug, Clone)]
pub(crate) struct Sale {
    pub(crate) status: EventStatus,
    pub(crate) over_at: Timestamp,
    pub(crate) currency: String,
    pub(crate) delivery_method: DeliveryMethod,
    pub(crate) shipping_countries: Vec<String>,
    pub(crate) accepts_company: bool,
}

impl Sale {
    pub(crate) fn check_on_sale(&self, now: Timestamp) -> Result<()> {
        match status_at(self.status, self.over_at, now) {
            EventStatus::Published => Ok(()),
            other => Err(Error::conflict(Reason::EventNotOnSale, format!("the event is {other}"))),
        }
    }

    /// Whether the event takes what the order says about a company and an address.
    pub(crate) fn check_buyer(&self, request: &CreateOrder) -> Result<()> {
        let mut errors = FieldErrors::default();
        let company_ok = self.accepts_company || request.customer.company_name.is_none();
        errors.check(company_ok, "customer.companyName", "is not accepted by this event");
        if self.delivery_method == DeliveryMethod::Physical {
            match &request.shipping_address {
                None => errors.add("shippingAddress", "is required: the tickets of this event are sent by mail"),
                Some(address) => {
                    let ships = self.shipping_countries.is_empty()
                        || self.shipping_countries.iter().any(|country| country.eq_ignore_ascii_case(&address.country));
                    errors.check(ships, "shippingAddress.country", "is not one that this event ships to");
                }
            }
        }
        errors.into_result()
    }
}

/// The status that an order reads and counts as: a hold that has run out is gone from that instant.
pub(crate) fn status_at_hold(stored: OrderStatus, hold_until: Option<Timestamp>, now: Timestamp) -> OrderStatus {
    match (stored, hold_until) {
        (OrderStatus::Pending, Some(until)) if now >= until => OrderStatus::Expired,
        (other, _) => other,
    }
}

/// Whether an order can be marked as paid. Where it is EXPIRED, its places and the use of its discount must be taken anew.
pub(crate) fn check_payable(status: OrderStatus) -> Result<()> {
    match status {
        OrderStatus::Pending | OrderStatus::Expired => Ok(()),
        other => Err(Error::conflict(Reason::OrderNotPending, format!("the order is {other}"))),
    }
}

pub(crate) fn check_pending(status: OrderStatus) -> Result<()> {
    match status {
        OrderStatus::Pending => Ok(()),
        other => Err(Error::conflict(Reason::OrderNotPending, format!("the order is {other}"))),
    }
}

pub(crate) fn check_cancellable(status: OrderStatus) -> Result<()> {
    match status {
        OrderStatus::Cancelled => Err(Error::conflict(Reason::OrderNotCancellable, "the order is CANCELLED already")),
        _ => Ok(()),
    }
}
