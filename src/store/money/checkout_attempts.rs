//! What the gateway is still to be asked about checkouts: to close one whose order has ended, and the outcome of one
//! whose payment was not reported.

use crate::error::Result;
use crate::model::payments::checkout::CheckoutStatus;
use crate::model::sale::gateway_account::{GatewayAccount, GatewayKey};
use crate::model::values::id::{EventId, OrderId, OrganizationId};
use crate::model::values::timestamp::Timestamp;
use crate::rules::money::checkout_schedule::{CLAIM_DURATION, LATEST_DUE};
use crate::store::columns::row_struct;
use crate::store::sale::gateway_identity::{self, WaitingAtGateway, count_by_gateway, count_of_others, of_gateway};
use crate::store::{LockedEvent, Transaction};

const BEGIN_CLOSING: &str = "UPDATE checkouts SET status = 'CLOSING', next_attempt_at = ?2, attempts = 0
    WHERE order_id = ?1 AND status = 'OPEN'";
const CLOSE: &str = "UPDATE checkouts SET status = 'CLOSED', next_attempt_at = NULL, last_error = NULL
    WHERE order_id = ?1";
const CLOSE_NEWEST: &str = "UPDATE checkouts SET status = 'CLOSED', next_attempt_at = NULL, last_error = NULL
    WHERE order_id = ?1 AND EXISTS (SELECT 1 FROM orders o WHERE o.id = ?1 AND o.payment_reference = ?2)";
const CLOSE_ONLY: &str = "UPDATE checkouts SET status = 'CLOSED', next_attempt_at = NULL, last_error = NULL
    WHERE order_id = ?1 AND renewals = 0";
const CLAIM: &str = "UPDATE checkouts SET attempts = attempts + 1, next_attempt_at = ?3
    WHERE order_id = ?1 AND (+next_attempt_at <= ?2 OR status = 'CLOSING' AND +next_attempt_at > ?4)";
// No other process can have claimed the checkout if its claim ends when this one has said.
const RENEW_CLAIM: &str = "UPDATE checkouts SET next_attempt_at = ?3 WHERE order_id = ?1 AND +next_attempt_at = ?2";
const ATTEMPT: &str = "SELECT c.order_id, c.status, c.attempts, o.organization_id, o.event_id, o.payment_reference,
        o.hold_until, c.expires_at, c.next_attempt_at, c.gateway, c.account, c.mode
    FROM checkouts c JOIN orders o ON o.id = c.order_id WHERE c.order_id = ?1";
/// Selects rows that are due at the gateway ?4 in mode ?5: first one of each organization, then the second one of each,
/// and so on. So the rows of one organization do not hide those of the others behind the limit.
macro_rules! due {
    ($condition:literal) => {
        concat!(
            "SELECT order_id, organization_id, event_id, payment_reference FROM (
                SELECT c.order_id, o.organization_id, o.event_id, o.payment_reference, c.next_attempt_at, ROW_NUMBER()
                        OVER (PARTITION BY o.organization_id ORDER BY c.next_attempt_at, c.order_id) AS turn
                FROM checkouts c JOIN orders o ON o.id = c.order_id
                WHERE c.status = ?1 AND ",
            of_gateway!("?4", "?5"),
            " AND ",
            $condition,
            ") due ORDER BY turn, next_attempt_at, order_id LIMIT ?3"
        )
    };
}

pub(in crate::store) const DUE: &str = due!("c.next_attempt_at <= ?2");
pub(in crate::store) const DUE_TOO_LATE: &str = due!("c.next_attempt_at > ?2");
pub(in crate::store) const ANY_OPEN: &str =
    "SELECT order_id FROM checkouts WHERE status = 'OPEN' AND next_attempt_at IS NOT NULL LIMIT 1";
pub(in crate::store) const OPEN_BEFORE: &str = concat!(
    "SELECT c.order_id, o.event_id, c.next_attempt_at
    FROM checkouts c JOIN orders o ON o.id = c.order_id
    WHERE c.status = 'OPEN' AND c.next_attempt_at IS NOT NULL AND (c.next_attempt_at, c.order_id) > (?1, ?2)
        AND o.created_at < ?3 AND o.payment_reference IS NOT NULL AND ",
    of_gateway!("?5", "?6"),
    " ORDER BY c.next_attempt_at, c.order_id LIMIT ?4"
);
const LOOK_UP_NOW: &str = "UPDATE checkouts SET next_attempt_at = ?2
    WHERE order_id = ?1 AND status = 'OPEN' AND +next_attempt_at > ?3";
const POSTPONE: &str = "UPDATE checkouts SET next_attempt_at = ?2, last_error = ?3 WHERE order_id = ?1
    AND status = ?4";
pub(in crate::store) const COUNT_CLOSING: &str =
    "SELECT COUNT(*) AS number FROM checkouts WHERE status = 'CLOSING' AND next_attempt_at IS NOT NULL";
pub(in crate::store) const COUNT_BY_GATEWAY: &str =
    count_by_gateway!("checkouts WHERE status IN ('OPEN', 'CLOSING') AND next_attempt_at IS NOT NULL");

/// Records that the checkout of an order has to be closed, because the order has ended.
pub(crate) fn begin_closing(tx: &LockedEvent<'_>, order: OrderId) -> Result<()> {
    tx.execute(BEGIN_CLOSING, &[order.into(), tx.now().into()])
}

/// Records that nothing can be paid any more.
pub(crate) fn close(tx: &LockedEvent<'_>, order: OrderId) -> Result<()> {
    tx.execute(CLOSE, &[order.into()])
}

