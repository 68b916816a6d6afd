//! What the gateway is still to be asked about checkouts: to close one whose order has ended, and the outcome of one
//! whose payment was not reported. Each checkout that is not CLOSED has at most one row of [`work`], with the order as
//! its key.

use crate::error::Result;
use crate::model::payments::checkout::CheckoutStatus;
use crate::model::sale::gateway_account::{GatewayAccount, GatewayIdentity, GatewayKey};
use crate::model::values::id::{EventId, OrderId, OrganizationId};
use crate::model::values::timestamp::Timestamp;
use crate::rules::money::gateway_choice::{CHECKOUT, CHECKOUT_KINDS, work_kind};
use crate::store::columns::row_struct;
use crate::store::sale::gateway_identity::{self, WaitingAtGateway, count_by_gateway, count_of_others};
use crate::store::work::{self, KeyedWork};
use crate::store::{LockedEvent, Transaction};

const BEGIN_CLOSING: &str = "UPDATE checkouts SET status = 'CLOSING' WHERE order_id = ?1 AND status = 'OPEN'";
const CLOSE: &str = "UPDATE checkouts SET status = 'CLOSED', last_error = NULL WHERE order_id = ?1";
const CLOSE_NEWEST: &str = "UPDATE checkouts SET status = 'CLOSED', last_error = NULL
    WHERE order_id = ?1 AND EXISTS (SELECT 1 FROM orders o WHERE o.id = ?1 AND o.payment_reference = ?2)";
const CLOSE_ONLY: &str = "UPDATE checkouts SET status = 'CLOSED', last_error = NULL
    WHERE order_id = ?1 AND renewals = 0";
const UNCLOSED: &str = "SELECT c.order_id, c.status, o.organization_id, o.event_id, o.payment_reference, o.hold_until,
        c.expires_at, c.gateway, c.account, c.mode
    FROM checkouts c JOIN orders o ON o.id = c.order_id WHERE c.order_id = ?1 AND c.status <> 'CLOSED'";
const PLACE: &str = "SELECT o.organization_id, o.event_id, c.gateway, c.account, c.mode
    FROM checkouts c JOIN orders o ON o.id = c.order_id WHERE c.order_id = ?1";
const SET_ERROR: &str = "UPDATE checkouts SET last_error = ?2 WHERE order_id = ?1";
// The work of checkouts, without that of other kinds.
pub(in crate::store) const ANY: &str = "SELECT id FROM work WHERE kind > 'checkout ' AND kind < 'checkout!' LIMIT 1";
pub(in crate::store) const COUNT_CLOSING: &str = "SELECT COUNT(*) AS number FROM checkouts WHERE status = 'CLOSING'";
pub(in crate::store) const COUNT_BY_GATEWAY: &str = count_by_gateway!(
    "work w JOIN checkouts c ON c.order_id = w.key WHERE w.kind > 'checkout ' AND w.kind < 'checkout!' AND w.due_at >= 0"
);

/// Records that the checkout of an order has to be closed, because the order has ended.
pub(crate) fn begin_closing(tx: &LockedEvent<'_>, order: OrderId) -> Result<()> {
    if tx.execute_counted(BEGIN_CLOSING, &[order.into()])? == 0
        || work::restart_all(tx, CHECKOUT_KINDS, order.raw())? > 0
    {
        return Ok(());
    }
    // It was not to be looked up any more.
    let place = tx.query_opt(PLACE, &[order.into()], |row| {
        Ok((row.get("organization_id")?, row.get("event_id")?, gateway_identity::read(row)?))
    })?;
    let Some((organization, event, gateway)) = place else { return Ok(()) };
    look_up_later(tx, (organization, event, order), gateway.as_ref(), Some(tx.now()))
}

/// Records that nothing can be paid any more.
pub(crate) fn close(tx: &LockedEvent<'_>, order: OrderId) -> Result<()> {
    tx.execute(CLOSE, &[order.into()])?;
    work::forget_all(tx, CHECKOUT_KINDS, order.raw())
}

