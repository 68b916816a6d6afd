//! Errors about damaged data. A check reports them instead of failing.

use crate::error::{Error, Result, StoreError};

/// Passes an error about damaged data to `report`, so that the check goes on. Other errors are returned.
pub(super) fn report_damage(checked: Result<()>, report: impl FnOnce(String)) -> Result<()> {
    match checked {
        Err(Error::Store(error @ (StoreError::Damaged(_) | StoreError::CorruptRow { .. }))) => {
            report(error.to_string());
            Ok(())
        }
        // A sum exceeds 64 bits. SQLite reports this with its general error code, SQLITE_ERROR, and no extended code,
        // so only the message tells.
        Err(Error::Store(StoreError::Failed(text))) if text.contains("integer overflow") => {
            report("the sum of the values exceeds 64 bits".to_owned());
            Ok(())
        }
        other => other,
    }
}
