//! The queue of work that is done later: by any process that has the database open, as often as it takes.
//!
//! A row is inserted in the transaction that causes the work, so that no work is lost. A process claims the row
//! before it does the work: a claim is a random token, and a due time at which the claim ends. If the process ends before it records how the work
//! ended, the row is due again at that time. What is recorded counts only if the row still has the token.
//!
//! Work that is about another row has its id as a key. There is one row for each kind and key: a new fact [`set`]s when it is
//! due.

use std::time::Duration;

#[cfg(feature = "mail")]
use crate::error::Error;
use crate::error::Result;
use crate::model::values::id::{EventId, NotificationId, OrganizationId};
use crate::model::values::timestamp::Timestamp;
use crate::store::columns::row_struct;
use crate::store::{Bind, CommitEvent, LockedEvent, Query, RowLock, Transaction};

/// How many organizations a claim looks at to find the one whose turn it is. Organizations that only have work for later
/// count too.
const MAX_LOOKED_AT: usize = 64;

/// How many rows one transaction deletes. Other writers wait for as long as this takes.
const BATCH: i64 = 1000;

macro_rules! select {
    ($rest:literal) => {
        concat!("SELECT id, kind, key, organization_id, event_id, body, attempts, created_at FROM work ", $rest)
    };
}

const INSERT: &str = "INSERT INTO work (id, kind, organization_id, body, due_at, created_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?5) ON CONFLICT (id) DO NOTHING";
const INSERT_WITH_KEY: &str = "INSERT INTO work (id, kind, key, organization_id, event_id, body, due_at, created_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (id) DO NOTHING";
pub(in crate::store) const SET: &str =
    "UPDATE work SET due_at = ?3, body = ?4, attempts = 0, claim = NULL WHERE kind = ?1 AND key = ?2";
pub(in crate::store) const WAKE: &str = "UPDATE work SET due_at = ?3, claim = NULL
    WHERE kind = ?1 AND key = ?2 AND (claim IS NULL OR due_at <= ?3)";
const WAKE_LATER: &str = "UPDATE work SET due_at = ?2 WHERE id = ?1 AND claim IS NULL AND due_at > ?2";
pub(in crate::store) const RESTART_ALL: &str =
    "UPDATE work SET due_at = ?3, attempts = 0, claim = NULL WHERE key = ?2 AND kind LIKE ?1";
pub(in crate::store) const FORGET_ALL: &str = "DELETE FROM work WHERE key = ?2 AND kind LIKE ?1";
pub(in crate::store) const LATER_OF_KIND: &str = "SELECT id, event_id, due_at FROM work
    WHERE kind = ?1 AND (due_at, id) > (?2, ?3) AND created_at < ?4 AND claim IS NULL ORDER BY due_at, id LIMIT ?5";
const CANCEL: &str = "DELETE FROM work WHERE kind = ?1 AND key = ?2 AND (claim IS NULL OR due_at <= ?3)";
const IS_THERE: &str = "SELECT 1 FROM work WHERE kind = ?1 AND key = ?2";
const IS_CLAIMED: &str = "SELECT 1 FROM work WHERE kind = ?1 AND key = ?2 AND claim IS NOT NULL";
const IS_ATTEMPTED: &str = "SELECT 1 FROM work WHERE kind = ?1 AND key = ?2 AND claim IS NOT NULL AND due_at > ?3";
pub(in crate::store) const WITH_KEY: &str = select!("WHERE kind = ?1 AND key = ?2 AND (due_at <= ?3 OR due_at > ?4)");
pub(in crate::store) const DUE: &str = select!("WHERE kind = ?1 AND due_at <= ?2 ORDER BY due_at, id LIMIT 1");
pub(in crate::store) const DUE_TOO_LATE: &str = select!("WHERE kind = ?1 AND due_at > ?2 ORDER BY due_at, id LIMIT 1");
pub(in crate::store) const ANY_DUE: &str = "SELECT id FROM work WHERE kind = ?1 AND due_at <= ?2
    UNION ALL SELECT id FROM work WHERE kind = ?1 AND due_at > ?3 LIMIT 1";
pub(in crate::store) const NEXT_ORGANIZATION: &str = "SELECT organization_id FROM work
    WHERE kind = ?1 AND organization_id > ?2 ORDER BY organization_id LIMIT 1";
pub(in crate::store) const DUE_OF_ORGANIZATION: &str =
    select!("WHERE kind = ?1 AND organization_id = ?2 AND due_at <= ?3 ORDER BY due_at, id LIMIT 1");
