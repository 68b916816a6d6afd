//! Tests of the queues: the limits of workers, and the turns of endpoints and organizations.

use std::collections::HashSet;
use std::time::Duration;

use proptest::prelude::*;

use super::*;

const LIMITS: WorkerLimits = WorkerLimits { total: 16, per_endpoint: 4, throttled: 8, slow: 6 };

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

/// Adds endpoints of one health that have rows due, each of another organization.
fn add_due(queues: &mut EndpointQueues, numbers: std::ops::Range<i64>, health: Health) {
    for number in numbers {
        add_due_of(queues, number, number..number + 1, health);
    }
}

/// The same, all of one organization.
fn add_due_of(queues: &mut EndpointQueues, organization: i64, numbers: std::ops::Range<i64>, health: Health) {
    for number in numbers {
        queues.add(OrganizationId::from_raw(organization), id(number), observed(health));
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
    assert_eq!(queues.assign(), [assignment(1, 4, 256)]);
    assert_eq!(queues.assign(), []);
    queues.finish_batch(id(1), observed(Health::Healthy));
    assert_eq!(queues.assign(), [assignment(1, 1, 64)]);
}

#[test]
fn a_round_divides_1024_attempts_among_its_workers() {
    let limits = WorkerLimits { total: 64, per_endpoint: 8, ..LIMITS };
    for (endpoints, workers, attempts) in [(1, 8, 512), (4, 8, 256), (6, 8, 168), (64, 1, 16)] {
        let mut queues = EndpointQueues::new(limits);
        add_due(&mut queues, 1..endpoints + 1, Health::Healthy);
        let expected: Vec<_> = (1..=endpoints).map(|number| assignment(number, workers, attempts)).collect();
        assert_eq!(queues.assign(), expected);
    }
}

#[test]
fn endpoints_take_turns() {
    let mut queues = EndpointQueues::new(LIMITS);
    add_due(&mut queues, 1..21, Health::Healthy);
    let expected: Vec<_> = (1..=16).map(|number| assignment(number, 1, 64)).collect();
    assert_eq!(queues.assign(), expected);
    for number in 1..=5 {
        queues.finish_batch(id(number), observed(Health::Healthy));
    }
    let next: Vec<_> = queues.assign().into_iter().map(|assignment| assignment.endpoint.raw()).collect();
    assert_eq!(next, [17, 18, 19, 20, 1]);
}

#[test]
fn an_organization_with_many_endpoints_gets_no_more_turns_than_one_with_one() {
    // Of 8 workers, two organizations that want all get 3 each: then 2 are free, and each has at least as many. Of 16, the second
    // gets no more than an endpoint may have.
    for (health, of_many, of_one) in [(Health::Healthy, 6, 4), (Health::Unproven, 3, 3), (Health::Slow, 2, 2)] {
        let mut queues = EndpointQueues::new(LIMITS);
        add_due_of(&mut queues, 1, 1..1001, health);
        add_due_of(&mut queues, 2, 2000..2001, health);
        let assignments = queues.assign();
        assert_eq!(workers_of(&assignments, 2000..2001), of_one);
        assert_eq!(workers_of(&assignments, 1..1001), of_many);
    }
}

#[test]
fn an_organization_gets_half_of_the_workers_of_a_tier_even_if_no_other_has_anything_due() {
    for (health, half) in [(Health::Healthy, 8), (Health::Unproven, 4), (Health::Slow, 3)] {
        let mut queues = EndpointQueues::new(LIMITS);
        add_due_of(&mut queues, 1, 1..1001, health);
        assert_eq!(workers_of(&queues.assign(), 1..1001), half);
        // Nobody gives a worker back.
        add_due_of(&mut queues, 2, 2000..2001, health);
        assert!(workers_of(&queues.assign(), 2000..2001) > 0);
    }
    // Nor does it get more than half of all, whichever of its tiers has something due first.
    for tiers in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let mut queues = EndpointQueues::new(LIMITS);
        let mut workers = 0;
        for (number, tier) in (0..).zip(tiers) {
            add_due_of(&mut queues, 1, 1000 * number..1000 * (number + 1), Health::ALL[tier]);
            workers += workers_of(&queues.assign(), 0..3000);
        }
        assert_eq!(workers, 8, "{tiers:?}");
    }
}

#[test]
fn throttled_endpoints_share_half_of_the_workers_and_slow_ones_three_quarters_of_that() {
    let mut queues = EndpointQueues::new(LIMITS);
    add_due(&mut queues, 1..1001, Health::Slow);
    assert_eq!(queues.assign().len(), 6);
    add_due(&mut queues, 1001..2001, Health::Unproven);
    assert_eq!(workers_of(&queues.assign(), 1001..2001), 2);
    add_due(&mut queues, 2001..2101, Health::Healthy);
    assert_eq!(workers_of(&queues.assign(), 2001..2101), 8);
    assert_eq!(queues.throttled(), 2000);
}

#[test]
fn an_endpoint_whose_health_changes_moves_to_the_other_tier() {
    let mut queues = EndpointQueues::new(LIMITS);
    add_due(&mut queues, 1..3, Health::Slow);
    assert_eq!(queues.assign(), [assignment(1, 2, 2), assignment(2, 2, 2)]);
    queues.finish_batch(id(1), observed(Health::Healthy));
    // The first has as many as one endpoint may have. The other is alone in its tier of six.
    assert_eq!(workers_of(&queues.assign(), 1..3), 3 + 1);
    assert_eq!([1, 2].map(|number| queues.queues[&id(number)].busy), [4, 3]);
}

#[test]
fn an_endpoint_is_due_when_its_earliest_timer_expires() {
    let mut queues = EndpointQueues::new(LIMITS);
    queues.add(OrganizationId::from_raw(1), id(1), observed(Health::Healthy));
    queues.set_timer(id(1), at(5000));
    queues.set_timer(id(1), at(9000));
    queues.set_timer(id(1), at(3000));
    assert_eq!(queues.next_timer(), Some(at(3000)));
    queues.fire_timers(at(2999));
    assert_eq!(queues.assign(), []);
    queues.fire_timers(at(3000));
    assert_eq!(queues.assign(), [assignment(1, 4, 256)]);
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
                    let [healthy_before, unproven_before, slow_before] = queues.busy.each_ref().map(Usage::all);
                    let throttled_before = unproven_before + slow_before;
                    let assignments = queues.assign();
                    let [healthy, unproven, slow] = queues.busy.each_ref().map(Usage::all);
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
                let timer = queues.timers.iter().find(|(_, id)| id == endpoint).map(|(at, _)| *at);
                prop_assert_eq!(queue.timer, timer);
                prop_assert!(queue.due || queue.ready || timer.is_some() || queue.busy > 0, "an idle queue was kept");
            }
            for health in Health::ALL {
                let busy = busy.iter().filter(|id| queues.queues[id].health == health).count();
                prop_assert_eq!(queues.busy[health.index()].all(), busy);
                let ready: Vec<_> = queues.ready[health.index()].iter().collect();
                let different: HashSet<_> = ready.iter().collect();
                prop_assert_eq!(different.len(), ready.len(), "an endpoint is ready twice");
                prop_assert!(ready.iter().all(|id| queues.queues[id].health == health));
            }
        }
    }
}
