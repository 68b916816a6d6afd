//! Whose turn it is. Organizations take turns, and each endpoint with something due has its own place in line, and a bound on the workers that it holds at
//! once. Endpoints whose latest attempt did not succeed promptly, and those that never had one, share a part of the
//! workers: however many of them hang, the others find a worker that is free.
//!
//! Nothing here waits, reads a clock or does any work: it only decides.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::time::Duration;

use super::ring::Ring;
use crate::model::id::{OrganizationId, WebhookId};
use crate::model::timestamp::Timestamp;

/// What is known of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// Its latest attempt succeeded, and promptly.
    Prompt,
    /// It never had an attempt, or answers promptly that it does not want it.
    Unproven,
    /// Its latest attempt took long.
    Slow,
}

/// The longest that an attempt of a prompt endpoint takes.
const PROMPT: Duration = Duration::from_secs(1);

/// For how long a worker begins attempts of a prompt endpoint one after another. It need not wait after each until the
/// store has given out the next, and is soon free for another endpoint.
pub(super) const TURN: Duration = Duration::from_millis(100);

/// How many attempts a worker takes at once for a prompt endpoint at most.
const RUN: u32 = 16;

/// How many attempts fit into a turn where each takes as long as the latest.
fn run_of(latest: Option<Duration>) -> usize {
    let fit = latest.map_or(1, |latest| TURN.as_micros() / latest.as_micros().max(1));
    usize::try_from(fit.clamp(1, RUN.into())).unwrap_or(1)
}

impl Standing {
    const ALL: [Self; 3] = [Self::Prompt, Self::Unproven, Self::Slow];

    /// What an attempt tells of its endpoint. `took` is `None` where no connection was tried.
    pub(super) fn after(success: bool, timed_out: bool, took: Option<Duration>) -> Self {
        match (timed_out || took.is_some_and(|took| took > PROMPT), success) {
            (true, _) => Self::Slow,
            (false, true) => Self::Prompt,
            (false, false) => Self::Unproven,
        }
    }
}

/// How many workers there are, and how many of them at most somebody may hold at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shares {
    pub(super) workers: usize,
    /// One endpoint.
    pub(super) endpoint: usize,
    /// All endpoints together that are not prompt.
    pub(super) held_back: usize,
    /// All slow endpoints together: the rest of what is held back is for those that nobody knows yet.
    pub(super) slow: usize,
}

/// Workers for an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dealt {
    pub(super) endpoint: WebhookId,
    pub(super) workers: usize,
    /// How many notifications they take at most.
    pub(super) most: usize,
}

/// One endpoint's place.
#[derive(Debug)]
struct Line {
    organization: OrganizationId,
    standing: Standing,
    /// How many attempts a worker takes at once.
    run: usize,
    /// Its workers that are under way.
    under_way: usize,
    /// Whether it may have something due.
    due: bool,
    /// Whether it stands in the ring of its standing.
    in_ring: bool,
    /// When something of it falls due: the alarm that is set.
    alarm: Option<Timestamp>,
}

/// The places of all endpoints that have something.
#[derive(Debug)]
pub(super) struct Lines {
    shares: Shares,
    places: HashMap<WebhookId, Line>,
    /// Those that may have something due and hold fewer workers than they may, by standing.
    rings: [Ring; 3],
    /// Workers that are under way, by standing.
    under_way: [usize; 3],
    /// When something falls due.
    alarms: BinaryHeap<Reverse<(Timestamp, WebhookId)>>,
    /// Which ring is asked first next time.
    turn: usize,
}

impl Lines {
    pub(super) fn new(shares: Shares) -> Self {
        Self {
            shares,
            places: HashMap::new(),
            rings: Default::default(),
            under_way: [0; 3],
            alarms: BinaryHeap::new(),
            turn: 0,
        }
    }

    /// Whether the endpoint has a place.
    pub(super) fn knows(&self, endpoint: WebhookId) -> bool {
        self.places.contains_key(&endpoint)
    }

