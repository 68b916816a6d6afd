//! Decides which endpoint gets the next free worker. Pure bookkeeping: no I/O, no clock, no waiting.
//!
//! Each endpoint that may have rows due has an [`EndpointQueue`] with a limit on its workers. The rows themselves
//! stay in the database; a queue only records that there may be some. Endpoints that can use another worker are in
//! the [`RoundRobin`] of their health tier, and the tiers take turns.
//!
//! The throttled tiers (unproven and slow) share a limited part of the workers, so that any number of endpoints that
//! hang leaves workers free for the healthy ones.

use std::collections::HashMap;

use super::health::{Health, Observation};
use super::timers::Timers;
use crate::model::id::{OrganizationId, WebhookId};
use crate::model::timestamp::Timestamp;
use crate::round_robin::RoundRobin;

/// The number of workers, and how many of them may be busy at once for a group of endpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WorkerLimits {
    pub(super) total: usize,
    /// For one endpoint.
    pub(super) per_endpoint: usize,
    /// For all throttled endpoints together.
    pub(super) throttled: usize,
    /// For all slow endpoints together. The rest of `throttled` is left to unproven endpoints.
    pub(super) slow: usize,
}

/// Workers assigned to an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Assignment {
    pub(super) endpoint: WebhookId,
    pub(super) workers: usize,
    /// The most attempts that these workers may claim together.
    pub(super) max_attempts: usize,
}

/// The scheduling state of one endpoint.
#[derive(Debug)]
struct EndpointQueue {
    organization: OrganizationId,
    health: Health,
    /// How many attempts a worker claims at once.
    batch_size: usize,
    /// Workers assigned to the endpoint now.
    busy: usize,
    /// Whether the endpoint may have a row due.
    due: bool,
    /// Whether the endpoint is in the round robin of its tier.
    ready: bool,
}

/// The queues of all endpoints that have a row due or a timer set, or workers assigned.
#[derive(Debug)]
pub(super) struct EndpointQueues {
    limits: WorkerLimits,
    queues: HashMap<WebhookId, EndpointQueue>,
    /// The endpoints that may have a row due and are below their limit of workers, by health.
    ready: [RoundRobin<OrganizationId, WebhookId>; 3],
    /// Busy workers, by the health of their endpoint.
    busy: [usize; 3],
    timers: Timers,
    /// The tier that is served first next time.
    next_tier: usize,
}

impl EndpointQueues {
    pub(super) fn new(limits: WorkerLimits) -> Self {
        Self {
            limits,
            queues: HashMap::new(),
            ready: Default::default(),
            busy: [0; 3],
            timers: Timers::default(),
            next_tier: 0,
        }
    }

    pub(super) fn contains(&self, endpoint: WebhookId) -> bool {
        self.queues.contains_key(&endpoint)
    }

    /// Adds a queue for an endpoint that has none.
    pub(super) fn add(&mut self, organization: OrganizationId, endpoint: WebhookId, last: Observation) {
        self.queues.entry(endpoint).or_insert(EndpointQueue {
            organization,
            health: last.health,
            batch_size: last.batch_size(),
            busy: 0,
            due: false,
            ready: false,
        });
    }

    /// Records that an endpoint with a queue may have a row due now.
    pub(super) fn mark_due(&mut self, endpoint: WebhookId) {
        if let Some(queue) = self.queues.get_mut(&endpoint) {
            queue.due = true;
        }
        self.make_ready(endpoint);
    }

    /// Records that an endpoint with a queue has a row due at this time. Only the earliest time is kept: the rows due
    /// later are found when the earlier ones are claimed.
    pub(super) fn set_timer(&mut self, endpoint: WebhookId, at: Timestamp) {
        if self.contains(endpoint) {
            self.timers.set(endpoint, at);
        }
    }

    /// The time of the next timer.
    pub(super) fn next_timer(&self) -> Option<Timestamp> {
        self.timers.next()
    }

    /// Marks the endpoints due whose timers have expired.
    pub(super) fn fire_timers(&mut self, now: Timestamp) {
        while let Some(endpoint) = self.timers.pop_expired(now) {
            self.mark_due(endpoint);
        }
    }

    /// Puts an endpoint into the round robin of its tier if it can take another worker.
    fn make_ready(&mut self, endpoint: WebhookId) {
        if let Some(queue) = self.queues.get_mut(&endpoint)
            && queue.due
            && !queue.ready
            && queue.busy < self.limits.per_endpoint
        {
            queue.ready = true;
            self.ready[queue.health.index()].push(queue.organization, endpoint);
        }
    }

