//! Connections to PostgreSQL, and the statements that run on them.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use postgres::types::ToSql;
use postgres::{SimpleQueryMessage, Statement};
use tokio_postgres::Client;

use super::deadline::Deadline;
use super::errors::{Failure, failure, statement_error};
use super::prepared::{Prepared, Statements, numbered, types_of};
use super::read_ahead::ReadAhead;
use crate::environment::{Clock, SystemClock};
use crate::error::{Error, Result, Unavailable};
use crate::model::values::id::OrganizationId;
use crate::store::engine::connection::{Connection, Visit};
use crate::store::engine::lock::Lock;
use crate::store::engine::postgres::net::pipelining_client::{PipeliningClient, Request};
use crate::store::engine::postgres::net::purpose::Purpose;
use crate::store::engine::postgres::writing::locks;
use crate::store::engine::postgres::writing::write_state::WriteState;
use crate::store::engine::sql::query::{Access, Query};
use crate::store::engine::sql::row::Row;
use crate::store::engine::sql::values::Bind;
use crate::store::engine::sql::violation::StatementError;

/// A connection to PostgreSQL.
///
/// Statements whose result nobody needs are queued, and sent together with the next one, in one round trip. If one of
/// them fails, the next one fails with its error.
pub(in crate::store) struct PostgresConnection {
    client: RefCell<PipeliningClient>,
    /// Whether the URL names other hosts.
    has_other_hosts: bool,
    queue: RefCell<Vec<Queued>>,
    purpose: Purpose,
    /// The time that is left to the scan which runs.
    deadline: RefCell<Option<Deadline>>,
    statements: RefCell<Statements>,
    ahead: RefCell<ReadAhead>,
    /// Whether queries are only announced.
    reads_ahead: Cell<bool>,
    /// What the first failed statement of the transaction means for it.
    failure: Cell<Option<Failure>>,
    /// Whether that statement was a queued one.
    queued_failed: Cell<bool>,
    /// The state of the transaction that writes.
    pub(in crate::store::engine::postgres) write: WriteState,
    /// How long an answer is waited for; `None` for as long as the purpose says.
    max_time: Cell<Option<Duration>>,
    /// When the server last answered, by the monotonic clock of the system.
    answered_at: Cell<Duration>,
}

/// A request that is sent together with the next one.
struct Queued {
    kind: QueuedKind,
    request: Request,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QueuedKind {
    Statement,
    /// A statement that has to insert a row.
    Insert,
    /// The end of a job of a group, and the savepoint of the next one.
    NextJob,
}

/// How long a connection may be idle before it is checked: the server may have ended it.
const FRESH: Duration = Duration::from_secs(1);

/// How many savepoints a transaction should have at most. With more than 64, the snapshots of all other transactions
/// cost more, because PostgreSQL keeps so many in shared memory.
const MAX_SAVEPOINTS: usize = 50;

/// How many statements are queued at most.
const MAX_QUEUED: usize = 100;

impl PostgresConnection {
    pub(in crate::store::engine::postgres) fn new(client: PipeliningClient, purpose: Purpose) -> Self {
        Self {
            has_other_hosts: client.has_other_hosts(),
            client: RefCell::new(client),
            queue: RefCell::default(),
            purpose,
            deadline: RefCell::default(),
            statements: RefCell::default(),
            ahead: RefCell::default(),
            reads_ahead: Cell::new(false),
            failure: Cell::new(None),
            queued_failed: Cell::new(false),
            write: WriteState::default(),
            max_time: Cell::new(None),
            answered_at: Cell::new(SystemClock.monotonic()),
        }
    }

    /// Runs statements without parameters in one request to the server.
    pub(in crate::store::engine::postgres) fn batch(&self, sql: &str) -> Result<()> {
        self.request(|client| async move { client.batch_execute(sql).await }).map_err(Error::from)
    }

    /// Runs statements without parameters, and returns their rows as text.
    pub(in crate::store::engine::postgres) fn simple_query(&self, sql: &str) -> Result<Vec<SimpleQueryMessage>> {
        self.request(|client| async move { client.simple_query(sql).await }).map_err(Error::from)
    }

    /// Queues statements without parameters.
    pub(in crate::store::engine::postgres) fn queue_batch(&self, sql: impl Into<String>) {
        self.push_batch(QueuedKind::Statement, sql.into());
    }

    /// Queues the end of a job of a group, and the savepoint of the next one. If an earlier statement fails, the whole
    /// group has to be undone.
    pub(in crate::store::engine::postgres) fn queue_next_job(&self, sql: &str) {
        self.push_batch(QueuedKind::NextJob, sql.to_owned());
    }

    fn push_batch(&self, kind: QueuedKind, sql: String) {
        self.push(kind, |client| async move { client.batch_execute(&sql).await.map(|()| 0) });
    }

