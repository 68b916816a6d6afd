//! Operations on orders.

use crate::enums::scope::Scope;
use crate::error::{Error, Reason, Result};
use crate::form::request::{Nothing, Request};
use crate::model::payments::checkout::{CheckoutStatus, OrderCheckout};
use crate::model::sale::gateway_account::GatewayIdentity;
use crate::model::sale::new_order::{CreateOrder, PaymentChoice};
use crate::model::sale::order::{
    CancelOrderResponse, CreateOrderResponse, ListOrders, Order, OrderDetails, OrderSummary,
};
use crate::model::sale::received_payment::{ManualMethod, MarkPaid};
use crate::model::tenants::caller::{Caller, IdempotentCall, KeyedCaller};
use crate::model::tenants::idempotency::Replayable;
use crate::model::values::id::{OrderId, OrganizationId};
use crate::model::values::page::Page;
use crate::rules::money::gateway_choice::is_missing;
use crate::rules::{self, Checked, checked};
use crate::sales::catalog::hold_releases::ReleaseLimit;
use crate::sales::checkouts::checkout_links::{self, OrderProgress, PaymentTerms};
use crate::sales::idempotent_operation::{IdempotentOperation, OperationTarget};
use crate::sales::money::manual_payments::ManualPayment;
use crate::sales::orders::{order_creation, order_lifecycle};
use crate::service::TicketingService;
use crate::store::LockedEvent;
use crate::store::money::checkouts;
use crate::store::order::order_lists;
use crate::store::order::{order_details, orders};
use crate::write::{AfterWrite, Prepared};

