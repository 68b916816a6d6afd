//! Disputes of payments.

use crate::enums::scope::Scope;
use crate::error::Result;
use crate::model::payments::dispute::{Dispute, ListDisputes};
use crate::model::tenants::caller::Caller;
use crate::model::values::id::DisputeId;
use crate::model::values::page::Page;
use crate::service::TicketingService;
use crate::store::money::disputes;

/// # Disputes
impl TicketingService {
    /// Lists disputes, newest first: payments that a customer's bank has taken back, or may take back, as the payment
    /// gateway has [reported](Self::receive_gateway_notice). Filters select by status, event and order. The tickets of
    /// a disputed order stay valid.
    ///
    /// Requires the scope `orders:read`.
    ///
    /// # Errors
    /// - [`Error::Validation`](crate::Error::Validation) for an invalid `limit` or `cursor`.
    ///
    /// ```
    /// use ticketing::payment::{DisputeStatus, ListDisputes};
    #[doc = include_str!("../../doc_fixture.md")]
    /// let open = service.list_disputes(&caller, ListDisputes::new().status(DisputeStatus::Open))?;
    /// assert!(open.data.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn list_disputes(&self, caller: &Caller, request: ListDisputes) -> Result<Page<Dispute, DisputeId>> {
        self.list(caller, Scope::OrdersRead, request, disputes::list)
    }
}
