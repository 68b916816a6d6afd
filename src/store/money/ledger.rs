//! The ledger: an entry for each movement of money. Entries are only ever added.
//!
//! A payment is its own entry. The table `ledger_entries` has the movements that follow a payment, and the view
//! `ledger` has all of them.

use std::sync::LazyLock;

use super::lists_of_money::{self, Filters, Statements, TableRanges};
use super::payments::{self, StoredPayment};
use crate::enums::text_enum::TextEnum;
use crate::error::Result;
use crate::model::payments::ledger_entry::{LedgerEntry, LedgerKind, ListLedgerEntries};
use crate::model::sale::gateway_account::{GatewayAccount, PaymentMode};
use crate::model::sale::received_payment::ManualMethod;
use crate::model::sale::refund::RefundSource;
use crate::model::tenants::caller::Recorder;
use crate::model::values::amount::Amount;
use crate::model::values::id::{DisputeId, LedgerEntryId, OrganizationId, PaymentId, RefundId};
use crate::model::values::page::Page;
use crate::model::values::timestamp::Timestamp;
use crate::rules::Checked;
use crate::store::columns::{columns, row_struct};
use crate::store::lists::list_query::ListQuery;
use crate::store::lists::page_ids::{ranges, select_ids};
use crate::store::sale::gateway_identity::bind_account;
use crate::store::{LockedEvent, Row, Transaction};

columns! {
    select selected_columns!("") {
        event_id, order_id, payment_id, refund_id, dispute_id, kind, manual_method, gateway, mode, reference, note,
        happened_at, recorded_at, recorded_by, recorded_by_name, backfilled
    }

    read decode(row: &Row<'_>) -> LedgerEntry {
        let decimals = row.get("currency")?;
    } and {
        id: row.get("id")?,
        amount: Amount::in_currency(row.get("amount")?, decimals),
        currency: row.get("currency")?,
        account: row.get::<GatewayAccount>("account")?.id().map(str::to_owned),
    }
}

/// The number of a movement is one more than how many there are of the same kind, subject and reference. A movement
/// never has the id of a payment, so that both can be in one list.
const INSERT: &str =
    "INSERT INTO ledger_entries (id, organization_id, event_id, order_id, payment_id, refund_id, dispute_id,
        kind, amount, currency, manual_method, gateway, account, mode, reference, note, happened_at, recorded_at,
        recorded_by, subject_id, recorded_by_name, occurrence)
    SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21,
        1 + (SELECT COUNT(*) FROM ledger_entries e
            WHERE e.payment_id = ?5 AND e.kind = ?8 AND e.subject_id = ?20 AND e.reference = ?15)
    WHERE NOT EXISTS (SELECT 1 FROM payments p WHERE p.id = ?1)
    ON CONFLICT (id) DO NOTHING";
/// What went back for each decision with a refund of the gateway, and has not failed since.
pub(in crate::store) const RETURNED_BY: &str =
    "SELECT refund_id, CAST(-SUM(amount) AS BIGINT) AS returned FROM ledger_entries
    WHERE payment_id = ?1 AND kind IN ('REFUND', 'REFUND_FAILED') AND manual_method IS NULL AND reference = ?2
    GROUP BY refund_id HAVING SUM(amount) <> 0 ORDER BY refund_id";
/// The same for what earlier versions recorded without the gateway's id.
pub(in crate::store) const RETURNED_WITHOUT_REFERENCE: &str =
    "SELECT refund_id, CAST(-SUM(amount) AS BIGINT) AS returned FROM ledger_entries
    WHERE payment_id = ?1 AND kind IN ('REFUND', 'REFUND_FAILED') AND manual_method IS NULL AND reference IS NULL
        AND refund_id = ?2
    GROUP BY refund_id HAVING SUM(amount) <> 0";
