//! JSON that keeps repeated keys and the text of numbers. `serde_json::Value` loses both.

mod tokens;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Unexpected, Visitor};
use serde_json::value::RawValue;

use self::tokens::Tokens;

/// The greatest depth to which arrays and objects may nest.
pub(super) const MAX_DEPTH: usize = 64;

/// The error about a value that nests deeper.
const TOO_DEEP: &str = "nests too deep";

/// A JSON value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    /// The number as it was written.
    Number(String),
    String(String),
    Array(Vec<Value>),
    /// The members in their order, repeated keys included.
    Object(Vec<(String, Value)>),
    /// A value of a query string, in which everything is text.
    Query(String),
}

/// The bytes are not valid JSON, or exceed a limit on nesting or numbers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SyntaxError(String);

impl Value {
    /// Parses a document (RFC 8259) that nests at most 64 levels deep and whose numbers fit into a 64-bit float.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, SyntaxError> {
        let text = std::str::from_utf8(bytes).map_err(|_| SyntaxError("the body is not UTF-8".to_owned()))?;
        let mut tokens = Tokens::of(text);
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let reader = ValueReader { tokens: Some(&mut tokens), levels: MAX_DEPTH };
        let value = reader.deserialize(&mut deserializer).map_err(|error| describe(&error))?;
        deserializer.end().map_err(|error| describe(&error))?;
        Ok(value)
    }

    pub(crate) fn from_serde_json(value: serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(value) => Self::Bool(value),
            serde_json::Value::Number(number) => Self::Number(number.to_string()),
            serde_json::Value::String(text) => Self::String(text),
            serde_json::Value::Array(items) => Self::Array(items.into_iter().map(Self::from_serde_json).collect()),
            serde_json::Value::Object(members) => {
                Self::Object(members.into_iter().map(|(key, value)| (key, Self::from_serde_json(value))).collect())
            }
        }
    }

    /// Converts the value, for fields that accept any JSON.
    pub(crate) fn to_serde_json(&self) -> serde_json::Value {
        match self {
            Self::Null => serde_json::Value::Null,
            Self::Bool(value) => (*value).into(),
            Self::Number(text) => serde_json::from_str(text).unwrap_or_default(),
            Self::String(text) | Self::Query(text) => text.as_str().into(),
            Self::Array(items) => items.iter().map(Self::to_serde_json).collect(),
            Self::Object(members) => members
                .iter()
                .map(|(key, value)| (key.clone(), value.to_serde_json()))
                .collect::<serde_json::Map<_, _>>()
                .into(),
        }
    }
}

fn describe(error: &serde_json::Error) -> SyntaxError {
    if error.to_string().starts_with(TOO_DEEP) {
        return SyntaxError(format!("the body nests deeper than {MAX_DEPTH} levels"));
    }
    // The parser's own message may quote the input. The position is enough to find the error.
    let what = if error.is_eof() { "the body ends too early" } else { "the body is not valid JSON" };
    SyntaxError(match (error.line(), error.column()) {
        (0, _) => what.to_owned(),
        (line, column) => format!("{what} (line {line}, column {column})"),
    })
}

/// Reads a value from any data format. Floating-point numbers have the shortest text that reads back as the same
/// number.
impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        ValueReader { tokens: None, levels: MAX_DEPTH }.deserialize(deserializer)
    }
}

/// Reads one value, in one pass over its text.
struct ValueReader<'a, 't> {
    /// The tokens that follow, if a JSON text is read. They show which values are numbers, whose text is kept.
    tokens: Option<&'a mut Tokens<'t>>,
    /// How many levels may nest in this value.
    levels: usize,
}

impl<'t> ValueReader<'_, 't> {
    /// The reader of a part of this value.
    fn part<E: serde::de::Error>(&mut self) -> Result<ValueReader<'_, 't>, E> {
        let levels = self.levels.checked_sub(1).ok_or_else(|| E::custom(TOO_DEEP))?;
        Ok(ValueReader { tokens: self.tokens.as_deref_mut(), levels })
    }
}

impl<'de> DeserializeSeed<'de> for ValueReader<'_, '_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(mut self, deserializer: D) -> Result<Value, D::Error> {
        match self.tokens.as_mut().and_then(Iterator::next) {
            Some(b'-' | b'0'..=b'9') => {
                let text = <&RawValue>::deserialize(deserializer)?.get();
                let fits = text.parse().is_ok_and(f64::is_finite);
                if fits { Ok(Value::Number(text.to_owned())) } else { Err(D::Error::custom("number out of range")) }
            }
            _ => deserializer.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for ValueReader<'_, '_> {
    type Value = Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Number(number.to_string()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Number(number.to_string()))
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Value, E> {
        let number = serde_json::Number::from_f64(number);
        let number = number.ok_or_else(|| E::invalid_value(Unexpected::Other("a number that is not finite"), &self))?;
        Ok(Value::Number(number.to_string()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::String(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(self.part()?)? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Value, A::Error> {
        let mut members = Vec::new();
        loop {
            let mut part = self.part()?;
            let Some(key) = map.next_key()? else { return Ok(Value::Object(members)) };
            // The key is a token too.
            part.tokens.as_mut().and_then(Iterator::next);
            members.push((key, map.next_value_seed(part)?));
        }
    }
}
