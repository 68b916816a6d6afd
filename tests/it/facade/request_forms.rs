//! Validation of request fields: each field is absent, null, of the wrong JSON type, repeated, and at and just outside
//! its limits, in JSON and in Rust structs. The limits are those of the specification, repeated here for each request.

use crate::common::*;
use serde_json::{Value, json};
use ticketing::discount::{BasketItem, CreateDiscount, ListDiscounts, Percentage, UpdateDiscount, ValidateDiscount};
use ticketing::event::{CreateEvent, Event, EventSettings, ListEvents, UpdateEvent};
use ticketing::order::{CheckoutRedirectUrls, CreateOrder, ListOrders, ShippingAddress};
use ticketing::organization::{CreateApiKey, CreateOrganization, Scopes};
use ticketing::request::Request;
use ticketing::ticket::{CheckInTicket, IssueTickets, ListTickets};
use ticketing::ticket_type::{CreateTicketType, ListTicketTypes, UpdateTicketType};
use ticketing::webhook::{CreateWebhook, ListWebhookDeliveries, ListWebhooks, UpdateWebhook};
use ticketing::{Amount, Result, TicketingService};

/// A field of a request: whether it may be absent or null, and valid and invalid values, as raw JSON.
struct Field {
    path: &'static str,
    required: bool,
    nullable: bool,
    good: &'static [&'static str],
    /// Invalid values, each with the paths of the expected errors. No path means that of the field.
    bad: &'static [(&'static str, &'static [&'static str])],
}

const fn field(
    path: &'static str,
    good: &'static [&'static str],
    bad: &'static [(&'static str, &'static [&'static str])],
) -> Field {
    Field { path, required: false, nullable: false, good, bad }
}

impl Field {
    const fn required(self) -> Self {
        Self { required: true, ..self }
    }

    const fn nullable(self) -> Self {
        Self { nullable: true, ..self }
    }
}

const HERE: &[&str] = &[];
const MARK: &str = "@@";

/// Converts a path such as `items[0].quantity` into a JSON pointer.
fn pointer(path: &str) -> String {
    format!("/{}", path.replace("].", "/").replace(['[', '.'], "/").replace(']', ""))
}

/// Returns the body with the field set to raw JSON `times` times, or removed.
fn body_with(base: &Value, path: &str, raw: Option<&str>, times: usize) -> String {
    let pointer = pointer(path);
    let (parent, name) = pointer.rsplit_once('/').expect("a path");
    let mut body = base.clone();
    let object = body.pointer_mut(parent).and_then(Value::as_object_mut).expect("the base has the parent");
    let Some(raw) = raw else {
        object.remove(name);
        return body.to_string();
    };
    object.insert(name.to_owned(), MARK.into());
    let member = format!("\"{name}\":{raw}");
    body.to_string().replace(&format!("\"{name}\":\"{MARK}\""), &vec![member; times].join(","))
}

/// Tests every field with all its values. `send` executes the request and undoes its effects.
fn check(base: &Value, fields: &[Field], send: impl Fn(&str) -> Result<()>) {
    check_fields(base, fields, Absence::AsDeclared, send);
}

/// Tests every field of an update with all its values, as [`check`] does. In an update, no field is required.
fn check_update(base: &Value, fields: &[Field], send: impl Fn(&str) -> Result<()>) {
    check_fields(base, fields, Absence::AlwaysAllowed, send);
}

/// Whether fields may be absent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Absence {
    /// Unless the field is required.
    AsDeclared,
    AlwaysAllowed,
}

fn check_fields(base: &Value, fields: &[Field], absence: Absence, send: impl Fn(&str) -> Result<()>) {
    send(&base.to_string()).expect("the base is good");
    let refused = |body: &str, expected: &[&str], what: &str| match send(body) {
        Ok(()) => panic!("{what} was accepted: {body}"),
        Err(error) => {
            let found: Vec<_> = error.fields().iter().map(|field| field.path.as_str()).collect();
            assert_eq!(found, expected, "{what}: {error:?}: {body}");
        }
    };
    let accepted = |body: &str, what: &str| {
        if let Err(error) = send(body) {
            panic!("{what}: {error:?}: {body}");
        }
    };
    for Field { path, required, nullable, good, bad } in fields {
        let with = |raw: &str| body_with(base, path, Some(raw), 1);
        let absent = body_with(base, path, None, 1);
        if *required && absence == Absence::AsDeclared {
            refused(&absent, &[*path], &format!("{path} absent"));
        } else {
            accepted(&absent, &format!("{path} absent"));
        }
        if *nullable {
            accepted(&with("null"), &format!("{path} null"));
        } else {
            refused(&with("null"), &[*path], &format!("{path} null"));
        }
        for raw in *good {
            accepted(&with(raw), &format!("{path} {raw}"));
        }
        for (raw, paths) in *bad {
            let expected: &[&str] = if paths.is_empty() { &[*path] } else { paths };
            refused(&with(raw), expected, &format!("{path} {raw}"));
        }
        if let Some(raw) = good.first() {
            refused(&body_with(base, path, Some(raw), 2), &[*path], &format!("{path} twice"));
        }
    }
}

fn read<T>(body: &str) -> Request<T>
where
    Request<T>: FromJson,
{
    FromJson::from_json(body)
}

/// `Request::<T>::from_json` for every type of request.
trait FromJson: Sized {
    fn from_json(body: &str) -> Self;
}

macro_rules! from_json {
    ($($request:ty),+) => { $(impl FromJson for Request<$request> {
        fn from_json(body: &str) -> Self {
            Request::<$request>::from_json(body.as_bytes()).expect(body)
        }
    })+ };
}
from_json!(
    CreateEvent,
    UpdateEvent,
    EventSettings,
    CreateTicketType,
    UpdateTicketType,
    CreateOrder,
    IssueTickets,
    CheckInTicket,
    CreateDiscount,
    UpdateDiscount,
    ValidateDiscount,
    CreateWebhook,
    UpdateWebhook
);

const DATES: &[(&str, &[&str])] = &[
    ("5", HERE),
    ("\"\"", HERE),
    ("\"2026-07-01\"", HERE),
    ("\"2026-07-01T18:00\"", HERE),
    ("\"2026-07-01T18:00:00+00:00\"", HERE),
    ("\"2026-07-01T18:00:00z\"", HERE),
    ("\"2026-02-29T18:00:00Z\"", HERE),
    ("\"2026-07-01T24:00:00Z\"", HERE),
    ("\"1969-12-31T23:59:59.999Z\"", HERE),
    ("\"10000-01-01T00:00:00Z\"", HERE),
];

