//! The progress of a backup, and of a copy to another database.

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

/// The progress of a copy to a PostgreSQL database. The total is known from the start, since one snapshot of the database is
/// copied.
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
