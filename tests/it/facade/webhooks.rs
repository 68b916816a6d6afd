//! Webhook endpoints: validation, changes while notifications wait, secrets, the history of attempts, and resending.

use std::time::Duration;

use crate::common::*;
use ticketing::Result;
use ticketing::error::Reason;
use ticketing::id::WebhookId;
use ticketing::page::{Page, PageRequest};
use ticketing::ticket_type::TicketType;
use ticketing::webhook::{
    CreateWebhook, DeliveryEventType, EventType, ListWebhookDeliveries, ListWebhooks, UpdateWebhook, WebhookDelivery,
    WebhookEndpoint,
};

const ISSUED: EventType = EventType::TicketIssued;
const CHECKED_IN: EventType = EventType::TicketCheckedIn;
const COMPLETED: EventType = EventType::OrderCompleted;

/// A fixture with a free ticket type.
struct Setup {
    fixture: Fixture,
    ticket_type: TicketType,
}

impl Setup {
    fn new() -> Self {
        let fixture = Fixture::new();
        let ticket_type = fixture.ticket_type(&fixture.event(), 0, 1000);
        Self { fixture, ticket_type }
    }

    fn webhook(&self, events: &[EventType]) -> WebhookId {
        self.fixture.webhook(events.iter().copied()).endpoint.id
    }

    fn get(&self, id: WebhookId) -> WebhookEndpoint {
        self.fixture.service.get_webhook(&self.fixture.caller, id).expect("the endpoint")
    }

    fn update(&self, id: WebhookId, changes: UpdateWebhook) -> WebhookEndpoint {
        self.fixture.service.update_webhook(&self.fixture.caller, id, changes).expect("changed")
    }

    fn set_enabled(&self, id: WebhookId, enabled: bool) {
        self.update(id, UpdateWebhook::default().enabled(enabled));
    }

    fn subscribe(&self, id: WebhookId, events: &[EventType]) -> WebhookEndpoint {
        self.update(id, UpdateWebhook::default().events(events.iter().copied()))
    }

    /// Issues a ticket, which queues a notification.
    fn issue(&self) {
        self.fixture.issue(&self.ticket_type, 1);
    }

    /// Issues a ticket and checks it in.
    fn issue_and_check_in(&self) {
        let code = self.fixture.issue(&self.ticket_type, 1).remove(0).code;
        self.fixture
            .service
            .check_in_ticket(&self.fixture.caller, ticketing::ticket::CheckInTicket::new(&code))
            .expect("an accepted scan");
    }

    /// Returns the type and state of each row of the outbox, the oldest first.
    fn outbox(&self) -> Vec<(String, String)> {
        self.fixture.outbox().into_iter().map(|row| (row.kind, row.state)).collect()
    }

    fn execute(&self, sql: &str) {
        self.fixture.database().execute(sql, []);
    }

    fn list(&self, id: WebhookId, request: ListWebhookDeliveries) -> Vec<WebhookDelivery> {
        self.fixture.service.list_webhook_deliveries(&self.fixture.caller, id, request).expect("a page").data
    }
}

fn states(rows: &[(&str, &str)]) -> Vec<(String, String)> {
    rows.iter().map(|(kind, state)| ((*kind).to_owned(), (*state).to_owned())).collect()
}

#[test]
fn an_endpoint_has_the_values_of_its_request_and_defaults() {
    let setup = Setup::new();
    let created = setup.fixture.webhook([CHECKED_IN, ISSUED, CHECKED_IN, ISSUED]).endpoint;
    assert_eq!(created.events, [CHECKED_IN, ISSUED], "duplicates are removed");
    assert_eq!((created.url.as_str(), &created.description), ("https://example.com/hook", &None));
    assert_eq!((created.enabled, created.revision), (true, 1));
    assert_eq!((created.created_at, created.updated_at), (at(NOW), at(NOW)));
    assert_eq!(setup.get(created.id), created);

    let mut new = CreateWebhook::new("https://example.com:8443/a?b=c", EventType::ALL.iter().copied());
    new.description = Some("Ours".to_owned());
    new.enabled = Some(false);
    let created = setup.fixture.service.create_webhook(&setup.fixture.caller, new).expect("an endpoint").endpoint;
    assert_eq!((created.url.as_str(), created.enabled), ("https://example.com:8443/a?b=c", false));
    assert_eq!((created.description.as_deref(), created.events.len()), (Some("Ours"), 9));

    setup.fixture.clock.advance(Duration::from_secs(60));
    let changes = UpdateWebhook::default().url("https://example.org/");
    let expected = with!(
        created.clone(),
        url = "https://example.org/".to_owned(),
        updated_at = at("2026-06-01T12:01:00Z"),
        revision = 2
    );
    assert_eq!(setup.update(created.id, changes), expected);
    assert_eq!(setup.get(created.id), expected);
    assert_eq!(setup.subscribe(created.id, &[ISSUED, ISSUED, COMPLETED]).events, [ISSUED, COMPLETED]);
}

