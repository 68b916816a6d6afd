//! Refunds. A refund is recorded as due in the transaction that decides on it. It stays due until the gateway has made
//! it or refused it permanently.

use std::sync::LazyLock;

use super::currency::read_currency;
use super::lists::ListQuery;
use super::lists_of_orders::{self, Filters, Statements};
use super::page_ids::select_ids;
use super::{Row, Transaction};
use crate::error::Result;
use crate::model::amount::Amount;
use crate::model::currency::Decimals;
use crate::model::id::{EventId, OrderId, OrganizationId, RefundId};
use crate::model::page::Page;
use crate::model::refund::{ListRefunds, Refund, RefundSource, RefundStatus};
use crate::model::timestamp::Timestamp;
use crate::rules::Checked;
use crate::rules::refund::LATEST_DUE;

macro_rules! columns {
    () => {
        "id, organization_id, order_id, source, amount, currency, reason, reference, status, settled_by, attempts,
        last_error, created_at, updated_at"
    };
}

/// The columns of a [`StoredRefund`].
macro_rules! stored_columns {
    () => {
        "id, source, amount, currency, status, reference, payment_reference"
    };
}

pub(super) use stored_columns;

const INSERT: &str = "INSERT INTO refunds (id, organization_id, order_id, event_id, source, amount, currency, reason,
        reference, payment_reference, status, next_attempt_at, last_error, created_at, updated_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?12, ?12) ON CONFLICT (id) DO NOTHING";
const CLAIM: &str = "UPDATE refunds SET attempts = attempts + 1, next_attempt_at = ?3, updated_at = ?2
    WHERE id = ?1 AND status = 'DUE' AND (next_attempt_at <= ?2 OR next_attempt_at > ?4)
    RETURNING id, order_id, source, amount, currency, payment_reference, attempts, created_at";
/// Selects rows that are due: first one of each organization, then the second one of each, and so on. So the rows of one
/// organization do not hide those of the others behind the limit.
macro_rules! due {
    ($condition:literal) => {
        concat!(
            "SELECT id, order_id, organization_id FROM (
                SELECT id, order_id, organization_id, next_attempt_at,
                    ROW_NUMBER() OVER (PARTITION BY organization_id ORDER BY next_attempt_at, id) AS turn
                FROM refunds WHERE status = 'DUE' AND ",
            $condition,
            ") due ORDER BY turn, next_attempt_at, id LIMIT ?2"
        )
    };
}

pub(super) const DUE: &str = due!("next_attempt_at <= ?1");
pub(super) const DUE_TOO_LATE: &str = due!("next_attempt_at > ?1");
const MARK_DONE: &str =
    "UPDATE refunds SET status = 'DONE', last_error = NULL, updated_at = ?2 WHERE id = ?1 AND status = 'DUE'";
// The following statements change nothing if another process has claimed the refund since, whose answer is the newer one.
const MARK_REFUSED: &str = "UPDATE refunds SET status = 'REFUSED', last_error = ?3, updated_at = ?4
    WHERE id = ?1 AND status = 'DUE' AND attempts = ?2";
const POSTPONE: &str = "UPDATE refunds SET next_attempt_at = ?5, last_error = ?3, updated_at = ?4
    WHERE id = ?1 AND status = 'DUE' AND attempts = ?2";
const FIND: &str =
    concat!("SELECT ", stored_columns!(), " FROM refunds WHERE id = ?1 AND order_id = ?2 AND organization_id = ?3");
pub(super) const BY_REFERENCE: &str =
    concat!("SELECT ", stored_columns!(), " FROM refunds WHERE order_id = ?1 AND reference = ?2");
const SET_REFERENCE: &str = "UPDATE refunds SET reference = ?2, updated_at = ?3 WHERE id = ?1 AND reference IS NULL";
const FAIL: &str =
    "UPDATE refunds SET status = 'REFUSED', last_error = ?2, check_at = NULL, updated_at = ?3 WHERE id = ?1";
const REINSTATE: &str = "UPDATE refunds SET status = 'DONE', settled_by = NULL, last_error = NULL, updated_at = ?2
    WHERE id = ?1 AND status = 'REFUSED'";
