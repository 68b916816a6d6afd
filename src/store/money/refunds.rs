//! Refunds: decisions that money of a payment goes back. `sales::money::refund_lifecycle` has their life cycle.

use std::sync::LazyLock;

use super::payments::StoredPayment;
use crate::error::{Error, ResourceKind, Result};
use crate::model::sale::gateway_account::GatewayKey;
use crate::model::sale::refund::{ListRefunds, Refund, RefundSource, RefundStatus};
use crate::model::values::amount::Amount;
use crate::model::values::currency::Decimals;
use crate::model::values::id::{ApiKeyId, OrderId, OrganizationId, PaymentId, RefundId};
use crate::model::values::page::Page;
use crate::model::values::timestamp::Timestamp;
use crate::rules::Checked;
use crate::rules::money::refund_share::LATEST_DUE;
use crate::store::columns::{columns, row_struct};
use crate::store::lists::list_query::ListQuery;
use crate::store::lists::page_ids::ranges;
use crate::store::order::lists_of_orders::{self, Filters, Statements};
use crate::store::sale::gateway_identity::{WaitingAtGateway, count_by_gateway, count_of_others, of_gateway};
use crate::store::{LockedEvent, Query, Row, Transaction};

columns! {
    select selected_columns!("r.") {
        order_id, payment_id, source, reason, reference, status, attempts, last_error, created_at, updated_at
    }

    read decode(row: &Row<'_>) -> Refund {
        let decimals = row.get("currency")?;
        let owed = row.get("owed")?;
    } and {
        id: row.get("id")?,
        gateway: row.get("gateway")?,
        amount: Amount::in_currency(row.get("amount")?, decimals),
        returned: Amount::in_currency(row.get("returned")?, decimals),
        owed: Amount::in_currency(owed, decimals),
        requires_manual_refund: owed > 0,
        currency: row.get("currency")?,
    }
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT r.id, p.gateway, r.amount, r.currency, r.returned, r.owed",
            selected_columns!(),
            " FROM refunds r JOIN payments p ON p.id = r.payment_id WHERE ",
            $rest
        )
    };
}

/// The columns of a [`StoredRefund`].
macro_rules! stored_columns {
    () => {
        "id, order_id, payment_id, source, amount, currency, reference, status, by_gateway, refused, promised, returned, to_ask,
        owed, is_asking, attempts, next_attempt_at, last_error, created_at"
    };
}

const INSERT: &str = "INSERT INTO refunds (id, organization_id, order_id, event_id, payment_id, source, amount, currency,
        reason, reference, status, by_gateway, refused, promised, last_error, decided_by, created_at, updated_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 'DUE', ?11, ?12, ?7, ?13, ?14, ?15, ?15) ON CONFLICT (id) DO NOTHING";
const UPDATE: &str =
    "UPDATE refunds SET status = ?2, refused = ?3, promised = ?4, returned = ?5, to_ask = ?6, owed = ?7,
        is_asking = ?8, attempts = ?9, next_attempt_at = ?10, reference = ?11, last_error = ?12, updated_at = ?13
    WHERE id = ?1";
const BY_ID: &str = concat!("SELECT ", stored_columns!(), " FROM refunds WHERE id = ?1 AND order_id = ?2");
pub(in crate::store) const NOT_SETTLED: &str =
    concat!("SELECT ", stored_columns!(), " FROM refunds WHERE payment_id = ?1 AND promised > returned ORDER BY id");
const CLAIM: &str = concat!(
    "UPDATE refunds SET attempts = attempts + 1, is_asking = 1, next_attempt_at = ?3, updated_at = ?2
    WHERE id = ?1 AND to_ask > 0 AND (+next_attempt_at <= ?2 OR +next_attempt_at > ?4) RETURNING ",
    stored_columns!()
);

/// Selects rows that are due: first one of each organization, then the second one of each, and so on. So the rows of
/// one organization do not hide those of the others behind the limit.
macro_rules! due {
    ($condition:literal) => {
        concat!(
            "SELECT id, order_id, organization_id FROM (
                SELECT r.id, r.order_id, r.organization_id, r.next_attempt_at,
                    ROW_NUMBER() OVER (PARTITION BY r.organization_id ORDER BY r.next_attempt_at, r.id) AS turn
                FROM refunds r JOIN payments p ON p.id = r.payment_id
                WHERE r.next_attempt_at IS NOT NULL AND r.to_ask > 0 AND ",
            $condition,
            " AND ",
            of_gateway!("?3", "?4"),
            ") due ORDER BY turn, next_attempt_at, id LIMIT ?2"
        )
    };
}

pub(in crate::store) const DUE: &str = due!("r.next_attempt_at <= ?1");
pub(in crate::store) const DUE_TOO_LATE: &str = due!("r.next_attempt_at > ?1");

