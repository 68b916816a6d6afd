//! Fair scheduling of fan-outs: selects the next one to insert a batch of rows for, round robin over the organizations.

use std::collections::BTreeMap;
use std::time::Duration;

use super::state::DAMAGED_PAUSE;
use crate::environment::{Clock, SystemClock};
use crate::error::{Error, Result};
use crate::model::values::id::OutboxId;
use crate::model::values::timestamp::Timestamp;
use crate::store::Store;
use crate::store::webhooks::fan_outs::{self, FanOut, FanOutKey};

/// How long the next batch is delayed for each waiting write: about as long as the write takes.
const PAUSE_FOR_WRITE: Duration = Duration::from_millis(1);

/// More waiting writes than this do not make the pause longer, so that a few thousand rows per second are inserted even
/// under load.
const MAX_WRITES: usize = 50;

/// The scheduling state of the fan-outs, which are stored in the database.
#[derive(Debug)]
pub(super) struct FanOutScheduler {
    /// Whether there may be fan-outs in the database.
    more: bool,
    /// No batch is inserted before this time. It is a time of the system's monotonic clock and not of the service's
    /// clock, because the waiting writes need real time.
    paused_until: Duration,
    /// The fan-out that [`next`](Self::next) returned last.
    last: FanOutKey,
    /// The fan-outs that cannot be read or inserted, and until when they are skipped.
    damaged: BTreeMap<OutboxId, Timestamp>,
}

impl Default for FanOutScheduler {
    fn default() -> Self {
        Self { more: false, paused_until: Duration::ZERO, last: FanOutKey::FIRST, damaged: BTreeMap::new() }
    }
}

impl FanOutScheduler {
    #[cfg(test)]
    fn may_have_more(&self) -> bool {
        self.more
    }

    /// How long the next batch has to wait. `None` if there are no fan-outs.
    pub(super) fn next_batch_in(&self) -> Option<Duration> {
        self.more.then(|| self.paused_until.saturating_sub(SystemClock.monotonic()))
    }

    /// Delays the next batch so that the writes that are waiting now can go first. The delay is proportional to their
    /// number.
    pub(super) fn pause(&mut self, writes_waiting: usize) {
        let writes = u32::try_from(writes_waiting.min(MAX_WRITES)).unwrap_or(0);
        self.paused_until = SystemClock.monotonic().saturating_add(PAUSE_FOR_WRITE * writes);
    }

    /// Lets [`next`](Self::next) read fan-outs again, because there may be new ones.
    pub(super) fn look_for_more(&mut self) {
        self.more = true;
    }

    /// Lets [`next`](Self::next) return `None` until [`look_for_more`](Self::look_for_more) is called.
    pub(super) fn stop(&mut self) {
        self.more = false;
    }

    /// Returns the first fan-out of the next organization that has one, or `None` during a pause. A fan-out that
    /// cannot be read is skipped for a minute, and passed to `report`. If the store cannot be read, returns `None` until
    /// [`look_for_more`](Self::look_for_more) is called.
    pub(super) fn next(&mut self, store: &Store, now: Timestamp, report: impl Fn(OutboxId, &Error)) -> Option<FanOut> {
        if self.next_batch_in() != Some(Duration::ZERO) {
            return None;
        }
        self.read_next(store, now, report).unwrap_or_else(|error| {
            self.more = false;
            tracing::warn!(
                target: "ticketing::webhooks",
                %error,
                "the webhook scheduler could not read notifications for several endpoints; it tries again"
            );
            None
        })
    }

    fn read_next(
        &mut self,
        store: &Store,
        now: Timestamp,
        report: impl Fn(OutboxId, &Error),
    ) -> Result<Option<FanOut>> {
        self.damaged.retain(|_, until| *until > now);
        let mut after = self.last.end_of_organization();
        let mut from_start = false;
        while self.more {
            let Some(key) = store.read_one(|tx| fan_outs::next(tx, after))? else {
                // At the end of the list, start again from its beginning. At the second end, all of it was searched.
                self.more = !std::mem::replace(&mut from_start, true);
                after = FanOutKey::FIRST;
                continue;
            };
            after = key;
            if self.damaged.contains_key(&key.id) {
                continue;
            }
            match store.read_one(|tx| fan_outs::get(tx, key.id)) {
                Ok(Some(fan_out)) => {
                    self.last = key;
                    return Ok(Some(fan_out));
                }
                // Another process has finished it.
                Ok(None) => {}
                Err(error) if error.concerns_all_rows() => return Err(error),
                Err(error) => {
                    report(key.id, &error);
                    self.skip(key, now);
                }
            }
        }
        Ok(None)
    }

