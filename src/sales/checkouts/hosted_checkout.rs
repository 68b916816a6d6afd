//! The pages of a checkout: the hosted checkout page of the sandbox gateway, whose token identifies the order, and the
//! end of a checkout on the gateway's page. There is no API key.

use sha2::{Digest, Sha256};

use crate::error::{Error, ResourceKind, Result};
use crate::form::accepted::preferred_language;
use crate::model::payments::checkout::{
    CheckoutOutcome, CheckoutResult, CheckoutState, CheckoutStatus, HostedCheckout, SettledCheckout,
};
use crate::model::sale::gateway_account::GatewayIdentity;
use crate::model::sale::order::{Order, OrderStatus, PaymentStatus};
use crate::model::sale::received_payment::PaymentPurpose;
use crate::model::values::id::{EventId, OrderId};
use crate::rules::order::status_at_hold;
use crate::store::Transaction;
use crate::store::money::checkouts::CheckoutOrder;
use crate::store::money::payments::StoredPayment;
use crate::store::money::{checkout_parameters, checkouts, payments};
use crate::store::order::{order_details, order_status, orders};
use crate::store::sale::events;

/// Returns the order of a checkout page, by the gateway's reference of the checkout. A checkout that was replaced by a
/// new one is gone.
pub(crate) fn find(tx: &Transaction<'_>, reference: &str) -> Result<CheckoutOrder> {
    if let Some(order) = checkouts::find_current(tx, reference)? {
        return Ok(order);
    }
    Err(match checkouts::find_order(tx, reference)? {
        Some(_) => Error::Gone(ResourceKind::Checkout),
        None => Error::NotFound(ResourceKind::Checkout),
    })
}

pub(crate) fn page(tx: &Transaction<'_>, reference: &str) -> Result<HostedCheckout> {
    let CheckoutOrder { organization, id } = find(tx, reference)?;
    let order = orders::get(tx, organization, id)?;
    let event = events::get(tx, organization, order.event_id)?;
    let details = order_details::get(tx, organization, id)?;
    let hold_until = details.hold_until.filter(|_| order.status == OrderStatus::Pending);
    Ok(HostedCheckout {
        order,
        currency: event.currency,
        hold_until,
        language: preferred_language(details.language.or(details.locale)),
        documents_url: details.documents_url,
        event_title: event.title,
        event_status: event.status,
        event_location: event.location,
        event_start: event.start_date,
        event_end: event.end_date,
        timezone: event.timezone,
        redirect_urls: details.checkout_redirect_urls,
    })
}

/// Returns the result of the outcome that the customer chose. A payment that came too late for its order is a failure:
/// it was refunded, or a refund is due.
pub(crate) fn result(tx: &Transaction<'_>, order: CheckoutOrder, chosen: CheckoutOutcome) -> Result<CheckoutResult> {
    let outcome = match chosen {
        CheckoutOutcome::Success if !is_paid(tx, &orders::get(tx, order.organization, order.id)?)? => {
            CheckoutOutcome::Failure
        }
        chosen => chosen,
    };
    let redirect_url = redirect_url(tx, order, Some(outcome))?;
    Ok(CheckoutResult { outcome, redirect_url })
}

/// The page to send the customer to, if the order names one for the outcome.
fn redirect_url(
    tx: &Transaction<'_>,
    CheckoutOrder { organization, id }: CheckoutOrder,
    outcome: Option<CheckoutOutcome>,
) -> Result<Option<String>> {
    let urls = order_details::get(tx, organization, id)?.checkout_redirect_urls;
    Ok(urls.zip(outcome).map(|(urls, outcome)| match outcome {
        CheckoutOutcome::Success => urls.success,
        CheckoutOutcome::Failure => urls.failure,
        CheckoutOutcome::Cancel => urls.cancel,
    }))
}

/// The last part of the URL under which the customer can come back to an order, although neither the customer nor the
/// gateway knows the gateway's id of the checkout there.
pub(crate) fn return_reference(order: OrderId, token: &str) -> String {
    format!("{order}-{token}")
}

