//! The errors of all operations. They are independent of HTTP, apart from a code and a status for each variant.

use std::collections::HashSet;
use std::fmt;

use crate::scope::Scope;
use crate::text_enum::text_enum;

/// The result of every operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation failed. Unless the variant says otherwise, a failed operation has changed nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The request violates constraints. Every invalid field is listed with its path.
    #[error("{0}")]
    Validation(FieldErrors),
    /// The current state of a resource does not allow the request.
    #[error("{0}")]
    Conflict(Conflict),
    /// The caller's organization has no such resource.
    #[error("there is no such {0}")]
    NotFound(ResourceKind),
    /// The API key is missing, malformed, unknown, expired or revoked. The error does not tell which.
    #[error("the API key is not valid")]
    Unauthenticated,
    /// The caller lacks the scope of the operation.
    #[error("the scope {0} is required")]
    Forbidden(Scope),
    /// The caller's organization is [suspended](crate::TicketingService::suspend_organization).
    #[error("the organization is suspended")]
    OrganizationSuspended,
    /// The resource is at this revision, and not at the one that the caller expects.
    #[error("the resource is at revision {0}, not at the one that the request expects")]
    RevisionMismatch(i64),
    /// The idempotency key was used for a different request before.
    #[error("the idempotency key was used for another request; a new request needs a new key")]
    IdempotencyKeyReused,
    /// A request with the same idempotency key is in progress.
    #[error("a request with the same idempotency key is in progress")]
    IdempotencyInProgress,
    /// The payment gateway refused or did not answer. The order was cancelled and its seats were released.
    ///
    /// The text names the order and contains the gateway's own message, which is for logs: it may reveal internal
    /// addresses. It is not part of the message of this error.
    #[error("the payment gateway returned no checkout link; the order was cancelled and its seats were released")]
    PaymentGatewayFailed(String),
    /// The database is busy or shutting down. The same request may succeed a moment later.
    #[error("{0}")]
    Unavailable(&'static str),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A bug in this crate or in the program that uses it.
    #[error("{0}")]
    Internal(String),
}

impl Error {
    /// Creates a conflict. `detail` is a message for the caller.
    pub(crate) fn conflict(reason: Reason, detail: impl Into<String>) -> Self {
        Self::Conflict(Conflict { reason, detail: detail.into() })
    }

    /// Creates a validation error about one field.
    pub(crate) fn field(path: impl Into<String>, message: impl Into<String>) -> Self {
        let mut errors = FieldErrors::default();
        errors.add(path, message);
        Self::Validation(errors)
    }

    /// A stable code for the kind of error, such as `validation-failed`. The server sends it as the last part of a
    /// problem's `type`.
    ///
    /// ```
    #[doc = include_str!("doc_fixture.md")]
    /// let error = service.create_event(&caller, CreateEvent::new("Another", "summer-night",
    /// Timestamp::MAX)).unwrap_err(); assert_eq!((error.code(), error.http_status()), ("conflict", 409));
    /// assert_eq!(error.reason(), Some(Reason::SlugTaken));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Validation(_) => "validation-failed",
            Self::Conflict(_) => "conflict",
            Self::NotFound(_) => "not-found",
            Self::Unauthenticated => "unauthenticated",
            Self::Forbidden(_) => "forbidden",
            Self::OrganizationSuspended => "organization-suspended",
            Self::RevisionMismatch(_) => "precondition-failed",
            Self::IdempotencyKeyReused => "idempotency-key-reused",
            Self::IdempotencyInProgress => "idempotency-in-progress",
            Self::PaymentGatewayFailed(_) => "payment-gateway-failed",
            Self::Unavailable(_) => "unavailable",
            Self::Store(error) if error.is_temporary() => "unavailable",
            Self::Store(_) | Self::Internal(_) => "internal",
        }
    }

    /// The status of an HTTP response that reports the error. With the feature `server`, the error is such a response:
    /// it implements axum's `IntoResponse`.
    #[must_use]
    pub const fn http_status(&self) -> u16 {
        match self {
            Self::Unauthenticated => 401,
            Self::Forbidden(_) | Self::OrganizationSuspended => 403,
            Self::NotFound(_) => 404,
            Self::Conflict(_) | Self::IdempotencyInProgress => 409,
            Self::RevisionMismatch(_) => 412,
            Self::Validation(_) | Self::IdempotencyKeyReused => 422,
            Self::PaymentGatewayFailed(_) => 502,
            Self::Unavailable(_) => 503,
            Self::Store(error) if error.is_temporary() => 503,
            Self::Store(_) | Self::Internal(_) => 500,
        }
    }

    /// Whether the same request may succeed a moment later. If the request has an [idempotency
    /// key](crate::Caller::with_idempotency_key), the retry must have the same key.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        matches!(
            self,
            Self::IdempotencyInProgress
                | Self::PaymentGatewayFailed(_)
                | Self::Unavailable(_)
                | Self::Store(StoreError::Full)
        )
    }

    /// The reason for a conflict; `None` for other errors.
    #[must_use]
    pub fn reason(&self) -> Option<Reason> {
        match self {
            Self::Conflict(conflict) => Some(conflict.reason),
            _ => None,
        }
    }

    /// The errors of fields; empty if this is not a validation error.
    #[must_use]
    pub fn fields(&self) -> &[FieldError] {
        match self {
            Self::Validation(errors) => errors.as_slice(),
            _ => &[],
        }
    }
}

