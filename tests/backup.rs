//! Copies of a store: made while threads and processes write, whole or not there at all.

#[path = "common/load.rs"]
mod load;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use load::{Running, Shop, assert_sound, at_once, child, order_of, role, say, sql, value, wait_for_a_word};
use ticketing::{BackupProgress, Error, Result, StoreError, TicketTypeId, TicketingService};

const CHILD: &str = "a_child_process_plays_its_part";

fn variable(name: &str) -> String {
    std::env::var(name).unwrap()
}

#[test]
fn a_child_process_plays_its_part() {
    match role().as_deref() {
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
fn filled_shop() -> (Shop, TicketTypeId) {
    let shop = Shop::open();
    let seats = shop.seats(0, 1_000_000);
    at_once(4, |_| (0..15).for_each(|_| drop(shop.order(seats, 10).unwrap())));
    let text = "x".repeat(8 << 20);
    let change = ticketing::UpdateEvent { description: ticketing::Change::Set(Some(text)), ..Default::default() };
    shop.service.update_event(&shop.caller, shop.event.id, change).unwrap();
    (shop, seats)
}

fn in_folder_of(shop: &Shop, name: &str) -> PathBuf {
    shop.folder.path().join(name)
}

fn backup(shop: &Shop, to: &Path) -> Result<BackupProgress> {
    shop.service.backup(to, |_| {})
}

/// The names in a folder, without those of the store itself.
fn others(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| !name.starts_with("ticketing.db")).collect()
}

fn tickets(path: &Path) -> i64 {
    value(&sql(path), "SELECT COUNT(*) FROM tickets")
}

fn assert_clean(path: &Path) {
    let report = TicketingService::open(path).unwrap().check().unwrap();
    assert!(report.is_clean(), "{:#?}", report.findings);
    assert_sound(&sql(path));
}

#[test]
fn a_copy_is_a_database_like_the_store_and_progress_grows_to_its_size() {
    let (shop, _) = filled_shop();
    let copy = in_folder_of(&shop, "copy.db");
    let mut seen: Vec<BackupProgress> = Vec::new();
    let done = shop.service.backup(&copy, |progress| seen.push(progress)).unwrap();
    assert_eq!(others(shop.folder.path()), ["copy.db"]);
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
    let caller = service.act_for(shop.caller.organization()).unwrap();
    assert_eq!(service.get_event(&caller, shop.event.id).unwrap().title, "Summer Night");
}

#[cfg(unix)]
#[test]
fn a_copy_is_as_private_as_the_store_from_its_first_byte_on() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let (shop, _) = filled_shop();
    for wanted in [0o600, 0o640, 0o644] {
        std::fs::set_permissions(&shop.path, std::fs::Permissions::from_mode(wanted)).unwrap();
        let copy = in_folder_of(&shop, &format!("{wanted:o}.db"));
        let mut partial = Vec::new();
        let folder = shop.folder.path();
        let look = |_| {
            let names = others(folder).into_iter().filter(|name| name.ends_with(".partial"));
            partial.extend(names.map(|name| mode(&folder.join(name))));
        };
        shop.service.backup(&copy, look).unwrap();
        assert!(!partial.is_empty() && partial.iter().all(|found| *found == wanted), "{partial:?}");
        assert_eq!(mode(&copy), wanted);
    }
}

