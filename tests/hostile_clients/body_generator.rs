//! Generates random request bodies from a description of their fields, and the errors that the server must find.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::common::random::Random;

/// The values of a field, as raw JSON.
pub(crate) enum Schema {
    Value {
        valid: &'static [&'static str],
        invalid: &'static [&'static str],
        /// Invalid too: beyond the upper bound of the field.
        too_large: &'static [&'static str],
        /// Invalid too, but the server finds the error only if it finds the event: the value belongs to another event,
        /// or has more decimals than the event's currency.
        invalid_for_event: &'static [&'static str],
    },
    List {
        items: &'static Schema,
        min_length: usize,
        /// Whether each entry may occur only once.
        is_set: bool,
    },
    Object(&'static [Field]),
}

pub(crate) struct Field {
    name: &'static str,
    schema: Schema,
    is_required: bool,
    is_nullable: bool,
}

pub(crate) const fn required(name: &'static str, schema: Schema) -> Field {
    Field { name, schema, is_required: true, is_nullable: false }
}

pub(crate) const fn optional(name: &'static str, schema: Schema) -> Field {
    Field { name, schema, is_required: false, is_nullable: false }
}

pub(crate) const fn nullable(name: &'static str, schema: Schema) -> Field {
    Field { name, schema, is_required: false, is_nullable: true }
}

pub(crate) const fn value(valid: &'static [&'static str], invalid: &'static [&'static str]) -> Schema {
    Schema::Value { valid, invalid, too_large: &[], invalid_for_event: &[] }
}

pub(crate) const fn list(items: &'static Schema, min_length: usize) -> Schema {
    Schema::List { items, min_length, is_set: false }
}

/// A list in which each entry may occur only once.
pub(crate) const fn set(items: &'static Schema) -> Schema {
    Schema::List { items, min_length: 0, is_set: true }
}

const NOT_AN_OBJECT: &[&str] = &["[]", "[{}]", "\"\"", "\"{}\"", "0", "-0", "1e30", "true"];
const NOT_A_LIST: &[&str] = &["{}", "{\"0\":1}", "\"\"", "\"[]\"", "0", "1e308", "false"];

#[derive(Clone, Copy)]
struct Member {
    name: &'static str,
    value: &'static str,
}

const fn member(name: &'static str, value: &'static str) -> Member {
    Member { name, value }
}

/// Members that no request has. The server ignores them, with any value.
const UNKNOWN_MEMBERS: &[Member] = &[
    member("id", "\"event_0000000000001\""),
    member("id", "5"),
    member("organizerId", "null"),
    member("sold", "-1"),
    member("usedCount", "1e308"),
    member("pageViews", "\"\\u0000\""),
    member("createdAt", "\"1999-01-01T00:00:00Z\""),
    member("\\u0000", "{}"),
    member("", "[[[]]]"),
    member("revision", "{\"a\":1,\"a\":2}"),
    member("__proto__", "{\"isAdmin\":true}"),
    member("total", "-0"),
];

/// Values that the JSON parser rejects.
const MALFORMED: &[&str] = &[
    "1e400",
    "-1e400",
    "1e99999999999999999999",
    "\"\\ud800\"",
    "\"\\udc00\\ud800\"",
    "\"\\ud800\\ud800\"",
    "\"\\x\"",
    "\"\u{1}\"",
    "\"\n\"",
    "01",
    "+1",
    "1.",
    ".5",
    "0x1",
    "NaN",
    "Infinity",
    "nul",
    "True",
    "'a'",
    "[1,]",
    "{\"a\":1,}",
    "{a:1}",
    "//",
    "\u{feff}",
];

/// Nested empty arrays.
pub(crate) fn nested_arrays(levels: usize) -> String {
    format!("{}{}", "[".repeat(levels), "]".repeat(levels))
}

/// What the server must do with a body.
pub(crate) enum Expected {
    Accepted,
    /// 422, with errors for exactly these fields, in alphabetical order.
    FieldErrors(Vec<String>),
    /// 400, because the body is not JSON.
    Malformed,
}

pub(crate) struct Body {
    pub(crate) text: String,
    pub(crate) expected: Expected,
}

/// A name that begins with `$` in the values of fields, and its replacement.
pub(crate) struct Placeholder<'a> {
    pub(crate) name: &'static str,
    pub(crate) replacement: &'a str,
}

struct FieldError {
    path: String,
    /// Whether the server finds the error only if it finds the event.
    needs_event: bool,
}

/// Generates bodies for one operation.
pub(crate) struct BodyGenerator<'a> {
    pub(crate) random: Random,
    placeholders: &'a [Placeholder<'a>],
    /// The last replacement of the placeholder `$n`, which is a new number for each value.
    number: usize,
    /// One in this many fields is invalid.
    error_interval: Option<usize>,
    /// The errors of the current body.
    errors: Vec<FieldError>,
    is_event_unknown: bool,
    /// The invalid values that were used, as path and value.
    tried: BTreeSet<String>,
}

