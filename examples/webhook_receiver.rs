//! A receiver of webhooks as it should be: it believes only what is signed, acts on each notification once, and answers
//! before it does the work.
//!
//! `cargo run --example webhook_receiver --features server` shows one sale from beginning to end: a shop in this very
//! program sells a ticket, and what it reports is received, verified and printed.
//!
//! With the secret of an endpoint in its environment, it stays and receives what a server sends to it:
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
use ticketing::webhook::{MAX_AGE, SIGNATURE_HEADER, SenderOptions, TIMESTAMP_HEADER, verify};
use ticketing::{
    Amount, Clock, CreateEvent, CreateOrder, CreateTicketType, CreateWebhook, EventStatus, NewCustomer, Notification,
    NotificationData, NotificationId, NotificationType, Secret, SystemClock, TextEnum, TicketingService,
};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    match std::env::var("WEBHOOK_SECRET") {
        Ok(secret) => {
            let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:9000".to_owned());
            let (desk, work) = Desk::new(move || Some(secret.clone()));
            let address = listen(address.parse()?, desk)?;
            println!("listening on http://{address}/");
            work.into_iter().for_each(|notification| println!("{}", told(&notification)));
            Ok(())
        }
        Err(_) => one_sale(),
    }
}

/// Where notifications come in.
struct Desk {
    secret: Box<dyn Fn() -> Option<String> + Send + Sync>,
    seen: Mutex<Seen>,
    work: SyncSender<Notification>,
}

impl Desk {
    /// A desk, and what it lets through.
    fn new(secret: impl Fn() -> Option<String> + Send + Sync + 'static) -> (Self, Receiver<Notification>) {
        let (work, accepted) = sync_channel(1000);
        (Self { secret: Box::new(secret), seen: Mutex::default(), work }, accepted)
    }

    /// Takes a notification in, and answers at once: whoever sends has only 10 seconds.
    fn take(&self, headers: &HeaderMap, body: &[u8]) -> StatusCode {
        let Some(secret) = (self.secret)() else { return StatusCode::SERVICE_UNAVAILABLE };
        let header = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let (timestamp, signature) = (header(TIMESTAMP_HEADER), header(SIGNATURE_HEADER));
        // The very bytes that came: JSON that was read and written again would have another signature.
        if let Err(problem) = verify(&secret, timestamp, signature, body, SystemClock.now(), MAX_AGE) {
            eprintln!("not believed: {problem}");
            return StatusCode::UNAUTHORIZED;
        }
        let Ok(notification) = serde_json::from_slice::<Notification>(body) else { return StatusCode::BAD_REQUEST };
        let mut seen = self.seen.lock().expect("nobody panics with it");
        if seen.contains(notification.id) {
            // It came before, and the answer was lost on its way.
            return StatusCode::NO_CONTENT;
        }
        let id = notification.id;
        match self.work.try_send(notification) {
            Ok(()) => {
                seen.add(id);
                StatusCode::NO_CONTENT
            }
            // It is sent again later.
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

/// The notifications that came lately. A receiver that must not forget them when it ends keeps them in its database, with
/// a unique index on the id, and writes them in the transaction of what it does about them.
#[derive(Default)]
struct Seen {
    ids: HashSet<NotificationId>,
    order: VecDeque<NotificationId>,
}

impl Seen {
    const KEPT: usize = 10_000;

    fn contains(&self, id: NotificationId) -> bool {
        self.ids.contains(&id)
    }

    fn add(&mut self, id: NotificationId) {
        self.ids.insert(id);
        self.order.push_back(id);
        if self.order.len() > Self::KEPT
            && let Some(oldest) = self.order.pop_front()
        {
            self.ids.remove(&oldest);
        }
    }
}

/// Has the desk listen, on a thread of its own; gives the address.
fn listen(address: SocketAddr, desk: Desk) -> Outcome<SocketAddr> {
    let listener = std::net::TcpListener::bind(address)?;
    let address = listener.local_addr()?;
    listener.set_nonblocking(true)?;
    let take =
        |State(desk): State<Arc<Desk>>, headers: HeaderMap, body: Bytes| async move { desk.take(&headers, &body) };
    let router = Router::new().route("/", post(take)).with_state(Arc::new(desk));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::spawn(move || {
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).expect("a socket that listens");
            axum::serve(listener, router).await.expect("it serves until the program ends");
        });
    });
    Ok(address)
}

/// What a notification says, in a line.
fn told(notification: &Notification) -> String {
    let what = match &notification.data {
        NotificationData::OrderCompleted(order) => {
            format!("{} is completed: {} {}", order.order_id, order.total, order.currency)
        }
        NotificationData::OrderCancelled(order) => format!("{} is cancelled", order.order_id),
        NotificationData::TicketIssued(ticket) => format!("{} is issued", ticket.issued_ticket_id),
        NotificationData::TicketCheckedIn(ticket) => format!("{} is checked in", ticket.issued_ticket_id),
    };
    format!("verified {} {} {what}", notification.created_at, notification.id)
}

/// A shop and its receiver in one program: a ticket is sold, and both notifications of it arrive.
fn one_sale() -> Outcome<()> {
    // The secret comes into being when the endpoint is registered, whose URL has to be known for that.
    let secret: Arc<OnceLock<Secret>> = Arc::default();
    let known = Arc::clone(&secret);
    let (desk, accepted) = Desk::new(move || known.get().map(|secret| secret.expose().to_owned()));
    let address = listen(SocketAddr::from(([127, 0, 0, 1], 0)), desk)?;

    let folder = tempfile::tempdir()?;
    let shop = TicketingService::builder(folder.path().join("shop.db"))
        // For a receiver on this machine; otherwise only https to public addresses is allowed.
        .allow_local_webhooks(true)
        .webhook_sender(SenderOptions::default().workers(2))
        .open()?;
    let caller = shop.act_for(shop.create_organization(Default::default())?.id)?;
    let everything = NotificationType::ALL.iter().copied();
    let endpoint = shop.create_webhook(&caller, CreateWebhook::new(format!("http://{address}/"), everything))?;
    secret.set(endpoint.secret).map_err(|_| "the secret was known before")?;

    let mut event = CreateEvent::new("Summer Night", "summer-night", "2100-06-01T18:00:00Z".parse()?);
    event.status = Some(EventStatus::Published);
    let event = shop.create_event(&caller, event)?;
    let guest = shop.create_ticket_type(&caller, event.id, CreateTicketType::new("Guest", Amount::new(0, 2), 10))?;
    shop.create_order(&caller, CreateOrder::new(event.id, NewCustomer::new("Ada", "ada@example.com"), guest.id, 1))?;

    let told: Vec<_> = accepted.iter().take(2).map(|notification| told(&notification)).collect();
    told.iter().for_each(|line| println!("{line}"));
    Ok(())
}
