//! Makes bodies that a request may be sent, of which it is known what is wrong with them.

use std::collections::BTreeSet;
use std::fmt::Write;

/// Numbers without a pattern, the same in every run.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next()).unwrap() % bound
    }

    pub(crate) fn one_in(&mut self, number: usize) -> bool {
        self.below(number) == 0
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    pub(crate) fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| u8::try_from(self.next() & 0xff).unwrap()).collect()
    }
}

/// What a field may hold: raw JSON values that are good and that are not.
pub(crate) enum Kind {
    Value {
        good: &'static [&'static str],
        bad: &'static [&'static str],
        beyond: &'static [&'static str],
        /// Not good either, but that is only seen where the event is known: it is of another one, or has more decimals
        /// than its currency.
        of_event: &'static [&'static str],
    },
    List(&'static Kind, usize),
    Object(&'static [Field]),
}

pub(crate) struct Field {
    name: &'static str,
    kind: Kind,
    required: bool,
    nullable: bool,
}

pub(crate) const fn must(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, required: true, nullable: false }
}

pub(crate) const fn may(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, required: false, nullable: false }
}

pub(crate) const fn or_null(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, required: false, nullable: true }
}

pub(crate) const fn value(good: &'static [&'static str], bad: &'static [&'static str]) -> Kind {
    Kind::Value { good, bad, beyond: &[], of_event: &[] }
}

/// No object and no list, each of which has a value of its own for this.
const NO_OBJECT: &[&str] = &["[]", "[{}]", "\"\"", "\"{}\"", "0", "-0", "1e30", "true"];
const NO_LIST: &[&str] = &["{}", "{\"0\":1}", "\"\"", "\"[]\"", "0", "1e308", "false"];

/// What no request names: it is left unread, whatever it is.
const UNNAMED: &[(&str, &str)] = &[
    ("id", "\"event_0000000000001\""),
    ("id", "5"),
    ("organizerId", "null"),
    ("sold", "-1"),
    ("usedCount", "1e308"),
    ("pageViews", "\"\\u0000\""),
    ("createdAt", "\"1999-01-01T00:00:00Z\""),
    ("\\u0000", "{}"),
    ("", "[[[]]]"),
    ("revision", "{\"a\":1,\"a\":2}"),
    ("__proto__", "{\"isAdmin\":true}"),
    ("total", "-0"),
];

/// What cannot be parsed, wherever it is.
const UNREADABLE: &[&str] = &[
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

/// Arrays in arrays, so many levels.
pub(crate) fn nested(levels: usize) -> String {
    format!("{}{}", "[".repeat(levels), "]".repeat(levels))
}

/// A body, and what is to come of it.
pub(crate) struct Body {
    pub(crate) text: String,
    /// Where it is wrong, in order; `None` where it cannot be parsed at all.
    pub(crate) wrong: Option<Vec<String>>,
}

/// Makes bodies for one shape.
pub(crate) struct Maker<'a> {
    pub(crate) random: Random,
    /// What stands for each name that begins with `$`; `$n` is another number each time.
    pub(crate) names: &'a [(&'a str, &'a str)],
    number: usize,
    /// One in how many fields is wrong.
    wrong_in: Option<usize>,
    /// Where it is wrong, and whether that is only seen where the event is known.
    wrong: Vec<(String, bool)>,
    event_unknown: bool,
    /// Every way to be wrong that was tried.
    tried: BTreeSet<String>,
}

impl<'a> Maker<'a> {
    pub(crate) fn new(seed: u64, names: &'a [(&'a str, &'a str)]) -> Self {
        let tried = BTreeSet::new();
        Self {
            random: Random::new(seed),
            names,
            number: 0,
            wrong_in: None,
            wrong: Vec::new(),
            event_unknown: false,
            tried,
        }
    }

    /// A body with nothing wrong in it.
    pub(crate) fn good(&mut self, fields: &'static [Field], update: bool) -> String {
        self.wrong_in = None;
        self.object(fields, "", update)
    }

    /// A body with any number of things wrong in it.
    pub(crate) fn any(&mut self, fields: &'static [Field], update: bool) -> Body {
        self.wrong_in = self.random.pick(&[None, Some(30), Some(10), Some(3)]);
        self.wrong.clear();
        self.event_unknown = false;
        let mut text = match self.random.one_in(50) && self.wrong_in.is_some() {
            true => {
                self.wrong.push((String::new(), false));
                self.random.pick(NO_OBJECT).to_owned()
            }
            false => self.object(fields, "", update),
        };
        let parses = !self.random.one_in(12);
        if !parses {
            text = self.unreadable(&text);
        }
        let event_unknown = self.event_unknown;
        let told = self.wrong.drain(..).filter(|(_, of_event)| !(event_unknown && *of_event));
        let mut wrong: Vec<String> = told.map(|(path, _)| path).collect();
        wrong.sort_unstable();
        Body { text, wrong: parses.then_some(wrong) }
    }

    /// Asserts that each value that is not good was tried.
    pub(crate) fn assert_tried(&self, fields: &'static [Field]) {
        let mut missing = Vec::new();
        for field in fields {
            self.missing(&field.kind, field.name, &mut missing);
        }
        assert!(missing.is_empty(), "never tried: {missing:?}");
    }

    fn missing(&self, kind: &'static Kind, path: &str, missing: &mut Vec<String>) {
        match kind {
            Kind::Value { bad, beyond, of_event, .. } => {
                let all = bad.iter().chain(*beyond).chain(*of_event).map(|raw| format!("{path} {raw}"));
                missing.extend(all.filter(|way| !self.tried.contains(way)));
            }
            Kind::List(kind, _) => self.missing(kind, path, missing),
            Kind::Object(fields) => {
                fields.iter().for_each(|field| self.missing(&field.kind, &format!("{path}.{}", field.name), missing));
            }
        }
    }

