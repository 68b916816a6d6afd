//! Events that do not take place: the cancellation of all their orders.

use crate::enums::scope::Scope;
use crate::error::{Error, ResourceKind, Result};
use crate::form::request::Request;
use crate::model::sale::cancellation_run::{CancelEventOrders, CancellationRun};
use crate::model::tenants::caller::{Caller, IdempotentCall};
use crate::model::values::id::EventId;
use crate::sales::idempotent_operation::OperationTarget;
use crate::sales::orders::cancellation_runs;
use crate::service::TicketingService;
use crate::store::sale::cancellation_runs as runs;
use crate::store::sale::events;

/// # Events that do not take place
impl TicketingService {
    /// Cancels all COMPLETED orders of a CANCELLED event, and refunds them: each as
    /// [`cancel_order`](Self::cancel_order) does, with its notifications.
    ///
    /// The orders are cancelled after this call, in batches, by the [maintenance](Self::run_maintenance). A run that was
    /// interrupted goes on, also in another process. The gateway is asked for the refunds at its own pace.
    /// [`get_cancellation_run`](Self::get_cancellation_run) tells how far both are.
    ///
    /// While a run is in progress, another call returns it, with `already_running`. After it, another call starts a new
    /// run, which finds the orders that could not be cancelled.
    ///
    /// Requires the scopes `orders:write` and `payments:write`.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the event does not exist.
    /// - [`Error::Validation`](crate::Error::Validation) lists every field outside its limits (see
    ///   [`CancelEventOrders`]).
    /// - [`Error::Conflict`](crate::Error::Conflict) with the reason `event-not-cancelled` if the event is not CANCELLED.
    ///
    /// ```
    /// use ticketing::event::{CancelEventOrders, CancellationRunState, EventStatus, UpdateEvent};
    #[doc = include_str!("../../doc_fixture.md")]
    /// let created = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// service.payment_completed(&caller, created.order.id)?;
    /// service.update_event(&caller, event.id, UpdateEvent::default().status(EventStatus::Cancelled))?;
    /// let started = service.cancel_event_orders(&caller, event.id, CancelEventOrders::default().reason("Storm"))?;
    /// assert_eq!((started.state, started.orders), (CancellationRunState::Running, 1));
    ///
    /// // In the background, if the service was built with `Builder::maintenance`.
    /// service.run_maintenance()?;
    /// let run = service.get_cancellation_run(&caller, event.id)?;
    /// assert_eq!((run.state, run.cancelled, run.refunds_done), (CancellationRunState::Done, 1, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cancel_event_orders<C: IdempotentCall>(
        &self,
        caller: &C,
        id: EventId,
        request: impl Into<Request<CancelEventOrders>>,
    ) -> Result<C::Output<CancellationRun>> {
        caller.as_caller().require(Scope::OrdersWrite)?;
        caller.as_caller().require(Scope::PaymentsWrite)?;
        self.write(caller, OperationTarget::on("cancel_event_orders", id), request)
            .run_on(id, move |tx, caller, request, _| cancellation_runs::start(tx, caller, id, request))
    }

    /// Returns the newest run that cancels the orders of an event.
    ///
    /// Requires the scope `orders:read`.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the event does not exist, or its orders were never cancelled
    ///   with [`cancel_event_orders`](Self::cancel_event_orders).
    ///
    /// ```
    /// use ticketing::event::{CancelEventOrders, EventStatus, UpdateEvent};
    #[doc = include_str!("../../doc_fixture.md")]
    /// service.update_event(&caller, event.id, UpdateEvent::default().status(EventStatus::Cancelled))?;
    /// let started = service.cancel_event_orders(&caller, event.id, CancelEventOrders::default().refund(false))?;
    /// assert_eq!(service.get_cancellation_run(&caller, event.id)?, started);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_cancellation_run(&self, caller: &Caller, id: EventId) -> Result<CancellationRun> {
        caller.require(Scope::OrdersRead)?;
        let organization = caller.organization;
        self.store()?.read(|tx| match runs::newest(tx, organization, id)? {
            Some(run) => Ok(run),
            None if events::exists(tx, organization, id)? => Err(Error::NotFound(ResourceKind::CancellationRun)),
            None => Err(Error::NotFound(ResourceKind::Event)),
        })
    }
}
