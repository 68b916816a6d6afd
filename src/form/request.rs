//! The requests that the operations of the facade accept.

use super::declare::fields::implement_form;
use super::free_json::{nests_deeper_than, take_apart};
use super::json::{MAX_DEPTH, SyntaxError, Value};
use super::object::{self, Form, ObjectReader};
use super::path::Path;
use crate::error::{FieldErrors, Result};

/// A request, together with the errors of its fields. Every operation that writes accepts a `Request<T>` or a plain
/// `T`. Errors found while reading JSON and errors found by the operation are reported together. Lists take a plain
/// request: see [`into_inner`](Self::into_inner).
///
/// ```
/// use ticketing::event::CreateEvent;
/// use ticketing::request::Request;
#[doc = include_str!("../doc_fixture.md")]
/// let request = Request::<CreateEvent>::from_json(br#"{"title": "Jazz", "slug": "Jazz!", "startDate": 5}"#)?;
/// let refused = service.create_event(&caller, request).unwrap_err();
/// let paths: Vec<_> = refused.fields().iter().map(|error| error.path.as_str()).collect();
/// assert_eq!(paths, ["startDate", "deliveryMethod", "slug"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request<T> {
    pub(crate) body: T,
    pub(crate) errors: FieldErrors,
}

impl<T> Request<T> {
    /// Makes a request of a value that has no fields, such as an id.
    pub(crate) fn of_value(body: T) -> Self {
        Self { body, errors: FieldErrors::default() }
    }
}

impl<T: Form> From<T> for Request<T> {
    fn from(body: T) -> Self {
        Self::check(body, FieldErrors::default())
    }
}

#[expect(private_bounds, reason = "only this crate decides which types are requests")]
impl<T: Form> Request<T> {
    /// Reads the request from a JSON body. Ignores fields that the request does not define.
    ///
    /// # Errors
    /// [`SyntaxError`] if the body is not valid JSON, nests deeper than 64 levels, or contains a number that a 64-bit
    /// float cannot hold. Valid JSON of the wrong shape becomes a validation error of the operation.
    pub fn from_json(bytes: &[u8]) -> Result<Self, SyntaxError> {
        let value = Value::parse(bytes)?;
        let mut errors = FieldErrors::default();
        let body = object::read(&value, Path::Root, &mut errors);
        Ok(Self::check(body, errors))
    }

    /// Reads the request from JSON that is parsed already, for example after a field from the path of a URL was added.
    ///
    /// ```
    /// use ticketing::order::CreateOrder;
    /// use ticketing::request::Request;
    /// let mut body = serde_json::json!({"customer": {"name": "Ada", "email": "ada@example.com"}, "items": []});
    /// body["eventId"] = "event_1KT1GW6G0099V".into();
    /// let refused = Request::<CreateOrder>::from_value(body).into_inner().unwrap_err();
    /// assert_eq!(refused.to_string(), "items must have at least one entry");
    /// ```
    #[must_use]
    pub fn from_value(json: serde_json::Value) -> Self {
        let mut errors = FieldErrors::default();
        let value = if nests_deeper_than(&json, MAX_DEPTH) {
            take_apart(json);
            errors.add(Path::Root, format!("must nest at most {MAX_DEPTH} levels deep"));
            Value::Null
        } else {
            Value::from_serde_json(json)
        };
        let body = object::read(&value, Path::Root, &mut errors);
        Self::check(body, errors)
    }

    /// Returns the plain request.
    ///
    /// # Errors
    /// - [`Error::Validation`](crate::Error::Validation) lists the fields that are missing, of the wrong kind, or
    ///   outside the limits that the request alone decides.
    pub fn into_inner(self) -> Result<T> {
        self.errors.into_result().map(|()| self.body)
    }

    /// Reads the request from the name-value pairs of a query string. Ignores parameters that the request does not
    /// define. The server refuses them.
    #[must_use]
    pub fn from_query(pairs: impl IntoIterator<Item = (String, String)>) -> Self {
        let members: Vec<_> = pairs.into_iter().map(|(name, text)| (name, Value::Query(text))).collect();
        let mut errors = FieldErrors::default();
        let body = T::read_fields(&mut ObjectReader::new(&members, Path::Root, &mut errors));
        Self::check(body, errors)
    }

    /// Brings the fields of a request into their normal form, and checks their limits, in addition to the errors that
    /// were found while it was read.
    fn check(mut body: T, mut errors: FieldErrors) -> Self {
        body.check_fields(Path::Root, &mut errors);
        Self { body, errors }
    }
}

/// The body of an operation that needs no input. The body may be absent, or an object whose fields are ignored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_structs, reason = "it has no fields by definition")]
pub struct Nothing;

implement_form! { Nothing {} }
