//! Hears what other processes have committed, and wakes the background threads of this one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use postgres::Client;
use postgres::fallible_iterator::FallibleIterator;

use crate::store::commits::commit_notifier::{CommitNotifier, CommittedWork};
use crate::store::engine::postgres::net::errors::convert;
use crate::store::engine::postgres::net::purpose::Purpose;
use crate::store::engine::postgres::net::work_message::{self, CHANNEL};
use crate::store::engine::postgres::postgres_options::PostgresOptions;

/// How soon the thread ends.
const STEP: Duration = Duration::from_millis(100);

/// After how many steps without a message the connection is checked.
const STEPS_TO_CHECK: u32 = 50;

/// How long the check may take.
const CHECK_TIMEOUT: Duration = Duration::from_secs(5);

/// The pauses between attempts to connect. Until then, pollers find what others have committed.
const MIN_PAUSE: Duration = Duration::from_millis(100);
const MAX_PAUSE: Duration = Duration::from_secs(10);

/// The thread that listens. Dropping this ends it.
pub(in crate::store::engine::postgres) struct Listener {
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    /// Starts the thread, which tells `notifier` what others have committed. `process` is the number of this process.
    /// If the thread cannot be started, pollers find what others have committed.
    pub(in crate::store::engine::postgres) fn start(
        options: PostgresOptions,
        notifier: Arc<CommitNotifier>,
        process: u64,
    ) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let end = Arc::clone(&ended);
        let run = move || listen(&options, &notifier, process, &end);
        let thread = std::thread::Builder::new().name("ticketing-listener".to_owned()).spawn(run);
        let thread = thread.inspect_err(|error| {
            tracing::warn!(target: "ticketing::store", %error, "the thread that listens to other processes cannot be started");
        });
        Self { ended, thread: thread.ok() }
    }
}

/// Listens until the thread is to end. Connects again if the connection is lost.
fn listen(options: &PostgresOptions, notifier: &CommitNotifier, process: u64, ended: &AtomicBool) {
    let mut pause = MIN_PAUSE;
    while !ended.load(Ordering::Relaxed) {
        let lost = options.connect().and_then(|client| {
            pause = MIN_PAUSE;
            hear(client, notifier, process, ended).map_err(|error| convert(error, Purpose::Read))
        });
        if let Err(error) = lost {
            tracing::debug!(target: "ticketing::store", %error, "the connection that listens to other processes was lost");
        }
        let mut waited = Duration::ZERO;
        while waited < pause && !ended.load(Ordering::Relaxed) {
            std::thread::sleep(STEP);
            waited += STEP;
        }
        pause = (pause * 2).min(MAX_PAUSE);
    }
}

/// Passes on what others say, until the connection is lost or the thread is to end.
fn hear(
    mut client: Client,
    notifier: &CommitNotifier,
    process: u64,
    ended: &AtomicBool,
) -> Result<(), postgres::Error> {
    client.batch_execute(&format!("LISTEN {CHANNEL}"))?;
    // What others committed before.
    notifier.wake(&CommittedWork { stored: true, queued: true, ..CommittedWork::default() });
    let mut quiet_steps = 0;
    while !ended.load(Ordering::Relaxed) {
        let message = client.notifications().timeout_iter(STEP).next()?;
        match message {
            Some(message) => {
                quiet_steps = 0;
                if let Some(work) = work_message::read(message.payload(), process) {
                    tracing::debug!(target: "ticketing::store", "another process has committed work for background threads");
                    notifier.wake(&work);
                }
            }
            // The iterator also ends if the connection is closed.
            None if client.is_closed() => break,
            None => quiet_steps += 1,
        }
        if quiet_steps == STEPS_TO_CHECK {
            client.is_valid(CHECK_TIMEOUT)?;
            quiet_steps = 0;
        }
    }
    Ok(())
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic in the thread was reported already.
            drop(thread.join());
        }
    }
}
