//! How far a backup is.

/// How far a backup is. All of it is known from the start: a backup copies one state of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BackupProgress {
    /// Pages that are copied.
    pub pages: u64,
    /// Pages that the copy will have.
    pub total_pages: u64,
    /// Bytes that are copied.
    pub bytes: u64,
    /// Bytes that the copy will have.
    pub total_bytes: u64,
}
