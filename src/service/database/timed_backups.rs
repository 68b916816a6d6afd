//! Backups that a service makes by itself, every so often, into a folder.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read as _, Seek as _, Write as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::database_file::require_clean;
use crate::error::{Error, Result, StoreErrorKind};
use crate::model::operation::backup::BackupSchedule;
use crate::model::values::timestamp::Timestamp;
use crate::service::TicketingService;
use crate::service::background::maintenance_guard::{MaintenanceGuard, StopSignal};
use crate::service::opening::close::WeakTicketingService;

/// What the name of a copy ends in before it is checked.
const UNCHECKED: &str = ".unchecked";

/// How often the thread looks at the clock.
const PAUSE: Duration = Duration::from_secs(1);

/// How soon a backup that failed or was interrupted is tried again, if its period is longer.
const RETRY: Duration = Duration::from_mins(15);

/// The file in the folder that is locked while a backup is made. It contains the time of the last attempt.
const ATTEMPT: &str = "ticketing-backup.lock";

/// # Backups
impl TicketingService {
    /// Starts a thread that makes backups of the database file into a folder. It stops when the returned guard is
    /// dropped, when the service is closed or its last clone is dropped, or when the store has
    /// [`stopped`](Self::stopped). A copy that is being made when the last clone is dropped is finished first.
    ///
    /// A backup is a [`backup`](Self::backup) with the UTC time in its name, such as
    /// `ticketing-2026-11-26T05-00-00Z.db`, which it gets once it was [checked](Self::check_file). If the check finds a
    /// problem, the copy is deleted. If it finds none, older backups are deleted: only the newest
    /// [`keep`](BackupSchedule::keep) files with such names stay. Other files are left alone. Each database needs a
    /// folder of its own.
    ///
    /// A backup is due when the newest one in the folder is older than [`every`](BackupSchedule::every), also after a
    /// restart. One that fails is logged as an error, counted in [`statistics`](Self::statistics), and tried again
    /// after 15 minutes, or after `every` if that is shorter. So is one that was interrupted: a program that is killed
    /// again and again does not begin with a backup each time.
    ///
    /// One program at a time makes backups into a folder. It locks the file `ticketing-backup.lock` there, and deletes
    /// the unfinished copies that a killed program has left behind.
    ///
    /// # Errors
    /// - [`Error::Validation`] for `folder` if it is not a folder.
    /// - [`Error::Store`] for a PostgreSQL database, or if the thread cannot be started.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ticketing::maintenance::BackupSchedule;
    #[doc = include_str!("../../doc_fixture.md")]
    /// let hourly = BackupSchedule::new(folder.path()).every(Duration::from_hours(1)).keep(48);
    /// let guard = service.start_backups(hourly)?;
    /// drop(guard); // ends a backup in progress, and deletes its unfinished copy
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn start_backups(&self, schedule: BackupSchedule) -> Result<MaintenanceGuard> {
        if !self.store()?.is_file() {
            return Err(StoreErrorKind::not_a_file().into());
        }
        if !schedule.folder.is_dir() {
            return Err(Error::field("folder", "must be a folder that exists"));
        }
        let service = self.downgrade();
        let mut guard = MaintenanceGuard::default();
        guard.start("ticketing-maintenance", None, move |stop| {
            let mut due = Timestamp::UNIX_EPOCH;
            while let Some(next) = make_if_due(&service, &schedule, due, &stop) {
                due = next;
                if stop.wait(PAUSE) {
                    return;
                }
            }
        })?;
        Ok(guard)
    }
}

/// Makes a backup if one is due. Returns when to look again; `None` if the thread should stop.
fn make_if_due(
    service: &WeakTicketingService,
    schedule: &BackupSchedule,
    due: Timestamp,
    stop: &StopSignal,
) -> Option<Timestamp> {
    let open = service.upgrade().filter(|service| service.stopped().is_none())?;
    let now = open.now();
    // If the clock was put back, the next one comes after `every` all the same.
    let due = due.min(now.saturating_add(schedule.every));
    if due > now {
        return Some(due);
    }
    let retry = now.saturating_add(schedule.every.min(RETRY));
    let made = match Attempt::lock(&schedule.folder) {
        Ok(None) => return Some(retry),
        Ok(Some(mut attempt)) => {
            delete_unfinished(&schedule.folder);
            let due = attempt.due(schedule, now);
            if due > now {
                return Some(due);
            }
            attempt.begin(now).and_then(|()| make(open, schedule, now, stop))
        }
        Err(error) => Err(error),
    };
    if stop.is_set() {
        return None;
    }
    service.upgrade()?.store_in_operation().counters().update(|counts| match made {
        Ok(()) => counts.maintenance.backups_made += 1,
        Err(_) => counts.maintenance.backups_failed += 1,
    });
    Some(match made {
        Ok(()) => now.saturating_add(schedule.every),
        Err(error) => {
            tracing::error!(target: "ticketing::maintenance", %error, "a backup failed, and will be tried again");
            retry
        }
    })
}

/// The right to make a backup into a folder, which other processes do not have meanwhile. The system takes it from a
/// process that ends.
struct Attempt(File);

