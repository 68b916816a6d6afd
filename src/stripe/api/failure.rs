//! Calls to Stripe that failed, and what that means for a payment.

use std::fmt;
use std::time::Duration;

use serde_json::Value;

use crate::payment::GatewayError;

/// Why a call to Stripe failed. The text names no key and repeats nothing that Stripe was sent: of an answer, only its
/// codes and the id of the request, with which the Dashboard shows the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::stripe) enum Failure {
    /// The request was not sent.
    NotSent(String),
    /// Stripe did not answer, or not in time. The request may have been executed.
    NoAnswer(String),
    Answer(ErrorAnswer),
    /// The answer is not what the API documents.
    Unexpected(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::stripe) struct ErrorAnswer {
    pub(in crate::stripe) status: u16,
    /// Whether Stripe repeated the answer to an earlier request with the same idempotency key.
    pub(in crate::stripe) replayed: bool,
    /// Whether Stripe says that the request should be sent again.
    should_repeat: Option<bool>,
    /// How long Stripe wants to be left alone.
    retry_after: Option<Duration>,
    kind: Option<String>,
    code: Option<String>,
    parameter: Option<String>,
    request: Option<String>,
}

/// The codes of errors that may be gone later, although the status says that the request failed.
const TEMPORARY: [&str; 7] = [
    "api_key_expired",
    "balance_insufficient",
    "idempotency_key_in_use",
    "insufficient_funds",
    "lock_timeout",
    "rate_limit",
    "secret_key_required",
];

impl ErrorAnswer {
    /// Reads the body of an error. `request` is the header `Request-Id`.
    pub(in crate::stripe) fn new(status: u16, replayed: bool, request: Option<&str>, body: &Value) -> Self {
        let text = |name: &str| body.pointer("/error").and_then(|error| error.get(name)).and_then(Value::as_str);
        Self {
            status,
            replayed,
            should_repeat: None,
            retry_after: None,
            kind: text("type").and_then(identifier),
            code: text("code").and_then(identifier),
            parameter: text("param").and_then(identifier),
            request: request.and_then(identifier),
        }
    }

    /// Sets what the headers `Stripe-Should-Retry` and `Retry-After` say.
    pub(in crate::stripe) fn should_repeat(self, should_repeat: Option<bool>, retry_after: Option<Duration>) -> Self {
        Self { should_repeat, retry_after, ..self }
    }

    pub(in crate::stripe) fn has_code(&self, code: &str) -> bool {
        self.code.as_deref() == Some(code)
    }

    pub(in crate::stripe) fn is_about(&self, parameter: &str) -> bool {
        self.parameter.as_deref() == Some(parameter)
    }

    /// Whether the idempotency key cannot lead to success before Stripe forgets it: Stripe has stored an error under
    /// it, which it repeats whatever has changed since, or other parameters.
    pub(in crate::stripe) fn uses_up_key(&self) -> bool {
        let has_other_parameters = self.status == 400 && self.kind.as_deref() == Some("idempotency_error");
        self.replayed || has_other_parameters
    }

    /// Whether the error is about an amount that is more than what can be refunded. Stripe's list of codes has
    /// `amount_too_large` for it; other answers only name the parameter.
    pub(in crate::stripe) fn is_too_much(&self) -> bool {
        self.has_code("amount_too_large") || (self.code.is_none() && self.is_about("amount"))
    }

    /// Whether the request was certainly not executed, and may be later: Stripe looks at the key and at its rate limits
    /// before it looks at anything else, also at idempotency keys.
    fn is_before_execution(&self) -> bool {
        matches!(self.status, 401 | 403 | 429)
    }

    /// Whether the same request may succeed later. Statuses: 401 and 403 are about the key, which the operator can
    /// replace; 409 and 429 are about other requests; 5xx are failures of Stripe.
    fn is_temporary(&self) -> bool {
        matches!(self.status, 401 | 403 | 409 | 424 | 429 | 500..)
            || self.code.as_deref().is_some_and(|code| TEMPORARY.contains(&code))
    }
}

impl Failure {
    pub(in crate::stripe) fn was_not_executed(&self) -> bool {
        match self {
            Self::NotSent(_) => true,
            Self::Answer(answer) => answer.is_before_execution(),
            Self::NoAnswer(_) | Self::Unexpected(_) => false,
        }
    }

