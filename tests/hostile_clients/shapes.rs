//! What the body of each operation may hold, and what it may not.

use super::values::Kind::{List, Object, Value};
use super::values::{Field, Kind, may, must, or_null, value};

const TEXT: Kind = text(&["\"\"", "\"x\"", "\"\\ud83d\\ude00\\u0001\\u202e\"", "\"<script>' OR 1=1;--\""]);
const TEXT_OF_1: Kind = value(&["\"x\"", "\"🎷\"", "\" \""], &["\"\"", "\"x\\u0000\"", "7", "null", "{}"]);
const TEXT_OF_2: Kind = value(&["\"ab\"", "\"🎷🎷\""], &["\"a\"", "\"🎷\"", "\"ab\\u0000\"", "7", "[\"ab\"]"]);
const TEXT_OF_3: Kind = value(&["\"abc\"", "\"äöü\""], &["\"ab\"", "\"🎷🎷\"", "\"abc\\u0000\"", "7", "[]"]);
const TEXT_OF_5: Kind = value(&["\"abcde\"", "\"     \""], &["\"abcd\"", "\"\"", "\"abcde\\u0000\"", "0", "false"]);
const URI: Kind = value(
    &["\"https://example.com/a?b=%20#c\"", "\"urn:x:y\"", "\"javascript:alert(1)\""],
    &[
        "\"\"",
        "\"/a\"",
        "\"//a\"",
        "\"https://a b\"",
        "\"https://a/%zz\"",
        "\"https://a\\r\\nX: y\"",
        "\"a:b\\u0000\"",
        "1",
    ],
);
const EMAIL: Kind = value(
    &["\"ada@example.com\"", "\"ADA@example.com\"", "\"x+$n@example.org\""],
    &[
        "\"\"",
        "\"ada\"",
        "\"ada@\"",
        "\"@example.com\"",
        "\"a@b@example.com\"",
        "\"a @example.com\"",
        "\"a@example.com\\n\"",
        "\"a@example.com\\u0000\"",
        "\"a@localhost\"",
        "[\"a@example.com\"]",
        "5",
    ],
);
const INSTANT: Kind = value(
    &["\"9000-06-01T18:00:00Z\"", "\"9000-06-01T18:00Z\"", "\"9000-06-01T18:00:00.123456789Z\""],
    &[
        "\"\"",
        "\"9000-06-01\"",
        "\"9000-06-01T18:00:00+00:00\"",
        "\"9000-06-01t18:00:00Z\"",
        "\"9000-06-01T18:00:00z\"",
        "\"9001-02-29T18:00:00Z\"",
        "\"9000-06-01T24:00:00Z\"",
        "\"9000-06-01T18:00:60Z\"",
        "\"1969-12-31T23:59:59Z\"",
        "\"10000-01-01T00:00:00Z\"",
        "\"9000-06-01T18:00:00Z\\u0000\"",
        "253402300799",
        "true",
    ],
);
/// An instant after every good [`INSTANT`].
const LATER: Kind = value(
    &["\"9999-12-31T23:59:59.999Z\"", "\"9500-01-01T00:00:00Z\""],
    &["\"\"", "\"9999-12-31\"", "\"10000-01-01T00:00:00Z\"", "0", "{}", "\"+9999-12-31T23:59:59Z\""],
);
const FLAG: Kind = value(&["true", "false"], &["0", "1", "\"true\"", "\"\"", "[]", "{}", "1e30"]);
const PRICE: Kind = Value {
    good: &["0", "-0", "12.5", "12.500", "1e2", "1E-2", "1000000000", "0.01"],
    bad: &[
        "-0.01",
        "-1",
        "1000000000.01",
        "1e30",
        "1e308",
        "-1e308",
        "1e-30",
        "0.00001",
        "9007199254740993",
        "\"12.5\"",
        "true",
        "[]",
        "{}",
    ],
    beyond: &[],
    of_event: &["0.001", "12.505"],
};

const fn text(good: &'static [&'static str]) -> Kind {
    value(good, &["\"x\\u0000\"", "5", "-0", "1e30", "false", "[]", "{}", "[\"x\"]"])
}

/// A whole number from 1 on.
const fn whole(good: &'static [&'static str], beyond: &'static [&'static str]) -> Kind {
    Value {
        good,
        bad: &[
            "0",
            "-0",
            "-1",
            "10.5",
            "0.001",
            "1e-1",
            "1e30",
            "1e308",
            "9007199254740993.5",
            "\"1\"",
            "true",
            "[1]",
            "{}",
        ],
        beyond,
        of_event: &[],
    }
}

