//! A month of a treasurer.

use std::time::Duration;

use ticketing::order::OrderStatus;
use ticketing::payment::{LedgerKind, ListLedgerEntries, MarkRefunded, RefundMethod, RefundOrder};
use ticketing::{Result, page};

use crate::common::{at, eur};
use crate::money::book::{Account, number};
use crate::money::shop::Shop;

const DAY: Duration = Duration::from_hours(24);

#[test]
fn the_entries_of_a_month_add_up_to_the_till_and_the_balance_at_stripe() {
    let mut shop = Shop::open();
    let seats = shop.ticket_type(1250);
    // 1 June: three sales online and one at the door.
    let (whole, _) = shop.sale(&seats, 2);
    let (part, part_payment) = shop.sale(&seats, 4);
    let (_, lost) = shop.sale(&seats, 1);
    let (at_door, _) = shop.order(&seats, 3);
    shop.take_cash(at_door.id).unwrap();
    // 3 June: one is cancelled, a ticket of another is refunded, and some money for a bad seat.
    shop.pass(2 * DAY);
    shop.cancel(whole);
    let ticket = shop.fixture.read_order(part).tickets().next().unwrap().id;
    shop.service().refund_order(&shop.fixture.caller, part, RefundOrder::of_tickets([ticket])).unwrap();
    let caller = shop.fixture.caller_with_new_key();
    shop.service().refund_order(&caller, at_door.id, RefundOrder::of_amount(eur(500))).unwrap();
    shop.give_cash(at_door.id, MarkRefunded::all(RefundMethod::Cash)).unwrap();
    // 5 June: 7.00 in the Dashboard, on the phone.
    shop.pass(2 * DAY);
    shop.fake.refund_outside(&part_payment, Some(700));
    shop.deliver_all();
    // 10 June: a bank takes 12.50, for good.
    shop.pass(5 * DAY);
    let dispute = shop.fake.dispute(&lost);
    shop.deliver_all();
    shop.pass(10 * DAY);
    shop.fake.close_dispute(&dispute, false);
    shop.deliver_all();
    // July is not in the statement of June.
    shop.pass(15 * DAY);
    shop.sale(&seats, 1);

    let entries = |request: ListLedgerEntries| {
        let list = |page| shop.service().list_ledger_entries(&shop.fixture.caller, request.clone().page(page));
        page::all(list).collect::<Result<Vec<_>>>().unwrap()
    };
    let june = ListLedgerEntries::default().from(at("2026-06-01T00:00:00Z")).before(at("2026-07-01T00:00:00Z"));
    let june = entries(june);
    let sum = |kinds: &[LedgerKind], by_hand: bool| {
        let chosen = june.iter().filter(|it| kinds.contains(&it.kind) && it.manual_method.is_some() == by_hand);
        chosen.map(|entry| entry.amount.minor_units()).sum::<i64>()
    };
    assert_eq!(sum(&[LedgerKind::Payment], false), 2500 + 5000 + 1250);
    assert_eq!(sum(&[LedgerKind::Payment], true), 3750);
    assert_eq!(sum(&[LedgerKind::Refund], false), -(2500 + 1250 + 700));
    assert_eq!(sum(&[LedgerKind::Refund], true), -500);
    assert_eq!(sum(&[LedgerKind::Dispute], false), -1250);
    assert_eq!(june.len(), 4 + 3 + 1 + 1);

    // All entries are what is there.
    let all = entries(ListLedgerEntries::default());
    let at_stripe: i64 = all.iter().filter(|it| it.manual_method.is_none()).map(|it| it.amount.minor_units()).sum();
    let balance: i64 = shop.fake.all("balance_transaction").iter().map(|it| number(it, "amount")).sum();
    assert_eq!(at_stripe, balance, "before Stripe's fees");
    let in_till: i64 = all.iter().filter(|it| it.manual_method.is_some()).map(|it| it.amount.minor_units()).sum();
    assert_eq!(in_till, 3750 - 500);
    let book = shop.book().balances();
    let euros = || "EUR".to_owned();
    assert_eq!((book[&(Account::Stripe(None), euros())], book[&(Account::Till, euros())]), (at_stripe, in_till));
    // Each line can be found at Stripe.
    for entry in all.iter().filter(|entry| entry.manual_method.is_none()) {
        let found = shop.fake.get(entry.reference.as_deref().unwrap());
        assert_eq!(number(&found, "amount"), entry.amount.minor_units().abs(), "{entry:?}");
    }
    let summary = shop.summary(seats.event_id);
    assert_eq!(summary.gross_revenue, eur(2500 + 5000 + 1250 + 3750 + 1250));
    assert_eq!((summary.refunded_total, summary.manually_refunded_total), (eur(2500 + 1250 + 700), eur(500)));
    assert_eq!((summary.disputed_total, summary.owed_total), (eur(1250), eur(0)));
    assert_eq!(shop.status(part), OrderStatus::Completed);
    shop.assert_books_are_right("at the end of the month");
}
