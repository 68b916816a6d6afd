//! Orders.

use super::TicketingService;
use super::idempotency::Start;
use crate::error::{Error, Result};
use crate::form::request::{Nothing, Request};
use crate::model::caller::Caller;
use crate::model::id::{OrderId, kind};
use crate::model::order::{
    CancelOrderResponse, CreateOrder, CreateOrderResponse, ListOrders, Order, OrderDetails, OrderStatus, OrderSummary,
};
use crate::model::page::Page;
use crate::model::scope::Scope;
use crate::rules::Checked;
use crate::rules::order as rules;
use crate::sales::idempotency::{OperationTarget, PriorOutcome};
use crate::sales::order_creation::{self, CreatedOrder};
use crate::sales::order_lifecycle;
use crate::store::orders;

/// What a new order came to in its transaction.
enum Placed {
    Answered(CreateOrderResponse),
    /// The order, and the currency of its amounts.
    WantsLink(Order, String),
}

impl TicketingService {
    /// Lists orders, newest first. Scope `orders:read`.
    ///
    /// # Errors
    /// A validation error names `limit` or `cursor`.
    ///
    /// ```
    /// use ticketing::{CreateOrder, ListOrders};
    #[doc = include_str!("../doc_fixture.md")]
    /// service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// let of_ada = ListOrders { customer_email: Some("ADA@example.com".to_owned()), ..Default::default() };
    /// assert_eq!(service.list_orders(&caller, of_ada)?.data.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn list_orders(
        &self,
        caller: &Caller,
        request: impl Into<Request<ListOrders>>,
    ) -> Result<Page<OrderSummary, kind::Order>> {
        caller.require(Scope::OrdersRead)?;
        let Request { body, errors } = request.into();
        let request = rules::check_list(body, errors)?;
        self.store().read(|tx| orders::list(tx, caller.organization, &request))
    }

    /// Takes an order. The discount that it names applies, or where it names none, the automatic one that takes off most.
    /// Where it costs nothing, it is completed and its tickets are issued at once. Otherwise it holds its places (30
    /// minutes by default), and the payment gateway, where there is one, is asked for a link under which the customer
    /// pays. Scope `orders:write`.
    ///
    /// # Errors
    /// A validation error names every field that breaks its limit (see [`CreateOrder`]) or refers to something that is
    /// not there. Conflicts, of which the first that applies is given: `event-not-on-sale`, `ticket-type-not-on-sale`,
    /// `sale-not-started`, `sale-ended`, `max-per-order-exceeded`, `sold-out`. After all of these a validation error
    /// names `discountCode` where the discount does not apply, with the text that
    /// [`validate_discount`](Self::validate_discount) gives.
    /// [`Error::PaymentGatewayFailed`] where the gateway gives no link within 20 seconds: then the order is cancelled.
    ///
    /// ```
    /// use ticketing::{CreateOrder, NewCustomer, OrderStatus};
    #[doc = include_str!("../doc_fixture.md")]
    /// let ada = NewCustomer::new("Ada", "ada@example.com");
    /// let placed = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// assert_eq!(placed.order.status, OrderStatus::Pending);
    /// assert_eq!(placed.order.total.to_string(), "25.00");
    /// assert!(placed.checkout_url.is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create_order(
        &self,
        caller: &Caller,
        request: impl Into<Request<CreateOrder>>,
    ) -> Result<CreateOrderResponse> {
        caller.require(Scope::OrdersWrite)?;
        let request = request.into();
        let running = match self.begin_idempotent(caller, OperationTarget::new("create_order"), &request)? {
            Start::Replay(response) => return Ok(response),
            Start::Run(running) => running,
        };
        let request = self.check_order(caller, request)?;
        let redirect_urls = request.checkout_redirect_urls.clone();
        let (organization, hold, paid_by_link) = (caller.organization, self.inner.order_hold, self.takes_payments());
        let operation = running.operation();
        let placed = self.store().write(move |tx| {
            let CreatedOrder { order, currency } = match operation.prior_outcome(tx)? {
                PriorOutcome::Result(answer) => return Ok(Placed::Answered(answer)),
                // Placed by a process that ended before it had the link.
                PriorOutcome::PendingOrder(id) => {
                    CreatedOrder { order: orders::get(tx, organization, id)?, currency: orders::currency(tx, id)? }
                }
                PriorOutcome::None => order_creation::create(tx, organization, &request, hold)?,
            };
            let wants_link = order.status == OrderStatus::Pending && order.payment_gateway.is_none();
            if wants_link && paid_by_link {
                operation.store_pending_order(tx, order.id)?;
                return Ok(Placed::WantsLink(order, currency));
            }
            let answer = CreateOrderResponse::from(order);
            operation.store_result(tx, &answer)?;
            Ok(Placed::Answered(answer))
        });
        match placed.inspect_err(|error| self.store().counters().order_failed(error))? {
            Placed::Answered(answer) => Ok(answer),
            Placed::WantsLink(order, currency) => {
                self.open_checkout(order, currency, redirect_urls, &running.operation())
            }
        }
    }

    /// Checks the form of an order; where it is wrong, also what the order refers to, so that the caller hears of
    /// everything at once.
    fn check_order(&self, caller: &Caller, request: Request<CreateOrder>) -> Result<Checked<CreateOrder>> {
        let Request { body, mut errors } = request;
        if let Some(checked) = rules::check(body.clone(), &mut errors) {
            return Ok(checked);
        }
        self.store().read(|tx| order_creation::check_references(tx, caller.organization, &body, &mut errors))?;
        Err(Error::Validation(errors))
    }

    /// Reads one order. Scope `orders:read`.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// let placed = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// assert_eq!(service.get_order(&caller, placed.order.id)?, placed.order);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_order(&self, caller: &Caller, id: OrderId) -> Result<Order> {
        caller.require(Scope::OrdersRead)?;
        self.store().read(|tx| orders::get(tx, caller.organization, id))
    }

    /// Reads what the request of an order said and the order does not show. Scope `orders:read`.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// let mut order = CreateOrder::new(event.id, ada, ticket_type.id, 2);
    /// order.language = Some("de".to_owned());
    /// let placed = service.create_order(&caller, order)?;
    /// let details = service.get_order_details(&caller, placed.order.id)?;
    /// assert_eq!(details.language.as_deref(), Some("de"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_order_details(&self, caller: &Caller, id: OrderId) -> Result<OrderDetails> {
        caller.require(Scope::OrdersRead)?;
        self.store().read_one(|tx| orders::details(tx, caller.organization, id))
    }

    /// Cancels an order and its tickets, and frees its places and the use of its discount. What was paid through a
    /// gateway that can refund goes back the same way; the refund is recorded with the cancellation, asked for at once,
    /// and again until the gateway answers. Scope `orders:write`.
    ///
    /// # Errors
    /// [`Error::NotFound`]; the conflict `order-not-cancellable` where it is cancelled already.
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// let placed = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// let cancelled = service.cancel_order(&caller, placed.order.id)?;
    /// assert!(!cancelled.requires_manual_refund);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cancel_order(&self, caller: &Caller, id: OrderId) -> Result<CancelOrderResponse> {
        caller.require(Scope::OrdersWrite)?;
        let target = OperationTarget::on("cancel_order", id);
        let running = match self.begin_idempotent(caller, target, &Request::from(Nothing))? {
            Start::Replay(response) => return Ok(response),
            Start::Run(running) => running,
        };
        let organization = caller.organization;
        let operation = running.operation();
        let can_refund = self.can_refund();
        let cancellation =
            self.store().write(move |tx| order_lifecycle::cancel(tx, &operation, organization, id, can_refund))?;
        if cancellation.refund_due {
            self.ask_for_refund_now(id);
        }
        Ok(cancellation.response)
    }

    /// Completes an order whose money came another way than through the gateway, and issues its tickets. An expired one
    /// is revived where its places and the use of its discount are still there. Scope `orders:write`.
    ///
    /// # Errors
    /// [`Error::NotFound`]; the conflicts `order-not-pending`, and for an expired order `event-cancelled`,
    /// `sold-out` or `discount-used-up`.
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// let placed = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// let paid = service.mark_order_paid(&caller, placed.order.id)?;
    /// assert_eq!(paid.items[0].issued_tickets.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn mark_order_paid(&self, caller: &Caller, id: OrderId) -> Result<Order> {
        caller.require(Scope::OrdersWrite)?;
        let organization = caller.organization;
        self.write_idempotent(caller, OperationTarget::on("mark_order_paid", id), Nothing, move |tx, _| {
            order_lifecycle::mark_paid(tx, organization, id)?;
            orders::get(tx, organization, id)
        })
    }

    /// Notes that the customer was reminded to pay. Scope `orders:write`.
    ///
    /// # Errors
    /// [`Error::NotFound`]; the conflict `order-not-pending`.
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// let placed = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// let order = service.mark_checkout_reminder_sent(&caller, placed.order.id)?;
    /// assert!(order.checkout_reminder_sent);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn mark_checkout_reminder_sent(&self, caller: &Caller, id: OrderId) -> Result<Order> {
        caller.require(Scope::OrdersWrite)?;
        let organization = caller.organization;
        let target = OperationTarget::on("mark_checkout_reminder_sent", id);
        self.write_idempotent(caller, target, Nothing, move |tx, _| {
            let marked = orders::mark_reminder_sent(tx, organization, id)?;
            let order = orders::get(tx, organization, id)?;
            if !marked {
                rules::check_pending(order.status)?;
            }
            Ok(order)
        })
    }
}
