//! Limits on the value of one field. Requests are checked against them, and the OpenAPI document states them.

use serde_json::{Value, json};

use super::declare::schema::NO_NUL_PATTERN;
use super::picture::{MAX_PICTURE_BYTES, MAX_SIDE, is_data_uri, is_picture};
use super::text::{
    FOREIGN_CODE_PATTERN, SLUG_PATTERN, TIME_OF_DAY_PATTERN, is_email, is_https_url, is_logo, is_safe_link, is_slug,
    is_uri, is_uuid, minutes_of_day,
};

/// A limit on values of one type.
pub(crate) trait Limit: Copy + 'static {
    /// What is wrong with a value beyond the limit. It completes the sentence `<field> …`.
    fn message(self) -> String;

    /// Adds the keywords of JSON Schema for the limit.
    fn describe(self, schema: &mut Value);
}

/// The greatest length of a text of one line, such as a name or a title, in characters.
pub(crate) const LINE_LENGTH: usize = 255;

/// The greatest length of an e-mail address, in characters.
pub(crate) const EMAIL_LENGTH: usize = 254;

/// The greatest length of a description, in characters.
pub(crate) const DESCRIPTION_LENGTH: usize = 20_000;

/// The greatest length of a tag, an access area and the like, in characters.
pub(crate) const ENTRY_LENGTH: usize = 100;

/// The greatest number of lines of the address of a location.
pub(crate) const ADDRESS_LINES: usize = 5;

/// The greatest number of lines of a text for which only its length is limited.
pub(crate) const ANY_LINES: usize = usize::MAX;

/// The greatest length of a page name, in characters.
pub(crate) const PAGE_NAME_LENGTH: usize = 60;

/// The greatest length of a URL, in characters.
pub(crate) const URL_LENGTH: usize = 2048;

#[derive(Debug, Clone, Copy)]
pub(crate) enum TextLimit {
    /// At least this many characters.
    MinLength(usize),
    /// At most this many characters.
    MaxLength(usize),
    /// Exactly this many characters.
    ExactLength(usize),
    /// Several lines, at most this many. Other texts are one line: see [`TextKind`](super::text_kind::TextKind).
    Lines(usize),
    /// The code of a ticket as a scanner reads it or a person types it. It may contain any character.
    TicketCode,
    /// The code of a ticket that another seller has sold: visible ASCII characters.
    ForeignCode,
    /// A two-letter country code (ISO 3166-1 alpha-2). Only the length is checked.
    CountryCode,
    /// Lower-case letters and digits, in groups joined by single hyphens.
    Slug,
    /// A time of day: `HH:MM`.
    TimeOfDay,
    /// An e-mail address.
    Email,
    /// A UUID (RFC 9562), with hyphens.
    Uuid,
    /// A URI with a scheme (RFC 3986).
    Uri,
    /// A URI to which a browser can be sent: no script, no local data, and no user of a host.
    SafeLink,
    /// An `https` URL with a host and without a user.
    HttpsUrl,
    /// An `https` URL, or a `data:` URI of a PNG or JPEG image.
    Logo,
    /// If it is a `data:` URI, it contains a picture that can be drawn.
    Picture,
    /// A URL to which webhooks can be sent. `https::endpoint_url` checks it, since development settings allow more.
    WebhookUrl,
}

impl TextLimit {
    pub(crate) fn allows(self, text: &str) -> bool {
        match self {
            Self::MinLength(1) => !text.is_empty(),
            Self::MinLength(least) => text.chars().count() >= least,
            Self::MaxLength(most) => text.len() <= most || text.chars().count() <= most,
            Self::ExactLength(length) => text.chars().count() == length,
            Self::Lines(most) => text.split('\n').count() <= most,
            Self::CountryCode => text.chars().count() == 2,
            Self::Slug => is_slug(text),
            Self::TimeOfDay => minutes_of_day(text).is_some(),
            Self::Email => is_email(text),
            Self::Uuid => is_uuid(text),
            Self::Uri => is_uri(text),
            Self::SafeLink => is_safe_link(text),
            Self::HttpsUrl => is_https_url(text),
            Self::Logo => is_logo(text),
            Self::Picture => !is_data_uri(text) || is_picture(text),
            Self::ForeignCode => text.bytes().all(|byte| byte.is_ascii_graphic()),
            Self::WebhookUrl | Self::TicketCode => true,
        }
    }
}

