//! The server under load, and its events.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};
use ticketing::TicketingService;
use ticketing::maintenance::MaintenanceGuard;
use ticketing::organization::{CreateApiKey, CreateOrganization};
use ticketing::server::{ServerOptions, router, serve};
use tokio::sync::oneshot;

use crate::Result;
use crate::client::Client;

/// How long an unpaid order reserves its seats. It is short, so that abandoned seats are sold again during the sale.
const ORDER_HOLD: Duration = Duration::from_secs(2);

/// A ticketing server in this process, which is used over HTTP only.
pub(crate) struct SaleServer {
    pub(crate) address: SocketAddr,
    pub(crate) database: PathBuf,
    key: String,
    next_event: AtomicU32,
    stop: oneshot::Sender<()>,
    server: JoinHandle<io::Result<()>>,
    maintenance: MaintenanceGuard,
    /// The folder of a temporary database. Dropping it deletes the folder.
    _folder: Option<tempfile::TempDir>,
}

/// An event with one ticket type.
pub(crate) struct Event {
    pub(crate) id: String,
    pub(crate) ticket_type: String,
    /// The path of its page, if event pages are switched on.
    pub(crate) page: String,
}

impl SaleServer {
    /// Opens the database and starts the server on a free port. `connections` is the number of buyers' connections.
    pub(crate) fn start(database: Option<&Path>, connections: usize) -> Result<Self> {
        let (database, folder) = match database {
            Some(path) => (path.to_owned(), None),
            None => {
                let folder = tempfile::tempdir()?;
                (folder.path().join("flash_sale.db"), Some(folder))
            }
        };
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let builder = TicketingService::builder(&database);
        #[cfg(feature = "event-pages")]
        let builder = builder.event_pages();
        let service = builder
            .sandbox_gateway()
            .gateway_calls((2 * connections).max(128))
            .order_hold(ORDER_HOLD)
            .write_quota(None)
            .public_url(format!("http://{address}"))
            .open()?;
        let organization = service.create_organization(CreateOrganization::default())?;
        let key = CreateApiKey::new("Flash sale");
        let key = service.create_api_key(organization.id, key)?.key.expose().to_owned();
        let maintenance = service.start_maintenance()?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let server = std::thread::spawn(move || {
            let options = server_options();
            runtime.block_on(serve(listener, router(service, &options), options, async { drop(stopped.await) }))
        });
        Ok(Self { address, database, key, next_event: AtomicU32::new(1), stop, server, maintenance, _folder: folder })
    }

    /// Opens a connection that sends the API key with each request.
    pub(crate) fn client(&self) -> Result<Client> {
        Client::connect(self.address, &self.key)
    }

    /// Returns the beginning of an order request. Its key is valid, so the server waits for the rest of the body.
    pub(crate) fn incomplete_order(&self) -> String {
        let address = self.address;
        let key = &self.key;
        format!(
            "POST /v1/orders HTTP/1.1\r\nHost: {address}\r\nX-Api-Key: {key}\r\nContent-Type: application/json\r\n\
             Content-Length: 100\r\n\r\n{{"
        )
    }

    /// Publishes an event with the given number of seats.
    pub(crate) fn publish_event(&self, seats: usize) -> Result<Event> {
        let mut client = self.client()?;
        let number = self.next_event.fetch_add(1, Ordering::Relaxed);
        let event = json!({
            "title": "Flash Sale", "slug": format!("flash-sale-{number}"), "startDate": "9000-06-01T18:00:00Z",
            "deliveryMethod": "DIGITAL", "status": "PUBLISHED",
        });
        let created = client.post("/v1/events", &event)?.success()?;
        let (event, page) = (id_of(&created)?, path_of(created["pageUrl"].as_str().unwrap_or_default()));
        let ticket_type = json!({"name": "General admission", "price": 12.5, "quantity": seats});
        let ticket_type = client.post(&format!("/v1/events/{event}/ticket-types"), &ticket_type)?.success()?;
        Ok(Event { id: event, ticket_type: id_of(&ticket_type)?, page })
    }

    /// Stops the server. Fails if the server failed or panicked.
    pub(crate) fn stop(self) -> Result<()> {
        drop(self.stop);
        self.server.join().map_err(|_| "the server panicked")??;
        drop(self.maintenance);
        Ok(())
    }
}

fn server_options() -> ServerOptions {
    let mut options = ServerOptions::default();
    // All buyers share one API key.
    options.rate_limit = None;
    // And one address.
    options.link_requests = u32::MAX;
    #[cfg(feature = "event-pages")]
    {
        options.orders_per_network = u32::MAX;
    }
    options
}

fn id_of(resource: &Value) -> Result<String> {
    Ok(resource["id"].as_str().ok_or("the created resource has no id")?.to_owned())
}

/// The path of a URL.
pub(crate) fn path_of(url: &str) -> String {
    url.splitn(4, '/').nth(3).map(|path| format!("/{path}")).unwrap_or_default()
}
