//! The fields of each request body, with valid and invalid values.

use super::body_generator::Schema::{Object, Value};
use super::body_generator::{Field, Schema, list, nullable, optional, required, set, value};

const TEXT: Schema = text(&["\"\"", "\"x\"", "\"\\ud83d\\ude00 \\u202e\\n\"", "\"<script>' OR 1=1;--\""]);
/// A text of at least one character.
const TEXT_FROM_1: Schema =
    value(&["\"x\"", "\"🎷\""], &["\"\"", "\" \"", "\"x\\ny\"", "\"x\\u0000\"", "7", "null", "{}"]);
const TEXT_FROM_2: Schema = value(&["\"ab\"", "\"🎷🎷\""], &["\"a\"", "\"🎷\"", "\"ab\\u0000\"", "7", "[\"ab\"]"]);
const TEXT_FROM_3: Schema =
    value(&["\"abc\"", "\"äöü\""], &["\"ab\"", "\" ab \"", "\"🎷🎷\"", "\"abc\\u0000\"", "7", "[]"]);
const TEXT_FROM_5: Schema =
    value(&["\"abcde\"", "\"a\\r\\n bc\""], &["\"abcd\"", "\"     \"", "\"\"", "\"abcde\\u0000\"", "0", "false"]);
const URI: Schema = value(
    &["\"https://example.com/a?b=%20#c\"", "\"urn:x:y\"", "\"myapp://paid\""],
    &[
        "\"\"",
        "\"javascript:alert(1)\"",
        "\"JavaScript:x\"",
        "\"data:text/html,x\"",
        "\"vbscript:x\"",
        "\"file:///etc/passwd\"",
        "\"blob:x\"",
        "\"/a\"",
        "\"//a\"",
        "\"https://a b\"",
        "\"https://a/%zz\"",
        "\"https://a\\r\\nX: y\"",
        "\"a:b\\u0000\"",
        "1",
    ],
);
/// A PNG file of one gray pixel.
const PIXEL: &str = "\"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==\"";
const LOGO: Schema = value(
    &["\"https://example.com/a?b=%20#c\"", PIXEL],
    &[
        "\"\"",
        "\"/a\"",
        "\"urn:x:y\"",
        "\"javascript:alert(1)\"",
        "\"data:image/svg+xml,x\"",
        "\"data:image/png\"",
        "\"data:image/png,a b\"",
        "\"data:image/png;base64,iVBORw0KGgo=\"",
        "\"data:image/jpeg,%ff\"",
        "\"http://example.com/a\"",
        "\"https://a/\\u0000\"",
        "1",
    ],
);
const EMAIL: Schema = value(
    &[
        "\"ada@example.com\"",
        "\"ADA@example.com\"",
        "\"x+$n@example.org\"",
        "\"Ünal@example.com\"",
        "\"o'neill@example.ie\"",
    ],
    &[
        "\"\"",
        "\"ada\"",
        "\"ada@\"",
        "\"@example.com\"",
        "\"a@b@example.com\"",
        "\"a @example.com\"",
        "\"a@exam\\nple.com\"",
        "\"a@example.com\\u0000\"",
        "\"a@localhost\"",
        "\"Ada <a@example.com>\"",
        "\"<a@example.com>\"",
        "\"\\\"a@b\\\"@example.com\"",
        "\"a@exam\\tple.com\"",
        "\"a@[127.0.0.1]\"",
        "\"a@example..com\"",
        "[\"a@example.com\"]",
        "5",
    ],
);
const INSTANT: Schema = value(
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
/// One of two different instants.
const DATE: Schema = value(
    &["\"9000-06-01T18:00:00Z\"", "\"9000-06-02T18:00Z\""],
    &["\"\"", "\"9000-06-01\"", "\"10000-01-01T00:00:00Z\"", "0", "{}"],
);
/// An instant after every valid [`INSTANT`].
const LATER: Schema = value(
    &["\"9999-12-31T23:59:59.999Z\"", "\"9500-01-01T00:00:00Z\""],
    &["\"\"", "\"9999-12-31\"", "\"10000-01-01T00:00:00Z\"", "0", "{}", "\"+9999-12-31T23:59:59Z\""],
);
const FLAG: Schema = value(&["true", "false"], &["0", "1", "\"true\"", "\"\"", "[]", "{}", "1e30"]);
const PRICE: Schema = Value {
    valid: &["0", "-0", "12.5", "12.500", "1e2", "1E-2", "1000000000", "0.01"],
    invalid: &[
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
    too_large: &[],
    invalid_for_event: &["0.001", "12.505"],
};

const fn text(valid: &'static [&'static str]) -> Schema {
    value(valid, &["\"x\\u0000\"", "\"x\\u0001y\"", "\"x\\ty\"", "5", "-0", "1e30", "false", "[]", "{}", "[\"x\"]"])
}

/// An integer of at least 1.
const fn positive_integer(valid: &'static [&'static str], too_large: &'static [&'static str]) -> Schema {
    Value {
        valid,
        invalid: &[
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
        too_large,
        invalid_for_event: &[],
    }
}

const fn one_of(valid: &'static [&'static str]) -> Schema {
    value(valid, &["\"\"", "\"published\"", "\"PUBLISHED \"", "\"PUBLISHED\\u0000\"", "0", "true", "[]", "{}"])
}

