//! One delivery attempt: builds the signed request, sends it, and judges the response.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::health::Observation;
use super::state::SenderContext;
use crate::model::operation::statistics::WebhookOutcome;
use crate::rules::delivery::response_text;
use crate::store::webhooks::attempt_results::{AttemptResult, ClaimedAttempt};
use crate::webhook::signature::{
    EVENT_ID_HEADER, EVENT_TYPE_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER, USER_AGENT, sign,
};
use crate::webhook::transport::{FailureKind, WebhookFailure, WebhookRequest, WebhookResponse};

/// How an attempt ended.
pub(super) struct AttemptOutcome {
    /// For the history of the endpoint.
    pub(super) result: AttemptResult,
    /// For the scheduler.
    pub(super) observation: Observation,
}

/// Makes an attempt. It never panics: a panic of the transport is a failed attempt.
pub(super) fn make(sender: &SenderContext, attempt: &ClaimedAttempt) -> AttemptOutcome {
    let clock = &sender.environment.clock;
    let started = clock.monotonic();
    let send = || sender.transport.send(&request(sender, attempt), sender.options.timeout());
    let response = catch_unwind(AssertUnwindSafe(send)).unwrap_or_else(|_| {
        let message = "internal error of the sender".to_owned();
        Err(WebhookFailure { kind: FailureKind::ConnectionFailed, message, connection_tried: false })
    });
    let duration = clock.monotonic().saturating_sub(started);
    let timed_out = match &response {
        Ok(response) => response.timed_out,
        Err(failure) => failure.kind == FailureKind::TimedOut,
    };
    let result = match response {
        Ok(response) => answered(sender, &response, duration),
        Err(failure) => not_answered(sender, failure, duration),
    };
    let observation = Observation::of_attempt(result.is_success(), timed_out, result.duration);
    AttemptOutcome { result, observation }
}

fn request(sender: &SenderContext, attempt: &ClaimedAttempt) -> WebhookRequest {
    let seconds = sender.environment.now().millis().div_euclid(1000);
    let signature = sign(attempt.secret.expose(), seconds, attempt.body.as_bytes());
    let headers = vec![
        ("Content-Type", "application/json".to_owned()),
        ("User-Agent", USER_AGENT.to_owned()),
        (SIGNATURE_HEADER, signature),
        (TIMESTAMP_HEADER, seconds.to_string()),
        (EVENT_ID_HEADER, attempt.notification_id.to_string()),
        (EVENT_TYPE_HEADER, attempt.event_type.as_str().to_owned()),
    ];
    let organization_id = Some(attempt.organization_id);
    WebhookRequest { url: attempt.url.clone(), headers, body: attempt.body.clone(), organization_id }
}

/// The result of an attempt that got a response. Only a 2xx status is a success.
fn answered(sender: &SenderContext, response: &WebhookResponse, duration: Duration) -> AttemptResult {
    let status = response.status;
    let error = match status {
        200..=299 => None,
        300..=399 => Some(format!("the receiver answered with status {status}; redirects are not followed")),
        _ => Some(format!("the receiver answered with status {status}")),
    };
    let outcome = if error.is_none() { WebhookOutcome::Delivered } else { WebhookOutcome::Rejected };
    AttemptResult {
        outcome,
        response_status: Some(status),
        response_body: Some(response_text(&response.body)),
        duration: Some(duration),
        error,
        finished_at: sender.environment.now(),
    }
}

/// The result of an attempt that got no response.
fn not_answered(sender: &SenderContext, failure: WebhookFailure, duration: Duration) -> AttemptResult {
    let outcome = match failure.kind {
        FailureKind::AddressNotAllowed => WebhookOutcome::AddressNotAllowed,
        FailureKind::TimedOut => WebhookOutcome::TimedOut,
        FailureKind::ConnectionFailed => WebhookOutcome::ConnectionFailed,
    };
    AttemptResult {
        outcome,
        response_status: None,
        response_body: None,
        duration: failure.connection_tried.then_some(duration),
        error: Some(failure.message),
        finished_at: sender.environment.now(),
    }
}