const EVENT: &[Field] = &[
    field(
        "title",
        &["\"abc\"", "\"äöü\"", "\"🎷🎷🎷\""],
        &[("\"ab\"", HERE), ("5", HERE), ("[]", HERE), ("\"ab\\u0000c\"", HERE)],
    )
    .required(),
    field(
        "description",
        &["\"abcde\""],
        &[("\"abcd\"", HERE), ("\"\"", HERE), ("false", HERE), ("\"abcde\\u0000\"", HERE)],
    )
    .nullable(),
    field("location", &["\"abc\""], &[("\"ab\"", HERE), ("{}", HERE), ("\"abc\\u0000\"", HERE)]).nullable(),
    field(
        "currency",
        &["\"JPY\""],
        &[("\"EU\"", HERE), ("\"EURO\"", HERE), ("\"eur\"", HERE), ("\"ZZZ\"", HERE), ("978", HERE)],
    ),
    field(
        "timezone",
        &["\"Europe/Berlin\"", "\"UTC\""],
        &[("\"Nowhere\"", HERE), ("\"\"", HERE), ("\"UTC\\u0000\"", HERE), ("1", HERE)],
    ),
    field(
        "startDate",
        &["\"2026-06-30T18:00Z\"", "\"2026-06-30T18:00:00.123456Z\"", "\"1970-01-01T00:00:00Z\""],
        DATES,
    )
    .required(),
    field("endDate", &["\"2026-07-01T18:00:00Z\"", "\"9999-12-31T23:59:59.999Z\""], DATES),
    field("startDate", &[], &[("\"2026-07-01T22:00:00.001Z\"", &["endDate"])]).required(),
    field("endDate", &[], &[("\"2026-07-01T17:59:59.999Z\"", HERE)]),
    field(
        "slug",
        &["\"a\"", "\"0\"", "\"summer-night-2026\""],
        &[
            ("\"\"", HERE),
            ("\"A\"", HERE),
            ("\"a--b\"", HERE),
            ("\"-a\"", HERE),
            ("\"a-\"", HERE),
            ("\"a b\"", HERE),
            ("\"ä\"", HERE),
            ("7", HERE),
        ],
    )
    .required(),
    field(
        "coverImage",
        &["\"https://example.com/a.png#x\"", "\"urn:x:y\""],
        &[("\"\"", HERE), ("\"a.png\"", HERE), ("\"https://a b\"", HERE), ("1", HERE)],
    ),
    field("isPublic", &["false", "true"], &[("\"true\"", HERE), ("1", HERE), ("0", HERE)]),
    field(
        "status",
        &["\"PUBLISHED\"", "\"DRAFTED\"", "\"EXPIRED\"", "\"CANCELLED\""],
        &[("\"published\"", HERE), ("\"\"", HERE), ("1", HERE)],
    ),
    field(
        "deliveryMethod",
        &["\"DIGITAL\"", "\"PHYSICAL\""],
        &[("\"EMAIL\"", HERE), ("\"digital\"", HERE), ("true", HERE)],
    )
    .required(),
    field(
        "shippingCountries",
        &["[]", "[\"DE\", \"FR\"]"],
        &[
            ("\"DE\"", HERE),
            ("{}", HERE),
            ("[1]", &["shippingCountries[0]"]),
            ("[\"DE\", null]", &["shippingCountries[1]"]),
            ("[\"D\\u0000\"]", &["shippingCountries[0]"]),
        ],
    ),
    field("acceptsCompany", &["true"], &[("\"yes\"", HERE), ("1", HERE)]),
    field("reference", &["\"x\"", "\" äö \""], &[("\"\"", HERE), ("5", HERE), ("\"\\u0000\"", HERE)]).nullable(),
    field("metadata", &["{}", "{\"crm\": \"17\", \"\\ud83d\\ude00.[0]\": \"\"}"], METADATA_ERRORS),
];

fn event_base() -> Value {
    json!({
        "title": "Summer Night", "slug": "form", "startDate": "2026-07-01T18:00:00Z", "endDate": "2026-07-01T22:00:00Z",
        "deliveryMethod": "DIGITAL", "unknown": {"a": 1}, "id": "event_1", "organizerId": 5, "pageViews": "x",
    })
}

#[test]
fn every_field_of_a_new_event_is_checked_against_its_limits() {
    let fixture = Fixture::new();
    check(&event_base(), EVENT, |body| {
        let event = fixture.service.create_event(&fixture.caller, read::<CreateEvent>(body))?;
        assert!(
            event.organizer_id == fixture.caller.organization() && event.page_views == 0,
            "a request cannot set these"
        );
        fixture.service.delete_event(&fixture.caller, event.id)
    });
}

#[test]
fn every_field_of_an_events_update_is_checked_against_its_limits() {
    let fixture = Fixture::new();
    check_update(&event_base(), EVENT, |body| {
        let event = fixture.event_with(|new| new.status = Some(ticketing::event::EventStatus::Drafted));
        let updated = fixture.service.update_event(&fixture.caller, event.id, read::<UpdateEvent>(body));
        if updated.is_err() {
            assert_eq!(fixture.service.get_event(&fixture.caller, event.id).expect("the event"), event);
        }
        fixture.service.delete_event(&fixture.caller, event.id)?;
        updated.map(drop)
    });
}

#[test]
fn every_field_of_an_events_settings_is_checked_against_its_limits() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let any_json: &[&str] = &["5", "1e2", "\"x\"", "false", "[1, [2]]", "{\"a\": {\"b\": null}}"];
    let nul: &[(&str, &[&str])] =
        &[("\"\\u0000\"", HERE), ("[{\"a\": \"x\\u0000\"}]", HERE), ("{\"\\u0000\": 1}", HERE)];
    let fields = [
        field(
            "tags",
            &["[]", "[\"jazz\", \"\"]"],
            &[("\"jazz\"", HERE), ("[1]", &["tags[0]"]), ("[\"a\", \"\\u0000\"]", &["tags[1]"])],
        ),
        field("isFeatured", &["true"], &[("\"true\"", HERE), ("1", HERE)]),
        Field { path: "locationMetadata", required: false, nullable: true, good: any_json, bad: nul },
        Field { path: "trackingPixels", required: false, nullable: true, good: any_json, bad: nul },
        field("disableOrganizerOrderNotifications", &["true"], &[("0", HERE)]),
        field(
            "dayStartsAt",
            &["\"00:00\"", "\"06:30\"", "\"23:59\""],
            &[
                ("\"\"", HERE),
                ("\"24:00\"", HERE),
                ("\"6:00\"", HERE),
                ("\"23:60\"", HERE),
                ("\"+6:00\"", HERE),
                ("\"0600\"", HERE),
                ("\"०६:००\"", HERE),
                ("\"06:00:00\"", HERE),
                ("360", HERE),
                ("\"\\u0000\"", HERE),
            ],
        )
        .nullable(),
    ];
    check_update(&json!({}), &fields, |body| {
        fixture.service.update_event_settings(&fixture.caller, event.id, read::<EventSettings>(body)).map(drop)
    });
}

const METADATA_ERRORS: &[(&str, &[&str])] = &[
    ("5", HERE),
    ("[]", HERE),
    ("\"x\"", HERE),
    ("{\"\": \"x\"}", HERE),
    ("{\"a\\u0000\": \"x\"}", HERE),
    ("{\"a\": 5}", &["metadata.a"]),
    ("{\"a\": null, \"b\": \"x\", \"c\": {}}", &["metadata.a", "metadata.c"]),
    ("{\"a\": \"\\u0000\"}", &["metadata.a"]),
    ("{\"a\": \"1\", \"a\": \"2\"}", &["metadata.a"]),
];

const TICKET_TYPE: &[Field] = &[
    field("name", &["\"ab\"", "\"äö\""], &[("\"a\"", HERE), ("\"\"", HERE), ("5", HERE), ("\"ab\\u0000\"", HERE)])
        .required(),
    field(
        "price",
        &["0", "-0", "0.01", "12.5", "12.50", "12.500", "1e2", "125e-1", "1000000000", "1e9"],
        &[
            ("-0.01", HERE),
            ("-1", HERE),
            ("12.505", HERE),
            ("0.001", HERE),
            ("1000000000.01", HERE),
            ("1e10", HERE),
            ("1e30", HERE),
            ("1e-30", HERE),
            ("99999999999999999999", HERE),
            ("\"5\"", HERE),
            ("true", HERE),
        ],
    )
    .required(),
    field(
        "quantity",
        &["1", "1.0", "1e2", "10000000", "1.5e1"],
        &[
            ("0", HERE),
            ("-1", HERE),
            ("10000001", HERE),
            ("10.5", HERE),
            ("1e30", HERE),
            ("\"5\"", HERE),
            ("[1]", HERE),
        ],
    )
    .required(),
    field("description", &["\"\"", "\"x\""], &[("5", HERE), ("\"\\u0000\"", HERE)]),
    field(
        "status",
        &["\"ON_SALE\"", "\"DISPLAY_AS_SOLD_OUT\"", "\"DISPLAY_AS_UNAVAILABLE\"", "\"ONLY_VISIBLE_TO_OWNER\""],
        &[("\"SOLD\"", HERE), ("1", HERE)],
    ),
    field("displayRemaining", &["true"], &[("\"x\"", HERE)]),
    field("validityDays", &["1", "2.0", "1e1"], &[("0", HERE), ("-1", HERE), ("1.5", HERE), ("\"1\"", HERE)])
        .nullable(),
    field("validityHours", &["1", "9007199254740992"], &[("0", HERE), ("-1", HERE), ("0.5", HERE), ("1e19", HERE)])
        .nullable(),
    field(
        "accessAreas",
        &["[]", "[\"bar\"]"],
        &[("\"bar\"", HERE), ("[1]", &["accessAreas[0]"]), ("[\"\\u0000\"]", &["accessAreas[0]"])],
    ),
    field(
        "maxPerOrder",
        &["1", "100", "1e2", "10.0"],
        &[("0", HERE), ("101", HERE), ("1.5", HERE), ("-1", HERE), ("\"5\"", HERE)],
    ),
    field("sortOrder", &["0", "-5", "7.0", "9007199254740992"], &[("0.5", HERE), ("1e19", HERE), ("\"1\"", HERE)]),
    field("ticketText", &["\"\""], &[("5", HERE), ("\"\\u0000\"", HERE)]).nullable(),
    field("ticketLogo", &["\"https://example.com/logo.png\""], &[("\"\"", HERE), ("\"logo.png\"", HERE), ("1", HERE)])
        .nullable(),
    field("validFrom", &["\"2026-07-01T23:59:59.999Z\""], DATES).nullable(),
    field("validFrom", &[], &[("\"2026-07-02T00:00:00Z\"", &["validUntil"])]).nullable(),
    field("validUntil", &["\"2026-07-01T00:00:00.001Z\""], DATES).nullable(),
    field("validUntil", &[], &[("\"2026-07-01T00:00:00Z\"", HERE)]).nullable(),
    field(
        "allowedDates",
        &["[]", "[\"2026-07-01T00:00Z\"]"],
        &[
            ("\"2026-07-01T00:00Z\"", HERE),
            ("[\"2026-07-01T00:00Z\", 5]", &["allowedDates[1]"]),
            ("[null]", &["allowedDates[0]"]),
        ],
    ),
    field("saleStartDate", &["\"2026-06-01T00:00:00Z\""], DATES).nullable(),
    field("saleStartDate", &[], &[("\"2026-06-30T00:00:00Z\"", &["saleEndDate"])]).nullable(),
    field("saleEndDate", &["\"2026-06-02T00:00:00Z\""], DATES).nullable(),
    field("saleEndDate", &[], &[("\"2026-06-01T00:00:00Z\"", HERE)]).nullable(),
    field("reference", &["\"x\"", "\" äö \""], &[("\"\"", HERE), ("5", HERE), ("\"\\u0000\"", HERE)]).nullable(),
    field("metadata", &["{}", "{\"crm\": \"17\", \"\\ud83d\\ude00.[0]\": \"\"}"], METADATA_ERRORS),
];

