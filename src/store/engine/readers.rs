//! The connections that only read.
//!
//! A shared snapshot is in a thread-local variable: the closure that runs in it gets no handle, and calls any operation
//! of the service.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use super::connection::Connection;
#[cfg(feature = "exports")]
use super::snapshots::SnapshotReader;
use super::transaction::Transaction;
use crate::environment::{Clock, Environment};
use crate::error::{Error, Result, Unavailable};
use crate::fair::{Limits, Permit, Semaphore, Tenant};
use crate::model::values::cancellation::CancellationToken;
use crate::model::values::id::OrganizationId;
use crate::model::values::timestamp::Timestamp;

/// How long a scan waits for its permit.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// How many scans may wait, of one organization and in all. Each of them keeps a thread.
const MAX_WAITING_OF_ONE: usize = 16;
const MAX_WAITING: usize = 64;

/// How many exports may run at the same time, and how many of few rows. An organization has one of them, because it gets
/// a permit only while it has fewer than are free.
#[cfg(feature = "exports")]
const MAX_EXPORTS: usize = 2;

/// Which state of the database the statements of a read see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum Isolation {
    /// All statements see the state at the first of them.
    Snapshot,
    /// Each statement sees the newest state. This saves the statements that begin and end a transaction.
    Statement,
}

/// A connection that only reads.
pub(in crate::store) trait ReadConnection: Connection {
    /// Begins a transaction, whose snapshot is that of the first statement that reads.
    fn begin(&self) -> Result<()>;

    /// Begins a transaction and takes its snapshot.
    fn begin_snapshot(&self) -> Result<()>;

    /// Ends the transaction, if there is one.
    fn end(&self);

    /// Lets statements fail from now on when they have taken longer than `max_time` together, or when nobody waits for
    /// the result any more.
    fn set_deadline(&self, max_time: Duration, clock: &Arc<dyn Clock>) -> Result<()>;

    /// Lets statements take as long as they need again.
    fn remove_deadline(&self);
}

/// A number of connections, which threads borrow in turn.
pub(in crate::store) trait ReaderPool: Send + Sync {
    /// Takes a connection out of the pool. Waits until one is idle.
    fn take(&self) -> Result<Box<dyn BorrowedReader>>;

    /// Takes a connection if one is idle, and its look-ups take microseconds.
    #[cfg(feature = "server")]
    fn take_idle(&self) -> Option<Box<dyn BorrowedReader>>;
}

/// A connection that a thread has borrowed from a pool.
pub(in crate::store) trait BorrowedReader {
    fn connection(&self) -> &dyn ReadConnection;

    /// Gives the connection back to its pool.
    fn give_back(self: Box<Self>);
}

/// The connections that only read, in two classes: a look-up never waits for a scan.
pub(in crate::store) struct Readers {
    /// For reads that find a few rows by an index, like authentication and most operations.
    look_ups: Box<dyn ReaderPool>,
    /// For reads that may look at many rows, like searches and filtered lists, and for snapshots that a program holds.
    scans: Box<dyn ReaderPool>,
    /// There is one permit for each connection for scans, so that a read with a permit never waits for a connection.
    /// One is reserved for the program itself, so that organizations with many large reads do not delay the monitoring.
    scan_permits: Semaphore,
    /// How long a scan may take.
    max_scan_time: Duration,
    /// Two exports may run at the same time, and one of an organization.
    #[cfg(feature = "exports")]
    export_permits: Semaphore,
    /// The same for exports of few rows, which never wait for the others.
    #[cfg(feature = "exports")]
    small_export_permits: Semaphore,
    environment: Environment,
}

/// A connection with a snapshot that all reads of a thread share.
struct SharedReader {
    connection: Rc<Box<dyn BorrowedReader>>,
    /// Whether it may look at many rows.
    scans: bool,
    now: Timestamp,
    /// The readers that it belongs to.
    readers: *const (),
}

thread_local! {
    /// The snapshots that this thread shares, inside `with_snapshot`: at most one of each store.
    static SHARED_READERS: RefCell<Vec<Rc<SharedReader>>> = const { RefCell::new(Vec::new()) };
}

