//! What a check of a store found.

use std::collections::BTreeMap;

/// One place where a store is not as it must be. It names rows, and never what they hold.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The stable name of what must hold, such as `places-sold`.
    pub invariant: &'static str,
    /// The table of the row; empty where it is not known which.
    pub table: String,
    /// The row's key as SQL shows it; `None` where no row by itself is wrong, or its key is unknown.
    pub row: Option<String>,
    /// What must hold and does not, for a person.
    pub sentence: String,
}

/// What a check of a whole store found.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckReport {
    /// How many rows break each invariant that does not hold, by its name. Of `integrity`, at most 100 are counted.
    pub counts: BTreeMap<&'static str, u64>,
    /// The first 100 of each.
    pub findings: Vec<Finding>,
}

impl CheckReport {
    /// Whether everything holds.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.counts.is_empty()
    }

    /// How many findings of one invariant a report lists.
    pub(crate) const LISTED: u64 = 100;

    /// Counts a finding, and lists it where there is room.
    pub(crate) fn add(&mut self, finding: Finding) {
        let count = self.counts.entry(finding.invariant).or_default();
        *count += 1;
        if *count <= Self::LISTED {
            self.findings.push(finding);
        }
    }
}
