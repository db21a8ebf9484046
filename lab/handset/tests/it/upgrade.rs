//! A pair whose nodes are of two versions: what the one before has told, kept here as octets, is
//! enough to go on with calls, registrations and associations; what a later one adds is passed
//! over; and what is told now still has all that the one before reads.

use crate::pair_world::{SITE, World, value};
use crate::world::Phone;
use aka::Secret;
use aka::digest::SessionKeys;
use esp::{HEADROOM, Inbound, Outbound, Packet, Parameters, Report, TAILROOM, Usage};
use handset::Handset;
use machine::{Duration, Time};
use runtime::{Ask, Effects, Flow, Function, In, Mirrored, PortId, PortSpec, Seed, Transport};
use secagree::{Agreement, End, Ipsec, List, Peer, Preference};
use sim::LinkSpec;
use ssc::Controller;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use wire::field::{self, Fields};

/// Of a registered phone in a call whose registration is watched, beside an emergency call in the
/// clear: all deltas of a snapshot, the BYE of the phone, its contact at the core.
const KEPT: &str = include_str!("../vectors/pair_deltas.txt");
/// When they were told, and a little later.
const TOLD_MS: u64 = 1_700_000_030_000;
/// A tag and a kind of later versions.
const LATER: u8 = 250;
const SECOND: Duration = Duration::from_secs(1);

/// Kinds of IMS access, behind [`ims::KIND`].
const SET: u8 = 2;
const NUMBERS: u8 = 4;
/// Tags of an agreement (stack/ims, record.rs).
const UE: u8 = 15;
const OWN: u8 = 16;
const LOCAL: u8 = 17;
const INSIDE: u8 = 18;
const CK: u8 = 24;
const IK: u8 = 25;
const OF_NUMBERS: u8 = 27;
/// Tags of what is known of numbers (stack/ipsec, replica.rs).
const PROMISED: u8 = 3;
const EDGES: u8 = 4;

fn site() -> String {
    SITE.replacen("sets_max = 1000", "sets_max = 1000\nreg_event = true", 1)
}

/// What is kept.
struct Kept {
    deltas: Vec<Vec<u8>>,
    bye: Vec<u8>,
    contact: String,
}

