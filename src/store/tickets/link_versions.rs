//! The versions of what the links of tickets and orders show, which are read instead of all its texts.

use crate::error::Result;
use crate::form::picture::is_data_uri;
use crate::https::endpoint_url::MAX_BYTES;
use crate::model::sale::event::EventStatus;
use crate::model::tickets::linked::{DocumentVersion, LinkVersion};
use crate::model::values::id::{OrderId, OrganizationId, TicketId};
use crate::rules::event::status_at;
use crate::store::{Bind, Row, Transaction};

pub(in crate::store) const OF_TICKET: &str = "SELECT g.name AS organizer, e.status AS event_status, e.over_at,
        e.revision AS event_revision, tt.revision AS type_revisions,
        CAST(CASE WHEN t.status = 'CANCELLED' THEN 1 ELSE 0 END AS BIGINT) AS cancelled,
        CAST(CASE WHEN t.customer_id IS NULL THEN 0 ELSE 1 END AS BIGINT) AS assigned,
        t.scan_count + t.link_version AS scans_and_renewals, t.updated_at AS changes
    FROM tickets t JOIN ticket_types tt ON tt.id = t.ticket_type_id JOIN events e ON e.id = t.event_id
        JOIN organizations g ON g.id = t.organization_id
    WHERE t.id = ?1 AND t.organization_id = ?2";
// Without the sign, the orders of the organization would be read to find the one.
pub(in crate::store) const OF_ORDER: &str = "SELECT g.name AS organizer, e.status AS event_status, e.over_at,
        e.revision AS event_revision,
        (SELECT CAST(SUM(tt.revision) AS BIGINT) FROM order_items i JOIN ticket_types tt ON tt.id = i.ticket_type_id
            WHERE i.order_id = o.id) AS type_revisions,
        s.cancelled, CAST(0 AS BIGINT) AS assigned, s.scans_and_renewals,
        s.changes + o.updated_at + (SELECT CAST(COALESCE(SUM(r.updated_at), 0) AS BIGINT) FROM refunds r
            WHERE r.order_id = o.id) AS changes
    FROM (SELECT t.order_id,
                CAST(SUM(CASE WHEN t.status = 'CANCELLED' THEN 1 ELSE 0 END) AS BIGINT) AS cancelled,
                CAST(SUM(t.scan_count + t.link_version) AS BIGINT) AS scans_and_renewals,
                CAST(SUM(t.updated_at) AS BIGINT) AS changes
            FROM tickets t WHERE t.order_id = ?1 GROUP BY t.order_id) s
        JOIN orders o ON o.id = s.order_id JOIN events e ON e.id = o.event_id
        JOIN organizations g ON g.id = o.organization_id
    WHERE +o.organization_id = ?2";
/// Logos that may be URLs: no longer text is one.
const LOGOS_OF_TICKET: &str = "SELECT l.logo
    FROM tickets t JOIN ticket_logos l ON l.ticket_type_id = t.ticket_type_id
    WHERE t.id = ?1 AND OCTET_LENGTH(l.logo) <= ?2";
pub(in crate::store) const LOGOS_OF_ORDER: &str = "SELECT l.logo
    FROM order_items i JOIN ticket_logos l ON l.ticket_type_id = i.ticket_type_id
    WHERE i.order_id = ?1 AND OCTET_LENGTH(l.logo) <= ?2 ORDER BY i.id";

fn decode(tx: &Transaction<'_>, row: &Row<'_>) -> Result<LinkVersion> {
    let stored: EventStatus = row.get("event_status")?;
    Ok(LinkVersion {
        organizer: row.get("organizer")?,
        event: (row.get("event_revision")?, status_at(stored, row.get("over_at")?, tx.now()).as_str()),
        ticket_types: row.get("type_revisions")?,
        cancelled_tickets: row.get("cancelled")?,
        assigned_tickets: row.get("assigned")?,
        scans_and_renewals: row.get("scans_and_renewals")?,
        changes: row.get("changes")?,
    })
}

/// Returns the version of what the links of a ticket show. `None` if it does not exist.
pub(crate) fn of_ticket(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    id: TicketId,
) -> Result<Option<LinkVersion>> {
    tx.query_opt(OF_TICKET, &[id.into(), organization.into()], |row| decode(tx, row))
}

/// Returns the version of what the links of an order show. `None` if it does not exist or has no tickets.
pub(crate) fn of_order(tx: &Transaction<'_>, organization: OrganizationId, id: OrderId) -> Result<Option<LinkVersion>> {
    tx.query_opt(OF_ORDER, &[id.into(), organization.into()], |row| decode(tx, row))
}

pub(crate) fn of_ticket_document(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    id: TicketId,
) -> Result<Option<DocumentVersion>> {
    of_ticket(tx, organization, id)?.map(|version| document(tx, version, LOGOS_OF_TICKET, id.into())).transpose()
}

pub(crate) fn of_order_document(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    id: OrderId,
) -> Result<Option<DocumentVersion>> {
    of_order(tx, organization, id)?.map(|version| document(tx, version, LOGOS_OF_ORDER, id.into())).transpose()
}

fn document(tx: &Transaction<'_>, link: LinkVersion, logos: &str, id: Bind<'_>) -> Result<DocumentVersion> {
    let logo_urls: Vec<String> = tx.query_all(logos, &[id, i64::from(MAX_BYTES).into()], |row| row.get("logo"))?;
    Ok(DocumentVersion { link, logo_urls: logo_urls.into_iter().filter(|logo| !is_data_uri(logo)).collect() })
}