    fn push<F>(&self, kind: QueuedKind, request: impl FnOnce(Arc<Client>) -> F)
    where
        F: Future<Output = Result<u64, postgres::Error>> + Send + 'static,
    {
        if let Some(client) = self.client.borrow().requests() {
            self.queue.borrow_mut().push(Queued { kind, request: Box::pin(request(client)) });
        }
    }

    /// Forgets what is queued, because it is undone.
    pub(in crate::store::engine::postgres) fn clear_queue(&self) {
        self.queue.borrow_mut().clear();
        self.clear_ahead();
    }

    /// Forgets what the job that runs has queued, because it is undone.
    pub(in crate::store::engine::postgres) fn clear_queue_of_job(&self) {
        let mut queue = self.queue.borrow_mut();
        let end_of_last = queue.iter().rposition(|queued| queued.kind == QueuedKind::NextJob);
        queue.truncate(end_of_last.map_or(0, |position| position + 1));
        drop(queue);
        self.clear_ahead();
    }

    /// Forgets the queries whose rows are not used yet.
    pub(in crate::store::engine::postgres) fn clear_ahead(&self) {
        self.reads_ahead.set(false);
        self.ahead.borrow_mut().clear();
    }

    /// Runs the queued statements up to the last one that has to insert a row: to the server it is no error if it does
    /// not.
    pub(in crate::store::engine::postgres) fn check_inserts(&self) -> Result<()> {
        let inserts = self.queue.borrow().iter().rposition(|queued| queued.kind == QueuedKind::Insert);
        let Some(last_insert) = inserts else { return Ok(()) };
        let later = self.queue.borrow_mut().split_off(last_insert + 1);
        self.flush()?;
        *self.queue.borrow_mut() = later;
        Ok(())
    }

    /// Sends what is queued, and does not wait for the answers.
    pub(in crate::store::engine::postgres) fn send_queue(&self) {
        let requests = self.queue.take().into_iter().map(|queued| queued.request).collect();
        self.client.borrow_mut().send(requests);
    }

    /// Sends what is queued together with this request, and waits for its answer.
    pub(in crate::store::engine::postgres) fn request<T: Send, F>(
        &self,
        request: impl FnOnce(Arc<Client>) -> F,
    ) -> Result<T, StatementError>
    where
        F: Future<Output = Result<T, postgres::Error>> + Send,
    {
        let deadline = self.deadline.borrow();
        if deadline.as_ref().is_some_and(Deadline::is_over) {
            return Err(StatementError::Other(Error::Unavailable(Unavailable::SearchTooLong)));
        }
        let (kinds, requests): (Vec<_>, _) =
            self.queue.take().into_iter().map(|Queued { kind, request }| (kind, request)).unzip();
        let mut client = self.client.borrow_mut();
        let Some(last) = client.requests().map(request) else {
            return Err(StatementError::Other(Error::Internal("a closed connection is used".to_owned())));
        };
        let purpose = self.max_time.get().unwrap_or_else(|| self.purpose.max_time());
        let max_time = deadline.as_ref().map_or(purpose, Deadline::max_time);
        let answered = client.run(requests, last, deadline.as_ref(), max_time).map_err(|error| {
            if client.is_silent() {
                self.note(Failure::ConnectionLost);
            }
            StatementError::Other(error)
        })?;
        let (answers, last) = answered.map_err(|error| self.failed(error))?;
        for (position, answer) in answers.into_iter().enumerate() {
            let error = match answer {
                Ok(0) if kinds[position] == QueuedKind::Insert => {
                    self.note(Failure::RunAgain);
                    StatementError::Other(Error::Unavailable(Unavailable::Busy))
                }
                Ok(_) => continue,
                Err(error) => self.failed(error),
            };
            self.queued_failed.set(true);
            // It is a statement of a job that counts as succeeded.
            if kinds[position..].contains(&QueuedKind::NextJob) && self.failure() != Some(Failure::ConnectionLost) {
                self.failure.set(Some(Failure::RunAgain));
            }
            // The caller of the last statement must not take it for a violation that it handles.
            return Err(StatementError::Other(error.into()));
        }
        self.answered_at.set(SystemClock.monotonic());
        last.map_err(|error| self.failed(error))
    }

    /// Sets the time that the next statements may take together; `None` for as long as they need.
    pub(in crate::store::engine::postgres) fn limit(&self, deadline: Option<Deadline>) {
        *self.deadline.borrow_mut() = deadline;
    }

    /// Sets how long each answer is waited for; `None` for as long as the purpose says.
    pub(in crate::store::engine::postgres) fn set_max_time(&self, max_time: Option<Duration>) {
        self.max_time.set(max_time);
    }

