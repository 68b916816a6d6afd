//! The settlement of an event, and its export.

use super::columns::{Cell, Column, Read, columns};
use crate::error::Result;
use crate::model::payments::dispute::DisputeStatus;
use crate::model::sale::event::Event;
use crate::model::sale::gateway_account::PaymentMode;
use crate::model::sale::settlement::SettlementSection::{
    Balance, Cancelled, Discounts, Disputes, DisputesTaken, Imported, Issued, OtherMoney, OtherPayments, Owed,
    Payments, Refunds, RefundsDue, Sold,
};
use crate::model::sale::settlement::{Settlement, SettlementLine, SettlementSection};
use crate::model::tenants::organization::DEFAULT_NAME;
use crate::model::values::amount::Amount;
use crate::model::values::currency::Decimals;
use crate::model::values::id::{EventId, OrganizationId};
use crate::rules::money::balance::PaymentSums;
use crate::store::sale::event_figures;
use crate::store::tenants::organizations;
use crate::store::{Row, Transaction};

columns! {
    COLUMNS, columns_doc!, Line(line) {
        "section" Text "What the line is about: `SOLD`, `ISSUED`, `CANCELLED`, `IMPORTED`, `DISCOUNTS`, `PAYMENTS`, `OTHER_PAYMENTS`, `REFUNDS`, `DISPUTES_TAKEN`, `BALANCE`, `REFUNDS_DUE`, `OWED`, `DISPUTES` or `OTHER_MONEY`." => line.section.as_str();
        "label" Text "The ticket type, the method of payment, or the status." => line.label.as_str();
        "count" Number "How many there are." => line.count;
        "amount" Amount "The amount." => line.amount;
        "currency" Text "The currency of the amount." => line.currency.as_str();
    }
}

/// What stands above the lines in a workbook.
pub(super) fn head(tx: &Transaction<'_>, event: &Event) -> Result<Vec<(&'static str, String)>> {
    let organizer = organizations::get(tx, event.organizer_id)?.name;
    let mut head = vec![("Settlement", String::new()), ("Event", event.title.clone())];
    if organizer != DEFAULT_NAME {
        head.push(("Organizer", organizer));
    }
    let as_of =
        tx.now().to_local(&event.timezone).map(|local| format!("{} ({})", local.replace('T', " "), event.timezone));
    head.push(("As of", as_of.unwrap_or_else(|_| tx.now().to_string())));
    Ok(head)
}

pub(super) fn cells<'l>(columns: &[Column], line: &'l SettlementLine) -> Vec<Cell<'l>> {
    let cells = columns.iter().filter_map(|column| match column.read {
        Read::Line(read) => Some(read(line)),
        Read::Row(_) | Read::Item(_) => None,
    });
    cells.collect()
}

/// The cells of a line for people: with words in place of the codes.
pub(super) fn cells_in_words<'l>(columns: &[Column], line: &'l SettlementLine) -> Vec<Cell<'l>> {
    let mut cells = cells(columns, line);
    for (column, cell) in columns.iter().zip(&mut cells) {
        match column.name {
            "section" => *cell = section_in_words(line.section).into(),
            "label" => *cell = label_in_words(line).into(),
            _ => {}
        }
    }
    cells
}

const fn section_in_words(section: SettlementSection) -> &'static str {
    match section {
        Sold => "Tickets sold",
        Issued => "Tickets issued",
        Cancelled => "Tickets cancelled",
        Imported => "Tickets sold elsewhere",
        Discounts => "Discounts",
        Payments => "Payments",
        OtherPayments => "Payments that completed no order",
        Refunds => "Refunds",
        DisputesTaken => "Taken by banks for disputes",
        Balance => "Balance",
        RefundsDue => "Refunds due",
        Owed => "Refunds due by hand",
        Disputes => "Disputed payments",
        OtherMoney => "Money in no other line",
    }
}