/// The id of an existing resource.
const fn id(valid: &'static [&'static str], invalid_for_event: &'static [&'static str]) -> Schema {
    Value {
        valid,
        invalid: &["\"\"", "\"\\u0000\"", "5", "1e30", "false", "[]", "{}"],
        too_large: &[],
        invalid_for_event,
    }
}

const UNKNOWN_TICKET_TYPES: &[&str] = &["\"nothing\"", "\"$event\"", "\"ttype_0000000000001\"", "\"$ticket_type \""];
const TICKET_TYPE: Schema = id(&["\"$ticket_type\"", "\"$free\""], UNKNOWN_TICKET_TYPES);
const EVENT: Schema = value(
    &["\"$event\""],
    &[
        "\"\"",
        "\"\\u0000\"",
        "\"nothing\"",
        "\"$ticket_type\"",
        "\"event_0000000000001\"",
        "\"$event\\u0000\"",
        "5",
        "[]",
        "{}",
    ],
);

pub(crate) const EVENT_FIELDS: &[Field] = &[
    required("title", TEXT_FROM_3),
    nullable("description", TEXT_FROM_5),
    nullable("location", TEXT_FROM_3),
    optional(
        "currency",
        value(&["\"EUR\"", "\"JPY\""], &["\"EU\"", "\"EURO\"", "\"eur\"", "\"ZZZ\"", "\"EU\\u0000\"", "978", "{}"]),
    ),
    optional(
        "timezone",
        value(&["\"UTC\"", "\"Europe/Berlin\""], &["\"\"", "\"Nowhere\"", "\"../etc/passwd\"", "\"UTC\\u0000\"", "1"]),
    ),
    required("startDate", INSTANT),
    optional("endDate", LATER),
    required(
        "slug",
        value(
            &["\"s$n\"", "\"s-$n\""],
            &[
                "\"\"",
                "\"A\"",
                "\"a--b\"",
                "\"-a\"",
                "\"a-\"",
                "\"a b\"",
                "\"a_b\"",
                "\"ä\"",
                "\"a\\n\"",
                "\"a\\u0000\"",
                "7",
            ],
        ),
    ),
    optional("coverImage", URI),
    optional("isPublic", FLAG),
    optional("status", one_of(&["\"PUBLISHED\"", "\"DRAFTED\""])),
    required("deliveryMethod", one_of(&["\"DIGITAL\"", "\"PHYSICAL\""])),
    optional("shippingCountries", set(&TEXT)),
    optional("acceptsCompany", FLAG),
    nullable("reference", REFERENCE),
    optional("metadata", METADATA),
];

/// A reference, which may be null.
const REFERENCE: Schema = value(&["\"x\"", "\"🎷\""], &["\"\"", "\" \"", "\"x\\ny\"", "\"x\\u0000\"", "7", "{}"]);

/// Metadata, and values whose error is about the whole of it.
const METADATA: Schema = value(
    &["{}", "{\"crm\": \"17\"}", "{\"🎷.[0]\": \"\"}"],
    &["5", "[]", "\"x\"", "{\"\": \"x\"}", "{\"\\u0000\": \"a\"}"],
);

