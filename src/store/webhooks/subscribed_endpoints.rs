//! The types of notification that endpoints are subscribed to.

use std::rc::Rc;

use crate::error::Result;
use crate::model::notifications::notification_types::EventType;
use crate::model::values::id::{OrganizationId, WebhookId};
use crate::store::columns::row_struct;
use crate::store::{CommitEvent, Transaction};

pub(in crate::store) const ENABLED: &str = "SELECT id, events FROM webhook_endpoints
    WHERE organization_id = ?1 AND enabled = 1 ORDER BY id";
pub(in crate::store) const OF_ORGANIZATION: &str = "SELECT id FROM webhook_endpoints WHERE organization_id = ?1";
const TYPES: &str = "SELECT events FROM webhook_endpoints WHERE id = ?1";

row_struct! {
    pub(crate) struct EnabledEndpoint(row) {
        pub(in crate::store) id: WebhookId,
        pub(in crate::store) types: Vec<EventType> => events,
    }
}

/// Returns the enabled endpoints of an organization, which a transaction reads once. One that cannot be read is
/// skipped: it must not stop the sales of its organization.
pub(crate) fn enabled(tx: &Transaction<'_>, organization: OrganizationId) -> Result<Rc<Vec<EnabledEndpoint>>> {
    tx.cached(organization, || read_enabled(tx, organization))
}

fn read_enabled(tx: &Transaction<'_>, organization: OrganizationId) -> Result<Vec<EnabledEndpoint>> {
    let mut endpoints = Vec::new();
    tx.query_each(ENABLED, &[organization.into()], |row| {
        match EnabledEndpoint::read(row) {
            Ok(endpoint) => endpoints.push(endpoint),
            Err(error) if error.concerns_all_rows() => return Err(error),
            Err(_) => tx.record(CommitEvent::RowSkipped),
        }
        Ok(())
    })?;
    Ok(endpoints)
}

/// Returns all endpoints of an organization.
pub(in crate::store) fn ids(tx: &Transaction<'_>, organization: OrganizationId) -> Result<Vec<WebhookId>> {
    tx.query_all(OF_ORGANIZATION, &[organization.into()], |row| row.get("id"))
}

/// Returns the types of an endpoint; `None` if it was deleted.
pub(in crate::store) fn types(tx: &Transaction<'_>, endpoint: WebhookId) -> Result<Option<Vec<EventType>>> {
    tx.query_opt(TYPES, &[endpoint.into()], |row| row.json("events"))
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