/// The label of a line in words. That of a line about a ticket type is its name.
fn label_in_words(line: &SettlementLine) -> String {
    match (line.section, line.label.as_str()) {
        (Sold | Issued | Cancelled | Imported | Discounts, name) => name.to_owned(),
        (_, "GATEWAY") => "Payment gateway".to_owned(),
        (_, "TRANSFER") => "Bank transfer".to_owned(),
        (_, "HAND") => "By hand".to_owned(),
        (_, code) => {
            let words = code.replace('_', " ").to_ascii_lowercase();
            words.get(..1).map_or(String::new(), |first| first.to_ascii_uppercase() + &words[1..])
        }
    }
}

/// What was paid for an event in one mode and currency. Each figure is a number and a sum. There is no group for each
/// method, because SQLite would sort all payments in memory.
const PAYMENTS: &str = "SELECT
        CAST(COALESCE(SUM(CASE WHEN p.purpose = 'ORDER' AND p.manual_method IS NULL THEN 1 ELSE 0 END), 0) AS BIGINT) AS gateway_number,
        CAST(COALESCE(SUM(CASE WHEN p.purpose = 'ORDER' AND p.manual_method IS NULL THEN p.amount ELSE 0 END), 0) AS BIGINT) AS gateway,
        CAST(COALESCE(SUM(CASE WHEN p.purpose = 'ORDER' AND p.manual_method = 'CASH' THEN 1 ELSE 0 END), 0) AS BIGINT) AS cash_number,
        CAST(COALESCE(SUM(CASE WHEN p.purpose = 'ORDER' AND p.manual_method = 'CASH' THEN p.amount ELSE 0 END), 0) AS BIGINT) AS cash,
        CAST(COALESCE(SUM(CASE WHEN p.purpose = 'ORDER' AND p.manual_method = 'CARD' THEN 1 ELSE 0 END), 0) AS BIGINT) AS card_number,
        CAST(COALESCE(SUM(CASE WHEN p.purpose = 'ORDER' AND p.manual_method = 'CARD' THEN p.amount ELSE 0 END), 0) AS BIGINT) AS card,
        CAST(COALESCE(SUM(CASE WHEN p.purpose = 'ORDER' AND p.manual_method = 'TRANSFER' THEN 1 ELSE 0 END), 0) AS BIGINT) AS transfer_number,
        CAST(COALESCE(SUM(CASE WHEN p.purpose = 'ORDER' AND p.manual_method = 'TRANSFER' THEN p.amount ELSE 0 END), 0) AS BIGINT) AS transfer,
        CAST(COALESCE(SUM(CASE WHEN p.purpose = 'ORDER' AND p.manual_method = 'OTHER' THEN 1 ELSE 0 END), 0) AS BIGINT) AS other_number,
        CAST(COALESCE(SUM(CASE WHEN p.purpose = 'ORDER' AND p.manual_method = 'OTHER' THEN p.amount ELSE 0 END), 0) AS BIGINT) AS other,
        CAST(COALESCE(SUM(CASE WHEN p.purpose <> 'ORDER' THEN 1 ELSE 0 END), 0) AS BIGINT) AS further_number,
        CAST(COALESCE(SUM(CASE WHEN p.purpose <> 'ORDER' THEN p.amount ELSE 0 END), 0) AS BIGINT) AS further,
        CAST(COALESCE(SUM(CASE WHEN p.owed > 0 THEN 1 ELSE 0 END), 0) AS BIGINT) AS owed_number,
        CAST(COALESCE(SUM(p.owed), 0) AS BIGINT) AS owed
    FROM payments p WHERE p.event_id = ?1 AND p.mode = ?2 AND p.currency = ?3";
/// The payments of which something may still have to be returned.
const PROMISED: &str = "SELECT p.amount, p.returned, p.taken, p.promised FROM payments p
    WHERE p.event_id = ?1 AND p.mode = ?2 AND p.currency = ?3 AND p.promised > p.returned";
