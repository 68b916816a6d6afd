//! Disputes at Stripe.

use serde_json::Value;

use super::client::{Call, Client};
use super::failure::Failure;
use super::form::Form;

/// Whether a bank has taken a payment back for good.
pub(super) fn is_lost(client: &Client, account: Option<&str>, payment: &str) -> Result<bool, Failure> {
    let mut form = Form::default();
    form.add("payment_intent", payment);
    form.add("limit", 100);
    let list = client.get(&Call { path: "disputes", form, account, ..Call::default() })?.body;
    let disputes = list.get("data").and_then(Value::as_array);
    let disputes = disputes.ok_or_else(|| Failure::Unexpected("it is not a list of disputes".to_owned()))?;
    Ok(disputes.iter().any(|dispute| dispute.get("status").and_then(Value::as_str) == Some("lost")))
}
