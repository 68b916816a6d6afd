//! What every query goes through.

use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;

use super::connection::Connection;
use super::ids::IdSource;
use super::row::Row;
use super::values::Bind;
use super::violation::StatementError;
use crate::environment::Environment;
use crate::error::{Error, Result};
use crate::model::id::{DiscountId, EventId, Id, Kind, OrderId, TicketId, TicketTypeId};
use crate::model::timestamp::Timestamp;
use crate::store::counters::CommitEvent;

/// One transaction: what every query goes through. It has one instant.
pub(crate) struct Transaction<'c> {
    connection: &'c dyn Connection,
    now: Timestamp,
    environment: &'c Environment,
    ids: &'c IdSource,
    events: RefCell<Vec<CommitEvent>>,
    event_locked: Cell<bool>,
}

/// Names an event by its own id, or by the id of an order, ticket type, ticket or discount of it.
#[derive(Debug, Clone, Copy)]
#[expect(dead_code, reason = "SQLite locks nothing, so it never looks the event up")]
pub(crate) enum EventKey {
    Event(EventId),
    Order(OrderId),
    TicketType(TicketTypeId),
    Ticket(TicketId),
    Discount(DiscountId),
}

impl From<EventId> for EventKey {
    fn from(id: EventId) -> Self {
        Self::Event(id)
    }
}
impl From<OrderId> for EventKey {
    fn from(id: OrderId) -> Self {
        Self::Order(id)
    }
}
impl From<TicketTypeId> for EventKey {
    fn from(id: TicketTypeId) -> Self {
        Self::TicketType(id)
    }
}
impl From<TicketId> for EventKey {
    fn from(id: TicketId) -> Self {
        Self::Ticket(id)
    }
}
impl From<DiscountId> for EventKey {
    fn from(id: DiscountId) -> Self {
        Self::Discount(id)
    }
}

impl<'c> Transaction<'c> {
    /// The transaction that is open on `connection`.
    pub(super) fn new(
        connection: &'c dyn Connection,
        now: Timestamp,
        environment: &'c Environment,
        ids: &'c IdSource,
    ) -> Self {
        Self { connection, now, environment, ids, events: RefCell::default(), event_locked: Cell::new(false) }
    }

    /// The instant of this transaction.
    pub(crate) fn now(&self) -> Timestamp {
        self.now
    }

    pub(crate) fn environment(&self) -> &Environment {
        self.environment
    }

    /// Has `what` events once this transaction is durable.
    pub(crate) fn record(&self, event: CommitEvent) {
        self.events.borrow_mut().push(event);
    }

    /// What is to be events.
    pub(crate) fn into_events(self) -> Vec<CommitEvent> {
        self.events.into_inner()
    }

    /// Locks the event for the rest of the transaction, so that no other transaction changes what is sold of it. Whatever
    /// reads before it writes calls this first.
    ///
    /// SQLite has one writer at a time, so that there is nothing to lock. Debug builds check that the callers follow the
    /// protocol.
    #[expect(clippy::unnecessary_wraps, reason = "locking a row can fail")]
    pub(crate) fn lock_event(&self, _event: impl Into<EventKey>) -> Result<()> {
        self.event_locked.set(true);
        Ok(())
    }

    /// Panics in debug builds if no event is locked: the caller changes what is sold of one.
    pub(crate) fn debug_assert_event_locked(&self) {
        debug_assert!(self.event_locked.get(), "the event must be locked before its sale is changed");
    }

    /// Runs a statement. Returns how many rows it changed.
    pub(crate) fn execute(&self, sql: &str, binds: &[Bind<'_>]) -> Result<usize> {
        Ok(self.try_execute(sql, binds)?)
    }

    /// Runs a statement that can violate a constraint which the caller handles.
    pub(in crate::store) fn try_execute(&self, sql: &str, binds: &[Bind<'_>]) -> Result<usize, StatementError> {
        self.connection.execute(sql, binds)
    }

    /// Draws a new id, for a row whose values depend on it. Another process may have drawn the same.
    pub(crate) fn new_id<K: Kind>(&self) -> Id<K> {
        Id::from_raw(self.ids.next(self.environment, self.now))
    }

    /// Inserts a row under a new id, which is `?1`; the other parameters follow.
    ///
    /// The statement says `ON CONFLICT (id) DO NOTHING`: if another process has taken the id, another one is drawn. A
    /// failed statement could not be repeated, because on some engines it ends the transaction.
    pub(crate) fn insert<K: Kind>(&self, sql: &str, binds: &[Bind<'_>]) -> Result<Id<K>> {
        Ok(self.try_insert(sql, binds)?)
    }

    /// Like [`insert`](Self::insert), for a row that can violate a constraint which the caller handles.
    pub(in crate::store) fn try_insert<K: Kind>(&self, sql: &str, binds: &[Bind<'_>]) -> Result<Id<K>, StatementError> {
        debug_assert!(sql.contains(" ON CONFLICT (id) DO NOTHING"), "a taken id must be drawn again: {sql}");
        for _ in 0..16 {
            let id = self.new_id();
            let mut values = Vec::with_capacity(binds.len() + 1);
            values.push(id.into());
            values.extend(binds.iter().map(Bind::borrowed));
            if self.try_execute(sql, &values)? == 1 {
                return Ok(id);
            }
        }
        Err(StatementError::Other(Error::Unavailable("no free id was found")))
    }

    /// Runs `work` so that its failure undoes it alone, and gives what came of it.
    pub(crate) fn savepoint<T>(&self, work: impl FnOnce(&Self) -> Result<T>) -> Result<Result<T>> {
        self.execute("SAVEPOINT step", &[])?;
        let before = self.events.borrow().len();
        let result = work(self);
        if result.is_err() {
            self.execute("ROLLBACK TO step", &[])?;
            self.events.borrow_mut().truncate(before);
        }
        self.execute("RELEASE step", &[]).map(|_| result)
    }

    /// Runs `work` so that a conflict undoes it alone; says whether it stays. Any other error is passed on.
    pub(crate) fn try_in_savepoint(&self, work: impl FnOnce(&Self) -> Result<()>) -> Result<bool> {
        match self.savepoint(work)? {
            Ok(()) => Ok(true),
            Err(Error::Conflict(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns the first row, if there is one.
    pub(crate) fn query_opt<T>(
        &self,
        sql: &str,
        binds: &[Bind<'_>],
        mut decode: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let mut found = None;
        self.connection.query(sql, binds, &mut |row| {
            found = Some(decode(row)?);
            Ok(ControlFlow::Break(()))
        })?;
        Ok(found)
    }

    /// Returns every row.
    pub(crate) fn query_all<T>(
        &self,
        sql: &str,
        binds: &[Bind<'_>],
        mut decode: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut decoded = Vec::new();
        self.query_each(sql, binds, |row| {
            decoded.push(decode(row)?);
            Ok(())
        })?;
        Ok(decoded)
    }

    /// Passes every row to `visit`, one after another.
    pub(crate) fn query_each(
        &self,
        sql: &str,
        binds: &[Bind<'_>],
        mut visit: impl FnMut(&Row<'_>) -> Result<()>,
    ) -> Result<()> {
        self.connection.query(sql, binds, &mut |row| {
            visit(row)?;
            Ok(ControlFlow::Continue(()))
        })
    }

    /// Whether a query finds any row.
    pub(crate) fn exists(&self, sql: &str, binds: &[Bind<'_>]) -> Result<bool> {
        self.query_opt(sql, binds, |_| Ok(())).map(|found| found.is_some())
    }
}
