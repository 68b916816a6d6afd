//! What a power failure leaves of a database: a model of the system's page cache.
//!
//! A write changes a page in the cache. A sync puts the changed pages on the disk. After a failed sync, the system
//! takes them as clean: they stay in the cache, but reach the disk only if they are written again. At a power failure,
//! each sector of a page that was changed since the last sync may be on the disk or not.

use std::collections::BTreeSet;
use std::path::Path;

use ticketing::environment::{Entropy, SeededEntropy};

/// What a disk writes whole or not at all.
const SECTOR: usize = 512;

/// An operation on a file, as the preloaded library has recorded it.
pub struct Operation {
    pub file: FileKind,
    pub kind: OperationKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    Database,
    Log,
    /// What the process has acknowledged.
    Notes,
}

pub enum OperationKind {
    Write { offset: usize, bytes: Vec<u8> },
    Truncate { size: usize },
    Sync,
    FailedSync,
    Unlink,
}

/// Reads a record of operations.
pub fn read_record(path: &Path) -> Vec<Operation> {
    let record = std::fs::read(path).unwrap();
    let mut rest = &record[..];
    let mut operations = Vec::new();
    while !rest.is_empty() {
        let (header, after) = rest.split_at(24);
        let number = |at: usize| usize::try_from(u64::from_ne_bytes(header[at..at + 8].try_into().unwrap())).unwrap();
        let offset = number(8);
        let (bytes, after) = after.split_at(number(16));
        rest = after;
        let file = match header[1] {
            b'd' => FileKind::Database,
            b'w' => FileKind::Log,
            b'n' => FileKind::Notes,
            other => panic!("{other}"),
        };
        let kind = match header[0] {
            b'w' => OperationKind::Write { offset, bytes: bytes.to_vec() },
            b't' => OperationKind::Truncate { size: offset },
            b's' => OperationKind::Sync,
            b'f' => OperationKind::FailedSync,
            b'u' => OperationKind::Unlink,
            other => panic!("{other}"),
        };
        operations.push(Operation { file, kind });
    }
    operations
}

/// What the system does with the pages that a failed sync covered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterFailedSync {
    /// It takes them as clean, as Linux does.
    Clean,
    /// It tries them again at the next sync.
    Dirty,
}

/// A file: in the cache and on the disk.
#[derive(Default)]
struct CachedFile {
    cached: Vec<u8>,
    on_disk: Vec<u8>,
    /// The sectors that were changed since the last sync.
    dirty: BTreeSet<usize>,
    /// The smallest size to which the file was cut since the last sync.
    cut_to: Option<usize>,
}

impl CachedFile {
    fn apply(&mut self, operation: &OperationKind, after_failed_sync: AfterFailedSync) {
        match operation {
            OperationKind::Write { offset, bytes } => {
                let end = offset + bytes.len();
                if self.cached.len() < end {
                    self.cached.resize(end, 0);
                }
                self.cached[*offset..end].copy_from_slice(bytes);
                self.dirty.extend(offset / SECTOR..=(end - 1) / SECTOR);
            }
            OperationKind::Truncate { size } => {
                if *size < self.cached.len() {
                    self.cut_to = Some(self.cut_to.map_or(*size, |earlier| earlier.min(*size)));
                    self.dirty.retain(|sector| sector * SECTOR < *size);
                }
                self.cached.resize(*size, 0);
            }
            OperationKind::Sync => {
                let mut on_disk = std::mem::take(&mut self.on_disk);
                self.write_changes(&mut on_disk, || true);
                on_disk.resize(self.cached.len(), 0);
                self.on_disk = on_disk;
                self.dirty.clear();
                self.cut_to = None;
            }
            OperationKind::FailedSync => {
                if after_failed_sync == AfterFailedSync::Clean {
                    self.dirty.clear();
                    self.cut_to = None;
                }
            }
            OperationKind::Unlink => *self = Self::default(),
        }
    }

