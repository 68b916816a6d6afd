//! Exports whose temporary files fill the disk.

use std::path::Path;
use std::process::Command;

use ticketing::Error;
use ticketing::error::StoreErrorKind;
use ticketing::exports::{Export, ExportFormat, ExportKind};

use super::readers::try_export;
use crate::common::processes::{child_role, run_child_by, send_to_parent};
use crate::common::skipped::{NO_MOUNT, skipped};
use crate::common::*;

const CHILD: &str = concat!(module_path!(), "::a_child_process_exports_to_a_full_disk");

/// Runs as a user whose mounts end with the process.
#[test]
#[ignore = "another test starts it"]
fn a_child_process_exports_to_a_full_disk() {
    assert_eq!(child_role(), "full disk");
    let small = tempfile::tempdir().expect("a folder");
    let mount = |size: &str| {
        let folder = small.path().to_str().expect("UTF-8");
        let mount = ["-t", "tmpfs", "-o", size, "ticketing-test", folder];
        Command::new("mount").args(mount).status().is_ok_and(|status| status.success())
    };
    if !mount("size=64k") {
        return send_to_parent(NO_MOUNT);
    }
    let fixture = Fixture::with(|builder| builder.export_folder(small.path()));
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 0, 1000);
    for _ in 0..100 {
        fixture.issue(&ticket_type, 10);
    }
    let formats: &[_] = if cfg!(feature = "xlsx") { ExportFormat::ALL } else { &[ExportFormat::Csv] };
    let request = |format| Export::new(ExportKind::Attendees).event(event.id).format(format);
    for format in formats {
        let error = try_export(&fixture, request(*format)).map(drop).expect_err("the disk is full");
        assert_eq!(error, Error::from(StoreErrorKind::Full), "{format}");
        assert_eq!(files(small.path()), 0, "{format}");
    }
    assert!(mount("size=64m"));
    for format in formats {
        assert!(try_export(&fixture, request(*format)).is_ok(), "{format}");
    }
    send_to_parent("done");
}

fn files(folder: &Path) -> usize {
    std::fs::read_dir(folder).expect("a folder").count()
}

#[cfg(unix)]
#[test]
fn an_export_to_a_full_disk_is_an_error_that_says_so_in_every_format() {
    match run_child_by(&["unshare", "--user", "--map-root-user", "--mount"], CHILD, "full disk") {
        Some(messages) if messages == [NO_MOUNT] => skipped(NO_MOUNT),
        Some(messages) => assert_eq!(messages, ["done"]),
        None => skipped("there is no unshare here, or it is not allowed"),
    }
}
