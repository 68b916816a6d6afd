//! What an invariant is.

/// A rule that every row of a table obeys at every instant. SQL finds the rows that break it.
pub(super) struct Invariant {
    /// The stable name, which programs may look for.
    pub(super) name: &'static str,
    /// The table whose rows can break the rule.
    pub(super) table: &'static str,
    /// What must hold, for a person.
    pub(super) sentence: &'static str,
    /// Selects the key, as `id`, of each row that breaks the rule.
    pub(super) broken: &'static str,
}
