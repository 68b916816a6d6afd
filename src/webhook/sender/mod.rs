//! Sends what the outbox holds. A clerk decides who is next and does all the writing, in one transaction for everybody
//! who has just ended or is about to begin; workers send; a lookout finds what others queued in the same file.

mod clerk;
mod delivery;
mod lines;
mod lookout;
mod options;
mod ring;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::environment::Environment;
use crate::error::{Result, StoreError};
use crate::model::id::WebhookId;
use crate::model::timestamp::Timestamp;
use crate::store::{Listener, Store};
use crate::webhook::transport::Transport;
use clerk::Clerk;
use delivery::{Experience, Made, Run, make_all};
pub use options::SenderOptions;

/// How long those who stop wait for what is under way before they break it off, and then once more.
const GRACE: Duration = Duration::from_secs(2);

/// What the threads of a sender share.
struct Shared {
    store: Arc<Store>,
    environment: Environment,
    transport: Arc<dyn Transport>,
    options: SenderOptions,
    desk: Mutex<Desk>,
    /// Wakes the clerk.
    news: Condvar,
    /// Wakes a worker.
    work: Condvar,
    /// Wakes the lookout, and who waits for the end.
    end: Condvar,
}

/// What lies between the threads.
#[derive(Default)]
struct Desk {
    /// Endpoints for which something is or falls due.
    seen: BTreeMap<WebhookId, Timestamp>,
    /// Attempts that nobody makes yet.
    jobs: VecDeque<Run>,
    /// Attempts that were made and not written down yet.
    made: Vec<Made>,
    /// Whose workers are free again, and what they learned.
    freed: Vec<(WebhookId, Option<Experience>)>,
    /// How many workers are at it.
    under_way: usize,
    /// Nothing is begun any more.
    stopping: bool,
    /// What is under way was broken off: it does not count.
    interrupted: bool,
    /// Nobody waits for what is still under way: the clerk writes down what there is, and ends.
    closed: bool,
}

impl Shared {
    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there is something for the clerk, and no longer than `patience`.
    fn wait_for_news(&self, patience: Duration) -> MutexGuard<'_, Desk> {
        let nothing = |desk: &mut Desk| {
            desk.made.is_empty()
                && desk.freed.is_empty()
                && if desk.stopping { !desk.closed } else { desk.seen.is_empty() }
        };
        let waited = self.news.wait_timeout_while(self.desk(), patience, nothing);
        waited.map_or_else(|poisoned| poisoned.into_inner().0, |(desk, _)| desk)
    }

    /// Waits until nothing is under way, and no longer than `patience`.
    fn wait_for_the_last(&self, patience: Duration) {
        let under_way = |desk: &mut Desk| desk.under_way > 0;
        drop(self.end.wait_timeout_while(self.desk(), patience, under_way));
    }

    /// Waits for `pause`; says whether to go on then.
    fn pause(&self, pause: Duration) -> bool {
        let waited = self.end.wait_timeout_while(self.desk(), pause, |desk| !desk.stopping);
        waited.is_ok_and(|(desk, _)| !desk.stopping)
    }

    /// Tells the clerk of endpoints for which something is due at some time.
    fn tell(&self, seen: impl IntoIterator<Item = (WebhookId, Timestamp)>) {
        let mut desk = self.desk();
        for (endpoint, at) in seen {
            let known = desk.seen.entry(endpoint).or_insert(at);
            *known = at.min(*known);
        }
        drop(desk);
        self.news.notify_one();
    }

    /// Has attempts made, each run by one worker.
    fn begin(&self, runs: Vec<Run>) {
        let number = runs.len();
        self.desk().jobs.extend(runs);
        (0..number).for_each(|_| self.work.notify_one());
    }

    /// Has written down what came of an attempt: at once, or when the clerk comes by. Says whether to go on.
    fn made(&self, made: Made, at_once: bool) -> bool {
        let mut desk = self.desk();
        // What was broken off does not count, and is made again.
        let made = if desk.interrupted { made.unless_it_failed() } else { made };
        desk.made.push(made);
        let goes_on = !desk.stopping;
        drop(desk);
        if at_once {
            self.news.notify_one();
        }
        goes_on
    }

    /// A worker of an endpoint is free again, and gives back what it did not begin.
    fn free(&self, endpoint: WebhookId, experience: Option<Experience>, rest: Vec<Made>) {
        let mut desk = self.desk();
        desk.made.extend(rest);
        desk.freed.push((endpoint, experience));
        drop(desk);
        self.news.notify_one();
    }

    /// A worker's work: makes attempts until the sender stops.
    fn work(&self) {
        loop {
            let idle = |desk: &mut Desk| desk.jobs.is_empty() && !desk.stopping;
            let mut desk = self.work.wait_while(self.desk(), idle).unwrap_or_else(PoisonError::into_inner);
            if desk.stopping {
                return;
            }
            let Some(run) = desk.jobs.pop_front() else { continue };
            desk.under_way += 1;
            drop(desk);
            make_all(self, run);
            let mut desk = self.desk();
            desk.under_way -= 1;
            let stopping = desk.stopping;
            drop(desk);
            if stopping {
                self.end.notify_all();
            }
        }
    }
}

