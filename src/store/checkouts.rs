//! Checkouts: the payment link of an order, and the gateway's reference of its payment.

use super::{Constraint, Transaction, on_violation};
use crate::error::{Error, Result};
use crate::model::id::{OrderId, OrganizationId};

const RECORD: &str = "UPDATE orders SET payment_link = ?3, payment_reference = ?4,
        payment_status = COALESCE(payment_status, 'WAITING'), updated_at = ?5
    WHERE id = ?1 AND organization_id = ?2 AND (payment_link IS NULL OR payment_link = '')";
pub(super) const BY_REFERENCE: &str = "SELECT id, organization_id FROM orders WHERE payment_reference = ?1";
const REFERENCE: &str = "SELECT id, payment_reference FROM orders WHERE id = ?1";

/// A checkout that the payment gateway has created for an order.
pub(crate) struct NewCheckout<'a> {
    pub(crate) link: &'a str,
    /// The gateway's reference of the payment.
    pub(crate) reference: &'a str,
}

/// Stores the checkout of an order, unless the order has a payment link already. Fails with
/// [`Error::PaymentGatewayFailed`] if another order has the same reference.
pub(crate) fn record(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    order: OrderId,
    checkout: &NewCheckout<'_>,
) -> Result<()> {
    tx.debug_assert_event_locked();
    let binds = [order.into(), organization.into(), checkout.link.into(), checkout.reference.into(), tx.now().into()];
    let reference_taken = || Error::PaymentGatewayFailed("it returned the reference of another payment".to_owned());
    on_violation(tx.try_execute(RECORD, &binds), Constraint::PaymentReference, reference_taken)?;
    Ok(())
}

/// The order that a payment belongs to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CheckoutOrder {
    pub(crate) organization: OrganizationId,
    pub(crate) id: OrderId,
}

/// Returns the order of a payment, by the gateway's reference of the payment.
pub(crate) fn find_order(tx: &Transaction<'_>, reference: &str) -> Result<Option<CheckoutOrder>> {
    tx.query_opt(BY_REFERENCE, &[reference.into()], |row| {
        Ok(CheckoutOrder { organization: row.get("organization_id")?, id: row.get("id")? })
    })
}

/// Returns the gateway's reference of an order's payment. `None` if the gateway has returned no checkout.
pub(crate) fn payment_reference(tx: &Transaction<'_>, order: OrderId) -> Result<Option<String>> {
    let reference = tx.query_opt(REFERENCE, &[order.into()], |row| row.get("payment_reference"))?;
    Ok(reference.flatten())
}
