//! The type of the invariants.

/// A rule that every row of a table always obeys. SQL finds the rows that violate it.
pub(super) struct Invariant {
    /// The name, which is stable, so that programs can rely on it.
    pub(super) name: &'static str,
    /// The table whose rows can break the rule.
    pub(super) table: &'static str,
    /// A description of the rule for people.
    pub(super) sentence: &'static str,
    /// Selects the key, as `id`, of each row that breaks the rule.
    pub(super) violations: &'static str,
}