fn ticket_type_base() -> Value {
    json!({
        "name": "Seat", "price": 12.5, "quantity": 10, "sold": 7, "eventId": "nonsense", "id": 5,
        "validFrom": "2026-07-01T00:00Z", "validUntil": "2026-07-02T00:00Z",
        "saleStartDate": "2026-06-01T00:00Z", "saleEndDate": "2026-06-30T00:00Z",
    })
}

#[test]
fn every_field_of_a_new_ticket_type_is_checked_against_its_limits() {
    let fixture = Fixture::new();
    let event = fixture.event();
    check(&ticket_type_base(), TICKET_TYPE, |body| {
        let created = fixture.service.create_ticket_type(&fixture.caller, event.id, read::<CreateTicketType>(body))?;
        assert_eq!((created.sold, created.event_id), (0, event.id), "a request cannot set these");
        fixture.service.delete_ticket_type(&fixture.caller, created.id)
    });
}

#[test]
fn every_field_of_a_ticket_types_update_is_checked_against_its_limits() {
    let fixture = Fixture::new();
    let event = fixture.event();
    check_update(&ticket_type_base(), TICKET_TYPE, |body| {
        let ticket_type = fixture.ticket_type(&event, 1250, 10);
        let updated =
            fixture.service.update_ticket_type(&fixture.caller, ticket_type.id, read::<UpdateTicketType>(body));
        fixture.service.delete_ticket_type(&fixture.caller, ticket_type.id)?;
        updated.map(drop)
    });
}

const EMAILS: &[(&str, &[&str])] = &[
    ("\"\"", HERE),
    ("\"ada\"", HERE),
    ("\"@example.com\"", HERE),
    ("\"ada@\"", HERE),
    ("\"a@b@example.com\"", HERE),
    ("\"ada @example.com\"", HERE),
    ("\"ada@exam\\tple.com\"", HERE),
    ("\"ada\\u0000@example.com\"", HERE),
    ("\"ada\\u0007@example.com\"", HERE),
    ("\"\\u200b ada @example.com\"", HERE),
    ("5", HERE),
];

const ORDER: &[Field] = &[
    field(
        "eventId",
        &[],
        &[
            ("\"\"", HERE),
            ("\"nonsense\"", HERE),
            ("\"event_0000000000000\"", HERE),
            ("5", HERE),
            ("\"\\u0000\"", HERE),
        ],
    )
    .required(),
    field("customer", &[], &[("[]", HERE), ("\"Ada\"", HERE), ("{}", &["customer.email", "customer.name"])]).required(),
    field("customer.email", &["\"ADA+1@example.co.uk\"", "\"ü@example.com\"", "\" a@example.com\\n\""], EMAILS)
        .required(),
    field("customer.name", &["\"A\""], &[("\"\"", HERE), ("\" \\u00a0\"", HERE), ("5", HERE), ("\"A\\u0000\"", HERE)])
        .required(),
    field("customer.companyName", &["\"Ada Ltd\"", "\"\""], &[("5", HERE), ("\"\\u0000\"", HERE)]).nullable(),
    field("customer.locale", &["\"de\"", "\"\""], &[("5", HERE), ("\"\\u0000\"", HERE)]).nullable(),
    field(
        "items",
        &[],
        &[
            ("[]", HERE),
            ("{}", HERE),
            ("\"x\"", HERE),
            ("[5]", &["items[0]"]),
            ("[{}]", &["items[0].ticketId", "items[0].quantity"]),
        ],
    )
    .required(),
    field("items[0].ticketId", &[], &[("\"\"", HERE), ("\"nonsense\"", HERE), ("5", HERE), ("\"\\u0000\"", HERE)])
        .required(),
    field(
        "items[0].quantity",
        &["1", "100", "1.0", "1e2"],
        &[("0", HERE), ("101", HERE), ("-1", HERE), ("1.5", HERE), ("1e30", HERE), ("\"1\"", HERE)],
    )
    .required(),
    field("discountCode", &[], &[("5", HERE), ("\"\"", HERE), ("\"NOPE\"", HERE), ("\"\\u0000\"", HERE)]).nullable(),
    field("reference", &["\"x\"", "\" äö \""], &[("\"\"", HERE), ("5", HERE), ("\"\\u0000\"", HERE)]).nullable(),
    field("metadata", &["{}", "{\"crm\": \"17\"}"], METADATA_ERRORS).nullable(),
    field("customer.metadata", &["{}", "{\"crm\": \"17\"}"], &[("5", HERE), ("{\"a\": 1}", &["customer.metadata.a"])])
        .nullable(),
    field("affiliateCode", &["\"FRIEND\"", "\"\""], &[("5", HERE), ("\"\\u0000\"", HERE)]).nullable(),
    field("language", &["\"de\"", "\"\""], &[("5", HERE), ("\"\\u0000\"", HERE)]).nullable(),
    field(
        "shippingAddress",
        &[],
        &[
            ("[]", HERE),
            ("\"x\"", HERE),
            (
                "{}",
                &["shippingAddress.street", "shippingAddress.zip", "shippingAddress.city", "shippingAddress.country"],
            ),
        ],
    )
    .nullable(),
    field("shippingAddress.street", &["\"1\""], &[("\"\"", HERE), ("5", HERE), ("\"\\u0000\"", HERE)]).required(),
    field("shippingAddress.zip", &["\"1\""], &[("\"\"", HERE), ("12345", HERE)]).required(),
    field("shippingAddress.city", &["\"X\""], &[("\"\"", HERE), ("5", HERE)]).required(),
    field(
        "shippingAddress.country",
        &["\"DE\"", "\"zz\""],
        &[("\"\"", HERE), ("\"D\"", HERE), ("\"DEU\"", HERE), ("5", HERE), ("\"D\\u0000\"", HERE)],
    )
    .required(),
    field(
        "checkoutRedirectUrls",
        &[],
        &[
            ("[]", HERE),
            ("{}", &["checkoutRedirectUrls.success", "checkoutRedirectUrls.failure", "checkoutRedirectUrls.cancel"]),
        ],
    ),
    field("checkoutRedirectUrls.success", &["\"app://x\""], &[("\"\"", HERE), ("\"/path\"", HERE), ("5", HERE)])
        .required(),
    field("checkoutRedirectUrls.failure", &["\"app://x#y\""], &[("\"x y\"", HERE), ("\"\\u0000\"", HERE)]).required(),
    field("checkoutRedirectUrls.cancel", &["\"app://x\""], &[("\"example.com\"", HERE), ("[]", HERE)]).required(),
];

