//! Revisions: what raises them, and conditional changes (`if_match`).

use ticketing::discount::{Discount, UpdateDiscount, ValidateDiscount};
use ticketing::event::{Event, EventSettings, EventStatus, UpdateEvent};
use ticketing::request::ConditionalCaller;
use ticketing::ticket_type::{CreateTicketType, TicketType, TicketTypeStatus, UpdateTicketType};
use ticketing::webhook::{EventType, UpdateWebhook, WebhookEndpoint};
use ticketing::{Caller, Error, Result, TicketingService};

use super::operation::{Kind, Resources};
use super::operations::OPERATIONS;
use crate::common::threads::run_at_once;
use crate::common::*;

fn retitled(title: &str) -> UpdateEvent {
    UpdateEvent::default().title(title)
}

fn tagged() -> EventSettings {
    EventSettings::default().tags(["jazz"])
}

fn renamed(name: &str) -> UpdateTicketType {
    UpdateTicketType::default().name(name)
}

fn described(text: &str) -> UpdateDiscount {
    UpdateDiscount::default().description(text)
}

fn with_description(text: &str) -> UpdateWebhook {
    UpdateWebhook::default().description(text)
}

struct Sale {
    fixture: Fixture,
    event: Event,
    ticket_type: TicketType,
    discount: Discount,
    webhook: WebhookEndpoint,
}

impl Sale {
    fn new() -> Self {
        let fixture = Fixture::new();
        let event = fixture.event();
        let ticket_type = fixture.ticket_type(&event, 1250, 10);
        let discount = fixture.discount(percent_off(&event, "EARLY", 10));
        let webhook = fixture.webhook([EventType::OrderCompleted]).endpoint;
        Self { fixture, event, ticket_type, discount, webhook }
    }

    fn service(&self) -> &TicketingService {
        &self.fixture.service
    }

    fn event(&self) -> i64 {
        self.fixture.service.get_event(&self.fixture.caller, self.event.id).expect("the event").revision
    }

    fn ticket_type(&self) -> i64 {
        self.fixture.service.get_ticket_type(&self.fixture.caller, self.ticket_type.id).expect("the type").revision
    }

    fn discount(&self) -> i64 {
        self.fixture.read_discount(self.discount.id).revision
    }

    fn webhook(&self) -> i64 {
        self.fixture.service.get_webhook(&self.fixture.caller, self.webhook.id).expect("the endpoint").revision
    }

    fn revisions(&self) -> [i64; 4] {
        [self.event(), self.ticket_type(), self.discount(), self.webhook()]
    }
}

#[test]
fn a_change_at_another_revision_is_refused() {
    for operation in OPERATIONS {
        let (name, Kind::Conditional(call)) = (operation.name, operation.kind) else { continue };
        let Resources { fixture, ids: [ids, _] } = Resources::new();
        let changed = |caller: &Caller, revisions: &[i64]| {
            call(&fixture.service, &caller.if_revision_in(revisions.iter().copied()), &ids)
        };
        let other = fixture.other_organization();
        let before = fixture.all_rows();
        for revisions in [&[0][..], &[2], &[2, 3, -1], &[]] {
            let refused = changed(&fixture.caller, revisions);
            assert_eq!(refused, Err(Error::RevisionMismatch(1)), "{name} at {revisions:?}");
        }
        let refused = changed(&other, &[99]).expect_err("a resource of another organization");
        assert!(matches!(refused, Error::NotFound(_)), "{name}: {refused:?}");
        assert_eq!(fixture.all_rows(), before, "{name}");
        changed(&fixture.caller, &[7, 1]).expect(name);
        assert_ne!(fixture.all_rows(), before, "{name}");
    }
}