#[test]
fn a_backup_beside_a_busy_writer_ends_and_is_the_state_of_the_moment_it_began() {
    let (shop, seats) = filled_shop();
    let (done, sold) = (AtomicBool::new(false), AtomicI64::new(TICKETS));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                shop.order(seats, 10).unwrap();
                sold.fetch_add(10, Ordering::SeqCst);
            }
        });
        let copies: Vec<_> = (0..3).map(|number| in_folder_of(&shop, &format!("copy{number}.db"))).collect();
        let mut made = Vec::new();
        for copy in &copies {
            let before = sold.load(Ordering::SeqCst);
            let mut at_first = None;
            let result = shop.service.backup(copy, |_| {
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
    let path = PathBuf::from(variable("TICKETING_TEST_FILE"));
    let service = TicketingService::open(path).unwrap();
    let caller = service.act_for(variable("TICKETING_TEST_ORGANIZATION").parse().unwrap()).unwrap();
    let (event, seats) = (variable("TICKETING_TEST_EVENT"), variable("TICKETING_TEST_SEATS"));
    let (event, seats) = (event.parse().unwrap(), seats.parse().unwrap());
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            wait_for_a_word();
            stop.store(true, Ordering::SeqCst);
        });
        let mut sold = 0;
        while !stop.load(Ordering::SeqCst) {
            sold += service.create_order(&caller, order_of(event, seats, 5)).unwrap().issued_tickets.len();
            say(sold);
        }
    });
}

#[test]
fn a_backup_while_another_process_writes_ends_too() {
    let (shop, seats) = filled_shop();
    let mut command = child(CHILD, "sell");
    command
        .env("TICKETING_TEST_FILE", &shop.path)
        .env("TICKETING_TEST_ORGANIZATION", shop.caller.organization().to_string())
        .env("TICKETING_TEST_EVENT", shop.event.id.to_string())
        .env("TICKETING_TEST_SEATS", seats.to_string());
    let mut seller = Running::start(command);
    assert_eq!(seller.next().as_deref(), Some("5"));
    let copy = in_folder_of(&shop, "copy.db");
    let mut orders_between = 0;
    shop.service
        .backup(&copy, |_| {
            // What it said and nobody heard yet may be older than the copy: two more are not all of that.
            orders_between += i64::from(seller.next().is_some());
            orders_between += i64::from(seller.next().is_some());
        })
        .unwrap();
    assert!(orders_between > 4);
    seller.tell("stop");
    let (status, said) = seller.rest();
    assert!(status.success());
    let sold: i64 = said.last().unwrap().parse().unwrap();
    assert_eq!(tickets(&shop.path), TICKETS + sold);
    let copied = tickets(&copy);
    assert!((TICKETS + 5..=TICKETS + sold).contains(&copied) && copied % 5 == 0, "{copied} of {sold}");
    assert_clean(&copy);
}

/// The restart that holding one state prevents: SQLite begins anew whenever its source has changed.
#[test]
fn control_a_copy_that_holds_no_state_begins_anew_after_each_write() {
    let (shop, seats) = filled_shop();
    let source = sql(&shop.path);
    let mut target = rusqlite::Connection::open(in_folder_of(&shop, "copy.db")).unwrap();
    let copy = rusqlite::backup::Backup::new(&source, &mut target).unwrap();
    for held in [false, true] {
        if held {
            source.execute_batch("BEGIN").unwrap();
            value::<i64>(&source, "SELECT COUNT(*) FROM sqlite_schema");
        }
        let mut left = Vec::new();
        for _ in 0..4 {
            assert_eq!(copy.step(64).unwrap(), rusqlite::backup::StepResult::More);
            left.push(copy.progress().remaining);
            shop.order(seats, 1).unwrap();
        }
        assert_eq!(left.windows(2).all(|two| two[0] > two[1]), held, "{left:?}");
    }
}

#[test]
fn what_is_there_already_is_refused_and_left_as_it_is() {
    let (shop, _) = filled_shop();
    let name = |name: &str| in_folder_of(&shop, name);
    std::fs::write(name("letter.txt"), "Dear Ada").unwrap();
    std::fs::create_dir(name("folder")).unwrap();
    std::fs::write(name("old.db-wal"), "a log").unwrap();
    let mut targets =
        vec![name("letter.txt"), name("folder"), name("old.db"), name("new/"), name(".."), PathBuf::new()];
    targets.push(shop.path.clone());
    targets.push(name("folder/../ticketing.db"));
    targets.extend(["-wal", "-shm", "-journal"].map(|end| name(&format!("ticketing.db{end}"))));
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&shop.path, name("link.db")).unwrap();
        std::os::unix::fs::symlink(name("nothing"), name("dangling.db")).unwrap();
        targets.extend([name("link.db"), name("dangling.db")]);
    }
    let before = others(shop.folder.path());
    for target in targets {
        let error = backup(&shop, &target).unwrap_err();
        assert_eq!(error.fields().iter().map(|field| field.path.as_str()).collect::<Vec<_>>(), ["path"], "{target:?}");
    }
    assert_eq!(others(shop.folder.path()), before);
    assert_eq!(std::fs::read_to_string(name("letter.txt")).unwrap(), "Dear Ada");
    assert!(!name("ticketing.db-journal").exists());
}

