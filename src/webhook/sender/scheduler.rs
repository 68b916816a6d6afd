//! The scheduler thread of the webhook sender: assigns free workers to endpoints, and does all the sender's writes.
//!
//! Each round with work is one transaction: it expands notifications, records the attempts that have finished, and claims
//! the next ones. A busy sender thus needs one commit for many attempts. If other callers wait for the
//! writer, the transaction ends early, and the next round does the rest.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use super::health::Observation;
use super::queues::{Assignment, EndpointQueues, WorkerLimits};
use super::state::{
    Batch, DAMAGED_PAUSE, DELIVERIES, ENDPOINTS, FinishedAttempt, NOTIFICATIONS, OUTBOX, SenderContext,
};
use super::worker;
use crate::error::{Error, Result};
use crate::model::values::id::WebhookId;
use crate::model::values::timestamp::Timestamp;
use crate::store::webhooks::attempt_results;
use crate::store::webhooks::attempts::{self, ClaimRequest, Claims, DueEndpoint};
use crate::store::webhooks::expansion::{self, ExpansionKey};
use crate::store::{Savepoint, Transaction};

/// The longest sleep between two rounds. It also bounds how late a change of the wall clock is noticed.
const MAX_SLEEP: Duration = Duration::from_millis(200);

const FAILURE_PAUSE: Duration = Duration::from_millis(500);

pub(super) struct Scheduler<'s> {
    sender: &'s Arc<SenderContext>,
    queues: EndpointQueues,
    /// Finished attempts that are not recorded yet.
    finished: Vec<Arc<FinishedAttempt>>,
    /// Workers that were assigned in the last round, for which nothing was claimed yet.
    assigned: Vec<Assignment>,
    /// Endpoints whose rows cannot be read, and until when they are skipped.
    damaged: BTreeMap<WebhookId, Timestamp>,
    /// Whether there may be notifications to expand.
    expands: bool,
    /// The key that was expanded last: those after it are next.
    last_key: ExpansionKey,
    /// Keys whose notifications cannot be expanded, and until when they are skipped.
    damaged_keys: BTreeMap<ExpansionKey, Timestamp>,
    /// Whether the last round has expanded notifications.
    expanded_last: bool,
}

impl<'s> Scheduler<'s> {
    pub(super) fn new(sender: &'s Arc<SenderContext>, limits: WorkerLimits) -> Self {
        Self {
            sender,
            queues: EndpointQueues::new(limits),
            finished: Vec::new(),
            assigned: Vec::new(),
            damaged: BTreeMap::new(),
            expands: false,
            last_key: ExpansionKey::FIRST,
            damaged_keys: BTreeMap::new(),
            expanded_last: false,
        }
    }

    /// Runs until the store has stopped, or until the sender is closed and everything is recorded or a write has
    /// failed.
    pub(super) fn run(mut self) {
        loop {
            let closed = self.collect_events();
            worker::start_needed(self.sender);
            // While the sender is open, a round that fails or panics is repeated: it must not end the sender.
            let written = catch_unwind(AssertUnwindSafe(|| self.write()))
                .unwrap_or_else(|_| Err(Error::Internal("the webhook scheduler panicked".to_owned())));
            if self.sender.store.stopped().is_some() {
                // Nothing can be claimed or recorded any more: attempts that are not recorded are made again.
                return self.sender.stop();
            }
            if let Err(error) = &written {
                tracing::warn!(
                    target: "ticketing::webhooks",
                    %error,
                    "the webhook scheduler could not write; it tries again"
                );
            }
            if closed && (written.is_err() || !self.has_pending()) {
                return self.release_batches();
            }
            if written.is_err() {
                self.sender.pause_scheduler(FAILURE_PAUSE);
            }
        }
    }

    /// Whether there are results to record, or workers for which nothing was claimed yet.
    fn has_pending(&self) -> bool {
        !self.finished.is_empty() || !self.assigned.is_empty()
    }

