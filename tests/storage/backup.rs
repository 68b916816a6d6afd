//! Copies of a store: made while threads and processes write, whole or not there at all.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use crate::common::invariants::assert_consistent;
use crate::common::processes::{
    ChildProcess, child_process, child_role, child_variable, send_to_parent, wait_for_parent,
};
use crate::common::threads::run_at_once;
use crate::common::*;
use ticketing::{BackupProgress, Error, Result, StoreError, TicketType, TicketingService};

const CHILD: &str = concat!(module_path!(), "::a_child_process_plays_its_part");

#[test]
fn a_child_process_plays_its_part() {
    match child_role().as_deref() {
        None => {}
        Some("sell") => sell_until_told(),
        Some("back up") => back_up_slowly(),
        Some("full disk") => back_up_to_a_full_disk(),
        Some("not allowed") => back_up_where_it_is_not_allowed(),
        Some(other) => panic!("{other}"),
    }
}

/// How many tickets the store has that is copied.
const TICKETS: i64 = 600;

/// A store of some eight megabytes, which are copied in as many pieces.
fn filled_fixture() -> (Fixture, TicketType) {
    let fixture = Fixture::new();
    let ticket_type = fixture.new_ticket_type(0, 1_000_000);
    run_at_once(4, |_| (0..15).for_each(|_| drop(fixture.try_order(&ticket_type, 10).unwrap())));
    let text = "x".repeat(8 << 20);
    let change = ticketing::UpdateEvent { description: ticketing::Change::Set(Some(text)), ..Default::default() };
    fixture.service.update_event(&fixture.caller, fixture.default_event().id, change).unwrap();
    (fixture, ticket_type)
}

fn in_folder_of(fixture: &Fixture, name: &str) -> PathBuf {
    fixture.folder().path().join(name)
}

fn backup(fixture: &Fixture, to: &Path) -> Result<BackupProgress> {
    fixture.service.backup(to, |_| {})
}

/// The names in a folder, without those of the store itself.
fn others(folder: &Path) -> Vec<String> {
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
fn a_copy_is_a_database_like_the_store_and_progress_grows_to_its_size() {
    let (fixture, _) = filled_fixture();
    let copy = in_folder_of(&fixture, "copy.db");
    let mut seen: Vec<BackupProgress> = Vec::new();
    let done = fixture.service.backup(&copy, |progress| seen.push(progress)).unwrap();
    assert_eq!(others(fixture.folder().path()), ["copy.db"]);
    assert_eq!(done.bytes, std::fs::metadata(&copy).unwrap().len());
    assert!(seen.len() > 1);
    assert!(seen.windows(2).all(|two| two[0].pages < two[1].pages && two[0].total_pages == two[1].total_pages));
    assert_eq!(seen.last(), Some(&done));
    assert_eq!((done.pages, done.bytes), (done.total_pages, done.total_bytes));
    assert_eq!(done.bytes % done.pages, 0);
    assert_eq!(tickets(&copy), TICKETS);
    assert_clean(&copy);
    // It is a store to sell from, with the same organization.
    let service = TicketingService::open(&copy).unwrap();
    let caller = service.act_for(fixture.caller.organization()).unwrap();
    assert_eq!(service.get_event(&caller, fixture.default_event().id).unwrap().title, "Summer Night");
}

#[cfg(unix)]
#[test]
fn a_copy_is_as_private_as_the_store_from_its_first_byte_on() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let (fixture, _) = filled_fixture();
    for wanted in [0o600, 0o640, 0o644] {
        std::fs::set_permissions(fixture.path(), std::fs::Permissions::from_mode(wanted)).unwrap();
        let copy = in_folder_of(&fixture, &format!("{wanted:o}.db"));
        let mut partial = Vec::new();
        let folder = fixture.folder();
        let look = |_| {
            let names = others(folder.path()).into_iter().filter(|name| name.ends_with(".partial"));
            partial.extend(names.map(|name| mode(&folder.path().join(name))));
        };
        fixture.service.backup(&copy, look).unwrap();
        assert!(!partial.is_empty() && partial.iter().all(|found| *found == wanted), "{partial:?}");
        assert_eq!(mode(&copy), wanted);
    }
}

