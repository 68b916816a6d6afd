//! One transaction of the jobs that wait for the same event: group commit.
//!
//! The event is locked when the transaction begins. The callers are answered after the commit. If the transaction is
//! undone, all its jobs run again by themselves, also those that have failed: their errors may have depended on what
//! others had written. So a job that makes transactions fail does not make others fail.
//!
//! Few jobs fail after they have changed something. Such a job undoes its whole group, because savepoints would slow
//! down all jobs. In the groups after it, each job runs in a savepoint.

use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::commits::error_of_others;
use super::event_queues::{Leader, QueuedJob};
use super::writer::{Commit, Failed, PostgresWriter, Ran};
use crate::error::Error;
use crate::model::values::timestamp::Timestamp;
use crate::store::engine::lock::EventKey;
use crate::store::engine::postgres::connections::pool::Borrowed;
use crate::store::engine::postgres::statements::write_state::EventLock;
use crate::store::engine::transaction::Recorded;

/// How many jobs a group has at most. This limits how long the first of them waits.
const MAX_GROUP: usize = 50;

/// How long jobs are added to a group. This limits how long the first of them waits, if the jobs are large.
const MAX_GROUP_TIME: Duration = Duration::from_millis(20);

/// How many groups set savepoints after one without them was undone.
const CAUTIOUS_GROUPS: usize = 1000;

/// A job of a group, and how it is answered when the group is committed.
pub(in crate::store::engine::postgres) struct Member {
    job: QueuedJob,
    answer: MemberAnswer,
}

enum MemberAnswer {
    /// With its own result.
    Own,
    /// With its own error, also if the group is undone: no other job has run before it.
    Refused,
    /// With this error.
    Error(Error),
    /// With this error, also if the group is undone: a row was locked for too long. Most of those that still wait would
    /// wait for it too.
    Busy(Error),
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
                (GroupEnd::Committed, MemberAnswer::Own, _) | (_, MemberAnswer::Refused, _) => Ok(()),
                (GroupEnd::Committed, MemberAnswer::Error(error), _) => Err(error),
                (_, MemberAnswer::Busy(error), _) => {
                    refusal = Some(error.clone());
                    Err(error)
                }
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
        let lock = EventLock::Held(leader.event, EventKey::Event(leader.event));
        let (connection, began_at) = match self.begin(lock, self.sets_savepoints()) {
            Ok(begun) => begun,
            // The server did not answer: the first job tries it again.
            Err(Failed { error, is_busy: false }) if self.last_write_failed() && !matches!(error, Error::Store(_)) => {
                return (GroupEnd::Undone, None);
            }
            Err(failed) => return (GroupEnd::Undone, Some(failed.error)),
        };
        let mut recorded = Recorded::default();
        if !self.run_members(leader, &connection, began_at, group, &mut recorded) {
            connection.roll_back();
            self.pool.give_back(connection);
            return (GroupEnd::Undone, None);
        }
        match self.commit(connection, began_at) {
            Commit::Done => {
                self.committed(group.len(), start, recorded);
                (GroupEnd::Committed, None)
            }
            Commit::Undone { .. } | Commit::JobFailed(_) => (GroupEnd::Undone, None),
            Commit::Unknown(error) => {
                self.commit_failed();
                (GroupEnd::Undone, Some(error))
            }
        }
    }

    /// Whether the next group sets savepoints.
    fn sets_savepoints(&self) -> bool {
        let count_down = |left: usize| left.checked_sub(1);
        self.cautious_groups.try_update(Ordering::Relaxed, Ordering::Relaxed, count_down).is_ok()
    }

    /// Runs the first job of the group, and those that wait behind it. Returns `false` if the transaction has to be
    /// undone.
    fn run_members(
        &self,
        leader: &Leader<'_>,
        connection: &Borrowed,
        began_at: Timestamp,
        group: &mut Vec<Member>,
        recorded: &mut Recorded,
    ) -> bool {
        let start = self.instant();
        let cache = Rc::default();
        loop {
            let is_first = group.len() == 1;
            let Some(member) = group.last_mut() else { break };
            connection.write.event_lock.set(EventLock::Held(leader.event, member.job.key));
            let ran = self.run_job(connection, member.job.job.as_mut(), began_at, &cache);
            if let Ran::Succeeded(new) = ran {
                recorded.append(new);
            } else {
                member.answer = match ran {
                    Ran::TransactionLost(_) | Ran::OtherSchema(_) => return false,
                    Ran::Failed(Failed { error, is_busy: true }) => MemberAnswer::Busy(error),
                    Ran::Failed(Failed { error, is_busy: false }) => MemberAnswer::Error(error),
                    Ran::JobAgain(_) => MemberAnswer::RunAgain,
                    Ran::Refused if is_first => MemberAnswer::Refused,
                    Ran::Succeeded(_) | Ran::Refused => MemberAnswer::Own,
                };
                let is_busy = matches!(member.answer, MemberAnswer::Busy(_));
                match connection.undo_job() {
                    Ok(true) => cache.clear(),
                    Ok(false) => {
                        if !is_first {
                            self.cautious_groups.store(CAUTIOUS_GROUPS, Ordering::Relaxed);
                        }
                        return false;
                    }
                    Err(_) => return false,
                }
                if is_busy {
                    return true;
                }
            }
            let has_room = group.len() < MAX_GROUP && connection.write.has_room();
            if !has_room || self.instant().saturating_sub(start) >= MAX_GROUP_TIME {
                break;
            }
            let Some(next) = leader.next_job() else { break };
            group.push(Member::new(next));
            connection.next_job();
        }
        true
    }
}

impl Member {
    fn new(job: QueuedJob) -> Self {
        Self { job, answer: MemberAnswer::Own }
    }
}