impl Listener for Shared {
    fn rung(&self, endpoints: &[WebhookId]) {
        // As early as anything can be due: what was just queued is due now.
        self.tell(endpoints.iter().map(|endpoint| (*endpoint, Timestamp::from_millis(0))));
    }
}

/// The threads that send notifications. Dropping it stops them: what is under way has two seconds to end, and is then
/// broken off, to be made again by whoever sends next.
#[must_use = "dropping it stops the sender"]
pub struct WebhookSender {
    shared: Arc<Shared>,
    clerk: Option<JoinHandle<()>>,
    others: Vec<JoinHandle<()>>,
}

impl std::fmt::Debug for WebhookSender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebhookSender").field("options", &self.shared.options).finish_non_exhaustive()
    }
}

impl WebhookSender {
    /// Starts the threads.
    pub(crate) fn start(
        store: Arc<Store>,
        environment: Environment,
        transport: Arc<dyn Transport>,
        options: SenderOptions,
    ) -> Result<Self> {
        options.check()?;
        let places = options.shares();
        let shared = Arc::new(Shared {
            store,
            environment,
            transport,
            options,
            desk: Mutex::default(),
            news: Condvar::new(),
            work: Condvar::new(),
            end: Condvar::new(),
        });
        let mut sender = Self { shared: Arc::clone(&shared), clerk: None, others: Vec::new() };
        for number in 1..=places.workers {
            let shared = Arc::clone(&shared);
            sender.others.push(spawn(format!("webhook-{number}"), move || shared.work())?);
        }
        sender.clerk = Some(spawn("webhook-clerk".to_owned(), {
            let shared = Arc::clone(&shared);
            move || Clerk::new(&shared, places).run()
        })?);
        let listener: Arc<dyn Listener> = Arc::<Shared>::clone(&shared);
        shared.store.attach(&listener);
        // After the bell: what is queued in between is found by both, and not by neither.
        sender.others.push(spawn("webhook-lookout".to_owned(), move || lookout::keep(&shared))?);
        Ok(sender)
    }
}

fn spawn(name: String, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    let thread = std::thread::Builder::new().name(name).spawn(work);
    thread.map_err(|error| StoreError::Failed(format!("no thread can be started: {error}")).into())
}

impl Drop for WebhookSender {
    fn drop(&mut self) {
        self.shared.desk().stopping = true;
        self.shared.news.notify_all();
        self.shared.work.notify_all();
        self.shared.end.notify_all();
        self.shared.wait_for_the_last(GRACE);
        self.shared.desk().interrupted = true;
        self.shared.transport.interrupt();
        self.shared.wait_for_the_last(GRACE);
        self.shared.desk().closed = true;
        self.shared.news.notify_all();
        if self.clerk.take().is_some_and(|clerk| clerk.join().is_err()) {
            tracing::error!("the thread that does the webhook sender's writing panicked");
        }
        // A transport that cannot be interrupted ends in its own time; nobody waits for it.
        let hangs = self.shared.desk().under_way > 0;
        for thread in self.others.drain(..).filter(|thread| !hangs || thread.is_finished()) {
            if thread.join().is_err() {
                tracing::error!("a thread of the webhook sender panicked");
            }
        }
    }
}
