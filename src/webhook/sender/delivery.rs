//! One attempt: what is sent, and what its end means.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::Shared;
use super::lines::{Standing, TURN};
use crate::model::id::WebhookId;
use crate::model::statistics::WebhookOutcome;
use crate::model::text_enum::TextEnum;
use crate::rules::delivery::answer_text;
use crate::store::attempts::{Attempt, Ended};
use crate::webhook::signature::{
    EVENT_ID_HEADER, EVENT_TYPE_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER, USER_AGENT, sign,
};
use crate::webhook::transport::{FailureKind, WebhookFailure, WebhookRequest, WebhookResponse};

/// An attempt that was made.
pub(super) struct Made {
    pub(super) attempt: Attempt,
    /// What came of it; `None` where it was broken off or never begun, and does not count.
    pub(super) ended: Option<Ended>,
}

impl Made {
    /// The same; where it failed, as one that was never made.
    pub(super) fn unless_it_failed(self) -> Self {
        let failed = self.ended.as_ref().is_some_and(|ended| ended.problem.is_some());
        if failed { Self { ended: None, ..self } } else { self }
    }
}

/// What the latest attempt tells of its endpoint.
#[derive(Debug, Clone, Copy)]
pub(super) struct Experience {
    pub(super) standing: Standing,
    /// How long the attempt took, where a connection was tried.
    pub(super) took: Option<Duration>,
}

/// Attempts at one endpoint that a worker makes one after another.
pub(super) struct Run {
    pub(super) endpoint: WebhookId,
    pub(super) attempts: Vec<Attempt>,
    /// The store's number of changes of the endpoint from before they were claimed.
    pub(super) as_of: u64,
}

/// The result of an attempt that took longer is written down by itself, that of another with those that follow in a moment.
const WORTH_A_COMMIT: Duration = Duration::from_millis(5);

/// Makes the attempts of a run one after another and has each written down. Where one does not go well, the turn is over,
/// an endpoint was changed or the sender stops, those that follow are given back.
pub(super) fn make_all(sender: &Shared, run: Run) {
    let clock = &sender.environment.clock;
    let began = clock.monotonic();
    let goes_on = |latest: Option<Experience>| {
        let well = latest.is_none_or(|latest| latest.standing == Standing::Prompt);
        well && clock.monotonic().saturating_sub(began) < TURN
            && sender.store.endpoint_changes(run.endpoint) == run.as_of
    };
    let mut attempts = run.attempts.into_iter();
    let mut latest = None;
    while goes_on(latest)
        && let Some(attempt) = attempts.next()
    {
        let (made, experience) = make(sender, attempt);
        latest = Some(experience);
        if !sender.made(made, experience.took.is_none_or(|took| took > WORTH_A_COMMIT)) {
            break;
        }
    }
    let rest = attempts.map(|attempt| Made { attempt, ended: None }).collect();
    sender.free(run.endpoint, latest, rest);
}

/// Makes an attempt, and never panics.
fn make(sender: &Shared, attempt: Attempt) -> (Made, Experience) {
    let clock = &sender.environment.clock;
    let began = clock.monotonic();
    let send = || sender.transport.send(&request(sender, &attempt), sender.options.timeout());
    let result = catch_unwind(AssertUnwindSafe(send)).unwrap_or_else(|_| {
        let message = "the attempt failed on the sender's side".to_owned();
        Err(WebhookFailure { kind: FailureKind::Network, message, connection_tried: false })
    });
    let took = clock.monotonic().saturating_sub(began);
    let timed_out = match &result {
        Ok(response) => response.timed_out,
        Err(failure) => failure.kind == FailureKind::TimedOut,
    };
    let ended = ended(sender, result, took);
    let standing = Standing::after(ended.problem.is_none(), timed_out, ended.took);
    let experience = Experience { standing, took: ended.took };
    (Made { attempt, ended: Some(ended) }, experience)
}

fn request(sender: &Shared, attempt: &Attempt) -> WebhookRequest {
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
    WebhookRequest { url: attempt.url.clone(), headers, body: attempt.body.clone() }
}

fn ended(sender: &Shared, result: Result<WebhookResponse, WebhookFailure>, took: Duration) -> Ended {
    let at = sender.environment.now();
    match result {
        Ok(WebhookResponse { status, body, .. }) => {
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
        Err(WebhookFailure { kind, message, connection_tried }) => {
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