    /// Waits for events and updates the queues. Returns whether the sender is closed.
    fn collect_events(&mut self) -> bool {
        let sleep = match self.queues.next_timer() {
            _ if self.has_pending() || self.expands => Duration::ZERO,
            Some(at) => at.duration_since(self.sender.environment.now()).unwrap_or_default(),
            None => MAX_SLEEP,
        };
        let mut state = self.sender.wait_for_events(sleep.min(MAX_SLEEP));
        let due = std::mem::take(&mut state.due);
        self.expands |= std::mem::take(&mut state.stored);
        let finished = std::mem::take(&mut state.finished);
        let freed = std::mem::take(&mut state.freed);
        let stopping = state.stopping;
        let closed = state.closed;
        drop(state);

        let no_results = finished.is_empty();
        self.finished.extend(finished.into_iter().map(Arc::new));
        for worker in freed {
            match worker.last {
                Some(last) => self.queues.finish_batch(worker.endpoint, last),
                None => self.queues.free_workers(worker.endpoint, 1),
            }
        }
        if !stopping {
            // Counting the throttled endpoints takes too long for rounds that only record results.
            let update_gauge = no_results || !due.is_empty();
            let due = due.into_iter().map(|(id, at)| DueEndpoint { id, at });
            self.add_due(due.collect());
            if update_gauge {
                self.sender.store.counters().set_throttled(self.queues.throttled());
            }
        }
        // Also while the sender is stopping: an expired timer would keep this thread from sleeping.
        self.queues.fire_timers(self.sender.environment.now());
        closed
    }

    /// Queues the endpoints that have rows due now, and sets timers for the others. Skips damaged endpoints. If the
    /// store cannot be read, reports the endpoints again and pauses.
    fn add_due(&mut self, mut due: Vec<DueEndpoint>) {
        let now = self.sender.environment.now();
        self.damaged.retain(|_, until| *until > now);
        due.retain(|due| !self.damaged.contains_key(&due.id));
        if let Err(error) = self.add_unknown(&due) {
            tracing::warn!(
                target: "ticketing::webhooks",
                %error,
                "the webhook scheduler could not read endpoints; it tries again"
            );
            self.sender.report_due(due);
            self.sender.pause_scheduler(FAILURE_PAUSE);
            return;
        }
        let now = self.sender.environment.now();
        for DueEndpoint { id, at } in due {
            if at <= now {
                self.queues.mark_due(id);
            } else {
                self.queues.set_timer(id, at);
            }
        }
    }

    /// Adds a queue for each of these endpoints that has none and still exists.
    fn add_unknown(&mut self, due: &[DueEndpoint]) -> Result<()> {
        let unknown: Vec<WebhookId> = due.iter().map(|due| due.id).filter(|id| !self.queues.contains(*id)).collect();
        if unknown.is_empty() {
            return Ok(());
        }
        let found = self.sender.store.read(|tx| {
            let mut found = Vec::new();
            for id in unknown {
                match attempts::endpoint_info(tx, id) {
                    Ok(Some(info)) => found.push((id, info)),
                    Ok(None) => {}
                    Err(error) if error.concerns_all_rows() => return Err(error),
                    Err(error) => {
                        self.sender.report_skipped(DELIVERIES, &id, &error);
                        self.damaged.insert(id, tx.now().saturating_add(DAMAGED_PAUSE));
                    }
                }
            }
            Ok(found)
        })?;
        for (id, info) in found {
            let last = match info.last_attempt {
                Some(last) => Observation::of_attempt(last.success, false, last.duration),
                None => Observation::NONE,
            };
            self.queues.add(info.organization, id, last);
        }
        Ok(())
    }