    /// Whether the request should be sent again within a second: Stripe says so, or answers that there were too many.
    pub(in crate::stripe) fn asks_to_repeat(&self) -> bool {
        match self {
            Self::Answer(answer) => answer.should_repeat.unwrap_or(answer.status == 429),
            Self::NotSent(_) | Self::NoAnswer(_) | Self::Unexpected(_) => false,
        }
    }

    /// Whether Stripe has turned the request away because there were too many.
    pub(in crate::stripe) fn is_rate_limited(&self) -> bool {
        matches!(self, Self::Answer(answer) if answer.status == 429)
    }

    /// How long to wait before the request is sent again, if Stripe says so.
    pub(in crate::stripe) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Answer(answer) => answer.retry_after,
            Self::NotSent(_) | Self::NoAnswer(_) | Self::Unexpected(_) => None,
        }
    }

    /// What the failure means for a notice that waits for the answer. An answer about the request or the key will be
    /// the same when Stripe sends the notice again: for days, after which it would send no more notices at all.
    pub(in crate::stripe) fn about_a_notice(self) -> GatewayError {
        match &self {
            Self::Answer(answer) if answer.status < 500 && answer.status != 429 => {
                GatewayError::Refused(self.to_string())
            }
            _ => self.into(),
        }
    }
}

impl From<Failure> for GatewayError {
    fn from(failure: Failure) -> Self {
        match &failure {
            failure if failure.was_not_executed() => Self::NotExecuted(failure.to_string()),
            Failure::Answer(answer) if !answer.is_temporary() => Self::Refused(failure.to_string()),
            _ => Self::Unavailable(failure.to_string()),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSent(problem) => write!(f, "nothing was sent to Stripe: {problem}"),
            Self::NoAnswer(problem) => write!(f, "Stripe did not answer: {problem}"),
            Self::Answer(answer) => write!(f, "Stripe answered {answer}"),
            Self::Unexpected(problem) => write!(f, "the answer of Stripe is not understood: {problem}"),
        }
    }
}

impl fmt::Display for ErrorAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.status)?;
        if let Some(name) = self.code.as_ref().or(self.kind.as_ref()) {
            write!(f, " {name}")?;
        }
        if let Some(parameter) = &self.parameter {
            write!(f, " for {parameter}")?;
            if parameter == "expires_at" {
                write!(f, ": is the clock of this machine right?")?;
            }
        }
        match self.status {
            401 => write!(f, ": it does not accept the secret key")?,
            403 => write!(f, ": the secret key is not allowed to do this")?,
            _ => {}
        }
        if self.replayed {
            write!(f, ", again")?;
        }
        match &self.request {
            Some(request) => write!(f, " (request {request})"),
            None => Ok(()),
        }
    }
}