const fn one_of(good: &'static [&'static str]) -> Kind {
    value(good, &["\"\"", "\"published\"", "\"PUBLISHED \"", "\"PUBLISHED\\u0000\"", "0", "true", "[]", "{}"])
}

/// The id of a thing that must be there.
const fn thing(good: &'static [&'static str], elsewhere: &'static [&'static str]) -> Kind {
    Value { good, bad: &["\"\"", "\"\\u0000\"", "5", "1e30", "false", "[]", "{}"], beyond: &[], of_event: elsewhere }
}

const NO_SEAT: &[&str] = &["\"nothing\"", "\"$event\"", "\"ttype_0000000000001\"", "\"$seat \""];
const SEAT: Kind = thing(&["\"$seat\"", "\"$free\""], NO_SEAT);
const EVENT: Kind = value(
    &["\"$event\""],
    &[
        "\"\"",
        "\"\\u0000\"",
        "\"nothing\"",
        "\"$seat\"",
        "\"event_0000000000001\"",
        "\"$event\\u0000\"",
        "5",
        "[]",
        "{}",
    ],
);

pub(crate) const EVENT_FIELDS: &[Field] = &[
    must("title", TEXT_OF_3),
    or_null("description", TEXT_OF_5),
    or_null("location", TEXT_OF_3),
    may(
        "currency",
        value(&["\"EUR\"", "\"JPY\""], &["\"EU\"", "\"EURO\"", "\"eur\"", "\"ZZZ\"", "\"EU\\u0000\"", "978", "{}"]),
    ),
    may(
        "timezone",
        value(&["\"UTC\"", "\"Europe/Berlin\""], &["\"\"", "\"Nowhere\"", "\"../etc/passwd\"", "\"UTC\\u0000\"", "1"]),
    ),
    must("startDate", INSTANT),
    may("endDate", LATER),
    must(
        "slug",
        value(
            &["\"s$n\"", "\"s-$n\""],
            &["\"\"", "\"A\"", "\"a--b\"", "\"-a\"", "\"a-\"", "\"a b\"", "\"ä\"", "\"a\\n\"", "\"a\\u0000\"", "7"],
        ),
    ),
    may("coverImage", URI),
    may("isPublic", FLAG),
    may("status", one_of(&["\"PUBLISHED\"", "\"DRAFTED\""])),
    must("deliveryMethod", one_of(&["\"DIGITAL\"", "\"PHYSICAL\""])),
    may("shippingCountries", List(&TEXT, 0)),
    may("acceptsCompany", FLAG),
];

const FREE: Kind = value(
    &["null", "5", "\"x\"", "[]", "{\"a\":[1e30,{\"b\":null}]}", "{\"a\":1,\"a\":2}", "-0", "9007199254740993"],
    &["\"\\u0000\"", "[[\"\\u0000\"]]", "{\"\\u0000\":1}", "{\"a\":{\"b\":\"x\\u0000\"}}"],
);

pub(crate) const SETTINGS_FIELDS: &[Field] = &[
    may("tags", List(&TEXT, 0)),
    may("isFeatured", FLAG),
    or_null("locationMetadata", FREE),
    or_null("trackingPixels", FREE),
    may("disableOrganizerOrderNotifications", FLAG),
];

pub(crate) const TICKET_TYPE_FIELDS: &[Field] = &[
    must("name", TEXT_OF_2),
    must("price", PRICE),
    must("quantity", whole(&["1", "1.0", "1e2", "10000000"], &["10000001", "9007199254740993"])),
    may("description", TEXT),
    may("status", one_of(&["\"ON_SALE\"", "\"ONLY_VISIBLE_TO_OWNER\""])),
    may("displayRemaining", FLAG),
    or_null("validityDays", whole(&["1", "2e0", "9007199254740993"], &["1e19"])),
    or_null("validityHours", whole(&["1", "10.0", "9223372036854775807"], &["9223372036854775808"])),
    may("accessAreas", List(&TEXT, 0)),
    may("maxPerOrder", whole(&["1", "100", "1e2"], &["101", "1e3"])),
    may("sortOrder", value(&["0", "-0", "-5", "1e2", "9007199254740993"], &["0.5", "1e19", "\"1\"", "true", "[]"])),
    or_null("ticketText", TEXT),
    or_null("ticketLogo", URI),
    or_null("validFrom", INSTANT),
    or_null("validUntil", LATER),
    may("allowedDates", List(&INSTANT, 0)),
    or_null("saleStartDate", INSTANT),
    or_null("saleEndDate", LATER),
];

