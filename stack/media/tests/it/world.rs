//! A client, media controllers, connections between them that take time and break.

use crate::msc::{Group, Msc};
use anchor::Side;
use machine::slots::Key;
use machine::{Duration, Time};
use media_stack::config::Media;
use media_stack::realm::RealmMedia;
use media_stack::{Client, Crossing, Notice, Part, Refused, Settings, Verdict, frame};
use runtime::{ConnId, Effects, Flow, Frame, In, PortId};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

pub const FIRST: PortId = PortId(4_097);
pub const DELAY: Duration = Duration::from_millis(1);
const NAMES: [&str; 4] = ["msc1", "msc2", "msc3", "msc4"];

/// Octets on their way: when they arrive, from whom, what.
struct Flying {
    at: Time,
    conn: u32,
    to_client: bool,
    octets: Vec<u8>,
}

pub struct World {
    pub now: Time,
    pub client: Client,
    pub mscs: Vec<Msc>,
    /// Media controllers that nobody reaches.
    pub is_cut: Vec<bool>,
    /// Of pairs: which node serves. The other one closes what connects to it.
    pub serves: BTreeMap<usize, SocketAddr>,
    /// Connections that stand: which media controller, and the flow as the client has it.
    conns: BTreeMap<u32, (usize, Flow)>,
    /// Connections that are being opened.
    opening: Vec<(Time, Flow)>,
    flying: Vec<Flying>,
    next: u32,
    pub out: Effects,
    pub notices: Vec<Notice>,
}

pub fn groups(at: u8) -> Vec<Group> {
    let group = |name, n: u8| {
        let ip = IpAddr::from([192, 0, 2, at * 10 + n]);
        let ip6 = IpAddr::from([0x2001, 0xdb8, 0, 0, 0, u16::from(at), 0, u16::from(n)]);
        let number = u16::from(n) * 2;
        Group { name, addresses: [(number, ip), (number + 1, ip6)], blocks: 40 }
    };
    vec![group("access", 1), group("core", 2)]
}

pub fn settings(mscs: usize) -> Settings {
    let controllers = (0..mscs).map(|at| {
        let name = NAMES[at];
        format!("[[controller]]\nname = '{name}'\naddress = '10.0.0.{}:2970'\n", at + 1)
    });
    let keys = "pairs_min = 64\npairs_max = 1280\nquarantine_s = 5\ngone_s = 5\n";
    let text = keys.to_owned() + &controllers.collect::<String>();
    let media: Media = toml::from_str(&text).expect("the section is well-formed");
    let mut issues = Vec::new();
    media.validate(&mut issues);
    assert!(issues.is_empty(), "{issues:?}");
    let anchored = RealmMedia { anchor: true, ..RealmMedia::default() };
    Settings {
        name: "ssc1".into(),
        media,
        realms: vec![("access".into(), Some(anchored)), ("core".into(), None)],
        first_port: FIRST,
        calls_max: 10_000,
    }
}

/// A call of the function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    pub owner: Key,
    pub media: Option<Key>,
}

impl Call {
    pub fn new(owner: u32) -> Self {
        Self { owner: Key { index: owner, generation: 0 }, media: None }
    }
}

pub fn sdp(ip: &str, port: u16) -> String {
    let family = if ip.contains(':') { "IP6" } else { "IP4" };
    format!(
        "v=0\r\no=- 1 1 IN {family} {ip}\r\ns=-\r\nc=IN {family} {ip}\r\nt=0 0\r\n\
         m=audio {port} RTP/AVP 0 101\r\na=rtpmap:0 PCMU/8000\r\n\
         a=rtpmap:101 telephone-event/8000\r\n"
    )
}

impl World {
    pub fn new(mscs: usize) -> Self {
        Self::with(mscs, settings(mscs), 7)
    }

    pub fn with(mscs: usize, settings: Settings, life: u8) -> Self {
        let now = Time::from_millis(1_700_000_000_000);
        Self {
            now,
            client: Client::new(settings, [life; 32], (0, 1), now),
            mscs: (0..).zip(&NAMES[..mscs]).map(|(at, name)| Msc::new(name, groups(at))).collect(),
            is_cut: vec![false; mscs],
            serves: BTreeMap::new(),
            conns: BTreeMap::new(),
            opening: Vec::new(),
            flying: Vec::new(),
            next: 1,
            out: Effects::default(),
            notices: Vec::new(),
        }
    }

    fn msc_of(flow: &Flow) -> usize {
        usize::from(flow.port.0 - FIRST.0)
    }