/// The text, if it is an identifier of at most 100 characters: nothing else is copied from an answer to a log.
fn identifier(text: &str) -> Option<String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.[]".contains(&byte);
    let plain = !text.is_empty() && text.len() <= 100 && text.bytes().all(is_plain);
    // A secret key must not reach the log.
    let secret = ["sk_", "rk_", "whsec_"].iter().any(|prefix| text.contains(prefix));
    (plain && !secret).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(status: u16, error: &Value) -> ErrorAnswer {
        ErrorAnswer::new(status, false, Some("req_123"), &json!({"error": error}))
    }

    /// Stripe's page "Error codes": which HTTP status means what.
    #[test]
    fn errors_that_may_pass_are_unavailable_and_others_are_refused() {
        for (status, code) in [
            (409, ""),
            (409, "idempotency_key_in_use"),
            (424, ""),
            (500, ""),
            (502, ""),
            (503, ""),
            (504, ""),
            (400, "balance_insufficient"),
            (402, "insufficient_funds"),
        ] {
            let error = GatewayError::from(Failure::Answer(answer(status, &json!({"code": code}))));
            assert!(matches!(error, GatewayError::Unavailable(_)), "{status} {code}: {error}");
        }
        for (status, code) in [
            (400, "amount_too_small"),
            (400, "charge_already_refunded"),
            (402, "card_declined"),
            (404, "resource_missing"),
        ] {
            let error = GatewayError::from(Failure::Answer(answer(status, &json!({"code": code}))));
            assert!(matches!(error, GatewayError::Refused(_)), "{status} {code}: {error}");
        }
        let error = GatewayError::from(Failure::NoAnswer("timed out".to_owned()));
        assert!(matches!(error, GatewayError::Unavailable(_)));
    }

    /// Stripe's page "Advanced error handling": "a request that's rate limited with a 429 can produce a different
    /// result with the same idempotency key because rate limiters run before the API's idempotency layer. The same goes
    /// for a 401 that omitted an API key".
    #[test]
    fn a_request_that_stripe_did_not_let_in_was_not_executed() {
        for (status, code) in [(401, ""), (403, ""), (429, "rate_limit"), (429, "lock_timeout"), (429, "")] {
            let error = GatewayError::from(Failure::Answer(answer(status, &json!({"code": code}))));
            assert!(matches!(error, GatewayError::NotExecuted(_)), "{status} {code}: {error}");
        }
        let error = GatewayError::from(Failure::NotSent("the connection was refused".to_owned()));
        assert!(matches!(error, GatewayError::NotExecuted(_)));
    }

    #[test]
    fn more_than_is_left_is_told_from_amounts_that_are_wrong() {
        for (error, expected) in [
            (json!({"code": "amount_too_large", "param": "amount"}), true),
            (json!({"param": "amount"}), true),
            (json!({"code": "amount_too_small", "param": "amount"}), false),
            (json!({"code": "parameter_invalid_integer", "param": "amount"}), false),
            (json!({"param": "payment_intent"}), false),
            (json!({}), false),
        ] {
            assert_eq!(answer(400, &error).is_too_much(), expected, "{error}");
        }
    }

    #[test]
    fn a_notice_waits_only_for_failures_that_pass() {
        for (status, waits) in [(400, false), (401, false), (403, false), (404, false), (429, true), (500, true)] {
            let error = Failure::Answer(answer(status, &json!({}))).about_a_notice();
            assert_eq!(!matches!(error, GatewayError::Refused(_)), waits, "{status}: {error}");
        }
        let error = Failure::NoAnswer("timed out".to_owned()).about_a_notice();
        assert!(matches!(error, GatewayError::Unavailable(_)));
    }

    #[test]
    fn the_text_has_codes_and_the_request_but_no_free_text() {
        let error = json!({
            "type": "invalid_request_error", "code": "resource_missing", "param": "payment_intent",
            "message": "No such payment_intent: 'pi_1' for ada@example.com with sk_live_secret",
        });
        let text = Failure::Answer(answer(404, &error)).to_string();
        assert_eq!(text, "Stripe answered 404 resource_missing for payment_intent (request req_123)");

        let error = json!({"type": "<b>x</b>", "code": "sk_live_secret", "param": "a\nb"});
        assert_eq!(Failure::Answer(answer(400, &error)).to_string(), "Stripe answered 400 (request req_123)");
        let text = Failure::Answer(answer(401, &json!({"type": "invalid_request_error"}))).to_string();
        let expected = "Stripe answered 401 invalid_request_error: it does not accept the secret key (request req_123)";
        assert_eq!(text, expected);
        for body in [json!(null), json!([1]), json!({"error": "x"}), json!({"error": {"code": 5}})] {
            assert_eq!(Failure::Answer(ErrorAnswer::new(500, false, None, &body)).to_string(), "Stripe answered 500");
        }
    }

    #[test]
    fn a_key_is_used_up_by_a_replayed_error_or_by_other_parameters() {
        for (status, code) in [(500, ""), (400, ""), (400, "charge_disputed"), (402, "insufficient_funds")] {
            let body = json!({"error": {"code": code}});
            assert!(ErrorAnswer::new(status, true, None, &body).uses_up_key(), "{status} {code}");
            assert!(!ErrorAnswer::new(status, false, None, &body).uses_up_key(), "{status} {code}");
        }
        assert!(!answer(500, &json!({})).uses_up_key());
        assert!(answer(400, &json!({"type": "idempotency_error"})).uses_up_key());
        assert!(!answer(409, &json!({"type": "idempotency_error", "code": "idempotency_key_in_use"})).uses_up_key());
    }
}
