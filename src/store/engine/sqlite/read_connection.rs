//! Connections to a file that only read: their transactions, and the time that a read may take.

use std::ffi::c_int;
use std::sync::Arc;
use std::time::Duration;

use super::errors::convert;
use super::sqlite_connection::SqliteConnection;
use crate::environment::Clock;
use crate::error::Result;
use crate::model::values::cancellation::CancellationToken;
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
        let token = CancellationToken::current();
        let stop_at = clock.monotonic().saturating_add(max_time);
        let clock = Arc::clone(clock);
        let must_stop =
            move || clock.monotonic() >= stop_at || token.as_ref().is_some_and(CancellationToken::is_cancelled);
        self.raw.progress_handler(INSTRUCTIONS, Some(must_stop)).map_err(convert)
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

    use crate::environment::{Environment, ManualClock, SystemEntropy};
    use crate::error::Error;
    use crate::model::values::cancellation::CancellationToken;
    use crate::model::values::timestamp::Timestamp;
    use crate::store::engine::isolation::Isolation;
    use crate::store::engine::readers::Readers;
    use crate::store::engine::sqlite::Location;
    use crate::store::engine::sqlite::connection_pool::ConnectionPool;

    const ENDLESS: &str = "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers) SELECT count(*) AS n FROM numbers";

    struct Fixture {
        readers: Readers<ConnectionPool>,
        clock: ManualClock,
        _folder: tempfile::TempDir,
    }

    impl Fixture {
        /// One connection for look-ups and one for scans.
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let location = Location::new(folder.path().join("ticketing.db"), None);
            drop(location.open().unwrap());
            let clock = ManualClock::new(Timestamp::UNIX_EPOCH);
            let environment = Environment::new(Arc::new(clock.clone()), Arc::new(SystemEntropy));
            let readers = location.readers(2, Duration::from_secs(2), environment, Arc::default()).unwrap();
            Self { readers, clock, _folder: folder }
        }

        fn scan(&self, sql: &str) -> Result<Option<i64>> {
            self.readers.scan(None, |tx| tx.query_opt(sql, &[], |row| row.get("n")))
        }

        fn look_up(&self, sql: &str) -> Result<Option<i64>> {
            self.readers.look_up(Isolation::Statement, |tx| tx.query_opt(sql, &[], |row| row.get("n")))
        }
    }

    #[test]
    fn a_scan_is_interrupted_after_its_time_and_look_ups_go_on_meanwhile() {
        let fixture = Fixture::new();
        std::thread::scope(|scope| {
            let scan = scope.spawn(|| fixture.scan(ENDLESS));
            fixture.clock.advance(Duration::from_millis(1900));
            assert_eq!(fixture.look_up("SELECT 1 AS n").unwrap(), Some(1));
            while !scan.is_finished() {
                fixture.clock.advance(Duration::from_millis(200));
            }
            assert!(matches!(scan.join().unwrap(), Err(Error::Unavailable(_))));
        });
        assert_eq!(fixture.scan("SELECT 2 AS n").unwrap(), Some(2));
    }

    #[test]
    fn a_scan_is_interrupted_when_its_result_is_not_needed_any_more() {
        let fixture = Fixture::new();
        let token = CancellationToken::default();
        std::thread::scope(|scope| {
            let scan = scope.spawn(|| token.run(|| fixture.scan(ENDLESS)));
            token.cancel();
            assert!(matches!(scan.join().unwrap(), Err(Error::Unavailable(_))));
        });
        assert_eq!(fixture.scan("SELECT 2 AS n").unwrap(), Some(2));
    }

    #[test]
    fn a_panic_returns_the_connection_and_ends_its_transaction() {
        let fixture = Fixture::new();
        for _ in 0..2 {
            let panic = || fixture.readers.scan(None, |_| -> Result<()> { panic!("on purpose") });
            assert!(catch_unwind(AssertUnwindSafe(panic)).is_err());
            let panic = || fixture.readers.look_up(Isolation::Snapshot, |_| -> Result<()> { panic!("on purpose") });
            assert!(catch_unwind(AssertUnwindSafe(panic)).is_err());
        }
        assert_eq!(fixture.scan("SELECT 2 AS n").unwrap(), Some(2));
        assert_eq!(fixture.look_up("SELECT 1 AS n").unwrap(), Some(1));
    }
}
