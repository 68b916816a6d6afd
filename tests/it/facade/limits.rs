//! Limits on texts, lists, URLs, free JSON, and the number of resources.

use serde_json::{Value, json};
use ticketing::discount::{CreateDiscount, UpdateDiscount, ValidateDiscount};
use ticketing::error::{FieldError, Reason};
use ticketing::event::{CreateEvent, Event, EventSettings, ListEvents, UpdateEvent};
use ticketing::order::{CreateOrder, ListOrders, NewOrderItem};
use ticketing::organization::{CreateApiKey, CreateOrganization, Scope, UpdateOrganization};
use ticketing::payment::ManualMethod;
use ticketing::request::Request;
use ticketing::ticket::{CheckInTicket, IssueTickets, ListTickets};
use ticketing::ticket_type::{CreateTicketType, UpdateTicketType};
use ticketing::webhook::{CreateWebhook, EventType};
use ticketing::{Error, Result, Timestamp};

use crate::common::threads::run_at_once;
use crate::common::*;

/// Reads a request from JSON and returns its errors.
type Check = fn(Value) -> Result<()>;

const EVENT: Check = |json| Request::<CreateEvent>::from_value(json).into_inner().map(drop);
const EVENT_CHANGES: Check = |json| Request::<UpdateEvent>::from_value(json).into_inner().map(drop);
const SETTINGS: Check = |json| Request::<EventSettings>::from_value(json).into_inner().map(drop);
const TICKET_TYPE: Check = |json| Request::<CreateTicketType>::from_value(json).into_inner().map(drop);
const ORDER: Check = |json| Request::<CreateOrder>::from_value(json).into_inner().map(drop);
const ISSUE: Check = |json| Request::<IssueTickets>::from_value(json).into_inner().map(drop);
const SCAN: Check = |json| Request::<CheckInTicket>::from_value(json).into_inner().map(drop);
const DISCOUNT: Check = |json| Request::<CreateDiscount>::from_value(json).into_inner().map(drop);
const BASKET: Check = |json| Request::<ValidateDiscount>::from_value(json).into_inner().map(drop);
const WEBHOOK: Check = |json| Request::<CreateWebhook>::from_value(json).into_inner().map(drop);
const ORGANIZATION: Check = |json| Request::<UpdateOrganization>::from_value(json).into_inner().map(drop);
const EVENTS: Check = |json| Request::<ListEvents>::from_value(json).into_inner().map(drop);
const ORDERS: Check = |json| Request::<ListOrders>::from_value(json).into_inner().map(drop);
const TICKETS: Check = |json| Request::<ListTickets>::from_value(json).into_inner().map(drop);

