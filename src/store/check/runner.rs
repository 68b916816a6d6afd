//! Runs the steps of a check, several at a time.

use std::collections::{HashSet, VecDeque};
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::mpsc::{self, Sender};

use super::steps::{INTEGRITY, Step};
use crate::environment::Locked;
use crate::error::{Error, Result, StoreErrorKind};
use crate::model::operation::check::{CheckProgress, CheckReport};
use crate::store::engine::snapshots::{SnapshotReader, Snapshots};

/// How many steps run at a time at most. More would keep other work from the processor.
const MAX_THREADS: usize = 4;

pub(crate) type Progress<'p> = &'p mut dyn FnMut(CheckProgress) -> ControlFlow<()>;

/// Counts the steps that are done, and reports them.
pub(super) struct Runner<'p> {
    done: usize,
    total: usize,
    progress: Progress<'p>,
}

impl<'p> Runner<'p> {
    pub(super) fn new(total: usize, progress: Progress<'p>) -> Self {
        Self { done: 0, total, progress }
    }

    /// Runs these steps on threads, each with its own connection.
    pub(super) fn run(&mut self, database: &dyn Snapshots, steps: &[Step]) -> Result<CheckReport> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
        let (look_ups, scans) = (0..steps.len()).partition(|index| steps[*index].looks_up_rows());
        let queue = Mutex::new(Queue { look_ups, scans });
        let mut parts: Vec<Option<CheckReport>> = steps.iter().map(|_| None).collect();
        std::thread::scope(|scope| {
            // If this ends early, it drops the receiver, and the threads end after their steps.
            let (sender, results) = mpsc::channel();
            for number in 0..threads {
                let (queue, sender) = (&queue, sender.clone());
                let looks_up = number == 0;
                let thread = std::thread::Builder::new().name("ticketing-check".to_owned());
                let started = thread.spawn_scoped(scope, move || work(database, steps, queue, looks_up, &sender));
                if let Err(error) = started {
                    return Err(Error::Internal(format!("a thread for the check did not start: {error}")));
                }
            }
            drop(sender);
            for (index, part) in results {
                parts[index] = Some(part?);
                self.report_step()?;
            }
            Ok(())
        })?;
        Ok(merge(steps, parts))
    }

    fn report_step(&mut self) -> Result<()> {
        self.done += 1;
        let count = |number| u64::try_from(number).unwrap_or(u64::MAX);
        let progress = CheckProgress { steps: count(self.done), total_steps: count(self.total) };
        match (self.progress)(progress) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(StoreErrorKind::CheckStopped.into()),
        }
    }
}

/// The indexes of the steps that no thread has taken yet.
///
/// All steps that look up rows run on one thread. The page caches of all connections of a process have one lock in
/// SQLite, and two of these steps at a time would take longer than one after the other.
struct Queue {
    look_ups: VecDeque<usize>,
    scans: VecDeque<usize>,
}

impl Queue {
    /// Takes the next step: one that looks up rows first if `looks_up`, and otherwise only one of the others.
    fn take(&mut self, looks_up: bool) -> Option<usize> {
        let first = if looks_up { self.look_ups.pop_front() } else { None };
        first.or_else(|| self.scans.pop_front())
    }
}

/// Runs steps until there are no more.
fn work(
    database: &dyn Snapshots,
    steps: &[Step],
    queue: &Mutex<Queue>,
    looks_up: bool,
    results: &Sender<(usize, Result<CheckReport>)>,
) {
    let mut reader: Option<Box<dyn SnapshotReader>> = None;
    loop {
        let Some(index) = queue.locked().take(looks_up) else { return };
        let part = match &reader {
            Some(reader) => run(&steps[index], &**reader),
            None => database.open().and_then(|opened| run(&steps[index], &**reader.insert(opened))),
        };
        if results.send((index, part)).is_err() {
            return;
        }
    }
}

fn run(step: &Step, reader: &dyn SnapshotReader) -> Result<CheckReport> {
    let mut report = CheckReport::default();
    reader.read(&mut |tx| {
        report = step.run(tx)?;
        Ok(())
    })?;
    Ok(report)
}

/// Adds up the reports in the order of the steps. Of the check of all pages, only problems are added that the checks of
/// the tables have not found.
fn merge(steps: &[Step], parts: Vec<Option<CheckReport>>) -> CheckReport {
    let mut report = CheckReport::default();
    let mut of_pages = CheckReport::default();
    for (step, part) in steps.iter().zip(parts) {
        match step {
            Step::Pages => of_pages = part.unwrap_or_default(),
            _ => report.append(part.unwrap_or_default()),
        }
    }
    let of_tables = report.findings.iter().filter(|finding| finding.invariant == INTEGRITY);
    let known: HashSet<_> = of_tables.map(|finding| finding.sentence.clone()).collect();
    for finding in of_pages.findings {
        if !known.contains(&finding.sentence) {
            report.add(finding);
        }
    }
    report
}
