//! Records a line of a statement as if the gateway had sent a notice about it.

use crate::error::{Error, Result};
use crate::model::payments::checkout::GatewayPayment;
use crate::model::payments::statement::{StatementEvent, StatementLine};
use crate::payment::{GatewayEvent, GatewayNotice, NoticeError, PaymentLookUp, Waiting};
use crate::payments::Payments;
use crate::payments::gateway_facts::{Ask, list_facts};
use crate::sales::money::statement_lines::ReconciledAccount;
use crate::sales::orders::gateway_facts::Listing;
use crate::store::money::checkouts::{self, CheckoutOrder};

/// Records a line about an order.
///
/// # Errors
/// Why it could not be recorded.
pub(in crate::service) fn record_line(
    payments: &Payments,
    account: &ReconciledAccount,
    order: CheckoutOrder,
    line: &StatementLine,
) -> Result<()> {
    let mut listing = Listing::default();
    match &line.event {
        StatementEvent::Payment(payment) => return record_payment(payments, account, order, line, payment),
        StatementEvent::Refund(refund) => listing.refunds.push(refund.clone()),
        StatementEvent::Dispute(dispute) => listing.disputes.push(dispute.clone()),
    }
    let notice = GatewayNotice::new("reconciliation", GatewayEvent::RefundsChanged);
    let mut notice = notice.payment_reference(&line.payment_reference);
    notice.account = account.account.id().map(str::to_owned);
    payments.record_fact(order, &notice, &listing).map(drop)
}

/// Records a payment, with what the gateway lists of it now: it may have gone back since.
fn record_payment(
    payments: &Payments,
    account: &ReconciledAccount,
    order: CheckoutOrder,
    line: &StatementLine,
    payment: &GatewayPayment,
) -> Result<()> {
    let CheckoutOrder { organization, id } = order;
    let (recorded, stored) =
        payments.writes.store()?.read(|tx| Ok((checkouts::gateway(tx, id)?, checkouts::find_by_order(tx, id)?)))?;
    if let Some(recorded) = recorded.filter(|of| of.name != account.gateway || of.mode != account.mode) {
        let problem = format!("the order has a checkout of {} in mode {}", recorded.name, recorded.mode);
        return Err(Error::NoticeRefused(NoticeError::Unreadable(problem)));
    }
    let checkout = line.checkout_reference.clone();
    if let (Some(reference), Some((_, None))) = (checkout.clone(), stored) {
        // The database comes from a backup that was made while the gateway was asked for the checkout.
        payments
            .writes
            .store()?
            .write_event(organization, id.into(), move |tx| checkouts::record_reference(tx, id, &reference))?;
    }
    let Some(gateway) = &payments.gateway else { return Ok(()) };
    let look_up = PaymentLookUp::new(&payment.payment_reference).organization(organization);
    let look_up = look_up.account(account.account.clone());
    let listed = list_facts(gateway, organization, look_up, Ask::RefundsAndDisputes, Waiting::Maintenance);
    let listed = listed.map_err(|failure| Error::NoticeRefused(NoticeError::Unavailable(failure.to_string())))?;
    let checkout = checkout.as_deref();
    payments.receive_payment(order, checkout, payment, false, listed.as_ref()).map(drop)
}
