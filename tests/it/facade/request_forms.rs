//! The fields of requests as the specification lists them: whether each may be absent or null, and its limits. Each field is
//! tested with values within its limits, and just outside of them. What depends on stored data is tested with the operation.

use serde_json::{Value, json};
use ticketing::allocation::{CreateAllocation, ImportTickets};
use ticketing::discount::{BasketItem, CreateDiscount, Discount, ListDiscounts, UpdateDiscount, ValidateDiscount};
use ticketing::discount::{DiscountValue, Percentage};
use ticketing::door::{CreateDoorLink, UploadScans};
use ticketing::event::{CancelEventOrders, CreateEvent, Event, EventSettings, ListEvents, UpdateEvent};
use ticketing::order::{CheckoutRedirectUrls, CreateOrder, ListOrders, ShippingAddress};
use ticketing::organization::{CreateApiKey, CreateOrganization, Scope, Scopes, UpdateOrganization};
use ticketing::payment::{MarkPaid, MarkRefunded, RefundOrder};
use ticketing::request::Request;
use ticketing::ticket::{AssignTicket, CheckInTicket, IssueTickets, ListTickets};
use ticketing::ticket_type::{CreateTicketType, ListTicketTypes, TicketType, UpdateTicketType};
use ticketing::webhook::{
    CreateWebhook, EventType, ListWebhookDeliveries, ListWebhooks, UpdateWebhook, WebhookEndpoint,
};
use ticketing::{Amount, Result, TicketingService};

use crate::common::*;

/// Whether a field may be absent or null.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Presence {
    /// It may be absent in an update.
    Required,
    Optional,
    /// It may be absent, and null.
    Nullable,
}
use Presence::{Nullable, Optional, Required};

