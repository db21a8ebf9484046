//! A seven-message call through the controller with in-memory endpoints: what the controller
//! itself costs, kernel and runtime left out. 14 messages cross it and 2 are its own.
//!
//! `cargo bench -p tandem-ssc` measures; `-- --calls N` places N calls and ends, for callgrind
//! (with `--capture`, with `--carried`: two more headers, or with `--rules`: rules that change
//! those and add two); `-- --refused N` has N refused under overload, beside a capture;
//! `-- --invites N` takes N no further than their INVITE, for a count of the files that it passes
//! (CONTRIBUTING.md);
//! `-- --volte N` places calls of 20 messages, with reliable provisional answers and preconditions;
//! `-- --standing N` tells the resident octets of a call with N of them set up at 5,000/s and
//! all their transactions still there: the INVITE and five more, as in a VoLTE call.

use machine::{Duration, Time};
use runtime::{Effects, Flow, Function, In, Seed, Transport};
use ssc::{Controller, config};
use std::sync::Arc;

const SITE: &str = r#"
name = "bench"
[[realm]]
name = "access"
listen = ["udp:127.0.0.1:5060"]
[[realm]]
name = "core"
side = "core"
listen = ["udp:127.0.0.1:5070"]
trusted = true
[[next_hop]]
name = "switch"
realm = "core"
targets = ["udp:127.0.0.1:5080"]
probe_interval_s = 0
[[route]]
from = "access"
to = ["switch"]
"#;

const SDP: &str = "v=0\r\no=user1 53655765 2353687637 IN IP4 127.0.0.1\r\ns=-\r\n\
    c=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 6000 RTP/AVP 0\r\na=rtpmap:0 PCMU/8000\r\n";

/// What rules change, on every message.
const CARRIED: &str = "User-Agent: lab/1.0\r\nOrganization: the lab\r\n";
/// Two headers changed and two added on each message that leaves.
const RULES: &str = r#"
[[rule]]
direction = "out"
[[rule.do]]
set = "User-Agent"
value = "another/2.0"
[[rule.do]]
set = "Organization"
value = "changed"
[[rule.do]]
add = "X-First"
value = "one"
[[rule.do]]
add = "X-Second"
value = "two"
"#;

/// What a VoLTE terminal adds to its INVITE (TS 24.229 §5.1.3).
const VOLTE: &str = "Supported: 100rel, precondition, timer\r\n\
    P-Preferred-Identity: <sip:sipp@127.0.0.1>\r\n\
    P-Access-Network-Info: 3GPP-E-UTRAN-FDD; utran-cell-id-3gpp=0010100010000101\r\n\
    Accept-Contact: *;+g.3gpp.icsi-ref=\"urn%3Aurn-7%3A3gpp-service.ims.icsi.mmtel\"\r\n\
    Allow: INVITE, ACK, CANCEL, BYE, PRACK, UPDATE, INFO\r\n";

/// What is beside the call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Beside {
    Nothing,
    Capture,
    Carried,
    Rules,
}

struct Bench {
    controller: Controller,
    out: Effects,
    now: Time,
    access: Flow,
    core: Flow,
    carried: &'static str,
    calls: u64,
    text: Vec<u8>,
    invite: Vec<u8>,
    target: Vec<u8>,
    tag: Vec<u8>,
}

impl Bench {
    fn new(beside: Beside) -> Self {
        let rules = if beside == Beside::Rules { RULES } else { "" };
        let site = format!("{SITE}{rules}");
        let mut site: config::Ssc = toml::from_str(&site).expect("the site is well-formed");
        site.capture.collector =
            (beside == Beside::Capture).then(|| String::from("tcp:127.0.0.1:9060"));
        let is_carried = matches!(beside, Beside::Carried | Beside::Rules);
        let ports = site.ports();
        let flow = |at: usize, remote: &str| {
            let port = &ports[at];
            Flow::to(port.id, Transport::Udp, port.listen, remote.parse().expect("an address"))
        };
        let (access, core) = (flow(0, "127.0.0.1:5062"), flow(1, "127.0.0.1:5080"));
        let now = Time::from_millis(1_700_000_000_000);
        let seed = Seed { shard: 0, shards: 1, random: [7; 32], now };
        Self {
            controller: Controller::new(seed, Arc::new(site)),
            out: Effects::default(),
            now,
            access,
            core,
            carried: if is_carried { CARRIED } else { "" },
            calls: 0,
            text: Vec::new(),
            invite: Vec::new(),
            target: Vec::new(),
            tag: Vec::new(),
        }
    }

