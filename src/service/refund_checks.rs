//! Asks the gateway what became of refunds that it has accepted, in case the notice that one has failed was lost.

use std::time::Duration;

use super::TicketingService;
use super::maintenance_steps::{Run, Step};
use super::skipped_rows::SkippedTable;
use crate::error::Result;
use crate::model::gateway_report::RefundState;
use crate::payment::{GatewayCalls, GatewayError, PaymentLookUp};
use crate::sales::refund_checks;
use crate::store::checkouts::CheckoutOrder;
use crate::store::refund_checks::{self as store, DueCheck, RefundCheck};

/// How many refunds a run reads. Rows that cannot be processed are skipped.
const ROWS_PER_RUN: i64 = 1000;

/// About how many refunds the gateway is asked in one run.
const CHECKS_PER_RUN: usize = 20;

/// After which time a run asks about no more refunds.
const CHECK_TIME: Duration = Duration::from_secs(1);

/// After how many failures a run asks about no more refunds.
const FAILURES_PER_RUN: usize = 3;

/// The step of the maintenance that asks about refunds that the gateway has accepted.
pub(super) const CHECK_REFUNDS: Step = Step::new(check_refunds);

/// Asks about refunds that the gateway has accepted.
fn check_refunds(service: &TicketingService, run: &mut Run<'_>) -> Result<()> {
    let Some(gateway) = service.inner.gateway.as_ref().filter(|gateway| gateway.can_refund()) else { return Ok(()) };
    let monotonic = || service.inner.environment.clock.monotonic();
    let started = monotonic();
    let (mut asked, mut failures) = (0, 0);
    for check in service.store().read(|tx| store::due(tx, ROWS_PER_RUN))? {
        if service.is_skipped(SkippedTable::Refunds, check.id.raw()) {
            continue;
        }
        let is_late = monotonic().saturating_sub(started) > CHECK_TIME;
        if run.stops() || is_late || asked == CHECKS_PER_RUN || failures == FAILURES_PER_RUN {
            return Ok(());
        }
        asked += 1;
        match service.check_refund(gateway, check) {
            Ok(true) => run.report.checked_refunds += 1,
            Ok(false) => failures += 1,
            Err(error) if error.concerns_all_rows() => return Err(error),
            Err(error) => run.skip(service, SkippedTable::Refunds, check.id.raw(), &error),
        }
    }
    Ok(())
}

impl TicketingService {
    /// Asks the gateway about a refund, if that is due. Returns whether it answered.
    fn check_refund(&self, gateway: &GatewayCalls, check: DueCheck) -> Result<bool> {
        let Some(check) = self.store().write(move |tx| refund_checks::claim(tx, check))? else { return Ok(true) };
        let Some(payment) = check.payment.clone() else {
            return self.record_check(check, false).map(|()| true);
        };
        let request = PaymentLookUp::new(&payment).organization(check.organization);
        match gateway.call_in_background(move |gateway| gateway.list_refunds(&request)) {
            Ok(listed) => {
                let order = CheckoutOrder { organization: check.organization, id: check.order };
                self.record_listed_refunds(order, &payment, &listed)?;
                let of_check = listed.iter().filter(|refund| refund.refund_id == Some(check.id));
                let is_pending = of_check.into_iter().any(|refund| refund.state == RefundState::Pending);
                self.record_check(check, is_pending)?;
                Ok(true)
            }
            // It will refuse to answer the same question in an hour too.
            Err(GatewayError::Refused(problem)) => {
                warn_of_unchecked_refund(&check, &problem);
                self.record_check(check, true)?;
                Ok(true)
            }
            Err(failure) => {
                warn_of_unchecked_refund(&check, &failure.to_string());
                self.store_in_operation().write(move |tx| refund_checks::unavailable(tx, &check))?;
                Ok(false)
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
