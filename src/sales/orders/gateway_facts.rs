//! What a payment gateway says about refunds and disputes of a payment. It may say so several times, late, and in any
//! order: each fact is recorded once, and the balance of the payment is followed.

use super::order_lifecycle;
use crate::error::Result;
use crate::model::payments::dispute::{Dispute, DisputeStatus};
use crate::model::payments::gateway_report::{GatewayDispute, GatewayRefund, RefundState};
use crate::model::sale::order::OrderStatus;
use crate::model::sale::received_payment::PaymentPurpose;
use crate::model::sale::refund::{RefundSource, RefundStatus};
use crate::model::values::amount::Amount;
use crate::model::values::id::{OrderId, OrganizationId};
use crate::sales::money::refund_lifecycle::Account;
use crate::store::money::disputes::NewDispute;
use crate::store::money::ledger::ReturnedBy;
use crate::store::money::payments::StoredPayment;
use crate::store::money::refunds::StoredRefund;
use crate::store::money::{disputes, ledger, payments, refunds};
use crate::store::order::order_status::OrderState;
use crate::store::{LockedEvent, Transaction};

use crate::sales::mail_causes;
use crate::sales::money::money_notifications;

/// The refunds and disputes of a payment, as its gateway lists them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Listing {
    pub(crate) refunds: Vec<GatewayRefund>,
    pub(crate) disputes: Vec<GatewayDispute>,
}

/// Records what the gateway lists of a payment. `payment` is the gateway's id of it, if it is known. Returns whether the
/// payment was found: no movement is recorded without it.
pub(crate) fn record(
    tx: &LockedEvent<'_>,
    organization: OrganizationId,
    order: OrderId,
    payment: Option<&str>,
    listing: &Listing,
) -> Result<bool> {
    let mut is_known = true;
    for refund in &listing.refunds {
        is_known &= self::refund(tx, organization, order, payment, refund)?;
    }
    for dispute in &listing.disputes {
        is_known &= self::dispute(tx, organization, order, payment, dispute)?;
    }
    Ok(is_known)
}

/// The payment for an order that the gateway names. Without a name, or if its name was not reported, the payment of the
/// order's checkout.
fn find_payment(tx: &Transaction<'_>, order: OrderId, named: Option<&str>) -> Result<Option<StoredPayment>> {
    let of_order = payments::of_order(tx, order)?;
    let is_named = |payment: &&StoredPayment| named.is_some() && payment.reference.as_deref() == named;
    let may_be =
        |payment: &&StoredPayment| payment.is_of_checkout() && (named.is_none() || payment.reference.is_none());
    let found = of_order.iter().find(is_named).or_else(|| of_order.iter().find(may_be));
    Ok(found.cloned())
}

/// Records the outcome of a refund.
///
/// One that is pending counts as made: gateways report it once, and then only if it fails. An outside refund that leaves
/// nothing of the payment of a completed order cancels the order, and the customer gets a mail of any other.
fn refund(
    tx: &LockedEvent<'_>,
    organization: OrganizationId,
    order: OrderId,
    named: Option<&str>,
    report: &GatewayRefund,
) -> Result<bool> {
    let state = order_lifecycle::load(tx, organization, order)?;
    let Some(payment) = find_payment(tx, order, named)? else { return Ok(false) };
    let Some(amount) = payment.minor_units(report.amount, &report.currency).filter(|amount| *amount > 0) else {
        return Ok(true);
    };
    let mut account = Account::load(tx, payment)?;
    let own = own_refund(&mut account, amount, report)?;
    let ReturnedBy { parts, has_reference } =
        ledger::returned_by(tx, account.payment.id, &report.reference, report.refund_id)?;
    let reference = Some(report.reference.as_str());
    let own_id = own.as_ref().map(|refund| refund.id);
    let mut outside = None;
    match &report.state {
        RefundState::Failed(problem) if !parts.is_empty() => {
            account.fail(reference.filter(|_| has_reference), &parts, Some(problem), report.refund_id)?;
            set_reference(&mut account, report)?;
        }
        RefundState::Failed(_) if has_failed(&account, report)? => return Ok(true),
        RefundState::Failed(problem) => {
            let due = own.filter(|own| own.status == RefundStatus::Due).map(|own| own.id);
            account.note_failure(amount, &report.reference, due, problem)?;
            if due.is_some() {
                set_reference(&mut account, report)?;
            }
        }
        _ if !parts.is_empty() => match set_reference(&mut account, report)? {
            true => {}
            false => return Ok(true),
        },
        // A report from before the failure.
        _ if has_failed(&account, report)? => return Ok(true),
        _ => outside = account.succeed(amount, reference, own_id, tx.now())?,
    }
    let is_outside = own_id.is_none() && !report.has_failed();
    let is_of_order = account.payment.purpose == PaymentPurpose::Order && state.status == OrderStatus::Completed;
    let nothing_left = is_outside && account.is_returned() && state.paid_by_gateway;
    account.follow()?;
    match outside {
        _ if is_of_order && nothing_left => order_lifecycle::end(tx, &state, false)?,
        Some(refund) if is_of_order => mail_causes::refunded(tx, (&state).into(), refund)?,
        _ => {}
    }
    if is_outside {
        log_outside(tx, order, report);
    }
    Ok(true)
}

fn log_outside(tx: &Transaction<'_>, order: OrderId, refund: &GatewayRefund) {
    let refund = refund.clone();
    tx.after_commit(move || {
        tracing::info!(
            target: "ticketing::payment",
            %order,
            refund = refund.reference,
            amount = %refund.amount,
            currency = refund.currency,
            "a payment was refunded in the account at the payment gateway"
        );
    });
}

