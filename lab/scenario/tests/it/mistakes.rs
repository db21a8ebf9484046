//! What is wrong with a file is told with its line, and what to do about it.

use scenario::built_in;
use std::path::Path;

/// What is said of a file that comes with Tandem, changed.
fn said(from: &str, to: &str) -> String {
    let text = built_in().iter().find(|it| it.name == "map-sri-for-sm").unwrap().text;
    assert!(text.contains(from), "{from}");
    let text = text.replacen(from, to, 1);
    match scenario::read(&text, Path::new(".")) {
        Ok(_) => String::new(),
        Err(wrong) => config::render("x.toml", &text, &wrong.0),
    }
}

#[test]
fn mistakes_are_told_with_line_and_hint() {
    for (from, to, says) in [
        ("msisdn = \"{msisdn|isdn}\"", "msisdn = \"{msisdm|isdn}\"", "nothing is called `msisdm`"),
        ("msisdn = \"{msisdn|isdn}\"", "msisdn = \"{msisdn|isnd}\"", "no filter `isnd`"),
        ("msisdn = \"{msisdn|isdn}\"", "msisdn = \"{msisdn}x\"", "x.toml:"),
        ("sm-RP-PRI = true", "sm-RP-PRO = true", "x.toml:"),
        ("sm-RP-PRI = true,", "", "x.toml:"),
        ("role = \"smsc\"", "role = \"smcs\"", "did you mean `smsc`"),
        ("table = \"subscribers\"", "table = \"subscriber\"", "did you mean `subscribers`"),
        ("rate = 100", "rate = 0", "0 is out of range"),
        ("rate = 100", "rat = 100", "did you mean `rate`"),
        ("send = \"begin\"", "send = \"continue\"", "no dialogue begins"),
        ("shortMsgGatewayContext-v3\"\ncalled", "shortMsgGateContext-v3\"\ncalled", "no context"),
        (
            "{ invoke = \"sendRoutingInfoForSM\", arg",
            "{ invoke = \"sendRoutingForSM\", arg",
            "x.toml:",
        ),
        ("await = \"end\"\n", "await = \"end\"\npause_ms = 3\n", "a step is one of"),
        ("\"value.imsi\"", "\"value..imsi\"", "no path"),
        ("column = \"msisdn\"", "column = \"number\"", "no column `number`"),
        ("called = { ssn = 6, gt = \"{msisdn}\" }\n", "", "whom it is to"),
        ("find = { table = \"subscribers\"", "find = { table = \"people\"", "no table `people`"),
        ("count = 1000", "file = \"none.csv\"", "one of `file`, `row`"),
        ("{ error = \"unknownSubscriber\" }", "{ error = \"unknown\" }", "x.toml:"),
    ] {
        let said = said(from, to);
        assert!(said.contains("x.toml:") && said.contains(says), "{to}: {said}");
        assert!(said.contains("error:"), "{said}");
    }
}

#[test]
fn a_dialogue_begins_once_and_before_it_is_used() {
    let again = "send = \"end\"\ndialogue = \"other\"\n[[scenario.step]]\nawait = \"end\"\n";
    assert!(said("await = \"end\"\n", again).contains("no dialogue `other` has begun"));
    let twice = "send = \"begin\"\ncalled = { ssn = 6 }\n[[scenario.step]]\nsend = \"begin\"\n";
    assert!(said("send = \"begin\"\n", twice).contains("has begun already"));
}
