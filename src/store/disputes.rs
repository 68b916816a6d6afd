//! Disputes: payments that a customer's bank has taken back, or may take back.

use std::sync::LazyLock;

use super::currency::read_currency;
use super::lists::ListQuery;
use super::lists_of_orders::{self, Filters, Statements};
use super::page_ids::select_ids;
use super::{Row, Transaction};
use crate::error::Result;
use crate::model::amount::Amount;
use crate::model::dispute::{Dispute, ListDisputes};
use crate::model::gateway_report::GatewayDispute;
use crate::model::id::{DisputeId, EventId, OrderId, OrganizationId};
use crate::model::page::Page;
use crate::rules::Checked;

/// The columns of a [`Dispute`].
macro_rules! columns {
    () => {
        "id, order_id, reference, amount, currency, reason, status, created_at, updated_at"
    };
}

const INSERT: &str =
    "INSERT INTO disputes (id, organization_id, order_id, event_id, reference, amount, currency, reason,
        status, created_at, updated_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?10) ON CONFLICT (id) DO NOTHING";
/// Notices may arrive in any order: a dispute that is decided is not open again.
const UPDATE: &str = "UPDATE disputes SET status = ?3, updated_at = ?4
    WHERE order_id = ?1 AND reference = ?2 AND status <> ?3 AND ?3 <> 'OPEN'";
pub(super) const BY_REFERENCE: &str =
    concat!("SELECT ", columns!(), " FROM disputes WHERE order_id = ?1 AND reference = ?2");
/// The conditions of all filters.
macro_rules! filters {
    () => {
        "d.organization_id = ?4 AND (CAST(?5 AS TEXT) IS NULL OR d.status = ?5)
            AND (CAST(?6 AS BIGINT) IS NULL OR d.event_id = ?6) AND (CAST(?7 AS BIGINT) IS NULL OR d.order_id = ?7)"
    };
}

/// Selects the ids of a range of an index.
macro_rules! range {
    ($range:literal) => {
        select_ids!(
            "SELECT k.id AS id FROM disputes k CROSS JOIN disputes d WHERE d.id = k.id",
            $range,
            "k.id",
            filters!()
        )
    };
}

/// The items of a page.
pub(super) static PAGE: LazyLock<ListQuery> =
    LazyLock::new(|| ListQuery::new(concat!("SELECT ", columns!(), " FROM disputes WHERE id"), "ORDER BY id DESC"));
pub(super) const OF_STATUS: &str = range!("k.organization_id = ?4 AND k.status = ?8");
pub(super) const OF_EVENT: &str = range!("k.event_id = ?8 AND k.status = ?9");
pub(super) const OF_ORDER: &str = range!("k.order_id = ?8 AND k.status = ?9");
pub(super) const COUNT_OPEN: &str = "SELECT COUNT(*) AS number FROM disputes WHERE status = 'OPEN'";
const EXISTS: &str = "SELECT 1 FROM disputes WHERE id = ?1 AND organization_id = ?2";

fn decode(row: &Row<'_>) -> Result<Dispute> {
    let currency = read_currency(row)?;
    Ok(Dispute {
        id: row.get("id")?,
        order_id: row.get("order_id")?,
        reference: row.get("reference")?,
        amount: Amount::in_currency(row.get("amount")?, currency.decimals),
        currency: currency.code,
        reason: row.get("reason")?,
        status: row.text_enum("status")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}

/// The order of a dispute, and the disputed amount in minor units of its currency.
pub(crate) struct DisputedOrder {
    pub(crate) organization: OrganizationId,
    pub(crate) order: OrderId,
    pub(crate) event: EventId,
    pub(crate) amount: i64,
}

/// Records a dispute that the gateway reports, or its new status. Returns the dispute if that was new.
pub(crate) fn record(tx: &Transaction<'_>, of: &DisputedOrder, dispute: &GatewayDispute) -> Result<Option<Dispute>> {
    tx.debug_assert_event_locked();
    let reference = dispute.reference.as_str();
    let status = dispute.status.as_str();
    if tx.exists(BY_REFERENCE, &[of.order.into(), reference.into()])? {
        let binds = [of.order.into(), reference.into(), status.into(), tx.now().into()];
        return match tx.execute(UPDATE, &binds)? {
            0 => Ok(None),
            _ => by_reference(tx, of.order, reference),
        };
    }
    let binds = [
        of.organization.into(),
        of.order.into(),
        of.event.into(),
        reference.into(),
        of.amount.into(),
        dispute.currency.as_str().into(),
        dispute.reason.as_str().into(),
        status.into(),
        tx.now().into(),
    ];
    let _: DisputeId = tx.insert(INSERT, &binds)?;
    by_reference(tx, of.order, reference)
}

/// Returns the dispute of an order by the gateway's id of it.
fn by_reference(tx: &Transaction<'_>, order: OrderId, reference: &str) -> Result<Option<Dispute>> {
    tx.query_opt(BY_REFERENCE, &[order.into(), reference.into()], decode)
}

/// Lists the disputes of an organization, newest first.
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
