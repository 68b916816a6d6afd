//! One transaction of the jobs that wait for the same event: group commit.
//!
//! The event is locked when the transaction begins, and each job runs in a savepoint. The callers are answered after the
//! commit. If the transaction is undone, all its jobs run again by themselves, also those that have failed: their errors may
//! have depended on what others had written. So a job that makes transactions fail does not make others fail.

use std::rc::Rc;
use std::time::Duration;

use super::lanes::{LaneJob, LaneLead};
use super::pool::Borrowed;
use super::writer::{Commit, PostgresWriter, Ran};
use crate::error::{Error, Result};
use crate::model::timestamp::Timestamp;
use crate::store::engine::readers::ReaderPool;
use crate::store::engine::transaction::Recorded;

/// How many jobs a group has at most. This limits how long the first of them waits.
const MAX_GROUP: usize = 50;

/// How long jobs are added to a group. This limits how long the first of them waits, if the jobs are large.
const MAX_GROUP_TIME: Duration = Duration::from_millis(20);

/// A job of a group, and how it is answered when the group is committed.
pub(super) struct Member {
    job: LaneJob,
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
    /// It was undone.
    Undone,
    /// None of its jobs is run again.
    Failed(Error),
}

impl PostgresWriter {
    /// Runs the jobs that wait in the lane as one group, and answers their callers.
    pub(super) fn lead(&self, lead: &LaneLead<'_>) {
        let mut group = Vec::new();
        let end = self.run_group(lead, &mut group);
        let mut failed = None;
        for Member { mut job, answer } in group {
            let result = match (&end, answer, &failed) {
                (_, _, Some(error)) | (GroupEnd::Failed(error), _, _) => Err(Error::clone(error)),
                (GroupEnd::Committed, MemberAnswer::Own, _) => Ok(()),
                (GroupEnd::Committed, MemberAnswer::Error(error), _) => Err(error),
                (GroupEnd::Undone, _, _) | (_, MemberAnswer::RunAgain, _) => self.run_singly(job.job.as_mut()),
            };
            if let Err(error) = &result
                && (matches!(end, GroupEnd::Failed(_)) || self.last_write_failed())
            {
                failed = Some(error.clone());
            }
            job.answer(result);
        }
        // Those that wait behind have waited for the same lock, or for the same server.
        if let Some(error) = failed {
            while let Some(job) = lead.next_job() {
                job.answer(Err(error.clone()));
            }
        }
    }

    fn run_group(&self, lead: &LaneLead<'_>, group: &mut Vec<Member>) -> GroupEnd {
        let Some(first) = lead.next_job() else { return GroupEnd::Committed };
        group.push(Member::new(first));
        let start = self.instant();
        let (connection, began_at) = match self.begin(Some(lead.event)) {
            Ok(begun) => begun,
            // The lock was not available in time, or nothing is written any more.
            Err(error) if matches!(error, Error::Store(_)) || !self.last_write_failed() => {
                return GroupEnd::Failed(error);
            }
            Err(_) => return GroupEnd::Undone,
        };
        let mut recorded = Recorded::default();
        if self.run_members(lead, &connection, began_at, group, &mut recorded).is_err() {
            connection.roll_back();
            self.pool.give_back(connection);
            return GroupEnd::Undone;
        }
        match self.commit(connection, began_at) {
            Commit::Done => {
                self.committed(group.len(), start, recorded);
                GroupEnd::Committed
            }
            Commit::Undone { .. } | Commit::JobFailed(_) => GroupEnd::Undone,
            Commit::Unknown(error) => {
                self.commit_failed();
                GroupEnd::Failed(error)
            }
        }
    }

    /// Runs the first job of the group, and those that wait behind it. Fails if the transaction has to be undone.
    fn run_members(
        &self,
        lead: &LaneLead<'_>,
        connection: &Borrowed,
        began_at: Timestamp,
        group: &mut Vec<Member>,
        recorded: &mut Recorded,
    ) -> Result<()> {
        let start = self.instant();
        let memory = Rc::default();
        while let Some(member) = group.last_mut() {
            connection.write.set_key(member.job.key);
            let ran = self.run_job(connection, member.job.job.as_mut(), began_at, &memory);
            if let Ran::Succeeded(new) = ran {
                recorded.append(new);
            } else {
                member.answer = match ran {
                    Ran::TransactionLost(error) => return Err(error),
                    Ran::Failed(error) => MemberAnswer::Error(error),
                    Ran::JobAgain(_) => MemberAnswer::RunAgain,
                    Ran::Succeeded(_) | Ran::Refused => MemberAnswer::Own,
                };
                connection.undo_job()?;
                memory.clear();
            }
            let has_room = group.len() < MAX_GROUP && connection.write.has_room();
            if !has_room || self.instant().saturating_sub(start) >= MAX_GROUP_TIME {
                break;
            }
            let Some(next) = lead.next_job() else { break };
            group.push(Member::new(next));
            connection.next_savepoint();
        }
        Ok(())
    }
}

impl Member {
    fn new(job: LaneJob) -> Self {
        Self { job, answer: MemberAnswer::Own }
    }
}
