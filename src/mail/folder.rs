//! Mails as files, for trying out and for tests.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::transport::{MailError, MailReceipt, MailTransport, OutgoingMail};

/// Writes each mail to a file in a folder instead of sending it: `mail_….eml`, which mail programs open.
#[derive(Debug, Clone)]
pub struct FolderTransport {
    folder: PathBuf,
}

impl FolderTransport {
    /// Writes to this folder, which is created with the first mail.
    #[must_use]
    pub fn new(folder: impl AsRef<Path>) -> Self {
        Self { folder: folder.as_ref().to_owned() }
    }
}

impl MailTransport for FolderTransport {
    fn send(&self, mail: &OutgoingMail) -> Result<MailReceipt, MailError> {
        let name = format!("{}.eml", mail.id);
        let write = || {
            fs::create_dir_all(&self.folder)?;
            // The file appears when it is whole.
            let unfinished = self.folder.join(format!(".{name}"));
            let mut file = fs::File::create(&unfinished)?;
            file.write_all(&mail.message)?;
            fs::rename(&unfinished, self.folder.join(&name))
        };
        match write() {
            Ok(()) => Ok(MailReceipt::new(format!("written to {name}"))),
            Err(error) => Err(MailError::Unavailable(format!("the file cannot be written: {error}"))),
        }
    }
}
