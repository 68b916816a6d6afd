//! The outcomes of payments, as the payment gateway reports them.

use super::TicketingService;
use super::refunds::warn_of_refused_refund;
use crate::error::Result;
use crate::model::caller::Caller;
use crate::model::checkout::GatewayPayment;
use crate::model::id::{OrderId, OrganizationId};
use crate::model::notice::NoticeOutcome;
use crate::model::order::Order;
use crate::sales::hold_releases::ReleaseBudget;
use crate::sales::order_lifecycle;
use crate::scope::Scope;
use crate::store::orders;

/// # Payments
///
/// A payment gateway, or the program for it, reports the outcome of each payment.
impl TicketingService {
    /// Records that a payment through the gateway was completed. The order is completed, and its tickets are issued.
    ///
    /// Reporting the same payment again changes nothing. This report has no id of the payment: the first payment of the
    /// same amount that the gateway reports with its id is taken for the same one, and every further one is refunded.
    /// For money that was not paid through the gateway, use [`mark_order_paid`](Self::mark_order_paid). A payment that
    /// comes too late for its order is recorded and refunded through the gateway: the order was cancelled, was paid in
    /// another way, or has expired and its seats or its discount use are no longer available, or its event has ended.
    ///
    /// Requires the scope `payments:write`.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the order does not exist.
    /// - [`Error::Conflict`](crate::Error::Conflict) with the reason `order-not-pending` if the total of the order is
    ///   0.
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// let created = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// let order = service.payment_completed(&caller, created.order.id)?;
    /// assert_eq!(order.status, OrderStatus::Completed);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn payment_completed(&self, caller: &Caller, id: OrderId) -> Result<Order> {
        caller.require_even_if_suspended(Scope::PaymentsWrite)?;
        self.complete_payment(caller.organization, id, None, None)?;
        self.store_in_operation().read(|tx| orders::get(tx, caller.organization, id))
    }

    /// Records a completed payment. `checkout` is the gateway's id of the checkout, if it is known. `payment` is `None`
    /// if the program reports it and has compared the amount: then a refund that is due is attempted at once.
    pub(super) fn complete_payment(
        &self,
        organization: OrganizationId,
        id: OrderId,
        checkout: Option<&str>,
        payment: Option<&GatewayPayment>,
    ) -> Result<NoticeOutcome> {
        let can_refund = self.can_refund();
        let recorded = self.with_expired_holds(organization, id, |after| {
            let (checkout, payment) = (checkout.map(str::to_owned), payment.cloned());
            self.store().write_event(organization, id.into(), move |tx| {
                let budget = ReleaseBudget::after(after);
                let (checkout, payment) = (checkout.as_deref(), payment.as_ref());
                order_lifecycle::payment_completed(tx, organization, id, checkout, payment, can_refund, &budget)
            })
        })?;
        if recorded.mismatch {
            self.store_in_operation().counters().amount_mismatched();
            tracing::error!(
                target: "ticketing::payment",
                order = %id,
                payment = payment.map(|payment| payment.payment_reference.as_str()),
                amount = payment.map(|payment| payment.amount.to_string()),
                currency = payment.map(|payment| payment.currency.as_str()),
                "a payment has another amount or currency than its order; it completed nothing"
            );
        }
        if let Some(problem) = recorded.refund_refused {
            warn_of_refused_refund(id, problem);
        }
        // A notice, and a customer who comes back, do not wait for a refund: the maintenance attempts it within a second.
        if let Some(refund) = recorded.refund_due
            && payment.is_none()
        {
            self.attempt_refund_now(refund);
        }
        Ok(if recorded.mismatch { NoticeOutcome::AmountMismatch } else { NoticeOutcome::Processed })
    }

    /// Records that a payment through the gateway failed. The order stays pending until its hold expires, and the
    /// customer may try again. An order that is not pending stays as it is.
    ///
    /// Requires the scope `payments:write`.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the order does not exist.
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// let created = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// let order = service.payment_failed(&caller, created.order.id)?;
    /// assert_eq!(order.payment_gateway.map(|payment| payment.status), Some(PaymentStatus::Failed));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn payment_failed(&self, caller: &Caller, id: OrderId) -> Result<Order> {
        caller.require_even_if_suspended(Scope::PaymentsWrite)?;
        let organization = caller.organization;
        self.store().write_for(organization, move |tx| order_lifecycle::payment_failed(tx, organization, id, None))
    }
}