#[test]
fn a_backup_beside_a_busy_writer_ends_and_is_the_state_of_the_moment_it_began() {
    let (fixture, ticket_type) = filled_fixture();
    let (done, sold) = (AtomicBool::new(false), AtomicI64::new(TICKETS));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                fixture.try_order(&ticket_type, 10).unwrap();
                sold.fetch_add(10, Ordering::SeqCst);
            }
        });
        let copies: Vec<_> = (0..3).map(|number| in_folder_of(&fixture, &format!("copy{number}.db"))).collect();
        let mut made = Vec::new();
        for copy in &copies {
            let before = sold.load(Ordering::SeqCst);
            let mut at_first = None;
            let result = fixture.service.backup(copy, |_| {
                // Orders come in between any two pieces.
                let now = sold.load(Ordering::SeqCst);
                at_first.get_or_insert(now);
                while !done.load(Ordering::SeqCst) && sold.load(Ordering::SeqCst) < now + 20 {
                    std::thread::yield_now();
                }
            });
            made.push((result, before, at_first.unwrap_or(i64::MAX), sold.load(Ordering::SeqCst)));
        }
        done.store(true, Ordering::SeqCst);
        for (copy, (result, before, at_first, after)) in copies.iter().zip(made) {
            result.unwrap();
            let copied = tickets(copy);
            // One order may be answered for and not counted yet.
            assert!(before <= copied && copied <= at_first + 10, "{before} <= {copied} <= {at_first}");
            assert!(copied < after, "orders went on: {copied} and {after}");
            assert_clean(copy);
        }
    });
}

/// Sells until the parent says a word, and says how many tickets.
fn sell_until_told() {
    let path = PathBuf::from(child_variable("TICKETING_TEST_FILE"));
    let service = TicketingService::open(path).unwrap();
    let caller = service.act_for(child_variable("TICKETING_TEST_ORGANIZATION").parse().unwrap()).unwrap();
    let (event, ticket_type) = (child_variable("TICKETING_TEST_EVENT"), child_variable("TICKETING_TEST_TICKET_TYPE"));
    let (event, ticket_type) = (event.parse().unwrap(), ticket_type.parse().unwrap());
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            wait_for_parent();
            stop.store(true, Ordering::SeqCst);
        });
        let mut sold = 0;
        while !stop.load(Ordering::SeqCst) {
            sold += service.create_order(&caller, new_order(event, ticket_type, 5)).unwrap().issued_tickets.len();
            send_to_parent(sold);
        }
    });
}

#[test]
fn a_backup_while_another_process_writes_ends_too() {
    let (fixture, ticket_type) = filled_fixture();
    let mut command = child_process(CHILD, "sell");
    command
        .env("TICKETING_TEST_FILE", fixture.path())
        .env("TICKETING_TEST_ORGANIZATION", fixture.caller.organization().to_string())
        .env("TICKETING_TEST_EVENT", fixture.default_event().id.to_string())
        .env("TICKETING_TEST_TICKET_TYPE", ticket_type.id.to_string());
    let mut seller = ChildProcess::start(command);
    assert_eq!(seller.next_message().as_deref(), Some("5"));
    let copy = in_folder_of(&fixture, "copy.db");
    let mut orders_between = 0;
    fixture
        .service
        .backup(&copy, |_| {
            // What it said and nobody heard yet may be older than the copy: two more are not all of that.
            orders_between += i64::from(seller.next_message().is_some());
            orders_between += i64::from(seller.next_message().is_some());
        })
        .unwrap();
    assert!(orders_between > 4);
    seller.send("stop");
    let (status, said) = seller.finish();
    assert!(status.success());
    let sold: i64 = said.last().unwrap().parse().unwrap();
    assert_eq!(tickets(&fixture.path()), TICKETS + sold);
    let copied = tickets(&copy);
    assert!((TICKETS + 5..=TICKETS + sold).contains(&copied) && copied % 5 == 0, "{copied} of {sold}");
    assert_clean(&copy);
}

