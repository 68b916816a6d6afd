//! Maps PostgreSQL's errors to those of the store.

use std::error::Error as _;
use std::io;

use postgres::error::{Severity, SqlState};

use super::purpose::Purpose;
use crate::error::{Error, StoreError, StoreErrorKind, Unavailable};
use crate::store::engine::sql::violation::{StatementError, UNIQUE_INDEXES};

/// What a failed statement means for its transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store::engine::postgres) enum Failure {
    /// The same transaction may succeed when it is run again: it was chosen to end a deadlock, would have seen changes
    /// in the wrong order, or did not change a row that another one has changed meanwhile.
    RunAgain,
    /// The same job may succeed when it is run again, and has not failed for its transaction: another one has locked
    /// what the job would insert.
    JobAgain,
    /// The connection is lost, and with it the transaction.
    ConnectionLost,
    /// Another row has the same value of a column that must be unique, or a row that this one refers to was deleted: a
    /// transaction has changed what the job has read.
    Violation,
    /// The server accepts no writes: it has become a standby, or was told so, for example because its disk is nearly
    /// full.
    ReadOnly,
    /// The schema has another version than this program works with, or what a newer version has changed in it is
    /// missing.
    OtherSchema,
    /// Other transactions have kept a row locked for too long.
    LockTimeout,
    /// Anything else.
    Other,
}

pub(in crate::store::engine::postgres) fn failure(error: &postgres::Error) -> Failure {
    let Some(code) = error.code() else {
        let is_io = matches!(error.source(), Some(source) if source.is::<io::Error>());
        return if error.is_closed() || is_io { Failure::ConnectionLost } else { Failure::Other };
    };
    match *code {
        SqlState::UNIQUE_VIOLATION | SqlState::FOREIGN_KEY_VIOLATION => Failure::Violation,
        // An UPDATE divides by the number of changed rows, if it has to change one.
        SqlState::T_R_SERIALIZATION_FAILURE | SqlState::T_R_DEADLOCK_DETECTED => Failure::RunAgain,
        // Nothing else is NULL in this table, see `INSERT_TOKEN`.
        SqlState::NOT_NULL_VIOLATION if table(error) == Some("transaction_tokens") => Failure::OtherSchema,
        // The last one: a prepared statement has other columns than before.
        SqlState::UNDEFINED_COLUMN | SqlState::UNDEFINED_TABLE | SqlState::FEATURE_NOT_SUPPORTED => {
            Failure::OtherSchema
        }
        SqlState::READ_ONLY_SQL_TRANSACTION => Failure::ReadOnly,
        SqlState::ADMIN_SHUTDOWN
        | SqlState::CRASH_SHUTDOWN
        | SqlState::CANNOT_CONNECT_NOW
        | SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT
        | SqlState::T_R_STATEMENT_COMPLETION_UNKNOWN => Failure::ConnectionLost,
        SqlState::LOCK_NOT_AVAILABLE => Failure::LockTimeout,
        _ if code.code().starts_with("08") || ends_connection(error) => Failure::ConnectionLost,
        _ => Failure::Other,
    }
}

/// The table whose constraint was violated.
fn table(error: &postgres::Error) -> Option<&str> {
    error.as_db_error().and_then(postgres::error::DbError::table)
}

/// Whether the server closes the connection after the error.
fn ends_connection(error: &postgres::Error) -> bool {
    let severity = error.as_db_error().and_then(postgres::error::DbError::parsed_severity);
    matches!(severity, Some(Severity::Fatal | Severity::Panic))
}

/// The error of a connection that cannot be opened.
pub(in crate::store::engine::postgres) fn cannot_open(error: postgres::Error) -> Error {
    let message = match (error.as_db_error(), std::error::Error::source(&error)) {
        (Some(error), _) => error.message().to_owned(),
        (None, Some(source)) => source.to_string(),
        (None, None) => error.to_string(),
    };
    StoreError::new(StoreErrorKind::CannotOpen(message), error).into()
}

/// Maps an error of any call.
pub(in crate::store::engine::postgres) fn convert(error: postgres::Error, purpose: Purpose) -> Error {
    statement_error(error, purpose).into()
}

/// Maps an error of a statement, which may have violated a constraint.
pub(in crate::store::engine::postgres) fn statement_error(error: postgres::Error, purpose: Purpose) -> StatementError {
    let is_unique = error.code() == Some(&SqlState::UNIQUE_VIOLATION);
    if !is_unique && error.code() != Some(&SqlState::FOREIGN_KEY_VIOLATION) {
        return other_error(error, purpose).into();
    }
    let name = error.as_db_error().and_then(postgres::error::DbError::constraint).unwrap_or_default();
    // No foreign key has the name of an index.
    let violated = UNIQUE_INDEXES.iter().find(|(index, ..)| *index == name).map(|(.., constraint)| *constraint);
    // The detail of the message has the values.
    let error = match is_unique {
        true => StoreErrorKind::Taken(name.to_owned()).into(),
        false => StoreErrorKind::Failed(format!("the reference {name} is to a row that does not exist")).into(),
    };
    StatementError { violated, error }
}

fn other_error(error: postgres::Error, purpose: Purpose) -> Error {
    match failure(&error) {
        Failure::RunAgain if purpose == Purpose::Read => return Error::Unavailable(Unavailable::SearchCancelled),
        Failure::RunAgain | Failure::JobAgain | Failure::LockTimeout => return Error::Unavailable(Unavailable::Busy),
        Failure::ConnectionLost => {
            tracing::debug!(target: "ticketing::store", %error, "a connection to the database was lost");
            return Error::Unavailable(Unavailable::NoAnswer);
        }
        Failure::Violation | Failure::ReadOnly | Failure::OtherSchema | Failure::Other => {}
    }
    let message = error.as_db_error().map_or_else(|| error.to_string(), |known| known.message().to_owned());
    let with_code = |code: &SqlState| format!("{message} (SQLSTATE {})", code.code());
    let kind = match error.code() {
        Some(&SqlState::QUERY_CANCELED) if purpose == Purpose::Write => {
            return Error::Unavailable(Unavailable::Busy);
        }
        Some(&SqlState::QUERY_CANCELED) => {
            return Error::Unavailable(Unavailable::SearchTooLong);
        }
        Some(&SqlState::TOO_MANY_CONNECTIONS) => return Error::Unavailable(Unavailable::NoConnection),
        Some(&SqlState::READ_ONLY_SQL_TRANSACTION) => StoreErrorKind::ReadOnly(message),
        Some(&SqlState::DISK_FULL) => StoreErrorKind::Full,
        Some(&(SqlState::DATA_CORRUPTED | SqlState::INDEX_CORRUPTED)) => StoreErrorKind::Damaged(message),
        Some(&SqlState::NUMERIC_VALUE_OUT_OF_RANGE) => return StoreErrorKind::SumTooLarge.into(),
        Some(&SqlState::IO_ERROR) => StoreErrorKind::Io(message),
        Some(code) => StoreErrorKind::Failed(with_code(code)),
        None => StoreErrorKind::Failed(message),
    };
    StoreError::new(kind, error).into()
}
