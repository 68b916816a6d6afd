//! Restoring a backup, and looking at a database file without changing it.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use ticketing::error::StoreErrorKind;
use ticketing::organization::CreateOrganization;
use ticketing::{Error, Result, TicketingService};

use crate::common::processes::{child_role, child_variable, run_child_by, send_to_parent};
use crate::common::*;
use crate::storage::upgrade::file_of_0_3_0;

const CHILD: &str = concat!(module_path!(), "::a_child_process_plays_its_role");

#[test]
#[ignore = "other tests start it"]
fn a_child_process_plays_its_role() {
    match child_role().as_str() {
        "read-only" => check_in_a_read_only_folder(),
        other => panic!("{other}"),
    }
}

/// A backup with four tickets, and the files that a killed process left behind: a database with 16 tickets, and its
/// write-ahead log, which was restarted before the last of them.
struct Killed {
    folder: TempDir,
}

const SOLD_BEFORE: i64 = 4;
const SOLD: i64 = 16;

impl Killed {
    fn new() -> Self {
        let fixture = Fixture::new();
        let ticket_type = fixture.new_ticket_type(0, 1000);
        let killed = Self { folder: tempfile::tempdir().unwrap() };
        fixture.order(&ticket_type, 4);
        fixture.service.backup(killed.backup(), |_| ControlFlow::Continue(())).unwrap();
        fixture.order(&ticket_type, 4);
        restart_wal(&fixture);
        fixture.order(&ticket_type, 4);
        restart_wal(&fixture);
        // The second transaction after the log was restarted by another program writes the header to it.
        fixture.order(&ticket_type, 2);
        fixture.order(&ticket_type, 2);
        // The files as they are, and not a backup.
        for suffix in ["", "-wal"] {
            std::fs::copy(with_suffix(&fixture.path(), suffix), with_suffix(&killed.database(), suffix)).unwrap();
        }
        assert!(std::fs::metadata(killed.wal()).unwrap().len() > 0);
        killed
    }

    fn backup(&self) -> PathBuf {
        self.folder.path().join("backup.db")
    }

    fn database(&self) -> PathBuf {
        self.folder.path().join("killed.db")
    }

    fn wal(&self) -> PathBuf {
        with_suffix(&self.database(), "-wal")
    }

    fn restore(&self) -> Result<()> {
        TicketingService::restore(self.backup(), self.database())
    }

    /// The names in the folder, without the backup.
    fn files(&self) -> Vec<String> {
        let names = std::fs::read_dir(self.folder.path()).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.filter(|name| name != "backup.db").collect();
        names.sort();
        names
    }

    /// The bytes of the database and of its log.
    fn bytes(&self) -> (Vec<u8>, Vec<u8>) {
        (std::fs::read(self.database()).unwrap(), std::fs::read(self.wal()).unwrap())
    }

    fn assert_restored(&self) {
        assert_eq!(self.files(), ["killed.db"]);
        assert_sound(&self.database());
        assert_eq!(tickets(&self.database()), SOLD_BEFORE);
    }
}

/// Makes a backup one that must not be restored.
type Damage = Box<dyn Fn(&Path)>;

