//! One transaction at a time, for everybody who waits. Whoever leads takes what is queued, runs each piece of work in a
//! savepoint of one transaction, commits, and only then answers: many callers share one sync of the disk, and nobody
//! hears of a write that a crash could take back.
//!
//! A caller that finds nobody writing leads itself, once: alone, it pays for no switch between threads. What has queued
//! up meanwhile goes to a thread, which leads until nothing is left.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::ids::IdSource;
use super::sqlite::{Checkpointer, Database};
use super::transaction::Transaction;
use crate::environment::Environment;
use crate::error::{Error, Result, StoreError};
use crate::store::commit_notifier::CommitNotifier;
use crate::store::counters::{CommitEvent, Counters};

/// How many pieces of work one commit carries at most: it bounds how long the first of them waits.
const GROUP: usize = 256;

/// A piece of work in the queue.
trait Job: Send {
    /// Does the work, and says what in it is to be events. An error means that nothing of what it wrote may stay.
    fn run(&mut self, desk: &Desk<'_>) -> Result<Vec<CommitEvent>>;

    /// Gives the caller its result, or the error that the commit ended with.
    fn answer(self: Box<Self>, commit: Result<()>);
}

struct Work<T, F> {
    closure: F,
    result: Result<T>,
    caller: SyncSender<Result<T>>,
}

impl<T: Send, F: Fn(&Transaction<'_>) -> Result<T> + Send> Job for Work<T, F> {
    fn run(&mut self, desk: &Desk<'_>) -> Result<Vec<CommitEvent>> {
        let mut events = Vec::new();
        // A clock from outside may panic too, when the transaction asks it for its instant.
        self.result = catch_unwind(AssertUnwindSafe(|| {
            let transaction = desk.transaction();
            let result = (self.closure)(&transaction);
            events = transaction.into_events();
            result
        }))
        .unwrap_or_else(|_| Err(Error::Internal("the operation panicked and was undone".to_owned())));
        self.result.as_ref().map(|_| events).map_err(Error::clone)
    }

    fn answer(self: Box<Self>, commit: Result<()>) {
        // A refusal does not outlive a failed commit: it may rest on what others in the group had done.
        // There is room for the one answer, and the caller waits for it.
        let _ = self.caller.send(commit.and(self.result));
    }
}

/// The way into the database for everything that writes.
pub(crate) struct Writer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// What callers and the thread share.
struct Shared {
    queue: Mutex<Queue>,
    /// Wakes the thread.
    handed_over: Condvar,
    /// The leader's.
    database: Mutex<Database>,
    environment: Environment,
    ids: Arc<IdSource>,
    after_commit: AfterCommit,
}

/// What happens once a commit is on the disk.
pub(in crate::store) struct AfterCommit {
    pub(in crate::store) checkpointer: Checkpointer,
    pub(in crate::store) counters: Arc<Counters>,
    pub(in crate::store) commit_notifier: Arc<CommitNotifier>,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Box<dyn Job>>,
    leader: Leader,
    closed: bool,
}

/// Who leads.
#[derive(Default, PartialEq, Eq)]
enum Leader {
    #[default]
    Nobody,
    /// A caller or the thread, which is at it.
    Somebody,
    /// The thread, as soon as it is awake.
    HandedOver,
}

impl Writer {
    pub(crate) fn start(
        database: Database,
        environment: Environment,
        ids: Arc<IdSource>,
        after_commit: AfterCommit,
    ) -> Result<Self> {
        let (queue, handed_over, database) = (Mutex::default(), Condvar::new(), Mutex::new(database));
        let shared = Arc::new(Shared { queue, handed_over, database, environment, ids, after_commit });
        let thread = std::thread::Builder::new().name("ticketing-writer".to_owned()).spawn({
            let shared = Arc::clone(&shared);
            move || shared.lead_when_handed_over()
        });
        let thread = thread.map_err(|error| StoreError::Failed(error.to_string()))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Runs `work` in a transaction and returns when it is durable. Where `work` fails or panics, it changes nothing.
    pub(crate) fn write<T: Send + 'static>(
        &self,
        work: impl Fn(&Transaction<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let lost = || Error::Internal("the operation was not answered".to_owned());
        let (caller, answer) = sync_channel(1);
        if self.shared.enqueue(Box::new(Work { closure: work, result: Err(lost()), caller })) {
            self.shared.write_group();
            self.shared.hand_over();
        }
        answer.recv().unwrap_or_else(|_| Err(lost()))
    }

    /// How many pieces of work wait for their turn.
    pub(crate) fn jobs_waiting(&self) -> usize {
        self.shared.queue().jobs.len()
    }
}

impl Drop for Writer {
    /// Ends the thread. Whoever wrote held a handle, so nothing waits any more.
    fn drop(&mut self) {
        self.shared.queue().closed = true;
        self.shared.handed_over.notify_one();
        let Some(thread) = self.thread.take() else { return };
        // The last handle can go with a closure that held it, on the thread itself.
        if thread.thread().id() != std::thread::current().id() && thread.join().is_err() {
            tracing::error!("the writer's thread panicked");
        }
    }
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a job to the queue; says whether its caller has to lead.
    fn enqueue(&self, job: Box<dyn Job>) -> bool {
        let mut queue = self.queue();
        queue.jobs.push_back(job);
        let leads = queue.leader == Leader::Nobody;
        if leads {
            queue.leader = Leader::Somebody;
        }
        leads
    }

