//! The export of the ledger: a row for each movement of money, in the order in which they were recorded.

use super::columns::{amount, columns, flag, id, instant, text};
use super::selection::{Selection, Statements};
use crate::error::Result;
use crate::model::values::id::kind::{Dispute, Event, LedgerEntry, Order, Payment, Refund};
use crate::store::Transaction;
use crate::store::money::ledger;

columns! {
    COLUMNS, columns_doc!, Row(row) {
        "entryId" Text "The entry." => id::<LedgerEntry>(row, "id")?;
        "occurred" + "At" Instant "When the money moved, as far as is known." => instant(row, "happened_at")?;
        "kind" Text "`PAYMENT`, `REFUND`, `REFUND_FAILED`, `DISPUTE` or `DISPUTE_RETURNED`." => text(row, "kind")?;
        "method" Text "`GATEWAY`, or recorded manually as `CASH`, `CARD`, `TRANSFER` or `OTHER`." => text(row, "method")?;
        "gateway" Text "The name of the payment gateway." => text(row, "gateway")?;
        "account" Text "The provider's id of the account, if it is not the gateway's own." => text(row, "account")?;
        "mode" Text "`LIVE` for real money, `TEST` for that of tests." => text(row, "mode")?;
        "amount" Amount "More than 0 if the organizer got it, and less if the organizer gave it." => amount(row, "amount")?;
        "currency" Text "The currency of the amount." => text(row, "currency")?;
        "orderId" Text "The order." => id::<Order>(row, "order_id")?;
        "paymentId" Text "The payment." => id::<Payment>(row, "payment_id")?;
        "refundId" Text "The refund that the money went back for." => id::<Refund>(row, "refund_id")?;
        "disputeId" Text "The dispute." => id::<Dispute>(row, "dispute_id")?;
        "reference" Text "The gateway's id of the payment, the refund or the dispute." => text(row, "reference")?;
        "eventId" Text "The event." => id::<Event>(row, "event_id")?;
        "eventTitle" Text "The title of the event." => text(row, "event_title")?;
        "orderReference" Text "The organization's own name for the order." => text(row, "order_reference")?;
        "backfilled" Flag "Whether an earlier version recorded what this was derived from." => flag(row, "backfilled")?;
        "recorded" + "At" Instant "When it was recorded. Dates select by it." => instant(row, "recorded_at")?;
        "recordedByName" Text "The name of the caller that recorded it, such as a till." => text(row, "recorded_by_name")?;
    }
}

pub(super) fn statements(tx: &Transaction<'_>, selection: &Selection) -> Result<Statements> {
    let (payments, movements) = match selection.event {
        Some(event) => {
            // In each mode, the payments of an event are in the order of their ids.
            let payments = |mode: &str| format!("m.event_id = {} AND m.mode = '{mode}'", event.raw());
            (vec![payments("LIVE"), payments("TEST")], format!("m.event_id = {}", event.raw()))
        }
        None => {
            let before = selection.before;
            let below =
                before.map(|before| ledger::above_all_before(tx, selection.organization, before)).transpose()?;
            let range = selection.ids("m", below);
            (vec![range.clone()], range)
        }
    };
    let mut parts = Vec::new();
    let mut counted = Vec::new();
    for range in payments {
        let range = format!("{range}{}", selection.dates("m.created_at"));
        counted.push(format!("payments m WHERE {range}"));
        parts.push(format!(
            "SELECT m.id AS id, m.created_at AS happened_at, e.timezone, CAST('PAYMENT' AS TEXT) AS kind,
                COALESCE(m.manual_method, 'GATEWAY') AS method, m.gateway, m.account, m.mode, m.amount, m.currency,
                m.order_id, m.id AS payment_id, CAST(NULL AS BIGINT) AS refund_id, CAST(NULL AS BIGINT) AS dispute_id,
                m.reference, m.event_id, e.title AS event_title, o.reference AS order_reference, m.backfilled,
                m.created_at AS recorded_at, m.recorded_by_name
            FROM payments m CROSS JOIN events e CROSS JOIN orders o
            WHERE e.id = m.event_id AND o.id = m.order_id AND {range}"
        ));
    }
    let range = format!("{movements}{}", selection.dates("m.recorded_at"));
    counted.push(format!("ledger_entries m WHERE {range}"));
    parts.push(format!(
        "SELECT m.id AS id, m.happened_at, e.timezone, m.kind, COALESCE(m.manual_method, 'GATEWAY') AS method, m.gateway,
            m.account, m.mode, m.amount, m.currency, m.order_id, m.payment_id, m.refund_id, m.dispute_id, m.reference,
            m.event_id, e.title AS event_title, o.reference AS order_reference, m.backfilled, m.recorded_at,
            m.recorded_by_name
        FROM ledger_entries m CROSS JOIN events e CROSS JOIN orders o
        WHERE e.id = m.event_id AND o.id = m.order_id AND {range}"
    ));
    Ok(Statements { rows: vec![format!("{} ORDER BY id", parts.join(" UNION ALL "))], counted })
}
