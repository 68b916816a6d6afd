//! An exported file as the body of a response, read a piece at a time on blocking threads.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hyper::body::{Frame, SizeHint};
use tokio::fs::File;
use tokio::io::{AsyncRead, ReadBuf};

use super::blocking::{BlockingService, acquire};
use super::body_memory::HeldBody;
use super::problem::Problem;
use crate::exports::{ExportFile, ExportFormat, ExportKind};
use crate::fair::Tenant;
use crate::service::TicketingService;

/// How many bytes are read at a time.
const PIECE: usize = 64 * 1024;

const ROWS: HeaderName = HeaderName::from_static("x-export-rows");
const DIGEST: HeaderName = HeaderName::from_static("repr-digest");

/// The media types of the formats that this program can write.
pub(in crate::server) fn media_types() -> impl Iterator<Item = &'static str> {
    let formats = ExportFormat::ALL.iter().copied();
    formats.filter(|format| cfg!(feature = "xlsx") || *format == ExportFormat::Csv).map(media_type)
}

const fn media_type(format: ExportFormat) -> &'static str {
    match format {
        ExportFormat::Csv => "text/csv",
        ExportFormat::Xlsx => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    }
}

/// Runs a call that exports a file. Its permit is free again when the client has received the file.
pub(super) async fn call(
    service: &BlockingService,
    tenant: Tenant,
    work: impl FnOnce(&TicketingService) -> Result<Response, Problem> + Send + 'static,
) -> Result<Response, Problem> {
    let permit = acquire(&service.exports, tenant).await?;
    let response = service.call(tenant, work).await?;
    Ok(HeldBody::wrap(response, permit))
}

pub(in crate::server) fn send(kind: ExportKind, format: ExportFormat, export: ExportFile) -> Response {
    let ExportFile { file, bytes, sha256, report } = export;
    let mut response = Response::new(Body::new(FileBody { file: File::from_std(file), left: bytes }));
    let headers = response.headers_mut();
    let content_type = match format {
        ExportFormat::Csv => "text/csv; charset=utf-8",
        ExportFormat::Xlsx => media_type(format),
    };
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CONTENT_LENGTH, bytes.into());
    headers.insert(ROWS, report.rows.into());
    let date = &report.as_of.to_string()[..10];
    let disposition = format!("attachment; filename=\"{kind}-{date}.{format}\"");
    let digest = format!("sha-256=:{}:", BASE64_STANDARD.encode(sha256));
    for (name, value) in [(CONTENT_DISPOSITION, disposition), (DIGEST, digest)] {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(name, value);
        }
    }
    response
}

/// What is left of a file.
struct FileBody {
    file: File,
    left: u64,
}

impl HttpBody for FileBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        let mut piece = vec![0; usize::try_from(self.left).unwrap_or(PIECE).min(PIECE)];
        let mut buffer = ReadBuf::new(&mut piece);
        ready!(Pin::new(&mut self.file).poll_read(context, &mut buffer))?;
        let read = buffer.filled().len();
        if read == 0 {
            return Poll::Ready(Some(Err(io::ErrorKind::UnexpectedEof.into())));
        }
        piece.truncate(read);
        self.left = self.left.saturating_sub(read as u64);
        Poll::Ready(Some(Ok(Frame::data(piece.into()))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
