//! Transactions: every statement of the store runs through one.

use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::rc::Rc;

use super::connection::Connection;
use super::sql::query::Query;
use super::sql::row::Row;
use super::sql::values::Bind;
use super::sql::violation::StatementError;
use super::transaction_cache::TransactionCache;
use crate::environment::Environment;
use crate::error::{Error, Result, Unavailable};
use crate::model::values::id::{Id, Kind, OrganizationId};
use crate::model::values::timestamp::Timestamp;
use crate::store::commits::counters::CommitEvent;

/// How many ids are tried for a new row: an id may be taken by another process.
const ID_ATTEMPTS: usize = 16;

/// How many statements a job runs at least before it ends for others: fewer would not be worth a transaction.
const MIN_STATEMENTS: u64 = 16;

/// How many rows one statement changes of those that [`Transaction::in_parts`] changes.
const PART: i64 = 100;

/// The rows that a transaction has changed of those that there are.
pub(in crate::store) struct Part {
    pub(in crate::store) rows: usize,
    /// Whether there were no more.
    pub(in crate::store) is_last: bool,
}

pub(crate) enum Savepoint<T> {
    /// It succeeded, and its writes are part of the transaction.
    Released(T),
    /// It failed, and its writes are undone.
    RolledBack(Error),
}

/// How long the rows of a list can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum RowLength {
    /// The rows of a page are not much longer than the page may be.
    Short,
    /// They can be many times longer, because of texts without a low limit.
    Long,
}

/// A transaction. All its statements see the same current time.
pub(crate) struct Transaction<'c> {
    pub(super) connection: &'c dyn Connection,
    now: Timestamp,
    environment: &'c Environment,
    recorded: RefCell<Recorded>,
    written_bytes: Cell<u64>,
    statements: Cell<u64>,
    /// The default is an empty one.
    pub(super) cache: Rc<TransactionCache>,
    /// How the transaction knows whether other callers wait for its end. The default is that none do.
    pub(super) others_wait: Option<&'c dyn Fn() -> bool>,
}

/// What a transaction reports when it is durable.
#[derive(Default)]
pub(in crate::store) struct Recorded {
    pub(super) events: Vec<CommitEvent>,
    /// What the caller does then.
    pub(super) follow_ups: Vec<FollowUp>,
}

/// Work of the caller after the commit.
pub(in crate::store) type FollowUp = Box<dyn FnOnce() + Send>;

impl Recorded {
    pub(super) fn append(&mut self, mut other: Self) {
        self.events.append(&mut other.events);
    }
}

impl<'c> Transaction<'c> {
    /// The transaction that is open on `connection`.
    pub(super) fn new(connection: &'c dyn Connection, now: Timestamp, environment: &'c Environment) -> Self {
        Self {
            connection,
            now,
            environment,
            recorded: RefCell::default(),
            written_bytes: Cell::new(0),
            statements: Cell::new(0),
            cache: Rc::default(),
            others_wait: None,
        }
    }

    /// The current time, which is the same throughout the transaction.
    pub(crate) fn now(&self) -> Timestamp {
        self.now
    }

    /// The time that new ids contain, which is later than [`Self::now`] if the clock was set back.
    pub(crate) fn id_time(&self) -> Timestamp {
        self.environment.ids.time_of_next(self.now)
    }

    pub(crate) fn environment(&self) -> &Environment {
        self.environment
    }

    /// Records an event, which is counted and reported when the transaction is durable.
    pub(crate) fn record(&self, event: CommitEvent) {
        self.recorded.borrow_mut().events.push(event);
    }

    /// The sum of a number of each recorded event.
    pub(in crate::store) fn sum_recorded(&self, number: impl Fn(&CommitEvent) -> usize) -> usize {
        self.recorded.borrow().events.iter().map(number).sum()
    }

