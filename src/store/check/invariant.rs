//! The types of the invariants.

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

/// Rules about the rows of one table and the rows that they refer to. One query looks for violations of all of them,
/// because reading the rows takes longer than comparing their values.
pub(super) struct RowInvariants {
    /// The table whose rows can break the rules.
    pub(super) table: &'static str,
    /// The column with the key of a row.
    pub(super) key: &'static str,
    /// The rows, as they stand after FROM.
    pub(super) rows: &'static str,
    pub(super) rules: &'static [RowInvariant],
}

pub(super) struct RowInvariant {
    /// The name, which is stable, so that programs can rely on it.
    pub(super) name: &'static str,
    /// A description of the rule for people.
    pub(super) sentence: &'static str,
    /// An expression that is true for a row that breaks the rule.
    pub(super) is_violated: &'static str,
}

impl RowInvariants {
    /// Selects a row that breaks one of the rules.
    pub(super) fn any_violation(&self) -> String {
        let violations: Vec<_> = self.rules.iter().map(|rule| format!("({})", rule.is_violated)).collect();
        format!("SELECT {} AS id FROM {} WHERE {}", self.key, self.rows, violations.join(" OR "))
    }

    /// Selects the key, as `id`, of each row that breaks a rule.
    pub(super) fn violations(&self, rule: &RowInvariant) -> String {
        format!("SELECT {} AS id FROM {} WHERE {}", self.key, self.rows, rule.is_violated)
    }
}
