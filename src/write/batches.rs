//! Background work on many rows: a run of it, and rows that are changed in batches.

use std::collections::BTreeMap;

use super::pipeline::Writes;
use super::skipped_rows::SkippedTable;
use crate::error::{Error, Result};
use crate::fair::Tenant;
use crate::model::operation::maintenance::MaintenanceReport;
use crate::model::values::id::{EventId, OrganizationId};
use crate::sales::EachRow;
use crate::store::Transaction;

/// How many orders or events are expired in one transaction, and fewer if they have many items. Other writes wait at
/// most for one such transaction.
const BATCH: i64 = 200;

/// A run of the maintenance, or a part of its work that a request does.
pub(crate) struct Run<'r> {
    /// In whose turn it writes: that of the organization of the request.
    pub(crate) tenant: Tenant,
    stop: &'r dyn Fn() -> bool,
    pub(crate) report: MaintenanceReport,
    /// Whether a step ended although it has more to do now.
    pub(crate) has_more: bool,
}

impl<'r> Run<'r> {
    /// A run that ends when `stop` returns `true`.
    pub(crate) fn new(stop: &'r dyn Fn() -> bool) -> Self {
        Self { tenant: None, stop, report: MaintenanceReport::default(), has_more: false }
    }

    /// The same for a request of this organization.
    pub(crate) fn of(self, organization: OrganizationId) -> Self {
        Self { tenant: Some(organization), ..self }
    }

    pub(crate) fn stops(&self) -> bool {
        (self.stop)()
    }
}

/// Rows that are read and changed in batches.
pub(crate) struct Batches<R, F> {
    pub(crate) table: SkippedTable,
    /// The next rows after a row. Usually there are none: a read finds that out without waiting for the writer.
    pub(crate) read: F,
    pub(crate) change: fn(&Transaction<'_>, &[R]) -> Result<EachRow<R>>,
    /// The primary key of a row.
    pub(crate) key: fn(&R) -> i64,
    /// The event whose sale a row is of.
    pub(crate) event: fn(&R) -> EventId,
}

/// Changes all rows, and returns the number of those that were changed. Rows that cannot be processed are skipped.
/// Those of an event that other transactions keep locked are left to the next run.
pub(crate) fn in_batches<R, F>(writes: &Writes, run: &mut Run<'_>, batches: &Batches<R, F>) -> Result<usize>
where
    R: Copy + Send + Sync + 'static,
    F: Fn(&Transaction<'_>, Option<R>, i64) -> Result<Vec<R>>,
{
    let mut changed = 0;
    let mut after = None;
    while !run.stops() {
        let rows = writes.store()?.read(|tx| (batches.read)(tx, after, BATCH))?;
        let Some(last) = rows.last() else { break };
        after = Some(*last);
        let rows: Vec<R> =
            rows.into_iter().filter(|row| !writes.is_skipped(batches.table, (batches.key)(row))).collect();
        for mut pending in writes.by_transaction(rows, batches.event) {
            while let Some(first) = pending.first()
                && !run.stops()
            {
                let event = (batches.event)(first);
                let change = batches.change;
                let batch =
                    writes.store()?.write_unless_locked(run.tenant, event.into(), move |tx| change(tx, &pending))?;
                let Some(batch) = batch else { break };
                changed += batch.changed;
                for skipped in batch.skipped {
                    run.skip(writes, batches.table, (batches.key)(&skipped.row), &skipped.error);
                }
                pending = batch.remaining;
            }
        }
    }
    Ok(changed)
}

impl Run<'_> {
    pub(crate) fn skip(&mut self, writes: &Writes, table: SkippedTable, key: i64, error: &Error) {
        self.report.skipped_rows += 1;
        writes.skip_row(table, key, error);
    }
}

impl Writes {
    /// Divides rows into those that one transaction changes: those of one event, if a transaction locks it.
    pub(crate) fn by_transaction<R>(&self, rows: Vec<R>, event: impl Fn(&R) -> EventId) -> Vec<Vec<R>> {
        if !self.store_in_operation().locks_events() {
            return vec![rows];
        }
        let mut of_events = BTreeMap::<_, Vec<R>>::new();
        for row in rows {
            of_events.entry(event(&row)).or_default().push(row);
        }
        of_events.into_values().collect()
    }
}
