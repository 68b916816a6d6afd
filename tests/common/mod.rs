//! What the tests share: a shop whose clock stands still until it is turned, a gateway that does what it is told, and
//! short ways to fill the shop.

#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part of this")]

pub mod history;

use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tempfile::TempDir;
use ticketing::{
    Amount, Builder, Caller, Change, Checkout, CheckoutRequest, CreateDiscount, CreateEvent, CreateOrder,
    CreateTicketType, CreateWebhook, CreatedWebhookEndpoint, Discount, DiscountId, Error, Event, EventId, EventStatus,
    GatewayError, IssueTickets, ListWebhookDeliveries, ManualClock, NewCustomer, NewTicket, NotificationType, Order,
    OrderId, OrderStatus, PaymentGateway, PaymentStatus, Reason, RefundRequest, Result, SeededEntropy, TicketType,
    TicketTypeId, TicketingService, Timestamp, UpdateEvent, WebhookDelivery, WebhookId,
};

/// What the clock shows when a shop opens.
pub const NOW: &str = "2026-06-01T12:00:00Z";
/// When the shop's events begin and end, where a test says nothing else.
pub const START: &str = "2026-07-01T18:00:00Z";
pub const END: &str = "2026-07-01T22:00:00Z";

pub const HOLD: Duration = Duration::from_mins(30);

pub fn at(text: &str) -> Timestamp {
    text.parse().expect(text)
}

pub fn eur(cents: i64) -> Amount {
    Amount::new(cents, 2)
}

pub fn ada() -> NewCustomer {
    NewCustomer::new("Ada", "ada@example.com")
}

/// So many percent off everything of the event, from the beginning of 2026 to its end.
pub fn percent_off(event: &Event, code: &str, percent: i64) -> CreateDiscount {
    let (from, to) = (at("2026-01-01T00:00:00Z"), at("2027-01-01T00:00:00Z"));
    CreateDiscount::percentage(event.id, code, Amount::new(percent, 0), from, to)
}

/// The same with an amount.
pub fn amount_off(event: &Event, code: &str, amount: Amount) -> CreateDiscount {
    CreateDiscount { value: amount, discount_type: ticketing::DiscountType::FixedAmount, ..percent_off(event, code, 0) }
}

/// Why a request was refused by the state of things.
#[track_caller]
pub fn reason<T: Debug>(result: Result<T>) -> Reason {
    let error = result.expect_err("a refusal");
    error.reason().unwrap_or_else(|| panic!("a conflict, and not {error:?}"))
}

/// The fields that were refused, in the order in which they are told.
#[track_caller]
pub fn paths<T: Debug>(result: Result<T>) -> Vec<String> {
    let error = result.expect_err("a refusal");
    assert!(!error.fields().is_empty(), "field errors, and not {error:?}");
    error.fields().iter().map(|field| field.path.clone()).collect()
}

#[track_caller]
pub fn is_not_found<T: Debug>(result: Result<T>) {
    let error = result.expect_err("a refusal");
    assert!(matches!(error, Error::NotFound(_)), "not found, and not {error:?}");
}

/// What the gateway does with the next calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    Helpful,
    Refusing,
    Unavailable,
    Panicking,
    Hanging,
}

#[derive(Debug)]
struct Desk {
    checkout: Mood,
    refund: Mood,
    can_refund: bool,
    checkouts: Vec<CheckoutRequest>,
    refunds: Vec<RefundRequest>,
}

/// A gateway that does what it is told and remembers what it was asked. Clones are the same gateway.
#[derive(Debug, Clone)]
pub struct FakeGateway(Arc<Mutex<Desk>>);

