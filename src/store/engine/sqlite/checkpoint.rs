//! Checkpoints: they move the write-ahead log (WAL) into the database file, so that the WAL stays small.
//!
//! A background thread makes them, so that no caller waits. If the WAL grows large nevertheless, the leader of the
//! group commit makes a checkpoint itself before the next transaction. Above a second limit, it also waits for readers.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::database::Database;
use super::files::file_state::FileState;
use super::files::location::Location;
use crate::error::{Result, StoreError};

/// The thread is woken whenever the WAL has grown by this many pages, about 16 MiB. A checkpoint syncs both files, and moves
/// a page once that many commits have changed: with a smaller step, more of the time goes to checkpoints. With a larger
/// one, each would delay the commits after it.
const STEP: u32 = 4000;
/// From this many pages on (64 MiB), the leader makes the checkpoint itself, between two transactions. If no reader
/// needs an older state then, the checkpoint moves all of the WAL, and the next commit restarts it.
const LEADER_BOUND: u32 = 16_384;
/// From this many pages on, the thread is woken after every commit, so that little is left for the leader.
const NEAR_LEADER_BOUND: u32 = LEADER_BOUND - 1000;
/// From this many pages on (96 MiB), the leader also waits for readers: while readers overlap, the WAL would never be
/// restarted otherwise.
const READERS_BOUND: u32 = LEADER_BOUND + LEADER_BOUND / 2;
/// By how many more pages (16 MiB) the WAL must grow before the leader waits for readers again, if some did not finish
/// in time.
const RETRY_STEP: u32 = 4096;
/// From this many pages on (192 MiB), some reader takes very long. The leader then waits again only when the WAL has
/// grown by half.
const LONG_READ: u32 = 2 * READERS_BOUND;

/// How often the idle thread checks whether the file was removed, replaced or migrated by a newer program, and whether
/// a sync has failed in another process.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

pub(crate) struct Checkpointer {
    /// Whether the database file may still be written.
    pub(super) file: Arc<FileState>,
    wake: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    /// The pages in the WAL when the thread was woken last.
    pages_when_woken: AtomicU32,
    /// The pages in the WAL after the last commit of this process.
    pages: AtomicU32,
    /// From this many pages in the WAL on, the leader waits for readers.
    wait_for_readers_at: AtomicU32,
}

impl Checkpointer {
    pub(crate) fn start(location: &Location) -> Result<Self> {
        let database = location.open()?;
        let file = Arc::clone(&database.file);
        let (wake, woken) = sync_channel(1);
        let run = move || checkpoint_when_woken(&database, &woken);
        let thread = std::thread::Builder::new().name("ticketing-checkpoint".to_owned()).spawn(run);
        let thread = thread.map_err(StoreError::no_thread)?;
        Ok(Self {
            file,
            wake: Some(wake),
            thread: Some(thread),
            pages_when_woken: AtomicU32::new(0),
            pages: AtomicU32::new(0),
            wait_for_readers_at: AtomicU32::new(READERS_BOUND),
        })
    }

    /// Wakes the thread, or makes a checkpoint if the WAL is large. The leader calls this after each commit, before
    /// the next transaction begins. `pages` is the number of pages in the WAL, or 0 if the commit wrote nothing.
    pub(crate) fn after_commit(&self, writer: &Database, pages: u32) {
        if pages > 0 && pages <= self.pages.swap(pages, Ordering::Relaxed) {
            // The WAL has not grown: another process has moved it, and the last commit began a new one.
            self.file.wal_begins();
        }
        let pages_when_woken = self.pages_when_woken.load(Ordering::Relaxed);
        // After a restart, the WAL is shorter than it was.
        let grown = if pages < pages_when_woken { pages } else { pages - pages_when_woken };
        if pages >= LEADER_BOUND {
            // Do not wake the thread as well: the leader's checkpoint does nothing while the thread makes one.
            self.checkpoint_as_leader(writer, pages);
        } else if (grown >= STEP || pages >= NEAR_LEADER_BOUND)
            && let Some(wake) = &self.wake
        {
            self.pages_when_woken.store(pages, Ordering::Relaxed);
            // If the channel is full, the thread is about to make a checkpoint anyway.
            let _ = wake.try_send(());
        }
    }

    /// Makes a checkpoint on the connection of the writer. Waits for readers if the WAL has grown large enough.
    fn checkpoint_as_leader(&self, writer: &Database, pages: u32) {
        let checkpoint = if pages < self.wait_for_readers_at.load(Ordering::Relaxed) {
            writer.checkpoint()
        } else {
            let step = if pages < LONG_READ { RETRY_STEP } else { pages / 2 };
            self.wait_for_readers_at.store(pages.saturating_add(step), Ordering::Relaxed);
            writer.restart_wal()
        };
        if pages < READERS_BOUND {
            self.wait_for_readers_at.store(READERS_BOUND, Ordering::Relaxed);
        }
        if let Err(error) = checkpoint
            && writer.file.stopped().is_none()
        {
            tracing::warn!(target: "ticketing::store", %error, "the writer's checkpoint failed");
        }
    }

    /// Stops the thread, and waits until it has ended.
    pub(crate) fn stop(&mut self) {
        drop(self.wake.take());
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!(target: "ticketing::store", "the checkpoint thread panicked");
        }
    }
}

fn checkpoint_when_woken(database: &Database, woken: &Receiver<()>) {
    let checkpoint = || {
        if let Err(error) = database.checkpoint()
            && database.file.stopped().is_none()
        {
            tracing::warn!(target: "ticketing::store", %error, "a checkpoint failed");
        }
    };
    loop {
        // The thread must survive a panic, such as one in a tracing subscriber of the embedding program.
        let done = match woken.recv_timeout(CHECK_INTERVAL) {
            Ok(()) => catch_unwind(AssertUnwindSafe(checkpoint)),
            Err(RecvTimeoutError::Timeout) => catch_unwind(AssertUnwindSafe(|| {
                database.file.look();
                // An error needs no handling: if it stops the store, that was logged already.
                let _ = database.check();
            })),
            Err(RecvTimeoutError::Disconnected) => return,
        };
        drop(done);
    }
}
