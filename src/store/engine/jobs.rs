//! Jobs: the work of callers. An engine may run a job on another thread than the caller's, and more than once.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::transaction::{FollowUp, Recorded, Transaction};
use crate::error::{Error, Result};

/// The work of one caller.
pub(in crate::store) trait Job: Send {
    /// Runs the job in the transaction that `begin` returns, and returns what it has recorded. After an error, what it
    /// wrote must be undone.
    fn run<'c>(&mut self, begin: &dyn Fn() -> Transaction<'c>) -> Result<Recorded>;

    /// Sends the result of the job to the caller, or the error of the commit if that failed.
    fn answer(self: Box<Self>, commit: Result<()>);
}

/// A job whose caller waits for a value of type `T`.
struct CallerJob<T, F> {
    work: F,
    result: Result<Answered<T>>,
    caller: SyncSender<Result<Answered<T>>>,
}

/// The value of a job, and what its caller does after the commit.
struct Answered<T> {
    value: T,
    follow_ups: Vec<FollowUp>,
}

pub(in crate::store) struct Answer<T>(Receiver<Result<Answered<T>>>);

/// A job that runs `work`, and its answer.
pub(in crate::store) fn job<T: Send + 'static>(
    work: impl Fn(&Transaction<'_>) -> Result<T> + Send + 'static,
) -> (Box<dyn Job>, Answer<T>) {
    let (caller, answer) = sync_channel(1);
    (Box::new(CallerJob { work, result: Err(unanswered()), caller }), Answer(answer))
}

fn unanswered() -> Error {
    Error::Internal("the operation was not answered".to_owned())
}

impl<T> Answer<T> {
    pub(in crate::store) fn wait(self) -> Result<T> {
        let answered = self.0.recv().unwrap_or_else(|_| Err(unanswered()))?;
        for follow_up in answered.follow_ups {
            // It calls the log subscriber of the program. The work is committed: a panic there must not lose the
            // result.
            let _ = catch_unwind(AssertUnwindSafe(follow_up));
        }
        Ok(answered.value)
    }
}

impl<T: Send, F: Fn(&Transaction<'_>) -> Result<T> + Send> Job for CallerJob<T, F> {
    fn run<'c>(&mut self, begin: &dyn Fn() -> Transaction<'c>) -> Result<Recorded> {
        let mut recorded = Recorded::default();
        // The clock of the embedding program may panic as well, when the transaction reads it.
        let ran = catch_unwind(AssertUnwindSafe(|| {
            let transaction = begin();
            let result = (self.work)(&transaction);
            recorded = transaction.into_recorded();
            result
        }));
        let ran = ran.unwrap_or_else(|_| Err(Error::Internal("the operation panicked and was undone".to_owned())));
        self.result = ran.map(|value| Answered { value, follow_ups: std::mem::take(&mut recorded.follow_ups) });
        self.result.as_ref().map(|_| recorded).map_err(Error::clone)
    }

    fn answer(self: Box<Self>, commit: Result<()>) {
        // If the commit fails, even a job that returned an error gets the error of the commit: its own may have
        // depended on writes that were rolled back. Sending cannot block, because the channel has room for the one
        // answer.
        let _ = self.caller.send(commit.and(self.result));
    }
}
