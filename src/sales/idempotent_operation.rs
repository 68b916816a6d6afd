//! Idempotent operations: an operation with an idempotency key runs once, and a retry gets the stored result.
//!
//! The result is stored in the transaction that does the work, so that a crash leaves both or neither. Errors are not
//! stored: after an error, the same key runs the operation again.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::form::request::Request;
use crate::model::tenants::caller::KeyedCaller;
use crate::model::tenants::idempotency::Replayable;
use crate::model::values::amounts::Amounts;
use crate::model::values::id::{Id, Kind, OrderId};
use crate::store::Transaction;
use crate::store::tenants::idempotency_records::{self, IdempotentRequest, StoredOutcome};

/// A result that is stored as JSON and read again.
pub(crate) trait OperationResult: Amounts + Clone + Serialize + DeserializeOwned {}

impl<T: Amounts + Clone + Serialize + DeserializeOwned> OperationResult for T {}

/// The JSON of a stored result: the fields of the result, and the decimals of its amounts, which the numbers of JSON do
/// not have.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StoredResult<'a, T> {
    #[serde(flatten)]
    result: &'a T,
    #[serde(skip_serializing_if = "Option::is_none")]
    amount_decimals: Option<u8>,
}

/// The decimals in the JSON of a [`StoredResult`].
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredDecimals {
    amount_decimals: Option<u8>,
}

fn read_result<T: OperationResult>(json: &str) -> serde_json::Result<T> {
    let mut result: T = serde_json::from_str(json)?;
    let StoredDecimals { amount_decimals } = serde_json::from_str(json)?;
    if let Some(decimals) = amount_decimals {
        result.set_decimals(decimals);
    }
    Ok(result)
}

/// What an operation acts on. A key that was used for one target cannot be used for another.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OperationTarget {
    operation: &'static str,
    /// The raw id of the resource, or 0 if the request body names everything.
    resource: i64,
}

impl OperationTarget {
    /// An operation whose request body names everything that it acts on.
    pub(crate) const fn new(operation: &'static str) -> Self {
        Self { operation, resource: 0 }
    }

    /// An operation on one resource, or on the members of one.
    pub(crate) const fn on<K: Kind>(operation: &'static str, resource: Id<K>) -> Self {
        Self { operation, resource: resource.raw() }
    }
}

/// One execution of an operation, with or without an idempotency key. Without a key, nothing is stored and nothing is
/// found.
#[derive(Debug, Clone)]
pub(crate) struct IdempotentOperation(Option<IdempotentRequest>);

/// The outcome of an earlier execution of the same request.
pub(crate) enum PriorOutcome<T> {
    /// The request is new.
    None,
    /// It succeeded with this result.
    Result(T),
    /// It created this order, and has not got as far as the checkout link.
    PendingOrder(OrderId),
}

impl IdempotentOperation {
    pub(crate) fn new<B: Serialize>(call: &KeyedCaller, target: OperationTarget, request: &Request<B>) -> Result<Self> {
        let Some(key) = call.idempotency_key()? else { return Ok(Self(None)) };
        let fingerprint = fingerprint(target, request)?;
        let sender = call.caller.key.map_or(0, Id::raw);
        let organization = call.caller.organization;
        Ok(Self(Some(IdempotentRequest { organization, sender, key, fingerprint })))
    }

    pub(crate) fn has_key(&self) -> bool {
        self.0.is_some()
    }

    /// The key and the fingerprint of the request; `None` if the caller gave no key.
    pub(crate) fn keyed_request(&self) -> Option<&IdempotentRequest> {
        self.0.as_ref()
    }

    /// Lets other transactions wait that execute the same request. Code that locks the event first need not lock the
    /// key.
    pub(crate) fn lock(&self, tx: &Transaction<'_>) -> Result<()> {
        match &self.0 {
            Some(request) => idempotency_records::lock(tx, request),
            None => Ok(()),
        }
    }

    /// Looks up what the same request led to before, in this process or another.
    pub(crate) fn prior_outcome<T: OperationResult>(&self, tx: &Transaction<'_>) -> Result<PriorOutcome<T>> {
        let Some(request) = &self.0 else { return Ok(PriorOutcome::None) };
        match idempotency_records::find(tx, request)? {
            None => Ok(PriorOutcome::None),
            Some(StoredOutcome::PendingOrder(order)) => Ok(PriorOutcome::PendingOrder(order)),
            Some(StoredOutcome::Result(json)) => read_result(&json).map(PriorOutcome::Result).map_err(|error| {
                Error::Internal(format!("the stored result of an idempotent request cannot be read: {error}"))
            }),
        }
    }

    /// Does `work` and stores its result, unless the same request has succeeded before.
    pub(crate) fn run<T: OperationResult>(
        &self,
        tx: &Transaction<'_>,
        work: impl FnOnce() -> Result<T>,
    ) -> Result<Replayable<T>> {
        self.lock(tx)?;
        if let PriorOutcome::Result(result) = self.prior_outcome(tx)? {
            return Ok(Replayable::replayed(result));
        }
        let result = work()?;
        self.store_result(tx, &result)?;
        Ok(Replayable::executed(result))
    }

    /// Stores the result, in the transaction of the work.
    pub(crate) fn store_result<T: OperationResult>(&self, tx: &Transaction<'_>, result: &T) -> Result<()> {
        let Some(request) = &self.0 else { return Ok(()) };
        let stored = StoredResult { result, amount_decimals: result.decimals() };
        let json = serde_json::to_string(&stored).map_err(|error| Error::Internal(error.to_string()))?;
        idempotency_records::store(tx, request, &StoredOutcome::Result(json))
    }

    /// Stores that the order was created, but has no checkout link yet.
    pub(crate) fn store_pending_order(&self, tx: &Transaction<'_>, id: OrderId) -> Result<()> {
        let Some(request) = &self.0 else { return Ok(()) };
        idempotency_records::store(tx, request, &StoredOutcome::PendingOrder(id))
    }

    /// Frees the key if it is stored with this pending order: the order was cancelled, and a retry starts over.
    pub(crate) fn forget_pending_order(&self, tx: &Transaction<'_>, order: OrderId) -> Result<()> {
        let Some(request) = &self.0 else { return Ok(()) };
        idempotency_records::delete_pending_order(tx, request, order)
    }
}

/// Distinguishes requests by target and body. Stored fingerprints are compared with those of later versions, so this is
/// over the JSON of the request, which does not contain fields that the request does not set.
fn fingerprint<B: Serialize>(target: OperationTarget, request: &Request<B>) -> Result<[u8; 32]> {
    let OperationTarget { operation, resource } = target;
    let mut hash = Sha256::new();
    hash.update(format!("{operation} {resource} "));
    hash.update(serde_json::to_vec(&request.body).map_err(|error| Error::Internal(error.to_string()))?);
    if !request.errors.is_empty() {
        // Values that could not be read. Such a request never succeeds, so this is never stored.
        hash.update(format!(" {:?}", request.errors));
    }
    Ok(hash.finalize().into())
}
