//! Threads for calls that block and cannot be cancelled, such as one to a payment gateway. A new thread costs as much
//! as several statements of a transaction, so a thread waits for some time for its next call.

use std::io::Result;
use std::sync::mpsc::{SendError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use super::Locked;

/// How long a thread waits for its next call before it ends.
const MAX_IDLE: Duration = Duration::from_secs(10);

type Call = Box<dyn FnOnce() + Send>;

/// The threads that wait for a call. There are as many as calls have run at the same time. Clones share them.
#[derive(Clone)]
pub(crate) struct ReusedThreads {
    /// Of the thread that waits last, the sender is the last one. A thread that has ended refuses the call.
    waiting: Arc<Mutex<Vec<SyncSender<Call>>>>,
    name: &'static str,
}

impl ReusedThreads {
    pub(crate) fn new(name: &'static str) -> Self {
        Self { waiting: Arc::default(), name }
    }

    /// Runs a call on a thread that waits, or else on a new one. Fails if that cannot be started.
    pub(crate) fn run(&self, call: impl FnOnce() + Send + 'static) -> Result<()> {
        let mut call: Call = Box::new(call);
        while let Some(thread) = self.next_waiting() {
            match thread.send(call) {
                Ok(()) => return Ok(()),
                Err(SendError(refused)) => call = refused,
            }
        }
        let waiting = Arc::downgrade(&self.waiting);
        std::thread::Builder::new().name(self.name.to_owned()).spawn(move || run_all(call, &waiting)).map(drop)
    }

    fn next_waiting(&self) -> Option<SyncSender<Call>> {
        self.waiting.locked().pop()
    }
}

/// Runs the first call and those that follow. A call that panics ends the thread.
fn run_all(first: Call, waiting: &Weak<Mutex<Vec<SyncSender<Call>>>>) {
    let mut next = Some(first);
    while let Some(call) = next {
        call();
        // It has no buffer: what is sent to a thread that no longer waits is given back to the sender.
        let (sender, receiver) = sync_channel(0);
        let Some(waiting) = waiting.upgrade() else { return };
        waiting.locked().push(sender);
        drop(waiting);
        next = receiver.recv_timeout(MAX_IDLE).ok();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread::{ThreadId, current};

    use super::*;

    /// Runs calls one after another, and returns the threads on which they ran.
    fn run_some(threads: &ReusedThreads, number: usize) -> Vec<ThreadId> {
        let run_one = |_| {
            let (sender, receiver) = channel();
            threads.run(move || sender.send(current().id()).unwrap()).unwrap();
            let thread = receiver.recv().unwrap();
            while threads.waiting.locked().is_empty() {
                std::thread::yield_now();
            }
            thread
        };
        (0..number).map(run_one).collect()
    }

    #[test]
    fn one_call_after_another_runs_on_one_thread_and_calls_at_once_on_several() {
        let threads = ReusedThreads::new("calls");
        let used = run_some(&threads, 3);
        assert!(used.iter().all(|thread| *thread == used[0]), "{used:?}");
        let (sender, receiver) = channel();
        let (end, ends) = channel::<()>();
        let wait = move || {
            sender.send(current().id()).unwrap();
            ends.recv().unwrap_err();
        };
        threads.run(wait).unwrap();
        let busy = receiver.recv().unwrap();
        assert!(run_some(&threads, 2).iter().all(|thread| *thread != busy));
        drop(end);
    }

    #[test]
    fn a_call_that_panics_does_not_disturb_others() {
        let threads = ReusedThreads::new("calls");
        let first = run_some(&threads, 1);
        threads.run(|| std::panic::resume_unwind(Box::new("a panic"))).unwrap();
        assert_ne!(run_some(&threads, 1), first);
    }
}
