//! Payments that are received through the gateway. One that completes no order goes back.

use super::gateway_facts::{self, Listing};
use super::order_lifecycle;
use crate::error::{Error, Reason, Result};
use crate::model::payments::checkout::{CheckoutStatus, GatewayPayment};
use crate::model::sale::gateway_account::{GatewayAccount, PaymentMode};
use crate::model::sale::order::{OrderStatus, PaymentStatus};
use crate::model::sale::received_payment::PaymentPurpose;
use crate::model::sale::refund::RefundSource;
use crate::model::values::amount::Amount;
use crate::model::values::currency::Decimals;
use crate::model::values::id::{OrderId, OrganizationId, PaymentId};
use crate::sales::catalog::hold_releases::ReleaseLimit;
use crate::sales::mail_causes;
use crate::sales::money::money_notifications;
use crate::sales::money::refund_lifecycle::{Account, NO_REFUNDS, RefundTerms};
use crate::store::LockedEvent;
use crate::store::money::payments::{NewPayment, StoredPayment};
use crate::store::money::refunds::{DecidedRefund, NewRefund};
use crate::store::money::{checkout_attempts, payments};
use crate::store::order::order_status::{self, OrderState};
use crate::store::sale::seat_counts::PaidThrough;

/// A payment that the gateway, or the program for it, reports.
#[derive(Debug, Clone)]
pub(crate) struct Report {
    /// The gateway's id of the checkout, if it is known.
    pub(crate) checkout: Option<String>,
    /// `None` if the program reports it and has compared the amount.
    pub(crate) payment: Option<GatewayPayment>,
    /// Whether the whole payment has gone back. It completes nothing then.
    pub(crate) is_returned: bool,
    /// What the gateway lists of the payment. `None` if it cannot tell.
    pub(crate) listing: Option<Listing>,
    /// The gateway that takes payments now, and its mode: for a checkout that was asked for before that was recorded.
    pub(crate) mode: PaymentMode,
}

/// The result of recording a payment.
#[derive(Debug, Clone, Default)]
pub(crate) struct RecordedPayment {
    /// A refund that was just decided, and that the gateway is to be asked for.
    pub(crate) due: Option<DecidedRefund>,
    /// Whether another amount was paid, or in another currency, than the order costs.
    pub(crate) mismatch: bool,
}

/// Records a payment that was reported, once, and completes the order. One that comes too late for its order, a second
/// one, and one of another amount or currency go back.
pub(crate) fn receive(
    tx: &LockedEvent<'_>,
    organization: OrganizationId,
    id: OrderId,
    report: &Report,
    terms: &RefundTerms,
    release_limit: &ReleaseLimit,
) -> Result<RecordedPayment> {
    let state = order_lifecycle::load(tx, organization, id)?;
    if state.total == 0 {
        let detail = "the total of the order is 0, so there is no payment to record";
        return Err(Error::conflict(Reason::OrderNotPending, detail));
    }
    let known = payments::of_order(tx, id)?;
    let reference = report.payment.as_ref().map(|payment| payment.payment_reference.as_str());
    let mismatch = report.payment.as_ref().is_some_and(|payment| !is_for(payment, &state));
    let was_recorded = find_known(tx, &known, report, mismatch)?;
    let mut recorded = RecordedPayment { mismatch: mismatch && !was_recorded, ..RecordedPayment::default() };
    if !was_recorded {
        close_checkouts(tx, &state, report)?;
        if report.payment.as_ref().is_some_and(|payment| payment.amount <= Amount::ZERO) {
            return Ok(recorded);
        }
        let has_checkout_payment = known.iter().any(StoredPayment::is_of_checkout);
        let leaves_nothing = |listing| gateway_facts::leaves_nothing(&state, state.total, listing);
        let is_returned = report.is_returned || report.listing.as_ref().is_some_and(leaves_nothing);
        let is_candidate = !mismatch && !has_checkout_payment;
        let completes = is_candidate && !is_returned && complete(tx, &state, release_limit)?;
        let purpose = match (completes, is_candidate) {
            (true, _) => PaymentPurpose::Order,
            (false, true) => PaymentPurpose::Late,
            (false, false) => PaymentPurpose::Other,
        };
        let amount = ReceivedAmount::of(&state, report.payment.as_ref());
        let payment = insert(tx, &state, report, purpose, &amount, terms)?;
        if purpose == PaymentPurpose::Late {
            order_status::record_payment(tx, id, PaymentStatus::Completed)?;
        }
        if purpose != PaymentPurpose::Order {
            let stored = payments::get(tx, payment)?;
            money_notifications::payment_returned(tx, &state, &stored, mismatch)?;
            mail_causes::payment_returned(tx, (&state).into(), payment)?;
            recorded.due = send_back(tx, stored, &amount, terms)?;
        }
        if is_returned && state.status == OrderStatus::Pending && !completes {
            order_lifecycle::cancel_uncompleted(tx, &state)?;
        }
    }
    match &report.listing {
        Some(listing) => {
            gateway_facts::record(tx, organization, id, reference, listing)?;
        }
        // It has gone back in a way of which the gateway tells no more.
        None if report.is_returned && !was_recorded => {
            gateway_facts::record_rest_as_returned(tx, id, reference)?;
        }
        None => {}
    }
    Ok(recorded)
}

