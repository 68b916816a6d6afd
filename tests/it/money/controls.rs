//! The comparison finds what is wrong: a comparison that never fails proves nothing.

use std::time::Duration;

use ticketing::payment::{ManualMethod, RefundOrder, RefundSource, RefundStatus};

use crate::common::eur;
use crate::common::fake_stripe::Fault;
use crate::money::book::{Account, Book, Entry, Kind};
use crate::money::comparison;
use crate::money::shop::Shop;

const REFUNDS: &str = "/v1/refunds";

/// A shop with each kind of movement: payments at Stripe and in cash, refunds of both, one that failed, and disputes.
fn shop_with_movements() -> Shop {
    let mut shop = Shop::open();
    let seats = shop.ticket_type(1250);
    let (refunded, _) = shop.sale(&seats, 1);
    shop.cancel(refunded);
    let (failed, _) = shop.sale(&seats, 2);
    shop.cancel(failed);
    let newest = shop.fake.all("refund").pop().unwrap();
    shop.fake.fail_refund(newest["id"].as_str().unwrap());
    let (_, disputed) = shop.sale(&seats, 3);
    let dispute = shop.fake.dispute_part(&disputed, 1000);
    shop.fake.lose_dispute_in_part(&dispute, 300);
    shop.deliver_all();
    let (in_cash, _) = shop.order(&seats, 1);
    shop.take_cash(in_cash.id).unwrap();
    shop.cancel(in_cash.id);
    let all = ticketing::payment::MarkRefunded::all(ticketing::payment::RefundMethod::Cash);
    shop.give_cash(in_cash.id, all).unwrap();
    shop.become_quiet();
    shop.assert_books_are_right("before the control");
    shop
}

fn differs(shop: &Shop) -> bool {
    !comparison::of_ledger(&shop.book(), &shop.ledger()).is_empty()
}

#[test]
fn every_entry_that_is_deleted_altered_or_added_is_found() {
    let shop = shop_with_movements();
    shop.fixture.skip_final_check();
    let database = shop.fixture.database();
    database.execute("CREATE TABLE kept AS SELECT * FROM ledger_entries", []);
    let ids: Vec<i64> = database.column("SELECT id FROM ledger_entries");
    assert!(ids.len() >= 5, "{ids:?}");
    for id in ids {
        database.execute("DELETE FROM ledger_entries WHERE id = ?1", [id]);
        assert!(differs(&shop), "{id} was deleted");
        database.execute("INSERT INTO ledger_entries SELECT * FROM kept WHERE id = ?1", [id]);
        assert!(!differs(&shop), "{id} is there again");
        for change in
            ["amount = amount + SIGN(amount)", "order_id = order_id + 1", "kind = 'DISPUTE'", "account = 'acct_x'"]
        {
            let sql = format!("UPDATE ledger_entries SET {change} WHERE id = ?1");
            let is_possible = change != "kind = 'DISPUTE'"
                || database.value_with::<i64>(
                    "SELECT CASE WHEN kind = 'REFUND' THEN 1 ELSE 0 END FROM kept WHERE id = ?1",
                    [id],
                ) == 1;
            // Cash is in no account.
            let is_ignored = change == "account = 'acct_x'"
                && database.value_with::<i64>(
                    "SELECT CASE WHEN manual_method IS NULL THEN 0 ELSE 1 END FROM kept WHERE id = ?1",
                    [id],
                ) == 1;
            if is_possible && !is_ignored {
                database.execute(&sql, [id]);
                assert!(differs(&shop), "{change} of {id}");
                database.execute("DELETE FROM ledger_entries WHERE id = ?1", [id]);
                database.execute("INSERT INTO ledger_entries SELECT * FROM kept WHERE id = ?1", [id]);
            }
        }
        // The same movement twice.
        database.execute("UPDATE kept SET id = id + 1, occurrence = occurrence + 9 WHERE id = ?1", [id]);
        database.execute("INSERT INTO ledger_entries SELECT * FROM kept WHERE id = ?1", [id + 1]);
        assert!(differs(&shop), "{id} is there twice");
        database.execute("DELETE FROM ledger_entries WHERE id = ?1", [id + 1]);
        database.execute("UPDATE kept SET id = id - 1, occurrence = occurrence - 9 WHERE id = ?1", [id + 1]);
    }
    assert!(!differs(&shop));
    database.execute("DROP TABLE kept", []);
}

