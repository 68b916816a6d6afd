//! A request on its way into the facade.

use super::fields::{Fields, FromFields, read_object};
use super::json::{SyntaxError, Value};
use crate::error::FieldErrors;

/// A request and, where it was read from JSON or a query string, what was wrong with its form. Every operation takes
/// one, and takes the plain request as well: errors of form and of content are then reported together.
///
/// ```
/// use ticketing::{CreateEvent, Request};
#[doc = include_str!("../doc_fixture.md")]
/// let request = Request::<CreateEvent>::from_json(br#"{"title": "Jazz", "slug": "Jazz!", "startDate": 5}"#)?;
/// let refused = service.create_event(&caller, request).unwrap_err();
/// let paths: Vec<_> = refused.fields().iter().map(|error| error.path.as_str()).collect();
/// assert_eq!(paths, ["startDate", "deliveryMethod", "slug"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Request<T> {
    pub(crate) body: T,
    pub(crate) errors: FieldErrors,
}

impl<T> From<T> for Request<T> {
    fn from(body: T) -> Self {
        Self { body, errors: FieldErrors::default() }
    }
}

#[expect(private_bounds, reason = "which types can be read is the crate's affair")]
impl<T: FromFields> Request<T> {
    /// Reads the request from a JSON body. Fields that the request does not name are ignored.
    ///
    /// # Errors
    /// [`SyntaxError`] where the bytes are no JSON, nest deeper than 64 levels, or hold a number beyond a 64-bit float.
    /// What is JSON but of the wrong kind comes back as a validation error of the operation.
    pub fn from_json(bytes: &[u8]) -> Result<Self, SyntaxError> {
        let value = Value::parse(bytes)?;
        let mut errors = FieldErrors::default();
        let body = read_object(&value, "", &mut errors);
        Ok(Self { body, errors })
    }

    /// Reads the request from the pairs of a query string.
    #[must_use]
    pub fn from_query(pairs: impl IntoIterator<Item = (String, String)>) -> Self {
        let members: Vec<_> = pairs.into_iter().map(|(name, text)| (name, Value::Query(text))).collect();
        let mut errors = FieldErrors::default();
        let body = T::from_fields(&mut Fields::new(&members, "", &mut errors));
        Self { body, errors }
    }
}

/// The body of an operation that needs none: absent, or an object with nothing in it that counts.
#[derive(Debug, Clone, Copy, Default)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct Nothing;

impl FromFields for Nothing {
    fn from_fields(_: &mut Fields<'_>) -> Self {
        Self
    }
}
