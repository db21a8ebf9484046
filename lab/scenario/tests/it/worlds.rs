//! Worlds by seed: messages are lost, late or doubled, and dialogues are aborted in the middle. No
//! dialogue is left, and every play is counted once.

use crate::world::{World, named};
use machine::Duration;
use machine::identity::mix;
use scenario::{Report, built_in};

/// Of a hundred messages, how many are lost, late and doubled.
#[derive(Debug, Clone, Copy)]
struct Weather {
    lost: u64,
    late: u64,
    doubled: u64,
}

fn played(name: &str, seed: u64, weather: Weather) -> (World, Report) {
    let mut world = World::new(named(name), seed);
    let mut state = seed;
    let delivery = move |_: &sccp::Unitdata| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let (dice, usual) = (mix(state) % 100, Duration::from_micros(500));
        match dice {
            dice if dice < weather.lost => vec![],
            dice if dice < weather.lost + weather.late => vec![Duration::from_secs(40)],
            dice if dice < weather.lost + weather.late + weather.doubled => vec![usual, usual * 2],
            _ => vec![usual],
        }
    };
    world.inside =
        scenario::Inside::new(&named(name).roles, seed, world.now).fated(Box::new(delivery));
    let report = world.play(Some(60), Duration::from_secs(1_200));
    (world, report)
}

#[test]
fn nothing_is_left_and_counts_add_up_whatever_is_lost_late_or_doubled() {
    let weathers = [
        Weather { lost: 10, late: 0, doubled: 0 },
        Weather { lost: 0, late: 10, doubled: 0 },
        Weather { lost: 0, late: 0, doubled: 20 },
        Weather { lost: 5, late: 5, doubled: 5 },
    ];
    for it in built_in() {
        for (seed, weather) in (1..).zip(weathers) {
            let (world, report) = played(it.name, seed, weather);
            let what = format!("{} seed {seed} {weather:?}: {report:#?}", it.name);
            for of in &report.scenarios {
                assert_eq!(of.begun, of.completed + of.failed(), "{what}");
                assert_eq!(of.running, 0, "{what}");
            }
            let begun: u64 =
                report.scenarios.iter().filter(|it| !it.answers).map(|it| it.begun).sum();
            assert_eq!((begun, report.dialogues), (60, 0), "{what}");
            if weather.lost > 0 {
                assert!(report.failed() > 0, "{what}");
            }
            // What the peer was never told of stands at its TCAP until that hears nothing for an
            // hour; the player has no part of it any more.
            let _ = world;
        }
    }
}

#[test]
fn the_same_seed_plays_the_same() {
    let weather = Weather { lost: 5, late: 5, doubled: 5 };
    let all = |seed| {
        let (_, report) = played("mt-sms", seed, weather);
        serde_json::to_string(&report).unwrap()
    };
    assert_eq!(all(7), all(7));
    assert_ne!(all(7), all(8));
}

const ABORTS: &str = r#"
name = "aborts"
[load]
rate = 100
[[role]]
name = "a"
subsystem = 8
[[role]]
name = "b"
subsystem = 6
[[scenario]]
name = "ask"
role = "a"
[[scenario.step]]
send = "begin"
context = "shortMsgGatewayContext-v3"
called = { ssn = 6 }
component = [{ invoke = "reportSM-DeliveryStatus", argument = {
  msisdn = "9144", serviceCentreAddress = "9144", sm-DeliveryOutcome = "absentSubscriber" } }]
[[scenario.step]]
await = "continue"
[[scenario.step]]
pause_ms = 500
[[scenario.step]]
send = "end"
[[scenario]]
name = "abort"
role = "b"
[[scenario.step]]
await = "begin"
[[scenario.step]]
send = "continue"
[[scenario.step]]
pause_ms = 100
[[scenario.step]]
send = "abort"
"#;

#[test]
fn an_abort_in_the_middle_of_a_pause_ends_the_play() {
    let mut world = World::new(crate::world::program(ABORTS), 1);
    let report = world.play(Some(10), Duration::from_secs(60));
    let [ask, abort] = &report.scenarios[..] else { panic!("{report:#?}") };
    assert_eq!(ask.failures.get(&scenario::Cause::Aborted), Some(&10), "{report:#?}");
    assert_eq!((abort.completed, report.dialogues), (10, 0), "{report:#?}");
    assert_eq!(world.inside.dialogues(), 0);
    // Who waits for it completes.
    let text =
        ABORTS.replace("pause_ms = 500\n[[scenario.step]]\nsend = \"end\"", "await = \"abort\"");
    let mut world = World::new(crate::world::program(&text), 1);
    let report = world.play(Some(10), Duration::from_secs(60));
    assert_eq!((report.failed(), report.completed()), (0, 20), "{report:#?}");
}

#[test]
fn plays_that_run_when_the_time_is_over_are_aborted_and_counted() {
    let text = ABORTS.replace("pause_ms = 100\n", "pause_ms = 900000\n");
    let text = text.replace("pause_ms = 500\n", "pause_ms = 900000\n");
    let mut world = World::new(crate::world::program(&text), 1);
    let report = world.play(Some(10), Duration::from_secs(5));
    let causes: Vec<_> = report.scenarios.iter().flat_map(|it| it.failures.keys()).collect();
    assert!(causes.contains(&&scenario::Cause::Unfinished), "{report:#?}");
    assert_eq!((report.failed(), report.dialogues), (20, 0), "{report:#?}");
}
