//! The page for check-in at the entrance: a program in the browser that also works without a connection.
//!
//! It is made of files without a build step. The page and its service worker name the version, a hash of all files; the
//! others are below a path with the version. So a page never loads files of two versions, and browsers keep them.

use std::borrow::Cow;
use std::sync::LazyLock;

use serde_json::json;
use sha2::{Digest, Sha256};

use crate::words;

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

macro_rules! files {
    ($($name:literal: $content_type:expr),* $(,)?) => {
        [$(($name, $content_type, include_str!(concat!("door/", $name)))),*]
    };
}

/// The files of the page and their types, without `words.js`.
const FILES: [(&str, &str, &str); 16] = files! {
    "admission.js": SCRIPT,
    "app.js": SCRIPT,
    "camera.js": SCRIPT,
    "decoder.js": SCRIPT,
    "door.css": "text/css; charset=utf-8",
    "door.js": SCRIPT,
    "icon.svg": "image/svg+xml",
    "manifest.webmanifest": "application/manifest+json",
    "qr/decode.js": SCRIPT,
    "qr/index.js": SCRIPT,
    "queue.js": SCRIPT,
    "roster.js": SCRIPT,
    "service.js": SCRIPT,
    "signals.js": SCRIPT,
    "storage.js": SCRIPT,
    "view.js": SCRIPT,
};

const PAGE: &str = include_str!("door/index.html");
const WORKER: &str = include_str!("door/sw.js");

/// A file as it is sent.
pub(crate) struct DoorFile {
    /// The path below `/door/`.
    pub(crate) path: String,
    pub(crate) content_type: &'static str,
    pub(crate) content: Cow<'static, str>,
}

/// The page, whose path is empty, and its files.
pub(crate) static DOOR_FILES: LazyLock<Vec<DoorFile>> = LazyLock::new(|| {
    let words = format!("export default {};\n", json!(words::door()));
    let mut files: Vec<_> =
        FILES.iter().map(|(name, content_type, text)| (*name, *content_type, Cow::Borrowed(*text))).collect();
    files.push(("words.js", SCRIPT, Cow::Owned(words)));
    let mut hash = Sha256::new().chain_update(PAGE).chain_update(WORKER);
    for (name, _, content) in &files {
        hash.update(name);
        hash.update(content.as_bytes());
    }
    let version = hex::encode(&hash.finalize()[..8]);
    let mut files: Vec<_> = files
        .into_iter()
        .map(|(name, content_type, content)| DoorFile { path: format!("{version}/{name}"), content_type, content })
        .collect();
    let paths: Vec<_> = files.iter().map(|file| file.path.as_str()).collect();
    let worker = WORKER.replace("{files}", &json!(paths).to_string()).replace("{version}", &version);
    let page = PAGE.replace("{version}", &version);
    files.push(DoorFile { path: String::new(), content_type: HTML, content: page.into() });
    files.push(DoorFile { path: "sw.js".to_owned(), content_type: SCRIPT, content: worker.into() });
    files
});

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    #[test]
    fn the_page_for_check_in_has_at_most_120_kb_compressed() {
        let compressed = |file: &DoorFile| {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(file.content.as_bytes()).unwrap();
            encoder.finish().unwrap().len()
        };
        let bytes: usize = DOOR_FILES.iter().map(compressed).sum();
        assert!((40_000..120_000).contains(&bytes), "{bytes}");
    }

    /// The decoder is a copy of the files `decode.js` and `index.js` of the npm package `qr` 0.7.0.
    #[test]
    fn the_decoder_of_qr_codes_is_the_one_that_was_reviewed() {
        for (name, hash) in [("qr/decode.js", DECODE_HASH), ("qr/index.js", INDEX_HASH)] {
            let (_, _, content) = FILES.iter().find(|(known, ..)| *known == name).unwrap();
            assert_eq!(hex::encode(Sha256::digest(content)), hash, "{name}");
        }
    }

    const DECODE_HASH: &str = "00e209820dcb11d624e9a03d6383e580766792b57d1651318f0a29e4e1ff0fe8";
    const INDEX_HASH: &str = "a0de370051f94bd74f218f74401fdf197585e3f9ef0143164f87ea941a3fdd6f";

    #[test]
    fn the_page_and_its_modules_name_only_files_that_are_served() {
        let is_served = |path: &str| DOOR_FILES.iter().any(|file| file.path == path);
        let mut named = 0;
        for file in DOOR_FILES.iter() {
            let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
            let content = file.content.replace('\n', " ");
            for (before, after) in [(" from \"./", "\""), (" from './", "'"), ("href=\"", "\""), ("src=\"", "\"")] {
                for name in content.split(before).skip(1).filter_map(|rest| rest.split(after).next()) {
                    if name.contains(' ') || (folder.is_empty() && file.path == "sw.js") {
                        continue;
                    }
                    let path = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
                    assert!(is_served(&path), "{} names {path}", file.path);
                    named += 1;
                }
            }
        }
        assert!(named > 15, "{named}");
    }
}
