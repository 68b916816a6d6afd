//! Reads a database file and changes nothing in it: its schema may be older, and the file and its folder may be
//! read-only.

use rusqlite::{Connection, OpenFlags};

use crate::environment::Environment;
use crate::error::{Error, Result, StoreErrorKind};
use crate::store::engine::sqlite::database::Database;
use crate::store::engine::sqlite::errors::convert;
use crate::store::engine::sqlite::files::location::Location;
use crate::store::engine::sqlite::files::moved::too_new;
use crate::store::engine::sqlite::sqlite_snapshots::{Access, SqliteSnapshots};
use crate::store::migrations;

/// A database file, or a temporary copy of it, whose content is looked at.
pub(in crate::store) struct InspectedDatabase {
    // Closed before its folder is deleted.
    database: Database,
    pub(in crate::store) is_current: bool,
    location: Location,
    is_temporary_copy: bool,
}

impl InspectedDatabase {
    /// Opens further connections to the database.
    pub(in crate::store) fn snapshots(&self, environment: &Environment) -> SqliteSnapshots {
        let access = if self.is_temporary_copy { Access::Existing } else { Access::Unchanged };
        SqliteSnapshots::new(self.location.clone(), access, environment.clone())
    }

    /// The database with the current schema. An older one is migrated in a temporary copy.
    pub(in crate::store) fn migrated(self) -> Result<Self> {
        let copied = if self.is_temporary_copy { self } else { self.copied()? };
        copied.database.migrate(|_| Ok(()))?;
        Ok(Self { is_current: true, ..copied })
    }

    fn copied(self) -> Result<Self> {
        let copy = Location::temporary()?;
        copy.create_file();
        self.database.copy_to(&copy, |_| Ok(()))?;
        Ok(Self { database: copy.open()?, location: copy, is_temporary_copy: true, ..self })
    }
}

impl Location {
    /// Opens an existing database to look at everything in it. Of a file that cannot be written, a temporary copy is
    /// made: SQLite does not verify the CHECK constraints of a read-only database.
    pub(in crate::store) fn inspect(&self) -> Result<InspectedDatabase> {
        let database = self.open_unchanged()?;
        let is_read_only = database.is_read_only()?;
        let schema_version = database.schema_version()?;
        let known = migrations::SQLITE.known();
        if schema_version > known {
            return Err(too_new(schema_version, known).into());
        }
        if schema_version == 0 {
            return Err(StoreErrorKind::NotADatabase(self.path().display().to_string()).into());
        }
        let is_current = schema_version == known;
        let inspected = InspectedDatabase { database, is_current, location: self.clone(), is_temporary_copy: false };
        if is_read_only { inspected.copied() } else { Ok(inspected) }
    }

    /// Opens a connection that changes nothing: neither the schema, nor the journal mode, nor what is in the WAL.
    pub(in crate::store::engine::sqlite) fn open_unchanged(&self) -> Result<Database> {
        Self::check_sqlite()?;
        let has_wal = self.wal_bytes() > 0;
        let open = |connection| {
            Database::open_unchanged(connection, self.path(), has_wal).map_err(|error| self.with_path(error))
        };
        let opened = self.connect(OpenFlags::SQLITE_OPEN_READ_WRITE).and_then(open);
        let is_read_only = match &opened {
            Ok(database) => database.is_read_only()?,
            Err(Error::Store(error)) => {
                matches!(error.kind(), StoreErrorKind::CannotOpen(_) | StoreErrorKind::ReadOnly(_))
            }
            Err(_) => false,
        };
        // Without a WAL, the file has everything. Nobody can be writing it: SQLite would have been able to open the
        // WAL.
        if is_read_only && !has_wal && self.path().exists() && self.is_plain_file() {
            drop(opened);
            return self.connect_immutable().and_then(open);
        }
        let database = opened?;
        if has_wal && self.is_plain_file() {
            self.check_wal_owner(&self.connect_immutable()?, &database)?;
        }
        Ok(database)
    }

    /// Fails if there is a WAL of another file next to this one.
    pub(in crate::store) fn check_wal(&self) -> Result<()> {
        if self.wal_bytes() > 0 { self.open_unchanged().map(drop) } else { Ok(()) }
    }

    /// Opens a connection to a file that nobody changes. SQLite then creates no files next to it.
    fn connect_immutable(&self) -> Result<Connection> {
        let bytes = self.path().as_os_str().as_encoded_bytes();
        let escaped: Vec<_> = bytes.iter().map(|byte| format!("%{byte:02X}")).collect();
        let uri = format!("file:{}?immutable=1", escaped.concat());
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
        Connection::open_with_flags(uri, flags).map_err(convert).map_err(|error| self.with_path(error))
    }
}