/// The restart that holding one state prevents: SQLite begins anew whenever its source has changed.
#[test]
fn control_a_copy_that_holds_no_state_begins_anew_after_each_write() {
    let (fixture, ticket_type) = filled_fixture();
    let source = rusqlite::Connection::open(fixture.path()).unwrap();
    let mut target = rusqlite::Connection::open(in_folder_of(&fixture, "copy.db")).unwrap();
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
fn what_is_there_already_is_refused_and_left_as_it_is() {
    let (fixture, _) = filled_fixture();
    let name = |name: &str| in_folder_of(&fixture, name);
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
    let before = others(fixture.folder().path());
    for target in targets {
        let error = backup(&fixture, &target).unwrap_err();
        assert_eq!(error.fields().iter().map(|field| field.path.as_str()).collect::<Vec<_>>(), ["path"], "{target:?}");
    }
    assert_eq!(others(fixture.folder().path()), before);
    assert_eq!(std::fs::read_to_string(name("letter.txt")).unwrap(), "Dear Ada");
    assert!(!name("ticketing.db-journal").exists());
}

#[test]
fn a_name_that_is_taken_while_the_copy_is_made_is_not_overwritten() {
    let (fixture, _) = filled_fixture();
    let copy = in_folder_of(&fixture, "copy.db");
    let error = fixture.service.backup(&copy, |_| std::fs::write(&copy, "Dear Ada").unwrap()).unwrap_err();
    assert_eq!(error.fields()[0].path, "path");
    assert_eq!(std::fs::read_to_string(&copy).unwrap(), "Dear Ada");
    assert_eq!(others(fixture.folder().path()), ["copy.db"]);
}

#[test]
fn of_two_backups_to_one_name_at_once_one_is_made() {
    let (fixture, _) = filled_fixture();
    let copy = in_folder_of(&fixture, "copy.db");
    let made = run_at_once(2, |_| backup(&fixture, &copy));
    assert_eq!(made.iter().filter(|made| made.is_ok()).count(), 1, "{made:?}");
    assert!(made.iter().flat_map(|made| made.as_ref().err()).all(|error| error.fields()[0].path == "path"));
    assert_eq!(others(fixture.folder().path()), ["copy.db"]);
    assert_clean(&copy);
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let (fixture, _) = filled_fixture();
    let error = backup(&fixture, &in_folder_of(&fixture, "no-such-folder/copy.db")).unwrap_err();
    let Error::Store(StoreError::CannotCopy(text)) = error else { panic!("{error:?}") };
    assert!(text.contains("no-such-folder/copy.db"), "{text}");
}

#[test]
fn a_progress_that_panics_leaves_nothing_and_the_next_backup_works() {
    let (fixture, _) = filled_fixture();
    let copy = in_folder_of(&fixture, "copy.db");
    let panicking = || fixture.service.backup(&copy, |_| panic!("on purpose"));
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(panicking)).unwrap_err();
    assert_eq!(others(fixture.folder().path()), [""; 0]);
    backup(&fixture, &copy).unwrap();
    assert_clean(&copy);
}

/// Waits after each piece, so that it can be killed in between.
fn back_up_slowly() {
    let service = TicketingService::open(PathBuf::from(child_variable("TICKETING_TEST_FILE"))).unwrap();
    let made = service.backup(child_variable("TICKETING_TEST_COPY"), |progress| {
        send_to_parent(progress.pages);
        wait_for_parent();
    });
    send_to_parent(made.unwrap().pages);
}

#[test]
fn a_backup_that_is_killed_midway_leaves_no_file_under_its_name_and_the_next_one_works() {
    let (fixture, ticket_type) = filled_fixture();
    let copy = in_folder_of(&fixture, "copy.db");
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
        // The store does not mind.
        fixture.try_order(&ticket_type, 1).unwrap();
    }
    assert!(
        others(fixture.folder().path()).iter().all(|name| name.starts_with("copy.db.") && name.ends_with(".partial"))
    );
    backup(&fixture, &copy).unwrap();
    assert_clean(&copy);
}

/// The mount is gone with the name space of this process.
fn back_up_to_a_full_disk() {
    let (fixture, ticket_type) = filled_fixture();
    let small = in_folder_of(&fixture, "small");
    std::fs::create_dir(&small).unwrap();
    let mount = ["-t", "tmpfs", "-o", "size=1m", "ticketing-test", small.to_str().unwrap()];
    if !std::process::Command::new("mount").args(mount).status().is_ok_and(|status| status.success()) {
        return send_to_parent("skipped: nothing can be mounted");
    }
    let error = backup(&fixture, &small.join("copy.db")).unwrap_err();
    assert_eq!(error, Error::Store(StoreError::Full));
    assert_eq!(std::fs::read_dir(&small).unwrap().count(), 0);
    fixture.try_order(&ticket_type, 1).unwrap();
    std::process::Command::new("umount").arg(&small).status().unwrap();
    send_to_parent("done");
}

