//! The time that a read may take.

use std::ffi::c_int;
use std::sync::Arc;
use std::time::Duration;

use super::connection::SqliteConnection;
use super::errors::convert;
use crate::environment::Clock;
use crate::error::Result;
use crate::model::cancellation::CancellationToken;

/// How many instructions of its virtual machine SQLite executes until it asks whether to stop: some ten microseconds.
const INSTRUCTIONS: c_int = 2000;

/// Runs `work`, whose statements on `connection` are interrupted when they have taken longer than `budget`, or when
/// nobody waits for the result any more.
pub(super) fn with_budget<T>(
    connection: &SqliteConnection,
    budget: Duration,
    clock: &Arc<dyn Clock>,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    /// Lets the connection run without a limit again, also after a panic.
    struct Reset<'c>(&'c SqliteConnection);

    impl Drop for Reset<'_> {
        fn drop(&mut self) {
            if let Err(error) = self.0.raw.progress_handler(0, None::<fn() -> bool>) {
                tracing::warn!(target: "ticketing::store", %error, "the time limit of a read could not be removed");
            }
        }
    }

    let token = CancellationToken::current();
    let stop_at = clock.monotonic().saturating_add(budget);
    let clock = Arc::clone(clock);
    let must_stop = move || clock.monotonic() >= stop_at || token.as_ref().is_some_and(CancellationToken::is_cancelled);
    connection.raw.progress_handler(INSTRUCTIONS, Some(must_stop)).map_err(convert)?;
    let _reset = Reset(connection);
    work()
}
