//! The transactions of connections that only read, and the time that a read may take.

use std::sync::Arc;
use std::time::Duration;

use super::connection::PostgresConnection;
use crate::environment::Clock;
use crate::error::Result;
use crate::store::engine::readers::ReadConnection;

impl ReadConnection for PostgresConnection {
    fn begin(&self) -> Result<()> {
        self.batch("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    }

    fn begin_snapshot(&self) -> Result<()> {
        self.batch("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY; SELECT 1").inspect_err(|_| self.end())
    }

    fn end(&self) {
        if !self.is_lost()
            && let Err(error) = self.batch("ROLLBACK")
        {
            tracing::warn!(target: "ticketing::store", %error, "a reading transaction could not be ended");
        }
    }

    fn set_budget(&self, budget: Duration, _: &Arc<dyn Clock>) -> Result<()> {
        self.batch(&format!("SET statement_timeout = {}", budget.as_millis().max(1)))
    }

    fn remove_budget(&self) {
        if !self.is_lost()
            && let Err(error) = self.batch("SET statement_timeout = 0")
        {
            tracing::debug!(target: "ticketing::store", %error, "the time limit of a read could not be removed");
        }
    }
}
