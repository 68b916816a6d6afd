//! The balance of a payment: what of it goes back, through the gateway or manually. This is the only place that decides
//! it.
//!
//! Amounts are in minor units. Decisions are [`Decision`]s, the oldest first, and facts are sums of the ledger.
//!
//! A customer who got the money from the bank does not get it again: what banks have taken reduces what the newest
//! decisions give back. What a bank has not decided about is on hold until it has.

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PaymentSums {
    /// What was paid.
    pub(crate) received: i64,
    /// What went back: refunds that have not failed, and money returned manually.
    pub(crate) returned: i64,
    /// What banks have taken for disputes and have not given back.
    pub(crate) taken: i64,
    /// What was decided to go back and is not withdrawn.
    pub(crate) promised: i64,
    /// The amounts of disputes that are open.
    pub(crate) disputed: i64,
    /// The part of `taken` that was taken for disputes that are open.
    pub(crate) taken_by_open: i64,
}

impl PaymentSums {
    /// What still has to go back.
    pub(crate) fn to_return(self) -> i64 {
        (self.promised.min(self.received.saturating_sub(self.taken))).saturating_sub(self.returned).max(0)
    }

    /// The part of it that waits until banks have decided. What they have taken already is not to be returned anyway, so
    /// it is not held a second time.
    pub(crate) fn on_hold(self) -> i64 {
        self.to_return().min(self.disputed.saturating_sub(self.taken_by_open).max(0))
    }

    /// What nobody has decided to give back yet.
    pub(crate) fn not_promised(self) -> i64 {
        self.received.saturating_sub(self.promised).max(0)
    }
}

/// A decision that money of a payment goes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decision {
    /// What of it has not gone back.
    pub(crate) open: i64,
    /// Whether the gateway is asked for it.
    pub(crate) by_gateway: bool,
    /// Whether the gateway has refused it for good.
    pub(crate) refused: bool,
}

/// The state of a decision: see the table of `sales::money::refund_lifecycle`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DecisionState {
    /// Money has to go back, or waits for the decision of a bank.
    Due,
    Done,
    /// The gateway has refused, or a bank has taken the money.
    Refused,
}

/// What becomes of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) state: DecisionState,
    /// What the gateway is to be asked for.
    pub(crate) to_ask: i64,
    /// What has to be returned manually.
    pub(crate) owed: i64,
}

/// Decides what becomes of the decisions of a payment that are not settled, the oldest first.
pub(crate) fn follow(sums: &PaymentSums, decisions: &[Decision]) -> Vec<Outcome> {
    let mut to_return = sums.to_return();
    let mut free_of_hold = to_return - sums.on_hold();
    let outcome = |decision: &Decision| {
        let share = decision.open.min(to_return);
        let now = share.min(free_of_hold);
        to_return -= share;
        free_of_hold -= now;
        let state = match (decision.refused, decision.open, share) {
            (true, ..) => DecisionState::Refused,
            (false, 0, _) => DecisionState::Done,
            (false, _, 0) if sums.disputed == 0 => DecisionState::Refused,
            (false, ..) => DecisionState::Due,
        };
        let is_asked = decision.by_gateway && !decision.refused;
        Outcome { state, to_ask: if is_asked { now } else { 0 }, owed: if is_asked { 0 } else { now } }
    };
    decisions.iter().map(outcome).collect()
}

