//! Refunds: decisions that money of a payment goes back. `sales::money::refund_lifecycle` has their life cycle.

use std::sync::LazyLock;

use super::payments::StoredPayment;
use crate::error::{Error, ResourceKind, Result};
use crate::model::sale::gateway_account::GatewayKey;
use crate::model::sale::refund::{ListRefunds, Refund, RefundSource, RefundStatus};
use crate::model::values::amount::Amount;
use crate::model::values::currency::Decimals;
use crate::model::values::id::{ApiKeyId, CancellationRunId, OrderId, OrganizationId, PaymentId, RefundId};
use crate::model::values::page::Page;
use crate::model::values::timestamp::Timestamp;
use crate::rules::Checked;
use crate::store::columns::{columns, row_struct};
use crate::store::lists::list_query::ListQuery;
use crate::store::lists::page_ids::ranges;
use crate::store::order::lists_of_orders::{self, Filters, Statements};
use crate::store::sale::gateway_identity::{WaitingAtGateway, count_by_gateway, count_of_others};
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
        owed, attempts, last_error, created_at"
    };
}

const INSERT: &str = "INSERT INTO refunds (id, organization_id, order_id, event_id, payment_id, source, amount, currency,
        reason, reference, status, by_gateway, refused, promised, last_error, decided_by, cancellation_run_id, created_at,
        updated_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 'DUE', ?11, ?12, ?7, ?13, ?14, ?15, ?16, ?16)
    ON CONFLICT (id) DO NOTHING";
const UPDATE: &str =
    "UPDATE refunds SET status = ?2, refused = ?3, promised = ?4, returned = ?5, to_ask = ?6, owed = ?7,
        attempts = ?8, reference = ?9, last_error = ?10, updated_at = ?11
    WHERE id = ?1";
const BY_ID: &str = concat!("SELECT ", stored_columns!(), " FROM refunds WHERE id = ?1 AND order_id = ?2");
pub(in crate::store) const NOT_SETTLED: &str =
    concat!("SELECT ", stored_columns!(), " FROM refunds WHERE payment_id = ?1 AND promised > returned ORDER BY id");
const BEGIN_ATTEMPT: &str = concat!(
    "UPDATE refunds SET attempts = attempts + 1, updated_at = ?2 WHERE id = ?1 AND to_ask > 0 RETURNING ",
    stored_columns!()
);

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
    /// The run that cancels its order with the others of the event.
    pub(crate) run: Option<CancellationRunId>,
}

impl NewRefund<'_> {
    /// A refund that the gateway is asked for.
    pub(crate) const fn new(source: RefundSource, amount: i64) -> Self {
        Self {
            source,
            amount,
            reason: None,
            by_gateway: true,
            refusal: None,
            reference: None,
            decided_by: None,
            run: None,
        }
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
        pub(crate) attempts: i64,
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
        refund.run.into(),
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
        refund.attempts.into(),
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

/// Counts an attempt to make a refund. Returns `None` if the gateway is not to be asked for it.
pub(crate) fn begin_attempt(tx: &LockedEvent<'_>, id: RefundId) -> Result<Option<StoredRefund>> {
    tx.query_opt(Query::changing(BEGIN_ATTEMPT), &[id.into(), tx.now().into()], StoredRefund::read)
}

/// A refund that was just decided.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DecidedRefund {
    pub(crate) id: RefundId,
    pub(crate) order: OrderId,
    pub(crate) organization: OrganizationId,
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
