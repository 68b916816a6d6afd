//! Background work on many rows of sales in one transaction: each row by itself.

use crate::error::{Error, Result};
use crate::model::values::id::EventId;
use crate::store::{LockedEvent, Savepoint, Transaction};

/// After how many statements a transaction leaves the remaining rows to the next one. Rows differ: an order with one
/// item takes about five statements, and one with a hundred items about a hundred.
const MAX_STATEMENTS: u64 = 1000;

/// The outcome of the rows.
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

/// Runs `work`, which returns whether it has changed something, for each row in a savepoint of its own, with the event
/// of the row locked. Stops after `MAX_STATEMENTS`, as many savepoints as the engine wants at most, or a few rows if
/// others wait, but not before the first row. A row for which `work` fails is skipped. Fails if nothing can be written
/// at all.
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
        let is_full = index >= tx.max_savepoints() || tx.statements() - before >= MAX_STATEMENTS;
        if index > 0 && (is_full || tx.should_end()) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;

    #[test]
    fn rows_are_left_to_another_transaction_if_another_caller_waits() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::in_folder(&folder).unwrap();
        let rows: Vec<usize> = (0..100).collect();
        let work = move |tx: &Transaction<'_>| {
            let update = "UPDATE events SET page_views = 0 WHERE id = 1";
            let result = each_row(tx, &rows, |_| EventId::from_raw(1), |tx, _| tx.execute(update, &[]).map(|()| true))?;
            Ok((result.changed, result.remaining.first().copied()))
        };
        // Each row takes two statements, with its savepoint.
        assert_eq!(store.write_while_another_waits(work.clone()), Ok((8, Some(8))));
        assert_eq!(store.write(None, work), Ok((100, None)));
    }
}
