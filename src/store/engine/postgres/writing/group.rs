//! One transaction of the jobs that wait for the same event: group commit.
//!
//! The event is locked when the transaction begins, and each job runs in a savepoint. The callers are answered after
//! the commit. If the transaction is undone, all its jobs run again by themselves, also those that have failed: their
//! errors may have depended on what others had written. So a job that makes transactions fail does not make others
//! fail.

use std::rc::Rc;
use std::time::Duration;

use super::commits::error_of_others;
use super::event_queues::{Leader, QueuedJob};
use super::write_state::EventLock;
use super::writer::{Commit, Failed, PostgresWriter, Ran};
use crate::error::{Error, Result};
use crate::model::values::timestamp::Timestamp;
use crate::store::engine::lock::EventKey;
use crate::store::engine::postgres::net::pool::Borrowed;
use crate::store::engine::readers::ReaderPool;
use crate::store::engine::transaction::Recorded;

/// How many jobs a group has at most. This limits how long the first of them waits.
const MAX_GROUP: usize = 50;

/// How long jobs are added to a group. This limits how long the first of them waits, if the jobs are large.
const MAX_GROUP_TIME: Duration = Duration::from_millis(20);

/// A job of a group, and how it is answered when the group is committed.
pub(in crate::store::engine::postgres) struct Member {
    job: QueuedJob,
    answer: MemberAnswer,
}

enum MemberAnswer {
    /// With its own result.
    Own,
    /// With this error.
    Error(Error),
    /// With the result of running it by itself.
    RunAgain,
}

/// How a group ended.
enum GroupEnd {
    Committed,
    /// It was undone, or could not begin.
    Undone,
}

impl PostgresWriter {
    /// Runs the jobs that wait in the queue as one group, and answers their callers.
    pub(in crate::store::engine::postgres) fn lead(&self, leader: &Leader<'_>) {
        let mut group = Vec::new();
        let (end, mut refusal) = self.run_group(leader, &mut group);
        for Member { mut job, answer } in group {
            let result = match (&end, answer, &refusal) {
                (GroupEnd::Committed, MemberAnswer::Own, _) => Ok(()),
                (GroupEnd::Committed, MemberAnswer::Error(error), _) => Err(error),
                (_, _, Some(error)) => Err(error.clone()),
                (GroupEnd::Undone, _, None) | (GroupEnd::Committed, MemberAnswer::RunAgain, None) => {
                    let ended = self.run_singly(job.job.as_mut(), EventLock::Held(leader.event, job.key));
                    ended.map_err(|Failed { error, is_busy }| {
                        let is_of_all = is_busy || self.last_write_failed();
                        refusal = is_of_all.then(|| if is_busy { error.clone() } else { error_of_others(&error) });
                        error
                    })
                }
            };
            job.answer(result);
        }
        if let Some(error) = refusal {
            leader.refuse_all(&error_of_others(&error));
        }
    }

    /// Runs a group. Returns how it ended, and why no further jobs are run.
    fn run_group(&self, leader: &Leader<'_>, group: &mut Vec<Member>) -> (GroupEnd, Option<Error>) {
        let Some(first) = leader.next_job() else { return (GroupEnd::Committed, None) };
        group.push(Member::new(first));
        let start = self.instant();
        let (connection, began_at) = match self.begin(EventLock::Held(leader.event, EventKey::Event(leader.event))) {
            Ok(begun) => begun,
            // The server did not answer: the first job tries it again.
            Err(Failed { error, is_busy: false }) if self.last_write_failed() && !matches!(error, Error::Store(_)) => {
                return (GroupEnd::Undone, None);
            }
            Err(failed) => return (GroupEnd::Undone, Some(failed.error)),
        };
        let mut recorded = Recorded::default();
        let Ok(refusal) = self.run_members(leader, &connection, began_at, group, &mut recorded) else {
            connection.roll_back();
            self.pool.give_back(connection);
            return (GroupEnd::Undone, None);
        };
        match self.commit(connection, began_at) {
            Commit::Done => {
                self.committed(group.len(), start, recorded);
                (GroupEnd::Committed, refusal)
            }
            Commit::Undone { .. } | Commit::JobFailed(_) => (GroupEnd::Undone, refusal),
            Commit::Unknown(error) => {
                self.commit_failed();
                (GroupEnd::Undone, Some(error))
            }
        }
    }

    /// Runs the first job of the group, and those that wait behind it. Returns an error for those that still wait if a
    /// row was locked for too long: most of them would wait for it too. Fails if the transaction has to be undone.
    fn run_members(
        &self,
        leader: &Leader<'_>,
        connection: &Borrowed,
        began_at: Timestamp,
        group: &mut Vec<Member>,
        recorded: &mut Recorded,
    ) -> Result<Option<Error>> {
        let start = self.instant();
        let cache = Rc::default();
        while let Some(member) = group.last_mut() {
            connection.write.event_lock.set(EventLock::Held(leader.event, member.job.key));
            let ran = self.run_job(connection, member.job.job.as_mut(), began_at, &cache);
            let mut refusal = None;
            if let Ran::Succeeded(new) = ran {
                recorded.append(new);
            } else {
                member.answer = match ran {
                    Ran::TransactionLost(error) | Ran::OtherSchema(error) => return Err(error),
                    Ran::Failed(Failed { error, is_busy }) => {
                        refusal = is_busy.then(|| error.clone());
                        MemberAnswer::Error(error)
                    }
                    Ran::JobAgain(_) => MemberAnswer::RunAgain,
                    Ran::Succeeded(_) | Ran::Refused => MemberAnswer::Own,
                };
                connection.undo_job()?;
                cache.clear();
            }
            if refusal.is_some() {
                return Ok(refusal);
            }
            let has_room = group.len() < MAX_GROUP && connection.write.has_room();
            if !has_room || self.instant().saturating_sub(start) >= MAX_GROUP_TIME {
                break;
            }
            let Some(next) = leader.next_job() else { break };
            group.push(Member::new(next));
            connection.next_savepoint();
        }
        Ok(None)
    }
}

impl Member {
    fn new(job: QueuedJob) -> Self {
        Self { job, answer: MemberAnswer::Own }
    }
}
