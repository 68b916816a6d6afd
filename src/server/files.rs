//! Files that are part of the program, or made by it once. They are sent compressed to clients that accept it, and not sent
//! again to clients that have the same version.

use std::collections::HashMap;
use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use axum::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, ETAG, VARY};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

use super::entity_tag;
use super::problem::Problem;
use crate::error::Error;

/// The file in one encoding.
#[derive(Debug, Clone)]
struct Representation {
    body: Bytes,
    /// A hash of the body, so each encoding has a tag of its own (RFC 9110, 8.8.3.3).
    etag: HeaderValue,
    gzip: bool,
}

/// The files that were sent, by their names and whether they are compressed.
#[derive(Debug, Default)]
pub(super) struct Files(Mutex<HashMap<(String, bool), Representation>>);

/// There are few files, and a program mounts the server in few places. More than that are not kept.
const MAX_FILES: usize = 16;

impl Files {
    /// Responds to a GET request with the file of this name, which is made the first time. The headers must not contain
    /// `Content-Encoding`, `ETag` and `Vary`.
    pub(super) async fn respond(
        &self,
        name: String,
        make: impl FnOnce() -> Vec<u8> + Send + 'static,
        request: &HeaderMap,
        headers: &[(HeaderName, &'static str)],
    ) -> Response {
        let key = (name, prefers_gzip(request));
        let known = self.files().get(&key).cloned();
        if known.is_some() {
            return send(known, request, headers);
        }
        let gzip = key.1;
        let file = tokio::task::spawn_blocking(move || Representation::new(make(), gzip)).await.ok();
        if let Some(file) = &file {
            let mut files = self.files();
            if files.len() >= MAX_FILES {
                files.clear();
            }
            files.insert(key, file.clone());
        }
        send(file, request, headers)
    }

    fn files(&self) -> MutexGuard<'_, HashMap<(String, bool), Representation>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Representation {
    fn new(content: Vec<u8>, gzip: bool) -> Self {
        let body = if gzip { compress(&content) } else { content };
        let hash = hex::encode(&Sha256::digest(&body)[..16]);
        let etag = HeaderValue::try_from(format!("\"{hash}\"")).unwrap_or(HeaderValue::from_static("\"\""));
        Self { body: body.into(), etag, gzip }
    }
}

/// The response with a file, or without one if the client has it. `None` if it could not be compressed.
fn send(file: Option<Representation>, request: &HeaderMap, headers: &[(HeaderName, &'static str)]) -> Response {
    let Some(Representation { body, etag, gzip }) = file else {
        return Problem::from(Error::Internal("a file could not be compressed".to_owned())).into_response();
    };
    let not_modified = entity_tag::matches(request, &etag);
    let mut response = if not_modified { StatusCode::NOT_MODIFIED.into_response() } else { Response::new(body.into()) };
    let own = response.headers_mut();
    own.extend(headers.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))));
    own.insert(VARY, HeaderValue::from_static("accept-encoding"));
    own.insert(ETAG, etag);
    if gzip && !not_modified {
        own.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

#[expect(clippy::expect_used, reason = "writing to memory does not fail")]
fn compress(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content).and_then(|()| encoder.finish()).expect("memory")
}

/// Whether the client accepts gzip, and does not prefer the plain file (RFC 9110, 12.5.3).
fn prefers_gzip(request: &HeaderMap) -> bool {
    let values = request.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let mut gzip = None;
    let mut plain = None;
    let mut others = None;
    for coding in values.flat_map(|value| value.split(',')) {
        let (name, parameters) = coding.split_once(';').unwrap_or((coding, ""));
        match name.trim().to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => gzip = Some(weight(parameters)),
            "identity" => plain = Some(weight(parameters)),
            "*" => others = Some(weight(parameters)),
            _ => {}
        }
    }
    let gzip = gzip.or(others).unwrap_or(0.0);
    gzip > 0.0 && gzip >= plain.unwrap_or(0.0)
}

/// The weight in the parameters of a coding, such as `q=0.5`. It is 1 by default, and 0 if it is not a number.
fn weight(parameters: &str) -> f32 {
    match parameters.trim().strip_prefix(['q', 'Q']).and_then(|rest| rest.trim_start().strip_prefix('=')) {
        Some(weight) => weight.trim().parse().unwrap_or(0.0),
        None => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &HeaderName, values: &[&'static str]) -> HeaderMap {
        values.iter().map(|value| (name.clone(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn gzip_is_sent_to_clients_that_accept_it_and_do_not_prefer_the_plain_file() {
        for (accepted, gzip) in [
            (vec![], false),
            (vec![""], false),
            (vec!["gzip"], true),
            (vec!["gzip, deflate, br, zstd"], true),
            (vec!["deflate, GZIP;q=0.5"], true),
            (vec!["br", "gzip"], true),
            (vec!["x-gzip"], true),
            (vec!["*"], true),
            (vec!["*;q=0"], false),
            (vec!["gzip;q=0"], false),
            (vec!["gzip ; Q = 0.000"], false),
            (vec!["gzip;q=0, *"], false),
            (vec!["gzip;q=nonsense"], false),
            (vec!["br, deflate"], false),
            (vec!["identity"], false),
            (vec!["identity, gzip;q=0.5"], false),
            (vec!["identity;q=0.5, gzip;q=0.5"], true),
            (vec!["identity;q=0, *"], true),
        ] {
            assert_eq!(prefers_gzip(&headers(&ACCEPT_ENCODING, &accepted)), gzip, "{accepted:?}");
        }
    }
}
