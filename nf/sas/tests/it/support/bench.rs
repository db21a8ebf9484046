//! A SAS driven by hand: packets in, questions through the same ways as in production.

use machine::{Duration, Time};
use runtime::{Effects, Flow, Function as _, In, PortId, Seed, Transport};
use sas::archive::{self, Page};
use sas::detail::{Detail, Read};
use sas::{Archive, AskFn, Sas};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

pub const UA: &str = "198.51.100.7:5062";
pub const SSC: &str = "192.0.2.1:5060";
pub const SSC_CORE: &str = "192.0.2.129:5060";
pub const CORE: &str = "203.0.113.9:5060";

pub struct Bench {
    pub archive: Arc<Archive>,
    pub ask: AskFn,
    pub sas: Arc<Mutex<Sas>>,
    pub now: Time,
    pub agent: u32,
    pub protocol: u8,
    pub key: Vec<u8>,
    pub tags: &'static [u8],
}

impl Bench {
    pub fn new(directory: &Path) -> Self {
        Self::with(directory, sas::config::Sas::default(), Time::from_millis(1_800_000_000_000))
    }

    pub fn with(directory: &Path, config: sas::config::Sas, now: Time) -> Self {
        let archive = Archive::open(&config, directory).unwrap();
        let seed = Seed { shard: 0, shards: 1, random: [9; 32], now };
        let sas = Arc::new(Mutex::new(archive.function(&seed, Arc::new(config))));
        let asked = Arc::clone(&sas);
        let clock = now + Duration::from_secs(3_600);
        let ask: AskFn =
            Arc::new(move |ask| asked.lock().unwrap().ask(clock, &ask, &mut Effects::default()));
        Self { archive, ask, sas, now, agent: 2001, protocol: hep::UDP, key: Vec::new(), tags: b"" }
    }

    /// A packet as it comes in.
    pub fn raw(&mut self, bytes: &[u8]) {
        let nowhere = "127.0.0.1:9060".parse().unwrap();
        let flow = Flow::to(PortId(0), Transport::Udp, nowhere, nowhere);
        let mut out = Effects::default();
        let mut sas = self.sas.lock().unwrap();
        sas.step(self.now, In::Message { flow, bytes }, &mut out);
        assert!(out.is_empty(), "a SAS only listens");
    }

    /// A captured payload.
    pub fn captured(&mut self, kind: u8, from: &str, to: &str, payload: &[u8], correlation: &str) {
        let packet = self.packet(kind, (from, to), payload, correlation);
        self.raw(&packet);
    }

    /// The packet of a captured payload.
    pub fn packet(
        &self,
        kind: u8,
        ends: (&str, &str),
        payload: &[u8],
        correlation: &str,
    ) -> Vec<u8> {
        let micros = self.now.as_micros();
        let mut bytes = Vec::new();
        hep::Packet {
            protocol: self.protocol,
            source: ends.0.parse().unwrap(),
            destination: ends.1.parse().unwrap(),
            seconds: (micros / 1_000_000) as u32,
            micros: (micros % 1_000_000) as u32,
            kind,
            capture_id: self.agent,
            correlation: correlation.as_bytes(),
            auth_key: &self.key,
            tags: self.tags,
            payload,
        }
        .write(&mut bytes);
        bytes
    }

    pub fn sip(&mut self, from: &str, to: &str, text: &str, correlation: &str) {
        self.captured(hep::KIND_SIP, from, to, text.as_bytes(), correlation);
    }