/// What the gateway made of a payment for each decision, by its id of the refund, and has not failed since.
pub(in crate::store) const MADE_OF: &str =
    "SELECT e.refund_id, r.source, e.reference, CAST(-SUM(e.amount) AS BIGINT) AS returned, MAX(e.recorded_at) AS recorded_at
    FROM ledger_entries e JOIN refunds r ON r.id = e.refund_id
    WHERE e.payment_id = ?1 AND e.kind IN ('REFUND', 'REFUND_FAILED') AND e.manual_method IS NULL
    GROUP BY e.refund_id, r.source, e.reference HAVING SUM(e.amount) <> 0 ORDER BY e.refund_id, e.reference";
const NEWEST: &str = "SELECT MAX(at) AS newest FROM (
        SELECT MAX(recorded_at) AS at FROM ledger_entries WHERE payment_id = ?1
        UNION ALL SELECT MAX(updated_at) FROM disputes WHERE order_id = ?2 AND payment_id = ?1
        UNION ALL SELECT MAX(updated_at) FROM refunds WHERE payment_id = ?1 AND status = 'WITHDRAWN') AS facts";
const HAS_FAILED: &str = "SELECT 1 FROM ledger_entries
    WHERE payment_id = ?1 AND kind = 'REFUND_FAILED' AND reference = ?2 LIMIT 1";
const REFERENCES: &str = "SELECT reference FROM ledger_entries
    WHERE payment_id = ?1 AND kind = 'REFUND' AND manual_method IS NULL AND reference IS NOT NULL
    GROUP BY reference ORDER BY reference";
/// What is recorded of a payment with this id of the gateway, as one of these kinds.
pub(in crate::store) const NET_OF_REFERENCE: &str =
    "SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) AS net FROM ledger_entries
    WHERE payment_id = ?1 AND kind IN (?2, ?3) AND manual_method IS NULL AND reference = ?4";
/// What banks have taken of a payment for a dispute.
pub(in crate::store) const TAKEN_FOR: &str =
    "SELECT CAST(COALESCE(-SUM(amount), 0) AS BIGINT) AS taken FROM ledger_entries
    WHERE payment_id = ?1 AND kind IN ('DISPUTE', 'DISPUTE_RETURNED') AND dispute_id = ?2";
const EXISTS: &str = "SELECT 1 FROM ledger WHERE id = ?1 AND organization_id = ?2";

/// The conditions of all filters.
macro_rules! filters {
    () => {
        "m.organization_id = ?4 AND (CAST(?5 AS BIGINT) IS NULL OR m.event_id = ?5)
            AND (CAST(?6 AS BIGINT) IS NULL OR m.order_id = ?6) AND (CAST(?7 AS TEXT) IS NULL OR m.kind = ?7)
            AND (CAST(?8 AS TEXT) IS NULL OR m.mode = ?8) AND (CAST(?9 AS BIGINT) IS NULL OR m.recorded_at >= ?9)
            AND (CAST(?10 AS BIGINT) IS NULL OR m.recorded_at < ?10)"
    };
}

ranges! {
    from "ledger_entries" as "m" where filters!();
    LIST = "k.organization_id = ?4";
    LIST_OF_EVENT = "k.event_id = ?11";
}

static PAGE: LazyLock<ListQuery> = LazyLock::new(|| {
    ListQuery::new(
        concat!("SELECT id, amount, currency, account", selected_columns!(), " FROM ledger WHERE id"),
        "ORDER BY id DESC",
    )
});
pub(in crate::store) const LIST_OF_ORDER: &str = select_ids!(
    "SELECT k.id AS id FROM payments p CROSS JOIN ledger_entries k CROSS JOIN ledger_entries m
        WHERE k.payment_id = p.id AND m.id = k.id",
    "p.order_id = ?11",
    "+k.id",
    filters!()
);
pub(in crate::store) const LATER_ID: &str = "SELECT id FROM ledger_entries
    WHERE organization_id = ?1 AND recorded_at < (id >> 20) - 1000 AND recorded_at < ?2 ORDER BY id DESC LIMIT 1";