#[test]
fn every_payment_that_is_altered_or_added_is_found() {
    let shop = shop_with_movements();
    shop.fixture.skip_final_check();
    let database = shop.fixture.database();
    database.execute("CREATE TABLE kept AS SELECT * FROM payments", []);
    let ids: Vec<i64> = database.column("SELECT id FROM payments");
    assert_eq!(ids.len(), 4);
    for id in ids {
        let is_cash = "SELECT CASE WHEN manual_method IS NULL THEN 0 ELSE 1 END FROM kept WHERE id = ?1";
        let is_cash = database.value_with::<i64>(is_cash, [id]) == 1;
        for column in ["amount", "order_id", "account"] {
            let change = match column {
                "amount" => "amount + 1",
                "order_id" => "(SELECT MIN(id) FROM orders WHERE id <> order_id)",
                // Cash is in no account.
                _ if is_cash => continue,
                _ => "'acct_x'",
            };
            database.execute(&format!("UPDATE payments SET {column} = {change} WHERE id = ?1"), [id]);
            assert!(differs(&shop), "{column} of {id}");
            let restore =
                format!("UPDATE payments SET {column} = (SELECT {column} FROM kept WHERE id = ?1) WHERE id = ?1");
            database.execute(&restore, [id]);
        }
        // The same payment twice.
        database.execute("UPDATE kept SET id = id + 1, reference = NULL WHERE id = ?1", [id]);
        database.execute("INSERT INTO payments SELECT * FROM kept WHERE id = ?1", [id + 1]);
        assert!(differs(&shop), "{id} is there twice");
        database.execute("DELETE FROM payments WHERE id = ?1", [id + 1]);
        assert!(!differs(&shop), "{id} is there once");
    }
    database.execute("DROP TABLE kept", []);
}

/// The same book, but with what was decided in place of what went back.
fn of_decisions(shop: &Shop) -> Book {
    let mut book = shop.book();
    book.entries.retain(|entry| !matches!(entry.kind, Kind::Refund | Kind::RefundFailed));
    for refund in shop.refunds() {
        let payments = shop.payments();
        let payment = payments.iter().find(|payment| payment.id == refund.payment_id).unwrap();
        let from = match payment.manual_method {
            Some(ManualMethod::Cash) => Account::Till,
            _ => Account::Stripe(payment.account.clone()),
        };
        book.entries.push(Entry {
            kind: Kind::Refund,
            order: refund.order_id,
            reference: refund.reference.clone(),
            payment: payment.reference.clone(),
            is_ours: true,
            to: Account::Customer,
            from,
            amount: refund.amount.minor_units(),
            currency: refund.currency.clone(),
        });
    }
    book
}

#[test]
fn a_book_of_decisions_is_not_the_ledger() {
    let mut shop = Shop::open();
    let seats = shop.ticket_type(1250);
    let is_found = |shop: &Shop| !comparison::of_ledger(&of_decisions(shop), &shop.ledger()).is_empty();
    let (order, _) = shop.sale(&seats, 2);
    let caller = shop.fixture.caller_with_new_key();
    shop.service().refund_order(&caller, order, RefundOrder::of_amount(eur(300))).unwrap();
    assert!(!is_found(&shop), "what was decided has gone back");
    // Decided, and not made yet.
    shop.fake.fail("POST", REFUNDS, Fault::RateLimited, 100);
    shop.cancel(order);
    assert!(is_found(&shop));
    shop.fake.repair();
    shop.pass(Duration::from_mins(1));
    assert!(!is_found(&shop));
    // Made, and come back.
    let newest = shop.fake.all("refund").pop().unwrap();
    shop.fake.fail_refund(newest["id"].as_str().unwrap());
    shop.deliver_all();
    assert!(is_found(&shop));
    shop.assert_books_are_right("the book of movements is the ledger");
}

#[test]
fn a_refund_that_is_missing_at_stripe_differs_until_the_check_of_the_first_day() {
    let mut shop = Shop::open();
    let seats = shop.ticket_type(1250);
    let (order, _) = shop.sale(&seats, 2);
    shop.cancel(order);
    shop.deliver_all();
    assert!(!differs(&shop));
    let refund = shop.fake.all("refund").pop().unwrap();
    shop.fake.remove_refund(refund["id"].as_str().unwrap());
    assert!(differs(&shop));
    // Without the maintenance, nobody looks.
    shop.skip(Duration::from_hours(26));
    assert!(differs(&shop));
    assert_eq!(shop.refunds_of(order, RefundSource::Order)[0].status, RefundStatus::Done);
    shop.become_quiet();
    shop.assert_books_are_right("after the check");
    assert_eq!(shop.kept(order), 0);
}