    fn step(&mut self, flow: Flow) {
        self.out.clear();
        let input = In::Message { flow, bytes: &self.text };
        self.controller.step(self.now, input, &mut self.out);
    }

    fn request(&mut self, method: &str, cseq: u32, body: &str) {
        use std::io::Write as _;
        let n = self.calls;
        self.text.clear();
        let first = self.tag.is_empty();
        let text = &mut self.text;
        let _ = write!(text, "{method} ");
        text.extend_from_slice(if first { b"sip:service@127.0.0.1:5060" } else { &self.target });
        let _ = write!(
            text,
            " SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:5062;branch=z9hG4bK-{n}-{cseq}-{method}\r\n\
             From: sipp <sip:sipp@127.0.0.1:5062>;tag={n}SIPpTag001\r\n\
             To: service <sip:service@127.0.0.1:5060>"
        );
        if !first {
            text.extend_from_slice(b";tag=");
            text.extend_from_slice(&self.tag);
        }
        let _ = write!(
            text,
            "\r\nCall-ID: {n}-1234@127.0.0.1\r\nCSeq: {cseq} {method}\r\n\
             Contact: sip:sipp@127.0.0.1:5062\r\nMax-Forwards: 70\r\n\
             Subject: Performance Test\r\n{}",
            self.carried
        );
        if !body.is_empty() {
            text.extend_from_slice(b"Content-Type: application/sdp\r\n");
        }
        let _ = write!(text, "Content-Length: {}\r\n\r\n{body}", body.len());
    }

    fn answer(&mut self, status: &str, body: &str) {
        use std::io::Write as _;
        self.text.clear();
        let _ = write!(self.text, "SIP/2.0 {status}\r\n");
        let wanted = [&b"Via"[..], b"From", b"To:", b"Call", b"CSeq"];
        for line in self.invite.split_inclusive(|&b| b == b'\n') {
            if line == b"\r\n" {
                break;
            }
            if !wanted.iter().any(|name| line.starts_with(name)) {
                continue;
            }
            let line = line.trim_ascii_end();
            self.text.extend_from_slice(line);
            if line.starts_with(b"To:") && memchr::memmem::find(line, b";tag=").is_none() {
                self.text.extend_from_slice(b";tag=1234SIPpTag01");
            }
            self.text.extend_from_slice(b"\r\n");
        }
        self.text.extend_from_slice(b"Contact: <sip:127.0.0.1:5080;transport=UDP>\r\n");
        self.text.extend_from_slice(self.carried.as_bytes());
        if !body.is_empty() {
            self.text.extend_from_slice(b"Content-Type: application/sdp\r\n");
        }
        let _ = write!(self.text, "Content-Length: {}\r\n\r\n{body}", body.len());
    }

    /// Keeps the last message sent, as the far end got it.
    fn keep(&mut self, start: &[u8]) {
        let mut sends = self.out.sends().filter(|(flow, _)| flow.port == self.core.port);
        let (_, bytes) = sends.next().expect("something went to the core");
        assert!(bytes.starts_with(start), "{}", String::from_utf8_lossy(bytes));
        self.invite.clear();
        self.invite.extend_from_slice(bytes);
    }

