//! Checkouts: the payment link of an order, and the gateway's reference of its payment.

use crate::error::gateway_failure::GatewayError;
use crate::error::{Error, ResourceKind, Result};
use crate::model::payments::checkout::OrderCheckout;
use crate::model::sale::gateway_account::GatewayIdentity;
use crate::model::sale::order::{Order, Payment, PaymentStatus};
use crate::model::values::id::{OrderId, OrganizationId};
use crate::store::columns::row_struct;
use crate::store::sale::gateway_identity;
use crate::store::{Constraint, LockedEvent, Transaction, on_violation};

const RECORD: &str = "UPDATE orders SET payment_link = ?3, payment_reference = ?4,
        payment_status = COALESCE(payment_status, 'WAITING'), updated_at = ?5
    WHERE id = ?1 AND organization_id = ?2 AND (payment_link IS NULL OR payment_link = '')";
const RECORD_OF_NEW: &str = "UPDATE orders SET payment_link = ?3, payment_reference = ?4, payment_status = 'WAITING',
        updated_at = ?5
    WHERE id = ?1 AND organization_id = ?2 AND status || '' = 'PENDING' AND hold_until > ?5
        AND payment_link IS NULL AND payment_status IS NULL AND reminder_sent = 0";
const RECORD_REFERENCE: &str = "UPDATE orders SET payment_reference = ?2 WHERE id = ?1 AND payment_reference IS NULL";
pub(in crate::store) const BY_REFERENCE: &str = "SELECT id, organization_id FROM orders WHERE payment_reference = ?1";
pub(in crate::store) const BY_REPLACED_REFERENCE: &str = "SELECT o.id, o.organization_id
    FROM replaced_checkouts r JOIN orders o ON o.id = r.order_id WHERE r.reference = ?1";
const REPLACED: &str = "SELECT reference FROM replaced_checkouts WHERE order_id = ?1 ORDER BY renewals DESC";
const CHECKOUT: &str = "SELECT o.id, o.payment_reference AS reference, c.status, c.expires_at, c.renewals, c.gateway,
        c.last_error,
        (SELECT p.reference FROM payments p WHERE p.order_id = o.id AND p.manual_method IS NULL AND p.purpose <> 'OTHER'
            ORDER BY p.id LIMIT 1) AS payment_reference
    FROM orders o LEFT JOIN checkouts c ON c.order_id = o.id WHERE o.id = ?1 AND o.organization_id = ?2";
const BY_ORDER: &str = "SELECT id, organization_id, payment_reference AS reference FROM orders WHERE id = ?1";
const GATEWAY: &str = "SELECT gateway, account, mode FROM checkouts WHERE order_id = ?1";

/// A checkout that the payment gateway has created for an order.
pub(crate) struct NewCheckout<'a> {
    pub(crate) link: &'a str,
    /// The gateway's reference of the payment.
    pub(crate) reference: &'a str,
}

/// Stores the checkout of an order, unless the order has a payment link already. Fails with
/// [`Error::PaymentGatewayFailed`] if another order has the same reference.
pub(crate) fn record(
    tx: &LockedEvent<'_>,
    organization: OrganizationId,
    order: OrderId,
    checkout: &NewCheckout<'_>,
) -> Result<()> {
    store(tx, RECORD, organization, order, checkout).map(drop)
}

/// Stores the checkout of an order that was just created, if nothing has changed the order since. Returns the order as it is
/// now, without reading it. Fails like [`record`].
pub(crate) fn record_of_new(
    tx: &LockedEvent<'_>,
    mut order: Order,
    checkout: &NewCheckout<'_>,
) -> Result<Option<Order>> {
    if store(tx, RECORD_OF_NEW, order.organizer_id, order.id, checkout)? == 0 {
        return Ok(None);
    }
    order.payment_gateway = Some(Payment { link: checkout.link.to_owned(), status: PaymentStatus::Waiting });
    order.updated_at = tx.now();
    Ok(Some(order))
}

