//! Who should work on which shard: rendezvous hashing with equal loads.
//!
//! Every process computes the same answer from the same list of members, so nobody has to lead. A shard goes to the
//! member that scores highest for it and is not full yet; loads differ by at most one. When a member comes or goes,
//! few shards move but its own.

/// For each shard of the role, the index of the member that should hold its token. Members must be in one order
/// everywhere (by id) and there must be at least one.
pub(crate) fn assign(role: &str, shards: u16, members: &[&str]) -> Vec<usize> {
    let count = members.len();
    if count <= 1 {
        return vec![0; usize::from(shards)];
    }
    let role = text_hash(role);
    let members: Vec<_> = members.iter().map(|member| text_hash(member)).collect();
    let (least, extra) = (usize::from(shards) / count, usize::from(shards) % count);
    let mut loads = vec![0; count];
    let mut with_extra = 0;
    (0..shards)
        .map(|shard| {
            let place = mix(role ^ mix(u64::from(shard) + 1));
            let has_room =
                |index: &usize| loads[*index] < least || loads[*index] == least && with_extra < extra;
            let best = (0..count).filter(has_room).max_by_key(|index| mix(members[*index] ^ place));
            let best = best.unwrap_or(0);
            loads[best] += 1;
            with_extra += usize::from(loads[best] == least + 1);
            best
        })
        .collect()
}

/// FNV-1a, then mixed. All processes must agree on it, whatever their version.
fn text_hash(text: &str) -> u64 {
    mix(text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)))
}

/// The finaliser of SplitMix64: every bit of the input moves half of the output's.
fn mix(mut bits: u64) -> u64 {
    bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(seed: usize, count: usize) -> Vec<String> {
        let mut names: Vec<_> = (0..count).map(|index| format!("member-{seed}-{index}")).collect();
        names.sort();
        names
    }

    fn owners<'a>(role: &str, shards: u16, members: &'a [String]) -> Vec<&'a str> {
        let members: Vec<_> = members.iter().map(String::as_str).collect();
        assign(role, shards, &members).into_iter().map(|index| members[index]).collect()
    }

    #[test]
    fn loads_differ_by_at_most_one() {
        for (seed, count) in (1..=40).enumerate() {
            for shards in [1, 7, 16, 128, 1024] {
                let members = names(seed, count);
                let owners = owners("relay", shards, &members);
                let loads =
                    members.iter().map(|member| owners.iter().filter(|owner| *owner == member).count());
                let (least, most) = (loads.clone().min().unwrap(), loads.max().unwrap());
                assert!(most - least <= 1, "{count} members have {least}..{most} of {shards} shards");
            }
        }
    }

    /// A newcomer takes its share; little else moves. A leaver's share is spread; little else moves.
    #[test]
    fn few_shards_move_when_one_comes_or_goes() {
        let mut worst = 0.0_f64;
        for seed in 0..40 {
            for count in [1, 2, 3, 5, 10] {
                let members = names(seed, count + 1);
                let newcomer = &members[seed % (count + 1)];
                let fewer: Vec<_> = members.iter().filter(|member| *member != newcomer).cloned().collect();
                let (before, after) = (owners("stages", 1024, &fewer), owners("stages", 1024, &members));
                let moved = before.iter().zip(&after).filter(|(before, after)| before != after).count();
                let given = after.iter().filter(|owner| *owner == newcomer).count();
                worst = worst.max((moved - given) as f64 / 1024.0);
            }
        }
        assert!(worst < 0.12, "{worst} of the shards moved between members that stayed");
    }

    #[test]
    fn roles_are_spread_differently() {
        let members = names(0, 4);
        assert_ne!(owners("relay", 1024, &members), owners("stages", 1024, &members));
    }

    /// Processes of different versions must agree.
    #[test]
    fn the_assignment_is_fixed_for_ever() {
        assert_eq!(assign("relay", 16, &["a", "b", "c"]), [0, 2, 1, 0, 2, 1, 0, 2, 1, 2, 1, 0, 1, 2, 1, 0]);
    }
}
