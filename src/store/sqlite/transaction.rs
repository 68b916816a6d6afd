//! What every query goes through.

use std::cell::RefCell;

use rusqlite::Connection;

use super::failure::{convert, is_id_clash};
use super::values::{Bind, Row};
use crate::environment::Environment;
use crate::error::{Error, Result};
use crate::model::id::{Id, Kind};
use crate::model::timestamp::Timestamp;
use crate::store::counters::Counted;
use crate::store::ids::IdSource;

/// One transaction: what every query goes through. It has one instant.
pub(crate) struct Transaction<'c> {
    connection: &'c Connection,
    now: Timestamp,
    environment: &'c Environment,
    ids: &'c IdSource,
    counted: RefCell<Vec<Counted>>,
}

impl<'c> Transaction<'c> {
    /// The transaction that is open on `connection`.
    pub(super) fn new(
        connection: &'c Connection,
        now: Timestamp,
        environment: &'c Environment,
        ids: &'c IdSource,
    ) -> Self {
        Self { connection, now, environment, ids, counted: RefCell::default() }
    }

    /// The instant of this transaction.
    pub(crate) fn now(&self) -> Timestamp {
        self.now
    }

    pub(crate) fn environment(&self) -> &Environment {
        self.environment
    }

    /// Has `what` counted once this transaction is durable.
    pub(crate) fn count(&self, what: Counted) {
        self.counted.borrow_mut().push(what);
    }

    /// What is to be counted.
    pub(crate) fn into_counted(self) -> Vec<Counted> {
        self.counted.into_inner()
    }

    /// Runs a statement and says how many rows it changed.
    pub(crate) fn execute(&self, sql: &str, binds: &[Bind<'_>]) -> Result<usize> {
        let run = || self.connection.prepare_cached(sql)?.execute(rusqlite::params_from_iter(binds));
        run().map_err(|error| convert(&error))
    }

    /// A new id, for a row that has to know it before it is inserted. Another process may have drawn the same: then the
    /// insert says that it is taken.
    pub(crate) fn draw_id<K: Kind>(&self) -> Id<K> {
        Id::from_raw(self.ids.next(self.environment, self.now))
    }

    /// Inserts a row under a new id, which is `?1`; the other parameters follow. An id that is taken is drawn again.
    pub(crate) fn insert<K: Kind>(&self, sql: &str, binds: &[Bind<'_>]) -> Result<Id<K>> {
        let mut statement = self.connection.prepare_cached(sql).map_err(|error| convert(&error))?;
        for _ in 0..16 {
            let id = self.ids.next(self.environment, self.now);
            let first = Bind::Int(id);
            match statement.execute(rusqlite::params_from_iter(std::iter::once(&first).chain(binds))) {
                Ok(_) => return Ok(Id::from_raw(id)),
                Err(error) if is_id_clash(&error) => {}
                Err(error) => return Err(convert(&error)),
            }
        }
        Err(Error::Unavailable("no free id was found"))
    }

    /// Runs `work` so that its failure undoes it alone, and gives what came of it.
    pub(crate) fn alone<T>(&self, work: impl FnOnce(&Self) -> Result<T>) -> Result<Result<T>> {
        self.execute("SAVEPOINT alone", &[])?;
        let before = self.counted.borrow().len();
        let result = work(self);
        if result.is_err() {
            self.execute("ROLLBACK TO alone", &[])?;
            self.counted.borrow_mut().truncate(before);
        }
        self.execute("RELEASE alone", &[]).map(|_| result)
    }

    /// Runs `work` so that a conflict undoes it alone; says whether it stays. Any other error is passed on.
    pub(crate) fn attempt(&self, work: impl FnOnce(&Self) -> Result<()>) -> Result<bool> {
        match self.alone(work)? {
            Ok(()) => Ok(true),
            Err(Error::Conflict(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The first row, if there is one.
    pub(crate) fn one<T>(
        &self,
        sql: &str,
        binds: &[Bind<'_>],
        decode: impl FnOnce(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let mut statement = self.connection.prepare_cached(sql).map_err(|error| convert(&error))?;
        let mut rows = statement.query(rusqlite::params_from_iter(binds)).map_err(|error| convert(&error))?;
        let row = rows.next().map_err(|error| convert(&error))?;
        row.map(|row| decode(&Row::new(row))).transpose()
    }

    /// Every row.
    pub(crate) fn all<T>(
        &self,
        sql: &str,
        binds: &[Bind<'_>],
        mut decode: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut decoded = Vec::new();
        self.each(sql, binds, |row| {
            decoded.push(decode(row)?);
            Ok(())
        })?;
        Ok(decoded)
    }

    /// Shows every row to `visit`, one after another.
    pub(crate) fn each(
        &self,
        sql: &str,
        binds: &[Bind<'_>],
        mut visit: impl FnMut(&Row<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut statement = self.connection.prepare_cached(sql).map_err(|error| convert(&error))?;
        let mut rows = statement.query(rusqlite::params_from_iter(binds)).map_err(|error| convert(&error))?;
        while let Some(row) = rows.next().map_err(|error| convert(&error))? {
            visit(&Row::new(row))?;
        }
        Ok(())
    }

    /// Whether there is any row.
    pub(crate) fn exists(&self, sql: &str, binds: &[Bind<'_>]) -> Result<bool> {
        self.one(sql, binds, |_| Ok(())).map(|found| found.is_some())
    }
}