fn octets(text: &str) -> Vec<u8> {
    let digit = |octet: u8| char::from(octet).to_digit(16).unwrap() as u8;
    text.as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

fn kept() -> Kept {
    let mut kept = Kept { deltas: Vec::new(), bye: Vec::new(), contact: String::new() };
    for line in KEPT.lines() {
        match line.split_once(' ') {
            Some(("delta", text)) => kept.deltas.push(octets(text)),
            Some(("bye", text)) => kept.bye = octets(text),
            Some(("contact", text)) => kept.contact = text.to_owned(),
            _ => {}
        }
    }
    kept
}

/// The kind of a delta, and where its fields begin.
fn kind(delta: &[u8]) -> (&[u8], usize) {
    let octets = if delta.first() == Some(&ims::KIND) { 2 } else { 1 };
    let octets = octets.min(delta.len());
    (&delta[..octets], octets)
}

fn find(fields: &[u8], wanted: u8) -> Option<&[u8]> {
    Fields::new(fields).find(|(tag, _)| *tag == wanted).map(|(_, value)| value)
}

/// The fields of the agreement, and those of its numbers as they were told last.
fn agreed(deltas: &[Vec<u8>]) -> (&[u8], &[u8]) {
    let of = |wanted| deltas.iter().rev().find(|it| kind(it).0 == [ims::KIND, wanted]);
    let set = &of(SET).expect("an agreement is told")[2..];
    let numbers = of(NUMBERS).map(|it| &it[2..]).or(find(set, OF_NUMBERS));
    (set, numbers.expect("with its numbers"))
}

/// The first of a pair of numbers of both lanes, and the second.
fn pair(numbers: &[u8], tag: u8) -> [u64; 2] {
    let (words, _) = find(numbers, tag).expect("it is told").as_chunks::<8>();
    [u64::from_be_bytes(words[0]), u64::from_be_bytes(words[1])]
}

/// The phone's end of the associations, as the deltas have them.
struct Ue {
    agreement: Agreement,
    keys: SessionKeys,
    /// The highest number that it has sent by the first lane.
    sent: u64,
}

impl Ue {
    fn of(deltas: &[Vec<u8>]) -> Self {
        let (set, numbers) = agreed(deltas);
        let list = |tag| List::read_written(find(set, tag).unwrap()).unwrap();
        let ipsec = |tag| -> Ipsec { *list(tag).0[0].ipsec().unwrap() };
        let address = |tag| replica::flow::read_address(find(set, tag).unwrap()).unwrap().ip();
        let secret = |tag| Secret::new(find(set, tag).unwrap()).unwrap();
        let peer = |address, ipsec| Peer { address, outside: None, ipsec };
        Self {
            agreement: Agreement {
                ue: peer(address(INSIDE), ipsec(UE)),
                pcscf: peer(address(LOCAL), ipsec(OWN)),
                transport: secagree::Transport::Any,
            },
            keys: SessionKeys { ck: secret(CK), ik: secret(IK) },
            sent: pair(numbers, EDGES)[0],
        }
    }

    fn parameters(&self, at: usize) -> Parameters {
        let association = self.agreement.associations().unwrap()[at];
        self.agreement.parameters(&association, End::Ue).unwrap()
    }

    /// What it sends, from its client port to ours of the server; without its IP header.
    fn sends(&mut self, payload: &[u8]) -> Vec<u8> {
        let keys = self.agreement.pcscf.ipsec.keys(&self.keys).unwrap();
        let parameters = self.parameters(0);
        let out = Outbound::resume(parameters, keys.material(), [1; 16], self.sent, none());
        let ports = (self.agreement.ue.ipsec.port_c, self.agreement.pcscf.ipsec.port_s);
        let inner = self.packet(17, &datagram(ports, payload), true);
        let mut buffer = [&[0; HEADROOM][..], &inner, &[0; TAILROOM]].concat();
        let mut packets = [Packet::new(0, 0..buffer.len(), HEADROOM, inner.len())];
        esp::protect(&mut [out.unwrap()][..], &mut buffer, &mut packets, &mut Report::default());
        packets[0].verdict.unwrap();
        self.sent += 1;
        buffer[packets[0].at + 20..packets[0].at + packets[0].length].to_vec()
    }

    /// What has come to its server port, and its number.
    fn hears(&self, bytes: &[u8]) -> (u64, Vec<u8>) {
        let keys = self.agreement.pcscf.ipsec.keys(&self.keys).unwrap();
        let inbound = Inbound::new(self.parameters(2), keys.material()).unwrap();
        let mut buffer = self.packet(50, bytes, false);
        let mut packets = [Packet::new(0, 0..buffer.len(), 0, buffer.len())];
        let number = u32::from_be_bytes(bytes[4..8].try_into().unwrap());
        esp::unprotect(&mut [inbound][..], &mut buffer, &mut packets, &mut Report::default());
        packets[0].verdict.unwrap();
        let begin = packets[0].at + 28;
        (number.into(), buffer[begin..packets[0].at + packets[0].length].to_vec())
    }

    /// A packet of IPv4 between both ends.
    fn packet(&self, protocol: u8, payload: &[u8], is_ours: bool) -> Vec<u8> {
        let ends = [self.agreement.ue.address, self.agreement.pcscf.address];
        let [ue, pcscf] = ends.map(|end| match end {
            IpAddr::V4(address) => address.octets(),
            IpAddr::V6(_) => unreachable!("the kept ones are of IPv4"),
        });
        let (from, to) = if is_ours { (ue, pcscf) } else { (pcscf, ue) };
        let length = (20 + payload.len() as u16).to_be_bytes();
        let head = [0x45, 0, length[0], length[1], 0, 0, 0, 0, 64, protocol, 0, 0];
        [&head[..], &from, &to, payload].concat()
    }
}

const fn none() -> Usage {
    Usage { packets: 0, octets: 0 }
}

fn datagram(ports: (u16, u16), payload: &[u8]) -> Vec<u8> {
    let length = (8 + payload.len() as u16).to_be_bytes();
    [&ports.0.to_be_bytes()[..], &ports.1.to_be_bytes(), &length, &[0, 0], payload].concat()
}

/// A node of this version that was told so, and serves.
struct Node {
    controller: Controller,
    ports: Vec<PortSpec>,
    now: Time,
}

impl Node {
    fn told(deltas: &[Vec<u8>]) -> Self {
        let config: ssc::config::Ssc = toml::from_str(&site()).expect("it is a section");
        let (ports, now) = (config.ports(), Time::from_millis(TOLD_MS));
        let seed = Seed { shard: 0, shards: 1, random: [99; 32], now };
        let mut node = Self { controller: Controller::new(seed, Arc::new(config)), ports, now };
        node.mirror(Mirrored::Deactivate);
        node.mirror(Mirrored::Forget);
        deltas.iter().for_each(|delta| node.mirror(Mirrored::Delta(delta)));
        node.mirror(Mirrored::Activate { is_current: true });
        node
    }

    fn mirror(&mut self, input: Mirrored<'_>) {
        self.controller.replicate(self.now, input, &mut Effects::default());
    }

    fn rows(&mut self, path: &str) -> Vec<serde_json::Value> {
        let ask = Ask { path: path.to_owned(), ..Ask::default() };
        let answer = self.controller.ask(self.now, &ask, &mut Effects::default());
        answer.expect("it answers").as_array().cloned().unwrap_or_default()
    }

    /// Something comes to an address of its own; what leaves of it.
    fn comes(&mut self, local: &str, from: SocketAddr, bytes: &[u8]) -> Vec<(Flow, Vec<u8>)> {
        let local: SocketAddr = local.parse().unwrap();
        let is_it = |it: &&PortSpec| {
            let is_raw = matches!(it.carrier, runtime::Carrier::Raw { .. });
            it.listen == local && is_raw == (local.port() == 0)
        };
        let port: PortId = self.ports.iter().find(is_it).expect("it listens there").id;
        let (flow, mut out) = (Flow::to(port, Transport::Udp, local, from), Effects::default());
        self.controller.step(self.now, In::Message { flow, bytes }, &mut out);
        out.sends().map(|(flow, bytes)| (flow, bytes.to_vec())).collect()
    }
}

/// A node that was told those goes on where the other one has ended.
fn goes_on(deltas: &[Vec<u8>], what: &str) {
    let kept = kept();
    let (mut node, mut ue) = (Node::told(deltas), Ue::of(deltas));
    let (_, numbers) = agreed(deltas);
    let paths = ["ipsec", "registrations", "calls", "ims/reg-events"];
    // The phone's call, and the one in an emergency.
    assert_eq!(paths.map(|path| node.rows(path).len()), [1, 1, 2, 1], "{what}");
    assert_eq!(node.rows("ipsec")[0]["state"], "current", "{what}");
    // What the core asks reaches the phone, by numbers behind what was promised.
    let request = format!(
        "MESSAGE {} SIP/2.0\r\nVia: SIP/2.0/UDP 192.0.2.9:5080;branch=z9hG4bKnew\r\n\
         Max-Forwards: 70\r\nFrom: <sip:core@x>;tag=1\r\nTo: <sip:a@x>\r\nCall-ID: new\r\n\
         CSeq: 1 MESSAGE\r\nContent-Length: 0\r\n\r\n",
        kept.contact
    );
    let core = SocketAddr::from(([192, 0, 2, 9], 5_080));
    let sent = node.comes("192.0.2.2:5060", core, request.as_bytes());
    let esp = sent.iter().find(|(flow, _)| flow.remote.port() == 0).expect("it leaves by ESP");
    let (number, text) = ue.hears(&esp.1);
    assert_eq!(number, pair(numbers, PROMISED)[1] + 1, "{what}");
    assert!(text.starts_with(b"MESSAGE "), "{what}");
    // Its call is ended by the dialog that the other node had; what was accepted is not again.
    let from = SocketAddr::new(ue.agreement.ue.address, 0);
    ue.sent -= 1;
    let old = ue.sends(&kept.bye);
    assert_eq!(node.comes("192.0.2.1:0", from, &old), [], "{what}: its number has come");
    let bye = ue.sends(&kept.bye);
    let sent = node.comes("192.0.2.1:0", from, &bye);
    let text = sent.iter().map(|(_, text)| String::from_utf8_lossy(text).into_owned());
    let bye = text.into_iter().find(|text| text.starts_with("BYE ")).expect("it goes to the core");
    assert!(value(&bye, "To").contains(";tag=b"), "{what}: {bye}");
}

/// Fields with another one behind them, and behind those of the nested ones.
fn with_later(fields: &[u8], nested: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for (tag, value) in Fields::new(fields) {
        match nested.contains(&tag) {
            true => field::bytes(&mut out, tag, &with_later(value, &[])),
            false => field::bytes(&mut out, tag, value),
        }
    }
    field::bytes(&mut out, LATER, b"what a later version says");
    out
}

#[test]
fn what_the_version_before_has_told_is_enough_to_go_on() {
    goes_on(&kept().deltas, "as it was told");
}

#[test]
fn what_a_later_version_adds_is_passed_over() {
    let later = |delta: &Vec<u8>| {
        let (name, from) = kind(delta);
        // Both legs of a call and its INVITE under way; the numbers of an agreement.
        let nested: &[u8] = match name {
            [1] => &[12, 13, 16],
            [ims::KIND, SET] => &[OF_NUMBERS],
            _ => &[],
        };
        [name, &with_later(&delta[from..], nested)].concat()
    };
    let mut deltas: Vec<Vec<u8>> = Vec::new();
    for delta in &kept().deltas {
        deltas.push(later(delta));
        // Kinds that nobody here knows, of calls, registrations, media and of IMS access.
        for name in [&[ims::KIND, LATER][..], &[LATER], &[3 + 200], &[]] {
            let mut unknown = name.to_vec();
            replica::record::write_key(
                &mut unknown,
                machine::slots::Key { index: 0, generation: 0 },
            );
            field::bytes(&mut unknown, LATER, b"a kind of a later version");
            deltas.push(if name.is_empty() { Vec::new() } else { unknown });
        }
    }
    goes_on(&deltas, "with more");
}

#[test]
fn an_agreement_that_is_cut_off_is_none() {
    for delta in &kept().deltas {
        for octets in (0..delta.len()).step_by(9) {
            let mut node = Node::told(&[delta[..octets].to_vec()]);
            assert_eq!(node.rows("ipsec").len(), 0, "{octets} of {delta:x?}");
        }
    }
}

/// The tags of each kind of delta.
fn shapes(deltas: &[Vec<u8>]) -> BTreeMap<Vec<u8>, BTreeSet<(u8, usize)>> {
    let mut shapes: BTreeMap<Vec<u8>, BTreeSet<(u8, usize)>> = BTreeMap::new();
    for delta in deltas {
        let (name, from) = kind(delta);
        let tags = Fields::new(&delta[from..]);
        // Numbers are of one length; of texts any is.
        let tags = tags.map(|(tag, value)| (tag, if value.len() == 8 { 8 } else { 0 }));
        shapes.entry(name.to_vec()).or_default().extend(tags);
    }
    shapes
}

/// A registered phone in a call, beside an emergency call: the world, and all that is told of it.
fn recorded() -> (World, Vec<Vec<u8>>) {
    let phones = vec![Phone::new(1, None, Preference::usual())];
    let mut world = World::of(&site(), 1, phones, LinkSpec::perfect(Duration::from_millis(5)));
    world.act(0, Handset::register);
    world.run(SECOND * 5);
    world.call(0);
    let host = "10.0.0.77:5060";
    let help = format!(
        "INVITE urn:service:sos SIP/2.0\r\nVia: SIP/2.0/UDP {host};branch=z9hG4bKhelp\r\n\
         Max-Forwards: 70\r\nFrom: <sip:anonymous@anonymous.invalid>;tag=1\r\n\
         To: <urn:service:sos>\r\nCall-ID: help\r\nCSeq: 1 INVITE\r\n\
         Contact: <sip:a@{host}>\r\nContent-Length: 0\r\n\r\n"
    );
    world.stranger(host, &help);
    world.run(SECOND * 20);
    world.told.clear();
    world.follow();
    world.run(SECOND);
    world.core_asks(0, 1); // and numbers go on
    world.run(SECOND);
    let told = core::mem::take(&mut world.told);
    (world, told)
}

#[test]
fn what_is_told_now_has_all_that_the_version_before_reads() {
    let (world, told) = recorded();
    let names = |text: &[u8]| -> Vec<String> {
        let text = String::from_utf8_lossy(text).into_owned();
        text.lines().map(|line| line.split(':').next().unwrap_or_default().to_owned()).collect()
    };
    let bye = names(&world.bye(0));
    assert_eq!(bye[1..], names(&kept().bye)[1..], "the kept phone speaks as phones do");
    let (before, now) = (shapes(&kept().deltas), shapes(&told));
    for (kind, tags) in before {
        let found = now.get(&kind).unwrap_or_else(|| panic!("nothing of kind {kind:?} is told"));
        assert!(tags.is_subset(found), "kind {kind:?}: {:?}", tags.difference(found));
    }
}