const CLAIM: &str = "UPDATE work SET claim = ?2, attempts = attempts + 1, due_at = ?3 WHERE id = ?1";
const RENEW: &str = "UPDATE work SET due_at = ?3 WHERE id = ?1 AND claim = ?2";
const LATER: &str = "UPDATE work SET claim = NULL, due_at = ?3 WHERE id = ?1 AND claim = ?2";
const CHANGE_LATER: &str = "UPDATE work SET claim = NULL, due_at = ?3, body = ?4 WHERE id = ?1 AND claim = ?2";
const PUT_BACK: &str =
    "UPDATE work SET claim = NULL, attempts = attempts - 1, due_at = ?3 WHERE id = ?1 AND claim = ?2";
const IS_HELD: &str = "SELECT 1 FROM work WHERE id = ?1 AND claim = ?2";
const DONE: &str = "DELETE FROM work WHERE id = ?1 AND claim = ?2";
const DELETE: &str = "DELETE FROM work WHERE id = ?1";
pub(in crate::store) const ABANDONED: &str =
    "SELECT id FROM work WHERE kind = ?1 AND due_at <= ?2 ORDER BY due_at LIMIT ?3";
pub(in crate::store) const DELETE_ABANDONED: &str = "DELETE FROM work
    WHERE id IN (SELECT id FROM work WHERE kind = ?1 AND due_at <= ?2 ORDER BY due_at LIMIT ?3)";

#[cfg(any(test, feature = "mail"))]
pub(in crate::store) const POSTPONE: &str = "UPDATE work SET due_at = ?3 WHERE id IN (SELECT id FROM work
    WHERE kind = ?1 AND organization_id = ?2 AND due_at <= ?4 AND claim IS NULL ORDER BY due_at, id LIMIT ?5)";
pub(in crate::store) const COUNT: &str = "SELECT COUNT(*) AS waiting FROM work WHERE kind = ?1";
pub(in crate::store) const OLDEST_DUE: &str =
    "SELECT due_at FROM work WHERE kind = ?1 AND due_at <= ?2 ORDER BY due_at LIMIT 1";

/// All work, for a check.
pub(in crate::store) const ALL: &str = select!("");

/// The id of work. A call of a function has the id of its notification.
pub(crate) type WorkId = NotificationId;

/// How work of a kind is claimed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Queue<'a> {
    /// The kind, as it is stored.
    pub(crate) kind: &'a str,
    /// How long a claim lasts.
    pub(crate) lease: Duration,
    /// How often an attempt is made at most.
    pub(crate) max_attempts: i64,
    /// The longest time until the next attempt, and more. A due time beyond it comes from a clock that was wrong, and
    /// counts as due.
    pub(crate) latest_due: Duration,
}

row_struct! {
    /// Work, and how often it was attempted.
    #[derive(Debug, Clone)]
    pub(crate) struct Work(row) {
        pub(crate) id: WorkId,
        pub(crate) kind: String,
        /// The id of the row that it is about. `None` if it is about nothing that changes.
        pub(crate) key: Option<i64>,
        pub(crate) organization_id: OrganizationId,
        /// The event that it is about.
        pub(crate) event_id: Option<EventId>,
        /// What is to be done, as its kind writes it.
        pub(crate) body: String,
        /// Attempts that were started before this one.
        pub(crate) attempts: i64,
        pub(crate) created_at: Timestamp,
    }
}

impl Work {
    /// The event that it is about, if its kind is about events only.
    #[cfg(feature = "mail")]
    pub(crate) fn event(&self) -> Result<EventId> {
        self.event_id.ok_or_else(|| Error::Internal(format!("work of the kind {} has no event", self.kind)))
    }
}

/// Work that this process may do.
#[derive(Debug, Clone)]
pub(crate) struct ClaimedWork {
    pub(crate) work: Work,
    /// The token of the claim.
    token: i64,
}

/// What a search for work has found.
pub(crate) enum Claim {
    Nothing,
    Work(ClaimedWork),
    /// The work was removed: each attempt was interrupted by the end of its process.
    GivenUp(WorkId),
}

/// Work about another row.
pub(crate) struct KeyedWork<'a> {
    pub(crate) kind: &'a str,
    /// The id of the row.
    pub(crate) key: i64,
    pub(crate) organization: OrganizationId,
    /// The event whose sale it is about.
    pub(crate) event: Option<EventId>,
    pub(crate) body: &'a str,
    pub(crate) due_at: Timestamp,
}