    /// Ends a caller's lead.
    fn hand_over(&self) {
        let mut queue = self.queue();
        if queue.jobs.is_empty() {
            queue.leader = Leader::Nobody;
        } else {
            queue.leader = Leader::HandedOver;
            self.handed_over.notify_one();
        }
    }

    /// The thread's work.
    fn lead_when_handed_over(&self) {
        loop {
            let idle = |queue: &mut Queue| queue.leader != Leader::HandedOver && !queue.closed;
            let mut queue = self.handed_over.wait_while(self.queue(), idle).unwrap_or_else(PoisonError::into_inner);
            if queue.leader != Leader::HandedOver {
                return;
            }
            queue.leader = Leader::Somebody;
            while !queue.jobs.is_empty() {
                drop(queue);
                self.write_group();
                queue = self.queue();
            }
            queue.leader = Leader::Nobody;
        }
    }

    /// Writes what waits as one group, and answers it.
    fn write_group(&self) {
        let mut group = Vec::new();
        let database = self.database.lock().unwrap_or_else(PoisonError::into_inner);
        let desk = Desk { database: &database, environment: &self.environment, ids: &self.ids };
        let began = self.instant();
        let committed = self.commit_group(&desk, &mut group);
        let AfterCommit { checkpointer, counters, commit_notifier } = &self.after_commit;
        // CommitEvent before anybody hears of it: who was answered finds it in the statistics.
        let committed = match committed {
            Ok(events) => {
                counters.committed(group.len(), self.instant().saturating_sub(began), &events);
                commit_notifier.notify(&events);
                Ok(())
            }
            Err(error) => {
                counters.commit_failed();
                Err(error)
            }
        };
        for job in group {
            job.answer(committed.clone());
        }
        checkpointer.after_commit(&database);
    }

    /// For the statistics alone: a clock from outside that panics must not end the lead.
    fn instant(&self) -> Duration {
        catch_unwind(AssertUnwindSafe(|| self.environment.clock.monotonic())).unwrap_or_default()
    }

    /// Runs what waits, and what comes meanwhile, in one transaction and commits it. Says what in it is to be events.
    fn commit_group(&self, desk: &Desk<'_>, group: &mut Vec<Box<dyn Job>>) -> Result<Vec<CommitEvent>> {
        if let Err(error) = desk.database.command("BEGIN IMMEDIATE") {
            // Those in line waited as well: each would otherwise wait as long again, one after another.
            group.extend(self.queue().jobs.drain(..));
            return Err(error);
        }
        let mut events = Vec::new();
        while let Some(mut job) = self.next_of(group) {
            let ran = desk.run_alone(job.as_mut());
            group.push(job);
            // Where it cannot be undone alone, what came before it in the group is lost with the transaction, and told so.
            events.append(&mut ran.inspect_err(|_| desk.roll_back())?);
        }
        desk.database.command("COMMIT").map(|()| events).inspect_err(|_| desk.roll_back())
    }

    fn next_of(&self, group: &[Box<dyn Job>]) -> Option<Box<dyn Job>> {
        if group.len() < GROUP { self.queue().jobs.pop_front() } else { None }
    }
}

/// What the leader works with.
struct Desk<'d> {
    database: &'d Database,
    environment: &'d Environment,
    ids: &'d IdSource,
}

impl Desk<'_> {
    fn transaction(&self) -> Transaction<'_> {
        self.database.transaction(self.environment, self.ids)
    }

    /// Runs one job so that its failure undoes it alone; says what in it is to be events. An error means that the whole
    /// transaction is beyond repair.
    fn run_alone(&self, job: &mut dyn Job) -> Result<Vec<CommitEvent>> {
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
        self.database.command("RELEASE job").map(|()| ran.unwrap_or_default())
    }

    fn roll_back(&self) {
        if self.database.in_transaction()
            && let Err(error) = self.database.command("ROLLBACK")
        {
            tracing::error!(%error, "a transaction could not be rolled back");
        }
    }
}

impl Drop for Shared {
    /// Leaves the file without a write-ahead log.
    fn drop(&mut self) {
        self.after_commit.checkpointer.stop();
        let database = self.database.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = database.final_checkpoint() {
            tracing::warn!(%error, "the last checkpoint failed; the next opening makes up for it");
        }
    }
}