/// What moved after the payments.
const MOVEMENTS: &str = "SELECT
        CAST(COALESCE(SUM(CASE WHEN m.refund = 1 AND p.purpose = 'ORDER' AND m.manual_method IS NULL THEN m.number ELSE 0 END), 0) AS BIGINT) AS gateway_number,
        CAST(COALESCE(SUM(CASE WHEN m.refund = 1 AND p.purpose = 'ORDER' AND m.manual_method IS NULL THEN m.amount ELSE 0 END), 0) AS BIGINT) AS gateway,
        CAST(COALESCE(SUM(CASE WHEN m.refund = 1 AND p.purpose = 'ORDER' AND m.manual_method IS NOT NULL THEN m.number ELSE 0 END), 0) AS BIGINT) AS hand_number,
        CAST(COALESCE(SUM(CASE WHEN m.refund = 1 AND p.purpose = 'ORDER' AND m.manual_method IS NOT NULL THEN m.amount ELSE 0 END), 0) AS BIGINT) AS hand,
        CAST(COALESCE(SUM(CASE WHEN m.refund = 1 AND p.purpose <> 'ORDER' THEN m.number ELSE 0 END), 0) AS BIGINT) AS further_number,
        CAST(COALESCE(SUM(CASE WHEN m.refund = 1 AND p.purpose <> 'ORDER' THEN m.amount ELSE 0 END), 0) AS BIGINT) AS further,
        CAST(COALESCE(SUM(CASE WHEN m.refund = 0 THEN m.number ELSE 0 END), 0) AS BIGINT) AS taken_number,
        CAST(COALESCE(SUM(CASE WHEN m.refund = 0 THEN m.amount ELSE 0 END), 0) AS BIGINT) AS taken
    FROM (SELECT e.payment_id, e.manual_method, e.amount,
                CASE WHEN e.kind = 'REFUND' OR e.kind = 'REFUND_FAILED' THEN 1 ELSE 0 END AS refund,
                CASE WHEN e.amount < 0 THEN 1 ELSE -1 END AS number
            FROM ledger_entries e WHERE e.event_id = ?1) m
        CROSS JOIN payments p
    WHERE p.id = m.payment_id AND p.mode = ?2 AND p.currency = ?3";
const DISPUTES: &str = "SELECT COUNT(*) AS number, CAST(COALESCE(SUM(d.amount), 0) AS BIGINT) AS amount
    FROM disputes d LEFT JOIN payments p ON p.id = d.payment_id
    WHERE d.event_id = ?1 AND d.status = ?4 AND d.currency = ?3 AND (p.id IS NULL OR p.mode = ?2)";
/// The balance of what is in another currency or mode.
const OTHER_MONEY: &str = "SELECT p.mode, p.currency, COUNT(*) AS number,
        CAST(SUM(p.amount - p.returned - p.taken) AS BIGINT) AS amount
    FROM payments p WHERE p.event_id = ?1 AND NOT (p.mode = ?2 AND p.currency = ?3)
    GROUP BY p.mode, p.currency ORDER BY p.mode, p.currency";

/// Collects the lines.
struct Lines {
    all: Vec<SettlementLine>,
    currency: String,
    decimals: Decimals,
}

impl Lines {
    /// Adds a line with an amount in minor units.
    fn add(&mut self, section: SettlementSection, label: &str, count: Option<i64>, minor: Option<i64>) {
        let amount = minor.map(|minor| Amount::in_currency(minor, self.decimals));
        self.all.push(SettlementLine {
            section,
            label: label.to_owned(),
            count,
            amount,
            currency: self.currency.clone(),
        });
    }

    /// Adds lines of figures, each with its label, the column of its number and that of its sum. Those without any have
    /// no line.
    fn add_figures(
        &mut self,
        section: SettlementSection,
        row: &Row<'_>,
        figures: &[(&str, &'static str, &'static str)],
    ) -> Result<i64> {
        let mut sum: i64 = 0;
        for (label, number, amount) in figures {
            let (number, amount): (i64, i64) = (row.get(number)?, row.get(amount)?);
            if number != 0 || amount != 0 {
                self.add(section, label, Some(number), Some(amount));
            }
            sum = sum.saturating_add(amount);
        }
        Ok(sum)
    }
}