impl FakeGateway {
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(Desk {
            checkout: Mood::Helpful,
            refund: Mood::Helpful,
            can_refund: true,
            checkouts: Vec::new(),
            refunds: Vec::new(),
        })))
    }

    pub fn on_checkout(&self, mood: Mood) {
        self.desk().checkout = mood;
    }

    pub fn on_refund(&self, mood: Mood) {
        self.desk().refund = mood;
    }

    pub fn cannot_refund(&self) {
        self.desk().can_refund = false;
    }

    pub fn checkouts(&self) -> Vec<CheckoutRequest> {
        self.desk().checkouts.clone()
    }

    pub fn refunds(&self) -> Vec<RefundRequest> {
        self.desk().refunds.clone()
    }

    fn desk(&self) -> std::sync::MutexGuard<'_, Desk> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

fn act<T>(mood: Mood, answer: impl FnOnce() -> T) -> Result<T, GatewayError> {
    match mood {
        Mood::Helpful => Ok(answer()),
        Mood::Refusing => Err(GatewayError::Refused("the card is blocked".to_owned())),
        Mood::Unavailable => Err(GatewayError::Unavailable("closed for lunch".to_owned())),
        Mood::Panicking => panic!("the gateway panics, as it was told to"),
        Mood::Hanging => loop {
            std::thread::park();
        },
    }
}

impl PaymentGateway for FakeGateway {
    fn start_checkout(&self, request: &CheckoutRequest) -> Result<Checkout, GatewayError> {
        let mood = {
            let mut desk = self.desk();
            desk.checkouts.push(request.clone());
            desk.checkout
        };
        act(mood, || {
            let reference = format!("pay-{}", request.order_id);
            Checkout { link: format!("https://pay.example/{reference}"), reference }
        })
    }

    fn refund(&self, request: &RefundRequest) -> Result<(), GatewayError> {
        let mood = {
            let mut desk = self.desk();
            desk.refunds.push(request.clone());
            desk.refund
        };
        act(mood, || ())
    }

    fn can_refund(&self) -> bool {
        self.desk().can_refund
    }
}

/// A shop: a service on a file of its own, an organization, and a caller who may do everything for it.
pub struct Shop {
    pub service: TicketingService,
    pub caller: Caller,
    pub clock: ManualClock,
    pub gateway: FakeGateway,
    folder: Arc<TempDir>,
    corrupted: AtomicBool,
}

impl Drop for Shop {
    /// Whatever a test did, what it leaves behind is as it must be.
    fn drop(&mut self) {
        if !std::thread::panicking() && !self.corrupted.load(Ordering::Relaxed) {
            let report = self.service.check().expect("a check");
            assert!(report.is_clean(), "{:#?}", report.findings);
        }
    }
}

impl Shop {
    /// A shop with a gateway.
    pub fn new() -> Self {
        let gateway = FakeGateway::new();
        Self::with(&gateway, |builder| builder.payment_gateway(gateway.clone()))
    }

    /// A shop where organizers mark orders as paid.
    pub fn without_gateway() -> Self {
        Self::with(&FakeGateway::new(), |builder| builder)
    }

    pub fn with(gateway: &FakeGateway, set_up: impl FnOnce(Builder) -> Builder) -> Self {
        Self::in_folder(tempfile::tempdir().expect("a folder"), gateway, set_up)
    }

    pub fn in_folder(folder: TempDir, gateway: &FakeGateway, set_up: impl FnOnce(Builder) -> Builder) -> Self {
        let folder = Arc::new(folder);
        let clock = ManualClock::at(at(NOW));
        let builder = TicketingService::builder(folder.path().join("ticketing.db"));
        let builder = builder.clock(clock.clone()).entropy(SeededEntropy::new(1)).readers(2);
        let service = set_up(builder).open().expect("a new file");
        let organization = service.create_organization(Default::default()).expect("an organization");
        let caller = service.act_for(organization.id).expect("it is there");
        Self { service, caller, clock, gateway: gateway.clone(), folder, corrupted: AtomicBool::new(false) }
    }

