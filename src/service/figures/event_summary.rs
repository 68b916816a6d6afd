//! The summary of an event.

use crate::enums::scope::Scope;
use crate::error::Result;
use crate::model::sale::summary::EventSummary;
use crate::model::tenants::caller::Caller;
use crate::model::values::id::EventId;
use crate::service::TicketingService;
use crate::store::sale::event_figures;

/// # Summary of an event
impl TicketingService {
    /// Summarizes an event: its orders, revenue, tickets and ticket types, all at the same instant.
    ///
    /// The figures are kept up to date by the operations that change them, so that a summary costs the same however
    /// much was sold.
    ///
    /// Requires the scope `events:read`.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the event does not exist.
    ///
    /// ```
    /// use ticketing::order::CreateOrder;
    /// use ticketing::Amount;
    #[doc = include_str!("../../doc_fixture.md")]
    /// let order = |quantity| CreateOrder::new(event.id, ada.clone(), ticket_type.id, quantity);
    /// let paid = service.create_order(&caller, order(2))?.order;
    /// service.payment_completed(&caller, paid.id)?;
    /// service.create_order(&caller, order(3))?;
    ///
    /// let summary = service.get_event_summary(&caller, event.id)?;
    /// assert_eq!(summary.gross_revenue, Amount::cents(2500));
    /// assert_eq!(summary.orders_by_status.completed, 1);
    /// assert_eq!(summary.orders_by_status.pending, 1);
    /// let ticket_type = &summary.ticket_types[0];
    /// assert_eq!((ticket_type.sold, ticket_type.reserved, ticket_type.available), (2, 3, 95));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_event_summary(&self, caller: &Caller, id: EventId) -> Result<EventSummary> {
        caller.require(Scope::EventsRead)?;
        self.store()?.read(|tx| event_figures::of_event(tx, caller.organization, id))
    }
}
