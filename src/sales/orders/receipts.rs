//! What the pages of an order say of it besides its tickets.

use crate::error::Result;
use crate::model::sale::receipt::{OrderOnPage, Receipt, ReceiptPayment};
use crate::model::values::id::{OrderId, OrganizationId};
use crate::store::Transaction;
use crate::store::money::{payments, refunds};
use crate::store::order::{order_details, orders};
use crate::store::sale::events;
use crate::store::tenants::organizations;

/// Returns what the pages say on which an order is paid.
pub(crate) fn on_page(tx: &Transaction<'_>, organization: OrganizationId, id: OrderId) -> Result<OrderOnPage> {
    let order = orders::get(tx, organization, id)?;
    Ok(OrderOnPage {
        event: events::get(tx, organization, order.event_id)?,
        order,
        organizer: organizations::get(tx, organization)?.name,
        receipt: get(tx, organization, id)?,
    })
}

/// Returns the receipt of an order, which may not be paid yet.
pub(crate) fn get(tx: &Transaction<'_>, organization: OrganizationId, id: OrderId) -> Result<Receipt> {
    let payments = payments::of_order(tx, id)?.into_iter().map(|payment| ReceiptPayment {
        purpose: payment.purpose,
        manual_method: payment.manual_method,
        amount: payment.amount(payment.sums.received),
        received_at: payment.created_at,
        currency: payment.currency,
    });
    Ok(Receipt {
        details: order_details::get(tx, organization, id)?,
        payments: payments.collect(),
        refunds: refunds::of_order(tx, organization, id)?,
    })
}