    /// Gives an endpoint of an organization a place, where it has none. `took` is how long its latest attempt took.
    pub(super) fn enter(
        &mut self,
        (organization, endpoint): (OrganizationId, WebhookId),
        standing: Standing,
        took: Option<Duration>,
    ) {
        let run = run_of(took);
        let line = Line { organization, standing, run, under_way: 0, due: false, in_ring: false, alarm: None };
        self.places.entry(endpoint).or_insert(line);
    }

    /// Something may be due for an endpoint that has a place.
    pub(super) fn due(&mut self, endpoint: WebhookId) {
        if let Some(line) = self.places.get_mut(&endpoint) {
            line.due = true;
        }
        self.queue(endpoint);
    }

    /// Something is due at `at` for an endpoint that has a place. What is due after that is asked for then.
    pub(super) fn due_at(&mut self, endpoint: WebhookId, at: Timestamp) {
        if let Some(line) = self.places.get_mut(&endpoint)
            && line.alarm.is_none_or(|set| at < set)
        {
            line.alarm = Some(at);
            self.alarms.push(Reverse((at, endpoint)));
        }
    }

    /// When something falls due next.
    pub(super) fn next_alarm(&self) -> Option<Timestamp> {
        self.alarms.peek().map(|Reverse((at, _))| *at)
    }

    /// Lets those fall due whose time has come.
    pub(super) fn ring_alarms(&mut self, now: Timestamp) {
        while let Some(Reverse((at, endpoint))) = self.alarms.peek().copied() {
            if at > now {
                return;
            }
            self.alarms.pop();
            // One that was set for an earlier time since counts no more.
            if let Some(line) = self.places.get_mut(&endpoint)
                && line.alarm == Some(at)
            {
                line.alarm = None;
                self.due(endpoint);
            }
        }
    }

    /// Puts an endpoint into the ring where it belongs there.
    fn queue(&mut self, endpoint: WebhookId) {
        if let Some(line) = self.places.get_mut(&endpoint)
            && line.due
            && !line.in_ring
            && line.under_way < self.shares.endpoint
        {
            line.in_ring = true;
            self.rings[line.standing as usize].push(line.organization, endpoint);
        }
    }

    /// Deals out the workers that are free. They count as under way from now on.
    pub(super) fn deal(&mut self) -> Vec<Dealt> {
        let mut dealt: Vec<Dealt> = Vec::new();
        let mut index: HashMap<WebhookId, usize> = HashMap::new();
        while let Some(endpoint) = self.next() {
            let place = *index.entry(endpoint).or_insert_with(|| {
                dealt.push(Dealt { endpoint, workers: 0, most: 0 });
                dealt.len() - 1
            });
            dealt[place].workers += 1;
            let prompt = self.places.get(&endpoint).filter(|line| line.standing == Standing::Prompt);
            dealt[place].most += prompt.map_or(1, |line| line.run);
        }
        dealt
    }

    /// The endpoint whose turn it is, where a worker is free for it.
    fn next(&mut self) -> Option<WebhookId> {
        if self.under_way.iter().sum::<usize>() >= self.shares.workers {
            return None;
        }
        for step in 0..Standing::ALL.len() {
            let standing = Standing::ALL[(self.turn + step) % Standing::ALL.len()];
            if !self.may_hold_more(standing) {
                continue;
            }
            if let Some(endpoint) = self.take(standing) {
                self.turn = standing as usize + 1;
                return Some(endpoint);
            }
        }
        None
    }

    fn may_hold_more(&self, standing: Standing) -> bool {
        let [_, unproven, slow] = self.under_way;
        match standing {
            Standing::Prompt => true,
            Standing::Unproven => unproven + slow < self.shares.held_back,
            Standing::Slow => unproven + slow < self.shares.held_back && slow < self.shares.slow,
        }
    }

