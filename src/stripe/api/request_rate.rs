//! How many requests are sent in a second, and in which order.
//!
//! Stripe allows 25 requests in a second for each operation of its API, and in all 100 in live mode and 25 in a sandbox
//! (<https://docs.stripe.com/rate-limits>). Beyond that it answers 429: an order would be cancelled because others were
//! created in the same second. So the requests are spread out here, a little below the limits. Those that wait for the
//! same operation take turns by organization, and so do the operations: one organization with many orders delays no
//! other. Requests in the background are sent when no other request waits.

use std::collections::{HashSet, VecDeque};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::environment::Clock;
use crate::fair::RoundRobin;
use crate::model::values::id::OrganizationId;

/// How many requests for the same operation are sent in a second, unless the builder says otherwise. Together with the
/// first [`AT_ONCE`] it is Stripe's limit.
pub(in crate::stripe) const PER_OPERATION: u32 = 20;

/// How many requests are sent without a pause after a time without requests, as a part of those of a second.
const AT_ONCE: u32 = 4;

/// How many operations can be called at their highest rate in live mode. In a sandbox it is one.
const OPERATIONS: u32 = 4;

/// Which of the requests that wait are sent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::stripe) enum Priority {
    /// A customer, an organizer or a notice waits for it. Those of different organizations take turns. The organization
    /// is `None` if it is not known.
    Normal(Option<OrganizationId>),
    /// It is sent when no other request waits, and never as part of a burst, which is left to the others.
    Background,
}

/// The requests that are sent in a second.
pub(in crate::stripe) struct RateLimit {
    queue: Mutex<Queue>,
    /// Tells the requests that wait that one of them may be sent.
    admitted: Condvar,
}

impl RateLimit {
    /// A limit of so many requests in a second for each operation.
    pub(in crate::stripe) fn new(per_operation: u32, is_live: bool) -> Self {
        Self { queue: Mutex::new(Queue::new(per_operation, is_live)), admitted: Condvar::new() }
    }

    /// Waits until a request for an operation may be sent. Returns `false` if that takes longer than `max_wait`.
    pub(in crate::stripe) fn wait(
        &self,
        operation: &str,
        priority: Priority,
        clock: &impl Clock,
        max_wait: Duration,
    ) -> bool {
        let gives_up_at = clock.monotonic() + max_wait;
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(request) = queue.join(operation, priority, clock.monotonic(), max_wait) else { return false };
        loop {
            let now = clock.monotonic();
            if queue.admit(now) {
                self.admitted.notify_all();
            }
            if queue.admitted.remove(&request) {
                return true;
            }
            if now >= gives_up_at {
                queue.leave(operation, priority, request);
                return false;
            }
            let pause = queue.next_time().min(gives_up_at).saturating_sub(now);
            (queue, _) = self.admitted.wait_timeout(queue, pause).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The requests that wait. Times are those of the monotonic clock.
struct Queue {
    of_operation: Rate,
    of_all: Rate,
    /// When the next request is planned.
    planned: Duration,
    /// All operations that were called, in the order in which they take turns.
    operations: VecDeque<Operation>,
    last_request: RequestNumber,
    /// The requests that may be sent, and are not sent yet.
    admitted: HashSet<RequestNumber>,
}

type RequestNumber = u64;

/// An operation of the API.
struct Operation {
    name: String,
    /// When the next request for it is planned.
    planned: Duration,
    waiting: RoundRobin<Option<OrganizationId>, RequestNumber>,
    in_background: VecDeque<RequestNumber>,
}

impl Operation {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            planned: Duration::ZERO,
            waiting: RoundRobin::default(),
            in_background: VecDeque::new(),
        }
    }
}

impl Queue {
    fn new(per_operation: u32, is_live: bool) -> Self {
        let all = if is_live { per_operation.saturating_mul(OPERATIONS) } else { per_operation };
        Self {
            of_operation: Rate::per_second(per_operation),
            of_all: Rate::per_second(all),
            planned: Duration::ZERO,
            operations: VecDeque::new(),
            last_request: 0,
            admitted: HashSet::new(),
        }
    }

