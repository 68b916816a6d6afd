//! An exported file as the body of a response, read a piece at a time on blocking threads.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use futures_util::stream::unfold;
use tokio::fs::File;
use tokio::io::AsyncReadExt as _;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::blocking::{BlockingService, Class};
use super::caller::api_key;
use super::held_bytes::Owner;
use crate::exports::{ExportFile, ExportFormat};
use crate::fair::Tenant;
use crate::model::tenants::caller::Caller;
use crate::server::net::client_connection::ClientConnection;
use crate::server::responses::problem::Problem;
use crate::server::state::AppState;
use crate::service::TicketingService;

/// How long a client may take to receive a file.
const MAX_TIME: Duration = Duration::from_mins(10);

/// How often the server looks whether the key of a client that receives a file was revoked.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);

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

/// Runs a call that exports a file. The file counts for the organization until the client has received it. Its connection
/// is closed after ten minutes, and if its key is revoked.
pub(in crate::server) async fn call(
    state: &AppState,
    tenant: Tenant,
    request: &Parts,
    work: impl FnOnce(&TicketingService) -> Result<Response, Problem> + Send + 'static,
) -> Result<Response, Problem> {
    let mut holding = state.export_files.begin(Owner::of_tenant(tenant), &request.extensions);
    holding.resize(0, false)?;
    let mut response = state.service.call(Class::Store, tenant, work).await?;
    if let Some(export) = response.extensions_mut().remove().and_then(Arc::<ExportFile>::into_inner) {
        holding.resize(export.bytes, false)?;
        let key = api_key(&request.headers).filter(|_| request.extensions.get::<Caller>().is_none());
        let (service, key) = (state.service.clone(), key.map(str::to_owned));
        let connection = request.extensions.get::<Arc<ClientConnection>>().cloned();
        let mut watch = JoinSet::new();
        watch.spawn(async move {
            drop(timeout(MAX_TIME, key_revoked(service, tenant, key)).await);
            connection.inspect(|connection| connection.close());
        });
        let sending = (File::from_std(export.file), watch, holding);
        *response.body_mut() = Body::from_stream(unfold(sending, async |mut sending| {
            let mut piece = Vec::with_capacity(PIECE);
            let read = sending.0.read_buf(&mut piece).await;
            (!matches!(read, Ok(0))).then(|| (read.map(|_| piece), sending))
        }));
    }
    Ok(response)
}

/// Completes when the API key is not valid any more.
async fn key_revoked(service: BlockingService, tenant: Tenant, key: Option<String>) {
    let Some(key) = key else { return pending().await };
    loop {
        sleep(CHECK_INTERVAL).await;
        let key = key.clone();
        let checked = service.call(Class::LookUp, tenant, move |service| Ok(service.authenticate(key)?)).await;
        if checked.is_err_and(|problem| problem.status().is_client_error()) {
            return;
        }
    }
}

/// A response whose file [`call`] adds.
pub(in crate::server) fn send(format: ExportFormat, export: ExportFile) -> Response {
    let ExportFile { bytes, sha256, ref report, .. } = export;
    let mut response = Response::new(Body::empty());
    let headers = response.headers_mut();
    let content_type = match format {
        ExportFormat::Csv => "text/csv; charset=utf-8",
        ExportFormat::Xlsx => media_type(format),
    };
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CONTENT_LENGTH, bytes.into());
    headers.insert(ROWS, report.rows.into());
    let disposition = format!("attachment; filename=\"{}\"", report.file_name);
    let digest = format!("sha-256=:{}:", BASE64_STANDARD.encode(sha256));
    for (name, value) in [(CONTENT_DISPOSITION, disposition), (DIGEST, digest)] {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(name, value);
        }
    }
    response.extensions_mut().insert(Arc::new(export));
    response
}