    /// Takes the first of a ring and has it stand in line again behind the others.
    fn take(&mut self, standing: Standing) -> Option<WebhookId> {
        while let Some(endpoint) = self.rings[standing as usize].pop() {
            let Some(line) = self.places.get_mut(&endpoint) else { continue };
            line.in_ring = false;
            if line.due && line.under_way < self.shares.endpoint {
                line.under_way += 1;
                self.under_way[standing as usize] += 1;
                self.queue(endpoint);
                return Some(endpoint);
            }
            self.leave_if_idle(endpoint);
        }
        None
    }

    /// Of the workers dealt to an endpoint, `unused` found nothing to do: nothing more is due for it.
    pub(super) fn nothing_due(&mut self, endpoint: WebhookId, unused: usize) {
        if let Some(line) = self.places.get_mut(&endpoint) {
            line.due = false;
        }
        self.give_back(endpoint, unused);
        self.leave_if_idle(endpoint);
    }

    /// Workers that were dealt to an endpoint are free again, and nobody knows whether it has more.
    pub(super) fn give_back(&mut self, endpoint: WebhookId, workers: usize) {
        if let Some(line) = self.places.get_mut(&endpoint) {
            line.under_way -= workers.min(line.under_way);
            let of_standing = &mut self.under_way[line.standing as usize];
            *of_standing -= workers.min(*of_standing);
        }
        self.queue(endpoint);
    }

    /// A worker of an endpoint has ended. `took` is how long its last attempt took.
    pub(super) fn ended(&mut self, endpoint: WebhookId, standing: Standing, took: Option<Duration>) {
        self.give_back(endpoint, 1);
        if let Some(line) = self.places.get_mut(&endpoint) {
            line.run = run_of(took);
            let before = std::mem::replace(&mut line.standing, standing);
            if before != standing {
                self.under_way[before as usize] -= line.under_way.min(self.under_way[before as usize]);
                self.under_way[standing as usize] += line.under_way;
                if std::mem::take(&mut line.in_ring) {
                    self.rings[before as usize].remove(line.organization, endpoint);
                }
                self.queue(endpoint);
            }
        }
        self.leave_if_idle(endpoint);
    }

    /// Forgets an endpoint for which nothing is due, under way or known to fall due.
    fn leave_if_idle(&mut self, endpoint: WebhookId) {
        // What still stands in a ring goes when it is taken from there.
        let idle = |line: &Line| !line.due && !line.in_ring && line.under_way == 0 && line.alarm.is_none();
        if self.places.get(&endpoint).is_some_and(idle) {
            self.places.remove(&endpoint);
        }
    }

