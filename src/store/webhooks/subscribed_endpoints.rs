//! The types of notification that endpoints are subscribed to.
//!
//! An endpoint has a generation for each type: how often the type was taken out of its `events`. What is queued for an
//! endpoint has the generation of that moment. If the endpoint has another one now, it was unsubscribed since, and the
//! notification is no longer for it, even if it is subscribed again.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::error::Result;
use crate::model::notifications::notification_types::EventType;
use crate::model::values::id::{OrganizationId, WebhookId};
use crate::store::columns::{json, row_struct};
use crate::store::{CommitEvent, Query, Row, RowLock, Transaction};

pub(in crate::store) const ENABLED: &str = "SELECT id, events, generations FROM webhook_endpoints
    WHERE organization_id = ?1 AND enabled = 1 ORDER BY id";
pub(in crate::store) const OF_ORGANIZATION: &str =
    "SELECT id, enabled, events, generations FROM webhook_endpoints WHERE organization_id = ?1";
const GENERATIONS: &str = "SELECT generations FROM webhook_endpoints WHERE id = ?1";
const SET_GENERATIONS: &str = "UPDATE webhook_endpoints SET generations = ?2 WHERE id = ?1";

/// The generations of the types of an endpoint.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub(in crate::store) struct Generations(BTreeMap<EventType, i64>);

impl Generations {
    pub(in crate::store) fn of(&self, event_type: EventType) -> i64 {
        self.0.get(&event_type).copied().unwrap_or(0)
    }
}

row_struct! {
    pub(crate) struct EnabledEndpoint(row) {
        pub(in crate::store) id: WebhookId,
        pub(in crate::store) types: Vec<EventType> => events,
        pub(in crate::store) generations: Generations = row.json("generations")?,
    }
}

/// Returns the enabled endpoints of an organization, which a transaction reads once. One that cannot be read is
/// skipped: it must not stop the sales of its organization.
pub(crate) fn enabled(tx: &Transaction<'_>, organization: OrganizationId) -> Result<Rc<Vec<EnabledEndpoint>>> {
    tx.cached(organization, || read_enabled(tx, organization))
}

fn read_enabled(tx: &Transaction<'_>, organization: OrganizationId) -> Result<Vec<EnabledEndpoint>> {
    let mut endpoints = Vec::new();
    // They are kept until the transaction ends: the notifications refer to them.
    let query = Query::locking(RowLock::Keep("webhook_endpoints"), ENABLED);
    tx.query_each(query, &[organization.into()], |row| {
        match EnabledEndpoint::read(row) {
            Ok(endpoint) => endpoints.push(endpoint),
            Err(error) if error.concerns_all_rows() => return Err(error),
            Err(_) => tx.record(CommitEvent::RowSkipped),
        }
        Ok(())
    })?;
    Ok(endpoints)
}

pub(in crate::store) struct ExistingEndpoint {
    pub(in crate::store) enabled: bool,
    /// The types, and their generations. `None` if they cannot be read.
    subscribed: Option<(Vec<EventType>, Generations)>,
}

impl ExistingEndpoint {
    /// Whether the endpoint is subscribed to the type since this generation. If that cannot be read, the notification is
    /// kept for it: its row has the generation, which is compared again before it is sent.
    pub(in crate::store) fn wants(&self, event_type: EventType, generation: i64) -> bool {
        let is_same = |(types, generations): &(Vec<EventType>, Generations)| {
            types.contains(&event_type) && generations.of(event_type) == generation
        };
        self.subscribed.as_ref().is_none_or(is_same)
    }
}

pub(in crate::store) fn existing(
    tx: &Transaction<'_>,
    organization: OrganizationId,
) -> Result<BTreeMap<WebhookId, ExistingEndpoint>> {
    let decode = |row: &Row<'_>| {
        let subscribed = row.json("events").ok().zip(row.json("generations").ok());
        Ok((row.get("id")?, ExistingEndpoint { enabled: row.get("enabled")?, subscribed }))
    };
    Ok(tx.query_all(OF_ORGANIZATION, &[organization.into()], decode)?.into_iter().collect())
}

/// Returns the generations of an endpoint; `None` if it was deleted.
pub(in crate::store) fn generations(tx: &Transaction<'_>, endpoint: WebhookId) -> Result<Option<Generations>> {
    tx.query_opt(GENERATIONS, &[endpoint.into()], |row| row.json("generations"))
}

