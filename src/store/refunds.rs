//! Refunds. A refund is recorded as due in the transaction that decides on it. It stays due until the gateway has made
//! it or refused it permanently.

use std::sync::LazyLock;

use super::currency::read_currency;
use super::lists::{ListQuery, cursor_bound};
use super::page_ids::{PageIds, select_ids};
use super::pages::read_page_of;
use super::{Row, Transaction};
use crate::error::Result;
use crate::model::amount::Amount;
use crate::model::id::{OrderId, OrganizationId};
use crate::model::page::Page;
use crate::model::refund::{ListRefunds, Refund, RefundStatus};
use crate::model::timestamp::Timestamp;
use crate::rules::Checked;
use crate::rules::refund::LATEST_DUE;
use crate::text_enum::TextEnum;

macro_rules! columns {
    () => {
        "order_id, organization_id, amount, currency, status, attempts, last_error, created_at, updated_at"
    };
}

const INSERT: &str =
    "INSERT INTO refunds (order_id, organization_id, amount, currency, status, next_attempt_at, last_error,
        created_at, updated_at, event_id)
    SELECT o.id, ?2, ?3, ?4, ?5, ?6, ?7, ?6, ?6, o.event_id FROM orders o WHERE o.id = ?1";
const CLAIM: &str = "UPDATE refunds SET attempts = attempts + 1, next_attempt_at = ?3, updated_at = ?2
    WHERE order_id = ?1 AND status = 'DUE' AND (next_attempt_at <= ?2 OR next_attempt_at > ?4)
    RETURNING order_id, organization_id, amount, currency, attempts";
pub(super) const DUE: &str = "SELECT order_id, next_attempt_at FROM refunds
    WHERE status = 'DUE' AND next_attempt_at <= ?1 AND (next_attempt_at, order_id) > (?3, ?4)
    ORDER BY next_attempt_at, order_id LIMIT ?2";
pub(super) const DUE_TOO_LATE: &str = "SELECT order_id, next_attempt_at FROM refunds
    WHERE status = 'DUE' AND next_attempt_at > ?1 AND (next_attempt_at, order_id) > (?3, ?4)
    ORDER BY next_attempt_at, order_id LIMIT ?2";
const CLOSE: &str =
    "UPDATE refunds SET status = ?2, last_error = ?3, updated_at = ?4 WHERE order_id = ?1 AND status = 'DUE'";
const POSTPONE: &str = "UPDATE refunds SET next_attempt_at = ?2, last_error = ?3, updated_at = ?4
    WHERE order_id = ?1 AND status = 'DUE'";
const MARK_PAYMENT_REFUNDED: &str = "UPDATE orders SET payment_status = 'REFUNDED', updated_at = ?2
    WHERE id = ?1 AND payment_status = 'COMPLETED'";
/// The conditions of all filters.
macro_rules! filters {
    () => {
        "r.organization_id = ?4 AND (CAST(?5 AS TEXT) IS NULL OR r.status = ?5)
            AND (CAST(?6 AS BIGINT) IS NULL OR r.event_id = ?6)"
    };
}

/// Selects the ids of a range of an index.
macro_rules! range {
    ($range:literal) => {
        select_ids!(
            "SELECT k.order_id AS id FROM refunds k CROSS JOIN refunds r WHERE r.order_id = k.order_id",
            $range,
            "k.order_id",
            filters!()
        )
    };
}

/// The items of a page.
pub(super) static PAGE: LazyLock<ListQuery> = LazyLock::new(|| {
    ListQuery::new(concat!("SELECT ", columns!(), " FROM refunds WHERE order_id"), "ORDER BY order_id DESC")
});
pub(super) const OF_STATUS: &str = range!("k.organization_id = ?4 AND k.status = ?7");
pub(super) const OF_EVENT: &str = range!("k.event_id = ?7 AND k.status = ?8");
pub(super) const COUNT_DUE: &str = "SELECT COUNT(*) AS number FROM refunds WHERE status = 'DUE'";
pub(super) const COUNT_REFUSED: &str = "SELECT COUNT(*) AS number FROM refunds WHERE status = 'REFUSED'";
const EXISTS: &str = "SELECT 1 FROM refunds WHERE order_id = ?1 AND organization_id = ?2";

