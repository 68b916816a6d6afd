//! The source code of the crate, for tests of its form.

use std::path::{Path, PathBuf};

/// The Rust files in a folder of the crate, and in those below it.
pub fn files_under(folder: &str) -> Vec<PathBuf> {
    files_with_extension(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), "rs")
}

/// The files with this extension in a folder, and in those below it.
pub fn files_with_extension(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files_with_extension(&path, extension));
        } else if path.extension().is_some_and(|other| other == extension) {
            found.push(path);
        }
    }
    found
}

/// The operations of an optional feature are tested in a folder of their own: ticket documents, event pages, exports and
/// mails.
pub fn is_of_optional_feature(file: &Path) -> bool {
    let name = file.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    ["document", "event_", "export", "mail"].iter().any(|feature| name.starts_with(feature))
}