pub(crate) fn of_event(tx: &Transaction<'_>, organization: OrganizationId, event: EventId) -> Result<Settlement> {
    let (summary, further) = event_figures::with_types(tx, organization, event)?;
    let mode = summary.mode.unwrap_or(PaymentMode::Live);
    let decimals = Decimals::of_currency(&summary.currency).unwrap_or(Decimals::MAX);
    let mut lines = Lines { all: Vec::new(), currency: summary.currency.clone(), decimals };
    let types = || summary.ticket_types.iter().zip(&further);
    for (ticket_type, _) in types() {
        lines.add(Sold, &ticket_type.name, Some(ticket_type.sold), Some(ticket_type.revenue.minor_units()));
    }
    for (ticket_type, further) in types() {
        lines.add(Issued, &ticket_type.name, Some(ticket_type.sold + further.cancelled_tickets), None);
    }
    for (ticket_type, further) in types() {
        lines.add(Cancelled, &ticket_type.name, Some(further.cancelled_tickets), None);
    }
    for (ticket_type, _) in types().filter(|(ticket_type, _)| ticket_type.imported > 0) {
        lines.add(Imported, &ticket_type.name, Some(ticket_type.imported), None);
    }
    for (ticket_type, further) in types() {
        lines.add(Discounts, &ticket_type.name, None, Some(further.discount));
    }
    let binds = [event.into(), mode.as_str().into(), (&summary.currency).into()];
    let mut balance: i64 = 0;
    let (mut due, mut owed): ((i64, i64), (i64, i64)) = Default::default();
    tx.query_each(PAYMENTS, &binds, |row| {
        let methods = [
            ("GATEWAY", "gateway_number", "gateway"),
            ("CASH", "cash_number", "cash"),
            ("CARD", "card_number", "card"),
            ("TRANSFER", "transfer_number", "transfer"),
            ("OTHER", "other_number", "other"),
        ];
        balance = lines.add_figures(Payments, row, &methods)?;
        let further = lines.add_figures(OtherPayments, row, &[("", "further_number", "further")])?;
        balance = balance.saturating_add(further);
        owed = (row.get("owed_number")?, row.get("owed")?);
        Ok(())
    })?;
    tx.query_each(PROMISED, &binds, |row| {
        let (received, returned) = (row.get("amount")?, row.get("returned")?);
        let (taken, promised) = (row.get("taken")?, row.get("promised")?);
        // What is disputed stays due.
        let rest = PaymentSums { received, returned, taken, promised, ..PaymentSums::default() }.to_return();
        due = (due.0 + i64::from(rest > 0), due.1.saturating_add(rest));
        Ok(())
    })?;
    tx.query_each(MOVEMENTS, &binds, |row| {
        let refunds = [
            ("GATEWAY", "gateway_number", "gateway"),
            ("HAND", "hand_number", "hand"),
            ("OTHER_PAYMENTS", "further_number", "further"),
        ];
        let refunded = lines.add_figures(Refunds, row, &refunds)?;
        let taken = lines.add_figures(DisputesTaken, row, &[("", "taken_number", "taken")])?;
        balance = balance.saturating_add(refunded).saturating_add(taken);
        Ok(())
    })?;
    lines.add(Balance, "", None, Some(balance));
    for (section, (count, amount)) in [(RefundsDue, due), (Owed, owed)] {
        lines.add(section, "", Some(count), Some(amount));
    }
    for status in DisputeStatus::ALL {
        let binds = [event.into(), mode.as_str().into(), (&summary.currency).into(), status.as_str().into()];
        tx.query_each(DISPUTES, &binds, |row| {
            lines.add_figures(Disputes, row, &[(status.as_str(), "number", "amount")]).map(drop)
        })?;
    }
    let others = tx.query_all(OTHER_MONEY, &binds, |row| {
        Ok(SettlementLine {
            section: OtherMoney,
            label: row.get("mode")?,
            count: Some(row.get("number")?),
            amount: Some(Amount::in_currency(row.get("amount")?, row.get("currency")?)),
            currency: row.get("currency")?,
        })
    })?;
    lines.all.extend(others);
    Ok(Settlement {
        event_id: event,
        currency: summary.currency,
        mode: summary.mode,
        as_of: tx.now(),
        lines: lines.all,
    })
}