#[test]
fn every_field_of_a_new_order_is_checked_against_its_limits() {
    let fixture = Fixture::without_gateway();
    let event = fixture.event_with(|new| new.accepts_company = Some(true));
    let ticket_type = fixture.ticket_type_with(&event, |new| {
        new.quantity = 1000;
        new.max_per_order = Some(100);
    });
    let base = json!({
        "eventId": event.id, "items": [{"ticketId": ticket_type.id, "quantity": 1, "price": 0}],
        "customer": {"email": "ada@example.com", "name": "Ada", "id": 5}, "total": 0, "status": "COMPLETED",
        "shippingAddress": {"street": "1 Main Street", "zip": "1", "city": "Suva", "country": "FJ"},
        "checkoutRedirectUrls": {"success": "https://a.example", "failure": "https://b.example", "cancel": "https://c.example"},
    });
    check(&base, ORDER, |body| {
        let order = fixture.service.create_order(&fixture.caller, read::<CreateOrder>(body))?.order;
        assert_eq!(order.status, ticketing::order::OrderStatus::Pending, "a request cannot set this");
        fixture.service.cancel_order(&fixture.caller, order.id).map(drop)
    });
}

#[test]
fn every_field_of_an_issue_request_is_checked_against_its_limits() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type_with(&fixture.event(), |new| new.quantity = 1000);
    let base = json!({
        "ticketId": ticket_type.id, "quantity": 1,
        "customer": {"email": "ada@example.com", "name": "Ada", "companyName": 5},
    });
    let fields = [
        field("ticketId", &[], &[("\"\"", HERE), ("\"nonsense\"", HERE), ("5", HERE), ("\"\\u0000\"", HERE)])
            .required(),
        field("customer", &[], &[("[]", HERE), ("{}", &["customer.email", "customer.name"])]).required(),
        field("customer.email", &["\"a@example.org\""], EMAILS).required(),
        field("customer.name", &["\"A\""], &[("\"\"", HERE), ("5", HERE), ("\"\\u0000\"", HERE)]).required(),
        field("customer.metadata", &["{}"], &[("5", HERE), ("{\"a\": 1}", &["customer.metadata.a"])]).nullable(),
        field("customer.locale", &["\"de\""], &[("5", HERE), ("\"\\u0000\"", HERE)]).nullable(),
        field(
            "quantity",
            &["1", "10", "1e1", "2.0"],
            &[("0", HERE), ("11", HERE), ("-1", HERE), ("1.5", HERE), ("\"1\"", HERE)],
        )
        .required(),
    ];
    check(&base, &fields, |body| fixture.service.issue_tickets(&fixture.caller, read::<IssueTickets>(body)).map(drop));
}

#[test]
fn every_field_of_a_scan_is_checked_against_its_limits() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket = fixture.issue(&fixture.ticket_type(&event, 0, 1000), 1).remove(0);
    let base = json!({"code": ticket.code, "eventId": event.id});
    let fields = [
        field("code", &[], &[("\"\"", HERE), ("5", HERE), ("\"\\u0000\"", HERE)]).required(),
        field("eventId", &[], &[("\"\"", HERE), ("5", HERE), ("\"\\u0000\"", HERE)]),
    ];
    check(&base, &fields, |body| {
        fixture.service.check_in_ticket(&fixture.caller, read::<CheckInTicket>(body))?;
        fixture.service.check_out_ticket(&fixture.caller, read::<CheckInTicket>(body)).map(drop)
    });
    check(&base, &fields, |body| {
        // The ticket is not checked in: a valid request gets a conflict.
        match fixture.service.check_out_ticket(&fixture.caller, read::<CheckInTicket>(body)) {
            Err(error) if error.reason() == Some(ticketing::error::Reason::NotCheckedIn) => Ok(()),
            other => other.map(drop),
        }
    });
    let elsewhere = format!("{{\"code\": \"{}\", \"eventId\": \"nonsense\"}}", ticket.code);
    let refused = fixture.service.check_in_ticket(&fixture.caller, read::<CheckInTicket>(&elsewhere));
    assert_eq!(reason(refused), ticketing::error::Reason::WrongEvent, "anything but the ticket's event");
}

const NOTHING: &[(&str, &[&str])] =
    &[("\"\"", HERE), ("\"nonsense\"", HERE), ("\"event_0000000000000\"", HERE), ("5", HERE), ("\"\\u0000\"", HERE)];

/// Every field of a webhook endpoint.
const WEBHOOK: &[Field] = &[
    field(
        "url",
        &["\"https://example.com\"", "\"https://example.com:8443/a?b=c\""],
        &[
            ("5", HERE),
            ("\"\"", HERE),
            ("\"example.com\"", HERE),
            ("\"http://example.com\"", HERE),
            ("\"https://exa mple.com\"", HERE),
            ("\"https://example.com/\\u0000\"", HERE),
        ],
    )
    .required(),
    field("description", &["\"\"", "\"Ours\""], &[("5", HERE), ("\"x\\u0000\"", HERE), ("[]", HERE)]).nullable(),
    field(
        "events",
        &[
            "[\"order.completed\"]",
            "[\"order.completed\", \"order.cancelled\", \"ticket.issued\", \"ticket.checked_in\"]",
            "[\"refund.succeeded\", \"refund.failed\", \"dispute.opened\", \"dispute.closed\", \"payment.returned\"]",
            "[\"ticket.issued\", \"ticket.issued\"]",
        ],
        &[
            ("[]", HERE),
            ("\"ticket.issued\"", HERE),
            ("{}", HERE),
            ("[\"TICKET_ISSUED\"]", &["events[0]"]),
            ("[\"ticket.issued\", \"ticket.cancelled\", null, 5]", &["events[1]", "events[2]", "events[3]"]),
            ("[\"ticket.issued\\u0000\"]", &["events[0]"]),
        ],
    )
    .required(),
    field("enabled", &["true", "false"], &[("\"true\"", HERE), ("0", HERE)]),
];

fn webhook_base() -> Value {
    json!({
        "url": "https://example.com/hook", "events": ["order.completed"], "id": 5, "revision": "x", "secret": "whsec_",
        "secretHint": "abcd",
    })
}

#[test]
fn every_field_of_a_new_webhook_endpoint_is_checked_against_its_limits() {
    let fixture = Fixture::new();
    let send = |body: &str| {
        let created = fixture.service.create_webhook(&fixture.caller, read::<CreateWebhook>(body))?;
        assert_ne!(created.secret.expose(), "whsec_", "a request cannot set it");
        fixture.service.delete_webhook(&fixture.caller, created.endpoint.id)
    };
    check(&webhook_base(), WEBHOOK, send);
    for (length, accepted) in [(500, true), (501, false)] {
        let mut body = webhook_base();
        body["description"] = "ö".repeat(length).into();
        match accepted {
            true => send(&body.to_string()).expect("500 characters"),
            false => assert_eq!(paths(send(&body.to_string())), ["description"]),
        }
    }
}

#[test]
fn every_field_of_a_webhook_endpoints_update_is_checked_against_its_limits() {
    let fixture = Fixture::new();
    let of = fixture.webhook([ticketing::webhook::EventType::TicketIssued]).endpoint;
    check_update(&webhook_base(), WEBHOOK, |body| {
        let before = fixture.service.get_webhook(&fixture.caller, of.id);
        let updated = fixture.service.update_webhook(&fixture.caller, of.id, read::<UpdateWebhook>(body));
        match &updated {
            Ok(updated) => {
                assert_eq!((updated.id, &updated.secret_hint), (of.id, &of.secret_hint), "a request cannot set these")
            }
            Err(_) => assert_eq!(fixture.service.get_webhook(&fixture.caller, of.id), before),
        }
        updated.map(drop)
    });
}

