//! Asks the gateway what became of refunds that it has accepted, in case the notice that one has failed was lost.

use super::TicketingService;
use super::gateway_groups::Progress;
use crate::error::Result;
use crate::model::gateway_report::{GatewayRefund, RefundState};
use crate::payment::{GatewayCalls, PaymentLookUp};
use crate::sales::refund_checks;
use crate::store::checkouts::CheckoutOrder;
use crate::store::refund_checks::{DueCheck, RefundCheck};

impl TicketingService {
    /// Asks the gateway about a refund, if that is due.
    pub(super) fn check_refund(&self, gateway: &GatewayCalls, check: DueCheck) -> Result<Progress> {
        let Some(check) = self.store().write(move |tx| refund_checks::claim(tx, check))? else {
            return Ok(Progress::NotDue);
        };
        let Some(payment) = check.payment.clone() else {
            return self.record_check(check, false).map(|()| Progress::Answered);
        };
        let request = PaymentLookUp::new(&payment).organization(check.organization);
        match gateway.call_in_background(check.organization, move |gateway| gateway.refunds_of(&request)) {
            Ok(listed) => {
                let order = CheckoutOrder { organization: check.organization, id: check.order };
                self.record_listed_refunds(order, &payment, &listed)?;
                // It may also fail after it has succeeded: https://docs.stripe.com/testing#refunds.
                let has_not_failed = |refund: &GatewayRefund| !matches!(refund.state, RefundState::Failed(_));
                let may_fail = listed.iter().any(|it| it.refund_id == Some(check.id) && has_not_failed(it));
                self.record_check(check, may_fail)?;
                Ok(Progress::Answered)
            }
            // A refusal is probably about the key, which the operator can replace.
            Err(failure) => {
                warn_of_unchecked_refund(&check, &failure.to_string());
                self.store_in_operation().write(move |tx| refund_checks::unavailable(tx, &check))?;
                Ok(Progress::Unavailable)
            }
        }
    }

    fn record_check(&self, check: RefundCheck, may_fail: bool) -> Result<()> {
        self.store_in_operation().write(move |tx| refund_checks::answered(tx, &check, may_fail))
    }
}

fn warn_of_unchecked_refund(check: &RefundCheck, problem: &str) {
    tracing::warn!(
        target: "ticketing::payment",
        refund = %check.id,
        order = %check.order,
        problem,
        "the payment gateway did not say what became of a refund; it is asked again"
    );
}
