//! Balance transactions: how payments, refunds and disputes change the balance of an account.
//! <https://docs.stripe.com/api/balance_transactions/object>

use serde_json::{Value, json};

use super::state::{State, Stored};

/// How many units of another currency an account gets for ten units of the payment.
const RATE_TIMES_TEN: i64 = 11;

/// What Stripe charges for a card payment: 1.4 %, and 25 of the smallest unit.
pub fn payment_fee(amount: i64) -> i64 {
    (amount * 14 + 500) / 1000 + 25
}

/// Changes the balance of the account of `source` by an amount and a fee in the currency of `source`. Returns the
/// balance transaction.
pub fn change(state: &mut State, source: &str, kind: &str, amount: i64, fee: i64) -> Value {
    let currency = state.text(source, "currency");
    let converted = state.balance_currency.clone().filter(|balance| *balance != currency);
    let convert = |units: i64| if converted.is_some() { units * RATE_TIMES_TEN / 10 } else { units };
    let (amount, fee) = (convert(amount), convert(fee));
    let id = state.new_id("txn_1", 24);
    let category = if kind == "adjustment" { "dispute" } else { kind };
    let transaction = json!({
        "id": id,
        "object": "balance_transaction",
        "amount": amount,
        "available_on": state.now_seconds(),
        "created": state.now_seconds(),
        "currency": converted.as_ref().unwrap_or(&currency),
        "exchange_rate": converted.is_some().then_some(1.1),
        "fee": fee,
        "net": amount - fee,
        "reporting_category": category,
        "source": source,
        "status": "available",
        "type": kind,
    });
    let account = state.get(source).account.clone();
    state.insert(Stored { account, value: transaction.clone(), hidden: Value::Null });
    transaction
}