/// Every field of a new discount and of an update, for a percentage.
const DISCOUNT: &[Field] = &[
    field(
        "code",
        &["\"abc\"", "\"🎷🎷🎷\"", "\" abc \"", "\"12345678901234567890\"", "\"ÄÖÜÄÖÜÄÖÜÄÖÜÄÖÜÄÖÜÄÖ\""],
        &[
            ("\"ab\"", HERE),
            ("\" ab \"", HERE),
            ("\"\"", HERE),
            ("\"123456789012345678901\"", HERE),
            ("\"ab\\u0000\"", HERE),
            ("5", HERE),
            ("[]", HERE),
        ],
    )
    .required(),
    field(
        "type",
        &["\"PERCENTAGE\"", "\"FIXED_AMOUNT\""],
        &[("\"percentage\"", HERE), ("\"\"", HERE), ("1", HERE), ("{}", HERE)],
    )
    .required(),
    field(
        "value",
        &["0", "-0", "100", "100.0", "1e2", "0.000000000001", "99.999999999999", "1000e-2"],
        &[
            ("-0.000000000001", HERE),
            ("-1", HERE),
            ("100.000000000001", HERE),
            ("101", HERE),
            ("1e10", HERE),
            ("1e30", HERE),
            ("1e-30", HERE),
            ("0.0000000000001", HERE),
            ("\"5\"", HERE),
            ("true", HERE),
        ],
    )
    .required(),
    field("description", &["\"\"", "\"x\""], &[("5", HERE), ("\"\\u0000\"", HERE)]),
    field(
        "usageLimit",
        &["1", "1.0", "1e2", "10000000"],
        &[("0", HERE), ("-1", HERE), ("10000001", HERE), ("1.5", HERE), ("\"5\"", HERE)],
    )
    .nullable(),
    field("validFrom", &["\"2026-07-01T23:59:59.999Z\"", "\"1970-01-01T00:00:00Z\""], DATES).required(),
    field("validFrom", &[], &[("\"2026-07-02T00:00:00Z\"", &["validTo"])]).required(),
    field("validTo", &["\"2026-07-01T00:00:00.001Z\"", "\"9999-12-31T23:59:59.999Z\""], DATES).required(),
    field("validTo", &[], &[("\"2026-07-01T00:00:00Z\"", HERE)]).required(),
    field(
        "minimumPurchase",
        &["0", "0.01", "12.50", "1000000000"],
        &[("-0.01", HERE), ("0.001", HERE), ("1000000000.01", HERE), ("1e30", HERE), ("\"5\"", HERE)],
    )
    .nullable(),
    field(
        "applicableTicketTypes",
        &["[]"],
        &[
            ("\"x\"", HERE),
            ("{}", HERE),
            ("[5]", &["applicableTicketTypes[0]"]),
            ("[\"\", null]", &["applicableTicketTypes[0]", "applicableTicketTypes[1]"]),
            ("[\"nonsense\", \"\\u0000\"]", &["applicableTicketTypes[1]", "applicableTicketTypes[0]"]),
        ],
    ),
    field("isActive", &["false"], &[("\"x\"", HERE), ("1", HERE)]),
    field("autoApply", &["true"], &[("\"x\"", HERE), ("0", HERE)]),
];

fn discount_base(event: &Event) -> Value {
    json!({
        "eventId": event.id, "code": "EARLY", "type": "PERCENTAGE", "value": 10, "usedCount": 7, "id": 5, "revision": "x",
        "validFrom": "2026-07-01T00:00Z", "validTo": "2026-07-02T00:00Z",
    })
}

#[test]
fn every_field_of_a_new_discount_is_checked_against_its_limits() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let send = |body: &str| {
        let created = fixture.service.create_discount(&fixture.caller, read::<CreateDiscount>(body))?;
        assert_eq!((created.used_count, created.revision), (0, 1), "a request cannot set these");
        fixture.service.delete_discount(&fixture.caller, created.id)
    };
    check(&discount_base(&event), DISCOUNT, send);
    check(&discount_base(&event), &[field("eventId", &[], NOTHING).required()], send);
    for (length, accepted) in [(255, true), (256, false)] {
        let mut body = discount_base(&event);
        body["description"] = "ö".repeat(length).into();
        match accepted {
            true => send(&body.to_string()).expect("255 characters"),
            false => assert_eq!(paths(send(&body.to_string())), ["description"]),
        }
    }
    // An amount is bounded like a price.
    let amount = [field(
        "value",
        &["0", "100.01", "1000000000", "12.500"],
        &[("-0.01", HERE), ("0.001", HERE), ("1000000000.01", HERE), ("1e30", HERE)],
    )
    .required()];
    let mut base = discount_base(&event);
    base["type"] = "FIXED_AMOUNT".into();
    check(&base, &amount, send);
    // Without a valid type or event, the limits of a percentage or the currency are not checked.
    let mut body = discount_base(&event);
    body["type"] = "x".into();
    body["value"] = json!(1000);
    assert_eq!(paths(send(&body.to_string())), ["type"]);
    base["eventId"] = "nonsense".into();
    base["value"] = json!(0.005);
    assert_eq!(paths(send(&base.to_string())), ["eventId"]);
}

#[test]
fn every_field_of_a_discounts_update_is_checked_against_its_limits() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let other = fixture.event();
    check_update(&discount_base(&other), DISCOUNT, |body| {
        let from = at("2026-07-01T00:00Z");
        let new = percent_off(&event, "OLD", 1).valid_from(from).valid_to(at("2026-07-02T00:00Z"));
        let old = fixture.discount(new);
        let updated = fixture.service.update_discount(&fixture.caller, old.id, read::<UpdateDiscount>(body));
        match &updated {
            Ok(updated) => {
                assert_eq!((updated.event_id, updated.used_count), (event.id, 0), "a request cannot set these")
            }
            Err(_) => assert_eq!(fixture.read_discount(old.id), old),
        }
        fixture.service.delete_discount(&fixture.caller, old.id)?;
        updated.map(drop)
    });
}

#[test]
fn every_field_of_a_validation_is_checked_against_its_limits() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 10);
    let base = json!({
        "eventId": event.id, "code": "EARLY", "orderAmount": 12.5,
        "ticketItems": [{"ticketId": ticket_type.id, "quantity": 1, "price": 12.5}], "discount": 5,
    });
    // It counts for nothing: every number from 0 is right, also what a sum in floating point is in JSON.
    let ignored_amounts =
        &["0", "-0", "12.50", "1e9", "10000000000000.01", "139.92999999999998", "5.551115123125783e-17", "1e300"];
    let fields = [
        field("eventId", &[], NOTHING).required(),
        field("code", &["\"x\""], &[("\"\"", HERE), ("\" \"", HERE), ("5", HERE), ("\"\\u0000\"", HERE)]).required(),
        field(
            "orderAmount",
            ignored_amounts,
            &[("-0.01", HERE), ("-1e-30", HERE), ("-1e300", HERE), ("\"5\"", HERE), ("[]", HERE)],
        )
        .required(),
        field(
            "ticketItems",
            &["[]"],
            &[
                ("{}", HERE),
                ("\"x\"", HERE),
                ("[5]", &["ticketItems[0]"]),
                ("[{}]", &["ticketItems[0].ticketId", "ticketItems[0].quantity", "ticketItems[0].price"]),
            ],
        )
        .required(),
        field(
            "ticketItems[0].ticketId",
            &[],
            &[("\"\"", HERE), ("\"nonsense\"", HERE), ("5", HERE), ("\"\\u0000\"", HERE)],
        )
        .required(),
        field(
            "ticketItems[0].quantity",
            &["1", "1000", "1e2", "2.0"],
            &[("0", HERE), ("-1", HERE), ("1.5", HERE), ("1e30", HERE), ("9223372036854775807", &["ticketItems"])],
        )
        .required(),
        field(
            "ticketItems[0].price",
            &["0", "0.01", "1000000000"],
            &[("-0.01", HERE), ("0.001", HERE), ("1000000000.01", HERE), ("\"5\"", HERE)],
        )
        .required(),
    ];
    check(&base, &fields, |body| {
        fixture.service.validate_discount(&fixture.caller, read::<ValidateDiscount>(body)).map(drop)
    });
}

