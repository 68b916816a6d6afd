//! What can go wrong on the way to the API and back.

use std::time::Duration;

/// A fault of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Answers 429. Nothing is executed or stored.
    RateLimited,
    /// Answers 429, and that the client should not send the request again.
    RateLimitedForLong,
    /// Answers 503, and that the client should send the request again. Nothing is executed or stored.
    AsksToRetry,
    /// Answers 500 without an effect. The answer is stored under the idempotency key.
    ServerError,
    /// Executes the request and answers 500. The answer is stored under the idempotency key.
    ServerErrorAfterEffect,
    /// Answers with a page of a proxy, which is not JSON.
    BadGateway,
    /// Closes the connection without executing the request.
    CloseBefore,
    /// Executes the request and closes the connection without an answer.
    CloseAfter,
    /// Executes the request and never answers.
    HangAfter,
    /// Waits before it executes the request. Meanwhile its idempotency key is in use.
    Slow(Duration),
}

/// Which requests have a fault.
#[derive(Debug, Clone)]
pub struct Rule {
    pub method: String,
    /// What the path begins with.
    pub path: String,
    pub fault: Fault,
    /// How many more requests.
    pub remaining: usize,
}

/// Takes the fault of a request from the first rule that applies.
pub fn take(rules: &mut Vec<Rule>, method: &str, path: &str) -> Option<Fault> {
    let index = rules.iter().position(|rule| rule.method == method && path.starts_with(&rule.path))?;
    let rule = &mut rules[index];
    rule.remaining -= 1;
    let fault = rule.fault.clone();
    if rule.remaining == 0 {
        rules.remove(index);
    }
    Some(fault)
}