/// Adds work, which is due now.
pub(in crate::store) fn add(
    tx: &Transaction<'_>,
    kind: &str,
    organization: OrganizationId,
    body: &str,
) -> Result<WorkId> {
    tx.record(CommitEvent::WorkAdded);
    tx.insert(INSERT, &[kind.into(), organization.into(), body.into(), tx.now().into()])
}

/// Sets when work about a row is due, because of a new fact. An attempt in progress loses its claim. The transaction locks
/// the row, or its event.
pub(crate) fn set(tx: &Transaction<'_>, work: &KeyedWork<'_>) -> Result<()> {
    let binds = [work.kind.into(), work.key.into(), work.due_at.into(), work.body.into()];
    if tx.execute_counted(SET, &binds)? == 0 { add_with_key(tx, work) } else { Ok(()) }
}

/// Lets work about a row be done now, unless an attempt is in progress: that one sees the new fact, or what becomes of it.
pub(crate) fn wake(tx: &LockedEvent<'_>, work: &KeyedWork<'_>) -> Result<()> {
    let binds = [work.kind.into(), work.key.into(), tx.now().into()];
    if tx.execute_counted(WAKE, &binds)? > 0 || is_there(tx, work.kind, work.key)? {
        return Ok(());
    }
    add_with_key(tx, work)
}

/// Removes work about a row that is not to be done any more, unless an attempt is in progress.
pub(crate) fn cancel(tx: &Transaction<'_>, kind: &str, key: i64) -> Result<()> {
    tx.execute(CANCEL, &[kind.into(), key.into(), tx.now().into()])
}

/// Lets all work of kinds like this about a row be done now, from its first attempt on. An attempt in progress loses its
/// claim. Returns how much there is.
pub(crate) fn restart_all(tx: &LockedEvent<'_>, kinds: &str, key: i64) -> Result<usize> {
    tx.execute_counted(RESTART_ALL, &[kinds.into(), key.into(), tx.now().into()])
}

/// Removes all work of kinds like this about a row. An attempt in progress loses its claim.
pub(crate) fn forget_all(tx: &LockedEvent<'_>, kinds: &str, key: i64) -> Result<()> {
    tx.execute(FORGET_ALL, &[kinds.into(), key.into()])
}

row_struct! {
    /// Work about a row that is due later.
    #[derive(Debug, Clone, Copy)]
    pub(crate) struct LaterWork(row) {
        pub(crate) id: WorkId,
        pub(crate) event: EventId => event_id,
        due_at: Timestamp,
    }
}

/// Returns the next work of a kind after `after`, in the order in which it is due, that is due later, that nobody does
/// now, and that was added before `added_before`.
pub(crate) fn due_later(
    tx: &Transaction<'_>,
    kind: &str,
    added_before: Timestamp,
    after: Option<LaterWork>,
    limit: i64,
) -> Result<Vec<LaterWork>> {
    let (at, id) = after.map_or((tx.now(), i64::MAX), |work| (work.due_at, work.id.raw()));
    let binds = [kind.into(), at.into(), id.into(), added_before.into(), limit.into()];
    tx.query_all(LATER_OF_KIND, &binds, LaterWork::read)
}

/// Lets work that is due later be done now. Returns whether it was to be done later.
pub(crate) fn wake_later(tx: &LockedEvent<'_>, id: WorkId) -> Result<bool> {
    Ok(tx.execute_counted(WAKE_LATER, &[id.into(), tx.now().into()])? > 0)
}

/// Whether there is work about a row.
pub(crate) fn is_there(tx: &Transaction<'_>, kind: &str, key: i64) -> Result<bool> {
    tx.exists(IS_THERE, &[kind.into(), key.into()])
}

/// Whether an attempt at work about a row is in progress.
pub(crate) fn is_attempted(tx: &Transaction<'_>, kind: &str, key: i64) -> Result<bool> {
    tx.exists(IS_ATTEMPTED, &[kind.into(), key.into(), tx.now().into()])
}

/// Whether an attempt at work about a row has begun, and how it ended is not recorded. Its process may have ended.
pub(crate) fn is_claimed(tx: &Transaction<'_>, kind: &str, key: i64) -> Result<bool> {
    tx.exists(IS_CLAIMED, &[kind.into(), key.into()])
}

