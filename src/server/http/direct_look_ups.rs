//! Look-ups on the async thread of their request: a look-up in a database file takes microseconds, and another thread would
//! have to be woken for it twice.
//!
//! If look-ups take long, because the disk is slow or the file is busy, the next ones are sent to the blocking threads for
//! a hundred times as long as the last one took. So the async threads wait for the disk for a twentieth of their time at
//! most. A short look-up now and then takes long only because another thread has the processor, the more often the busier
//! the machine is: the average counts, in which no look-up counts as more than four slow ones.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::environment::{Clock, SystemClock};
use crate::server::responses::problem::Problem;
use crate::service::TicketingService;

/// How long look-ups take on average at most that are not slow.
const QUICK: Duration = Duration::from_millis(1);

/// As how long a look-up counts at most.
const LONGEST: Duration = Duration::from_millis(4);

/// The weight of the newest look-up in the average.
const WEIGHT: u32 = 16;

/// After a slow look-up, the next ones are made on other threads for so many times as long.
const PAUSE_FACTOR: u32 = 100;

/// Whether look-ups are made directly.
#[derive(Debug, Default)]
pub(in crate::server) struct DirectLookUps {
    /// From when on, by the monotonic clock, in nanoseconds.
    paused_until: AtomicU64,
    /// How long a look-up takes on average, in nanoseconds. Threads may overwrite each other's changes.
    average: AtomicU64,
}

impl DirectLookUps {
    /// Counts a look-up, and pauses if they are slow.
    fn count(&self, now: Duration, taken: Duration) {
        let before = Duration::from_nanos(self.average.load(Ordering::Relaxed));
        let mut average = (before * (WEIGHT - 1) + taken.min(LONGEST)) / WEIGHT;
        if average > QUICK {
            self.paused_until.store(nanoseconds(now + taken * PAUSE_FACTOR), Ordering::Relaxed);
            average = Duration::ZERO;
        }
        self.average.store(nanoseconds(average), Ordering::Relaxed);
    }

    /// Runs `work`, whose reads are look-ups. Returns it if it has to run on a blocking thread.
    pub(in crate::server) fn run<T, W: FnOnce(&TicketingService) -> Result<T, Problem>>(
        &self,
        service: &TicketingService,
        work: W,
    ) -> Result<Result<T, Problem>, W> {
        let started = SystemClock.monotonic();
        if nanoseconds(started) < self.paused_until.load(Ordering::Relaxed) {
            return Err(work);
        }
        let mut work = Some(work);
        let look_up = || service.with_idle_look_ups(|| work.take().map(|work| work(service)));
        let looked_up = catch_unwind(AssertUnwindSafe(look_up));
        let now = SystemClock.monotonic();
        self.count(now, now.saturating_sub(started));
        match (looked_up, work) {
            (_, Some(work)) => Err(work),
            (Ok(Ok(Some(Some(result)))), None) => Ok(result.map_err(Problem::prepare)),
            (Ok(Err(error)), None) => Ok(Err(error.into())),
            (_, None) => Ok(Err(Problem::internal("a look-up panicked"))),
        }
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread::sleep;

    use super::*;

    fn service() -> TicketingService {
        TicketingService::temporary().open().unwrap()
    }

    /// Whether a look-up that takes this time is made directly.
    fn is_direct(direct: &DirectLookUps, service: &TicketingService, time: Duration) -> bool {
        let look_up = |_: &TicketingService| {
            sleep(time);
            Ok(())
        };
        match direct.run(service, look_up) {
            Ok(result) => result.is_ok(),
            Err(_) => false,
        }
    }

    #[test]
    fn slow_look_ups_send_the_next_ones_to_other_threads_for_a_while() {
        let (service, direct) = (service(), DirectLookUps::default());
        for time in [LONGEST * 5, LONGEST] {
            let mut slow = 0;
            let before = SystemClock.monotonic();
            while is_direct(&direct, &service, time) {
                slow += 1;
            }
            // After n of them the average is 4 ms × (1 − (15/16)^n), which is more than 1 ms from the fifth on.
            assert_eq!(slow, 5);
            while !is_direct(&direct, &service, Duration::ZERO) {
                sleep(QUICK);
            }
            assert!(SystemClock.monotonic().saturating_sub(before) >= time * PAUSE_FACTOR);
        }
    }

    #[test]
    fn a_look_up_that_another_thread_has_interrupted_changes_nothing() {
        let direct = DirectLookUps::default();
        for number in 1..1000 {
            let taken = if number % 20 == 0 { LONGEST * 10 } else { QUICK / 20 };
            direct.count(SystemClock.monotonic(), taken);
        }
        assert_eq!(direct.paused_until.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_look_up_waits_on_another_thread_if_no_connection_is_idle() {
        let (service, direct) = (service(), DirectLookUps::default());
        let (sender, taken) = channel();
        std::thread::scope(|scope| {
            let (release, released) = channel::<()>();
            let released = std::sync::Arc::new(std::sync::Mutex::new(released));
            loop {
                let (service, sender) = (&service, sender.clone());
                let released = released.clone();
                let hold = move || {
                    let held = service.with_idle_look_ups(|| {
                        sender.send(true).unwrap();
                        let _ = released.lock().unwrap().recv();
                    });
                    if held == Ok(None) {
                        sender.send(false).unwrap();
                    }
                };
                scope.spawn(hold);
                if !taken.recv().unwrap() {
                    break;
                }
            }
            assert!(!is_direct(&direct, &service, Duration::ZERO), "all connections are taken");
            drop(release);
        });
        assert!(is_direct(&direct, &service, Duration::ZERO));
    }

    #[test]
    fn a_panic_is_an_internal_error_and_gives_the_connection_back() {
        let service = service();
        for _ in 0..100 {
            let panicked = DirectLookUps::default().run(&service, |_| -> Result<(), Problem> { panic!("on purpose") });
            assert_eq!(panicked.ok().unwrap().unwrap_err().status(), 500);
        }
        assert!(is_direct(&DirectLookUps::default(), &service, Duration::ZERO));
    }
}
