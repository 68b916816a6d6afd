//! Who asks, and whether they may.

use axum::http::HeaderMap;

use super::problem::Problem;
use crate::model::organization::Caller;
use crate::model::scope::Scope;
use crate::service::TicketingService;

const API_KEY: &str = "x-api-key";

/// The key that a request shows. It is never logged, and prints nothing.
#[derive(Clone)]
pub(super) struct ShownKey(String);

impl ShownKey {
    /// The one key in these headers; without a key, or with two, nobody is asking.
    pub(super) fn of(headers: &HeaderMap) -> Result<Self, Problem> {
        let mut keys = headers.get_all(API_KEY).iter();
        match (keys.next().and_then(|key| key.to_str().ok()), keys.next()) {
            (Some(key), None) => Ok(Self(key.to_owned())),
            _ => Err(Problem::unauthenticated()),
        }
    }

    /// Who shows the key. Reads the store.
    pub(super) fn caller(&self, service: &TicketingService) -> Result<Caller, Problem> {
        Ok(service.authenticate(&self.0)?)
    }

    /// Who shows the key, if they have the scope. The facade asks for the scope again; here it is judged before anybody
    /// looks at the body.
    pub(super) fn caller_with(&self, service: &TicketingService, scope: Scope) -> Result<Caller, Problem> {
        let caller = self.caller(service)?;
        caller.require(scope)?;
        Ok(caller)
    }
}
