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
const FILES: [(&str, &str, &str); 22] = files! {
    "admission.js": SCRIPT,
    "app.js": SCRIPT,
    "camera.js": SCRIPT,
    "door.css": "text/css; charset=utf-8",
    "door.js": SCRIPT,
    "icon.svg": "image/svg+xml",
    "manifest.webmanifest": "application/manifest+json",
    "order.js": SCRIPT,
    "qr/brightness.js": SCRIPT,
    "qr/correct.js": SCRIPT,
    "qr/decode.js": SCRIPT,
    "qr/decoder.js": SCRIPT,
    "qr/find.js": SCRIPT,
    "qr/layout.js": SCRIPT,
    "qr/read.js": SCRIPT,
    "qr/sample.js": SCRIPT,
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