    /// Notes what the error of a statement means.
    fn failed(&self, error: postgres::Error) -> StatementError {
        let failure = match failure(&error) {
            // Another one may accept writes.
            Failure::ReadOnly if self.has_other_hosts => Failure::ConnectionLost,
            failure => failure,
        };
        self.note(failure);
        statement_error(error, self.purpose)
    }

    fn note(&self, failure: Failure) {
        // The first failure aborts the transaction, and the others follow from it.
        if self.failure.get().is_none() || failure == Failure::ConnectionLost {
            self.failure.set(Some(failure));
        }
    }

    /// What the first failed statement since [`forget_failure`](Self::forget_failure) means.
    pub(in crate::store::engine::postgres) fn failure(&self) -> Option<Failure> {
        self.failure.get()
    }

    /// Whether the first failed statement was a queued one.
    pub(in crate::store::engine::postgres) fn queued_failed(&self) -> bool {
        self.queued_failed.get()
    }

    /// Forgets the failed statements, because a new transaction begins.
    pub(in crate::store::engine::postgres) fn forget_failure(&self) {
        self.failure.set(None);
        self.queued_failed.set(false);
    }

    /// Whether the connection cannot be used any more.
    pub(in crate::store::engine::postgres) fn is_lost(&self) -> bool {
        self.failure.get() == Some(Failure::ConnectionLost) || self.client.borrow().is_closed()
    }

    /// Whether the connection was given up, because the server did not answer.
    pub(in crate::store::engine::postgres) fn is_silent(&self) -> bool {
        self.client.borrow().is_silent()
    }

    /// Asks the server to end what it does for this connection, also if the connection is lost.
    pub(in crate::store::engine::postgres) fn cancel(&self) {
        self.client.borrow().cancel();
    }

    /// Whether the server answered a moment ago.
    pub(in crate::store::engine::postgres) fn is_fresh(&self) -> bool {
        SystemClock.monotonic().saturating_sub(self.answered_at.get()) < FRESH
    }

    /// Fails if the server does not answer.
    pub(in crate::store::engine::postgres) fn check(&self) -> Result<()> {
        self.request(|client| async move { client.check_connection().await }).map_err(Error::from)
    }

