//! Decides which endpoint gets the next free worker. Pure bookkeeping: no I/O, no clock, no waiting.
//!
//! Each endpoint that may have rows due has an [`EndpointQueue`] with a limit on its workers. The rows themselves
//! stay in the database; a queue only records that there may be some. Endpoints that can use another worker are in
//! the [`RoundRobin`] of their health tier, and the tiers take turns.
//!
//! The throttled tiers (unproven and slow) share a limited part of the workers, so that any number of endpoints that
//! hang leaves workers free for the healthy ones. Organizations share all workers, and those of a tier, as they share
//! permits ([`fair`](crate::fair)): healthy endpoints of one that begin to hang leave workers free for the others.

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};

use super::health::{Health, Observation};
use crate::fair::{RoundRobin, Usage};
use crate::model::values::id::{OrganizationId, WebhookId};
use crate::model::values::timestamp::Timestamp;

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

/// How many attempts one round claims at most. Other writers wait for as long as this takes.
const MAX_CLAIMED: usize = 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Assignment {
    pub(super) endpoint: WebhookId,
    pub(super) workers: usize,
    /// The most attempts that these workers may claim together.
    pub(super) max_attempts: usize,
}

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
    /// When the endpoint next has a row due.
    timer: Option<Timestamp>,
}

/// The queues of all endpoints that have a row due or a timer set, or workers assigned.
#[derive(Debug)]
pub(super) struct EndpointQueues {
    limits: WorkerLimits,
    queues: HashMap<WebhookId, EndpointQueue>,
    /// The endpoints that may have a row due and are below their limit of workers, by health.
    ready: [RoundRobin<OrganizationId, WebhookId>; 3],
    /// Busy workers of each organization, by the health of their endpoint.
    busy: [Usage<OrganizationId>; 3],
    /// The timers of the endpoints by time.
    timers: BTreeSet<(Timestamp, WebhookId)>,
    /// The tier that is served first next time.
    next_tier: usize,
}

impl EndpointQueues {
    pub(super) fn new(limits: WorkerLimits) -> Self {
        Self {
            limits,
            queues: HashMap::new(),
            ready: Default::default(),
            busy: Default::default(),
            timers: BTreeSet::new(),
            next_tier: 0,
        }
    }

    pub(super) fn contains(&self, endpoint: WebhookId) -> bool {
        self.queues.contains_key(&endpoint)
    }

    pub(super) fn add(&mut self, organization: OrganizationId, endpoint: WebhookId, last: Observation) {
        self.queues.entry(endpoint).or_insert(EndpointQueue {
            organization,
            health: last.health,
            batch_size: last.batch_size(),
            busy: 0,
            due: false,
            ready: false,
            timer: None,
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
        if let Some(queue) = self.queues.get_mut(&endpoint)
            && queue.timer.is_none_or(|set| at < set)
        {
            if let Some(later) = queue.timer.replace(at) {
                self.timers.remove(&(later, endpoint));
            }
            self.timers.insert((at, endpoint));
        }
    }

    pub(super) fn next_timer(&self) -> Option<Timestamp> {
        self.timers.first().map(|(at, _)| *at)
    }

    /// Marks the endpoints due whose timers have expired.
    pub(super) fn fire_timers(&mut self, now: Timestamp) {
        while let Some((at, endpoint)) = self.timers.first().copied()
            && at <= now
        {
            self.timers.pop_first();
            if let Some(queue) = self.queues.get_mut(&endpoint) {
                queue.timer = None;
            }
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
        let workers: usize = assignments.iter().map(|assignment| assignment.workers).sum();
        let share = MAX_CLAIMED / workers.max(1);
        for assignment in &mut assignments {
            assignment.max_attempts = assignment.max_attempts.min(assignment.workers * share);
        }
        assignments
    }

    /// Assigns one free worker and returns its endpoint. The tiers take turns; one at its limit is skipped.
    fn assign_worker(&mut self) -> Option<WebhookId> {
        for step in 0..Health::ALL.len() {
            let tier = Health::ALL[(self.next_tier + step) % Health::ALL.len()];
            if let Some(endpoint) = self.assign_worker_in(tier) {
                self.next_tier = tier.index() + 1;
                return Some(endpoint);
            }
        }
        None
    }

    fn free(&self) -> usize {
        self.limits.total.saturating_sub(self.busy.iter().map(Usage::all).sum())
    }

    /// How many of the free workers may be assigned to endpoints of this tier.
    fn free_for(&self, tier: Health) -> usize {
        let [unproven, slow] = [Health::Unproven, Health::Slow].map(|tier| self.busy[tier.index()].all());
        let free_throttled = self.free().min(self.limits.throttled.saturating_sub(unproven + slow));
        match tier {
            Health::Healthy => self.free(),
            Health::Unproven => free_throttled,
            Health::Slow => free_throttled.min(self.limits.slow.saturating_sub(slow)),
        }
    }

    /// Removes the next endpoint from the round robin of a tier. Passes over organizations that have as many workers as
    /// are free, in all or in the tier.
    fn next_ready(&mut self, tier: Health) -> Option<WebhookId> {
        let (free, free_for_tier) = (self.free(), self.free_for(tier));
        if free_for_tier == 0 {
            return None;
        }
        let (busy, index) = (&self.busy, tier.index());
        self.ready[index].pop_if(|organization| {
            let in_all = busy.iter().map(|busy| busy.of(&organization)).sum::<usize>();
            in_all < free && busy[index].of(&organization) < free_for_tier
        })
    }

    /// Assigns a worker to the next endpoint of a tier, and moves the endpoint to the end of its round robin.
    fn assign_worker_in(&mut self, tier: Health) -> Option<WebhookId> {
        while let Some(endpoint) = self.next_ready(tier) {
            let Some(queue) = self.queues.get_mut(&endpoint) else { continue };
            queue.ready = false;
            if queue.due && queue.busy < self.limits.per_endpoint {
                queue.busy += 1;
                self.busy[tier.index()].take(queue.organization, 1);
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
            let freed = workers.min(queue.busy);
            queue.busy -= freed;
            self.busy[queue.health.index()].give_back(&queue.organization, freed);
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
                self.busy[before.index()].give_back(&queue.organization, queue.busy);
                self.busy[last.health.index()].take(queue.organization, queue.busy);
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
        let idle = |queue: &EndpointQueue| !queue.due && !queue.ready && queue.busy == 0 && queue.timer.is_none();
        if self.queues.get(&endpoint).is_some_and(idle) {
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