impl<'a> BodyGenerator<'a> {
    pub(crate) fn new(seed: u64, placeholders: &'a [Placeholder<'a>]) -> Self {
        Self {
            random: Random::new(seed),
            placeholders,
            number: 0,
            error_interval: None,
            errors: Vec::new(),
            is_event_unknown: false,
            tried: BTreeSet::new(),
        }
    }

    /// Generates a valid body. In an update, no field is required.
    pub(crate) fn valid_body(&mut self, fields: &'static [Field], is_update: bool) -> String {
        self.error_interval = None;
        self.object(fields, "", is_update)
    }

    /// Generates a body with any number of errors. In an update, no field is required.
    pub(crate) fn random_body(&mut self, fields: &'static [Field], is_update: bool) -> Body {
        self.error_interval = self.random.pick(&[None, Some(30), Some(10), Some(3)]);
        self.errors.clear();
        self.is_event_unknown = false;
        let mut text = if self.random.one_in(50) && self.error_interval.is_some() {
            self.add_error("");
            self.random.pick(NOT_AN_OBJECT).to_owned()
        } else {
            self.object(fields, "", is_update)
        };
        if self.random.one_in(12) {
            text = self.malformed(&text);
            return Body { text, expected: Expected::Malformed };
        }
        let is_event_unknown = self.is_event_unknown;
        let found = self.errors.drain(..).filter(|error| !(is_event_unknown && error.needs_event));
        let mut paths: Vec<String> = found.map(|error| error.path).collect();
        paths.sort_unstable();
        let expected = if paths.is_empty() { Expected::Accepted } else { Expected::FieldErrors(paths) };
        Body { text, expected }
    }

    /// Asserts that each invalid value of each field was used.
    pub(crate) fn assert_all_tried(&self, fields: &'static [Field]) {
        let mut untried = Vec::new();
        for field in fields {
            self.collect_untried(&field.schema, field.name, &mut untried);
        }
        assert!(untried.is_empty(), "never tried: {untried:?}");
    }

    fn collect_untried(&self, schema: &'static Schema, path: &str, untried: &mut Vec<String>) {
        match schema {
            Schema::Value { invalid, too_large, invalid_for_event, .. } => {
                let all = invalid.iter().chain(*too_large).chain(*invalid_for_event);
                let all = all.map(|raw| format!("{path} {raw}"));
                untried.extend(all.filter(|value| !self.tried.contains(value)));
            }
            Schema::List { items, .. } => self.collect_untried(items, path, untried),
            Schema::Object(fields) => {
                for field in *fields {
                    self.collect_untried(&field.schema, &format!("{path}.{}", field.name), untried);
                }
            }
        }
    }

    fn add_error(&mut self, path: &str) {
        self.errors.push(FieldError { path: path.to_owned(), needs_event: false });
    }

    /// Decides whether the next field is invalid.
    fn next_is_invalid(&mut self) -> bool {
        self.error_interval.is_some_and(|interval| self.random.one_in(interval))
    }

    /// Generates an object whose members are in a random order.
    fn object(&mut self, fields: &'static [Field], path: &str, is_update: bool) -> String {
        let mut members = Vec::new();
        for Field { name, schema, is_required, is_nullable } in fields {
            let path = if path.is_empty() { (*name).to_owned() } else { format!("{path}.{name}") };
            let is_required = *is_required && !is_update;
            if self.next_is_invalid() && self.random.one_in(2) {
                // The member is missing, null, or repeated.
                match self.random.below(3) {
                    0 if is_required => {}
                    1 if !is_nullable => members.push(format!("\"{name}\":null")),
                    _ => {
                        let error_interval = self.error_interval.take();
                        for _ in 0..2 {
                            members.push(format!("\"{name}\":{}", self.value(schema, &path)));
                        }
                        self.error_interval = error_interval;
                        self.add_error(&path);
                        continue;
                    }
                }
                self.is_event_unknown |= path == "eventId";
                self.add_error(&path);
            } else if is_required || self.random.below(3) > 0 {
                if *is_nullable && self.random.one_in(6) {
                    members.push(format!("\"{name}\":null"));
                } else {
                    members.push(format!("\"{name}\":{}", self.value(schema, &path)));
                }
            }
        }
        for _ in 0..self.random.below(3) {
            let Member { name, value } = self.random.pick(UNKNOWN_MEMBERS);
            if !fields.iter().any(|field| field.name == name) {
                members.push(format!("\"{name}\":{value}"));
            }
        }
        if !members.is_empty() {
            let first = self.random.below(members.len());
            members.rotate_left(first);
        }
        let blank = self.random.pick(&["", "", "", " ", "\r\n\t"]);
        format!("{{{blank}{}{blank}}}", members.join(&format!("{blank},{blank}")))
    }

    fn value(&mut self, schema: &'static Schema, path: &str) -> String {
        let is_invalid = self.next_is_invalid();
        let raw = match schema {
            Schema::Value { valid, .. } if !is_invalid => self.random.pick(valid),
            Schema::Value { invalid, too_large, invalid_for_event, .. } => {
                // Use the values that were not tried yet first.
                let independent = invalid.len() + too_large.len();
                let values: Vec<&'static str> =
                    invalid.iter().chain(*too_large).chain(*invalid_for_event).copied().collect();
                let path_without_indices = without_indices(path);
                let is_new = |raw: &&str| self.tried.insert(format!("{path_without_indices} {raw}"));
                let untried = values.iter().position(is_new);
                let random_choice = self.random.below(values.len());
                let choice = untried.unwrap_or(random_choice);
                self.errors.push(FieldError { path: path.to_owned(), needs_event: choice >= independent });
                self.is_event_unknown |= path == "eventId";
                values[choice]
            }
            Schema::Object(fields) if !is_invalid => return self.object(fields, path, false),
            Schema::List { min_length, .. } if is_invalid && *min_length > 0 && self.random.one_in(3) => {
                self.add_error(path);
                "[]"
            }
            Schema::List { items, min_length, is_set } if !is_invalid => {
                let length = min_length + self.random.below(3);
                let mut entries: Vec<String> = Vec::new();
                for _ in 0..length {
                    let path = format!("{path}[{}]", entries.len());
                    let errors = self.errors.len();
                    let entry = self.value(items, &path);
                    // An entry that is invalid by itself has that error, and no other.
                    if *is_set && self.errors.len() == errors && entries.contains(&entry) {
                        if self.error_interval.is_none() {
                            continue;
                        }
                        self.add_error(&path);
                    }
                    entries.push(entry);
                }
                return format!("[{}]", entries.join(","));
            }
            Schema::Object(_) => {
                self.add_error(path);
                self.random.pick(NOT_AN_OBJECT)
            }
            Schema::List { .. } => {
                self.add_error(path);
                self.random.pick(NOT_A_LIST)
            }
        };
        self.number += 1;
        let mut text = raw.replace("$n", &self.number.to_string());
        for placeholder in self.placeholders {
            text = text.replace(placeholder.name, placeholder.replacement);
        }
        text
    }

    /// Changes a JSON text so that the parser rejects it.
    fn malformed(&mut self, text: &str) -> String {
        let value = match self.random.below(10) {
            0 if text.starts_with('{') => return text.get(..text.len() - 1).unwrap_or_default().to_owned(),
            1 => return format!("{text}{text}"),
            2 => nested_arrays(64),
            3 => nested_arrays(10_000),
            4 => "[".repeat(10_000),
            5 => "{\"a\":".repeat(1000),
            _ => self.random.pick(MALFORMED).to_owned(),
        };
        match text.strip_prefix('{') {
            Some(rest) if rest.trim_start().starts_with('}') => format!("{{\"x\":{value}}}"),
            Some(rest) => format!("{{\"x\":{value},{rest}"),
            None => format!("[{value}]"),
        }
    }
}

