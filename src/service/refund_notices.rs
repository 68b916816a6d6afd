//! What the payment gateway reports about refunds and disputes.

use super::TicketingService;
use super::refunds::warn_of_refused_refund;
use crate::error::Result;
use crate::model::amount::Amount;
use crate::model::dispute::DisputeStatus;
use crate::model::id::RefundId;
use crate::sales::refund_notices::{self, DisputeNotice, OutsideRefund};
use crate::store::checkouts::{self, CheckoutOrder};

/// A refund that somebody made in the account at the gateway.
pub(super) struct ReportedRefund<'a> {
    pub(super) reference: &'a str,
    pub(super) payment_reference: Option<&'a str>,
    pub(super) amount: Amount,
    pub(super) currency: &'a str,
    pub(super) failed: bool,
}

/// A dispute that the gateway reports.
pub(super) struct ReportedDispute<'a> {
    pub(super) reference: &'a str,
    pub(super) amount: Amount,
    pub(super) currency: &'a str,
    pub(super) reason: &'a str,
    pub(super) status: DisputeStatus,
}

impl TicketingService {
    /// Records what became of a refund that this service asked for.
    pub(super) fn record_own_refund(
        &self,
        order: CheckoutOrder,
        id: RefundId,
        reference: &str,
        failed: Option<&str>,
    ) -> Result<()> {
        let CheckoutOrder { organization, id: order } = order;
        let (reference, problem) = (reference.to_owned(), failed.map(str::to_owned));
        let is_new = self.store().write_for(organization, move |tx| {
            refund_notices::own_refund(tx, organization, order, id, &reference, problem.as_deref())
        })?;
        if let Some(problem) = failed.filter(|_| is_new) {
            warn_of_refused_refund(order, problem);
        }
        Ok(())
    }

    /// Records a refund that this service did not ask for.
    pub(super) fn record_outside_refund(&self, order: CheckoutOrder, refund: &ReportedRefund<'_>) -> Result<()> {
        let CheckoutOrder { organization, id: order } = order;
        // The notice of the payment may still be on its way.
        if let Some((_, Some(reference))) = self.store().read_one(|tx| checkouts::find_by_order(tx, order))? {
            self.settle_checkout(&reference)?;
        }
        let (reference, currency) = (refund.reference.to_owned(), refund.currency.to_owned());
        let payment_reference = refund.payment_reference.map(str::to_owned);
        let (amount, failed) = (refund.amount, refund.failed);
        let is_new = self.store().write_for(organization, move |tx| {
            let refund = OutsideRefund {
                reference: &reference,
                payment_reference: payment_reference.as_deref(),
                amount,
                currency: &currency,
                failed,
            };
            refund_notices::outside_refund(tx, organization, order, &refund)
        })?;
        if is_new {
            tracing::info!(
                target: "ticketing::payment",
                %order,
                refund = refund.reference,
                amount = %refund.amount,
                currency = refund.currency,
                failed,
                "a payment was refunded in the account at the payment gateway"
            );
        }
        Ok(())
    }

    /// Records a dispute.
    pub(super) fn record_dispute(&self, order: CheckoutOrder, dispute: &ReportedDispute<'_>) -> Result<()> {
        let CheckoutOrder { organization, id: order } = order;
        let (reference, currency) = (dispute.reference.to_owned(), dispute.currency.to_owned());
        let (amount, reason, status) = (dispute.amount, dispute.reason.to_owned(), dispute.status);
        let is_new = self.store().write_for(organization, move |tx| {
            let notice = DisputeNotice { reference: &reference, amount, currency: &currency, reason: &reason, status };
            refund_notices::dispute(tx, organization, order, &notice)
        })?;
        if is_new {
            tracing::warn!(
                target: "ticketing::payment",
                %order,
                dispute = dispute.reference,
                amount = %dispute.amount,
                currency = dispute.currency,
                reason = dispute.reason,
                %status,
                "a customer's bank disputes a payment; the tickets stay valid"
            );
        }
        Ok(())
    }
}
