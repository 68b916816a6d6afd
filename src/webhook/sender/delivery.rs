//! One attempt: what is sent, and what its end means.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::Shared;
use super::lines::Standing;
use crate::model::statistics::WebhookOutcome;
use crate::model::text_enum::TextEnum;
use crate::rules::delivery::answer_text;
use crate::store::attempts::{self, Attempt, Ended};
use crate::webhook::signature::{
    EVENT_ID_HEADER, EVENT_TYPE_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER, USER_AGENT, sign,
};
use crate::webhook::transport::{FailureKind, WebhookFailure, WebhookRequest, WebhookResponse};

/// An attempt that was made.
pub(super) struct Made {
    pub(super) attempt: Attempt,
    /// What came of it; `None` where it was broken off and does not count.
    pub(super) ended: Option<Ended>,
    /// What it tells of its endpoint.
    pub(super) standing: Standing,
    /// Whether its worker does no more for the endpoint.
    pub(super) was_last: bool,
}

impl Made {
    /// The same; where it failed, as one that was never made.
    pub(super) fn unless_it_failed(self) -> Self {
        let failed = self.ended.as_ref().is_some_and(|ended| ended.problem.is_some());
        if failed { Self { ended: None, ..self } } else { self }
    }

    fn took_longer_than(&self, moment: Duration) -> bool {
        self.ended.as_ref().and_then(|ended| ended.took).is_none_or(|took| took > moment)
    }
}

/// For how long a worker begins further attempts of a run. The claims last for longer than that and an attempt together.
const RUN: Duration = Duration::from_secs(4);

/// The result of an attempt that took longer is written down by itself, that of another with those that follow in a moment.
const WORTH_A_COMMIT: Duration = Duration::from_millis(5);

/// Makes the attempts of a run one after another and has each written down. Where one does not go well, or the sender
/// stops, those that follow are given back: others may have more use for the worker.
pub(super) fn make_all(sender: &Shared, run: Vec<Attempt>) {
    let clock = &sender.environment.clock;
    let began = clock.monotonic();
    let given_back = |attempt| Made { attempt, ended: None, standing: Standing::Unproven, was_last: false };
    let mut run = run.into_iter().peekable();
    let mut is_first = true;
    while let Some(attempt) = run.next() {
        // The first one was claimed a moment ago. The endpoint of the others may have changed since.
        let renewed = match std::mem::take(&mut is_first) {
            true => Some(attempt.clone()),
            false => sender.store.read_one(|tx| attempts::renewed(tx, &attempt)).unwrap_or_default(),
        };
        let mut made = match renewed {
            Some(attempt) => make(sender, attempt),
            None => Made { standing: Standing::Prompt, ..given_back(attempt) },
        };
        let prompt = made.standing == Standing::Prompt;
        let goes_on = prompt && clock.monotonic().saturating_sub(began) < RUN && !sender.desk().stopping;
        made.was_last = !goes_on || run.peek().is_none();
        let at_once = made.was_last || made.took_longer_than(WORTH_A_COMMIT);
        let rest: Vec<Made> = if made.was_last { run.by_ref().map(given_back).collect() } else { Vec::new() };
        sender.made(std::iter::once(made).chain(rest), at_once);
    }
}

/// Makes an attempt, and never panics.
fn make(sender: &Shared, attempt: Attempt) -> Made {
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
    Made { attempt, ended: Some(ended), standing, was_last: false }
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