/// Any JSON value without the character U+0000.
const ANY_JSON: Schema = value(
    &["null", "5", "\"x\"", "[]", "{\"a\":[1e30,{\"b\":null}]}", "{\"a\":1,\"a\":2}", "-0", "9007199254740993"],
    &["\"\\u0000\"", "[[\"\\u0000\"]]", "{\"\\u0000\":1}", "{\"a\":{\"b\":\"x\\u0000\"}}"],
);

pub(crate) const SETTINGS_FIELDS: &[Field] = &[
    optional("tags", set(&TEXT)),
    optional("isFeatured", FLAG),
    nullable("locationMetadata", ANY_JSON),
    nullable("trackingPixels", ANY_JSON),
    optional("disableOrganizerOrderNotifications", FLAG),
    nullable(
        "dayStartsAt",
        value(&["\"00:00\"", "\"23:59\""], &["\"\"", "\"24:00\"", "\"6:00\"", "\" 06:00\"", "360"]),
    ),
];

pub(crate) const TICKET_TYPE_FIELDS: &[Field] = &[
    required("name", TEXT_FROM_2),
    required("price", PRICE),
    required("quantity", positive_integer(&["1", "1.0", "1e2", "10000000"], &["10000001", "9007199254740993"])),
    optional("description", TEXT),
    optional("status", one_of(&["\"ON_SALE\"", "\"ONLY_VISIBLE_TO_OWNER\""])),
    optional("displayRemaining", FLAG),
    nullable("validityDays", positive_integer(&["1", "2e0", "9007199254740993"], &["1e19"])),
    nullable("validityHours", positive_integer(&["1", "10.0", "9223372036854775807"], &["9223372036854775808"])),
    optional("accessAreas", set(&TEXT)),
    optional("maxPerOrder", positive_integer(&["1", "100", "1e2"], &["101", "1e3"])),
    optional(
        "sortOrder",
        value(&["0", "-0", "-5", "1e2", "9007199254740993"], &["0.5", "1e19", "\"1\"", "true", "[]"]),
    ),
    nullable("ticketText", TEXT),
    nullable("ticketLogo", LOGO),
    nullable("validFrom", INSTANT),
    nullable("validUntil", LATER),
    optional("allowedDates", set(&DATE)),
    nullable("saleStartDate", INSTANT),
    nullable("saleEndDate", LATER),
    nullable("reference", REFERENCE),
    optional("metadata", METADATA),
];

const fn customer(name: &'static str, fields: &'static [Field]) -> Field {
    required(name, Object(fields))
}

pub(crate) const ORDER_FIELDS: &[Field] = &[
    required("eventId", EVENT),
    customer(
        "customer",
        &[
            required("email", EMAIL),
            required("name", TEXT_FROM_1),
            nullable("companyName", TEXT),
            nullable("locale", TEXT),
            nullable("metadata", METADATA),
        ],
    ),
    required(
        "items",
        list(
            &Object(&[
                required("ticketId", TICKET_TYPE),
                required("quantity", positive_integer(&["1", "2.0", "1e1"], &["101"])),
            ]),
            1,
        ),
    ),
    nullable("discountCode", value(&["\"always\"", "\"ALWAYS\""], &["\"ALWAYS\\u0000\"", "5", "[]", "{}"])),
    nullable("affiliateCode", TEXT),
    nullable("reference", REFERENCE),
    nullable("metadata", METADATA),
    nullable("language", TEXT),
    nullable(
        "shippingAddress",
        Object(&[
            required("street", TEXT_FROM_1),
            required("zip", TEXT_FROM_1),
            required("city", TEXT_FROM_1),
            required("country", value(&["\"DE\"", "\"🎷🎷\""], &["\"D\"", "\"DEU\"", "\"\"", "\"D\\u0000\"", "49"])),
        ]),
    ),
    optional(
        "checkoutRedirectUrls",
        Object(&[required("success", URI), required("failure", URI), required("cancel", URI)]),
    ),
];

