//! One attempt: what is sent, and what its end means.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::lines::Standing;
use super::sender::Shared;
use super::signature::{EVENT_ID_HEADER, EVENT_TYPE_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER, USER_AGENT, sign};
use super::transport::{Failure, FailureKind, Request, Response};
use crate::model::statistics::WebhookOutcome;
use crate::model::text_enum::TextEnum;
use crate::rules::delivery::answer_text;
use crate::store::attempts::{Attempt, Ended};

/// An attempt that was made.
pub(super) struct Made {
    pub(super) attempt: Attempt,
    /// What came of it; `None` where it was broken off and does not count.
    pub(super) ended: Option<Ended>,
    /// What it tells of its endpoint.
    pub(super) standing: Standing,
}

impl Made {
    pub(super) fn succeeded(&self) -> bool {
        self.ended.as_ref().is_some_and(|ended| ended.problem.is_none())
    }

    pub(super) fn broken_off(self) -> Self {
        Self { ended: None, ..self }
    }
}

/// Makes an attempt, and never panics.
pub(super) fn make(sender: &Shared, attempt: Attempt) -> Made {
    let clock = &sender.environment.clock;
    let began = clock.monotonic();
    let send = || sender.transport.send(&request(sender, &attempt), sender.options.timeout());
    let result = catch_unwind(AssertUnwindSafe(send)).unwrap_or_else(|_| {
        let message = "the attempt failed on the sender's side".to_owned();
        Err(Failure { kind: FailureKind::Network, message, connection_tried: false })
    });
    let took = clock.monotonic().saturating_sub(began);
    let timed_out = match &result {
        Ok(response) => response.timed_out,
        Err(failure) => failure.kind == FailureKind::TimedOut,
    };
    let ended = ended(sender, result, took);
    let standing = Standing::after(ended.problem.is_none(), timed_out, ended.took);
    Made { attempt, ended: Some(ended), standing }
}

fn request(sender: &Shared, attempt: &Attempt) -> Request {
    let seconds = sender.environment.now().millis().div_euclid(1000);
    let signature = sign(attempt.secret.expose(), seconds, attempt.body.as_bytes());
    let headers = vec![
        ("Content-Type", "application/json".to_owned()),
        ("User-Agent", USER_AGENT.to_owned()),
        (SIGNATURE_HEADER, signature),
        (TIMESTAMP_HEADER, seconds.to_string()),
        (EVENT_ID_HEADER, attempt.notification.to_string()),
        (EVENT_TYPE_HEADER, attempt.notification_type.as_str().to_owned()),
    ];
    Request { url: attempt.url.clone(), headers, body: attempt.body.clone() }
}

fn ended(sender: &Shared, result: Result<Response, Failure>, took: Duration) -> Ended {
    let at = sender.environment.now();
    match result {
        Ok(Response { status, body, .. }) => {
            let (outcome, problem) = match status {
                200..=299 => (WebhookOutcome::Delivered, None),
                300..=399 => {
                    let problem = format!("the receiver answered with status {status}; redirects are not followed");
                    (WebhookOutcome::Rejected, Some(problem))
                }
                _ => (WebhookOutcome::Rejected, Some(format!("the receiver answered with status {status}"))),
            };
            Ended { outcome, status: Some(status), answer: Some(answer_text(&body)), took: Some(took), problem, at }
        }
        Err(Failure { kind, message, connection_tried }) => {
            let outcome = match kind {
                FailureKind::Refused => WebhookOutcome::Refused,
                FailureKind::TimedOut => WebhookOutcome::TimedOut,
                FailureKind::Network => WebhookOutcome::Network,
            };
            let took = connection_tried.then_some(took);
            Ended { outcome, status: None, answer: None, took, problem: Some(message), at }
        }
    }
}