const fn customer(name: &'static str, fields: &'static [Field]) -> Field {
    must(name, Object(fields))
}

pub(crate) const ORDER_FIELDS: &[Field] = &[
    must("eventId", EVENT),
    customer(
        "customer",
        &[must("email", EMAIL), must("name", TEXT_OF_1), or_null("companyName", TEXT), or_null("locale", TEXT)],
    ),
    must("items", List(&Object(&[must("ticketId", SEAT), must("quantity", whole(&["1", "2.0", "1e1"], &["101"]))]), 1)),
    or_null("discountCode", value(&["\"always\"", "\"ALWAYS\""], &["\"ALWAYS\\u0000\"", "5", "[]", "{}"])),
    or_null("affiliateCode", TEXT),
    or_null("language", TEXT),
    or_null(
        "shippingAddress",
        Object(&[
            must("street", TEXT_OF_1),
            must("zip", TEXT_OF_1),
            must("city", TEXT_OF_1),
            must("country", value(&["\"DE\"", "\"🎷🎷\""], &["\"D\"", "\"DEU\"", "\"\"", "\"D\\u0000\"", "49"])),
        ]),
    ),
    may("checkoutRedirectUrls", Object(&[must("success", URI), must("failure", URI), must("cancel", URI)])),
];

pub(crate) const ISSUE_FIELDS: &[Field] = &[
    must("ticketId", thing(&["\"$seat\"", "\"$free\""], NO_SEAT)),
    customer("customer", &[must("email", EMAIL), must("name", TEXT_OF_1), or_null("locale", TEXT)]),
    must("quantity", whole(&["1", "2.0", "1e1"], &["11", "1e2"])),
];

/// Its good codes are of no ticket: who says so has read all the rest.
pub(crate) const SCAN_FIELDS: &[Field] = &[
    must(
        "code",
        value(&["\"nothing\"", "\"%\"", "\"' OR ''='\"", "\" \""], &["\"\"", "\"x\\u0000\"", "5", "[]", "{}"]),
    ),
    may("eventId", thing(&["\"$event\"", "\"nothing\""], &[])),
];

pub(crate) const DISCOUNT_FIELDS: &[Field] = &[
    must("eventId", EVENT),
    must(
        "code",
        value(
            &["\"COD$n\"", "\"code-$n\""],
            &["\"C\"", "\"🎷🎷\"", "\"123456789012345678901\"", "\"CODE\\u0000\"", "123", "[]"],
        ),
    ),
    must("type", one_of(&["\"PERCENTAGE\"", "\"FIXED_AMOUNT\""])),
    must("value", value(&["0", "-0", "100", "1e1", "12.5"], &["-1", "-0.01", "1e30", "1e-30", "\"5\"", "true", "[]"])),
    may("description", TEXT),
    or_null("usageLimit", whole(&["1", "1e7", "5.0"], &["10000001"])),
    must("validFrom", INSTANT),
    must("validTo", LATER),
    or_null("minimumPurchase", PRICE),
    may("applicableTicketTypes", List(&SEAT, 0)),
    may("isActive", FLAG),
    may("autoApply", value(&["false"], &["0", "\"false\"", "[]"])),
];

pub(crate) const VALIDATE_FIELDS: &[Field] = &[
    must("eventId", EVENT),
    must("code", TEXT_OF_1),
    must("orderAmount", value(&["0", "12.5", "1e9"], &["-1", "1e30", "1e-30", "0.00001", "\"5\"", "[]"])),
    must(
        "ticketItems",
        List(&Object(&[must("ticketId", SEAT), must("quantity", whole(&["1", "1e1"], &[])), must("price", PRICE)]), 0),
    ),
];

const NOTIFICATION: Kind =
    one_of(&["\"order.completed\"", "\"order.cancelled\"", "\"ticket.issued\"", "\"ticket.checked_in\""]);

pub(crate) const WEBHOOK_FIELDS: &[Field] = &[
    must(
        "url",
        value(
            &["\"https://example.com/hook?a=%20\"", "\"https://hooks.example.org:8443/\""],
            &[
                "\"\"",
                "\"/a\"",
                "\"example.com\"",
                "\"http://example.com/\"",
                "\"https:///a\"",
                "\"https://a b/\"",
                "\"https://example.com/\\r\\nX: y\"",
                "\"urn:x:y\"",
                "\"javascript:alert(1)\"",
                "\"https://example.com/\\u0000\"",
                "1",
                "[]",
            ],
        ),
    ),
    or_null("description", TEXT),
    must("events", List(&NOTIFICATION, 1)),
    may("enabled", FLAG),
];