/// The parent took the right to write into the folder away.
fn back_up_where_it_is_not_allowed() {
    let (fixture, ticket_type) = filled_fixture();
    let folder = in_folder_of(&fixture, "folder");
    std::fs::create_dir(&folder).unwrap();
    let mut permissions = std::fs::metadata(&folder).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&folder, permissions).unwrap();
    let error = backup(&fixture, &folder.join("copy.db")).unwrap_err();
    let Error::Store(StoreError::CannotCopy(text)) = error else { panic!("{error:?}") };
    assert!(text.contains("copy.db") && text.contains("denied"), "{text}");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    fixture.try_order(&ticket_type, 1).unwrap();
    send_to_parent("done");
}

/// Runs the child behind another command; `None` where this machine has none such, or does not allow it.
#[cfg(unix)]
fn run_child(role: &str, wrapper: &[&str]) -> Option<Vec<String>> {
    let mut probe = std::process::Command::new(wrapper[0]);
    if !probe.args(&wrapper[1..]).arg("true").output().is_ok_and(|output| output.status.success()) {
        return None;
    }
    let inner = child_process(CHILD, role);
    let mut command = std::process::Command::new(wrapper[0]);
    command.args(&wrapper[1..]).arg(inner.get_program()).args(inner.get_args());
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let (status, said) = ChildProcess::start(command).finish();
    assert!(status.success(), "{status}");
    Some(said)
}

#[cfg(unix)]
#[test]
fn a_full_disk_leaves_nothing_of_a_copy() {
    match run_child("full disk", &["unshare", "--user", "--map-root-user", "--mount"]) {
        Some(said) => eprintln!("{}", said.join(" ")),
        None => eprintln!("skipped: there is no unshare here, or it is not allowed"),
    }
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_to_leaves_nothing_of_a_copy() {
    let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let root = std::process::Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n");
    // Permissions do not bind root.
    let said = if root { run_child("not allowed", &nobody) } else { run_child("not allowed", &["env"]) };
    match said {
        Some(said) => assert_eq!(said, ["done"]),
        None => eprintln!("skipped: root cannot become somebody else here"),
    }
}

#[test]
fn what_was_written_meanwhile_is_moved_into_the_store_when_a_backup_ends_and_not_by_the_next_order() {
    let (fixture, ticket_type) = filled_fixture();
    // What was written before is in the store, and only what comes now is moved. The service's own checkpoint may be at it.
    while fixture.database().value::<i64>("PRAGMA wal_checkpoint(TRUNCATE)") != 0 {
        std::thread::yield_now();
    }
    let length = || std::fs::metadata(fixture.path()).unwrap().len();
    let before = length();
    let mut orders = 100;
    let copy = in_folder_of(&fixture, "copy.db");
    fixture
        .service
        .backup(copy, |_| {
            (0..std::mem::take(&mut orders)).for_each(|_| drop(fixture.try_order(&ticket_type, 10).unwrap()));
            assert_eq!(length(), before, "nothing can be moved while the copy is made");
        })
        .unwrap();
    assert!(length() > before);
}

#[test]
fn the_disk_gets_back_what_the_log_grew_by_beside_a_long_backup() {
    const LIMIT: u64 = 96 << 20;
    let (fixture, ticket_type) = filled_fixture();
    let log = PathBuf::from(format!("{}-wal", fixture.path().display()));
    let length = || std::fs::metadata(&log).unwrap().len();
    let mut during = 0;
    let copy = in_folder_of(&fixture, "copy.db");
    fixture
        .service
        .backup(copy, |_| {
            for letter in ["y", "z"].iter().cycle().take(32) {
                if during > LIMIT {
                    return;
                }
                let text = Some(letter.repeat(8 << 20));
                let change = ticketing::UpdateEvent { description: ticketing::Change::Set(text), ..Default::default() };
                fixture.service.update_event(&fixture.caller, fixture.default_event().id, change).unwrap();
                during = length();
            }
        })
        .unwrap();
    assert!(during > LIMIT, "nothing of it can be moved while the copy is made: {during}");
    let shrunk = (0..100).any(|_| {
        fixture.try_order(&ticket_type, 1).unwrap();
        length() <= LIMIT
    });
    assert!(shrunk, "{}", length());
}