impl Attempt {
    /// `None` if another process makes a backup into the folder.
    fn lock(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(ATTEMPT);
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let file = opened.map_err(|error| failed(&path, &error))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(failed(&path, &error)),
        }
    }

    /// When the next backup is due: `every` after the newest one in the folder, and [`RETRY`] after the last attempt.
    /// Times after now were written while the clock was wrong, and count for nothing.
    fn due(&mut self, schedule: &BackupSchedule, now: Timestamp) -> Timestamp {
        let mut text = String::new();
        // A time that cannot be read delays nothing.
        let attempted = self.0.read_to_string(&mut text).ok().and_then(|_| text.parse().ok());
        let attempted = attempted.filter(|at: &Timestamp| *at <= now);
        let retry = attempted.map(|at| at.saturating_add(schedule.every.min(RETRY)));
        let next = backups(&schedule.folder, now).map(|(made, _)| made.saturating_add(schedule.every)).max();
        next.max(retry).unwrap_or(now)
    }

    /// Writes down that an attempt begins.
    fn begin(&mut self, now: Timestamp) -> Result<()> {
        let written = self.0.rewind().and_then(|()| self.0.set_len(0)).and_then(|()| write!(self.0, "{now}"));
        written.map_err(|error| failed(Path::new(ATTEMPT), &error))
    }
}

/// Makes a backup, checks it, and deletes those that are not kept any more. The service may be closed during the check.
fn make(service: TicketingService, schedule: &BackupSchedule, now: Timestamp, stop: &StopSignal) -> Result<()> {
    let go_on = |stops: bool| if stops { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let path = schedule.folder.join(file_name(now));
    let unchecked = schedule.folder.join(format!("{}{UNCHECKED}", file_name(now)));
    let bytes = service.backup(&unchecked, |_| go_on(stop.is_set() || service.is_closing()))?.bytes;
    drop(service);
    let checked = TicketingService::check_file_with_progress(&unchecked, |_| go_on(stop.is_set()))
        .and_then(|report| require_clean(&unchecked, report))
        .and_then(|()| rename(&unchecked, &path));
    if let Err(error) = checked {
        delete(&unchecked);
        return Err(error);
    }
    tracing::info!(target: "ticketing::maintenance", path = %path.display(), bytes, "backup made and checked");
    delete_old(&schedule.folder, schedule.keep, now);
    Ok(())
}

/// Gives a copy its name, and returns when the name is on disk.
fn rename(copy: &Path, name: &Path) -> Result<()> {
    let renamed = std::fs::rename(copy, name).and_then(|()| match name.parent() {
        // Windows cannot sync a folder.
        Some(folder) if cfg!(unix) => std::fs::File::open(folder)?.sync_all(),
        _ => Ok(()),
    });
    renamed.map_err(|error| failed(name, &error))
}

fn failed(path: &Path, error: &std::io::Error) -> Error {
    let kind = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StoreErrorKind::Full,
        _ => StoreErrorKind::Io(format!("{}: {error}", path.display())),
    };
    kind.into()
}

/// The backups in a folder. Those with a later time than now were made while the clock was wrong: they stay, and count
/// for nothing.
fn backups(folder: &Path, now: Timestamp) -> impl Iterator<Item = (Timestamp, PathBuf)> {
    dated_files(folder, time_in).filter(move |(made, _)| *made <= now)
}

/// Deletes all backups but the newest `keep`.
fn delete_old(folder: &Path, keep: usize, now: Timestamp) {
    let mut backups: Vec<_> = backups(folder, now).collect();
    backups.sort_by_key(|(made, _)| std::cmp::Reverse(*made));
    for (_, path) in backups.iter().skip(keep.max(1)) {
        delete(path);
    }
}

/// The files in a folder in whose names `time` finds a time. If the folder cannot be read, there are none: the next
/// backup says why.
fn dated_files(folder: &Path, time: impl Fn(&str) -> Option<Timestamp>) -> impl Iterator<Item = (Timestamp, PathBuf)> {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    entries.filter_map(move |entry| Some((time(entry.file_name().to_str()?)?, entry.path())))
}

/// Deletes unfinished and unchecked copies that a killed program has left behind: each may be as large as the database.
/// No other program makes one now.
fn delete_unfinished(folder: &Path) {
    // A copy that was being made has another suffix behind this one.
    let time_of_unchecked = |name: &str| time_in(name.split_once(UNCHECKED)?.0);
    dated_files(folder, time_of_unchecked).for_each(|(_, path)| delete(&path));
}

fn delete(path: &Path) {
    if let Err(error) = std::fs::remove_file(path) {
        let path = path.display();
        tracing::warn!(target: "ticketing::maintenance", %path, %error, "a backup could not be deleted");
    }
}

/// The name of a backup, in which file systems accept every character.
fn file_name(made: Timestamp) -> String {
    let text = made.to_string();
    let seconds = text.split('.').next().unwrap_or_default();
    format!("ticketing-{}Z.db", seconds.replace(':', "-"))
}

