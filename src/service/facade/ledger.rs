//! The ledger, and the balance of orders.

use crate::enums::scope::Scope;
use crate::error::Result;
use crate::model::payments::ledger_entry::{LedgerEntry, ListLedgerEntries};
use crate::model::payments::order_balance::OrderBalance;
use crate::model::tenants::caller::Caller;
use crate::model::values::id::{LedgerEntryId, OrderId};
use crate::model::values::page::Page;
use crate::sales::money::order_balances;
use crate::service::TicketingService;
use crate::store::money::ledger;

/// # Ledger
impl TicketingService {
    /// Lists the entries of the ledger, newest first: every movement of money, through a gateway and manually. Filters
    /// select by event, order, kind, mode and time. The sum of the entries of an order is what the organizer keeps of
    /// it.
    ///
    /// `kind` and `mode` search the entries that the other filters select, and fail with
    /// [`Error::Unavailable`](crate::Error::Unavailable) after the time limit of a search.
    ///
    /// Requires the scope `orders:read`.
    ///
    /// # Errors
    /// - [`Error::Validation`](crate::Error::Validation) for an invalid `limit` or `cursor`.
    ///
    /// ```
    /// use ticketing::payment::{LedgerKind, ListLedgerEntries};
    #[doc = include_str!("../../doc_fixture.md")]
    /// let created = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// service.payment_completed(&caller, created.order.id)?;
    /// service.cancel_order(&caller, created.order.id)?;
    /// let entries = service.list_ledger_entries(&caller, ListLedgerEntries::new().order(created.order.id))?.data;
    /// assert_eq!((entries[0].kind, entries[0].amount), (LedgerKind::Refund, Amount::cents(-2500)));
    /// assert_eq!((entries[1].kind, entries[1].amount), (LedgerKind::Payment, Amount::cents(2500)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn list_ledger_entries(
        &self,
        caller: &Caller,
        request: ListLedgerEntries,
    ) -> Result<Page<LedgerEntry, LedgerEntryId>> {
        self.list(caller, Scope::OrdersRead, request, ledger::list)
    }

    /// Returns the balance of an order: what was received for it, what went back, and what still has to.
    ///
    /// Requires the scope `orders:read`.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the order does not exist.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// let created = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// service.mark_order_paid(&caller, created.order.id, ticketing::payment::ManualMethod::Cash)?;
    /// service.cancel_order(&caller, created.order.id)?;
    /// let balance = service.get_order_balance(&caller, created.order.id)?;
    /// assert_eq!((balance.sums.received, balance.sums.owed), (Amount::cents(2500), Amount::cents(2500)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_order_balance(&self, caller: &Caller, id: OrderId) -> Result<OrderBalance> {
        caller.require(Scope::OrdersRead)?;
        self.store()?.read(|tx| order_balances::get(tx, caller.organization, id))
    }
}