fn store(
    tx: &LockedEvent<'_>,
    sql: &str,
    organization: OrganizationId,
    order: OrderId,
    checkout: &NewCheckout<'_>,
) -> Result<usize> {
    let binds = [order.into(), organization.into(), checkout.link.into(), checkout.reference.into(), tx.now().into()];
    Ok(on_violation(tx.try_execute(sql, &binds), Constraint::PaymentReference, reference_taken)?)
}

/// Stores the gateway's reference of the checkout of an order that has none. Fails with
/// [`Error::PaymentGatewayFailed`] if another order has the same reference.
pub(crate) fn record_reference(tx: &LockedEvent<'_>, order: OrderId, reference: &str) -> Result<()> {
    let recorded = tx.try_execute(RECORD_REFERENCE, &[order.into(), reference.into()]);
    on_violation(recorded, Constraint::PaymentReference, reference_taken)?;
    Ok(())
}

fn reference_taken() -> Error {
    let problem = "it returned the reference of another payment".to_owned();
    Error::gateway(GatewayError::Refused(problem))
}

row_struct! {
    /// The order that a payment belongs to.
    #[derive(Debug, Clone, Copy)]
    pub(crate) struct CheckoutOrder(row) {
        pub(crate) organization: OrganizationId => organization_id,
        pub(crate) id: OrderId,
    }
}

/// Returns the order whose newest checkout has this reference.
pub(crate) fn find_current(tx: &Transaction<'_>, reference: &str) -> Result<Option<CheckoutOrder>> {
    tx.query_opt(BY_REFERENCE, &[reference.into()], CheckoutOrder::read)
}

/// Returns the order of a checkout, by the gateway's reference. The checkout may have been replaced by a new one.
pub(crate) fn find_order(tx: &Transaction<'_>, reference: &str) -> Result<Option<CheckoutOrder>> {
    match find_current(tx, reference)? {
        Some(order) => Ok(Some(order)),
        None => tx.query_opt(BY_REPLACED_REFERENCE, &[reference.into()], CheckoutOrder::read),
    }
}

/// Returns the order with this id, and the gateway's reference of its checkout.
pub(crate) fn find_by_order(tx: &Transaction<'_>, order: OrderId) -> Result<Option<(CheckoutOrder, Option<String>)>> {
    tx.query_opt(BY_ORDER, &[order.into()], |row| Ok((CheckoutOrder::read(row)?, row.get("reference")?)))
}

/// Returns the references of the checkouts of an order that were replaced by a new one, the newest first.
pub(crate) fn replaced_references(tx: &Transaction<'_>, order: OrderId) -> Result<Vec<String>> {
    tx.query_all(REPLACED, &[order.into()], |row| row.get("reference"))
}

/// Returns the gateway of the newest checkout of an order. `None` if an earlier version asked for the checkout.
pub(crate) fn gateway(tx: &Transaction<'_>, order: OrderId) -> Result<Option<GatewayIdentity>> {
    Ok(tx.query_opt(GATEWAY, &[order.into()], gateway_identity::read)?.flatten())
}

/// Returns the newest checkout of an order.
pub(crate) fn get(tx: &Transaction<'_>, organization: OrganizationId, order: OrderId) -> Result<OrderCheckout> {
    let found = tx.query_opt(CHECKOUT, &[order.into(), organization.into()], |row| {
        if row.is_null("status")? {
            return Ok(None);
        }
        Ok(Some(OrderCheckout {
            order_id: row.get("id")?,
            status: row.get("status")?,
            expires_at: row.get("expires_at")?,
            reference: row.get("reference")?,
            payment_reference: row.get("payment_reference")?,
            renewals: row.get("renewals")?,
            gateway: row.get("gateway")?,
            last_error: row.get("last_error")?,
        }))
    })?;
    found.ok_or(Error::NotFound(ResourceKind::Order))?.ok_or(Error::NotFound(ResourceKind::Checkout))
}
