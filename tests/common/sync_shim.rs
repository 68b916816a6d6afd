//! A C library that is preloaded into a process, and lets calls for the files of a database fail there. `sync_shim.c`
//! says how.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use tempfile::TempDir;

use super::unavailable;

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

/// How calls fail in a process.
pub struct SyncShim {
    library: &'static Path,
    database: PathBuf,
}

impl SyncShim {
    /// Prepares the library for a database file that exists. Returns `None`, and says so, if it cannot be compiled
    /// here.
    pub fn for_database(path: &Path) -> Option<Self> {
        let Some(library) = library() else {
            unavailable("there is no C compiler here, or this is not Linux");
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

/// A call of the operating system that can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    Write,
    Sync,
    Truncate,
    Open,
}

impl Call {
    pub const ALL: [Self; 4] = [Self::Write, Self::Sync, Self::Truncate, Self::Open];
}

/// How a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// With the error EIO.
    Error = 1,
    /// With the error ENOSPC.
    Full = 2,
    /// A write stores its first half, and the next write fails with ENOSPC.
    Half = 3,
    /// A write stores nothing, and reports success.
    Lie = 4,
}

/// Which call fails, and how.
#[derive(Debug, Clone, Copy)]
pub struct FailingCall {
    pub call: Call,
    pub fault: Fault,
    /// Counted from 1.
    pub number: usize,
    /// Whether the calls after it fail as well.
    pub for_good: bool,
}

/// What happened while calls were counted.
#[derive(Debug, Default)]
pub struct Calls {
    pub failed: usize,
    /// How many calls there were, in the order of [`Call::ALL`].
    pub counted: [usize; 4],
}

/// Lets calls of this process fail. The library must be preloaded.
pub struct CallControl(File);

impl CallControl {
    /// Creates the file with which a process that `command` starts controls its calls.
    pub fn prepare(file: &Path, command: &mut Command) {
        std::fs::write(file, [0; Self::SIZE]).unwrap();
        command.env("SHIM_CONTROL", file);
    }

    const SIZE: usize = 4 * 10;

    /// The control of this process.
    pub fn of_this_process() -> Self {
        let file = super::processes::child_variable("SHIM_CONTROL");
        Self(File::options().read(true).write(true).open(file).unwrap())
    }

    /// Counts the calls for files in the folder of the database while `work` runs, and lets these fail.
    pub fn while_failing<T>(&self, failing: Option<FailingCall>, work: impl FnOnce() -> T) -> (T, Calls) {
        let number = |value: usize| i32::try_from(value).unwrap();
        let mut fields = [0; Self::SIZE / 4];
        fields[0] = 1;
        if let Some(failing) = failing {
            fields[1] = failing.call as i32;
            fields[2] = failing.fault as i32;
            fields[3] = number(failing.number);
            fields[4] = i32::from(failing.for_good);
        }
        self.write(&fields);
        let result = work();
        let mut bytes = [0; Self::SIZE];
        (&self.0).seek(SeekFrom::Start(0)).unwrap();
        (&self.0).read_exact(&mut bytes).unwrap();
        self.write(&[0]);
        let fields: Vec<usize> = bytes
            .chunks_exact(4)
            .map(|field| usize::try_from(i32::from_ne_bytes(field.try_into().unwrap())).unwrap())
            .collect();
        (result, Calls { failed: fields[5], counted: fields[6..10].try_into().unwrap() })
    }

    fn write(&self, fields: &[i32]) {
        let bytes: Vec<u8> = fields.iter().flat_map(|field| field.to_ne_bytes()).collect();
        (&self.0).seek(SeekFrom::Start(0)).unwrap();
        (&self.0).write_all(&bytes).unwrap();
    }
}
