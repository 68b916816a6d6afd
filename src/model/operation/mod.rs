//! The operation of the program: backups, checks, maintenance, figures.

pub(crate) mod backup;
pub(crate) mod check;
pub(crate) mod maintenance;
pub(crate) mod statistics;