    /// How many endpoints may have something due and are not prompt.
    pub(super) fn held_back(&self) -> usize {
        let rings = [Standing::Unproven, Standing::Slow].map(|standing| &self.rings[standing as usize]);
        rings.into_iter().flat_map(Ring::iter).filter(|id| self.places.get(id).is_some_and(|line| line.due)).count()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    const SHARES: Shares = Shares { workers: 16, endpoint: 4, held_back: 8, slow: 6 };

    /// What a receiver takes that answers at once.
    const QUICK: Option<Duration> = Some(Duration::from_millis(1));

    const ONE: OrganizationId = OrganizationId::from_raw(1);

    fn id(number: i64) -> WebhookId {
        WebhookId::from_raw(number)
    }

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    /// Lines in which so many endpoints of one standing have something due.
    fn with_due(lines: &mut Lines, numbers: std::ops::Range<i64>, standing: Standing) {
        for number in numbers {
            lines.enter((ONE, id(number)), standing, QUICK);
            lines.due(id(number));
        }
    }

    fn dealt_to(dealt: &[Dealt], numbers: std::ops::Range<i64>) -> usize {
        let of = |dealt: &Dealt| numbers.contains(&dealt.endpoint.raw()).then_some(dealt.workers);
        dealt.iter().filter_map(of).sum()
    }

    fn all(number: i64, workers: usize, most: usize) -> Vec<Dealt> {
        vec![Dealt { endpoint: id(number), workers, most }]
    }

    #[test]
    fn one_endpoint_holds_no_more_than_its_bound() {
        let mut lines = Lines::new(SHARES);
        with_due(&mut lines, 1..2, Standing::Prompt);
        assert_eq!(lines.deal(), all(1, 4, 64));
        assert_eq!(lines.deal(), []);
        lines.ended(id(1), Standing::Prompt, QUICK);
        assert_eq!(lines.deal(), all(1, 1, 16));
    }

    #[test]
    fn a_worker_takes_as_many_attempts_as_fit_into_a_tenth_of_a_second_and_no_more_than_sixteen() {
        let millis = |millis| run_of(Some(Duration::from_millis(millis)));
        assert_eq!([0, 1, 6, 7, 30, 50, 51, 100, 900].map(millis), [16, 16, 16, 14, 3, 2, 1, 1, 1]);
        assert_eq!(run_of(None), 1);
    }

    #[test]
    fn workers_go_round_the_endpoints() {
        let mut lines = Lines::new(SHARES);
        with_due(&mut lines, 1..21, Standing::Prompt);
        let first = lines.deal();
        assert_eq!(first, (1..=16).flat_map(|number| all(number, 1, 16)).collect::<Vec<_>>());
        (1..=5).for_each(|number| lines.ended(id(number), Standing::Prompt, QUICK));
        let then: Vec<_> = lines.deal().into_iter().map(|dealt| dealt.endpoint.raw()).collect();
        assert_eq!(then, [17, 18, 19, 20, 1]);
    }

    #[test]
    fn an_organization_with_a_thousand_endpoints_has_no_more_turns_than_one_with_one() {
        for standing in Standing::ALL {
            let mut lines = Lines::new(SHARES);
            with_due(&mut lines, 1..1001, standing);
            lines.enter((OrganizationId::from_raw(2), id(2000)), standing, QUICK);
            lines.due(id(2000));
            // Every second turn, up to its bound of four.
            let dealt: usize = [16, 8, 6][standing as usize];
            let its_own = (dealt / 2).min(4);
            let all = lines.deal();
            assert_eq!((dealt_to(&all, 2000..2001), dealt_to(&all, 1..1001)), (its_own, dealt - its_own));
        }
    }

    #[test]
    fn endpoints_that_are_not_prompt_share_half_of_the_workers_and_leave_some_of_it_to_new_ones() {
        let mut lines = Lines::new(SHARES);
        with_due(&mut lines, 1..1001, Standing::Slow);
        assert_eq!(lines.deal().len(), 6);
        with_due(&mut lines, 1001..2001, Standing::Unproven);
        assert_eq!(dealt_to(&lines.deal(), 1001..2001), 2);
        with_due(&mut lines, 2001..2003, Standing::Prompt);
        assert_eq!(dealt_to(&lines.deal(), 2001..2003), 8);
        assert_eq!(lines.held_back(), 2000);
    }

    #[test]
    fn an_endpoint_that_turns_slow_stands_with_the_slow_ones_and_one_that_recovers_with_the_prompt() {
        let mut lines = Lines::new(SHARES);
        with_due(&mut lines, 1..3, Standing::Slow);
        assert_eq!(dealt_to(&lines.deal(), 1..3), 6);
        lines.ended(id(1), Standing::Prompt, QUICK);
        // The other one holds 3 or 4 of the 6 that the slow ones may hold: the first is bound by its own 4 alone.
        assert_eq!(dealt_to(&lines.deal(), 1..2) + lines.places[&id(2)].under_way, 4 - 2 + 4);
        assert_eq!(lines.places[&id(1)].under_way, 4);
    }

    #[test]
    fn what_falls_due_later_waits_for_its_time_and_only_the_earliest_counts() {
        let mut lines = Lines::new(SHARES);
        lines.enter((ONE, id(1)), Standing::Prompt, QUICK);
        lines.due_at(id(1), at(5000));
        lines.due_at(id(1), at(9000));
        lines.due_at(id(1), at(3000));
        assert_eq!(lines.next_alarm(), Some(at(3000)));
        lines.ring_alarms(at(2999));
        assert_eq!(lines.deal(), []);
        lines.ring_alarms(at(3000));
        assert_eq!(lines.deal(), all(1, 4, 64));
        lines.nothing_due(id(1), 4);
        lines.ring_alarms(at(10_000));
        assert_eq!((lines.deal(), lines.knows(id(1))), (vec![], false));
    }

    /// Something that happens to the lines.
    #[derive(Debug, Clone)]
    enum Step {
        Due(i64, usize),
        DueAt(i64, i64),
        Clock(i64),
        Deal { found: usize },
        Ended(usize, usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (1..12_i64, 0..3_usize).prop_map(|(number, standing)| Step::Due(number, standing)),
            (1..12_i64, 0..100_i64).prop_map(|(number, at)| Step::DueAt(number, at)),
            (0..100_i64).prop_map(Step::Clock),
            (0..5_usize).prop_map(|found| Step::Deal { found }),
            (0..64_usize, 0..3_usize).prop_map(|(which, standing)| Step::Ended(which, standing)),
        ]
    }

    proptest! {
        #[test]
        fn no_share_is_exceeded_and_nobody_loses_a_place(steps in prop::collection::vec(step(), 1..200)) {
            let mut lines = Lines::new(SHARES);
            let mut under_way: Vec<WebhookId> = Vec::new();
            for step in steps {
                match step {
                    Step::Due(number, standing) => {
                        lines.enter((OrganizationId::from_raw(number % 3), id(number)), Standing::ALL[standing], QUICK);
                        lines.due(id(number));
                    }
                    Step::DueAt(number, millis) => {
                        lines.enter((OrganizationId::from_raw(number % 3), id(number)), Standing::Unproven, QUICK);
                        lines.due_at(id(number), at(millis));
                    }
                    Step::Clock(millis) => lines.ring_alarms(at(millis)),
                    Step::Deal { found } => {
                        let before = lines.under_way;
                        let dealt = lines.deal();
                        let [prompt, unproven, slow] = lines.under_way;
                        prop_assert!(prompt + unproven + slow <= SHARES.workers.max(before.iter().sum()));
                        prop_assert!(unproven + slow <= SHARES.held_back.max(before[1] + before[2]));
                        prop_assert!(slow <= SHARES.slow.max(before[2]));
                        for Dealt { endpoint, workers, .. } in dealt {
                            let found = found.min(workers);
                            under_way.extend(std::iter::repeat_n(endpoint, found));
                            if found < workers {
                                lines.nothing_due(endpoint, workers - found);
                            }
                        }
                    }
                    Step::Ended(which, standing) if !under_way.is_empty() => {
                        let endpoint = under_way.remove(which % under_way.len());
                        lines.ended(endpoint, Standing::ALL[standing], QUICK);
                    }
                    Step::Ended(..) => {}
                }
                for (endpoint, line) in &lines.places {
                    let its_own = under_way.iter().filter(|other| *other == endpoint).count();
                    prop_assert_eq!(line.under_way, its_own);
                    prop_assert!(line.under_way <= SHARES.endpoint);
                    prop_assert!(line.in_ring || !line.due || line.under_way == SHARES.endpoint, "a place is lost");
                    prop_assert!(line.due || line.in_ring || line.alarm.is_some() || line.under_way > 0, "it lingers");
                }
                let of = |standing| under_way.iter().filter(|id| lines.places[id].standing == standing).count();
                prop_assert_eq!(lines.under_way, Standing::ALL.map(of));
                for standing in Standing::ALL {
                    let ring = &lines.rings[standing as usize];
                    prop_assert_eq!(ring.iter().collect::<HashSet<_>>().len(), ring.iter().count(), "nobody stands twice");
                    prop_assert!(ring.iter().all(|id| lines.places[id].standing == standing));
                }
            }
        }
    }
}
