//! Failures of the database: foreign files, a full disk, corrupt values, operations that panic. Each has its own error,
//! and nothing that was acknowledged is missing afterwards.

use std::error::Error as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use ticketing::discount::CreateDiscount;
use ticketing::environment::{Clock, Entropy, ManualClock, SeededEntropy};
use ticketing::error::StoreErrorKind;
use ticketing::event::EventSettings;
use ticketing::payment::ManualMethod;
use ticketing::ticket::CheckInTicket;
use ticketing::ticket_type::{CreateTicketType, TicketType};
use ticketing::{Amount, DatabaseFile, Error, TicketingService, Timestamp};

use crate::common::invariants::assert_consistent;
use crate::common::processes::{child_role, run_child_by, send_to_parent};
use crate::common::threads::run_at_once;
use crate::common::*;

/// A clock and an entropy source that panic once when the test requests it. A free order uses both only inside its
/// transaction, on the thread that runs the transaction.
#[derive(Debug, Clone)]
struct PanickingEnvironment {
    clock: ManualClock,
    entropy: Arc<SeededEntropy>,
    clock_breaks: Arc<AtomicBool>,
    entropy_breaks: Arc<AtomicBool>,
}

impl PanickingEnvironment {
    fn new() -> Self {
        Self {
            clock: ManualClock::new(at(NOW)),
            entropy: Arc::new(SeededEntropy::new(1)),
            clock_breaks: Arc::default(),
            entropy_breaks: Arc::default(),
        }
    }

    fn check(breaks: &AtomicBool) {
        assert!(!breaks.swap(false, Ordering::SeqCst), "the test panics");
    }
}

impl Clock for PanickingEnvironment {
    fn now(&self) -> Timestamp {
        Self::check(&self.clock_breaks);
        self.clock.now()
    }

    fn monotonic(&self) -> Duration {
        self.clock.monotonic()
    }
}

impl Entropy for PanickingEnvironment {
    fn fill(&self, bytes: &mut [u8]) {
        Self::check(&self.entropy_breaks);
        self.entropy.fill(bytes);
    }
}

#[test]
fn an_operation_that_panics_is_rolled_back_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ticketing.db");
    let environment = PanickingEnvironment::new();
    let service =
        TicketingService::builder(&path).clock(environment.clone()).entropy(environment.clone()).open().unwrap();
    let caller = service.act_for(service.create_organization(Default::default()).unwrap().id).unwrap();
    let event = service.create_event(&caller, new_event(|_| {})).unwrap();
    let ticket_type = CreateTicketType::new("Seat", Amount::ZERO, 1000);
    let ticket_type = service.create_ticket_type(&caller, event.id, ticket_type).unwrap().id;
    let order = || service.create_order(&caller, new_order(event.id, ticket_type, 2));
    let broken = [&environment.clock_breaks, &environment.entropy_breaks];
    for breaks in broken {
        breaks.store(true, Ordering::SeqCst);
        // Other orders are running, and are committed in the same group.
        let results = run_at_once(16, |_| order());
        let failed: Vec<_> = results.iter().filter_map(|result| result.as_ref().err()).collect();
        assert!(matches!(failed[..], [Error::Internal(_)]), "{failed:?}");
        assert!(order().is_ok());
    }
    assert_eq!(service.get_ticket_type(&caller, ticket_type).unwrap().sold, 2 * (15 + 1) * 2);
    assert_consistent(&Database::open(&path));
}

#[test]
fn an_error_that_ends_the_transaction_is_reported_and_later_writes_succeed() {
    let fixture = Fixture::new();
    fixture.database().run(
        "CREATE TRIGGER ends_it BEFORE INSERT ON events BEGIN SELECT RAISE(ROLLBACK, 'the trigger has ended it'); END",
    );
    let failed = run_at_once(4, |_| fixture.service.create_event(&fixture.caller, new_event(|_| {})).unwrap_err());
    for error in failed {
        let Error::Store(error) = error else { panic!("{error:?}") };
        let StoreErrorKind::Failed(text) = error.kind() else { panic!("{error:?}") };
        assert!(text.contains("the trigger has ended it"), "{text}");
    }
    fixture.database().run("DROP TRIGGER ends_it");
    fixture.event();
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM events"), 1);
}

