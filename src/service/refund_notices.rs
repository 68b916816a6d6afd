//! What the payment gateway reports about refunds and disputes.

use super::TicketingService;
use super::refunds::warn_of_refused_refund;
use crate::error::Result;
use crate::model::gateway_report::{GatewayDispute, GatewayRefund, RefundState};
use crate::sales::refund_notices::{self, RecordedRefund};
use crate::store::checkouts::{self, CheckoutOrder};

impl TicketingService {
    /// Records what became of a refund. `payment` is the gateway's id of the payment, if the gateway has named it.
    pub(super) fn record_refund(
        &self,
        order: CheckoutOrder,
        payment: Option<&str>,
        refund: &GatewayRefund,
    ) -> Result<()> {
        if self.record_own_refund(order, payment, refund)? {
            return Ok(());
        }
        // The notice of the payment may still be on its way.
        if let Some((_, Some(reference))) = self.store().read_one(|tx| checkouts::find_by_order(tx, order.id))? {
            self.settle_for_notice(&reference)?;
        }
        self.record_outside_refund(order, payment, refund)
    }

    /// Records the refunds of a payment that the gateway has listed.
    pub(super) fn record_listed_refunds(
        &self,
        order: CheckoutOrder,
        payment: &str,
        listed: &[GatewayRefund],
    ) -> Result<()> {
        for refund in listed {
            if !self.record_own_refund(order, Some(payment), refund)? {
                self.record_outside_refund(order, Some(payment), refund)?;
            }
        }
        Ok(())
    }

    /// Records what became of a refund that this service asked for. Returns `false` if the refund was
    /// made by somebody else.
    fn record_own_refund(&self, order: CheckoutOrder, payment: Option<&str>, refund: &GatewayRefund) -> Result<bool> {
        if refund.refund_id.is_none() {
            return Ok(false);
        }
        let CheckoutOrder { organization, id: order } = order;
        let (payment, report) = (payment.map(str::to_owned), refund.clone());
        let recorded = self.store().write_for(organization, move |tx| {
            refund_notices::own_refund(tx, organization, order, payment.as_deref(), &report)
        })?;
        if recorded == RecordedRefund::Owed
            && let RefundState::Failed(problem) = &refund.state
        {
            warn_of_refused_refund(order, problem);
        }
        Ok(recorded != RecordedRefund::NotOurs)
    }

    /// Records a refund that this service did not ask for.
    fn record_outside_refund(&self, order: CheckoutOrder, payment: Option<&str>, refund: &GatewayRefund) -> Result<()> {
        let CheckoutOrder { organization, id: order } = order;
        let (payment, report) = (payment.map(str::to_owned), refund.clone());
        let is_new = self.store().write_for(organization, move |tx| {
            refund_notices::outside_refund(tx, organization, order, payment.as_deref(), &report)
        })?;
        if is_new {
            tracing::info!(
                target: "ticketing::payment",
                %order,
                refund = refund.reference,
                amount = %refund.amount,
                currency = refund.currency,
                failed = matches!(refund.state, RefundState::Failed(_)),
                "a payment was refunded in the account at the payment gateway"
            );
        }
        Ok(())
    }

    /// Records a dispute.
    pub(super) fn record_dispute(&self, order: CheckoutOrder, dispute: &GatewayDispute) -> Result<()> {
        let CheckoutOrder { organization, id: order } = order;
        let report = dispute.clone();
        let is_new = self
            .store()
            .write_for(organization, move |tx| refund_notices::dispute(tx, organization, order, &report))?;
        if is_new {
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
        }
        Ok(())
    }
}
