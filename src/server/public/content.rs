//! Pages, documents and calendar entries as they are sent: with a digest or a version as their `ETag`, and pages
//! compressed.

#[cfg(feature = "documents")]
use axum::body::Bytes;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
#[cfg(feature = "documents")]
use axum::response::IntoResponse;
use axum::response::Response;
use flate2::Compression;

use super::representation::Representation;
#[cfg(feature = "documents")]
use crate::documents::TicketDocument;

/// How much pages are compressed. With many tickets, the default level takes off another 8 %, in eight times the time.
const PAGE_COMPRESSION: u32 = 3;

/// A page, a document or a calendar entry.
pub(in crate::server) struct Content {
    media_type: &'static str,
    /// The name under which browsers save it, unless it is a page.
    file_name: Option<String>,
    representation: Representation,
}

impl Content {
    /// A page. It may be compressed although it has secrets. An attacker who makes a browser send requests and sees the
    /// lengths of the responses learns nothing (BREACH), because the page repeats nothing of the request but the token
    /// in the path.
    pub(in crate::server) fn page(html: String, gzip: bool) -> Self {
        let level = gzip.then(|| Compression::new(PAGE_COMPRESSION));
        let representation = Representation::new(html.into(), level);
        Self { media_type: "text/html; charset=utf-8", file_name: None, representation }
    }

    #[cfg(feature = "documents")]
    pub(in crate::server) fn document(document: TicketDocument) -> Self {
        let TicketDocument { file_name, bytes, sha256, .. } = document;
        let representation = Representation::with_digest(Bytes::from_owner(bytes), &sha256);
        Self { media_type: "application/pdf", file_name: Some(file_name), representation }
    }

    #[cfg(feature = "documents")]
    pub(in crate::server) fn calendar_entry(file_name: String, entry: String) -> Self {
        let representation = Representation::new(entry.into(), None);
        Self { media_type: "text/calendar; charset=utf-8", file_name: Some(file_name), representation }
    }

    /// The same with the tag of its version instead of its digest.
    #[cfg(feature = "documents")]
    pub(in crate::server) fn with_etag(self, etag: HeaderValue) -> Self {
        Self { representation: self.representation.with_etag(etag), ..self }
    }

    /// 200 with the content, or 304 if the client that sent these headers has it already.
    pub(in crate::server) fn send(self, request: &HeaderMap) -> Response {
        let mut response = self.representation.send(request);
        if response.status() == StatusCode::OK {
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(self.media_type));
            let disposition = self.file_name.map(|name| format!("inline; filename=\"{name}\""));
            if let Some(Ok(disposition)) = disposition.map(HeaderValue::try_from) {
                response.headers_mut().insert(CONTENT_DISPOSITION, disposition);
            }
        }
        response
    }
}

#[cfg(feature = "documents")]
impl IntoResponse for TicketDocument {
    /// 200 with the PDF file, which browsers show and save under its name. The `ETag` is its digest.
    fn into_response(self) -> Response {
        Content::document(self).send(&HeaderMap::new())
    }
}
