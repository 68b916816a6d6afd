//! Compares a line of a gateway's statement with what is recorded.
//!
//! Lines are matched by the gateway's ids and never by time: a payment is recorded when its notice arrives. The order
//! and the organization in a line count only if the account can be trusted with them.

use std::collections::BTreeSet;

use crate::error::{Error, Result};
use crate::model::payments::checkout::GatewayPayment;
use crate::model::payments::dispute::DisputeStatus;
use crate::model::payments::gateway_report::{GatewayDispute, GatewayRefund};
use crate::model::payments::statement::{StatementEvent, StatementLine};
use crate::model::sale::gateway_account::{GatewayAccount, PaymentMode};
use crate::model::values::amount::Amount;
use crate::model::values::id::{OrganizationId, PaymentId};
use crate::store::Transaction;
use crate::store::money::checkouts::CheckoutOrder;
use crate::store::money::payments::StoredPayment;
use crate::store::money::{checkouts, disputes, ledger, payments, refunds};
use crate::store::tenants::organizations;

/// An account whose statement is compared.
#[derive(Debug, Clone)]
pub(crate) struct ReconciledAccount {
    /// The name of the gateway.
    pub(crate) gateway: String,
    pub(crate) mode: PaymentMode,
    pub(crate) account: GatewayAccount,
    /// The organizations of whose orders the account may have payments. `None` for the gateway's own account, in which
    /// only the program writes ids.
    pub(crate) trusted: Option<BTreeSet<OrganizationId>>,
    /// The only organization whose payments are compared.
    pub(crate) only: Option<OrganizationId>,
}

impl ReconciledAccount {
    fn trusts(&self, organization: OrganizationId) -> bool {
        self.trusted.as_ref().is_none_or(|trusted| trusted.contains(&organization))
    }

    /// Whether a payment is one of this gateway, mode and account. Earlier versions did not record these.
    fn may_have(&self, payment: &StoredPayment) -> bool {
        let is_of_gateway = payment.gateway.as_ref().is_none_or(|gateway| *gateway == self.gateway);
        let is_of_account = payment.account == GatewayAccount::Unrecorded || payment.account == self.account;
        payment.is_of_gateway() && is_of_gateway && is_of_account && payment.mode == self.mode
    }
}

