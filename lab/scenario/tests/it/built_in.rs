//! Every scenario that comes with Tandem plays against its own other side.

use crate::world::{World, named};
use machine::Duration;
use scenario::built_in;

#[test]
fn every_built_in_scenario_is_played_by_both_of_its_sides() {
    for it in built_in() {
        let program = named(it.name);
        assert_eq!(program.name, it.name);
        assert!(!program.about.is_empty(), "{}", it.name);
        let mut world = World::new(program, 1);
        let report = world.play(Some(20), Duration::from_secs(600));
        assert_eq!(report.failed(), 0, "{}: {report:#?}", it.name);
        let of = |answers: bool| {
            let all = report.scenarios.iter().filter(move |it| it.answers == answers);
            all.map(|it| it.completed).sum::<u64>()
        };
        assert_eq!(of(false), 20, "{}: {report:#?}", it.name);
        assert!(of(true) >= 20, "{}: {report:#?}", it.name);
        assert_eq!((report.late, report.dialogues), (0, 0), "{}: {report:#?}", it.name);
        assert_eq!(world.inside.dialogues(), 0, "{}", it.name);
    }
}

#[test]
fn the_calls_of_the_report_have_four_messages_and_take_seventy_seconds() {
    let mut world = World::new(named("cap-call-monitoring"), 1);
    let report = world.play(Some(10), Duration::from_secs(600));
    assert_eq!((report.messages_out, report.messages_in), (40, 40), "{report:#?}");
    let call = &report.scenarios[0];
    assert_eq!(call.whole.count, 10);
    assert!((70_000_000..70_100_000).contains(&call.whole.max_us), "{report:#?}");
    assert!(call.response_sent.max_us < 1_000, "{report:#?}");
}

#[test]
fn a_subscriber_whom_nobody_knows_gets_another_answer() {
    let text = built_in().iter().find(|it| it.name == "map-sri-for-sm").unwrap().text;
    let text = text.replace(
        "{ result = \"sendRoutingInfoForSM\", check = { \"value.imsi\" = \"{imsi|tbcd}\" } }",
        "{ error = \"unknownSubscriber\" }",
    );
    let text = text.replace("msisdn = \"{msisdn|isdn}\"", "msisdn = \"919999\"");
    let mut world = World::new(crate::world::program(&text), 1);
    let report = world.play(Some(5), Duration::from_secs(60));
    assert_eq!(report.failed(), 0, "{report:#?}");
    let unknown = report.scenarios.iter().find(|it| it.name == "unknown").unwrap();
    assert_eq!(unknown.completed, 5, "{report:#?}");
}
