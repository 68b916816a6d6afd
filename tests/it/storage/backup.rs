//! Backups: made while threads and processes write, complete or not there at all.

use std::error::Error as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use ticketing::error::StoreErrorKind;
use ticketing::maintenance::BackupProgress;
use ticketing::ticket_type::TicketType;
use ticketing::{Error, Result, TicketingService};

use crate::common::invariants::assert_consistent;
use crate::common::processes::{
    ChildProcess, child_process, child_role, child_variable, run_child_by, send_to_parent, wait_for_parent,
};
use crate::common::threads::run_at_once;
use crate::common::*;

const CHILD: &str = concat!(module_path!(), "::a_child_process_plays_its_role");

#[test]
#[ignore = "other tests start it"]
fn a_child_process_plays_its_role() {
    match child_role().as_str() {
        "back up" => back_up_slowly(),
        "full disk" => back_up_to_a_full_disk(),
        "not allowed" => back_up_to_a_read_only_folder(),
        other => panic!("{other}"),
    }
}

/// The number of tickets in [`filled_fixture`].
const TICKETS: i64 = 600;

/// Creates a database of about eight megabytes, so that a backup copies several pieces.
fn filled_fixture() -> (Fixture, TicketType) {
    let fixture = Fixture::new();
    let ticket_type = fixture.new_ticket_type(0, 1_000_000);
    run_at_once(4, |_| {
        for _ in 0..15 {
            fixture.order(&ticket_type, 10);
        }
    });
    // Larger than any text that a request may have.
    fixture.database().run("UPDATE events SET description = printf('%.*c', 8388608, 'x')");
    (fixture, ticket_type)
}

fn next_to(fixture: &Fixture, name: &str) -> PathBuf {
    fixture.folder().path().join(name)
}

fn backup(fixture: &Fixture, to: &Path) -> Result<BackupProgress> {
    back_up(&fixture.service, to, |_| {})
}

/// Makes a backup to its end, and calls `at_each` whenever the service reports its progress.
fn back_up(
    service: &TicketingService,
    to: impl AsRef<Path>,
    mut at_each: impl FnMut(BackupProgress),
) -> Result<BackupProgress> {
    service.backup(to, |progress| {
        at_each(progress);
        ControlFlow::Continue(())
    })
}

/// The names in a folder, without those of the database itself.
fn other_files(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| !name.starts_with("ticketing.db")).collect()
}

fn tickets(path: &Path) -> i64 {
    Database::open(path).value("SELECT COUNT(*) FROM tickets")
}

fn assert_clean(path: &Path) {
    let report = TicketingService::open(path).unwrap().check().unwrap();
    assert!(report.is_clean(), "{:#?}", report.findings);
    assert_consistent(&Database::open(path));
}

#[test]
fn a_copy_is_a_complete_database_and_progress_grows_to_its_size() {
    let (fixture, _) = filled_fixture();
    let copy = next_to(&fixture, "copy.db");
    let mut seen: Vec<BackupProgress> = Vec::new();
    let done = back_up(&fixture.service, &copy, |progress| seen.push(progress)).unwrap();
    assert_eq!(other_files(fixture.folder().path()), ["copy.db"]);
    assert_eq!(done.bytes, std::fs::metadata(&copy).unwrap().len());
    assert!(seen.len() > 1);
    assert!(seen.windows(2).all(|two| two[0].pages < two[1].pages && two[0].total_pages == two[1].total_pages));
    assert_eq!(seen.last(), Some(&done));
    assert_eq!((done.pages, done.bytes), (done.total_pages, done.total_bytes));
    assert_eq!(done.bytes % done.pages, 0);
    assert_eq!(tickets(&copy), TICKETS);
    assert_clean(&copy);
    // Tickets can be sold from the copy, for the same organization.
    let service = TicketingService::open(&copy).unwrap();
    let caller = service.act_for(fixture.caller.organization()).unwrap();
    assert_eq!(service.get_event(&caller, fixture.default_event().id).unwrap().title, "Summer Night");
}

#[cfg(unix)]
#[test]
fn a_copy_has_the_permissions_of_the_original_from_the_beginning() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let (fixture, _) = filled_fixture();
    for wanted in [0o600, 0o640, 0o644] {
        std::fs::set_permissions(fixture.path(), std::fs::Permissions::from_mode(wanted)).unwrap();
        let copy = next_to(&fixture, &format!("{wanted:o}.db"));
        let mut partial = Vec::new();
        let folder = fixture.folder();
        let look = |_| {
            let names = other_files(folder.path()).into_iter().filter(|name| name.ends_with(".partial"));
            partial.extend(names.map(|name| mode(&folder.path().join(name))));
        };
        back_up(&fixture.service, &copy, look).unwrap();
        assert!(!partial.is_empty() && partial.iter().all(|found| *found == wanted), "{partial:?}");
        assert_eq!(mode(&copy), wanted);
    }
}

