//! When backups are made, and the progress of a backup and of a copy to another database.

use std::path::PathBuf;
use std::time::Duration;

use crate::form::declare::setters::with_setters;

with_setters! {
    /// When a service makes backups by itself: see [`start_backups`](crate::TicketingService::start_backups).
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct BackupSchedule {
        /// The folder of the backups.
        pub folder: PathBuf,
        /// The time from one backup to the next. Default: 24 hours. Backups are not made more often than once in a
        /// second.
        pub every: Duration,
        /// How many backups are kept: at least 1. Default: 7.
        pub keep: usize,
    }
}

impl BackupSchedule {
    /// A backup every day. The newest seven are kept.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), every: Duration::from_hours(24), keep: 7 }
    }
}

/// The progress of a backup. The totals are known from the start, since a backup copies one snapshot of the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct BackupProgress {
    /// The number of pages copied so far.
    pub pages: u64,
    /// The number of pages of the complete copy.
    pub total_pages: u64,
    /// The number of bytes copied so far.
    pub bytes: u64,
    /// The number of bytes of the complete copy.
    pub total_bytes: u64,
}

/// The progress of a copy to a PostgreSQL database. The total is known from the start, since one snapshot of the
/// database is copied.
#[cfg(feature = "postgres")]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CopyProgress {
    /// The number of rows copied so far.
    pub rows: u64,
    /// The number of rows of all tables.
    pub total_rows: u64,
}
