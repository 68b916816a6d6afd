//! How write transactions are committed, and how it is found out whether the database commits any.
//!
//! If the connection is lost during a commit, or the server does not answer in time, the outcome is found out by the
//! transaction's [token](super::tokens).

use std::time::Duration;

use super::tokens::{Outcome, Token};
use super::writer::{Commit, Failed, PostgresWriter};
use crate::environment::Clock as _;
use crate::error::{Error, Result, StoreError, StoreErrorKind, Unavailable};
use crate::model::values::timestamp::Timestamp;
use crate::store::engine::connection::Connection as _;
use crate::store::engine::postgres::connections::pool::{Borrowed, time_left};
use crate::store::engine::postgres::net::errors::Failure;
use crate::store::engine::postgres::net::write_health::WriteStart;
use crate::store::engine::postgres::schema;
use crate::store::engine::postgres::statements::postgres_connection::PostgresConnection;
use crate::store::migrations;

/// How long the outcome of a commit is asked for.
const MAX_QUESTION_TIME: Duration = Duration::from_secs(8);

/// How long the server may take to answer when it is checked, together with the time until it can be used.
const MAX_PROBE_TIME: Duration = Duration::from_secs(3);

/// Reads something.
const ANY_ROW: &str = "SELECT 1 FROM organizations LIMIT 1";

/// The error of jobs that were not run, because others have failed with this one.
pub(in crate::store::engine::postgres) fn error_of_others(error: &Error) -> Error {
    match error {
        Error::Unavailable(Unavailable::OutcomeUnknown) => Error::Unavailable(Unavailable::NoAnswer),
        error => error.clone(),
    }
}

impl PostgresWriter {
    pub(in crate::store::engine::postgres) fn commit(&self, connection: Borrowed, began_at: Timestamp) -> Commit {
        let token = Token::new(began_at, &self.environment);
        let result = connection.commit(token);
        let (failure, has_changed) = (connection.failure(), connection.write.changed.get());
        match result {
            Ok(()) => {
                self.pool.give_back(connection);
                if has_changed {
                    self.health.committed();
                }
                Commit::Done
            }
            Err(error) if failure == Some(Failure::ConnectionLost) => {
                // Its place in the pool is free for the connection on which the outcome is asked for.
                self.pool.give_back(connection);
                let run_again = true;
                if has_changed { self.outcome(token, error) } else { Commit::Undone { error, run_again } }
            }
            Err(error) if failure == Some(Failure::OtherSchema) => {
                connection.roll_back();
                let error = self.other_schema(&connection, error);
                self.pool.give_back(connection);
                Commit::Undone { error, run_again: false }
            }
            Err(error) => {
                if failure == Some(Failure::ReadOnly) {
                    self.health.failed();
                }
                let job_failed = connection.queued_failed();
                // No constraint of the schema is only checked by the commit, so a violation would come again.
                let run_again = failure == Some(Failure::RunAgain) || (job_failed && connection.must_run_again(&error));
                connection.roll_back();
                self.pool.give_back(connection);
                match job_failed && !run_again {
                    true => Commit::JobFailed(Failed { error, is_busy: failure == Some(Failure::LockTimeout) }),
                    false => Commit::Undone { error, run_again },
                }
            }
        }
    }

    /// The error of a transaction that seems to have met another schema, and was rolled back. If a newer program has
    /// migrated it, nothing is written any more. If it has the version of this program, the error is that of the
    /// statement.
    pub(in crate::store::engine::postgres) fn other_schema(
        &self,
        connection: &PostgresConnection,
        error: Error,
    ) -> Error {
        let known = migrations::POSTGRES.known();
        match schema::version(connection) {
            Ok(found) if found == known => error,
            Ok(found) if found > known => {
                let reason = StoreError::from(StoreErrorKind::SchemaTooNew { found, known });
                tracing::error!(target: "ticketing::store", error = %reason, "nothing is written any more");
                self.stopped.get_or_init(|| reason).clone().into()
            }
            Ok(found) => StoreErrorKind::SchemaTooOld { found, known }.into(),
            Err(error) => error,
        }
    }

    /// Finds out how a commit ended whose connection was lost.
    fn outcome(&self, token: Token, error: Error) -> Commit {
        let left = time_left(MAX_QUESTION_TIME);
        let mut questions = 0;
        while !left().is_zero() {
            match self.ask(token, left()) {
                Ok(Outcome::Committed) => return Commit::Done,
                Ok(Outcome::Undone) => return Commit::Undone { error, run_again: true },
                Ok(Outcome::Unknown) => break,
                Err(_) => {
                    self.health.failed();
                    questions += 1;
                    self.pause(questions);
                }
            }
        }
        tracing::error!(target: "ticketing::store", "it is not known whether a transaction was committed");
        Commit::Unknown(Error::Unavailable(Unavailable::OutcomeUnknown))
    }

    /// Asks for the outcome, which commits something too.
    fn ask(&self, token: Token, max_time: Duration) -> Result<Outcome> {
        self.on_connection(max_time, |connection| token.ask(connection)).inspect(|_| self.health.committed())
    }

    /// Runs statements that may be cancelled at any time. Waits up to `max_time` for a connection and the answers
    /// together.
    fn on_connection<T>(&self, max_time: Duration, run: impl Fn(&PostgresConnection) -> Result<T>) -> Result<T> {
        let left = time_left(max_time);
        let run_within = |connection: &PostgresConnection| {
            connection.set_max_time(Some(left()));
            let result = run(connection);
            connection.set_max_time(None);
            result
        };
        let mut connection = self.pool.take_within(max_time)?;
        let mut result = run_within(&connection);
        if connection.is_lost() && !connection.is_silent() {
            // The server has ended this connection a moment ago.
            connection = self.pool.reopen(connection, left())?;
            result = run_within(&connection);
        }
        if connection.is_silent() {
            // It may wait for a standby, which has no limit.
            connection.cancel();
        }
        self.pool.give_back(connection);
        result
    }

    /// Fails at once if writes have failed for some time, unless the database accepts writes again.
    pub(in crate::store::engine::postgres) fn require_writable(&self) -> Result<()> {
        match self.health.start_write() {
            WriteStart::Allowed => Ok(()),
            WriteStart::AfterProbe(_probe) => self.probe(),
            WriteStart::Refused => Err(Error::Unavailable(Unavailable::NotWritable)),
        }
    }

    /// Fails if the server does not answer within seconds, or if there is a reason to doubt that it accepts writes and
    /// it does not accept one.
    pub(in crate::store::engine::postgres) fn check(&self) -> Result<()> {
        if let Some(reason) = self.stopped() {
            return Err(reason.clone().into());
        }
        if self.health.is_doubtful(self.waiting() > 0) {
            return self.probe();
        }
        self.on_connection(MAX_PROBE_TIME, |connection| connection.simple_query(ANY_ROW).map(drop))
    }

    /// Commits something, to find out whether the database accepts writes: asks for a transaction that there never was.
    fn probe(&self) -> Result<()> {
        self.ask(Token::new(self.server_clock.now(), &self.environment), MAX_PROBE_TIME).map(drop)
    }
}