#[test]
fn plain_http_to_the_same_machine_requires_an_option() {
    let local = || CreateWebhook::new("http://127.0.0.1:8081/hook", [ISSUED]);
    let fixture = Fixture::new();
    let refused = fixture.service.create_webhook(&fixture.caller, local()).expect_err("a refusal");
    let message = "must be an https URL of a public address, on port 443 or a port from 1024 to 65535";
    assert_eq!((refused.fields()[0].path.as_str(), refused.fields()[0].message.as_str()), ("url", message));

    let fixture = Fixture::with(|builder| builder.allow_local_webhooks(true));
    let id = fixture.service.create_webhook(&fixture.caller, local()).expect("an endpoint").endpoint.id;
    let changes = UpdateWebhook::default().url("http://localhost:8082");
    fixture.service.update_webhook(&fixture.caller, id, changes).expect("changed");
}

#[test]
fn the_secret_is_returned_by_creation_and_rotation_only() {
    let setup = Setup::new();
    let service = &setup.fixture.service;
    let caller = &setup.fixture.caller;
    let created = setup.fixture.webhook([ISSUED]);
    let id = created.endpoint.id;
    let rotated = service.rotate_webhook_secret(caller, id).expect("rotated");
    assert_eq!(rotated.id, id);
    let other = setup.fixture.webhook([ISSUED]);
    let secrets = [created.secret.expose(), rotated.secret.expose(), other.secret.expose()];
    for secret in secrets {
        // 32 bytes are 43 characters of base64 and one of padding.
        let random =
            secret.strip_prefix("whsec_").and_then(|rest| rest.strip_suffix('=')).expect("the form of a secret");
        assert_eq!(random.len(), 43, "{secret}");
        assert!(random.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/".contains(&byte)), "{secret}");
    }
    assert!(secrets[0] != secrets[1] && secrets[1] != secrets[2] && secrets[0] != secrets[2]);

    let hint = |secret: &str| Some(secret[secret.len() - 4..].to_owned());
    assert_eq!(created.endpoint.secret_hint, hint(secrets[0]));
    assert_eq!(setup.get(id).secret_hint, hint(secrets[1]), "the hint is that of the current secret");
    assert_eq!(
        setup.fixture.stored(&format!("SELECT secret = '{}' FROM webhook_endpoints ORDER BY id", secrets[1])),
        1
    );

    setup.issue();
    setup.fixture.fail_all_deliveries();
    let shown = [
        format!("{created:?} {rotated:?} {:?}", service.create_webhook(caller, CreateWebhook::new("x", []))),
        serde_json::to_string(&setup.get(id)).expect("JSON"),
        serde_json::to_string(&service.list_webhooks(caller, ListWebhooks::default()).expect("a page")).expect("JSON"),
        serde_json::to_string(&setup.update(id, UpdateWebhook::default())).expect("JSON"),
        serde_json::to_string(&setup.list(id, ListWebhookDeliveries::default())).expect("JSON"),
    ];
    for text in &shown {
        assert!(!text.contains("whsec_") && !secrets.iter().any(|secret| text.contains(&secret[6..])), "{text}");
    }
}

/// Reads a whole list in pages of two.
fn read_all<T, C: Clone>(mut page: impl FnMut(PageRequest<C>) -> Result<Page<T, C>>) -> Vec<T> {
    let mut request = PageRequest::first(2);
    let mut all = Vec::new();
    loop {
        let Page { data, next_cursor, .. } = page(request.clone()).expect("a page");
        all.extend(data);
        let Some(cursor) = next_cursor else { return all };
        request = request.after(cursor);
    }
}

#[test]
fn endpoints_are_listed_newest_first_page_by_page() {
    let setup = Setup::new();
    let service = &setup.fixture.service;
    let caller = &setup.fixture.caller;
    let mut all: Vec<_> = (0..5).map(|_| setup.fixture.webhook([ISSUED]).endpoint).collect();
    all.reverse();
    assert_eq!(read_all(|page| service.list_webhooks(caller, ListWebhooks::default().page(page))), all);
    service.delete_webhook(caller, all[1].id).expect("deleted");
    let after_it = ListWebhooks::default().page(PageRequest::default().after(all[1].id));
    assert_eq!(paths(service.list_webhooks(caller, after_it)), ["cursor"]);
}

#[test]
fn unsubscribing_from_a_type_removes_its_waiting_notifications() {
    let setup = Setup::new();
    let id = setup.webhook(&[ISSUED, CHECKED_IN]);
    let other = setup.webhook(&[ISSUED]);
    setup.issue_and_check_in();
    // The oldest row is delivered, and another one has an attempt in progress.
    setup.issue();
    let first = outbox::rows(&setup.fixture.database())[0].id;
    outbox::record_attempt(&setup.fixture.database(), first, 1, Some(204));
    setup.execute(
        "UPDATE webhook_outbox SET claim = 7, due_at = 99 WHERE id = (SELECT MAX(id) FROM webhook_outbox
        WHERE endpoint_id = (SELECT MIN(endpoint_id) FROM webhook_outbox))",
    );
    let issued = "ticket.issued";
    let checked_in = "ticket.checked_in";
    let waiting =
        [(issued, "DELIVERED"), (issued, "WAITING"), (checked_in, "WAITING"), (issued, "WAITING"), (issued, "WAITING")];
    assert_eq!(setup.outbox(), states(&waiting));

    setup.fixture.clock.advance(Duration::from_secs(5));
    let before = setup.get(other);
    setup.subscribe(id, &[CHECKED_IN]);
    let removed = [waiting[0], waiting[1], waiting[2], (issued, "REMOVED"), waiting[4]];
    assert_eq!(setup.outbox(), states(&removed), "the row of the other endpoint still waits");
    let removed_row = "SELECT claim IS NULL AND due_at = 99 AND finished_at = 1780315205000 FROM webhook_outbox
        WHERE state = 'REMOVED'";
    assert_eq!(setup.fixture.stored(removed_row), 1);
    setup.subscribe(id, &[CHECKED_IN, ISSUED]);
    assert_eq!(setup.outbox(), states(&removed), "subscribing again restores nothing");
    assert_eq!(setup.get(other), before);
}

