//! A new folder for a temporary database.

use std::fs::DirBuilder;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder among the system's temporary files, which only its owner can read. It is deleted when this is dropped.
#[derive(Debug)]
pub(in crate::store::engine::sqlite) struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    pub(in crate::store::engine::sqlite) fn create() -> io::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = std::env::temp_dir().join(format!("ticketing-{}-{number}", std::process::id()));
            match create(&path) {
                // A process with the same number did not end in an orderly way.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                created => return created.map(|()| Self(path)),
            }
        }
    }

    pub(in crate::store::engine::sqlite) fn path(&self) -> &Path {
        &self.0
    }
}

/// Creates a folder that does not exist yet.
fn create(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::warn!(path = %self.0.display(), %error, "a temporary database could not be deleted");
        }
    }
}