fn decode(row: &Row<'_>) -> Result<Refund> {
    let currency = read_currency(row)?;
    Ok(Refund {
        order_id: row.get("order_id")?,
        amount: Amount::in_currency(row.get("amount")?, currency.decimals),
        currency: currency.code,
        status: row.text_enum("status")?,
        attempts: row.get("attempts")?,
        last_error: row.get("last_error")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}

/// A refund of an order's payment, to be recorded.
pub(crate) struct NewRefund<'a> {
    pub(crate) organization: OrganizationId,
    pub(crate) order: OrderId,
    /// In minor units of `currency`.
    pub(crate) amount: i64,
    pub(crate) currency: &'a str,
}

/// Records a refund that the gateway is to make.
pub(crate) fn insert_due(tx: &Transaction<'_>, refund: &NewRefund<'_>) -> Result<()> {
    insert(tx, refund, RefundStatus::Due, None)
}

/// Records a refund that is not attempted. It is listed as refused, with `problem` as its error.
pub(crate) fn insert_refused(tx: &Transaction<'_>, refund: &NewRefund<'_>, problem: &str) -> Result<()> {
    insert(tx, refund, RefundStatus::Refused, Some(problem))
}

fn insert(tx: &Transaction<'_>, refund: &NewRefund<'_>, status: RefundStatus, problem: Option<&str>) -> Result<()> {
    tx.debug_assert_event_locked();
    let binds = [
        refund.order.into(),
        refund.organization.into(),
        refund.amount.into(),
        refund.currency.into(),
        status.as_str().into(),
        tx.now().into(),
        problem.into(),
    ];
    tx.execute(INSERT, &binds)?;
    Ok(())
}

/// Whether an order has a refund, of any status.
pub(crate) fn exists(tx: &Transaction<'_>, organization: OrganizationId, order: OrderId) -> Result<bool> {
    tx.exists(EXISTS, &[order.into(), organization.into()])
}

/// A refund that one process has claimed.
#[derive(Debug, Clone)]
pub(crate) struct ClaimedRefund {
    pub(crate) amount: Amount,
    pub(crate) currency: String,
    /// The number of the attempt, counted from 1.
    pub(crate) attempt: i64,
}

/// Claims a due refund: no other process attempts it before `until`. Returns `None` if it is not due now.
pub(crate) fn claim(tx: &Transaction<'_>, order: OrderId, until: Timestamp) -> Result<Option<ClaimedRefund>> {
    tx.debug_assert_event_locked();
    let binds = [order.into(), tx.now().into(), until.into(), latest_due(tx).into()];
    tx.query_opt(CLAIM, &binds, |row| {
        let currency = read_currency(row)?;
        Ok(ClaimedRefund {
            amount: Amount::in_currency(row.get("amount")?, currency.decimals),
            currency: currency.code,
            attempt: row.get("attempts")?,
        })
    })
}

/// A refund that is due.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DueRefund {
    pub(crate) order: OrderId,
    /// Since when, in milliseconds. It may be no time that a [`Timestamp`] can represent.
    at: i64,
}

/// The latest time at which a refund can be due. One that is due later was recorded while the clock was wrong: it counts
/// as due.
fn latest_due(tx: &Transaction<'_>) -> Timestamp {
    tx.now().saturating_add(LATEST_DUE)
}