    /// Assigns the free workers. They count as busy from now on.
    pub(super) fn assign(&mut self) -> Vec<Assignment> {
        let mut assignments: Vec<Assignment> = Vec::new();
        let mut positions: HashMap<WebhookId, usize> = HashMap::new();
        while let Some(endpoint) = self.assign_worker() {
            let position = *positions.entry(endpoint).or_insert_with(|| {
                assignments.push(Assignment { endpoint, workers: 0, max_attempts: 0 });
                assignments.len() - 1
            });
            let assignment = &mut assignments[position];
            assignment.workers += 1;
            assignment.max_attempts += self.queues.get(&endpoint).map_or(1, |queue| queue.batch_size);
        }
        assignments
    }

    /// Assigns one free worker and returns its endpoint. The tiers take turns; one at its limit is skipped.
    fn assign_worker(&mut self) -> Option<WebhookId> {
        if self.busy.iter().sum::<usize>() >= self.limits.total {
            return None;
        }
        for step in 0..Health::ALL.len() {
            let tier = Health::ALL[(self.next_tier + step) % Health::ALL.len()];
            if !self.below_limit(tier) {
                continue;
            }
            if let Some(endpoint) = self.assign_worker_in(tier) {
                self.next_tier = tier.index() + 1;
                return Some(endpoint);
            }
        }
        None
    }

    /// Whether one more worker may be busy for endpoints of this tier.
    fn below_limit(&self, tier: Health) -> bool {
        let slow = self.busy[Health::Slow.index()];
        let throttled = self.busy[Health::Unproven.index()] + slow;
        match tier {
            Health::Healthy => true,
            Health::Unproven => throttled < self.limits.throttled,
            Health::Slow => throttled < self.limits.throttled && slow < self.limits.slow,
        }
    }

    /// Assigns a worker to the next endpoint of a tier, and moves the endpoint to the end of its round robin.
    fn assign_worker_in(&mut self, tier: Health) -> Option<WebhookId> {
        while let Some(endpoint) = self.ready[tier.index()].pop() {
            let Some(queue) = self.queues.get_mut(&endpoint) else { continue };
            queue.ready = false;
            if queue.due && queue.busy < self.limits.per_endpoint {
                queue.busy += 1;
                self.busy[tier.index()] += 1;
                self.make_ready(endpoint);
                return Some(endpoint);
            }
            self.remove_if_idle(endpoint);
        }
        None
    }

    /// Frees `unused` workers of an endpoint that has no more rows due.
    pub(super) fn nothing_due(&mut self, endpoint: WebhookId, unused: usize) {
        if let Some(queue) = self.queues.get_mut(&endpoint) {
            queue.due = false;
        }
        self.free_workers(endpoint, unused);
        self.remove_if_idle(endpoint);
    }

    /// Frees workers of an endpoint that may have more rows due.
    pub(super) fn free_workers(&mut self, endpoint: WebhookId, workers: usize) {
        if let Some(queue) = self.queues.get_mut(&endpoint) {
            queue.busy -= workers.min(queue.busy);
            let busy_in_tier = &mut self.busy[queue.health.index()];
            *busy_in_tier -= workers.min(*busy_in_tier);
        }
        self.make_ready(endpoint);
    }

    /// Frees a worker that has finished its batch, and moves the endpoint to the tier that its last attempt showed.
    pub(super) fn finish_batch(&mut self, endpoint: WebhookId, last: Observation) {
        self.free_workers(endpoint, 1);
        if let Some(queue) = self.queues.get_mut(&endpoint) {
            queue.batch_size = last.batch_size();
            let before = std::mem::replace(&mut queue.health, last.health);
            if before != last.health {
                self.busy[before.index()] -= queue.busy.min(self.busy[before.index()]);
                self.busy[last.health.index()] += queue.busy;
                if std::mem::take(&mut queue.ready) {
                    self.ready[before.index()].remove(queue.organization, &endpoint);
                }
                self.make_ready(endpoint);
            }
        }
        self.remove_if_idle(endpoint);
    }

    /// Removes the queue of an endpoint that has no row due, no timer and no busy worker.
    fn remove_if_idle(&mut self, endpoint: WebhookId) {
        // An endpoint that is still in a round robin is removed when its turn comes.
        let idle = |queue: &EndpointQueue| !queue.due && !queue.ready && queue.busy == 0;
        if !self.timers.is_set(endpoint) && self.queues.get(&endpoint).is_some_and(idle) {
            self.queues.remove(&endpoint);
        }
    }

