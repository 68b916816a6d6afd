//! The result of checking a database.

use std::collections::BTreeMap;

/// A violation of an invariant in a database. It names rows, but never their values.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Finding {
    /// The stable name of the invariant, such as `places-sold`.
    pub invariant: String,
    /// The table of the row; empty if unknown.
    pub table: String,
    /// The primary key of the row, as it is stored; `None` if the violation does not concern a single row, or the key
    /// is unknown.
    pub row: Option<String>,
    /// The rule that the row violates, or a description of the damage if data cannot be read.
    pub sentence: String,
}

/// The progress of a check. Its steps take different times: the first ones are the longest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CheckProgress {
    /// The number of steps that are done.
    pub steps: u64,
    /// The number of all steps.
    pub total_steps: u64,
}

/// The result of checking a whole database.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CheckReport {
    /// The number of violations of each invariant that does not hold, by its name. Violations of `integrity` are
    /// counted up to 100.
    pub counts: BTreeMap<String, u64>,
    /// The first 100 violations of each invariant.
    pub findings: Vec<Finding>,
    /// How many rows were looked at, by table: of events, ticket types, customers, orders, tickets, payments, refunds,
    /// webhook endpoints and notifications.
    #[serde(default)]
    pub checked: BTreeMap<String, u64>,
}

impl CheckReport {
    /// Whether all invariants hold.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.counts.is_empty()
    }

    /// The greatest number of findings that are listed for one invariant.
    pub(crate) const LISTED: u64 = 100;

    /// Adds the findings of another part of the check.
    pub(crate) fn append(&mut self, part: Self) {
        let counts_before = self.counts.clone();
        for (invariant, count) in part.counts {
            *self.counts.entry(invariant).or_default() += count;
        }
        self.checked.extend(part.checked);
        let mut listed = counts_before;
        for finding in part.findings {
            let listed = listed.entry(finding.invariant.clone()).or_default();
            if *listed < Self::LISTED {
                *listed += 1;
                self.findings.push(finding);
            }
        }
    }

    /// Counts a finding, and lists it unless there are too many.
    pub(crate) fn add(&mut self, finding: Finding) {
        let count = self.counts.entry(finding.invariant.clone()).or_default();
        *count += 1;
        if *count <= Self::LISTED {
            self.findings.push(finding);
        }
    }
}
