//! Any octets as what comes for a subsystem of TCAP, with rules about all that there is: nothing
//! panics, and what is judged twice is judged the same.

use machine::{Duration, Time};
use sccp::codec::{Address, Digits, Title};
use screening::config::{Location, Network, Own, Rule, RuleFile, Subscriber};
use screening::{LastPlaces, Screen, Subject, Way, answer};

pub fn run(bytes: &[u8]) {
    let rule = |name: &str| Rule { name: name.to_owned(), ..Rule::default() };
    let words = |all: &[&str]| all.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    let rules = vec![
        Rule { imsi: words(&["26201"]), subscriber: Some(Subscriber::Own), ..rule("imsi") },
        Rule { location: Some(Location::Implausible), ..rule("place") },
        Rule { calling_network: Some(Network::OfSubscriber), ..rule("network") },
        Rule { operations: words(&["updateLocation", "unknown"]), ..rule("operation") },
        Rule { contexts: words(&["none", "unknown", "untold"]), ..rule("context") },
    ];
    let own = Own { imsi: words(&["262"]), titles: words(&["49"]) };
    let file = RuleFile { rule: rules, ..RuleFile::default() };
    let screen = Screen::new(&file, &own, &|_| None).unwrap_or_else(|it| panic!("{it:?}"));
    let title = |digits| Title::e164(Digits::parse(digits).unwrap_or_default());
    let (called, calling) = (Address::title(title("4917"), 6), Address::title(title("336"), 7));
    let way = Way { opc: 1, dpc: 2, called: &called, calling: &calling };
    let mut places = LastPlaces::new(64, Duration::from_secs(60), 7);
    let Ok(subject) = Subject::read(way, bytes) else { return };
    let judge = |places: &LastPlaces| screen.judge(Time::ZERO, &subject, places);
    let verdict = judge(&places);
    assert_eq!(verdict, judge(&places));
    if let Ok(verdict) = verdict {
        let said = answer(verdict.action, &subject, verdict.invoke_id);
        assert!(said.is_none() || verdict.action.refuses());
    }
    screen.learn(Time::ZERO, &subject, 1, &mut places);
    assert!(places.len() <= 64);
}