const EXISTS_FOR_LATE_PAYMENT: &str = "SELECT 1 FROM refunds WHERE order_id = ?1 AND source = 'LATE_PAYMENT'";
const EXISTS_FOR_OTHER_PAYMENT: &str =
    "SELECT 1 FROM refunds WHERE order_id = ?1 AND source = 'OTHER_PAYMENT' AND payment_reference = ?2";
/// The conditions of all filters.
macro_rules! filters {
    () => {
        "r.organization_id = ?4 AND (CAST(?5 AS TEXT) IS NULL OR r.status = ?5)
            AND (CAST(?6 AS BIGINT) IS NULL OR r.event_id = ?6) AND (CAST(?7 AS BIGINT) IS NULL OR r.order_id = ?7)"
    };
}

/// Selects the ids of a range of an index.
macro_rules! range {
    ($range:literal) => {
        select_ids!(
            "SELECT k.id AS id FROM refunds k CROSS JOIN refunds r WHERE r.id = k.id",
            $range,
            "k.id",
            filters!()
        )
    };
}

/// The items of a page.
pub(super) static PAGE: LazyLock<ListQuery> =
    LazyLock::new(|| ListQuery::new(concat!("SELECT ", columns!(), " FROM refunds WHERE id"), "ORDER BY id DESC"));
pub(super) const OF_STATUS: &str = range!("k.organization_id = ?4 AND k.status = ?8");
pub(super) const OF_EVENT: &str = range!("k.event_id = ?8 AND k.status = ?9");
pub(super) const OF_ORDER: &str = range!("k.order_id = ?8 AND k.status = ?9");
pub(super) const COUNT_DUE: &str = "SELECT COUNT(*) AS number FROM refunds WHERE status = 'DUE'";
const EXISTS: &str = "SELECT 1 FROM refunds WHERE id = ?1 AND organization_id = ?2";