/// The errors of the fields at a path or below it. A request of one field lacks others, which are required.
fn errors_at(result: Result<()>, path: &str) -> Vec<(String, String)> {
    let errors = result.err().map(|error| error.fields().to_vec()).unwrap_or_default();
    let at_path = |error: &FieldError| {
        error.path.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    errors.into_iter().filter(at_path).map(|error| (error.path, error.message)).collect()
}

/// A body with only this field, which may be that of an object in the body.
fn body_of(path: &str, value: &Value) -> Value {
    path.rsplit('.').fold(value.clone(), |inner, name| json!({ name: inner }))
}

#[track_caller]
fn assert_limit(check: Check, path: &str, longest: Value, too_long: Value, message: &str) {
    assert_eq!(errors_at(check(body_of(path, &longest)), path), [], "{path}");
    let expected = [(path.to_owned(), message.to_owned())];
    assert_eq!(errors_at(check(body_of(path, &too_long)), path), expected, "{path}");
}

#[test]
fn texts_have_at_most_the_documented_number_of_characters() {
    let fields: &[(Check, &str, usize)] = &[
        (EVENT, "title", 255),
        (EVENT_CHANGES, "title", 255),
        (EVENT, "location", 255),
        (EVENT, "description", 20_000),
        (EVENT_CHANGES, "description", 20_000),
        (EVENT, "reference", 255),
        (EVENTS, "q", 100),
        (EVENTS, "reference", 255),
        (TICKET_TYPE, "name", 255),
        (TICKET_TYPE, "description", 20_000),
        (TICKET_TYPE, "ticketText", 2000),
        (ORDER, "customer.name", 255),
        (ORDER, "customer.companyName", 255),
        (ORDER, "customer.locale", 255),
        (ORDER, "discountCode", 255),
        (ORDER, "affiliateCode", 255),
        (ORDER, "language", 255),
        (ORDER, "shippingAddress.street", 255),
        (ORDER, "shippingAddress.zip", 255),
        (ORDER, "shippingAddress.city", 255),
        (ISSUE, "customer.name", 255),
        (ISSUE, "customer.locale", 255),
        (SCAN, "code", 255),
        (DISCOUNT, "code", 20),
        (DISCOUNT, "description", 255),
        (BASKET, "code", 255),
        (WEBHOOK, "description", 500),
        (ORGANIZATION, "name", 255),
        (ORGANIZATION, "reference", 255),
    ];
    for (check, path, most) in fields {
        // Each character has two bytes.
        let text = |length| json!("ä".repeat(length));
        assert_limit(*check, path, text(*most), text(most + 1), &format!("must have at most {most} characters"));
    }
    let slug = |length| json!("a".repeat(length));
    assert_limit(EVENT, "slug", slug(255), slug(256), "must have at most 255 characters");
    let email = |last_label| {
        let labels = [63, 63, last_label].map(|length| "b".repeat(length));
        json!(format!("{}@{}", "a".repeat(64), labels.join(".")))
    };
    for check in [ORDER, ISSUE] {
        assert_limit(check, "customer.email", email(61), email(62), "must have at most 254 characters");
    }
    for check in [ORDERS, TICKETS] {
        assert_limit(check, "customerEmail", email(61), email(62), "must have at most 254 characters");
    }
}

#[test]
fn names_of_organizations_and_keys_have_at_most_255_characters() {
    let fixture = Fixture::new();
    let service = &fixture.service;
    let name = |length| "ä".repeat(length);
    assert_eq!(paths(service.create_organization(CreateOrganization::new(name(256)))), ["name"]);
    let organization = service.create_organization(CreateOrganization::new(name(255))).expect("long enough").id;
    let key = |length| CreateApiKey::new(name(length)).scopes([Scope::EventsRead]);
    assert_eq!(paths(service.create_api_key(organization, key(256))), ["name"]);
    service.create_api_key(organization, key(255)).expect("long enough");
}

#[test]
fn urls_have_at_most_2048_characters_and_are_safe_for_a_browser() {
    let long = |length: usize| json!(format!("https://example.com/{}", "a".repeat(length - 20)));
    let paths = [
        (EVENT, "coverImage"),
        (ORDER, "checkoutRedirectUrls.success"),
        (ORDER, "checkoutRedirectUrls.failure"),
        (ORDER, "checkoutRedirectUrls.cancel"),
    ];
    assert_limit(WEBHOOK, "url", long(2048), long(2049), "must have at most 2048 characters");
    for (check, path) in paths {
        assert_limit(check, path, long(2048), long(2049), "must have at most 2048 characters");
        let unsafe_urls = "javascript:alert(1) JAVASCRIPT:x data:text/html,x vbscript:x file:///etc/passwd blob:x about:blank \
            view-source:javascript:x feed:javascript:x jar:https://example.com/a.jar filesystem:https://example.com/x \
            https://shop.example@evil.example/ https:example.com https:///path";
        for url in unsafe_urls.split(' ') {
            let message = "must be an http or https URL with a host and without a user, or the link of an app: no \
                           javascript:, data: or file: URI, for example";
            assert_limit(check, path, json!("myapp://paid/17"), json!(url), message);
        }
        for url in ["http://example.com", "HTTPS://[::1]/a?b#c", "myapp:paid", "intent:x", "mailto:a"] {
            assert_eq!(errors_at(check(body_of(path, &json!(url))), path), [], "{url}");
        }
    }
}

/// Makes a list with this number of different entries.
type List = fn(usize) -> Value;

#[test]
fn lists_have_at_most_the_documented_number_of_entries() {
    fn texts(count: usize) -> Value {
        (0..count).map(|number| json!(format!("entry {number}"))).collect()
    }
    fn dates(count: usize) -> Value {
        let start: Timestamp = "2026-01-01T00:00:00Z".parse().expect("a time");
        let day = |number| start.saturating_add(std::time::Duration::from_hours(24 * number)).to_string();
        (0..u64::try_from(count).expect("few")).map(|number| json!(day(number))).collect()
    }
    fn ids(count: usize) -> Value {
        (0..count).map(|number| json!(format!("type_{number:013}"))).collect()
    }
    fn items(count: usize) -> Value {
        (0..count).map(|_| json!({"ticketId": "type_0000000000001", "quantity": 1, "price": 1})).collect()
    }
    fn types(count: usize) -> Value {
        (0..count).map(|_| json!("order.completed")).collect()
    }
    let lists: &[(Check, &str, usize, List)] = &[
        (EVENT, "shippingCountries", 300, texts),
        (SETTINGS, "tags", 50, texts),
        (TICKET_TYPE, "accessAreas", 50, texts),
        (TICKET_TYPE, "allowedDates", 366, dates),
        (DISCOUNT, "applicableTicketTypes", 500, ids),
        (ORDER, "items", 100, items),
        (BASKET, "ticketItems", 100, items),
        (WEBHOOK, "events", 100, types),
    ];
    for (check, path, most, list) in lists {
        let message = format!("must have at most {most} entries");
        assert_limit(*check, path, list(*most), list(most + 1), &message);
        // The entries of a list that is too long are not looked at.
        assert_limit(*check, path, list(*most), Value::Array(vec![json!({}); most + 1]), &message);
    }
}

#[test]
fn entries_of_sets_are_short_and_occur_once() {
    let entry = "x".repeat(100);
    for (check, path) in [(EVENT, "shippingCountries"), (SETTINGS, "tags"), (TICKET_TYPE, "accessAreas")] {
        let error = |index, message: &str| [(format!("{path}[{index}]"), message.to_owned())];
        let errors = |list: Value| errors_at(check(body_of(path, &list)), path);
        assert_eq!(errors(json!(["a", entry, "A"])), []);
        assert_eq!(errors(json!(["a", format!("{entry}x")])), error(1, "must have at most 100 characters"));
        assert_eq!(errors(json!(["a", "b", "a"])), error(2, "must not repeat an earlier entry"));
        // An entry that cannot be read is equal to no other one.
        assert_eq!(errors(json!([5, ""])), error(0, "must be a string"));
    }
    let message = "must not repeat an earlier entry".to_owned();
    let dates = json!({"allowedDates": ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000Z"]});
    assert_eq!(errors_at(TICKET_TYPE(dates), "allowedDates"), [("allowedDates[1]".to_owned(), message.clone())]);
    let ids = json!({"applicableTicketTypes": ["type_0000000000001", "type_0000000000001"]});
    let expected = [("applicableTicketTypes[1]".to_owned(), message)];
    assert_eq!(errors_at(DISCOUNT(ids), "applicableTicketTypes"), expected);
}

#[test]
fn an_order_has_at_most_500_tickets() {
    let fixture = Fixture::without_gateway();
    let event = fixture.event();
    let types: Vec<_> = (0..5)
        .map(|_| {
            fixture.ticket_type_with(&event, |new| {
                new.quantity = 1000;
                new.max_per_order = Some(100);
            })
        })
        .collect();
    let mut request = CreateOrder::new(event.id, new_customer(), types[0].id, 100);
    request.items.extend(types[1..].iter().map(|other| NewOrderItem::new(other.id, 100)));
    let mut too_many = request.clone();
    too_many.items.push(NewOrderItem::new(types[0].id, 1));
    let refused = fixture.service.create_order(&fixture.caller, too_many).expect_err("501 tickets");
    assert_eq!(refused.to_string(), "items must have at most 500 tickets in total");
    let order = fixture.service.create_order(&fixture.caller, request).expect("500 tickets").order;
    let paid = fixture.service.mark_order_paid(&fixture.caller, order.id, ManualMethod::Cash).expect("paid");
    assert_eq!(paid.tickets().count(), 500);
}

#[test]
fn free_json_is_limited_in_size_and_depth_also_from_rust() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let nested = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
    let update = |settings: EventSettings| fixture.service.update_event_settings(&fixture.caller, event.id, settings);
    for set in [EventSettings::location_metadata, EventSettings::tracking_pixels] {
        let set = |json: Value| update(set(EventSettings::default(), json));
        set(nested(32)).expect("deep enough");
        assert!(set(nested(33)).expect_err("too deep").to_string().ends_with("must nest at most 32 levels deep"));
        set(json!({"a": nested(31)})).expect("deep enough");
        set(json!({"a": nested(32)})).expect_err("too deep");
        // 16,384 bytes with the quotes.
        set(json!("x".repeat(16_382))).expect("long enough");
        let refused = set(json!("x".repeat(16_383))).expect_err("too long");
        assert!(refused.to_string().ends_with("must have at most 16384 bytes as JSON"), "{refused}");
        // Deeper than the stack of this thread.
        let deep = (0..1_000_000).fold(json!(1), |inner, _| Value::Array(vec![inner]));
        assert_eq!(set(deep).expect_err("too deep").fields().len(), 1);
    }
    let deep = (0..1_000_000).fold(json!(1), |inner, _| Value::Array(vec![inner]));
    let refused = Request::<EventSettings>::from_value(deep).into_inner().expect_err("too deep");
    assert_eq!(refused.to_string(), "the request must nest at most 64 levels deep");
}

#[test]
fn an_event_has_at_most_500_ticket_types() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let new = || CreateTicketType::new("Seat", eur(1250), 100);
    let create = || fixture.service.create_ticket_type(&fixture.caller, event.id, new());
    let types: Vec<_> = (0..500).map(|_| create().expect("room")).collect();
    let refused = create().expect_err("full");
    assert_eq!(refused.reason(), Some(Reason::LimitReached));
    assert_eq!(refused.to_string(), "an event may have at most 500 ticket types");
    let other = fixture.event();
    fixture.service.create_ticket_type(&fixture.caller, other.id, new()).expect("another event");
    fixture.service.delete_ticket_type(&fixture.caller, types[7].id).expect("unused");
    create().expect("room for one");
    assert_eq!(reason(create()), Reason::LimitReached);
}

/// A new automatic discount with this code.
fn automatic(event: &Event, code: &str) -> CreateDiscount {
    percent_off(event, code, 10).auto_apply(true)
}

#[test]
fn at_most_20_automatic_discounts_of_an_event_are_enabled() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let create = |new: CreateDiscount| fixture.service.create_discount(&fixture.caller, new);
    let first = create(automatic(&event, "AUTO-0")).expect("room");
    for number in 1..20 {
        create(automatic(&event, &format!("AUTO-{number}"))).expect("room");
    }
    let refused = create(automatic(&event, "ONE-MORE")).expect_err("full");
    assert_eq!(refused.reason(), Some(Reason::LimitReached));
    assert_eq!(refused.to_string(), "an event may have at most 20 automatic discounts that are enabled");
    // Neither discounts with a code nor disabled ones count.
    create(percent_off(&event, "CODE", 10)).expect("it needs its code");
    let disabled = create(automatic(&event, "DISABLED").is_active(false)).expect("disabled");
    let update = |id, changes| fixture.service.update_discount(&fixture.caller, id, changes);
    assert_eq!(reason(update(disabled.id, UpdateDiscount::default().is_active(true))), Reason::LimitReached);
    // One of the 20 can be changed, and disabled to make room for another.
    update(first.id, UpdateDiscount::default().description("still one of 20")).expect("it counts already");
    update(first.id, UpdateDiscount::default().is_active(false)).expect("disabled");
    update(disabled.id, UpdateDiscount::default().is_active(true)).expect("room");
    assert_eq!(reason(create(automatic(&event, "ONE-MORE"))), Reason::LimitReached);
}

