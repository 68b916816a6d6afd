//! The outcomes of payments, as the payment gateway reports them.

use crate::enums::scope::Scope;
use crate::error::Result;
use crate::model::payments::notice::NoticeOutcome;
use crate::model::sale::order::Order;
use crate::model::sale::received_payment::{ListPayments, ReceivedPayment};
use crate::model::tenants::caller::Caller;
use crate::model::values::id::{OrderId, PaymentId};
use crate::model::values::page::Page;
use crate::payment::NoticeHeaders;
use crate::sales::orders::order_lifecycle;
use crate::sales::orders::received_payments;
use crate::sales::orders::received_payments::Report;
use crate::service::TicketingService;
use crate::store::Transaction;
use crate::store::money::payments;
use crate::store::order::orders;

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
    #[doc = include_str!("../../doc_fixture.md")]
    /// let created = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// let order = service.payment_completed(&caller, created.order.id)?;
    /// assert_eq!(order.status, OrderStatus::Completed);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn payment_completed(&self, caller: &Caller, id: OrderId) -> Result<Order> {
        caller.require_even_if_suspended(Scope::PaymentsWrite)?;
        let organization = caller.organization;
        let read = move |tx: &Transaction<'_>| orders::get(tx, organization, id);
        let mode = self.payments().payment_mode();
        let report = Report { checkout: None, payment: None, is_returned: false, listing: None, mode };
        let terms = self.payments().refund_terms();
        // With SQLite, the connection of the transaction has the pages of the order at hand. With PostgreSQL, to read in
        // the transaction would keep the event locked for more round trips.
        let reads_inside = !self.store()?.locks_events();
        let (recorded, order) = self.writes().record_on(organization, id, move |tx, limit| {
            let recorded = received_payments::receive(tx, organization, id, &report, &terms, limit)?;
            let order = (reads_inside && recorded.due.is_none()).then(|| read(tx)).transpose()?;
            Ok((recorded, order))
        })?;
        self.payments().attempt_decided(recorded.due);
        order.map_or_else(|| self.store_in_operation().read(read), Ok)
    }

    /// Receives a notice of the payment gateway: verifies it with
    /// [`PaymentWebhooks::read`](crate::payment::PaymentWebhooks::read), and records what it says. The server passes
    /// the requests to `/gateway/notices` on to this method.
    ///
    /// Notices may arrive several times, late and in any order, with the same result. This needs no
    /// [`Caller`](crate::Caller), because its signature authenticates it. Returns the outcome of each event in it;
    /// empty for a notice about something else. One that cannot be read is logged. Answer the gateway with success
    /// unless this method fails: what it returns would be the same the next time.
    ///
    /// # Errors
    /// - [`Error::NoticeRefused`](crate::Error::NoticeRefused) if the gateway did not sign it, if the gateway sends no
    ///   notices, or if the gateway had to ask the provider and got no answer. Only then, and after an error of the
    ///   database, should it be sent again.
    ///
    /// ```
    /// use ticketing::payment::NoticeHeaders;
    #[doc = include_str!("../../doc_fixture.md")]
    /// let created = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// let forged = NoticeHeaders::from_iter([("Example-Signature", "00")]);
    /// assert!(service.receive_gateway_notice(&forged, b"{}").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn receive_gateway_notice(&self, headers: &NoticeHeaders, body: &[u8]) -> Result<Vec<NoticeOutcome>> {
        self.payments().receive(headers, body)
    }

    /// Whether a payment gateway has ever taken real money for an order of this database, of any organization: then a
    /// program that starts with the [sandbox](crate::payment::SandboxGateway) has probably lost its settings. For the
    /// operator: it takes no caller.
    ///
    /// # Errors
    /// - [`Error::Store`](crate::Error::Store) and [`Error::Unavailable`](crate::Error::Unavailable) if the database
    ///   cannot be read.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// let created = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// service.payment_completed(&caller, created.order.id)?;
    /// assert!(!service.has_taken_real_money()?, "the sandbox takes none");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn has_taken_real_money(&self) -> Result<bool> {
        self.store()?.scan(None, payments::has_live)
    }

    /// Lists payments, newest first: money that was received for orders, through a gateway or manually. Filters select
    /// by event, order, purpose, mode and time.
    ///
    /// `purpose` and `mode` search the payments that the other filters select, and fail with
    /// [`Error::Unavailable`](crate::Error::Unavailable) after the time limit of a search.
    ///
    /// Requires the scope `orders:read`.
    ///
    /// # Errors
    /// - [`Error::Validation`](crate::Error::Validation) for an invalid `limit` or `cursor`.
    ///
    /// ```
    /// use ticketing::payment::{ListPayments, PaymentPurpose};
    #[doc = include_str!("../../doc_fixture.md")]
    /// let created = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// service.payment_completed(&caller, created.order.id)?;
    /// let payments = service.list_payments(&caller, ListPayments::new().event(event.id))?.data;
    /// assert_eq!((payments[0].amount, payments[0].purpose), (Amount::cents(2500), PaymentPurpose::Order));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn list_payments(&self, caller: &Caller, request: ListPayments) -> Result<Page<ReceivedPayment, PaymentId>> {
        self.list(caller, Scope::OrdersRead, request, payments::list)
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
    #[doc = include_str!("../../doc_fixture.md")]
    /// let created = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// let order = service.payment_failed(&caller, created.order.id)?;
    /// assert_eq!(order.payment_gateway.map(|payment| payment.status), Some(PaymentStatus::Failed));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn payment_failed(&self, caller: &Caller, id: OrderId) -> Result<Order> {
        caller.require_even_if_suspended(Scope::PaymentsWrite)?;
        let organization = caller.organization;
        self.store()?
            .write_event(organization, id.into(), move |tx| order_lifecycle::payment_failed(tx, organization, id, None))
    }
}
