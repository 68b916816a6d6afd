//! Ticket documents, and the fonts for names in scripts that Noto Sans does not have.

use std::path::Path;

use ticketing::{Builder, Error};

use crate::failure::{Failure, usage};

/// The endings of files with fonts.
#[cfg(feature = "documents")]
const ENDINGS: [&str; 4] = ["ttf", "otf", "ttc", "otc"];

/// The fonts of a folder, in alphabetical order.
#[derive(Default)]
pub(crate) struct Fonts {
    #[cfg(feature = "documents")]
    files: Vec<(std::path::PathBuf, Vec<u8>)>,
}

#[cfg(feature = "documents")]
impl Fonts {
    /// Reads the fonts in a folder, but not in its subfolders.
    pub(crate) fn read(folder: Option<&Path>) -> Result<Self, Failure> {
        let Some(folder) = folder else { return Ok(Self::default()) };
        let cannot_read = |path: &Path, error| usage(format!("--fonts: cannot read {}: {error}", path.display()));
        let mut paths = Vec::new();
        for entry in folder.read_dir().map_err(|error| cannot_read(folder, error))? {
            let path = entry.map_err(|error| cannot_read(folder, error))?.path();
            let ending = path.extension().unwrap_or_default().to_ascii_lowercase();
            if ENDINGS.iter().any(|known| *known == ending) {
                paths.push(path);
            }
        }
        paths.sort();
        let read = |path: std::path::PathBuf| match std::fs::read(&path) {
            Ok(file) => Ok((path, file)),
            Err(error) => Err(cannot_read(&path, error)),
        };
        let files: Vec<_> = paths.into_iter().map(read).collect::<Result<_, _>>()?;
        match files.is_empty() {
            true => {
                Err(usage(format!("--fonts: {} has no file with a font (.ttf, .otf, .ttc, .otc)", folder.display())))
            }
            false => Ok(Self { files }),
        }
    }

    /// Switches ticket documents on, with these fonts.
    pub(crate) fn set(&self, builder: Builder) -> Builder {
        let documents = ticketing::documents::TicketDocuments::default();
        builder.ticket_documents(self.files.iter().fold(documents, |documents, (_, file)| documents.font(file.clone())))
    }

    /// An error of the builder. If a file is not a font, the failure names it.
    pub(crate) fn explain(&self, error: Error) -> Failure {
        for field in error.fields() {
            let position = field.path.strip_prefix("ticket_documents.fonts[").and_then(|rest| rest.strip_suffix(']'));
            let file = position.and_then(|position| self.files.get(position.parse::<usize>().ok()?));
            if let Some((path, _)) = file {
                return usage(format!("--fonts: {} {}", path.display(), field.message));
            }
        }
        error.into()
    }
}

#[cfg(not(feature = "documents"))]
impl Fonts {
    pub(crate) fn read(folder: Option<&Path>) -> Result<Self, Failure> {
        match folder {
            None => Ok(Self::default()),
            Some(_) => Err(usage("--fonts needs a program that is compiled with the feature documents")),
        }
    }

    #[expect(clippy::unused_self, reason = "with the feature `documents`, it has fonts")]
    pub(crate) fn set(&self, builder: Builder) -> Builder {
        builder
    }

    #[expect(clippy::unused_self, reason = "with the feature `documents`, it has fonts")]
    pub(crate) fn explain(&self, error: Error) -> Failure {
        error.into()
    }
}
