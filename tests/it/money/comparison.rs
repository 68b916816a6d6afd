//! Compares what the service says with the book. Each comparison returns what differs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use ticketing::id::OrderId;
use ticketing::payment::{LedgerEntry, LedgerKind, PaymentMode, PaymentPurpose, ReceivedPayment, Refund};

use crate::money::book::{Account, Book, Entry, Figures, Kind};
use crate::money::shop::Shop;

/// Whose figures: an order's at Stripe or in the till, in a currency.
type Place = (OrderId, Account, String);

fn kind(entry: &LedgerEntry) -> Kind {
    match entry.kind {
        LedgerKind::Payment => Kind::Payment,
        LedgerKind::Refund => Kind::Refund,
        LedgerKind::RefundFailed => Kind::RefundFailed,
        LedgerKind::Dispute => Kind::Dispute,
        LedgerKind::DisputeReturned => Kind::DisputeReturned,
        other => panic!("{other} is new"),
    }
}

fn place(entry: &LedgerEntry) -> Account {
    match entry.manual_method {
        Some(_) => Account::Till,
        None => Account::Stripe(entry.account.clone()),
    }
}

fn report<K: Ord + Debug, V: PartialEq + Debug + Default>(
    what: &str,
    book: BTreeMap<K, V>,
    mut service: BTreeMap<K, V>,
    differences: &mut Vec<String>,
) {
    for (key, expected) in book {
        let found = service.remove(&key).unwrap_or_default();
        if found != expected {
            differences.push(format!("{what} {key:?}: the book has {expected:?}, and the service {found:?}"));
        }
    }
    for (key, found) in service {
        if found != V::default() {
            differences.push(format!("{what} {key:?}: the book has nothing, and the service {found:?}"));
        }
    }
}

/// What the ledger says otherwise than the book: for each id of Stripe, for each order at each place, and in total.
pub fn of_ledger(book: &Book, ledger: &[LedgerEntry]) -> Vec<String> {
    let mut differences = Vec::new();
    let mut expected: BTreeMap<String, i64> = BTreeMap::new();
    let mut by_place: BTreeMap<Place, Figures> = BTreeMap::new();
    for entry in &book.entries {
        let is_income = matches!(entry.to, Account::Stripe(_) | Account::Till);
        let place = if is_income { entry.to.clone() } else { entry.from.clone() };
        let change = if is_income { entry.amount } else { -entry.amount };
        if let Some(reference) = &entry.reference {
            *expected.entry(reference.clone()).or_default() += change;
        }
        by_place.entry((entry.order, place, entry.currency.clone())).or_default().add(entry.kind, entry.amount);
    }
    let mut found: BTreeMap<String, i64> = BTreeMap::new();
    let mut found_by_place: BTreeMap<Place, Figures> = BTreeMap::new();
    let mut totals: BTreeMap<(Account, String), i64> = BTreeMap::new();
    for entry in ledger {
        let amount = entry.amount.minor_units();
        match (&entry.reference, entry.manual_method) {
            (Some(reference), None) => *found.entry(reference.clone()).or_default() += amount,
            (None, Some(_)) => {}
            _ => differences.push(format!("an entry names Stripe's id if it is at Stripe, and only then: {entry:?}")),
        }
        let key = (entry.order_id, place(entry), entry.currency.clone());
        found_by_place.entry(key).or_default().add(kind(entry), amount.abs());
        *totals.entry((place(entry), entry.currency.clone())).or_default() += amount;
    }
    report("Stripe's", expected, found, &mut differences);
    report("order", by_place, found_by_place, &mut differences);
    let mut balances = book.balances();
    assert_eq!(balances.values().sum::<i64>(), 0, "each entry of the book is a debit and a credit");
    balances.retain(|(account, _), _| matches!(account, Account::Stripe(_) | Account::Till));
    report("total", balances, totals, &mut differences);
    differences
}

/// What the lists, the balances and the summaries show otherwise than the book.
pub fn of_figures(shop: &Shop, book: &Book) -> Vec<String> {
    let mut differences = Vec::new();
    let payments = shop.payments();
    let refunds = shop.refunds();
    let mut expected: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    for entry in &book.entries {
        if let Some(payment) = &entry.payment {
            let sums = expected.entry(payment.clone()).or_default();
            match entry.kind {
                Kind::Payment => sums.0 += entry.amount,
                Kind::Dispute => sums.1 += entry.amount,
                Kind::DisputeReturned => sums.1 -= entry.amount,
                Kind::Refund | Kind::RefundFailed => {}
            }
        }
    }
    let of_stripe = payments.iter().filter(|payment| payment.manual_method.is_none());
    let found = of_stripe.map(|payment| {
        let reference = payment.reference.clone().unwrap_or_else(|| format!("without an id: {}", payment.id));
        (reference, (payment.amount.minor_units(), payment.taken.minor_units()))
    });
    report("payment", expected, found.collect(), &mut differences);

    let mut expected: BTreeMap<(OrderId, String), Figures> = BTreeMap::new();
    for entry in &book.entries {
        expected.entry((entry.order, entry.currency.clone())).or_default().add(entry.kind, entry.amount);
    }
    let mut listed: BTreeMap<(OrderId, String), Figures> = BTreeMap::new();
    let mut balances: BTreeMap<(OrderId, String), Figures> = BTreeMap::new();
    for payment in &payments {
        let figures = listed.entry((payment.order_id, payment.currency.clone())).or_default();
        figures.received += payment.amount.minor_units();
        figures.returned += payment.returned.minor_units();
        figures.taken += payment.taken.minor_units();
    }
    let orders: BTreeSet<OrderId> = payments.iter().map(|payment| payment.order_id).collect();
    for order in &orders {
        for payment in &shop.balance(*order).payments {
            let sums = balances.entry((*order, payment.currency.clone())).or_default();
            sums.received += payment.sums.received.minor_units();
            sums.returned += payment.sums.returned.minor_units();
            sums.taken += payment.sums.taken.minor_units();
        }
        compare_balance(shop, *order, &payments, &refunds, &mut differences);
    }
    report("list_payments of", expected.clone(), listed, &mut differences);
    report("get_order_balance of", expected, balances, &mut differences);
    for event in shop.events() {
        compare_summary(shop, event.id, book, &payments, &refunds, &mut differences);
    }
    differences
}

