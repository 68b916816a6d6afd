//! Payments: money that was received for orders. A row is written once, and is its own entry in the ledger. Only its
//! sums change, in the transaction that records a refund, a dispute or a movement of it.

use std::sync::LazyLock;

use super::checkouts::CheckoutOrder;
use super::lists_of_money::{self, Filters, Statements, TableRanges};
use crate::enums::text_enum::TextEnum;
use crate::error::{Error, Result};
use crate::model::sale::gateway_account::{GatewayAccount, GatewayKey, PaymentMode};
use crate::model::sale::received_payment::{ListPayments, ManualMethod, PaymentPurpose, ReceivedPayment};
use crate::model::tenants::caller::Recorder;
use crate::model::values::amount::Amount;
use crate::model::values::currency::Decimals;
use crate::model::values::id::{EventId, OrderId, OrganizationId, PaymentId};
use crate::model::values::page::Page;
use crate::model::values::timestamp::Timestamp;
use crate::rules::Checked;
use crate::rules::money::balance::PaymentSums;
use crate::store::columns::row_struct;
use crate::store::lists::list_query::ListQuery;
use crate::store::lists::page_ids::ranges;
use crate::store::sale::gateway_identity::{WaitingAtGateway, bind_account, count_by_gateway, count_of_others};
use crate::store::{LockedEvent, Row, Transaction};

macro_rules! columns {
    () => {
        "id, organization_id, order_id, event_id, purpose, manual_method, gateway, account, mode, checkout_reference, reference,
        amount, currency, note, returned, taken, promised, disputed, owed, recorded_by, recorded_by_name, backfilled,
        created_at,
        CAST(CASE WHEN disputed > 0 THEN (SELECT COALESCE(SUM(d.taken), 0) FROM disputes d
            WHERE d.order_id = payments.order_id AND d.payment_id = payments.id AND d.currency = payments.currency
                AND d.status = 'OPEN') ELSE 0 END AS BIGINT) AS taken_by_open"
    };
}

const INSERT: &str = "INSERT INTO payments (id, organization_id, order_id, event_id, purpose, manual_method, gateway,
        account, mode, checkout_reference, reference, amount, currency, note, recorded_by,
        recorded_by_name, created_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17) ON CONFLICT (id) DO NOTHING";
const BY_ID: &str = concat!("SELECT ", columns!(), " FROM payments WHERE id = ?1");
pub(in crate::store) const OF_ORDER: &str =
    concat!("SELECT ", columns!(), " FROM payments WHERE order_id = ?1 ORDER BY id");
pub(in crate::store) const ORDER_OF: &str =
    "SELECT order_id AS id, organization_id FROM payments WHERE reference = ?1 ORDER BY order_id LIMIT 2";
/// A gateway may give payments of several orders the same id.
pub(in crate::store) const BY_REFERENCE: &str =
    concat!("SELECT ", columns!(), " FROM payments WHERE reference = ?1 ORDER BY order_id LIMIT 10");
const SET_REFERENCE: &str = "UPDATE payments SET reference = ?2 WHERE id = ?1 AND reference IS NULL";
/// More than was received is never promised by a decision of this service.
const PROMISE: &str = "UPDATE payments SET promised = promised + ?2 WHERE id = ?1 AND promised + ?2 <= amount";
const UPDATE: &str = "UPDATE payments SET returned = ?2, taken = ?3, promised = ?4, disputed = ?5, owed = ?6
    WHERE id = ?1";
pub(in crate::store) const COUNT_BY_GATEWAY: &str = count_by_gateway!(
    "work w JOIN payments p ON p.id = w.key WHERE w.kind > 'check ' AND w.kind < 'check!' AND w.due_at >= 0"
);
const EXISTS: &str = "SELECT 1 FROM payments WHERE id = ?1 AND organization_id = ?2";
const ANY_LIVE: &str = "SELECT 1 FROM events e WHERE EXISTS (SELECT 1 FROM payments p
    WHERE p.event_id = e.id AND p.mode = 'LIVE' AND p.manual_method IS NULL) LIMIT 1";

ranges! {
    from "payments" as "p" where
        "p.organization_id = ?4 AND (CAST(?5 AS BIGINT) IS NULL OR p.event_id = ?5)
            AND (CAST(?6 AS BIGINT) IS NULL OR p.order_id = ?6) AND (CAST(?7 AS TEXT) IS NULL OR p.purpose = ?7)
            AND (CAST(?8 AS TEXT) IS NULL OR p.mode = ?8) AND (CAST(?9 AS BIGINT) IS NULL OR p.created_at >= ?9)
            AND (CAST(?10 AS BIGINT) IS NULL OR p.created_at < ?10)";
    LIST = "k.organization_id = ?4";
    LIST_OF_EVENT = "k.event_id = ?11 AND k.mode = ?12";
    LIST_OF_ORDER = "k.order_id = ?11";
}

