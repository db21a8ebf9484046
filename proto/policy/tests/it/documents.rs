//! The examples of docs/policy.md are policies, and do what is said of them.

use crate::given::{self, Route, ask, attributes, compile, path_of, words};
use bgp::codec::AttributeType;
use policy::{Policy, Validation};

const PAGE: &str = include_str!("../../../../docs/policy.md");

/// The examples as they stand in a site file, without the function whose policies they are.
fn examples() -> Vec<String> {
    let blocks = PAGE.split("```toml\n").skip(1);
    let texts = blocks.map(|block| block.split("```").next().unwrap());
    texts.map(|text| text.replace("[[rr.policy", "[[policy")).collect()
}

fn named(name: &str) -> Policy {
    let text = examples().concat();
    let policies = compile(&text).unwrap_or_else(|faults| panic!("{faults:#?}"));
    policies.policy(policies.named(name).unwrap_or_else(|| panic!("no policy {name}"))).clone()
}

fn with(path: &[u32], communities: &[u32], prefix: &[u8]) -> Route {
    let all = [
        (AttributeType::Origin, vec![0]),
        (AttributeType::AsPath, path_of(path)),
        (AttributeType::MultiExitDisc, words(&[5])),
        (AttributeType::LocalPref, words(&[100])),
        (AttributeType::Communities, words(communities)),
    ];
    Route { key: prefix.to_vec(), attributes: attributes(&all), ..given::route() }
}

#[test]
fn every_example_is_a_policy() {
    assert_eq!(examples().len(), 3);
    for example in examples() {
        assert!(compile(&example).is_ok(), "{example}: {:#?}", compile(&example));
    }
}

#[test]
fn customers_are_treated_as_the_page_says() {
    let policy = named("from-customers");
    let (network, host) = ([24, 203, 0, 113], [32, 203, 0, 113, 9]);
    let blackhole = 0xFFFF_029A;
    let own = with(&[65_001, 65_001, 65_002], &[65_000 << 16 | 7, 5], &network);
    let changed = "LOCAL_PREF 200; COMMUNITIES 0:5,65000:100";
    assert_eq!(ask(&policy, &own), changed);
    let invalid = Route { validation: Some(Validation::Invalid), ..own };
    assert_eq!(ask(&policy, &invalid), "reject");
    let hole = with(&[65_001], &[blackhole], &host);
    let changed = "COMMUNITIES blackhole,no-export; next hop 192.0.2.1";
    assert_eq!(ask(&policy, &hole), changed);
    assert_eq!(ask(&policy, &with(&[65_001], &[5], &host)), "reject");
    assert_eq!(ask(&policy, &with(&[65_009], &[5], &network)), "reject");
}

#[test]
fn transit_is_treated_as_the_page_says() {
    let policy = named("from-transit");
    let ask = |path: &[u32]| ask(&policy, &with(path, &[5], &[8, 10]));
    assert_eq!(ask(&[65_010, 65_020]), "reject", "private ASes");
    assert_eq!(ask(&[3_356, 1_299]), "accept");
    assert_eq!(ask(&[65_540, 65_542, 7, 8]), "LOCAL_PREF 120");
    assert_eq!(ask(&[65_540, 65_542, 7, 8, 9]), "accept");
    assert_eq!(ask(&[1; 64]), "reject");
    assert_eq!(ask(&[1; 63]), "accept");
}
