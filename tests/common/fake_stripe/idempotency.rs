//! Idempotency keys of POST requests: <https://docs.stripe.com/api/idempotent_requests>.

use super::answers::Answer;
use super::request::Request;
use super::state::State;

/// Keys are removed when they are at least a day old.
const RETENTION_SECONDS: i64 = 24 * 60 * 60;

/// What is stored under a key.
pub struct StoredKey {
    pub method_and_path: String,
    pub parameters: Vec<u8>,
    pub created: i64,
    /// The id of the request that ran first.
    pub request_id: String,
    /// The answer, or `None` while the first request runs.
    pub answer: Option<Answer>,
}

/// The decision about a request with a key.
pub enum Decision {
    Execute,
    /// Answers as the first request was answered.
    Replay(Answer, String),
    Refuse(Answer),
}

/// Looks a key up, and marks it as in use if the request is to run.
pub fn begin(state: &mut State, request: &Request, key: &str) -> Decision {
    let now = state.now_seconds();
    state.keys.retain(|_, stored| now - stored.created < RETENTION_SECONDS);
    if key.is_empty() || key.len() > 255 {
        return Decision::Refuse(Answer::invalid("Idempotency keys have 1 to 255 characters", None, None));
    }
    let entry = (request.account(), key.to_owned());
    let method_and_path = format!("{} {}", request.method, request.path);
    match state.keys.get(&entry) {
        None => {
            let stored = StoredKey {
                method_and_path,
                parameters: request.body.clone(),
                created: now,
                request_id: request.id.clone(),
                answer: None,
            };
            state.keys.insert(entry, stored);
            Decision::Execute
        }
        Some(stored) if stored.method_and_path != method_and_path || stored.parameters != request.body => {
            Decision::Refuse(Answer::other_parameters(key))
        }
        Some(StoredKey { answer: Some(answer), request_id, .. }) => {
            Decision::Replay(answer.clone(), request_id.clone())
        }
        Some(_) => Decision::Refuse(Answer::key_in_use(key)),
    }
}

/// Stores the answer of a request that ran, or forgets the key if it did not run.
pub fn finish(state: &mut State, request: &Request, key: &str, answer: Option<&Answer>) {
    let entry = (request.account(), key.to_owned());
    match answer.filter(|answer| answer.is_stored) {
        None => {
            state.keys.remove(&entry);
        }
        Some(answer) => {
            if let Some(stored) = state.keys.get_mut(&entry) {
                stored.answer = Some(answer.clone());
            }
        }
    }
}