/// Returns up to `limit` refunds that are due now, beginning after `after`. The one that has been due for the longest
/// time comes first, and those whose due time comes from a clock that was wrong come last.
pub(crate) fn due(tx: &Transaction<'_>, after: Option<DueRefund>, limit: i64) -> Result<Vec<DueRefund>> {
    let (at, order) = after.map_or((i64::MIN, i64::MIN), |refund| (refund.at, refund.order.raw()));
    let decode = |row: &Row<'_>| Ok(DueRefund { order: row.get("order_id")?, at: row.get("next_attempt_at")? });
    let mut due = tx.query_all(DUE, &[tx.now().into(), limit.into(), at.into(), order.into()], decode)?;
    let rest = limit - i64::try_from(due.len()).unwrap_or(limit);
    if rest > 0 {
        let binds = [latest_due(tx).into(), rest.into(), at.into(), order.into()];
        due.extend(tx.query_all(DUE_TOO_LATE, &binds, decode)?);
    }
    Ok(due)
}

/// Sets a due refund to DONE, and the payment status of its order to REFUNDED. Returns whether it did both.
pub(crate) fn mark_done(tx: &Transaction<'_>, order: OrderId) -> Result<bool> {
    if !close(tx, order, RefundStatus::Done, None)? {
        return Ok(false);
    }
    Ok(tx.execute(MARK_PAYMENT_REFUNDED, &[order.into(), tx.now().into()])? == 1)
}

/// Sets a due refund to REFUSED. It is not attempted again. Returns `false` if the refund is not due.
pub(crate) fn mark_refused(tx: &Transaction<'_>, order: OrderId, problem: &str) -> Result<bool> {
    close(tx, order, RefundStatus::Refused, Some(problem))
}

/// Sets the final status of a due refund. Returns `false` if the refund is not due.
fn close(tx: &Transaction<'_>, order: OrderId, status: RefundStatus, problem: Option<&str>) -> Result<bool> {
    tx.debug_assert_event_locked();
    let binds = [order.into(), status.as_str().into(), problem.into(), tx.now().into()];
    Ok(tx.execute(CLOSE, &binds)? == 1)
}

/// Keeps a refund due, and postpones its next attempt until `until`.
pub(crate) fn postpone(tx: &Transaction<'_>, order: OrderId, until: Timestamp, problem: &str) -> Result<()> {
    tx.debug_assert_event_locked();
    tx.execute(POSTPONE, &[order.into(), until.into(), problem.into(), tx.now().into()])?;
    Ok(())
}

/// Lists the refunds of an organization, those of the newest orders first.
pub(crate) fn list(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    request: &Checked<ListRefunds>,
) -> Result<Page<Refund, OrderId>> {
    cursor_bound(tx, &request.page, EXISTS, organization.into())?;
    let filters = vec![organization.into(), request.status.map(TextEnum::as_str).into(), request.event_id.into()];
    let mut ids = PageIds::new(&request.page, filters);
    for status in RefundStatus::ALL {
        if request.status.is_none_or(|requested| requested == *status) {
            match request.event_id {
                Some(event) => ids.add(tx, OF_EVENT, &[event.into(), status.as_str().into()])?,
                None => ids.add(tx, OF_STATUS, &[status.as_str().into()])?,
            }
        }
    }
    read_page_of(tx, &PAGE, &[], ids, decode, |refund| refund.order_id)
}

/// The numbers of refunds that were not made, over all organizations.
pub(crate) struct OpenRefunds {
    /// Refunds that will be attempted.
    pub(crate) due: u64,
    /// Refunds that will not be attempted again.
    pub(crate) refused: u64,
}

/// Counts the refunds that were not made.
pub(crate) fn count_open(tx: &Transaction<'_>) -> Result<OpenRefunds> {
    let count = |sql| -> Result<u64> {
        let number = tx.query_opt(sql, &[], |row| row.count("number"))?;
        Ok(number.unwrap_or_default())
    };
    Ok(OpenRefunds { due: count(COUNT_DUE)?, refused: count(COUNT_REFUSED)? })
}