/// Moves the whole log into the database, so that the next commit begins a new one.
fn restart_wal(fixture: &Fixture) {
    while fixture.database().value::<i64>("PRAGMA wal_checkpoint(RESTART)") != 0 {
        std::thread::yield_now();
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn tickets(path: &Path) -> i64 {
    Database::open(path).value("SELECT COUNT(*) FROM tickets")
}

fn assert_sound(path: &Path) {
    let report = TicketingService::open(path).unwrap().check().unwrap();
    assert!(report.is_clean(), "{:#?}", report.findings);
}

#[track_caller]
fn store_error(result: Result<()>) -> StoreErrorKind {
    match result {
        Err(Error::Store(error)) => error.kind().clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_restored_database_has_what_the_backup_has_and_nothing_else() {
    let killed = Killed::new();
    killed.restore().unwrap();
    assert_eq!(killed.files(), ["killed.db"]);
    assert_eq!(tickets(&killed.backup()), SOLD_BEFORE);
    killed.assert_restored();
}

#[test]
fn the_database_of_a_killed_process_has_every_sale() {
    let killed = Killed::new();
    assert_sound(&killed.database());
    assert_eq!(tickets(&killed.database()), SOLD);
}

#[test]
fn a_backup_that_was_copied_over_the_database_is_not_combined_with_its_log() {
    let killed = Killed::new();
    std::fs::copy(killed.backup(), killed.database()).unwrap();
    let before = killed.bytes();
    for _ in 0..2 {
        let kind = store_error(TicketingService::open(killed.database()).map(drop));
        assert!(
            matches!(kind, StoreErrorKind::ForeignLog(_)) && kind.to_string().contains("command restore"),
            "{kind}"
        );
        assert!(TicketingService::check_file(killed.database()).is_err());
        assert!(killed.bytes() == before);
    }
    killed.restore().unwrap();
    killed.assert_restored();
}

/// Without the refusal, SQLite combines the two files.
#[test]
fn control_a_backup_and_the_log_of_another_file_make_a_damaged_database() {
    let killed = Killed::new();
    std::fs::copy(killed.backup(), killed.database()).unwrap();
    // The header that the log has for the file.
    let header = |path: &Path| Database::open(path).value::<i64>("PRAGMA schema_version");
    assert_ne!(header(&killed.backup()), header(&killed.database()));
}

#[test]
fn a_second_backup_is_told_from_the_one_that_was_restored() {
    let killed = Killed::new();
    killed.restore().unwrap();
    let [database, wal] = ["", "-wal"].map(|suffix| with_suffix(&killed.database(), suffix));
    let service = TicketingService::open(&database).unwrap();
    for _ in 0..20 {
        service.create_organization(CreateOrganization::default()).unwrap();
    }
    let log = std::fs::read(&wal).unwrap();
    drop(service);
    // As if it had been killed.
    std::fs::copy(killed.backup(), &database).unwrap();
    std::fs::write(&wal, log).unwrap();
    let kind = store_error(TicketingService::open(&database).map(drop));
    assert!(matches!(kind, StoreErrorKind::ForeignLog(_)), "{kind}");
}

#[cfg(unix)]
#[test]
fn a_restored_database_can_be_read_by_its_owner_only() {
    let killed = Killed::new();
    let everyone = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(killed.backup(), everyone).unwrap();
    killed.restore().unwrap();
    let permissions = std::fs::metadata(killed.database()).unwrap().permissions();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&permissions) & 0o777, 0o600);
}

#[test]
fn a_backup_is_restored_where_there_was_no_database() {
    let killed = Killed::new();
    std::fs::remove_file(killed.database()).unwrap();
    // The log of a database that was deleted.
    assert!(killed.wal().exists());
    killed.restore().unwrap();
    killed.assert_restored();
}

#[test]
fn a_database_that_is_open_is_not_replaced() {
    let killed = Killed::new();
    let service = TicketingService::open(killed.database()).unwrap();
    let StoreErrorKind::InUse(path) = store_error(killed.restore()) else { panic!("another error") };
    assert!(path.ends_with("killed.db"), "{path}");
    assert!(service.check().unwrap().is_clean());
    drop(service);
    assert_eq!(killed.files(), ["killed.db"]);
    assert_eq!(tickets(&killed.database()), SOLD);
    killed.restore().unwrap();
    killed.assert_restored();
}

#[test]
fn damaged_databases_and_logs_are_replaced() {
    for (name, bytes) in
        [("killed.db", b"no database".to_vec()), ("killed.db", Vec::new()), ("killed.db-wal", vec![7; 99_999])]
    {
        let killed = Killed::new();
        std::fs::write(killed.folder.path().join(name), bytes).unwrap();
        killed.restore().unwrap();
        killed.assert_restored();
    }
}

#[test]
fn the_marker_of_a_failed_sync_is_removed_with_the_old_file() {
    let killed = Killed::new();
    std::fs::write(with_suffix(&killed.database(), "-sync-failed"), "").unwrap();
    killed.restore().unwrap();
    killed.assert_restored();
}

#[test]
fn a_backup_that_is_not_right_replaces_nothing() {
    let change = |sql: &'static str| move |path: &Path| Database::open_without_constraints(path).run(sql);
    let damages: [(&str, Damage); 5] = [
        ("sold", Box::new(change("UPDATE ticket_types SET sold = sold + 1"))),
        ("schema version 4711", Box::new(change("PRAGMA user_version = 4711"))),
        ("another program", Box::new(change("PRAGMA application_id = 4711"))),
        ("not a database", Box::new(|path| std::fs::write(path, "Dear Ada").unwrap())),
        ("cannot be opened", Box::new(|path| std::fs::remove_file(path).unwrap())),
    ];
    for (name, damage) in damages {
        let killed = Killed::new();
        damage(&killed.backup());
        let before = killed.bytes();
        let kind = store_error(killed.restore());
        assert!(kind.to_string().contains("backup.db") && kind.to_string().contains(name), "{name}: {kind}");
        match kind {
            StoreErrorKind::Unsound { .. } => assert_eq!(name, "sold"),
            StoreErrorKind::CannotRestore { database, .. } => assert!(database.ends_with("killed.db"), "{database}"),
            other => panic!("{other:?}"),
        }
        assert!(killed.bytes() == before, "{name}: the old files are as they were");
        assert!(killed.files().iter().all(|file| !file.contains("partial")), "{:?}", killed.files());
    }
}

#[test]
fn a_database_is_not_restored_from_itself_or_over_that_of_another_program() {
    let killed = Killed::new();
    let error = TicketingService::restore(killed.database(), killed.database()).unwrap_err();
    assert_eq!(error.fields()[0].path, "backup");
    let other = killed.folder.path().join("other.db");
    Database::open(&other).run("PRAGMA application_id = 4711; CREATE TABLE letters (text TEXT)");
    let kind = store_error(TicketingService::restore(killed.backup(), &other));
    assert_eq!(kind, StoreErrorKind::ForeignDatabase(4711));
    assert_eq!(Database::open(&other).value::<i64>("SELECT COUNT(*) FROM letters"), 0);
}

#[test]
fn a_backup_of_0_3_0_is_checked_restored_and_migrated_when_it_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("ticketing.db");
    let backup = folder.path().join("old.db");
    std::fs::write(&backup, file_of_0_3_0()).unwrap();
    TicketingService::restore(&backup, &database).unwrap();
    assert_eq!(Database::open(&database).value::<i64>("PRAGMA user_version"), 39);
    assert_sound(&database);
}

#[test]
fn a_check_of_a_file_changes_nothing_in_it() {
    let killed = Killed::new();
    let old = killed.folder.path().join("old.db");
    std::fs::write(&old, file_of_0_3_0()).unwrap();
    for path in [old, killed.backup(), killed.database()] {
        let before = std::fs::read(&path).unwrap();
        let report = TicketingService::check_file(&path).unwrap();
        assert!(report.is_clean(), "{path:?}: {:#?}", report.findings);
        assert!(std::fs::read(&path).unwrap() == before, "{path:?}");
    }
    let names = std::fs::read_dir(killed.folder.path()).unwrap().count();
    assert_eq!(names, 5, "three databases, the log of one of them, and its index: {:?}", killed.files());
}

#[test]
fn a_check_of_an_older_file_finds_what_is_wrong_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let old = folder.path().join("old.db");
    std::fs::write(&old, file_of_0_3_0()).unwrap();
    Database::open_without_constraints(&old).run("UPDATE ticket_types SET sold = sold + 1");
    assert!(!TicketingService::check_file(&old).unwrap().is_clean());
}

