//! Errors about damaged data. A check reports them instead of failing.

use crate::error::{Error, Result, StoreErrorKind};

/// Passes an error about damaged data to `report`, so that the check goes on. Other errors are returned.
pub(super) fn report_damage(checked: Result<()>, report: impl FnOnce(String)) -> Result<()> {
    let Err(Error::Store(error)) = &checked else { return checked };
    match error.kind() {
        StoreErrorKind::Damaged(_) | StoreErrorKind::CorruptRow { .. } | StoreErrorKind::SumTooLarge => {
            report(error.to_string());
            Ok(())
        }
        _ => checked,
    }
}
