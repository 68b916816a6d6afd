//! A fixed number of connections, which threads borrow in turn.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::sqlite_connection::SqliteConnection;
use crate::environment::Locked;
use crate::error::{Error, Result, Unavailable};
use crate::store::engine::readers::ReaderPool;

/// How long a thread waits for a connection.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// The connections. All are opened with the pool and closed with it. One that is closed after the writer would leave
/// the WAL file behind.
pub(in crate::store) struct ConnectionPool {
    state: Mutex<State>,
    returned: Condvar,
}

struct State {
    /// The connection that was used last is at the end, and is used next: its page cache is warm.
    #[expect(clippy::vec_box, reason = "a connection is large, and is moved for each read")]
    idle: Vec<Box<SqliteConnection>>,
    /// How many threads wait. Without it, each return would have to wake threads that may not exist.
    waiting: usize,
}

impl ConnectionPool {
    pub(super) fn new(connections: Vec<SqliteConnection>) -> Self {
        let idle = connections.into_iter().map(Box::new).collect();
        Self { state: Mutex::new(State { idle, waiting: 0 }), returned: Condvar::new() }
    }
}

impl ReaderPool for ConnectionPool {
    type Connection = Box<SqliteConnection>;

    fn take(&self) -> Result<Box<SqliteConnection>> {
        let mut state = self.state.locked();
        if state.idle.is_empty() {
            state.waiting += 1;
            let waited = self.returned.wait_timeout_while(state, MAX_WAIT, |state| state.idle.is_empty());
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            state.waiting -= 1;
        }
        state.idle.pop().ok_or(Error::Unavailable(Unavailable::NoConnection))
    }

    fn give_back(&self, connection: Box<SqliteConnection>) {
        let mut state = self.state.locked();
        state.idle.push(connection);
        if state.waiting > 0 {
            self.returned.notify_one();
        }
    }
}