    /// Adds a request. Returns `None` if those of its organization alone take longer than `max_wait`.
    fn join(&mut self, name: &str, priority: Priority, now: Duration, max_wait: Duration) -> Option<RequestNumber> {
        let position = self.position(name).unwrap_or_else(|| {
            self.operations.push_back(Operation::new(name));
            self.operations.len() - 1
        });
        let operation = &mut self.operations[position];
        let Priority::Normal(organization) = priority else {
            self.last_request += 1;
            operation.in_background.push_back(self.last_request);
            return Some(self.last_request);
        };
        let before_it = u32::try_from(operation.waiting.len_of(organization)).unwrap_or(u32::MAX);
        let planned = operation.planned.max(now) + self.of_operation.interval.saturating_mul(before_it);
        let earliest = self.of_operation.earliest(planned).max(self.of_all.earliest(self.planned));
        if earliest > now + max_wait {
            return None;
        }
        self.last_request += 1;
        operation.waiting.push(organization, self.last_request);
        Some(self.last_request)
    }

    fn leave(&mut self, name: &str, priority: Priority, request: RequestNumber) {
        let Some(position) = self.position(name) else { return };
        let operation = &mut self.operations[position];
        match priority {
            Priority::Normal(organization) => operation.waiting.remove(organization, &request),
            Priority::Background => operation.in_background.retain(|other| *other != request),
        }
    }

    /// Admits the requests that may be sent at this time. Returns whether there are some.
    fn admit(&mut self, now: Duration) -> bool {
        let before = self.admitted.len();
        while let Some((_, position)) = self.next(now).filter(|(time, _)| *time <= now) {
            let Some(mut operation) = self.operations.remove(position) else { break };
            self.admitted.extend(operation.waiting.pop().or_else(|| operation.in_background.pop_front()));
            operation.planned = operation.planned.max(now) + self.of_operation.interval;
            self.planned = self.planned.max(now) + self.of_all.interval;
            self.operations.push_back(operation);
        }
        self.admitted.len() > before
    }

    /// When the next request that waits may be sent, `now` at the earliest, and the position of its operation: of those
    /// that may be called at the same time, the first one.
    fn next(&self, now: Duration) -> Option<(Duration, usize)> {
        let in_background = self.operations.iter().all(|operation| operation.waiting.is_empty());
        let time = |operation: &Operation| {
            if in_background {
                return (!operation.in_background.is_empty()).then_some(operation.planned.max(self.planned));
            }
            let earliest = self.of_operation.earliest(operation.planned).max(self.of_all.earliest(self.planned));
            (!operation.waiting.is_empty()).then_some(earliest)
        };
        let times = self.operations.iter().enumerate();
        times.filter_map(|(position, operation)| Some((time(operation)?.max(now), position))).min()
    }

    /// When the next request that waits may be sent.
    fn next_time(&self) -> Duration {
        self.next(Duration::ZERO).map_or(Duration::MAX, |(time, _)| time)
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.operations.iter().position(|operation| operation.name == name)
    }
}

/// A number of requests in a second.
#[derive(Debug, Clone, Copy)]
struct Rate {
    interval: Duration,
    /// How far the requests may be ahead of the interval.
    burst: Duration,
}

impl Rate {
    fn per_second(requests: u32) -> Self {
        let interval = Duration::from_secs(1) / requests.max(1);
        Self { interval, burst: interval * (requests / AT_ONCE).saturating_sub(1) }
    }