    /// What the caller learns from the 2xx.
    fn learn(&mut self) {
        let (_, bytes) = self.out.sends().next().expect("the 2xx went to the caller");
        assert!(bytes.starts_with(b"SIP/2.0 "));
        let find = |what: &[u8]| memchr::memmem::find(bytes, what).expect("stands there");
        let to = find(b"\r\nTo: ");
        let start = to + memchr::memmem::find(&bytes[to..], b";tag=").expect("a tag") + 5;
        let end = start + memchr::memchr(b'\r', &bytes[start..]).expect("a line's end");
        self.tag.clear();
        self.tag.extend_from_slice(&bytes[start..end]);
        let start = find(b"\r\nContact: <") + 12;
        let end = start + memchr::memchr(b'>', &bytes[start..]).expect("a bracket");
        self.target.clear();
        self.target.extend_from_slice(&bytes[start..end]);
    }

    fn call(&mut self) {
        self.set_up();
        self.hang_up();
    }

    /// A call that stays, with requests inside its dialog.
    fn stand(&mut self) {
        self.now += Duration::from_micros(150);
        self.set_up();
        for cseq in 2..7 {
            self.request("INFO", cseq, "");
            self.step(self.access);
            self.keep(b"INFO");
            self.answer("200 OK", "");
            self.step(self.core);
        }
    }

    /// A new call's INVITE, as it went to the core.
    fn invite(&mut self) {
        self.calls += 1;
        self.now += Duration::from_micros(50);
        if self.controller.deadline().is_some_and(|at| at <= self.now) {
            self.out.clear();
            self.controller.tick(self.now, &mut self.out);
        }
        self.tag.clear();
        self.request("INVITE", 1, SDP);
        self.step(self.access);
        self.keep(b"INVITE");
    }

    fn set_up(&mut self) {
        self.invite();
        self.answer("180 Ringing", "");
        self.step(self.core);
        self.answer("200 OK", SDP);
        self.step(self.core);
        self.learn();
        self.request("ACK", 1, "");
        self.step(self.access);
        self.keep(b"ACK");
    }

    fn hang_up(&mut self) {
        self.request("BYE", 2, "");
        self.step(self.access);
        self.keep(b"BYE");
        self.answer("200 OK", "");
        self.step(self.core);
        let back = self.out.sends().filter(|(flow, _)| flow.port == self.access.port).count();
        assert_eq!(back, 1, "the 200 of the BYE went back");
    }

    /// A call with 183 and 180 sent reliably (RFC 3262), and an UPDATE that says the resources are
    /// there (RFC 3312).
    fn volte(&mut self) {
        self.invite();
        let invite = self.invite.clone();
        self.carried = "Require: 100rel\r\nRSeq: 1\r\n";
        self.answer("183 Session Progress", SDP);
        self.step(self.core);
        self.learn();
        self.inside("PRACK", 2, "RAck: 1 1 INVITE\r\n", "");
        self.inside("UPDATE", 3, "", SDP);
        self.invite.clone_from(&invite);
        self.carried = "Require: 100rel\r\nRSeq: 2\r\n";
        self.answer("180 Ringing", "");
        self.step(self.core);
        self.inside("PRACK", 4, "RAck: 2 1 INVITE\r\n", "");
        self.invite = invite;
        self.carried = "";
        self.answer("200 OK", "");
        self.step(self.core);
        self.request("ACK", 1, "");
        self.step(self.access);
        self.keep(b"ACK");
        self.inside("BYE", 5, "", "");
        self.carried = VOLTE;
    }

    /// A request of the caller inside the dialog, and its answer.
    fn inside(&mut self, method: &str, cseq: u32, carried: &'static str, body: &str) {
        self.carried = carried;
        self.request(method, cseq, body);
        self.carried = "";
        self.step(self.access);
        self.keep(method.as_bytes());
        self.answer("200 OK", body);
        self.step(self.core);
        let back = self.out.sends().filter(|(flow, _)| flow.port == self.access.port).count();
        assert_eq!(back, 1, "the 200 of {method} went back");
    }

