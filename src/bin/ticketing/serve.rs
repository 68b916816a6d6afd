//! Runs the server until SIGTERM or Ctrl-C, or until a sync of the database fails.

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use ticketing::error::{StoreError, StoreErrorKind};
use ticketing::maintenance::BackupSchedule;
use ticketing::organization::{CreateApiKey, CreateOrganization};
use ticketing::server::{Routes, ServerOptions, serve};
use ticketing::webhook::SenderOptions;
use ticketing::{Builder, TicketingService};
use tokio::runtime::Runtime;

use super::arguments::{LogFormat, ServerSettings, StripeOptions};
use super::database_option::Database;
use super::documents::Documents;
use super::failure::{Failure, usage};
use super::log_lines::{LogLines, LogThread};
use super::mail::Mails;
use super::output::print_line;
use super::stripe;

/// Binds the socket, opens the database and serves requests until SIGTERM or Ctrl-C. Fails if a sync of the database
/// fails: the next start recovers what was acknowledged.
pub(crate) fn run(database: Database, settings: ServerSettings) -> Result<(), Failure> {
    if matches!(database, Database::Postgres(_)) && settings.no_migration_copy {
        return Err(usage("--no-migration-copy is for database files"));
    }
    if matches!(database, Database::Postgres(_)) && settings.backup_folder.is_some() {
        return Err(usage("--backup-folder is for database files: use pg_dump, or archive the write-ahead log"));
    }
    let stripe = stripe::is_on(&settings.stripe)?.then_some(&settings.stripe);
    if settings.sandbox && stripe.is_some() {
        return Err(usage("--sandbox and --stripe-key-file exclude each other"));
    }
    let _log = start_log(settings.log_format)?;
    let gateway = Gateway::new(stripe)?;
    let documents = Documents::read(settings.fonts.as_deref(), settings.paper)?;
    let mails = Mails::read(&settings.mail)?;
    // The sockets come before the database: if a port is in use, no file is created. The default of the public URL
    // needs the actual port.
    let Bound { listener, address } = Bound::new(settings.listen)?;
    let metrics = settings.metrics_listen.map(Bound::new).transpose()?;
    let runtime = Runtime::new().map_err(|error| Failure::Run(format!("cannot start threads: {error}")))?;
    let stop = runtime.block_on(async { stop_signal() })?;

    let public_url = settings.public_url.unwrap_or_else(|| format!("http://{address}"));
    let mut builder = database.builder(!settings.no_migration_copy)?;
    if settings.max_reserved_per_customer > 0 {
        builder = builder.max_reserved_per_customer(settings.max_reserved_per_customer);
    }
    #[cfg(feature = "event-pages")]
    if settings.event_pages {
        builder = builder.event_pages();
    }
    let write_quota = u64::from(settings.write_quota) * 1024 * 1024;
    let service = documents
        .set(mails.set((gateway.set)(builder)))
        .order_hold(settings.order_hold)
        .write_quota(Some(write_quota).filter(|quota| *quota > 0))
        .public_url(public_url)
        .allow_local_webhooks(settings.allow_local_webhooks)
        .open()
        .map_err(|error| documents.explain(error))?;
    if gateway.warning.is_some() && !settings.sandbox && service.has_taken_real_money()? {
        let problem = if stripe.is_some() { TEST_KEY } else { LOST_STRIPE };
        return Err(Failure::Run(problem.to_owned()));
    }
    match (stripe, settings.sandbox) {
        (Some(_), _) => {}
        (None, true) => tracing::info!(target: "ticketing::payment", "{SANDBOX}"),
        (None, false) => tracing::warn!(target: "ticketing::payment", "{SANDBOX}"),
    }
    if let Some(warning) = gateway.warning {
        print_line(&format!("Warning: {warning}"))?;
    }
    print_startup(&service, address, metrics.as_ref().map(|metrics| metrics.address))?;
    if settings.allow_local_webhooks {
        print_line("Warning: webhook receivers may be on this machine and use plain http. For development only.")?;
    }
    let maintenance = service.start_maintenance()?;
    let backups = settings.backup_folder.map(|folder| {
        let schedule = BackupSchedule::new(folder).every(settings.backup_every).keep(settings.backup_keep.into());
        service.start_backups(schedule)
    });
    let backups = backups.transpose()?;
    let webhooks = service.start_webhook_sender(SenderOptions::default())?;
    let mut options = ServerOptions::default();
    options.rate_limit = Some(settings.rate_limit).filter(|limit| *limit > 0);
    options.failed_authentications = match settings.failed_authentications {
        0 => u32::MAX,
        limit => limit,
    };
    #[cfg(feature = "event-pages")]
    {
        options.orders_per_network = match settings.orders_per_network {
            0 => u32::MAX,
            limit => limit,
        };
    }
    options.client_address_header = settings.client_address_header;
    let routes = Routes::new(service.clone(), &options);
    let watched = service.clone();
    let stop = async move {
        tokio::select! {
            () = stop => {}
            () = sync_failure(watched) => {}
        }
    };
    let served = runtime.block_on(async move {
        let public = match metrics {
            None => routes.public().merge(routes.metrics()),
            Some(Bound { listener, .. }) => {
                // They can be read until the end of the shutdown.
                tokio::spawn(serve(listener, routes.metrics(), options.clone(), std::future::pending()));
                routes.public()
            }
        };
        serve(listener, public, options, stop).await
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
    drop(webhooks);
    drop(backups);
    drop(maintenance);
    let stopped = service.stopped();
    // The last handle of the service: dropping it merges the write-ahead log into the database file.
    drop(service);
    if let Some(error) = stopped.filter(is_failed_sync) {
        return Err(Failure::Run(format!("the server has ended: {error}")));
    }
    served.map_err(|error| Failure::Run(format!("the server failed: {error}")))
}

/// The payment gateway.
struct Gateway {
    set: Box<dyn FnOnce(Builder) -> Builder>,
    /// What is printed if it takes no money.
    warning: Option<&'static str>,
}

/// Printed and logged at each start with the sandbox, as a warning unless `--sandbox` is set: the options of Stripe may
/// have been lost.
const SANDBOX: &str = "payments go through the sandbox, which takes no money: anybody who opens a checkout page can say that \
    an order is paid";

/// Why the server does not start.
const LOST_STRIPE: &str = "the database has payments of real money, but the server was started without the options of Stripe: \
    set --stripe-key-file and --stripe-webhook-secret-file, or --sandbox if no customer shall pay real money any more";

/// The same with a key of test mode.
const TEST_KEY: &str = "the database has payments of real money, but Stripe's secret key is one of test mode: set the file with \
    the key of live mode, or instead of the files --sandbox if no customer shall pay real money any more";

impl Gateway {
    /// Reads what the gateway needs: before a database is created.
    fn new(options: Option<&StripeOptions>) -> Result<Self, Failure> {
        match options {
            None => Ok(Self { set: Box::new(Builder::sandbox_gateway), warning: Some(SANDBOX) }),
            #[cfg(feature = "stripe")]
            Some(settings) => {
                let gateway = stripe::gateway(settings)?;
                let test_mode = "Stripe's secret key is one of test mode; orders are completed without real money";
                let warning = (gateway.livemode() == Some(false)).then_some(test_mode);
                Ok(Self { set: Box::new(|builder| builder.payment_gateway(gateway)), warning })
            }
            #[cfg(not(feature = "stripe"))]
            Some(_) => Err(stripe::not_compiled()),
        }
    }
}

/// Waits until a sync of the database has failed. If its file was replaced, the server goes on without writing: after a
/// restart it would create a new database.
async fn sync_failure(service: TicketingService) {
    while !service.stopped().is_some_and(|error| is_failed_sync(&error)) {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

fn is_failed_sync(error: &StoreError) -> bool {
    *error.kind() == StoreErrorKind::SyncFailed
}

/// A socket, and the address on which it listens.
struct Bound {
    listener: TcpListener,
    address: SocketAddr,
}

impl Bound {
    fn new(address: SocketAddr) -> Result<Self, Failure> {
        let cannot_listen = |error| Failure::Run(format!("cannot listen on {address}: {error}"));
        let listener = TcpListener::bind(address).map_err(cannot_listen)?;
        let address = listener.local_addr().map_err(cannot_listen)?;
        Ok(Self { listener, address })
    }
}

/// Starts logging to standard error: one line per request, and errors. If standard error cannot be written, log lines
/// are dropped and requests are still served. The last lines are written when the result is dropped.
fn start_log(format: LogFormat) -> Result<LogThread, Failure> {
    let lines = LogLines::default();
    let thread = lines.start(std::io::stderr());
    let thread = thread.map_err(|error| Failure::Run(format!("cannot start a thread: {error}")))?;
    let log =
        tracing_subscriber::fmt().with_writer(lines).with_max_level(tracing::Level::INFO).log_internal_errors(false);
    match format {
        LogFormat::Text => log.init(),
        LogFormat::Json => log.json().flatten_event(true).init(),
    }
    Ok(thread)
}

/// Prints the address of the server with its pages, and that of the metrics if it is another one. If the database is new, creates an
/// organization and an API key and prints them.
fn print_startup(service: &TicketingService, address: SocketAddr, metrics: Option<SocketAddr>) -> Result<(), Failure> {
    let key = CreateApiKey::new("First key");
    let first = service.create_first_organization(CreateOrganization::default(), key)?;
    if let Some((organization, created)) = &first {
        print_line(&format!("Organization: {}", organization.id))?;
        print_line(&format!("API key: {}", created.key.expose()))?;
    }
    print_line(&format!("Listening on http://{address}"))?;
    if cfg!(feature = "docs-page") {
        print_line(&format!("Documentation: http://{address}/docs"))?;
    }
    print_line(&format!("Check-in: http://{address}/door/, with the links of `ticketing door-link`"))?;
    if let Some(metrics) = metrics {
        print_line(&format!("Metrics on http://{metrics}/metrics"))?;
    }
    let example = match &first {
        Some((_, created)) => format!("curl -H 'X-Api-Key: {}' 'http://{address}/v1/events'", created.key.expose()),
        // The key cannot be shown again: this request needs none.
        None => format!("curl 'http://{address}/health/ready'"),
    };
    print_line(&example)
}

/// Returns a future that ends at SIGTERM or Ctrl-C. Both are caught from this call on.
#[cfg(unix)]
fn stop_signal() -> Result<impl Future<Output = ()> + Send, Failure> {
    use tokio::signal::unix::{SignalKind, signal};
    let catch = |kind| signal(kind).map_err(|error| Failure::Run(format!("cannot catch signals: {error}")));
    let mut terminate = catch(SignalKind::terminate())?;
    let mut interrupt = catch(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// Returns a future that ends at Ctrl-C.
#[cfg(not(unix))]
fn stop_signal() -> Result<impl Future<Output = ()> + Send, Failure> {
    Ok(async {
        // If Ctrl-C cannot be caught, the server runs until the process is killed.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}