    /// Skips the fan-out that [`next`](Self::next) returned last, because its rows cannot be inserted. Returns its id.
    pub(super) fn skip_last(&mut self, now: Timestamp) -> OutboxId {
        self.skip(self.last, now);
        self.last.id
    }

    fn skip(&mut self, fan_out: FanOutKey, now: Timestamp) {
        self.damaged.insert(fan_out.id, now.saturating_add(DAMAGED_PAUSE));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::store::Transaction;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    /// A store with fan-outs, given as pairs of ids and organizations.
    fn store(folder: &tempfile::TempDir, fan_outs: &[(i64, i64)]) -> Arc<Store> {
        let store = Store::in_folder(folder).unwrap();
        let fan_outs = fan_outs.to_vec();
        let insert = move |tx: &Transaction<'_>| {
            for (id, organization) in &fan_outs {
                let values = [(*id).into(), (*organization).into()];
                let sql = "INSERT INTO organizations (id, name, currency, timezone, created_at)
                    VALUES (?1, 'One', 'EUR', 'UTC', 0) ON CONFLICT DO NOTHING";
                tx.execute(sql, &values[1..])?;
                let sql = "INSERT INTO webhook_fan_outs (id, organization_id, type, endpoints, notifications, total, created_at)
                    VALUES (?1, ?2, 'ticket.issued', '[[\"webhook_0000000000001\", 0]]',
                        '[[\"evt_0000000000001\", \"body\"]]', 1, 0)";
                tx.execute(sql, &values)?;
            }
            Ok(())
        };
        store.write(None, insert).unwrap();
        store
    }

    fn next(queue: &mut FanOutScheduler, store: &Store, now: Timestamp) -> Option<FanOut> {
        queue.next(store, now, |_, _| {})
    }

    /// Calls `next` up to `number` times, and returns the ids of the fan-outs. `finish` inserts a batch of each.
    fn continued(queue: &mut FanOutScheduler, store: &Store, number: usize, finish: bool) -> Vec<i64> {
        let mut ids = Vec::new();
        while ids.len() < number
            && let Some(fan_out) = next(queue, store, NOW)
        {
            ids.push(queue.last.id.raw());
            if finish {
                store.write(None, move |tx| fan_outs::insert_batch(tx, &fan_out)).unwrap();
            }
        }
        ids
    }

    #[test]
    fn organizations_take_turns_and_each_continues_its_first_fan_out() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder, &[(1, 7), (2, 7), (3, 7), (4, 8), (5, 9), (6, 9)]);
        let mut queue = FanOutScheduler::default();
        assert_eq!(continued(&mut queue, &store, 9, false), [] as [i64; 0], "`look_for_more` was not called");
        queue.look_for_more();
        assert_eq!(continued(&mut queue, &store, 4, false), [1, 4, 5, 1]);
        assert_eq!(continued(&mut queue, &store, 9, true), [4, 5, 1, 6, 2, 3]);
        assert!(!queue.may_have_more());
    }

    #[test]
    fn there_is_a_pause_after_a_batch_while_writes_are_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder, &[(1, 7), (2, 7)]);
        let mut queue = FanOutScheduler::default();
        queue.look_for_more();
        queue.pause(0);
        assert!(next(&mut queue, &store, NOW).is_some());
        queue.pause(usize::MAX);
        let pause = queue.next_batch_in().expect("there are more");
        assert!(pause > Duration::ZERO && pause <= Duration::from_millis(50), "{pause:?}");
        // On a slow machine, that pause may be over already, so set one that never ends.
        queue.paused_until = Duration::MAX;
        assert!(next(&mut queue, &store, NOW).is_none());
        queue.pause(0);
        assert!(next(&mut queue, &store, NOW).is_some());
    }

    #[test]
    fn fan_outs_that_cannot_be_read_are_skipped_for_a_minute() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder, &[(1, 7), (2, 7), (3, 8)]);
        let damage = "UPDATE webhook_fan_outs SET notifications = ?2 WHERE id = ?1";
        store.write(None, move |tx| tx.execute(damage, &[1_i64.into(), "[]".into()])).unwrap();
        let mut queue = FanOutScheduler::default();
        queue.look_for_more();
        assert_eq!(continued(&mut queue, &store, 9, true), [2, 3]);
        assert!(!queue.may_have_more());
        queue.look_for_more();
        assert!(next(&mut queue, &store, NOW).is_none());
        let whole = "[[\"evt_0000000000001\", \"body\"]]";
        store.write(None, move |tx| tx.execute(damage, &[1_i64.into(), whole.into()])).unwrap();
        for (seconds, found) in [(59, false), (60, true)] {
            queue.look_for_more();
            let now = NOW.saturating_add(std::time::Duration::from_secs(seconds));
            assert_eq!(next(&mut queue, &store, now).is_some(), found, "{seconds}");
        }
    }
}
