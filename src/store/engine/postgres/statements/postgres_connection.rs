//! Connections to PostgreSQL: requests, the queue of those that are sent together with the next one, and what their
//! failures mean.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use postgres::types::ToSql;
use postgres::{SimpleQueryMessage, Statement};
use tokio_postgres::Client;

use super::prepared::{Prepared, Statements, numbered, types_of};
use super::read_ahead::ReadAhead;
use super::write_state::WriteState;
use crate::environment::{Clock, SystemClock};
use crate::error::{Error, Result, Unavailable};
use crate::store::engine::deadline::Deadline;
use crate::store::engine::postgres::net::errors::{Failure, failure, statement_error};
use crate::store::engine::postgres::net::pipelining_client::{PipeliningClient, Request};
use crate::store::engine::postgres::net::purpose::Purpose;
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
    pub(super) ahead: RefCell<ReadAhead>,
    /// Whether queries are only announced.
    pub(super) reads_ahead: Cell<bool>,
    /// What the first failed statement of the transaction means for it.
    failure: Cell<Option<Failure>>,
    /// Whether that statement was a queued one.
    queued_failed: Cell<bool>,
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
pub(super) enum QueuedKind {
    Statement,
    /// A statement that has to insert a row.
    Insert,
    /// The end of a job of a group.
    NextJob,
}

/// How long a connection may be idle before it is checked: the server may have ended it.
const FRESH: Duration = Duration::from_secs(1);

/// How long the server may take to end a scan whose deadline has passed.
const ENDING_TIME: Duration = Duration::from_secs(2);

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

    /// Queues the end of a job of a group, and the statements between it and the next one. If an earlier statement
    /// fails, the whole group has to be undone.
    pub(in crate::store::engine::postgres) fn queue_next_job(&self, sql: Option<&str>) {
        match sql {
            Some(sql) => self.push_batch(QueuedKind::NextJob, sql.to_owned()),
            None => self.push(QueuedKind::NextJob, |_| std::future::ready(Ok(0))),
        }
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
            return Err(Error::Unavailable(Unavailable::SearchTooLong).into());
        }
        let (kinds, requests): (Vec<_>, _) =
            self.queue.take().into_iter().map(|Queued { kind, request }| (kind, request)).unzip();
        let mut client = self.client.borrow_mut();
        let Some(last) = client.requests().map(request) else {
            return Err(Error::Internal("a closed connection is used".to_owned()).into());
        };
        let purpose = self.max_time.get().unwrap_or_else(|| self.purpose.max_time());
        let max_time = deadline.as_ref().map_or(purpose, |deadline| deadline.time_left().saturating_add(ENDING_TIME));
        let answered = client.run(requests, last, deadline.as_ref(), max_time).inspect_err(|_| {
            if client.is_silent() {
                self.note(Failure::ConnectionLost);
            }
        })?;
        let (answers, last) = answered.map_err(|error| self.failed(error))?;
        for (position, answer) in answers.into_iter().enumerate() {
            let error = match answer {
                Ok(0) if kinds[position] == QueuedKind::Insert => {
                    self.note(Failure::RunAgain);
                    Error::Unavailable(Unavailable::Busy)
                }
                Ok(_) => continue,
                Err(error) => self.failed(error).into(),
            };
            self.queued_failed.set(true);
            // It is a statement of a job that counts as succeeded.
            if kinds[position..].contains(&QueuedKind::NextJob) && self.failure() != Some(Failure::ConnectionLost) {
                self.failure.set(Some(Failure::RunAgain));
            }
            // The caller of the last statement must not take it for a violation that it handles.
            return Err(error.into());
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

    pub(super) fn note(&self, failure: Failure) {
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
    pub(super) fn flush(&self) -> Result<(), StatementError> {
        let is_empty = self.queue.borrow().is_empty();
        if is_empty { Ok(()) } else { self.request(|_| std::future::ready(Ok(()))) }
    }

    /// Queues a query, and keeps its rows for the one that uses them.
    pub(super) fn queue_query(&self, sql: &str, statement: Statement, binds: &[Bind<'_>]) {
        let rows = self.ahead.borrow_mut().add(sql, binds);
        let binds: Vec<_> = binds.iter().map(Bind::owned).collect();
        self.push(QueuedKind::Statement, |client| async move {
            let binds: Vec<&(dyn ToSql + Sync)> = binds.iter().map(|bind| bind as _).collect();
            let received = client.query(&statement, &binds).await?;
            drop(rows.set(received));
            Ok(0)
        });
    }

    pub(super) fn queue_statement(
        &self,
        kind: QueuedKind,
        sql: &str,
        binds: &[Bind<'_>],
    ) -> Result<(), StatementError> {
        if self.queue.borrow().len() >= MAX_QUEUED {
            self.flush()?;
        }
        let statement = self.prepare(sql, binds)?.statement;
        let binds: Vec<_> = binds.iter().map(Bind::owned).collect();
        self.push(kind, |client| async move { client.execute_raw(&statement, binds).await });
        Ok(())
    }
}

pub(in crate::store::engine::postgres) fn first_column(message: &SimpleQueryMessage) -> Option<&str> {
    match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    }
}