#[test]
fn a_backup_during_writes_finishes_with_the_state_at_its_start() {
    let (fixture, ticket_type) = filled_fixture();
    let done = AtomicBool::new(false);
    let sold = AtomicI64::new(TICKETS);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                fixture.try_order(&ticket_type, 10).unwrap();
                sold.fetch_add(10, Ordering::SeqCst);
            }
        });
        let copies: Vec<_> = (0..3).map(|number| next_to(&fixture, &format!("copy{number}.db"))).collect();
        let mut results = Vec::new();
        for copy in &copies {
            let before = sold.load(Ordering::SeqCst);
            let mut at_start = None;
            let result = back_up(&fixture.service, copy, |_| {
                // There are orders between any two pieces.
                let now = sold.load(Ordering::SeqCst);
                at_start.get_or_insert(now);
                while !done.load(Ordering::SeqCst) && sold.load(Ordering::SeqCst) < now + 20 {
                    std::thread::yield_now();
                }
            });
            results.push((result, before, at_start.unwrap_or(i64::MAX), sold.load(Ordering::SeqCst)));
        }
        done.store(true, Ordering::SeqCst);
        for (copy, (result, before, at_start, after)) in copies.iter().zip(results) {
            result.unwrap();
            let copied = tickets(copy);
            // One order may be committed but not counted yet.
            assert!(before <= copied && copied <= at_start + 10, "{before} <= {copied} <= {at_start}");
            assert!(copied < after, "orders continued during the backup: {copied} and {after}");
            assert_clean(copy);
        }
    });
}

/// Without a read transaction, SQLite restarts the copy whenever the source has changed.
#[test]
fn control_a_copy_without_a_read_transaction_restarts_after_each_write() {
    let (fixture, ticket_type) = filled_fixture();
    let source = rusqlite::Connection::open(fixture.path()).unwrap();
    let mut target = rusqlite::Connection::open(next_to(&fixture, "copy.db")).unwrap();
    let copy = rusqlite::backup::Backup::new(&source, &mut target).unwrap();
    for held in [false, true] {
        if held {
            source.execute_batch("BEGIN; SELECT COUNT(*) FROM sqlite_schema").unwrap();
        }
        let mut left = Vec::new();
        for _ in 0..4 {
            assert_eq!(copy.step(64).unwrap(), rusqlite::backup::StepResult::More);
            left.push(copy.progress().remaining);
            fixture.try_order(&ticket_type, 1).unwrap();
        }
        assert_eq!(left.windows(2).all(|two| two[0] > two[1]), held, "{left:?}");
    }
}

#[test]
fn an_existing_file_is_refused_and_left_unchanged() {
    let (fixture, _) = filled_fixture();
    let name = |name: &str| next_to(&fixture, name);
    std::fs::write(name("letter.txt"), "Dear Ada").unwrap();
    std::fs::create_dir(name("folder")).unwrap();
    std::fs::write(name("old.db-wal"), "a log").unwrap();
    let mut targets =
        vec![name("letter.txt"), name("folder"), name("old.db"), name("new/"), name(".."), PathBuf::new()];
    targets.push(fixture.path().clone());
    targets.push(name("folder/../ticketing.db"));
    targets.extend(["-wal", "-shm", "-journal"].map(|end| name(&format!("ticketing.db{end}"))));
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(fixture.path(), name("link.db")).unwrap();
        std::os::unix::fs::symlink(name("nothing"), name("dangling.db")).unwrap();
        targets.extend([name("link.db"), name("dangling.db")]);
    }
    let before = other_files(fixture.folder().path());
    for target in targets {
        let error = backup(&fixture, &target).unwrap_err();
        assert_eq!(error.fields().iter().map(|field| field.path.as_str()).collect::<Vec<_>>(), ["path"], "{target:?}");
    }
    assert_eq!(other_files(fixture.folder().path()), before);
    assert_eq!(std::fs::read_to_string(name("letter.txt")).unwrap(), "Dear Ada");
    assert!(!name("ticketing.db-journal").exists());
}