    /// A controller whose new requests have waited too long.
    fn overloaded() -> Self {
        let mut bench = Self::new(Beside::Capture);
        for _ in 0..10 {
            let _ = bench.refuse();
            bench.now += Duration::from_millis(21);
        }
        assert!(bench.refuse(), "a 503");
        bench
    }

    /// A call that waited too long: INVITE, 503, ACK. Whether it was refused.
    fn refuse(&mut self) -> bool {
        self.calls += 1;
        self.now += Duration::from_micros(5);
        self.tag.clear();
        self.request("INVITE", 1, SDP);
        self.controller.waited(self.now, Duration::from_millis(100));
        self.step(self.access);
        let port = self.access.port;
        let answer = self.out.sends().find(|(flow, _)| flow.port == port);
        let Some((_, answer)) = answer else { return false };
        let tag = memchr::memmem::find(answer, b";tag=ov").map(|at| at + 5);
        self.tag.extend(tag.into_iter().flat_map(|at| &answer[at..at + 18]));
        self.request("ACK", 1, "");
        self.step(self.access);
        !self.tag.is_empty()
    }

    /// What the endpoints themselves cost: the same messages made, none stepped.
    fn endpoints(&mut self) {
        self.tag.clear();
        self.request("INVITE", 1, SDP);
        self.answer("180 Ringing", "");
        self.answer("200 OK", SDP);
        self.tag.extend_from_slice(b"0123456789abcdef0123456789abcdef0");
        self.request("ACK", 1, "");
        self.request("BYE", 2, "");
        self.answer("200 OK", "");
    }
}

fn resident_octets() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kb = line.and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kb.unwrap_or_default() * 1024
}

fn standing(calls: u64) {
    use std::io::Write as _;
    let mut bench = Bench::new(Beside::Nothing);
    (0..500).for_each(|_| bench.stand());
    let before = resident_octets();
    (0..calls).for_each(|_| bench.stand());
    let each = (resident_octets() - before) / calls;
    let _ = writeln!(std::io::stdout(), "{calls} calls: {each} octets each");
}

fn main() {
    let asked = |name: &str| -> Option<u64> {
        let mut args = std::env::args().skip_while(|arg| arg != name);
        args.nth(1).and_then(|n| n.parse().ok())
    };
    if let Some(calls) = asked("--standing") {
        return standing(calls);
    }
    if let Some(calls) = asked("--refused") {
        let mut bench = Bench::overloaded();
        (0..calls).for_each(|_| assert!(bench.refuse()));
        return;
    }
    if let Some(calls) = asked("--calls") {
        let is_asked = |name: &str| std::env::args().any(|arg| arg == name);
        let beside = match ["--capture", "--carried", "--rules"].map(is_asked) {
            [true, ..] => Beside::Capture,
            [_, _, true] => Beside::Rules,
            [_, true, _] => Beside::Carried,
            _ => Beside::Nothing,
        };
        let mut bench = Bench::new(beside);
        (0..calls).for_each(|_| bench.call());
        return;
    }
    if let Some(calls) = asked("--invites") {
        let mut bench = Bench::new(Beside::Capture);
        (0..calls).for_each(|_| bench.invite());
        return;
    }
    if let Some(calls) = asked("--volte") {
        let mut bench = Bench::new(Beside::Capture);
        bench.carried = VOLTE;
        (0..calls).for_each(|_| bench.volte());
        return;
    }
    let mut criterion = criterion::Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .sample_size(10)
        .configure_from_args();
    for (name, beside) in [
        ("call", Beside::Nothing),
        ("call with capture", Beside::Capture),
        ("call with two more headers", Beside::Carried),
        ("the same with rules", Beside::Rules),
    ] {
        let mut bench = Bench::new(beside);
        criterion.bench_function(name, |b| b.iter(|| bench.call()));
    }
    let mut bench = Bench::overloaded();
    criterion.bench_function("refused", |b| b.iter(|| bench.refuse()));
    let mut bench = Bench::new(Beside::Nothing);
    bench.call();
    criterion.bench_function("endpoints alone", |b| b.iter(|| bench.endpoints()));
}
