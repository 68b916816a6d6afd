//! Connections to a file that only read: their transactions, and the time that a read may take.

use std::ffi::c_int;
use std::sync::Arc;
use std::time::Duration;

use super::errors::convert;
use super::sqlite_connection::SqliteConnection;
use crate::environment::Clock;
use crate::error::Result;
use crate::store::engine::deadline::Deadline;
use crate::store::engine::readers::ReadConnection;

/// How many instructions of its virtual machine SQLite executes until it asks whether to stop: some ten microseconds.
const INSTRUCTIONS: c_int = 2000;

impl ReadConnection for SqliteConnection {
    fn begin(&self) -> Result<()> {
        let begin = || self.raw.prepare_cached("BEGIN")?.execute([]);
        begin().map(drop).map_err(convert)
    }

    fn begin_snapshot(&self) -> Result<()> {
        self.begin()?;
        let read = || self.raw.prepare_cached("SELECT 1 FROM sqlite_schema LIMIT 1")?.query_row([], |_| Ok(()));
        read().map_err(convert).inspect_err(|_| self.end())
    }

    fn end(&self) {
        if self.raw.is_autocommit() {
            return;
        }
        let end = || self.raw.prepare_cached("ROLLBACK")?.execute([]);
        if let Err(error) = end() {
            tracing::warn!(target: "ticketing::store", %error, "a reading transaction could not be ended");
        }
    }

    fn set_deadline(&self, max_time: Duration, clock: &Arc<dyn Clock>) -> Result<()> {
        let deadline = Deadline::new(max_time, clock);
        self.raw.progress_handler(INSTRUCTIONS, Some(move || deadline.is_over())).map_err(convert)
    }

    fn remove_deadline(&self) {
        if let Err(error) = self.raw.progress_handler(0, None::<fn() -> bool>) {
            tracing::warn!(target: "ticketing::store", %error, "the time limit of a read could not be removed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use crate::environment::{Environment, SystemClock, SystemEntropy};
    use crate::store::engine::readers::Isolation;
    use crate::store::engine::sqlite::Location;
    use crate::store::engine::transaction::Transaction;

    #[test]
    fn a_panic_returns_the_connection_and_ends_its_transaction() {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::new(folder.path().join("ticketing.db"), None);
        drop(location.open().unwrap());
        let environment = Environment::new(Arc::new(SystemClock), Arc::new(SystemEntropy));
        // One connection for look-ups and one for scans.
        let readers = location.readers(1, Duration::from_secs(2), environment).unwrap();
        for _ in 0..2 {
            let panic = || readers.scan(None, |_| -> Result<()> { panic!("on purpose") });
            assert!(catch_unwind(AssertUnwindSafe(panic)).is_err());
            let panic = || readers.look_up(Isolation::Snapshot, |_| -> Result<()> { panic!("on purpose") });
            assert!(catch_unwind(AssertUnwindSafe(panic)).is_err());
        }
        let one = |tx: &Transaction<'_>| tx.query_opt("SELECT 1 AS n", &[], |row| row.get::<i64>("n"));
        assert_eq!(readers.scan(None, one).unwrap(), Some(1));
        assert_eq!(readers.look_up(Isolation::Statement, one).unwrap(), Some(1));
    }
}