#[test]
fn writes_fail_as_busy_while_another_program_locks_the_file() {
    let fixture = Fixture::new();
    let ticket_type = fixture.new_ticket_type(0, 100);
    let other = fixture.database();
    other.run("BEGIN IMMEDIATE");
    let clock = ticketing::environment::SystemClock;
    let start = clock.monotonic();
    let results = run_at_once(8, |_| fixture.try_order(&ticket_type, 1));
    let waited = clock.monotonic() - start;
    for result in results {
        assert_eq!(result.unwrap_err(), Error::Unavailable(ticketing::error::Unavailable::Busy));
    }
    // The busy handler gives up after about five seconds: together they wait for it once or twice, and not eight times.
    assert!(Duration::from_secs(3) < waited && waited < Duration::from_secs(30), "{waited:?}");
    other.run("COMMIT");
    assert!(fixture.try_order(&ticket_type, 1).is_ok());
    assert_eq!(fixture.sold(&ticket_type), 1);
}

fn open_error(path: impl AsRef<Path>) -> StoreErrorKind {
    match TicketingService::open(path.as_ref()) {
        Err(Error::Store(error)) => error.kind().clone(),
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("the file was opened"),
    }
}

#[test]
fn a_file_that_is_not_a_database_is_refused_and_left_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("letter.txt");
    for content in ["Dear Ada".to_owned(), "x".repeat(512), "x".repeat(10_000)] {
        std::fs::write(&path, &content).unwrap();
        assert_eq!(open_error(&path), StoreErrorKind::NotADatabase(path.display().to_string()));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), content);
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn an_empty_file_becomes_a_database() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ticketing.db");
    std::fs::write(&path, "").unwrap();
    TicketingService::open(&path).unwrap().create_organization(Default::default()).unwrap();
}

#[test]
fn a_database_of_another_program_is_refused_and_left_unchanged() {
    let cases = [
        ("PRAGMA application_id = 77; CREATE TABLE theirs (a)", 77),
        ("PRAGMA application_id = 77; VACUUM", 77),
        ("CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)", 0),
        ("CREATE TABLE organizations (id INTEGER PRIMARY KEY)", 0),
        ("PRAGMA user_version = 1; VACUUM", 0),
        ("PRAGMA journal_mode = WAL; CREATE TABLE theirs (a)", 0),
    ];
    for (setup, id) in cases {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("other.db");
        Database::open(&path).run(setup);
        let before = std::fs::read(&path).unwrap();
        assert_eq!(open_error(&path), StoreErrorKind::ForeignDatabase(id), "{setup}");
        assert!(std::fs::read(&path).unwrap() == before, "{setup}");
    }
}

#[test]
fn the_log_of_another_program_is_left_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.db");
    let connection = Database::open(&path);
    connection.run("PRAGMA journal_mode = WAL; CREATE TABLE theirs (a)");
    // As the other program leaves it when it is killed.
    let copy = folder.path().join("copy.db");
    let log = |path: &Path| PathBuf::from(format!("{}-wal", path.display()));
    let content = [std::fs::read(&path).unwrap(), std::fs::read(log(&path)).unwrap()];
    assert!(!content[1].is_empty());
    std::fs::write(&copy, &content[0]).unwrap();
    std::fs::write(log(&copy), &content[1]).unwrap();
    assert_eq!(open_error(&copy), StoreErrorKind::ForeignDatabase(0));
    assert!(std::fs::read(&copy).unwrap() == content[0]);
    assert!(std::fs::read(log(&copy)).unwrap() == content[1]);
}

