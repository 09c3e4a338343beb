//! Places in the main lane, fair between sellers: a seller's n-th waiting batch stands n turns behind the head.
//!
//! Within a turn each seller has at most [`BATCH`] places, ever; so the head moves on after as many batches as there are
//! sellers, and a seller's million never delays another's one change for longer. It lives in memory of the token's
//! holder: a new holder begins to count anew, which costs fairness of one batch per seller and nothing else.

use std::collections::HashMap;

/// Offers of one run.
pub const BATCH: usize = 100;
/// Sellers remembered beyond the head.
const MAX_SELLERS: usize = 10_000;

#[derive(Default)]
pub(crate) struct Turns {
    /// By stage and seller: the turn that fills up, and how many places of it are used.
    last: HashMap<(String, String), (i64, usize)>,
}

impl Turns {
    /// The next place for the seller. `head`: the first turn that is in the stage's queue; `None`: it is empty.
    pub(crate) fn next(&mut self, stage: &str, seller: &str, head: Option<i64>) -> i64 {
        let Some(head) = head else {
            self.last.retain(|(of, _), _| of != stage);
            self.last.insert((stage.to_owned(), seller.to_owned()), (0, 1));
            return 0;
        };
        if self.last.len() > MAX_SELLERS {
            self.last.retain(|(of, _), (turn, _)| of != stage || *turn >= head);
        }
        let (turn, used) = self.last.entry((stage.to_owned(), seller.to_owned())).or_insert((head, 0));
        if *turn < head {
            (*turn, *used) = (head, 0);
        }
        if *used == BATCH {
            (*turn, *used) = (*turn + 1, 0);
        }
        *used += 1;
        *turn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wish_stands_before_the_rest_of_anothers_million() {
        let mut turns = Turns::default();
        assert_eq!(turns.next("stage", "large", None), 0);
        for place in 1..1_000 {
            assert_eq!(turns.next("stage", "large", Some(0)), place / BATCH as i64);
        }
        assert_eq!(turns.next("stage", "small", Some(0)), 0);
        assert_eq!(turns.next("stage", "small", Some(4)), 4, "nobody stands before the head");
        assert_eq!(turns.next("other", "large", Some(0)), 0, "each stage has its own queue");
        assert_eq!(turns.next("stage", "large", None), 0, "an empty queue begins anew");
    }
}
