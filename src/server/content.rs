//! Content that is sent with a digest as its `ETag`, and not sent again to clients that have it.

use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE, ETAG};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use sha2::{Digest, Sha256};

use super::entity_tag;
use crate::documents::TicketDocument;

/// A page, a document or a calendar entry.
pub(super) struct Content {
    media_type: &'static str,
    /// The name under which browsers save it, unless it is a page.
    file_name: Option<String>,
    body: Bytes,
    /// The SHA-256 digest of the body.
    digest: [u8; 32],
}

impl Content {
    pub(super) fn page(html: String) -> Self {
        Self::text("text/html; charset=utf-8", None, html)
    }

    pub(super) fn document(document: TicketDocument) -> Self {
        let TicketDocument { file_name, bytes, sha256, .. } = document;
        let body = Bytes::from_owner(bytes);
        Self { media_type: "application/pdf", file_name: Some(file_name), body, digest: sha256 }
    }

    pub(super) fn text(media_type: &'static str, file_name: Option<String>, text: String) -> Self {
        let digest = Sha256::digest(&text).into();
        Self { media_type, file_name, body: text.into(), digest }
    }

    /// 200 with the content, or 304 if the client that sent these headers has it already.
    pub(super) fn send(self, request: &HeaderMap) -> Response {
        let etag = format!("\"{}\"", hex::encode(&self.digest[..16]));
        let etag = HeaderValue::try_from(etag).unwrap_or(HeaderValue::from_static("\"\""));
        let mut response = Response::new(Body::empty());
        if entity_tag::matches(request, &etag) {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        } else {
            *response.body_mut() = Body::from(self.body);
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(self.media_type));
            let disposition = self.file_name.map(|name| format!("inline; filename=\"{name}\""));
            if let Some(Ok(disposition)) = disposition.map(HeaderValue::try_from) {
                response.headers_mut().insert(CONTENT_DISPOSITION, disposition);
            }
        }
        response.headers_mut().insert(ETAG, etag);
        response
    }
}