#[test]
fn a_newer_schema_is_refused_and_left_unchanged() {
    let (_folder, path) = Fixture::new().into_file();
    let connection = Database::open(&path);
    let known: i64 = connection.value("PRAGMA user_version");
    connection.run(&format!("PRAGMA user_version = {}", known + 1));
    drop(connection);
    let before = std::fs::read(&path).unwrap();
    assert_eq!(open_error(&path), StoreErrorKind::SchemaTooNew { found: known + 1, known });
    assert!(std::fs::read(&path).unwrap() == before);
}

#[test]
fn a_file_that_was_moved_is_refused_by_running_and_new_programs_until_that_is_undone() {
    let fixture = Fixture::new();
    let path = fixture.path();
    let version = || Database::open(&path).value::<i64>("PRAGMA user_version");
    let known = version();
    let running = &fixture.service;
    running.create_organization(Default::default()).unwrap();
    for _ in 0..2 {
        TicketingService::mark_as_moved(&path).unwrap();
    }
    assert!(version() > known, "programs of older versions refuse it too");
    let refused = [running.create_organization(Default::default()).map(drop), running.ready()];
    for refused in refused {
        let Err(Error::Store(error)) = refused else { panic!("{refused:?}") };
        assert_eq!(*error.kind(), StoreErrorKind::Moved);
        assert!(error.to_string().contains("copy --undo"), "{error}");
        assert_eq!(Error::Store(error).code(), "unavailable");
    }
    assert_eq!(*running.stopped().unwrap().kind(), StoreErrorKind::Moved);
    let organizations = running.list_organizations(Default::default()).unwrap();
    fixture.skip_final_check();
    let (_folder, path) = fixture.into_file();
    assert_eq!(open_error(&path), StoreErrorKind::Moved);
    assert!(
        matches!(TicketingService::check_file(&path), Err(Error::Store(error)) if *error.kind() == StoreErrorKind::Moved)
    );

    for _ in 0..2 {
        TicketingService::undo_move(&path).unwrap();
    }
    let service = TicketingService::open(&path).unwrap();
    assert_eq!(service.list_organizations(Default::default()).unwrap(), organizations);
    service.create_organization(Default::default()).unwrap();
    assert!(service.check().unwrap().is_clean());
    drop(service);
    let missing = path.with_extension("missing");
    TicketingService::mark_as_moved(&missing).unwrap_err();
    assert!(!missing.exists());
}

#[test]
fn a_page_view_that_could_not_be_stored_is_refused() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let view = || fixture.service.record_page_view(&fixture.caller, event.id);
    view().unwrap();
    fixture.service.run_maintenance().unwrap();
    assert_eq!(fixture.service.get_event(&fixture.caller, event.id).unwrap().page_views, 1);
    TicketingService::mark_as_moved(fixture.path()).unwrap();
    // This is where the service notices it.
    fixture.service.create_organization(Default::default()).unwrap_err();
    let Err(Error::Store(error)) = view() else { panic!("the view would be lost") };
    assert_eq!((error.kind(), Error::Store(error.clone()).code()), (&StoreErrorKind::Moved, "unavailable"));
    fixture.skip_final_check();
}

#[test]
fn a_path_where_no_file_can_be_is_named() {
    let folder = tempfile::tempdir().unwrap();
    for path in [folder.path().join("missing/ticketing.db"), folder.path().to_owned()] {
        let StoreErrorKind::CannotOpen(text) = open_error(&path) else { panic!() };
        assert!(text.contains(path.to_str().unwrap()), "{text}");
    }
    assert!(!folder.path().join("missing").exists());
}

