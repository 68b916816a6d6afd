//! What the tests of the sender share: a shop whose tickets are reported to webhook endpoints, and a carrier that does with
//! a notification what the test says.

#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part of it")]

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ticketing::webhook::{
    FailureKind, SenderOptions, Transport, WebhookFailure, WebhookRequest, WebhookResponse, WebhookSender,
};
use ticketing::{
    Builder, Change, Clock, CreateWebhook, CreatedWebhookEndpoint, ListWebhookDeliveries, NotificationType,
    SystemClock, TicketType, UpdateWebhook, WebhookDelivery, WebhookId,
};

use crate::common::{self, FakeGateway, Shop};

/// Long enough for a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Longer than a sender needs to notice that the clock was turned.
pub const NOTICE: Duration = Duration::from_millis(450);

/// How long an attempt is a process's own, by the shop's clock.
pub const LEASE: Duration = Duration::from_secs(18);

/// Within which time after its lease an attempt that was cut off is made again.
pub const SPREAD: Duration = Duration::from_millis(1500);

/// Waits until it is so.
#[track_caller]
pub fn until(what: &str, mut so: impl FnMut() -> bool) {
    let end = SystemClock.monotonic() + PATIENCE;
    while !so() {
        assert!(SystemClock.monotonic() < end, "it never came to it: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A row of the outbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub state: String,
    pub attempts: i64,
    pub cuts: i64,
    pub claimed: bool,
    pub due_at: i64,
}

impl Row {
    pub fn is(&self, state: &str, attempts: i64) -> bool {
        (self.state.as_str(), self.attempts) == (state, attempts)
    }
}

/// A shop, and a kind of ticket of which each one that is issued is a notification.
pub struct Office {
    pub shop: Shop,
    pub seat: TicketType,
}

impl Deref for Office {
    type Target = Shop;

    fn deref(&self) -> &Shop {
        &self.shop
    }
}

impl Office {
    pub fn with(set_up: impl FnOnce(Builder) -> Builder) -> Self {
        Self::of(Shop::with(&FakeGateway::new(), set_up))
    }

    /// One whose file is below this folder.
    pub fn in_folder(folder: &std::path::Path, set_up: impl FnOnce(Builder) -> Builder) -> Self {
        let folder = tempfile::tempdir_in(folder).expect("a folder");
        Self::of(Shop::in_folder(folder, &FakeGateway::new(), set_up))
    }

    fn of(shop: Shop) -> Self {
        // Also by the machine's clock it is not over.
        let event = shop.event_with(|new| (new.start_date, new.end_date) = (common::at("2100-01-01T00:00:00Z"), None));
        let seat = shop.ticket_type_with(&event, |new| new.quantity = 1_000_000);
        Self { shop, seat }
    }

    /// One whose notifications go to receivers on this machine.
    pub fn over_http() -> Self {
        Self::with(|builder| builder.allow_local_webhooks(true))
    }

    pub fn by(carrier: &Carrier) -> Self {
        Self::with(|builder| builder.webhook_transport(carrier.clone()))
    }

    /// Another service on the same file, with the same clock.
    pub fn beside(&self, set_up: impl FnOnce(Builder) -> Builder) -> ticketing::TicketingService {
        let builder = ticketing::TicketingService::builder(self.file()).clock(self.clock.clone()).readers(2);
        set_up(builder).open().expect("the file")
    }

    pub fn start(&self, options: SenderOptions) -> WebhookSender {
        self.service.start_webhook_sender(options).expect("a sender")
    }

    /// An endpoint that wants to hear of tickets.
    pub fn endpoint(&self, url: impl Into<String>) -> CreatedWebhookEndpoint {
        let new = CreateWebhook::new(url, [NotificationType::TicketIssued]);
        self.service.create_webhook(&self.caller, new).expect("an endpoint")
    }

    /// Registers so many more endpoints that want to hear of tickets, without saying so one by one.
    pub fn register(&self, number: usize, url: &str) {
        let connection = rusqlite::Connection::open(self.file()).expect("the file");
        connection
            .execute(
                "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
                INSERT INTO webhook_endpoints (id, organization_id, url, events, enabled, secret, created_at, updated_at)
                SELECT 1000 + i, (SELECT MIN(id) FROM organizations), ?2 || i, '[\"ticket.issued\"]', 1,
                    'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=', 0, 0 FROM n",
                rusqlite::params![i64::try_from(number).expect("few"), url],
            )
            .expect("registered");
    }

    pub fn change(&self, id: WebhookId, change: impl FnOnce(&mut UpdateWebhook)) {
        let mut changes = UpdateWebhook::default();
        change(&mut changes);
        self.service.update_webhook(&self.caller, id, changes).expect("changed");
    }

    pub fn enable(&self, id: WebhookId, enabled: bool) {
        self.change(id, |changes| changes.enabled = Change::Set(enabled));
    }

    pub fn move_to(&self, id: WebhookId, url: impl Into<String>) {
        self.change(id, |changes| changes.url = Change::Set(url.into()));
    }

    pub fn want(&self, id: WebhookId, events: &[NotificationType]) {
        self.change(id, |changes| changes.events = Change::Set(events.to_vec()));
    }

    /// Queues so many notifications for every endpoint.
    pub fn queue(&self, mut number: i64) {
        while number > 0 {
            self.issue(&self.seat, number.min(10));
            number -= 10;
        }
    }

    /// What was sent to an endpoint, the first attempt first.
    pub fn history(&self, id: WebhookId) -> Vec<WebhookDelivery> {
        let (mut history, mut request) = (Vec::new(), ListWebhookDeliveries::default());
        request.page.limit = 100;
        loop {
            let page = self.service.list_webhook_deliveries(&self.caller, id, request.clone()).expect("a page");
            history.extend(page.data);
            request.page.cursor = page.next_cursor;
            if request.page.cursor.is_none() {
                history.reverse();
                return history;
            }
        }
    }

    /// The outbox, in the order in which it was filled.
    pub fn outbox(&self) -> Vec<Row> {
        let connection = rusqlite::Connection::open(self.file()).expect("the file");
        let sql = "SELECT state, attempts, cuts, claim IS NOT NULL, due_at FROM webhook_outbox ORDER BY id";
        let mut query = connection.prepare(sql).expect(sql);
        let row = |row: &rusqlite::Row<'_>| {
            Ok(Row {
                state: row.get(0)?,
                attempts: row.get(1)?,
                cuts: row.get(2)?,
                claimed: row.get(3)?,
                due_at: row.get(4)?,
            })
        };
        query.query_map([], row).expect(sql).map(|row| row.expect("a row")).collect()
    }

    /// How many rows of the outbox are in this state.
    pub fn number(&self, state: &str) -> i64 {
        self.stored(&format!("SELECT COUNT(*) FROM webhook_outbox WHERE state = '{state}'"))
    }

    /// Waits until so many rows of the outbox are in this state.
    #[track_caller]
    pub fn wait_for(&self, number: i64, state: &str) {
        until(&format!("{number} rows are {state}"), || self.number(state) >= number);
        assert_eq!(self.number(state), number, "{state}");
    }

    /// Waits until the only row of the outbox has had so many attempts, and nobody makes another.
    #[track_caller]
    pub fn wait_for_attempt(&self, attempts: i64) -> Row {
        let row = || self.outbox().pop().expect("a row");
        until(&format!("attempt {attempts} ended"), || row().attempts >= attempts && !row().claimed);
        row()
    }
}

type Deed = dyn Fn(&Carrier, &WebhookRequest, Duration) -> Result<WebhookResponse, WebhookFailure> + Send + Sync;

/// A transport that does what the test says, and remembers what it was given. Clones are the same.
#[derive(Clone)]
pub struct Carrier(Arc<Inner>);

struct Inner {
    deed: Box<Deed>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    sent: Vec<WebhookRequest>,
    open: bool,
    interrupted: bool,
}

impl Carrier {
    pub fn new(
        deed: impl Fn(&Self, &WebhookRequest, Duration) -> Result<WebhookResponse, WebhookFailure> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Inner { deed: Box::new(deed), state: Mutex::default(), changed: Condvar::new() }))
    }

    /// One to which every receiver answers with 204.
    pub fn delivering() -> Self {
        Self::new(|_, _, _| answer(204))
    }

    /// One that waits at the gate with everything for a receiver whose URL has `part` in it.
    pub fn holding(part: &'static str) -> Self {
        Self::new(move |carrier, request, timeout| match request.url.contains(part) {
            true => carrier.wait_at_the_gate(timeout),
            false => answer(204),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What it was given, in the order in which it was.
    pub fn sent(&self) -> Vec<WebhookRequest> {
        self.state().sent.clone()
    }

    /// How much of it was for receivers whose URL has `part` in it.
    pub fn sent_to(&self, part: &str) -> usize {
        self.state().sent.iter().filter(|request| request.url.contains(part)).count()
    }

    /// Waits until it was given so much.
    #[track_caller]
    pub fn wait_for(&self, number: usize) -> Vec<WebhookRequest> {
        until(&format!("{number} were sent"), || self.state().sent.len() >= number);
        self.sent()
    }

    /// Waits until the gate opens, the time is up, or the sender breaks it off.
    pub fn wait_at_the_gate(&self, timeout: Duration) -> Result<WebhookResponse, WebhookFailure> {
        let closed = |state: &mut State| !state.open && !state.interrupted;
        let state = self.0.changed.wait_timeout_while(self.state(), timeout, closed);
        let (state, _) = state.unwrap_or_else(PoisonError::into_inner);
        match (state.open, state.interrupted) {
            (true, _) => answer(204),
            (false, true) => Err(failure(FailureKind::Network, "the sender was stopped")),
            (false, false) => Err(failure(FailureKind::TimedOut, "timed out")),
        }
    }

    pub fn open_the_gate(&self) {
        self.state().open = true;
        self.0.changed.notify_all();
    }
}

impl Transport for Carrier {
    fn send(&self, request: &WebhookRequest, timeout: Duration) -> Result<WebhookResponse, WebhookFailure> {
        self.state().sent.push(request.clone());
        (self.0.deed)(self, request, timeout)
    }

    fn interrupt(&self) {
        self.state().interrupted = true;
        self.0.changed.notify_all();
    }
}

impl fmt::Debug for Carrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Carrier")
    }
}

pub fn answer(status: u16) -> Result<WebhookResponse, WebhookFailure> {
    Ok(WebhookResponse { status, body: Vec::new(), timed_out: false })
}

pub fn failure(kind: FailureKind, message: &str) -> WebhookFailure {
    WebhookFailure { kind, message: message.to_owned(), connection_tried: true }
}

/// A header of what was sent.
pub fn header<'r>(request: &'r WebhookRequest, name: &str) -> &'r str {
    let found = request.headers.iter().find(|(known, _)| *known == name);
    found.map(|(_, value)| value.as_str()).unwrap_or_else(|| panic!("{name} is missing"))
}