    /// How many throttled endpoints may have a row due and are below their limit of workers.
    pub(super) fn throttled(&self) -> usize {
        let mut throttled = 0;
        for tier in [Health::Unproven, Health::Slow] {
            let due = |id: &&WebhookId| self.queues.get(id).is_some_and(|queue| queue.due);
            throttled += self.ready[tier.index()].iter().filter(due).count();
        }
        throttled
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    const LIMITS: WorkerLimits = WorkerLimits { total: 16, per_endpoint: 4, throttled: 8, slow: 6 };

    const ORGANIZATION: OrganizationId = OrganizationId::from_raw(1);

    fn id(number: i64) -> WebhookId {
        WebhookId::from_raw(number)
    }

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis).expect("in the range")
    }

    /// An attempt of one millisecond.
    fn observed(health: Health) -> Observation {
        Observation { health, duration: Some(Duration::from_millis(1)) }
    }

    /// Adds endpoints of one health that have rows due.
    fn add_due(queues: &mut EndpointQueues, numbers: std::ops::Range<i64>, health: Health) {
        for number in numbers {
            queues.add(ORGANIZATION, id(number), observed(health));
            queues.mark_due(id(number));
        }
    }

    /// The number of workers assigned to these endpoints.
    fn workers_of(assignments: &[Assignment], numbers: std::ops::Range<i64>) -> usize {
        let of_these = assignments.iter().filter(|assignment| numbers.contains(&assignment.endpoint.raw()));
        of_these.map(|assignment| assignment.workers).sum()
    }

    fn assignment(number: i64, workers: usize, max_attempts: usize) -> Assignment {
        Assignment { endpoint: id(number), workers, max_attempts }
    }

    #[test]
    fn one_endpoint_gets_no_more_workers_than_its_limit() {
        let mut queues = EndpointQueues::new(LIMITS);
        add_due(&mut queues, 1..2, Health::Healthy);
        assert_eq!(queues.assign(), [assignment(1, 4, 64)]);
        assert_eq!(queues.assign(), []);
        queues.finish_batch(id(1), observed(Health::Healthy));
        assert_eq!(queues.assign(), [assignment(1, 1, 16)]);
    }

    #[test]
    fn endpoints_take_turns() {
        let mut queues = EndpointQueues::new(LIMITS);
        add_due(&mut queues, 1..21, Health::Healthy);
        let expected: Vec<_> = (1..=16).map(|number| assignment(number, 1, 16)).collect();
        assert_eq!(queues.assign(), expected);
        for number in 1..=5 {
            queues.finish_batch(id(number), observed(Health::Healthy));
        }
        let next: Vec<_> = queues.assign().into_iter().map(|assignment| assignment.endpoint.raw()).collect();
        assert_eq!(next, [17, 18, 19, 20, 1]);
    }

    #[test]
    fn an_organization_with_many_endpoints_gets_no_more_turns_than_one_with_one() {
        for (health, workers) in [(Health::Healthy, 16), (Health::Unproven, 8), (Health::Slow, 6)] {
            let mut queues = EndpointQueues::new(LIMITS);
            add_due(&mut queues, 1..1001, health);
            queues.add(OrganizationId::from_raw(2), id(2000), observed(health));
            queues.mark_due(id(2000));
            let assignments = queues.assign();
            // Every second turn, up to the limit of one endpoint.
            let single = (workers / 2).min(4);
            assert_eq!(workers_of(&assignments, 2000..2001), single);
            assert_eq!(workers_of(&assignments, 1..1001), workers - single);
        }
    }

    #[test]
    fn throttled_endpoints_share_half_of_the_workers_and_slow_ones_three_quarters_of_that() {
        let mut queues = EndpointQueues::new(LIMITS);
        add_due(&mut queues, 1..1001, Health::Slow);
        assert_eq!(queues.assign().len(), 6);
        add_due(&mut queues, 1001..2001, Health::Unproven);
        assert_eq!(workers_of(&queues.assign(), 1001..2001), 2);
        add_due(&mut queues, 2001..2003, Health::Healthy);
        assert_eq!(workers_of(&queues.assign(), 2001..2003), 8);
        assert_eq!(queues.throttled(), 2000);
    }

    #[test]
    fn an_endpoint_whose_health_changes_moves_to_the_other_tier() {
        let mut queues = EndpointQueues::new(LIMITS);
        add_due(&mut queues, 1..3, Health::Slow);
        assert_eq!(workers_of(&queues.assign(), 1..3), 6);
        queues.finish_batch(id(1), observed(Health::Healthy));
        // The other endpoint holds 3 or 4 of the 6 workers of the slow tier: only its own limit of 4 bounds the first.
        let assigned = workers_of(&queues.assign(), 1..2);
        assert_eq!(assigned + queues.queues[&id(2)].busy, 4 - 2 + 4);
        assert_eq!(queues.queues[&id(1)].busy, 4);
    }

    #[test]
    fn an_endpoint_is_due_when_its_earliest_timer_expires() {
        let mut queues = EndpointQueues::new(LIMITS);
        queues.add(ORGANIZATION, id(1), observed(Health::Healthy));
        queues.set_timer(id(1), at(5000));
        queues.set_timer(id(1), at(9000));
        queues.set_timer(id(1), at(3000));
        assert_eq!(queues.next_timer(), Some(at(3000)));
        queues.fire_timers(at(2999));
        assert_eq!(queues.assign(), []);
        queues.fire_timers(at(3000));
        assert_eq!(queues.assign(), [assignment(1, 4, 64)]);
        queues.nothing_due(id(1), 4);
        queues.fire_timers(at(10_000));
        assert_eq!(queues.assign(), []);
        assert!(!queues.contains(id(1)));
    }

    #[derive(Debug, Clone)]
    enum Step {
        Due {
            number: i64,
            health: Health,
        },
        SetTimer {
            number: i64,
            millis: i64,
        },
        FireTimers {
            millis: i64,
        },
        /// Assigns the free workers; `found` workers of each endpoint find a row.
        Assign {
            found: usize,
        },
        FinishBatch {
            worker: usize,
            health: Health,
        },
    }

    fn any_health() -> impl Strategy<Value = Health> {
        (0..3_usize).prop_map(|index| Health::ALL[index])
    }

    fn any_step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (1..12_i64, any_health()).prop_map(|(number, health)| Step::Due { number, health }),
            (1..12_i64, 0..100_i64).prop_map(|(number, millis)| Step::SetTimer { number, millis }),
            (0..100_i64).prop_map(|millis| Step::FireTimers { millis }),
            (0..5_usize).prop_map(|found| Step::Assign { found }),
            (0..64_usize, any_health()).prop_map(|(worker, health)| Step::FinishBatch { worker, health }),
        ]
    }

    proptest! {
        #[test]
        fn limits_hold_and_no_endpoint_is_lost(steps in prop::collection::vec(any_step(), 1..200)) {
            let mut queues = EndpointQueues::new(LIMITS);
            // The endpoint of each busy worker.
            let mut busy: Vec<WebhookId> = Vec::new();
            for step in steps {
                match step {
                    Step::Due { number, health } => {
                        queues.add(OrganizationId::from_raw(number % 3), id(number), observed(health));
                        queues.mark_due(id(number));
                    }
                    Step::SetTimer { number, millis } => {
                        queues.add(OrganizationId::from_raw(number % 3), id(number), observed(Health::Unproven));
                        queues.set_timer(id(number), at(millis));
                    }
                    Step::FireTimers { millis } => queues.fire_timers(at(millis)),
                    Step::Assign { found } => {
                        let [healthy_before, unproven_before, slow_before] = queues.busy;
                        let throttled_before = unproven_before + slow_before;
                        let assignments = queues.assign();
                        let [healthy, unproven, slow] = queues.busy;
                        let throttled = unproven + slow;
                        prop_assert!(healthy + throttled <= LIMITS.total.max(healthy_before + throttled_before));
                        prop_assert!(throttled <= LIMITS.throttled.max(throttled_before));
                        prop_assert!(slow <= LIMITS.slow.max(slow_before));
                        for assignment in assignments {
                            let found = found.min(assignment.workers);
                            busy.extend(std::iter::repeat_n(assignment.endpoint, found));
                            if found < assignment.workers {
                                queues.nothing_due(assignment.endpoint, assignment.workers - found);
                            }
                        }
                    }
                    Step::FinishBatch { worker, health } if !busy.is_empty() => {
                        let endpoint = busy.remove(worker % busy.len());
                        queues.finish_batch(endpoint, observed(health));
                    }
                    Step::FinishBatch { .. } => {}
                }
                for (endpoint, queue) in &queues.queues {
                    prop_assert_eq!(queue.busy, busy.iter().filter(|other| *other == endpoint).count());
                    let at_limit = queue.busy == LIMITS.per_endpoint;
                    prop_assert!(queue.busy <= LIMITS.per_endpoint);
                    prop_assert!(queue.ready || !queue.due || at_limit, "a due endpoint is not ready");
                    let timer = queues.timers.is_set(*endpoint);
                    prop_assert!(queue.due || queue.ready || timer || queue.busy > 0, "an idle queue was kept");
                }
                for health in Health::ALL {
                    let busy = busy.iter().filter(|id| queues.queues[id].health == health).count();
                    prop_assert_eq!(queues.busy[health.index()], busy);
                    let ready: Vec<_> = queues.ready[health.index()].iter().collect();
                    let different: HashSet<_> = ready.iter().collect();
                    prop_assert_eq!(different.len(), ready.len(), "an endpoint is ready twice");
                    prop_assert!(ready.iter().all(|id| queues.queues[id].health == health));
                }
            }
        }
    }
}
