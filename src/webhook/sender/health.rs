//! The health of an endpoint, judged by its last attempt.

use std::time::Duration;

/// The longest attempt of a healthy endpoint.
const HEALTHY_LIMIT: Duration = Duration::from_secs(1);

/// For how long a worker starts attempts for the same healthy endpoint, one after another. Within the slice it does not
/// wait for a commit after each attempt, and after the slice it is free for another endpoint.
pub(super) const TIME_SLICE: Duration = Duration::from_millis(100);

/// The most attempts that a worker claims at once.
const MAX_BATCH: u32 = 64;

/// The health tier of an endpoint. All tiers but the healthy one are throttled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Health {
    /// The last attempt succeeded within a second.
    Healthy,
    /// No attempt yet, or the last one failed within a second.
    Unproven,
    /// The last attempt timed out or took more than a second.
    Slow,
}

impl Health {
    pub(super) const ALL: [Self; 3] = [Self::Healthy, Self::Unproven, Self::Slow];

    pub(super) const fn index(self) -> usize {
        self as usize
    }
}

/// The health that an endpoint has after its last attempt, and the duration of that attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Observation {
    pub(super) health: Health,
    /// How long the attempt took; `None` if no connection was tried.
    pub(super) duration: Option<Duration>,
}

impl Observation {
    /// For an endpoint that has had no attempt.
    pub(super) const NONE: Self = Self { health: Health::Unproven, duration: None };

    /// `duration` is `None` if no connection was tried.
    pub(super) fn of_attempt(success: bool, timed_out: bool, duration: Option<Duration>) -> Self {
        let slow = timed_out || duration.is_some_and(|duration| duration > HEALTHY_LIMIT);
        let health = if slow {
            Health::Slow
        } else if success {
            Health::Healthy
        } else {
            Health::Unproven
        };
        Self { health, duration }
    }

    /// How many attempts a worker claims at once. For a healthy endpoint, this is the number that fits into a time
    /// slice if each attempt takes as long as the last one. For any other endpoint, it is one.
    pub(super) fn batch_size(self) -> usize {
        match (self.health, self.duration) {
            (Health::Healthy, Some(duration)) => {
                let fitting = TIME_SLICE.as_micros() / duration.as_micros().max(1);
                usize::try_from(fitting.clamp(1, MAX_BATCH.into())).unwrap_or(1)
            }
            _ => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_healthy_endpoint_gets_as_many_attempts_as_fit_into_a_time_slice() {
        let batch_size = |health, millis| {
            let duration = Some(Duration::from_millis(millis));
            Observation { health, duration }.batch_size()
        };
        let healthy = [0, 1, 2, 6, 7, 30, 50, 51, 100, 900].map(|millis| batch_size(Health::Healthy, millis));
        assert_eq!(healthy, [64, 64, 50, 16, 14, 3, 2, 1, 1, 1]);
        assert_eq!(Observation { health: Health::Healthy, duration: None }.batch_size(), 1);
        assert_eq!([Health::Unproven, Health::Slow].map(|health| batch_size(health, 1)), [1, 1]);
    }
}
