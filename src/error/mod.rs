//! The errors of all operations. They are independent of HTTP, apart from a code and a status for each variant.

mod conflict;
mod fields;
pub(crate) mod gateway_failure;
mod resource_kind;
mod store_error;
mod unavailable;

pub use conflict::{Conflict, Reason};
pub use fields::{FieldError, FieldErrors};
pub use resource_kind::ResourceKind;
pub use store_error::{StoreError, StoreErrorKind};
pub use unavailable::Unavailable;

use std::time::Duration;

use crate::enums::scope::Scope;
use gateway_failure::{GatewayError, GatewayFailure, NoticeError};

/// The result of every operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The error of an operation: why it failed. Unless the variant says otherwise, a failed operation has changed nothing.
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
    /// The resource exists, but is cancelled, so that there is no document of it; or it was replaced by a newer one.
    #[error("the {0} is no longer available")]
    Gone(ResourceKind),
    /// The caller is unknown: the API key is missing, malformed, unknown, expired or revoked. The error does not tell
    /// which.
    #[error("authentication failed")]
    Unauthenticated,
    /// The caller lacks the scope of the operation.
    #[error("the scope {0} is required")]
    Forbidden(Scope),
    /// The login of a program that embeds the server was used by a page of another site. The module `server` describes how
    /// such requests are recognized.
    #[error("the request comes from a page of another site")]
    CrossSiteRequest,
    /// The caller's organization is [suspended](crate::TicketingService::suspend_organization).
    #[error("the organization is suspended")]
    OrganizationSuspended,
    /// The resource is at this revision, and not at the one that the caller expects.
    #[error("the resource is at revision {0}, not at the one that the request expects")]
    RevisionMismatch(i64),
    /// The operation is executed only with an [idempotency key](crate::Caller::with_idempotency_key), because repeating
    /// it would do it twice.
    #[error("an idempotency key is required, so that repeating the request does not pay twice")]
    IdempotencyKeyRequired,
    /// The idempotency key was used for a different request before.
    #[error("the idempotency key was used for another request; a new request needs a new key")]
    IdempotencyKeyReused,
    /// A request with the same idempotency key is in progress, in this process or another.
    #[error("a request with the same idempotency key is in progress")]
    #[non_exhaustive]
    IdempotencyInProgress {
        /// When the request should be sent again. If the process that executes the first one is killed, it has been
        /// noticed by then, and the key can be used again.
        retry_after: Duration,
    },
    /// The organization of an API key has used up its [quota](crate::Builder::write_quota) of bytes.
    #[error("the organization has written {bytes_per_minute} bytes within a minute, which is its quota")]
    #[non_exhaustive]
    WriteQuotaExceeded {
        /// The quota.
        bytes_per_minute: u64,
        /// When the organization can write again.
        retry_after: Duration,
    },
    /// Too many notifications wait for the webhook endpoints of the organization of an API key: the
    /// [limit](crate::Builder::max_waiting_notifications) is reached.
    #[error("{most} notifications wait for the organization's webhook endpoints, which is the limit")]
    #[non_exhaustive]
    WebhookBacklogExceeded {
        /// The limit.
        most: u64,
        /// When the request should be sent again.
        retry_after: Duration,
    },
    /// The payment gateway refused or did not answer. The order was cancelled and its seats were released. The message
    /// names it.
    ///
    /// The gateway's own message is for logs, because it may reveal internal addresses. It is in the source, and not in
    /// the message of this error.
    #[error(transparent)]
    PaymentGatewayFailed(GatewayFailure),
    /// The payment gateway refused or did not answer when a checkout was to be
    /// [renewed](crate::TicketingService::renew_checkout). The order is as it was.
    ///
    /// As with [`PaymentGatewayFailed`](Self::PaymentGatewayFailed), the gateway's own message is in the source only.
    #[error("the payment gateway returned no new checkout link; the order is as it was")]
    CheckoutNotRenewed(#[source] GatewayError),
    /// A notice of the payment gateway was refused.
    ///
    /// What is wrong with it is for logs. It is in the source, and not in the message of this error.
    #[error("the notice was refused")]
    NoticeRefused(#[source] NoticeError),
    /// Something that the request needs is not available. The same request may succeed a moment later.
    #[error("{0}")]
    Unavailable(Unavailable),
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
        Self::Conflict(Conflict { reason, detail: detail.into(), errors: Vec::new() })
    }

    /// Creates the error of a call to the payment gateway for an order that the caller names.
    pub(crate) fn gateway(cause: GatewayError) -> Self {
        Self::PaymentGatewayFailed(cause.into())
    }

    /// Creates a validation error about one field.
    pub(crate) fn field(path: impl Into<String>, message: impl Into<String>) -> Self {
        let mut errors = FieldErrors::default();
        errors.add(path, message);
        Self::Validation(errors)
    }

    /// Whether background work that fails with this error for one row would fail for every other row too: the database
    /// is busy, or cannot be written to.
    pub(crate) fn concerns_all_rows(&self) -> bool {
        use StoreErrorKind::Io;
        match self {
            Self::Unavailable(_) => true,
            Self::Store(error) => error.is_temporary() || matches!(error.kind(), Io(_)),
            _ => false,
        }
    }

    /// A stable code for the kind of error, such as `validation-failed`. The server sends it as the last part of a
    /// problem's `type`: with the feature `server`, the error is such a response, because it implements axum's
    /// `IntoResponse`.
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// let same_slug = CreateEvent::new("Another", "summer-night", Timestamp::MAX);
    /// let error = service.create_event(&caller, same_slug).unwrap_err();
    /// assert_eq!(error.code(), "conflict");
    /// assert_eq!(error.reason(), Some(Reason::SlugTaken));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Validation(_) => "validation-failed",
            Self::Conflict(_) => "conflict",
            Self::NotFound(_) | Self::NoticeRefused(NoticeError::Unsupported) => "not-found",
            Self::Gone(_) => "gone",
            Self::Unauthenticated => "unauthenticated",
            Self::Forbidden(_) | Self::CrossSiteRequest => "forbidden",
            Self::OrganizationSuspended => "organization-suspended",
            Self::RevisionMismatch(_) => "precondition-failed",
            Self::IdempotencyKeyRequired => "idempotency-key-required",
            Self::IdempotencyKeyReused => "idempotency-key-reused",
            Self::IdempotencyInProgress { .. } => "idempotency-in-progress",
            Self::WriteQuotaExceeded { .. } | Self::WebhookBacklogExceeded { .. } => "rate-limited",
            Self::PaymentGatewayFailed(_) | Self::CheckoutNotRenewed(_) => "payment-gateway-failed",
            Self::NoticeRefused(NoticeError::InvalidSignature | NoticeError::Unreadable(_)) => "malformed-request",
            Self::NoticeRefused(NoticeError::Unavailable(_)) | Self::Unavailable(_) => "unavailable",
            Self::Store(error) if error.is_temporary() => "unavailable",
            Self::Store(_) | Self::Internal(_) => "internal",
        }
    }

    /// Whether the same request may succeed a moment later. If the request has an [idempotency
    /// key](crate::Caller::with_idempotency_key), the retry must have the same key.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::IdempotencyInProgress { .. }
            | Self::WriteQuotaExceeded { .. }
            | Self::WebhookBacklogExceeded { .. }
            | Self::PaymentGatewayFailed(_)
            | Self::CheckoutNotRenewed(_)
            | Self::NoticeRefused(NoticeError::Unavailable(_))
            | Self::Unavailable(_) => true,
            Self::Store(error) => *error.kind() == StoreErrorKind::Full,
            _ => false,
        }
    }

    /// The reason for a conflict; `None` for other errors.
    #[must_use]
    pub fn reason(&self) -> Option<Reason> {
        match self {
            Self::Conflict(conflict) => Some(conflict.reason),
            _ => None,
        }
    }

    /// The errors of fields: of a validation error, and of a conflict about some entries of a list. Otherwise empty.
    #[must_use]
    pub fn fields(&self) -> &[FieldError] {
        match self {
            Self::Validation(errors) => errors.as_slice(),
            Self::Conflict(conflict) => &conflict.errors,
            _ => &[],
        }
    }
}

impl From<StoreErrorKind> for Error {
    fn from(kind: StoreErrorKind) -> Self {
        Self::Store(kind.into())
    }
}

impl FieldErrors {
    pub(crate) fn into_result(self) -> Result<()> {
        if self.is_empty() { Ok(()) } else { Err(Error::Validation(self)) }
    }
}