ranges! {
    from "refunds" as "r" where
        "r.organization_id = ?4 AND (CAST(?5 AS TEXT) IS NULL OR r.status = ?5)
            AND (CAST(?6 AS BIGINT) IS NULL OR r.event_id = ?6) AND (CAST(?7 AS BIGINT) IS NULL OR r.order_id = ?7)";
    OF_STATUS = "k.organization_id = ?4 AND k.status = ?8";
    OF_EVENT = "k.event_id = ?8 AND k.status = ?9";
    OF_ORDER = "k.order_id = ?8 AND k.status = ?9";
}

pub(in crate::store) static PAGE: LazyLock<ListQuery> =
    LazyLock::new(|| ListQuery::new(select!("r.id"), "ORDER BY r.id DESC"));
pub(in crate::store) const COUNT_DUE: &str =
    "SELECT COUNT(*) AS number FROM refunds WHERE status = 'DUE' AND by_gateway = 1";
const COUNT_BY_GATEWAY: &str =
    count_by_gateway!("refunds r JOIN payments p ON p.id = r.payment_id WHERE r.status = 'DUE' AND r.by_gateway = 1");
pub(in crate::store) const COUNT_OWED: &str = "SELECT COUNT(*) AS number FROM refunds WHERE owed > 0";
const GET: &str = select!("r.id = ?1 AND r.organization_id = ?2");
const ALL_OF_ORDER: &str = select!("r.order_id = ?1 AND r.organization_id = ?2 ORDER BY r.id");
const IS_REFUSED: &str = "SELECT 1 FROM refunds WHERE order_id = ?1 AND reference = ?2 AND refused = 1 LIMIT 1";
const EXISTS: &str = "SELECT 1 FROM refunds WHERE id = ?1 AND organization_id = ?2";
const ORDER_OF: &str = "SELECT order_id FROM refunds WHERE id = ?1 AND organization_id = ?2";

/// A refund to be recorded. Amounts are those of its payment.
pub(crate) struct NewRefund<'a> {
    pub(crate) source: RefundSource,
    /// In minor units of the currency of the payment.
    pub(crate) amount: i64,
    pub(crate) reason: Option<&'a str>,
    /// Whether the gateway is asked for it.
    pub(crate) by_gateway: bool,
    /// Why it is refused at once.
    pub(crate) refusal: Option<&'a str>,
    /// The gateway's id of it, if somebody made it at the gateway.
    pub(crate) reference: Option<&'a str>,
    pub(crate) decided_by: Option<ApiKeyId>,
}

impl NewRefund<'_> {
    /// A refund that the gateway is asked for.
    pub(crate) const fn new(source: RefundSource, amount: i64) -> Self {
        Self { source, amount, reason: None, by_gateway: true, refusal: None, reference: None, decided_by: None }
    }
}

row_struct! {
    /// A refund that is stored. Amounts are in minor units of the currency of its payment.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub(crate) struct StoredRefund(row) {
        pub(crate) id: RefundId,
        pub(crate) order: OrderId => order_id,
        pub(crate) payment: PaymentId => payment_id,
        pub(crate) source: RefundSource,
        pub(crate) amount: i64 = read_amount(row)?,
        pub(crate) reference: Option<String>,
        pub(crate) status: RefundStatus,
        pub(crate) by_gateway: bool,
        /// Whether the gateway has refused it for good.
        pub(crate) refused: bool,
        /// What of the payment it counts as decided.
        pub(crate) promised: i64,
        pub(crate) returned: i64,
        /// What is to be asked of the gateway.
        pub(crate) to_ask: i64,
        /// What has to be returned manually.
        pub(crate) owed: i64,
        /// Whether an attempt may be waiting for the gateway, until the time of the next attempt.
        pub(crate) is_asking: bool,
        pub(crate) attempts: i64,
        pub(crate) next_attempt_at: Option<Timestamp>,
        pub(crate) last_error: Option<String>,
        pub(crate) decided_at: Timestamp => created_at,
    }
}

impl StoredRefund {
    /// What was decided and has not gone back.
    pub(crate) fn open(&self) -> i64 {
        self.promised - self.returned
    }
}

/// An amount of an unknown currency must not be asked for.
fn read_amount(row: &Row<'_>) -> Result<i64> {
    row.get::<Decimals>("currency")?;
    row.get("amount")
}

/// Records a refund of a payment, as DUE.
pub(crate) fn insert(tx: &LockedEvent<'_>, payment: &StoredPayment, refund: &NewRefund<'_>) -> Result<StoredRefund> {
    let binds = [
        payment.organization.into(),
        payment.order.into(),
        payment.event.into(),
        payment.id.into(),
        refund.source.as_str().into(),
        refund.amount.into(),
        payment.currency.as_str().into(),
        refund.reason.into(),
        refund.reference.into(),
        refund.by_gateway.into(),
        refund.refusal.is_some().into(),
        refund.refusal.into(),
        refund.decided_by.into(),
        tx.now().into(),
    ];
    let id = tx.insert(INSERT, &binds)?;
    find(tx, payment.order, id)?.ok_or(Error::NotFound(ResourceKind::Refund))
}

