//! Form-encoded parameters with nested names, such as `line_items[0][price_data][currency]=eur`.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use super::answers::Answer;

/// A decoded parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parameter {
    Text(String),
    Group(BTreeMap<String, Parameter>),
}

/// Decodes a form or a query string.
pub fn decode(text: &[u8]) -> Result<BTreeMap<String, Parameter>, Answer> {
    let mut root = BTreeMap::new();
    for (name, value) in form_urlencoded::parse(text) {
        let malformed = || Answer::invalid(format!("Invalid parameter name: {name}"), Some(&name), None);
        let (first, rest) = name.split_once('[').unwrap_or((&name, ""));
        let mut names = vec![first];
        if !rest.is_empty() {
            names.extend(rest.strip_suffix(']').ok_or_else(malformed)?.split("]["));
        }
        insert(&mut root, &names, &value).ok_or_else(malformed)?;
    }
    Ok(root)
}

fn insert(group: &mut BTreeMap<String, Parameter>, names: &[&str], value: &str) -> Option<()> {
    let (first, rest) = names.split_first()?;
    // `expand[]=payment_intent` appends.
    let name = if first.is_empty() && rest.is_empty() { group.len().to_string() } else { (*first).to_owned() };
    if name.is_empty() {
        return None;
    }
    if rest.is_empty() {
        return group.insert(name, Parameter::Text(value.to_owned())).is_none().then_some(());
    }
    match group.entry(name).or_insert_with(|| Parameter::Group(BTreeMap::new())) {
        Parameter::Group(inner) => insert(inner, rest, value),
        Parameter::Text(_) => None,
    }
}

/// Reads a group of parameters, and refuses the names that were not read.
pub struct Reader<'a> {
    group: &'a BTreeMap<String, Parameter>,
    path: String,
    known: RefCell<BTreeSet<String>>,
}

impl<'a> Reader<'a> {
    pub fn new(group: &'a BTreeMap<String, Parameter>) -> Self {
        Self { group, path: String::new(), known: RefCell::default() }
    }

    /// The full name of a parameter of this group.
    pub fn name(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}[{name}]", self.path) }
    }

    fn get(&self, name: &str) -> Option<&'a Parameter> {
        self.known.borrow_mut().insert(name.to_owned());
        self.group.get(name)
    }

    pub fn invalid(&self, name: &str, message: impl Into<String>) -> Answer {
        Answer::invalid(message, Some(&self.name(name)), None)
    }

    /// A text of 1 to 5000 characters.
    pub fn text(&self, name: &str) -> Result<Option<&'a str>, Answer> {
        let full = self.name(name);
        match self.get(name) {
            None => Ok(None),
            Some(Parameter::Group(_)) => Err(self.invalid(name, format!("Invalid string: {full}"))),
            Some(Parameter::Text(text)) if text.is_empty() => {
                let message = format!(
                    "You passed an empty string for '{full}'. We assume empty values are an attempt to unset a \
                    parameter; however '{full}' cannot be unset."
                );
                Err(Answer::invalid(message, Some(&full), Some("parameter_invalid_empty")))
            }
            Some(Parameter::Text(text)) if text.chars().count() > 5000 => {
                Err(self.invalid(name, format!("Invalid string: {full}; must be at most 5000 characters")))
            }
            Some(Parameter::Text(text)) => Ok(Some(text)),
        }
    }

    pub fn required(&self, name: &str) -> Result<&'a str, Answer> {
        self.text(name)?.ok_or_else(|| self.missing(name))
    }

    fn missing(&self, name: &str) -> Answer {
        let full = self.name(name);
        Answer::invalid(format!("Missing required param: {full}."), Some(&full), Some("parameter_missing"))
    }

    /// A whole number in decimal digits.
    pub fn integer(&self, name: &str) -> Result<Option<i64>, Answer> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        let digits = text.strip_prefix('-').unwrap_or(text);
        let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit());
        let number = is_plain.then(|| text.parse().ok()).flatten();
        let message = format!("Invalid integer: {text}");
        number
            .map(Some)
            .ok_or_else(|| Answer::invalid(message, Some(&self.name(name)), Some("parameter_invalid_integer")))
    }

    pub fn boolean(&self, name: &str) -> Result<Option<bool>, Answer> {
        match self.text(name)? {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(other) => Err(self.invalid(name, format!("Invalid boolean: {other}"))),
        }
    }

    /// One of these words.
    pub fn word(&self, name: &str, allowed: &[&str]) -> Result<Option<&'a str>, Answer> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        if allowed.contains(&text) {
            return Ok(Some(text));
        }
        Err(self.invalid(name, format!("Invalid {}: must be one of {}", self.name(name), allowed.join(", "))))
    }

    pub fn group(&self, name: &str) -> Result<Option<Reader<'a>>, Answer> {
        match self.get(name) {
            None => Ok(None),
            Some(Parameter::Text(_)) => Err(self.invalid(name, "Invalid hash")),
            Some(Parameter::Group(group)) => {
                Ok(Some(Reader { group, path: self.name(name), known: RefCell::default() }))
            }
        }
    }

    /// The number of elements of a list, and a reader of them by index.
    pub fn list(&self, name: &str) -> Result<Option<(usize, Reader<'a>)>, Answer> {
        let Some(list) = self.group(name)? else { return Ok(None) };
        let length = list.group.len();
        if (0..length).all(|index| list.group.contains_key(&index.to_string())) {
            return Ok(Some((length, list)));
        }
        Err(self.invalid(name, "Invalid array"))
    }

    pub fn words(&self, name: &str) -> Result<Vec<&'a str>, Answer> {
        let Some((length, list)) = self.list(name)? else { return Ok(Vec::new()) };
        (0..length).map(|index| list.required(&index.to_string())).collect()
    }

    /// Metadata: at most 50 keys of 40 characters, with values of 500 characters.
    pub fn metadata(&self, name: &str) -> Result<serde_json::Value, Answer> {
        let Some(group) = self.group(name)? else { return Ok(serde_json::json!({})) };
        let mut values = serde_json::Map::new();
        for (key, value) in group.group {
            let Parameter::Text(value) = value else { return Err(group.invalid(key, "Invalid metadata value")) };
            if key.chars().count() > 40 || key.contains(['[', ']']) {
                return Err(group.invalid(key, "Metadata keys can have up to 40 characters, and no square brackets"));
            }
            if value.chars().count() > 500 {
                return Err(group.invalid(key, "Metadata values can have up to 500 characters"));
            }
            values.insert(key.clone(), value.as_str().into());
        }
        if values.len() > 50 {
            return Err(self.invalid(name, "Metadata can have up to 50 keys"));
        }
        Ok(values.into())
    }

    /// Refuses every parameter that was not read.
    pub fn finish(&self) -> Result<(), Answer> {
        let known = self.known.borrow();
        match self.group.keys().find(|name| !known.contains(*name)) {
            None => Ok(()),
            Some(name) => {
                let full = self.name(name);
                let message = format!("Received unknown parameter: {full}");
                Err(Answer::invalid(message, Some(&full), Some("parameter_unknown")))
            }
        }
    }
}
