//! Files that are part of the program, or made by it once. They are sent compressed to clients that accept it, and not
//! sent again to clients that have the same version.

use std::collections::HashMap;
use std::sync::Mutex;

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use flate2::Compression;

use super::representation::{Representation, prefers_gzip};
use crate::environment::Locked;
use crate::error::Error;
use crate::server::http::problem::Problem;

/// The files that were sent, by their names and whether they are compressed.
#[derive(Debug, Default)]
pub(in crate::server) struct Files(Mutex<HashMap<(String, bool), Representation>>);

/// There are few files, and a program mounts the server in few places. More than that are not kept.
const MAX_FILES: usize = 64;

impl Files {
    /// Responds to a GET request with the file of this name, which is made the first time. The headers must not contain
    /// `Content-Encoding`, `ETag` and `Vary`.
    pub(in crate::server) async fn respond(
        &self,
        name: String,
        make: impl FnOnce() -> Vec<u8> + Send + 'static,
        request: &HeaderMap,
        headers: &[(HeaderName, &'static str)],
    ) -> Response {
        let key = (name, prefers_gzip(request));
        let known = self.0.locked().get(&key).cloned();
        let file = match known {
            Some(file) => file,
            None => {
                let gzip = key.1.then(Compression::default);
                let Ok(file) = tokio::task::spawn_blocking(move || Representation::new(make(), gzip)).await else {
                    return Problem::from(Error::Internal("a file could not be made".to_owned())).into_response();
                };
                let mut files = self.0.locked();
                if files.len() >= MAX_FILES {
                    files.clear();
                }
                files.insert(key, file.clone());
                file
            }
        };
        let mut response = file.send(request);
        let headers = headers.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value)));
        response.headers_mut().extend(headers);
        response
    }
}
