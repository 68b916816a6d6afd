//! The power fails at random moments of a sale. Each time, the database opens, is sound, and has everything that was
//! acknowledged, whatever the disk kept of the changes that were not synced yet.
//!
//! `TICKETING_POWER_FAILURES` is the number of power failures, by default 300.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use ticketing::TicketingService;

use super::power_loss::{AfterFailedSync, Disk, FileKind, Operation, OperationKind, read_record};
use crate::common::long_runs::{first_seed, repetitions};
use crate::common::outbox;
use crate::common::processes::{ChildProcess, child_role, child_variable};
use crate::common::random::Random;
use crate::common::seller::{Acknowledged, Sale, Seller};
use crate::common::sync_shim::SyncShim;
use crate::common::threads::run_at_once;
use crate::common::*;

const CHILD: &str = concat!(module_path!(), "::a_child_process_sells_in_bursts");
const SELLERS: usize = 4;
const BURSTS: usize = 12;

/// How many power failures are looked at in one record.
const FAILURES_PER_RECORD: u64 = 300;

#[test]
#[ignore = "other tests start it"]
fn a_child_process_sells_in_bursts() {
    child_role();
    let notes = format!("{}.notes", child_variable("TICKETING_TEST_FILE"));
    let notes = File::options().append(true).create(true).open(notes).unwrap();
    let note = |report: String| (&notes).write_all(format!("{report}\n").as_bytes()).unwrap();
    let seller = Seller::of_child(|builder| builder, note);
    // The store's own checkpoints are too rare for so short a sale.
    let database = Database::open(Path::new(&child_variable("TICKETING_TEST_FILE")));
    let burst = || {
        run_at_once(SELLERS, |_| seller.sell().unwrap());
    };
    for _ in 0..BURSTS / 2 {
        burst();
        let second_burst = || {
            burst();
            // The reader sees the state after the first burst, so this ends there and does not sync.
            database.checkpoint().unwrap();
        };
        seller.service.on_one_snapshot(second_burst).unwrap();
        // This gets to the end of the log, so that the next burst starts the log anew.
        database.checkpoint().unwrap();
    }
}

/// A sale, and what happened to its files.
struct Record {
    sale: Sale,
    /// The database file before the sale.
    before: Vec<u8>,
    operations: Vec<Operation>,
}

impl Record {
    /// Returns `None` if the library that makes a record cannot be compiled here.
    fn of_a_sale() -> Option<Self> {
        let fixture = Fixture::new();
        outbox::insert_webhook(&fixture.database(), fixture.caller.organization(), &outbox::SALE_NOTIFICATIONS);
        let sale = Sale::prepare(fixture);
        let shim = SyncShim::for_database(&sale.path)?;
        let before = std::fs::read(&sale.path).unwrap();
        let record = sale.path.with_extension("record");
        let mut seller = sale.child(CHILD, "sell");
        shim.preload(&mut seller).env("SHIM_RECORD", &record);
        assert!(ChildProcess::start(seller).finish().status.success());
        let operations = read_record(&record);
        let log_starts = operations.iter().filter(|operation| {
            operation.file == FileKind::Log && matches!(operation.kind, OperationKind::Write { offset: 0, .. })
        });
        let log_starts = log_starts.count();
        assert!(log_starts >= 3, "the log was started {log_starts} times");
        Some(Self { sale, before, operations })
    }

    /// Lets the power fail at random moments, on a disk that ignores the syncs of this file. Returns what is wrong
    /// afterwards.
    fn damages(&self, failures: u64, seed: u64, unsynced: Option<FileKind>) -> Vec<String> {
        let mut random = Random::new(seed);
        let mut moments: Vec<_> = (0..failures).map(|_| random.below(self.operations.len())).collect();
        moments.sort_unstable();
        let mut moments = moments.into_iter().peekable();
        let mut disk = Disk::with_database(&self.before, AfterFailedSync::Clean);
        let image = self.sale.folder.path().join("image.db");
        let mut damages = Vec::new();
        for (number, operation) in self.operations.iter().enumerate() {
            let is_ignored = matches!(operation.kind, OperationKind::Sync) && unsynced == Some(operation.file);
            if !is_ignored {
                disk.apply(operation);
            }
            while moments.next_if_eq(&number).is_some() {
                let image_seed = random.next();
                disk.write_image(&image, image_seed);
                if let Some(damage) = self.damage_of(&image, &disk) {
                    let of = self.operations.len();
                    damages.push(format!("seed {seed}, after {} of {of} operations: {damage}", number + 1));
                }
            }
        }
        damages
    }

    /// What is wrong with the database that a power failure has left.
    fn damage_of(&self, image: &Path, disk: &Disk) -> Option<String> {
        let find = || -> Result<Option<String>, String> {
            let service = TicketingService::open(image).map_err(|error| error.to_string())?;
            let report = service.check().map_err(|error| error.to_string())?;
            if !report.is_clean() {
                return Ok(Some(format!("{:?}", report.findings)));
            }
            let mut acknowledged = Acknowledged::default();
            disk.notes().for_each(|note| acknowledged.record(note));
            let caller = service.act_for(self.sale.organization).map_err(|error| error.to_string())?;
            Ok(acknowledged.difference(&service, &caller))
        };
        find().unwrap_or_else(Some)
    }
}

#[test]
fn no_power_failure_damages_the_database_or_takes_back_what_was_acknowledged() {
    let failures = repetitions("TICKETING_POWER_FAILURES", 300);
    for round in 0..failures.div_ceil(FAILURES_PER_RECORD) {
        let Some(record) = Record::of_a_sale() else { return };
        let seed = first_seed() + round;
        let damages = record.damages(failures.min(FAILURES_PER_RECORD), seed, None);
        if let Some(first) = damages.first() {
            let kept = keep(&record);
            panic!("{} images are damaged, the record is in {}: {first}", damages.len(), kept.display());
        }
    }
}

/// Keeps the files of a record, for a failure has to be looked at: another run has another order of operations.
fn keep(record: &Record) -> PathBuf {
    let kept = tempfile::tempdir().unwrap().keep();
    for entry in record.sale.folder.path().read_dir().unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, kept.join(path.file_name().unwrap())).unwrap();
    }
    std::fs::write(kept.join("before.db"), &record.before).unwrap();
    kept
}

#[test]
fn control_without_the_syncs_of_the_log_or_of_the_database_damage_is_found() {
    let Some(record) = Record::of_a_sale() else { return };
    for unsynced in [FileKind::Log, FileKind::Database] {
        let damages = record.damages(30, first_seed(), Some(unsynced));
        eprintln!("without the syncs of the {unsynced:?}, {} of 30 are damaged", damages.len());
        assert!(!damages.is_empty(), "{unsynced:?}");
    }
}