    /// What is on the disk after a power failure, if `is_written` says of each change whether it is there.
    fn after_power_failure(&self, is_written: impl FnMut() -> bool) -> Vec<u8> {
        let mut content = self.on_disk.clone();
        self.write_changes(&mut content, is_written);
        content
    }

    fn write_changes(&self, content: &mut Vec<u8>, mut is_written: impl FnMut() -> bool) {
        if let Some(size) = self.cut_to
            && is_written()
        {
            content.truncate(size);
        }
        for sector in &self.dirty {
            if is_written() {
                let start = sector * SECTOR;
                let end = (start + SECTOR).min(self.cached.len());
                if content.len() < end {
                    content.resize(end, 0);
                }
                content[start..end].copy_from_slice(&self.cached[start..end]);
            }
        }
    }
}

/// The files of a database, while their operations are repeated.
pub struct Disk {
    database: CachedFile,
    log: CachedFile,
    notes: String,
    after_failed_sync: AfterFailedSync,
}

impl Disk {
    /// The disk with a database file that was closed properly.
    pub fn with_database(content: &[u8], after_failed_sync: AfterFailedSync) -> Self {
        let database = CachedFile { cached: content.to_vec(), on_disk: content.to_vec(), ..CachedFile::default() };
        Self { database, log: CachedFile::default(), notes: String::new(), after_failed_sync }
    }

    pub fn apply(&mut self, operation: &Operation) {
        match (operation.file, &operation.kind) {
            (FileKind::Database, kind) => self.database.apply(kind, self.after_failed_sync),
            (FileKind::Log, kind) => self.log.apply(kind, self.after_failed_sync),
            (FileKind::Notes, OperationKind::Write { bytes, .. }) => {
                self.notes.push_str(std::str::from_utf8(bytes).unwrap());
            }
            (FileKind::Notes, _) => {}
        }
    }

    /// The lines that the process has noted until now.
    pub fn notes(&self) -> impl Iterator<Item = &str> {
        self.notes.lines()
    }

    /// Writes what a power failure leaves at this moment to `path`, and to the log next to it. The seed decides which
    /// of the unsynced changes are on the disk: none, all, or some of them.
    pub fn write_image(&self, path: &Path, seed: u64) {
        let random = SeededEntropy::new(seed);
        let draw = || {
            let mut byte = [0];
            random.fill(&mut byte);
            byte[0]
        };
        let written_of_256 = [0, 128, 256][usize::from(draw() % 3)];
        let mut is_written = || u16::from(draw()) < written_of_256;
        std::fs::write(path, self.database.after_power_failure(&mut is_written)).unwrap();
        std::fs::write(format!("{}-wal", path.display()), self.log.after_power_failure(&mut is_written)).unwrap();
        // The index in shared memory does not survive.
        let _ = std::fs::remove_file(format!("{}-shm", path.display()));
    }
}

#[test]
fn a_failed_sync_loses_pages_unless_they_are_written_again() {
    let write = |sector: usize, byte: u8| OperationKind::Write { offset: sector * SECTOR, bytes: vec![byte; SECTOR] };
    let apply = |after: AfterFailedSync, operations: &[OperationKind]| {
        let mut disk = Disk::with_database(&[1; 3 * SECTOR], after);
        for kind in operations {
            disk.database.apply(kind, after);
        }
        let content = disk.database.after_power_failure(|| true);
        content.chunks(SECTOR).map(|sector| sector[0]).collect::<Vec<_>>()
    };
    let failed = || vec![write(0, 2), write(1, 2), OperationKind::FailedSync, write(1, 3), OperationKind::Sync];
    assert_eq!(apply(AfterFailedSync::Clean, &failed()), [1, 3, 1]);
    assert_eq!(apply(AfterFailedSync::Dirty, &failed()), [2, 3, 1]);
    let cut = || vec![write(0, 2), OperationKind::Truncate { size: SECTOR }, write(2, 4), OperationKind::Sync];
    assert_eq!(apply(AfterFailedSync::Clean, &cut()), [2, 0, 4]);
}
