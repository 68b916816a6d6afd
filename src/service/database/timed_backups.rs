//! Backups that a service makes by itself, every so often, into a folder.

use std::fs::{File, OpenOptions, TryLockError};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::database_file::require_clean;
use crate::error::{Error, Result, StoreErrorKind};
use crate::model::operation::backup::BackupSchedule;
use crate::model::values::timestamp::Timestamp;
use crate::service::TicketingService;
use crate::service::opening::close::WeakTicketingService;
use crate::work::background_threads::{MaintenanceGuard, StopSignal};

/// What the name of a copy ends in before it is checked.
const UNCHECKED: &str = ".unchecked";

/// How often the thread looks at the clock.
const PAUSE: Duration = Duration::from_secs(1);

/// How soon a backup that failed or was interrupted is tried again, if its period is longer.
const RETRY: Duration = Duration::from_mins(15);

/// The file in the folder that is locked while a backup is made.
const LOCK: &str = "ticketing-backup.lock";

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
    /// One program at a time makes backups into a folder. It locks the file `ticketing-backup.lock` there. An unfinished
    /// copy that a killed program has left behind is emptied, and deleted when the next backup begins.
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
    let made = match lock(&schedule.folder) {
        Ok(None) => return Some(retry),
        Ok(Some(_lock)) => {
            let due = due_after_files(schedule, now);
            tidy_unfinished(&schedule.folder, due > now);
            if due > now {
                return Some(due);
            }
            make(open, schedule, now, stop)
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

/// Locks a folder until the file is dropped or the process ends. `None` if another process has locked it.
fn lock(folder: &Path) -> Result<Option<File>> {
    let path = folder.join(LOCK);
    let opened = OpenOptions::new().append(true).create(true).open(&path).map_err(TryLockError::Error);
    match opened.and_then(|file| file.try_lock().map(|()| file)) {
        Ok(file) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(StoreErrorKind::Io(format!("{}: {error}", path.display())).into()),
    }
}

/// Makes a backup, checks it, and deletes those that are not kept any more. The service may be closed during the check.
fn make(service: TicketingService, schedule: &BackupSchedule, now: Timestamp, stop: &StopSignal) -> Result<()> {
    let go_on = |stops: bool| if stops { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let path = schedule.folder.join(file_name(now));
    let unchecked = schedule.folder.join(format!("{}{UNCHECKED}", file_name(now)));
    let bytes = service.backup(&unchecked, |_| go_on(stop.is_set() || service.writes().is_closing()))?.bytes;
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
    renamed.map_err(|error| StoreErrorKind::Io(format!("{}: {error}", name.display())).into())
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

/// When a backup is due: after the newest one in the folder, and some time after the last one that was interrupted.
fn due_after_files(schedule: &BackupSchedule, now: Timestamp) -> Timestamp {
    let next = backups(&schedule.folder, now).map(|(made, _)| made.saturating_add(schedule.every));
    let begun = unfinished(&schedule.folder).map(|(begun, _)| begun).filter(|begun| *begun <= now);
    next.chain(begun.map(|begun| begun.saturating_add(schedule.every.min(RETRY)))).max().unwrap_or(now)
}

/// The files in a folder in whose names `time` finds a time. If the folder cannot be read, there are none: the next
/// backup says why.
fn dated_files(folder: &Path, time: impl Fn(&str) -> Option<Timestamp>) -> impl Iterator<Item = (Timestamp, PathBuf)> {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    entries.filter_map(move |entry| Some((time(entry.file_name().to_str()?)?, entry.path())))
}

/// Unfinished and unchecked copies, and when they were begun.
fn unfinished(folder: &Path) -> impl Iterator<Item = (Timestamp, PathBuf)> {
    // A copy that is being made has another suffix behind this one.
    dated_files(folder, |name| time_in(name.split_once(UNCHECKED)?.0))
}

/// Deletes the unfinished copies of killed processes, or empties them: each may be as large as the database. While the
/// folder is locked, no other process makes one.
fn tidy_unfinished(folder: &Path, keep_names: bool) {
    unfinished(folder).for_each(|(_, path)| if keep_names { drop(File::create(path)) } else { delete(&path) });
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

    #[test]
    fn after_a_restart_a_backup_is_due_when_the_newest_one_is_old_enough() {
        let folder = tempfile::tempdir().expect("a folder");
        let daily = BackupSchedule::new(folder.path()).every(Duration::from_hours(24));
        let now = at("2026-11-26T05:00:00Z");
        assert_eq!(due_after_files(&daily, now), now);
        // The last one was made while the clock was wrong.
        for day in ["2026-11-24", "2026-11-25", "2099-01-01"] {
            std::fs::write(folder.path().join(format!("ticketing-{day}T06-00-00Z.db")), "").expect("a file");
        }
        assert_eq!(due_after_files(&daily, now), at("2026-11-26T06:00:00Z"));
        // One that was interrupted comes later than that.
        let begun = folder.path().join("ticketing-2026-11-26T06-00-00Z.db.unchecked.ABCDEFGH.partial");
        std::fs::write(begun, "").expect("a file");
        assert_eq!(due_after_files(&daily, at("2026-11-26T06:01:00Z")), at("2026-11-26T06:15:00Z"));
        assert_eq!(due_after_files(&daily, now), at("2026-11-26T06:00:00Z"), "the clock was put back");
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
    fn unfinished_copies_are_no_backups_and_are_emptied_or_deleted() {
        let folder = tempfile::tempdir().expect("a folder");
        let names = [
            "ticketing-2026-11-24T06-00-00Z.db.unchecked",
            "ticketing-2099-11-25T06-00-00Z.db.unchecked.ABCDEFGH.partial",
            "other.unchecked",
        ];
        let paths = names.map(|name| folder.path().join(name));
        for path in &paths {
            std::fs::write(path, "copy").expect("a file");
        }
        assert_eq!(dated_files(folder.path(), time_in).count(), 0);
        let sizes = || paths.each_ref().map(|path| path.metadata().ok().map(|file| file.len()));
        tidy_unfinished(folder.path(), true);
        assert_eq!(sizes(), [Some(0), Some(0), Some(4)]);
        tidy_unfinished(folder.path(), false);
        assert_eq!(sizes(), [None, None, Some(4)]);
    }
}