#[test]
fn an_organization_has_at_most_100_webhook_endpoints() {
    let fixture = Fixture::new();
    let new = || CreateWebhook::new("https://example.com/hook", [EventType::OrderCompleted]);
    let create = || fixture.service.create_webhook(&fixture.caller, new());
    let endpoints: Vec<_> = (0..100).map(|_| create().expect("room").endpoint).collect();
    let refused = create().expect_err("full");
    assert_eq!(refused.reason(), Some(Reason::LimitReached));
    assert_eq!(refused.to_string(), "an organization may have at most 100 webhook endpoints");
    fixture.service.create_webhook(&fixture.other_organization(), new()).expect("another organization");
    fixture.service.delete_webhook(&fixture.caller, endpoints[3].id).expect("deleted");
    create().expect("room for one");
}

#[test]
fn an_organization_has_at_most_1000_keys_that_are_not_revoked() {
    let fixture = Fixture::new();
    let organization = fixture.caller.organization();
    let create = || fixture.service.create_api_key(organization, CreateApiKey::new("Shop").scopes([Scope::EventsRead]));
    let first = create().expect("room").api_key;
    fixture.database().insert_api_keys(fixture.stored("SELECT id FROM api_keys"), 999);
    let refused = create().expect_err("full");
    assert_eq!(refused.reason(), Some(Reason::LimitReached));
    assert_eq!(refused.to_string(), "an organization may have at most 1000 API keys that are not revoked");
    fixture.service.revoke_api_key(organization, first.id).expect("revoked");
    create().expect("room for one");
    assert_eq!(reason(create()), Reason::LimitReached);
}

