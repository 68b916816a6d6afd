//! Queries, rows, values, and violated constraints.

pub(super) mod query;
pub(super) mod row;
pub(super) mod values;
pub(super) mod violation;
