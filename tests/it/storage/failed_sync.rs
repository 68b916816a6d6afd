//! A checkpoint cannot sync the database file. The store stops, in all processes, and the next start finds everything
//! that was acknowledged, whatever a power failure leaves of the files.
//!
//! `TICKETING_SYNC_FAILURES` is the number of rounds, by default 3. In each, another sync fails.

use std::collections::HashSet;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ticketing::environment::ManualClock;
use ticketing::error::StoreErrorKind;
use ticketing::organization::ListOrganizations;
use ticketing::{CloseError, Error, TicketingService};

use super::power_loss::{AfterFailedSync, Disk, FileKind, Operation, OperationKind, read_record};
use crate::common::database::stored_id;
use crate::common::invariants::assert_consistent;
use crate::common::long_runs::repetitions;
use crate::common::processes::{
    ChildProcess, child_process, child_role, child_variable, send_to_parent, wait_for_parent,
};
use crate::common::sync_shim::SyncShim;
use crate::common::threads::run_at_once;
use crate::common::*;

const CHILD: &str = concat!(module_path!(), "::a_child_process_sells");
const SELLERS: usize = 4;
const ORDERS_PER_BURST: usize = 8;

/// How many rounds the control has to damage a database at least once.
const MAX_CONTROL_ROUNDS: u64 = 20;

/// How many power failures are looked at in each record.
const IMAGES: usize = 40;

#[test]
#[ignore = "other tests start it"]
fn a_child_process_sells() {
    match child_role().as_str() {
        "sell" => sell(|| {}),
        // Makes checkpoints like the store's own, but without regard to errors.
        "sell carelessly" => {
            let connection = Database::open(Path::new(&child_variable("TICKETING_TEST_FILE")));
            let checkpoint = move || drop(connection.checkpoint());
            let careless = std::thread::Builder::new().name("careless".to_owned()).spawn(|| sell(checkpoint));
            careless.unwrap().join().unwrap();
        }
        other => panic!("{other}"),
    }
}

/// Sells until the store stops, but no more than the bursts that the parent wants. Notes each order that was
/// acknowledged. Calls `checkpoint` while the end of the log cannot be checkpointed, and when it can.
fn sell(checkpoint: impl Fn()) {
    let path = PathBuf::from(child_variable("TICKETING_TEST_FILE"));
    let bursts: usize = child_variable("TICKETING_TEST_BURSTS").parse().unwrap();
    let service = TicketingService::builder(&path).clock(ManualClock::new(at(NOW))).open().unwrap();
    let caller = service.act_for(child_variable("TICKETING_TEST_ORGANIZATION").parse().unwrap()).unwrap();
    let event = child_variable("TICKETING_TEST_EVENT").parse().unwrap();
    let ticket_type = child_variable("TICKETING_TEST_TICKET_TYPE").parse().unwrap();
    let notes = File::options().append(true).create(true).open(notes_of(&path)).unwrap();
    let stopped = AtomicBool::new(false);
    let burst = || {
        run_at_once(SELLERS, |_| {
            for _ in 0..ORDERS_PER_BURST {
                match service.create_order(&caller, new_order(event, ticket_type, 2)) {
                    Ok(created) => (&notes).write_all(format!("{}\n", created.order.id).as_bytes()).unwrap(),
                    Err(error) => {
                        assert_eq!(error, sync_failed());
                        stopped.store(true, Ordering::Relaxed);
                        return;
                    }
                }
            }
        });
    };
    for _ in 0..bursts {
        burst();
        // A reader sees the state after the first burst, so checkpoints end there and do not sync.
        let second_burst = || {
            burst();
            checkpoint();
        };
        service.on_one_snapshot(second_burst).unwrap();
        // Now a checkpoint gets to the end of the log and syncs.
        checkpoint();
        std::thread::sleep(Duration::from_millis(10));
        if stopped.load(Ordering::Relaxed) {
            break;
        }
    }
    assert_eq!(service.stopped().is_some(), stopped.load(Ordering::Relaxed));
    assert_eq!(service.ready().is_err(), stopped.load(Ordering::Relaxed));
    send_to_parent(if stopped.into_inner() { "stopped" } else { "sold" });
    wait_for_parent();
    drop(checkpoint);
    match service.close(Duration::ZERO) {
        Ok(()) => send_to_parent("closed"),
        Err(CloseError::LogRemains(error)) if error == sync_failed() => send_to_parent("the log remains"),
        Err(other) => panic!("{other}"),
    }
}

