//! The transactions of connections that only read, and the time that a read may take.

use std::sync::Arc;
use std::time::Duration;

use super::deadline::Deadline;
use super::postgres_connection::PostgresConnection;
use crate::environment::Clock;
use crate::error::Result;
use crate::store::engine::readers::ReadConnection;

impl ReadConnection for PostgresConnection {
    fn begin(&self) -> Result<()> {
        // Sent with the first query.
        self.queue_batch("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY");
        Ok(())
    }

    fn begin_snapshot(&self) -> Result<()> {
        self.batch("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY; SELECT 1").inspect_err(|_| self.end())
    }

    fn end(&self) {
        // If it fails, the connection is lost, which the next statement notices.
        self.queue_batch("ROLLBACK");
        self.send_queue();
    }

    fn set_deadline(&self, max_time: Duration, clock: &Arc<dyn Clock>) -> Result<()> {
        self.limit(Some(Deadline::new(max_time, clock)));
        // If this process is stopped, the server ends the scan.
        self.queue_batch(format!("SET statement_timeout = {}", max_time.as_millis().max(1)));
        Ok(())
    }

    fn remove_deadline(&self) {
        self.limit(None);
        self.queue_batch("SET statement_timeout = 0");
    }
}
