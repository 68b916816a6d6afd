//! Runs of the maintenance that ask the payment gateway about many rows: several at the same time, in which
//! organizations take turns, so that a slow gateway or a tenant with thousands of rows delays nobody else for long.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::ScopedJoinHandle;
use std::time::Duration;

use super::gateway_work::Progress;
use crate::error::{Error, Result};
use crate::fair::RoundRobin;
use crate::model::values::id::OrganizationId;
use crate::payment::GatewayCalls;
use crate::payments::Payments;
use crate::write::batches::Run;
use crate::write::skipped_rows::SkippedTable;

/// After which time a run asks the gateway no more. In the background, the next one follows at once.
const TIME_PER_RUN: Duration = Duration::from_secs(1);

/// A row about which the gateway is to be asked.
pub(crate) trait GatewayRow: Sync {
    const TABLE: SkippedTable;

    fn key(&self) -> i64;

    fn organization(&self) -> OrganizationId;
}

/// What a group of rows came to: the organization of each one, and its outcome. `None` if the row was skipped.
pub(crate) type GroupProgress = Vec<(OrganizationId, Option<Progress>)>;

/// Drops the rows of the organizations of a group if the gateway has answered for none of it: they wait for the next run.
fn drop_failed<R: GatewayRow>(rows: &mut Vec<R>, progress: &GroupProgress) {
    if progress.iter().any(|(_, progress)| *progress == Some(Progress::Answered)) {
        return;
    }
    let has_failed = |row: &R| {
        let is_failure = |(organization, progress): &(OrganizationId, Option<Progress>)| {
            *organization == row.organization() && *progress == Some(Progress::Unavailable)
        };
        progress.iter().any(is_failure)
    };
    rows.retain(|row| !has_failed(row));
}

/// Asks the gateway about rows, a group after the other, until the time of the run is over. `ask` asks about a group.
///
/// A group has half as many rows as calls are free for the background work of an organization, so that two steps that
/// run at the same time leave some to each other. Returns how often the gateway answered.
pub(crate) fn ask_in_groups<R: GatewayRow>(
    payments: &Payments,
    run: &mut Run<'_>,
    gateway: &GatewayCalls,
    mut rows: Vec<R>,
    ask: impl Fn(&mut Run<'_>, Vec<R>) -> Result<GroupProgress>,
) -> Result<usize> {
    let monotonic = || payments.environment.clock.monotonic();
    let started = monotonic();
    let mut answered = 0;
    while !rows.is_empty() {
        let most = gateway.free_in_background().div_ceil(2);
        if most == 0 || run.stops() {
            break;
        }
        if monotonic().saturating_sub(started) > TIME_PER_RUN {
            run.has_more = true;
            break;
        }
        let rest = rows.split_off(most.min(rows.len()));
        let group = std::mem::replace(&mut rows, rest);
        let progress = ask(run, group)?;
        let failures = &payments.failures;
        for (organization, progress) in &progress {
            match progress {
                Some(Progress::Answered) => {
                    answered += 1;
                    failures.remove(R::TABLE, *organization);
                }
                Some(Progress::Unavailable) => failures.add(R::TABLE, *organization, monotonic()),
                Some(Progress::NotDue | Progress::Busy) | None => {}
            }
        }
        drop_failed(&mut rows, &progress);
    }
    Ok(answered)
}

/// Does work for each of these rows, at the same time: on this thread if it is one row. A row for which it fails is
/// skipped.
pub(crate) fn at_once<R: GatewayRow>(
    payments: &Payments,
    run: &mut Run<'_>,
    rows: &[R],
    work: impl Fn(&R) -> Result<Progress> + Sync,
) -> Result<GroupProgress> {
    let work = |row: &R| catch_unwind(AssertUnwindSafe(|| work(row)));
    let work = &work;
    let results: Vec<_> = match rows {
        [row] => vec![(row, Ok(work(row)))],
        _ => std::thread::scope(|scope| {
            let spawn = |row| (row, std::thread::Builder::new().spawn_scoped(scope, move || work(row)));
            let threads: Vec<_> = rows.iter().map(spawn).collect();
            let result = |(row, thread): (_, io::Result<ScopedJoinHandle<'_, _>>)| match thread {
                Ok(thread) => (row, thread.join()),
                // No thread could be started.
                Err(_) => (row, Ok(work(row))),
            };
            threads.into_iter().map(result).collect()
        }),
    };
    let mut progress = Vec::with_capacity(results.len());
    for (row, result) in results {
        let result = result.flatten().unwrap_or_else(|_| Err(Error::Internal("an attempt panicked".to_owned())));
        match result {
            Ok(of_row) => progress.push((row.organization(), Some(of_row))),
            Err(error) if error.concerns_all_rows() => return Err(error),
            Err(error) => {
                run.skip(&payments.writes, R::TABLE, row.key(), &error);
                progress.push((row.organization(), None));
            }
        }
    }
    Ok(progress)
}

/// Sorts rows by when the gateway has last failed for their organization: at first those without a failure, and at the
/// end those of the latest one.
pub(crate) fn failing_last<R: GatewayRow>(payments: &Payments, mut rows: Vec<R>) -> Vec<R> {
    let now = payments.environment.clock.monotonic();
    rows.sort_by_cached_key(|row| payments.failures.last(R::TABLE, row.organization(), now));
    rows
}

/// The rows that are not skipped now, in the order in which their organizations take turns.
pub(crate) fn in_turns<R: GatewayRow>(payments: &Payments, rows: impl IntoIterator<Item = R>) -> Vec<R> {
    let mut turns = RoundRobin::default();
    for row in rows {
        if !payments.writes.is_skipped(R::TABLE, row.key()) {
            turns.push(row.organization(), row);
        }
    }
    std::iter::from_fn(|| turns.pop()).collect()
}
