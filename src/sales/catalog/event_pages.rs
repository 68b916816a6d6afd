//! What the page of an event shows.

use crate::error::{Error, ResourceKind, Result};
use crate::model::sale::event_page::{EventPage, is_offered, is_shown};
use crate::store::Transaction;
use crate::store::sale::{events, ticket_types};
use crate::store::tenants::organizations;

/// Returns the page of an event: `organization` is its id or its page name. What is not shown is not found, like what
/// does not exist.
pub(crate) fn get(tx: &Transaction<'_>, organization: &str, slug: &str) -> Result<EventPage> {
    let organization = organizations::find_by_id_or_page_name(tx, organization)?;
    if organization.suspended_at.is_some() {
        return Err(Error::NotFound(ResourceKind::Event));
    }
    let event = events::get_by_slug(tx, organization.id, slug)?;
    if !is_shown(&event) {
        return Err(Error::NotFound(ResourceKind::Event));
    }
    let mut ticket_types = ticket_types::of_page(tx, event.id)?;
    ticket_types.retain(is_offered);
    Ok(EventPage { event, organization, ticket_types })
}
