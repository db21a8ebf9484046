//! Once its scratch has grown, a policy decides without allocating, whatever it changes.
//! A program of its own: what counts allocations replaces the allocator of all of it.
#![allow(clippy::unwrap_used, missing_docs)]

#[allow(dead_code, reason = "it needs a part")]
#[path = "it/given/mod.rs"]
mod given;

use policy::{Scratch, Verdict};

#[test]
fn a_policy_that_changes_everything_allocates_nothing() {
    let policy = given::policy(
        r#"
        [[policy]]
        name = "all"
        [[policy.rule]]
        match.prefixes = ["10.0.0.0/8 le 24"]
        match.communities = ["65000:*", "rt 65000:7"]
        match.as_path = "^65001( .)*$"
        match.peers = ["edges"]
        match.next_hops = ["192.0.2.0/24"]
        set.local_pref = 200
        set.med = "+5"
        set.communities = { add = ["65000:1", "rt 65000:8", "1:1:1"], remove = ["65000:100"] }
        set.next_hop = "self"
        set.prepend = { asn = 65000, times = 2 }
        set.origin = "egp"
        set.aigp = "+1"
        then = "accept"
        "#,
    );
    let route = given::route();
    let mut scratch = Scratch::default();
    let mut changed = 0;
    let mut ask = || {
        let verdict = policy.evaluate(&route.subject(), &mut scratch);
        changed += usize::from(matches!(verdict, Verdict::Changed { .. }));
    };
    ask();
    let measured = allocation_counter::measure(|| (0..1_000).for_each(|_| ask()));
    assert_eq!((changed, measured.count_total), (1_001, 0));
    let control = allocation_counter::measure(|| drop(route.clone()));
    assert!(control.count_total > 0, "the counter counts");
}
