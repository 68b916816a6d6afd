//! Disputes: payments that a customer's bank has taken back, or may take back.

use std::sync::LazyLock;

use super::payments::StoredPayment;
use crate::error::Result;
use crate::model::payments::dispute::{Dispute, DisputeStatus, ListDisputes};
use crate::model::values::amount::Amount;
use crate::model::values::id::{DisputeId, EventId, OrderId, OrganizationId, PaymentId};
use crate::model::values::page::Page;
use crate::rules::Checked;
use crate::store::columns::{columns, row_struct};
use crate::store::lists::list_query::ListQuery;
use crate::store::lists::page_ids::ranges;
use crate::store::order::lists_of_orders::{self, Filters, Statements};
use crate::store::{LockedEvent, Transaction};

columns! {
    select selected_columns!("") {
        order_id, payment_id, reference, reason, status, created_at, updated_at
    }

    read decode(row: &Row<'_>) -> Dispute {
        let decimals = row.get("currency")?;
    } and {
        id: row.get("id")?,
        amount: Amount::in_currency(row.get("amount")?, decimals),
        taken: Amount::in_currency(row.get("taken")?, decimals),
        currency: row.get("currency")?,
    }
}

macro_rules! select {
    ($rest:literal) => {
        concat!("SELECT id, amount, taken, currency", selected_columns!(), " FROM disputes WHERE ", $rest)
    };
}

const INSERT: &str =
    "INSERT INTO disputes (id, organization_id, order_id, event_id, payment_id, reference, amount, taken,
        currency, reason, status, created_at, updated_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?12) ON CONFLICT (id) DO NOTHING";
const UPDATE: &str = "UPDATE disputes SET amount = ?2, taken = ?3, reason = ?4, status = ?5,
        payment_id = COALESCE(payment_id, ?6), updated_at = ?7
    WHERE id = ?1";
pub(in crate::store) const BY_REFERENCE: &str = select!("order_id = ?1 AND reference = ?2");
/// The disputes of a payment about which banks have not decided.
const SUMS: &str = "SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) AS disputed,
        CAST(COALESCE(SUM(taken), 0) AS BIGINT) AS taken
    FROM disputes WHERE order_id = ?1 AND payment_id = ?2 AND currency = ?3 AND status = 'OPEN'";

ranges! {
    from "disputes" as "d" where
        "d.organization_id = ?4 AND (CAST(?5 AS TEXT) IS NULL OR d.status = ?5)
            AND (CAST(?6 AS BIGINT) IS NULL OR d.event_id = ?6) AND (CAST(?7 AS BIGINT) IS NULL OR d.order_id = ?7)";
    OF_STATUS = "k.organization_id = ?4 AND k.status = ?8";
    OF_EVENT = "k.event_id = ?8 AND k.status = ?9";
    OF_ORDER = "k.order_id = ?8 AND k.status = ?9";
}

pub(in crate::store) static PAGE: LazyLock<ListQuery> =
    LazyLock::new(|| ListQuery::new(select!("id"), "ORDER BY id DESC"));
pub(in crate::store) const COUNT_OPEN: &str = "SELECT COUNT(*) AS number FROM disputes WHERE status = 'OPEN'";
const EXISTS: &str = "SELECT 1 FROM disputes WHERE id = ?1 AND organization_id = ?2";

/// A dispute to be recorded. Amounts are in minor units of its currency.
pub(crate) struct NewDispute<'a> {
    pub(crate) organization: OrganizationId,
    pub(crate) order: OrderId,
    pub(crate) event: EventId,
    /// `None` if the payment is not known.
    pub(crate) payment: Option<PaymentId>,
    pub(crate) reference: &'a str,
    pub(crate) amount: i64,
    pub(crate) taken: i64,
    pub(crate) currency: &'a str,
    pub(crate) reason: &'a str,
    pub(crate) status: DisputeStatus,
}

pub(crate) fn insert(tx: &LockedEvent<'_>, new: &NewDispute<'_>) -> Result<DisputeId> {
    let binds = [
        new.organization.into(),
        new.order.into(),
        new.event.into(),
        new.payment.into(),
        new.reference.into(),
        new.amount.into(),
        new.taken.into(),
        new.currency.into(),
        new.reason.into(),
        new.status.as_str().into(),
        tx.now().into(),
    ];
    tx.insert(INSERT, &binds)
}

pub(crate) fn update(tx: &LockedEvent<'_>, id: DisputeId, new: &NewDispute<'_>) -> Result<()> {
    let binds = [
        id.into(),
        new.amount.into(),
        new.taken.into(),
        new.reason.into(),
        new.status.as_str().into(),
        new.payment.into(),
        tx.now().into(),
    ];
    tx.execute(UPDATE, &binds)
}

row_struct! {
    /// The sums of the disputes of a payment about which banks have not decided, in minor units.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub(crate) struct OpenDisputes(row) {
        pub(crate) disputed: i64,
        /// What banks have taken for them.
        pub(crate) taken: i64,
    }
}

pub(crate) fn open_of(tx: &Transaction<'_>, payment: &StoredPayment) -> Result<OpenDisputes> {
    let binds = [payment.order.into(), payment.id.into(), payment.currency.as_str().into()];
    Ok(tx.query_opt(SUMS, &binds, OpenDisputes::read)?.unwrap_or_default())
}

/// Returns the dispute of an order by the gateway's id of it.
pub(crate) fn by_reference(tx: &Transaction<'_>, order: OrderId, reference: &str) -> Result<Option<Dispute>> {
    tx.query_opt(BY_REFERENCE, &[order.into(), reference.into()], decode)
}

pub(crate) fn list(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    request: &Checked<ListDisputes>,
) -> Result<Page<Dispute, DisputeId>> {
    let statements =
        Statements { page: &PAGE, of_status: OF_STATUS, of_event: OF_EVENT, of_order: OF_ORDER, exists: EXISTS };
    let filters = Filters { organization, status: request.status, event: request.event_id, order: request.order_id };
    lists_of_orders::list(tx, &statements, &filters, &request.page, decode, |dispute| dispute.id)
}

/// Counts the disputes that are not decided, over all organizations.
pub(crate) fn count_open(tx: &Transaction<'_>) -> Result<u64> {
    tx.query_opt(COUNT_OPEN, &[], |row| row.count("number")).map(Option::unwrap_or_default)
}