    /// When the next request may be sent if this is the time that was planned for it.
    fn earliest(self, planned: Duration) -> Duration {
        planned.saturating_sub(self.burst)
    }
}

/// The operation of the API that a request calls: its method, and its path without ids, which have digits.
pub(in crate::stripe) fn operation(method: &str, path: &str) -> String {
    let is_id = |part: &str| part.bytes().any(|byte| byte.is_ascii_digit());
    let parts = path.split('/').map(|part| if is_id(part) { "*" } else { part });
    format!("{method} {}", parts.collect::<Vec<_>>().join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX_WAIT: Duration = Duration::from_secs(1000);

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn of_organization(number: i64) -> Priority {
        Priority::Normal(Some(OrganizationId::from_raw(number)))
    }

    /// Admits all requests that wait, from `now` on. Returns their numbers and times.
    fn admit_all(queue: &mut Queue, now: Duration) -> Vec<(RequestNumber, Duration)> {
        let mut admitted = Vec::new();
        let mut time = now;
        loop {
            queue.admit(time);
            let mut numbers: Vec<_> = queue.admitted.drain().collect();
            numbers.sort_unstable();
            admitted.extend(numbers.into_iter().map(|number| (number, time)));
            match queue.next_time() {
                Duration::MAX => return admitted,
                next => time = next,
            }
        }
    }

    /// The times at which requests are sent that are all asked for at `now`.
    fn sent_at(queue: &mut Queue, operations: &[&str], now: Duration, count: usize) -> Vec<Duration> {
        for index in 0..count {
            queue.join(operations[index % operations.len()], Priority::Normal(None), now, MAX_WAIT).expect("a place");
        }
        admit_all(queue, now).into_iter().map(|(_, time)| time).collect()
    }

    fn most_in_a_second(times: &[Duration]) -> usize {
        let second = Duration::from_secs(1);
        let until_a_second_after =
            |from: Duration| times.iter().filter(|&&at| (from..=from + second).contains(&at)).count();
        times.iter().map(|from| until_a_second_after(*from)).max().unwrap_or_default()
    }

    #[test]
    fn no_second_has_more_than_25_requests_for_an_operation() {
        let mut queue = Queue::new(PER_OPERATION, true);
        let mut times = sent_at(&mut queue, &["POST refunds"], seconds(7), 100);
        assert_eq!(times[0], seconds(7), "the first one does not wait");
        assert_eq!(times.last().map(Duration::as_secs), Some(11), "20 in a second");
        times.extend(sent_at(&mut queue, &["POST refunds"], seconds(20), 100));
        assert_eq!(times.len(), 200);
        assert_eq!(most_in_a_second(&times), 25);
    }

    #[test]
    fn operations_have_limits_of_their_own_up_to_that_of_the_account() {
        for (is_live, expected) in [(true, 100), (false, 25)] {
            let mut queue = Queue::new(PER_OPERATION, is_live);
            let operations = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
            let times = sent_at(&mut queue, &operations, Duration::ZERO, 500);
            assert_eq!(times.len(), 500);
            assert_eq!(most_in_a_second(&times), expected, "live: {is_live}");
        }
    }

    #[test]
    fn the_next_request_for_an_operation_is_one_of_another_organization_that_waits() {
        let mut queue = Queue::new(1, true);
        let mut join = |operation, number| queue.join(operation, of_organization(number), seconds(0), MAX_WAIT);
        let heavy: Vec<_> = (0..64).filter_map(|_| join("one", 1)).collect();
        let light = [join("one", 2), join("one", 3)].map(|place| place.expect("a place"));
        let admitted = admit_all(&mut queue, seconds(0));
        let numbers: Vec<_> = admitted.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers[..5], [heavy[0], light[0], light[1], heavy[1], heavy[2]]);
        assert_eq!(admitted[1].1, seconds(1));

        // The control: of one organization, the same requests are sent in the order in which they came.
        let mut queue = Queue::new(1, true);
        let numbers: Vec<_> =
            (0..66).filter_map(|_| queue.join("one", of_organization(1), seconds(0), MAX_WAIT)).collect();
        let admitted = admit_all(&mut queue, seconds(0));
        assert_eq!(admitted.iter().map(|(number, _)| *number).collect::<Vec<_>>(), numbers);
        assert_eq!(admitted[64].1, seconds(64));
    }

    #[test]
    fn many_requests_for_one_operation_delay_no_other_one_although_both_share_the_limit_of_the_account() {
        let mut queue = Queue::new(1, false);
        for _ in 0..64 {
            queue.join("one", of_organization(1), seconds(0), MAX_WAIT).expect("a place");
        }
        let other = queue.join("two", of_organization(2), seconds(0), MAX_WAIT).expect("a place");
        assert_eq!(admit_all(&mut queue, seconds(0))[1], (other, seconds(1)));
    }

    #[test]
    fn a_request_that_would_wait_too_long_gets_no_place() {
        let mut queue = Queue::new(1, true);
        let join = |queue: &mut Queue, number: i64, now: u64| {
            queue.join("one", of_organization(number), seconds(now), seconds(1)).is_some()
        };
        assert!(join(&mut queue, 1, 0));
        assert!(queue.admit(seconds(0)));
        assert!(join(&mut queue, 1, 0));
        for _ in 0..10 {
            assert!(!join(&mut queue, 1, 0));
        }
        assert!(join(&mut queue, 2, 0), "it need not wait behind the others");
        assert!(queue.admit(seconds(1)));
        assert!(join(&mut queue, 1, 1));
    }

    #[test]
    fn a_request_that_gives_up_leaves_its_place_to_the_next_one() {
        let mut queue = Queue::new(1, true);
        let [first, second] =
            [1, 2].map(|number| queue.join("one", of_organization(number), seconds(0), MAX_WAIT).expect("a place"));
        queue.leave("one", of_organization(1), first);
        assert_eq!(admit_all(&mut queue, seconds(0)), [(second, seconds(0))]);
        assert_eq!(queue.next_time(), Duration::MAX);

        let clock = crate::environment::SystemClock;
        let limit = RateLimit::new(1, true);
        assert!(limit.wait("one", Priority::Normal(None), &clock, Duration::ZERO));
        assert!(!limit.wait("one", Priority::Normal(None), &clock, Duration::ZERO));
        assert!(limit.wait("one", Priority::Normal(None), &clock, MAX_WAIT));
        assert!(limit.queue.lock().unwrap().admitted.is_empty());
    }

    #[test]
    fn requests_in_the_background_are_sent_when_no_other_request_waits() {
        let mut queue = Queue::new(1, false);
        let join = |queue: &mut Queue, operation, priority| {
            queue.join(operation, priority, seconds(0), MAX_WAIT).expect("a place")
        };
        let background = [1, 2].map(|_| join(&mut queue, "one", Priority::Background));
        let customers = ["one", "two", "one"].map(|operation| join(&mut queue, operation, of_organization(1)));
        let order = [customers[0], customers[1], customers[2], background[0], background[1]];
        let expected: Vec<_> = (0..).map(seconds).zip(order).map(|(time, number)| (number, time)).collect();
        assert_eq!(admit_all(&mut queue, seconds(0)), expected);

        // A customer who comes later is first too, and one that gives up makes room.
        let background = [1, 2].map(|_| join(&mut queue, "one", Priority::Background));
        queue.leave("one", Priority::Background, background[1]);
        let customer = join(&mut queue, "one", of_organization(1));
        assert_eq!(admit_all(&mut queue, seconds(10)), [(customer, seconds(10)), (background[0], seconds(11))]);
        assert_eq!(queue.next_time(), Duration::MAX);
    }

    #[test]
    fn requests_in_the_background_leave_the_burst_to_customers() {
        let mut queue = Queue::new(PER_OPERATION, false);
        for _ in 0..100 {
            queue.join("one", Priority::Background, seconds(0), MAX_WAIT).expect("a place");
        }
        // 20 in a second: one every 50 milliseconds.
        for sent in 1..=40 {
            let now = Duration::from_millis(50) * (sent - 1);
            assert!(queue.admit(now));
            assert_eq!(queue.admitted.drain().count(), 1);
            assert_eq!(queue.next_time(), now + Duration::from_millis(50));
        }
        let now = Duration::from_millis(50) * 39;
        for _ in 0..4 {
            queue.join("one", of_organization(1), now, MAX_WAIT).expect("a place");
        }
        assert!(queue.admit(now));
        assert_eq!(queue.admitted.drain().count(), 4);
    }

    #[test]
    fn an_operation_is_the_same_for_every_id() {
        assert_eq!(operation("GET", "checkout/sessions"), "GET checkout/sessions");
        assert_eq!(operation("POST", "checkout/sessions/cs_test_a1b2/expire"), "POST checkout/sessions/*/expire");
        assert_eq!(operation("GET", "checkout/sessions/cs_test_a1b2"), "GET checkout/sessions/*");
    }
}
