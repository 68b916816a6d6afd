//! The settlement of an event, compared with its summary and its ledger.

use ticketing::exports::SettlementSection::{
    Balance, Cancelled, Discounts, DisputesTaken, Issued, OtherPayments, Owed, Payments, Refunds, Sold,
};
use ticketing::id::EventId;
use ticketing::payment::ListLedgerEntries;
use ticketing::{Caller, TicketingService, page};

/// Asserts that the settlement of an event has the figures of its summary, and that its lines add up to the balance,
/// which is the sum of the ledger. All payments are in one mode. Returns the balance in minor units.
#[track_caller]
pub fn assert_settled(service: &TicketingService, caller: &Caller, event: EventId, what: &str) -> i64 {
    let summary = service.get_event_summary(caller, event).expect("a summary");
    let settlement = service.get_settlement(caller, event).expect("a settlement");
    let sum = |section| settlement.amount(section).minor_units();
    assert_eq!((&settlement.currency, settlement.mode), (&summary.currency, summary.mode), "{what}");
    assert_eq!(sum(Sold), summary.gross_revenue.minor_units(), "{what}: what was sold");
    assert_eq!(sum(Payments), summary.gross_revenue.minor_units(), "{what}: what was paid");
    assert_eq!(sum(Discounts), summary.discount_total.minor_units(), "{what}: the discounts");
    assert_eq!(sum(Owed), summary.owed_total.minor_units(), "{what}: what is owed");
    assert_eq!(-sum(DisputesTaken), summary.disputed_total.minor_units(), "{what}: what banks have taken");
    assert_eq!(settlement.count(Issued), summary.tickets_issued, "{what}: the tickets");
    assert_eq!(settlement.count(Cancelled), summary.tickets_cancelled, "{what}: the cancelled tickets");
    for ticket_type in &summary.ticket_types {
        let sold = settlement.lines.iter().filter(|line| line.section == Sold && line.label == ticket_type.name);
        assert!(
            sold.into_iter()
                .any(|line| (line.count, line.amount) == (Some(ticket_type.sold), Some(ticket_type.revenue))),
            "{what}: {ticket_type:?}"
        );
    }
    let of = |section, label: &str| {
        let lines = settlement.lines.iter().filter(|line| line.section == section && line.label == label);
        lines.filter_map(|line| line.amount).map(|amount| amount.minor_units()).sum::<i64>()
    };
    assert_eq!(-of(Refunds, "GATEWAY"), summary.refunded_total.minor_units(), "{what}: refunds by the gateway");
    assert_eq!(-of(Refunds, "HAND"), summary.manually_refunded_total.minor_units(), "{what}: refunds by hand");
    let by_hand = ["CASH", "CARD", "TRANSFER", "OTHER"].map(|method| of(Payments, method)).iter().sum::<i64>();
    assert_eq!(by_hand, summary.manual_payment_total.minor_units(), "{what}: payments by hand");
    let moved = sum(Payments) + sum(OtherPayments) + sum(Refunds) + sum(DisputesTaken);
    assert_eq!(moved, sum(Balance), "{what}: the lines");
    let entries =
        page::all(|page| service.list_ledger_entries(caller, ListLedgerEntries::new().event(event).page(page)));
    let ledger: i64 = entries.map(|entry| entry.expect("an entry").amount.minor_units()).sum();
    assert_eq!(ledger, sum(Balance), "{what}: the ledger");
    ledger
}
