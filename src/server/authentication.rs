//! Who asks.

use axum::http::HeaderMap;

use crate::error::Result;
use crate::model::caller::Caller;
use crate::service::TicketingService;

const API_KEY: &str = "x-api-key";

/// The key that a request shows. It is never logged, and prints nothing.
pub(super) struct ShownKey<'h>(&'h str);

impl<'h> ShownKey<'h> {
    /// The one key in these headers; without a key, or with two, nobody is asking.
    pub(super) fn of(headers: &'h HeaderMap) -> Option<Self> {
        let mut keys = headers.get_all(API_KEY).iter();
        match (keys.next().and_then(|key| key.to_str().ok()), keys.next()) {
            (Some(key), None) => Some(Self(key)),
            _ => None,
        }
    }

    /// Who shows the key. Reads the store.
    pub(super) fn caller(&self, service: &TicketingService) -> Result<Caller> {
        service.authenticate(self.0)
    }
}
