//! How many notifications wait to be sent.

use std::time::Duration;

use super::subscribed_endpoints;
use crate::enums::text_enum::TextEnum;
use crate::environment::time_of;
use crate::error::Result;
use crate::model::notifications::notification_types::EventType;
use crate::model::values::id::OrganizationId;
use crate::model::values::timestamp::Timestamp;
use crate::store::{Bind, Row, Transaction};

// The index covers all counted columns. For each group, the row of its endpoint is read.
pub(in crate::store) const COUNT_WAITING: &str = "SELECT endpoint_id, type, COUNT(*) AS waiting,
        COUNT(CASE WHEN due_at <= ?1 THEN 1 END) AS due, MIN(due_at) AS first_due,
        (SELECT e.enabled FROM webhook_endpoints e WHERE e.id = endpoint_id) AS enabled,
        (SELECT e.events FROM webhook_endpoints e WHERE e.id = endpoint_id) AS events
    FROM webhook_outbox WHERE state = 'WAITING' GROUP BY endpoint_id, type";

pub(in crate::store) const COUNT_OF_ENDPOINT: &str = "SELECT COUNT(*) AS waiting FROM (
    SELECT id FROM webhook_outbox WHERE endpoint_id = ?1 AND state = 'WAITING' LIMIT ?2) AS counted";

pub(in crate::store) const COUNT_STORED: &str =
    "SELECT organization_id, type, COUNT(*) AS number, MIN(id) AS first_id FROM webhook_notifications
    WHERE organization_id IS NOT NULL GROUP BY organization_id, type";
pub(in crate::store) const COUNT_STORED_OF: &str =
    "SELECT organization_id, type, COUNT(*) AS number, MIN(id) AS first_id FROM webhook_notifications
    WHERE organization_id = ?1 GROUP BY organization_id, type";

/// How many notifications wait to be sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct OutboxBacklog {
    pub(crate) waiting: u64,
    /// Waiting notifications that could be sent now.
    pub(crate) due: u64,
    /// For how long the oldest due notification has been due; `None` if none is due.
    pub(crate) oldest_due: Option<Duration>,
}

impl OutboxBacklog {
    /// Adds notifications that can be sent. The first of them is due since `first_due`.
    fn add_due(&mut self, number: u64, now: i64, first_due: i64) {
        if number > 0 {
            self.due += number;
            let millis = u64::try_from(now.saturating_sub(first_due)).unwrap_or(0);
            self.oldest_due = self.oldest_due.max(Some(Duration::from_millis(millis)));
        }
    }
}

/// Counts the notifications that wait for the endpoints of an organization, also for disabled ones. Stops at `most`.
pub(crate) fn count_of_organization(tx: &Transaction<'_>, organization: OrganizationId, most: u64) -> Result<u64> {
    let stored = stored(tx, COUNT_STORED_OF, &[organization.into()])?;
    let mut waiting = stored.iter().map(|stored| stored.rows).sum::<u64>();
    for endpoint in subscribed_endpoints::ids(tx, organization)? {
        let room = most.saturating_sub(waiting);
        if room == 0 {
            break;
        }
        let limit = i64::try_from(room).unwrap_or(i64::MAX);
        let counted = tx.query_opt(COUNT_OF_ENDPOINT, &[endpoint.into(), limit.into()], |row| row.count("waiting"))?;
        waiting = waiting.saturating_add(counted.unwrap_or(0));
    }
    Ok(waiting)
}

/// Counts the waiting notifications of all organizations.
pub(crate) fn read(tx: &Transaction<'_>) -> Result<OutboxBacklog> {
    let mut backlog = OutboxBacklog::default();
    let now = tx.now().millis();
    tx.query_each(COUNT_WAITING, &[now.into()], |row| {
        if is_being_removed(row)? {
            return Ok(());
        }
        backlog.waiting += row.count("waiting")?;
        if row.get("enabled")? {
            backlog.add_due(row.count("due")?, now, row.get::<Option<i64>>("first_due")?.unwrap_or(now));
        }
        Ok(())
    })?;
    for StoredNotifications { rows, since } in stored(tx, COUNT_STORED, &[])? {
        backlog.waiting += rows;
        backlog.add_due(rows, now, since.millis());
    }
    Ok(backlog)
}

/// Whether the endpoint of a group was deleted, or unsubscribed from the type.
fn is_being_removed(row: &Row<'_>) -> Result<bool> {
    if row.is_null("events")? {
        return Ok(true);
    }
    let (events, type_name): (String, String) = (row.get("events")?, row.get("type")?);
    Ok(serde_json::from_str::<Vec<String>>(&events).is_ok_and(|events| !events.contains(&type_name)))
}

/// Notifications of one type and organization that are not expanded.
struct StoredNotifications {
    /// How many rows of the outbox are to be inserted for them.
    rows: u64,
    since: Timestamp,
}

fn stored(tx: &Transaction<'_>, sql: &str, binds: &[Bind<'_>]) -> Result<Vec<StoredNotifications>> {
    let groups: Vec<(OrganizationId, String, u64, i64)> = tx.query_all(sql, binds, |row| {
        Ok((row.get("organization_id")?, row.get("type")?, row.count("number")?, row.get("first_id")?))
    })?;
    let mut stored = Vec::new();
    for (organization, type_name, number, first_id) in groups {
        let endpoints = subscribed_endpoints::enabled(tx, organization)?;
        let event_type = EventType::from_text(&type_name);
        let wanted = endpoints.iter().filter(|endpoint| event_type.is_some_and(|one| endpoint.types.contains(&one)));
        let rows = number * u64::try_from(wanted.count()).unwrap_or(u64::MAX);
        stored.push(StoredNotifications { rows, since: time_of(first_id).unwrap_or(tx.now()) });
    }
    Ok(stored)
}
