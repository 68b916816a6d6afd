//! What SQLite's errors mean here.

use rusqlite::{ErrorCode, ffi};

use crate::error::{Error, StoreError};

pub(in crate::store) fn is_id_clash(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|error| {
        [ffi::SQLITE_CONSTRAINT_PRIMARYKEY, ffi::SQLITE_CONSTRAINT_ROWID].contains(&error.extended_code)
    })
}

/// What an error of SQLite means here.
pub(in crate::store) fn convert(error: &rusqlite::Error) -> Error {
    let text = error.to_string();
    let Some(code) = error.sqlite_error() else { return StoreError::Failed(text).into() };
    match code.code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed => {
            return Error::Unavailable("the store is busy");
        }
        ErrorCode::DiskFull => StoreError::Full,
        ErrorCode::ReadOnly => StoreError::ReadOnly(text),
        ErrorCode::CannotOpen => StoreError::CannotOpen(text),
        ErrorCode::NotADatabase => StoreError::NotADatabase(text),
        ErrorCode::DatabaseCorrupt => StoreError::Damaged(text),
        ErrorCode::ConstraintViolation if code.extended_code == ffi::SQLITE_CONSTRAINT_UNIQUE || is_id_clash(error) => {
            StoreError::Taken(text)
        }
        _ => StoreError::Failed(format!("{text} (code {})", code.extended_code)),
    }
    .into()
}