    /// Records the finished attempts, expands notifications, and claims the next attempts in one
    /// transaction. What it leaves because others wait for it is kept for the next round. If it fails, the results are
    /// kept and the workers are free again.
    fn write(&mut self) -> Result<()> {
        let stopping = self.sender.state().stopping;
        self.expands &= !stopping;
        // A round that expands leaves everything else to the next one if others wait, so there are not two in a row while
        // there is something else.
        let keys = match std::mem::take(&mut self.expanded_last) && self.has_pending() {
            true => Vec::new(),
            false => self.keys_to_expand()?,
        };
        self.expanded_last = !keys.is_empty();
        let mut assignments = std::mem::take(&mut self.assigned);
        if stopping {
            self.free_workers(assignments.drain(..));
        } else {
            assignments.extend(self.queues.assign());
        }
        if self.finished.is_empty() && assignments.is_empty() && keys.is_empty() {
            return Ok(());
        }
        // Read before the claims, so that every later change of an endpoint is noticed.
        let mut changes = Vec::new();
        for assignment in &assignments {
            changes.push(self.sender.store.endpoint_changes(assignment.endpoint));
        }
        let finished = self.finished.clone();
        let wanted = assignments.clone();
        let to_expand = keys.clone();
        let written = self.sender.store.write(None, move |tx| {
            // First, because it locks organizations, and the rest locks rows of the outbox.
            let (mut expanded, mut rows) = (Vec::new(), 0);
            for key in &to_expand {
                match tx.savepoint(|tx| expansion::expand(tx, key))? {
                    Savepoint::RolledBack(error) if error.concerns_all_rows() => return Err(error),
                    Savepoint::Released(inserted) => {
                        rows += inserted;
                        expanded.push(Ok(inserted));
                    }
                    Savepoint::RolledBack(error) => expanded.push(Err(error)),
                }
                if rows >= expansion::BATCH || tx.should_end() {
                    break;
                }
            }
            let mut claims = Vec::new();
            if !to_expand.is_empty() && tx.others_wait() {
                return Ok((0, claims, expanded));
            }
            let recorded = record_all(tx, &finished)?;
            for Assignment { endpoint, workers, max_attempts } in wanted.iter().copied() {
                if tx.should_end() {
                    break;
                }
                let request = ClaimRequest { endpoint, workers, max_attempts };
                // Each claim has its own savepoint, so that unreadable rows affect only their endpoint.
                match tx.savepoint(|tx| attempts::claim(tx, request))? {
                    Savepoint::RolledBack(error) if error.concerns_all_rows() => return Err(error),
                    claim => claims.push(claim),
                }
            }
            Ok((recorded, claims, expanded))
        });
        let (recorded, claims, expanded) = match written {
            Ok(written) => written,
            Err(error) => {
                self.free_workers(assignments);
                return Err(error);
            }
        };
        // Rows that a worker has handed back are due at once. The transaction that releases them tells nobody.
        let released: Vec<_> = self.finished.drain(..recorded).filter(|finished| finished.result.is_none()).collect();
        if !stopping {
            let at = Timestamp::UNIX_EPOCH;
            self.sender
                .report_due(released.iter().map(|finished| DueEndpoint { id: finished.attempt.endpoint_id, at }));
        }
        self.assigned = assignments.split_off(claims.len());
        self.record_expanded(keys, expanded);
        let mut batches = Vec::new();
        for (index, claim) in claims.into_iter().enumerate() {
            batches.extend(self.batches_of(assignments[index], changes[index], claim));
        }
        self.sender.start_batches(batches);
        worker::start_needed(self.sender);
        Ok(())
    }

    /// The next keys whose notifications are to be expanded.
    fn keys_to_expand(&mut self) -> Result<Vec<ExpansionKey>> {
        if !self.expands {
            return Ok(Vec::new());
        }
        let now = self.sender.environment.now();
        self.damaged_keys.retain(|_, until| *until > now);
        let mut keys = self.sender.store.read(|tx| expansion::next_keys(tx, &self.last_key))?;
        keys.retain(|key| !self.damaged_keys.contains_key(key));
        self.expands = !keys.is_empty();
        Ok(keys)
    }