pub(crate) fn update(tx: &LockedEvent<'_>, refund: &StoredRefund) -> Result<()> {
    let binds = [
        refund.id.into(),
        refund.status.as_str().into(),
        refund.refused.into(),
        refund.promised.into(),
        refund.returned.into(),
        refund.to_ask.into(),
        refund.owed.into(),
        refund.is_asking.into(),
        refund.attempts.into(),
        refund.next_attempt_at.into(),
        refund.reference.as_ref().into(),
        refund.last_error.as_ref().into(),
        tx.now().into(),
    ];
    tx.execute(UPDATE, &binds)
}

pub(crate) fn find(tx: &Transaction<'_>, order: OrderId, id: RefundId) -> Result<Option<StoredRefund>> {
    tx.query_opt(BY_ID, &[id.into(), order.into()], StoredRefund::read)
}

pub(crate) fn get(tx: &Transaction<'_>, organization: OrganizationId, id: RefundId) -> Result<Refund> {
    tx.query_opt(GET, &[id.into(), organization.into()], decode)?.ok_or(Error::NotFound(ResourceKind::Refund))
}

/// Returns the refunds of an order, the oldest first.
pub(crate) fn of_order(tx: &Transaction<'_>, organization: OrganizationId, order: OrderId) -> Result<Vec<Refund>> {
    tx.query_all(ALL_OF_ORDER, &[order.into(), organization.into()], decode)
}

pub(crate) fn order_of(tx: &Transaction<'_>, organization: OrganizationId, id: RefundId) -> Result<Option<OrderId>> {
    tx.query_opt(ORDER_OF, &[id.into(), organization.into()], |row| row.get("order_id"))
}

/// Whether the gateway has refused a refund of an order with this id of the gateway, or has reported that it failed.
pub(crate) fn is_refused(tx: &Transaction<'_>, order: OrderId, reference: &str) -> Result<bool> {
    tx.exists(IS_REFUSED, &[order.into(), reference.into()])
}

/// Returns the refunds of a payment whose money has not gone back, the oldest first.
pub(crate) fn not_settled(tx: &Transaction<'_>, payment: PaymentId) -> Result<Vec<StoredRefund>> {
    tx.query_all(NOT_SETTLED, &[payment.into()], StoredRefund::read)
}

/// Claims a due refund: no other process attempts it before `until`. Returns `None` if it is not due now.
pub(crate) fn claim(tx: &LockedEvent<'_>, id: RefundId, until: Timestamp) -> Result<Option<StoredRefund>> {
    let binds = [id.into(), tx.now().into(), until.into(), latest_due(tx).into()];
    tx.query_opt(Query::changing(CLAIM), &binds, StoredRefund::read)
}

row_struct! {
    /// A refund that is due.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) struct DueRefund(row) {
        pub(crate) id: RefundId,
        pub(crate) order: OrderId => order_id,
        pub(crate) organization: OrganizationId => organization_id,
    }
}

/// The latest time at which a refund can be due. One that is due later was recorded while the clock was wrong: it
/// counts as due.
fn latest_due(tx: &Transaction<'_>) -> Timestamp {
    tx.now().saturating_add(LATEST_DUE)
}

/// Returns up to `limit` refunds that are due now at this gateway, so that organizations take turns. Of each, the one
/// that has been due for the longest time comes first. Those whose due time comes from a clock that was wrong come
/// last.
pub(crate) fn due(tx: &Transaction<'_>, gateway: GatewayKey<'_>, limit: i64) -> Result<Vec<DueRefund>> {
    let binds = [tx.now().into(), limit.into(), gateway.name.into(), gateway.mode.as_str().into()];
    let mut due = tx.query_all(DUE, &binds, DueRefund::read)?;
    let rest = limit - i64::try_from(due.len()).unwrap_or(limit);
    if rest > 0 {
        let binds = [latest_due(tx).into(), rest.into(), gateway.name.into(), gateway.mode.as_str().into()];
        due.extend(tx.query_all(DUE_TOO_LATE, &binds, DueRefund::read)?);
    }
    Ok(due)
}

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

fn count(tx: &Transaction<'_>, sql: &str) -> Result<u64> {
    tx.query_opt(sql, &[], |row| row.count("number")).map(Option::unwrap_or_default)
}

/// Counts the refunds that a gateway is to be asked for, over all organizations.
pub(crate) fn count_due(tx: &Transaction<'_>) -> Result<u64> {
    count(tx, COUNT_DUE)
}

/// Counts those of them that are at other gateways than this one.
pub(crate) fn of_other_gateways(
    tx: &Transaction<'_>,
    gateway: Option<GatewayKey<'_>>,
) -> Result<Vec<WaitingAtGateway>> {
    count_of_others(tx, COUNT_BY_GATEWAY, gateway)
}

/// Counts the refunds that still have to be made manually, in whole or in part, over all organizations.
pub(crate) fn count_owed(tx: &Transaction<'_>) -> Result<u64> {
    count(tx, COUNT_OWED)
}
