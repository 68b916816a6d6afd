//! The renewal of a checkout: what it depends on, and what it writes. `checkouts` has the newest checkout of each
//! order, and `replaced_checkouts` the earlier ones.

use super::checkouts::find_order;
use crate::error::gateway_failure::GatewayError;
use crate::error::{Error, ResourceKind, Result};
use crate::model::payments::checkout::CheckoutStatus;
use crate::model::sale::gateway_account::GatewayIdentity;
use crate::model::values::id::OrderId;
use crate::model::values::timestamp::Timestamp;
use crate::store::columns::row_struct;
use crate::store::sale::gateway_identity;
use crate::store::{Constraint, LockedEvent, Transaction, on_violation};

const CURRENT: &str = "SELECT o.payment_reference, o.payment_link, c.status, c.expires_at, c.renewals, c.lease_ends_at,
        c.gateway, c.account, c.mode
    FROM checkouts c JOIN orders o ON o.id = c.order_id WHERE c.order_id = ?1";
const KEEP: &str = "INSERT INTO replaced_checkouts (order_id, renewals, reference) VALUES (?1, ?2, ?3)";
const FORGET_REFERENCE: &str = "UPDATE orders SET payment_reference = NULL WHERE id = ?1";
const LEASE: &str = "UPDATE checkouts SET lease_ends_at = ?3 WHERE order_id = ?1 AND renewals = ?2";
const LEASE_ENDS_AT: &str = "SELECT lease_ends_at FROM checkouts WHERE order_id = ?1";
// No other process can have taken over the lease if it ends when this one has said.
const RENEW_LEASE: &str = "UPDATE checkouts SET lease_ends_at = ?3 WHERE order_id = ?1 AND lease_ends_at = ?2";
const RECORD: &str = "UPDATE orders SET payment_link = ?2, payment_reference = ?3, updated_at = ?4,
        payment_status = CASE WHEN payment_reference IS NULL THEN 'WAITING' ELSE payment_status END
    WHERE id = ?1 AND (payment_reference IS NULL OR payment_reference = ?3)";

row_struct! {
    /// The newest checkout of an order.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub(crate) struct CurrentCheckout(row) {
        pub(crate) status: CheckoutStatus,
        /// The gateway's id of it. `None` if the gateway has not answered.
        pub(crate) reference: Option<String> => payment_reference,
        pub(crate) link: Option<String> => payment_link,
        pub(crate) expires_at: Timestamp,
        /// How often the checkout of the order was renewed.
        pub(crate) renewals: i64,
        /// Until when a process may be waiting for the gateway to start it.
        pub(crate) lease_ends_at: Option<Timestamp>,
        /// The gateway that has it. `None` if an earlier version asked for it.
        pub(crate) gateway: Option<GatewayIdentity> = gateway_identity::read(row)?,
    }
}

pub(crate) fn current(tx: &Transaction<'_>, order: OrderId) -> Result<CurrentCheckout> {
    let found = tx.query_opt(CURRENT, &[order.into()], CurrentCheckout::read)?;
    found.ok_or(Error::NotFound(ResourceKind::Checkout))
}

/// Keeps the reference of a checkout that is replaced by a new one, and takes it from the order.
pub(crate) fn keep(tx: &LockedEvent<'_>, order: OrderId, checkout: &CurrentCheckout) -> Result<()> {
    let Some(reference) = &checkout.reference else { return Ok(()) };
    let binds = [order.into(), checkout.renewals.into(), reference.into()];
    on_violation(tx.try_execute(KEEP, &binds), Constraint::ReplacedCheckout, reference_taken)?;
    tx.execute(FORGET_REFERENCE, &[order.into()])
}

/// Returns until when a process may be waiting for the gateway to start the newest checkout of an order.
pub(crate) fn lease_ends_at(tx: &Transaction<'_>, order: OrderId) -> Result<Option<Timestamp>> {
    Ok(tx.query_opt(LEASE_ENDS_AT, &[order.into()], |row| row.get("lease_ends_at"))?.flatten())
}

/// Renews a lease of this process that ends at `ends_at`. Changes nothing if the lease is another one by now.
pub(crate) fn renew_lease(tx: &Transaction<'_>, order: OrderId, ends_at: Timestamp, new_end: Timestamp) -> Result<()> {
    tx.execute(RENEW_LEASE, &[order.into(), ends_at.into(), new_end.into()])
}

/// Sets until when a process waits for the gateway to start this renewal. `None` if it does not wait any more.
pub(crate) fn lease(tx: &LockedEvent<'_>, order: OrderId, renewals: i64, ends_at: Option<Timestamp>) -> Result<()> {
    tx.execute(LEASE, &[order.into(), renewals.into(), ends_at.into()])
}

/// Stores the link and the reference of a renewed checkout, whose payment is waited for.
pub(crate) fn record(tx: &LockedEvent<'_>, order: OrderId, link: &str, reference: &str) -> Result<()> {
    let binds = [order.into(), link.into(), reference.into(), tx.now().into()];
    on_violation(tx.try_execute(RECORD, &binds), Constraint::PaymentReference, reference_taken)?;
    Ok(())
}

/// Fails if a checkout has this reference already.
pub(crate) fn check_reference(tx: &Transaction<'_>, reference: &str) -> Result<()> {
    match find_order(tx, reference)? {
        Some(_) => Err(reference_taken()),
        None => Ok(()),
    }
}

fn reference_taken() -> Error {
    let problem = "it returned the reference of another checkout".to_owned();
    Error::gateway(GatewayError::Refused(problem))
}
