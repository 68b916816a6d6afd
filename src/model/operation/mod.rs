//! The operation of the program: backups, checks, maintenance, figures.

pub(crate) mod backup;
pub(crate) mod check;
#[cfg(feature = "exports")]
pub(crate) mod export;
pub(crate) mod maintenance;
pub(crate) mod statistics;