#[test]
fn a_file_created_during_the_backup_is_not_overwritten() {
    let (fixture, _) = filled_fixture();
    let copy = next_to(&fixture, "copy.db");
    let error = back_up(&fixture.service, &copy, |_| std::fs::write(&copy, "Dear Ada").unwrap()).unwrap_err();
    assert_eq!(error.fields()[0].path, "path");
    let path = copy.display();
    assert_eq!(error.to_string(), format!("path must be a new file: {path} exists, and a backup overwrites nothing"));
    assert_eq!(std::fs::read_to_string(&copy).unwrap(), "Dear Ada");
    assert_eq!(other_files(fixture.folder().path()), ["copy.db"]);
}

#[test]
fn of_two_simultaneous_backups_to_one_path_one_succeeds() {
    let (fixture, _) = filled_fixture();
    let copy = next_to(&fixture, "copy.db");
    let results = run_at_once(2, |_| backup(&fixture, &copy));
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1, "{results:?}");
    assert!(results.iter().flat_map(|result| result.as_ref().err()).all(|error| error.fields()[0].path == "path"));
    assert_eq!(other_files(fixture.folder().path()), ["copy.db"]);
    assert_clean(&copy);
}

#[test]
fn a_missing_folder_is_named() {
    let (fixture, _) = filled_fixture();
    let error = backup(&fixture, &next_to(&fixture, "no-such-folder/copy.db")).unwrap_err();
    let Error::Store(of_store) = &error else { panic!("{error:?}") };
    let StoreErrorKind::CannotCopy(text) = of_store.kind() else { panic!("{error:?}") };
    assert!(text.contains("no-such-folder/copy.db"), "{text}");
    // The operating system's own error is the source.
    let source = error.source().and_then(|source| source.downcast_ref::<std::io::Error>());
    assert_eq!(source.map(std::io::Error::kind), Some(std::io::ErrorKind::NotFound));
}

#[test]
fn a_panic_in_the_progress_callback_leaves_nothing_behind() {
    let (fixture, _) = filled_fixture();
    let copy = next_to(&fixture, "copy.db");
    let panicking = || back_up(&fixture.service, &copy, |_| panic!("the test panics"));
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(panicking)).unwrap_err();
    assert_eq!(other_files(fixture.folder().path()), [""; 0]);
    backup(&fixture, &copy).unwrap();
    assert_clean(&copy);
}

/// Waits after each piece, so that the parent can kill it in between.
fn back_up_slowly() {
    let service = TicketingService::open(PathBuf::from(child_variable("TICKETING_TEST_FILE"))).unwrap();
    let result = back_up(&service, child_variable("TICKETING_TEST_COPY"), |progress| {
        send_to_parent(progress.pages);
        wait_for_parent();
    });
    send_to_parent(result.unwrap().pages);
}

#[test]
fn a_killed_backup_leaves_no_file_under_its_name() {
    let (fixture, ticket_type) = filled_fixture();
    let copy = next_to(&fixture, "copy.db");
    for pieces in 1..3 {
        let mut command = child_process(CHILD, "back up");
        command.env("TICKETING_TEST_FILE", fixture.path()).env("TICKETING_TEST_COPY", &copy);
        let mut running = ChildProcess::start(command);
        for _ in 0..pieces {
            assert!(running.next_message().is_some());
            if pieces > 1 {
                running.send("on");
            }
        }
        running.child.kill().unwrap();
        running.finish();
        assert!(!copy.exists());
        // The database is unaffected.
        fixture.try_order(&ticket_type, 1).unwrap();
    }
    assert!(
        other_files(fixture.folder().path())
            .iter()
            .all(|name| name.starts_with("copy.db.") && name.ends_with(".partial"))
    );
    backup(&fixture, &copy).unwrap();
    assert_clean(&copy);
}

/// The mount ends with the namespace of this process.
fn back_up_to_a_full_disk() {
    let (fixture, ticket_type) = filled_fixture();
    let small = next_to(&fixture, "small");
    std::fs::create_dir(&small).unwrap();
    let mount = ["-t", "tmpfs", "-o", "size=1m", "ticketing-test", small.to_str().unwrap()];
    if !std::process::Command::new("mount").args(mount).status().is_ok_and(|status| status.success()) {
        return send_to_parent(NO_MOUNT);
    }
    let error = backup(&fixture, &small.join("copy.db")).unwrap_err();
    assert_eq!(error, StoreErrorKind::Full.into());
    assert_eq!(std::fs::read_dir(&small).unwrap().count(), 0);
    fixture.try_order(&ticket_type, 1).unwrap();
    std::process::Command::new("umount").arg(&small).status().unwrap();
    send_to_parent("done");
}