#[test]
fn for_a_disabled_endpoint_nothing_is_queued_and_its_rows_wait() {
    let setup = Setup::new();
    let id = setup.webhook(&[ISSUED]);
    setup.issue();
    setup.fixture.expand();
    setup.set_enabled(id, false);
    setup.issue();
    let one = states(&[("ticket.issued", "WAITING")]);
    assert_eq!(setup.outbox(), one);
    setup.set_enabled(id, true);
    assert_eq!(setup.outbox(), one);
    setup.issue();
    assert_eq!(setup.outbox().len(), 2);
}

#[test]
fn deleting_an_endpoint_removes_its_waiting_rows_and_hides_its_history() {
    let setup = Setup::new();
    let service = &setup.fixture.service;
    let caller = &setup.fixture.caller;
    let id = setup.webhook(&[ISSUED]);
    let other = setup.webhook(&[ISSUED]);
    setup.issue();
    setup.issue();
    setup.fixture.fail_all_deliveries();
    let delivery = setup.fixture.deliveries(id)[0].id;
    let first = outbox::rows(&setup.fixture.database())[0].id;
    setup.execute(&format!(
        "UPDATE webhook_outbox SET state = 'DEAD', attempts = 8, finished_at = 0 WHERE id = {first}"
    ));
    service.delete_webhook(caller, id).expect("deleted");
    let rest = [("ticket.issued", "DEAD"), ("ticket.issued", "WAITING"), ("ticket.issued", "WAITING")];
    assert_eq!(setup.outbox(), states(&rest), "one row is removed, and two wait for the other endpoint");
    assert_eq!(setup.fixture.stored("SELECT COUNT(*) FROM webhook_deliveries"), 4);
    assert_not_found(service.get_webhook(caller, id));
    assert_not_found(service.update_webhook(caller, id, UpdateWebhook::default()));
    assert_not_found(service.rotate_webhook_secret(caller, id));
    assert_not_found(service.delete_webhook(caller, id));
    assert_not_found(service.list_webhook_deliveries(caller, id, ListWebhookDeliveries::default()));
    assert_not_found(service.resend_webhook_delivery(caller, id, delivery));
    assert_not_found(service.resend_webhook_delivery(caller, other, delivery));
    setup.issue();
    assert_eq!(setup.outbox().len(), 4, "nothing is queued for the deleted endpoint");
}

