//! Doing a thing once, however often it is asked for under one idempotency key.

use std::collections::HashSet;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use super::TicketingService;
use crate::error::{Error, Result};
use crate::form::request::Request;
use crate::model::caller::Caller;
use crate::model::id::{OrderId, OrganizationId};
use crate::model::idempotency::{Attempt, IdempotencyKey};
use crate::store::Transaction;
use crate::store::idempotency::{self, Asked, Earlier};

/// The keys that this process is working on.
#[derive(Debug, Clone, Default)]
pub(super) struct KeysAtWork(Arc<Mutex<HashSet<(OrganizationId, IdempotencyKey)>>>);

/// Holds a key while it is worked on. However the work ends, also in a panic, the key is free again.
#[derive(Debug)]
struct KeyAtWork {
    keys: KeysAtWork,
    key: (OrganizationId, IdempotencyKey),
}

impl KeyAtWork {
    fn take(keys: &KeysAtWork, key: (OrganizationId, IdempotencyKey)) -> Result<Self> {
        let mut at_work = keys.0.lock().unwrap_or_else(PoisonError::into_inner);
        match at_work.insert(key.clone()) {
            true => Ok(Self { keys: keys.clone(), key }),
            false => Err(Error::IdempotencyInProgress),
        }
    }
}

impl Drop for KeyAtWork {
    fn drop(&mut self) {
        self.keys.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}

/// An operation that is done once where its caller gave a key, and every time where not.
#[derive(Debug, Clone)]
pub(super) struct Once(Option<Arc<Keyed>>);

#[derive(Debug)]
struct Keyed {
    asked: Asked,
    attempt: Attempt,
    _at_work: KeyAtWork,
}

/// What is to be done about a request.
pub(super) enum Begun<T> {
    /// Nothing: it was answered before.
    Answered(T),
    /// The work.
    Open(Once),
}

/// What came of the same request before.
pub(super) enum Before<T> {
    /// Nothing: it is new.
    Nothing,
    /// This answer.
    Answer(T),
    /// This order, which still waits for its checkout link.
    Order(OrderId),
}

impl Once {
    /// Whether it is done once, and not every time.
    pub(super) fn has_key(&self) -> bool {
        self.0.is_some()
    }

    /// What came of the same request before, as this transaction sees it: another process may be at it too.
    pub(super) fn before<T: DeserializeOwned>(&self, tx: &Transaction<'_>) -> Result<Before<T>> {
        let Some(keyed) = &self.0 else { return Ok(Before::Nothing) };
        match idempotency::find(tx, &keyed.asked)? {
            None => Ok(Before::Nothing),
            Some(Earlier::Order(order)) => Ok(Before::Order(order)),
            Some(Earlier::Answer(json)) => replay(&keyed.attempt, &json).map(Before::Answer),
        }
    }

    /// Does `work` and keeps its answer, unless the request was answered before.
    pub(super) fn run<T: Serialize + DeserializeOwned>(
        &self,
        tx: &Transaction<'_>,
        work: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        if let Before::Answer(answer) = self.before(tx)? {
            return Ok(answer);
        }
        let answer = work()?;
        self.record(tx, &answer).map(|()| answer)
    }

    /// Keeps the answer, in the transaction of the work.
    pub(super) fn record(&self, tx: &Transaction<'_>, answer: &impl Serialize) -> Result<()> {
        let Some(keyed) = &self.0 else { return Ok(()) };
        let json = serde_json::to_string(answer).map_err(|error| Error::Internal(error.to_string()))?;
        idempotency::record(tx, &keyed.asked, &Earlier::Answer(json))
    }

    /// Keeps the order whose answer is still to come.
    pub(super) fn record_order(&self, tx: &Transaction<'_>, order: OrderId) -> Result<()> {
        let Some(keyed) = &self.0 else { return Ok(()) };
        idempotency::record(tx, &keyed.asked, &Earlier::Order(order))
    }

    /// Lets the key try anew, where it still waits for this order: the order came to nothing.
    pub(super) fn forget(&self, tx: &Transaction<'_>, order: OrderId) -> Result<()> {
        self.0.as_ref().map_or(Ok(()), |keyed| idempotency::forget(tx, &keyed.asked, order))
    }
}

fn replay<T: DeserializeOwned>(attempt: &Attempt, json: &str) -> Result<T> {
    attempt.set_replayed(true);
    serde_json::from_str(json).map_err(|error| Error::Internal(format!("a kept answer cannot be read: {error}")))
}

/// Tells one request from another: by its operation, what it is about, and what it says.
fn fingerprint<B: Debug>(operation: &str, about: i64, request: &Request<B>) -> [u8; 32] {
    // What could not be read is part of what was said.
    Sha256::digest(format!("{operation} {about} {:?} {:?}", request.body, request.errors)).into()
}

impl TicketingService {
    /// Begins an operation about the thing with the raw id `about`, or 0. Where the caller gave a key that was answered
    /// before, that answer is it.
    pub(super) fn begin_once<B: Debug, T: DeserializeOwned>(
        &self,
        caller: &Caller,
        (operation, about): (&str, i64),
        request: &Request<B>,
    ) -> Result<Begun<T>> {
        let Some(attempt) = &caller.attempt else { return Ok(Begun::Open(Once(None))) };
        attempt.set_replayed(false);
        let (organization, key) = (caller.organization, attempt.key.clone());
        let asked = Asked { organization, key: key.clone(), fingerprint: fingerprint(operation, about, request) };
        if let Some(Earlier::Answer(json)) = self.store().read_one(|tx| idempotency::find(tx, &asked))? {
            return replay(attempt, &json).map(Begun::Answered);
        }
        let at_work = KeyAtWork::take(&self.inner.keys_at_work, (organization, key))?;
        Ok(Begun::Open(Once(Some(Arc::new(Keyed { asked, attempt: attempt.clone(), _at_work: at_work })))))
    }

    /// Runs `work` in a transaction, once for the caller's key where there is one: what is kept of the answer is written
    /// with the work, so that a crash leaves both or neither.
    pub(super) fn write_once<B, T>(
        &self,
        caller: &Caller,
        operation: (&str, i64),
        request: Request<B>,
        work: impl FnOnce(&Transaction<'_>, Request<B>) -> Result<T> + Send + 'static,
    ) -> Result<T>
    where
        B: Debug + Send + 'static,
        T: Serialize + DeserializeOwned + Send + 'static,
    {
        let once = match self.begin_once(caller, operation, &request)? {
            Begun::Answered(answer) => return Ok(answer),
            Begun::Open(once) => once,
        };
        self.store().write(move |tx| once.run(tx, || work(tx, request)))
    }
}
