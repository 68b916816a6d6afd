//! The connections that only read.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::time::Duration;

use super::connection::SqliteConnection;
use super::connection_pool::ConnectionPool;
use super::errors::convert;
use super::read_budget::with_budget;
use crate::environment::Environment;
use crate::error::Result;
use crate::model::id::OrganizationId;
use crate::model::timestamp::Timestamp;
use crate::store::engine::ids::IdSource;
use crate::store::engine::scan_permits::ScanPermits;
use crate::store::engine::transaction::Transaction;

/// The connections that only read, in two classes: a look-up never waits for a scan.
pub(crate) struct Readers {
    /// For reads that find a few rows by an index, like authentication and most operations.
    look_ups: ConnectionPool,
    /// For reads that may look at many rows, like searches and filtered lists, and for snapshots that a program holds.
    scans: ConnectionPool,
    /// There is one permit for each connection for scans, so that a read with a permit never waits for a connection.
    scan_permits: ScanPermits,
    /// How long a scan may take.
    scan_budget: Duration,
    environment: Environment,
}

/// Which state of the database the statements of a read see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum Isolation {
    /// All statements see the state at the first of them.
    Snapshot,
    /// Each statement sees the newest state. This saves the statements that begin and end a transaction.
    Statement,
}

/// A connection with a snapshot that all reads of a thread share.
struct SharedReader {
    connection: Box<SqliteConnection>,
    /// Whether it may look at many rows.
    scans: bool,
    now: Timestamp,
    /// The readers that it belongs to.
    readers: *const Readers,
}

thread_local! {
    /// The snapshots that this thread shares, inside `with_snapshot`: at most one of each store.
    static SHARED_READERS: RefCell<Vec<Rc<SharedReader>>> = const { RefCell::new(Vec::new()) };
}

impl Readers {
    pub(super) fn new(
        look_ups: Vec<SqliteConnection>,
        scans: Vec<SqliteConnection>,
        scan_budget: Duration,
        environment: Environment,
    ) -> Self {
        let scan_permits = ScanPermits::new(scans.len());
        let (look_ups, scans) = (ConnectionPool::new(look_ups), ConnectionPool::new(scans));
        Self { look_ups, scans, scan_permits, scan_budget, environment }
    }

    /// Runs `work`, which looks up a few rows. It sees the snapshot that this thread shares, if it shares one.
    pub(in crate::store) fn look_up<T>(
        &self,
        ids: &IdSource,
        isolation: Isolation,
        work: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        if let Some(shared) = self.shared_reader() {
            return work(&self.transaction(&shared.connection, shared.now, ids));
        }
        self.look_ups.with(|connection| {
            let work = |now| work(&self.transaction(connection, now, ids));
            match isolation {
                Isolation::Snapshot => in_transaction(connection, || work(self.environment.now())),
                Isolation::Statement => work(self.environment.now()),
            }
        })?
    }

    /// Runs `work`, which may look at many rows for `organization`, or for the program itself. It is stopped if it
    /// takes too long. It sees the snapshot that this thread shares, if it shares one.
    pub(in crate::store) fn scan<T>(
        &self,
        ids: &IdSource,
        organization: Option<OrganizationId>,
        work: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        if let Some(shared) = self.shared_reader() {
            debug_assert!(shared.scans, "a scan on a connection for look-ups would delay every look-up");
            let work = || work(&self.transaction(&shared.connection, shared.now, ids));
            return with_budget(&shared.connection, self.scan_budget, &self.environment.clock, work);
        }
        let _permit = self.scan_permits.acquire(organization)?;
        self.scans.with(|connection| {
            in_transaction(connection, || {
                let work = || work(&self.transaction(connection, self.environment.now(), ids));
                with_budget(connection, self.scan_budget, &self.environment.clock, work)
            })
        })?
    }

    /// Runs `work`. All reads of this thread inside it see one snapshot: the state at the beginning of `work`, or the
    /// one that the thread shares already.
    pub(crate) fn with_snapshot<T>(&self, work: impl FnOnce() -> T) -> Result<T> {
        if self.shared_reader().is_some() {
            return Ok(work());
        }
        let _permit = self.scan_permits.acquire(None)?;
        self.share(&self.scans, begin_snapshot, work)
    }

    /// Runs `work`, whose reads are all look-ups. They see one snapshot, that of the first of them, or the one that the
    /// thread shares already. With two look-ups or more, this costs less than a transaction for each.
    #[cfg(feature = "http")]
    pub(crate) fn with_look_ups<T>(&self, work: impl FnOnce() -> T) -> Result<T> {
        if self.shared_reader().is_some() {
            return Ok(work());
        }
        self.share(&self.look_ups, begin, work)
    }