/// Adds work about a row, of which there is none.
pub(crate) fn add_with_key(tx: &Transaction<'_>, work: &KeyedWork<'_>) -> Result<()> {
    let binds = [
        work.kind.into(),
        work.key.into(),
        work.organization.into(),
        work.event.into(),
        work.body.into(),
        work.due_at.into(),
        tx.now().into(),
    ];
    let _: WorkId = tx.insert(INSERT_WITH_KEY, &binds)?;
    Ok(())
}

/// Whether work of this kind is due.
pub(crate) fn any_due(tx: &Transaction<'_>, Queue { kind, latest_due, .. }: Queue<'_>) -> Result<bool> {
    tx.exists(ANY_DUE, &[kind.into(), tx.now().into(), tx.now().saturating_add(latest_due).into()])
}

/// Lets work of an organization that is due wait until a time: a batch of it. Returns whether there may be more.
#[cfg(feature = "mail")]
pub(crate) fn postpone(
    tx: &Transaction<'_>,
    kind: &str,
    organization: OrganizationId,
    until: Timestamp,
) -> Result<bool> {
    let postpone = |part: i64| {
        let binds = [kind.into(), organization.into(), until.into(), tx.now().into(), part.into()];
        tx.execute_counted(POSTPONE, &binds)
    };
    Ok(!tx.in_parts(BATCH, postpone)?.is_last)
}

/// Returns how much work of a kind there is, and for how long the oldest has been due.
pub(crate) fn backlog(tx: &Transaction<'_>, kind: &str) -> Result<(u64, Option<Duration>)> {
    let waiting: Option<i64> = tx.query_opt(COUNT, &[kind.into()], |row| row.get("waiting"))?;
    let oldest: Option<Timestamp> =
        tx.query_opt(OLDEST_DUE, &[kind.into(), tx.now().into()], |row| row.get("due_at"))?;
    let waiting = u64::try_from(waiting.unwrap_or(0)).unwrap_or(0);
    Ok((waiting, oldest.and_then(|due_at| tx.now().duration_since(due_at))))
}

/// Claims work of this kind. The organizations take turns, so that one with very much does not delay the others: it is
/// of the first after `last` that has some due and is not one of `busy`. If none is soon found, it is what has been due for
/// the longest time. Returns also the last organization that was looked at: the next search goes on there.
pub(crate) fn claim(
    tx: &Transaction<'_>,
    queue: Queue<'_>,
    last: OrganizationId,
    busy: &[OrganizationId],
) -> Result<(Claim, OrganizationId)> {
    let (found, turn) = find_next_turn(tx, queue.kind, last, busy)?;
    let found = found.map_or_else(|| find_due(tx, queue), |work| Ok(Some(work)))?;
    let Some(work) = found.filter(|work| !busy.contains(&work.organization_id)) else {
        return Ok((Claim::Nothing, turn));
    };
    if work.attempts >= queue.max_attempts {
        tx.execute(DELETE, &[work.id.into()])?;
        return Ok((Claim::GivenUp(work.id), turn));
    }
    Ok((Claim::Work(hold(tx, queue, work)?), turn))
}

/// Claims the work about a row, if it is due.
pub(crate) fn claim_key(tx: &Transaction<'_>, queue: Queue<'_>, key: i64) -> Result<Option<ClaimedWork>> {
    let latest = tx.now().saturating_add(queue.latest_due);
    let found = find_unlocked(tx, WITH_KEY, &[queue.kind.into(), key.into(), tx.now().into(), latest.into()])?;
    found.map(|work| hold(tx, queue, work)).transpose()
}

fn hold(tx: &Transaction<'_>, queue: Queue<'_>, work: Work) -> Result<ClaimedWork> {
    let token = i64::from_le_bytes(tx.environment().random());
    tx.execute(CLAIM, &[work.id.into(), token.into(), tx.now().saturating_add(queue.lease).into()])?;
    Ok(ClaimedWork { work, token })
}

