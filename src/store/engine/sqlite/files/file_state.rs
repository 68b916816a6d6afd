//! Whether a database file may still be written: the state that all connections of this process to the file share.
//!
//! A store stops writing for good if a sync of the file fails (see [`sync_failure`](super::sync_failure)), here or in
//! another process, or if the file is removed or replaced: what is written then would be lost at the next start. It
//! also stops if a newer program migrates the file, whose rules this one does not know, or if the file is put [out of
//! use](super::moved).

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, TryLockError, Weak};

use super::moved::too_new;
use super::sync_failure::SyncFailureMarker;
use crate::environment::Locked;
use crate::error::{Result, StoreError, StoreErrorKind};
use crate::store::engine::sqlite::errors::{convert, is_failed_sync};
use crate::store::migrations;

/// The state of a database file that this process has open.
pub(crate) struct FileState {
    /// The absolute path: what the program opens when it is started again.
    path: PathBuf,
    identity: Identity,
    marker: SyncFailureMarker,
    /// Why nothing is written any more.
    stopped: OnceLock<StoreError>,
    /// Whether a sync failed in this process, and the other processes could not be told yet.
    marker_missing: AtomicBool,
    /// Whether the WAL may lack the header of the database, by which its owner is known.
    header_missing: AtomicBool,
    /// Held during a checkpoint, so that none begins between a failed sync and the stop.
    checkpoint: Mutex<()>,
}

/// What distinguishes a file from others.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Identity {
    #[cfg(unix)]
    Inode { device: u64, inode: u64 },
    /// The path: the system has no inodes, or the VFS has no such file.
    Path(PathBuf),
}

impl Identity {
    fn of(path: &Path) -> std::io::Result<Self> {
        let metadata = std::fs::metadata(path)?;
        #[cfg(unix)]
        return Ok(Self::Inode {
            device: std::os::unix::fs::MetadataExt::dev(&metadata),
            inode: std::os::unix::fs::MetadataExt::ino(&metadata),
        });
        #[cfg(not(unix))]
        {
            drop(metadata);
            path.canonicalize().map(Self::Path)
        }
    }
}

/// Whether a checkpoint waits for another one of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store::engine::sqlite) enum OtherCheckpoint {
    /// It waits.
    Wait,
    /// It is not made: the other one does its work.
    Skip,
}

impl FileState {
    /// The state of the file at `path`, which is open.
    pub(in crate::store::engine::sqlite) fn of(path: &Path) -> Arc<Self> {
        static FILES: Mutex<Vec<Weak<FileState>>> = Mutex::new(Vec::new());
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let identity = Identity::of(&path).unwrap_or_else(|_| Identity::Path(path.clone()));
        let mut files = FILES.locked();
        files.retain(|file| file.strong_count() > 0);
        if let Some(known) = files.iter().filter_map(Weak::upgrade).find(|file| file.identity == identity) {
            return known;
        }
        let file = Arc::new(Self {
            marker: SyncFailureMarker::next_to(&path),
            path,
            identity,
            stopped: OnceLock::new(),
            marker_missing: AtomicBool::new(false),
            header_missing: AtomicBool::new(true),
            checkpoint: Mutex::default(),
        });
        files.push(Arc::downgrade(&file));
        file
    }

    /// Why nothing is written any more; `None` as long as the store works. Does not look at the file.
    pub(crate) fn stopped(&self) -> Option<&StoreError> {
        self.stopped.get()
    }

    /// Looks whether a sync has failed in another process, and whether the path still leads to the file. Fails if
    /// nothing may be written any more. Takes two system calls.
    pub(crate) fn check(&self) -> Result<()> {
        if self.stopped.get().is_none() {
            if self.marker.exists() {
                self.stop(StoreErrorKind::SyncFailed);
            } else if self.is_replaced() {
                self.stop(StoreErrorKind::FileReplaced(self.path.display().to_string()));
            }
        }
        self.not_stopped()
    }

