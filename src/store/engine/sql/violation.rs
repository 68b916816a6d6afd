//! Violations of the schema's constraints, by name.

use crate::error::{Error, Result};

/// A constraint of the schema that requires values to be unique.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Constraint {
    /// The primary key of any table.
    PrimaryKey,
    ApiKeyHash,
    OrganizationReference,
    /// A slug is unique in its organization.
    EventSlug,
    /// A customer's e-mail address is unique in its organization.
    CustomerEmail,
    /// A discount code is unique in its event.
    DiscountCode,
    /// A gateway's reference of a payment.
    PaymentReference,
    /// A gateway's reference of a checkout that was replaced by a new one.
    ReplacedCheckout,
    /// A gateway's reference of a payment that was received is unique in its order.
    ReceivedPayment,
    /// A movement of money is recorded once.
    LedgerEntry,
    /// A gateway's reference of a dispute is unique in its order.
    DisputeReference,
    TicketCode,
    /// The id that a device gave a scan is unique in its organization.
    ScanClientId,
}

/// The unique indexes of the schema: their names, their columns as SQLite's messages list them, and what they require.
pub(in crate::store::engine) const UNIQUE_INDEXES: &[(&str, &str, Constraint)] = &[
    ("api_keys_by_hash", "api_keys.key_hash", Constraint::ApiKeyHash),
    ("organizations_by_reference", "organizations.reference", Constraint::OrganizationReference),
    ("events_by_slug", "events.organization_id, events.slug", Constraint::EventSlug),
    ("customers_by_email", "customers.organization_id, customers.email_key", Constraint::CustomerEmail),
    ("discounts_by_code", "discounts.event_id, discounts.code_key", Constraint::DiscountCode),
    ("orders_by_payment", "orders.payment_reference", Constraint::PaymentReference),
    ("replaced_checkouts_by_reference", "replaced_checkouts.reference", Constraint::ReplacedCheckout),
    ("payments_by_reference", "payments.reference, payments.order_id", Constraint::ReceivedPayment),
    (
        "ledger_entries_by_payment",
        "ledger_entries.payment_id, ledger_entries.kind, ledger_entries.subject_id, ledger_entries.reference, ledger_entries.occurrence",
        Constraint::LedgerEntry,
    ),
    ("disputes_by_reference", "disputes.order_id, disputes.reference", Constraint::DisputeReference),
    ("tickets_by_code", "tickets.code", Constraint::TicketCode),
    ("scans_by_client_id", "scans.organization_id, scans.client_id", Constraint::ScanClientId),
];

/// Why a statement failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StatementError {
    /// The constraint that it has violated; `None` for one that no statement handles, and for any other reason. Only the
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

/// Replaces a violation of `constraint` with the error that the operation documents.
pub(in crate::store) fn on_violation<T>(
    result: Result<T, StatementError>,
    constraint: Constraint,
    error: impl FnOnce() -> Error,
) -> Result<T> {
    match result {
        Err(failed) if failed.violated == Some(constraint) => Err(error()),
        other => Ok(other?),
    }
}