/// Returns work of the next organization after `last` that has some due, in the order of the ids, and the last
/// organization that was looked at. Looks at a limited number of organizations.
fn find_next_turn(
    tx: &Transaction<'_>,
    kind: &str,
    last: OrganizationId,
    busy: &[OrganizationId],
) -> Result<(Option<Work>, OrganizationId)> {
    let mut organization = last;
    for _ in 0..MAX_LOOKED_AT {
        let binds = [kind.into(), organization.into()];
        match tx.query_opt(NEXT_ORGANIZATION, &binds, |row| row.get("organization_id"))? {
            Some(next) => organization = next,
            None if organization == OrganizationId::UNKNOWN => return Ok((None, organization)),
            // Those before `last` follow.
            None => {
                organization = OrganizationId::UNKNOWN;
                continue;
            }
        }
        let work = if busy.contains(&organization) {
            None
        } else {
            find_unlocked(tx, DUE_OF_ORGANIZATION, &[kind.into(), organization.into(), tx.now().into()])?
        };
        if work.is_some() || organization == last {
            return Ok((work, organization));
        }
    }
    Ok((None, organization))
}

/// Returns the work that has been due for the longest time, or that has a due time from a clock that was wrong.
fn find_due(tx: &Transaction<'_>, Queue { kind, latest_due, .. }: Queue<'_>) -> Result<Option<Work>> {
    if let Some(work) = find_unlocked(tx, DUE, &[kind.into(), tx.now().into()])? {
        return Ok(Some(work));
    }
    find_unlocked(tx, DUE_TOO_LATE, &[kind.into(), tx.now().saturating_add(latest_due).into()])
}

/// Returns the first row that no other process is claiming, and locks it.
fn find_unlocked(tx: &Transaction<'_>, sql: &str, binds: &[Bind<'_>]) -> Result<Option<Work>> {
    tx.query_opt(Query::locking(RowLock::UpdateUnlocked, sql), binds, Work::read)
}

/// Removes work that is done, or is given up.
pub(crate) fn done(tx: &Transaction<'_>, claimed: &ClaimedWork) -> Result<()> {
    tx.execute(DONE, &[claimed.work.id.into(), claimed.token.into()])
}

/// Lets work be attempted again after this time. Returns when.
pub(crate) fn later(tx: &Transaction<'_>, claimed: &ClaimedWork, delay: Duration) -> Result<Timestamp> {
    let at = tx.now().saturating_add(delay);
    tx.execute(LATER, &[claimed.work.id.into(), claimed.token.into(), at.into()])?;
    Ok(at)
}

/// Whether this process still has its claim. The transaction locks the event that the work is about: a new fact may
/// [`set`] the work, and then the attempt is over.
pub(crate) fn is_held(tx: &LockedEvent<'_>, claimed: &ClaimedWork) -> Result<bool> {
    tx.exists(IS_HELD, &[claimed.work.id.into(), claimed.token.into()])
}

/// Lets a claim end later: after this time from now. Returns `false` if this process no longer has it. If it has, no other
/// one gets it until the transaction ends.
pub(crate) fn renew(tx: &Transaction<'_>, claimed: &ClaimedWork, lease: Duration) -> Result<bool> {
    let until = tx.now().saturating_add(lease);
    Ok(tx.execute_counted(RENEW, &[claimed.work.id.into(), claimed.token.into(), until.into()])? > 0)
}

/// Lets work be attempted again at a time, with this body. With no time, it is done.
pub(crate) fn change_later(
    tx: &Transaction<'_>,
    claimed: &ClaimedWork,
    at: Option<Timestamp>,
    body: &str,
) -> Result<()> {
    let Some(at) = at else { return done(tx, claimed) };
    tx.execute(CHANGE_LATER, &[claimed.work.id.into(), claimed.token.into(), at.into(), body.into()])
}

/// Lets work be attempted again after this time, as if it had not been attempted now.
pub(crate) fn put_back(tx: &Transaction<'_>, claimed: &ClaimedWork, delay: Duration) -> Result<()> {
    let at = tx.now().saturating_add(delay);
    tx.execute(PUT_BACK, &[claimed.work.id.into(), claimed.token.into(), at.into()])
}

/// Whether there is work of this kind that has been due since this time, in milliseconds, and that nobody does.
pub(in crate::store) fn any_abandoned(tx: &Transaction<'_>, kind: &str, since: i64) -> Result<bool> {
    tx.exists(ABANDONED, &[kind.into(), since.into(), Bind::Int(1)])
}

/// Deletes a batch of it. Returns how much was deleted.
pub(in crate::store) fn delete_abandoned(tx: &Transaction<'_>, kind: &str, since: i64) -> Result<usize> {
    let delete = |part: i64| tx.execute_counted(DELETE_ABANDONED, &[kind.into(), since.into(), part.into()]);
    Ok(tx.in_parts(BATCH, delete)?.rows)
}