#[test]
fn a_revision_mismatch_comes_before_field_errors() {
    let sale = Sale::new();
    let service = sale.service();
    let conditional = sale.fixture.caller.if_revision(9);
    let tags = EventSettings::default().tags(["\0"]);
    let mismatch = Error::RevisionMismatch(1);
    assert_eq!(service.update_event(&conditional, sale.event.id, retitled("")), Err(mismatch.clone()));
    assert_eq!(service.update_event_settings(&conditional, sale.event.id, tags), Err(mismatch.clone()));
    assert_eq!(service.update_ticket_type(&conditional, sale.ticket_type.id, renamed("")), Err(mismatch.clone()));
    assert_eq!(
        service.update_discount(&conditional, sale.discount.id, described(&"x".repeat(256))),
        Err(mismatch.clone())
    );
    assert_eq!(
        service.update_webhook(&conditional, sale.webhook.id, with_description(&"x".repeat(501))),
        Err(mismatch)
    );
}

#[test]
fn every_change_raises_the_revision_of_its_resource_only() {
    let sale = Sale::new();
    let fixture = &sale.fixture;
    let caller = &sale.fixture.caller;
    assert_eq!(sale.revisions(), [1, 1, 1, 1]);
    fixture.service.update_event(caller, sale.event.id, retitled("Late Night")).expect("changed");
    assert_eq!(sale.revisions(), [2, 1, 1, 1]);
    fixture
        .service
        .update_event(caller, sale.event.id, UpdateEvent::default())
        .expect("an update that changes nothing");
    assert_eq!(sale.revisions(), [3, 1, 1, 1]);
    fixture.service.update_event_settings(caller, sale.event.id, tagged()).expect("changed");
    assert_eq!(sale.revisions(), [4, 1, 1, 1]);
    fixture.service.update_ticket_type(caller, sale.ticket_type.id, renamed("Box")).expect("changed");
    let hidden = UpdateTicketType::default().status(TicketTypeStatus::DisplayAsUnavailable);
    fixture.service.update_ticket_type(caller, sale.ticket_type.id, hidden).expect("changed");
    assert_eq!(sale.revisions(), [4, 3, 1, 1]);
    fixture.service.update_discount(caller, sale.discount.id, described("Early birds")).expect("changed");
    assert_eq!(sale.revisions(), [4, 3, 2, 1]);
    fixture.service.update_webhook(caller, sale.webhook.id, with_description("Ours")).expect("changed");
    fixture.service.rotate_webhook_secret(caller, sale.webhook.id).expect("rotated");
    assert_eq!(sale.revisions(), [4, 3, 2, 3]);
    for (status, revision) in [(EventStatus::Drafted, 5), (EventStatus::Published, 6), (EventStatus::Cancelled, 7)] {
        assert_eq!(fixture.set_event_status(sale.event.id, status).expect("moved").revision, revision);
    }
    assert_eq!(sale.revisions(), [7, 3, 2, 3]);
}

#[test]
fn sales_page_views_and_discount_uses_raise_no_revision() {
    let sale = Sale::new();
    let fixture = &sale.fixture;
    let caller = &sale.fixture.caller;
    fixture.service.record_page_view(caller, sale.event.id).expect("a view");
    let order = fixture.order_with_code(&sale.ticket_type, 2, "EARLY");
    fixture.service.payment_completed(caller, order.id).expect("paid");
    fixture.issue(&sale.ticket_type, 1);
    let event_id = sale.event.id;
    let code = "EARLY".to_owned();
    let basket = ValidateDiscount::new(event_id, code, []);
    fixture.service.validate_discount(caller, basket).expect("an answer");
    assert_eq!((fixture.sold(&sale.ticket_type), fixture.discount_uses(&sale.discount)), (3, 1));
    fixture.service.cancel_order(caller, order.id).expect("cancelled");
    fixture.service.run_maintenance().expect("a run");
    assert_eq!(sale.revisions(), [1, 1, 1, 1]);
}

