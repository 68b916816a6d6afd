//! Refunds: each is queued in the transaction that decides it, and stays due until the gateway accepts or refuses it.

use super::lists::{cursor_bound, limit_plus_one};
use super::{Row, Transaction};
use crate::error::Result;
use crate::model::amount::Amount;
use crate::model::id::{OrderId, OrganizationId, kind};
use crate::model::page::{Page, PageRequest};
use crate::model::refund::{Refund, RefundStatus};
use crate::model::timestamp::Timestamp;
use crate::rules::money::decimals;
use crate::text_enum::TextEnum;

macro_rules! columns {
    () => {
        "order_id, organization_id, amount, currency, status, attempts, last_error, created_at, updated_at"
    };
}

const INSERT: &str =
    "INSERT INTO refunds (order_id, organization_id, amount, currency, status, next_attempt_at, last_error,
        created_at, updated_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?6, ?6)";
const CLAIM: &str = "UPDATE refunds SET attempts = attempts + 1, next_attempt_at = ?3, updated_at = ?2
    WHERE order_id = ?1 AND status = 'DUE' AND next_attempt_at <= ?2 RETURNING order_id, organization_id, amount, currency, attempts";
pub(super) const DUE: &str =
    "SELECT order_id FROM refunds WHERE status = 'DUE' AND next_attempt_at <= ?1 ORDER BY next_attempt_at LIMIT ?2";
const ANSWERED: &str =
    "UPDATE refunds SET status = ?2, last_error = ?3, updated_at = ?4 WHERE order_id = ?1 AND status = 'DUE'";
const LATER: &str = "UPDATE refunds SET next_attempt_at = ?2, last_error = ?3, updated_at = ?4
    WHERE order_id = ?1 AND status = 'DUE'";
const PAYMENT_REFUNDED: &str = "UPDATE orders SET payment_status = 'REFUNDED', updated_at = ?2
    WHERE id = ?1 AND payment_status = 'COMPLETED'";
pub(super) const LIST: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM refunds WHERE organization_id = ?1 AND order_id < ?2 AND (CAST(?4 AS TEXT) IS NULL OR status = ?4)
    ORDER BY order_id DESC LIMIT ?3"
);
pub(super) const COUNT_DUE: &str = "SELECT COUNT(*) AS number FROM refunds WHERE status = 'DUE'";
pub(super) const COUNT_REFUSED: &str = "SELECT COUNT(*) AS number FROM refunds WHERE status = 'REFUSED'";
const EXISTS: &str = "SELECT 1 FROM refunds WHERE order_id = ?1 AND organization_id = ?2";

fn decode(row: &Row<'_>) -> Result<Refund> {
    let currency: String = row.get("currency")?;
    let decimals = decimals(&currency).ok_or_else(|| row.corrupt("currency", "is not a known currency"))?;
    Ok(Refund {
        order_id: row.get("order_id")?,
        amount: Amount::new(row.get("amount")?, decimals),
        currency,
        status: row.text_enum("status")?,
        attempts: row.get("attempts")?,
        last_error: row.get("last_error")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}

/// A refund of an order's payment.
pub(crate) struct NewRefund<'a> {
    pub(crate) organization: OrganizationId,
    pub(crate) order: OrderId,
    /// In minor units of `currency`.
    pub(crate) amount: i64,
    pub(crate) currency: &'a str,
}

/// Records that an order's payment has to be refunded. If no gateway can refund, it is listed as refused at once.
pub(crate) fn insert(tx: &Transaction<'_>, refund: &NewRefund<'_>, can_refund: bool) -> Result<()> {
    tx.debug_assert_event_locked();
    let (status, problem) = match can_refund {
        true => (RefundStatus::Due, None),
        false => (RefundStatus::Refused, Some("there is no payment gateway that can refund")),
    };
    let binds = [
        refund.order.into(),
        refund.organization.into(),
        refund.amount.into(),
        refund.currency.into(),
        status.as_str().into(),
        tx.now().into(),
        problem.into(),
    ];
    tx.execute(INSERT, &binds).map(drop)
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
    pub(crate) attempt: i64,
}

/// Claims a refund that is due, so that no other process attempts it before `until`. Returns `None` if it is not due.
pub(crate) fn claim(tx: &Transaction<'_>, order: OrderId, until: Timestamp) -> Result<Option<ClaimedRefund>> {
    tx.debug_assert_event_locked();
    tx.query_opt(CLAIM, &[order.into(), tx.now().into(), until.into()], |row| {
        let currency: String = row.get("currency")?;
        let decimals = decimals(&currency).ok_or_else(|| row.corrupt("currency", "is not a known currency"))?;
        Ok(ClaimedRefund { amount: Amount::new(row.get("amount")?, decimals), currency, attempt: row.get("attempts")? })
    })
}

/// Returns up to `limit` orders whose refunds are due, the longest waiting first.
pub(crate) fn due(tx: &Transaction<'_>, limit: i64) -> Result<Vec<OrderId>> {
    tx.query_all(DUE, &[tx.now().into(), limit.into()], |row| row.get("order_id"))
}

/// Records that the gateway made the refund.
pub(crate) fn done(tx: &Transaction<'_>, order: OrderId) -> Result<()> {
    tx.debug_assert_event_locked();
    let now = tx.now();
    let binds = [order.into(), RefundStatus::Done.as_str().into(), None::<&str>.into(), now.into()];
    if tx.execute(ANSWERED, &binds)? == 1 {
        tx.execute(PAYMENT_REFUNDED, &[order.into(), now.into()])?;
    }
    Ok(())
}

/// Records that the gateway refused the refund permanently.
pub(crate) fn refused(tx: &Transaction<'_>, order: OrderId, problem: &str) -> Result<()> {
    tx.debug_assert_event_locked();
    let binds = [order.into(), RefundStatus::Refused.as_str().into(), problem.into(), tx.now().into()];
    tx.execute(ANSWERED, &binds).map(drop)
}

/// Records a failed attempt. The refund is attempted again at `at`.
pub(crate) fn again_at(tx: &Transaction<'_>, order: OrderId, at: Timestamp, problem: &str) -> Result<()> {
    tx.debug_assert_event_locked();
    tx.execute(LATER, &[order.into(), at.into(), problem.into(), tx.now().into()]).map(drop)
}

pub(crate) fn list(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    status: Option<RefundStatus>,
    page: &PageRequest<kind::Order>,
) -> Result<Page<Refund, kind::Order>> {
    let cursor = cursor_bound(tx, page, EXISTS, organization.into())?;
    let binds = [organization.into(), cursor, limit_plus_one(page), status.map(TextEnum::as_str).into()];
    let found = tx.query_all(LIST, &binds, decode)?;
    Ok(Page::cut(found, page.limit, |refund| refund.order_id))
}

/// The numbers of refunds that are not made yet or were refused, over all organizations.
pub(crate) struct OpenRefunds {
    /// Those that are attempted again.
    pub(crate) due: u64,
    /// Those that the gateway refused permanently.
    pub(crate) refused: u64,
}

pub(crate) fn count_open(tx: &Transaction<'_>) -> Result<OpenRefunds> {
    let count = |sql| tx.query_opt(sql, &[], |row| row.count("number")).map(Option::unwrap_or_default);
    Ok(OpenRefunds { due: count(COUNT_DUE)?, refused: count(COUNT_REFUSED)? })
}
