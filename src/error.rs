//! What can go wrong, in the domain's words. There is no HTTP in here: the server maps each variant to an answer.

use std::collections::HashSet;
use std::fmt;

use crate::scope::Scope;
use crate::text_enum::text_enum;

/// The result of every operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation was refused or could not be done. Whatever the variant, nothing was changed unless it says so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The request breaks one or more constraints; every broken one is listed with the path of its field.
    #[error("{0}")]
    Validation(FieldErrors),
    /// The state of what the request is about forbids it.
    #[error("{0}")]
    Conflict(Conflict),
    /// There is no such thing in the caller's organization.
    #[error("there is no such {0}")]
    NotFound(&'static str),
    /// The API key is missing, malformed, unknown, expired or revoked: one answer for all of them.
    #[error("the API key is not valid")]
    Unauthenticated,
    /// The caller lacks the scope of the operation.
    #[error("the scope {0} is required")]
    Forbidden(Scope),
    /// What was to be changed is at another revision than the caller named; this one.
    #[error("the resource is at revision {0}, which is not the one to be changed")]
    RevisionMismatch(i64),
    /// The idempotency key came with another request before.
    #[error("the idempotency key was used for another request")]
    IdempotencyKeyReused,
    /// A request with the same idempotency key is being worked on.
    #[error("a request with the same idempotency key is under way")]
    IdempotencyInProgress,
    /// The payment gateway refused or did not answer. The order was cancelled and its places are free again.
    #[error("{0}")]
    PaymentGatewayFailed(String),
    /// The store is busy or shutting down: the same request may succeed a moment later.
    #[error("{0}")]
    Unavailable(&'static str),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A defect of this crate, or of the program around it.
    #[error("{0}")]
    Internal(String),
}

impl Error {
    /// A refusal because of the state, with a sentence for the caller.
    pub(crate) fn conflict(reason: Reason, detail: impl Into<String>) -> Self {
        Self::Conflict(Conflict { reason, detail: detail.into() })
    }

    /// A refusal of one field.
    pub(crate) fn field(path: impl Into<String>, message: impl Into<String>) -> Self {
        let mut errors = FieldErrors::default();
        errors.add(path, message);
        Self::Validation(errors)
    }

    /// The reason, where this is a conflict.
    #[must_use]
    pub fn reason(&self) -> Option<Reason> {
        match self {
            Self::Conflict(conflict) => Some(conflict.reason),
            _ => None,
        }
    }

    /// The fields that were refused; empty where this is no validation error.
    #[must_use]
    pub fn fields(&self) -> &[FieldError] {
        match self {
            Self::Validation(errors) => errors.as_slice(),
            _ => &[],
        }
    }
}

/// One field that breaks a constraint.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct FieldError {
    /// Where the field is, as a JSON path (`items[0].quantity`); empty for the request as a whole.
    pub path: String,
    /// What is wrong with it, for a person.
    pub message: String,
}

/// Every field of a request that breaks a constraint, in the order in which they were found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldErrors {
    told: Vec<FieldError>,
    /// The paths of those that are told. A list may be wrong in each of very many entries.
    paths: HashSet<String>,
}

/// How many errors a sentence about them tells.
const IN_A_SENTENCE: usize = 20;

impl FieldErrors {
    /// Adds one, unless the field or what it is part of was refused already: a field that could not be read
    /// needs no second opinion on the value that stands in for it.
    pub(crate) fn add(&mut self, path: impl Into<String>, message: impl Into<String>) {
        let path = path.into();
        if !self.covers(&path) {
            self.paths.insert(path.clone());
            self.told.push(FieldError { path, message: message.into() });
        }
    }

    pub(crate) fn check(&mut self, holds: bool, path: impl Into<String>, message: impl Into<String>) {
        if !holds {
            self.add(path, message);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.told.is_empty()
    }

    /// The errors, in the order in which they were found.
    #[must_use]
    pub fn as_slice(&self) -> &[FieldError] {
        &self.told
    }

    pub(crate) fn into_result(self) -> Result<()> {
        if self.told.is_empty() { Ok(()) } else { Err(Error::Validation(self)) }
    }

    /// Whether the field, or what it is part of, was refused already.
    pub(crate) fn covers(&self, path: &str) -> bool {
        let ends = path.match_indices(['.', '[']).map(|(end, _)| end);
        std::iter::once(0).chain(ends).chain([path.len()]).any(|end| self.paths.contains(&path[..end]))
    }
}

impl fmt::Display for FieldErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.told.iter().take(IN_A_SENTENCE).enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            if error.path.is_empty() {
                write!(f, "{separator}the request {}", error.message)?;
            } else {
                write!(f, "{separator}{} {}", error.path, error.message)?;
            }
        }
        match self.told.len().saturating_sub(IN_A_SENTENCE) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

/// A refusal because of the state of things.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct Conflict {
    /// The machine-readable reason.
    pub reason: Reason,
    /// What stands in the way, for a person.
    pub detail: String,
}

