//! Keeps the write-ahead log small. A thread of its own moves it into the database, so that no caller pays for it.

use std::cell::Cell;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use super::sqlite::{Database, Location};
use crate::error::{Result, StoreError};

/// From this many pages in the WAL on, the thread is woken: 4 MiB.
const WAKE_AT: u32 = 1000;
/// From this many on, the writer stops to let readers finish: beside readers that overlap, the WAL would never start anew.
/// 64 MiB.
const BOUND: u32 = 16_384;
/// How much more there must be before the writer stops again, where some reader did not finish in time. 16 MiB.
const AGAIN_AFTER: u32 = 4096;

/// The thread that makes checkpoints.
pub(crate) struct Checkpointer {
    wake: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    /// At how many pages the writer stops.
    stop_at: Cell<u32>,
}

impl Checkpointer {
    pub(crate) fn start(location: &Location) -> Result<Self> {
        let database = location.open()?;
        let (wake, woken) = sync_channel(1);
        let run = move || checkpoint_when_woken(&database, &woken);
        let thread = std::thread::Builder::new().name("ticketing-checkpoint".to_owned()).spawn(run);
        let thread = thread.map_err(|error| StoreError::Failed(error.to_string()))?;
        Ok(Self { wake: Some(wake), thread: Some(thread), stop_at: Cell::new(BOUND) })
    }

    /// Called by the writer after each commit.
    pub(crate) fn after_commit(&self, writer: &Database) {
        let pages = Database::wal_pages();
        if pages >= WAKE_AT
            && let Some(wake) = &self.wake
        {
            // Where the channel is full, the thread is about to look anyway.
            let _ = wake.try_send(());
        }
        if pages >= self.stop_at.get() {
            let restarted = writer.restart_log().unwrap_or_else(|error| {
                tracing::warn!(%error, "the writer's checkpoint failed");
                false
            });
            self.stop_at.set(if restarted { BOUND } else { pages.saturating_add(AGAIN_AFTER) });
        } else if pages < BOUND {
            self.stop_at.set(BOUND);
        }
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        drop(self.wake.take());
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the checkpoint thread panicked");
        }
    }
}

fn checkpoint_when_woken(database: &Database, woken: &Receiver<()>) {
    while woken.recv().is_ok() {
        if let Err(error) = database.checkpoint() {
            tracing::warn!(%error, "a checkpoint failed");
        }
    }
}
