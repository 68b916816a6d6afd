//! Transactions that write: how they begin, what they have done, and how they end.

use super::connection::{PostgresConnection, first_column};
use super::tokens::{self, Token};
use crate::error::{Error, Result};
use crate::model::id::EventId;
use crate::model::timestamp::Timestamp;

impl PostgresConnection {
    /// Begins a transaction. Locks the event, if there is one, and sets a savepoint for its first job. Returns the time of
    /// the server, which is read when the event is locked.
    pub(super) fn begin_write(&self, event: Option<EventId>) -> Result<Timestamp> {
        self.forget_failure();
        self.write.begin(event.is_some());
        let time = tokens::MILLIS_OF_SERVER;
        let answer = self.simple_query(&match event {
            None => format!("BEGIN; SELECT {time}"),
            Some(event) => format!(
                "BEGIN; SELECT id FROM events WHERE id = {} FOR NO KEY UPDATE; SAVEPOINT job; SELECT {time}",
                event.raw()
            ),
        })?;
        self.write.set_event(event);
        let millis = answer.iter().rev().find_map(first_column).and_then(|millis| millis.parse().ok());
        let time = millis.and_then(|millis| Timestamp::from_millis(millis).ok());
        time.ok_or_else(|| Error::Internal("the database server has no time".to_owned()))
    }

    /// Keeps what the last job has done, and sets a savepoint for the next one.
    pub(super) fn next_savepoint(&self) -> Result<()> {
        if self.write.take_job_changed() {
            self.batch("RELEASE SAVEPOINT job; SAVEPOINT job")?;
            self.write.add_savepoint();
        }
        Ok(())
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
        let sql = if self.write.has_changed() { format!("{}; COMMIT", token.insert()) } else { "COMMIT".to_owned() };
        self.batch(&sql)?;
        self.write.end();
        Ok(())
    }

    /// Undoes the transaction. If this fails, the connection is not used any more.
    pub(super) fn roll_back(&self) {
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