/// The user of this process is bound by permissions.
fn back_up_to_a_read_only_folder() {
    let (fixture, ticket_type) = filled_fixture();
    let folder = next_to(&fixture, "folder");
    std::fs::create_dir(&folder).unwrap();
    let mut permissions = std::fs::metadata(&folder).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&folder, permissions).unwrap();
    let error = backup(&fixture, &folder.join("copy.db")).unwrap_err();
    let Error::Store(error) = error else { panic!("{error:?}") };
    let StoreErrorKind::CannotCopy(text) = error.kind() else { panic!("{error:?}") };
    assert!(text.contains("copy.db") && text.contains("denied"), "{text}");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    fixture.try_order(&ticket_type, 1).unwrap();
    send_to_parent("done");
}

#[cfg(unix)]
#[test]
fn a_full_disk_leaves_nothing_of_a_copy() {
    match run_child_by(&["unshare", "--user", "--map-root-user", "--mount"], CHILD, "full disk") {
        Some(messages) if messages == [NO_MOUNT] => skipped(NO_MOUNT),
        Some(messages) => assert_eq!(messages, ["done"]),
        None => skipped("there is no unshare here, or it is not allowed"),
    }
}

#[cfg(unix)]
#[test]
fn a_read_only_folder_leaves_nothing_of_a_copy() {
    let as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let root = std::process::Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n");
    // Permissions do not apply to root.
    let messages = if root {
        run_child_by(&as_nobody, CHILD, "not allowed")
    } else {
        run_child_by(&["env"], CHILD, "not allowed")
    };
    match messages {
        Some(messages) => assert_eq!(messages, ["done"]),
        None => skipped("root cannot become another user here"),
    }
}

#[test]
fn the_end_of_a_backup_moves_the_log_into_the_database() {
    let (fixture, ticket_type) = filled_fixture();
    // Empty the log first, so that only new writes are moved. A checkpoint of the service may be running.
    while fixture.database().value::<i64>("PRAGMA wal_checkpoint(TRUNCATE)") != 0 {
        std::thread::yield_now();
    }
    let length = || std::fs::metadata(fixture.path()).unwrap().len();
    let before = length();
    let mut orders = 100;
    let copy = next_to(&fixture, "copy.db");
    back_up(&fixture.service, copy, |_| {
        for _ in 0..std::mem::take(&mut orders) {
            fixture.order(&ticket_type, 10);
        }
        assert_eq!(length(), before, "no checkpoint during the backup");
    })
    .unwrap();
    assert!(length() > before);
}

#[test]
fn a_log_that_grew_during_a_long_backup_is_truncated() {
    const LIMIT: u64 = 96 << 20;
    let (fixture, ticket_type) = filled_fixture();
    let log = PathBuf::from(format!("{}-wal", fixture.path().display()));
    let length = || std::fs::metadata(&log).unwrap().len();
    let mut during = 0;
    let copy = next_to(&fixture, "copy.db");
    back_up(&fixture.service, copy, |_| {
        for letter in ["y", "z"].iter().cycle().take(400) {
            if during > LIMIT {
                return;
            }
            set_large_logo(&fixture, &ticket_type, letter);
            during = length();
        }
    })
    .unwrap();
    assert!(during > LIMIT, "no checkpoint during the backup: {during}");
    let shrunk = (0..100).any(|_| {
        fixture.try_order(&ticket_type, 1).unwrap();
        length() <= LIMIT
    });
    assert!(shrunk, "{}", length());
}

#[test]
fn a_stopped_backup_leaves_no_file_and_the_next_one_succeeds() {
    let (fixture, _) = filled_fixture();
    let copy = next_to(&fixture, "copy.db");
    let last = backup(&fixture, &next_to(&fixture, "whole.db")).unwrap();
    for stop_at in [0, last.pages] {
        let mut calls_after = 0;
        let mut stopped = false;
        let result = fixture.service.backup(&copy, |progress| {
            calls_after += usize::from(stopped);
            stopped |= progress.pages >= stop_at;
            if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let error = result.unwrap_err();
        assert_eq!(error, StoreErrorKind::BackupStopped.into());
        assert_eq!((stopped, calls_after), (true, 0));
        assert_eq!(other_files(fixture.folder().path()), ["whole.db"]);
    }
    fixture.event();
    backup(&fixture, &copy).unwrap();
    assert_clean(&copy);
}
