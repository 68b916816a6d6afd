//! Refunds at Stripe, and which of them are ours.

use serde_json::Value;

use super::session::{ORDER, ORGANIZATION};
use super::session_state::{id_of, is_plain};
use crate::model::values::id::RefundId;
use crate::payment::{GatewayError, GatewayRefund, RefundRequest, RefundSource, RefundState};
use crate::stripe::amounts;
use crate::stripe::api::client::{Call, Client};
use crate::stripe::api::failure::Failure;
use crate::stripe::api::form::Form;
use crate::stripe::api::keys::{MAX_KEYS, REPEATED, numbered};

/// The name of the metadata with which a refund of ours is known.
const REFUND: &str = "refund";

/// How many refunds are listed at once, and how many times at most.
const PAGE: usize = 100;
const MAX_PAGES: usize = 10;

/// The codes of errors that say that nothing of a payment is left.
const NOTHING_LEFT: [&str; 2] = ["charge_already_refunded", "charge_disputed"];

/// The codes of errors about a payment that cannot be refunded.
const FINAL: [&str; 3] = ["amount_too_small", "charge_not_refundable", "payment_intent_unexpected_state"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::stripe) struct StripeRefund {
    pub(in crate::stripe) id: String,
    /// Which refund of ours it is; `None` if somebody else asked for it.
    pub(in crate::stripe) ours: Option<RefundId>,
    pub(in crate::stripe) state: RefundState,
    pub(in crate::stripe) units: i64,
    pub(in crate::stripe) currency: String,
}

impl StripeRefund {
    pub(in crate::stripe) fn read(refund: &Value) -> Option<Self> {
        let text = |name: &str| refund.get(name).and_then(Value::as_str);
        let ours = refund.pointer("/metadata").and_then(|metadata| metadata.get(REFUND)?.as_str());
        let state = match text("status") {
            Some("failed") => RefundState::Failed(failure_reason(text("failure_reason")).to_owned()),
            Some("canceled") => RefundState::Failed("canceled".to_owned()),
            Some("succeeded") => RefundState::Succeeded,
            Some("requires_action") => RefundState::RequiresAction,
            _ => RefundState::Pending,
        };
        Some(Self {
            id: text("id")?.to_owned(),
            ours: ours.and_then(|id| id.parse().ok()),
            state,
            units: refund.get("amount")?.as_i64()?,
            currency: text("currency")?.to_owned(),
        })
    }

    /// The refund for the service.
    ///
    /// # Errors
    /// What is wrong, if its currency is not known.
    pub(in crate::stripe) fn report(&self) -> Result<GatewayRefund, String> {
        let amount = amounts::from_stripe(self.units, &self.currency);
        let amount = amount.ok_or_else(|| "the currency of a refund is not known".to_owned())?;
        let report = GatewayRefund::new(&self.id, amount, self.currency.to_ascii_uppercase());
        let report = self.ours.into_iter().fold(report, GatewayRefund::refund);
        Ok(report.state(self.state.clone()))
    }

    fn is_accepted(&self) -> bool {
        !matches!(self.state, RefundState::Failed(_))
    }
}

/// The reason in Stripe's words, if it is one word.
fn failure_reason(reason: Option<&str>) -> &str {
    let is_word = |reason: &&str| reason.len() <= 100 && reason.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    reason.filter(is_word).unwrap_or("unknown")
}

/// All refunds of a payment, in the order in which Stripe lists them.
pub(in crate::stripe) fn of_payment(
    client: &Client,
    account: Option<&str>,
    payment: &str,
) -> Result<Vec<StripeRefund>, Failure> {
    let mut refunds: Vec<StripeRefund> = Vec::new();
    for _ in 0..MAX_PAGES {
        let mut form = Form::default().with("payment_intent", payment).with("limit", PAGE);
        if let Some(last) = refunds.last() {
            form.add("starting_after", &last.id);
        }
        let list = client.get(&Call { path: "refunds", form, account, ..Call::default() })?.body;
        let page = list.get("data").and_then(Value::as_array);
        let page = page.ok_or_else(|| Failure::Unexpected("it is not a list of refunds".to_owned()))?;
        for refund in page {
            let refund = StripeRefund::read(refund);
            refunds.push(refund.ok_or_else(|| Failure::Unexpected("it is not a refund".to_owned()))?);
        }
        if page.is_empty() || list.get("has_more").and_then(Value::as_bool) != Some(true) {
            return Ok(refunds);
        }
    }
    Err(Failure::Unexpected("the payment has more refunds than can be read".to_owned()))
}

/// The refunds of a payment for the service. An attempt that failed is left out if another attempt at the same refund
/// was accepted.
///
/// # Errors
/// What is wrong, if a currency is not known.
pub(in crate::stripe) fn reports(refunds: &[StripeRefund]) -> Result<Vec<GatewayRefund>, String> {
    let is_superseded = |refund: &&StripeRefund| {
        let others = refunds.iter().filter(|other| other.ours == refund.ours && other.units == refund.units);
        refund.ours.is_some() && !refund.is_accepted() && others.into_iter().any(StripeRefund::is_accepted)
    };
    refunds.iter().filter(|refund| !is_superseded(refund)).map(StripeRefund::report).collect()
}

