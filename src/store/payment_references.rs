//! Orders and refunds by the gateway's id of a payment: notices about refunds and disputes name nothing else.

use super::Transaction;
use super::checkouts::CheckoutOrder;
use crate::error::Result;
use crate::model::amount::Amount;
use crate::model::currency::Decimals;
use crate::model::id::OrderId;

pub(super) const OF_ORDER: &str = "SELECT o.id, o.organization_id
    FROM checkouts c JOIN orders o ON o.id = c.order_id WHERE c.payment_reference = ?1 ORDER BY c.order_id LIMIT 2";
pub(super) const OF_OTHER_PAYMENT: &str = "SELECT id, organization_id FROM orders
    WHERE id IN (SELECT order_id FROM refunds WHERE payment_reference = ?1) ORDER BY id LIMIT 2";
pub(super) const MADE: &str = "SELECT r.amount FROM refunds r
    WHERE r.order_id = ?1 AND r.currency = ?2 AND (r.status = 'DONE' OR r.status = 'DUE' AND r.attempts > 0)
        AND (r.payment_reference = ?3 OR r.payment_reference IS NULL
            AND EXISTS (SELECT 1 FROM checkouts c WHERE c.order_id = r.order_id AND c.payment_reference = ?3))";

/// Returns the order of a payment: the one that it completed, or one for which it was another payment, which was refunded.
/// `None` if it is not known, or of several orders: not every gateway gives each payment an id of its own.
pub(crate) fn find_order(tx: &Transaction<'_>, payment: &str) -> Result<Option<CheckoutOrder>> {
    let find = |sql| {
        tx.query_all(sql, &[payment.into()], |row| {
            Ok(CheckoutOrder { organization: row.get("organization_id")?, id: row.get("id")? })
        })
    };
    let mut orders = find(OF_ORDER)?;
    if orders.is_empty() {
        orders = find(OF_OTHER_PAYMENT)?;
    }
    Ok(if orders.len() == 1 { orders.pop() } else { None })
}

/// Whether the refunds of a payment that were made, or that the gateway is just being asked for, give back this amount
/// together.
pub(crate) fn refunds_add_up_to(
    tx: &Transaction<'_>,
    order: OrderId,
    payment: &str,
    total: Amount,
    currency: &str,
) -> Result<bool> {
    let total = Decimals::of_currency(currency).and_then(|decimals| total.minor_with(decimals.get()));
    let binds = [order.into(), currency.into(), payment.into()];
    let amounts: Vec<i64> = tx.query_all(MADE, &binds, |row| row.get("amount"))?;
    let sum = amounts.iter().try_fold(0_i64, |sum, amount| sum.checked_add(*amount));
    Ok(sum.is_some() && sum == total)
}
