//! What goes between an order and the payment gateway.

use super::TicketingService;
use crate::error::{Error, Result, StoreError};
use crate::model::caller::Caller;
use crate::model::id::OrderId;
use crate::model::order::{CheckoutRedirectUrls, CreateOrderResponse, Order, OrderStatus};
use crate::model::scope::Scope;
use crate::payment::{Checkout, CheckoutRequest, GatewayCalls, GatewayError};
use crate::sales::idempotency::{IdempotentOperation, PriorOutcome};
use crate::sales::order_lifecycle;
use crate::store::{checkouts, orders};

impl TicketingService {
    /// Takes note that a payment through the gateway was completed: the order is completed and its tickets are issued.
    /// The same notice twice does nothing the second time. Where the payment comes too late (the order was cancelled or
    /// paid another way, or it expired and its places are gone), it is noted, and the money goes back through the
    /// gateway. Scope `orders:write`.
    ///
    /// # Errors
    /// [`Error::NotFound`]; the conflict `order-not-pending` where the order costs nothing.
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// let placed = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// let order = service.payment_completed(&caller, placed.order.id)?;
    /// assert_eq!(order.status, OrderStatus::Completed);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn payment_completed(&self, caller: &Caller, id: OrderId) -> Result<Order> {
        caller.require(Scope::OrdersWrite)?;
        let (organization, can_refund) = (caller.organization, self.can_refund());
        let refund_due =
            self.store().write(move |tx| order_lifecycle::payment_completed(tx, organization, id, can_refund))?;
        if refund_due {
            self.ask_for_refund_now(id);
        }
        self.store().read(|tx| orders::get(tx, organization, id))
    }

    /// Takes note that an attempt to pay through the gateway failed. The order goes on waiting until its hold ends;
    /// once it waits no more, the notice changes nothing. Scope `orders:write`.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// let placed = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// let order = service.payment_failed(&caller, placed.order.id)?;
    /// assert_eq!(order.payment_gateway.map(|payment| payment.status), Some(PaymentStatus::Failed));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn payment_failed(&self, caller: &Caller, id: OrderId) -> Result<Order> {
        caller.require(Scope::OrdersWrite)?;
        let organization = caller.organization;
        self.store().write(move |tx| {
            order_lifecycle::payment_failed(tx, organization, id)?;
            orders::get(tx, organization, id)
        })
    }

    /// Whether there is a gateway, which gives each order that costs something a link.
    pub(super) fn takes_payments(&self) -> bool {
        self.inner.gateway.is_some()
    }

    /// Asks the gateway for a link under which a pending order is paid. No transaction is open while it is asked, and
    /// nothing is read before: an order that holds places must not fail for want of a reader. Where the gateway gives no
    /// link, the order is cancelled.
    pub(super) fn open_checkout(
        &self,
        order: Order,
        currency: String,
        redirect_urls: Option<CheckoutRedirectUrls>,
        operation: &IdempotentOperation,
    ) -> Result<CreateOrderResponse> {
        let Some(gateway) = &self.inner.gateway else { return Ok(order.into()) };
        let (organization, id) = (order.organizer_id, order.id);
        let checkout = match self.start_checkout(gateway, &order, currency, redirect_urls) {
            Ok(checkout) => checkout,
            Err(failure) => return self.give_up_checkout(&order, &failure, operation),
        };
        let recording = operation.clone();
        let recorded = self.store().write(move |tx| {
            match recording.prior_outcome(tx)? {
                // Another process took the order up meanwhile, and was faster.
                PriorOutcome::Result(answer) => return Ok(Some(answer)),
                PriorOutcome::PendingOrder(waiting) if waiting == id => {}
                PriorOutcome::None if recording.keyed_request().is_none() => {}
                // Another process took it up, got no link, and gave it up.
                PriorOutcome::None | PriorOutcome::PendingOrder(_) => return Ok(None),
            }
            checkouts::record(tx, organization, id, &checkout.link, &checkout.reference)?;
            let answer = CreateOrderResponse::from(orders::get(tx, organization, id)?);
            recording.store_result(tx, &answer).map(|()| Some(answer))
        });
        let failure = match recorded {
            Ok(Some(answer)) => return Ok(answer),
            Ok(None) => GatewayError::Unavailable("it gave another process no link".to_owned()),
            Err(Error::Store(StoreError::Taken(_))) => {
                GatewayError::Refused("it gave the reference of another payment".to_owned())
            }
            Err(error) => return Err(error),
        };
        self.give_up_checkout(&order, &failure, operation)
    }

    fn start_checkout(
        &self,
        gateway: &GatewayCalls,
        order: &Order,
        currency: String,
        redirect_urls: Option<CheckoutRedirectUrls>,
    ) -> Result<Checkout, GatewayError> {
        let request = CheckoutRequest {
            order_id: order.id,
            organization_id: order.organizer_id,
            event_id: order.event_id,
            amount: order.total,
            currency,
            customer: order.customer.clone(),
            redirect_urls,
            public_url: self.inner.public_url.clone(),
            idempotency_key: format!("checkout-{}", order.id),
        };
        gateway.call(move |gateway| gateway.start_checkout(&request))
    }

    /// Cancels an order for which the gateway gave no link, unless somebody paid or cancelled it meanwhile.
    fn give_up_checkout(
        &self,
        order: &Order,
        failure: &GatewayError,
        operation: &IdempotentOperation,
    ) -> Result<CreateOrderResponse> {
        let (organization, id, operation) = (order.organizer_id, order.id, operation.clone());
        tracing::warn!(order = %id, %failure, "the payment gateway gave no checkout link");
        let answer = self.store().write(move |tx| {
            if let PriorOutcome::Result(answer) = operation.prior_outcome(tx)? {
                return Ok(Some(answer));
            }
            order_lifecycle::cancel_unless_paid(tx, organization, id)?;
            let order = orders::get(tx, organization, id)?;
            if order.status != OrderStatus::Completed {
                return operation.forget_pending_order(tx, id).map(|()| None);
            }
            let answer = CreateOrderResponse::from(order);
            operation.store_result(tx, &answer).map(|()| Some(answer))
        })?;
        answer.ok_or_else(|| Error::PaymentGatewayFailed(format!("{failure}; the order {id} was cancelled")))
    }
}