#[test]
fn a_backup_of_an_older_file_keeps_its_schema() {
    let folder = tempfile::tempdir().unwrap();
    let (old, copy) = (folder.path().join("old.db"), folder.path().join("copy.db"));
    std::fs::write(&old, file_of_0_3_0()).unwrap();
    TicketingService::backup_file(&old, &copy, |_| ControlFlow::Continue(())).unwrap();
    for path in [&old, &copy] {
        assert_eq!(Database::open(path).value::<i64>("PRAGMA user_version"), 39);
    }
}

fn check_in_a_read_only_folder() {
    let folder = child_variable("TICKETING_TEST_FOLDER");
    for name in ["sound.db", "wrong.db", "old.db"] {
        let path = Path::new(&folder).join(name);
        assert!(std::fs::write(path.with_extension("new"), "").is_err(), "the folder is read-only");
        let report = TicketingService::check_file(&path).unwrap();
        send_to_parent(format_args!("{name} {}", report.counts.into_keys().collect::<Vec<_>>().join(",")));
    }
}

#[cfg(unix)]
#[test]
fn read_only_copies_in_read_only_folders_are_checked_completely() {
    use std::os::unix::fs::PermissionsExt;
    let killed = Killed::new();
    let folder = killed.folder.path();
    std::fs::copy(killed.backup(), folder.join("sound.db")).unwrap();
    std::fs::copy(killed.backup(), folder.join("wrong.db")).unwrap();
    std::fs::write(folder.join("old.db"), file_of_0_3_0()).unwrap();
    // Violates only a CHECK constraint, which SQLite does not verify in a read-only database.
    let wrong = Database::open_without_constraints(&folder.join("wrong.db"));
    wrong.run("UPDATE events SET page_views = -1");
    drop(wrong);
    for name in ["sound.db", "wrong.db", "old.db"] {
        std::fs::set_permissions(folder.join(name), PermissionsExt::from_mode(0o444)).unwrap();
    }
    std::fs::set_permissions(folder, PermissionsExt::from_mode(0o555)).unwrap();
    let variable = format!("TICKETING_TEST_FOLDER={}", folder.display());
    let root = std::process::Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n");
    // Permissions do not apply to root.
    let as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", &variable];
    let wrapper = if root { &as_nobody[..] } else { &as_nobody[4..] };
    match run_child_by(wrapper, CHILD, "read-only") {
        Some(messages) => assert_eq!(messages, ["sound.db ", "wrong.db integrity", "old.db "]),
        None => skipped("root cannot become another user here"),
    }
    std::fs::set_permissions(folder, PermissionsExt::from_mode(0o755)).unwrap();
}