/// The ids of the movements that follow payments.
const RANGES: TableRanges = TableRanges {
    of_organization: LIST,
    of_event: LIST_OF_EVENT,
    has_ranges_of_modes: false,
    of_order: LIST_OF_ORDER,
    later_id: LATER_ID,
};

/// How a movement was done.
#[derive(Debug, Clone, Copy)]
pub(crate) enum MovedBy<'a> {
    /// By the gateway of the payment, with the gateway's id of the movement if it is known.
    Gateway { reference: Option<&'a str> },
    /// By hand.
    Hand { method: ManualMethod, note: Option<&'a str>, recorded_by: &'a Recorder },
}

/// What money was moved for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum MovedFor {
    Refund(RefundId),
    Dispute(DisputeId),
}

/// A movement of money of a payment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Movement<'a> {
    pub(crate) kind: LedgerKind,
    pub(crate) moved_for: MovedFor,
    /// In minor units of the currency of the payment: more than 0 for money that comes in.
    pub(crate) amount: i64,
    pub(crate) by: MovedBy<'a>,
    pub(crate) happened_at: Timestamp,
}

pub(crate) fn add(tx: &LockedEvent<'_>, payment: &StoredPayment, movement: &Movement<'_>) -> Result<()> {
    let (method, reference, note, recorded_by) = match movement.by {
        MovedBy::Gateway { reference } => (None, reference, None, None),
        MovedBy::Hand { method, note, recorded_by } => (Some(method), None, note, Some(recorded_by)),
    };
    let (gateway, account, mode) = match method {
        None => (payment.gateway.as_deref(), bind_account(&payment.account), payment.mode),
        Some(_) => (None, crate::store::Bind::Null, PaymentMode::Live),
    };
    let (refund, dispute, subject) = match movement.moved_for {
        MovedFor::Refund(id) => (Some(id), None, id.raw()),
        MovedFor::Dispute(id) => (None, Some(id), id.raw()),
    };
    let binds = [
        payment.organization.into(),
        payment.event.into(),
        payment.order.into(),
        payment.id.into(),
        refund.into(),
        dispute.into(),
        movement.kind.as_str().into(),
        movement.amount.into(),
        payment.currency.as_str().into(),
        method.map(TextEnum::as_str).into(),
        gateway.into(),
        account,
        mode.as_str().into(),
        reference.into(),
        note.into(),
        movement.happened_at.into(),
        tx.now().into(),
        recorded_by.and_then(|recorder| recorder.key).into(),
        subject.into(),
        recorded_by.and_then(|recorder| recorder.name.as_deref()).into(),
    ];
    let _: LedgerEntryId = tx.insert(INSERT, &binds)?;
    Ok(())
}

/// What a refund of the gateway has paid.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReturnedBy {
    /// How much it has paid of which decision.
    pub(crate) parts: Vec<(RefundId, i64)>,
    /// Whether the gateway's id of it is recorded.
    pub(crate) has_reference: bool,
}

/// What went back for each decision with a refund of the gateway, by the gateway's id of it, and has not failed since.
/// `own` is the decision for which it was made, if it is one of this service: earlier versions recorded no ids.
pub(crate) fn returned_by(
    tx: &Transaction<'_>,
    payment: PaymentId,
    reference: &str,
    own: Option<RefundId>,
) -> Result<ReturnedBy> {
    let decode = |row: &Row<'_>| Ok((row.get("refund_id")?, row.get("returned")?));
    let found = tx.query_all(RETURNED_BY, &[payment.into(), reference.into()], decode)?;
    match own {
        Some(own) if found.is_empty() => {
            let parts = tx.query_all(RETURNED_WITHOUT_REFERENCE, &[payment.into(), own.into()], decode)?;
            Ok(ReturnedBy { parts, has_reference: false })
        }
        _ => Ok(ReturnedBy { parts: found, has_reference: true }),
    }
}

