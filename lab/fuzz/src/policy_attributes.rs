//! Any octets as attributes, key and next hop of a route: policies that look at everything and
//! change everything do not panic, what they make is whole, and what they explain is what they do.

use bgp::codec::Attributes;
use bgp::family::Family;
use policy::{Peer, Policies, Policy, PolicyConfig, Scratch, Subject, Validation, Verdict};
use std::sync::LazyLock;

const TEXT: &str = r#"
    name = "curious"
    default = "accept"
    [[rule]]
    match.prefixes = ["0.0.0.0/0 ge 8 le 28", "::/0 ge 16 le 64"]
    match.next_hops = ["0.0.0.0/1", "8000::/1"]
    match.communities = ["*:*", "rt *:*", "large *:*:*"]
    match.as_path = "^. .{2,5} [^1-5]+"
    match.as_path_length = "2-"
    match.med = "0-"
    set.next_hop = "self"
    then = "next"
    [[rule]]
    match.validation = "invalid"
    set.communities = { remove = ["0-99:*", "ro *:*"], add = ["1:1", "rt 1:1", "1:1:1"] }
    set.local_pref = "+1"
    set.med = "-1"
    set.prepend = { asn = 1, times = 32 }
    set.origin = "egp"
    set.aigp = "+1"
    then = "next"
    [[rule]]
    match.prefixes = ["0.0.0.0/0 le 32"]
    set.communities.replace = ["1:2", "rt 1:2", "1:1:2"]
    set.aigp = 3
    then = "next"
"#;

static POLICY: LazyLock<Policy> = LazyLock::new(|| {
    let config: PolicyConfig = toml::from_str(TEXT).expect("it is a policy");
    let policies = Policies::compile(&[config]).expect("it can be meant");
    policies.policy(policies.named("curious").expect("it is there")).clone()
});

pub fn run(bytes: &[u8]) {
    // Family, validation, and how long key and next hop are, then these and the attributes.
    let [family, validation, key, next_hop, rest @ ..] = bytes else { return };
    let (key, rest) = rest.split_at(usize::from(*key).min(rest.len()));
    let (next_hop, attributes) = rest.split_at(usize::from(*next_hop).min(rest.len()));
    let known = [None, Some(Validation::Valid), Some(Validation::Invalid)];
    let subject = Subject {
        family: Family::ALL[usize::from(*family) % Family::ALL.len()],
        key,
        attributes,
        next_hop,
        validation: known[usize::from(*validation) % known.len()],
        peer: Peer { name: "a", group: "b", address: [192, 0, 2, 1].into(), asn: 1 },
    };
    let (mut scratch, mut again) = (Scratch::default(), Scratch::default());
    let verdict = POLICY.evaluate(&subject, &mut scratch);
    let (explained, why) = POLICY.explain(&subject, &mut again);
    assert_eq!(verdict, explained);
    assert!(!why.to_string().is_empty());
    if let Verdict::Changed { attributes: made, .. } = verdict {
        let is_same = core::ptr::eq(made, attributes);
        assert!(is_same || Attributes::new(made).all(|attribute| attribute.is_ok()));
    }
}
