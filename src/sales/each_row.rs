//! Background work on many rows of sales in one transaction: each row by itself.

use crate::error::{Error, Result};
use crate::model::values::id::EventId;
use crate::store::{LockedEvent, Savepoint, Transaction};

/// After how many statements a transaction leaves the remaining rows to the next one. Rows differ: an order with one item
/// takes about five statements, and one with a hundred items about a hundred.
const MAX_STATEMENTS: u64 = 1000;

/// What became of the rows.
pub(crate) struct EachRow<R> {
    /// How many rows were changed.
    pub(crate) changed: usize,
    /// The rows that are left to the next transaction.
    pub(crate) remaining: Vec<R>,
    /// The rows that could not be processed. They are as they were.
    pub(crate) skipped: Vec<SkippedRow<R>>,
}

/// A row that could not be processed.
pub(crate) struct SkippedRow<R> {
    pub(crate) row: R,
    pub(crate) error: Error,
}

/// Runs `work`, which returns whether it has changed something, for each row in a savepoint of its own, with the event of
/// the row locked. Stops after `MAX_STATEMENTS`, or as many savepoints as the engine wants at most, but not before the
/// first row. A row for which `work` fails is skipped. Fails if nothing can be written at all.
pub(crate) fn each_row<R: Copy>(
    tx: &Transaction<'_>,
    rows: &[R],
    event: impl Fn(&R) -> EventId,
    work: impl Fn(&LockedEvent<'_>, R) -> Result<bool>,
) -> Result<EachRow<R>> {
    let mut rows = rows.to_vec();
    // Every transaction that locks several events locks them in this order.
    rows.sort_by_key(&event);
    let mut result = EachRow { changed: 0, remaining: Vec::new(), skipped: Vec::new() };
    let before = tx.statements();
    for (index, row) in rows.iter().copied().enumerate() {
        if index > 0 && (index >= tx.max_savepoints() || tx.statements() - before >= MAX_STATEMENTS) {
            result.remaining = rows[index..].to_vec();
            break;
        }
        match tx.savepoint(|tx| work(&tx.lock_event(event(&row))?, row))? {
            Savepoint::Released(changed) => result.changed += usize::from(changed),
            Savepoint::RolledBack(error) if error.concerns_all_rows() => return Err(error),
            Savepoint::RolledBack(error) => result.skipped.push(SkippedRow { row, error }),
        }
    }
    Ok(result)
}
