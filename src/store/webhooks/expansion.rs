//! Expansion: inserts the rows of the outbox for the notifications that changes have stored.
//!
//! The transaction of a change stores its notifications once. The webhook sender expands them right after the commit, many
//! at once: for each notification, a row for each endpoint of the organization that is enabled and subscribed to its type at
//! that moment. A notification that no endpoint wants is deleted.

use super::outbox_rows::{self, NewRow};
use super::subscribed_endpoints::{self, EnabledEndpoint};
use crate::enums::text_enum::TextEnum;
use crate::error::{Error, Result};
use crate::model::notifications::notification_types::EventType;
use crate::model::values::id::{NotificationId, OrganizationId};
use crate::store::columns::row_struct;
use crate::store::{Bind, Query, RowLock, Transaction};

/// How many rows a transaction inserts at most. Other writers wait for as long as this takes.
pub(crate) const BATCH: usize = 1024;

/// After how many rows it is looked whether others wait.
const PART: usize = 256;

/// How many keys a round expands at most.
const KEYS: usize = 32;

pub(in crate::store) const NEXT: &str = "SELECT organization_id, type FROM webhook_notifications
    WHERE organization_id IS NOT NULL AND (organization_id, type) > (?1, ?2) ORDER BY organization_id, type LIMIT 1";
// A change of its endpoints locks the organization too.
const ORGANIZATION: &str = "SELECT id FROM organizations WHERE id = ?1";
pub(in crate::store) const TAKE: &str =
    "UPDATE webhook_notifications SET organization_id = NULL, outbox_rows = outbox_rows - 1 + ?4
    WHERE id IN (SELECT id FROM webhook_notifications WHERE organization_id = ?1 AND type = ?2 ORDER BY id LIMIT ?3)
        AND organization_id = ?1 RETURNING id";
const DELETE_UNWANTED: &str = "DELETE FROM webhook_notifications
    WHERE id IN (SELECT id FROM webhook_notifications WHERE organization_id = ?1 AND type = ?2 ORDER BY id LIMIT ?3)
        AND organization_id = ?1";

row_struct! {
    /// Notifications of one type and organization that are not expanded. Keys take turns.
    #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
    pub(crate) struct ExpansionKey(row) {
        pub(crate) organization: OrganizationId => organization_id,
        /// The text of the type: that of a newer version may be unknown here.
        event_type: String => type,
    }
}

impl ExpansionKey {
    /// Before all keys.
    pub(crate) const FIRST: Self = Self { organization: OrganizationId::UNKNOWN, event_type: String::new() };
}

/// Whether there is a notification to expand.
pub(crate) fn any(tx: &Transaction<'_>) -> Result<bool> {
    Ok(next(tx, &ExpansionKey::FIRST)?.is_some())
}

fn next(tx: &Transaction<'_>, after: &ExpansionKey) -> Result<Option<ExpansionKey>> {
    tx.query_opt(NEXT, &[after.organization.into(), (&after.event_type).into()], ExpansionKey::read)
}

/// The next keys after `last`, and then those before it.
pub(crate) fn next_keys(tx: &Transaction<'_>, last: &ExpansionKey) -> Result<Vec<ExpansionKey>> {
    let mut keys: Vec<ExpansionKey> = Vec::new();
    let mut after = last.clone();
    while keys.len() < KEYS
        && let Some(key) = next(tx, &after)?
    {
        after = key.clone();
        keys.push(key);
    }
    after = ExpansionKey::FIRST;
    while keys.len() < KEYS
        && let Some(key) = next(tx, &after)?
        && key <= *last
    {
        after = key.clone();
        keys.push(key);
    }
    Ok(keys)
}

