//! Asks the gateway what it lists of a payment some time after a refund or a dispute.

use super::gateway_facts::{Ask, list_facts, look_up_of};
use super::gateway_work::Progress;
use crate::error::Result;
use crate::payment::{GatewayCalls, Waiting};
use crate::payments::Payments;
use crate::sales::orders::payment_checks;
use crate::store::work::ClaimedWork;

impl Payments {
    /// Asks the gateway what it lists of a payment, if that is still due, and records it.
    pub(crate) fn check_payment(&self, gateway: &GatewayCalls, work: &ClaimedWork) -> Result<Progress> {
        let begun = work.clone();
        let begun = self.begin(work, move |tx| payment_checks::begin(tx, &begun))?;
        let check = match begun {
            Ok(check) => check,
            Err(progress) => return Ok(progress),
        };
        let (organization, order, payment) = (check.payment.organization, check.payment.order, check.payment.id);
        let listed = match look_up_of(&check.payment) {
            Some(payment) => list_facts(gateway, organization, payment, Ask::RefundsAndDisputes, Waiting::Maintenance),
            None => Ok(None),
        };
        let store = self.writes.store_in_operation();
        match listed {
            Ok(listing) => {
                store.write_event(organization, order.into(), move |tx| {
                    payment_checks::answered(tx, &check, listing.as_ref())
                })?;
                Ok(Progress::Answered)
            }
            // A refusal is probably about the key, which the operator can replace.
            Err(failure) => {
                tracing::warn!(
                    target: "ticketing::payment",
                    %payment,
                    %order,
                    problem = %failure,
                    "the payment gateway did not say what it lists of a payment; it is asked again"
                );
                store.write_event(organization, order.into(), move |tx| payment_checks::not_answered(tx, &check))?;
                Ok(Progress::Unavailable)
            }
        }
    }
}