/// Records that nothing can be paid any more under the newest checkout of an order, if it has this reference. An
/// earlier one has been closed already.
pub(crate) fn close_newest(tx: &LockedEvent<'_>, order: OrderId, reference: &str) -> Result<()> {
    match tx.execute_counted(CLOSE_NEWEST, &[order.into(), reference.into()])? {
        0 => Ok(()),
        _ => work::forget_all(tx, CHECKOUT_KINDS, order.raw()),
    }
}

/// Records that nothing can be paid any more under the checkout of an order, if it is the only one.
pub(crate) fn close_only(tx: &LockedEvent<'_>, order: OrderId) -> Result<()> {
    match tx.execute_counted(CLOSE_ONLY, &[order.into()])? {
        0 => Ok(()),
        _ => work::forget_all(tx, CHECKOUT_KINDS, order.raw()),
    }
}

/// Sets when the gateway is asked about a checkout that was just created. `None` if it is not asked.
pub(crate) fn look_up_later(
    tx: &LockedEvent<'_>,
    (organization, event, order): (OrganizationId, EventId, OrderId),
    gateway: Option<&GatewayIdentity>,
    due_at: Option<Timestamp>,
) -> Result<()> {
    let Some(due_at) = due_at else { return Ok(()) };
    let kind = work_kind(CHECKOUT, gateway.map(GatewayIdentity::key));
    work::add_with_key(
        tx,
        &KeyedWork { kind: &kind, key: order.raw(), organization, event: Some(event), body: "", due_at },
    )
}

/// Forgets when the gateway was to be asked about a checkout that is replaced by a new one.
pub(crate) fn forget(tx: &LockedEvent<'_>, order: OrderId) -> Result<()> {
    work::forget_all(tx, CHECKOUT_KINDS, order.raw())
}

row_struct! {
    /// A checkout about which the gateway is to be asked.
    #[derive(Debug, Clone)]
    pub(crate) struct UnclosedCheckout(row) {
        pub(crate) order: OrderId => order_id,
        pub(crate) organization: OrganizationId => organization_id,
        pub(crate) event: EventId => event_id,
        pub(crate) status: CheckoutStatus,
        /// The gateway's id of the checkout. `None` if the gateway has not answered.
        pub(crate) reference: Option<String> => payment_reference,
        /// The account of the checkout.
        pub(crate) account: GatewayAccount = GatewayAccount::of(gateway_identity::read(row)?.as_ref()),
        pub(crate) hold_until: Option<Timestamp>,
        /// When the gateway ends the checkout by itself.
        pub(crate) expires_at: Timestamp,
    }
}

/// Returns the checkout of an order. `None` if nothing can be paid under it any more.
pub(crate) fn unclosed(tx: &LockedEvent<'_>, order: OrderId) -> Result<Option<UnclosedCheckout>> {
    tx.query_opt(UNCLOSED, &[order.into()], UnclosedCheckout::read)
}

/// Records why the gateway did not say what is wanted. `None` if it did.
pub(crate) fn set_error(tx: &LockedEvent<'_>, order: OrderId, problem: Option<&str>) -> Result<()> {
    tx.execute(SET_ERROR, &[order.into(), problem.into()])
}

pub(crate) fn count_closing(tx: &Transaction<'_>) -> Result<u64> {
    Ok(tx.query_opt(COUNT_CLOSING, &[], |row| row.count("number"))?.unwrap_or_default())
}

/// Counts the checkouts that are to be closed or looked up at other gateways than this one.
pub(crate) fn of_other_gateways(
    tx: &Transaction<'_>,
    gateway: Option<GatewayKey<'_>>,
) -> Result<Vec<WaitingAtGateway>> {
    count_of_others(tx, COUNT_BY_GATEWAY, gateway)
}

/// Whether a gateway is to be asked about any checkout.
pub(crate) fn any(tx: &Transaction<'_>) -> Result<bool> {
    tx.exists(ANY, &[])
}
