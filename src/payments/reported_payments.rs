//! Payments that the gateway reports.

use super::gateway_facts::parts;
use super::gateway_questions::Payments;
use crate::error::Result;
use crate::model::payments::checkout::GatewayPayment;
use crate::model::payments::notice::NoticeOutcome;
use crate::model::sale::gateway_account::PaymentMode;
use crate::sales::orders::gateway_facts::Listing;
use crate::sales::orders::received_payments::{self, Report};
use crate::store::money::checkouts::CheckoutOrder;

impl Payments {
    pub(crate) fn payment_mode(&self) -> PaymentMode {
        self.gateway.as_ref().map_or(PaymentMode::Live, |gateway| gateway.key().mode)
    }

    /// Records a payment that the gateway reports. `checkout` is the gateway's id of the checkout, if it is known.
    /// `is_returned` is whether the whole payment has gone back, and `listing` what the gateway lists of it; `None` if
    /// it cannot tell. If the payment goes back, the maintenance attempts the refund within a second: a notice, and a
    /// customer who comes back, do not wait for it.
    pub(crate) fn receive_payment(
        &self,
        order: CheckoutOrder,
        checkout: Option<&str>,
        payment: &GatewayPayment,
        is_returned: bool,
        listing: Option<&Listing>,
    ) -> Result<NoticeOutcome> {
        let CheckoutOrder { organization, id } = order;
        let terms = self.refund_terms();
        let mut listings = listing.map(parts).unwrap_or_default().into_iter();
        let first = listing.is_some().then(|| listings.next().unwrap_or_default());
        let report = Report {
            checkout: checkout.map(str::to_owned),
            payment: Some(payment.clone()),
            is_returned,
            listing: first,
            mode: self.payment_mode(),
        };
        let recorded = self.writes.record_on(organization, id, move |tx, limit| {
            received_payments::receive(tx, organization, id, &report, &terms, limit)
        })?;
        if recorded.mismatch {
            self.writes.store_in_operation().counters().update(|counts| counts.payments.amounts_mismatched += 1);
            tracing::error!(
                target: "ticketing::payment",
                order = %id,
                payment = payment.payment_reference,
                amount = %payment.amount,
                currency = payment.currency,
                "a payment has another amount or currency than its order; it completed nothing"
            );
        }
        for listing in listings {
            self.record_facts(order, Some(&payment.payment_reference), &listing)?;
        }
        Ok(if recorded.mismatch { NoticeOutcome::AmountMismatch } else { NoticeOutcome::Processed })
    }
}
