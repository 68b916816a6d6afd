//! Business rules as pure functions: validation, status transitions, pricing, admission. They do not read a clock, draw
//! random bytes or query a database.

pub(crate) mod api_key;
pub(crate) mod calendar;
pub(crate) mod count_limit;
pub(crate) mod delivery;
pub(crate) mod discount;
pub(crate) mod entrance;
pub(crate) mod event;
#[cfg(any(feature = "documents", feature = "exports"))]
pub(crate) mod file_name;
mod local_time;
#[cfg(feature = "mail")]
pub(crate) mod mail;
pub(crate) mod money;
pub(crate) mod order;
pub(crate) mod organization;
#[cfg(any(feature = "documents", feature = "server"))]
pub(crate) mod printed_text;
pub(crate) mod sales_intervals;
pub(crate) mod text;
pub(crate) mod ticket;
pub(crate) mod ticket_type;
pub(crate) mod webhook;

use crate::error::{FieldErrors, Result};
use crate::form::request::Request;

/// A value that passed its checks. Only this module creates one, so that only checked values can be stored.
#[derive(Debug, Clone)]
pub(crate) struct Checked<T>(T);

impl<T> std::ops::Deref for Checked<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// Accepts a request that needs no check beyond the limits of its fields. `errors` are those of its
/// [`Request`](crate::form::request::Request).
pub(crate) fn checked<T>(request: T, errors: FieldErrors) -> Result<Checked<T>> {
    errors.into_result().map(|()| Checked(request))
}

/// Accepts a request like [`checked`].
pub(crate) fn checked_request<T>(request: impl Into<Request<T>>) -> Result<Checked<T>> {
    let Request { body, errors } = request.into();
    checked(body, errors)
}