#[test]
fn the_history_has_each_attempt_the_newest_first() {
    let setup = Setup::new();
    let id = setup.webhook(&[ISSUED]);
    setup.fixture.clock.advance(Duration::from_secs(1));
    let ticket = setup.fixture.issue(&setup.ticket_type, 1).remove(0);
    let row = outbox::rows(&setup.fixture.database())[0].id;
    outbox::record_attempt(&setup.fixture.database(), row, 1, None);
    outbox::record_attempt(&setup.fixture.database(), row, 2, Some(503));
    outbox::record_attempt(&setup.fixture.database(), row, 3, Some(204));
    let found = setup.fixture.deliveries(id);
    let attempts: Vec<_> = found
        .iter()
        .map(|each| (each.attempt, each.success, each.response_status, each.response_body.as_deref()))
        .collect();
    let expected =
        [(3, true, Some(204), Some("answer 204")), (2, false, Some(503), Some("answer 503")), (1, false, None, None)];
    assert_eq!(attempts, expected);
    let errors: Vec<_> = found.iter().map(|each| each.error_message.as_deref()).collect();
    assert_eq!(
        errors,
        [
            None,
            Some("the receiver answered with status 503"),
            Some("timed out after 10 s while waiting for the response")
        ]
    );
    for each in &found {
        assert_eq!((each.endpoint_id, each.outbox_id), (id, found[0].outbox_id));
        assert_eq!((each.event_type, each.duration_ms), (DeliveryEventType::TicketIssued, Some(40)));
        assert_eq!(each.created_at, at("2026-06-01T12:00:01.040Z"));
        let event_id = each.notification_id.to_string();
        let body: serde_json::Value = serde_json::from_str(&each.request_body).expect("JSON");
        assert_eq!((body["id"].as_str(), body["type"].as_str()), (Some(event_id.as_str()), Some("ticket.issued")));
        assert_eq!(body["data"]["issuedTicketId"], ticket.id.to_string());
    }
}

#[test]
fn the_history_is_paged_and_filtered() {
    let setup = Setup::new();
    let service = &setup.fixture.service;
    let caller = &setup.fixture.caller;
    let id = setup.webhook(&[ISSUED, CHECKED_IN]);
    let other = setup.webhook(&[ISSUED]);
    for _ in 0..3 {
        setup.issue_and_check_in();
    }
    for (number, row) in setup.fixture.outbox().into_iter().enumerate() {
        outbox::record_attempt(&setup.fixture.database(), row.id, 1, [None, Some(500), Some(200)][number % 3]);
    }
    // Both endpoints get the issue of each of the three tickets, one of them also the check-in.
    let all = setup.fixture.deliveries(id);
    assert_eq!((all.len(), setup.fixture.deliveries(other).len()), (6, 3));
    assert!(all.is_sorted_by(|a, b| a.id > b.id));
    for success in [None, Some(true), Some(false)] {
        for event_type in [None, Some(DeliveryEventType::TicketIssued), Some(DeliveryEventType::TicketCheckedIn)] {
            let matches = |delivery: &&WebhookDelivery| {
                success.is_none_or(|success| delivery.success == success)
                    && event_type.is_none_or(|event_type| delivery.event_type == event_type)
            };
            let expected: Vec<_> = all.iter().filter(matches).cloned().collect();
            let list = |page| {
                let mut request = ListWebhookDeliveries::default().page(page);
                request.success = success;
                request.event_type = event_type;
                service.list_webhook_deliveries(caller, id, request)
            };
            assert_eq!(read_all(list), expected, "{success:?} {event_type:?}");
        }
    }
    let none = ListWebhookDeliveries::default().event_type(DeliveryEventType::OrderCancelled);
    assert!(setup.list(id, none).is_empty());
    let foreign = setup.fixture.deliveries(other)[0].id;
    let foreign = ListWebhookDeliveries::default().after(foreign);
    assert_eq!(
        paths(service.list_webhook_deliveries(caller, id, foreign)),
        ["cursor"],
        "a delivery of another endpoint"
    );
}