/// Divides what went back of a payment among decisions, by what is open of each: `preferred` first, then the oldest.
/// The second result is what exceeds all of them.
pub(crate) fn allocate(amount: i64, open: &[i64], preferred: Option<usize>) -> (Vec<(usize, i64)>, i64) {
    let mut rest = amount;
    let mut parts = Vec::new();
    let others = (0..open.len()).filter(|index| Some(*index) != preferred);
    for index in preferred.into_iter().chain(others) {
        let part = open.get(index).copied().unwrap_or(0).min(rest);
        if part > 0 {
            parts.push((index, part));
            rest -= part;
        }
    }
    (parts, rest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn paid(received: i64, promised: i64) -> PaymentSums {
        PaymentSums { received, promised, ..PaymentSums::default() }
    }

    const ASKED: Decision = Decision { open: 0, by_gateway: true, refused: false };

    #[test]
    fn what_a_bank_has_taken_does_not_go_back_again() {
        let lost = PaymentSums { taken: 1000, ..paid(4000, 4000) };
        assert_eq!((lost.to_return(), lost.on_hold()), (3000, 0));
        let all = PaymentSums { taken: 4000, ..paid(4000, 4000) };
        let refused = Outcome { state: DecisionState::Refused, to_ask: 0, owed: 0 };
        assert_eq!(follow(&all, &[Decision { open: 4000, ..ASKED }]), [refused]);
    }

    #[test]
    fn what_a_bank_has_taken_and_not_decided_about_stays_due() {
        let open = PaymentSums { taken: 4000, disputed: 4000, ..paid(4000, 4000) };
        let due = Outcome { state: DecisionState::Due, to_ask: 0, owed: 0 };
        assert_eq!(follow(&open, &[Decision { open: 4000, ..ASKED }]), [due]);
    }

    #[test]
    fn only_the_disputed_part_waits_for_the_bank() {
        let open = PaymentSums { disputed: 1000, ..paid(4000, 4000) };
        let asked = Outcome { state: DecisionState::Due, to_ask: 3000, owed: 0 };
        assert_eq!(follow(&open, &[Decision { open: 4000, ..ASKED }]), [asked]);
    }

    /// 40.00 was paid and the order cancelled, and 10.00 of it is disputed. Whatever the bank decides about what it has
    /// taken already, 30.00 go back.
    #[test]
    fn what_a_bank_has_taken_already_is_not_held_a_second_time() {
        let open =
            |taken_by_open| PaymentSums { taken: taken_by_open, disputed: 1000, taken_by_open, ..paid(4000, 4000) };
        for (taken, held, asked) in [(0, 1000, 3000), (400, 600, 3000), (1000, 0, 3000)] {
            let due = Outcome { state: DecisionState::Due, to_ask: asked, owed: 0 };
            assert_eq!(open(taken).on_hold(), held, "{taken}");
            assert_eq!(follow(&open(taken), &[Decision { open: 4000, ..ASKED }]), [due], "{taken}");
        }
        // Two disputes: 10.00 that was taken, and an inquiry about 5.00.
        assert_eq!(PaymentSums { disputed: 1500, ..open(1000) }.on_hold(), 500);
    }

    #[test]
    fn a_refusal_is_owed_by_hand_until_the_money_has_gone_back() {
        let refused = Decision { open: 700, refused: true, ..ASKED };
        let owed = Outcome { state: DecisionState::Refused, to_ask: 0, owed: 700 };
        let sums = PaymentSums { returned: 300, ..paid(1000, 1000) };
        assert_eq!(follow(&sums, &[refused]), [owed]);
        let settled = Outcome { owed: 0, ..owed };
        let sums = PaymentSums { returned: 1000, ..paid(1000, 1000) };
        assert_eq!(follow(&sums, &[Decision { open: 0, ..refused }]), [settled]);
    }

    #[test]
    fn an_outside_refund_pays_the_oldest_decision_first() {
        assert_eq!(allocate(500, &[300, 0, 300], None), (vec![(0, 300), (2, 200)], 0));
        assert_eq!(allocate(500, &[300, 100], Some(1)), (vec![(1, 100), (0, 300)], 100));
    }

    prop_compose! {
        fn decisions()(open in prop::collection::vec((0..5_000_i64, any::<bool>(), any::<bool>()), 0..6)) -> Vec<Decision> {
            open.into_iter().map(|(open, by_gateway, refused)| Decision { open, by_gateway, refused }).collect()
        }
    }

    proptest! {
        #[test]
        fn never_more_goes_back_than_was_paid_and_never_less_than_nothing(
            decisions in decisions(), received in 1..20_000_i64, returned in 0..20_000_i64, lost in 0..20_000_i64,
            disputed in 0..20_000_i64, taken_by_open in 0..20_000_i64,
        ) {
            let open: i64 = decisions.iter().map(|decision| decision.open).sum();
            let taken_by_open = taken_by_open.min(disputed);
            let taken = lost + taken_by_open;
            let sums = PaymentSums { received, returned, taken, promised: returned + open, disputed, taken_by_open };
            let outcomes = follow(&sums, &decisions);
            let going: i64 = outcomes.iter().map(|outcome| outcome.to_ask + outcome.owed).sum();
            prop_assert!(outcomes.iter().all(|outcome| outcome.to_ask >= 0 && outcome.owed >= 0));
            prop_assert_eq!(going, sums.to_return() - sums.on_hold());
            // Even if banks take all that they have not decided about, nobody gets more than was paid.
            prop_assert!(going == 0 || returned + lost + disputed + going <= received);
            prop_assert!(going <= open);
            // No more than if banks give everything back.
            let won = PaymentSums { taken: lost, disputed: 0, taken_by_open: 0, ..sums };
            prop_assert!(going <= won.to_return());
        }

        #[test]
        fn every_amount_is_allocated_or_left_over(
            amount in 0..9_000_i64, open in prop::collection::vec(0..3_000_i64, 0..5), preferred in 0..5_usize,
        ) {
            let preferred = Some(preferred).filter(|index| *index < open.len());
            let (parts, rest) = allocate(amount, &open, preferred);
            prop_assert_eq!(parts.iter().map(|(_, part)| part).sum::<i64>() + rest, amount);
            prop_assert!(parts.iter().all(|(index, part)| *part > 0 && *part <= open[*index]));
            prop_assert!(rest == 0 || parts.iter().map(|(_, part)| part).sum::<i64>() == open.iter().sum::<i64>());
        }

        #[test]
        fn the_order_of_outside_refunds_does_not_matter(
            amounts in prop::collection::vec(1..2_000_i64, 1..5), open in prop::collection::vec(0..3_000_i64, 0..4),
        ) {
            let left_after = |amounts: &[i64]| {
                let mut open = open.clone();
                let mut beyond = 0;
                for amount in amounts {
                    let (parts, rest) = allocate(*amount, &open, None);
                    for (index, part) in parts {
                        open[index] -= part;
                    }
                    beyond += rest;
                }
                (open, beyond)
            };
            let reversed: Vec<_> = amounts.iter().rev().copied().collect();
            prop_assert_eq!(left_after(&amounts), left_after(&reversed));
        }
    }
}
