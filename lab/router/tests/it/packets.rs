//! The experiments on the packet plane with small tables: Linux forwards what the tester sends.
//! They need root and network namespaces.

use report::{Options, Outcome, Plane, Reflection};
use router::{denial_of_service, throughput};
use std::sync::{Mutex, PoisonError};

/// The namespaces of a process have names: one experiment at a time.
static TURN: Mutex<()> = Mutex::new(());

fn run(experiment: fn(&Options) -> anyhow::Result<Outcome>, scenario: &str) -> Outcome {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let plane = Plane { full: false, routes: Some(200), flows: vec![50] };
    let options = Options {
        quick: true,
        tandem: "/nonexistent/tandem".into(),
        scenarios: vec![scenario.into()],
        output: None,
        live: false,
        reflection: Reflection::default(),
        plane,
        asked: report::Asked::default(),
    };
    experiment(&options).unwrap()
}

#[test]
fn linux_forwards_to_every_route_and_its_delays_are_told() {
    for scenario in ["IPv4 64 B, 50 flows", "IPv6 78 B"] {
        let outcome = run(throughput::run, scenario);
        let row = &outcome.rows[0];
        assert!(row.peer.as_ref().unwrap().value > 0.0, "{}", outcome.table());
        let peer = &row.detail["peer"];
        let delays = &peer["latency_us_at_90_percent"];
        let number = |key: &str| delays[key].as_f64().unwrap();
        assert!(number("min") > 0.0 && number("min") <= number("p50"), "{delays}");
        assert!(number("p50") <= number("p999") && number("p999") <= number("max"), "{delays}");
    }
}

#[test]
fn a_flood_at_the_router_itself_stands_beside_what_it_forwards() {
    let outcome = run(denial_of_service::run, "busiest core");
    let [row] = &outcome.rows[..] else { panic!("{}", outcome.table()) };
    let peer = &row.detail["peer"];
    assert!(peer["flood_sent"].as_u64().unwrap() > 0, "{peer}");
    assert!(peer["background_sent"].as_u64().unwrap() > peer["flood_sent"].as_u64().unwrap());
    assert!(row.peer.as_ref().unwrap().value > 0.0);
    // Both ways through the tester, beside the flood.
    assert!(peer["session"]["messages"].as_u64().unwrap() > 0, "{peer}");
}
