//! A route to be asked about, and verdicts as text.

use bgp::codec::{
    AsPath, AttributeType, Attributes, Community, ExtendedCommunity, LargeCommunity, SegmentKind,
    aigp_metric, prepend, write_attribute,
};
use bgp::family::Family;
use policy::{
    NewNextHop, Peer, Policies, Policy, PolicyConfig, Scratch, Subject, Validation, Verdict,
    Violation,
};

#[derive(serde::Deserialize)]
struct Site {
    policy: Vec<PolicyConfig>,
}

pub fn read(text: &str) -> Vec<PolicyConfig> {
    let site: Site = toml::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    site.policy
}

pub fn compile(text: &str) -> Result<Policies, Vec<Violation>> {
    Policies::compile(&read(text))
}

/// The only policy of a text.
pub fn policy(text: &str) -> Policy {
    let policies = compile(text).unwrap_or_else(|faults| panic!("{text}: {faults:#?}"));
    policies.iter().next().unwrap().1.clone()
}

/// A route with everything about it.
#[derive(Debug, Clone)]
pub struct Route {
    pub family: Family,
    pub key: Vec<u8>,
    pub attributes: Vec<u8>,
    pub next_hop: Vec<u8>,
    pub validation: Option<Validation>,
}

impl Route {
    pub fn subject(&self) -> Subject<'_> {
        Subject {
            family: self.family,
            key: &self.key,
            attributes: &self.attributes,
            next_hop: &self.next_hop,
            validation: self.validation,
            peer: Peer { name: "pe1", group: "edges", address: [192, 0, 2, 9].into(), asn: 65_001 },
        }
    }
}

pub fn path_of(ases: &[u32]) -> Vec<u8> {
    let mut path = Vec::new();
    for asn in ases.iter().rev() {
        let before = std::mem::take(&mut path);
        prepend(&before, SegmentKind::Sequence, *asn, &mut path);
    }
    path
}

pub fn words(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_be_bytes()).collect()
}

pub fn aigp(metric: u64) -> Vec<u8> {
    [&[1, 0, 11][..], &metric.to_be_bytes()].concat()
}

/// Attributes of those types and values, in the order of their numbers.
pub fn attributes(all: &[(AttributeType, Vec<u8>)]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut all = all.to_vec();
    all.sort_by_key(|(kind, _)| kind.number());
    all.iter().for_each(|(kind, value)| {
        write_attribute(kind.flags(), kind.number(), value, &mut out);
    });
    out
}

/// 10.1.2.0/24 with an attribute of each type that policies know.
pub fn route() -> Route {
    use AttributeType::*;
    Route {
        family: Family::Ipv4Unicast,
        key: vec![24, 10, 1, 2],
        attributes: attributes(&[
            (Origin, vec![0]),
            (AsPath, path_of(&[65_001, 65_002, 4_200_000_000])),
            (NextHop, vec![192, 0, 2, 1]),
            (MultiExitDisc, words(&[10])),
            (LocalPref, words(&[150])),
            (Communities, words(&[65_000 << 16 | 100, 0xFFFF_FF01])),
            (
                ExtendedCommunities,
                [&[0, 2, 0xFD, 0xE8, 0, 0, 0, 7][..], &[1, 3, 10, 0, 0, 1, 0, 9]].concat(),
            ),
            (Aigp, aigp(50)),
            (LargeCommunities, words(&[65_000, 1, 2])),
        ]),
        next_hop: vec![192, 0, 2, 1],
        validation: Some(Validation::NotFound),
    }
}

/// An attribute, for people.
fn show(kind: AttributeType, value: Option<&[u8]>) -> String {
    use AttributeType as A;
    let Some(value) = value else { return format!("{} out", kind.name()) };
    let number = || u32::from_be_bytes(value.try_into().unwrap()).to_string();
    let list = |all: Vec<String>| all.join(",");
    let text = match kind {
        A::Origin => bgp::codec::Origin::of(value[0]).unwrap().name().to_owned(),
        A::AsPath => AsPath::new(value, true).to_string(),
        A::MultiExitDisc | A::LocalPref => number(),
        A::Communities => list(Community::all(value).map(|it| it.to_string()).collect()),
        A::ExtendedCommunities => {
            list(ExtendedCommunity::all(value).map(|it| it.to_string()).collect())
        }
        A::LargeCommunities => list(LargeCommunity::all(value).map(|it| it.to_string()).collect()),
        A::Aigp => aigp_metric(value).unwrap().to_string(),
        _ => format!("{value:?}"),
    };
    format!("{} {text}", kind.name())
}

/// `accept`, `reject`, or what changed.
pub fn told(route: &Route, verdict: &Verdict<'_>) -> String {
    let (new, next_hop) = match verdict {
        Verdict::Accept => return "accept".to_owned(),
        Verdict::Reject => return "reject".to_owned(),
        Verdict::Changed { attributes, next_hop } => (Attributes::new(attributes), next_hop),
    };
    let old = Attributes::new(&route.attributes);
    let changed = AttributeType::ALL.iter().filter(|kind| old.value(**kind) != new.value(**kind));
    let mut parts: Vec<String> = changed.map(|kind| show(*kind, new.value(*kind))).collect();
    parts.extend(next_hop.map(|it| match it {
        NewNextHop::Own => "next hop self".to_owned(),
        NewNextHop::Address(address) => format!("next hop {address}"),
    }));
    assert!(!parts.is_empty(), "what is told as changed is changed");
    parts.join("; ")
}

/// What a policy says of a route.
pub fn ask(policy: &Policy, route: &Route) -> String {
    let (mut scratch, mut again) = (Scratch::default(), Scratch::default());
    let subject = route.subject();
    let told = told(route, &policy.evaluate(&subject, &mut scratch));
    let (explained, _) = policy.explain(&subject, &mut again);
    assert_eq!(told, self::told(route, &explained), "what is explained is what is done");
    told
}