fn sync_failed() -> Error {
    StoreErrorKind::SyncFailed.into()
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    PathBuf::from(format!("{}{suffix}", path.display()))
}

fn notes_of(path: &Path) -> PathBuf {
    beside(path, ".notes")
}

/// A database with an event on sale, which no process has open.
struct Shop {
    folder: std::sync::Arc<tempfile::TempDir>,
    path: PathBuf,
    variables: Vec<(&'static str, String)>,
    before: Vec<u8>,
}

impl Shop {
    fn new() -> Self {
        let fixture = Fixture::new();
        let ticket_type = fixture.new_ticket_type(0, 1_000_000);
        let variables = vec![
            ("TICKETING_TEST_FILE", fixture.path().to_str().unwrap().to_owned()),
            ("TICKETING_TEST_ORGANIZATION", fixture.caller.organization().to_string()),
            ("TICKETING_TEST_EVENT", fixture.default_event().id.to_string()),
            ("TICKETING_TEST_TICKET_TYPE", ticket_type.id.to_string()),
        ];
        let (folder, path) = fixture.into_file();
        let before = std::fs::read(&path).unwrap();
        Self { folder, path, variables, before }
    }

    fn record(&self) -> PathBuf {
        beside(&self.path, ".record")
    }

    fn child(&self, role: &str, bursts: usize) -> std::process::Command {
        let mut command = child_process(CHILD, role);
        command.envs(self.variables.iter().cloned()).env("TICKETING_TEST_BURSTS", bursts.to_string());
        command
    }

    /// Runs a child that records what happens to the file. Returns its messages.
    fn run_recorded(&self, mut command: std::process::Command) -> Vec<String> {
        command.env("SHIM_RECORD", self.record());
        let ended = ChildProcess::start(command).finish();
        assert!(ended.status.success(), "{}", ended.status);
        ended.messages
    }