    fn is_wrong(&mut self) -> bool {
        self.wrong_in.is_some_and(|number| self.random.one_in(number))
    }

    /// Text of an object whose members are in no order.
    fn object(&mut self, fields: &'static [Field], path: &str, update: bool) -> String {
        let mut members = Vec::new();
        for Field { name, kind, required, nullable } in fields {
            let path = if path.is_empty() { (*name).to_owned() } else { format!("{path}.{name}") };
            let must_be_there = *required && !update;
            if self.is_wrong() && self.random.one_in(2) {
                match self.random.below(3) {
                    0 if must_be_there => {}
                    1 if !nullable => members.push(format!("\"{name}\":null")),
                    _ => {
                        let wrong_in = self.wrong_in.take();
                        members.extend([0, 1].map(|_| format!("\"{name}\":{}", self.value(kind, &path))));
                        self.wrong_in = wrong_in;
                        self.wrong.push((path, false));
                        continue;
                    }
                }
                self.event_unknown |= path == "eventId";
                self.wrong.push((path, false));
            } else if must_be_there || self.random.below(3) > 0 {
                match *nullable && self.random.one_in(6) {
                    true => members.push(format!("\"{name}\":null")),
                    false => members.push(format!("\"{name}\":{}", self.value(kind, &path))),
                }
            }
        }
        for _ in 0..self.random.below(3) {
            let (name, raw) = self.random.pick(UNNAMED);
            if !fields.iter().any(|field| field.name == name) {
                members.push(format!("\"{name}\":{raw}"));
            }
        }
        if !members.is_empty() {
            let first = self.random.below(members.len());
            members.rotate_left(first);
        }
        let blank = self.random.pick(&["", "", "", " ", "\r\n\t"]);
        format!("{{{blank}{}{blank}}}", members.join(&format!("{blank},{blank}")))
    }

    fn value(&mut self, kind: &'static Kind, path: &str) -> String {
        let wrong = self.is_wrong();
        let raw = match kind {
            Kind::Value { good, .. } if !wrong => self.random.pick(good),
            Kind::Value { bad, beyond, of_event, .. } => {
                // What was not tried yet comes first.
                let plain: String = path.split('[').map(|part| part.split_once(']').map_or(part, |of| of.1)).collect();
                let mut ways =
                    bad.iter().chain(*beyond).map(|raw| (*raw, false)).chain(of_event.iter().map(|raw| (*raw, true)));
                let new = ways.clone().find(|(raw, _)| self.tried.insert(format!("{plain} {raw}")));
                let choice = self.random.below(bad.len() + beyond.len() + of_event.len());
                let (raw, late) = new.or_else(|| ways.nth(choice)).unwrap();
                self.wrong.push((path.to_owned(), late));
                self.event_unknown |= path == "eventId";
                raw
            }
            Kind::Object(fields) if !wrong => return self.object(fields, path, false),
            Kind::List(_, least) if wrong && *least > 0 && self.random.one_in(3) => {
                self.wrong.push((path.to_owned(), false));
                "[]"
            }
            Kind::List(kind, least) if !wrong => {
                let length = least + self.random.below(3);
                let entries: Vec<_> = (0..length).map(|at| self.value(kind, &format!("{path}[{at}]"))).collect();
                return format!("[{}]", entries.join(","));
            }
            Kind::Object(_) | Kind::List(..) => {
                self.wrong.push((path.to_owned(), false));
                self.random.pick(if matches!(kind, Kind::Object(_)) { NO_OBJECT } else { NO_LIST })
            }
        };
        self.number += 1;
        let mut text = raw.replace("$n", &self.number.to_string());
        for (name, meant) in self.names {
            text = text.replace(name, meant);
        }
        text
    }

    /// The same text, but it cannot be parsed.
    fn unreadable(&mut self, text: &str) -> String {
        let beside = match self.random.below(10) {
            0 if text.starts_with('{') => return text.get(..text.len() - 1).unwrap_or_default().to_owned(),
            1 => return format!("{text}{text}"),
            2 => nested(64),
            3 => nested(10_000),
            4 => "[".repeat(10_000),
            5 => "{\"a\":".repeat(1000),
            _ => self.random.pick(UNREADABLE).to_owned(),
        };
        match text.strip_prefix('{') {
            Some(rest) if rest.trim_start().starts_with('}') => format!("{{\"x\":{beside}}}"),
            Some(rest) => format!("{{\"x\":{beside},{rest}"),
            None => format!("[{beside}]"),
        }
    }
}

/// The text with a few of its bytes changed, doubled or taken away.
pub(crate) fn mutated(random: &mut Random, text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len().max(1)).min(bytes.len().saturating_sub(1));
        let end = (at + 1 + random.below(8)).min(bytes.len());
        match random.below(6) {
            0 if !bytes.is_empty() => bytes[at] = random.pick(b"{}[]\",:\\0-+.eE \n\0\xff"),
            1 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
            2 if !bytes.is_empty() => drop(bytes.drain(at..end)),
            3 => bytes.insert(at, random.pick(b"{}[]\",:\\019-eE \xc3\xa4")),
            4 => {
                let piece = bytes.get(at..end).unwrap_or_default().to_vec();
                bytes.splice(at..at, piece);
            }
            _ => bytes.truncate(bytes.len().saturating_sub(random.below(3))),
        }
    }
    bytes
}

/// The text as a JSON string, its control characters escaped.
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