    /// Fails if nothing may be written any more. Does not look at the file.
    pub(in crate::store::engine::sqlite) fn not_stopped(&self) -> Result<()> {
        self.stopped.get().map_or(Ok(()), |reason| Err(reason.clone().into()))
    }

    /// Stops writing if the schema has the newer version `found`: a newer program has migrated the database, or it was
    /// moved.
    pub(in crate::store::engine::sqlite) fn check_schema_version(&self, found: i64) -> Result<()> {
        let known = migrations::SQLITE.known();
        if found > known {
            self.stop(too_new(found, known));
        }
        self.not_stopped()
    }

    /// Does what is due now and then: [`check`](Self::check), and another attempt to tell the other processes.
    pub(in crate::store::engine::sqlite) fn look(&self) {
        // A reason to stop is logged when it is found.
        let _ = self.check();
        if self.marker_missing.load(Ordering::Relaxed) && self.marker.create().is_ok() {
            self.marker_missing.store(false, Ordering::Relaxed);
        }
    }

    /// Runs a checkpoint, unless the store has stopped. If a sync fails, the store stops. Returns whether all of the
    /// WAL is in the database file.
    pub(in crate::store::engine::sqlite) fn checkpoint(
        &self,
        other: OtherCheckpoint,
        run: impl FnOnce() -> rusqlite::Result<bool>,
    ) -> Result<bool> {
        let Some(_turn) = self.checkpoint_turn(other) else { return Ok(false) };
        self.check()?;
        let result = run();
        if let Err(error) = &result
            && is_failed_sync(error)
        {
            tracing::error!(target: "ticketing::store", %error, "a checkpoint could not sync a file to the disk");
            self.stop(StoreErrorKind::SyncFailed);
            self.create_marker();
        }
        if matches!(result, Ok(true)) {
            self.wal_begins();
        }
        result.map_err(convert)
    }

    /// Notes that the next commit begins a new WAL, or that the last one did.
    pub(in crate::store::engine::sqlite) fn wal_begins(&self) {
        self.header_missing.store(true, Ordering::Relaxed);
    }

    /// Whether the next transaction has to write the header of the database.
    pub(in crate::store::engine::sqlite) fn take_header_missing(&self) -> bool {
        self.header_missing.swap(false, Ordering::Relaxed)
    }

    fn checkpoint_turn(&self, other: OtherCheckpoint) -> Option<MutexGuard<'_, ()>> {
        match (other, self.checkpoint.try_lock()) {
            (_, Ok(turn)) => Some(turn),
            (_, Err(TryLockError::Poisoned(turn))) => Some(turn.into_inner()),
            (OtherCheckpoint::Skip, Err(TryLockError::WouldBlock)) => None,
            (OtherCheckpoint::Wait, Err(TryLockError::WouldBlock)) => Some(self.checkpoint.locked()),
        }
    }

    /// Whether the path leads to another file, or to none. Other errors, such as a missing permission, do not tell.
    fn is_replaced(&self) -> bool {
        match Identity::of(&self.path) {
            Ok(found) => found != self.identity,
            Err(error) => {
                let is_gone = matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory);
                is_gone && !matches!(self.identity, Identity::Path(_))
            }
        }
    }

    fn stop(&self, reason: StoreErrorKind) {
        let text = reason.to_string();
        if self.stopped.set(reason.into()).is_ok() {
            tracing::error!(
                target: "ticketing::store",
                file = %self.path.display(),
                reason = text,
                "the store has stopped writing"
            );
        }
    }

    fn create_marker(&self) {
        if let Err(error) = self.marker.create() {
            self.marker_missing.store(true, Ordering::Relaxed);
            tracing::error!(
                target: "ticketing::store",
                file = %self.marker.path().display(),
                %error,
                "other processes cannot be told of the failed sync yet: stop them too"
            );
        }
    }
}