/// Whether the gateway has said before that a refund has failed. One that has failed is never made again.
fn has_failed(account: &Account<'_, '_>, report: &GatewayRefund) -> Result<bool> {
    let payment = &account.payment;
    Ok(refunds::is_refused(account.tx, payment.order, &report.reference)?
        || ledger::has_failed(account.tx, payment.id, &report.reference)?)
}

/// Records the gateway's id of the refund that a report names, unless one is known. Returns whether that changed
/// something.
fn set_reference(account: &mut Account<'_, '_>, report: &GatewayRefund) -> Result<bool> {
    let Some(id) = report.refund_id else { return Ok(false) };
    let Some(refund) = account.refund(id)?.filter(|refund| refund.reference.is_none()) else { return Ok(false) };
    refund.reference = Some(report.reference.clone());
    Ok(true)
}

/// Finds the refund of this service that a report names, unless all of it was returned. The id in a report proves
/// nothing, because an organization may be able to write it into refunds of its own account: it must be one of this
/// payment, and of an amount that was decided or is asked for.
fn own_refund(account: &mut Account<'_, '_>, amount: i64, report: &GatewayRefund) -> Result<Option<StoredRefund>> {
    let Some(id) = report.refund_id else { return Ok(None) };
    let is_own = |refund: &StoredRefund| {
        let is_for_it = amount == refund.amount || amount == refund.to_ask;
        refund.source != RefundSource::Outside && refund.by_gateway && is_for_it && refund.returned < refund.amount
    };
    Ok(account.refund(id)?.filter(|refund| is_own(refund)).cloned())
}

/// Records a dispute, or a change of its status. A decided dispute is not opened again. Its movements of money are
/// recorded when its payment is known.
fn dispute(
    tx: &LockedEvent<'_>,
    organization: OrganizationId,
    order: OrderId,
    named: Option<&str>,
    report: &GatewayDispute,
) -> Result<bool> {
    let state = order_lifecycle::load(tx, organization, order)?;
    let minor_units = |amount: Amount| amount.minor_in(&report.currency).filter(|units| *units >= 0);
    let (Some(amount), Some(taken)) = (minor_units(report.amount), minor_units(report.taken)) else {
        return Ok(true);
    };
    let payment = find_payment(tx, order, named.or(report.payment_reference.as_deref()))?;
    let known = disputes::by_reference(tx, order, &report.reference)?;
    let is_stale = |known: &Dispute| known.status != DisputeStatus::Open && report.status == DisputeStatus::Open;
    if known.as_ref().is_some_and(is_stale) {
        return Ok(true);
    }
    let is_known = payment.is_some();
    let of_payment = payment.filter(|payment| payment.currency == report.currency);
    let new = NewDispute {
        organization,
        order,
        event: state.event,
        payment: of_payment.as_ref().map(|payment| payment.id),
        reference: &report.reference,
        amount,
        taken,
        currency: &report.currency,
        reason: &report.reason,
        status: report.status,
    };
    let is_new_status = known.as_ref().is_none_or(|known| known.status != report.status);
    let taken_before = match &known {
        // Nothing is in the ledger for a dispute whose payment was not known.
        Some(known) if known.payment_id.is_some() => known.taken.minor_in(&report.currency).unwrap_or(0),
        _ => 0,
    };
    let id = match &known {
        Some(known) => {
            disputes::update(tx, known.id, &new)?;
            known.id
        }
        None => disputes::insert(tx, &new)?,
    };
    if let Some(payment) = of_payment {
        let open = disputes::open_of(tx, &payment)?;
        let mut account = Account::load(tx, payment)?;
        if taken != taken_before || open.disputed != account.payment.sums.disputed || is_new_status {
            account.dispute(id, &report.reference, taken - taken_before, open)?;
        }
        account.follow()?;
    }
    if is_new_status && let Some(dispute) = disputes::by_reference(tx, order, &report.reference)? {
        money_notifications::dispute_changed(tx, &state, &dispute)?;
        log_dispute(tx, order, dispute);
    }
    Ok(is_known)
}

fn log_dispute(tx: &Transaction<'_>, order: OrderId, dispute: Dispute) {
    tx.after_commit(move || {
        tracing::warn!(
            target: "ticketing::payment",
            %order,
            dispute = dispute.reference,
            amount = %dispute.amount,
            currency = dispute.currency,
            reason = dispute.reason,
            status = %dispute.status,
            "a customer's bank disputes a payment; the tickets stay valid"
        );
    });
}

/// Records that what is left of a payment has gone back, because its gateway says so and lists no refunds.
pub(in crate::sales) fn record_rest_as_returned(
    tx: &LockedEvent<'_>,
    order: OrderId,
    named: Option<&str>,
) -> Result<()> {
    let Some(payment) = find_payment(tx, order, named)? else { return Ok(()) };
    let rest = payment.sums.received - payment.sums.returned - payment.sums.taken;
    let mut account = Account::load(tx, payment)?;
    if rest > 0 {
        account.succeed(rest, None, None, tx.now())?;
    }
    account.follow().map(drop)
}

/// Whether what the gateway lists of a payment leaves nothing of it.
pub(in crate::sales) fn leaves_nothing(state: &OrderState, amount: i64, listing: &Listing) -> bool {
    let made = listing.refunds.iter().filter(|refund| !refund.has_failed());
    let refunded = made.filter_map(|refund| refund.amount.minor_in(&state.currency));
    // What a bank has taken may still come back while the dispute is open.
    let is_lost = |dispute: &&GatewayDispute| dispute.status == DisputeStatus::Lost;
    let taken = listing.disputes.iter().filter(is_lost).filter_map(|dispute| dispute.taken.minor_in(&state.currency));
    refunded.chain(taken).fold(0_i64, i64::saturating_add) >= amount
}
