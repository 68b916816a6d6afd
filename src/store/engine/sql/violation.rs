//! Violations of unique indexes, by name.

use crate::error::{Error, Result};

/// A unique index of the schema whose violation an operation reports as a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Constraint {
    OrganizationReference,
    OrganizationPageName,
    /// A slug is unique in its organization.
    EventSlug,
    /// A discount code is unique in its event.
    DiscountCode,
    /// A gateway's reference of a payment.
    PaymentReference,
    /// A gateway's reference of a checkout that was replaced by a new one.
    ReplacedCheckout,
}

/// These indexes: their names, their columns as SQLite's messages list them, and what they require.
pub(in crate::store::engine) const UNIQUE_INDEXES: &[(&str, &str, Constraint)] = &[
    ("organizations_by_reference", "organizations.reference", Constraint::OrganizationReference),
    ("organizations_by_page_name", "organizations.page_name", Constraint::OrganizationPageName),
    ("events_by_slug", "events.organization_id, events.slug", Constraint::EventSlug),
    ("discounts_by_code", "discounts.event_id, discounts.code_key", Constraint::DiscountCode),
    ("orders_by_payment", "orders.payment_reference", Constraint::PaymentReference),
    ("replaced_checkouts_by_reference", "replaced_checkouts.reference", Constraint::ReplacedCheckout),
];

/// Why a statement failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StatementError {
    /// The constraint that it has violated; `None` for one that no operation handles, and for any other reason. Only the
    /// engine sees it: a statement cannot be repeated after a violation, because on PostgreSQL that ends the transaction.
    pub(in crate::store::engine) violated: Option<Constraint>,
    /// The error of the operation, unless it handles the violation.
    pub(crate) error: Error,
}

impl From<Error> for StatementError {
    fn from(error: Error) -> Self {
        Self { violated: None, error }
    }
}

impl From<StatementError> for Error {
    fn from(error: StatementError) -> Self {
        error.error
    }
}

/// Replaces a violation of `constraint` with the error that the operation documents. Other errors stay as they are, so
/// that a second constraint can be handled in the same way.
pub(in crate::store) fn on_violation<T>(
    result: Result<T, StatementError>,
    constraint: Constraint,
    error: impl FnOnce() -> Error,
) -> Result<T, StatementError> {
    result.map_err(|failed| if failed.violated == Some(constraint) { error().into() } else { failed })
}