    /// Carries out what the client wants.
    pub fn collect(&mut self) {
        loop {
            self.client.flush(&mut self.out);
            self.notices.append(&mut self.client.notices);
            for flow in self.out.opens.drain(..) {
                self.opening.push((self.now + DELAY, flow));
            }
            let sends: Vec<(Flow, Vec<u8>)> =
                self.out.sends().map(|(flow, octets)| (flow, octets.to_vec())).collect();
            let closes = std::mem::take(&mut self.out.closes);
            self.out.clear();
            let is_quiet = sends.is_empty() && closes.is_empty();
            for (flow, octets) in sends {
                let conn = flow.conn.0;
                if self.conns.contains_key(&conn) {
                    let (at, count) = (self.now + DELAY, octets.len() as u64);
                    self.flying.push(Flying { at, conn, to_client: false, octets });
                    let written = In::Written { flow, octets: count, left: 0 };
                    self.client.takes(self.now, &written, &mut self.out);
                }
            }
            for flow in closes {
                if let Some((msc, _)) = self.conns.remove(&flow.conn.0) {
                    self.mscs[msc].disconnect(flow.conn.0);
                }
            }
            if is_quiet {
                return;
            }
        }
    }

    /// Every connection to a media controller breaks; what is on its way is lost.
    pub fn break_connections(&mut self, msc: usize) {
        let gone: Vec<(u32, Flow)> = self
            .conns
            .iter()
            .filter(|(_, (at, _))| *at == msc)
            .map(|(conn, (_, flow))| (*conn, *flow))
            .collect();
        for (conn, flow) in gone {
            self.conns.remove(&conn);
            self.mscs[msc].disconnect(conn);
            self.flying.retain(|flying| flying.conn != conn);
            let down = In::Down { flow, why: "it broke" };
            assert!(self.client.takes(self.now, &down, &mut self.out));
        }
        self.collect();
    }

    fn deliver(&mut self) {
        let due: Vec<(Time, Flow)> = self.opening.extract_if(.., |it| it.0 <= self.now).collect();
        for (_, flow) in due {
            let msc = Self::msc_of(&flow);
            let is_other = self.serves.get(&msc).is_some_and(|at| *at != flow.remote);
            if self.is_cut[msc] || is_other {
                let down = In::Down { flow, why: "refused" };
                self.client.takes(self.now, &down, &mut self.out);
                continue;
            }
            let conn = self.next;
            self.next += 1;
            let flow = Flow { conn: ConnId(conn), ..flow };
            self.conns.insert(conn, (msc, flow));
            self.mscs[msc].connect(conn);
            self.client.takes(self.now, &In::Up { flow }, &mut self.out);
        }
        let due: Vec<Flying> = self.flying.extract_if(.., |it| it.at <= self.now).collect();
        for Flying { conn, to_client, octets, .. } in due {
            let Some(&(msc, flow)) = self.conns.get(&conn) else { continue };
            if !to_client {
                self.mscs[msc].receive(conn, &octets);
                continue;
            }
            let mut rest = &octets[..];
            while let Frame::Message(length) = frame(rest) {
                let bytes = &rest[..length];
                assert!(self.client.takes(self.now, &In::Message { flow, bytes }, &mut self.out));
                rest = &rest[length..];
            }
            assert!(rest.is_empty(), "whole messages");
        }
        for (&conn, &(msc, _)) in &self.conns {
            let octets = self.mscs[msc].take_out(conn);
            if !octets.is_empty() {
                let at = self.now + DELAY;
                self.flying.push(Flying { at, conn, to_client: true, octets });
            }
        }
        self.collect();
    }

    /// Lets time pass.
    pub fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.now += DELAY;
            if self.now.as_millis().is_multiple_of(500) {
                self.mscs.iter_mut().for_each(Msc::say_load);
            }
            if self.client.deadline().is_some_and(|at| at <= self.now) {
                self.client.tick(self.now, &mut self.out);
                let next = self.client.deadline();
                assert!(next.is_none_or(|at| at > self.now), "the deadline advances");
            }
            self.deliver();
        }
    }

    pub fn cross(
        &mut self,
        call: &mut Call,
        part: Part,
        from: Side,
        body: &str,
    ) -> Result<Option<String>, Refused> {
        let crossing = Crossing {
            part,
            from,
            fork: 0,
            source: [10, 9, 9, 9].into(),
            realms: [0, 1],
            trace: (call.owner.index.into(), b"a84b4c76e66710"),
            content_type: b"application/sdp",
            body: body.as_bytes(),
        };
        let verdict = self.client.cross(self.now, call.owner, &mut call.media, &crossing);
        let body = String::from_utf8_lossy(self.client.body()).into_owned();
        self.collect();
        verdict.map(|verdict| (verdict == Verdict::Instead).then_some(body))
    }

    /// A call that stands, between two of these addresses.
    pub fn call(&mut self, owner: u32, ips: [&str; 2]) -> Result<Call, Refused> {
        let mut call = Call::new(owner);
        self.cross(&mut call, Part::Invite, Side::A, &sdp(ips[0], 6_000))?;
        self.cross(&mut call, Part::Final, Side::B, &sdp(ips[1], 7_000))?;
        let media = call.media.expect("it is anchored");
        self.client.settle(self.now, media, 0, [0, 1]);
        self.cross(&mut call, Part::Ack, Side::A, "")?;
        Ok(call)
    }

    pub fn end(&mut self, call: Call) {
        if let Some(media) = call.media {
            self.client.end(self.now, media);
        }
        self.collect();
    }

    pub fn metric(&self, metric: media_stack::MediaMetric) -> u64 {
        self.client.gauges();
        self.client.metrics.read(metric)
    }
}
