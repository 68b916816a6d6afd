//! What a transaction costs, independently of the machine: its statements, the rows that it changes, and the work of
//! SQLite's virtual machine.

use std::cell::Cell;

use rusqlite::{Connection, Statement, StatementStatus};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TransactionCost {
    /// The statements that the jobs ran, including their own savepoints. The writer's `BEGIN`, `COMMIT` and savepoints
    /// around jobs do not count.
    pub(crate) statements: u64,
    /// Inserted, updated and deleted rows, also those that a foreign key deleted.
    pub(crate) rows: u64,
    /// Instructions of SQLite's virtual machine.
    pub(crate) steps: u64,
}

/// Adds up what the statements of a connection cost, if it is on.
#[derive(Debug, Default)]
pub(super) struct CostMeter {
    is_on: Cell<bool>,
    statements: Cell<u64>,
    steps: Cell<u64>,
    changes_before: Cell<u64>,
}

impl CostMeter {
    /// Starts at 0, or stops.
    pub(super) fn switch(&self, connection: &Connection, is_on: bool) {
        self.is_on.set(is_on);
        if is_on {
            self.statements.set(0);
            self.steps.set(0);
            self.changes_before.set(connection.total_changes());
        }
    }

    pub(super) fn measure<T>(&self, statement: &mut Statement<'_>, run: impl FnOnce(&mut Statement<'_>) -> T) -> T {
        if !self.is_on.get() {
            return run(statement);
        }
        // A cached statement has counted its earlier runs.
        statement.reset_status(StatementStatus::VmStep);
        let result = run(statement);
        let steps = u64::try_from(statement.reset_status(StatementStatus::VmStep)).unwrap_or(0);
        self.statements.set(self.statements.get() + 1);
        self.steps.set(self.steps.get() + steps);
        result
    }

    /// What the statements have cost since the start; `None` if the meter is off.
    pub(super) fn read(&self, connection: &Connection) -> Option<TransactionCost> {
        self.is_on.get().then(|| TransactionCost {
            statements: self.statements.get(),
            rows: connection.total_changes().saturating_sub(self.changes_before.get()),
            steps: self.steps.get(),
        })
    }
}