    /// Records what became of keys. If no row was inserted, another process does it, or a change of endpoints
    /// is in progress: the poller finds what is left.
    fn record_expanded(&mut self, keys: Vec<ExpansionKey>, expanded: Vec<Result<usize>>) {
        let mut rows = 0;
        for (key, expanded) in keys.into_iter().zip(expanded) {
            self.last_key = key.clone();
            match expanded {
                Ok(inserted) => rows += inserted,
                Err(error) => {
                    self.sender.report_skipped(NOTIFICATIONS, &key.organization, &error);
                    let until = self.sender.environment.now().saturating_add(DAMAGED_PAUSE);
                    self.damaged_keys.insert(key, until);
                }
            }
        }
        self.expands &= rows > 0 || !self.expanded_last;
    }

    fn free_workers(&mut self, assignments: impl IntoIterator<Item = Assignment>) {
        for Assignment { endpoint, workers, .. } in assignments {
            self.queues.free_workers(endpoint, workers);
        }
    }

    /// Divides claimed attempts among the workers that were assigned for them, and frees the workers that get none.
    fn batches_of(&mut self, assignment: Assignment, changes_before: u64, claims: Savepoint<Claims>) -> Vec<Batch> {
        let endpoint = assignment.endpoint;
        let mut claims = match claims {
            Savepoint::Released(claims) => claims,
            Savepoint::RolledBack(error) => {
                self.sender.report_skipped(ENDPOINTS, &endpoint, &error);
                let later = self.sender.environment.now().saturating_add(DAMAGED_PAUSE);
                self.damaged.insert(endpoint, later);
                Claims { next_due: Some(later), ..Claims::default() }
            }
        };
        for row in &claims.damaged {
            self.sender.report_skipped(OUTBOX, &row.id, &row.error);
        }
        // Equal shares, rounded up: the last batch may be smaller, and some workers may get none.
        let size = claims.attempts.len().div_ceil(assignment.workers);
        let mut batches = Vec::new();
        while !claims.attempts.is_empty() {
            let rest = claims.attempts.split_off(size.min(claims.attempts.len()));
            let attempts = std::mem::replace(&mut claims.attempts, rest);
            batches.push(Batch { endpoint, attempts, changes_before });
        }
        let unused = assignment.workers - batches.len();
        if claims.more_due {
            self.queues.free_workers(endpoint, unused);
        } else {
            if let Some(at) = claims.next_due {
                self.queues.set_timer(endpoint, at);
            }
            self.queues.nothing_due(endpoint, unused);
        }
        batches
    }

    /// Releases the claims of attempts that no worker has started.
    fn release_batches(self) {
        let batches = std::mem::take(&mut self.sender.state().batches);
        let released = self.sender.store.write(None, move |tx| {
            for batch in &batches {
                for attempt in &batch.attempts {
                    attempt_results::release(tx, attempt)?;
                }
            }
            Ok(())
        });
        if let Err(error) = released {
            tracing::warn!(
                target: "ticketing::webhooks",
                %error,
                "claimed webhook attempts could not be released; they are made again when their leases expire"
            );
        }
    }
}

/// Records finished attempts, and returns how many it has processed. If other callers wait, it stops early. If one
/// result cannot be recorded, it is lost and the attempt is made again; the others are still recorded.
fn record_all(tx: &Transaction<'_>, finished: &[Arc<FinishedAttempt>]) -> Result<usize> {
    let together = tx.savepoint(|tx| {
        for (index, finished) in finished.iter().enumerate() {
            if tx.should_end() {
                return Ok(index);
            }
            record(tx, finished)?;
        }
        Ok(finished.len())
    })?;
    if let Savepoint::Released(recorded) = together {
        return Ok(recorded);
    }
    for (index, finished) in finished.iter().enumerate() {
        if index > 0 && tx.should_end() {
            return Ok(index);
        }
        match tx.savepoint(|tx| record(tx, finished))? {
            Savepoint::Released(()) => {}
            Savepoint::RolledBack(error) if error.concerns_all_rows() => return Err(error),
            Savepoint::RolledBack(error) => {
                let outbox = finished.attempt.outbox_id;
                tracing::error!(
                    target: "ticketing::webhooks",
                    %outbox,
                    %error,
                    "the result of a webhook attempt could not be recorded"
                );
            }
        }
    }
    Ok(finished.len())
}

