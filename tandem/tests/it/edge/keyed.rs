//! libsrtp at both ends of a call with keys in its descriptions, each end with keys and a suite of
//! its own: what leaves the media controller is what libsrtp takes, and of packets that come again,
//! late, or with octets turned the controller lets pass what libsrtp takes, and nothing else.

use super::Scene;
use super::phones::{AT_ALICE, AT_BOB, awaited, two_hosts_with};
use super::web::{ENDS, End, PYTHON};
use serde_json::Value;
use std::collections::BTreeSet;

fn with(suite: &str) -> String {
    format!("media = {{ anchor = true, srtp = \"required\", suites = [\"{suite}\"] }}")
}

fn numbers(list: &Value) -> Vec<u64> {
    list.as_array().unwrap().iter().map(|it| it.as_u64().unwrap()).collect()
}

#[test]
fn a_call_of_libsrtps_passes_what_libsrtp_takes_whatever_is_sent() {
    let [one, two] = ["AES_CM_128_HMAC_SHA1_80", "AES_CM_128_HMAC_SHA1_32"];
    for (seed, suites) in [[one, two], [two, one], ["AEAD_AES_128_GCM", one]].iter().enumerate() {
        let mut scene = Scene::new();
        let realms = suites.map(with);
        let ([a, b], _sessions) = two_hosts_with(&mut scene, 1, [&realms[0], &realms[1]]);
        let (script, seed) = (format!("{ENDS}/keyed.py"), seed.to_string());
        let [_, alice, near] = AT_ALICE;
        let [_, bob, far] = AT_BOB;
        let (near, far) = (format!("{near}:5060"), format!("{far}:5060"));
        let command = [PYTHON, "-B", &script, "answers", bob, &far, suites[1], &seed];
        let mut bob = End::start(&scene, &b, "bob", &command);
        let command = [PYTHON, "-B", &script, "calls", alice, &near, suites[0], &seed];
        let mut alice = End::start(&scene, &a, "alice", &command);
        assert_eq!([bob.says()["ready"].take(), alice.says()["ready"].take()], [true, true]);
        alice.tell("call");
        alice.says();
        let streams = scene.rows(&["streams"]);
        let suite = |end: usize| streams[0]["ends"][end]["suite"].clone();
        assert_eq!([suite(0), suite(1)], *suites, "{streams:?}");
        for _ in 0..2 {
            passes(&scene, [&mut alice, &mut bob]);
            passes(&scene, [&mut bob, &mut alice]);
        }
        alice.tell("hang up");
        assert_eq!(bob.says()["ended"], true);
        awaited(&scene, "the stream stays", || scene.rows(&["streams"]).is_empty().then_some(()));
    }
}

/// What one end sends comes to the other as libsrtp would have it come.
fn passes(scene: &Scene, [from, to]: [&mut End<'_>; 2]) {
    to.tell("told");
    let before = numbers(&to.says()["heard"]);
    from.tell("speak 600");
    let said = from.says();
    let (took, left) = (numbers(&said["took"]), said["left"].as_array().unwrap().len());
    assert!(took.len() > 400 && left > 100, "{said}");
    let came = awaited(scene, "packets that libsrtp takes do not come", || {
        to.tell("told");
        let told = to.says();
        let heard = numbers(&told["heard"]);
        (heard.len() >= before.len() + took.len()).then_some(told)
    });
    let heard = numbers(&came["heard"]);
    assert_eq!(heard[before.len()..], took, "each once, and in order");
    assert_eq!(heard.iter().collect::<BTreeSet<_>>().len(), heard.len());
    assert_eq!(
        came["refused"],
        serde_json::json!([]),
        "all that comes is protected as it should be"
    );
    assert!(came["reports"].as_u64() > Some(5), "{came}");
}