    /// Another service on the same file, with the same clock and gateway.
    pub fn second(&self) -> TicketingService {
        let builder = TicketingService::builder(self.file()).payment_gateway(self.gateway.clone());
        builder.clock(self.clock.clone()).entropy(SeededEntropy::new(2)).readers(2).open().expect("the file")
    }

    pub fn file(&self) -> std::path::PathBuf {
        self.folder.path().join("ticketing.db")
    }

    /// Lets the last handle of the service go, and keeps the folder.
    pub fn close(self) -> Arc<TempDir> {
        Arc::clone(&self.folder)
    }

    /// Says that the test writes into the file what the service never would: it is not checked at the end.
    pub fn is_corrupted(&self) {
        self.corrupted.store(true, Ordering::Relaxed);
    }

    /// A caller for another organization of the same file.
    pub fn stranger(&self) -> Caller {
        let other = self.service.create_organization(Default::default()).expect("an organization");
        self.service.act_for(other.id).expect("it is there")
    }

    pub fn turn(&self, to: &str) {
        self.clock.set(at(to));
    }

    /// The shop's caller, who does a thing once under this key.
    pub fn once(&self, key: &str) -> Caller {
        self.caller.with_idempotency_key(key.parse().expect(key))
    }

    /// Every row of every table, but for what is kept of idempotency keys.
    pub fn contents(&self) -> Vec<String> {
        let connection = rusqlite::Connection::open(self.file()).expect("the file");
        let names =
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'idempotency_records' ORDER BY name";
        let mut names = connection.prepare(names).expect(names);
        let names =
            names.query_map([], |row| row.get::<_, String>(0)).expect("names").map(|name| name.expect("a name"));
        names.flat_map(|name| rows(&connection, &name)).collect()
    }

    /// Turns the clock to the instant at which holds taken now run out.
    pub fn let_holds_lapse(&self) {
        self.clock.advance(HOLD);
    }

    /// A published event in the future.
    pub fn event(&self) -> Event {
        self.event_with(|_| {})
    }

    pub fn event_with(&self, change: impl FnOnce(&mut CreateEvent)) -> Event {
        self.service.create_event(&self.caller, new_event(change)).expect("an event")
    }

    pub fn ticket_type(&self, event: &Event, cents: i64, quantity: i64) -> TicketType {
        self.ticket_type_with(event, |new| (new.price, new.quantity) = (eur(cents), quantity))
    }

    pub fn ticket_type_with(&self, event: &Event, change: impl FnOnce(&mut CreateTicketType)) -> TicketType {
        let mut new = CreateTicketType::new("Seat", eur(1250), 100);
        change(&mut new);
        self.service.create_ticket_type(&self.caller, event.id, new).expect("a ticket type")
    }

    pub fn try_order(&self, of: &TicketType, quantity: i64) -> Result<Order> {
        let request = CreateOrder::new(of.event_id, ada(), of.id, quantity);
        self.service.create_order(&self.caller, request).map(|response| response.order)
    }

    pub fn order(&self, of: &TicketType, quantity: i64) -> Order {
        self.try_order(of, quantity).expect("an order")
    }

    pub fn discount(&self, new: CreateDiscount) -> Discount {
        self.service.create_discount(&self.caller, new).expect("a discount")
    }

    /// How many orders use a discount now.
    pub fn used(&self, of: &Discount) -> i64 {
        self.read_discount(of.id).used_count
    }

    pub fn read_discount(&self, id: DiscountId) -> Discount {
        self.service.get_discount(&self.caller, id).expect("the discount")
    }

    pub fn try_order_with(&self, of: &TicketType, quantity: i64, code: &str) -> Result<Order> {
        let mut request = CreateOrder::new(of.event_id, ada(), of.id, quantity);
        request.discount_code = Some(code.to_owned());
        self.service.create_order(&self.caller, request).map(|response| response.order)
    }

    pub fn order_with(&self, of: &TicketType, quantity: i64, code: &str) -> Order {
        self.try_order_with(of, quantity, code).expect("an order")
    }

