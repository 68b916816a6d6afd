//! Database files that are out of use, because their content was moved to another database.
//!
//! Such a file has a version of its schema that no program knows. So programs of all versions refuse to open it, and
//! one that has it open stops writing.

use crate::error::StoreErrorKind;

/// What is added to the version of the schema of a file that is out of use.
const MOVED: i64 = 1_000_000;

/// Why a file is refused whose schema has the version `found`, which is newer than the newest one that this program
/// knows.
pub(in crate::store::engine::sqlite) fn too_new(found: i64, known: i64) -> StoreErrorKind {
    if found > MOVED { StoreErrorKind::Moved } else { StoreErrorKind::SchemaTooNew { found, known } }
}

/// The version that says whether the file is out of use, of a file whose schema has this version.
pub(in crate::store::engine::sqlite) fn version_if(moved: bool, version: i64) -> i64 {
    match (moved, version > MOVED) {
        (true, false) => version + MOVED,
        (false, true) => version - MOVED,
        _ => version,
    }
}