#[test]
fn a_name_that_is_taken_while_the_copy_is_made_is_not_overwritten() {
    let (shop, _) = filled_shop();
    let copy = in_folder_of(&shop, "copy.db");
    let error = shop.service.backup(&copy, |_| std::fs::write(&copy, "Dear Ada").unwrap()).unwrap_err();
    assert_eq!(error.fields()[0].path, "path");
    assert_eq!(std::fs::read_to_string(&copy).unwrap(), "Dear Ada");
    assert_eq!(others(shop.folder.path()), ["copy.db"]);
}

#[test]
fn of_two_backups_to_one_name_at_once_one_is_made() {
    let (shop, _) = filled_shop();
    let copy = in_folder_of(&shop, "copy.db");
    let made = at_once(2, |_| backup(&shop, &copy));
    assert_eq!(made.iter().filter(|made| made.is_ok()).count(), 1, "{made:?}");
    assert!(made.iter().flat_map(|made| made.as_ref().err()).all(|error| error.fields()[0].path == "path"));
    assert_eq!(others(shop.folder.path()), ["copy.db"]);
    assert_clean(&copy);
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let (shop, _) = filled_shop();
    let error = backup(&shop, &in_folder_of(&shop, "no-such-folder/copy.db")).unwrap_err();
    let Error::Store(StoreError::CannotCopy(text)) = error else { panic!("{error:?}") };
    assert!(text.contains("no-such-folder/copy.db"), "{text}");
}

#[test]
fn a_progress_that_panics_leaves_nothing_and_the_next_backup_works() {
    let (shop, _) = filled_shop();
    let copy = in_folder_of(&shop, "copy.db");
    let panicking = || shop.service.backup(&copy, |_| panic!("on purpose"));
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(panicking)).unwrap_err();
    assert_eq!(others(shop.folder.path()), [""; 0]);
    backup(&shop, &copy).unwrap();
    assert_clean(&copy);
}

/// Waits after each piece, so that it can be killed in between.
fn back_up_slowly() {
    let service = TicketingService::open(PathBuf::from(variable("TICKETING_TEST_FILE"))).unwrap();
    let made = service.backup(variable("TICKETING_TEST_COPY"), |progress| {
        say(progress.pages);
        wait_for_a_word();
    });
    say(made.unwrap().pages);
}

#[test]
fn a_backup_that_is_killed_midway_leaves_no_file_under_its_name_and_the_next_one_works() {
    let (shop, seats) = filled_shop();
    let copy = in_folder_of(&shop, "copy.db");
    for pieces in 1..3 {
        let mut command = child(CHILD, "back up");
        command.env("TICKETING_TEST_FILE", &shop.path).env("TICKETING_TEST_COPY", &copy);
        let mut running = Running::start(command);
        for _ in 0..pieces {
            assert!(running.next().is_some());
            if pieces > 1 {
                running.tell("on");
            }
        }
        running.child.kill().unwrap();
        running.rest();
        assert!(!copy.exists());
        // The store does not mind.
        shop.order(seats, 1).unwrap();
    }
    assert!(others(shop.folder.path()).iter().all(|name| name.starts_with("copy.db.") && name.ends_with(".partial")));
    backup(&shop, &copy).unwrap();
    assert_clean(&copy);
}

