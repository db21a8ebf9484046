//! Who answers chooses its scenario by what comes; who begins by weight.

use crate::world::{World, program};
use machine::Duration;

const FILE: &str = r#"
name = "choice"
[load]
rate = 100
[[role]]
name = "a"
subsystem = 8
[[role]]
name = "b"
subsystem = 6
[[table]]
name = "t"
row = [{ who = "1", msisdn = "4477" }, { who = "2", msisdn = "4488" }]
[[scenario]]
name = "routing"
role = "a"
weight = 3
table = "t"
[[scenario.step]]
send = "begin"
context = "shortMsgGatewayContext-v3"
called = { ssn = 6 }
component = [{ invoke = "sendRoutingInfoForSM", argument = {
  msisdn = "{msisdn|isdn}", sm-RP-PRI = true, serviceCentreAddress = "9144" } }]
[[scenario.step]]
await = "end"
component = [{ result = "sendRoutingInfoForSM", check = { "value.imsi" = "11111{who}" } }]
[[scenario]]
name = "report"
role = "a"
weight = 1
[[scenario.step]]
send = "begin"
context = "shortMsgGatewayContext-v3"
called = { ssn = 6 }
component = [{ invoke = "reportSM-DeliveryStatus", argument = {
  msisdn = "9144", serviceCentreAddress = "9144", sm-DeliveryOutcome = "absentSubscriber" } }]
[[scenario.step]]
await = "end"
component = [{ error = "unexpectedDataValue" }]
[[scenario]]
name = "first"
role = "b"
[[scenario.step]]
await = "begin"
component = [{ invoke = "sendRoutingInfoForSM", check = { "argument.msisdn" = "{x|isdn}" } }]
[[scenario.step]]
send = "end"
component = [{ result = "sendRoutingInfoForSM", value = {
  imsi = "111111", locationInfoWithLMSI = { networkNode-Number = "9144" } } }]
[[scenario]]
name = "second"
role = "b"
[[scenario.step]]
await = "begin"
component = [{ invoke = "sendRoutingInfoForSM" }]
[[scenario.step]]
send = "end"
component = [{ result = "sendRoutingInfoForSM", value = {
  imsi = "111112", locationInfoWithLMSI = { networkNode-Number = "9144" } } }]
[[scenario]]
name = "third"
role = "b"
[[scenario.step]]
await = "begin"
component = [{ invoke = "reportSM-DeliveryStatus", capture = { asked = "invoke" } }]
[[scenario.step]]
send = "end"
component = [{ error = "unexpectedDataValue", id = "{asked}" }]
[values]
x = "4477"
"#;

#[test]
fn operation_and_fields_choose_the_answer_and_weights_the_question() {
    let mut world = World::new(program(FILE), 1);
    let report = world.play(Some(40), Duration::from_secs(60));
    assert_eq!(report.failed(), 0, "{report:#?}");
    let count = |name: &str| report.scenarios.iter().find(|it| it.name == name).unwrap().completed;
    assert_eq!((count("routing"), count("report")), (30, 10));
    assert_eq!((count("first"), count("second"), count("third")), (15, 15, 10));
}

#[test]
fn what_nothing_answers_is_refused_and_counted() {
    let text = FILE.split("[[scenario]]\nname = \"third\"").next().unwrap().to_owned();
    let text = text + "[values]\nx = \"4477\"\n";
    let mut world = World::new(program(&text), 1);
    let report = world.play(Some(40), Duration::from_secs(60));
    assert_eq!((report.unanswered, report.dialogues), (10, 0), "{report:#?}");
    assert_eq!(report.scenarios[1].failures.get(&scenario::Cause::Aborted), Some(&10));
    assert_eq!(world.inside.dialogues(), 0);
}

#[test]
fn a_field_that_is_not_as_it_should_be_fails_the_play_with_both_values() {
    let text = FILE.replace("imsi = \"111112\"", "imsi = \"111113\"");
    let mut world = World::new(program(&text), 1);
    let report = world.play(Some(40), Duration::from_secs(60));
    assert_eq!(report.scenarios[0].failures.get(&scenario::Cause::Check), Some(&15));
    let example = &report.examples[0];
    assert!(example.contains("value.imsi is \"111113\", not \"111112\""), "{example}");
}
