//! A server of several shards: each receives, the first has the trails.

use crate::bench::{Bench, CORE, Leg, SSC, SSC_CORE, UA};
use runtime::{Effects, Flow, Function as _, In, PortId, Seed, Transport};
use sas::Sas;
use sas::config::Sas as Config;
use std::sync::Arc;

/// The first shard, and another one.
struct Pair {
    first: Bench,
    other: Sas,
}

impl Pair {
    fn new(directory: &std::path::Path, config: Config) -> Self {
        let now = machine::Time::from_millis(1_800_000_000_000);
        let first = Bench::with(directory, config.clone(), now);
        let seed = Seed { shard: 1, shards: 2, random: [8; 32], now };
        let other = first.archive.function(&seed, Arc::new(config));
        Self { first, other }
    }

    /// The other shard receives a message; what it hands over.
    fn received(&mut self, from: &str, to: &str, text: &str, correlation: &str) -> Vec<Vec<u8>> {
        let packet = self.first.packet(hep::KIND_SIP, (from, to), text.as_bytes(), correlation);
        let nowhere = "127.0.0.1:9060".parse().unwrap();
        let flow = Flow::to(PortId(0), Transport::Udp, nowhere, nowhere);
        let mut out = Effects::default();
        self.other.step(self.first.now, In::Message { flow, bytes: &packet }, &mut out);
        assert!(out.handed_work().all(|(shard, _)| shard == 0), "the first has the trails");
        out.handed_work().map(|(_, work)| work.to_vec()).collect()
    }

    /// The same, and the first shard takes it.
    fn elsewhere(&mut self, from: &str, to: &str, text: &str, correlation: &str) {
        for work in self.received(from, to, text, correlation) {
            let mut sas = self.first.sas.lock().unwrap();
            let input = In::Work { from: 1, work: &work };
            sas.step(self.first.now, input, &mut Effects::default());
        }
    }

    fn ask(&self, path: &str) -> serde_json::Value {
        (self.first.ask)(runtime::Ask { path: path.into(), ..Default::default() }).unwrap()
    }
}

#[test]
fn a_call_of_which_each_shard_receives_a_leg_is_one_trail() {
    let directory = tempfile::tempdir().unwrap();
    let mut pair = Pair::new(directory.path(), Config::default());
    let (a, b) = (Leg::new("alice", "bob", "one-a"), Leg::new("alice", "bob", "one-b"));
    // Longer than the store keeps: what joins the two is not cut on its way.
    let correlation = format!("{}1", "7".repeat(300));
    pair.elsewhere(UA, SSC, &a.request("INVITE", 1), &correlation);
    pair.first.sip(SSC_CORE, CORE, &b.request("INVITE", 1), &correlation);
    pair.elsewhere(SSC, UA, &a.response(486, 1, "INVITE"), &correlation);
    let trail = pair.first.only(&[]);
    assert_eq!(trail.call_ids.len(), 2, "{:?}", trail.call_ids);
    assert_eq!(pair.first.metric("sas_messages_total"), 3);
    let (_, entries) = pair.first.detail(trail.id);
    assert_eq!(entries.len(), 3);
}

#[test]
fn what_is_secret_does_not_leave_the_shard_that_received_it() {
    let directory = tempfile::tempdir().unwrap();
    let mut pair = Pair::new(directory.path(), Config::default());
    let mut leg = Leg::new("alice", "bob", "secret");
    leg.extra = "Authorization: Digest username=\"a\", response=\"0123abcd\"\r\n".into();
    let [work] = &pair.received(UA, SSC, &leg.request("REGISTER", 1), "")[..] else {
        panic!("one message")
    };
    let text = String::from_utf8_lossy(work);
    assert!(text.contains("REGISTER") && !text.contains("0123abcd"), "{text}");
}

#[test]
fn what_a_further_shard_loses_the_first_one_tells() {
    let directory = tempfile::tempdir().unwrap();
    let key = Some("right".to_owned());
    let mut pair = Pair::new(directory.path(), Config { auth_key: key, ..Config::default() });
    let leg = Leg::new("alice", "bob", "lost");
    pair.first.key = b"wrong".to_vec();
    assert!(pair.received(UA, SSC, &leg.request("INVITE", 1), "").is_empty());
    pair.first.key = b"right".to_vec();
    for work in pair.received(UA, SSC, &leg.request("INVITE", 1), "") {
        let back = In::HandedBack { to: 0, work: &work };
        pair.other.step(pair.first.now, back, &mut Effects::default());
    }
    let status = pair.ask("status");
    let count = |name: &str| status[name].as_u64();
    assert_eq!((count("shed"), count("live")), (Some(1), Some(0)), "{status}");
    assert_eq!(status["unauthenticated"][0]["packets"], 1, "{status}");
    assert!(
        pair.other.ask(pair.first.now, &runtime::Ask::default(), &mut Effects::default()).is_err()
    );
}
