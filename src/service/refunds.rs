//! Money that goes back through the gateway.

use std::time::Duration;

use super::TicketingService;
use crate::error::{FieldErrors, Result};
use crate::form::request::Request;
use crate::model::caller::Caller;
use crate::model::id::{OrderId, kind};
use crate::model::page::Page;
use crate::model::refund::{ListRefunds, Refund};
use crate::model::scope::Scope;
use crate::payment::{GatewayError, RefundRequest};
use crate::store::{checkouts, refunds};

/// For how long nobody else asks for a refund that is being asked for: longer than a gateway may take.
const CLAIM: Duration = Duration::from_mins(1);

/// What came of asking for one refund.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// The gateway answered, one way or the other.
    Answered,
    /// The gateway did not answer.
    Unanswered,
    /// There was nothing to ask, or somebody else is at it.
    Nothing,
}

impl TicketingService {
    /// Lists refunds, the newest order first: those that are due, done, or refused for good. Scope `orders:read`.
    ///
    /// # Errors
    /// A validation error names `limit` or `cursor`.
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// let placed = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// service.payment_completed(&caller, placed.order.id)?;
    /// service.cancel_order(&caller, placed.order.id)?;
    /// let refunds = service.list_refunds(&caller, ListRefunds::default())?.data;
    /// assert_eq!(refunds[0].status, RefundStatus::Done);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn list_refunds(
        &self,
        caller: &Caller,
        request: impl Into<Request<ListRefunds>>,
    ) -> Result<Page<Refund, kind::Order>> {
        caller.require(Scope::OrdersRead)?;
        let Request { body, mut errors } = request.into();
        crate::rules::page::check(&mut errors, &body.page);
        FieldErrors::into_result(errors)?;
        self.store().read(|tx| refunds::list(tx, caller.organization, body.status, &body.page))
    }

    /// Asks for a refund that was just decided. What goes wrong here is made good by the maintenance.
    pub(super) fn ask_for_refund_now(&self, order: OrderId) {
        if let Err(error) = self.ask_for_refund(order) {
            tracing::warn!(%order, %error, "a refund could not be asked for; it stays due");
        }
    }

    /// Asks the gateway for one refund, where it is due and nobody else is at it.
    pub(super) fn ask_for_refund(&self, order: OrderId) -> Result<Asked> {
        let Some(gateway) = self.inner.gateway.as_ref().filter(|gateway| gateway.can_refund()) else {
            return Ok(Asked::Nothing);
        };
        let claimed = self.store().write(move |tx| {
            let claimed = refunds::claim(tx, order, tx.now().plus(CLAIM))?;
            Ok(claimed.zip(Some(checkouts::reference(tx, order)?)))
        })?;
        let Some((refund, reference)) = claimed else { return Ok(Asked::Nothing) };
        let request = RefundRequest {
            order_id: order,
            reference,
            amount: refund.amount,
            currency: refund.currency,
            idempotency_key: format!("refund-{order}"),
        };
        let answer = gateway.call(move |gateway| gateway.refund(&request));
        self.store().write(move |tx| match &answer {
            Ok(()) => refunds::done(tx, order).map(|()| Asked::Answered),
            Err(GatewayError::Refused(problem)) => refunds::refused(tx, order, problem).map(|()| Asked::Answered),
            Err(GatewayError::Unavailable(problem)) => {
                let next = tx.now().plus(delay_after(refund.attempt));
                refunds::again_at(tx, order, next, problem).map(|()| Asked::Unanswered)
            }
        })
    }
}

/// How long to wait after the `attempt`th time that a gateway did not answer: from 10 seconds, doubling, to an hour.
fn delay_after(attempt: i64) -> Duration {
    let doublings = u32::try_from(attempt - 1).unwrap_or(0).min(9);
    Duration::from_secs(10 << doublings).min(Duration::from_hours(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gateway_that_does_not_answer_is_asked_less_and_less_often() {
        let seconds: Vec<_> = [1, 2, 3, 9, 10, 1_000_000].map(|attempt| delay_after(attempt).as_secs()).into();
        assert_eq!(seconds, [10, 20, 40, 2560, 3600, 3600]);
    }
}
