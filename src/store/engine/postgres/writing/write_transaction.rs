//! Transactions that write: how they begin, what they have done, and how they end.

use std::time::Duration;

use super::server_clock::{MILLIS_OF_SERVER, ServerClock, time_in};
use super::tokens::{INSERT_TOKEN, Token};
use crate::environment::Clock as _;
use crate::error::Result;
use crate::model::values::id::EventId;
use crate::model::values::timestamp::Timestamp;
use crate::store::engine::postgres::net::errors::Failure;
use crate::store::engine::postgres::statements::postgres_connection::PostgresConnection;

/// How long a commit is waited for. A server with a synchronous standby waits for the standby without a limit of its
/// own.
const MAX_COMMIT_TIME: Duration = Duration::from_secs(8);

/// The setting of a transaction that waits at most half a second for each lock.
pub(in crate::store::engine::postgres) const BRIEF_LOCKS: &str = "SET LOCAL lock_timeout = '500ms';";

/// Prepares the statements that are sent together with others as text, so that they are planned once for each
/// connection.
fn preparation() -> String {
    format!(
        "PREPARE lock_event (BIGINT) AS SELECT id FROM events WHERE id = $1 FOR NO KEY UPDATE;
        PREPARE insert_token (BIGINT, BIGINT, BIGINT) AS {INSERT_TOKEN};
        PREPARE server_time AS SELECT {MILLIS_OF_SERVER}"
    )
}

impl PostgresConnection {
    /// Begins a transaction with its first statement. Returns the time by the clock of the server.
    pub(in crate::store::engine::postgres) fn begin_write(&self, clock: &ServerClock) -> Result<Timestamp> {
        self.begin(false)?;
        self.queue_batch("BEGIN");
        Ok(clock.now())
    }

    /// Begins a transaction with these settings, locks the event, and sets a savepoint for the first job if there is one
    /// for each. Returns the time of the server, which is read when the event is locked.
    pub(in crate::store::engine::postgres) fn begin_locked(
        &self,
        event: EventId,
        settings: &str,
        has_savepoints: bool,
        clock: &ServerClock,
    ) -> Result<Timestamp> {
        self.begin(has_savepoints)?;
        let event_id = event.raw();
        let savepoint = if has_savepoints { "SAVEPOINT job;" } else { "" };
        let answer = self.simple_query(&format!(
            "BEGIN; {settings} EXECUTE lock_event({event_id}); {savepoint} EXECUTE server_time"
        ))?;
        let time = time_in(&answer)?;
        clock.note(time);
        Ok(time)
    }

    fn begin(&self, has_savepoints: bool) -> Result<()> {
        self.forget_failure();
        self.clear_ahead();
        if !self.write.is_prepared.get() {
            self.batch(&preparation())?;
            self.write.is_prepared.set(true);
        }
        self.write.begin(has_savepoints);
        Ok(())
    }

    /// Keeps what the last job has done, and sets a savepoint for the next one if there is one for each.
    pub(in crate::store::engine::postgres) fn next_job(&self) {
        // The next job must see what this one has changed.
        self.clear_ahead();
        if self.write.job_changed.take() {
            let has_savepoints = self.write.has_savepoints.get();
            self.queue_next_job(has_savepoints.then_some("RELEASE SAVEPOINT job; SAVEPOINT job"));
            if has_savepoints {
                self.write.add_savepoint();
            }
        }
    }

    /// Undoes what the last job has done. Returns `false` if that is not possible without those before it.
    pub(in crate::store::engine::postgres) fn undo_job(&self) -> Result<bool> {
        self.clear_queue_of_job();
        // Nothing has failed for the server if another transaction has locked what the job would insert.
        let is_aborted = self.failure().is_some_and(|failure| failure != Failure::JobAgain);
        if self.write.job_changed.take() || is_aborted {
            if !self.write.has_savepoints.get() {
                return Ok(false);
            }
            self.batch("ROLLBACK TO SAVEPOINT job")?;
        }
        self.forget_failure();
        Ok(true)
    }

    /// Commits the transaction, and stores its token if it has changed something.
    pub(in crate::store::engine::postgres) fn commit(&self, token: Token) -> Result<()> {
        // Otherwise the transaction would be committed without them.
        self.check_inserts()?;
        let sql = if self.write.changed.get() { format!("{}; COMMIT", token.insert()) } else { "COMMIT".to_owned() };
        self.set_max_time(Some(MAX_COMMIT_TIME));
        let committed = self.batch(&sql);
        self.set_max_time(None);
        committed?;
        self.write.is_open.set(false);
        Ok(())
    }

    /// Undoes the transaction. If this fails, the connection is not used any more.
    pub(in crate::store::engine::postgres) fn roll_back(&self) {
        self.clear_queue();
        if self.is_lost() {
            return;
        }
        match self.batch("ROLLBACK") {
            Ok(()) => self.write.is_open.set(false),
            Err(error) => {
                tracing::debug!(target: "ticketing::store", %error, "a transaction could not be rolled back");
            }
        }
    }
}