static PAGE: LazyLock<ListQuery> =
    LazyLock::new(|| ListQuery::new(concat!("SELECT ", columns!(), " FROM payments WHERE id"), "ORDER BY id DESC"));
pub(in crate::store) const LATER_ID: &str = "SELECT id FROM payments
    WHERE organization_id = ?1 AND created_at < (id >> 20) - 1000 AND created_at < ?2 ORDER BY id DESC LIMIT 1";
/// The ids of payments, which are also those of their entries in the ledger.
pub(in crate::store) const RANGES: TableRanges = TableRanges {
    of_organization: LIST,
    of_event: LIST_OF_EVENT,
    has_ranges_of_modes: true,
    of_order: LIST_OF_ORDER,
    later_id: LATER_ID,
};

pub(crate) struct NewPayment<'a> {
    pub(crate) organization: OrganizationId,
    pub(crate) order: OrderId,
    pub(crate) event: EventId,
    pub(crate) purpose: PaymentPurpose,
    /// `None` for a payment through a gateway.
    pub(crate) manual_method: Option<ManualMethod>,
    pub(crate) gateway: Option<&'a str>,
    pub(crate) account: &'a GatewayAccount,
    pub(crate) mode: PaymentMode,
    pub(crate) checkout_reference: Option<&'a str>,
    /// The gateway's id of the payment.
    pub(crate) reference: Option<&'a str>,
    /// In minor units of `currency`.
    pub(crate) amount: i64,
    pub(crate) currency: &'a str,
    pub(crate) note: Option<&'a str>,
    pub(crate) recorded_by: Option<&'a Recorder>,
}

row_struct! {
    /// A payment that is stored.
    #[derive(Debug, Clone)]
    pub(crate) struct StoredPayment(row) {
        pub(crate) id: PaymentId,
        pub(crate) organization: OrganizationId => organization_id,
        pub(crate) order: OrderId => order_id,
        pub(crate) event: EventId => event_id,
        pub(crate) purpose: PaymentPurpose,
        pub(crate) manual_method: Option<ManualMethod>,
        pub(crate) gateway: Option<String>,
        pub(crate) account: GatewayAccount,
        pub(crate) mode: PaymentMode,
        pub(crate) checkout_reference: Option<String>,
        pub(crate) reference: Option<String>,
        pub(crate) currency: String,
        pub(crate) decimals: Decimals => currency,
        pub(crate) sums: PaymentSums = PaymentSums {
            received: row.get("amount")?,
            returned: row.get("returned")?,
            taken: row.get("taken")?,
            promised: row.get("promised")?,
            disputed: row.get("disputed")?,
            taken_by_open: row.get("taken_by_open")?,
        },
        /// What has to be returned manually.
        pub(crate) owed: i64,
        pub(crate) created_at: Timestamp,
    }
}

impl StoredPayment {
    pub(crate) fn is_of_gateway(&self) -> bool {
        self.manual_method.is_none()
    }

    /// The gateway that has it. `None` if it is not known.
    pub(crate) fn gateway_key(&self) -> Option<GatewayKey<'_>> {
        self.gateway.as_deref().map(|name| GatewayKey { name, mode: self.mode })
    }

    /// Whether it is the payment of the order's checkout: the one that completed the order, or came too late for that.
    pub(crate) fn is_of_checkout(&self) -> bool {
        self.is_of_gateway() && self.purpose != PaymentPurpose::Other
    }

    /// An amount in minor units of the payment's currency. `None` if it is in another one, or cannot be expressed.
    pub(crate) fn minor_units(&self, amount: Amount, currency: &str) -> Option<i64> {
        amount.minor_with(self.decimals.get()).filter(|_| currency == self.currency)
    }

    pub(crate) fn amount(&self, minor_units: i64) -> Amount {
        Amount::in_currency(minor_units, self.decimals)
    }
}

fn decode(row: &Row<'_>) -> Result<ReceivedPayment> {
    let stored = StoredPayment::read(row)?;
    let amount = |minor_units| stored.amount(minor_units);
    Ok(ReceivedPayment {
        id: stored.id,
        order_id: stored.order,
        event_id: stored.event,
        purpose: stored.purpose,
        amount: amount(stored.sums.received),
        manual_method: stored.manual_method,
        account: stored.account.id().map(str::to_owned),
        mode: stored.mode,
        note: row.get("note")?,
        returned: amount(stored.sums.returned),
        taken: amount(stored.sums.taken),
        promised: amount(stored.sums.promised),
        owed: amount(stored.owed),
        recorded_by: row.get("recorded_by")?,
        recorded_by_name: row.get("recorded_by_name")?,
        backfilled: row.get("backfilled")?,
        created_at: stored.created_at,
        currency: stored.currency,
        gateway: stored.gateway,
        reference: stored.reference,
        checkout_reference: stored.checkout_reference,
    })
}