/// The balance of an order is the sum of its payments, and what is owed is the sum of its refunds.
fn compare_balance(
    shop: &Shop,
    order: OrderId,
    payments: &[ReceivedPayment],
    refunds: &[Refund],
    differences: &mut Vec<String>,
) {
    let balance = shop.balance(order);
    let mut check = |what: &str, expected: i64, found: i64| {
        if expected != found {
            differences.push(format!("{what} of {order}: {expected} is the sum, and {found} is shown: {balance:?}"));
        }
    };
    let currency = &balance.currency;
    let counted = |payment: &&ReceivedPayment| Some(payment.mode) == balance.mode && payment.currency == *currency;
    let of_order: Vec<_> = payments.iter().filter(|payment| payment.order_id == order).collect();
    let sum = |value: fn(&ReceivedPayment) -> i64| of_order.iter().copied().filter(counted).map(value).sum::<i64>();
    let sums = &balance.sums;
    check("received", sum(|payment| payment.amount.minor_units()), sums.received.minor_units());
    check("returned", sum(|payment| payment.returned.minor_units()), sums.returned.minor_units());
    check("taken", sum(|payment| payment.taken.minor_units()), sums.taken.minor_units());
    check("owed", sum(|payment| payment.owed.minor_units()), sums.owed.minor_units());
    for payment in of_order {
        let of_payment = refunds.iter().filter(|refund| refund.payment_id == payment.id);
        let (owed, returned) = of_payment.fold((0, 0), |(owed, returned), refund| {
            (owed + refund.owed.minor_units(), returned + refund.returned.minor_units())
        });
        check("owed by its refunds", owed, payment.owed.minor_units());
        check("returned by its refunds", returned, payment.returned.minor_units());
    }
}

fn compare_summary(
    shop: &Shop,
    event: ticketing::id::EventId,
    book: &Book,
    payments: &[ReceivedPayment],
    refunds: &[Refund],
    differences: &mut Vec<String>,
) {
    let summary = shop.summary(event);
    let mut check = |what: &str, expected: i64, found: ticketing::Amount| {
        if expected != found.minor_units() {
            differences.push(format!("{what} of {event}: the book has {expected}, and {found} is shown"));
        }
    };
    let of_event: Vec<_> = payments.iter().filter(|payment| payment.event_id == event).collect();
    // Real money and that of tests are not added up, nor are different currencies.
    let is_live = of_event.iter().any(|payment| payment.mode == PaymentMode::Live);
    let mode = if is_live { PaymentMode::Live } else { PaymentMode::Test };
    let expected_mode = Some(mode).filter(|_| !of_event.is_empty());
    let is_counted = |payment: &&&ReceivedPayment| payment.mode == mode && payment.currency == summary.currency;
    let counted: Vec<_> = of_event.iter().filter(is_counted).collect();
    let is_shown = |entry: &Entry| match &entry.payment {
        Some(id) => counted.iter().any(|payment| payment.reference.as_ref() == Some(id)),
        None => entry.kind == Kind::Payment && of_event.iter().any(|payment| payment.order_id == entry.order),
    };
    // What completed orders, as the service says, but with the amounts of the book.
    let completes = |entry: &Entry| {
        let is_named = |payment: &&&&ReceivedPayment| payment.reference == entry.payment;
        entry.payment.is_none() || counted.iter().find(is_named).is_some_and(|it| it.purpose == PaymentPurpose::Order)
    };
    let all = book.figures(is_shown);
    let completing = book.figures(|entry| is_shown(entry) && completes(entry));
    let in_till = book.figures(|entry| is_shown(entry) && entry.to == Account::Till);
    check("gross revenue", completing.received, summary.gross_revenue);
    check("manual payments", in_till.received, summary.manual_payment_total);
    check("refunded", completing.returned, summary.refunded_total);
    check("disputed", all.taken, summary.disputed_total);
    let of_counted = |refund: &&Refund| counted.iter().any(|payment| payment.id == refund.payment_id);
    let owed: i64 = refunds.iter().filter(of_counted).map(|refund| refund.owed.minor_units()).sum();
    check("owed", owed, summary.owed_total);
    if summary.mode != expected_mode {
        differences
            .push(format!("the mode of {event}: {expected_mode:?} is expected, and {:?} is shown", summary.mode));
    }
}