impl Limit for TextLimit {
    fn message(self) -> String {
        match self {
            Self::MinLength(1) => "must not be empty".to_owned(),
            Self::MinLength(least) => format!("must have at least {least} characters"),
            Self::MaxLength(most) => format!("must have at most {most} characters"),
            Self::ExactLength(length) => format!("must have exactly {length} characters"),
            Self::Lines(most) => format!("must have at most {most} lines"),
            Self::TicketCode => "must be the code of a ticket".to_owned(),
            Self::ForeignCode => "must have visible ASCII characters only, without spaces".to_owned(),
            Self::CountryCode => "must be a two-letter country code (ISO 3166-1 alpha-2), such as DE".to_owned(),
            Self::Slug => "must be lower-case letters and digits, in groups joined by single hyphens".to_owned(),
            Self::TimeOfDay => "must be a time of day from 00:00 to 23:59, such as 06:00".to_owned(),
            Self::Email => "must be an e-mail address".to_owned(),
            Self::Uuid => "must be a UUID (RFC 9562), such as 0192f0c1-2a3b-7c4d-8e5f-0123456789ab".to_owned(),
            Self::Uri | Self::WebhookUrl => "must be a URI with a scheme (RFC 3986)".to_owned(),
            Self::SafeLink => "must be an http or https URL with a host and without a user, or the link of an app: no javascript:, data: or file: \
                 URI, for example"
                .to_owned(),
            Self::HttpsUrl => "must be an https URL with a host and without a user".to_owned(),
            Self::Logo => "must be an https URL with a host and without a user, or a data: URI of an image/png or image/jpeg (RFC 2397)"
                .to_owned(),
            Self::Picture => format!(
                "must contain a whole PNG or JPEG file of at most {MAX_PICTURE_BYTES} bytes, and of at most {MAX_SIDE} pixels in width and height"
            ),
        }
    }

    fn describe(self, schema: &mut Value) {
        match self {
            Self::MinLength(least) => schema["minLength"] = json!(least),
            Self::MaxLength(most) => schema["maxLength"] = json!(most),
            Self::ExactLength(length) => {
                schema["minLength"] = json!(length);
                schema["maxLength"] = json!(length);
            }
            Self::CountryCode => Self::ExactLength(2).describe(schema),
            Self::Slug => schema["pattern"] = json!(SLUG_PATTERN),
            Self::TimeOfDay => schema["pattern"] = json!(TIME_OF_DAY_PATTERN),
            Self::Email => schema["format"] = json!("email"),
            Self::Uuid => schema["format"] = json!("uuid"),
            Self::Uri | Self::HttpsUrl | Self::Logo | Self::WebhookUrl => schema["format"] = json!("uri"),
            // JSON Schema has no portable keyword for it: the documentation of the field says it.
            Self::SafeLink | Self::Lines(_) | Self::Picture => {}
            Self::TicketCode => schema["pattern"] = json!(NO_NUL_PATTERN),
            Self::ForeignCode => schema["pattern"] = json!(FOREIGN_CODE_PATTERN),
        }
    }
}

/// A limit on a number, or on an amount in major units.
#[derive(Debug, Clone, Copy)]
pub(crate) enum NumberLimit {
    /// At least this number.
    Min(i64),
    /// At most this number.
    Max(i64),
    /// More than this number.
    Above(i64),
    /// No limit: an amount that has too many digits is rounded when it is read.
    Rounded,
}

impl Limit for NumberLimit {
    fn message(self) -> String {
        match self {
            Self::Min(least) => format!("must be at least {least}"),
            Self::Max(most) => format!("must be at most {most}"),
            Self::Above(bound) => format!("must be more than {bound}"),
            Self::Rounded => String::new(),
        }
    }

    fn describe(self, schema: &mut Value) {
        match self {
            Self::Min(least) => schema["minimum"] = json!(least),
            Self::Max(most) => schema["maximum"] = json!(most),
            Self::Above(bound) => schema["exclusiveMinimum"] = json!(bound),
            Self::Rounded => {}
        }
    }
}

/// A limit on a list. `L` is what can limit its entries.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ListLimit<L: 'static> {
    /// At least this many entries.
    MinItems(usize),
    /// At most this many entries.
    MaxItems(usize),
    /// No two entries are equal.
    Unique,
    /// Limits on each entry.
    Each(&'static [L]),
}

impl<L: Limit> Limit for ListLimit<L> {
    fn message(self) -> String {
        match self {
            Self::MinItems(1) => "must have at least one entry".to_owned(),
            Self::MinItems(least) => format!("must have at least {least} entries"),
            Self::MaxItems(most) => format!("must have at most {most} entries"),
            Self::Unique => "must not repeat an earlier entry".to_owned(),
            Self::Each(limits) => limits.first().map_or_else(String::new, |limit| limit.message()),
        }
    }

    fn describe(self, schema: &mut Value) {
        match self {
            Self::MinItems(least) => schema["minItems"] = json!(least),
            Self::MaxItems(most) => schema["maxItems"] = json!(most),
            Self::Unique => schema["uniqueItems"] = json!(true),
            Self::Each(limits) => limits.iter().for_each(|limit| limit.describe(&mut schema["items"])),
        }
    }
}

/// The limit of types that have none.
#[derive(Debug, Clone, Copy)]
pub(crate) enum NoLimit {}

impl Limit for NoLimit {
    fn message(self) -> String {
        match self {}
    }

    fn describe(self, _: &mut Value) {
        match self {}
    }
}