fn decode(row: &Row<'_>) -> Result<Refund> {
    let currency = read_currency(row)?;
    let status = row.text_enum("status")?;
    Ok(Refund {
        id: row.get("id")?,
        order_id: row.get("order_id")?,
        source: row.text_enum("source")?,
        amount: Amount::in_currency(row.get("amount")?, currency.decimals),
        currency: currency.code,
        reason: row.get("reason")?,
        reference: row.get("reference")?,
        status,
        requires_manual_refund: status == RefundStatus::Refused && row.is_null("settled_by")?,
        attempts: row.get("attempts")?,
        last_error: row.get("last_error")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}

/// A refund to be recorded.
pub(crate) struct NewRefund<'a> {
    pub(crate) organization: OrganizationId,
    pub(crate) order: OrderId,
    pub(crate) event: EventId,
    pub(crate) source: RefundSource,
    /// In minor units of `currency`.
    pub(crate) amount: i64,
    pub(crate) currency: &'a str,
    pub(crate) reason: Option<&'a str>,
    /// The gateway's id of the payment, if it is not the one of the order.
    pub(crate) payment_reference: Option<&'a str>,
}

/// Records a refund that the gateway is to make.
pub(crate) fn insert_due(tx: &Transaction<'_>, refund: &NewRefund<'_>) -> Result<RefundId> {
    insert(tx, refund, None, RefundStatus::Due, None)
}

/// Records a refund that is not attempted. It is listed as refused, with `problem` as its error.
pub(crate) fn insert_refused(tx: &Transaction<'_>, refund: &NewRefund<'_>, problem: &str) -> Result<RefundId> {
    insert(tx, refund, None, RefundStatus::Refused, Some(problem))
}

/// Records a refund that the gateway reports, with the gateway's id of it. It is not attempted.
pub(crate) fn insert_reported(
    tx: &Transaction<'_>,
    refund: &NewRefund<'_>,
    reference: &str,
    status: RefundStatus,
) -> Result<RefundId> {
    insert(tx, refund, Some(reference), status, None)
}

fn insert(
    tx: &Transaction<'_>,
    refund: &NewRefund<'_>,
    reference: Option<&str>,
    status: RefundStatus,
    problem: Option<&str>,
) -> Result<RefundId> {
    tx.debug_assert_event_locked();
    let binds = [
        refund.organization.into(),
        refund.order.into(),
        refund.event.into(),
        refund.source.as_str().into(),
        refund.amount.into(),
        refund.currency.into(),
        refund.reason.into(),
        reference.into(),
        refund.payment_reference.into(),
        status.as_str().into(),
        tx.now().into(),
        problem.into(),
    ];
    tx.insert(INSERT, &binds)
}

/// Whether there is a refund of a payment that is not the one of its order, by the gateway's id of the payment.
pub(crate) fn exists_for_other_payment(tx: &Transaction<'_>, order: OrderId, payment: &str) -> Result<bool> {
    tx.exists(EXISTS_FOR_OTHER_PAYMENT, &[order.into(), payment.into()])
}

/// A refund that is stored.
pub(crate) struct StoredRefund {
    pub(crate) id: RefundId,
    pub(crate) source: RefundSource,
    /// In minor units of `currency`.
    pub(crate) amount: i64,
    pub(crate) currency: String,
    pub(crate) decimals: Decimals,
    pub(crate) status: RefundStatus,
    /// The gateway's id of the refund, if it was reported.
    pub(crate) reference: Option<String>,
    /// The gateway's id of the payment, if it is not the one of the order.
    pub(crate) payment_reference: Option<String>,
}

pub(super) fn decode_stored(row: &Row<'_>) -> Result<StoredRefund> {
    let currency = read_currency(row)?;
    Ok(StoredRefund {
        id: row.get("id")?,
        source: row.text_enum("source")?,
        amount: row.get("amount")?,
        currency: currency.code,
        decimals: currency.decimals,
        status: row.text_enum("status")?,
        reference: row.get("reference")?,
        payment_reference: row.get("payment_reference")?,
    })
}

/// Returns a refund of an order.
pub(crate) fn find(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    order: OrderId,
    id: RefundId,
) -> Result<Option<StoredRefund>> {
    tx.query_opt(FIND, &[id.into(), order.into(), organization.into()], decode_stored)
}

/// Returns the refund of an order with the gateway's id of it.
pub(crate) fn by_reference(tx: &Transaction<'_>, order: OrderId, reference: &str) -> Result<Option<StoredRefund>> {
    tx.query_opt(BY_REFERENCE, &[order.into(), reference.into()], decode_stored)
}

/// Records the gateway's id of a refund, unless it is known.
pub(crate) fn set_reference(tx: &Transaction<'_>, id: RefundId, reference: &str) -> Result<()> {
    tx.debug_assert_event_locked();
    tx.execute(SET_REFERENCE, &[id.into(), reference.into(), tx.now().into()])?;
    Ok(())
}

/// Sets a refund of any status to REFUSED.
pub(crate) fn fail(tx: &Transaction<'_>, id: RefundId, problem: &str) -> Result<()> {
    tx.debug_assert_event_locked();
    tx.execute(FAIL, &[id.into(), problem.into(), tx.now().into()])?;
    Ok(())
}

/// Sets a refund that was refused to DONE.
pub(crate) fn reinstate(tx: &Transaction<'_>, id: RefundId) -> Result<()> {
    tx.debug_assert_event_locked();
    tx.execute(REINSTATE, &[id.into(), tx.now().into()])?;
    Ok(())
}

/// Whether a payment of an order came too late for it, so that it was refunded or will be.
pub(crate) fn exists_for_late_payment(tx: &Transaction<'_>, order: OrderId) -> Result<bool> {
    tx.exists(EXISTS_FOR_LATE_PAYMENT, &[order.into()])
}

/// A refund that one process has claimed.
#[derive(Debug, Clone)]
pub(crate) struct ClaimedRefund {
    pub(crate) source: RefundSource,
    pub(crate) amount: Amount,
    pub(crate) currency: String,
    /// The gateway's id of the payment, if it is not the one of the order.
    pub(crate) payment_reference: Option<String>,
    /// The number of the attempt, counted from 1.
    pub(crate) attempt: i64,
    pub(crate) decided_at: Timestamp,
}

/// Claims a due refund: no other process attempts it before `until`. Returns `None` if it is not due now.
pub(crate) fn claim(tx: &Transaction<'_>, id: RefundId, until: Timestamp) -> Result<Option<ClaimedRefund>> {
    tx.debug_assert_event_locked();
    let binds = [id.into(), tx.now().into(), until.into(), latest_due(tx).into()];
    tx.query_opt(CLAIM, &binds, |row| {
        let currency = read_currency(row)?;
        Ok(ClaimedRefund {
            source: row.text_enum("source")?,
            amount: Amount::in_currency(row.get("amount")?, currency.decimals),
            currency: currency.code,
            payment_reference: row.get("payment_reference")?,
            attempt: row.get("attempts")?,
            decided_at: row.get("created_at")?,
        })
    })
}

/// A refund that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DueRefund {
    pub(crate) id: RefundId,
    pub(crate) order: OrderId,
    pub(crate) organization: OrganizationId,
}

