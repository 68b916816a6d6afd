//! Limits on how many resources of a kind there may be.

use crate::error::{Error, Reason, Result};
use crate::model::sale::discount::DiscountFields;
use crate::model::sale::ticket_type::MAX_TICKET_TYPES;

/// A limit on the number of resources of one kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CountLimit {
    /// The greatest number.
    pub(crate) most: usize,
    /// What it is the number of, for the error: `<owner> may have at most 5 <things>`.
    owner: &'static str,
    things: &'static str,
}

pub(crate) const TICKET_TYPES: CountLimit =
    CountLimit { most: MAX_TICKET_TYPES, owner: "an event", things: "ticket types" };

/// The automatic discounts of an event that are enabled. Each one is judged for every order without a code.
pub(crate) const AUTOMATIC_DISCOUNTS: CountLimit =
    CountLimit { most: 20, owner: "an event", things: "automatic discounts that are enabled" };

pub(crate) const WEBHOOK_ENDPOINTS: CountLimit =
    CountLimit { most: 100, owner: "an organization", things: "webhook endpoints" };

pub(crate) const API_KEYS: CountLimit =
    CountLimit { most: 1000, owner: "an organization", things: "API keys that are not revoked" };

impl CountLimit {
    /// Checks that one more may be added. `is_reached` is whether there are as many as there may be.
    pub(crate) fn check_room(self, is_reached: bool) -> Result<()> {
        if !is_reached {
            return Ok(());
        }
        let Self { most, owner, things } = self;
        Err(Error::conflict(Reason::LimitReached, format!("{owner} may have at most {most} {things}")))
    }
}

/// Whether a discount counts for [`AUTOMATIC_DISCOUNTS`].
pub(crate) fn is_enabled_automatic(fields: &DiscountFields) -> bool {
    fields.auto_apply && fields.is_active
}
