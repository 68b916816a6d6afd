//! A call of the operating system fails during an operation. The operation has then either succeeded and is stored, or
//! has changed nothing; and when the fault is over, it succeeds. If the store has stopped, that holds after a restart.
//!
//! `TICKETING_IO_FAULTS` is the number of rounds, by default 1. In each, every operation is tried three times with each
//! kind of call and of fault.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use ticketing::{Error, TicketingService};

use super::io_operations::{OPERATIONS, Operation, World};
use crate::common::invariants::assert_consistent;
use crate::common::long_runs::{first_seed, repetitions};
use crate::common::processes::{ChildProcess, child_process, child_role, child_variable, send_to_parent};
use crate::common::random::Random;
use crate::common::sync_shim::{Call, CallControl, Calls, FailingCall, Fault, SyncShim};
use crate::common::*;

const CHILD: &str = concat!(module_path!(), "::a_child_process_plays_its_role");

/// How often an operation is tried with a kind of call and of fault.
const TRIES: usize = 3;

#[test]
#[ignore = "other tests start it"]
fn a_child_process_plays_its_role() {
    match child_role().as_str() {
        "faults" => try_faults(),
        "lies" => try_lies(),
        other => panic!("{other}"),
    }
}

struct Trial {
    world: World,
    control: CallControl,
    /// A copy of the files, as a crash would leave them.
    image: PathBuf,
    _folder: tempfile::TempDir,
}

impl Trial {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self {
            world: World::open(PathBuf::from(child_variable("TICKETING_TEST_FILE"))),
            control: CallControl::of_this_process(),
            image: folder.path().join("image.db"),
            _folder: folder,
        }
    }

    /// The rows that other programs see.
    fn rows(&self) -> Vec<String> {
        Database::open(&self.world.path).all_rows()
    }

    /// The rows that are there after a crash.
    fn rows_after_crash(&self) -> Vec<String> {
        let beside = |path: &Path, suffix| PathBuf::from(format!("{}{suffix}", path.display()));
        let log = beside(&self.world.path, "-wal");
        std::fs::copy(&self.world.path, &self.image).unwrap();
        if log.exists() {
            std::fs::copy(log, beside(&self.image, "-wal")).unwrap();
        }
        let database = Database::open(&self.image);
        assert_consistent(&database);
        database.all_rows()
    }

    /// Runs the operation without a fault. Returns the calls that it made.
    fn count_calls(&self, operation: &Operation) -> Calls {
        let attempt = (operation.prepare)(&self.world);
        let (result, calls) = self.control.while_failing(None, || attempt(&self.world));
        assert_eq!(result, Ok(()));
        (operation.verify)(&self.world);
        calls
    }

    /// Runs the operation while this call fails. Returns its error.
    fn run(&self, operation: &Operation, failing: FailingCall) -> Option<Error> {
        let attempt = (operation.prepare)(&self.world);
        let before = self.rows();
        let (result, calls) = self.control.while_failing(Some(failing), || attempt(&self.world));
        // If the call was not made, or its failure was repaired, the operation has succeeded.
        let error = result.err();
        if let Some(error) = &error {
            assert!(calls.failed > 0, "{error}");
            assert!(matches!(error, Error::Store(_) | Error::Unavailable(_)), "{error:?}");
        }
        // The fault is not one of a single row.
        if self.world.is_open() {
            assert_eq!(self.world.service().statistics().maintenance.skipped_rows, 0, "{error:?}");
        }
        let after_crash = self.rows_after_crash();
        let must_reopen = !self.world.is_open() || self.world.service().stopped().is_some();
        if must_reopen {
            self.world.reopen().unwrap();
        }
        let after = self.rows();
        // A transaction whose sync failed is in the log. If the store stops before the next transaction overwrites it
        // there, it is recovered: completely, but its caller got an error.
        let is_recovered = must_reopen && after != before && after == after_crash;
        match &error {
            None => assert!(after == after_crash, "the operation succeeded and is not stored"),
            Some(_) if !operation.is_atomic || is_recovered => {}
            Some(error) => assert!(after == before, "{error}, and something was changed"),
        }
        if error.is_some() && !(operation.is_atomic && is_recovered) {
            let repeated = attempt(&self.world);
            assert_eq!(repeated, Ok(()), "without the fault, after {error:?}");
        }
        (operation.verify)(&self.world);
        error
    }
}

