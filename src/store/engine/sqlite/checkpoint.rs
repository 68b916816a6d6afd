//! Keeps the write-ahead log small. A thread of its own moves it into the database, so that no caller pays for it.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use super::database::Database;
use super::location::Location;
use crate::error::{Result, StoreError};

/// The thread is woken when the WAL has grown by this many pages: 1 MiB. More often, its syncs would slow down a
/// lone caller; less often, each would be long, and the commits behind it with it.
const STEP: u32 = 250;
/// From this many pages on, 64 MiB, who committed moves the rest: while nobody writes and no reader is in the way,
/// everything can be moved, and the WAL starts anew.
const BOUND: u32 = 16_384;
/// From this many on the thread is woken after every commit, so that the rest is small.
const NEAR_BOUND: u32 = BOUND - 1000;
/// From this many on, 96 MiB, who committed waits for readers: beside some that overlap, the WAL would never start anew.
const HARD_BOUND: u32 = BOUND + BOUND / 2;
/// How much more there must be before readers are waited for again, where some did not finish in time: 16 MiB.
const AGAIN_AFTER: u32 = 4096;
/// From this many on, 192 MiB, somebody reads for long, and readers are waited for less and less often.
const LONG_READ: u32 = 2 * HARD_BOUND;

/// The thread that makes checkpoints.
pub(crate) struct Checkpointer {
    wake: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    /// Pages in the WAL when the thread was woken last.
    woken_at: AtomicU32,
    /// Pages in the WAL at which readers are waited for.
    patient_until: AtomicU32,
}

impl Checkpointer {
    pub(crate) fn start(location: &Location) -> Result<Self> {
        let database = location.open()?;
        let (wake, woken) = sync_channel(1);
        let run = move || checkpoint_when_woken(&database, &woken);
        let thread = std::thread::Builder::new().name("ticketing-checkpoint".to_owned()).spawn(run);
        let thread = thread.map_err(|error| StoreError::Failed(error.to_string()))?;
        Ok(Self {
            wake: Some(wake),
            thread: Some(thread),
            woken_at: AtomicU32::new(0),
            patient_until: AtomicU32::new(HARD_BOUND),
        })
    }

    /// Called by whoever committed, right after it and while nobody else writes.
    pub(crate) fn after_commit(&self, writer: &Database) {
        let pages = Database::take_wal_pages();
        // A WAL that has started anew is shorter than it was.
        let woken_at = self.woken_at.load(Ordering::Relaxed);
        let grown = if pages < woken_at { pages } else { pages - woken_at };
        if pages >= BOUND {
            // The thread is left alone meanwhile: of two checkpoints at once, the second does nothing.
            self.help(writer, pages);
        } else if (grown >= STEP || pages >= NEAR_BOUND)
            && let Some(wake) = &self.wake
        {
            self.woken_at.store(pages, Ordering::Relaxed);
            // Where the channel is full, the thread is about to look anyway.
            let _ = wake.try_send(());
        }
    }

    fn help(&self, writer: &Database, pages: u32) {
        let patient_until = self.patient_until.load(Ordering::Relaxed);
        let helped = if pages < patient_until {
            writer.checkpoint()
        } else {
            let more = if pages < LONG_READ { AGAIN_AFTER } else { pages / 2 };
            self.patient_until.store(pages.saturating_add(more), Ordering::Relaxed);
            writer.restart_wal()
        };
        if pages < HARD_BOUND {
            self.patient_until.store(HARD_BOUND, Ordering::Relaxed);
        }
        if let Err(error) = helped {
            tracing::warn!(%error, "the writer's checkpoint failed");
        }
    }

    /// Ends the thread.
    pub(crate) fn stop(&mut self) {
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
