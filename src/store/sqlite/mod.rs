//! The one folder that names rusqlite and r2d2. An engine for another database would be a second folder like this one.

mod copy;
mod database;
mod failure;
mod integrity;
mod location;
mod readers;
mod settings;
mod transaction;
mod values;

pub(super) use database::Database;
pub(crate) use location::Location;
pub(super) use readers::Readers;
pub(crate) use transaction::Transaction;
pub(crate) use values::{Bind, Row};