/// Completes an order that is PENDING, or EXPIRED if what it needs is still available. Returns whether it is.
fn complete(tx: &LockedEvent<'_>, state: &OrderState, release_limit: &ReleaseLimit) -> Result<bool> {
    let complete = || order_lifecycle::complete(tx, state, PaidThrough::Gateway, release_limit);
    match state.status {
        OrderStatus::Pending => complete().map(|()| true),
        OrderStatus::Expired => tx.try_in_savepoint(complete),
        OrderStatus::Completed | OrderStatus::Cancelled => Ok(false),
    }
}

/// Whether a report is about a payment that is recorded. The program may have reported it without its id: then the id
/// is recorded now.
fn find_known(tx: &LockedEvent<'_>, known: &[StoredPayment], report: &Report, mismatch: bool) -> Result<bool> {
    let Some(payment) = &report.payment else { return Ok(known.iter().any(StoredPayment::is_of_checkout)) };
    let reference = Some(payment.payment_reference.as_str());
    if known.iter().any(|known| known.reference.as_deref() == reference) {
        return Ok(true);
    }
    let unnamed = known.iter().find(|known| known.is_of_checkout() && known.reference.is_none());
    if let Some(unnamed) = unnamed.filter(|_| !mismatch) {
        payments::set_reference(tx, unnamed.id, &payment.payment_reference)?;
        return Ok(true);
    }
    Ok(false)
}

/// The customer has paid: the gateway has nothing more to say about the newest checkout if that was paid. Else it has
/// to be closed.
fn close_checkouts(tx: &LockedEvent<'_>, state: &OrderState, report: &Report) -> Result<()> {
    match state.checkout {
        None | Some(CheckoutStatus::Closed) => Ok(()),
        Some(_) if state.is_newest_checkout(report.checkout.as_deref()) => checkout_attempts::close(tx, state.id),
        Some(_) if report.payment.as_ref().is_some_and(|payment| !is_for(payment, state)) => Ok(()),
        Some(_) => checkout_attempts::begin_closing(tx, state.id),
    }
}

fn insert(
    tx: &LockedEvent<'_>,
    state: &OrderState,
    report: &Report,
    purpose: PaymentPurpose,
    amount: &ReceivedAmount,
    terms: &RefundTerms,
) -> Result<PaymentId> {
    // Before gateways were recorded, and without a checkout, it is the gateway of the program.
    let of_checkout = state.gateway.as_ref();
    let gateway = match state.checkout {
        Some(_) => of_checkout.map(|gateway| gateway.name.as_str()),
        None => terms.gateway.as_ref().map(|(name, _)| name.as_str()),
    };
    let new = NewPayment {
        organization: state.organization,
        order: state.id,
        event: state.event,
        purpose,
        manual_method: None,
        gateway,
        account: &GatewayAccount::of(of_checkout),
        mode: of_checkout.map_or(report.mode, |gateway| gateway.mode),
        checkout_reference: report.checkout.as_deref().or(state.checkout_reference.as_deref()),
        reference: report.payment.as_ref().map(|payment| payment.payment_reference.as_str()),
        amount: amount.minor_units,
        currency: &amount.currency,
        note: None,
        recorded_by: None,
    };
    payments::insert(tx, &new)
}

/// Decides that a whole payment goes back.
fn send_back(
    tx: &LockedEvent<'_>,
    payment: StoredPayment,
    amount: &ReceivedAmount,
    terms: &RefundTerms,
) -> Result<Option<DecidedRefund>> {
    let source = match payment.purpose {
        PaymentPurpose::Late => RefundSource::LatePayment,
        PaymentPurpose::Order | PaymentPurpose::Other => RefundSource::OtherPayment,
    };
    let not_exact = (!amount.is_exact).then(|| format!("{} was paid, which this service cannot refund", amount.text));
    let refusal = if terms.asks(&payment) { not_exact.as_deref() } else { not_exact.as_deref().or(Some(NO_REFUNDS)) };
    let refund = NewRefund { refusal, ..NewRefund::new(source, payment.sums.received) };
    let mut account = Account::load(tx, payment)?;
    account.decide(&refund)?;
    account.follow()
}

/// The amount and the currency with which a payment is stored.
struct ReceivedAmount {
    minor_units: i64,
    currency: String,
    /// Whether the currency exists, and can express the amount. If not, the minor units are rounded up, and a currency
    /// that does not exist is stored as XXX, the code of ISO 4217 for no currency.
    is_exact: bool,
    /// What was paid, for people.
    text: String,
}

impl ReceivedAmount {
    fn of(state: &OrderState, payment: Option<&GatewayPayment>) -> Self {
        let Some(payment) = payment else {
            let text = String::new();
            return Self { minor_units: state.total, currency: state.currency.clone(), is_exact: true, text };
        };
        let decimals = Decimals::of_currency(&payment.currency);
        let currency = if decimals.is_some() { &payment.currency } else { "XXX" };
        let exact = payment.amount.minor_in(&payment.currency);
        let digits = payment.amount.decimals().saturating_sub(decimals.map_or(0, Decimals::get));
        let factor = 10_i64.saturating_pow(u32::from(digits));
        let amount = payment.amount.minor_units();
        let rounded_up = amount / factor + i64::from(amount % factor > 0);
        let is_code = payment.currency.len() <= 10 && payment.currency.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let unit = if is_code { payment.currency.as_str() } else { "of an unknown currency" };
        Self {
            minor_units: exact.unwrap_or(rounded_up),
            currency: currency.to_owned(),
            is_exact: exact.is_some(),
            text: format!("{} {unit}", payment.amount),
        }
    }
}

/// Whether a payment has the amount and the currency of the order.
fn is_for(payment: &GatewayPayment, state: &OrderState) -> bool {
    payment.currency == state.currency && payment.amount.minor_in(&state.currency) == Some(state.total)
}
