//! Refunds at Stripe, and which of them are ours.

use serde_json::Value;

use super::session::{ORDER, ORGANIZATION};
use super::session_state::{id_of, is_plain, money};
use crate::payment::{GatewayError, GatewayRefund, RefundRequest, RefundSource, RefundState};
use crate::stripe::api::client::{Client, MAX_KEYS, REPEATED, numbered};
use crate::stripe::api::failure::Failure;
use crate::stripe::api::form::Form;

/// The name of the metadata with which a refund of ours is known.
const REFUND: &str = "refund";

/// The codes of errors that say that nothing of a payment is left.
const NOTHING_LEFT: [&str; 2] = ["charge_already_refunded", "charge_disputed"];

/// The codes of errors about a payment that cannot be refunded.
const FINAL: [&str; 3] = ["amount_too_small", "charge_not_refundable", "payment_intent_unexpected_state"];

/// A refund for the service. `None` if it has no id, amount or currency.
pub(in crate::stripe) fn report(refund: &Value) -> Option<GatewayRefund> {
    let text = |name: &str| refund.get(name).and_then(Value::as_str);
    let (amount, currency) = money(refund, "amount")?;
    let mut report = GatewayRefund::new(text("id")?, amount, currency).state(match text("status") {
        Some("failed") => RefundState::Failed(failure_reason(text("failure_reason")).to_owned()),
        Some("canceled") => RefundState::Failed("canceled".to_owned()),
        Some("succeeded") => RefundState::Succeeded,
        Some("requires_action") => RefundState::RequiresAction,
        _ => RefundState::Pending,
    });
    let ours = refund.pointer("/metadata").and_then(|metadata| metadata.get(REFUND)?.as_str());
    report.refund_id = ours.and_then(|id| id.parse().ok());
    Some(report)
}

/// The reason in Stripe's words, if it is one word.
fn failure_reason(reason: Option<&str>) -> &str {
    let is_word = |reason: &&str| reason.len() <= 100 && reason.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    reason.filter(is_word).unwrap_or("unknown")
}

/// All refunds of a payment, in the order in which Stripe lists them.
pub(in crate::stripe) fn of_payment(client: &Client, payment: &str) -> Result<Vec<GatewayRefund>, Failure> {
    let form = Form::default().with("payment_intent", payment);
    client.list_all("refunds", form, |refund| report(refund).ok_or_else(no_refund))
}

fn no_refund() -> Failure {
    Failure::Unexpected("it is not a refund".to_owned())
}

/// These refunds of a payment without the attempts that failed and after which another attempt at the same refund was
/// accepted.
pub(in crate::stripe) fn without_superseded(mut refunds: Vec<GatewayRefund>) -> Vec<GatewayRefund> {
    let accepted: Vec<_> = refunds.iter().filter(|refund| !refund.has_failed()).cloned().collect();
    let is_same = |one: &GatewayRefund, other: &GatewayRefund| {
        one.refund_id.is_some() && one.refund_id == other.refund_id && one.amount == other.amount
    };
    refunds.retain(|refund| !refund.has_failed() || !accepted.iter().any(|other| is_same(refund, other)));
    refunds
}

/// Makes a refund.
///
/// If Stripe repeats an error that it has stored under the key, the next key is used, with a suffix: what the error was
/// about may have changed. If Stripe repeats that it has made a refund that is recorded already, that one is not asked
/// for either: it has failed since, or this request is for another part.
pub(in crate::stripe) fn make(
    client: &Client,
    payment: &str,
    units: i64,
    request: &RefundRequest,
) -> Result<GatewayRefund, GatewayError> {
    let returns_fee = returns_fee(client, payment, request.source).map_err(refund_failure)?;
    let form = parameters(payment, units, request, returns_fee);
    for key in 0..MAX_KEYS {
        match client.post("refunds", &form, Some(&numbered(&request.idempotency_key, '-', key))) {
            Ok(reply) => {
                let made = report(&reply.body).filter(|made| is_plain(&made.reference)).ok_or_else(no_refund)?;
                if !reply.replayed {
                    return Ok(made);
                }
                if !request.earlier_refunds.contains(&made.reference) {
                    // The answer shows the refund when it was made. It may have failed since.
                    let path = format!("refunds/{}", made.reference);
                    let current = client.get(&path, &Form::default()).map_err(refund_failure)?;
                    return Ok(report(&current).ok_or_else(no_refund)?);
                }
            }
            Err(Failure::Answer(answer)) if answer.uses_up_key() => {}
            Err(failure) => return Err(refund_failure(failure)),
        }
    }
    Err(GatewayError::Unavailable(REPEATED.to_owned()))
}

/// What a failure means for a refund. Only what is about the payment or the amount is final. Other refusals may be
/// about the request or the account, such as the key of an account that does not have the payment: they would end all
/// refunds that are due.
fn refund_failure(failure: Failure) -> GatewayError {
    let Failure::Answer(answer) = &failure else { return failure.into() };
    if NOTHING_LEFT.iter().any(|code| answer.has_code(code)) {
        return GatewayError::NothingLeft(failure.to_string());
    }
    if answer.is_too_much() {
        return GatewayError::LessLeft(failure.to_string());
    }
    if FINAL.iter().any(|code| answer.has_code(code)) || answer.is_about("amount") || answer.status == 402 {
        return failure.into();
    }
    match GatewayError::from(failure) {
        GatewayError::Refused(problem) => GatewayError::Unavailable(problem),
        other => other,
    }
}

/// Whether the application fee is returned too: for a payment that has one, and for which no ticket was sold. Stripe
/// refuses to return a fee that there is not.
fn returns_fee(client: &Client, payment: &str, source: RefundSource) -> Result<bool, Failure> {
    if !client.is_for_connected_account() || source == RefundSource::Order || !is_plain(payment) {
        return Ok(false);
    }
    let intent = client.get(&format!("payment_intents/{payment}"), &Form::default())?;
    Ok(intent.get("application_fee_amount").and_then(Value::as_i64).is_some_and(|fee| fee > 0))
}

fn parameters(payment: &str, units: i64, request: &RefundRequest, returns_fee: bool) -> Form {
    let mut form = Form::default().with("payment_intent", payment).with("amount", units);
    if returns_fee {
        form.add("refund_application_fee", true);
    }
    form.add(format!("metadata[{REFUND}]"), request.refund_id);
    form.add(format!("metadata[{ORDER}]"), request.order_id);
    form.add(format!("metadata[{ORGANIZATION}]"), request.organization_id);
    form
}

/// The payment that a refund, a charge or a dispute is about.
pub(in crate::stripe) fn payment_of(object: &Value) -> Option<&str> {
    id_of(object.get("payment_intent")?)
}