    /// An order that the gateway reported as paid.
    pub fn paid_order(&self, of: &TicketType, quantity: i64) -> Order {
        let order = self.order(of, quantity);
        self.service.payment_completed(&self.caller, order.id).expect("a payment")
    }

    pub fn try_issue(&self, of: TicketTypeId, quantity: i64) -> Result<Vec<NewTicket>> {
        let request = IssueTickets { ticket_type_id: of, customer: ada(), quantity };
        self.service.issue_tickets(&self.caller, request).map(|response| response.issued_tickets)
    }

    pub fn issue(&self, of: &TicketType, quantity: i64) -> Vec<NewTicket> {
        self.try_issue(of.id, quantity).expect("tickets")
    }

    /// A webhook endpoint that wants to hear of these.
    pub fn webhook(&self, events: impl IntoIterator<Item = NotificationType>) -> CreatedWebhookEndpoint {
        let new = CreateWebhook::new("https://example.com/hook", events);
        self.service.create_webhook(&self.caller, new).expect("a webhook endpoint")
    }

    /// An attempt at each row of the outbox that failed, as the sender would have written it.
    pub fn fail_all_deliveries(&self) {
        history::outbox(&self.file()).into_iter().for_each(|row| history::record(&self.file(), row, 1, Some(500)));
    }

    /// The last attempts at an endpoint, the latest first.
    pub fn deliveries(&self, of: WebhookId) -> Vec<WebhookDelivery> {
        let page = self.service.list_webhook_deliveries(&self.caller, of, ListWebhookDeliveries::default());
        page.expect("a page").data
    }

    pub fn move_event(&self, id: EventId, status: EventStatus) -> Result<Event> {
        let changes = UpdateEvent { status: Change::Set(status), ..Default::default() };
        self.service.update_event(&self.caller, id, changes)
    }

    pub fn event_status(&self, id: EventId) -> EventStatus {
        self.service.get_event(&self.caller, id).expect("the event").status
    }

    pub fn get(&self, id: OrderId) -> Order {
        self.service.get_order(&self.caller, id).expect("the order")
    }

    pub fn order_status(&self, id: OrderId) -> OrderStatus {
        self.get(id).status
    }

    pub fn payment_status(&self, id: OrderId) -> Option<PaymentStatus> {
        self.get(id).payment_gateway.map(|payment| payment.status)
    }

    pub fn sold(&self, of: &TicketType) -> i64 {
        self.service.get_ticket_type(&self.caller, of.id).expect("the type").sold
    }

    /// A number that the file holds and the facade does not show.
    pub fn stored(&self, sql: &str) -> i64 {
        let connection = rusqlite::Connection::open(self.file()).expect("the file");
        connection.query_row(sql, [], |row| row.get(0)).expect(sql)
    }
}

/// The rows of a table, as text.
fn rows(connection: &rusqlite::Connection, table: &str) -> Vec<String> {
    let mut query = connection.prepare(&format!("SELECT * FROM {table}")).expect(table);
    let columns = query.column_count();
    let as_text = |row: &rusqlite::Row<'_>| {
        let values = (0..columns).map(|column| row.get::<_, rusqlite::types::Value>(column).expect("a value"));
        Ok(format!("{table}: {:?}", values.collect::<Vec<_>>()))
    };
    query.query_map([], as_text).expect(table).map(|row| row.expect("a row")).collect()
}

/// The request of a published event in the future, under a slug that no other has.
pub fn new_event(change: impl FnOnce(&mut CreateEvent)) -> CreateEvent {
    static NUMBER: AtomicU64 = AtomicU64::new(1);
    let slug = format!("event-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
    let mut new = CreateEvent::new("Summer Night", slug, at(START));
    new.end_date = Some(at(END));
    new.status = Some(EventStatus::Published);
    change(&mut new);
    new
}
