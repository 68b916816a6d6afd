//! Pages, documents, calendar entries and files as they are sent: with gzip compression, and a digest or a version as
//! their `ETag`. A client that has the current content already gets a 304. Large responses of operations are compressed
//! here too.

use std::io::{self, Write};
#[cfg(feature = "event-pages")]
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::header::{
    ACCEPT_ENCODING, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

use super::held_bytes::in_memory;
#[cfg(feature = "documents")]
use crate::documents::TicketDocument;
use crate::server::responses::accepted::weight_of;

/// How much pages and responses are compressed. With many tickets, the default level takes off another 8 %, in eight
/// times the time.
const PAGE_COMPRESSION: u32 = 3;

/// Content in one encoding, with its entity tag.
#[derive(Debug, Clone)]
pub(in crate::server) struct Representation {
    body: Bytes,
    /// A hash of the encoded body, or of the version and the encoding: each encoding has its own tag (RFC 9110,
    /// 8.8.3.3).
    etag: HeaderValue,
    gzip: bool,
    /// Unless it is sent with headers of its own.
    media_type: Option<&'static str>,
    /// The name under which browsers save a document or a calendar entry.
    file_name: Option<String>,
}

impl Representation {
    /// Creates a representation of the content, compressed if a level of gzip is given.
    pub(in crate::server) fn new(content: Vec<u8>, gzip: Option<Compression>) -> Self {
        let compressed = gzip.and_then(|level| compress(&content, level).ok());
        let gzip = compressed.is_some();
        let body = compressed.unwrap_or(content);
        let digest = Sha256::digest(&body).into();
        Self { gzip, ..Self::with_digest(body.into(), &digest) }
    }

    /// Creates an uncompressed representation of content with a known SHA-256 digest.
    fn with_digest(body: Bytes, digest: &[u8; 32]) -> Self {
        let etag = entity_tag(&hex::encode(&digest[..16]));
        Self { body, etag, gzip: false, media_type: None, file_name: None }
    }

    /// A page. It may be compressed although it has secrets. An attacker who makes a browser send requests and sees the
    /// lengths of the responses learns nothing (BREACH), because the page repeats nothing of the request but the token
    /// in the path.
    pub(in crate::server) fn page(html: String, gzip: bool) -> Self {
        let level = gzip.then(|| Compression::new(PAGE_COMPRESSION));
        Self { media_type: Some("text/html; charset=utf-8"), ..Self::new(html.into(), level) }
    }

    #[cfg(feature = "documents")]
    pub(in crate::server) fn document(document: TicketDocument) -> Self {
        let TicketDocument { file_name, bytes, sha256, .. } = document;
        let representation = Self::with_digest(Bytes::from_owner(bytes), &sha256);
        Self { media_type: Some("application/pdf"), file_name: Some(file_name), ..representation }
    }

    #[cfg(feature = "documents")]
    pub(in crate::server) fn calendar_entry(file_name: String, entry: String) -> Self {
        let media_type = Some("text/calendar; charset=utf-8");
        Self { media_type, file_name: Some(file_name), ..Self::new(entry.into(), None) }
    }

    /// A picture with a known SHA-256 digest.
    #[cfg(feature = "event-pages")]
    pub(in crate::server) fn picture(file: Arc<[u8]>, digest: &[u8; 32], media_type: &'static str) -> Self {
        Self { media_type: Some(media_type), ..Self::with_digest(Bytes::from_owner(file), digest) }
    }

    /// Replaces the entity tag, by one that was computed from the version of the content.
    #[cfg(feature = "documents")]
    pub(in crate::server) fn with_etag(self, etag: HeaderValue) -> Self {
        Self { etag, ..self }
    }

    /// Returns 200 with the content, or 304 if `If-None-Match` of the request matches its entity tag.
    pub(in crate::server) fn send(self, request: &HeaderMap) -> Response {
        if has_version(request, &self.etag) {
            return not_modified(self.etag);
        }
        let mut response = with_etag_and_vary(Response::new(Body::from(self.body)), self.etag);
        if self.gzip {
            response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        if let Some(media_type) = self.media_type {
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
        }
        let disposition = self.file_name.map(|name| format!("inline; filename=\"{name}\""));
        if let Some(Ok(disposition)) = disposition.map(HeaderValue::try_from) {
            response.headers_mut().insert(CONTENT_DISPOSITION, disposition);
        }
        response
    }
}

#[cfg(feature = "documents")]
impl IntoResponse for TicketDocument {
    /// 200 with the PDF file, which browsers show and save under its name. The `ETag` is its digest.
    fn into_response(self) -> Response {
        Representation::document(self).send(&HeaderMap::new())
    }
}

/// An entity tag with this text, which is letters and digits.
pub(in crate::server) fn entity_tag(text: &str) -> HeaderValue {
    HeaderValue::try_from(format!("\"{text}\"")).unwrap_or(HeaderValue::from_static("\"\""))
}

/// Whether the client has the version with this tag. Tags are compared weakly (RFC 9110, 13.1.2).
pub(in crate::server) fn has_version(request: &HeaderMap, etag: &HeaderValue) -> bool {
    let values = request.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let mut tags = values.flat_map(|value| value.split(',')).map(str::trim);
    tags.any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag).as_bytes() == etag.as_bytes())
}

/// Returns 304 for a client that already has the content with this entity tag.
pub(in crate::server) fn not_modified(etag: HeaderValue) -> Response {
    with_etag_and_vary(StatusCode::NOT_MODIFIED.into_response(), etag)
}

fn with_etag_and_vary(mut response: Response, etag: HeaderValue) -> Response {
    response.headers_mut().insert(VARY, HeaderValue::from_static("accept-encoding"));
    response.headers_mut().insert(ETAG, etag);
    response
}

fn compress(content: &[u8], level: Compression) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), level);
    encoder.write_all(content)?;
    encoder.finish()
}

/// A response of an operation, compressed for a client that accepts it. It is not kept, so it has no entity tag. What it
/// repeats of the request says nothing about the secrets in it, as with [pages](Representation::page).
pub(in crate::server) fn compressed(mut response: Response, request: &HeaderMap) -> Response {
    response.headers_mut().insert(VARY, HeaderValue::from_static("accept-encoding"));
    if !prefers_gzip(request) {
        return response;
    }
    let (mut head, body) = response.into_parts();
    let body = in_memory(body).unwrap_or_default();
    let Ok(compressed) = compress(&body, Compression::new(PAGE_COMPRESSION)) else {
        return Response::from_parts(head, body.into());
    };
    head.headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    Response::from_parts(head, compressed.into())
}

/// Whether the client accepts gzip and does not prefer uncompressed content (RFC 9110, 12.5.3).
pub(in crate::server) fn prefers_gzip(request: &HeaderMap) -> bool {
    let gzip = weight_of(request, &ACCEPT_ENCODING, &["gzip", "x-gzip", "*"]);
    gzip > 0 && gzip >= weight_of(request, &ACCEPT_ENCODING, &["identity"])
}
