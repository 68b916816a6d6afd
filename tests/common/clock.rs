//! A clock like that of a machine.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ticketing::Timestamp;
use ticketing::environment::Clock;

/// A clock whose wall time can jump without the monotonic time, as that of a machine. Clones show the same time.
#[derive(Debug, Clone)]
pub struct MachineClock {
    times: Arc<Mutex<(Timestamp, Duration)>>,
    is_trusted: bool,
}

impl MachineClock {
    pub fn new(now: Timestamp) -> Self {
        Self { times: Arc::new(Mutex::new((now, Duration::ZERO))), is_trusted: false }
    }

    /// Creates a clock that is believed whatever it shows.
    pub fn trusted(now: Timestamp) -> Self {
        Self { is_trusted: true, ..Self::new(now) }
    }

    /// Lets time pass.
    pub fn pass(&self, time: Duration) {
        let mut times = self.times.lock().unwrap();
        *times = (times.0.saturating_add(time), times.1 + time);
    }

    /// Sets the wall clock only.
    pub fn jump_to(&self, wall: Timestamp) {
        self.times.lock().unwrap().0 = wall;
    }
}

impl Clock for MachineClock {
    fn now(&self) -> Timestamp {
        self.times.lock().unwrap().0
    }

    fn monotonic(&self) -> Duration {
        self.times.lock().unwrap().1
    }

    fn is_trusted(&self) -> bool {
        self.is_trusted
    }
}
