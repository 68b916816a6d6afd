//! The backups that a running server makes by itself.
#![cfg(all(feature = "program", unix))]

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use ticketing::TicketingService;

use crate::common::program::{Server, finish, program, text};
use crate::common::skipped;

/// The options of a server that backs up every second.
const EVERY_SECOND: [&str; 4] = ["--backup-folder", "backups", "--backup-every", "1s"];

/// The value of a metric.
fn metric(server: &Server, name: &str) -> u64 {
    let (status, metrics) = server.get("/metrics", "");
    assert_eq!(status, 200);
    let value = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.unwrap_or_else(|| panic!("{name}: {metrics}")).parse().unwrap()
}

/// Waits until a metric has at least this value.
fn wait_for(server: &Server, name: &str, value: u64) {
    let reached = (0..1200).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        metric(server, name) >= value
    });
    assert!(reached, "{name} did not become {value}");
}

/// The files in a folder, without the one that is locked during a backup.
fn files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name != "ticketing-backup.lock");
    names.sort();
    names
}

/// Starts a server in `folder`, whose log is the file `log` there.
fn start(folder: &Path, arguments: &[&str]) -> Server {
    let mut command = program(folder, &["--listen", "127.0.0.1:0"]);
    Server::start_program(command.args(arguments).stderr(File::create(folder.join("log")).unwrap()))
}

#[test]
fn the_newest_backups_are_kept_and_only_older_backups_are_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let backups = folder.path().join("backups");
    std::fs::create_dir(&backups).unwrap();
    let others = ["letter.txt", "ticketing-2020-01-01.db", "ticketing.db", "ticketing.db.schema-5"];
    let old = ["ticketing-2020-01-01T00-00-00Z.db", "ticketing-2020-01-01T00-00-00Z.db.unchecked.0A1B2C3D.partial"];
    for name in others.iter().chain(&old) {
        std::fs::write(backups.join(name), "Dear Ada").unwrap();
    }
    let server = start(folder.path(), &[&EVERY_SECOND[..], &["--backup-keep", "2"]].concat());
    wait_for(&server, "ticketing_backups_total", 3);
    assert_eq!(metric(&server, "ticketing_backups_failed_total"), 0);
    let organization = server.printed("Organization: ").unwrap().to_owned();
    assert_eq!(server.stop("TERM").0.code(), Some(0));

    let names = files(&backups);
    let (kept, made): (Vec<_>, Vec<_>) = names.into_iter().partition(|name| others.contains(&name.as_str()));
    assert_eq!(kept, others);
    // A backup is deleted after the next one: the server may have been stopped in between.
    assert!((2..=3).contains(&made.len()), "{made:?}");
    for name in &made {
        assert!(name.starts_with("ticketing-20") && name.ends_with("Z.db"), "{made:?}");
        let copy = backups.join(name);
        assert!(TicketingService::check_file(&copy).unwrap().is_clean(), "{name}");
        let copy = ["list-organizations", "--database", copy.to_str().unwrap()];
        assert!(text(&finish(&mut program(folder.path(), &copy)).stdout).contains(&organization), "{name}");
    }
    for other in others {
        assert_eq!(std::fs::read_to_string(backups.join(other)).unwrap(), "Dear Ada");
    }
    let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
    assert!(log.contains("INFO ticketing::maintenance: backup made and checked path=backups/ticketing-20"), "{log}");
}

#[test]
fn a_backup_that_fails_is_logged_and_counted_and_the_next_one_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let backups = folder.path().join("backups");
    std::fs::create_dir(&backups).unwrap();
    let server = start(folder.path(), &EVERY_SECOND);
    wait_for(&server, "ticketing_backups_total", 1);
    std::fs::rename(&backups, folder.path().join("away")).unwrap();
    wait_for(&server, "ticketing_backups_failed_total", 1);
    assert_eq!(server.get("/v1/events", server.key()).0, 200);
    let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
    assert!(log.contains("ERROR ticketing::maintenance: a backup failed, and will be tried again error="), "{log}");
    let before = metric(&server, "ticketing_backups_total");
    std::fs::rename(folder.path().join("away"), &backups).unwrap();
    wait_for(&server, "ticketing_backups_total", before + 1);
}

/// A backup of a damaged database has the same damage.
#[test]
fn a_backup_in_which_the_check_finds_a_problem_is_deleted_and_the_old_ones_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let backups = folder.path().join("backups");
    std::fs::create_dir(&backups).unwrap();
    let old: Vec<_> = (1..=3).map(|day| format!("ticketing-2020-01-0{day}T00-00-00Z.db")).collect();
    for name in &old {
        std::fs::write(backups.join(name), "").unwrap();
    }
    assert!(finish(&mut program(folder.path(), &["create-organization", "Cellar"])).status.success());
    let file = crate::common::Database::open(&folder.path().join("ticketing.db"));
    file.execute("UPDATE organizations SET timezone = 'Mars/Base'", []);
    drop(file);
    let server = start(folder.path(), &[&EVERY_SECOND[..], &["--backup-keep", "1"]].concat());
    wait_for(&server, "ticketing_backups_failed_total", 2);
    assert_eq!(metric(&server, "ticketing_backups_total"), 0);
    assert_eq!(server.stop("TERM").0.code(), Some(0));
    assert_eq!(files(&backups), old);
    let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
    assert!(log.contains("organization-settings"), "{log}");
}

