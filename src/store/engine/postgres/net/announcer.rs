//! Tells other processes, with `NOTIFY`, that this one has committed work for background threads.
//!
//! The transaction that commits the work does not call `NOTIFY` itself: PostgreSQL commits all transactions with a
//! `NOTIFY` one after another, each with its own sync to disk. With 16 connections, commits took four times as long.
//! Instead, a thread sends one announcement for many commits. If this process ends before it has announced a commit,
//! the pollers of the other processes find the work a little later.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::pool::Connector;
use super::work_message::{self, CHANNEL};
use crate::environment::Locked;
use crate::error::{Result, StoreError};
use crate::store::commits::commit_notifier::{CommitNotifier, CommittedWork};
use crate::store::engine::postgres::statements::postgres_connection::PostgresConnection;

/// The pause after each announcement, so that many commits are announced together.
const PAUSE: Duration = Duration::from_millis(5);

/// The pause after an announcement that failed.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(1);

/// The thread that announces commits. Dropping the announcer ends the thread.
pub(in crate::store::engine::postgres) struct Announcer {
    pending: Arc<Pending>,
    thread: Option<JoinHandle<()>>,
}

/// The committed work that is not announced yet, shared with the thread.
#[derive(Default)]
struct Pending {
    state: Mutex<State>,
    /// Notified when work was added, and when the thread must end.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    work: CommittedWork,
    /// Whether the thread must end.
    is_ending: bool,
}

impl Announcer {
    /// Starts the thread, which announces the commits that `notifier` reports. `process` is the number by which this
    /// process recognizes its own announcements.
    pub(in crate::store::engine::postgres) fn start(
        connector: Connector,
        notifier: &CommitNotifier,
        process: u64,
    ) -> Result<Self> {
        let pending = Arc::new(Pending::default());
        let pending_of_thread = Arc::clone(&pending);
        let run = move || announce_pending(&pending_of_thread, &connector, process);
        let thread = std::thread::Builder::new().name("ticketing-announcer".to_owned()).spawn(run);
        let thread = Some(thread.map_err(StoreError::no_thread)?);
        let pending_of_notifier = Arc::clone(&pending);
        notifier.announce_to(Box::new(move |work| pending_of_notifier.add(work)));
        Ok(Self { pending, thread })
    }
}

impl Pending {
    fn add(&self, work: CommittedWork) {
        self.state.locked().work.add(work);
        self.changed.notify_one();
    }

    /// Waits for work and takes it. Returns `None` if the thread must end and no work is left.
    fn take(&self) -> Option<CommittedWork> {
        let mut state = self.state.locked();
        while state.work.is_empty() && !state.is_ending {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.work.is_empty() { None } else { Some(std::mem::take(&mut state.work)) }
    }

    /// Waits for `duration`, or until the thread must end. Returns whether it must end.
    fn pause(&self, duration: Duration) -> bool {
        let state = self.state.locked();
        let waited = self.changed.wait_timeout_while(state, duration, |state| !state.is_ending);
        waited.unwrap_or_else(PoisonError::into_inner).0.is_ending
    }

    fn end(&self) {
        self.state.locked().is_ending = true;
        self.changed.notify_all();
    }
}

/// Announces pending work until the thread must end. If an announcement fails, it is dropped: the pollers of the other
/// processes find the work.
fn announce_pending(pending: &Pending, connector: &Connector, process: u64) {
    let mut connection = None;
    while let Some(work) = pending.take() {
        let announced = send(&mut connection, connector, process, &work);
        if let Err(error) = &announced {
            connection = None;
            tracing::debug!(target: "ticketing::store", %error, "committed work was not announced to other processes");
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
    // A lost announcement loses no work, so the commit need not wait for the disk.
    let messages = work_message::write(process, work);
    let messages: Vec<_> = messages.iter().map(|message| format!("NOTIFY {CHANNEL}, '{message}'; ")).collect();
    connection.batch(&format!("BEGIN; SET LOCAL synchronous_commit = off; {}COMMIT", messages.concat()))
}

impl Drop for Announcer {
    fn drop(&mut self) {
        self.pending.end();
        if let Some(thread) = self.thread.take() {
            // The panic hook has already reported a panic of the thread.
            drop(thread.join());
        }
    }
}
