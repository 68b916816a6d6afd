//! Maps SQLite's errors to those of the store.

use rusqlite::{ErrorCode, ffi};

use crate::error::{Error, StoreError, StoreErrorKind, Unavailable};
use crate::store::engine::sql::violation::{StatementError, UNIQUE_INDEXES};

/// Maps an error of any call.
pub(super) fn convert(error: rusqlite::Error) -> Error {
    statement_error(error).into()
}

/// Whether a file could not be synced to the disk.
pub(super) fn is_failed_sync(error: &rusqlite::Error) -> bool {
    let codes = [ffi::SQLITE_IOERR_FSYNC, ffi::SQLITE_IOERR_DIR_FSYNC];
    error.sqlite_error().is_some_and(|error| codes.contains(&error.extended_code))
}

/// Maps an error of a statement, which may have violated a constraint.
pub(super) fn statement_error(error: rusqlite::Error) -> StatementError {
    let message = error.to_string();
    let Some(sqlite_error) = error.sqlite_error() else {
        return Error::from(StoreError::new(StoreErrorKind::Failed(message), error)).into();
    };
    let is_taken = matches!(
        sqlite_error.extended_code,
        ffi::SQLITE_CONSTRAINT_PRIMARYKEY | ffi::SQLITE_CONSTRAINT_ROWID | ffi::SQLITE_CONSTRAINT_UNIQUE
    );
    if !is_taken {
        return other_error(*sqlite_error, message, error).into();
    }
    // SQLite reports the columns of a unique index, and not its name.
    let columns = message.strip_prefix("UNIQUE constraint failed: ");
    let index = UNIQUE_INDEXES.iter().find(|(_, known, _)| columns == Some(*known));
    let violated = index.map(|(.., constraint)| *constraint);
    StatementError { violated, error: StoreError::new(StoreErrorKind::Taken(message), error).into() }
}

fn other_error(sqlite_error: ffi::Error, message: String, error: rusqlite::Error) -> Error {
    let with_code = |message| format!("{message} (code {})", sqlite_error.extended_code);
    let kind = match sqlite_error.code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed => {
            return Error::Unavailable(Unavailable::Busy);
        }
        ErrorCode::OperationInterrupted => {
            return Error::Unavailable(Unavailable::SearchTooLong);
        }
        ErrorCode::DiskFull => StoreErrorKind::Full,
        ErrorCode::ReadOnly => StoreErrorKind::ReadOnly(message),
        ErrorCode::CannotOpen => StoreErrorKind::CannotOpen(message),
        ErrorCode::NotADatabase => StoreErrorKind::NotADatabase(message),
        ErrorCode::DatabaseCorrupt => StoreErrorKind::Damaged(message),
        // SQLite has no code of its own for this.
        ErrorCode::Unknown if message == "integer overflow" => return StoreErrorKind::SumTooLarge.into(),
        ErrorCode::SystemIoFailure => StoreErrorKind::Io(with_code(message)),
        _ => StoreErrorKind::Failed(with_code(message)),
    };
    StoreError::new(kind, error).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::migrations;

    #[test]
    fn each_constraint_is_a_unique_index_of_the_schema() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        for migration in migrations::SQLITE.missing(0).unwrap().unwrap() {
            connection.execute_batch(migration).unwrap();
        }
        let sql = "SELECT group_concat(i.tbl_name || '.' || c.name, ', ' ORDER BY c.seqno)
            FROM sqlite_schema i JOIN pragma_index_info(i.name) c
            WHERE i.name = ?1 AND i.sql LIKE 'CREATE UNIQUE INDEX%'";
        for (name, columns, _) in UNIQUE_INDEXES {
            let found: Option<String> = connection.query_row(sql, [name], |row| row.get(0)).unwrap();
            assert_eq!(found.as_deref(), Some(*columns), "{name}");
        }
    }
}