impl Readers {
    /// `scan_connections` is the number of connections of the pool `scans`.
    pub(super) fn new(
        look_ups: impl ReaderPool + 'static,
        scans: impl ReaderPool + 'static,
        scan_connections: usize,
        max_scan_time: Duration,
        environment: Environment,
    ) -> Self {
        let limits = Limits {
            reserved: usize::from(scan_connections > 1),
            max_waiting_of_one: MAX_WAITING_OF_ONE,
            max_waiting: MAX_WAITING,
            ..Limits::new(scan_connections)
        };
        #[cfg(feature = "exports")]
        let of_exports = Limits { permits: MAX_EXPORTS, reserved: 0, ..limits };
        Self {
            look_ups: Box::new(look_ups),
            scans: Box::new(scans),
            scan_permits: Semaphore::with(limits),
            max_scan_time,
            #[cfg(feature = "exports")]
            export_permits: Semaphore::with(of_exports),
            #[cfg(feature = "exports")]
            small_export_permits: Semaphore::with(of_exports),
            environment,
        }
    }

    /// Runs `work`, which looks up a few rows. It sees the snapshot that this thread shares, if it shares one.
    pub(in crate::store) fn look_up<T>(
        &self,
        isolation: Isolation,
        work: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        if let Some(shared) = self.shared_reader() {
            return work(&Transaction::new(shared.connection.connection(), shared.now, &self.environment));
        }
        borrow(&*self.look_ups, |connection| {
            let work = || work(&Transaction::new(connection, self.environment.now(), &self.environment));
            match isolation {
                Isolation::Snapshot => in_transaction(connection, work),
                Isolation::Statement => work(),
            }
        })
    }

