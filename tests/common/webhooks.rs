//! Webhook endpoints, the outbox and the webhook sender: what their tests share.

use std::time::Duration;

use ticketing::environment::{Clock, SystemClock};
use ticketing::id::WebhookId;
use ticketing::webhook::{
    CreateWebhook, CreatedWebhookEndpoint, EventType, ListWebhookDeliveries, UpdateWebhook, WebhookDelivery,
};
use ticketing::webhook::{SenderOptions, WebhookSenderGuard};
use ticketing::{Builder, Change};

use super::fixture::Fixture;
use super::outbox::{self, OutboxRow};
use super::transport::FakeTransport;

/// How long to wait for something that usually happens at once: the machine may be busy.
pub const TIMEOUT: Duration = Duration::from_mins(2);

/// Longer than a sender needs to notice that the clock was moved.
pub const POLL_TIME: Duration = Duration::from_millis(450);

/// How long a process owns an attempt, by the fixture's clock.
pub const LEASE: Duration = Duration::from_secs(18);

/// The time after its lease within which an interrupted attempt is repeated.
pub const LEASE_SPREAD: Duration = Duration::from_millis(1500);

/// Waits until the condition holds. Panics after [`TIMEOUT`].
#[track_caller]
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let end = SystemClock.monotonic() + TIMEOUT;
    while !condition() {
        assert!(SystemClock.monotonic() < end, "timed out waiting until {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Waits until none is left. Panics if their number stays the same for [`TIMEOUT`]: how many there are, and how long
/// they take, depends on the machine.
#[track_caller]
pub fn wait_until_none(what: &str, number: impl Fn() -> i64) {
    let mut left = number();
    while left > 0 {
        wait_until(&format!("fewer {what} than {left} are left"), || number() != left);
        left = number();
    }
}

/// For tests of the sender, each ticket of [`Fixture::default_ticket_type`] that is issued is one notification.
impl Fixture {
    /// Creates a fixture that sends to receivers on this machine, over plain HTTP.
    pub fn with_local_webhooks() -> Self {
        Self::for_sender(|builder| builder.allow_local_webhooks(true))
    }

    /// Creates a fixture that sends with this transport.
    pub fn with_transport(transport: &FakeTransport) -> Self {
        Self::for_sender(|builder| builder.webhook_transport(transport.clone()))
    }

    /// Creates a fixture whose default ticket type exists already.
    pub fn for_sender(configure: impl FnOnce(Builder) -> Builder) -> Self {
        let fixture = Self::with(configure);
        fixture.default_ticket_type();
        fixture
    }

    pub fn start_sender(&self, options: SenderOptions) -> WebhookSenderGuard {
        self.service.start_webhook_sender(options).expect("a sender")
    }

    /// Creates a webhook endpoint for these notifications.
    pub fn webhook(&self, events: impl IntoIterator<Item = EventType>) -> CreatedWebhookEndpoint {
        let new = CreateWebhook::new("https://example.com/hook", events);
        self.service.create_webhook(&self.caller, new).expect("a webhook endpoint")
    }

    /// Creates a webhook endpoint for issued tickets.
    pub fn ticket_webhook(&self, url: impl Into<String>) -> CreatedWebhookEndpoint {
        let new = CreateWebhook::new(url, [EventType::TicketIssued]);
        self.service.create_webhook(&self.caller, new).expect("a webhook endpoint")
    }

    /// Inserts `number` webhook endpoints for issued tickets, past the facade and its limits.
    pub fn insert_ticket_webhooks(&self, number: usize, url: &str) {
        outbox::insert_ticket_webhooks(&self.database(), number, url);
    }

    pub fn update_webhook(&self, id: WebhookId, change: impl FnOnce(&mut UpdateWebhook)) {
        let mut changes = UpdateWebhook::default();
        change(&mut changes);
        self.service.update_webhook(&self.caller, id, changes).expect("an update");
    }

    pub fn set_webhook_enabled(&self, id: WebhookId, enabled: bool) {
        self.update_webhook(id, |changes| changes.enabled = Change::Set(enabled));
    }

    pub fn set_webhook_url(&self, id: WebhookId, url: impl Into<String>) {
        self.update_webhook(id, |changes| changes.url = Change::Set(url.into()));
    }

    pub fn set_webhook_events(&self, id: WebhookId, events: &[EventType]) {
        self.update_webhook(id, |changes| changes.events = Change::Set(events.to_vec()));
    }

    /// Queues `number` notifications for each endpoint.
    pub fn queue_notifications(&self, mut number: i64) {
        while number > 0 {
            self.issue(self.default_ticket_type(), number.min(10));
            number -= 10;
        }
    }

    /// Records a failed attempt for each row of the outbox, as the sender would.
    pub fn fail_all_deliveries(&self) {
        for row in self.outbox() {
            outbox::record_attempt(&self.database(), row.id, 1, Some(500));
        }
    }

    /// Returns the last attempts at an endpoint, the latest first.
    pub fn deliveries(&self, webhook: WebhookId) -> Vec<WebhookDelivery> {
        let page = self.service.list_webhook_deliveries(&self.caller, webhook, ListWebhookDeliveries::default());
        page.expect("a page").data
    }

    /// Returns all attempts at an endpoint, the first one first.
    pub fn delivery_history(&self, webhook: WebhookId) -> Vec<WebhookDelivery> {
        let mut history = Vec::new();
        let mut request = ListWebhookDeliveries::default();
        request.page.limit = 100;
        loop {
            let page = self.service.list_webhook_deliveries(&self.caller, webhook, request.clone()).expect("a page");
            history.extend(page.data);
            request.page.cursor = page.next_cursor;
            if request.page.cursor.is_none() {
                history.reverse();
                return history;
            }
        }
    }

    /// Returns the number of notifications that are not expanded.
    pub fn stored_notifications(&self) -> i64 {
        self.stored("SELECT COUNT(*) FROM webhook_notifications WHERE organization_id IS NOT NULL")
    }

    /// Returns the rows of the outbox, in the order in which they were queued. Expands notifications before.
    pub fn outbox(&self) -> Vec<OutboxRow> {
        outbox::rows(&self.database())
    }

    /// [Expands](outbox::expand) the notifications that changes have stored.
    pub fn expand(&self) {
        outbox::expand(&self.database());
    }

    /// Returns the number of rows of the outbox in this state. Expands notifications before.
    pub fn outbox_count(&self, state: &str) -> i64 {
        self.expand();
        self.expanded_count(state)
    }

    fn expanded_count(&self, state: &str) -> i64 {
        self.stored(&format!("SELECT COUNT(*) FROM webhook_outbox WHERE state = '{state}'"))
    }

    /// Waits until exactly `number` rows of the outbox are in this state.
    #[track_caller]
    pub fn wait_for_outbox(&self, number: i64, state: &str) {
        wait_until_none(&format!("rows that are not {state}"), || number - self.expanded_count(state));
        assert_eq!(self.expanded_count(state), number, "{state}");
    }

    /// Waits until the only row of the outbox has had this many attempts and none is running.
    #[track_caller]
    pub fn wait_for_attempt(&self, attempts: i64) -> OutboxRow {
        let row = || self.outbox().pop().expect("a row");
        wait_until(&format!("attempt {attempts} has ended"), || row().attempts >= attempts && !row().claimed);
        row()
    }
}
