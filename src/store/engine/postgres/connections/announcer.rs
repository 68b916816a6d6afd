//! Tells other processes, with `NOTIFY`, that this one has committed work for background threads.
//!
//! The transaction that commits the work does not call `NOTIFY` itself: PostgreSQL commits all transactions with a
//! `NOTIFY` one after another, each with its own sync to disk. With 16 connections, commits took four times as long.
//! Instead, a thread sends one announcement for many commits. If this process ends before it has announced a commit,
//! the pollers of the other processes find the work a little later.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::pool::Connector;
use crate::error::{Result, StoreError};
use crate::store::commits::commit_notifier::{CommitNotifier, CommittedWork};
use crate::store::engine::postgres::net::work_message::{self, CHANNEL};
use crate::store::engine::postgres::statements::postgres_connection::PostgresConnection;

/// The pause after each announcement, so that many commits are announced together.
const PAUSE: Duration = Duration::from_millis(5);

/// The pause after an announcement that failed.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(1);

/// The thread that announces commits. Dropping the announcer ends the thread.
pub(in crate::store::engine::postgres) struct Announcer {
    /// Passes committed work to the thread, which ends when this is dropped and no work is left.
    work: Option<Arc<Sender<CommittedWork>>>,
    thread: Option<JoinHandle<()>>,
}

impl Announcer {
    /// Starts the thread, which announces the commits that `notifier` reports. `process` is the number by which this
    /// process recognizes its own announcements.
    pub(in crate::store::engine::postgres) fn start(
        connector: Connector,
        notifier: &CommitNotifier,
        process: u64,
    ) -> Result<Self> {
        let (work, pending) = channel();
        let run = move || announce(&pending, &connector, process);
        let thread = std::thread::Builder::new().name("ticketing-announcer".to_owned()).spawn(run);
        let thread = thread.map_err(StoreError::no_thread)?;
        let work = Arc::new(work);
        let work_of_notifier = Arc::downgrade(&work);
        notifier.announce_to(Box::new(move |committed| {
            if let Some(work) = work_of_notifier.upgrade() {
                let _ = work.send(committed);
            }
        }));
        Ok(Self { work: Some(work), thread: Some(thread) })
    }
}

/// Announces work until no more can come. If an announcement fails, it is dropped, with what is committed in the pause
/// after it: the pollers of the other processes find the work.
fn announce(pending: &Receiver<CommittedWork>, connector: &Connector, process: u64) {
    let mut connection = None;
    while let Ok(mut work) = pending.recv() {
        for more in pending.try_iter() {
            work.add(more);
        }
        let announced = send(&mut connection, connector, process, &work);
        if let Err(error) = &announced {
            connection = None;
            tracing::debug!(target: "ticketing::store", %error, "committed work was not announced to other processes");
        }
        std::thread::sleep(if announced.is_ok() { PAUSE } else { PAUSE_AFTER_FAILURE });
        if announced.is_err() {
            pending.try_iter().for_each(drop);
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
        drop(self.work.take());
        if let Some(thread) = self.thread.take() {
            // The panic hook has already reported a panic of the thread.
            drop(thread.join());
        }
    }
}