pub(crate) fn insert(tx: &LockedEvent<'_>, new: &NewPayment<'_>) -> Result<PaymentId> {
    let binds = [
        new.organization.into(),
        new.order.into(),
        new.event.into(),
        new.purpose.as_str().into(),
        new.manual_method.map(TextEnum::as_str).into(),
        new.gateway.into(),
        bind_account(new.account),
        new.mode.as_str().into(),
        new.checkout_reference.into(),
        new.reference.into(),
        new.amount.into(),
        new.currency.into(),
        new.note.into(),
        new.recorded_by.and_then(|recorder| recorder.key).into(),
        new.recorded_by.and_then(|recorder| recorder.name.as_deref()).into(),
        tx.now().into(),
    ];
    tx.insert(INSERT, &binds)
}

pub(crate) fn get(tx: &Transaction<'_>, id: PaymentId) -> Result<StoredPayment> {
    tx.query_opt(BY_ID, &[id.into()], StoredPayment::read)?
        .ok_or_else(|| Error::Internal(format!("{id} is not stored, but something refers to it")))
}

/// Returns the payments for an order, the oldest first.
pub(crate) fn of_order(tx: &Transaction<'_>, order: OrderId) -> Result<Vec<StoredPayment>> {
    tx.query_all(OF_ORDER, &[order.into()], StoredPayment::read)
}

/// Returns the order of a payment, by the gateway's id of it. `None` if it is not known, or of several orders: not
/// every gateway gives each payment an id of its own.
pub(crate) fn find_order(tx: &Transaction<'_>, reference: &str) -> Result<Option<CheckoutOrder>> {
    let mut orders = tx.query_all(ORDER_OF, &[reference.into()], CheckoutOrder::read)?;
    Ok(if orders.len() == 1 { orders.pop() } else { None })
}

/// Returns the first payments with this id of their gateway.
pub(crate) fn by_reference(tx: &Transaction<'_>, reference: &str) -> Result<Vec<StoredPayment>> {
    tx.query_all(BY_REFERENCE, &[reference.into()], StoredPayment::read)
}

/// Records the gateway's id of a payment that was reported without it.
pub(crate) fn set_reference(tx: &LockedEvent<'_>, id: PaymentId, reference: &str) -> Result<()> {
    tx.execute(SET_REFERENCE, &[id.into(), reference.into()])
}

/// Promises a part of a payment, so that it goes back once. Returns `false` if so much is not left.
pub(crate) fn promise(tx: &LockedEvent<'_>, id: PaymentId, amount: i64) -> Result<bool> {
    Ok(tx.execute_counted(PROMISE, &[id.into(), amount.into()])? == 1)
}

pub(crate) fn update(tx: &LockedEvent<'_>, payment: &StoredPayment) -> Result<()> {
    let PaymentSums { returned, taken, promised, disputed, .. } = payment.sums;
    let binds =
        [payment.id.into(), returned.into(), taken.into(), promised.into(), disputed.into(), payment.owed.into()];
    tx.execute(UPDATE, &binds)
}

/// Counts the payments that other gateways than this one are to be asked about.
pub(crate) fn of_other_gateways(
    tx: &Transaction<'_>,
    gateway: Option<GatewayKey<'_>>,
) -> Result<Vec<WaitingAtGateway>> {
    count_of_others(tx, COUNT_BY_GATEWAY, gateway)
}

/// Whether a gateway has ever taken real money.
pub(crate) fn has_live(tx: &Transaction<'_>) -> Result<bool> {
    tx.exists(ANY_LIVE, &[])
}

pub(crate) fn list(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    request: &Checked<ListPayments>,
) -> Result<Page<ReceivedPayment, PaymentId>> {
    let statements = Statements { page: &PAGE, tables: &[&RANGES], exists: EXISTS };
    let filters = Filters {
        organization,
        event: request.event_id,
        order: request.order_id,
        kind: request.purpose.map(PaymentPurpose::as_str),
        mode: request.mode,
        from: request.from,
        before: request.before,
    };
    lists_of_money::list(tx, &statements, &filters, &request.page, decode, |payment| payment.id)
}