#[test]
fn all_invalid_fields_are_reported_at_once_with_their_paths() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 10);
    let error_paths = |result: Result<()>| {
        let mut found = paths(result);
        found.sort_unstable();
        found
    };
    let body = r#"{"title": "ab", "description": "abcd", "location": 1, "currency": "XX", "timezone": "x", "startDate": "x",
        "endDate": null, "slug": "A", "coverImage": "x", "isPublic": 1, "status": "x", "shippingCountries": [1, "DE", 2],
        "acceptsCompany": null}"#;
    let all = [
        "acceptsCompany",
        "coverImage",
        "currency",
        "deliveryMethod",
        "description",
        "endDate",
        "isPublic",
        "location",
        "shippingCountries[0]",
        "shippingCountries[2]",
        "slug",
        "startDate",
        "status",
        "timezone",
        "title",
    ];
    assert_eq!(error_paths(fixture.service.create_event(&fixture.caller, read::<CreateEvent>(body)).map(drop)), all);
    let but_the_missing: Vec<_> = all.into_iter().filter(|path| *path != "deliveryMethod").collect();
    assert_eq!(
        error_paths(fixture.service.update_event(&fixture.caller, event.id, read::<UpdateEvent>(body)).map(drop)),
        but_the_missing
    );

    let body = r#"{"name": "a", "price": -1, "quantity": 0, "validityDays": 0, "maxPerOrder": 101, "ticketLogo": "x",
        "validFrom": "2026-07-02T00:00Z", "validUntil": "2026-07-01T00:00Z", "sortOrder": 1.5}"#;
    let all = ["maxPerOrder", "name", "price", "quantity", "sortOrder", "ticketLogo", "validUntil", "validityDays"];
    let create = fixture.service.create_ticket_type(&fixture.caller, event.id, read::<CreateTicketType>(body));
    assert_eq!(error_paths(create.map(drop)), all);
    let update = fixture.service.update_ticket_type(&fixture.caller, ticket_type.id, read::<UpdateTicketType>(body));
    assert_eq!(error_paths(update.map(drop)), all);

    let body = format!(
        r#"{{"eventId": "{}", "customer": {{"email": "x", "name": ""}}, "items": [{{"ticketId": "x", "quantity": 0}},
            {{"ticketId": "{}", "quantity": "1"}}, 5], "language": 5}}"#,
        event.id, ticket_type.id
    );
    let all = [
        "customer.email",
        "customer.name",
        "items[0].quantity",
        "items[0].ticketId",
        "items[1].quantity",
        "items[2]",
        "language",
    ];
    assert_eq!(error_paths(fixture.service.create_order(&fixture.caller, read::<CreateOrder>(&body)).map(drop)), all);

    let body = r#"{"eventId": "x", "code": "ab", "type": "FIXED_AMOUNT", "value": -1, "description": 5, "usageLimit": 0,
        "validFrom": "2026-07-02T00:00Z", "validTo": "2026-07-01T00:00Z", "minimumPurchase": -1, "isActive": null,
        "autoApply": 1, "applicableTicketTypes": "x"}"#;
    let all = [
        "applicableTicketTypes",
        "autoApply",
        "code",
        "description",
        "eventId",
        "isActive",
        "minimumPurchase",
        "usageLimit",
        "validTo",
        "value",
    ];
    assert_eq!(
        error_paths(fixture.service.create_discount(&fixture.caller, read::<CreateDiscount>(body)).map(drop)),
        all
    );
    let of = fixture.discount(percent_off(&event, "EARLY", 10));
    let but_the_event: Vec<_> = all.into_iter().filter(|path| *path != "eventId").collect();
    let update = fixture.service.update_discount(&fixture.caller, of.id, read::<UpdateDiscount>(body));
    assert_eq!(error_paths(update.map(drop)), but_the_event);

    let body = format!(
        r#"{{"eventId": "{}", "code": "", "orderAmount": -1,
            "ticketItems": [{{"ticketId": "x", "quantity": 0, "price": 0.001}}, 5]}}"#,
        event.id
    );
    let all = [
        "code",
        "orderAmount",
        "ticketItems[0].price",
        "ticketItems[0].quantity",
        "ticketItems[0].ticketId",
        "ticketItems[1]",
    ];
    assert_eq!(
        error_paths(fixture.service.validate_discount(&fixture.caller, read::<ValidateDiscount>(&body)).map(drop)),
        all
    );

    let long = "x".repeat(501);
    let body = format!(r#"{{"url": "ftp://example.com", "description": "{long}", "events": [], "enabled": null}}"#);
    let all = ["description", "enabled", "events", "url"];
    assert_eq!(
        error_paths(fixture.service.create_webhook(&fixture.caller, read::<CreateWebhook>(&body)).map(drop)),
        all
    );
    let of = fixture.webhook([ticketing::webhook::EventType::TicketIssued]).endpoint.id;
    assert_eq!(
        error_paths(fixture.service.update_webhook(&fixture.caller, of, read::<UpdateWebhook>(&body)).map(drop)),
        all
    );
}

#[test]
fn a_body_that_is_not_an_object_has_one_error_without_a_path() {
    let fixture = Fixture::new();
    for body in ["[]", "5", "null", "\"x\"", "true", "[{}]"] {
        let refused = fixture.service.create_event(&fixture.caller, read::<CreateEvent>(body));
        assert_eq!(paths(refused), [""], "{body}");
        let refused = fixture.service.check_in_ticket(&fixture.caller, read::<CheckInTicket>(body));
        assert_eq!(paths(refused), [""], "{body}");
    }
}

#[test]
fn invalid_json_is_a_syntax_error() {
    let nested = |depth: usize| format!("{{\"trackingPixels\": {}{}}}", "[".repeat(depth), "]".repeat(depth));
    for body in ["", " ", "{", "{\"a\": }", "{\"a\": 1e400}", "{\"a\": \"\\ud800\"}", "{} {}", &nested(64)] {
        assert!(Request::<EventSettings>::from_json(body.as_bytes()).is_err(), "{body}");
    }
    assert!(Request::<EventSettings>::from_json(b"{\"a\": \"\xff\"}").is_err());
    assert!(Request::<EventSettings>::from_json(nested(63).as_bytes()).is_ok());
}

