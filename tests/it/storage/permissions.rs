//! The permissions of the files of a database.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::common::*;

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).expect("the file").permissions().mode() & 0o777
}

/// The permissions of the database file, its WAL and its shared memory.
fn modes(database: &Path) -> [u32; 3] {
    ["", "-wal", "-shm"].map(|suffix| mode(Path::new(&format!("{}{suffix}", database.display()))))
}

#[test]
fn new_files_are_readable_for_their_owner_only() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ticketing.db");
    let service = ticketing::TicketingService::open(&path).expect("the file");
    service.create_organization(Default::default()).expect("a write");
    assert_eq!(modes(&path), [0o600; 3]);
}

#[test]
fn the_permissions_of_an_existing_file_are_kept() {
    let (folder, path) = Fixture::new().into_file();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).expect("changed");
    let service = ticketing::TicketingService::open(&path).expect("the file");
    service.create_organization(Default::default()).expect("a write");
    assert_eq!(modes(&path), [0o640; 3]);
    drop((service, folder));
}
