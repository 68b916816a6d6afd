//! A model of the group commit: shuttle runs it under many interleavings of its threads, and reports a deadlock as a
//! panic.
//!
//! The code of the leadership is the crate's own, with shuttle's types for synchronization.

use std::collections::VecDeque;

use shuttle::sync::Arc;
use shuttle::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use shuttle::sync::mpsc::{Receiver, Sender, channel};
use shuttle::thread;

#[path = "../../../src/store/engine/leadership.rs"]
mod leadership;

mod sync {
    pub(super) use shuttle::sync::{Condvar, Mutex, MutexGuard};
    pub(super) use std::sync::PoisonError;
}

const CALLERS: usize = 4;
const JOBS_OF_EACH: usize = 2;
const MAX_GROUP: usize = 2;

/// The callers that wait for their answer.
#[derive(Default)]
struct Jobs(VecDeque<Sender<()>>);

impl leadership::Queue for Jobs {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

struct Model {
    leadership: leadership::Leadership<Jobs>,
    is_led: AtomicBool,
    groups: AtomicUsize,
    /// Whether the leader of the second group fails before it has answered anyone.
    second_group_panics: bool,
}

impl Model {
    fn new(second_group_panics: bool) -> Arc<Self> {
        let leadership = leadership::Leadership::new();
        Arc::new(Self { leadership, is_led: AtomicBool::new(false), groups: AtomicUsize::new(0), second_group_panics })
    }

    /// Adds jobs, and waits for their answers. With `queues`, it never leads.
    fn work(&self, queues: bool) {
        for _ in 0..JOBS_OF_EACH {
            let (sender, answer): (Sender<()>, Receiver<()>) = channel();
            if queues {
                self.leadership.add_for_others(|jobs| jobs.0.push_back(sender));
            } else if let Some(_lead) = self.leadership.add(|jobs| jobs.0.push_back(sender)) {
                self.write_group();
            }
            // An error means that the leader has failed and dropped the job: that is an answer too.
            let _ = answer.recv();
        }
    }

    fn lead_when_handed_over(&self) {
        while let Some(_lead) = self.leadership.wait_for_lead() {
            self.write_group();
        }
    }

    fn write_group(&self) {
        assert!(!self.is_led.swap(true, Ordering::SeqCst), "there are two leaders");
        let mut group = Vec::new();
        while group.len() < MAX_GROUP
            && let Some(job) = self.leadership.with_queue(|jobs| jobs.0.pop_front())
        {
            group.push(job);
        }
        let number = self.groups.fetch_add(1, Ordering::SeqCst) + 1;
        assert!(self.is_led.swap(false, Ordering::SeqCst));
        if self.second_group_panics && number == 2 {
            return;
        }
        for job in group {
            job.send(()).expect("the caller waits");
        }
    }
}

/// Runs callers, and the thread that leads when the lead is handed over. Every second caller queues its jobs.
fn run(model: &Arc<Model>, has_thread: bool) {
    let leader = has_thread.then(|| {
        let model = Arc::clone(model);
        thread::spawn(move || model.lead_when_handed_over())
    });
    let callers: [_; CALLERS] = std::array::from_fn(|number| {
        let model = Arc::clone(model);
        thread::spawn(move || model.work(number % 2 == 1))
    });
    for caller in callers {
        caller.join().expect("no panic");
    }
    model.leadership.close();
    if let Some(leader) = leader {
        leader.join().expect("no panic");
    }
}

#[test]
fn every_caller_is_answered_and_there_is_one_leader_at_a_time() {
    shuttle::check_random(|| run(&Model::new(false), true), 5_000);
}

#[test]
fn a_leader_that_fails_hands_over_and_every_caller_is_answered() {
    shuttle::check_random(|| run(&Model::new(true), true), 5_000);
}

#[test]
#[should_panic(expected = "deadlock")]
fn control_without_a_thread_that_takes_over_a_caller_waits_for_ever() {
    shuttle::check_random(|| run(&Model::new(false), false), 5_000);
}
