//! Background work on many rows in one transaction: each row by itself.

use crate::error::{Error, Result};
use crate::store::{Savepoint, Transaction};

/// What became of the rows.
pub(crate) struct EachRow<R> {
    /// How many rows were changed.
    pub(crate) changed: usize,
    /// The rows that could not be processed. They are as they were.
    pub(crate) skipped: Vec<SkippedRow<R>>,
}

/// A row that could not be processed.
pub(crate) struct SkippedRow<R> {
    pub(crate) row: R,
    pub(crate) error: Error,
}

/// Runs `work`, which returns whether it has changed something, for each row in a savepoint of its own. A row for which
/// it fails is skipped. Fails if nothing can be written at all.
pub(crate) fn each_row<R: Copy>(
    tx: &Transaction<'_>,
    rows: &[R],
    work: impl Fn(&Transaction<'_>, R) -> Result<bool>,
) -> Result<EachRow<R>> {
    let mut result = EachRow { changed: 0, skipped: Vec::new() };
    for row in rows.iter().copied() {
        match tx.savepoint(|tx| work(tx, row))? {
            Savepoint::Released(changed) => result.changed += usize::from(changed),
            Savepoint::RolledBack(error) if error.concerns_all_rows() => return Err(error),
            Savepoint::RolledBack(error) => result.skipped.push(SkippedRow { row, error }),
        }
    }
    Ok(result)
}
