//! Serves until it is told to stop.

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use ticketing::server::{ServerOptions, serve};
use ticketing::webhook::SenderOptions;
use ticketing::{CreateApiKey, CreateOrganization, Scopes, TicketingService};
use tokio::runtime::Runtime;

use crate::failure::Failure;
use crate::options::{LogFormat, Settings};
use crate::say;

/// Listens, opens the database, and answers until SIGTERM or Ctrl-C.
pub(crate) fn run(settings: Settings) -> Result<(), Failure> {
    start_log(settings.log_format);
    // The socket comes before the database: a port that is taken makes no file, and the real port is known.
    let listening = |error| Failure::Run(format!("cannot listen on {}: {error}", settings.listen));
    let listener = TcpListener::bind(settings.listen).map_err(listening)?;
    let address = listener.local_addr().map_err(listening)?;
    let runtime = Runtime::new().map_err(|error| Failure::Run(format!("no threads can be started: {error}")))?;
    let stop = runtime.block_on(async { stop_signal() })?;

    let public_url = settings.public_url.unwrap_or_else(|| format!("http://{address}"));
    let service = TicketingService::builder(settings.database)
        .sandbox_gateway()
        .order_hold(settings.order_hold)
        .public_url(public_url)
        .allow_local_webhooks(settings.allow_local_webhooks)
        .open()?;
    greet(&service, address)?;
    if settings.allow_local_webhooks {
        say("Webhooks may go to this machine, and by plain http: for development only")?;
    }
    let maintenance = service.start_maintenance()?;
    let webhooks = service.start_webhook_sender(SenderOptions::default())?;
    let mut options = ServerOptions::default();
    options.rate_limit = settings.rate_limit;
    options.failed_authentications = settings.failed_authentications;
    let served = runtime.block_on(serve(service.clone(), listener, options, stop));
    runtime.shutdown_timeout(Duration::from_secs(1));
    drop(webhooks);
    drop(maintenance);
    drop(service); // The last handle: the write-ahead log goes into the database.
    served.map_err(|error| Failure::Run(format!("the server failed: {error}")))
}

/// Begins to write the log to standard error: a line for each request, and whatever goes wrong. Where nobody takes the
/// log, it is lost, and the requests are answered all the same.
fn start_log(format: LogFormat) {
    let log = tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_max_level(tracing::Level::INFO)
        .log_internal_errors(false);
    match format {
        LogFormat::Text => log.init(),
        LogFormat::Json => log.json().flatten_event(true).init(),
    }
}

/// Says where the server is and, on the first start on a fresh file, what opens it.
fn greet(service: &TicketingService, address: SocketAddr) -> Result<(), Failure> {
    let key = CreateApiKey { name: "First key".to_owned(), scopes: Scopes::all(), expires_at: None };
    let first = service.create_first_organization(CreateOrganization::default(), key)?;
    if let Some((organization, created)) = &first {
        say(&format!("Organization: {}", organization.id))?;
        say(&format!("API key: {}", created.key.expose()))?;
    }
    say(&format!("Listening on http://{address}/v1"))?;
    match &first {
        Some((_, created)) => {
            say(&format!("curl -H 'X-Api-Key: {}' 'http://{address}/v1/events'", created.key.expose()))
        }
        // The key is not known any more: this one works without.
        None => say(&format!("curl 'http://{address}/health/ready'")),
    }
}

/// Waits for SIGTERM or Ctrl-C, which are caught from this call on.
#[cfg(unix)]
fn stop_signal() -> Result<impl Future<Output = ()> + Send, Failure> {
    use tokio::signal::unix::{SignalKind, signal};
    let caught = |kind| signal(kind).map_err(|error| Failure::Run(format!("signals cannot be caught: {error}")));
    let (mut terminate, mut interrupt) = (caught(SignalKind::terminate())?, caught(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// Waits for Ctrl-C.
#[cfg(not(unix))]
fn stop_signal() -> Result<impl Future<Output = ()> + Send, Failure> {
    Ok(async {
        // Where it cannot be waited for, the server runs until it is ended from outside.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}