/// The folder is a file system of 64 KiB, which only the server can see.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_no_file_and_the_server_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let backups = folder.path().join("backups");
    std::fs::create_dir(&backups).unwrap();
    let server = program(folder.path(), &["--listen", "127.0.0.1:0"]);
    let mut command = Command::new("unshare");
    command.args([
        "--user",
        "--map-root-user",
        "--mount",
        "sh",
        "-c",
        "mount -t tmpfs -o size=64k backups \"$0\" && exec \"$@\"",
    ]);
    command.arg(&backups).arg(server.get_program());
    let mut try_it = Command::new("unshare");
    try_it.args(["--user", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "x"]).arg(&backups);
    if !finish(&mut try_it).status.success() {
        return skipped("file systems cannot be mounted");
    }
    command.args(server.get_args()).args(EVERY_SECOND).current_dir(folder.path());
    let server = Server::start_program(command.stderr(File::create(folder.path().join("log")).unwrap()));
    wait_for(&server, "ticketing_backups_failed_total", 2);
    let seen_by_server =
        Path::new("/proc").join(server.id().to_string()).join("root").join(backups.strip_prefix("/").unwrap());
    // One may be written right now.
    let left = files(&seen_by_server);
    assert!(left.len() <= 1 && left.iter().all(|name| name.ends_with(".partial")), "{left:?}");
    assert_eq!(server.get("/v1/events", server.key()).0, 200);
    let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
    assert!(log.contains("full"), "{log}");
}

/// The key's name has 40 MB, so that a backup takes long enough to be interrupted.
#[test]
fn a_server_that_is_killed_in_its_backup_leaves_one_copy_and_the_next_one_waits() {
    const DAILY: [&str; 4] = ["--backup-folder", "backups", "--backup-every", "1d"];
    let folder = tempfile::tempdir().unwrap();
    let backups = folder.path().join("backups");
    std::fs::create_dir(&backups).unwrap();
    assert_eq!(start(folder.path(), &[]).stop("TERM").0.code(), Some(0));
    let file = crate::common::Database::open(&folder.path().join("ticketing.db"));
    file.execute("UPDATE api_keys SET name = HEX(RANDOMBLOB(20000000))", []);
    drop(file);

    let mut command = program(folder.path(), &["--listen", "127.0.0.1:0"]);
    let mut first = command.args(DAILY).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let has_begun = (0..60_000).any(|_| {
        std::thread::sleep(Duration::from_millis(1));
        !files(&backups).is_empty()
    });
    first.kill().unwrap();
    first.wait().unwrap();
    let left = files(&backups);
    assert!(has_begun && !left.is_empty() && left.iter().all(|name| name.contains(".unchecked")), "{left:?}");
    for _ in 0..3 {
        let server = start(folder.path(), &DAILY);
        let is_tidy = || {
            std::thread::sleep(Duration::from_millis(50));
            files(&backups) == left && left.iter().all(|name| backups.join(name).metadata().unwrap().len() == 0)
        };
        assert!((0..200).any(|_| is_tidy()), "the copy of the dead process is emptied: {:?}", files(&backups));
        assert!((0..30).all(|_| is_tidy()), "and no other one begins: {:?}", files(&backups));
        assert!(!server.stop("KILL").0.success());
    }
    for name in &left {
        let (_, rest) = name.split_once('Z').unwrap();
        std::fs::rename(backups.join(name), backups.join(format!("ticketing-2020-01-01T00-00-00Z{rest}"))).unwrap();
    }
    let server = start(folder.path(), &DAILY);
    wait_for(&server, "ticketing_backups_total", 1);
    assert!(files(&backups).iter().all(|name| name.ends_with("Z.db")), "{:?}", files(&backups));
}

#[test]
fn a_server_leaves_the_running_copy_of_another_one_alone() {
    let folder = tempfile::tempdir().unwrap();
    let backups = folder.path().join("backups");
    std::fs::create_dir(&backups).unwrap();
    let other = File::create(backups.join("ticketing-backup.lock")).unwrap();
    other.lock().unwrap();
    let running = backups.join("ticketing-2026-11-26T05-00-00Z.db.unchecked.0A1B2C3D.partial");
    std::fs::write(&running, "").unwrap();
    let server = start(folder.path(), &EVERY_SECOND);
    std::thread::sleep(Duration::from_millis(2500));
    assert_eq!(files(&backups), [running.file_name().unwrap().to_str().unwrap()]);
    assert_eq!(metric(&server, "ticketing_backups_failed_total"), 0);
    // It has ended.
    drop(other);
    wait_for(&server, "ticketing_backups_total", 1);
    assert!(!running.exists());
}

#[test]
fn options_of_backups_that_cannot_be_used_start_no_server() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, named) in [
        (&["--backup-folder", "none"][..], "--backup-folder: must be a folder that exists"),
        (&["--backup-every", "1h"], "--backup-folder"),
        (&["--backup-keep", "3"], "--backup-folder"),
        (&["--backup-folder", ".", "--backup-every", "1"], "--backup-every: must be a whole number and a unit"),
        (&["--backup-folder", ".", "--backup-every", "0h"], "--backup-every"),
        (&["--backup-folder", ".", "--backup-keep", "0"], "--backup-keep"),
    ] {
        let output = finish(&mut program(folder.path(), arguments));
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(named), "{arguments:?}: {error}");
        assert!(files(folder.path()).is_empty(), "{arguments:?}");
    }
}
