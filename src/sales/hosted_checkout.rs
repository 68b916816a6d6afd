//! The hosted checkout page of the sandbox gateway. The token of a checkout link identifies the order; there is no API
//! key.

use crate::error::{Error, ResourceKind, Result};
use crate::model::checkout::{CheckoutOutcome, CheckoutResult, HostedCheckout};
use crate::model::order::OrderStatus;
use crate::store::checkouts::CheckoutOrder;
use crate::store::{Transaction, checkouts, events, order_details, orders, refunds};

/// Returns the order of a payment, by the gateway's reference of the payment.
pub(crate) fn find(tx: &Transaction<'_>, reference: &str) -> Result<CheckoutOrder> {
    checkouts::find_order(tx, reference)?.ok_or(Error::NotFound(ResourceKind::Checkout))
}

/// Returns the contents of the checkout page.
pub(crate) fn page(tx: &Transaction<'_>, reference: &str) -> Result<HostedCheckout> {
    let CheckoutOrder { organization, id } = find(tx, reference)?;
    let order = orders::get(tx, organization, id)?;
    let event = events::get(tx, organization, order.event_id)?;
    let hold_until = if order.status == OrderStatus::Pending { orders::hold_until(tx, id)? } else { None };
    Ok(HostedCheckout {
        order,
        currency: orders::currency(tx, id)?,
        hold_until,
        event_title: event.title,
        event_location: event.location,
        event_start: event.start_date,
        timezone: event.timezone,
        redirect_urls: order_details::get(tx, organization, id)?.checkout_redirect_urls,
    })
}

/// Returns the result of the outcome that the customer chose. A payment that came too late for its order is a failure:
/// it was refunded, or a refund is due.
pub(crate) fn result(tx: &Transaction<'_>, order: CheckoutOrder, chosen: CheckoutOutcome) -> Result<CheckoutResult> {
    let CheckoutOrder { organization, id } = order;
    let outcome = match chosen {
        CheckoutOutcome::Success if !is_paid(tx, order)? => CheckoutOutcome::Failure,
        chosen => chosen,
    };
    let urls = order_details::get(tx, organization, id)?.checkout_redirect_urls;
    let redirect_url = urls.map(|urls| match outcome {
        CheckoutOutcome::Success => urls.success,
        CheckoutOutcome::Failure => urls.failure,
        CheckoutOutcome::Cancel => urls.cancel,
    });
    Ok(CheckoutResult { outcome, redirect_url })
}

fn is_paid(tx: &Transaction<'_>, order: CheckoutOrder) -> Result<bool> {
    let completed = orders::get(tx, order.organization, order.id)?.status == OrderStatus::Completed;
    Ok(completed && !refunds::exists_for_late_payment(tx, order.id)?)
}
