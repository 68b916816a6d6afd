//! What a discount takes off, computed another way than the crate does: with fractions that are compared exactly.

/// A line of a basket: its ticket type and its subtotal in minor units.
pub type Line = (usize, i64);

/// What is taken off each line: a whole percentage rounded half up, or an amount of which each minor unit goes to the
/// line that lacks most of its exact share.
pub fn off(percent: bool, value: i64, only: Option<usize>, lines: &[Line]) -> Vec<i64> {
    let applies = |of: usize| only.is_none_or(|only| only == of);
    let base: Vec<i64> = lines.iter().map(|(of, subtotal)| if applies(*of) { *subtotal } else { 0 }).collect();
    if percent {
        return base.iter().map(|subtotal| (subtotal * value + 50).div_euclid(100)).collect();
    }
    let sum: i64 = base.iter().sum();
    let amount = value.min(sum);
    // Whole shares first, then a unit at a time to whoever is furthest below their exact share.
    let mut given: Vec<i64> = base.iter().map(|subtotal| if sum == 0 { 0 } else { amount * subtotal / sum }).collect();
    while given.iter().sum::<i64>() < amount {
        let lacks = |index: &usize| amount * base[*index] - given[*index] * sum;
        // The first of equals: `max_by_key` would give the last.
        let next = (0..base.len()).rev().max_by_key(lacks).expect("there is a line");
        given[next] += 1;
    }
    given
}