    /// Runs `work`. All reads of this thread inside it use one connection of `pool`.
    fn share<T>(
        &self,
        pool: &ConnectionPool,
        begin: impl FnOnce(&SqliteConnection) -> Result<()>,
        work: impl FnOnce() -> T,
    ) -> Result<T> {
        let connection = pool.take()?;
        let result = begin(&connection);
        let scans = std::ptr::eq(pool, &raw const self.scans);
        let shared = Rc::new(SharedReader { connection, scans, now: self.environment.now(), readers: self });
        let result = result.map(|()| {
            SHARED_READERS.with_borrow_mut(|all| all.push(Rc::clone(&shared)));
            let result = catch_unwind(AssertUnwindSafe(work));
            SHARED_READERS.with_borrow_mut(|all| all.retain(|other| !Rc::ptr_eq(other, &shared)));
            result
        });
        if let Some(SharedReader { connection, .. }) = Rc::into_inner(shared) {
            end_transaction(&connection);
            pool.give_back(connection);
        }
        result?.or_else(|panic| resume_unwind(panic))
    }

    /// The snapshot of this store that the thread shares, if there is one.
    fn shared_reader(&self) -> Option<Rc<SharedReader>> {
        SHARED_READERS.with_borrow(|all| all.iter().find(|shared| std::ptr::eq(shared.readers, self)).cloned())
    }

    fn transaction<'c>(
        &'c self,
        connection: &'c SqliteConnection,
        now: Timestamp,
        ids: &'c IdSource,
    ) -> Transaction<'c> {
        Transaction::new(connection, now, &self.environment, ids)
    }
}

/// Runs `work` in a transaction on the connection.
fn in_transaction<T>(connection: &SqliteConnection, work: impl FnOnce() -> Result<T>) -> Result<T> {
    /// Ends the transaction, also after a panic.
    struct End<'c>(&'c SqliteConnection);

    impl Drop for End<'_> {
        fn drop(&mut self) {
            end_transaction(self.0);
        }
    }

    let _end = End(connection);
    begin(connection)?;
    work()
}

/// Begins a transaction, whose snapshot is that of the first statement that reads.
fn begin(connection: &SqliteConnection) -> Result<()> {
    let begin = || connection.raw.prepare_cached("BEGIN")?.execute([]);
    begin().map(drop).map_err(convert)
}

/// Begins a transaction and takes its snapshot.
fn begin_snapshot(connection: &SqliteConnection) -> Result<()> {
    begin(connection)?;
    let read = || connection.raw.prepare_cached("SELECT 1 FROM sqlite_schema LIMIT 1")?.query_row([], |_| Ok(()));
    read().map_err(convert)
}

fn end_transaction(connection: &SqliteConnection) {
    if connection.raw.is_autocommit() {
        return;
    }
    let end = || connection.raw.prepare_cached("ROLLBACK")?.execute([]);
    if let Err(error) = end() {
        tracing::warn!(target: "ticketing::store", %error, "a reading transaction could not be ended");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::environment::{ManualClock, SystemEntropy};
    use crate::error::Error;
    use crate::model::cancellation::CancellationToken;
    use crate::store::engine::sqlite::Location;

    const ENDLESS: &str = "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers) SELECT count(*) AS n FROM numbers";

    struct Fixture {
        readers: Readers,
        ids: IdSource,
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
            let readers = location.readers(2, Duration::from_secs(2), environment).unwrap();
            Self { readers, ids: IdSource::default(), clock, _folder: folder }
        }

        fn scan(&self, sql: &str) -> Result<Option<i64>> {
            self.readers.scan(&self.ids, None, |tx| tx.query_opt(sql, &[], |row| row.get("n")))
        }

        fn look_up(&self, sql: &str) -> Result<Option<i64>> {
            self.readers.look_up(&self.ids, Isolation::Statement, |tx| tx.query_opt(sql, &[], |row| row.get("n")))
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
            let panic = || fixture.readers.scan(&fixture.ids, None, |_| -> Result<()> { panic!("on purpose") });
            assert!(catch_unwind(AssertUnwindSafe(panic)).is_err());
            let panic = || {
                fixture.readers.look_up(&fixture.ids, Isolation::Snapshot, |_| -> Result<()> { panic!("on purpose") })
            };
            assert!(catch_unwind(AssertUnwindSafe(panic)).is_err());
        }
        assert_eq!(fixture.scan("SELECT 2 AS n").unwrap(), Some(2));
        assert_eq!(fixture.look_up("SELECT 1 AS n").unwrap(), Some(1));
    }
}