    /// Lets the power fail at moments of the record from the first failed sync on. Returns how many of the images are
    /// damaged, and the damage of the first.
    fn damaged_images(&self, after_failed_sync: AfterFailedSync, seed: u64) -> Damages {
        let operations = read_record(&self.record());
        let failed = |operation: &Operation| matches!(operation.kind, OperationKind::FailedSync);
        let first = operations.iter().position(failed).expect("a sync has failed");
        assert_eq!(operations[first].file, FileKind::Database);
        // Every moment once in a while, and the end.
        let step = (operations.len() - first).div_ceil(IMAGES - 1).max(1);
        let mut disk = Disk::with_database(&self.before, after_failed_sync);
        let image = self.folder.path().join("image.db");
        let mut damages = Damages::default();
        for (number, operation) in operations.iter().enumerate() {
            disk.apply(operation);
            let is_last = number + 1 == operations.len();
            if number >= first && ((number - first) % step == 0 || is_last) {
                disk.write_image(&image, seed + number as u64);
                damages.images += 1;
                if let Some(damage) = damage_of(&image, &disk) {
                    damages.damaged += 1;
                    damages.first.get_or_insert(format!(
                        "after {} of {} operations: {damage}",
                        number + 1,
                        operations.len()
                    ));
                }
            }
        }
        damages
    }
}

#[derive(Debug, Default)]
struct Damages {
    images: usize,
    damaged: usize,
    first: Option<String>,
}

/// What is wrong with the database that a power failure has left.
fn damage_of(image: &Path, disk: &Disk) -> Option<String> {
    let database = Database::open(image);
    let problems = match database.try_column::<String>("PRAGMA integrity_check") {
        Ok(problems) => problems,
        Err(error) => return Some(error),
    };
    if problems != ["ok"] {
        return Some(problems.join("; "));
    }
    let orders: HashSet<i64> = match database.try_column("SELECT id FROM orders") {
        Ok(orders) => orders.into_iter().collect(),
        Err(error) => return Some(error),
    };
    let missing = disk.notes().filter(|id| !orders.contains(&stored_id(id))).count();
    if missing > 0 {
        return Some(format!("{missing} acknowledged orders are missing"));
    }
    let wrong = "SELECT 'sold: ' || sold FROM ticket_types WHERE sold <> (SELECT COUNT(*) FROM tickets)
        UNION ALL SELECT 'tickets of the order ' || id FROM orders
        WHERE (SELECT COUNT(*) FROM tickets WHERE order_id = orders.id) <> 2";
    match database.try_column::<String>(wrong) {
        Ok(wrong) => wrong.into_iter().next(),
        Err(error) => Some(error),
    }
}

fn rounds() -> u64 {
    repetitions("TICKETING_SYNC_FAILURES", 3)
}

#[test]
fn after_a_failed_sync_no_power_failure_damages_the_database() {
    let (mut images, mut damaged) = (0, 0);
    for round in 1..=rounds() {
        let shop = Shop::new();
        let Some(shim) = SyncShim::for_database(&shop.path) else { return };
        let mut seller = shop.child("sell", 1000);
        shim.fail_at(round, &mut seller);
        assert_eq!(shop.run_recorded(seller), ["stopped", "the log remains"]);
        assert!(beside(&shop.path, "-wal").exists() && beside(&shop.path, "-sync-failed").exists());
        // The next start recovers, and sells on.
        let mut seller = shop.child("sell", 5);
        shim.preload(&mut seller);
        assert_eq!(shop.run_recorded(seller), ["sold", "closed"]);
        assert!(!beside(&shop.path, "-wal").exists() && !beside(&shop.path, "-sync-failed").exists());
        let found = shop.damaged_images(AfterFailedSync::Clean, round);
        assert_eq!(found.damaged, 0, "round {round}: {found:?}");
        images += found.images;
        damaged += found.damaged;
        assert_consistent(&Database::open(&shop.path));
    }
    eprintln!("{damaged} of {images} images are damaged");
}

#[test]
fn all_processes_stop_and_the_next_start_waits_for_the_last_of_them() {
    let shop = Shop::new();
    let Some(shim) = SyncShim::for_database(&shop.path) else { return };
    let other = TicketingService::open(&shop.path).unwrap();
    let mut seller = shop.child("sell", 1000);
    let mut seller = ChildProcess::start({
        shim.fail_at(1, &mut seller);
        seller
    });
    assert_eq!(seller.next_message().as_deref(), Some("stopped"));

    // The other process finds out by itself.
    webhooks::wait_until("the store stops", || other.stopped().is_some());
    assert_eq!(other.stopped(), Some(StoreErrorKind::SyncFailed.into()));
    let failed = sync_failed();
    assert_eq!(other.create_organization(Default::default()).unwrap_err(), failed);
    assert_eq!(other.ready().unwrap_err(), failed);
    let organizations = other.list_organizations(ListOrganizations::default()).unwrap().data.len();
    assert_eq!(organizations, 1, "reads go on");

    // While one of the processes has the file open, its whole log cannot be recovered.
    let ended = {
        seller.send("close");
        seller.finish()
    };
    assert_eq!(ended.messages, ["the log remains"]);
    assert_eq!(open_error(&shop.path), failed);
    let remains = other.close(Duration::ZERO).unwrap_err();
    assert_eq!(remains, CloseError::LogRemains(failed));
    assert!(beside(&shop.path, "-wal").exists() && beside(&shop.path, "-sync-failed").exists());

    let service = TicketingService::open(&shop.path).unwrap();
    assert!(!beside(&shop.path, "-sync-failed").exists());
    assert_eq!(service.stopped(), None);
    assert_eq!(service.create_organization(Default::default()).map(drop), Ok(()));
    let stored: HashSet<i64> = Database::open(&shop.path).column("SELECT id FROM orders").into_iter().collect();
    let acknowledged = std::fs::read_to_string(notes_of(&shop.path)).unwrap();
    assert!(acknowledged.lines().count() > 0);
    assert!(acknowledged.lines().all(|id| stored.contains(&stored_id(id))));
    assert!(service.check().unwrap().is_clean());
}

#[test]
fn a_marker_that_cannot_be_created_is_tried_again() {
    let shop = Shop::new();
    let Some(shim) = SyncShim::for_database(&shop.path) else { return };
    let mut seller = shop.child("sell", 1000);
    // How often it cannot be created: it is tried every second.
    shim.fail_at(1, &mut seller).env("SHIM_MARKER", "5");
    let mut seller = ChildProcess::start(seller);
    assert_eq!(seller.next_message().as_deref(), Some("stopped"));
    let marker = beside(&shop.path, "-sync-failed");
    assert!(!marker.exists());
    webhooks::wait_until("the marker", || marker.exists());
    assert_eq!(open_error(&shop.path), sync_failed());
    assert_eq!(seller.finish().messages, ["the log remains"]);
    assert!(TicketingService::open(&shop.path).unwrap().check().unwrap().is_clean());
}

fn open_error(path: &Path) -> Error {
    TicketingService::open(path).map(drop).unwrap_err()
}

#[test]
fn a_failed_sync_of_another_process_stops_the_next_write_at_once() {
    let fixture = Fixture::new();
    fixture.skip_final_check();
    let ticket_type = fixture.new_ticket_type(0, 10);
    fixture.order(&ticket_type, 1);
    std::fs::write(beside(&fixture.path(), "-sync-failed"), "").unwrap();
    assert_eq!(fixture.try_order(&ticket_type, 1).unwrap_err(), sync_failed());
    assert_eq!(fixture.service.stopped(), Some(StoreErrorKind::SyncFailed.into()));
    let (_folder, path) = fixture.into_file();
    let database = TicketingService::open(&path).unwrap();
    assert!(database.check().unwrap().is_clean());
    assert_eq!(Database::open(&path).value::<i64>("SELECT sold FROM ticket_types"), 1);
}

#[test]
fn a_marker_without_a_database_or_without_a_log_is_deleted() {
    let (_folder, closed) = Fixture::new().into_file();
    let missing = closed.with_file_name("new.db");
    for path in [&closed, &missing] {
        std::fs::write(beside(path, "-sync-failed"), "").unwrap();
        TicketingService::open(path).unwrap().create_organization(Default::default()).unwrap();
        assert!(!beside(path, "-sync-failed").exists());
    }
}

#[test]
fn a_marker_does_not_change_a_database_of_another_program() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.db");
    Database::open(&path).run("PRAGMA application_id = 77; CREATE TABLE theirs (a)");
    std::fs::write(beside(&path, "-sync-failed"), "").unwrap();
    let before = std::fs::read(&path).unwrap();
    assert_eq!(open_error(&path), StoreErrorKind::ForeignDatabase(77).into());
    assert!(std::fs::read(&path).unwrap() == before && beside(&path, "-sync-failed").exists());
}

