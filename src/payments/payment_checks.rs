//! Asks the gateway what it lists of a payment some time after a refund or a dispute.

use super::gateway_facts::{Ask, list_facts, look_up_of};
use super::gateway_groups::Progress;
use crate::error::Result;
use crate::payment::{GatewayCalls, Waiting};
use crate::payments::Payments;
use crate::sales::orders::payment_checks;
use crate::store::money::checkouts::CheckoutOrder;
use crate::store::money::payments::DuePayment;

impl Payments {
    /// Asks the gateway what it lists of a payment, if that is due, and records it.
    pub(crate) fn check_payment(&self, gateway: &GatewayCalls, due: DuePayment) -> Result<Progress> {
        let claimed = self
            .writes
            .store()?
            .write_unless_locked(None, due.order.into(), move |tx| payment_checks::claim(tx, due))?;
        let Some(check) = claimed.flatten() else { return Ok(Progress::NotDue) };
        let order = CheckoutOrder { organization: due.organization, id: due.order };
        let listed = match look_up_of(&check.payment) {
            Some(payment) => {
                list_facts(gateway, due.organization, payment, Ask::RefundsAndDisputes, Waiting::Maintenance)
            }
            None => Ok(None),
        };
        match listed {
            Ok(listing) => {
                self.writes.store_in_operation().write_event(order.organization, order.id.into(), move |tx| {
                    payment_checks::answered(tx, &check, listing.as_ref())
                })?;
                Ok(Progress::Answered)
            }
            // A refusal is probably about the key, which the operator can replace.
            Err(failure) => {
                tracing::warn!(
                    target: "ticketing::payment",
                    payment = %due.id,
                    order = %order.id,
                    problem = %failure,
                    "the payment gateway did not say what it lists of a payment; it is asked again"
                );
                self.writes.store_in_operation().write_event(order.organization, order.id.into(), move |tx| {
                    payment_checks::not_answered(tx, &check)
                })?;
                Ok(Progress::Unavailable)
            }
        }
    }
}
