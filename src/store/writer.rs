//! One thread writes. It takes what waits, runs each piece of work in a savepoint of one transaction, commits, and only
//! then answers: many callers share one sync of the disk, and nobody hears of a write that a crash could take back.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use super::checkpoint::Checkpointer;
use super::ids::IdSource;
use super::sqlite::{Database, Transaction};
use crate::environment::Environment;
use crate::error::{Error, Result, StoreError};

/// How many pieces of work one commit carries at most: it bounds how long the first of them waits.
const GROUP: usize = 256;
/// How many may wait; more callers wait for a place.
const QUEUE: usize = 1024;

const STOPPED: Error = Error::Unavailable("the store is shutting down");

/// A piece of work on its way through the writer.
trait Job: Send {
    /// Does the work. An error means that nothing of what it wrote may stay.
    fn run(&mut self, desk: &Desk) -> Result<()>;

    /// Answers the caller.
    fn answer(self: Box<Self>, commit: Result<()>);
}

struct Work<T, F> {
    closure: Option<F>,
    result: Result<T>,
    reply: SyncSender<Result<T>>,
}

impl<T: Send, F: FnOnce(&Transaction<'_>) -> Result<T> + Send> Job for Work<T, F> {
    fn run(&mut self, desk: &Desk) -> Result<()> {
        if let Some(work) = self.closure.take() {
            // A clock from outside may panic too, when the transaction asks it for its instant.
            self.result = catch_unwind(AssertUnwindSafe(|| work(&desk.transaction())))
                .unwrap_or_else(|_| Err(Error::Internal("the operation panicked and was undone".to_owned())));
        }
        self.result.as_ref().map(drop).map_err(Error::clone)
    }

    fn answer(self: Box<Self>, commit: Result<()>) {
        // A refusal does not outlive a failed commit: it may rest on what others in the group had done.
        // A caller that is gone needs no answer.
        let _ = self.reply.send(commit.and(self.result));
    }
}

/// The way to the writing thread.
pub(crate) struct Writer {
    queue: Option<SyncSender<Box<dyn Job>>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts the thread, which owns `database` from now on.
    pub(crate) fn start(
        database: Database,
        environment: Environment,
        ids: std::sync::Arc<IdSource>,
        checkpointer: Checkpointer,
    ) -> Result<Self> {
        let (queue, waiting) = sync_channel(QUEUE);
        let desk = Desk { database, environment, ids };
        let run = move || desk.write_until_closed(checkpointer, &waiting);
        let thread = std::thread::Builder::new().name("ticketing-writer".to_owned()).spawn(run);
        let thread = thread.map_err(|error| StoreError::Failed(error.to_string()))?;
        Ok(Self { queue: Some(queue), thread: Some(thread) })
    }

    /// Runs `work` in a transaction and returns when it is durable. Where `work` fails or panics, it changes nothing.
    pub(crate) fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (reply, answer) = sync_channel(1);
        let job = Work { closure: Some(work), result: Err(STOPPED), reply };
        let queue = self.queue.as_ref().ok_or(STOPPED)?;
        queue.send(Box::new(job)).map_err(|_| STOPPED)?;
        answer.recv().unwrap_or(Err(STOPPED))
    }
}

impl Drop for Writer {
    /// Lets the thread finish what waits, and waits for it.
    fn drop(&mut self) {
        drop(self.queue.take());
        let Some(thread) = self.thread.take() else { return };
        // The last handle can go on the writer's own thread, with a closure that held it.
        if thread.thread().id() != std::thread::current().id() && thread.join().is_err() {
            tracing::error!("the writer's thread panicked");
        }
    }
}

/// What the writing thread works with.
struct Desk {
    database: Database,
    environment: Environment,
    ids: std::sync::Arc<IdSource>,
}

impl Desk {
    fn transaction(&self) -> Transaction<'_> {
        self.database.transaction(&self.environment, &self.ids)
    }

    fn write_until_closed(&self, checkpointer: Checkpointer, waiting: &Receiver<Box<dyn Job>>) {
        let mut group = Vec::with_capacity(GROUP);
        while let Ok(first) = waiting.recv() {
            let committed = self.write_group(first, waiting, &mut group);
            for job in group.drain(..) {
                job.answer(committed.clone());
            }
            checkpointer.after_commit(&self.database);
        }
        drop(checkpointer);
        if let Err(error) = self.database.final_checkpoint() {
            tracing::warn!(%error, "the last checkpoint failed; the next opening makes up for it");
        }
    }

    /// Runs what waits in one transaction and commits it.
    fn write_group(
        &self,
        first: Box<dyn Job>,
        waiting: &Receiver<Box<dyn Job>>,
        group: &mut Vec<Box<dyn Job>>,
    ) -> Result<()> {
        if let Err(error) = self.database.command("BEGIN IMMEDIATE") {
            // Those in line waited as well: each would otherwise wait as long again, one after another.
            group.push(first);
            group.extend(waiting.try_iter().take(QUEUE));
            return Err(error);
        }
        let mut next = Some(first);
        while let Some(mut job) = next {
            let ran = self.run_alone(job.as_mut());
            group.push(job);
            // Where it cannot be undone alone, what came before it in the group is lost with the transaction, and told so.
            ran.inspect_err(|_| self.roll_back())?;
            next = if group.len() < GROUP { waiting.try_recv().ok() } else { None };
        }
        self.database.command("COMMIT").inspect_err(|_| self.roll_back())
    }

    /// Runs one job so that its failure undoes it alone. An error means that the whole transaction is beyond repair.
    fn run_alone(&self, job: &mut dyn Job) -> Result<()> {
        self.database.command("SAVEPOINT job")?;
        let ran = job.run(self);
        if !self.database.in_transaction() {
            // SQLite rolls everything back by itself where it must, as when the disk is full.
            return Err(match ran {
                Err(error @ (Error::Store(_) | Error::Unavailable(_))) => error,
                _ => StoreError::Failed("SQLite ended the transaction".to_owned()).into(),
            });
        }
        if ran.is_err() {
            self.database.command("ROLLBACK TO job")?;
        }
        self.database.command("RELEASE job")
    }

    fn roll_back(&self) {
        if self.database.in_transaction()
            && let Err(error) = self.database.command("ROLLBACK")
        {
            tracing::error!(%error, "a transaction could not be rolled back");
        }
    }
}