#[test]
fn a_limit_on_a_number_holds_for_callers_at_once() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let services = [fixture.second_service(), fixture.second_service()];
    let created = run_at_once(32, |number| {
        services[number % 2].create_discount(&fixture.caller, automatic(&event, &format!("AUTO-{number}")))
    });
    let refused: Vec<_> = created.iter().filter_map(|created| created.as_ref().err()).map(Error::reason).collect();
    assert_eq!(refused, [Some(Reason::LimitReached); 12]);
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM discounts"), 20);
}

#[test]
fn control_counted_before_the_transaction_the_limit_is_exceeded() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let have_counted = std::sync::Barrier::new(32);
    run_at_once(32, |number| {
        let count = fixture.stored("SELECT COUNT(*) FROM discounts");
        have_counted.wait();
        if count < 20 {
            let code = percent_off(&event, &format!("AUTO-{number}"), 10);
            fixture.service.create_discount(&fixture.caller, code).expect("not automatic, so not limited");
        }
    });
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM discounts"), 32);
}

#[test]
fn stored_values_beyond_a_limit_are_only_refused_when_they_are_changed() {
    let fixture = Fixture::new();
    let ticket_type = fixture.new_ticket_type(1250, 10);
    let event = ticket_type.event_id;
    let discount = fixture.service.create_discount(&fixture.caller, percent_off(fixture.default_event(), "TEN", 10));
    let discount = discount.expect("a discount");
    let long = "x".repeat(1000);
    let tags: Vec<_> = (0..200).map(|_| long.clone()).collect();
    let types = serde_json::to_string(&vec![fixture.stored("SELECT id FROM ticket_types"); 600]).expect("JSON");
    fixture.database().run(&format!(
        "UPDATE organizations SET name = '{long}';
        UPDATE events SET title = '{long}', search_text = '{long}\n' || slug, cover_image = 'javascript:x',
            tags = '{}', location_metadata = '{}';
        UPDATE ticket_types SET name = '{long}';
        INSERT INTO ticket_logos (ticket_type_id, logo) SELECT id, 'urn:x:y' FROM ticket_types;
        UPDATE discounts SET applicable_ticket_types = '{types}', auto_apply = 1",
        serde_json::to_string(&tags).expect("JSON"),
        json!(long.repeat(20)),
    ));
    let (service, caller) = (&fixture.service, &fixture.caller);

    let read = service.get_event(caller, event).expect("readable");
    assert_eq!((read.title.as_str(), read.tags.len()), (long.as_str(), 200));
    let changed = service.update_event(caller, event, UpdateEvent::default().location("The barn")).expect("changed");
    assert_eq!((changed.title, changed.cover_image.as_deref()), (read.title, Some("javascript:x")));
    let longer = format!("{long}x");
    service.update_event(caller, event, UpdateEvent::default().title(&long)).expect("the title is not changed");
    assert_eq!(paths(service.update_event(caller, event, UpdateEvent::default().title(&longer))), ["title"]);
    let set = |settings: EventSettings| service.update_event_settings(caller, event, settings);
    assert_eq!(set(EventSettings::default().is_featured(true)).expect("changed").tags.len(), 200);
    set(EventSettings::default().tags(tags.clone())).expect("the tags are not changed");
    assert_eq!(paths(set(EventSettings::default().tags(tags[1..].to_vec()))), ["tags"]);
    // A value of the wrong kind is no value that is stored already.
    let wrong = Request::<EventSettings>::from_value(json!({"tags": ["", 5], "locationMetadata": 1}));
    let event_of = |tags: Value| format!("UPDATE events SET tags = '{tags}'");
    fixture.database().run(&event_of(json!(["", ""])));
    assert_eq!(paths(service.update_event_settings(caller, event, wrong)), ["tags[1]"]);
    let deep = (0..100).fold(json!(1), |inner, _| json!([inner]));
    assert_eq!(paths(set(EventSettings::default().tracking_pixels(deep))), ["trackingPixels"]);

    let changes = UpdateTicketType::default().quantity(20);
    let changed = service.update_ticket_type(caller, ticket_type.id, changes).expect("changed");
    assert_eq!((changed.name.as_str(), changed.ticket_logo.as_deref()), (long.as_str(), Some("urn:x:y")));
    let update = |changes| service.update_ticket_type(caller, ticket_type.id, changes);
    update(UpdateTicketType::default().name(&long).ticket_logo("urn:x:y")).expect("both are not changed");
    let changes = UpdateTicketType::default().name(&longer).ticket_logo("urn:x:z");
    assert_eq!(paths(update(changes)), ["name", "ticketLogo"]);

    let changes = UpdateDiscount::default().description("Ten percent");
    let types = service.update_discount(caller, discount.id, changes).expect("changed").applicable_ticket_types;
    assert_eq!(types.len(), 600);
    let update = |changes| service.update_discount(caller, discount.id, changes);
    update(UpdateDiscount::default().applicable_ticket_types(types.clone())).expect("the list is not changed");
    let changes = UpdateDiscount::default().applicable_ticket_types(types[1..].to_vec());
    assert_eq!(paths(update(changes)), ["applicableTicketTypes"]);

    let organization = caller.organization();
    let changes = UpdateOrganization::default().timezone("Europe/Berlin");
    assert_eq!(service.update_organization(organization, changes).expect("changed").name, long);
    let update = |name: &str| service.update_organization(organization, UpdateOrganization::default().name(name));
    update(&long).expect("the name is not changed");
    assert_eq!(paths(update(&longer)), ["name"]);

    // It can still be sold.
    assert_eq!(fixture.try_order(&ticket_type, 2).expect("an order").items[0].quantity, 2);
}