#[test]
fn null_clears_nullable_fields_and_absent_fields_are_unchanged() {
    let fixture = Fixture::new();
    let event = fixture.event_with(|new| {
        new.description = Some("A long night".to_owned());
        new.location = Some("The park".to_owned());
        new.cover_image = Some("https://example.com/a.png".to_owned());
    });
    let update = |body| fixture.service.update_event(&fixture.caller, event.id, read::<UpdateEvent>(body)).expect(body);
    let same = update("{}");
    assert_eq!(with!(same, revision = event.revision), event);
    let cleared = update(r#"{"description": null, "location": null}"#);
    assert_eq!(cleared, with!(event.clone(), description = None, location = None, revision = event.revision + 2));

    let ticket_type = fixture.ticket_type_with(&event, |new| {
        new.validity_days = Some(2);
        new.validity_hours = Some(3);
        new.ticket_text = Some("Text".to_owned());
        new.ticket_logo = Some("https://example.com/a.png".to_owned());
        new.valid_from = Some(at("2026-07-01T00:00Z"));
        new.valid_until = Some(at("2026-07-02T00:00Z"));
        new.sale_start_date = Some(at("2026-06-01T00:00Z"));
        new.sale_end_date = Some(at("2026-06-02T00:00Z"));
    });
    let update = |body| {
        fixture.service.update_ticket_type(&fixture.caller, ticket_type.id, read::<UpdateTicketType>(body)).expect(body)
    };
    assert_eq!(with!(update("{}"), revision = ticket_type.revision), ticket_type);
    let cleared = update(
        r#"{"validityDays": null, "validityHours": null, "ticketText": null, "ticketLogo": null, "validFrom": null,
            "validUntil": null, "saleStartDate": null, "saleEndDate": null}"#,
    );
    let expected = with!(
        ticket_type.clone(),
        validity_days = None,
        validity_hours = None,
        ticket_text = None,
        ticket_logo = None,
        valid_from = None,
        valid_until = None,
        sale_start_date = None,
        sale_end_date = None,
        revision = ticket_type.revision + 2
    );
    assert_eq!(cleared, expected);

    let mut new = percent_off(&event, "EARLY", 10);
    new.usage_limit = Some(5);
    new.minimum_purchase = Some(eur(5));
    new.description = Some("Text".to_owned());
    new.applicable_ticket_types = Some(vec![ticket_type.id]);
    let of = fixture.discount(new);
    let update =
        |body| fixture.service.update_discount(&fixture.caller, of.id, read::<UpdateDiscount>(body)).expect(body);
    assert_eq!(with!(update("{}"), revision = of.revision), of);
    let cleared = update(r#"{"usageLimit": null, "minimumPurchase": null}"#);
    let revision = of.revision + 2;
    assert_eq!(cleared, with!(of.clone(), usage_limit = None, minimum_purchase = None, revision = revision));

    let new = CreateWebhook::new("https://example.com/hook", [ticketing::webhook::EventType::TicketIssued])
        .description("Ours");
    let of = fixture.service.create_webhook(&fixture.caller, new).expect("an endpoint").endpoint;
    let update =
        |body| fixture.service.update_webhook(&fixture.caller, of.id, read::<UpdateWebhook>(body)).expect(body);
    assert_eq!(with!(update("{}"), revision = of.revision), of);
    let cleared = update(r#"{"description": null}"#);
    assert_eq!(cleared, with!(of.clone(), description = None, revision = of.revision + 2));

    let settings = r#"{"locationMetadata": {"a": 1}, "trackingPixels": [1]}"#;
    fixture
        .service
        .update_event_settings(&fixture.caller, event.id, read::<EventSettings>(settings))
        .expect("settings");
    let cleared = read::<EventSettings>(r#"{"locationMetadata": null}"#);
    let cleared = fixture.service.update_event_settings(&fixture.caller, event.id, cleared).expect("settings");
    assert_eq!((cleared.location_metadata, cleared.tracking_pixels), (Value::Null, json!([1])));
}

#[test]
fn plain_rust_structs_are_checked_against_the_same_limits() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 10);

    type OfEvent = fn(&mut CreateEvent);
    let of_event: [(&str, OfEvent); 12] = [
        ("title", |new| new.title = "ab".to_owned()),
        ("title", |new| new.title = "abc\0".to_owned()),
        ("description", |new| new.description = Some("abcd".to_owned())),
        ("location", |new| new.location = Some("ab".to_owned())),
        ("currency", |new| new.currency = Some("EURO".to_owned())),
        ("timezone", |new| new.timezone = Some("Mars".to_owned())),
        ("endDate", |new| new.end_date = Some(at("2026-07-01T17:59:59.999Z"))),
        ("slug", |new| new.slug = "a_b".to_owned()),
        ("slug", |new| new.slug = String::new()),
        ("coverImage", |new| new.cover_image = Some("x".to_owned())),
        ("shippingCountries[1]", |new| new.shipping_countries = Some(vec!["DE".to_owned(), "\0".to_owned()])),
        ("coverImage", |new| new.cover_image = Some("https://a\0".to_owned())),
    ];
    for (path, change) in of_event {
        assert_eq!(paths(fixture.service.create_event(&fixture.caller, new_event(change))), [path]);
    }

    type OfType = fn(&mut CreateTicketType);
    let of_type: [(&str, OfType); 18] = [
        ("name", |new| new.name = "a".to_owned()),
        ("price", |new| new.price = Amount::cents(-1)),
        ("price", |new| new.price = amount(1, 3)),
        ("price", |new| new.price = Amount::cents(100_000_000_001)),
        ("price", |new| new.price = Amount::whole(i64::MAX)),
        ("price", |new| new.price = amount(i64::MIN, 18)),
        ("quantity", |new| new.quantity = 0),
        ("quantity", |new| new.quantity = 10_000_001),
        ("description", |new| new.description = Some("\0".to_owned())),
        ("validityDays", |new| new.validity_days = Some(0)),
        ("validityHours", |new| new.validity_hours = Some(i64::MIN)),
        ("accessAreas[0]", |new| new.access_areas = Some(vec!["\0".to_owned()])),
        ("maxPerOrder", |new| new.max_per_order = Some(0)),
        ("maxPerOrder", |new| new.max_per_order = Some(101)),
        ("ticketText", |new| new.ticket_text = Some("\0".to_owned())),
        ("ticketLogo", |new| new.ticket_logo = Some("logo".to_owned())),
        ("validUntil", |new| {
            new.valid_from = Some(at(NOW));
            new.valid_until = Some(at(NOW));
        }),
        ("saleEndDate", |new| {
            new.sale_start_date = Some(at(NOW));
            new.sale_end_date = Some(at(NOW));
        }),
    ];
    for (path, change) in of_type {
        let mut new = CreateTicketType::new("Seat", eur(1250), 10);
        change(&mut new);
        assert_eq!(paths(fixture.service.create_ticket_type(&fixture.caller, event.id, new)), [path]);
    }

    type OfOrder = fn(&mut CreateOrder);
    let of_order: [(&str, OfOrder); 13] = [
        ("customer.email", |new| new.customer.email = "ada".to_owned()),
        ("customer.name", |new| new.customer.name = String::new()),
        ("customer.companyName", |new| new.customer.company_name = Some("\0".to_owned())),
        ("customer.locale", |new| new.customer.locale = Some("\0".to_owned())),
        ("items", |new| new.items.clear()),
        ("items[0].quantity", |new| new.items[0].quantity = 0),
        ("items[1].quantity", |new| {
            let item = new.items[0];
            new.items.push(item.quantity(101));
        }),
        ("items[0].quantity", |new| new.items[0].quantity = i64::MAX),
        ("affiliateCode", |new| new.affiliate_code = Some("\0".to_owned())),
        ("language", |new| new.language = Some("\0".to_owned())),
        ("discountCode", |new| new.discount_code = Some("\0".to_owned())),
        ("shippingAddress.country", |new| {
            let street = "1".to_owned();
            let zip = "1".to_owned();
            let city = "1".to_owned();
            new.shipping_address = Some(ShippingAddress::new(street, zip, city, "DEU"));
        }),
        ("checkoutRedirectUrls.cancel", |new| {
            let success = "app://a".to_owned();
            let failure = "app://b".to_owned();
            new.checkout_redirect_urls = Some(CheckoutRedirectUrls::new(success, failure, "c"));
        }),
    ];
    for (path, change) in of_order {
        let mut new = CreateOrder::new(event.id, new_customer(), ticket_type.id, 1);
        change(&mut new);
        assert_eq!(paths(fixture.service.create_order(&fixture.caller, new)), [path]);
    }

    type OfDiscount = fn(&mut CreateDiscount);
    let of_discount: [(&str, OfDiscount); 15] = [
        ("code", |new| new.code = "ab".to_owned()),
        ("code", |new| new.code = "x".repeat(21)),
        ("code", |new| new.code = "abc\0".to_owned()),
        ("value", |new| *new = new.clone().value(amount(-1, 18))),
        ("value", |new| *new = new.clone().value(amount(1, 3))),
        ("value", |new| *new = new.clone().value(amount(100_000_000_001, 2))),
        ("value", |new| *new = new.clone().value(Amount::whole(i64::MAX))),
        ("value", |new| *new = new.clone().value(amount(i64::MIN, 18))),
        ("description", |new| new.description = Some("x".repeat(256))),
        ("description", |new| new.description = Some("\0".to_owned())),
        ("usageLimit", |new| new.usage_limit = Some(0)),
        ("usageLimit", |new| new.usage_limit = Some(i64::MAX)),
        ("validTo", |new| new.valid_to = new.valid_from),
        ("minimumPurchase", |new| new.minimum_purchase = Some(amount(1, 3))),
        ("applicableTicketTypes[0]", |new| {
            new.applicable_ticket_types = Some(vec!["type_0000000000000".parse().expect("an id")]);
        }),
    ];
    for (path, change) in of_discount {
        let mut new = percent_off(&event, "EARLY", 10);
        change(&mut new);
        assert_eq!(paths(fixture.service.create_discount(&fixture.caller, new)), [path]);
    }
    let precise = percent_off(&event, "PRECISE", 0).value(Percentage::new(10_000_000_000_000, 12).expect("10 percent"));
    assert_eq!(fixture.discount(precise).value, percent(10).into());
    type OfBasket = fn(&mut ValidateDiscount);
    let of_basket: [(&str, OfBasket); 5] = [
        ("code", |new| new.code = "\0".to_owned()),
        ("orderAmount", |new| new.order_amount = amount(-1, 3)),
        ("ticketItems[0].quantity", |new| new.ticket_items[0].quantity = i64::MIN),
        ("ticketItems[0].price", |new| new.ticket_items[0].price = Amount::whole(i64::MAX)),
        ("ticketItems", |new| new.ticket_items[0].quantity = i64::MAX),
    ];
    for (path, change) in of_basket {
        let item = BasketItem::new(ticket_type.id, 1, eur(1));
        let code = "EARLY".to_owned();
        let order_amount = eur(1);
        let mut new = ValidateDiscount::new(event.id, code, [item]).order_amount(order_amount);
        change(&mut new);
        assert_eq!(paths(fixture.service.validate_discount(&fixture.caller, new)), [path]);
    }

    for (path, quantity, name) in [("quantity", 0, "Ada"), ("quantity", 11, "Ada"), ("customer.name", 1, "")] {
        let customer = ticketing::order::NewCustomer::new(name, "ada@example.com");
        let request = IssueTickets::new(ticket_type.id, customer, quantity);
        assert_eq!(paths(fixture.service.issue_tickets(&fixture.caller, request)), [path]);
    }
    assert_eq!(paths(fixture.service.check_in_ticket(&fixture.caller, CheckInTicket::new(""))), ["code"]);
    assert_eq!(paths(fixture.service.check_in_ticket(&fixture.caller, CheckInTicket::new("\0"))), ["code"]);
    let nul = EventSettings::default().tags(["\0"]);
    assert_eq!(paths(fixture.service.update_event_settings(&fixture.caller, event.id, nul)), ["tags[0]"]);
}

#[test]
fn organizations_keys_and_settings_of_the_service_are_checked_against_their_limits() {
    let fixture = Fixture::new();
    type OfOrganization = fn(&mut CreateOrganization);
    let of_organization: [(&str, OfOrganization); 5] = [
        ("name", |new| new.name = String::new()),
        ("name", |new| new.name = "\0".to_owned()),
        ("currency", |new| new.currency = "EURO".to_owned()),
        ("currency", |new| new.currency = "ZZZ".to_owned()),
        ("timezone", |new| new.timezone = "Mars".to_owned()),
    ];
    for (path, change) in of_organization {
        let mut new = CreateOrganization::default();
        change(&mut new);
        assert_eq!(paths(fixture.service.create_organization(new)), [path]);
    }
    type OfKey = fn(&mut CreateApiKey);
    let of_key: [(&str, OfKey); 4] = [
        ("name", |new| new.name = String::new()),
        ("scopes", |new| new.scopes = Scopes::default()),
        ("expiresAt", |new| new.expires_at = Some(at(NOW))),
        ("name", |new| new.name = "\0".to_owned()),
    ];
    for (path, change) in of_key {
        let mut new = CreateApiKey::new("Fixture");
        change(&mut new);
        assert_eq!(paths(fixture.service.create_api_key(fixture.caller.organization(), new)), [path]);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let builder = || TicketingService::builder(folder.path().join("x.db"));
    assert_eq!(paths(builder().readers(0).open()), ["readers"]);
    assert_eq!(paths(builder().order_hold(std::time::Duration::from_millis(999)).open()), ["order_hold"]);
    assert_eq!(paths(builder().public_url("nowhere").open()), ["public_url"]);
    assert!(!folder.path().join("x.db").exists(), "what is refused creates nothing");
}

fn query<T>(pairs: &[(&str, &str)], read: fn(Vec<(String, String)>) -> Request<T>) -> Request<T> {
    read(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
}

#[test]
fn the_query_of_every_list_is_checked_against_its_limits() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let bad_pages: [(&[(&str, &str)], &str); 10] = [
        (&[("limit", "0")], "limit"),
        (&[("limit", "101")], "limit"),
        (&[("limit", "-1")], "limit"),
        (&[("limit", "x")], "limit"),
        (&[("limit", "1.5")], "limit"),
        (&[("limit", "10e9223372036854775807")], "limit"),
        (&[("limit", "")], "limit"),
        (&[("limit", "5"), ("limit", "5")], "limit"),
        (&[("cursor", "")], "cursor"),
        (&[("cursor", "x")], "cursor"),
    ];
    let bad_events: [(&[(&str, &str)], &str); 7] = [
        (&[("status", "published")], "status"),
        (&[("isPublic", "1")], "isPublic"),
        (&[("isPublic", "TRUE")], "isPublic"),
        (&[("q", "\0")], "q"),
        (&[("startsFrom", "2026-07-01")], "startsFrom"),
        (&[("startsBefore", "2026-07-01T00:00:00+00:00")], "startsBefore"),
        (&[("q", "a"), ("q", "b")], "q"),
    ];
    for (pairs, path) in bad_pages.iter().chain(&bad_events) {
        let request = query(pairs, Request::<ListEvents>::from_query);
        assert_eq!(
            paths(request.into_inner().and_then(|request| fixture.service.list_events(&fixture.caller, request))),
            [*path],
            "{pairs:?}"
        );
    }
    let bad_orders: [(&[(&str, &str)], &str); 6] = [
        (&[("status", "PAID")], "status"),
        (&[("customerEmail", "ada\0@example.com")], "customerEmail"),
        (&[("createdFrom", "x")], "createdFrom"),
        (&[("createdBefore", "")], "createdBefore"),
        (&[("eventId", "")], "eventId"),
        (&[("eventId", "event_\0")], "eventId"),
    ];
    for (pairs, path) in bad_pages.iter().chain(&bad_orders) {
        let request = query(pairs, Request::<ListOrders>::from_query);
        assert_eq!(
            paths(request.into_inner().and_then(|request| fixture.service.list_orders(&fixture.caller, request))),
            [*path],
            "{pairs:?}"
        );
    }
    let bad_tickets: [(&[(&str, &str)], &str); 5] = [
        (&[("status", "IN")], "status"),
        (&[("customerEmail", "\0")], "customerEmail"),
        (&[("eventId", "\0")], "eventId"),
        (&[("ticketId", "\0")], "ticketId"),
        (&[("orderId", "")], "orderId"),
    ];
    for (pairs, path) in bad_pages.iter().chain(&bad_tickets) {
        let request = query(pairs, Request::<ListTickets>::from_query);
        assert_eq!(
            paths(request.into_inner().and_then(|request| fixture.service.list_tickets(&fixture.caller, request))),
            [*path],
            "{pairs:?}"
        );
    }
    let bad_types: [(&[(&str, &str)], &str); 1] = [(&[("status", "on_sale")], "status")];
    for (pairs, path) in bad_pages.iter().chain(&bad_types) {
        let request = query(pairs, Request::<ListTicketTypes>::from_query);
        assert_eq!(
            paths(request.into_inner().and_then(|request| fixture.service.list_ticket_types(
                &fixture.caller,
                event.id,
                request
            ))),
            [*path],
            "{pairs:?}"
        );
    }
    let bad_discounts: [(&[(&str, &str)], &str); 6] = [
        (&[("isActive", "1")], "isActive"),
        (&[("isActive", "")], "isActive"),
        (&[("code", "\0")], "code"),
        (&[("code", "a"), ("code", "b")], "code"),
        (&[("eventId", "")], "eventId"),
        (&[("eventId", "event_\0")], "eventId"),
    ];
    for (pairs, path) in bad_pages.iter().chain(&bad_discounts) {
        let request = query(pairs, Request::<ListDiscounts>::from_query);
        assert_eq!(
            paths(request.into_inner().and_then(|request| fixture.service.list_discounts(&fixture.caller, request))),
            [*path],
            "{pairs:?}"
        );
    }
    for (pairs, path) in &bad_pages {
        let request = query(pairs, Request::<ListWebhooks>::from_query);
        assert_eq!(
            paths(request.into_inner().and_then(|request| fixture.service.list_webhooks(&fixture.caller, request))),
            [*path],
            "{pairs:?}"
        );
    }
    let webhook = fixture.webhook([ticketing::webhook::EventType::TicketIssued]).endpoint.id;
    let bad_deliveries: [(&[(&str, &str)], &str); 5] = [
        (&[("success", "1")], "success"),
        (&[("success", "")], "success"),
        (&[("eventType", "ticket.issued")], "eventType"),
        (&[("eventType", "")], "eventType"),
        (&[("eventType", "TICKET_ISSUED"), ("eventType", "TICKET_ISSUED")], "eventType"),
    ];
    for (pairs, path) in bad_pages.iter().chain(&bad_deliveries) {
        let request = query(pairs, Request::<ListWebhookDeliveries>::from_query);
        let list = |request| fixture.service.list_webhook_deliveries(&fixture.caller, webhook, request);
        let refused = request.into_inner().and_then(list);
        assert_eq!(paths(refused), [*path], "{pairs:?}");
    }
    // All errors are reported at once. Unknown parameters are ignored.
    let request = query(
        &[("limit", "0"), ("status", "x"), ("q", "\0"), ("cursor", ""), ("colour", "red")],
        Request::<ListEvents>::from_query,
    );
    let mut found =
        paths(request.into_inner().and_then(|request| fixture.service.list_events(&fixture.caller, request)));
    found.sort_unstable();
    assert_eq!(found, ["cursor", "limit", "q", "status"]);
    let request =
        query(&[("limit", "100"), ("isPublic", "true"), ("colour", "red")], Request::<ListEvents>::from_query);
    let request = request.into_inner().expect("a request");
    assert_eq!(fixture.service.list_events(&fixture.caller, request).expect("a page").data, [event]);
    for limit in [0, 101, i64::MIN] {
        let request = ListEvents::default().limit(limit);
        assert_eq!(paths(fixture.service.list_events(&fixture.caller, request)), ["limit"]);
    }
}
