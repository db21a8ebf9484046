//! `reflection-ipv4` with a small table: BIRD passes all of it, and what cannot run says why.

use report::{Options, Plane, Reflection};
use router::reflection_ipv4;

const INTERNET: &str = "Internet table, 515 858 prefixes, 71 900 paths, 100..1000 clients";

#[test]
fn bird_passes_every_phase_and_a_tandem_that_is_not_there_breaks_the_run() {
    let (peer, clients) = (Some("bird".to_owned()), vec![5]);
    let reflection = Reflection { peer, clients, prefixes: Some(500), macs: None, mrt: None };
    let options = Options {
        quick: true,
        tandem: "/nonexistent/tandem".into(),
        scenarios: vec![INTERNET.into()],
        output: None,
        live: false,
        reflection,
        plane: Plane::default(),
        asked: report::Asked::default(),
    };
    let outcome = reflection_ipv4::run(&options).unwrap();
    assert!(!outcome.held() && outcome.broken[0].contains("cannot be started"));
    let row = &outcome.rows[0];
    assert_eq!((row.scenario.as_str(), row.tandem), (INTERNET, None));
    assert!(row.peer.as_ref().unwrap().value > 0.0);
    assert!(row.detail["why"].is_string());
    let peer = &row.detail["by_clients"][0]["peer"];
    // BIRD may say a route twice.
    assert!(peer["clients"] == 5 && peer["updates"].as_u64().unwrap() >= 2_500);
    assert!(peer["change"]["ms"].as_f64().unwrap() > 0.0);
    assert!(peer["stalled"]["seconds_with"].as_f64().unwrap() > 0.0);
    assert!(peer["withdrawal"]["updates_per_s"].as_f64().unwrap() > 0.0);
}
