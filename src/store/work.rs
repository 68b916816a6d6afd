//! The queue of work that is done later: by any process that has the database open, as often as it takes.
//!
//! A row is inserted in the transaction that causes the work, so that no work is lost. Whoever does it claims the row: a
//! claim is a random token, and a due time at which the claim ends. If the process ends before it records how the work
//! ended, the row is due again at that time. What is recorded counts only if the row still has the token.

use std::time::Duration;

use crate::error::Result;
use crate::model::values::id::{NotificationId, OrganizationId};
use crate::model::values::timestamp::Timestamp;
use crate::store::columns::row_struct;
use crate::store::{Bind, CommitEvent, Query, RowLock, Transaction};

/// How many organizations a claim looks at to find the one whose turn it is. Those that only have work for later count
/// too.
const MAX_LOOKED_AT: usize = 64;

/// How many rows one transaction deletes. Other writers wait for as long as this takes.
const BATCH: i64 = 1000;

macro_rules! select {
    ($rest:literal) => {
        concat!("SELECT id, kind, organization_id, body, attempts, created_at FROM work ", $rest)
    };
}

const INSERT: &str = "INSERT INTO work (id, kind, organization_id, body, due_at, created_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?5) ON CONFLICT (id) DO NOTHING";
pub(in crate::store) const DUE: &str = select!("WHERE kind = ?1 AND due_at <= ?2 ORDER BY due_at, id LIMIT 1");
pub(in crate::store) const DUE_TOO_LATE: &str = select!("WHERE kind = ?1 AND due_at > ?2 ORDER BY due_at, id LIMIT 1");
pub(in crate::store) const NEXT_ORGANIZATION: &str = "SELECT organization_id FROM work
    WHERE kind = ?1 AND organization_id > ?2 ORDER BY organization_id LIMIT 1";
pub(in crate::store) const DUE_OF_ORGANIZATION: &str =
    select!("WHERE kind = ?1 AND organization_id = ?2 AND due_at <= ?3 ORDER BY due_at, id LIMIT 1");
const CLAIM: &str = "UPDATE work SET claim = ?2, attempts = attempts + 1, due_at = ?3 WHERE id = ?1";
const LATER: &str = "UPDATE work SET claim = NULL, due_at = ?3 WHERE id = ?1 AND claim = ?2";
const PUT_BACK: &str =
    "UPDATE work SET claim = NULL, attempts = attempts - 1, due_at = ?3 WHERE id = ?1 AND claim = ?2";
const DONE: &str = "DELETE FROM work WHERE id = ?1 AND claim = ?2";
const DELETE: &str = "DELETE FROM work WHERE id = ?1";
pub(in crate::store) const ABANDONED: &str =
    "SELECT id FROM work WHERE kind = ?1 AND due_at <= ?2 ORDER BY due_at LIMIT ?3";
pub(in crate::store) const DELETE_ABANDONED: &str = "DELETE FROM work
    WHERE id IN (SELECT id FROM work WHERE kind = ?1 AND due_at <= ?2 ORDER BY due_at LIMIT ?3)";

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
        pub(crate) organization_id: OrganizationId,
        /// What is to be done, as its kind writes it.
        pub(crate) body: String,
        /// Attempts that were started before this one.
        pub(crate) attempts: i64,
        pub(crate) created_at: Timestamp,
    }
}

/// Work that this process may do.
pub(crate) struct ClaimedWork {
    pub(crate) work: Work,
    /// The last organization that was looked at. The next search begins after it.
    pub(crate) turn: OrganizationId,
    /// The token of the claim.
    token: i64,
}

pub(crate) enum Claim {
    Nothing,
    Work(ClaimedWork),
    /// The work was removed: each attempt was interrupted by the end of its process.
    GivenUp(WorkId),
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

/// Whether work of this kind is due.
pub(crate) fn any_due(tx: &Transaction<'_>, Queue { kind, latest_due, .. }: Queue<'_>) -> Result<bool> {
    Ok(tx.exists(DUE, &[kind.into(), tx.now().into()])?
        || tx.exists(DUE_TOO_LATE, &[kind.into(), tx.now().saturating_add(latest_due).into()])?)
}

/// Claims work of this kind. The organizations take turns, so that one with very much does not delay the others: it is
/// of the first after `last` that has some due. If none is soon found, it is what has been due for the longest time, and
/// the next search goes on where this one has ended.
pub(crate) fn claim(tx: &Transaction<'_>, queue: Queue<'_>, last: OrganizationId) -> Result<Claim> {
    let (found, turn) = find_next_turn(tx, queue.kind, last)?;
    let Some(work) = found.map_or_else(|| find_due(tx, queue), |work| Ok(Some(work)))? else {
        return Ok(Claim::Nothing);
    };
    if work.attempts >= queue.max_attempts {
        tx.execute(DELETE, &[work.id.into()])?;
        return Ok(Claim::GivenUp(work.id));
    }
    let token = i64::from_le_bytes(tx.environment().random());
    tx.execute(CLAIM, &[work.id.into(), token.into(), tx.now().saturating_add(queue.lease).into()])?;
    Ok(Claim::Work(ClaimedWork { work, turn, token }))
}

/// Returns work of the next organization after `last` that has some due, in the order of the ids, and the last
/// organization that was looked at. Looks at a limited number of organizations.
fn find_next_turn(tx: &Transaction<'_>, kind: &str, last: OrganizationId) -> Result<(Option<Work>, OrganizationId)> {
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
        let work = find_unlocked(tx, DUE_OF_ORGANIZATION, &[kind.into(), organization.into(), tx.now().into()])?;
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
