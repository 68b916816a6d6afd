//! The links to the reports of events.

use crate::error::{Error, ResourceKind, Result};
#[cfg(feature = "server")]
use crate::model::tickets::link_token::LinkToken;
use crate::model::tickets::report_link::{ReportLink, expires_at};
use crate::model::values::id::{EventId, OrganizationId};
use crate::model::values::secret::Secret;
use crate::store::Transaction;
use crate::store::sale::events;
use crate::store::tickets::{link_secret, report_links};

/// Returns the link to the report of an event, which is created unless there is one that works.
pub(crate) fn create(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    event: EventId,
    public_url: Option<&str>,
) -> Result<ReportLink> {
    let sale = events::sale(tx, organization, event)?.ok_or(Error::NotFound(ResourceKind::Event))?;
    let public_url = public_url.ok_or_else(|| Error::field("public_url", "must be set for links to the page"))?;
    let (version, created) = report_links::create(tx, event)?;
    let token = link_secret::get_or_make(tx)?.report_token(event, version);
    let url = Secret::from(format!("{public_url}/reports/{token}"));
    Ok(ReportLink { url, expires_at: expires_at(sale.over_at), created })
}

/// Revokes the link to the report of an event. Nothing changes if there is none.
pub(crate) fn revoke(tx: &Transaction<'_>, organization: OrganizationId, event: EventId) -> Result<()> {
    if !events::exists(tx, organization, event)? {
        return Err(Error::NotFound(ResourceKind::Event));
    }
    report_links::revoke(tx, event)
}

/// Returns the organization and the event that the token shows the report of.
#[cfg(feature = "server")]
pub(crate) fn find(tx: &Transaction<'_>, token: &str) -> Result<(OrganizationId, EventId)> {
    let unknown = || Error::NotFound(ResourceKind::Event);
    let token = LinkToken::parse(token).ok_or_else(unknown)?;
    let secret = link_secret::get(tx)?.ok_or_else(unknown)?;
    let found = report_links::find(tx, token.event())?;
    // Also computed for an unknown id, so that it takes as long as for a wrong token.
    let is_right = secret.is_of_report(token, found.as_ref().map_or(0, |found| found.version));
    let found = found.filter(|found| is_right && tx.now() < expires_at(found.over_at)).ok_or_else(unknown)?;
    Ok((found.organization, token.event()))
}
