//! Ramp, measurement, drain: what is measured is what was due in the measurement.

use crate::world::{World, named, program};
use machine::Duration;
use scenario::{Phase, built_in};

fn with_load(name: &str, load: &str) -> scenario::Program {
    let text = built_in().iter().find(|it| it.name == name).unwrap().text;
    let (head, rest) = text.split_once("[load]").unwrap();
    let (_, rest) = rest.split_once("\n\n").unwrap();
    program(&format!("{head}[load]\n{load}\n\n{rest}"))
}

#[test]
fn only_the_measurement_is_measured_and_the_ramp_has_half() {
    let load = "rate = 100\nramp_s = 2\nmeasure_s = 3\ndrain_s = 10";
    let mut world = World::new(with_load("map-sri-for-sm", load), 1);
    let report = world.play(None, Duration::from_secs(60));
    let ask = &report.scenarios[0];
    assert!(ask.begun.abs_diff(400) <= 2, "{report:#?}");
    assert!(ask.measured.abs_diff(300) <= 1, "{report:#?}");
    assert_eq!(ask.response_due.count, ask.measured, "{report:#?}");
    assert_eq!((report.failed(), report.phase), (0, Phase::Over), "{report:#?}");
    assert!(report.seconds < 5.1, "it ends when the last one has: {report:#?}");
}

#[test]
fn the_drain_ends_and_what_runs_then_has_failed() {
    let load = "rate = 10\nmeasure_s = 1\ndrain_s = 5";
    let mut world = World::new(with_load("cap-call-monitoring", load), 1);
    let report = world.play(None, Duration::from_secs(600));
    let call = &report.scenarios[0];
    assert_eq!(call.failures.get(&scenario::Cause::Unfinished), Some(&10), "{report:#?}");
    assert_eq!(call.whole.count, 0, "{report:#?}");
    assert!((5.9..6.2).contains(&report.seconds), "{report:#?}");
    assert_eq!(report.dialogues, 0);
}

#[test]
fn arrivals_do_not_wait_for_answers() {
    // The answer takes a second; plays are begun all the same.
    let text = built_in().iter().find(|it| it.name == "map-sri-for-sm").unwrap().text;
    let pause = "[[scenario.step]]\npause_ms = 1000\n[[scenario.step]]\nsend = \"end\"";
    let text = text.replace("[[scenario.step]]\nsend = \"end\"", pause);
    let mut world = World::new(program(&text), 1);
    let report = world.play(None, Duration::from_secs(60));
    let ask = &report.scenarios[0];
    assert_eq!((ask.begun, ask.completed), (100, 100), "{report:#?}");
    assert!((1_000_000..1_010_000).contains(&ask.response_due.p50_us), "{report:#?}");
    assert_eq!(report.running_max, 200, "both sides of each");
}

#[test]
fn no_more_plays_run_than_there_is_room_for() {
    let load = "rate = 100\nmeasure_s = 1\nplays_max = 30\ndrain_s = 100";
    let mut world = World::new(with_load("cap-call-monitoring", load), 1);
    let report = world.play(None, Duration::from_secs(600));
    let full = |it: &scenario::ScenarioReport| it.failures.get(&scenario::Cause::Full).copied();
    assert!(report.scenarios.iter().any(|it| full(it).is_some_and(|it| it > 0)), "{report:#?}");
    for it in &report.scenarios {
        assert_eq!(it.begun, it.completed + it.failed(), "{report:#?}");
    }
    assert!(report.running_max <= 30, "{report:#?}");
}

#[test]
fn a_report_is_a_table_for_people() {
    let mut world = World::new(named("ussd"), 1);
    let report = world.play(Some(20), Duration::from_secs(60));
    let table = report.table();
    for words in ["SCENARIO", "MILLISECONDS", "response, from sent", "ask choice", "P99"] {
        assert!(table.contains(words), "{table}");
    }
}