/// Returns the order of such a reference, and the gateway's id of its newest checkout.
fn find_returning(tx: &Transaction<'_>, reference: &str) -> Result<Option<(CheckoutOrder, Option<String>)>> {
    let Some((order, token)) = reference.split_once('-') else { return Ok(None) };
    let Ok(order) = order.parse::<OrderId>() else { return Ok(None) };
    let stored = checkout_parameters::return_token(tx, order)?;
    // Hashes are compared, so that the time tells nothing about the token.
    let is_same = stored.is_some_and(|stored| Sha256::digest(stored) == Sha256::digest(token));
    if is_same { checkouts::find_by_order(tx, order) } else { Ok(None) }
}

/// A checkout that may have to be settled.
pub(crate) struct ToSettle {
    pub(crate) order: CheckoutOrder,
    pub(crate) event: EventId,
    /// The gateway's id of the checkout. `None` if the gateway has not answered.
    pub(crate) reference: Option<String>,
    /// Whether the gateway may know more than is stored.
    pub(crate) asks_gateway: bool,
    /// The gateway that has the newest checkout of the order. `None` if an earlier version asked for it.
    pub(crate) gateway: Option<GatewayIdentity>,
}

/// Returns what is known about a checkout, by the gateway's reference of it, or by a
/// [reference for the customer's return](return_reference).
pub(crate) fn to_settle(tx: &Transaction<'_>, reference: &str) -> Result<ToSettle> {
    let (order, reference) = match checkouts::find_order(tx, reference)? {
        Some(order) => (order, Some(reference.to_owned())),
        None => find_returning(tx, reference)?.ok_or(Error::NotFound(ResourceKind::Checkout))?,
    };
    let state = order_status::load(tx, order.organization, order.id)?;
    let asks_gateway = match status_at_hold(state.status, state.hold_until, tx.now()) {
        OrderStatus::Pending => true,
        OrderStatus::Expired | OrderStatus::Cancelled => state.checkout != Some(CheckoutStatus::Closed),
        OrderStatus::Completed => false,
    };
    let gateway = if asks_gateway { checkouts::gateway(tx, order.id)? } else { None };
    Ok(ToSettle { order, event: state.event, reference, asks_gateway, gateway })
}

/// Returns a checkout after the gateway was asked about it. `answer` is what it said: `None` if it may know more than
/// is stored, and was not asked.
pub(crate) fn settled(
    tx: &Transaction<'_>,
    of_checkout: CheckoutOrder,
    answer: Option<CheckoutState>,
) -> Result<SettledCheckout> {
    let order = orders::get(tx, of_checkout.organization, of_checkout.id)?;
    let is_paid = is_paid(tx, &order)?;
    let payment = order.payment_gateway.as_ref().map(|payment| payment.status);
    let has_payment = matches!(payment, Some(PaymentStatus::Completed | PaymentStatus::Refunded));
    let is_unknown = answer.is_none();
    let state = answer.unwrap_or(CheckoutState::Unknown);
    let outcome = match (order.status, &state) {
        (OrderStatus::Completed, _) if is_paid => Some(CheckoutOutcome::Success),
        (OrderStatus::Completed, _) => Some(CheckoutOutcome::Failure),
        // A payment that arrives late may still complete an order that has expired, and goes back for a cancelled one.
        (OrderStatus::Expired | OrderStatus::Cancelled, _) if is_unknown && !has_payment => None,
        (OrderStatus::Pending, CheckoutState::Open) => Some(CheckoutOutcome::Cancel),
        (_, CheckoutState::Processing) | (OrderStatus::Pending, CheckoutState::Unknown) => None,
        _ => Some(CheckoutOutcome::Failure),
    };
    let redirect_url = redirect_url(tx, of_checkout, outcome)?;
    let paid_too_late = has_late_payment(tx, &order)?;
    Ok(SettledCheckout { order, state, outcome, paid_too_late, redirect_url })
}

fn is_paid(tx: &Transaction<'_>, order: &Order) -> Result<bool> {
    Ok(order.status == OrderStatus::Completed && !has_late_payment(tx, order)?)
}

fn has_late_payment(tx: &Transaction<'_>, order: &Order) -> Result<bool> {
    let is_late = |payment: &StoredPayment| payment.purpose == PaymentPurpose::Late;
    Ok(payments::of_order(tx, order.id)?.iter().any(is_late))
}