/// The latest time at which a refund can be due. One that is due later was recorded while the clock was wrong: it counts
/// as due.
fn latest_due(tx: &Transaction<'_>) -> Timestamp {
    tx.now().saturating_add(LATEST_DUE)
}

/// Returns up to `limit` refunds that are due now, so that organizations take turns. Of each, the one that has been due for
/// the longest time comes first. Those whose due time comes from a clock that was wrong come last.
pub(crate) fn due(tx: &Transaction<'_>, limit: i64) -> Result<Vec<DueRefund>> {
    let decode = |row: &Row<'_>| {
        Ok(DueRefund { id: row.get("id")?, order: row.get("order_id")?, organization: row.get("organization_id")? })
    };
    let mut due = tx.query_all(DUE, &[tx.now().into(), limit.into()], decode)?;
    let rest = limit - i64::try_from(due.len()).unwrap_or(limit);
    if rest > 0 {
        due.extend(tx.query_all(DUE_TOO_LATE, &[latest_due(tx).into(), rest.into()], decode)?);
    }
    Ok(due)
}

/// Sets a due refund to DONE. Returns `false` if the refund is not due.
pub(crate) fn mark_done(tx: &Transaction<'_>, id: RefundId) -> Result<bool> {
    tx.debug_assert_event_locked();
    Ok(tx.execute(MARK_DONE, &[id.into(), tx.now().into()])? == 1)
}

/// Sets a due refund to REFUSED after this attempt. It is not attempted again. Returns `false` if the refund is not due, or
/// another attempt has begun.
pub(crate) fn mark_refused(tx: &Transaction<'_>, id: RefundId, attempt: i64, problem: &str) -> Result<bool> {
    tx.debug_assert_event_locked();
    Ok(tx.execute(MARK_REFUSED, &[id.into(), attempt.into(), problem.into(), tx.now().into()])? == 1)
}

/// Keeps a refund due after this attempt, and postpones the next one until `until`, unless it has begun.
pub(crate) fn postpone(
    tx: &Transaction<'_>,
    id: RefundId,
    attempt: i64,
    until: Timestamp,
    problem: &str,
) -> Result<()> {
    tx.debug_assert_event_locked();
    tx.execute(POSTPONE, &[id.into(), attempt.into(), problem.into(), tx.now().into(), until.into()])?;
    Ok(())
}

/// Lists the refunds of an organization, newest first.
pub(crate) fn list(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    request: &Checked<ListRefunds>,
) -> Result<Page<Refund, RefundId>> {
    let statements =
        Statements { page: &PAGE, of_status: OF_STATUS, of_event: OF_EVENT, of_order: OF_ORDER, exists: EXISTS };
    let filters = Filters { organization, status: request.status, event: request.event_id, order: request.order_id };
    lists_of_orders::list(tx, &statements, &filters, &request.page, decode, |refund| refund.id)
}

/// Counts the refunds that will be attempted, over all organizations.
pub(crate) fn count_due(tx: &Transaction<'_>) -> Result<u64> {
    tx.query_opt(COUNT_DUE, &[], |row| row.count("number")).map(Option::unwrap_or_default)
}