#[test]
fn status_changes_by_the_system_raise_the_revision() {
    let sale = Sale::new();
    let fixture = &sale.fixture;
    let order = fixture.paid_order(&sale.ticket_type, 10);
    assert_eq!((fixture.event_status(sale.event.id), sale.revisions()), (EventStatus::SoldOut, [2, 1, 1, 1]));
    fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled");
    assert_eq!((fixture.event_status(sale.event.id), sale.revisions()), (EventStatus::Published, [3, 1, 1, 1]));
    fixture.paid_order(&sale.ticket_type, 10);
    let more = CreateTicketType::new("Balcony", eur(0), 1);
    fixture.service.create_ticket_type(&fixture.caller, sale.event.id, more).expect("a type");
    assert_eq!((fixture.event_status(sale.event.id), sale.revisions()), (EventStatus::Published, [5, 1, 1, 1]));
    fixture.set_clock(EVENT_END);
    assert_eq!((fixture.event_status(sale.event.id), sale.revisions()), (EventStatus::Expired, [6, 1, 1, 1]));
    // A caller that read the event before it ended has an older revision.
    let seen = fixture.caller.if_revision(5);
    let refused = fixture.service.update_event(&seen, sale.event.id, retitled("Late Night"));
    assert_eq!(refused, Err(Error::RevisionMismatch(6)));
    fixture.service.run_maintenance().expect("a run");
    assert_eq!(sale.revisions(), [6, 1, 1, 1], "storing the expiry changes no revision");
    let seen = fixture.caller.if_revision(6);
    assert_eq!(
        fixture.service.update_event(&seen, sale.event.id, retitled("Late Night")).expect("changed").revision,
        7
    );
}

#[test]
fn the_expiry_of_an_event_counts_as_a_revision_before_it_is_stored() {
    let sale = Sale::new();
    let fixture = &sale.fixture;
    fixture.set_clock(EVENT_END);
    let seen = fixture.caller.if_revision(2);
    let changed = fixture.service.update_event_settings(&seen, sale.event.id, tagged()).expect("changed");
    assert_eq!((changed.status, changed.revision), (EventStatus::Expired, 3));
    fixture.service.run_maintenance().expect("a run");
    assert_eq!(sale.event(), 3);
}

const THREADS: usize = 16;

/// Returns how many of 16 threads change an event, a ticket type, a discount and a webhook endpoint at the same time.
fn simultaneous_changes(condition: fn(&Caller) -> ConditionalCaller) -> [usize; 4] {
    let sale = Sale::new();
    let caller = condition(&sale.fixture.caller);
    let service = sale.service();
    let other = sale.fixture.second_service();
    let count = |change: &(dyn Fn(usize) -> Result<()> + Sync)| {
        let results = run_at_once(THREADS, change);
        let refused = |result: &Result<()>| matches!(result, Err(Error::RevisionMismatch(2)));
        assert!(results.iter().all(|result| result.is_ok() || refused(result)), "{results:?}");
        results.iter().filter(|result| result.is_ok()).count()
    };
    let service = |number: usize| if number.is_multiple_of(2) { service } else { &other };
    [
        count(&|n| service(n).update_event(&caller, sale.event.id, retitled(&format!("Night {n}"))).map(drop)),
        count(&|n| service(n).update_ticket_type(&caller, sale.ticket_type.id, renamed(&format!("Box {n}"))).map(drop)),
        count(&|n| service(n).update_discount(&caller, sale.discount.id, described(&format!("{n}"))).map(drop)),
        count(&|n| service(n).update_webhook(&caller, sale.webhook.id, with_description(&format!("{n}"))).map(drop)),
    ]
}

#[test]
fn one_of_several_simultaneous_changes_at_one_revision_succeeds() {
    for _ in 0..10 {
        assert_eq!(simultaneous_changes(|caller| caller.if_revision(1)), [1, 1, 1, 1]);
    }
}

#[test]
fn control_without_a_revision_all_simultaneous_changes_succeed() {
    assert_eq!(simultaneous_changes(|caller| caller.into()), [THREADS; 4]);
}