row_struct! {
    /// What the gateway made for a decision.
    #[derive(Debug, Clone)]
    pub(crate) struct MadeFor(row) {
        pub(crate) refund: RefundId => refund_id,
        pub(crate) source: RefundSource,
        /// The gateway's id of the refund.
        pub(crate) reference: Option<String>,
        /// In minor units.
        pub(crate) amount: i64 => returned,
        pub(crate) recorded_at: Timestamp,
    }
}

/// What the gateway made of a payment, and has not failed since.
pub(crate) fn made_of(tx: &Transaction<'_>, payment: PaymentId) -> Result<Vec<MadeFor>> {
    tx.query_all(MADE_OF, &[payment.into()], MadeFor::read)
}

/// When the newest movement of a payment was recorded, a dispute about it was last reported, or a refund
/// of it was withdrawn.
pub(crate) fn newest_fact(tx: &Transaction<'_>, payment: &StoredPayment) -> Result<Option<Timestamp>> {
    let binds = [payment.id.into(), payment.order.into()];
    Ok(tx.query_opt(NEWEST, &binds, |row| row.get("newest"))?.flatten())
}

/// Whether a refund with this id of the gateway was recorded as failed after it was made.
pub(crate) fn has_failed(tx: &Transaction<'_>, payment: PaymentId, reference: &str) -> Result<bool> {
    tx.exists(HAS_FAILED, &[payment.into(), reference.into()])
}

/// The gateway's ids of the refunds of a payment, also of those that have failed since.
pub(crate) fn references(tx: &Transaction<'_>, payment: PaymentId) -> Result<Vec<String>> {
    tx.query_all(REFERENCES, &[payment.into()], |row| row.get("reference"))
}

/// The sum of what is recorded of a payment with this id of the gateway, in minor units: of refunds and those that
/// failed, or of disputes and what came back of them.
pub(crate) fn net_of_reference(
    tx: &Transaction<'_>,
    payment: PaymentId,
    kinds: [LedgerKind; 2],
    reference: &str,
) -> Result<i64> {
    let [one, other] = kinds.map(LedgerKind::as_str);
    let binds = [payment.into(), one.into(), other.into(), reference.into()];
    Ok(tx.query_opt(NET_OF_REFERENCE, &binds, |row| row.get("net"))?.unwrap_or(0))
}

/// What banks have taken of a payment for a dispute and have not given back, in minor units.
pub(crate) fn taken_for(tx: &Transaction<'_>, payment: PaymentId, dispute: DisputeId) -> Result<i64> {
    Ok(tx.query_opt(TAKEN_FOR, &[payment.into(), dispute.into()], |row| row.get("taken"))?.unwrap_or(0))
}

/// Returns a number above the ids of all movements of an organization that were recorded before this time.
#[cfg(feature = "exports")]
pub(crate) fn above_all_before(tx: &Transaction<'_>, organization: OrganizationId, before: Timestamp) -> Result<i64> {
    lists_of_money::above_all_before(tx, &[&payments::RANGES, &RANGES], organization, before)
}

pub(crate) fn list(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    request: &Checked<ListLedgerEntries>,
) -> Result<Page<LedgerEntry, LedgerEntryId>> {
    let (tables, kind): (&[&TableRanges], _) = match request.kind {
        None => (&[&payments::RANGES, &RANGES], None),
        Some(LedgerKind::Payment) => (&[&payments::RANGES], None),
        Some(kind) => (&[&RANGES], Some(kind.as_str())),
    };
    let statements = Statements { page: &PAGE, tables, exists: EXISTS };
    let filters = Filters {
        organization,
        event: request.event_id,
        order: request.order_id,
        kind,
        mode: request.mode,
        from: request.from,
        before: request.before,
    };
    lists_of_money::list(tx, &statements, &filters, &request.page, decode, |entry| entry.id)
}