/// Expands the oldest notifications of a key, up to a number of rows. Returns how many rows were inserted, or unwanted
/// notifications deleted: none while another process expands those of the organization, or its endpoints are being changed.
pub(crate) fn expand(tx: &Transaction<'_>, key: &ExpansionKey) -> Result<usize> {
    let event_type = EventType::from_text(&key.event_type)
        .ok_or_else(|| Error::Internal(format!("{:?} is not a type of notification", key.event_type)))?;
    if !tx.exists(Query::locking(RowLock::ChangeUnlocked, ORGANIZATION), &[key.organization.into()])? {
        return Ok(0);
    }
    let endpoints = subscribed_endpoints::enabled(tx, key.organization)?;
    let endpoints: Vec<_> = endpoints.iter().filter(|endpoint| endpoint.types.contains(&event_type)).collect();
    let most = (PART / endpoints.len().max(1)).max(1);
    let binds = [key.organization.into(), (&key.event_type).into(), most.into(), endpoints.len().into()];
    let mut expanded = 0;
    loop {
        let (taken, inserted) = match endpoints.is_empty() {
            true => (tx.execute_counted(DELETE_UNWANTED, &binds[..3])?, 0),
            false => insert_part(tx, event_type, &binds, &endpoints)?,
        };
        expanded += inserted.max(taken);
        if taken < most || expanded >= BATCH || tx.others_wait() {
            return Ok(expanded);
        }
    }
}

/// Inserts the rows for the oldest notifications. Returns how many notifications and rows these are.
fn insert_part(
    tx: &Transaction<'_>,
    event_type: EventType,
    binds: &[Bind<'_>],
    endpoints: &[&EnabledEndpoint],
) -> Result<(usize, usize)> {
    let mut taken: Vec<NotificationId> = tx.query_all(Query::changing(TAKE), binds, |row| row.get("id"))?;
    taken.sort_unstable();
    let mut rows = Vec::with_capacity(taken.len() * endpoints.len());
    for notification in &taken {
        for endpoint in endpoints {
            rows.push(NewRow { notification: *notification, endpoint: endpoint.id });
        }
    }
    outbox_rows::insert_all(tx, event_type, &rows)?;
    Ok((taken.len(), rows.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;

    #[test]
    fn keys_take_turns_and_a_transaction_for_which_another_caller_waits_inserts_fewer_rows() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::in_folder(&folder).unwrap();
        let rows = [
            "INSERT INTO organizations (id, name, currency, timezone, created_at)
                VALUES (1, 'One', 'EUR', 'UTC', 0), (2, 'Two', 'EUR', 'UTC', 0)
                ON CONFLICT (id) DO NOTHING",
            "INSERT INTO webhook_endpoints (id, organization_id, url, events, enabled, secret, created_at, updated_at)
                SELECT id, id, 'https://receiver.example/', '[\"ticket.issued\"]', 1, 'whsec_', 0, 0 FROM organizations
                WHERE id > 0 ON CONFLICT (id) DO NOTHING",
            "INSERT INTO webhook_notifications (id, body, outbox_rows, organization_id, type)
                WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
                SELECT i, 'body', 1, 1 + i % 2, 'ticket.issued' FROM n WHERE i > 0
                ON CONFLICT (id) DO NOTHING",
        ];
        store.write(None, move |tx| rows.iter().try_for_each(|sql| tx.execute(sql, &[]))).unwrap();
        let keys = |last: &ExpansionKey| store.read(|tx| next_keys(tx, last)).unwrap();
        let [one, two] = &keys(&ExpansionKey::FIRST)[..] else { panic!("two keys") };
        assert!(one.organization < two.organization);
        assert_eq!(keys(one), [two.clone(), one.clone()]);
        for (expected, another_waits) in [(256, true), (1024, false), (220, false)] {
            let key = one.clone();
            let work = move |tx: &Transaction<'_>| expand(tx, &key);
            let rows = if another_waits { store.write_while_another_waits(work) } else { store.write(None, work) };
            assert_eq!(rows, Ok(expected));
        }
        assert_eq!(keys(&ExpansionKey::FIRST), std::slice::from_ref(two));
    }
}