    /// Lets the caller do this when the transaction is durable: on its thread, before it gets the result.
    pub(crate) fn after_commit(&self, work: impl FnOnce() + Send + 'static) {
        self.recorded.borrow_mut().follow_ups.push(Box::new(work));
    }

    pub(super) fn into_recorded(self) -> Recorded {
        self.recorded.into_inner()
    }

    /// How many savepoints a transaction should have at most: more cost the engine too much.
    pub(crate) fn max_savepoints(&self) -> usize {
        self.connection.max_savepoints()
    }

    /// Runs a statement. An engine may send it together with a later one, which fails if this one does.
    pub(crate) fn execute(&self, sql: &str, binds: &[Bind<'_>]) -> Result<()> {
        self.count_statement(binds);
        self.connection.execute_later(sql, binds)
    }

    /// Like [`execute`](Self::execute), and returns how many rows the statement changed.
    pub(crate) fn execute_counted(&self, sql: &str, binds: &[Bind<'_>]) -> Result<usize> {
        Ok(self.try_execute(sql, binds)?)
    }

    /// Like [`execute_counted`](Self::execute_counted), for a statement whose violation of a constraint the caller
    /// handles. The job must fail after a violation, because on some engines the transaction cannot go on.
    pub(in crate::store) fn try_execute(&self, sql: &str, binds: &[Bind<'_>]) -> Result<usize, StatementError> {
        self.count_statement(binds);
        self.connection.execute(sql, binds)
    }

    fn count_statement(&self, binds: &[Bind<'_>]) {
        let bytes: u64 = binds.iter().map(Bind::size).sum();
        self.written_bytes.set(self.written_bytes.get().saturating_add(bytes));
        self.statements.set(self.statements.get() + 1);
    }

    /// Adds bytes that are written later, because of what this transaction has written.
    pub(in crate::store) fn count_later_bytes(&self, bytes: u64) {
        self.written_bytes.set(self.written_bytes.get().saturating_add(bytes));
    }

    /// The size of all values with which statements have changed something, and of those that are written later.
    pub(crate) fn written_bytes(&self) -> u64 {
        self.written_bytes.get()
    }

    /// How many statements have changed something, or tried to.
    pub(crate) fn statements(&self) -> u64 {
        self.statements.get()
    }

    /// Whether other callers wait for the end of this transaction, because the engine has only one at a time.
    pub(crate) fn others_wait(&self) -> bool {
        self.others_wait.is_some_and(|others_wait| others_wait())
    }

    /// Whether a job that can leave the rest of its rows to another transaction should do so: others wait, and it has
    /// changed some rows. Background work on many rows asks this between two of them.
    pub(crate) fn should_end(&self) -> bool {
        self.statements() >= MIN_STATEMENTS && self.others_wait()
    }

    /// Changes up to `most` rows, for background work that changes many with one statement. `change` gets a number of
    /// rows, changes up to that many, and returns how many it has changed. If others wait, this ends after some of
    /// them.
    pub(in crate::store) fn in_parts(&self, most: i64, change: impl Fn(i64) -> Result<usize>) -> Result<Part> {
        let part = if self.others_wait.is_some() { most.min(PART) } else { most };
        let mut rows = 0;
        let mut room = most;
        loop {
            let changed = change(part)?;
            rows += changed;
            room -= part;
            let is_last = i64::try_from(changed).is_ok_and(|changed| changed < part);
            if is_last || room <= 0 || self.others_wait() {
                return Ok(Part { rows, is_last });
            }
        }
    }

    /// Returns what `read` reads about an organization. The transaction keeps it, also for the other jobs of its group,
    /// and reads it once. Code that changes it must call [`clear_cache`](Self::clear_cache).
    pub(in crate::store) fn cached<T: 'static>(
        &self,
        organization: OrganizationId,
        read: impl FnOnce() -> Result<T>,
    ) -> Result<Rc<T>> {
        if let Some(known) = self.cache.get(organization) {
            return Ok(known);
        }
        let value = Rc::new(read()?);
        if !self.connection.reads_ahead().is_some_and(Cell::get) {
            self.cache.insert(organization, Rc::clone(&value));
        }
        Ok(value)
    }

    /// Drops what the transaction has [cached](Self::cached): the next use reads it again.
    pub(in crate::store) fn clear_cache(&self) {
        self.cache.clear();
    }

    /// Generates a new id, for rows that contain their id in other columns too. Another process may generate the same
    /// one.
    pub(crate) fn new_id<K: Kind>(&self) -> Id<K> {
        Id::from_raw(self.environment.next_id(self.now))
    }

    /// Inserts a row under a new id, which is `?1`; the other parameters follow. The statement must end with
    /// `ON CONFLICT (id) DO NOTHING`: if the id is taken, the insert is tried again with another id.
    pub(crate) fn insert<K: Kind>(&self, sql: &str, binds: &[Bind<'_>]) -> Result<Id<K>> {
        Ok(self.insert_with_new_id(sql, binds, |values| self.insert_row(sql, values))?)
    }

    /// Inserts a row with a statement that ends with `ON CONFLICT DO NOTHING`. Returns `false` if a conflict with
    /// another row prevents it, which must be rare: an engine may run the transaction again instead.
    pub(in crate::store) fn insert_row(&self, sql: &str, binds: &[Bind<'_>]) -> Result<bool, StatementError> {
        self.count_statement(binds);
        self.connection.insert_row(sql, binds)
    }

    /// Like [`insert`](Self::insert), for a row whose violation of a constraint the caller handles. The job must fail
    /// after a violation, because on some engines the transaction cannot go on.
    pub(in crate::store) fn try_insert<K: Kind>(&self, sql: &str, binds: &[Bind<'_>]) -> Result<Id<K>, StatementError> {
        self.insert_with_new_id(sql, binds, |values| self.try_execute(sql, values).map(|rows| rows == 1))
    }

    fn insert_with_new_id<K: Kind>(
        &self,
        sql: &str,
        binds: &[Bind<'_>],
        insert: impl Fn(&[Bind<'_>]) -> Result<bool, StatementError>,
    ) -> Result<Id<K>, StatementError> {
        debug_assert!(sql.contains(" ON CONFLICT (id) DO NOTHING"), "a taken id must not fail: {sql}");
        for _ in 0..ID_ATTEMPTS {
            let id = self.new_id();
            let mut values = Vec::with_capacity(binds.len() + 1);
            values.push(id.into());
            values.extend(binds.iter().map(Bind::borrowed));
            if insert(&values)? {
                return Ok(id);
            }
        }
        Err(Error::Unavailable(Unavailable::NoFreeId).into())
    }

    /// Runs `work` in a savepoint. If it fails, its writes and what it has recorded are undone, and the transaction
    /// goes on.
    pub(crate) fn savepoint<T>(&self, work: impl FnOnce(&Self) -> Result<T>) -> Result<Savepoint<T>> {
        self.count_statement(&[]);
        self.connection.set_savepoint()?;
        let (events, follow_ups) = {
            let recorded = self.recorded.borrow();
            (recorded.events.len(), recorded.follow_ups.len())
        };
        let worked = work(self).and_then(|value| self.connection.release_savepoint().map(|()| value));
        match worked {
            Ok(value) => Ok(Savepoint::Released(value)),
            Err(error) if self.connection.must_run_again(&error) => Err(error),
            Err(error) => {
                self.connection.undo_savepoint()?;
                self.clear_cache();
                let mut recorded = self.recorded.borrow_mut();
                recorded.events.truncate(events);
                recorded.follow_ups.truncate(follow_ups);
                Ok(Savepoint::RolledBack(error))
            }
        }
    }

    /// Runs `work` in a savepoint. Returns `false` if it ended in a conflict and was undone. Any other error is
    /// returned.
    pub(crate) fn try_in_savepoint(&self, work: impl FnOnce() -> Result<()>) -> Result<bool> {
        match self.savepoint(|_| work())? {
            Savepoint::Released(()) => Ok(true),
            Savepoint::RolledBack(Error::Conflict(_)) => Ok(false),
            Savepoint::RolledBack(error) => Err(error),
        }
    }

    /// Returns the first row, if there is one.
    pub(crate) fn query_opt<'s, T>(
        &self,
        query: impl Into<Query<'s>>,
        binds: &[Bind<'_>],
        mut decode: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let mut found = None;
        self.connection.query(query.into(), binds, &mut |row| {
            found = Some(decode(row)?);
            Ok(ControlFlow::Break(()))
        })?;
        Ok(found)
    }

    /// Like [`query_opt`](Self::query_opt), for a row that has an `id`. If the row does not exist, only this transaction
    /// may insert it until it ends. If another transaction is inserting the row, this fails, and the job is run again.
    /// The key stands for the row, and is unique in the organization.
    pub(in crate::store) fn query_opt_or_lock<T>(
        &self,
        sql: &str,
        binds: &[Bind<'_>],
        key: (OrganizationId, &str),
        mut decode: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let mut found = None;
        self.connection.query_or_lock(sql, binds, key, &mut |row| {
            found = Some(decode(row)?);
            Ok(ControlFlow::Break(()))
        })?;
        Ok(found)
    }

    /// Announces the queries of `read`, which the transaction will run. An engine may receive their rows together with
    /// the answer to the next statement. Until then `read` finds no rows, and what it returns is dropped.
    ///
    /// The queries run then: what must be locked before it is read is locked first.
    pub(crate) fn read_ahead<T>(&self, read: impl FnOnce() -> Result<T>) {
        if let Some(reads_ahead) = self.connection.reads_ahead() {
            reads_ahead.set(true);
            // If a query failed, the transaction that runs it fails too.
            drop(read());
            reads_ahead.set(false);
        }
    }

    /// Returns every row.
    pub(crate) fn query_all<'s, T>(
        &self,
        query: impl Into<Query<'s>>,
        binds: &[Bind<'_>],
        mut decode: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut decoded = Vec::new();
        self.query_each(query, binds, |row| {
            decoded.push(decode(row)?);
            Ok(())
        })?;
        Ok(decoded)
    }

    /// Passes every row to `visit`, one after another.
    pub(crate) fn query_each<'s>(
        &self,
        query: impl Into<Query<'s>>,
        binds: &[Bind<'_>],
        mut visit: impl FnMut(&Row<'_>) -> Result<()>,
    ) -> Result<()> {
        self.connection.query(query.into(), binds, &mut |row| {
            visit(row)?;
            Ok(ControlFlow::Continue(()))
        })
    }

    /// Passes the rows of a page of a list to `visit`, one after another, until it breaks.
    pub(in crate::store) fn query_page(
        &self,
        length: RowLength,
        sql: &str,
        binds: &[Bind<'_>],
        mut visit: impl FnMut(&Row<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        match length {
            RowLength::Short => self.connection.query(sql.into(), binds, &mut visit),
            RowLength::Long => self.connection.query_page(sql, binds, &mut visit),
        }
    }

    /// Passes every row of a query without parameters to `visit`, one after another. An engine keeps only some of them
    /// in memory. `visit` runs no other such query.
    pub(crate) fn query_table(&self, sql: &str, mut visit: impl FnMut(&Row<'_>) -> Result<()>) -> Result<()> {
        self.connection.query_table(sql, &mut |row| {
            visit(row)?;
            Ok(ControlFlow::Continue(()))
        })
    }

    /// Whether a query finds any row.
    pub(crate) fn exists<'s>(&self, query: impl Into<Query<'s>>, binds: &[Bind<'_>]) -> Result<bool> {
        let found = self.query_opt(query, binds, |_| Ok(()))?;
        Ok(found.is_some())
    }
}
