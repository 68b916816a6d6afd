//! The one folder that names rusqlite and r2d2. An engine for another database would be a second folder like this one.

mod checkpoint;
mod copy;
mod database;
pub(super) mod failure;
mod integrity;
mod location;
mod readers;
mod settings;
pub(super) mod values;

pub(in crate::store) use checkpoint::Checkpointer;
pub(in crate::store) use database::Database;
pub(crate) use location::Location;
pub(in crate::store) use readers::Readers;
pub(crate) use values::{Bind, Row};