/// What the specification says about the values of a field.
#[derive(Clone, Copy)]
enum Kind {
    /// A text of one line, with at least and at most this many characters.
    Line(usize, usize),
    /// A text of several lines, with at least and at most this many characters.
    Lines(usize, usize),
    /// The code of a ticket as a scanner reads it.
    TicketCode,
    /// A text that the operation looks up.
    Known,
    /// A slug of at most this many characters.
    Slug(usize),
    Email,
    Country,
    Currency,
    TimeOfDay,
    /// A URL to which a browser can be sent.
    Link,
    /// An `https` URL.
    Https,
    /// A URL or a picture.
    Logo,
    /// A URL to which webhooks are sent. The service decides which hosts it may have.
    Endpoint,
    Time,
    Flag,
    /// A whole number from the first to the second.
    Whole(i64, i64),
    /// An amount from 0 to 1,000,000,000. The currency decides how many decimals it may have.
    Price,
    /// An amount of more than 0.
    Positive,
    /// An amount that counts for nothing: every number from 0 is right, also what a sum in floating point is in JSON.
    Ignored,
    Choice(&'static [&'static str]),
    Id,
    Metadata,
    /// Any JSON without U+0000.
    Json,
    /// An object with these required fields.
    Object(&'static [&'static str]),
    /// At least and at most this many entries.
    List(&'static Kind, usize, usize),
    /// At most this many entries, each once.
    Set(&'static Kind, usize),
}
use Kind::*;

const ANY: i64 = i64::MAX;
const EVENT_STATUS: Kind = Choice(&["PUBLISHED", "DRAFTED", "EXPIRED", "CANCELLED"]);
const DELIVERY_METHOD: Kind = Choice(&["DIGITAL", "PHYSICAL"]);
const TYPE_STATUS: Kind =
    Choice(&["ON_SALE", "DISPLAY_AS_SOLD_OUT", "DISPLAY_AS_UNAVAILABLE", "ONLY_VISIBLE_TO_OWNER"]);
const NOTIFICATION: Kind = Choice(&[
    "order.completed",
    "order.cancelled",
    "ticket.issued",
    "ticket.checked_in",
    "refund.succeeded",
    "refund.failed",
    "dispute.opened",
    "dispute.closed",
    "payment.returned",
]);
const ITEM: Kind = Object(&["ticketId", "quantity"]);
const BASKET_ITEM: Kind = Object(&["ticketId", "quantity", "price"]);
const ADDRESS: Kind = Object(&["street", "zip", "city", "country"]);
const CUSTOMER: Kind = Object(&["email", "name"]);
const REDIRECTS: Kind = Object(&["success", "failure", "cancel"]);
const SCAN: Kind = Object(&["id", "kind", "scannedAt"]);

type Field = (&'static str, Presence, Kind);

const EVENT: &[Field] = &[
    ("title", Required, Line(3, 255)),
    ("description", Nullable, Lines(5, 20_000)),
    ("location", Nullable, Lines(3, 255)),
    ("currency", Optional, Currency),
    ("timezone", Optional, Known),
    ("startDate", Required, Time),
    ("endDate", Optional, Time),
    ("slug", Required, Slug(255)),
    ("coverImage", Optional, Link),
    ("isPublic", Optional, Flag),
    ("status", Optional, EVENT_STATUS),
    ("deliveryMethod", Required, DELIVERY_METHOD),
    ("shippingCountries", Optional, Set(&Line(0, 100), 300)),
    ("acceptsCompany", Optional, Flag),
    ("reference", Nullable, Line(1, 255)),
    ("metadata", Optional, Metadata),
];

const SETTINGS: &[Field] = &[
    ("tags", Optional, Set(&Line(0, 100), 50)),
    ("isFeatured", Optional, Flag),
    ("locationMetadata", Nullable, Json),
    ("trackingPixels", Nullable, Json),
    ("disableOrganizerOrderNotifications", Optional, Flag),
    ("dayStartsAt", Nullable, TimeOfDay),
];

const TICKET_TYPE: &[Field] = &[
    ("name", Required, Line(2, 255)),
    ("price", Required, Price),
    ("quantity", Required, Whole(1, 10_000_000)),
    ("description", Optional, Lines(0, 20_000)),
    ("status", Optional, TYPE_STATUS),
    ("displayRemaining", Optional, Flag),
    ("validityDays", Nullable, Whole(1, ANY)),
    ("validityHours", Nullable, Whole(1, ANY)),
    ("accessAreas", Optional, Set(&Line(0, 100), 50)),
    ("maxPerOrder", Optional, Whole(1, 100)),
    ("sortOrder", Optional, Whole(-ANY, ANY)),
    ("ticketText", Nullable, Lines(0, 2000)),
    ("ticketLogo", Nullable, Logo),
    ("validFrom", Nullable, Time),
    ("validUntil", Nullable, Time),
    ("allowedDates", Optional, Set(&Time, 366)),
    ("saleStartDate", Nullable, Time),
    ("saleEndDate", Nullable, Time),
    ("reference", Nullable, Line(1, 255)),
    ("metadata", Optional, Metadata),
];

const ORDER: &[Field] = &[
    ("eventId", Required, Id),
    ("customer", Required, CUSTOMER),
    ("customer.email", Required, Email),
    ("customer.name", Required, Line(1, 255)),
    ("customer.companyName", Nullable, Line(0, 255)),
    ("customer.locale", Nullable, Line(0, 255)),
    ("customer.metadata", Nullable, Metadata),
    ("items", Required, List(&ITEM, 1, 100)),
    ("items[0].ticketId", Required, Id),
    ("items[0].quantity", Required, Whole(1, 100)),
    ("discountCode", Nullable, Line(0, 255)),
    ("affiliateCode", Nullable, Line(0, 255)),
    ("language", Nullable, Line(0, 255)),
    ("shippingAddress", Nullable, ADDRESS),
    ("shippingAddress.street", Required, Line(1, 255)),
    ("shippingAddress.zip", Required, Line(1, 255)),
    ("shippingAddress.city", Required, Line(1, 255)),
    ("shippingAddress.country", Required, Country),
    ("checkoutRedirectUrls", Optional, REDIRECTS),
    ("checkoutRedirectUrls.success", Required, Link),
    ("checkoutRedirectUrls.failure", Required, Link),
    ("checkoutRedirectUrls.cancel", Required, Link),
    ("reference", Nullable, Line(1, 255)),
    ("metadata", Nullable, Metadata),
];

const ISSUE: &[Field] = &[
    ("ticketId", Required, Id),
    ("customer", Required, CUSTOMER),
    ("customer.email", Required, Email),
    ("customer.name", Required, Line(1, 255)),
    ("customer.locale", Nullable, Line(0, 255)),
    ("customer.metadata", Nullable, Metadata),
    ("quantity", Required, Whole(1, 10)),
];

const ASSIGN: &[Field] = &[
    ("customer", Required, CUSTOMER),
    ("customer.email", Required, Email),
    ("customer.name", Required, Line(1, 255)),
    ("customer.locale", Nullable, Line(0, 255)),
    ("customer.metadata", Nullable, Metadata),
];

const CHECK_IN: &[Field] = &[("code", Required, TicketCode), ("eventId", Optional, Id)];

const SCANS: &[Field] = &[
    ("eventId", Optional, Id),
    ("device", Required, Line(1, 64)),
    ("scans", Required, List(&SCAN, 1, 100)),
    ("scans[0].code", Nullable, TicketCode),
    ("scans[0].ticketId", Nullable, Id),
    ("scans[0].proof", Nullable, Line(1, 64)),
    ("scans[0].kind", Required, Choice(&["IN", "OUT"])),
    ("scans[0].scannedAt", Required, Time),
    ("scans[0].override", Nullable, Flag),
];

/// A discount. What a percentage may be depends on the type.
const DISCOUNT: &[Field] = &[
    ("code", Required, Line(3, 20)),
    ("type", Required, Choice(&["PERCENTAGE", "FIXED_AMOUNT"])),
    ("value", Required, Price),
    ("description", Optional, Line(0, 255)),
    ("usageLimit", Nullable, Whole(1, 10_000_000)),
    ("validFrom", Required, Time),
    ("validTo", Required, Time),
    ("minimumPurchase", Nullable, Price),
    ("applicableTicketTypes", Optional, Set(&Id, 500)),
    ("isActive", Optional, Flag),
    ("autoApply", Optional, Flag),
];

const BASKET: &[Field] = &[
    ("eventId", Required, Id),
    ("code", Required, Line(1, 255)),
    ("orderAmount", Required, Ignored),
    ("ticketItems", Required, List(&BASKET_ITEM, 0, 100)),
    ("ticketItems[0].ticketId", Required, Id),
    ("ticketItems[0].quantity", Required, Whole(1, ANY)),
    ("ticketItems[0].price", Required, Price),
];

const WEBHOOK: &[Field] = &[
    ("url", Required, Endpoint),
    ("description", Nullable, Lines(0, 500)),
    ("events", Required, List(&NOTIFICATION, 1, 100)),
    ("enabled", Optional, Flag),
];

const ORGANIZATION: &[Field] = &[
    ("name", Optional, Line(1, 255)),
    ("currency", Optional, Known),
    ("timezone", Optional, Known),
    ("reference", Nullable, Line(1, 255)),
    ("pageName", Nullable, Slug(60)),
    ("website", Nullable, Https),
    ("imprintUrl", Nullable, Https),
    ("privacyUrl", Nullable, Https),
];

const DOOR_LINK: &[Field] = &[("name", Required, Line(1, 255)), ("until", Nullable, Time)];

const PAID: &[Field] = &[("note", Nullable, Line(1, 255))];

const CANCEL_ORDERS: &[Field] = &[("refund", Nullable, Flag), ("reason", Nullable, Line(1, 255))];

const ALLOCATION: &[Field] = &[
    ("name", Required, Line(1, 100)),
    ("quantity", Required, Whole(1, 10_000)),
    ("labels", Nullable, List(&Line(1, 100), 0, 10_000)),
    ("reference", Nullable, Line(1, 255)),
    ("metadata", Nullable, Metadata),
];

const IMPORT: &[Field] = &[
    ("name", Nullable, Line(1, 100)),
    ("notify", Nullable, Flag),
    ("tickets[0].label", Nullable, Line(1, 100)),
    ("tickets[0].holder.name", Required, Line(1, 255)),
    ("tickets[0].holder.email", Required, Email),
];

const REFUND: &[Field] =
    &[("tickets", Nullable, List(&Id, 1, 500)), ("amount", Nullable, Positive), ("reason", Nullable, Line(1, 255))];

const REFUNDED: &[Field] =
    &[("refundId", Nullable, Id), ("amount", Nullable, Positive), ("note", Nullable, Line(1, 255))];

/// An invalid value as raw JSON, the end of the path of each of its errors, and the message of the only one, if it is tested.
struct Invalid {
    raw: String,
    ends: Vec<String>,
    message: Option<String>,
}

fn invalid(raw: impl Into<String>) -> Invalid {
    Invalid { raw: raw.into(), ends: vec![String::new()], message: None }
}

fn invalid_with(raw: impl Into<String>, message: impl Into<String>) -> Invalid {
    Invalid { message: Some(message.into()), ..invalid(raw) }
}

fn invalid_at(raw: impl Into<String>, ends: &[&str]) -> Invalid {
    Invalid { raw: raw.into(), ends: ends.iter().map(|end| (*end).to_owned()).collect(), message: None }
}

fn quoted(text: impl AsRef<str>) -> String {
    Value::from(text.as_ref()).to_string()
}

/// A URL of this length.
fn url_of(length: usize) -> String {
    quoted(format!("https://example.com/{}", "a".repeat(length - 20)))
}

/// An e-mail address of 254 characters if its last label has 61.
fn email_of(last_label: usize) -> String {
    let labels = [63, 63, last_label].map(|length| "b".repeat(length));
    quoted(format!("{}@{}", "a".repeat(64), labels.join(".")))
}

impl Kind {
    /// Values within the limits, as raw JSON.
    fn valid(self) -> Vec<String> {
        let texts = |texts: &[&str]| texts.iter().map(quoted).collect();
        let raw = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>();
        // Each character has two bytes. White space at the ends is cut off.
        let of_length = |length: usize| quoted("ä".repeat(length));
        match self {
            Line(least, most) => {
                let spaced = format!("\t\u{200b} {}\u{a0}\r\n", "ä".repeat(least.max(1)));
                vec![of_length(least), of_length(most), quoted("🎷".repeat(least.max(1))), quoted(spaced)]
            }
            Lines(least, most) => {
                let lines = ["ab\ncd", "ab\r\ncd", "ab\rcd", "ab\u{85}cd", "ab\u{2028}cd"].map(quoted);
                [Line(least, most).valid(), lines.to_vec()].concat()
            }
            TicketCode => vec![quoted("x"), quoted("a\nb"), of_length(255)],
            Known => texts(&["", "Nowhere"]),
            Slug(most) => vec![quoted("a"), quoted("0"), quoted("summer-night-2026"), quoted("a".repeat(most))],
            Email => {
                [texts(&["ADA+1@example.co.uk", "ü@example.com", " a@example.com\n"]), vec![email_of(61)]].concat()
            }
            Country => texts(&["DE", "zz"]),
            Currency => texts(&["EUR", "JPY"]),
            TimeOfDay => texts(&["00:00", "06:30", "23:59"]),
            Link => {
                let links = texts(&[
                    "urn:x:y",
                    "myapp://paid/17",
                    "http://example.com",
                    "HTTPS://[::1]/a?b#c",
                    "myapp:paid",
                    "intent:x",
                    "mailto:a",
                ]);
                [vec![url_of(2048)], links].concat()
            }
            Https => [texts(&["https://example.com", "HTTPS://[::1]:8443/a?b#c"]), vec![url_of(2048)]].concat(),
            Logo => vec![quoted("https://example.com/logo.png"), quoted(pixel_logo(LARGEST_FILE, 0))],
            Endpoint => vec![quoted("https://example.com:8443/a?b=c"), url_of(2048)],
            Time => texts(&[
                "2026-06-30T18:00Z",
                "2026-06-30T18:00:00.123456Z",
                "1970-01-01T00:00:00Z",
                "9999-12-31T23:59:59.999Z",
            ]),
            Flag => raw(&["true", "false"]),
            Whole(least, most) => {
                let notations = raw(&["1.0", "1e1", "1.0e1"]);
                [vec![least.to_string(), most.to_string()], notations].concat()
            }
            Price => raw(&["0", "-0", "0.01", "12.5", "12.50", "1e2", "125e-1", "1000000000", "1e9"]),
            Positive => raw(&["0.01", "12.50", "1e10"]),
            Ignored => raw(&["0", "-0", "12.50", "10000000000000.01", "139.92999999999998", "5.5e-17", "1e300"]),
            Choice(choices) => texts(choices),
            Id => texts(&["nonsense", "event_0000000000000"]),
            Metadata => raw(&["{}", r#"{"crm": "17", "\ud83d\ude00.[0]": ""}"#]),
            Json => raw(&["5", "1e2", "\"x\"", "false", "[1, [2]]", r#"{"a": {"b": null}}"#]),
            // The fields of an object are tested by themselves.
            Object(_) => Vec::new(),
            List(entry, least, most) => [least, most].map(|length| entry.list_of(length)).to_vec(),
            Set(entry, most) => [0, most].map(|length| entry.list_of(length)).to_vec(),
        }
    }

    /// Values that are just outside the limits or of another kind, as raw JSON.
    fn invalid(self) -> Vec<Invalid> {
        let texts = |texts: &[&str]| texts.iter().map(|text| invalid(quoted(text))).collect::<Vec<_>>();
        let raw = |values: &[&str]| values.iter().map(|value| invalid(*value)).collect::<Vec<_>>();
        let too_long = |raw: String, most: usize| invalid_with(raw, format!("must have at most {most} characters"));
        let of_length = |length: usize| quoted("ä".repeat(length));
        let no_text = raw(&["5", "[]", "{}", "false"]);
        let mut invalid = match self {
            Line(least, most) => {
                let lines = ["ab\ncd", "ab\r\ncd", "ab\u{85}cd", "ab\u{2028}cd"];
                let one_line = "must be one line, without control characters";
                let lines = lines.map(|text| invalid_with(quoted(text), one_line));
                return Lines(least, most).invalid().into_iter().chain(lines).collect();
            }
            Lines(least, most) => {
                let mut invalid = texts(&["ab\0cd", "ab\u{1}cd", "ab\tcd", "ab\u{7f}cd", "ab\u{9f}cd"]);
                invalid.push(too_long(of_length(most + 1), most));
                if least > 0 {
                    invalid.push(self::invalid(of_length(least - 1)));
                    invalid.extend(texts(&[" \u{a0}\u{200b}\u{feff}\t\n"]));
                }
                invalid.extend(no_text);
                return invalid;
            }
            TicketCode => texts(&["", "a\0"]),
            Known => texts(&["UTC\0"]),
            Slug(_) => {
                let message = "must be lower-case letters and digits, in groups joined by single hyphens";
                let texts = ["", "A", "a--b", "-a", "a-", "a b", "a_b", "ä", "org_0000000000011"];
                let invalid = texts.into_iter().map(|text| invalid_with(quoted(text), message));
                invalid.chain([self::invalid(quoted("a\0"))]).collect()
            }
            Email => texts(&[
                "",
                "ada",
                "@example.com",
                "ada@",
                "a@b@example.com",
                "ada @example.com",
                "ada@exam\tple.com",
                "ada\0@example.com",
                "ada\u{7}@example.com",
                "\u{200b} ada @example.com",
            ]),
            Country => texts(&["", "D", "DEU", "D\0"]),
            Currency => texts(&["EU", "EURO", "EU\0"]),
            TimeOfDay => texts(&["", "24:00", "6:00", "23:60", "+6:00", "0600", "०६:००", "06:00:00", "\0"]),
            Link => {
                let unsafe_links = "javascript:alert(1) JAVASCRIPT:x data:text/html,x vbscript:x file:///etc/passwd blob:x \
                    about:blank view-source:javascript:x feed:javascript:x jar:https://example.com/a.jar \
                    filesystem:https://example.com/x https://shop.example@evil.example/ https:example.com https:///path";
                let message = "must be an http or https URL with a host and without a user, or the link of an app: no \
                               javascript:, data: or file: URI, for example";
                let unsafe_links = unsafe_links.split(' ').map(|link| invalid_with(quoted(link), message));
                texts(&["", "a.png", "/path", "https://a b", "https://a\0"]).into_iter().chain(unsafe_links).collect()
            }
            Https => {
                let others = "http://example.com ftp://example.com urn:x:y javascript:alert(1) \
                    https://shop.example@evil.example/ https:example.com https:///path https:// /imprint example.com";
                let message = "must be an https URL with a host and without a user";
                let others = others.split(' ').map(|link| invalid_with(quoted(link), message));
                texts(&["", "https://a b", "https://a\0", "https://\u{fc}.example"]).into_iter().chain(others).collect()
            }
            Logo => texts(&["", "logo.png", "urn:x:y", "http://example.com/a", "data:image/jpeg;base64,/9j/"]),
            Endpoint => texts(&["https://example.com/\0"]),
            Time => texts(&[
                "",
                "2026-07-01",
                "2026-07-01T18:00",
                "2026-07-01T18:00:00+00:00",
                "2026-07-01T18:00:00z",
                "2026-02-29T18:00:00Z",
                "2026-07-01T24:00:00Z",
                "1969-12-31T23:59:59.999Z",
                "10000-01-01T00:00:00Z",
            ]),
            Flag => return raw(&["\"true\"", "1", "0", "[]"]),
            Whole(least, most) => {
                let beyond = [least.checked_sub(1).filter(|_| least > -ANY), most.checked_add(1)];
                let beyond = beyond.into_iter().flatten().map(|number| self::invalid(number.to_string()));
                return raw(&["1.5", "1e30", "1e19", "\"1\"", "[1]"]).into_iter().chain(beyond).collect();
            }
            Price => {
                let beyond = ["-0.01", "-1", "1000000000.01", "1e10", "1e30", "1e-30", "99999999999999999999"];
                return [raw(&beyond), raw(&["\"5\"", "true"])].into_iter().flatten().collect();
            }
            Positive => return raw(&["0", "-0.01", "1e-30", "\"5\"", "true"]),
            Ignored => return raw(&["-0.01", "-1e-30", "-1e300", "\"5\"", "[]"]),
            Choice(choices) => {
                let first = choices[0];
                let lower = first.to_lowercase();
                let other_case = if lower == first { first.to_uppercase() } else { lower };
                texts(&["", "NOPE", &other_case, &format!("{first}\0")])
            }
            Id => texts(&["", "\0"]),
            Metadata => {
                let one_error = raw(&["5", "[]", "\"x\"", r#"{"": "x"}"#, r#"{"a\u0000": "x"}"#]);
                let by_name = [
                    invalid_at(r#"{"a": 5}"#, &[".a"]),
                    invalid_at(r#"{"a": null, "b": "x", "c": {}}"#, &[".a", ".c"]),
                    invalid_at(r#"{"a": "\u0000"}"#, &[".a"]),
                    invalid_at(r#"{"a": "1", "a": "2"}"#, &[".a"]),
                ];
                return one_error.into_iter().chain(by_name).collect();
            }
            Json => return raw(&[r#""\u0000""#, r#"[{"a": "x\u0000"}]"#, r#"{"\u0000": 1}"#]),
            Object(required) => {
                let required: Vec<_> = required.iter().map(|name| format!(".{name}")).collect();
                let required: Vec<_> = required.iter().map(String::as_str).collect();
                return raw(&["[]", "\"x\"", "5"]).into_iter().chain([invalid_at("{}", &required)]).collect();
            }
            List(entry, least, most) => {
                let mut invalid = entry.invalid_lists(most);
                if least > 0 {
                    invalid.push(invalid_with("[]", "must have at least one entry"));
                }
                return invalid;
            }
            Set(entry, most) => {
                let first = entry.entry(0);
                let repeated = format!("[{first}, {}, {first}]", entry.entry(1));
                let repeated = invalid_at(repeated, &["[2]"]);
                let message = Some("must not repeat an earlier entry".to_owned());
                let mut invalid = entry.invalid_lists(most);
                invalid.push(Invalid { message, ..repeated });
                return invalid;
            }
        };
        match self {
            TicketCode => invalid.push(too_long(of_length(256), 255)),
            Slug(most) => invalid.push(too_long(quoted("a".repeat(most + 1)), most)),
            Email => invalid.push(too_long(email_of(62), 254)),
            Link | Https | Endpoint => invalid.push(too_long(url_of(2049), 2048)),
            _ => {}
        }
        invalid.extend(no_text);
        invalid
    }

    /// The entry of a list with this number, as raw JSON.
    fn entry(self, number: usize) -> String {
        match self {
            Line(..) => quoted(format!("entry {number}")),
            Time => {
                let day = std::time::Duration::from_hours(24 * u64::try_from(number).expect("few"));
                quoted(at("2026-01-01T00:00:00Z").saturating_add(day).to_string())
            }
            Id => quoted(format!("type_{:013}", number + 1)),
            Choice(choices) => quoted(choices[number % choices.len()]),
            _ => json!({
                "ticketId": "type_0000000000001", "quantity": 1, "price": 1,
                "id": "0192f0c1-2a3b-7c4d-8e5f-0123456789ab", "kind": "IN", "scannedAt": NOW,
            })
            .to_string(),
        }
    }

    /// A list of this many different entries.
    fn list_of(self, length: usize) -> String {
        let entries: Vec<_> = (0..length).map(|number| self.entry(number)).collect();
        format!("[{}]", entries.join(","))
    }

    /// Lists that are refused: with a wrong entry, or with more than `most` entries.
    fn invalid_lists(self, most: usize) -> Vec<Invalid> {
        let mut lists = vec![invalid("\"x\""), invalid("{}"), invalid_at("[null]", &["[0]"])];
        for value in self.invalid() {
            let ends = value.ends.iter().map(|end| format!("[1]{end}")).collect();
            lists.push(Invalid { raw: format!("[{}, {}]", self.entry(0), value.raw), ends, message: value.message });
        }
        let message = format!("must have at most {most} entries");
        lists.push(invalid_with(self.list_of(most + 1), &message));
        // The entries of a list that is too long are not looked at.
        lists.push(invalid_with(format!("[{}]", vec!["{}"; most + 1].join(",")), message));
        lists
    }
}

/// Converts a path such as `items[0].quantity` into a JSON pointer.
fn pointer(path: &str) -> String {
    format!("/{}", path.replace("].", "/").replace(['[', '.'], "/").replace(']', ""))
}

/// Returns the body with the field set to raw JSON `times` times, or removed.
fn body_with(base: &Value, path: &str, raw: Option<&str>, times: usize) -> String {
    const MARK: &str = "@@";
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

/// The paths and messages of the errors of a request, in the order of the paths. Panics if it fails for another reason.
#[track_caller]
fn errors_of(result: Result<()>) -> Vec<(String, String)> {
    let Err(error) = result else { return Vec::new() };
    assert!(!error.fields().is_empty(), "{error:?}");
    let mut errors: Vec<_> = error.fields().iter().map(|field| (field.path.clone(), field.message.clone())).collect();
    errors.sort_unstable();
    errors
}

#[track_caller]
fn sorted_paths(result: Result<()>) -> Vec<String> {
    errors_of(result).into_iter().map(|(path, _)| path).collect()
}

/// Reads a request from JSON.
type Read = fn(&str) -> Result<()>;

macro_rules! read {
    ($request:ty) => {
        |body| Request::<$request>::from_json(body.as_bytes()).expect(body).into_inner().map(drop)
    };
}

/// Tests each field of a request with all its values, beginning from a valid body.
fn check(request: &str, read: Read, base: &Value, fields: &[Field]) {
    let is_update = request.starts_with("Update");
    let assert_valid = |body: String, what: &str| assert_eq!(errors_of(read(&body)), [], "{request}: {what}: {body}");
    assert_valid(base.to_string(), "the base");
    for (path, presence, kind) in fields {
        let refuse = |body: &str, expected: &[String], what: &str| {
            let found = errors_of(read(body));
            let paths: Vec<_> = found.iter().map(|(path, _)| path.clone()).collect();
            let start: String = body.chars().take(2000).collect();
            assert_eq!(paths, expected, "{request}: {path} {what}: {start}");
            found.into_iter().next().map(|(_, message)| message)
        };
        let here = [(*path).to_owned()];
        let absent = body_with(base, path, None, 1);
        if *presence == Required && !is_update {
            refuse(&absent, &here, "absent");
        } else {
            assert_valid(absent, path);
        }
        let null = body_with(base, path, Some("null"), 1);
        if *presence == Nullable {
            assert_valid(null, path);
        } else {
            refuse(&null, &here, "null");
        }
        let valid = kind.valid();
        for raw in &valid {
            assert_valid(body_with(base, path, Some(raw), 1), path);
        }
        if let Some(raw) = valid.first() {
            refuse(&body_with(base, path, Some(raw), 2), &here, "twice");
        }
        for Invalid { raw, ends, message } in kind.invalid() {
            let mut expected: Vec<_> = ends.iter().map(|end| format!("{path}{end}")).collect();
            expected.sort_unstable();
            let found = refuse(&body_with(base, path, Some(&raw), 1), &expected, "is invalid");
            assert!(message.is_none() || found == message, "{request}: {path}: {found:?} instead of {message:?}");
        }
    }
}

fn event_body() -> Value {
    json!({
        "title": "Summer Night", "slug": "form", "startDate": "2026-07-01T18:00:00Z", "endDate": "2026-07-01T22:00:00Z",
        "deliveryMethod": "DIGITAL", "unknown": {"a": 1}, "id": "event_1", "organizerId": 5, "pageViews": "x",
    })
}

/// The body with another text of a field.
fn with_text(mut body: Value, field: &str, text: &str) -> Value {
    body[field] = text.into();
    body
}

fn ticket_type_body() -> Value {
    json!({
        "name": "Seat", "price": 12.5, "quantity": 10, "sold": 7, "eventId": "nonsense", "id": 5,
        "validFrom": "2026-07-01T00:00Z", "validUntil": "2026-07-02T00:00Z",
        "saleStartDate": "2026-06-01T00:00Z", "saleEndDate": "2026-06-30T00:00Z",
    })
}

fn discount_body(event: &str) -> Value {
    json!({
        "eventId": event, "code": "EARLY", "type": "PERCENTAGE", "value": 10, "usedCount": 7, "id": 5, "revision": "x",
        "validFrom": "2026-07-01T00:00Z", "validTo": "2026-07-02T00:00Z",
    })
}

fn webhook_body() -> Value {
    json!({"url": "https://example.com/hook", "events": ["order.completed"], "id": 5, "secret": "whsec_"})
}

fn customer_body() -> Value {
    json!({"email": "ada@example.com", "name": "Ada", "id": 5})
}

fn order_body(event: &str, ticket_type: &str) -> Value {
    json!({
        "eventId": event, "items": [{"ticketId": ticket_type, "quantity": 1, "price": 0}],
        "customer": customer_body(), "total": 0, "status": "COMPLETED",
        "shippingAddress": {"street": "1 Main Street", "zip": "1", "city": "Suva", "country": "FJ"},
        "checkoutRedirectUrls": {"success": "https://a.example", "failure": "https://b.example", "cancel": "c:d"},
    })
}

fn issue_body(ticket_type: &str) -> Value {
    json!({"ticketId": ticket_type, "quantity": 1, "customer": customer_body()})
}

fn basket_body(event: &str, ticket_type: &str) -> Value {
    let items = json!([{"ticketId": ticket_type, "quantity": 1, "price": 12.5}]);
    json!({"eventId": event, "code": "EARLY", "orderAmount": 12.5, "ticketItems": items, "discount": 5})
}

#[test]
fn each_field_of_each_request_has_exactly_the_limits_of_the_specification() {
    let event = "event_0000000000001";
    let ticket_type = "type_0000000000001";
    let scans: Value = serde_json::from_str(&SCAN.list_of(1)).expect("JSON");
    let scans = json!({"device": "gate", "scans": [scans[0]]});
    check("CreateEvent", read!(CreateEvent), &event_body(), EVENT);
    check("UpdateEvent", read!(UpdateEvent), &event_body(), EVENT);
    check("EventSettings", read!(EventSettings), &json!({}), SETTINGS);
    check("CreateTicketType", read!(CreateTicketType), &ticket_type_body(), TICKET_TYPE);
    check("UpdateTicketType", read!(UpdateTicketType), &ticket_type_body(), TICKET_TYPE);
    check("CreateOrder", read!(CreateOrder), &order_body(event, ticket_type), ORDER);
    check("IssueTickets", read!(IssueTickets), &issue_body(ticket_type), ISSUE);
    check("CheckInTicket", read!(CheckInTicket), &json!({"code": "A"}), CHECK_IN);
    check("UploadScans", read!(UploadScans), &scans, SCANS);
    check("CreateDiscount", read!(CreateDiscount), &discount_body(event), DISCOUNT);
    check("CreateDiscount", read!(CreateDiscount), &discount_body(event), &[("eventId", Required, Id)]);
    check("UpdateDiscount", read!(UpdateDiscount), &discount_body(event), DISCOUNT);
    check("ValidateDiscount", read!(ValidateDiscount), &basket_body(event, ticket_type), BASKET);
    check("CreateWebhook", read!(CreateWebhook), &webhook_body(), WEBHOOK);
    check("UpdateWebhook", read!(UpdateWebhook), &webhook_body(), WEBHOOK);
    check("UpdateOrganization", read!(UpdateOrganization), &json!({}), ORGANIZATION);
    check("CreateDoorLink", read!(CreateDoorLink), &json!({"name": "Gate"}), DOOR_LINK);
    check("MarkPaid", read!(MarkPaid), &json!({}), PAID);
    check("CancelEventOrders", read!(CancelEventOrders), &json!({}), CANCEL_ORDERS);
    check("AssignTicket", read!(AssignTicket), &json!({"customer": customer_body()}), ASSIGN);
    let allocation = json!({"name": "Guests", "quantity": 5, "labels": [], "id": 5, "state": "COMPLETE"});
    check("CreateAllocation", read!(CreateAllocation), &allocation, ALLOCATION);
    let holder = json!({"name": "Ada", "email": "ada@example.com"});
    let import = json!({"name": "Box office", "tickets": [{"code": "4006381333931", "holder": holder}]});
    check("ImportTickets", read!(ImportTickets), &import, IMPORT);
    check("RefundOrder", read!(RefundOrder), &json!({}), REFUND);
    check("MarkRefunded", read!(MarkRefunded), &json!({}), REFUNDED);
}

/// A service with a resource of each kind.
struct Shop {
    fixture: Fixture,
    event: Event,
    ticket_type: TicketType,
    discount: Discount,
    webhook: WebhookEndpoint,
}

impl Shop {
    fn new() -> Self {
        let fixture = Fixture::new();
        let event = fixture.event();
        let ticket_type = fixture.ticket_type(&event, 1250, 1000);
        let discount = fixture.discount(percent_off(&event, "OLD", 1));
        let webhook = fixture.webhook([EventType::TicketIssued]).endpoint;
        Self { fixture, event, ticket_type, discount, webhook }
    }

    /// A valid body of an operation.
    fn body(&self, operation: &str) -> Value {
        let event = self.event.id.to_string();
        let ticket_type = self.ticket_type.id.to_string();
        match operation {
            "create_event" => event_body(),
            "update_event" => with_text(event_body(), "slug", "another"),
            "create_ticket_type" | "update_ticket_type" => ticket_type_body(),
            "create_order" => order_body(&event, &ticket_type),
            "issue_tickets" => issue_body(&ticket_type),
            "create_discount" => discount_body(&event),
            "update_discount" => with_text(discount_body(&event), "code", "LATE"),
            "validate_discount" => basket_body(&event, &ticket_type),
            "create_webhook" | "update_webhook" => webhook_body(),
            _ => json!({}),
        }
    }

    /// Executes an operation. A resource that it creates is deleted.
    fn send(&self, operation: &str, body: &str) -> Result<()> {
        macro_rules! request {
            ($request:ty) => {
                Request::<$request>::from_json(body.as_bytes()).expect("JSON")
            };
        }
        let Self { fixture: Fixture { service, caller, .. }, event, ticket_type, discount, webhook } = self;
        match operation {
            "create_event" => {
                let created = service.create_event(caller, request!(CreateEvent))?;
                service.delete_event(caller, created.id)
            }
            "update_event" => service.update_event(caller, event.id, request!(UpdateEvent)).map(drop),
            "update_event_settings" => {
                service.update_event_settings(caller, event.id, request!(EventSettings)).map(drop)
            }
            "create_ticket_type" => {
                let created = service.create_ticket_type(caller, event.id, request!(CreateTicketType))?;
                service.delete_ticket_type(caller, created.id)
            }
            "update_ticket_type" => {
                service.update_ticket_type(caller, ticket_type.id, request!(UpdateTicketType)).map(drop)
            }
            "create_order" => service.create_order(caller, request!(CreateOrder)).map(drop),
            "issue_tickets" => service.issue_tickets(caller, request!(IssueTickets)).map(drop),
            "check_in_ticket" => service.check_in_ticket(caller, request!(CheckInTicket)).map(drop),
            "check_out_ticket" => service.check_out_ticket(caller, request!(CheckInTicket)).map(drop),
            "create_discount" => {
                let created = service.create_discount(caller, request!(CreateDiscount))?;
                service.delete_discount(caller, created.id)
            }
            "update_discount" => service.update_discount(caller, discount.id, request!(UpdateDiscount)).map(drop),
            "validate_discount" => service.validate_discount(caller, request!(ValidateDiscount)).map(drop),
            "create_webhook" => {
                let created = service.create_webhook(caller, request!(CreateWebhook))?;
                service.delete_webhook(caller, created.endpoint.id)
            }
            "update_webhook" => service.update_webhook(caller, webhook.id, request!(UpdateWebhook)).map(drop),
            other => panic!("no operation {other}"),
        }
    }
}

#[test]
fn what_depends_on_other_fields_or_on_stored_data_is_checked_by_the_operation() {
    const NOTHING: &[&str] = &["\"nonsense\"", "\"event_0000000000000\""];
    /// The operations, the path of a field, values, and the paths of the errors that each of them has.
    type Case = (&'static [&'static str], &'static str, &'static [&'static str], &'static [&'static str]);
    let cases: &[Case] = &[
        // First what is sold: the later rows change the ticket type.
        (&["create_order", "create_discount", "validate_discount"], "eventId", NOTHING, &["eventId"]),
        (&["create_order"], "items[0].ticketId", NOTHING, &["items[0].ticketId"]),
        (&["create_order"], "discountCode", &["\"\"", "\"NOPE\""], &["discountCode"]),
        (&["issue_tickets"], "ticketId", NOTHING, &["ticketId"]),
        (&["validate_discount"], "ticketItems[0].ticketId", NOTHING, &["ticketItems[0].ticketId"]),
        (&["validate_discount"], "ticketItems[0].quantity", &["9223372036854775807"], &["ticketItems"]),
        (&["validate_discount"], "ticketItems[0].price", &["0.001"], &["ticketItems[0].price"]),
        (&["create_event", "update_event"], "currency", &["\"eur\"", "\"ZZZ\""], &["currency"]),
        (&["create_event"], "currency", &["\"JPY\""], &[]),
        (&["create_event", "update_event"], "timezone", &["\"Nowhere\"", "\"\""], &["timezone"]),
        (&["create_event", "update_event"], "timezone", &["\"Europe/Berlin\"", "\"UTC\""], &[]),
        (&["create_event", "update_event"], "startDate", &["\"2026-07-01T22:00:00.001Z\""], &["endDate"]),
        (&["create_event", "update_event"], "endDate", &["\"2026-07-01T17:59:59.999Z\""], &["endDate"]),
        (&["create_event", "update_event"], "endDate", &["\"2026-07-01T18:00:00Z\""], &[]),
        (&["create_ticket_type", "update_ticket_type"], "price", &["12.505", "0.001"], &["price"]),
        (&["create_ticket_type", "update_ticket_type"], "price", &["12.500", "0.01"], &[]),
        (&["create_ticket_type", "update_ticket_type"], "validFrom", &["\"2026-07-02T00:00Z\""], &["validUntil"]),
        (&["create_ticket_type", "update_ticket_type"], "validFrom", &["\"2026-07-01T23:59:59.999Z\""], &[]),
        (&["create_ticket_type", "update_ticket_type"], "validUntil", &["\"2026-07-01T00:00Z\""], &["validUntil"]),
        (&["create_ticket_type", "update_ticket_type"], "saleStartDate", &["\"2026-06-30T00:00Z\""], &["saleEndDate"]),
        (&["create_ticket_type", "update_ticket_type"], "saleEndDate", &["\"2026-06-01T00:00Z\""], &["saleEndDate"]),
        (&["create_ticket_type", "update_ticket_type"], "saleEndDate", &["\"2026-06-01T00:00:00.001Z\""], &[]),
        (&["create_discount", "update_discount"], "validFrom", &["\"2026-07-02T00:00Z\""], &["validTo"]),
        (&["create_discount", "update_discount"], "validTo", &["\"2026-07-01T00:00Z\""], &["validTo"]),
        (&["create_discount", "update_discount"], "validTo", &["\"2026-07-01T00:00:00.001Z\""], &[]),
        (
            &["create_discount", "update_discount"],
            "value",
            &["-0.000000000001", "100.000000000001", "101", "0.0000000000001"],
            &["value"],
        ),
        (&["create_discount", "update_discount"], "value", &["0.000000000001", "99.999999999999", "1000e-2"], &[]),
        (&["create_discount", "update_discount"], "minimumPurchase", &["0.001"], &["minimumPurchase"]),
        (&["create_discount", "update_discount"], "minimumPurchase", &["0.01", "1000000000"], &[]),
        (
            &["create_discount", "update_discount"],
            "applicableTicketTypes",
            &["[\"nonsense\"]"],
            &["applicableTicketTypes[0]"],
        ),
        (
            &["create_webhook", "update_webhook"],
            "url",
            &["\"\"", "\"example.com\"", "\"http://example.com\"", "\"https://a b\"", "\"https://\"", "\"https:///a\""],
            &["url"],
        ),
    ];
    let shop = Shop::new();
    for (operations, path, values, expected) in cases {
        for operation in *operations {
            for raw in *values {
                let body = body_with(&shop.body(operation), path, Some(raw), 1);
                assert_eq!(sorted_paths(shop.send(operation, &body)), *expected, "{operation}: {body}");
            }
        }
    }
    // An amount is bounded by the currency, and a percentage by 100.
    let mut fixed = shop.body("create_discount");
    fixed["type"] = "FIXED_AMOUNT".into();
    for (raw, expected) in [("100.01", &[][..]), ("12.500", &[]), ("0.001", &["value"])] {
        let body = body_with(&fixed, "value", Some(raw), 1);
        assert_eq!(sorted_paths(shop.send("create_discount", &body)), expected, "{raw}");
    }
    // Without a valid type or event, neither is known.
    let mut unknown = shop.body("create_discount");
    unknown["type"] = "x".into();
    unknown["value"] = json!(1000);
    assert_eq!(sorted_paths(shop.send("create_discount", &unknown.to_string())), ["type"]);
    fixed["eventId"] = "nonsense".into();
    fixed["value"] = json!(0.005);
    assert_eq!(sorted_paths(shop.send("create_discount", &fixed.to_string())), ["eventId"]);
}

#[test]
fn all_invalid_fields_are_reported_at_once_with_their_paths() {
    let shop = Shop::new();
    let event = r#"{"title": "ab", "description": "abcd", "location": 1, "currency": "XX", "timezone": "x", "startDate": "x",
        "endDate": null, "slug": "A", "coverImage": "x", "isPublic": 1, "status": "x", "shippingCountries": [1, "DE", 2],
        "acceptsCompany": null}"#;
    let of_event = "acceptsCompany coverImage currency description endDate isPublic location shippingCountries[0] \
                    shippingCountries[2] slug startDate status timezone title";
    let ticket_type = r#"{"name": "a", "price": -1, "quantity": 0, "validityDays": 0, "maxPerOrder": 101, "ticketLogo": "x",
        "validFrom": "2026-07-02T00:00Z", "validUntil": "2026-07-01T00:00Z", "sortOrder": 1.5}"#;
    let of_type = "maxPerOrder name price quantity sortOrder ticketLogo validUntil validityDays";
    let order = r#"{"eventId": "EVENT", "customer": {"email": "x", "name": ""}, "items": [{"ticketId": "x", "quantity": 0},
        {"ticketId": "TYPE", "quantity": "1"}, 5], "language": 5}"#;
    let of_order =
        "customer.email customer.name items[0].quantity items[0].ticketId items[1].quantity items[2] language";
    let discount = r#"{"eventId": "x", "code": "ab", "type": "FIXED_AMOUNT", "value": -1, "description": 5, "usageLimit": 0,
        "validFrom": "2026-07-02T00:00Z", "validTo": "2026-07-01T00:00Z", "minimumPurchase": -1, "isActive": null,
        "autoApply": 1, "applicableTicketTypes": "x"}"#;
    let of_discount =
        "applicableTicketTypes autoApply code description isActive minimumPurchase usageLimit validTo value";
    let basket = r#"{"eventId": "EVENT", "code": "", "orderAmount": -1,
        "ticketItems": [{"ticketId": "x", "quantity": 0, "price": 0.001}, 5]}"#;
    let of_basket =
        "code orderAmount ticketItems[0].price ticketItems[0].quantity ticketItems[0].ticketId ticketItems[1]";
    let webhook = r#"{"url": "ftp://example.com", "description": "a\tb", "events": [], "enabled": null}"#;
    let of_webhook = "description enabled events url";
    for (operation, body, expected) in [
        ("create_event", event, format!("{of_event} deliveryMethod")),
        ("update_event", event, of_event.to_owned()),
        ("update_event_settings", r#"{"tags": 5, "isFeatured": 1}"#, "isFeatured tags".to_owned()),
        ("create_ticket_type", ticket_type, of_type.to_owned()),
        ("update_ticket_type", ticket_type, of_type.to_owned()),
        ("create_order", order, of_order.to_owned()),
        ("issue_tickets", r#"{"ticketId": "x", "quantity": 11}"#, "customer quantity ticketId".to_owned()),
        ("check_in_ticket", r#"{"code": "", "eventId": 5}"#, "code eventId".to_owned()),
        ("check_out_ticket", r#"{"code": "", "eventId": 5}"#, "code eventId".to_owned()),
        ("create_discount", discount, format!("{of_discount} eventId")),
        ("update_discount", discount, of_discount.to_owned()),
        ("validate_discount", basket, of_basket.to_owned()),
        ("create_webhook", webhook, of_webhook.to_owned()),
        ("update_webhook", webhook, of_webhook.to_owned()),
    ] {
        let body = body.replace("EVENT", &shop.event.id.to_string()).replace("TYPE", &shop.ticket_type.id.to_string());
        let mut expected: Vec<_> = expected.split_whitespace().collect();
        expected.sort_unstable();
        let rows = shop.fixture.all_rows();
        assert_eq!(sorted_paths(shop.send(operation, &body)), expected, "{operation}");
        assert_eq!(shop.fixture.all_rows(), rows, "{operation} changes nothing");
        assert_eq!(sorted_paths(shop.send(operation, "[]")).first().map(String::as_str), Some(""), "{operation}");
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
    for body in ["[]", "5", "null", "\"x\"", "true", "[{}]"] {
        let request = Request::<EventSettings>::from_json(body.as_bytes()).expect("JSON");
        assert_eq!(paths(request.into_inner()), [""], "{body}");
    }
}

#[test]
fn null_clears_nullable_fields_and_absent_fields_are_unchanged() {
    let Shop { fixture, event, ticket_type, discount, webhook } = Shop::new();
    let (service, caller) = (&fixture.service, &fixture.caller);
    fn changed<T: serde::Serialize>(updated: Result<T>) -> Value {
        serde_json::to_value(updated.expect("valid changes")).expect("JSON")
    }
    macro_rules! request {
        ($body:ident) => {
            Request::from_json($body.as_bytes()).expect("JSON")
        };
    }
    let of_event = |body: &str| changed(service.update_event(caller, event.id, request!(body)));
    let of_settings = |body: &str| changed(service.update_event_settings(caller, event.id, request!(body)));
    let of_type = |body: &str| changed(service.update_ticket_type(caller, ticket_type.id, request!(body)));
    let of_discount = |body: &str| changed(service.update_discount(caller, discount.id, request!(body)));
    let of_webhook = |body: &str| changed(service.update_webhook(caller, webhook.id, request!(body)));
    type Update<'a> = &'a dyn Fn(&str) -> Value;
    let updates: [(Update<'_>, &[Field], &str); 5] = [
        (&of_event, EVENT, r#"{"description": "A long night", "location": "The park", "reference": "17"}"#),
        (&of_settings, SETTINGS, r#"{"locationMetadata": {"a": 1}, "trackingPixels": [1], "dayStartsAt": "06:00"}"#),
        (
            &of_type,
            TICKET_TYPE,
            r#"{"validityDays": 2, "validityHours": 3, "ticketText": "Text", "ticketLogo": "https://example.com/a.png",
                "validFrom": "2026-07-01T00:00Z", "validUntil": "2026-07-02T00:00Z", "reference": "17",
                "saleStartDate": "2026-06-01T00:00Z", "saleEndDate": "2026-06-02T00:00Z"}"#,
        ),
        (&of_discount, DISCOUNT, r#"{"usageLimit": 5, "minimumPurchase": 5}"#),
        (&of_webhook, WEBHOOK, r#"{"description": "Ours"}"#),
    ];
    for (update, fields, set) in updates {
        let mut expected = update(set);
        let revision = |of: &Value| of["revision"].as_i64().expect("a number");
        expected["revision"] = json!(revision(&expected) + 1);
        assert_eq!(update("{}"), expected, "an empty update changes nothing but the revision");
        let nullable = fields.iter().filter(|(_, presence, _)| *presence == Nullable).map(|(name, _, _)| *name);
        let nulls: Value =
            nullable.map(|name| (name.to_owned(), Value::Null)).collect::<serde_json::Map<_, _>>().into();
        for (name, _) in nulls.as_object().expect("an object") {
            assert_ne!(expected[name], Value::Null, "{name} was set");
            expected[name] = Value::Null;
        }
        expected["revision"] = json!(revision(&expected) + 1);
        assert_eq!(update(&nulls.to_string()), expected);
    }
}

#[test]
fn plain_rust_structs_are_checked_against_the_same_limits() {
    let Shop { fixture, event, ticket_type, .. } = Shop::new();
    let (service, caller) = (&fixture.service, &fixture.caller);
    let nul = || Some("\0".to_owned());
    let of_event = new_event(|new| {
        new.title = "ab".to_owned();
        new.shipping_countries = Some(vec!["DE".to_owned(), "\0".to_owned()]);
        new.end_date = Some(at("2026-07-01T17:59:59.999Z"));
    });
    let refused = service.create_event(caller, of_event);
    assert_eq!(sorted_paths(refused.map(drop)), ["endDate", "shippingCountries[1]", "title"]);
    let settings = EventSettings::default().tags(["\0"]);
    assert_eq!(paths(service.update_event_settings(caller, event.id, settings)), ["tags[0]"]);

    // Amounts that JSON cannot have.
    for price in [Amount::whole(i64::MAX), amount(i64::MIN, 18), amount(1, 3), Amount::cents(-1)] {
        let mut new = CreateTicketType::new("Seat", price, 0);
        new.ticket_text = nul();
        let refused = service.create_ticket_type(caller, event.id, new);
        assert_eq!(sorted_paths(refused.map(drop)), ["price", "quantity", "ticketText"], "{price}");
        let refused = service.create_discount(caller, amount_off(&event, "EARLY", price));
        assert_eq!(paths(refused), ["value"], "{price}");
    }
    let precise = percent_off(&event, "PRECISE", 0).value(Percentage::new(10_000_000_000_000, 12).expect("10 percent"));
    assert_eq!(fixture.discount(precise).value, DiscountValue::from(percent(10)));

    let mut order = CreateOrder::new(event.id, new_customer(), ticket_type.id, 1);
    let second = order.items[0].quantity(101);
    order.items.push(second);
    order.customer.company_name = nul();
    order.shipping_address = Some(ShippingAddress::new("1", "1", "1", "DEU"));
    order.checkout_redirect_urls = Some(CheckoutRedirectUrls::new("app://a", "app://b", "c"));
    let expected =
        ["checkoutRedirectUrls.cancel", "customer.companyName", "items[1].quantity", "shippingAddress.country"];
    assert_eq!(sorted_paths(service.create_order(caller, order).map(drop)), expected);
    let item = BasketItem::new(ticket_type.id, i64::MIN, Amount::whole(i64::MAX));
    let basket = ValidateDiscount::new(event.id, "\0", [item]).order_amount(amount(-1, 3));
    let expected = ["code", "orderAmount", "ticketItems[0].price", "ticketItems[0].quantity"];
    assert_eq!(sorted_paths(service.validate_discount(caller, basket).map(drop)), expected);
    let customer = ticketing::order::NewCustomer::new("", "ada");
    let refused = service.issue_tickets(caller, IssueTickets::new(ticket_type.id, customer, 11));
    assert_eq!(sorted_paths(refused.map(drop)), ["customer.email", "customer.name", "quantity"]);
    assert_eq!(paths(service.check_in_ticket(caller, CheckInTicket::new("\0"))), ["code"]);
}

#[test]
fn organizations_keys_and_settings_of_the_service_are_checked_against_their_limits() {
    let fixture = Fixture::new();
    let long = "ä".repeat(255);
    for (path, name, currency, timezone) in [
        ("name", "", "EUR", "UTC"),
        ("name", "\0", "EUR", "UTC"),
        ("name", &format!("{long}ä"), "EUR", "UTC"),
        ("currency", "A", "EURO", "UTC"),
        ("currency", "A", "ZZZ", "UTC"),
        ("timezone", "A", "EUR", "Mars"),
    ] {
        let new = CreateOrganization::new(name).currency(currency).timezone(timezone);
        assert_eq!(paths(fixture.service.create_organization(new)), [path]);
    }
    for reference in ["", &format!("{long}ä"), "a\0b"] {
        let new = CreateOrganization::new("Cellar").reference(reference);
        assert_eq!(paths(fixture.service.create_organization(new)), ["reference"], "{reference:?}");
    }
    for page_name in ["", "Cellar", &"a".repeat(61), "org_0000000000001", "a\0"] {
        let new = CreateOrganization::new("Cellar").page_name(page_name);
        assert_eq!(paths(fixture.service.create_organization(new)), ["pageName"], "{page_name:?}");
    }
    let insecure = "http://example.com";
    let new = CreateOrganization::new("Cellar").website(insecure).imprint_url(insecure).privacy_url(insecure);
    assert_eq!(paths(fixture.service.create_organization(new)), ["website", "imprintUrl", "privacyUrl"]);
    let organization = CreateOrganization::new(&long).reference(&long).page_name("a".repeat(60));
    let organization = fixture.service.create_organization(organization).expect("long enough").id;
    let create = |new: CreateApiKey| fixture.service.create_api_key(organization, new);
    let scopes = || CreateApiKey::new("Key").scopes([Scope::EventsRead]);
    assert_eq!(paths(create(scopes().expires_at(at(NOW)))), ["expiresAt"]);
    assert_eq!(paths(create(scopes().scopes(Scopes::default()))), ["scopes"]);
    for name in ["", "\0", &format!("{long}ä")] {
        assert_eq!(paths(create(CreateApiKey::new(name).scopes([Scope::EventsRead]))), ["name"]);
    }
    create(CreateApiKey::new(&long).scopes([Scope::EventsRead])).expect("long enough");
    let folder = tempfile::tempdir().expect("a folder");
    let builder = || TicketingService::builder(folder.path().join("x.db"));
    assert_eq!(paths(builder().readers(0).open()), ["readers"]);
    assert_eq!(paths(builder().order_hold(std::time::Duration::from_millis(999)).open()), ["order_hold"]);
    assert_eq!(paths(builder().public_url("nowhere").open()), ["public_url"]);
    assert!(!folder.path().join("x.db").exists(), "what is refused creates nothing");
}

#[test]
fn the_query_of_every_list_is_checked_against_its_limits() {
    type Query = fn(&str) -> Vec<String>;
    macro_rules! query {
        ($request:ty) => {
            |query| {
                let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
                let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
                sorted_paths(Request::<$request>::from_query(pairs).into_inner().map(drop))
            }
        };
    }
    let events: Query = query!(ListEvents);
    let orders: Query = query!(ListOrders);
    let tickets: Query = query!(ListTickets);
    let types: Query = query!(ListTicketTypes);
    let discounts: Query = query!(ListDiscounts);
    let webhooks: Query = query!(ListWebhooks);
    let deliveries: Query = query!(ListWebhookDeliveries);
    for list in [events, orders, tickets, types, discounts, webhooks, deliveries] {
        for limit in ["0", "101", "-1", "x", "1.5", "10e9223372036854775807", "", "5&limit=5"] {
            assert_eq!(list(&format!("limit={limit}")), ["limit"], "{limit}");
        }
        assert_eq!(list("cursor="), ["cursor"]);
        // Unknown parameters are ignored. The server refuses them.
        assert_eq!(list("limit=100&colour=red"), Vec::<String>::new());
    }
    let long = "ä".repeat(101);
    let line = "ä".repeat(256);
    let cases: [(Query, &str, &[&str]); 23] = [
        (events, "status", &["published"]),
        (events, "isPublic", &["1", "TRUE"]),
        (events, "q", &["\0", "a&q=b", &long]),
        (events, "reference", &["\0", &line]),
        (events, "slug", &["A", &line]),
        (orders, "status", &["PAID"]),
        (tickets, "status", &["IN"]),
        (types, "status", &["on_sale"]),
        (discounts, "isActive", &["1", ""]),
        (discounts, "code", &["\0", "a&code=b", &line]),
        (deliveries, "success", &["1", ""]),
        (deliveries, "eventType", &["ticket.issued", "", "TICKET_ISSUED&eventType=TICKET_ISSUED"]),
        (events, "startsFrom", &["2026-07-01"]),
        (events, "startsBefore", &["2026-07-01T00:00:00+00:00"]),
        (orders, "createdFrom", &["x"]),
        (orders, "createdBefore", &[""]),
        (orders, "customerEmail", &["ada\0@example.com", "ada"]),
        (tickets, "customerEmail", &["\0"]),
        (orders, "eventId", &["", "event_\0"]),
        (tickets, "eventId", &["\0"]),
        (tickets, "ticketId", &["\0"]),
        (tickets, "orderId", &[""]),
        (discounts, "eventId", &["", "event_\0"]),
    ];
    for (list, name, values) in cases {
        for value in values {
            assert_eq!(list(&format!("{name}={value}")), [name], "{value:?}");
        }
    }
    assert_eq!(events("limit=0&status=x&q=\0&cursor="), ["cursor", "limit", "q", "status"]);
    let fixture = Fixture::new();
    for limit in [0, 101, i64::MIN] {
        let request = ListEvents::default().limit(limit);
        assert_eq!(paths(fixture.service.list_events(&fixture.caller, request)), ["limit"]);
    }
}
