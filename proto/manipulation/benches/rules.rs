//! What header manipulation costs a message: two headers changed and two added.
#![allow(missing_docs, reason = "the macros of criterion make public items")]

use criterion::{Criterion, criterion_group, criterion_main};
use manipulation::{Direction, RuleConfig, Rules, Scratch};
use sip::Message;
use std::hint::black_box;

const INVITE: &[u8] = b"INVITE sip:+15551230042@192.0.2.20:5060 SIP/2.0\r\n\
Via: SIP/2.0/UDP 192.0.2.10:5060;branch=z9hG4bK776asdhds;rport\r\n\
Max-Forwards: 70\r\n\
From: \"Alice\" <sip:alice@example.com>;tag=1928301774\r\n\
To: <sip:+15551230042@example.com>\r\n\
Call-ID: a84b4c76e66710@192.0.2.10\r\n\
CSeq: 314159 INVITE\r\n\
Contact: <sip:alice@192.0.2.10:5060>\r\n\
User-Agent: Softphone 1.2\r\n\
Subject: a call\r\n\
Content-Type: application/sdp\r\n\
Content-Length: 124\r\n\
\r\n\
v=0\r\n\
o=alice 2890844526 2890844526 IN IP4 192.0.2.10\r\n\
s=-\r\n\
c=IN IP4 192.0.2.10\r\n\
t=0 0\r\n\
m=audio 49172 RTP/AVP 8\r\n\
a=sendrecv\r\n";

const PLAIN: &str = r#"
[[rule]]
direction = "out"
[[rule.do]]
set = "User-Agent"
value = "Tandem"
[[rule.do]]
set = "Subject"
value = "from Tandem"
[[rule.do]]
add = "X-First"
value = "one"
[[rule.do]]
add = "X-Second"
value = "two"
"#;

const GROUPS: &str = r#"
[[rule]]
direction = "out"
method = ["INVITE"]
[[rule.when]]
header = "User-Agent"
matches = '^(\w+) (\d+)'
[[rule.do]]
set = "User-Agent"
value = "Tandem for $1"
[[rule.do]]
replace = "Subject"
pattern = "a (.*)"
value = "the $1"
[[rule.do]]
add = "X-Phone"
value = "$1"
[[rule.do]]
add = "X-Release"
value = "$2"
"#;

#[derive(serde::Deserialize)]
struct File {
    rule: Vec<RuleConfig>,
}

fn rules(text: &str) -> Rules {
    let file: File = toml::from_str(text).expect("the rules are TOML");
    Rules::compile(&file.rule, &["core"]).expect("the rules compile")
}

fn benches(criterion: &mut Criterion) {
    let message = Message::parse(INVITE).expect("the INVITE is well-formed");
    let mut group = criterion.benchmark_group("manipulation");
    for (name, text) in [("two_set_two_added", PLAIN), ("the_same_with_expressions", GROUPS)] {
        let rules = rules(text);
        let mut scratch = Scratch::default();
        let mut out = Vec::with_capacity(sip::MESSAGE_BYTES_MAX);
        group.bench_function(name, |b| {
            b.iter(|| {
                out.clear();
                let message = black_box(&message);
                rules.apply(0, Direction::Out, message, &mut scratch, &mut out)
            });
        });
    }
    let rules = rules(PLAIN);
    group.bench_function("no_rule_applies", |b| {
        b.iter(|| rules.applies(0, Direction::In, black_box(&message)));
    });
    group.finish();
}

criterion_group!(manipulation, benches);
criterion_main!(manipulation);