/// How a line compares with what is recorded.
#[derive(Debug, Clone)]
pub(crate) enum Comparison {
    /// Both sides agree. The amount is what has moved: less than 0 for what the organizer gave.
    Matched(Amount),
    /// It is not recorded.
    MissingHere { order: CheckoutOrder, problem: &'static str },
    /// Something else is recorded.
    Different { order: CheckoutOrder, recorded: Amount, problem: String },
    /// The order does not exist, and the organization does.
    NoOrder(OrganizationId),
    /// It is of an organization that is not compared.
    OtherOrganization,
    /// It is of no organization of this database, or the account cannot be trusted with the ids.
    Foreign,
}

/// A line that was compared, and the payment that it is about, if that is recorded.
#[derive(Debug, Clone)]
pub(crate) struct Compared {
    pub(crate) comparison: Comparison,
    pub(crate) payment: Option<PaymentId>,
}

impl From<Comparison> for Compared {
    fn from(comparison: Comparison) -> Self {
        Self { comparison, payment: None }
    }
}

pub(crate) fn compare(tx: &Transaction<'_>, account: &ReconciledAccount, line: &StatementLine) -> Result<Compared> {
    let mut payment = find_payment(tx, account, line)?;
    let mut order = payment.as_ref().map(order_of);
    if order.is_none() {
        order = find_order(tx, line)?;
    }
    let Some(order) = order else { return without_order(tx, account, line).map(Compared::from) };
    if !account.trusts(order.organization) {
        return Ok(Comparison::Foreign.into());
    }
    if account.only.is_some_and(|only| only != order.organization) {
        return Ok(Comparison::OtherOrganization.into());
    }
    if payment.is_none() {
        payment = unnamed_payment(tx, account, order, line)?;
    }
    let Some(payment) = payment else { return Ok(without_payment(order, line).into()) };
    let comparison = match &line.event {
        StatementEvent::Payment(listed) => compare_payment(&payment, listed),
        StatementEvent::Refund(listed) => compare_refund(tx, &payment, listed)?,
        StatementEvent::Dispute(listed) => compare_dispute(tx, &payment, listed)?,
    };
    Ok(Compared { comparison, payment: Some(payment.id) })
}

fn order_of(payment: &StoredPayment) -> CheckoutOrder {
    CheckoutOrder { organization: payment.organization, id: payment.order }
}

/// The payment that has the gateway's id. If several orders have it, the one of the order that the line names.
fn find_payment(
    tx: &Transaction<'_>,
    account: &ReconciledAccount,
    line: &StatementLine,
) -> Result<Option<StoredPayment>> {
    let mut found = payments::by_reference(tx, &line.payment_reference)?;
    found.retain(|payment| account.may_have(payment) && account.trusts(payment.organization));
    let of_order = found.iter().position(|payment| Some(payment.order) == line.order_id);
    Ok(match of_order {
        Some(index) => Some(found.swap_remove(index)),
        None if found.len() == 1 => found.pop(),
        None => None,
    })
}

/// The payment of an order that was reported without the gateway's id, if it may be the one of this line.
fn unnamed_payment(
    tx: &Transaction<'_>,
    account: &ReconciledAccount,
    order: CheckoutOrder,
    line: &StatementLine,
) -> Result<Option<StoredPayment>> {
    let of_order = payments::of_order(tx, order.id)?.into_iter();
    let mut unnamed =
        of_order.filter(|payment| payment.is_of_checkout() && payment.reference.is_none() && account.may_have(payment));
    Ok(unnamed.find(|payment| match &line.event {
        StatementEvent::Payment(listed) => matches!(compare_payment(payment, listed), Comparison::Matched(_)),
        StatementEvent::Refund(_) | StatementEvent::Dispute(_) => true,
    }))
}

/// The order of the checkout, or else the order that the line names. It may have paid through a checkout that was not
/// recorded: the database may come from a backup.
fn find_order(tx: &Transaction<'_>, line: &StatementLine) -> Result<Option<CheckoutOrder>> {
    if let Some(reference) = &line.checkout_reference
        && let Some(order) = checkouts::find_order(tx, reference)?
    {
        return Ok(Some(order));
    }
    match line.order_id {
        Some(id) => Ok(checkouts::find_by_order(tx, id)?.map(|(order, _)| order)),
        None => Ok(None),
    }
}

fn without_order(tx: &Transaction<'_>, account: &ReconciledAccount, line: &StatementLine) -> Result<Comparison> {
    let Some(organization) = line.organization_id.filter(|_| line.order_id.is_some()) else {
        return Ok(Comparison::Foreign);
    };
    if !account.trusts(organization) {
        return Ok(Comparison::Foreign);
    }
    match organizations::get(tx, organization) {
        Ok(_) if account.only.is_some_and(|only| only != organization) => Ok(Comparison::OtherOrganization),
        Ok(_) => Ok(Comparison::NoOrder(organization)),
        Err(Error::NotFound(_)) => Ok(Comparison::Foreign),
        Err(error) => Err(error),
    }
}

fn without_payment(order: CheckoutOrder, line: &StatementLine) -> Comparison {
    match &line.event {
        StatementEvent::Refund(listed) if listed.has_failed() => Comparison::Matched(Amount::ZERO),
        StatementEvent::Dispute(listed) if has_moved_nothing(listed) => Comparison::Matched(Amount::ZERO),
        StatementEvent::Payment(_) => Comparison::MissingHere { order, problem: "the payment is not recorded" },
        StatementEvent::Refund(_) | StatementEvent::Dispute(_) => {
            Comparison::MissingHere { order, problem: "its payment is not recorded" }
        }
    }
}

/// Whether a dispute is over, and the organizer has everything.
fn has_moved_nothing(dispute: &GatewayDispute) -> bool {
    dispute.taken.is_zero() && dispute.status != DisputeStatus::Open
}

fn different(payment: &StoredPayment, recorded: Amount, problem: String) -> Comparison {
    Comparison::Different { order: order_of(payment), recorded, problem }
}

fn compare_payment(payment: &StoredPayment, listed: &GatewayPayment) -> Comparison {
    let received = payment.sums.received;
    if payment.minor_units(listed.amount, &listed.currency) == Some(received) {
        return Comparison::Matched(payment.amount(received));
    }
    let recorded = payment.amount(received);
    let problem = format!("{recorded} {} is recorded", payment.currency);
    different(payment, recorded, problem)
}

/// Compares a refund with what is in the ledger. Of one that has failed, the ledger has what went out and came back.
fn compare_refund(tx: &Transaction<'_>, payment: &StoredPayment, listed: &GatewayRefund) -> Result<Comparison> {
    let mut own = None;
    if let Some(id) = listed.refund_id {
        own = refunds::find(tx, payment.order, id)?.filter(|refund| refund.payment == payment.id).map(|own| own.id);
    }
    let parts = ledger::returned_by(tx, payment.id, &listed.reference, own)?.parts;
    let returned: i64 = parts.iter().map(|(_, part)| part).sum();
    let made = if listed.has_failed() { Some(0) } else { payment.minor_units(listed.amount, &listed.currency) };
    let recorded = payment.amount(-returned);
    let is_unknown = listed.has_failed()
        && parts.is_empty()
        && !ledger::has_failed(tx, payment.id, &listed.reference)?
        && !refunds::is_refused(tx, payment.order, &listed.reference)?;
    Ok(match made {
        _ if is_unknown => {
            let problem = "the refund, which has failed, is not recorded";
            Comparison::MissingHere { order: order_of(payment), problem }
        }
        Some(made) if made == returned => Comparison::Matched(recorded),
        Some(0) => different(payment, recorded, "the refund has failed, and is recorded as made".to_owned()),
        Some(_) if returned == 0 => {
            Comparison::MissingHere { order: order_of(payment), problem: "the refund is not recorded" }
        }
        _ => different(payment, recorded, format!("{} {} is recorded", payment.amount(returned), payment.currency)),
    })
}

/// Compares a dispute: what was taken, the disputed amount, and the decision.
fn compare_dispute(tx: &Transaction<'_>, payment: &StoredPayment, listed: &GatewayDispute) -> Result<Comparison> {
    let Some(known) = disputes::by_reference(tx, payment.order, &listed.reference)? else {
        let order = order_of(payment);
        let missing = Comparison::MissingHere { order, problem: "the dispute is not recorded" };
        return Ok(if has_moved_nothing(listed) { Comparison::Matched(Amount::ZERO) } else { missing });
    };
    let taken = ledger::taken_for(tx, payment.id, known.id)?;
    let recorded = payment.amount(-taken);
    let currency = &listed.currency;
    if payment.minor_units(listed.taken, currency) != Some(taken) {
        let problem = format!("{} {} is recorded as taken", payment.amount(taken), payment.currency);
        return Ok(different(payment, recorded, problem));
    }
    if known.amount != listed.amount {
        let problem = format!("the disputed amount is recorded as {} {}", known.amount, known.currency);
        return Ok(different(payment, recorded, problem));
    }
    if known.status != listed.status {
        let problem = format!("the dispute is {} at the gateway, and recorded as {}", listed.status, known.status);
        return Ok(different(payment, recorded, problem));
    }
    Ok(Comparison::Matched(recorded))
}