#[test]
fn a_resend_queues_the_same_notification_again() {
    let setup = Setup::new();
    let service = &setup.fixture.service;
    let caller = &setup.fixture.caller;
    let id = setup.webhook(&[ISSUED]);
    setup.issue();
    let row = outbox::rows(&setup.fixture.database())[0].id;
    for attempt in 1..=8 {
        outbox::record_attempt(&setup.fixture.database(), row, attempt, None);
    }
    let before = setup.fixture.deliveries(id);
    let delivery = &before[0];
    setup.fixture.clock.advance(Duration::from_secs(3600));
    let resent = service.resend_webhook_delivery(caller, id, delivery.id).expect("queued");
    assert!(Some(resent.outbox_id) > delivery.outbox_id);
    assert_eq!(setup.outbox(), states(&[("ticket.issued", "DEAD"), ("ticket.issued", "WAITING")]));
    let same = "SELECT a.event_id = b.event_id AND a.type = b.type AND a.endpoint_id = b.endpoint_id
            AND b.attempts = 0 AND b.cuts = 0 AND b.claim IS NULL AND b.due_at = 1780318800000
        FROM webhook_outbox a JOIN webhook_outbox b ON a.id < b.id";
    assert_eq!(setup.fixture.stored(same), 1);
    assert_eq!(setup.fixture.deliveries(id), before, "the history contains only attempts");
}

#[test]
fn a_resend_waits_while_the_endpoint_is_disabled() {
    let setup = Setup::new();
    let id = setup.webhook(&[ISSUED]);
    setup.issue();
    setup.fixture.fail_all_deliveries();
    let delivery = setup.fixture.deliveries(id)[0].id;
    setup.set_enabled(id, false);
    setup.fixture.service.resend_webhook_delivery(&setup.fixture.caller, id, delivery).expect("queued");
    assert_eq!(setup.outbox(), states(&[("ticket.issued", "WAITING"); 2]));
}

#[test]
fn a_notification_of_an_unsubscribed_type_is_not_resent() {
    let setup = Setup::new();
    let service = &setup.fixture.service;
    let caller = &setup.fixture.caller;
    let id = setup.webhook(&[ISSUED]);
    setup.issue();
    setup.fixture.fail_all_deliveries();
    let delivery = setup.fixture.deliveries(id)[0].id;
    setup.subscribe(id, &[COMPLETED]);
    let before = setup.fixture.all_rows();
    let refused = service.resend_webhook_delivery(caller, id, delivery).expect_err("a refusal");
    assert_eq!(refused.reason(), Some(Reason::InvalidTransition));
    assert_eq!(refused.to_string(), "the endpoint is no longer subscribed to ticket.issued");
    assert_eq!(setup.fixture.all_rows(), before);
    setup.subscribe(id, &[COMPLETED, ISSUED]);
    service.resend_webhook_delivery(caller, id, delivery).expect("queued");
}

#[test]
fn a_delivery_of_another_endpoint_is_not_found() {
    let setup = Setup::new();
    let id = setup.webhook(&[ISSUED]);
    let other = setup.webhook(&[ISSUED]);
    setup.issue();
    setup.fixture.fail_all_deliveries();
    let delivery = setup.fixture.deliveries(other)[0].id;
    let before = setup.fixture.all_rows();
    assert_not_found(setup.fixture.service.resend_webhook_delivery(&setup.fixture.caller, id, delivery));
    assert_not_found(setup.fixture.service.resend_webhook_delivery(
        &setup.fixture.caller,
        id,
        "delivery_0000000000001".parse().expect("an id"),
    ));
    assert_eq!(setup.fixture.all_rows(), before);
}
