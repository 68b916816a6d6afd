//! The organizations of events, which are looked up before a job waits for an event.

use std::collections::HashMap;
use std::sync::Mutex;

use crate::environment::Locked;
use crate::error::Result;
use crate::model::values::id::{EventId, OrganizationId};
use crate::store::engine::lock::EventKey;
use crate::store::engine::tables::EventOwner;

/// How many events are kept. Each takes less than 50 bytes.
const MAX_EVENTS: usize = 20_000;

/// The organizations of events that were used lately. An event never gets another organization.
#[derive(Debug, Default)]
pub(in crate::store::engine::postgres) struct EventOwners(Mutex<HashMap<EventId, OrganizationId>>);

impl EventOwners {
    /// Returns whose event a key names. Calls `look_up` unless the key is an event that is known.
    pub(in crate::store::engine::postgres) fn owner_of(
        &self,
        key: EventKey,
        look_up: impl FnOnce() -> Result<Option<EventOwner>>,
    ) -> Result<Option<EventOwner>> {
        if let EventKey::Event(event) = key
            && let Some(organization) = self.0.locked().get(&event).copied()
        {
            return Ok(Some(EventOwner { event, organization }));
        }
        let owner = look_up()?;
        if let Some(EventOwner { event, organization }) = owner {
            let mut known = self.0.locked();
            if known.len() >= MAX_EVENTS {
                known.clear();
            }
            known.insert(event, organization);
        }
        Ok(owner)
    }
}