/// The time in the name of a backup; `None` for all other names.
fn time_in(name: &str) -> Option<Timestamp> {
    let (date, time) = name.strip_prefix("ticketing-")?.strip_suffix(".db")?.split_once('T')?;
    let made = format!("{date}T{}", time.replace('-', ":")).parse().ok()?;
    (file_name(made) == name).then_some(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a timestamp")
    }

    #[test]
    fn only_names_that_a_backup_has_are_those_of_backups() {
        let made = at("2026-11-26T05:04:03.217Z");
        assert_eq!(file_name(made), "ticketing-2026-11-26T05-04-03Z.db");
        assert_eq!(time_in("ticketing-2026-11-26T05-04-03Z.db"), Some(at("2026-11-26T05:04:03Z")));
        for other in [
            "ticketing.db",
            "ticketing-2026-11-26.db",
            "ticketing-2026-11-26T05-04Z.db",
            "ticketing-2026-11-26T05:04:03Z.db",
            "ticketing-2026-11-26T05-04-03.217Z.db",
            "ticketing-2026-11-31T05-04-03Z.db",
            "ticketing-2026-11-26T05-04-03Z.db.AAAAAAAA.partial",
            "ticketing-2026-11-26T05-04-03Z.db-wal",
            "my-ticketing-2026-11-26T05-04-03Z.db",
        ] {
            assert_eq!(time_in(other), None, "{other}");
        }
    }

    fn attempt(folder: &Path) -> Attempt {
        Attempt::lock(folder).expect("a file").expect("no other process")
    }

    #[test]
    fn after_a_restart_a_backup_is_due_when_the_newest_one_is_old_enough() {
        let folder = tempfile::tempdir().expect("a folder");
        let daily = BackupSchedule::new(folder.path()).every(Duration::from_hours(24));
        let now = at("2026-11-26T05:00:00Z");
        let due = || attempt(folder.path()).due(&daily, now);
        assert_eq!(due(), now);
        // The last one was made while the clock was wrong.
        for day in ["2026-11-24", "2026-11-25", "2099-01-01"] {
            std::fs::write(folder.path().join(format!("ticketing-{day}T06-00-00Z.db")), "").expect("a file");
        }
        assert_eq!(due(), at("2026-11-26T06:00:00Z"));
    }

    #[test]
    fn a_backup_that_was_interrupted_is_tried_again_after_a_quarter_of_an_hour() {
        let folder = tempfile::tempdir().expect("a folder");
        let daily = BackupSchedule::new(folder.path()).every(Duration::from_hours(24));
        let hasty = BackupSchedule::new(folder.path()).every(Duration::from_secs(1));
        let begun = at("2026-11-26T05:00:00.250Z");
        attempt(folder.path()).begin(at("2026-11-26T04:59:59Z")).expect("written");
        attempt(folder.path()).begin(begun).expect("written");
        let due = |schedule, now| attempt(folder.path()).due(schedule, now);
        assert_eq!(due(&daily, begun), at("2026-11-26T05:15:00.250Z"));
        assert_eq!(due(&hasty, begun), at("2026-11-26T05:00:01.250Z"));
        let put_back = at("2026-11-26T04:00:00Z");
        assert_eq!(due(&daily, put_back), put_back);
        std::fs::write(folder.path().join(ATTEMPT), "damaged").expect("a file");
        assert_eq!(due(&daily, begun), begun);
    }

    #[test]
    fn only_one_process_at_a_time_makes_backups_into_a_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let first = attempt(folder.path());
        assert!(Attempt::lock(folder.path()).expect("a file").is_none());
        drop(first);
        assert!(Attempt::lock(folder.path()).expect("a file").is_some());
    }

    #[test]
    fn backups_that_were_made_while_the_clock_was_ahead_take_the_place_of_no_others() {
        let folder = tempfile::tempdir().expect("a folder");
        let [old, newest, ahead] = ["2026-11-24", "2026-11-25", "2099-01-01"]
            .map(|day| folder.path().join(format!("ticketing-{day}T06-00-00Z.db")));
        for path in [&old, &newest, &ahead] {
            std::fs::write(path, "").expect("a file");
        }
        delete_old(folder.path(), 1, at("2026-11-26T05:00:00Z"));
        assert_eq!([old, newest, ahead].map(|path| path.exists()), [false, true, true]);
    }

    #[test]
    fn copies_that_were_not_finished_or_checked_are_deleted_and_are_no_backups() {
        let folder = tempfile::tempdir().expect("a folder");
        let names = [
            "ticketing-2026-11-24T06-00-00Z.db.unchecked",
            "ticketing-2099-11-25T06-00-00Z.db.unchecked.ABCDEFGH.partial",
            "ticketing-2099-11-25T06-00-00Z.db.unchecked.ABCDEFGH.partial-journal",
            "other.unchecked",
            ATTEMPT,
        ];
        let paths = names.map(|name| folder.path().join(name));
        for path in &paths {
            std::fs::write(path, "").expect("a file");
        }
        assert_eq!(dated_files(folder.path(), time_in).count(), 0);
        delete_unfinished(folder.path());
        assert_eq!(paths.map(|path| path.exists()), [false, false, false, true, true]);
    }
}