#[cfg(unix)]
#[test]
fn writes_are_refused_if_the_file_is_removed_or_replaced() {
    type Change = fn(&Path);
    let changes: [Change; 3] = [
        |path| std::fs::remove_file(path).unwrap(),
        |path| std::fs::rename(path, path.with_file_name("moved.db")).unwrap(),
        |path| {
            std::fs::copy(path, path.with_file_name("copy.db")).unwrap();
            std::fs::rename(path.with_file_name("copy.db"), path).unwrap();
        },
    ];
    for change in changes {
        let fixture = Fixture::new();
        fixture.skip_final_check();
        let ticket_type = fixture.new_ticket_type(0, 10);
        fixture.order(&ticket_type, 1);
        change(&fixture.path());
        let refused = Error::from(StoreErrorKind::FileReplaced(fixture.path().display().to_string()));
        assert_eq!(fixture.service.ready().unwrap_err(), refused);
        assert_eq!(fixture.try_order(&ticket_type, 1).unwrap_err(), refused);
        assert_eq!(fixture.sold(&ticket_type), 1, "reads go on");
        let log = beside(&fixture.path(), "-wal");
        let before = std::fs::read(&log).unwrap();
        let folder = fixture.close();
        // It may belong to the file that is there now.
        assert!(std::fs::read(&log).unwrap() == before);
        drop(folder);
    }
}

#[cfg(unix)]
#[test]
fn a_removed_file_is_noticed_without_a_write() {
    let fixture = Fixture::new();
    fixture.skip_final_check();
    std::fs::remove_file(fixture.path()).unwrap();
    webhooks::wait_until("the store stops", || fixture.service.stopped().is_some());
}

#[test]
fn control_the_same_sync_failure_in_a_program_that_goes_on_damages_the_database() {
    let (mut images, mut damaged) = (0, 0);
    for round in 1..=MAX_CONTROL_ROUNDS.max(rounds()) {
        // The pages that are lost may all be written again by a later checkpoint: that depends on the time.
        if round > rounds() && damaged > 0 {
            break;
        }
        let shop = Shop::new();
        let Some(shim) = SyncShim::for_database(&shop.path) else { return };
        let mut seller = shop.child("sell carelessly", 12);
        // The log has to be restarted afterwards: one of the first syncs of twelve.
        shim.fail_at(1 + round % 4, &mut seller).env("SHIM_THREAD", "careless");
        assert_eq!(shop.run_recorded(seller), ["sold", "closed"]);
        let found = shop.damaged_images(AfterFailedSync::Clean, round);
        images += found.images;
        damaged += found.damaged;
        // It is the lost pages that do it, and nothing else.
        let kept = shop.damaged_images(AfterFailedSync::Dirty, round);
        assert_eq!(kept.damaged, 0, "round {round}: {kept:?}");
    }
    eprintln!("{damaged} of {images} images are damaged");
    assert!(damaged > 0);
}