pub(crate) const ISSUE_FIELDS: &[Field] = &[
    required("ticketId", TICKET_TYPE),
    customer("customer", &[required("email", EMAIL), required("name", TEXT_FROM_1), nullable("locale", TEXT)]),
    required("quantity", positive_integer(&["1", "2.0", "1e1"], &["11", "1e2"])),
];

pub(crate) const ALLOCATION_FIELDS: &[Field] = &[
    required("name", TEXT_FROM_1),
    // Enough for the labels.
    required("quantity", positive_integer(&["10", "2e1", "11.0"], &["10001", "1e5"])),
    nullable("labels", list(&TEXT_FROM_1, 0)),
    nullable("reference", REFERENCE),
    nullable("metadata", METADATA),
];

/// Each code is a new one.
pub(crate) const IMPORT_FIELDS: &[Field] = &[
    required("name", TEXT_FROM_1),
    nullable("notify", FLAG),
    required(
        "tickets",
        list(
            &Object(&[
                required(
                    "code",
                    value(
                        &["\"0040$n\"", "\"'OR''='$n\"", "\"https://example.com/?t=%$n#\""],
                        &["\"\"", "\"12345\"", "\"12345\\u0000\"", "\"1234567ä\"", "\"123 \\n456\"", "1234567", "[]"],
                    ),
                ),
                nullable("label", REFERENCE),
                nullable("holder", Object(&[required("email", EMAIL), required("name", TEXT_FROM_1)])),
            ]),
            1,
        ),
    ),
];

/// The valid codes belong to no ticket: the server says so only after it has checked the other fields.
pub(crate) const SCAN_FIELDS: &[Field] = &[
    required(
        "code",
        value(&["\"nothing\"", "\"%\"", "\"' OR ''='\"", "\" \""], &["\"\"", "\"x\\u0000\"", "5", "[]", "{}"]),
    ),
    optional("eventId", id(&["\"$event\"", "\"nothing\""], &[])),
];

pub(crate) const DISCOUNT_FIELDS: &[Field] = &[
    required("eventId", EVENT),
    required(
        "code",
        value(
            &["\"COD$n\"", "\"code-$n\""],
            &["\"C\"", "\"🎷🎷\"", "\"123456789012345678901\"", "\"CODE\\u0000\"", "123", "[]"],
        ),
    ),
    required("type", one_of(&["\"PERCENTAGE\"", "\"FIXED_AMOUNT\""])),
    required(
        "value",
        value(&["0", "-0", "100", "1e1", "12.5"], &["-1", "-0.01", "1e30", "1e-30", "\"5\"", "true", "[]"]),
    ),
    optional("description", TEXT),
    nullable("usageLimit", positive_integer(&["1", "1e7", "5.0"], &["10000001"])),
    required("validFrom", INSTANT),
    required("validTo", LATER),
    nullable("minimumPurchase", PRICE),
    optional("applicableTicketTypes", set(&TICKET_TYPE)),
    optional("isActive", FLAG),
    optional("autoApply", value(&["false"], &["0", "\"false\"", "[]"])),
];

pub(crate) const VALIDATE_FIELDS: &[Field] = &[
    required("eventId", EVENT),
    required("code", TEXT_FROM_1),
    required("orderAmount", value(&["0", "12.5", "1e9", "1e30", "1e-30", "0.00001"], &["-1", "\"5\"", "[]"])),
    required(
        "ticketItems",
        list(
            &Object(&[
                required("ticketId", TICKET_TYPE),
                required("quantity", positive_integer(&["1", "1e1"], &[])),
                required("price", PRICE),
            ]),
            0,
        ),
    ),
];

const NOTIFICATION_TYPE: Schema = one_of(&[
    "\"order.completed\"",
    "\"order.cancelled\"",
    "\"ticket.issued\"",
    "\"ticket.checked_in\"",
    "\"refund.succeeded\"",
    "\"refund.failed\"",
    "\"dispute.opened\"",
    "\"dispute.closed\"",
    "\"payment.returned\"",
]);

pub(crate) const WEBHOOK_FIELDS: &[Field] = &[
    required(
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
    nullable("description", TEXT),
    required("events", list(&NOTIFICATION_TYPE, 1)),
    optional("enabled", FLAG),
];