/// Records that nothing can be paid any more under the newest checkout of an order, if it has this reference. An
/// earlier one has been closed already.
pub(crate) fn close_newest(tx: &LockedEvent<'_>, order: OrderId, reference: &str) -> Result<()> {
    tx.execute(CLOSE_NEWEST, &[order.into(), reference.into()])
}

/// Records that nothing can be paid any more under the checkout of an order, if it is the only one.
pub(crate) fn close_only(tx: &LockedEvent<'_>, order: OrderId) -> Result<()> {
    tx.execute(CLOSE_ONLY, &[order.into()])
}

row_struct! {
    /// A checkout about which the gateway is to be asked.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) struct DueCheckout(row) {
        pub(crate) order: OrderId => order_id,
        pub(crate) organization: OrganizationId => organization_id,
        pub(crate) event: EventId => event_id,
        /// Whether the gateway's id of the checkout is not known, because the gateway did not answer its start.
        pub(crate) is_unanswered: bool = row.is_null("payment_reference")?,
    }
}

/// Returns up to `limit` checkouts of a gateway with this status that are due now, so that organizations take turns. Of
/// each, the one that has been due for the longest time comes first. Those to be closed whose due time comes from a
/// clock that was wrong come last.
pub(crate) fn due(
    tx: &Transaction<'_>,
    GatewayKey { name, mode }: GatewayKey<'_>,
    status: CheckoutStatus,
    limit: i64,
) -> Result<Vec<DueCheckout>> {
    let binds = [status.as_str().into(), tx.now().into(), limit.into(), name.into(), mode.as_str().into()];
    let mut due = tx.query_all(DUE, &binds, DueCheckout::read)?;
    let rest = limit - i64::try_from(due.len()).unwrap_or(limit);
    if rest > 0 && status == CheckoutStatus::Closing {
        let binds = [status.as_str().into(), latest_due(tx).into(), rest.into(), name.into(), mode.as_str().into()];
        due.extend(tx.query_all(DUE_TOO_LATE, &binds, DueCheckout::read)?);
    }
    Ok(due)
}

fn latest_due(tx: &Transaction<'_>) -> Timestamp {
    tx.now().saturating_add(LATEST_DUE)
}

row_struct! {
    /// A checkout that this process has claimed.
    #[derive(Debug, Clone)]
    pub(crate) struct CheckoutAttempt(row) {
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
        /// The number of the attempt, counted from 1.
        pub(crate) number: i64 => attempts,
        /// Until when no other process asks about it.
        pub(crate) claimed_until: Timestamp => next_attempt_at,
    }
}

/// Claims a checkout that is due: no other process asks about it before `until`. Returns `None` if it is not due now.
pub(crate) fn claim(tx: &LockedEvent<'_>, order: OrderId, until: Timestamp) -> Result<Option<CheckoutAttempt>> {
    let binds = [order.into(), tx.now().into(), until.into(), latest_due(tx).into()];
    if tx.execute_counted(CLAIM, &binds)? == 0 {
        return Ok(None);
    }
    tx.query_opt(ATTEMPT, &[order.into()], CheckoutAttempt::read)
}

/// Renews a claim of this process that ends at `until`. Changes nothing if the claim is another one by now.
pub(crate) fn renew_claim(tx: &Transaction<'_>, order: OrderId, until: Timestamp, new_end: Timestamp) -> Result<()> {
    tx.execute(RENEW_CLAIM, &[order.into(), until.into(), new_end.into()])
}

/// Sets when the gateway is asked next about a checkout that still has this status. `None` if it is not asked again.
pub(crate) fn postpone(
    tx: &LockedEvent<'_>,
    order: OrderId,
    status: CheckoutStatus,
    until: Option<Timestamp>,
    problem: Option<&str>,
) -> Result<()> {
    tx.execute(POSTPONE, &[order.into(), until.into(), problem.into(), status.as_str().into()])
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

pub(crate) fn any_open(tx: &Transaction<'_>) -> Result<bool> {
    tx.exists(ANY_OPEN, &[])
}

row_struct! {
    /// An open checkout that will be looked up later.
    #[derive(Debug, Clone, Copy)]
    pub(crate) struct OpenCheckout(row) {
        pub(crate) order: OrderId => order_id,
        pub(crate) event: EventId => event_id,
        next_attempt_at: Timestamp,
    }
}

/// When a claim ends that begins now. A checkout that is due later is claimed by no process.
fn latest_claim(tx: &Transaction<'_>) -> Timestamp {
    tx.now().saturating_add(CLAIM_DURATION)
}

/// Returns the next open checkouts of a gateway after a checkout, in the order in which they will be looked up, of
/// orders that were created before `created_before`. Those that are due now, or claimed, are left out.
pub(crate) fn open_before(
    tx: &Transaction<'_>,
    gateway: GatewayKey<'_>,
    created_before: Timestamp,
    after: Option<OpenCheckout>,
    limit: i64,
) -> Result<Vec<OpenCheckout>> {
    let (at, order) =
        after.map_or((latest_claim(tx), i64::MIN), |checkout| (checkout.next_attempt_at, checkout.order.raw()));
    let GatewayKey { name, mode } = gateway;
    let binds = [at.into(), order.into(), created_before.into(), limit.into(), name.into(), mode.as_str().into()];
    tx.query_all(OPEN_BEFORE, &binds, OpenCheckout::read)
}

/// Lets an open checkout be looked up now. Returns whether it was to be looked up later.
pub(crate) fn look_up_now(tx: &LockedEvent<'_>, order: OrderId) -> Result<bool> {
    Ok(tx.execute_counted(LOOK_UP_NOW, &[order.into(), tx.now().into(), latest_claim(tx).into()])? > 0)
}