/// A field that violates a constraint.
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct FieldError {
    /// The path of the field, such as `items[0].quantity`; empty for the request as a whole.
    pub path: String,
    /// A message for people. It completes the sentence `<field> …`.
    pub message: String,
}

/// All fields of a request that violate constraints, in the order in which they were found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldErrors {
    errors: Vec<FieldError>,
    /// The paths of `errors`, for a fast lookup: a long list may have an error in every entry.
    paths: HashSet<String>,
}

/// How many errors the message contains at most.
const MAX_IN_MESSAGE: usize = 20;

impl FieldErrors {
    /// Adds an error, unless the field or its parent has one already: a field that could not be read has a placeholder,
    /// about which further errors would make no sense.
    pub(crate) fn add(&mut self, path: impl Into<String>, message: impl Into<String>) {
        let path = path.into();
        if !self.covers(&path) {
            self.paths.insert(path.clone());
            self.errors.push(FieldError { path, message: message.into() });
        }
    }

    /// Adds an error unless the condition `holds`.
    pub(crate) fn check(&mut self, holds: bool, path: impl Into<String>, message: impl Into<String>) {
        if !holds {
            self.add(path, message);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.errors.is_empty()
    }

    /// The errors, in the order in which they were found.
    #[must_use]
    pub fn as_slice(&self) -> &[FieldError] {
        &self.errors
    }

    pub(crate) fn into_result(self) -> Result<()> {
        if self.errors.is_empty() { Ok(()) } else { Err(Error::Validation(self)) }
    }

    /// Whether the field or its parent has an error.
    pub(crate) fn covers(&self, path: &str) -> bool {
        let ends = path.match_indices(['.', '[']).map(|(end, _)| end);
        std::iter::once(0).chain(ends).chain([path.len()]).any(|end| self.paths.contains(&path[..end]))
    }
}

impl fmt::Display for FieldErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.errors.iter().take(MAX_IN_MESSAGE).enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            if error.path.is_empty() {
                write!(f, "{separator}the request {}", error.message)?;
            } else {
                write!(f, "{separator}{} {}", error.path, error.message)?;
            }
        }
        match self.errors.len().saturating_sub(MAX_IN_MESSAGE) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

text_enum! {
    /// A kind of resource that can be missing.
    pub enum ResourceKind {
        /// An organization.
        Organization = "organization",
        /// An API key.
        ApiKey = "API key",
        /// An event.
        Event = "event",
        /// A ticket type.
        TicketType = "ticket type",
        /// An order.
        Order = "order",
        /// A checkout page of the sandbox.
        Checkout = "checkout",
        /// An issued ticket.
        Ticket = "ticket",
        /// A discount.
        Discount = "discount",
        /// A webhook endpoint.
        WebhookEndpoint = "webhook endpoint",
        /// A delivery to a webhook endpoint.
        WebhookDelivery = "webhook delivery",
    }
}

/// A request that the current state does not allow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
#[non_exhaustive]
pub struct Conflict {
    /// The machine-readable reason.
    pub reason: Reason,
    /// A message for people.
    pub detail: String,
}