#[test]
fn a_vfs_is_used_for_readers_too_and_an_unknown_one_is_named() {
    let folder = tempfile::tempdir().unwrap();
    // A path with characters that have a meaning in a URI.
    let path = folder.path().join("a b?c#d%41&vfs=x.db");
    let open = |vfs: &str| TicketingService::builder(DatabaseFile::new(&path).vfs(vfs)).open();
    for vfs in ["unix", "unix-excl"] {
        let service = open(vfs).unwrap();
        let organization = service.create_organization(Default::default()).unwrap();
        service.act_for(organization.id).unwrap();
    }
    assert!(path.exists());
    for (vfs, expected) in
        [("no such thing", "no such vfs: no such thing"), ("unix-dotfile", "WAL mode is not possible here")]
    {
        let folder = tempfile::tempdir().unwrap();
        let opened = TicketingService::builder(DatabaseFile::new(folder.path().join("ticketing.db")).vfs(vfs)).open();
        let Err(Error::Store(error)) = opened else { panic!("{opened:?}") };
        let StoreErrorKind::CannotOpen(text) = error.kind() else { panic!("{error:?}") };
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn the_last_handle_of_a_service_removes_the_log() {
    for round in 0..20 {
        let fixture = Fixture::new();
        let ticket_type = fixture.new_ticket_type(0, 100);
        let log = PathBuf::from(format!("{}-wal", fixture.path().display()));
        let clone = fixture.service.clone();
        let caller = fixture.caller.clone();
        let event = fixture.default_event().id;
        let path = fixture.path().clone();
        let folder = fixture.folder();
        drop(fixture);
        assert!(log.exists());
        // The readers are used on several threads.
        run_at_once(1 + round % 12, |_| clone.get_event(&caller, event).unwrap());
        clone.create_order(&caller, new_order(event, ticket_type.id, 1)).unwrap();
        drop(clone);
        assert!(!log.exists(), "round {round}");
        assert_consistent(&Database::open(&path));
        drop(folder);
    }
}

#[test]
fn readers_do_not_wait_for_writers() {
    let fixture = Fixture::new();
    let ticket_type = fixture.new_ticket_type(0, 100);
    let other = fixture.database();
    other.run("BEGIN IMMEDIATE; UPDATE ticket_types SET sold = 7");
    // It would fail as busy, as writes do.
    assert_eq!(fixture.sold(&ticket_type), 0);
    assert_eq!(
        fixture.try_order(&ticket_type, 1).unwrap_err(),
        Error::Unavailable(ticketing::error::Unavailable::Busy)
    );
    other.run("ROLLBACK");
}

/// Runs a statement that violates the CHECK constraints.
fn corrupt(path: &Path, statement: &str) {
    let connection = Database::open_without_constraints(path);
    assert_eq!(connection.execute(statement, []), 1, "{statement}");
}

#[test]
fn a_corrupt_value_is_reported_with_table_column_and_row() {
    let fixture = Fixture::new();
    let ticket_type = fixture.new_ticket_type(1250, 100);
    let order = fixture
        .service
        .create_order(&fixture.caller, new_order(fixture.default_event().id, ticket_type.id, 1))
        .unwrap()
        .order;
    let ticket = fixture.service.mark_order_paid(&fixture.caller, order.id, ManualMethod::Cash).unwrap().items[0]
        .issued_tickets[0]
        .clone();
    let service = &fixture.service;
    let caller = &fixture.caller;
    let scan = || service.check_in_ticket(caller, CheckInTicket::new(ticket.code.clone())).map(drop);
    let get_order = || service.get_order(caller, order.id).map(drop);
    let get_event = || service.get_event(caller, fixture.default_event().id).map(drop);
    let get_ticket_type = || service.get_ticket_type(caller, ticket_type.id).map(drop);
    let mut discount = CreateDiscount::percentage("EARLY", 10).event(fixture.default_event().id);
    discount.auto_apply = Some(true);
    let discount = service.create_discount(caller, discount).unwrap().id;
    let settings = EventSettings::default().day_starts_at("06:00");
    service.update_event_settings(caller, fixture.default_event().id, settings).unwrap();
    let get_discount = || service.get_discount(caller, discount).map(drop);
    let buy = || fixture.try_order(&ticket_type, 1).map(drop);
    type Operation<'a> = &'a dyn Fn() -> ticketing::Result<()>;
    let cases: [(&str, &str, &str, &str, Operation<'_>); 14] = [
        ("orders", "status", "'secret'", "PENDING", &get_order),
        ("orders", "currency", "'secret'", "EUR", &get_order),
        ("orders", "created_at", "-1", "the time of the order", &get_order),
        ("events", "timezone", "'secret'", "UTC", &get_event),
        ("events", "tags", "'secret'", "[]", &get_event),
        ("events", "timezone", "'secret'", "UTC", &scan),
        ("events", "day_starts_at", "'secret'", "06:00", &scan),
        ("events", "currency", "'secret'", "EUR", &get_ticket_type),
        ("ticket_types", "allowed_dates", "'secret'", "[]", &scan),
        ("ticket_types", "allowed_dates", "'[-1]'", "[]", &scan),
        ("ticket_types", "status", "'secret'", "ON_SALE", &buy),
        ("discounts", "type", "'secret'", "PERCENTAGE", &get_discount),
        ("discounts", "type", "'secret'", "PERCENTAGE", &buy),
        ("discounts", "applicable_ticket_types", "'[\"secret\"]'", "[]", &get_discount),
    ];
    for (table, column, bad, good, attempt) in cases {
        let row: i64 = fixture.database().value(&format!("SELECT id FROM {table}"));
        let before: String = fixture.database().value(&format!("SELECT CAST({column} AS TEXT) FROM {table}"));
        corrupt(&fixture.path(), &format!("UPDATE {table} SET {column} = {bad}"));
        let error = attempt().unwrap_err();
        assert!(!format!("{error} {error:?}").contains("secret"), "{error:?}");
        let Error::Store(error) = error else { panic!("{error:?}") };
        let StoreErrorKind::CorruptRow { table: in_table, column: in_column, row: in_row, .. } = error.kind() else {
            panic!("{error:?}")
        };
        assert_eq!((in_table.as_str(), in_column.as_str()), (table, column));
        assert_eq!(*in_row, row.to_string(), "{table}.{column}");
        assert!(before == good || table == "orders");
        corrupt(&fixture.path(), &format!("UPDATE {table} SET {column} = '{before}'"));
        // The other rows are not affected, and the repaired row works again.
        get_order().unwrap();
        get_event().unwrap();
    }
    assert_consistent(&fixture.database());
}

#[test]
fn the_log_stays_bounded_during_many_reads_and_writes() {
    let fixture = Fixture::new();
    let ticket_type = fixture.new_ticket_type(0, 1);
    let log = PathBuf::from(format!("{}-wal", fixture.path().display()));
    let clock = ticketing::environment::SystemClock;
    let end = clock.monotonic() + Duration::from_secs(4);
    let longest = AtomicU64::new(0);
    let written = AtomicU64::new(0);
    run_at_once(9, |number| {
        let reader = fixture.database();
        while clock.monotonic() < end {
            if number == 0 {
                // Pages without changes would not be written.
                let letter = ["x", "y"][written.load(Ordering::SeqCst) as usize % 2];
                set_large_logo(&fixture, &ticket_type, letter);
                written.fetch_add(LARGE_LOGO as u64, Ordering::SeqCst);
                longest.fetch_max(std::fs::metadata(&log).unwrap().len() >> 20, Ordering::SeqCst);
            } else {
                // There is a reader at any time: each starts before another one ends.
                reader.run("BEGIN; SELECT COUNT(*) FROM events");
                std::thread::sleep(Duration::from_millis(20 + 3 * number as u64));
                reader.run("COMMIT");
            }
        }
    });
    let longest = longest.into_inner();
    let written = written.into_inner() >> 20;
    eprintln!("the log reached {longest} MiB while {written} MiB were written");
    // At 96 MiB a commit waits for the readers, and if they take too long, again every 16 MiB.
    assert!(longest < 160, "{longest} MiB of {written}");
}

const CHILD: &str = concat!(module_path!(), "::a_child_process_plays_its_role");

#[test]
#[ignore = "other tests start it"]
fn a_child_process_plays_its_role() {
    match child_role().as_str() {
        "full disk" => sell_on_a_full_disk(),
        "refused writes" => sell_while_writes_are_refused(),
        "read only" => open_read_only_files(),
        other => panic!("{other}"),
    }
}

/// Creates orders on eight threads until each fails. Returns the errors, and the number of orders that were created.
fn sell_until_refused(fixture: &Fixture, ticket_type: &TicketType) -> (Vec<Error>, i64) {
    let ends = run_at_once(8, |_| {
        let mut sold = 0;
        loop {
            match fixture.try_order(ticket_type, 10) {
                Ok(_) => sold += 1,
                Err(error) => return (error, sold),
            }
        }
    });
    let sold = ends.iter().map(|(_, sold)| sold).sum();
    (ends.into_iter().map(|(error, _)| error).collect(), sold)
}

/// Returns the number of orders that were created.
fn assert_not_ready_until_there_is_room(fixture: &Fixture, ticket_type: &TicketType, ballast: &Path) -> i64 {
    // A reader of an old state keeps the log from being restarted. If a checkpoint has restarted it just before, some
    // orders fit into the file as it is, and then every write needs room.
    let reader = fixture.database();
    reader.run("BEGIN; SELECT COUNT(*) FROM orders");
    assert!(std::fs::write(ballast, vec![1; 8 << 20]).is_err());
    let full = Error::from(StoreErrorKind::Full);
    let (errors, sold) = sell_until_refused(fixture, ticket_type);
    assert!(errors.iter().all(|error| *error == full), "{errors:?}");
    assert!(full.is_retryable() && full.code() == "unavailable");
    assert_eq!(fixture.service.ready().unwrap_err(), full);
    // A transaction that has nothing to write succeeds, and says nothing about the disk.
    let unknown = "order_0000000000001".parse().unwrap();
    assert!(matches!(fixture.service.cancel_order(&fixture.caller, unknown), Err(Error::NotFound(_))));
    assert_eq!(fixture.service.ready().unwrap_err(), full);
    assert_eq!(fixture.service.record_page_view(&fixture.caller, ticket_type.event_id).unwrap_err(), full);
    std::fs::remove_file(ballast).unwrap();
    assert_eq!(fixture.service.ready(), Ok(()));
    reader.run("COMMIT");
    sold
}

fn sell_on_a_full_disk() {
    let folder = tempfile::tempdir().unwrap();
    let mount = ["-t", "tmpfs", "-o", "size=8m", "ticketing-test", folder.path().to_str().unwrap()];
    if !std::process::Command::new("mount").args(mount).status().is_ok_and(|status| status.success()) {
        return send_to_parent(NO_MOUNT);
    }
    let fixture = Fixture::in_folder(folder, |builder| builder);
    let ticket_type = fixture.new_ticket_type(0, 1_000_000);
    // Most of the disk: without it, there is room for a checkpoint of the whole log.
    let ballast = fixture.folder().path().join("ballast");
    std::fs::write(&ballast, vec![1; 6 << 20]).unwrap();
    let (errors, sold) = sell_until_refused(&fixture, &ticket_type);
    assert!(errors.iter().all(|error| *error == StoreErrorKind::Full.into()), "{errors:?}");
    assert!(sold > 0);
    // Readers work, and see what was acknowledged.
    assert_eq!(fixture.sold(&ticket_type), sold * 10);
    std::fs::remove_file(&ballast).unwrap();
    fixture.try_order(&ticket_type, 10).unwrap();
    let sold = sold + 1 + assert_not_ready_until_there_is_room(&fixture, &ticket_type, &ballast);
    fixture.try_order(&ticket_type, 10).unwrap();
    let (errors, more) = sell_until_refused(&fixture, &ticket_type);
    assert!(errors.contains(&StoreErrorKind::Full.into()), "{errors:?}");
    let (folder, path) = fixture.into_file();
    let connection = Database::open(&path);
    assert_eq!(connection.value::<i64>("SELECT sold FROM ticket_types"), (sold + 1 + more) * 10);
    assert_consistent(&connection);
    drop(connection);
    std::process::Command::new("umount").arg(folder.path()).status().unwrap();
    send_to_parent(format_args!("{sold} and {more}"));
}

#[cfg(unix)]
#[test]
fn a_full_disk_is_reported_loses_nothing_and_ends_when_there_is_room() {
    // In its own namespaces, so that nothing stays mounted if the test fails.
    match run_child_by(&["unshare", "--user", "--map-root-user", "--mount"], CHILD, "full disk") {
        Some(messages) if messages == [NO_MOUNT] => skipped(NO_MOUNT),
        Some(messages) => eprintln!("orders sold on the full disk: {}", messages.join(" ")),
        None => skipped("there is no unshare here, or it is not allowed"),
    }
}

/// The parent has limited the size of files, so that the system refuses larger writes.
fn sell_while_writes_are_refused() {
    let fixture = Fixture::new();
    let ticket_type = fixture.new_ticket_type(0, 1_000_000);
    let (errors, sold) = sell_until_refused(&fixture, &ticket_type);
    for error in errors {
        assert!(error.source().is_some(), "{error:?}");
        let Error::Store(error) = &error else { panic!("{error:?}") };
        let StoreErrorKind::Io(text) = error.kind() else { panic!("{error:?}") };
        assert!(text.contains("disk I/O error"), "{text}");
    }
    assert_eq!(fixture.sold(&ticket_type), sold * 10);
    let own = std::process::id().to_string();
    let raised = std::process::Command::new("prlimit").args(["--pid", &own, "--fsize=unlimited:"]).status();
    if raised.is_ok_and(|status| status.success()) {
        fixture.try_order(&ticket_type, 10).unwrap();
        let (_folder, path) = fixture.into_file();
        assert_eq!(Database::open(&path).value::<i64>("SELECT sold FROM ticket_types"), (sold + 1) * 10);
        assert_consistent(&Database::open(&path));
    }
    send_to_parent(sold);
}

#[cfg(unix)]
#[test]
fn writes_refused_by_the_system_fail_with_its_reason() {
    // 512-byte blocks in some shells and 1024 in others: one or two megabytes.
    let limit = "trap '' XFSZ; ulimit -S -f 2048; exec \"$0\" \"$@\"";
    match run_child_by(&["sh", "-c", limit], CHILD, "refused writes") {
        Some(messages) => assert!(messages[0].parse::<i64>().unwrap() > 0),
        None => skipped("there is no shell here that limits the size of files"),
    }
}

/// The user of this process is bound by permissions.
fn open_read_only_files() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    for (of_file, of_folder) in [(0o444, 0o755), (0o644, 0o555), (0o444, 0o555)] {
        let (folder, path) = Fixture::new().into_file();
        let before = std::fs::read(&path).unwrap();
        mode(&path, of_file);
        mode(folder.path(), of_folder);
        match open_error(&path) {
            StoreErrorKind::ReadOnly(text) => assert_eq!(text, path.display().to_string()),
            // Without a log next to it, not even the schema can be read.
            StoreErrorKind::CannotOpen(text) if of_folder == 0o555 => {
                assert!(text.contains(path.to_str().unwrap()), "{text}")
            }
            other => panic!("{of_file:o} {of_folder:o}: {other:?}"),
        }
        if of_folder == 0o555 {
            let StoreErrorKind::CannotOpen(text) = open_error(folder.path().join("fresh.db")) else { panic!() };
            assert!(text.contains("fresh.db"), "{text}");
        }
        assert!(std::fs::read(&path).unwrap() == before);
        mode(folder.path(), 0o755);
        mode(&path, 0o644);
        drop(TicketingService::open(&path).unwrap());
    }
    send_to_parent("done");
}

#[cfg(unix)]
#[test]
fn a_read_only_file_or_folder_is_named_and_left_unchanged() {
    let as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let root = std::process::Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n");
    // Permissions do not apply to root.
    let messages =
        if root { run_child_by(&as_nobody, CHILD, "read only") } else { run_child_by(&["env"], CHILD, "read only") };
    match messages {
        Some(messages) => assert_eq!(messages, ["done"]),
        None => skipped("root cannot become another user here"),
    }
}