text_enum! {
    /// Why the state forbids a request.
    pub enum Reason {
        /// Another event of the organization has this slug.
        SlugTaken = "slug-taken",
        /// Another discount of the event has this code.
        CodeTaken = "code-taken",
        /// The event is not PUBLISHED, or has ended.
        EventNotOnSale = "event-not-on-sale",
        /// The ticket type is not ON_SALE.
        TicketTypeNotOnSale = "ticket-type-not-on-sale",
        /// The sale of the ticket type has not begun.
        SaleNotStarted = "sale-not-started",
        /// The sale of the ticket type is over.
        SaleEnded = "sale-ended",
        /// There are not enough places left.
        SoldOut = "sold-out",
        /// More tickets of one type than an order may hold.
        MaxPerOrderExceeded = "max-per-order-exceeded",
        /// The status cannot follow the present one, or what is to be sent again is of a type that is not wanted any more.
        InvalidTransition = "invalid-transition",
        /// The quantity would fall below what is sold or held.
        QuantityBelowSold = "quantity-below-sold",
        /// Something else depends on it.
        InUse = "in-use",
        /// The order is not PENDING.
        OrderNotPending = "order-not-pending",
        /// The order is CANCELLED already.
        OrderNotCancellable = "order-not-cancellable",
        /// The ticket is CANCELLED.
        TicketCancelled = "ticket-cancelled",
        /// The ticket's holder is inside.
        AlreadyCheckedIn = "already-checked-in",
        /// The ticket's holder is not inside.
        NotCheckedIn = "not-checked-in",
        /// The ticket is for another event.
        WrongEvent = "wrong-event",
        /// The event is CANCELLED.
        EventCancelled = "event-cancelled",
        /// The ticket is not valid yet.
        NotYetValid = "not-yet-valid",
        /// The ticket is not valid any more.
        NoLongerValid = "no-longer-valid",
        /// Today is not one of the days the ticket is for.
        NotValidToday = "not-valid-today",
        /// The discount's uses are gone.
        DiscountUsedUp = "discount-used-up",
    }
}

/// What went wrong in the store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no room left on the disk. Nothing was written.
    #[error("the disk is full: nothing was written")]
    Full,
    /// The file, or its folder, cannot be written to.
    #[error("the database cannot be written to: {0}")]
    ReadOnly(String),
    /// The file cannot be opened.
    #[error("the database cannot be opened: {0}")]
    CannotOpen(String),
    /// A copy of the database cannot be made. Nothing is left of it.
    #[error("the copy cannot be made: {0}")]
    CannotCopy(String),
    /// The file is something else than an SQLite database.
    #[error("the file is not a database: {0}")]
    NotADatabase(String),
    /// The database file is damaged.
    #[error("the database is damaged: {0}")]
    Damaged(String),
    /// A stored value is none that this crate writes.
    #[error("corrupt data in table {table}, column {column}, row {row}: {problem}")]
    CorruptRow {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// The row's key.
        row: String,
        /// What is wrong with the value; never the value itself, which may be personal.
        problem: String,
    },
    /// The database was written by a newer version of this crate.
    #[error("the database has schema {found}, newer than {known}, which this program knows")]
    SchemaTooNew {
        /// The schema of the file.
        found: i64,
        /// The newest one that this code knows.
        known: i64,
    },
    /// The database belongs to another program.
    #[error("the database belongs to another program (application id {0})")]
    ForeignDatabase(i64),
    /// The SQLite library is older than what this crate relies on.
    #[error("SQLite {found} is too old: {required} or newer is required")]
    SqliteTooOld {
        /// The library's version.
        found: String,
        /// The oldest one that will do.
        required: &'static str,
    },
    /// Another row holds a value that must be unique. Every operation has a better word for it than this one.
    #[error("another row has the same value: {0}")]
    Taken(String),
    /// Anything else that SQLite or the operating system reported.
    #[error("the store failed: {0}")]
    Failed(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_what_was_refused_is_not_refused_again() {
        let mut errors = FieldErrors::default();
        for path in ["items[1]", "items[1].quantity", "items[10]", "items[1]x", "customer", "customer.email", "custom"]
        {
            errors.add(path, "is wrong");
        }
        let paths: Vec<_> = errors.as_slice().iter().map(|error| error.path.as_str()).collect();
        assert_eq!(paths, ["items[1]", "items[10]", "items[1]x", "customer", "custom"]);
        errors.add("", "must be an object");
        assert!(errors.covers("anything") && errors.covers(""));
    }

    #[test]
    fn a_sentence_tells_the_first_errors_and_how_many_more_there_are() {
        let mut errors = FieldErrors::default();
        for index in 0..IN_A_SENTENCE + 5 {
            errors.add(format!("tags[{index}]"), "must be a string");
        }
        let sentence = errors.to_string();
        assert!(sentence.starts_with("tags[0] must be a string; tags[1] must be a string; "), "{sentence}");
        assert!(sentence.ends_with("; tags[19] must be a string; and 5 more"), "{sentence}");
        assert_eq!(errors.as_slice().len(), 25);
    }
}
