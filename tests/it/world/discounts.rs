//! The amounts of discounts, calculated in a different way than in the crate: with exact comparison of fractions.

/// An item of a basket: the index of its ticket type, and its subtotal in minor units.
#[derive(Debug, Clone, Copy)]
pub struct BasketItem {
    pub ticket_type: usize,
    pub subtotal: i64,
}

/// Returns the discount of each item: a percentage rounded half up, or its part of a fixed amount by largest remainder.
pub fn item_discounts(percent: bool, value: i64, only: Option<usize>, basket: &[BasketItem]) -> Vec<i64> {
    let applies = |item: &BasketItem| only.is_none_or(|only| only == item.ticket_type);
    let base: Vec<i64> = basket.iter().map(|item| if applies(item) { item.subtotal } else { 0 }).collect();
    if percent {
        return base.iter().map(|subtotal| (subtotal * value + 50).div_euclid(100)).collect();
    }
    let sum: i64 = base.iter().sum();
    let amount = value.min(sum);
    // Whole units first. Then each remaining unit goes to the item that is short of the most.
    let mut parts: Vec<i64> = base.iter().map(|subtotal| if sum == 0 { 0 } else { amount * subtotal / sum }).collect();
    while parts.iter().sum::<i64>() < amount {
        let missing = |index: &usize| amount * base[*index] - parts[*index] * sum;
        // In reverse order, because `max_by_key` returns the last of equal items and the first one is wanted.
        let next = (0..base.len()).rev().max_by_key(missing).expect("an item");
        parts[next] += 1;
    }
    parts
}
