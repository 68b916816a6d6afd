//! How many notifications wait to be sent.

use std::time::Duration;

use super::fan_outs::{self, FanOutProgress};
use super::subscribed_endpoints::{self, ExistingEndpoint, Generations};
use crate::enums::text_enum::TextEnum;
use crate::error::Result;
use crate::model::notifications::notification_types::EventType;
use crate::model::values::id::{OrganizationId, WebhookId};
use crate::store::{Row, Transaction};

// The index covers all counted columns. For each group, the row of its endpoint is read.
pub(in crate::store) const COUNT_WAITING: &str = "SELECT endpoint_id, type, generation, COUNT(*) AS waiting,
        COUNT(CASE WHEN due_at <= ?1 THEN 1 END) AS due, MIN(due_at) AS first_due,
        (SELECT e.enabled FROM webhook_endpoints e WHERE e.id = endpoint_id) AS enabled,
        (SELECT e.generations FROM webhook_endpoints e WHERE e.id = endpoint_id) AS generations
    FROM webhook_outbox WHERE state = 'WAITING' GROUP BY endpoint_id, type, generation";

pub(in crate::store) const COUNT_OF_ENDPOINT: &str = "SELECT COUNT(*) AS waiting FROM (
    SELECT id FROM webhook_outbox WHERE endpoint_id = ?1 AND state = 'WAITING' LIMIT ?2) AS counted";

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
    let mut waiting = fan_outs::count_remaining(tx, organization)?;
    for endpoint in subscribed_endpoints::existing(tx, organization)?.into_keys() {
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
    count_fan_outs(tx, &mut backlog)?;
    Ok(backlog)
}

/// Whether the endpoint of a group was deleted, or unsubscribed from the type since.
fn is_being_removed(row: &Row<'_>) -> Result<bool> {
    if row.is_null("generations")? {
        return Ok(true);
    }
    let generations: Generations = row.json("generations")?;
    let event_type = EventType::from_text(&row.get::<String>("type")?);
    let generation: i64 = row.get("generation")?;
    Ok(event_type.is_some_and(|event_type| generations.of(event_type) != generation))
}

/// Counts the notifications whose rows are still to be inserted.
fn count_fan_outs(tx: &Transaction<'_>, backlog: &mut OutboxBacklog) -> Result<()> {
    let mut endpoints = std::collections::BTreeMap::<WebhookId, ExistingEndpoint>::new();
    let mut endpoints_of: Option<OrganizationId> = None;
    fan_outs::each(tx, |fan_out: FanOutProgress| {
        if endpoints_of != Some(fan_out.organization) {
            endpoints = subscribed_endpoints::existing(tx, fan_out.organization)?;
            endpoints_of = Some(fan_out.organization);
        }
        for (index, (id, generation)) in fan_out.endpoints.iter().enumerate() {
            let Some(endpoint) = endpoints.get(id) else { continue };
            if !endpoint.wants(fan_out.event_type, *generation) {
                continue;
            }
            let remaining = u64::try_from(fan_out.remaining(index)).unwrap_or(u64::MAX);
            backlog.waiting += remaining;
            if endpoint.enabled {
                backlog.add_due(remaining, tx.now().millis(), fan_out.created_at.millis());
            }
        }
        Ok(())
    })
}
