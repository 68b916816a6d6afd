//! The temporary file of an export. It has no name: the operating system removes it when its last handle is closed,
//! also after a crash.

use std::fs::File;
use std::io::{self, Seek as _, Write};
use std::path::Path;

#[cfg(feature = "server")]
use sha2::{Digest as _, Sha256};

use crate::error::{Error, Result, StoreError, StoreErrorKind};
use crate::model::operation::export::ExportReport;
use crate::model::values::cancellation::CancellationToken;
use crate::model::values::timestamp::Timestamp;

/// A file that is being written.
pub(super) struct Output {
    file: File,
    /// Tells whether anybody waits for the file.
    token: Option<CancellationToken>,
    /// What a response says of it.
    #[cfg(feature = "server")]
    digest: (u64, Sha256),
}

/// A complete file, at its beginning.
pub(crate) struct ExportFile {
    pub(crate) file: File,
    #[cfg(feature = "server")]
    pub(crate) bytes: u64,
    #[cfg(feature = "server")]
    pub(crate) sha256: [u8; 32],
    pub(crate) report: ExportReport,
}

impl Output {
    /// A file in this folder that only its owner could open, and that no name leads to.
    pub(super) fn create(folder: &Path) -> Result<Self> {
        let file = tempfile::tempfile_in(folder).map_err(failed)?;
        Ok(Self {
            file,
            token: CancellationToken::current(),
            #[cfg(feature = "server")]
            digest: Default::default(),
        })
    }

    pub(super) fn complete(mut self, report: ExportReport) -> Result<ExportFile> {
        self.file.rewind().map_err(failed)?;
        #[cfg(feature = "server")]
        let (bytes, sha256) = self.digest;
        Ok(ExportFile {
            file: self.file,
            #[cfg(feature = "server")]
            bytes,
            #[cfg(feature = "server")]
            sha256: sha256.finalize().into(),
            report,
        })
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.token.as_ref().is_some_and(CancellationToken::is_cancelled) {
            return Err(io::Error::other("nobody waits for it"));
        }
        let written = self.file.write(bytes)?;
        #[cfg(feature = "server")]
        {
            self.digest.0 += written as u64;
            self.digest.1.update(&bytes[..written]);
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The error of a file that cannot be written or read.
pub(crate) fn failed(error: io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreErrorKind::Full,
        _ => StoreErrorKind::Io(format!("an exported file: {error}")),
    };
    StoreError::new(kind, error).into()
}

/// A local time, such as `2026-06-01 20:00:00`.
pub(super) fn local_text(millis: i64) -> [u8; 19] {
    let at = Timestamp::from_millis(millis.max(0)).unwrap_or(Timestamp::MAX).text();
    std::array::from_fn(|index| if at[index] == b'T' { b' ' } else { at[index] })
}
