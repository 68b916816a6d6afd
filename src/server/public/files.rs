//! Files that are part of the program, or made by it once. They are sent compressed to clients that accept it, and not
//! sent again to clients that have the same version.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use tokio::sync::{OnceCell, Semaphore};

use crate::environment::Locked;
use crate::server::http::representation::{Representation, prefers_gzip};
use crate::server::responses::problem::Problem;

/// The files that were requested.
#[derive(Debug, Default)]
pub(in crate::server) struct Files(Mutex<HashMap<FileKey, Arc<OnceCell<Representation>>>>);

/// The name of a file, and whether it is compressed.
type FileKey = (String, bool);

/// There are few files, and a program mounts the server in few places. More than that are not kept.
const MAX_FILES: usize = 64;

/// The permit to make a file, which takes a thread up to a tenth of a second.
static MAKING: Semaphore = Semaphore::const_new(1);

impl Files {
    /// Responds to a GET request with the file of this name. The first request makes it, and others wait. The headers must
    /// not contain `Content-Encoding`, `ETag` and `Vary`.
    pub(in crate::server) async fn respond(
        &self,
        name: String,
        make: impl FnOnce() -> Vec<u8> + Send + 'static,
        request: &HeaderMap,
        headers: &[(HeaderName, &'static str)],
    ) -> Response {
        let gzip = prefers_gzip(request);
        let file = self.file((name, gzip));
        let make = async || {
            let _permit = MAKING.acquire().await;
            let make = move || Representation::new(make(), gzip.then(Compression::default));
            tokio::task::spawn_blocking(make).await
        };
        let mut response = match file.get_or_try_init(make).await {
            Ok(file) => file.clone().send(request),
            Err(panic) => return Problem::internal(panic).into_response(),
        };
        let headers = headers.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value)));
        response.headers_mut().extend(headers);
        response
    }

    fn file(&self, key: FileKey) -> Arc<OnceCell<Representation>> {
        let mut files = self.0.locked();
        if files.len() >= MAX_FILES && !files.contains_key(&key) {
            files.clear();
        }
        Arc::clone(files.entry(key).or_default())
    }
}
