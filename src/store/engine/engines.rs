//! The engine of an open store: an SQLite file or a PostgreSQL database. Both have the same methods.

use super::after_commit::AfterCommit;
use super::engine_options::{EngineOptions, ReaderOptions};
use super::snapshots::Snapshots;
use super::sqlite::SqliteEngine;
use super::tables::Tables;
use crate::environment::Environment;
use crate::error::Result;
#[cfg(feature = "postgres")]
use crate::error::StoreErrorKind;

pub(in crate::store) enum Engine {
    Sqlite(Box<SqliteEngine>),
    #[cfg(feature = "postgres")]
    Postgres(Box<super::postgres::PostgresEngine>),
}

/// Evaluates an expression with the open engine, which has the same methods for each kind of database.
macro_rules! on_engine {
    ($engine:expr, $name:ident => $call:expr) => {
        match $engine {
            $crate::store::engine::Engine::Sqlite($name) => $call,
            #[cfg(feature = "postgres")]
            $crate::store::engine::Engine::Postgres($name) => $call,
        }
    };
}
pub(in crate::store) use on_engine;

impl Engine {
    /// Opens the database, and creates or migrates its schema.
    pub(in crate::store) fn open(
        options: &EngineOptions,
        readers: ReaderOptions,
        environment: &Environment,
        after_commit: AfterCommit,
        tables: Tables,
    ) -> Result<Self> {
        match options {
            EngineOptions::Sqlite { location, migration } => {
                let engine = SqliteEngine::open(location, readers, *migration, environment, after_commit, tables);
                engine.map(|engine| Self::Sqlite(Box::new(engine)))
            }
            #[cfg(feature = "postgres")]
            EngineOptions::Postgres(options) => {
                let engine = super::postgres::PostgresEngine::open(options, readers, environment, after_commit, tables);
                engine.map(|engine| Self::Postgres(Box::new(engine)))
            }
        }
    }

    /// The open database file. Fails if this is a PostgreSQL database.
    pub(in crate::store) fn file(&self) -> Result<&SqliteEngine> {
        match self {
            Self::Sqlite(engine) => Ok(engine),
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => Err(StoreErrorKind::not_a_file().into()),
        }
    }

    /// Opens connections that read large parts of the database in steps.
    pub(in crate::store) fn snapshots(&self) -> Box<dyn Snapshots> {
        match self {
            Self::Sqlite(engine) => Box::new(engine.snapshots()),
            #[cfg(feature = "postgres")]
            Self::Postgres(engine) => Box::new(engine.snapshots()),
        }
    }
}
