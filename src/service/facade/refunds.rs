//! Refunds: what is decided to go back, and what was returned manually.

use crate::enums::scope::Scope;
use crate::error::{Error, Result};
use crate::form::request::{Nothing, Request};
use crate::model::sale::refund::{
    ListRefunds, MarkRefunded, MarkRefundedResponse, Refund, RefundMethod, RefundOrder, RefundOrderResponse,
};
use crate::model::tenants::caller::{Caller, IdempotentCall};
use crate::model::values::id::{OrderId, RefundId};
use crate::model::values::page::Page;
use crate::sales::idempotent_operation::OperationTarget;
use crate::sales::orders::manual_refunds;
use crate::sales::orders::partial_refunds::{self, AskedBefore};
use crate::service::TicketingService;
use crate::store::money::checkouts::CheckoutOrder;
use crate::store::money::refunds;

/// # Refunds
impl TicketingService {
    /// Lists refunds, newest first: decisions that money goes back, whether it has gone back or not. Filters select by
    /// status, event and order.
    ///
    /// Requires the scope `orders:read`.
    ///
    /// # Errors
    /// - [`Error::Validation`](crate::Error::Validation) for an invalid `limit` or `cursor`.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// let created = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// service.payment_completed(&caller, created.order.id)?;
    /// service.cancel_order(&caller, created.order.id)?;
    /// let refunds = service.list_refunds(&caller, ListRefunds::default())?.data;
    /// assert_eq!(refunds[0].status, RefundStatus::Done);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn list_refunds(&self, caller: &Caller, request: ListRefunds) -> Result<Page<Refund, RefundId>> {
        self.list(caller, Scope::OrdersRead, request, refunds::list)
    }

    /// Gives back a part of what was paid for an order: for some of its tickets, or an amount.
    ///
    /// - Tickets are cancelled, and their seats can be sold again. The final amount of an item is divided by the number
    ///   of its tickets. The minor units that are left go to its first tickets, one each: of 10.00 for three tickets,
    ///   3.34, 3.33 and 3.33. If the gateway refunds only [multiples](crate::payment::Limits::smallest_refund) of an
    ///   amount, the shares are such multiples. When the last ticket goes, the order is CANCELLED.
    /// - An amount cancels no ticket. The order stays COMPLETED, also if nothing of the payment is left. It needs an
    ///   [idempotency key](Caller::with_idempotency_key): without one, a program that repeats the call because it got
    ///   no answer would pay twice. A ticket is refunded only once, so tickets need no key.
    ///
    /// A payment through a gateway that can refund is refunded through it, as
    /// [`cancel_order`](Self::cancel_order) does. Otherwise `requires_manual_refund` is true. Cancelling the order
    /// later gives back only the rest.
    ///
    /// Requires the scope `payments:write`.
    ///
    /// # Errors
    /// - [`Error::IdempotencyKeyRequired`](crate::Error::IdempotencyKeyRequired) for an amount without a key.
    /// - [`Error::NotFound`](crate::Error::NotFound) if the order does not exist.
    /// - [`Error::Validation`](crate::Error::Validation) lists every field outside its limits (see [`RefundOrder`]),
    ///   every ticket that is not of this order, and an amount that the gateway cannot refund.
    /// - [`Error::Conflict`](crate::Error::Conflict) with the reason `ticket-cancelled` if one of the tickets is
    ///   cancelled, or `refund-exceeds-payment` if so much is not left of what was paid.
    ///
    /// ```
    /// use ticketing::payment::RefundOrder;
    #[doc = include_str!("../../doc_fixture.md")]
    /// let created = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// let order = service.payment_completed(&caller, created.order.id)?;
    /// let one = order.tickets().next().expect("an order that is completed has tickets").id;
    /// let refunded = service.refund_order(&caller, order.id, RefundOrder::of_tickets([one]).reason("Ill"))?;
    /// assert_eq!(refunded.amount, Amount::cents(1250));
    ///
    /// let keyed = caller.with_idempotency_key("apology-4711");
    /// service.refund_order(&keyed, order.id, RefundOrder::of_amount(Amount::cents(250)))?;
    /// assert_eq!(service.get_event_summary(&caller, event.id)?.refunded_total, Amount::cents(1500));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn refund_order<C: IdempotentCall>(
        &self,
        caller: &C,
        id: OrderId,
        request: impl Into<Request<RefundOrder>>,
    ) -> Result<C::Output<RefundOrderResponse>> {
        caller.as_caller().require(Scope::PaymentsWrite)?;
        let request = request.into();
        if request.body.amount.is_some() && !caller.has_key() {
            return Err(Error::IdempotencyKeyRequired);
        }
        let identity = caller.as_caller().identity();
        let terms = self.payments().refund_terms();
        let step = self.payments().price_step();
        self.write(caller, OperationTarget::on("refund_order", id), request).in_steps(|operation, request| {
            let refunded = self.writes().run_on(identity, id, move |tx, _| {
                partial_refunds::refund(tx, &operation, identity, id, &request, &terms, &step)
            })?;
            self.payments().attempt_decided(refunded.due);
            Ok(refunded.response)
        })
    }

    /// Takes back what has not gone back of a refund. The money stays with the organizer.
    ///
    /// If the gateway was asked for the refund before, it is asked first whether it has made it: its answer may have been
    /// lost. This needs [`RefundReports`](crate::payment::RefundReports) of the gateway that has the payment.
    ///
    /// Requires the scope `payments:write`.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the refund does not exist.
    /// - [`Error::Conflict`](crate::Error::Conflict) with the reason `refund-in-progress` while the gateway is asked
    ///   for it, or `refund-settled` if nothing of it is left to go back.
    /// - [`Error::Unavailable`](crate::Error::Unavailable) if the gateway is to be asked and does not answer.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// let created = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// service.mark_order_paid(&caller, created.order.id, ticketing::payment::ManualMethod::Cash)?;
    /// service.cancel_order(&caller, created.order.id)?;
    /// let owed = service.list_refunds(&caller, ListRefunds::default())?.data.remove(0);
    /// let withdrawn = service.withdraw_refund(&caller, owed.id)?;
    /// assert_eq!(withdrawn.status, RefundStatus::Withdrawn);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn withdraw_refund<C: IdempotentCall>(&self, caller: &C, id: RefundId) -> Result<C::Output<Refund>> {
        caller.as_caller().require(Scope::PaymentsWrite)?;
        let identity = caller.as_caller().identity();
        let organization = identity.organization;
        self.write(caller, OperationTarget::on("withdraw_refund", id), Nothing).in_steps(|operation, _| {
            let asked = self.store()?.read(|tx| partial_refunds::asked_before(tx, organization, id))?;
            let AskedBefore { order, attempts, payment } = asked;
            self.payments().list_all(CheckoutOrder { organization, id: order }, payment.as_slice())?;
            self.writes().run_on(identity, order, move |tx, _| {
                operation.run(tx, || {
                    partial_refunds::withdraw(tx, order, id, attempts)?;
                    refunds::get(tx, organization, id)
                })
            })
        })
    }

    /// Records that money which was to be returned manually for an order was given back: for a manual payment, and
    /// for refunds that the gateway cannot make or has refused. Until then it counts in the `owed_total` of the event's
    /// summary.
    ///
    /// Without an amount and a refund, it is all that is owed for the order. An amount pays what is owed the longest
    /// first. The result says what was recorded for which refund. With
    /// [`RefundMethod::Gateway`](crate::payment::RefundMethod::Gateway), nothing is recorded on the caller's word: the
    /// gateway is asked for its refunds of the order's payments at once. It reports them by itself too, so this is
    /// never needed.
    ///
    /// Requires the scope `payments:write`.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the order does not exist.
    /// - [`Error::Validation`](crate::Error::Validation) lists every field outside its limits: see [`MarkRefunded`].
    /// - [`Error::Conflict`](crate::Error::Conflict) with the reason `no-manual-refund-due` if nothing of the order is
    ///   owed, or less than the amount.
    /// - [`Error::Unavailable`](crate::Error::Unavailable) if the gateway is to be asked and does not answer.
    ///
    /// ```
    /// use ticketing::payment::{MarkRefunded, RefundMethod};
    #[doc = include_str!("../../doc_fixture.md")]
    /// let created = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// service.mark_order_paid(&caller, created.order.id, ticketing::payment::ManualMethod::Cash)?;
    /// assert!(service.cancel_order(&caller, created.order.id)?.requires_manual_refund);
    /// assert_eq!(service.get_event_summary(&caller, event.id)?.owed_total, Amount::cents(2500));
    /// let marked = service.mark_order_refunded(&caller, created.order.id, MarkRefunded::all(RefundMethod::Cash))?;
    /// assert_eq!(marked.settled[0].amount, Amount::cents(2500));
    /// assert_eq!(service.get_event_summary(&caller, event.id)?.owed_total, Amount::cents(0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn mark_order_refunded<C: IdempotentCall>(
        &self,
        caller: &C,
        id: OrderId,
        request: impl Into<Request<MarkRefunded>>,
    ) -> Result<C::Output<MarkRefundedResponse>> {
        caller.as_caller().require(Scope::PaymentsWrite)?;
        let organization = caller.as_caller().organization;
        let request = request.into();
        let target = OperationTarget::on("mark_order_refunded", id);
        if request.errors.is_empty() && request.body.how == Some(RefundMethod::Gateway) {
            let (payments, before) = self.store()?.read(|tx| manual_refunds::before_asking(tx, organization, id))?;
            self.payments().list_all(CheckoutOrder { organization, id }, &payments)?;
            return self
                .write(caller, target, request)
                .run(move |tx, _, _| manual_refunds::settled_since(tx, organization, id, &before));
        }
        let recorded_by = caller.as_caller().recorder();
        self.write(caller, target, request).run_on(id, move |tx, _, request, _| {
            manual_refunds::mark_refunded(tx, (organization, &recorded_by), id, request)
        })
    }
}
