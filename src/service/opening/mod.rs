//! Opening and closing a service, and its settings.

pub(super) mod builder;
pub(super) mod builder_settings;
pub(super) mod close;
pub(super) mod database_file;
#[cfg(feature = "postgres")]
pub(super) mod postgres_database;
