//! The payments of orders at the gateway: payment links, and finding an order by the gateway's reference.

use super::Transaction;
use crate::error::Result;
use crate::model::id::{OrderId, OrganizationId};

const RECORD: &str = "UPDATE orders SET payment_link = ?3, payment_reference = ?4,
        payment_status = COALESCE(payment_status, 'WAITING'), updated_at = ?5
    WHERE id = ?1 AND organization_id = ?2 AND (payment_link IS NULL OR payment_link = '')";
pub(super) const BY_REFERENCE: &str = "SELECT id, organization_id FROM orders WHERE payment_reference = ?1";
const REFERENCE: &str = "SELECT id, payment_reference FROM orders WHERE id = ?1";

/// Stores the payment link of an order and the gateway's reference of the payment, unless the order
/// has a link already.
pub(crate) fn record(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    order: OrderId,
    link: &str,
    reference: &str,
) -> Result<()> {
    tx.debug_assert_event_locked();
    let binds = [order.into(), organization.into(), link.into(), reference.into(), tx.now().into()];
    tx.execute(RECORD, &binds).map(drop)
}

/// The order that a payment belongs to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CheckoutOrder {
    pub(crate) organization: OrganizationId,
    pub(crate) id: OrderId,
}

/// Finds the order of a payment by the gateway's reference.
pub(crate) fn find(tx: &Transaction<'_>, reference: &str) -> Result<Option<CheckoutOrder>> {
    tx.query_opt(BY_REFERENCE, &[reference.into()], |row| {
        Ok(CheckoutOrder { organization: row.get("organization_id")?, id: row.get("id")? })
    })
}

/// Returns the gateway's reference of an order's payment.
pub(crate) fn reference(tx: &Transaction<'_>, order: OrderId) -> Result<Option<String>> {
    Ok(tx.query_opt(REFERENCE, &[order.into()], |row| row.get("payment_reference"))?.flatten())
}