    /// Runs `work`, which may look at many rows for `organization`, or for the program itself. It is stopped if it
    /// takes too long. It sees the snapshot that this thread shares, if it shares one.
    pub(in crate::store) fn scan<T>(
        &self,
        organization: Option<OrganizationId>,
        mut work: impl FnMut(&Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        match self.scan_once(organization, &mut work) {
            // The standby is left alone for a moment, so that the primary is read. Inside a snapshot that the thread
            // shares, the second attempt has to fail.
            Err(error @ Error::Unavailable(Unavailable::SearchCancelled)) => {
                self.scan_once(organization, work).map_err(|_| error)
            }
            scanned => scanned,
        }
    }

    fn scan_once<T>(
        &self,
        organization: Option<OrganizationId>,
        work: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        if let Some(shared) = self.shared_reader() {
            debug_assert!(shared.scans, "a scan on a connection for look-ups would delay every look-up");
            let connection = shared.connection.connection();
            return with_deadline(connection, self.max_scan_time, &self.environment, || {
                work(&Transaction::new(connection, shared.now, &self.environment))
            });
        }
        let _permit = self.scan_permit(organization)?;
        borrow(&*self.scans, |connection| {
            in_transaction(connection, || {
                with_deadline(connection, self.max_scan_time, &self.environment, || {
                    work(&Transaction::new(connection, self.environment.now(), &self.environment))
                })
            })
        })
    }

    /// Runs `work`. All reads of this thread inside it see one snapshot: the state at the beginning of `work`, or the
    /// one that the thread shares already.
    pub(in crate::store) fn with_snapshot<T>(&self, work: impl FnOnce() -> T) -> Result<T> {
        if self.shared_reader().is_some() {
            return Ok(work());
        }
        let _permit = self.scan_permit(None)?;
        self.share(self.scans.take()?, true, |connection| connection.begin_snapshot(), work)
    }

    /// Runs `work`, whose reads are all look-ups. They see one snapshot, that of the first of them, or the one that the
    /// thread shares already. With two look-ups or more, this costs less than a transaction for each.
    #[cfg(feature = "server")]
    pub(in crate::store) fn with_look_ups<T>(&self, work: impl FnOnce() -> T) -> Result<T> {
        if self.shared_reader().is_some() {
            return Ok(work());
        }
        self.share(self.look_ups.take()?, false, |connection| connection.begin(), work)
    }

    /// Like [`with_look_ups`](Self::with_look_ups), if a connection is idle and its look-ups take microseconds. Else it
    /// returns `None`.
    #[cfg(feature = "server")]
    pub(in crate::store) fn with_idle_look_ups<T>(&self, work: impl FnOnce() -> T) -> Result<Option<T>> {
        let Some(connection) = self.look_ups.take_idle() else { return Ok(None) };
        self.share(connection, false, |connection| connection.begin(), work).map(Some)
    }

    /// Runs `work`. All reads of this thread inside it use this connection, which may look at many rows if it `scans`.
    fn share<T>(
        &self,
        connection: Box<dyn BorrowedReader>,
        scans: bool,
        begin: impl FnOnce(&dyn ReadConnection) -> Result<()>,
        work: impl FnOnce() -> T,
    ) -> Result<T> {
        let connection = Rc::new(connection);
        let result = begin(connection.connection()).map(|()| {
            let (now, readers) = (self.environment.now(), self.address());
            let shared = Rc::new(SharedReader { connection: Rc::clone(&connection), scans, now, readers });
            SHARED_READERS.with_borrow_mut(|all| all.push(Rc::clone(&shared)));
            let result = catch_unwind(AssertUnwindSafe(work));
            SHARED_READERS.with_borrow_mut(|all| all.retain(|other| !Rc::ptr_eq(other, &shared)));
            result
        });
        if let Some(borrowed) = Rc::into_inner(connection) {
            borrowed.connection().end();
            borrowed.give_back();
        }
        result?.or_else(|panic| resume_unwind(panic))
    }

    /// Waits for the permit of a scan, until nobody waits for its result any more.
    fn scan_permit(&self, tenant: Tenant) -> Result<Permit> {
        acquire(&self.scan_permits, tenant).ok_or(Error::Unavailable(Unavailable::TooManySearches))
    }

    /// Waits for the permit of an export, until nobody waits for its result any more.
    #[cfg(feature = "exports")]
    pub(in crate::store) fn export_permit(&self, organization: OrganizationId, has_few_rows: bool) -> Result<Permit> {
        let permits = if has_few_rows { &self.small_export_permits } else { &self.export_permits };
        acquire(permits, Some(organization)).ok_or(Error::Unavailable(Unavailable::TooManyExports))
    }

    /// Runs `work`, which reads the rows of an export, within `max_time`. It sees the snapshot that this thread shares,
    /// or else one on a connection that `open` opens, so that searches and look-ups have all of theirs.
    #[cfg(feature = "exports")]
    pub(in crate::store) fn export(
        &self,
        max_time: Duration,
        open: impl FnOnce() -> Result<Box<dyn SnapshotReader>>,
        work: &mut dyn FnMut(&Transaction<'_>) -> Result<()>,
    ) -> Result<()> {
        let Some(shared) = self.shared_reader() else { return open()?.read(work) };
        let connection = shared.connection.connection();
        with_deadline(connection, max_time, &self.environment, || {
            work(&Transaction::new(connection, shared.now, &self.environment))
        })
    }

    /// The snapshot of this store that the thread shares, if there is one.
    fn shared_reader(&self) -> Option<Rc<SharedReader>> {
        let address = self.address();
        SHARED_READERS.with_borrow(|all| all.iter().find(|shared| shared.readers == address).cloned())
    }

    fn address(&self) -> *const () {
        std::ptr::from_ref(self).cast()
    }
}

/// Runs `work`, whose statements on `connection` have this time together.
pub(super) fn with_deadline<T>(
    connection: &dyn ReadConnection,
    max_time: Duration,
    environment: &Environment,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    connection.set_deadline(max_time, &environment.clock)?;
    let _reset = OnDrop(|| connection.remove_deadline());
    work()
}

/// Waits for a permit, until nobody waits for the result any more.
fn acquire(permits: &Semaphore, tenant: Tenant) -> Option<Permit> {
    let token = CancellationToken::current();
    permits.acquire(tenant, MAX_WAIT, || token.as_ref().is_some_and(CancellationToken::is_cancelled))
}

/// Runs `work` on a connection of `pool`. Waits until one is idle.
fn borrow<T>(pool: &dyn ReaderPool, work: impl FnOnce(&dyn ReadConnection) -> Result<T>) -> Result<T> {
    let borrowed = pool.take()?;
    let result = catch_unwind(AssertUnwindSafe(|| work(borrowed.connection())));
    borrowed.give_back();
    result.unwrap_or_else(|panic| resume_unwind(panic))
}

fn in_transaction<T>(connection: &dyn ReadConnection, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let _end = OnDrop(|| connection.end());
    connection.begin()?;
    work()
}

/// Does something when it is dropped, also by a panic.
struct OnDrop<F: Fn()>(F);

impl<F: Fn()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