/// Begins a new generation of each of these types, from which the endpoint is unsubscribed.
pub(in crate::store) fn end_generations(tx: &Transaction<'_>, endpoint: WebhookId, types: &[EventType]) -> Result<()> {
    let Generations(mut generations) = generations(tx, endpoint)?.unwrap_or_default();
    for event_type in types {
        *generations.entry(*event_type).or_insert(0) += 1;
    }
    tx.execute(SET_GENERATIONS, &[endpoint.into(), json(&generations)?.into()])?;
    tx.clear_cache();
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};

    use super::*;
    use crate::error::{Error, Unavailable};
    use crate::store::webhooks::endpoints;
    use crate::store::{Savepoint, Store};

    const ORGANIZATION: OrganizationId = OrganizationId::from_raw(1);
    const ROWS: [&str; 2] = [
        "INSERT INTO organizations (id, name, currency, timezone, created_at) VALUES (1, 'One', 'EUR', 'UTC', 0)
            ON CONFLICT (id) DO NOTHING",
        "INSERT INTO webhook_endpoints (id, organization_id, url, events, enabled, secret, created_at, updated_at)
            VALUES (1, 1, 'https://receiver.example/', '[\"ticket.issued\"]', 1, 'whsec_', 0, 0),
                (2, 1, 'https://receiver.example/', '[\"ticket.issued\"]', 1, 'whsec_', 0, 0)
            ON CONFLICT (id) DO NOTHING",
    ];

    /// The raw ids of the enabled endpoints.
    fn ids(tx: &Transaction<'_>) -> Vec<i64> {
        enabled(tx, ORGANIZATION).unwrap().iter().map(|endpoint| endpoint.id.raw()).collect()
    }

    #[test]
    fn a_transaction_reads_the_endpoints_once_and_again_after_it_changed_or_undid_something() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::in_folder(&folder).unwrap();
        let work = |tx: &Transaction<'_>| {
            for sql in ROWS {
                tx.execute(sql, &[])?;
            }
            assert_eq!(ids(tx), [1, 2]);
            assert!(Rc::ptr_eq(&enabled(tx, ORGANIZATION)?, &enabled(tx, ORGANIZATION)?));
            assert!(enabled(tx, OrganizationId::from_raw(2))?.is_empty());

            let undone = tx.savepoint(|tx| {
                endpoints::delete(tx, ORGANIZATION, WebhookId::from_raw(1))?;
                assert_eq!(ids(tx), [2]);
                Err::<(), _>(Error::Unavailable(Unavailable::Busy))
            })?;
            assert!(matches!(undone, Savepoint::RolledBack(_)));
            assert_eq!(ids(tx), [1, 2]);

            end_generations(tx, WebhookId::from_raw(2), &[EventType::TicketIssued])?;
            assert_eq!(enabled(tx, ORGANIZATION)?[1].generations.of(EventType::TicketIssued), 1);
            Ok(())
        };
        store.write(None, work).unwrap();
    }

    fn wait_for_jobs(store: &Store, number: usize) {
        while store.statistics().commits.jobs_waiting < number {
            std::thread::yield_now();
        }
    }

    #[test]
    fn jobs_of_one_transaction_do_not_see_what_an_undone_job_has_read() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::in_folder(&folder).unwrap();
        store.write(None, |tx| ROWS.iter().try_for_each(|sql| tx.execute(sql, &[]))).unwrap();

        std::thread::scope(|scope| {
            let (report, reports) = mpsc::channel();
            let waiting = Arc::clone(&store);
            let first = scope.spawn(|| {
                store.write(None, move |tx| {
                    report.send(()).unwrap();
                    // The other jobs are in the same transaction.
                    wait_for_jobs(&waiting, 2);
                    Ok(ids(tx))
                })
            });
            reports.recv().unwrap();
            let undone = scope.spawn(|| {
                store.write(None, |tx| {
                    endpoints::delete(tx, ORGANIZATION, WebhookId::from_raw(1))?;
                    assert_eq!(ids(tx), [2]);
                    Err::<(), _>(Error::Unavailable(Unavailable::Busy))
                })
            });
            wait_for_jobs(&store, 1);
            let last = scope.spawn(|| store.write(None, |tx| Ok(ids(tx))));
            assert_eq!(first.join().unwrap(), Ok(vec![1, 2]));
            assert_eq!(undone.join().unwrap(), Err(Error::Unavailable(Unavailable::Busy)));
            assert_eq!(last.join().unwrap(), Ok(vec![1, 2]));
        });
    }
}