fn record(tx: &Transaction<'_>, finished: &FinishedAttempt) -> Result<()> {
    let Some(result) = &finished.result else {
        return attempt_results::release(tx, &finished.attempt);
    };
    if !attempt_results::record(tx, &finished.attempt, result)? {
        tracing::warn!(
            target: "ticketing::webhooks",
            outbox = %finished.attempt.outbox_id,
            "a webhook attempt finished too late to count: its lease has expired, or its endpoint was deleted"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::operation::statistics::WebhookOutcome;
    use crate::store::Store;
    use crate::store::webhooks::attempt_results::AttemptResult;

    /// A store with an endpoint that has 200 rows due.
    fn store(folder: &tempfile::TempDir) -> Arc<Store> {
        let store = Store::in_folder(folder).unwrap();
        let rows = [
            "INSERT INTO organizations (id, name, currency, timezone, created_at) VALUES (1, 'One', 'EUR', 'UTC', 0)",
            "INSERT INTO webhook_endpoints (id, organization_id, url, events, enabled, secret, created_at, updated_at)
                VALUES (1, 1, 'https://receiver.example/', '[\"ticket.issued\"]', 1, 'whsec_', 0, 0)",
            "INSERT INTO webhook_notifications (id, body, outbox_rows) VALUES (1, 'body', 200)",
            "INSERT INTO webhook_outbox (id, endpoint_id, event_id, type, state, due_at, created_at)
                WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
                SELECT i, 1, 1, 'ticket.issued', 'WAITING', 0, 0 FROM n WHERE i > 0",
        ];
        store.write(None, move |tx| rows.iter().try_for_each(|sql| tx.execute(sql, &[]))).unwrap();
        store
    }

    #[test]
    fn a_transaction_for_which_another_caller_waits_claims_and_records_a_few_attempts() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder);
        let request = ClaimRequest { endpoint: WebhookId::from_raw(1), workers: 8, max_attempts: 200 };
        let claims = store.write_while_another_waits(move |tx| attempts::claim(tx, request)).unwrap();
        assert_eq!((claims.attempts.len(), claims.more_due), (16, true));
        let rest = store.write(None, move |tx| attempts::claim(tx, request)).unwrap();
        assert_eq!((rest.attempts.len(), rest.more_due), (184, false));

        let result = AttemptResult {
            outcome: WebhookOutcome::Delivered,
            response_status: Some(200),
            response_body: None,
            duration: Some(Duration::ZERO),
            error: None,
            finished_at: Timestamp::UNIX_EPOCH,
        };
        let attempts = claims.attempts.into_iter().chain(rest.attempts);
        let finished = |attempt| Arc::new(FinishedAttempt { attempt, result: Some(result.clone()) });
        let finished: Vec<_> = attempts.map(finished).collect();
        let all = finished.clone();
        let recorded = store.write_while_another_waits(move |tx| record_all(tx, &all)).unwrap();
        assert_eq!(recorded, 8);
        assert_eq!(store.write(None, move |tx| record_all(tx, &finished[recorded..])), Ok(192));
        let delivered = "SELECT COUNT(*) AS number FROM webhook_outbox WHERE state = 'DELIVERED'";
        assert_eq!(store.read(|tx| tx.query_opt(delivered, &[], |row| row.count("number"))), Ok(Some(200)));
    }
}