/// The mount is gone with the name space of this process.
fn back_up_to_a_full_disk() {
    let (shop, seats) = filled_shop();
    let small = in_folder_of(&shop, "small");
    std::fs::create_dir(&small).unwrap();
    let mount = ["-t", "tmpfs", "-o", "size=1m", "ticketing-test", small.to_str().unwrap()];
    if !std::process::Command::new("mount").args(mount).status().is_ok_and(|status| status.success()) {
        return say("skipped: nothing can be mounted");
    }
    let error = backup(&shop, &small.join("copy.db")).unwrap_err();
    assert_eq!(error, Error::Store(StoreError::Full));
    assert_eq!(std::fs::read_dir(&small).unwrap().count(), 0);
    shop.order(seats, 1).unwrap();
    std::process::Command::new("umount").arg(&small).status().unwrap();
    say("done");
}

/// The parent took the right to write into the folder away.
fn back_up_where_it_is_not_allowed() {
    let (shop, seats) = filled_shop();
    let folder = in_folder_of(&shop, "folder");
    std::fs::create_dir(&folder).unwrap();
    let mut permissions = std::fs::metadata(&folder).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&folder, permissions).unwrap();
    let error = backup(&shop, &folder.join("copy.db")).unwrap_err();
    let Error::Store(StoreError::CannotCopy(text)) = error else { panic!("{error:?}") };
    assert!(text.contains("copy.db") && text.contains("denied"), "{text}");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    shop.order(seats, 1).unwrap();
    say("done");
}

/// Runs the child behind another command; `None` where this machine has none such, or does not allow it.
#[cfg(unix)]
fn run_child(role: &str, wrapper: &[&str]) -> Option<Vec<String>> {
    let mut probe = std::process::Command::new(wrapper[0]);
    if !probe.args(&wrapper[1..]).arg("true").output().is_ok_and(|output| output.status.success()) {
        return None;
    }
    let inner = child(CHILD, role);
    let mut command = std::process::Command::new(wrapper[0]);
    command.args(&wrapper[1..]).arg(inner.get_program()).args(inner.get_args());
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let (status, said) = Running::start(command).rest();
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
    let (shop, seats) = filled_shop();
    // What was written before is in the store, and only what comes now is moved. The service's own checkpoint may be at it.
    while value::<i64>(&sql(&shop.path), "PRAGMA wal_checkpoint(TRUNCATE)") != 0 {
        std::thread::yield_now();
    }
    let length = || std::fs::metadata(&shop.path).unwrap().len();
    let before = length();
    let mut orders = 100;
    let copy = in_folder_of(&shop, "copy.db");
    shop.service
        .backup(copy, |_| {
            (0..std::mem::take(&mut orders)).for_each(|_| drop(shop.order(seats, 10).unwrap()));
            assert_eq!(length(), before, "nothing can be moved while the copy is made");
        })
        .unwrap();
    assert!(length() > before);
}

#[test]
fn the_disk_gets_back_what_the_log_grew_by_beside_a_long_backup() {
    const LIMIT: u64 = 96 << 20;
    let (shop, seats) = filled_shop();
    let log = PathBuf::from(format!("{}-wal", shop.path.display()));
    let length = || std::fs::metadata(&log).unwrap().len();
    let mut during = 0;
    let copy = in_folder_of(&shop, "copy.db");
    shop.service
        .backup(copy, |_| {
            for letter in ["y", "z"].iter().cycle().take(32) {
                if during > LIMIT {
                    return;
                }
                let text = Some(letter.repeat(8 << 20));
                let change = ticketing::UpdateEvent { description: ticketing::Change::Set(text), ..Default::default() };
                shop.service.update_event(&shop.caller, shop.event.id, change).unwrap();
                during = length();
            }
        })
        .unwrap();
    assert!(during > LIMIT, "nothing of it can be moved while the copy is made: {during}");
    let shrunk = (0..100).any(|_| {
        shop.order(seats, 1).unwrap();
        length() <= LIMIT
    });
    assert!(shrunk, "{}", length());
}
