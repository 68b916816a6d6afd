//! Ticket documents: their paper, and the fonts for names in scripts that Noto Sans does not have.

use std::path::Path;

use ticketing::{Builder, Error};

use super::arguments::Paper;
use super::failure::{Failure, usage};

/// The endings of files with fonts.
#[cfg(feature = "documents")]
const ENDINGS: [&str; 4] = ["ttf", "otf", "ttc", "otc"];

/// The settings of ticket documents.
pub(crate) struct Documents {
    /// The fonts of a folder, in alphabetical order.
    #[cfg(feature = "documents")]
    fonts: Vec<(std::path::PathBuf, Vec<u8>)>,
    #[cfg(feature = "documents")]
    paper: Paper,
}

#[cfg(feature = "documents")]
impl Documents {
    /// Reads the fonts in a folder, but not in its subfolders.
    pub(crate) fn read(fonts: Option<&Path>, paper: Option<Paper>) -> Result<Self, Failure> {
        let fonts = fonts.map(read_fonts).transpose()?.unwrap_or_default();
        Ok(Self { fonts, paper: paper.unwrap_or(Paper::A4) })
    }

    /// Switches ticket documents on, with these settings.
    pub(crate) fn set(&self, builder: Builder) -> Builder {
        let paper = match self.paper {
            Paper::A4 => ticketing::documents::Paper::A4,
            Paper::Letter => ticketing::documents::Paper::Letter,
        };
        let documents = ticketing::documents::TicketDocuments::default().paper(paper);
        builder.ticket_documents(self.fonts.iter().fold(documents, |documents, (_, file)| documents.font(file.clone())))
    }

    /// An error of the builder. If a file is not a font, the failure names it.
    pub(crate) fn explain(&self, error: Error) -> Failure {
        for field in error.fields() {
            let position = field.path.strip_prefix("ticket_documents.fonts[").and_then(|rest| rest.strip_suffix(']'));
            let file = position.and_then(|position| self.fonts.get(position.parse::<usize>().ok()?));
            if let Some((path, _)) = file {
                return usage(format!("--fonts: {} {}", path.display(), field.message));
            }
        }
        error.into()
    }
}

#[cfg(feature = "documents")]
fn read_fonts(folder: &Path) -> Result<Vec<(std::path::PathBuf, Vec<u8>)>, Failure> {
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
        true => Err(usage(format!("--fonts: {} has no file with a font (.ttf, .otf, .ttc, .otc)", folder.display()))),
        false => Ok(files),
    }
}

#[cfg(not(feature = "documents"))]
impl Documents {
    pub(crate) fn read(fonts: Option<&Path>, paper: Option<Paper>) -> Result<Self, Failure> {
        let needs =
            |option: &str| usage(format!("{option} needs a program that is compiled with the feature documents"));
        match (fonts, paper) {
            (None, None) => Ok(Self {}),
            (Some(_), _) => Err(needs("--fonts")),
            (None, Some(_)) => Err(needs("--paper")),
        }
    }

    #[expect(clippy::unused_self, reason = "with the feature `documents`, it has settings")]
    pub(crate) fn set(&self, builder: Builder) -> Builder {
        builder
    }

    #[expect(clippy::unused_self, reason = "with the feature `documents`, it has settings")]
    pub(crate) fn explain(&self, error: Error) -> Failure {
        error.into()
    }
}
