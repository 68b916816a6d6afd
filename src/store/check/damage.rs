//! Errors about damaged data. A check reports them instead of failing.

use crate::error::{Error, Result, StoreErrorKind};

/// Passes an error about damaged data to `report`, so that the check goes on. Other errors are returned.
pub(super) fn report_damage(checked: Result<()>, report: impl FnOnce(String)) -> Result<()> {
    let Err(Error::Store(error)) = &checked else { return checked };
    match error.kind() {
        StoreErrorKind::Damaged(_) | StoreErrorKind::CorruptRow { .. } => report(error.to_string()),
        // A sum exceeds 64 bits. SQLite reports this with its general error code, SQLITE_ERROR, and no extended code,
        // so only the message tells. PostgreSQL has a code for it.
        StoreErrorKind::Failed(text) if text.contains("integer overflow") || text.ends_with("(SQLSTATE 22003)") => {
            report("the sum of the values exceeds 64 bits".to_owned());
        }
        _ => return checked,
    }
    Ok(())
}
