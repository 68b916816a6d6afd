//! The server of the sale, and the event that it sells.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};
use ticketing::server::{ServerOptions, serve};
use ticketing::{CreateApiKey, CreateOrganization, MaintenanceWorker, Scopes, TicketingService};
use tokio::sync::oneshot;

use crate::Result;
use crate::client::Client;

/// How long an unpaid order holds its places: short, so that those of who wanders off come back during the sale.
const HOLD: Duration = Duration::from_secs(2);

/// A server that runs in this process, as any other does.
pub(crate) struct BoxOffice {
    pub(crate) address: SocketAddr,
    pub(crate) database: PathBuf,
    key: String,
    events: AtomicU32,
    stop: oneshot::Sender<()>,
    server: JoinHandle<io::Result<()>>,
    maintenance: MaintenanceWorker,
    /// Removed at the end, where the database is a temporary one.
    _folder: Option<tempfile::TempDir>,
}

/// An event with one ticket type.
pub(crate) struct Event {
    pub(crate) id: String,
    pub(crate) ticket_type: String,
}

impl BoxOffice {
    /// Opens the database and serves it on a free port of this machine, for buyers on so many connections.
    pub(crate) fn open(database: Option<&Path>, connections: usize) -> Result<Self> {
        let (database, folder) = match database {
            Some(path) => (path.to_owned(), None),
            None => {
                let folder = tempfile::tempdir()?;
                (folder.path().join("flash_sale.db"), Some(folder))
            }
        };
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let service = TicketingService::builder(&database)
            .sandbox_gateway()
            .gateway_calls(connections.max(64))
            .order_hold(HOLD)
            .public_url(format!("http://{address}"))
            .open()?;
        let organization = service.create_organization(CreateOrganization::default())?;
        let key = CreateApiKey { name: "Flash sale".to_owned(), scopes: Scopes::all(), expires_at: None };
        let key = service.create_api_key(organization.id, key)?.key.expose().to_owned();
        let maintenance = service.start_maintenance()?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let server = std::thread::spawn(move || {
            runtime.block_on(serve(service, listener, server_options(), async { drop(stopped.await) }))
        });
        Ok(Self { address, database, key, events: AtomicU32::new(1), stop, server, maintenance, _folder: folder })
    }

    /// A connection that shows the key of the sale.
    pub(crate) fn client(&self) -> Result<Client> {
        Client::connect(self.address, &self.key)
    }

    /// The beginning of an order that never gets further: its key is good, so the server waits for the rest.
    pub(crate) fn half_an_order(&self) -> String {
        let (address, key) = (self.address, &self.key);
        format!(
            "POST /v1/orders HTTP/1.1\r\nHost: {address}\r\nX-Api-Key: {key}\r\nContent-Type: application/json\r\n\
             Content-Length: 100\r\n\r\n{{"
        )
    }

    /// Puts an event with so many places on sale.
    pub(crate) fn publish(&self, places: usize) -> Result<Event> {
        let mut client = self.client()?;
        let number = self.events.fetch_add(1, Ordering::Relaxed);
        let event = json!({
            "title": "Flash Sale", "slug": format!("flash-sale-{number}"), "startDate": "9000-06-01T18:00:00Z",
            "deliveryMethod": "DIGITAL", "status": "PUBLISHED",
        });
        let event = id(&client.post("/v1/events", &event)?.success()?)?;
        let place = json!({"name": "Place", "price": 12.5, "quantity": places});
        let place = client.post(&format!("/v1/events/{event}/ticket-types"), &place)?.success()?;
        Ok(Event { id: event, ticket_type: id(&place)? })
    }

    /// Stops the server, and says whether it had been well.
    pub(crate) fn close(self) -> Result<()> {
        drop(self.stop);
        self.server.join().map_err(|_| "the server panicked")??;
        drop(self.maintenance);
        Ok(())
    }
}

fn server_options() -> ServerOptions {
    // One key carries the whole sale.
    let mut options = ServerOptions::default();
    options.rate_limit = None;
    options
}

fn id(created: &Value) -> Result<String> {
    Ok(created["id"].as_str().ok_or("what was created has no id")?.to_owned())
}