    /// Lets time pass, timers included.
    pub fn wait_ms(&mut self, ms: u64) {
        let end = self.now + Duration::from_millis(ms);
        let mut sas = self.sas.lock().unwrap();
        let mut guard = 0;
        while let Some(at) = sas.deadline().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            sas.tick(self.now, &mut Effects::default());
            guard += 1;
            assert!(guard < 1_000_000, "the deadline advances");
        }
        self.now = end;
    }

    pub fn search(&self, pairs: &[(&str, &str)]) -> Page {
        let params: BTreeMap<_, _> =
            pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        archive::search(&self.archive, &self.ask, params).unwrap()
    }

    /// The only trail that a search finds.
    pub fn only(&self, pairs: &[(&str, &str)]) -> sas::trail::Trail {
        let mut page = self.search(pairs);
        assert_eq!(page.trails.len(), 1, "{pairs:?}");
        page.trails.remove(0)
    }

    pub fn detail(&self, id: u64) -> (Detail, Vec<Read>) {
        let id = sas::trail::Trail::id_text(id);
        archive::read(&self.archive, &self.ask, &id).unwrap()
    }

    /// The page of what is called so.
    pub fn read(&self, id: &str) -> Option<Detail> {
        archive::read(&self.archive, &self.ask, id).ok().map(|page| page.0)
    }

    pub fn metric(&self, name: &str) -> u64 {
        let cells = self.sas.lock().unwrap().cells();
        let mut rows = cells.iter().flat_map(|cells| cells.samples().collect::<Vec<_>>());
        match rows.find(|(row, _)| row.name == name).unwrap().1 {
            event::Sample::Value(value) => value,
            event::Sample::Histogram { count, .. } => count,
        }
    }

    /// A whole answered call over both legs with PRACK-less 180, in 14 messages.
    pub fn call(&mut self, caller: &str, callee: &str, token: &str, correlation: &str) {
        let a = Leg::new(caller, callee, &format!("{token}-a"));
        let b = Leg::new(caller, callee, &format!("{token}-b"));
        self.sip(UA, SSC, &a.request("INVITE", 1), correlation);
        self.wait_ms(1);
        self.sip(SSC, UA, &a.response(100, 1, "INVITE"), correlation);
        self.sip(SSC_CORE, CORE, &b.request("INVITE", 1), correlation);
        self.wait_ms(1);
        self.sip(CORE, SSC_CORE, &b.response(100, 1, "INVITE"), correlation);
        self.wait_ms(118);
        self.sip(CORE, SSC_CORE, &b.response(180, 1, "INVITE"), correlation);
        self.sip(SSC, UA, &a.response(180, 1, "INVITE"), correlation);
        self.wait_ms(2_000);
        self.sip(CORE, SSC_CORE, &b.response(200, 1, "INVITE"), correlation);
        self.sip(SSC, UA, &a.response(200, 1, "INVITE"), correlation);
        self.wait_ms(5);
        self.sip(UA, SSC, &a.request("ACK", 1), correlation);
        self.sip(SSC_CORE, CORE, &b.request("ACK", 1), correlation);
        self.wait_ms(30_000);
        self.sip(UA, SSC, &a.request("BYE", 2), correlation);
        self.sip(SSC_CORE, CORE, &b.request("BYE", 2), correlation);
        self.wait_ms(2);
        self.sip(CORE, SSC_CORE, &b.response(200, 2, "BYE"), correlation);
        self.sip(SSC, UA, &a.response(200, 2, "BYE"), correlation);
    }
}

/// One leg of an exchange.
pub struct Leg {
    pub from: String,
    pub to: String,
    pub call_id: String,
    pub extra: String,
}

impl Leg {
    pub fn new(from: &str, to: &str, call_id: &str) -> Self {
        let owned = |text: &str| text.to_owned();
        Self { from: owned(from), to: owned(to), call_id: owned(call_id), extra: String::new() }
    }

    fn rest(&self, tag: &str, cseq: u32, method: &str, agent: &str) -> String {
        let sdp = "v=0\r\no=- 1 1 IN IP4 198.51.100.7\r\ns=-\r\n";
        let (media, body) = if method == "INVITE" && agent.starts_with("User") {
            ("Content-Type: application/sdp\r\n", sdp)
        } else {
            ("", "")
        };
        format!(
            "Via: SIP/2.0/UDP 198.51.100.7:5062;branch=z9hG4bK{}{cseq}\r\n\
             From: <sip:{}@access.example.org>;tag=1\r\nTo: <sip:{}@core.example.org>{tag}\r\n\
             Call-ID: {}\r\nCSeq: {cseq} {method}\r\nMax-Forwards: 70\r\n{agent}{}{media}\
             Content-Length: {}\r\n\r\n{body}",
            self.call_id,
            self.from,
            self.to,
            self.call_id,
            self.extra,
            body.len(),
        )
    }

    pub fn request(&self, method: &str, cseq: u32) -> String {
        let inside = matches!(method, "ACK" | "BYE" | "PRACK" | "UPDATE");
        let tag = if inside { ";tag=2" } else { "" };
        let rest = self.rest(tag, cseq, method, "User-Agent: Phone/1\r\n");
        format!("{method} sip:{}@core.example.org SIP/2.0\r\n{rest}", self.to)
    }

    pub fn response(&self, status: u16, cseq: u32, method: &str) -> String {
        let tag = if status > 100 { ";tag=2" } else { "" };
        let rest = self.rest(tag, cseq, method, "Server: Switch/2\r\n");
        format!("SIP/2.0 {status} {}\r\n{rest}", sip::reason(status))
    }
}
