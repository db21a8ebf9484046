//! Roles at SIP: calls over loopback, and a scenario in which a call and a dialogue of CAP belong
//! together.

use crate::world::program;
use scenario::{Cause, Options, Report};
use std::net::UdpSocket;

fn free_port() -> u16 {
    UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn played(text: &str, count: u64) -> Report {
    let options = Options { count: Some(count), seed: 1, ..Options::default() };
    scenario::run(program(text), &options, &|| false).unwrap()
}

fn file(flow: &str, port: u16) -> String {
    format!(
        r#"
name = "call"
[load]
rate = 200
drain_s = 20
[[role]]
name = "caller"
at = "sip:127.0.0.1:{port}"
local = "127.0.0.1:0"
flow = "{flow}"
[[role]]
name = "callee"
at = "sip:127.0.0.1:{port}"
flow = "{flow}"
[[role]]
name = "ssf"
at = "inside"
subsystem = 146
title = "1"
[[role]]
name = "scf"
at = "inside"
subsystem = 146
title = "2"
[[scenario]]
name = "call"
role = "ssf"
[[scenario.step]]
send = "begin"
context = "capssf-scfGenericAC-v2"
called = {{ ssn = 146, gt = "2" }}
component = [{{ invoke = "initialDP", argument = {{ serviceKey = 1 }} }}]
[[scenario.step]]
await = "continue"
component = [{{ invoke = "continue" }}]
[[scenario.step]]
send = "call"
role = "caller"
[[scenario.step]]
await = "answered"
role = "caller"
time = "set up"
[[scenario.step]]
send = "continue"
component = [{{ invoke = "eventReportBCSM", argument = {{ eventTypeBCSM = "oAnswer" }} }}]
[[scenario.step]]
pause_ms = 20
[[scenario.step]]
send = "release"
role = "caller"
[[scenario.step]]
await = "released"
role = "caller"
[[scenario.step]]
send = "end"
component = [{{ invoke = "eventReportBCSM", argument = {{ eventTypeBCSM = "oDisconnect" }} }}]
[[scenario]]
name = "watch"
role = "scf"
[[scenario.step]]
await = "begin"
[[scenario.step]]
send = "continue"
component = [{{ invoke = "continue" }}]
[[scenario.step]]
await = "continue"
component = [{{ invoke = "eventReportBCSM" }}]
[[scenario.step]]
await = "end"
component = [{{ invoke = "eventReportBCSM" }}]
"#
    )
}

#[test]
fn a_call_and_a_dialogue_of_cap_are_one_scenario() {
    for flow in ["SIP", "VoLTE"] {
        let report = played(&file(flow, free_port()), 40);
        assert_eq!((report.failed(), report.completed()), (0, 80), "{report:#?}");
        assert_eq!((report.sip["caller"].completed, report.sip["callee"].answered), (40, 40));
        assert_eq!((report.sip["caller"].failed(), report.sip["callee"].failed()), (0, 0));
        assert!(report.table().contains("callee: 40 calls over"), "{}", report.table());
    }
}

#[test]
fn a_call_that_is_refused_fails_its_play_and_aborts_the_dialogue() {
    // The callee follows another flow: it is busy.
    let text = file("SIP", free_port());
    let at = text.rfind("flow = \"SIP\"").unwrap();
    let text = text[..at].to_owned() + "flow = \"busy\"" + &text[at + "flow = \"SIP\"".len()..];
    let report = played(&text, 5);
    let of = |name: &str| report.scenarios.iter().find(|it| it.name == name).unwrap();
    assert_eq!(of("call").failures.get(&Cause::Aborted), Some(&5), "{report:#?}");
    assert_eq!(of("watch").failures.get(&Cause::Aborted), Some(&5), "{report:#?}");
    assert_eq!(report.dialogues, 0);
}
