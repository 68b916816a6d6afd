//! Measures two implementations of the same work and compares them.

use std::time::{Duration, Instant};

use criterion::Criterion;

/// The number of rounds. The result is their median.
const ROUNDS: usize = 15;

/// Runs benchmarks, and collects the ratios to print at the end.
pub struct Bench {
    criterion: Criterion,
    only_ratios: bool,
    filter: Option<String>,
    lines: Vec<String>,
}

impl Bench {
    pub fn new(criterion: Criterion, only_ratios: bool) -> Self {
        let filter = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
        Self { criterion, only_ratios, filter, lines: Vec::new() }
    }

    /// Whether the benchmark of this name was requested.
    pub fn includes(&self, name: &str) -> bool {
        self.filter.as_ref().is_none_or(|filter| name.contains(filter.as_str()))
    }

    /// Measures `ours` and `by_hand`. Their parameter is the number of operations, and `round` is that number for one
    /// round of the ratio.
    pub fn compare(&mut self, name: &str, round: u64, ours: impl FnMut(u64), by_hand: impl FnMut(u64)) {
        self.compare_as(name, ("ours", "by hand"), round, ours, by_hand);
    }

    /// The same for two implementations with other names.
    pub fn compare_as(
        &mut self,
        name: &str,
        names: (&str, &str),
        round: u64,
        mut ours: impl FnMut(u64),
        mut by_hand: impl FnMut(u64),
    ) {
        self.compare_times(name, names, round, |count| time(|| ours(count)), |count| time(|| by_hand(count)));
    }

    /// The same for implementations that measure themselves, because they prepare something first.
    pub fn compare_times(
        &mut self,
        name: &str,
        (this, that): (&str, &str),
        round: u64,
        mut ours: impl FnMut(u64) -> Duration,
        mut by_hand: impl FnMut(u64) -> Duration,
    ) {
        ours(round / 4 + 1);
        by_hand(round / 4 + 1);
        let mut ratios = Vec::new();
        let mut of_ours = Vec::new();
        let mut of_hand = Vec::new();
        for turn in 0..ROUNDS {
            let (mine, hand) = if turn % 2 == 0 {
                let mine = ours(round);
                (mine, by_hand(round))
            } else {
                let hand = by_hand(round);
                (ours(round), hand)
            };
            ratios.push(hand.as_secs_f64() / mine.as_secs_f64());
            of_ours.push(mine.as_secs_f64() / round as f64 * 1e6);
            of_hand.push(hand.as_secs_f64() / round as f64 * 1e6);
        }
        let ratio = median(&mut ratios);
        let mine = median(&mut of_ours);
        let hand = median(&mut of_hand);
        self.report(format!("{name}: ratio {ratio:.2} ({this} {mine:.1} µs, {that} {hand:.1} µs each)"));
        if !self.only_ratios {
            let mut group = self.criterion.benchmark_group(name);
            group.bench_function(this, |bencher| bencher.iter_custom(&mut ours));
            group.bench_function(that, |bencher| bencher.iter_custom(&mut by_hand));
            group.finish();
        }
    }

    pub fn report(&mut self, line: String) {
        println!("{line}");
        self.lines.push(line);
    }

    pub fn finish(self) {
        println!("\nThe ratios, as rate of the first to rate of the second (higher is better):");
        for line in &self.lines {
            println!("  {line}");
        }
        self.criterion.final_summary();
    }
}

pub fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