/// A path such as `items[0].price` without its indices: `items.price`.
fn without_indices(path: &str) -> String {
    path.split('[').map(|part| part.split_once(']').map_or(part, |(_, rest)| rest)).collect()
}

/// The text with a few of its bytes changed, repeated or removed.
pub(crate) fn mutated(random: &mut Random, text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=random.below(4) {
        let start = random.below(bytes.len().max(1)).min(bytes.len().saturating_sub(1));
        let end = (start + 1 + random.below(8)).min(bytes.len());
        match random.below(6) {
            0 if !bytes.is_empty() => bytes[start] = random.pick(b"{}[]\",:\\0-+.eE \n\0\xff"),
            1 if !bytes.is_empty() => bytes[start] ^= 1 << random.below(8),
            2 if !bytes.is_empty() => drop(bytes.drain(start..end)),
            3 => bytes.insert(start, random.pick(b"{}[]\",:\\019-eE \xc3\xa4")),
            4 => {
                let piece = bytes.get(start..end).unwrap_or_default().to_vec();
                bytes.splice(start..start, piece);
            }
            _ => bytes.truncate(bytes.len().saturating_sub(random.below(3))),
        }
    }
    bytes
}

/// The text as a JSON string, with its control characters escaped.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            letter if letter < ' ' => write!(quoted, "\\u{:04x}", u32::from(letter)).unwrap(),
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}