/// What Stripe has made of a refund so far.
struct Found {
    accepted: Option<StripeRefund>,
    /// Stripe's ids of the refunds that failed after Stripe had accepted them.
    failed: Vec<String>,
}

/// Looks for what Stripe has made of a refund, apart from what the service knows.
fn find(client: &Client, account: Option<&str>, payment: &str, request: &RefundRequest) -> Result<Found, Failure> {
    let mut found = Found { accepted: None, failed: Vec::new() };
    let is_ours = |refund: &StripeRefund| refund.ours == Some(request.refund_id);
    for refund in of_payment(client, account, payment)?.into_iter().filter(is_ours) {
        if request.earlier_refunds.contains(&refund.id) {
            continue;
        }
        if refund.is_accepted() {
            found.accepted = Some(refund);
        } else {
            found.failed.push(refund.id);
        }
    }
    Ok(found)
}

/// Makes a refund, unless Stripe has made it already.
///
/// The first attempt asks at once, if the refund was decided just now. Others first look for the refund: an answer may
/// have been lost, and Stripe forgets idempotency keys after a day. If Stripe repeats an error that it has stored under
/// the key, the next key is used, with a suffix: what the error was about may have changed. A refund that failed later
/// counts as not made, and is asked for with the next key too.
pub(in crate::stripe) fn make(
    client: &Client,
    account: Option<&str>,
    payment: &str,
    units: i64,
    request: &RefundRequest,
) -> Result<StripeRefund, GatewayError> {
    let look = || find(client, account, payment, request);
    let returns_fee = returns_fee(client, account, payment, request.source).map_err(refund_failure)?;
    let mut first_key = 0;
    if request.may_have_been_made() {
        let found = look().map_err(refund_failure)?;
        if let Some(refund) = found.accepted {
            return Ok(refund);
        }
        first_key = found.failed.len();
    }
    // Those that are known have used up a key each.
    let known = request.earlier_refunds.len();
    for key in known + first_key..known + MAX_KEYS {
        let call = Call {
            path: "refunds",
            form: parameters(payment, units, request, returns_fee),
            account,
            idempotency_key: Some(numbered(&request.idempotency_key, '-', key)),
        };
        match client.post(&call) {
            Ok(reply) => {
                let refund = StripeRefund::read(&reply.body);
                let refund = refund.ok_or_else(|| Failure::Unexpected("it is not a refund".to_owned()))?;
                if reply.replayed {
                    // The answer shows the refund when it was made. It may have failed since.
                    let found = look().map_err(refund_failure)?;
                    if let Some(refund) = found.accepted {
                        return Ok(refund);
                    }
                    if found.failed.contains(&refund.id) || request.earlier_refunds.contains(&refund.id) {
                        continue;
                    }
                }
                return Ok(refund);
            }
            Err(Failure::Answer(answer)) if answer.uses_up_key() || answer.has_code("charge_already_refunded") => {
                if let Some(refund) = look().map_err(refund_failure)?.accepted {
                    return Ok(refund);
                }
                if !answer.uses_up_key() {
                    return Err(refund_failure(Failure::Answer(answer)));
                }
            }
            Err(failure) => return Err(refund_failure(failure)),
        }
    }
    if first_key >= MAX_KEYS {
        return Err(GatewayError::Refused(format!("the refund failed {first_key} times")));
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
fn returns_fee(client: &Client, account: Option<&str>, payment: &str, source: RefundSource) -> Result<bool, Failure> {
    if account.is_none() || source == RefundSource::Order || !is_plain(payment) {
        return Ok(false);
    }
    let path = format!("payment_intents/{payment}");
    let intent = client.get(&Call { path: &path, account, ..Call::default() })?.body;
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_refund_of_ours_is_known_by_its_metadata() {
        let id: RefundId = RefundId::from_raw(7);
        let refund = json!({
            "id": "re_1", "amount": 500, "currency": "eur", "status": "failed", "failure_reason": "expired_or_canceled_card",
            "metadata": {"refund": id.to_string()},
        });
        let read = StripeRefund::read(&refund).expect("a refund");
        assert_eq!(read.ours, Some(id));
        assert_eq!(read.state, RefundState::Failed("expired_or_canceled_card".to_owned()));
        for metadata in [json!({}), json!(null), json!({"refund": "other-program"}), json!({"refund": 7})] {
            let refund =
                json!({"id": "re_1", "amount": 5, "currency": "eur", "status": "pending", "metadata": metadata});
            let read = StripeRefund::read(&refund).expect("a refund");
            assert_eq!((read.ours, read.state), (None, RefundState::Pending));
        }
        for (status, state) in [
            ("succeeded", RefundState::Succeeded),
            ("requires_action", RefundState::RequiresAction),
            ("canceled", RefundState::Failed("canceled".to_owned())),
            ("failed", RefundState::Failed("unknown".to_owned())),
        ] {
            let refund = json!({"id": "re_1", "amount": 5, "currency": "eur", "status": status});
            assert_eq!(StripeRefund::read(&refund).map(|read| read.state), Some(state), "{status}");
        }
        for refund in [json!({}), json!([]), json!({"id": "re_1", "amount": "5", "currency": "eur"})] {
            assert_eq!(StripeRefund::read(&refund), None);
        }
    }
}