text_enum! {
    /// Why the current state does not allow a request.
    pub enum Reason {
        /// Another event of the organization has this slug.
        SlugTaken = "slug-taken",
        /// Another organization has this reference.
        ReferenceTaken = "reference-taken",
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
        /// There are not enough seats left.
        SoldOut = "sold-out",
        /// The order has more tickets of one type than allowed.
        MaxPerOrderExceeded = "max-per-order-exceeded",
        /// There are as many resources of the kind as there may be.
        LimitReached = "limit-reached",
        /// The status cannot change in this way, or the notification to resend is of a type to which its endpoint is no
        /// longer subscribed.
        InvalidTransition = "invalid-transition",
        /// The quantity would be less than the number of sold and reserved seats.
        QuantityBelowSold = "quantity-below-sold",
        /// Other resources depend on the resource.
        InUse = "in-use",
        /// The order is not PENDING.
        OrderNotPending = "order-not-pending",
        /// The order is already CANCELLED.
        OrderNotCancellable = "order-not-cancellable",
        /// The ticket is CANCELLED.
        TicketCancelled = "ticket-cancelled",
        /// The ticket is checked in already.
        AlreadyCheckedIn = "already-checked-in",
        /// The ticket is not checked in.
        NotCheckedIn = "not-checked-in",
        /// The ticket is for another event.
        WrongEvent = "wrong-event",
        /// The event is CANCELLED.
        EventCancelled = "event-cancelled",
        /// The ticket is not valid yet.
        NotYetValid = "not-yet-valid",
        /// The ticket is not valid any more.
        NoLongerValid = "no-longer-valid",
        /// The ticket is for other days than today.
        NotValidToday = "not-valid-today",
        /// The discount has reached its usage limit.
        DiscountUsedUp = "discount-used-up",
    }
}

/// An error of the database.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The disk is full. Nothing was written.
    #[error("the disk is full: nothing was written")]
    Full,
    /// The disk could not store what was written to the database file: a sync failed, here or in another process. What
    /// was acknowledged is in the write-ahead log. Nothing more is written until every program that has the file open
    /// has ended; the next one to open it recovers everything.
    #[error("the disk failed to sync the database: writes are refused until all programs that use it are restarted")]
    SyncFailed,
    /// The database file was removed or replaced while the program had it open. Nothing more is written until the
    /// program is restarted: it would be lost.
    #[error("the database file was removed or replaced: {0}; writes are refused until the program is restarted")]
    FileReplaced(String),
    /// The file, or its folder, cannot be written to.
    #[error("the database cannot be written to: {0}")]
    ReadOnly(String),
    /// The file cannot be opened.
    #[error("the database cannot be opened: {0}")]
    CannotOpen(String),
    /// The program has stopped a backup. The incomplete copy was removed.
    #[error("the backup was stopped")]
    BackupStopped,
    /// A backup cannot be made. The incomplete copy was removed.
    #[error("the database cannot be copied: {0}")]
    CannotCopy(String),
    /// The file is not an SQLite database.
    #[error("the file is not a database: {0}")]
    NotADatabase(String),
    /// The database file is damaged.
    #[error("the database is damaged: {0}")]
    Damaged(String),
    /// A stored value is invalid.
    #[error("corrupt data in table {table}, column {column}, row {row}: {problem}")]
    CorruptRow {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// The row's key.
        row: String,
        /// What is wrong with the value. Never contains the value itself, which may be personal data.
        problem: String,
    },
    /// The database was written by a newer version of this crate.
    #[error("the database has schema version {found}, but this program supports only versions up to {known}")]
    SchemaTooNew {
        /// The schema version of the file.
        found: i64,
        /// The newest schema that this version of the crate supports.
        known: i64,
    },
    /// The database belongs to another program.
    #[error("the database belongs to another program (application id {0})")]
    ForeignDatabase(i64),
    /// The SQLite library is too old.
    #[error("SQLite {found} is too old: {required} or newer is required")]
    SqliteTooOld {
        /// The version of the library.
        found: String,
        /// The oldest version that works.
        required: &'static str,
    },
    /// Another row has the same value in a unique column. Values that callers set are reported as a
    /// [`Conflict`] instead.
    #[error("another row has the same value: {0}")]
    Taken(String),
    /// Anything else that SQLite or the operating system reported.
    #[error("the database failed: {0}")]
    Failed(String),
}

impl StoreError {
    /// Whether the request may succeed when the disk has room again, or the program was restarted.
    pub(crate) const fn is_temporary(&self) -> bool {
        matches!(self, Self::Full | Self::SyncFailed | Self::FileReplaced(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_gets_no_error_if_its_parent_has_one() {
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
    fn the_message_has_the_first_errors_and_the_number_of_the_others() {
        let mut errors = FieldErrors::default();
        for index in 0..MAX_IN_MESSAGE + 5 {
            errors.add(format!("tags[{index}]"), "must be a string");
        }
        let sentence = errors.to_string();
        assert!(sentence.starts_with("tags[0] must be a string; tags[1] must be a string; "), "{sentence}");
        assert!(sentence.ends_with("; tags[19] must be a string; and 5 more"), "{sentence}");
        assert_eq!(errors.as_slice().len(), 25);
    }
}
