//! Asks the gateway what became of refunds that it has accepted, in case the notice that one has failed was lost.

use super::TicketingService;
use super::gateway_groups::Progress;
use crate::error::Result;
use crate::model::gateway_report::RefundState;
use crate::payment::{GatewayCalls, GatewayError, PaymentLookUp};
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
        match gateway.call_in_background(move |gateway| gateway.list_refunds(&request)) {
            Ok(listed) => {
                let order = CheckoutOrder { organization: check.organization, id: check.order };
                self.record_listed_refunds(order, &payment, &listed)?;
                let of_check = listed.iter().filter(|refund| refund.refund_id == Some(check.id));
                let is_pending = of_check.into_iter().any(|refund| refund.state == RefundState::Pending);
                self.record_check(check, is_pending)?;
                Ok(Progress::Answered)
            }
            // It will refuse to answer the same question in an hour too.
            Err(GatewayError::Refused(problem)) => {
                warn_of_unchecked_refund(&check, &problem);
                self.record_check(check, true)?;
                Ok(Progress::Answered)
            }
            Err(failure) => {
                warn_of_unchecked_refund(&check, &failure.to_string());
                self.store_in_operation().write(move |tx| refund_checks::unavailable(tx, &check))?;
                Ok(Progress::Unavailable)
            }
        }
    }

    fn record_check(&self, check: RefundCheck, is_pending: bool) -> Result<()> {
        self.store_in_operation().write(move |tx| refund_checks::answered(tx, &check, is_pending))
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
