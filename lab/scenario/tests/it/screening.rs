//! What the built-in scenarios say passes the rules that are shipped (`packaging/screening`), as
//! the traffic of a partner; what is for the nodes of one network alone does not.

use crate::world::{World, named};
use ::screening::config::{Own, RuleFile};
use ::screening::{Screen, Subject, Way};
use machine::{Duration, Time};
use sccp::codec::{Address, Digits, Title};
use scenario::{Inside, built_in};

/// A node of the partner whose subscribers the scenarios are about, and of the own network.
const PARTNER: &str = "447700000001";
const OWN: &str = "491710000001";
/// Of category 1.
const WITHIN_A_NETWORK: &str = "any-time-interrogation";

#[test]
fn scenarios_of_a_partner_pass_the_rules_that_are_shipped() {
    let text = include_str!("../../../../packaging/screening/fs11.toml");
    let file: RuleFile = toml::from_str(text).unwrap();
    let own = Own { imsi: vec!["26201".to_owned()], titles: vec!["49171".to_owned()] };
    let screen = Screen::new(&file, &own, &|_| None).unwrap();
    for it in built_in() {
        let mut world = World::new(named(it.name), 1);
        world.inside = Inside::new(&named(it.name).roles, 1, world.now).seeing();
        world.play(Some(3), Duration::from_secs(600));
        let messages = world.inside.take_seen();
        assert!(!messages.is_empty(), "{}", it.name);
        let is_cap = it.name.starts_with("cap") || it.name == "prepaid";
        let address = |digits: &str| {
            let title = Title::e164(Digits::parse(digits).unwrap());
            Address::title(title, if is_cap { 146 } else { 8 })
        };
        let (calling, called) = (address(PARTNER), address(OWN));
        let way = Way { opc: 1, dpc: 2, called: &called, calling: &calling };
        let (mut places, mut refused) = (screen.last_places(1), 0);
        for (number, octets) in (0..).zip(&messages) {
            let now = Time::from_millis(number);
            let subject = Subject::read(way, octets).unwrap();
            let verdict = screen.judge(now, &subject, &places).unwrap();
            screen.learn(now, &subject, 1, &mut places);
            let rule = verdict.rule.and_then(|it| screen.rule(it));
            if verdict.action.refuses() {
                assert_eq!(it.name, WITHIN_A_NETWORK, "{rule:?} refuses {octets:02x?}");
                refused += 1;
            }
        }
        assert_eq!(refused > 0, it.name == WITHIN_A_NETWORK, "{}", it.name);
    }
}
