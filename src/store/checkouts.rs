//! Checkouts: the payment link of an order, and the gateway's reference of its payment.

use super::{Constraint, Transaction, on_violation};
use crate::error::gateway::GatewayError;
use crate::error::{Error, ResourceKind, Result};
use crate::model::id::{EventId, OrderId, OrganizationId};

const RECORD: &str = "UPDATE orders SET payment_link = ?3, payment_reference = ?4,
        payment_status = COALESCE(payment_status, 'WAITING'), updated_at = ?5
    WHERE id = ?1 AND organization_id = ?2 AND (payment_link IS NULL OR payment_link = '')";
pub(super) const BY_REFERENCE: &str = "SELECT id, organization_id FROM orders WHERE payment_reference = ?1";
const PAYMENT: &str = "SELECT id, organization_id, event_id, payment_reference FROM orders WHERE id = ?1";

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
    let reference_taken = || {
        let problem = "it returned the reference of another payment".to_owned();
        Error::PaymentGatewayFailed(GatewayError::Refused(problem))
    };
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

/// The payment of an order.
pub(crate) struct OrderPayment {
    pub(crate) organization: OrganizationId,
    pub(crate) event: EventId,
    /// The gateway's reference of the payment. `None` if the gateway has returned no checkout.
    pub(crate) reference: Option<String>,
}

/// Returns the payment of an order.
pub(crate) fn payment(tx: &Transaction<'_>, order: OrderId) -> Result<OrderPayment> {
    let found = tx.query_opt(PAYMENT, &[order.into()], |row| {
        Ok(OrderPayment {
            organization: row.get("organization_id")?,
            event: row.get("event_id")?,
            reference: row.get("payment_reference")?,
        })
    })?;
    found.ok_or(Error::NotFound(ResourceKind::Order))
}
