//! Transactions that write: how they begin, what they have done, and how they end.

use super::clock::{MILLIS_OF_SERVER, time_in};
use super::connection::PostgresConnection;
use super::tokens::Token;
use crate::error::Result;
use crate::model::id::EventId;
use crate::model::timestamp::Timestamp;

impl PostgresConnection {
    /// Begins a transaction. Locks the event, if there is one, and sets a savepoint for its first job. Returns the time of
    /// the server, which is read when the event is locked.
    pub(super) fn begin_write(&self, event: Option<EventId>) -> Result<Timestamp> {
        self.forget_failure();
        self.write.begin(event.is_some());
        let answer = self.simple_query(&match event {
            None => format!("BEGIN; SELECT {MILLIS_OF_SERVER}"),
            Some(event) => format!(
                "BEGIN; SELECT id FROM events WHERE id = {} FOR NO KEY UPDATE; SAVEPOINT job; SELECT {MILLIS_OF_SERVER}",
                event.raw()
            ),
        })?;
        self.write.set_event(event);
        time_in(&answer)
    }

    /// Keeps what the last job has done, and sets a savepoint for the next one.
    pub(super) fn next_savepoint(&self) {
        if self.write.take_job_changed() {
            self.queue_next_job("RELEASE SAVEPOINT job; SAVEPOINT job");
            self.write.add_savepoint();
        }
    }

    /// Undoes what the last job has done.
    pub(super) fn undo_job(&self) -> Result<()> {
        if self.write.take_job_changed() || self.failure().is_some() {
            self.batch("ROLLBACK TO SAVEPOINT job")?;
        }
        self.forget_failure();
        Ok(())
    }

    /// Commits the transaction, and stores its token if it has changed something.
    pub(super) fn commit(&self, token: Token) -> Result<()> {
        // Otherwise the transaction would be committed without them.
        self.check_changes()?;
        let sql = if self.write.has_changed() { format!("{}; COMMIT", token.insert()) } else { "COMMIT".to_owned() };
        self.batch(&sql)?;
        self.write.end();
        Ok(())
    }

    /// Undoes the transaction. If this fails, the connection is not used any more.
    pub(super) fn roll_back(&self) {
        self.clear_queue();
        if self.is_lost() {
            return;
        }
        match self.batch("ROLLBACK") {
            Ok(()) => self.write.end(),
            Err(error) => {
                tracing::debug!(target: "ticketing::store", %error, "a transaction could not be rolled back");
            }
        }
    }
}