fn faults_of(call: Call) -> &'static [Fault] {
    match call {
        Call::Write => &[Fault::Error, Fault::Full, Fault::Half],
        Call::Sync | Call::Truncate | Call::Open => &[Fault::Error, Fault::Full],
    }
}

/// Tries faults at random calls of each operation.
fn try_faults() {
    let seed = first_seed();
    let mut random = Random::new(seed);
    let trial = Trial::new();
    let mut tried = 0;
    let mut failures: BTreeMap<&str, usize> = BTreeMap::new();
    for operation in OPERATIONS {
        // The first run also does what the operations before it have left.
        trial.count_calls(operation);
        let calls = trial.count_calls(operation);
        for (call, count) in Call::ALL.into_iter().zip(calls.counted) {
            for fault in faults_of(call).iter().filter(|_| count > 0) {
                for _ in 0..TRIES {
                    let number = 1 + random.below(count);
                    let failing = FailingCall { call, fault: *fault, number, for_good: random.one_in(3) };
                    let run = catch_unwind(AssertUnwindSafe(|| trial.run(operation, failing)));
                    let Ok(error) = run else { panic!("{}: {failing:?}, seed {seed}", operation.name) };
                    tried += 1;
                    *failures.entry(operation.name).or_default() += usize::from(error.is_some());
                }
            }
        }
        let report = trial.world.service().check().unwrap();
        assert!(report.is_clean(), "{}: {:?}, seed {seed}", operation.name, report.findings);
    }
    let before = trial.rows();
    trial.world.reopen().unwrap();
    assert!(trial.rows() == before);
    // Each operation has met a fault that it could not repair.
    assert_eq!(failures.len(), OPERATIONS.len());
    assert!(failures.values().all(|failures| *failures > 0), "{failures:?}, seed {seed}");
    send_to_parent(format_args!("{tried} faults: {failures:?}"));
}

/// Lets writes of an order store nothing, one after the other, until that is noticed.
fn try_lies() {
    let trial = Trial::new();
    let order = OPERATIONS.iter().find(|operation| operation.name == "create a free order").unwrap();
    let writes = trial.count_calls(order).counted[0];
    let is_noticed = (1..=writes).any(|number| {
        let lie = FailingCall { call: Call::Write, fault: Fault::Lie, number, for_good: false };
        catch_unwind(AssertUnwindSafe(|| trial.run(order, lie))).is_err()
    });
    send_to_parent(if is_noticed { "noticed" } else { "not noticed" });
    // What the service does at its end with a damaged file is of no interest.
    std::process::exit(0);
}

/// Runs this test binary in a role with the library. Returns its messages; `None` if it cannot be compiled here.
fn run_child(role: &str, seed: u64) -> Option<Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    let control = tempfile::tempdir().unwrap();
    let path = folder.path().join("ticketing.db");
    drop(TicketingService::open(&path).unwrap());
    let shim = SyncShim::for_database(&path)?;
    let mut child = child_process(CHILD, role);
    shim.preload(&mut child).env("TICKETING_TEST_FILE", path.canonicalize().unwrap());
    child.env("TICKETING_TEST_SEED", seed.to_string());
    CallControl::prepare(&control.path().join("control"), &mut child);
    let ended = ChildProcess::start(child).finish();
    assert!(ended.status.success(), "{}: {:?}", ended.status, ended.messages);
    Some(ended.messages)
}

#[test]
fn an_operation_whose_calls_fail_succeeds_or_changes_nothing() {
    for round in 0..repetitions("TICKETING_IO_FAULTS", 1) {
        let Some(messages) = run_child("faults", first_seed() + round) else { return };
        eprintln!("{}", messages[0]);
    }
}

#[test]
fn control_a_write_that_stores_nothing_and_reports_success_is_noticed() {
    if let Some(messages) = run_child("lies", first_seed()) {
        assert_eq!(messages, ["noticed"]);
    }
}
