//! Jobs: the work of callers. An engine may run a job on another thread than the caller's, and more than once.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, sync_channel};

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

/// A job whose caller waits for a value of type `T`. `answer` sends it.
struct CallerJob<T, F, A> {
    work: F,
    result: Result<Answered<T>>,
    answer: A,
}

/// The value of a job, and what its caller does after the commit.
struct Answered<T> {
    value: T,
    follow_ups: Vec<FollowUp>,
}

impl<T> Answered<T> {
    fn value(self) -> T {
        for follow_up in self.follow_ups {
            // It calls the log subscriber of the program. The work is committed: a panic there must not lose the
            // result.
            let _ = catch_unwind(AssertUnwindSafe(follow_up));
        }
        self.value
    }
}

pub(in crate::store) struct Answer<T>(Receiver<Result<Answered<T>>>);

/// The answer for which a task waits.
#[cfg(feature = "server")]
pub(crate) struct QueuedAnswer<T>(tokio::sync::oneshot::Receiver<Result<Answered<T>>>);

/// A job that runs `work`, and its answer.
pub(in crate::store) fn job<T: Send + 'static>(
    work: impl Fn(&Transaction<'_>) -> Result<T> + Send + 'static,
) -> (Box<dyn Job>, Answer<T>) {
    // Sending cannot block, because the channel has room for the one answer.
    let (caller, answer) = sync_channel(1);
    let send = move |answered| drop(caller.send(answered));
    (Box::new(CallerJob { work, result: Err(unanswered()), answer: send }), Answer(answer))
}

/// A job that runs `work`, and its answer, for which a task waits.
#[cfg(feature = "server")]
pub(in crate::store) fn queued_job<T: Send + 'static>(
    work: impl Fn(&Transaction<'_>) -> Result<T> + Send + 'static,
) -> (Box<dyn Job>, QueuedAnswer<T>) {
    let (caller, answer) = tokio::sync::oneshot::channel();
    let send = move |answered| drop(caller.send(answered));
    (Box::new(CallerJob { work, result: Err(unanswered()), answer: send }), QueuedAnswer(answer))
}

fn unanswered() -> Error {
    Error::Internal("the operation was not answered".to_owned())
}

impl<T> Answer<T> {
    pub(in crate::store) fn wait(self) -> Result<T> {
        self.0.recv().unwrap_or_else(|_| Err(unanswered())).map(Answered::value)
    }
}

#[cfg(feature = "server")]
impl<T> QueuedAnswer<T> {
    pub(crate) async fn wait(self) -> Result<T> {
        self.0.await.unwrap_or_else(|_| Err(unanswered())).map(Answered::value)
    }
}

impl<T, F, A> Job for CallerJob<T, F, A>
where
    T: Send,
    F: Fn(&Transaction<'_>) -> Result<T> + Send,
    A: FnOnce(Result<Answered<T>>) + Send,
{
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
        // depended on writes that were rolled back.
        (self.answer)(commit.and(self.result));
    }
}
