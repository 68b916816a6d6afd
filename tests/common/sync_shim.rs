//! A C library that is preloaded into a process, and lets a sync of one database file fail there. `sync_shim.c` says how.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use tempfile::TempDir;

/// The compiled library; `None` if it cannot be compiled here.
fn library() -> Option<&'static Path> {
    static LIBRARY: OnceLock<Option<(TempDir, PathBuf)>> = OnceLock::new();
    let compiled = LIBRARY.get_or_init(|| {
        if !cfg!(target_os = "linux") {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("sync_shim.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/common/sync_shim.c");
        let mut compile = Command::new("cc");
        compile.args(["-shared", "-fPIC", "-O1", "-pthread", "-o"]).arg(&library).arg(source);
        match compile.arg("-ldl").output() {
            Ok(output) if output.status.success() => Some((folder, library)),
            Ok(output) => panic!("{}", String::from_utf8_lossy(&output.stderr)),
            // There is no C compiler.
            Err(_) => None,
        }
    });
    compiled.as_ref().map(|(_, library)| library.as_path())
}

/// How syncs fail in a process.
pub struct SyncShim {
    library: &'static Path,
    database: PathBuf,
}

impl SyncShim {
    /// Prepares the library for a database file that exists. Returns `None`, and says so, if it cannot be compiled here.
    pub fn for_database(path: &Path) -> Option<Self> {
        let Some(library) = library() else {
            eprintln!("skipped: there is no C compiler here, or this is not Linux");
            return None;
        };
        Some(Self { library, database: path.canonicalize().unwrap() })
    }

    /// Preloads the library into the process that `command` starts.
    pub fn preload<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command.env("LD_PRELOAD", self.library).env("SHIM_FILE", &self.database)
    }

    /// Lets the `number`th sync of the database file fail, counted from 1.
    pub fn fail_at<'c>(&self, number: u64, command: &'c mut Command) -> &'c mut Command {
        self.preload(command).env("SHIM_FAIL_AT", number.to_string())
    }
}