    pub(in crate::store::engine::postgres) fn prepare(
        &self,
        sql: &str,
        binds: &[Bind<'_>],
    ) -> Result<Prepared, StatementError> {
        let known = self.statements.borrow().get(sql, binds);
        if let Some(known) = known {
            return Ok(known);
        }
        let (text, limits) = numbered(sql, binds);
        let types = types_of(binds);
        let prepared_types = Arc::clone(&types);
        let statement = self.request(|client| async move { client.prepare_typed(&text, &prepared_types).await })?;
        Ok(self.statements.borrow_mut().add(sql, (types, limits), statement))
    }

    /// Runs all queued statements.
    fn flush(&self) -> Result<(), StatementError> {
        let is_empty = self.queue.borrow().is_empty();
        if is_empty { Ok(()) } else { self.request(|_| std::future::ready(Ok(()))) }
    }

    /// Queues a query, and keeps its rows for the one that uses them.
    fn queue_query(&self, sql: &str, statement: Statement, binds: &[Bind<'_>]) {
        let rows = self.ahead.borrow_mut().add(sql, binds);
        let binds: Vec<_> = binds.iter().map(Bind::owned).collect();
        self.push(QueuedKind::Statement, |client| async move {
            let binds: Vec<&(dyn ToSql + Sync)> = binds.iter().map(|bind| bind as _).collect();
            let received = client.query(&statement, &binds).await?;
            drop(rows.set(received));
            Ok(0)
        });
    }

    fn queue_statement(&self, kind: QueuedKind, sql: &str, binds: &[Bind<'_>]) -> Result<(), StatementError> {
        if self.queue.borrow().len() >= MAX_QUEUED {
            self.flush()?;
        }
        let statement = self.prepare(sql, binds)?.statement;
        let binds: Vec<_> = binds.iter().map(Bind::owned).collect();
        self.push(kind, |client| async move { client.execute_raw(&statement, binds).await });
        Ok(())
    }
}

/// The first column of a row.
pub(in crate::store::engine::postgres) fn first_column(message: &SimpleQueryMessage) -> Option<&str> {
    match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    }
}

impl Connection for PostgresConnection {
    fn execute(&self, sql: &str, binds: &[Bind<'_>]) -> Result<usize, StatementError> {
        self.write.changes();
        let prepared = self.prepare(sql, binds)?;
        let changed = self.request(|client| async move { client.execute_raw(&prepared.statement, binds).await })?;
        Ok(usize::try_from(changed).unwrap_or(usize::MAX))
    }

    fn execute_later(&self, sql: &str, binds: &[Bind<'_>]) -> Result<()> {
        self.write.changes();
        Ok(self.queue_statement(QueuedKind::Statement, sql, binds)?)
    }

    fn insert_row(&self, sql: &str, binds: &[Bind<'_>]) -> Result<bool, StatementError> {
        self.write.changes();
        self.queue_statement(QueuedKind::Insert, sql, binds).map(|()| true)
    }

    fn query(&self, Query { sql, access }: Query<'_>, binds: &[Bind<'_>], visit: &mut Visit<'_>) -> Result<()> {
        // PostgreSQL's texts have no NUL, so that no row has a text with one.
        if binds.iter().any(|bind| matches!(bind, Bind::Text(text) if text.contains('\0'))) {
            return Ok(());
        }
        let sql = match access {
            Access::Read => Cow::Borrowed(sql),
            Access::Lock(lock) => format!("{sql} {}", locks::clause(lock)).into(),
            Access::Change => {
                self.write.changes();
                Cow::Borrowed(sql)
            }
        };
        let Prepared { statement, columns, .. } = self.prepare(&sql, binds)?;
        if self.reads_ahead.get() {
            self.queue_query(&sql, statement, binds);
            return Ok(());
        }
        let ahead = self.ahead.borrow_mut().take(&sql, binds);
        if ahead.as_ref().is_some_and(|rows| rows.get().is_none()) {
            self.flush()?;
        }
        // All rows are received first: `visit` may run other statements.
        let rows = match ahead.and_then(Arc::into_inner).and_then(OnceLock::into_inner) {
            Some(rows) => rows,
            None => {
                let binds: Vec<&(dyn ToSql + Sync)> = binds.iter().map(|bind| bind as _).collect();
                self.request(|client| async move { client.query(&statement, &binds).await })?
            }
        };
        for row in &rows {
            if visit(&Row::new(row, &columns))?.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn reads_ahead(&self) -> Option<&Cell<bool>> {
        Some(&self.reads_ahead)
    }

    fn query_page(&self, sql: &str, binds: &[Bind<'_>], visit: &mut Visit<'_>) -> Result<()> {
        self.visit_page(sql, binds, visit)
    }

    fn query_table(&self, sql: &str, visit: &mut Visit<'_>) -> Result<()> {
        self.visit_in_steps(sql, visit)
    }

    fn set_savepoint(&self) -> Result<()> {
        self.write.add_savepoint();
        self.batch("SAVEPOINT step")
    }

    fn release_savepoint(&self) -> Result<()> {
        self.batch("RELEASE step")
    }

    fn undo_savepoint(&self) -> Result<()> {
        // It was queued after the savepoint, which was not queued.
        self.clear_queue();
        self.batch("ROLLBACK TO step; RELEASE step")?;
        // A deadlock is resolved by running the whole transaction again, and a lock is not waited for twice.
        let ends_transaction = matches!(self.failure(), Some(Failure::RunAgain | Failure::LockTimeout));
        if !ends_transaction && !self.is_lost() {
            self.forget_failure();
        }
        Ok(())
    }

    fn must_run_again(&self, error: &Error) -> bool {
        match self.failure() {
            Some(Failure::RunAgain | Failure::JobAgain | Failure::ConnectionLost) => true,
            // The job does not handle the violation: next time it finds the row of the other transaction.
            Some(Failure::Violation) => matches!(error, Error::Store(_)) && !self.write.has_run_often(),
            Some(Failure::ReadOnly | Failure::OtherSchema | Failure::LockTimeout | Failure::Other) | None => false,
        }
    }

    fn lock(&self, lock: Lock<'_>) -> Result<()> {
        if let Lock::Event(event) = lock
            && !self.write.must_lock(event)
        {
            return Ok(());
        }
        let (sql, id) = locks::statement(lock);
        Ok(self.queue_statement(QueuedKind::Statement, sql, id.as_slice())?)
    }

    fn lock_new_customer(&self, organization: OrganizationId, email_key: &str) -> Result<bool> {
        let mut is_locked = None;
        self.query(locks::TRY_NEW_CUSTOMER.into(), &locks::new_customer(organization, email_key), &mut |row| {
            is_locked = Some(row.get("is_locked")?);
            Ok(ControlFlow::Break(()))
        })?;
        if is_locked == Some(false) {
            self.note(Failure::JobAgain);
            return Err(Error::Unavailable(Unavailable::Busy));
        }
        Ok(is_locked.is_some())
    }

    fn try_lock_cleanup(&self) -> Result<bool> {
        let mut is_locked = false;
        self.query(locks::TRY_CLEANUP.into(), &[], &mut |row| {
            is_locked = row.get("is_locked")?;
            Ok(ControlFlow::Break(()))
        })?;
        Ok(is_locked)
    }

    fn max_savepoints(&self) -> usize {
        MAX_SAVEPOINTS
    }
}
