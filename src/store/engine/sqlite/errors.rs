//! Maps SQLite's errors to those of the store.

use rusqlite::{ErrorCode, ffi};

use crate::error::{Error, StoreError, StoreErrorKind, Unavailable};
use crate::store::engine::sql::violation::{Constraint, StatementError, UNIQUE_INDEXES};

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
    let violated = match sqlite_error.extended_code {
        ffi::SQLITE_CONSTRAINT_PRIMARYKEY | ffi::SQLITE_CONSTRAINT_ROWID => Some(Constraint::PrimaryKey),
        ffi::SQLITE_CONSTRAINT_UNIQUE => unique_constraint(&message),
        _ => return other_error(*sqlite_error, message, error).into(),
    };
    StatementError { violated, error: StoreError::new(StoreErrorKind::Taken(message), error).into() }
}

/// SQLite reports the columns of a unique index, and not its name.
fn unique_constraint(message: &str) -> Option<Constraint> {
    let columns = message.strip_prefix("UNIQUE constraint failed: ")?;
    UNIQUE_INDEXES.iter().find(|(_, known, _)| *known == columns).map(|(_, _, constraint)| *constraint)
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
    fn every_unique_index_of_the_schema_is_a_constraint_with_a_name() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        for migration in migrations::SQLITE {
            connection.execute_batch(migration).unwrap();
        }
        let sql = "SELECT group_concat(i.tbl_name || '.' || c.name, ', ' ORDER BY c.seqno)
            FROM sqlite_schema i JOIN pragma_index_info(i.name) c
            WHERE i.sql LIKE 'CREATE UNIQUE INDEX%' GROUP BY i.name ORDER BY 1";
        let mut statement = connection.prepare(sql).unwrap();
        let indexes: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        let mut known: Vec<_> = UNIQUE_INDEXES.iter().map(|(_, columns, _)| *columns).collect();
        known.sort_unstable();
        assert_eq!(indexes, known);
    }

    #[test]
    fn a_violation_names_its_constraint() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE tickets (id INTEGER PRIMARY KEY, code TEXT, seat TEXT)").unwrap();
        connection
            .execute_batch("CREATE UNIQUE INDEX c ON tickets (code); CREATE UNIQUE INDEX s ON tickets (seat)")
            .unwrap();
        let insert = |id: i64, code: &str, seat: &str| {
            let inserted = connection.execute("INSERT INTO tickets VALUES (?1, ?2, ?3)", (id, code, seat));
            inserted.map_err(statement_error)
        };
        let constraint_of = |inserted: Result<usize, StatementError>| inserted.unwrap_err().violated;
        assert_eq!(insert(1, "a", "a"), Ok(1));
        assert_eq!(constraint_of(insert(1, "b", "b")), Some(Constraint::PrimaryKey));
        assert_eq!(constraint_of(insert(2, "a", "b")), Some(Constraint::TicketCode));
        assert_eq!(constraint_of(insert(2, "b", "a")), None);
    }
}