/// # Orders
impl TicketingService {
    /// Lists orders, newest first, without their tickets. Filters select by event, ticket type, customer, discount,
    /// reference, status, payment method, and the times of creation, completion and last change.
    ///
    /// A request with a single filter reads an index: a page costs the same however many orders exist or match. In
    /// three cases, a request may scan many orders instead, and fail with [`Error::Unavailable`] after the time limit
    /// of a search:
    /// - Several filters: an index is read for only one of them, the first in the order `reference`, `customerEmail`,
    ///   `discountId`, times of completion, `ticketId`, `eventId` and `status`, other times. The orders that it matches
    ///   are scanned for the other filters. `eventId` and `status` together are one filter with an index.
    /// - `paymentMethod`: all orders that were ever completed are scanned. For the sales of a day, filter by the times
    ///   of completion too.
    /// - Times of completion or change that match more than 5,000 orders, if most of the newer orders do not match.
    ///
    /// Requires the scope `orders:read`.
    ///
    /// # Errors
    /// - [`Error::Validation`] for an invalid `limit`, `cursor` or `customerEmail`.
    ///
    /// ```
    /// use ticketing::order::{CreateOrder, ListOrders};
    #[doc = include_str!("../../doc_fixture.md")]
    /// service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// let of_ada = ListOrders::default().customer_email("ADA@example.com");
    /// assert_eq!(service.list_orders(&caller, of_ada)?.data.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn list_orders(&self, caller: &Caller, request: ListOrders) -> Result<Page<OrderSummary, OrderId>> {
        self.list(caller, Scope::OrdersRead, request, order_lists::list)
    }

    /// Creates an order.
    ///
    /// If the order names a discount code, that discount applies. Otherwise the automatic discount that saves the most
    /// applies.
    ///
    /// An order with a total of 0 is completed at once, and its tickets are issued. Any other order is pending: it
    /// reserves its seats for the [hold](crate::Builder::order_hold), 30 minutes by default, and expires if it is not
    /// paid by then. How it is paid depends on its [payment](CreateOrder::payment):
    /// - GATEWAY, the default: if there is a payment gateway, the service requests a checkout link from it, at which
    ///   the customer pays.
    /// - MANUAL: the order stays pending until [`mark_order_paid`](Self::mark_order_paid) is called.
    /// - PAID, for example at a box office: the order is completed in the same transaction, as by
    ///   [`mark_order_paid`](Self::mark_order_paid).
    ///
    /// Requires the scope `orders:write`, and for the payment PAID also `payments:write`.
    ///
    /// # Errors
    /// - [`Error::Validation`] lists every field outside its limits (see [`CreateOrder`]), and every reference to an
    ///   event or ticket type that does not exist.
    /// - [`Error::Conflict`] with the first reason that applies, in this order: `event-not-on-sale`,
    ///   `ticket-type-not-on-sale`, `sale-not-started`, `sale-ended`, `max-per-order-exceeded`, `limit-reached` (if
    ///   [a limit](crate::Builder::max_reserved_per_customer) is set), `sold-out`.
    /// - [`Error::Validation`] for a field that this event does not accept (`customer.companyName`, `shippingAddress`),
    ///   and then for a `discountCode` that does not apply. The message is a
    ///   [`DiscountRefusal`](crate::discount::DiscountRefusal). Both are reported only if no conflict applies.
    /// - [`Error::Validation`] for `items` if the gateway
    ///   [cannot take the payment](crate::payment::Limits::check_terms).
    /// - [`Error::PaymentGatewayFailed`] if the gateway refuses, or returns no link within
    ///   [20 seconds](crate::Builder::gateway_timeout). The order is cancelled.
    /// - [`Error::Unavailable`] if an earlier request with the same idempotency key has requested the link from another
    ///   gateway, and the link is not known yet.
    ///
    /// ```
    /// use ticketing::order::{CreateOrder, NewCustomer, OrderStatus};
    #[doc = include_str!("../../doc_fixture.md")]
    /// let ada = NewCustomer::new("Ada", "ada@example.com");
    /// let created = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// assert_eq!(created.order.status, OrderStatus::Pending);
    /// assert_eq!(created.order.total.to_string(), "25.00");
    /// assert!(created.checkout_url.is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// A sale at a box office, paid at a card terminal:
    ///
    /// ```
    /// use ticketing::payment::ManualMethod;
    #[doc = include_str!("../../doc_fixture.md")]
    /// let sale = CreateOrder::new(event.id, ada, ticket_type.id, 2).paid(ManualMethod::Card);
    /// let sold = service.create_order(&caller.with_idempotency_key("till-1-4711"), sale)?.value;
    /// assert_eq!(sold.issued_tickets.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create_order<C: IdempotentCall>(
        &self,
        caller: &C,
        request: impl Into<Request<CreateOrder>>,
    ) -> Result<C::Output<CreateOrderResponse>> {
        self.prepare_order(&caller.keyed(), request.into())?.run().map(C::output)
    }

    /// Checks what [`create_order`](Self::create_order) checks before its transaction.
    pub(crate) fn prepare_order(
        &self,
        caller: &KeyedCaller,
        request: Request<CreateOrder>,
    ) -> Result<Prepared<Replayable<CreateOrderResponse>>> {
        self.writes().require_to_notify(&caller.caller, Scope::OrdersWrite)?;
        if request.body.payment_taken().is_some() {
            caller.caller.require(Scope::PaymentsWrite)?;
        }
        self.write(caller, OperationTarget::new("create_order"), request)
            .prepare(|operation, request| self.checked_order(&caller.caller, operation, request, None))
    }

    /// An order whose fields were checked. `shown_total` is what the page of an event says that it costs, in minor units.
    pub(in crate::service) fn checked_order(
        &self,
        caller: &Caller,
        operation: IdempotentOperation,
        request: Request<CreateOrder>,
        shown_total: Option<i64>,
    ) -> Result<Prepared<Replayable<CreateOrderResponse>>> {
        let organization = caller.organization;
        let request = self.check_order(organization, request)?;
        let event = request.event_id;
        let is_manual = request.payment == Some(PaymentChoice::Manual) || request.payment_taken().is_some();
        let gateway = if is_manual { None } else { self.payments().gateway_terms(organization)? };
        let terms = PaymentTerms { hold: self.inner.hold, gateway, recorded_by: caller.recorder(), shown_total };
        let check = if operation.has_key() { Ok(()) } else { self.check_on_reader(organization, &request) };
        check.inspect_err(|error| self.store_in_operation().counters().order_failed(error))?;
        let (service, of_transaction) = (self.clone(), operation.clone());
        let create = move |tx: &LockedEvent<'_>, release_limit: &ReleaseLimit| {
            checkout_links::create_or_resume(tx, &of_transaction, organization, &request, &terms, release_limit)
        };
        Ok(Prepared::on(self.writes(), caller.identity(), event, create, move |progress| {
            let count = |error: &Error| {
                service.store_in_operation().counters().order_failed(error);
                if error.reason() == Some(Reason::SoldOut) {
                    service.inner.sold_out.add(event, service.inner.environment.clock.monotonic());
                }
            };
            match progress.inspect_err(count)? {
                OrderProgress::Finished(response) => Ok(AfterWrite::Done(*response)),
                OrderProgress::NeedsLink(order) => {
                    Ok(AfterWrite::Waits(Box::new(move || service.payments().open_checkout(*order, &operation))))
                }
            }
        }))
    }

    /// Checks a large order on a reader first, and any order of an event whose seats have run out a moment ago, so that one
    /// which cannot be created costs the writer nothing. Not for an order with an idempotency key: it may exist already,
    /// and is then resumed without a check.
    fn check_on_reader(&self, organization: OrganizationId, request: &Checked<CreateOrder>) -> Result<()> {
        let now = self.inner.environment.clock.monotonic();
        // The limit of a customer is reported before too few seats, and checked in the transaction.
        let has_limit = self.inner.hold.max_seats_per_customer.is_some();
        if !has_limit && self.inner.sold_out.contains(request.event_id, now) {
            return self.store()?.read(|tx| order_creation::check_seats(tx, organization, request));
        }
        match order_creation::has_many_items(request) {
            true => self.store()?.read(|tx| order_creation::check_sale(tx, organization, request)),
            false => Ok(()),
        }
    }

    /// Checks the fields of an order request. If one is invalid, checks the references to events and ticket types too,
    /// so that the client gets all errors at once.
    fn check_order(&self, organization: OrganizationId, request: Request<CreateOrder>) -> Result<Checked<CreateOrder>> {
        let Request { body, mut errors } = request;
        rules::order::check_tickets(&body, &mut errors);
        rules::order::check_payment(&body, &mut errors);
        if errors.is_empty() {
            return checked(body, errors);
        }
        self.store()?.read(|tx| order_creation::check_references(tx, organization, &body, &mut errors))?;
        Err(Error::Validation(errors))
    }

    /// Returns an order with its items and tickets.
    ///
    /// Requires the scope `orders:read`.
    ///
    /// # Errors
    /// - [`Error::NotFound`] if the order does not exist.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// let created = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// assert_eq!(service.get_order(&caller, created.order.id)?, created.order);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_order(&self, caller: &Caller, id: OrderId) -> Result<Order> {
        caller.require(Scope::OrdersRead)?;
        self.store()?.read(|tx| orders::get(tx, caller.organization, id))
    }

    /// Returns the details of an order that [`get_order`](Self::get_order) does not: fields of the request, such as the
    /// shipping address, when the order was completed and cancelled, how it was paid, and how much of it was refunded.
    ///
    /// Requires the scope `orders:read`.
    ///
    /// # Errors
    /// - [`Error::NotFound`] if the order does not exist.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// let mut order = CreateOrder::new(event.id, ada, ticket_type.id, 2);
    /// order.language = Some("de".to_owned());
    /// let created = service.create_order(&caller, order)?;
    /// let details = service.get_order_details(&caller, created.order.id)?;
    /// assert_eq!(details.language.as_deref(), Some("de"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_order_details(&self, caller: &Caller, id: OrderId) -> Result<OrderDetails> {
        caller.require(Scope::OrdersRead)?;
        self.store()?.read_one(|tx| order_details::get(tx, caller.organization, id))
    }

    /// Returns the newest checkout of an order at the payment gateway: whether the service must still close it, when it
    /// expires, and its id at the gateway.
    ///
    /// Requires the scope `orders:read`.
    ///
    /// # Errors
    /// - [`Error::NotFound`] if the order does not exist, or if no checkout was requested for it.
    ///
    /// ```
    /// use ticketing::payment::CheckoutStatus;
    #[doc = include_str!("../../doc_fixture.md")]
    /// let created = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// assert_eq!(service.get_checkout(&caller, created.order.id)?.status, CheckoutStatus::Open);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_checkout(&self, caller: &Caller, id: OrderId) -> Result<OrderCheckout> {
        caller.require(Scope::OrdersRead)?;
        let (mut checkout, gateway) =
            self.store()?.read(|tx| Ok((checkouts::get(tx, caller.organization, id)?, checkouts::gateway(tx, id)?)))?;
        let recorded = gateway.as_ref().map(GatewayIdentity::key);
        if checkout.status != CheckoutStatus::Closed && self.payments().gateway_of(recorded).is_none() {
            checkout.last_error = Some(is_missing(recorded));
        }
        Ok(checkout)
    }

    /// Cancels an order and its tickets, and releases its seats and its discount use.
    ///
    /// If the order was paid through a gateway that can refund, the payment is refunded. The refund is recorded with
    /// the cancellation. It is attempted at once, and then by the [maintenance](Self::run_maintenance) until the
    /// gateway answers. If the payment must be refunded in another way, `requires_manual_refund` is true.
    ///
    /// Requires the scope `orders:write`, and for a completed order that was not free also `payments:write`, because
    /// its payment is refunded.
    ///
    /// # Errors
    /// - [`Error::NotFound`] if the order does not exist.
    /// - [`Error::Forbidden`] if the order is completed and was not free, and the caller lacks `payments:write`.
    /// - [`Error::Conflict`] with the reason `order-not-cancellable` if the order is already cancelled.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// let created = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// let cancelled = service.cancel_order(&caller, created.order.id)?;
    /// assert!(!cancelled.requires_manual_refund);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cancel_order<C: IdempotentCall>(&self, caller: &C, id: OrderId) -> Result<C::Output<CancelOrderResponse>> {
        caller.as_caller().require(Scope::OrdersWrite)?;
        let identity = caller.as_caller().identity();
        let may_refund = caller.as_caller().require(Scope::PaymentsWrite);
        let terms = self.payments().refund_terms();
        self.write(caller, OperationTarget::on("cancel_order", id), Nothing).in_steps(|operation, _| {
            let cancellation = self.writes().run_on(identity, id, move |tx, _| {
                order_lifecycle::cancel(tx, &operation, identity, id, &terms, &may_refund)
            })?;
            self.payments().attempt_decided(cancellation.due);
            Ok(cancellation.response)
        })
    }

    /// Completes an order that was paid otherwise than through the gateway, and issues its tickets.
    ///
    /// An expired order is completed if its seats and its discount use are still available, even after the end of its
    /// event, because the organizer already has the money. (After the end of the event, a late payment through the
    /// gateway does not complete an expired order. It is refunded.)
    ///
    /// Requires the scope `payments:write`.
    ///
    /// # Errors
    /// - [`Error::Validation`] for an invalid `note`.
    /// - [`Error::NotFound`] if the order does not exist.
    /// - [`Error::Conflict`] with the reason `order-not-pending` if the order is completed or cancelled. For an expired
    ///   order also `event-cancelled`, `sold-out` or `discount-used-up`.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// let created = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// use ticketing::payment::ManualMethod;
    /// let paid = service.mark_order_paid(&caller, created.order.id, ManualMethod::Transfer)?;
    /// assert_eq!(paid.items[0].issued_tickets.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "mark_order_as_paid")]
    pub fn mark_order_paid<C: IdempotentCall>(
        &self,
        caller: &C,
        id: OrderId,
        request: impl Into<Request<MarkPaid>>,
    ) -> Result<C::Output<Order>> {
        caller.as_caller().require(Scope::PaymentsWrite)?;
        let target = OperationTarget::on("mark_order_paid", id);
        let recorded_by = caller.as_caller().recorder();
        self.write(caller, target, request).run_on(id, move |tx, caller, request, release_limit| {
            request.errors.clone().into_result()?;
            let MarkPaid { how, note } = &request.body;
            let method = how.unwrap_or(ManualMethod::Other);
            let payment = ManualPayment { method, note: note.as_deref(), recorded_by: &recorded_by };
            order_lifecycle::mark_paid(tx, caller.organization, id, &payment, release_limit)
        })
    }

    /// Records that the customer of a pending order was reminded to pay.
    ///
    /// Requires the scope `orders:write`.
    ///
    /// # Errors
    /// - [`Error::NotFound`] if the order does not exist.
    /// - [`Error::Conflict`] with the reason `order-not-pending` if the order is not pending.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// let created = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// let order = service.mark_checkout_reminder_sent(&caller, created.order.id)?;
    /// assert!(order.checkout_reminder_sent);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn mark_checkout_reminder_sent<C: IdempotentCall>(&self, caller: &C, id: OrderId) -> Result<C::Output<Order>> {
        caller.as_caller().require(Scope::OrdersWrite)?;
        let target = OperationTarget::on("mark_checkout_reminder_sent", id);
        self.write(caller, target, Nothing)
            .run_on(id, move |tx, caller, _, _| order_lifecycle::mark_reminder_sent(tx, caller.organization, id))
    }
}
