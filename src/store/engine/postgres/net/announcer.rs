//! Tells other processes that this one has committed work for their background threads.
//!
//! `NOTIFY` is not part of the transaction with the work. Transactions with one commit one after another, in the whole
//! server, each with its sync to disk: with 16 connections, that takes four times as long. So a thread announces what was
//! committed afterwards, for many transactions at once. If the process ends in between, the pollers of the others find the
//! work a little later.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::pool::Connector;
use super::work_message::{self, CHANNEL};
use crate::error::{Result, StoreError};
use crate::store::commits::commit_notifier::{Announce, CommitNotifier, CommittedWork};
use crate::store::engine::postgres::statements::postgres_connection::PostgresConnection;

/// The pause after each announcement, so that many commits are announced together.
const PAUSE: Duration = Duration::from_millis(5);

/// The pause after an announcement that failed.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(1);

/// The thread that announces. Dropping this ends it.
pub(in crate::store::engine::postgres) struct Announcer {
    pending: Arc<Pending>,
    thread: Option<JoinHandle<()>>,
}

/// What is not announced yet.
#[derive(Default)]
struct Pending {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    work: CommittedWork,
    ended: bool,
}

impl Announcer {
    /// Starts the thread, which announces the commits that `notifier` reports. `process` is the number of this process.
    pub(in crate::store::engine::postgres) fn start(
        connector: Connector,
        notifier: &CommitNotifier,
        process: u64,
    ) -> Result<Self> {
        let pending = Arc::new(Pending::default());
        let announced = Arc::clone(&pending);
        let run = move || announce(&announced, &connector, process);
        let thread = std::thread::Builder::new().name("ticketing-announcer".to_owned()).spawn(run);
        let thread = Some(thread.map_err(StoreError::no_thread)?);
        notifier.announce_to(Arc::clone(&pending) as _);
        Ok(Self { pending, thread })
    }
}

impl Announce for Pending {
    fn announce(&self, work: CommittedWork) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.work.add(work);
        self.changed.notify_one();
    }
}

impl Pending {
    /// Waits for work, and takes it. `None` if the thread is to end, and there is nothing left.
    fn take(&self) -> Option<CommittedWork> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.work.is_empty() && !state.ended {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.work.is_empty() { None } else { Some(std::mem::take(&mut state.work)) }
    }

    /// Waits, but not after the thread is to end. Returns whether it is.
    fn pause(&self, duration: Duration) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(state, duration, |state| !state.ended);
        waited.unwrap_or_else(PoisonError::into_inner).0.ended
    }

    fn end(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).ended = true;
        self.changed.notify_all();
    }
}

/// Announces pending work until the thread is to end. After a failure, what was to be announced is dropped: pollers find it.
fn announce(pending: &Pending, connector: &Connector, process: u64) {
    let mut connection = None;
    while let Some(work) = pending.take() {
        let announced = send(&mut connection, connector, process, &work);
        if let Err(error) = &announced {
            connection = None;
            tracing::debug!(target: "ticketing::store", %error, "other processes were not told of work in the outbox");
        }
        if pending.pause(if announced.is_ok() { PAUSE } else { PAUSE_AFTER_FAILURE }) && announced.is_err() {
            return;
        }
    }
}

fn send(
    connection: &mut Option<PostgresConnection>,
    connector: &Connector,
    process: u64,
    work: &CommittedWork,
) -> Result<()> {
    let connection = match connection {
        Some(connection) => connection,
        None => connection.insert(connector.open()?),
    };
    // Nothing is lost with an announcement, so that it need not wait for the disk.
    let messages = work_message::write(process, work);
    let messages: Vec<_> = messages.iter().map(|message| format!("NOTIFY {CHANNEL}, '{message}'; ")).collect();
    connection.batch(&format!("BEGIN; SET LOCAL synchronous_commit = off; {}COMMIT", messages.concat()))
}

impl Drop for Announcer {
    fn drop(&mut self) {
        self.pending.end();
        if let Some(thread) = self.thread.take() {
            // A panic in the thread was reported already.
            drop(thread.join());
        }
    }
}
