//! Temporary databases: separate from each other, and deleted with the last handle.

use std::path::PathBuf;

use ticketing::TicketingService;
use ticketing::event::{CreateEvent, ListEvents};

use crate::common::processes::{child_process, child_role};
use crate::common::*;

const CHILD: &str = concat!(module_path!(), "::a_child_process_plays_its_role");

#[test]
#[ignore = "other tests start it"]
fn a_child_process_plays_its_role() {
    child_role();
    open_two_and_drop_them();
}

/// The names in the folder of this process's temporary files.
fn temporary_files() -> Vec<PathBuf> {
    let files = std::fs::read_dir(std::env::temp_dir()).expect("the folder");
    files.map(|file| file.expect("a file").path()).collect()
}

fn open_two_and_drop_them() {
    let open = || {
        let service = TicketingService::temporary().sandbox_gateway().open().expect("a database");
        let organization = service.create_organization(Default::default()).expect("an organization");
        let caller = service.act_for(organization.id).expect("the organization");
        (service, caller)
    };
    let (first, caller) = open();
    let (second, caller_of_second) = open();
    let request = CreateEvent::new("Summer Night", "summer-night", at(EVENT_START));
    first.create_event(&caller, request).expect("an event");
    // A clone keeps the database, and other services do not see it.
    let clone = first.clone();
    drop(first);
    assert_eq!(clone.list_events(&caller, ListEvents::default()).expect("events").data.len(), 1);
    assert_eq!(second.list_events(&caller_of_second, ListEvents::default()).expect("events").data, []);
    assert!(clone.check().expect("a check").is_clean());
    let worker = clone.start_maintenance().expect("a worker");
    assert_eq!(temporary_files().len(), 2);
    #[cfg(unix)]
    for folder in temporary_files() {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(&folder).expect("the folder").permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{}", folder.display());
    }
    drop((second, worker, clone));
    assert_eq!(temporary_files(), Vec::<PathBuf>::new());
}

#[test]
fn a_temporary_database_is_separate_and_is_deleted_with_its_last_handle() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut child = child_process(CHILD, "temporary");
    child.env("TMPDIR", folder.path()).env("TEMP", folder.path()).env("TMP", folder.path());
    let output = child.output().expect("a process");
    let report = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && report.contains("1 passed"), "{report}");
}
