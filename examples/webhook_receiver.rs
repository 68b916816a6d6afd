//! A webhook receiver: it verifies the signature of each notification, ignores duplicates, and responds before it
//! processes the notification.
//!
//! `cargo run --example webhook_receiver --features server` runs a demonstration: a service in this program sells a
//! ticket, and the receiver prints the two notifications about it.
//!
//! With the secret of an endpoint in the environment, the program receives the notifications of another server:
//! `WEBHOOK_SECRET=whsec_... cargo run --example webhook_receiver --features server -- 127.0.0.1:9000`

use std::collections::{HashSet, VecDeque};
use std::error::Error;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, OnceLock};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use ticketing::event::{CreateEvent, EventStatus};
use ticketing::id::NotificationId;
use ticketing::order::{CreateOrder, NewCustomer};
use ticketing::ticket_type::CreateTicketType;
use ticketing::webhook::{CreateWebhook, EventType, NotificationData, SenderOptions};
use ticketing::webhook::{Verifier, VerifyError, WebhookNotification};
use ticketing::{Amount, TicketingService};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    match std::env::var("WEBHOOK_SECRET") {
        Ok(secret) => {
            let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:9000".to_owned());
            let verifier = Arc::new(OnceLock::from(Verifier::new(secret)));
            let (receiver, accepted) = WebhookReceiver::new(verifier);
            let address = listen(address.parse()?, receiver)?;
            println!("listening on http://{address}/");
            for notification in accepted {
                println!("{}", describe(&notification));
            }
            Ok(())
        }
        Err(_) => demonstrate(),
    }
}

/// Verifies notifications and passes new ones on for processing.
struct WebhookReceiver {
    /// Not set before the secret of the endpoint is known.
    verifier: Arc<OnceLock<Verifier>>,
    recent: Mutex<RecentIds>,
    accepted: SyncSender<WebhookNotification>,
}

impl WebhookReceiver {
    /// Returns a receiver, and the channel to which it sends the notifications that it accepts.
    fn new(verifier: Arc<OnceLock<Verifier>>) -> (Self, Receiver<WebhookNotification>) {
        let (accepted, notifications) = sync_channel(1000);
        (Self { verifier, recent: Mutex::default(), accepted }, notifications)
    }

    /// Accepts or refuses a notification and returns the status of the response. It must not block: the sender gives up
    /// after 10 seconds.
    fn receive(&self, headers: &HeaderMap, body: &[u8]) -> StatusCode {
        let Some(verifier) = self.verifier.get() else { return StatusCode::SERVICE_UNAVAILABLE };
        // The signature covers the received bytes: JSON that was parsed and serialized again may differ.
        let notification = match verifier.verify(headers, body) {
            Ok(notification) => notification,
            Err(error) => {
                eprintln!("refused: {error}");
                let is_genuine = matches!(error, VerifyError::Body(_));
                return if is_genuine { StatusCode::BAD_REQUEST } else { StatusCode::UNAUTHORIZED };
            }
        };
        let mut recent = self.recent.lock().expect("no thread panics while it holds the lock");
        if recent.contains(notification.id) {
            // A repetition: the response to the earlier one was lost.
            return StatusCode::NO_CONTENT;
        }
        let id = notification.id;
        match self.accepted.try_send(notification) {
            Ok(()) => {
                recent.insert(id);
                StatusCode::NO_CONTENT
            }
            // The sender tries again later.
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

/// The ids of the latest notifications. A real receiver stores the ids in its database, with a unique index, in the
/// transaction that processes the notification: then they survive a restart.
#[derive(Default)]
struct RecentIds {
    ids: HashSet<NotificationId>,
    order: VecDeque<NotificationId>,
}

impl RecentIds {
    const CAPACITY: usize = 10_000;

    fn contains(&self, id: NotificationId) -> bool {
        self.ids.contains(&id)
    }

    fn insert(&mut self, id: NotificationId) {
        self.ids.insert(id);
        self.order.push_back(id);
        if self.order.len() > Self::CAPACITY
            && let Some(oldest) = self.order.pop_front()
        {
            self.ids.remove(&oldest);
        }
    }
}

/// Starts an HTTP server for the receiver on a thread of its own. Returns its address.
fn listen(address: SocketAddr, receiver: WebhookReceiver) -> Result<SocketAddr> {
    let listener = std::net::TcpListener::bind(address)?;
    let address = listener.local_addr()?;
    listener.set_nonblocking(true)?;
    let handle = |State(receiver): State<Arc<WebhookReceiver>>, headers: HeaderMap, body: Bytes| async move {
        receiver.receive(&headers, &body)
    };
    let router = Router::new().route("/", post(handle)).with_state(Arc::new(receiver));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::spawn(move || {
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).expect("the socket is listening");
            axum::serve(listener, router).await.expect("the server runs until the program ends");
        });
    });
    Ok(address)
}

/// Describes a notification in one line.
fn describe(notification: &WebhookNotification) -> String {
    let change = match &notification.data {
        NotificationData::OrderCompleted(order) => {
            format!("{} completed: {} {}", order.order_id, order.total, order.currency)
        }
        NotificationData::OrderCancelled(order) => format!("{} cancelled", order.order_id),
        NotificationData::TicketIssued(ticket) => format!("{} issued", ticket.issued_ticket_id),
        NotificationData::TicketCheckedIn(ticket) => format!("{} checked in", ticket.issued_ticket_id),
        other => other.event_type().to_string(),
    };
    format!("verified {} {} {change}", notification.created_at, notification.id)
}

/// Sells a ticket and prints the two notifications about it, with the service and the receiver in one program.
fn demonstrate() -> Result<()> {
    // The receiver starts first, because the URL is needed to register the endpoint. Its secret is set after that.
    let verifier: Arc<OnceLock<Verifier>> = Arc::default();
    let (receiver, accepted) = WebhookReceiver::new(Arc::clone(&verifier));
    let address = listen(SocketAddr::from(([127, 0, 0, 1], 0)), receiver)?;

    // A sender needs an implementation of cryptography for TLS. A program without rustls enables the feature `ring`.
    rustls::crypto::ring::default_provider().install_default().map_err(|_| "there is one already")?;
    let folder = tempfile::tempdir()?;
    let service = TicketingService::builder(folder.path().join("ticketing.db"))
        // For a receiver on this machine. Without it, endpoints must be https URLs of public addresses.
        .allow_local_webhooks(true)
        .webhook_sender(SenderOptions::default().workers(2))
        .open()?;
    let organization = service.create_organization(Default::default())?;
    let caller = service.act_for(organization.id)?;
    let all_types = EventType::ALL.iter().copied();
    let endpoint = service.create_webhook(&caller, CreateWebhook::new(format!("http://{address}/"), all_types))?;
    verifier.set(Verifier::new(endpoint.secret)).map_err(|_| "the verifier was set before")?;

    let mut event = CreateEvent::new("Summer Night", "summer-night", "2100-06-01T18:00:00Z".parse()?);
    event.status = Some(EventStatus::Published);
    let event = service.create_event(&caller, event)?;
    let ticket_type = CreateTicketType::new("Guest list", Amount::ZERO, 10);
    let ticket_type = service.create_ticket_type(&caller, event.id, ticket_type)?;
    let ada = NewCustomer::new("Ada", "ada@example.com");
    service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 1))?;

    for notification in accepted.iter().take(2) {
        println!("{}", describe(&notification));
    }
    Ok(())
}

#[test]
fn the_example_receives_two_notifications() {
    demonstrate().unwrap();
}
