//! Calls whose media are anchored: what both ends are told, what the media controller is told, and
//! what is left when they end. The simulated media controller holds every row to the rules.

#[path = "../../../../stack/media/tests/it/msc.rs"]
#[allow(dead_code, reason = "of a simulation that others use too")]
mod msc;

use crate::world::pair::{Pair, mirror};
use crate::world::*;
use anchor::row::{self, Message};
use machine::{Duration, Time};
use msc::{Group, Msc};
use runtime::{ConnId, Flow, In, Mirrored};
use ssc::config::MEDIA_PORT;
use std::collections::BTreeMap;
use std::net::IpAddr;

const MEDIA: &str = r#"
[media]
pairs_min = 64
gone_s = 5
[[media.controller]]
name = "msc1"
address = "10.0.9.1:2970"
"#;
const SECOND: &str = "[[media.controller]]\nname = \"msc2\"\naddress = \"10.0.9.2:2970\"\n";
const ANCHORED: &str = "trusted = true\nmedia = { anchor = true }\n";

fn site(access: &str) -> String {
    let keys = format!("[[realm]]\nname = \"access\"\nmedia = {access}\n");
    SITE.replacen("[[realm]]\nname = \"access\"\n", &keys, 1) + MEDIA
}

fn groups(at: u8) -> Vec<Group> {
    let group = |name, n: u8| {
        let ip = IpAddr::from([192, 0, 2, at * 10 + n]);
        let ip6 = IpAddr::from([0x2001, 0xdb8, 0, 0, 0, u16::from(at), 0, u16::from(n)]);
        let number = u16::from(n) * 2;
        Group { name, addresses: [(number, ip), (number + 1, ip6)], blocks: 40 }
    };
    vec![group("access", 1), group("core", 2)]
}

/// Media controllers beside a controller.
struct Media {
    mscs: Vec<Msc>,
    is_cut: Vec<bool>,
    conns: BTreeMap<u32, (usize, Flow)>,
    next: u32,
}

impl Media {
    fn new(count: u8) -> Self {
        let names = ["msc1", "msc2"];
        Self {
            mscs: (0..count).map(|at| Msc::new(names[usize::from(at)], groups(at))).collect(),
            is_cut: vec![false; count.into()],
            conns: BTreeMap::new(),
            next: 1,
        }
    }

    /// Everything that is on its way arrives.
    fn pump(&mut self, world: &mut World) {
        for _ in 0..100 {
            let opens = std::mem::take(&mut world.opens);
            let rows = std::mem::take(&mut world.rows);
            let mut is_quiet = opens.is_empty() && rows.is_empty();
            for flow in opens {
                let at = usize::from(flow.port.0 - MEDIA_PORT.0);
                if self.is_cut[at] {
                    world.step(In::Down { flow, why: "refused" });
                    continue;
                }
                let flow = Flow { conn: ConnId(self.next), ..flow };
                self.next += 1;
                self.conns.insert(flow.conn.0, (at, flow));
                self.mscs[at].connect(flow.conn.0);
                world.step(In::Up { flow });
            }
            for (flow, octets) in rows {
                let Some(&(at, _)) = self.conns.get(&flow.conn.0) else { continue };
                self.mscs[at].receive(flow.conn.0, &octets);
                world.step(In::Written { flow, octets: octets.len() as u64, left: 0 });
            }
            for (conn, (at, flow)) in self.conns.clone() {
                let octets = self.mscs[at].take_out(conn);
                let mut rest = &octets[..];
                while let Some(Ok(Some((_, length)))) = (!rest.is_empty()).then(|| row::read(rest))
                {
                    world.step(In::Message { flow, bytes: &rest[..length] });
                    rest = &rest[length..];
                    is_quiet = false;
                }
            }
            if is_quiet {
                return;
            }
        }
        panic!("it never ends");
    }

    fn pass(&mut self, world: &mut World, time: Duration) {
        let end = world.now + time;
        while world.now < end {
            world.pass(Duration::from_millis(50));
            self.mscs.iter_mut().for_each(Msc::say_load); // it is missed after a second
            self.pump(world);
        }
    }

    fn cut(&mut self, world: &mut World, at: usize) {
        self.is_cut[at] = true;
        let gone: Vec<_> = self.conns.iter().filter(|(_, it)| it.0 == at).collect();
        let gone: Vec<Flow> = gone.into_iter().map(|(_, it)| it.1).collect();
        for flow in gone {
            self.conns.remove(&flow.conn.0);
            self.mscs[at].disconnect(flow.conn.0);
            world.step(In::Down { flow, why: "it broke" });
        }
    }

    fn streams(&self) -> usize {
        self.mscs.iter().map(Msc::streams).sum()
    }

    /// Nothing is left of any call.
    fn expect_nothing(&mut self, world: &mut World) {
        world.expect_idle();
        self.pump(world);
        assert_eq!(self.streams(), 0);
        assert_eq!(world.metric("media_port_pairs_in_use"), 0);
        assert_eq!(world.metric("media_calls_live"), 0);
    }
}

fn started(site: &str) -> (World, Media) {
    let (mut world, mut media) = (World::new(site), Media::new(1));
    media.pass(&mut world, Duration::from_secs(1));
    assert_eq!(world.metric("media_controllers_up"), 1);
    (world, media)
}

fn sdp(ip: &str, port: u16, more: &str) -> String {
    format!(
        "v=0\r\no=- 1 1 IN IP4 {ip}\r\ns=-\r\nc=IN IP4 {ip}\r\nt=0 0\r\n\
         m=audio {port} RTP/AVP 0 8\r\n{more}"
    )
}

const ALICE_SDP: (&str, u16) = ("10.0.0.1", 6_000);
const BOB_SDP: (&str, u16) = ("10.0.1.1", 7_000);

fn of((ip, port): (&str, u16)) -> String {
    sdp(ip, port, "")
}

/// Address and port of the first stream in a message.
fn place(text: &str) -> (String, u16) {
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    let length: usize = header(head, "Content-Length").parse().expect("a number");
    assert_eq!(length, body.len(), "{text}");
    let ip = body.lines().find_map(|line| line.strip_prefix("c=IN IP4 ")).expect("an address");
    let media = body.lines().find_map(|line| line.strip_prefix("m=audio ")).expect("a stream");
    (ip.to_owned(), media.split(' ').next().unwrap().parse().unwrap())
}

/// A message that shows the media controller's address in place of those of the far ends.
#[track_caller]
fn expect_anchored(text: &str, ip: &str) -> u16 {
    let (at, port) = place(text);
    assert_eq!(at, ip, "{text}");
    assert!(!text.contains("IP4 10.0."), "{text}");
    port
}

const AT_ACCESS: &str = "192.0.2.1";
const AT_CORE: &str = "192.0.2.2";

/// A call of Alice's with this offer up to the INVITE that Bob got.
fn invite(world: &mut World, call_id: &str, more: &str, body: &str) -> (Caller, String) {
    let alice = Caller::new(call_id);
    world.receive(ALICE, ACCESS, &alice.request("INVITE", more, body));
    world.expect(ALICE, "SIP/2.0 100");
    (alice, world.expect(BOB, "INVITE"))
}

/// A call that stands.
fn call(world: &mut World, media: &mut Media, call_id: &str) -> (Caller, String) {
    let (mut alice, invite) = invite(world, call_id, "", &of(ALICE_SDP));
    expect_anchored(&invite, AT_CORE);
    world.receive(BOB, CORE, &respond(&invite, "200 OK", "b1", BOB_CONTACT, &of(BOB_SDP)));
    let answer = world.expect(ALICE, "SIP/2.0 200");
    expect_anchored(&answer, AT_ACCESS);
    alice.learn(&answer);
    world.receive(ALICE, ACCESS, &alice.request("ACK", "", ""));
    world.expect(BOB, "ACK");
    media.pump(world);
    (alice, invite)
}

/// The only stream that stands: where its ends receive.
fn remotes(media: &Media) -> [String; 2] {
    let mut all = media.mscs.iter().flat_map(|msc| msc.standing.values());
    let stream = all.find_map(|it| it.iter().next()).expect("a stream stands").2;
    [0, 1].map(|at| stream.ends[at].remote.expect("it receives").to_string())
}

#[test]
fn both_ends_are_told_the_media_controller_and_it_is_told_both_ends() {
    let (mut world, mut media) = started(&site("{ anchor = true }"));
    let (mut alice, _) = call(&mut world, &mut media, "one");
    assert_eq!(remotes(&media), ["10.0.0.1:6000", "10.0.1.1:7000"]);
    assert_eq!(world.metric("media_port_pairs_in_use"), 2);
    world.end(&mut alice);
    media.pump(&mut world);
    assert_eq!(media.streams(), 0, "with the answer to the BYE");
    media.expect_nothing(&mut world);
    assert_eq!(world.metric("ssc_media_descriptions_total"), 2);
}

#[test]
fn a_realm_that_wants_it_is_enough_and_without_one_bodies_stay_as_they_are() {
    let core = site("{}").replace(
        "trusted = true\n[[next_hop]]\nname = \"switch\"",
        &format!("{ANCHORED}[[next_hop]]\nname = \"switch\""),
    );
    let (mut world, mut media) = started(&core);
    call(&mut world, &mut media, "one");
    let mut world = World::new(SITE);
    let body = of(ALICE_SDP);
    let (_, invite) = invite(&mut world, "bypass", "", &body);
    assert!(invite.ends_with(&body), "{invite}");
}

#[test]
fn forks_with_different_answers_are_heard_until_one_is_chosen() {
    let (mut world, mut media) = started(&site("{ anchor = true }"));
    let (mut alice, invite) = invite(&mut world, "forks", "", &of(ALICE_SDP));
    for (tag, port) in [("b1", 7_100), ("b2", 7_200), ("b1", 7_100)] {
        let body = sdp("10.0.1.1", port, "");
        let early = respond(&invite, "183 Session Progress", tag, BOB_CONTACT, &body);
        world.receive(BOB, CORE, &early);
        expect_anchored(&world.expect(ALICE, "SIP/2.0 183"), AT_ACCESS);
        media.pump(&mut world);
        assert_eq!(remotes(&media)[1], format!("10.0.1.1:{port}"), "early media of {tag}");
    }
    let body = sdp("10.0.1.1", 7_200, "");
    world.receive(BOB, CORE, &respond(&invite, "200 OK", "b2", BOB_CONTACT, &body));
    alice.learn(&world.expect(ALICE, "SIP/2.0 200"));
    world.receive(ALICE, ACCESS, &alice.request("ACK", "", ""));
    world.expect(BOB, "ACK");
    media.pump(&mut world);
    assert_eq!(remotes(&media), ["10.0.0.1:6000", "10.0.1.1:7200"]);
    world.end(&mut alice);
    media.expect_nothing(&mut world);
}

#[test]
fn an_offer_that_comes_late_is_answered_by_the_ack() {
    let (mut world, mut media) = started(&site("{ anchor = true }"));
    let (mut alice, invite) = invite(&mut world, "late", "", "");
    world.receive(BOB, CORE, &respond(&invite, "200 OK", "b1", BOB_CONTACT, &of(BOB_SDP)));
    let offer = world.expect(ALICE, "SIP/2.0 200");
    expect_anchored(&offer, AT_ACCESS);
    alice.learn(&offer);
    world.receive(ALICE, ACCESS, &alice.request("ACK", "", &of(ALICE_SDP)));
    expect_anchored(&world.expect(BOB, "ACK"), AT_CORE);
    media.pump(&mut world);
    assert_eq!(remotes(&media), ["10.0.0.1:6000", "10.0.1.1:7000"]);
    world.end(&mut alice);
    media.expect_nothing(&mut world);
}

#[test]
fn an_answer_that_came_reliably_counts_and_a_2xx_does_not_say_it_again() {
    let (mut world, mut media) = started(&site("{ anchor = true }"));
    let more = "Supported: 100rel\r\n";
    let (mut alice, invite) = invite(&mut world, "reliable", more, &of(ALICE_SDP));
    let more = format!("{BOB_CONTACT}Require: 100rel\r\nRSeq: 1\r\n");
    let early = respond(&invite, "183 Session Progress", "b1", &more, &of(BOB_SDP));
    world.receive(BOB, CORE, &early);
    let early = world.expect(ALICE, "SIP/2.0 183");
    expect_anchored(&early, AT_ACCESS);
    alice.learn(&early);
    alice.cseq += 1;
    let rack = "RAck: 1 1 INVITE\r\n";
    world.receive(ALICE, ACCESS, &alice.request("PRACK", rack, ""));
    let prack = world.expect(BOB, "PRACK");
    world.receive(BOB, CORE, &respond(&prack, "200 OK", "", "", ""));
    world.expect(ALICE, "SIP/2.0 200");
    alice.cseq += 1;
    world.receive(ALICE, ACCESS, &alice.request("UPDATE", "", &sdp("10.0.0.1", 6_100, "")));
    let update = world.expect(BOB, "UPDATE");
    expect_anchored(&update, AT_CORE);
    let body = of(BOB_SDP);
    world.receive(BOB, CORE, &respond(&update, "200 OK", "", BOB_CONTACT, &body));
    expect_anchored(&world.expect(ALICE, "SIP/2.0 200"), AT_ACCESS);
    media.pump(&mut world);
    assert_eq!(remotes(&media), ["10.0.0.1:6100", "10.0.1.1:7000"]);
    world.receive(BOB, CORE, &respond(&invite, "200 OK", "b1", BOB_CONTACT, &of(BOB_SDP)));
    let answer = world.expect(ALICE, "SIP/2.0 200");
    assert!(answer.ends_with("Content-Length: 0\r\n\r\n"), "{answer}");
    assert!(!answer.contains("Content-Type"), "{answer}");
    alice.cseq = 1;
    world.receive(ALICE, ACCESS, &alice.request("ACK", "", ""));
    world.expect(BOB, "ACK");
    media.pump(&mut world);
    assert_eq!(remotes(&media), ["10.0.0.1:6100", "10.0.1.1:7000"]);
    alice.cseq = 3;
    world.end(&mut alice);
    media.expect_nothing(&mut world);
}

#[test]
fn a_hold_that_is_refused_changes_nothing_and_one_that_is_taken_holds() {
    let (mut world, mut media) = started(&site("{ anchor = true }"));
    let (mut alice, _) = call(&mut world, &mut media, "hold");
    for status in ["488 Not Acceptable Here", "200 OK"] {
        alice.cseq += 1;
        let body = sdp("10.0.0.1", 6_500, "a=sendonly\r\n");
        world.receive(ALICE, ACCESS, &alice.request("INVITE", "", &body));
        world.expect(ALICE, "SIP/2.0 100");
        let invite = world.expect(BOB, "INVITE");
        assert!(invite.contains("a=sendonly"), "{invite}");
        expect_anchored(&invite, AT_CORE);
        let is_taken = status.starts_with('2');
        let body = if is_taken { sdp("10.0.1.1", 7_000, "a=recvonly\r\n") } else { String::new() };
        let contact = if is_taken { BOB_CONTACT } else { "" };
        world.receive(BOB, CORE, &respond(&invite, status, "b1", contact, &body));
        if is_taken {
            let answer = world.expect(ALICE, "SIP/2.0 200");
            assert!(answer.contains("a=recvonly"), "{answer}");
        } else {
            world.sent.retain(|sent| !sent.text.starts_with("ACK"));
            world.expect(ALICE, "SIP/2.0 488");
        }
        let ack = alice.request("ACK", "", "");
        let ack = if is_taken { ack } else { ack.replacen("z9hG4bKACK", "z9hG4bKINVITE", 1) };
        world.receive(ALICE, ACCESS, &ack);
        if is_taken {
            world.expect(BOB, "ACK");
        }
        media.pump(&mut world);
        let port = if is_taken { 6_500 } else { 6_000 };
        assert_eq!(remotes(&media)[0], format!("10.0.0.1:{port}"));
        assert_eq!(world.metric("media_port_pairs_in_use"), 2);
    }
    world.end(&mut alice);
    media.expect_nothing(&mut world);
}

#[test]
fn a_description_among_other_parts_is_exchanged_alone() {
    let (mut world, mut media) = started(&site("{ anchor = true }"));
    let body = format!(
        "--x\r\nContent-Type: application/pidf+xml\r\n\r\n<a/>\r\n\
         --x\r\nContent-Type: application/sdp\r\n\r\n{}\r\n--x--\r\n",
        of(ALICE_SDP)
    );
    let alice = Caller::new("parts");
    let request = alice.request("INVITE", "", &body);
    let request = request.replace(
        "application/sdp\r\nContent-Length",
        "multipart/mixed;boundary=x\r\nContent-Length",
    );
    world.receive(ALICE, ACCESS, &request);
    world.expect(ALICE, "SIP/2.0 100");
    let invite = world.expect(BOB, "INVITE");
    assert!(invite.contains("<a/>") && invite.ends_with("--x--\r\n"), "{invite}");
    expect_anchored(&invite, AT_CORE);
    world.receive(BOB, CORE, &respond(&invite, "486 Busy Here", "b1", "", ""));
    world.sent.clear();
    world.receive(ALICE, ACCESS, &alice.request("ACK", "", "").replacen("KACK", "KINVITE", 1));
    media.expect_nothing(&mut world);
}

#[test]
fn refusals_of_anchored_calls_lose_their_descriptions() {
    for (access, is_anchored) in [("{ anchor = true }", true), ("{}", false)] {
        let (mut world, mut media) = started(&site(access));
        let statuses = [
            "380 Alternative Service",
            "488 Not Acceptable Here",
            "580 Precondition",
            "603 Decline",
        ];
        for status in statuses {
            let (_, invite) = invite(&mut world, &status[..3], "", &of(ALICE_SDP));
            world.receive(BOB, CORE, &respond(&invite, status, "b1", "", &of(BOB_SDP)));
            let refusal = world.expect(ALICE, &format!("SIP/2.0 {}", &status[..3]));
            world.expect(BOB, "ACK");
            assert_eq!(refusal.contains("v=0"), !is_anchored, "{refusal}");
            assert_eq!(refusal.contains("application/sdp"), !is_anchored, "{refusal}");
        }
        if is_anchored {
            // Inside of a call as well.
            let (mut alice, _) = call(&mut world, &mut media, "inside");
            alice.cseq += 1;
            world.receive(ALICE, ACCESS, &alice.request("INVITE", "", &of(ALICE_SDP)));
            world.expect(ALICE, "SIP/2.0 100");
            let again = world.expect(BOB, "INVITE");
            let refusal = respond(&again, "488 Not Acceptable Here", "b1", "", &of(BOB_SDP));
            world.receive(BOB, CORE, &refusal);
            let refusal = world.expect(ALICE, "SIP/2.0 488");
            assert!(!refusal.contains("v=0"), "{refusal}");
            world.expect(BOB, "ACK");
        }
    }
}

#[test]
fn what_cannot_be_met_gets_488_and_no_room_503() {
    let (mut world, _) = started(&site("{ anchor = true, codecs = { allow = ['opus'] } }"));
    let alice = Caller::new("codec");
    world.receive(ALICE, ACCESS, &alice.request("INVITE", "", &of(ALICE_SDP)));
    let refusal = world.expect(ALICE, "SIP/2.0 488");
    assert_eq!(header(&refusal, "Warning"), "304 tandem \"no codec in common\"");
    assert_eq!(world.metric("ssc_media_refused_total"), 1);
    world.expect_nothing();
    let (mut world, mut lost) = started(&site("{ anchor = true }"));
    lost.cut(&mut world, 0);
    let alice = Caller::new("room");
    world.receive(ALICE, ACCESS, &alice.request("INVITE", "", &of(ALICE_SDP)));
    let refusal = world.expect(ALICE, "SIP/2.0 503");
    assert_eq!(header(&refusal, "Retry-After"), "5");
    assert_eq!(header(&refusal, "Warning"), "399 tandem \"no media controller answers\"");
    assert_eq!(world.metric("media_no_room_total"), 1);
    let (mut world, _) = started(&site("{ anchor = true, srtp = 'required' }"));
    let alice = Caller::new("rtp");
    world.receive(ALICE, ACCESS, &alice.request("INVITE", "", &of(ALICE_SDP)));
    let refusal = world.expect(ALICE, "SIP/2.0 488");
    let why = "\"the realm requires SRTP, the offer has RTP\"";
    assert_eq!(header(&refusal, "Warning"), format!("304 tandem {why}"));
}

#[test]
fn an_answer_that_cannot_be_met_ends_the_call_on_both_sides() {
    let (mut world, mut media) = started(&site("{ anchor = true, srtp = 'off' }"));
    let (_, invite) = invite(&mut world, "answer", "", &of(ALICE_SDP));
    let body = of(BOB_SDP).replace("0 8", "99");
    world.receive(BOB, CORE, &respond(&invite, "200 OK", "b1", BOB_CONTACT, &body));
    world.expect(ALICE, "SIP/2.0 488");
    world.expect(BOB, "ACK");
    let bye = world.expect(BOB, "BYE");
    world.receive(BOB, CORE, &respond(&bye, "200 OK", "", "", ""));
    media.expect_nothing(&mut world);
}

#[test]
fn digits_cross_between_info_and_media() {
    let (mut world, mut media) = started(&site("{ anchor = true, dtmf = 'info' }"));
    let (mut alice, _) = call(&mut world, &mut media, "digits");
    alice.cseq += 1;
    let info = alice.request("INFO", "", "Signal=7\r\nDuration=120\r\n");
    let info = info.replace("application/sdp", "application/dtmf-relay");
    world.receive(ALICE, ACCESS, &info);
    world.expect(ALICE, "SIP/2.0 200");
    world.expect_nothing();
    media.pump(&mut world);
    let (id, serial, digit) = media.mscs[0].plays[0];
    assert_eq!((serial, digit), (1, 7));
    let event = row::Event::Digit(11, 200);
    media.mscs[0].say_all(&Message::Event { stream: id, end: anchor::Side::B, event });
    media.pump(&mut world);
    let info = world.expect(ALICE, "INFO");
    assert!(info.ends_with("Signal=#\r\nDuration=200\r\n"), "{info}");
    world.receive(ALICE, ACCESS, &respond(&info, "200 OK", "", "", ""));
    world.expect_nothing();
    world.end(&mut alice);
    media.expect_nothing(&mut world);
}

#[test]
fn a_call_without_media_ends_where_the_configuration_says_so() {
    let site = site("{ anchor = true, timeout_s = 30 }");
    for ends in [false, true] {
        let site = site.replace("[media]", &format!("[media]\ntimeout_ends_call = {ends}"));
        let (mut world, mut media) = started(&site);
        let (mut alice, _) = call(&mut world, &mut media, "silent");
        let (id, _, _) = media.mscs[0].standing.values().next().unwrap().iter().next().unwrap();
        let event = row::Event::TimedOut;
        media.mscs[0].say_all(&Message::Event { stream: id, end: anchor::Side::A, event });
        media.pump(&mut world);
        assert_eq!(world.metric("media_timed_out_total"), 1);
        if ends {
            for (at, listener) in [(ALICE, ACCESS), (BOB, CORE)] {
                let bye = world.expect(at, "BYE");
                assert!(bye.contains("no media came"), "{bye}");
                world.receive(at, listener, &respond(&bye, "200 OK", "", "", ""));
            }
        } else {
            world.end(&mut alice);
        }
        media.expect_nothing(&mut world);
    }
}

#[test]
fn media_cost_units_of_their_own() {
    let resources = "[resources]\ncall = 10\nanchored = 4\nsrtp = 6\ntranscoding = 40\n";
    for (access, units) in [
        ("{}", 10),
        ("{ anchor = true }", 14),
        ("{ anchor = true, srtp = 'required' }", 20),
        ("{ anchor = true, codecs = { transcode = ['opus'] } }", 54),
    ] {
        let (mut world, mut media) = started(&(site(access) + resources));
        let alice = Caller::new("units");
        let crypto = "a=crypto:1 AES_CM_128_HMAC_SHA1_80 \
            inline:WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGVz\r\n";
        let body = if units == 20 {
            sdp("10.0.0.1", 6_000, crypto).replace("RTP/AVP", "RTP/SAVP")
        } else {
            of(ALICE_SDP)
        };
        world.receive(ALICE, ACCESS, &alice.request("INVITE", "", &body));
        world.expect(ALICE, "SIP/2.0 100");
        assert_eq!(world.metric("ssc_resource_units_live"), units, "{access}");
        media.pump(&mut world);
    }
}

#[test]
fn after_a_takeover_streams_stand_under_their_names_and_end_with_their_calls() {
    let site = site("{ anchor = true }");
    let (mut pair, mut media) = (Pair::new(&site), Media::new(1));
    media.pass(&mut pair.active, Duration::from_secs(1));
    let (mut alice, _) = call(&mut pair.active, &mut media, "pair");
    invite(&mut pair.active, "early", "", &of(ALICE_SDP));
    media.pump(&mut pair.active);
    let name = |media: &Media| {
        media.mscs[0].standing.values().next().unwrap().iter().map(|it| it.0).collect::<Vec<_>>()
    };
    let before = name(&media);
    let world = hand_over(&mut pair, &mut media);
    assert_eq!((name(&media), world.metric("media_port_pairs_in_use")), (before, 2));
    alice.cseq += 1;
    world.sent.clear();
    world.receive(ALICE, ACCESS, &alice.request("INVITE", "", &sdp("10.0.0.1", 6_900, "")));
    world.sent.retain(|sent| !sent.text.starts_with("ACK"));
    world.expect(ALICE, "SIP/2.0 100");
    let again = world.expect(BOB, "INVITE");
    expect_anchored(&again, AT_CORE);
    world.receive(BOB, CORE, &respond(&again, "200 OK", "b1", BOB_CONTACT, &of(BOB_SDP)));
    world.expect(ALICE, "SIP/2.0 200");
    world.receive(ALICE, ACCESS, &alice.request("ACK", "", ""));
    world.expect(BOB, "ACK");
    media.pump(world);
    assert_eq!(remotes(&media)[0], "10.0.0.1:6900");
    world.end(&mut alice);
    media.pump(world);
    assert_eq!((media.streams(), world.metric("media_port_pairs_in_use")), (0, 0));
}

/// A call, and its INVITE, whose media controller is gone, and goes to another one.
fn taken_over() -> (World, Media, Caller, String) {
    let two = site("{ anchor = true }") + SECOND;
    let (mut world, mut media) = (World::new(&two), Media::new(2));
    media.is_cut[1] = true;
    media.pass(&mut world, Duration::from_secs(1));
    let (alice, invite) = call(&mut world, &mut media, "moved");
    media.is_cut[1] = false;
    media.pass(&mut world, Duration::from_secs(1));
    media.cut(&mut world, 0);
    media.pass(&mut world, Duration::from_secs(4));
    world.expect_nothing();
    media.pass(&mut world, Duration::from_secs(2));
    (world, media, alice, invite)
}

#[test]
fn calls_of_a_media_controller_that_is_gone_go_to_another_one() {
    let (mut world, mut media, mut alice, invite) = taken_over();
    let offered = world.expect(ALICE, "INVITE");
    assert!(offered.ends_with("Content-Length: 0\r\n\r\n"), "{offered}");
    world.sent.clear(); // it is sent again until there is an answer
    let contact = format!("Contact: <sip:alice@{ALICE}>\r\n");
    let offer = respond(&offered, "200 OK", "", &contact, &of(ALICE_SDP));
    world.receive(ALICE, ACCESS, &offer);
    let again = world.expect(BOB, "INVITE");
    expect_anchored(&again, "192.0.2.12");
    assert_eq!(header(&again, "Call-ID"), header(&invite, "Call-ID"));
    world.receive(BOB, CORE, &respond(&again, "200 OK", "", BOB_CONTACT, &of(BOB_SDP)));
    let bare = world.expect(BOB, "ACK");
    assert!(bare.ends_with("Content-Length: 0\r\n\r\n"), "{bare}");
    let ack = world.expect(ALICE, "ACK");
    expect_anchored(&ack, "192.0.2.11");
    world.receive(ALICE, ACCESS, &offer);
    assert_eq!(world.expect(ALICE, "ACK"), ack, "its 2xx came again");
    media.pump(&mut world);
    assert_eq!(media.mscs[1].streams(), 1);
    assert_eq!(world.metric("media_calls_moved_total"), 1);
    media.mscs[0].restart();
    media.is_cut[0] = false;
    alice.cseq += 1;
    world.receive(ALICE, ACCESS, &alice.request("BYE", "", ""));
    world.answer_bye(BOB, CORE, ALICE);
    media.pass(&mut world, Duration::from_secs(2));
    media.expect_nothing(&mut world);
}

/// The active node dies, and its connections with it: the other one serves.
fn hand_over<'p>(pair: &'p mut Pair, media: &mut Media) -> &'p mut World {
    pair.replicate();
    for (conn, (at, _)) in core::mem::take(&mut media.conns) {
        media.mscs[at].disconnect(conn);
    }
    let world = pair.fail_over();
    media.pass(world, Duration::from_secs(2));
    world.expect_nothing();
    world
}

/// Bob may not have had the ACK of the node that died: he gets it before an INVITE.
#[track_caller]
fn expect_reinvited(world: &mut World, offer: &str) -> String {
    let ack = world.expect(BOB, "ACK");
    assert!(ack.contains("CSeq: 1 ACK"), "{ack}");
    let asked = world.expect(ALICE, "INVITE");
    world.sent.clear();
    let contact = format!("Contact: <sip:alice@{ALICE}>\r\n");
    world.receive(ALICE, ACCESS, &respond(&asked, "200 OK", "", &contact, offer));
    let again = world.expect(BOB, "INVITE");
    world.receive(BOB, CORE, &respond(&again, "200 OK", "", BOB_CONTACT, &of(BOB_SDP)));
    world.expect(BOB, "ACK");
    world.expect(ALICE, "ACK")
}

#[test]
fn after_a_takeover_calls_of_a_media_controller_that_is_gone_go_to_another_one() {
    let two = site("{ anchor = true }") + SECOND;
    let (mut pair, mut media) = (Pair::new(&two), Media::new(2));
    media.is_cut[1] = true;
    media.pass(&mut pair.active, Duration::from_secs(1));
    let (mut alice, _) = call(&mut pair.active, &mut media, "inherited");
    media.is_cut[1] = false;
    let world = hand_over(&mut pair, &mut media);
    media.cut(world, 0);
    media.pass(world, Duration::from_secs(6));
    let ack = expect_reinvited(world, &of(ALICE_SDP));
    expect_anchored(&ack, "192.0.2.11");
    media.pump(world);
    assert_eq!((media.mscs[1].streams(), world.metric("media_calls_moved_total")), (1, 1));
    alice.cseq += 1;
    world.receive(ALICE, ACCESS, &alice.request("BYE", "", ""));
    world.answer_bye(BOB, CORE, ALICE);
}

#[test]
fn after_a_takeover_protected_calls_of_a_media_controller_that_began_anew_get_other_keys() {
    let key = "a=crypto:1 AES_CM_128_HMAC_SHA1_80 \
        inline:d0RmdmcmVCspeEc3QGZiNWpVLFJhQX1cfHAwJSoj\r\n";
    let offer = of(ALICE_SDP).replace("RTP/AVP", "RTP/SAVP") + key;
    let access = "{ anchor = true, srtp = \"optional\" }";
    let (mut pair, mut media) = (Pair::new(&site(access)), Media::new(1));
    media.pass(&mut pair.active, Duration::from_secs(1));
    let world = &mut pair.active;
    let (mut alice, invite) = invite(world, "keyed", "", &offer);
    world.receive(BOB, CORE, &respond(&invite, "200 OK", "b1", BOB_CONTACT, &of(BOB_SDP)));
    let answer = world.expect(ALICE, "SIP/2.0 200");
    alice.learn(&answer);
    world.receive(ALICE, ACCESS, &alice.request("ACK", "", ""));
    world.expect(BOB, "ACK");
    media.pump(world);
    let world = hand_over(&mut pair, &mut media);
    media.cut(world, 0);
    media.mscs[0].restart();
    media.is_cut[0] = false;
    media.pass(world, Duration::from_secs(2));
    let ack = expect_reinvited(world, &offer);
    let told = |text: &str| text.lines().find(|it| it.starts_with("a=crypto")).map(str::to_owned);
    assert!(told(&ack).is_some() && told(&ack) != told(&answer), "{ack}");
    media.pump(world);
    assert_eq!(media.mscs[0].streams(), 1);
}

#[test]
fn a_standby_says_nothing_to_media_controllers() {
    let mut world = World::new(&site("{ anchor = true }"));
    mirror(&mut world, Mirrored::Deactivate);
    world.pass(Duration::from_secs(10));
    assert!(world.opens.is_empty() && world.rows.is_empty());
    assert!(world.now > Time::ZERO);
}

/// Everything that is counted of media happens; `read` is shown each world before it goes.
pub fn everything(read: &mut dyn FnMut(&mut World)) {
    let two = site("{ anchor = true }") + SECOND;
    let (mut world, mut media) = (World::new(&two), Media::new(2));
    media.is_cut[1] = true;
    media.pass(&mut world, Duration::from_secs(1));
    call(&mut world, &mut media, "counted");
    let bad = of(ALICE_SDP).replace("IN IP4 10.0.0.1\r\nt", "IN IP4 example.org\r\nt");
    world.receive(ALICE, ACCESS, &Caller::new("bad").request("INVITE", "", &bad));
    world.sent.clear();
    let (id, _, _) = media.mscs[0].standing.values().next().unwrap().iter().next().unwrap();
    let quality = row::Quality { mos_hundredths: 430, ..row::Quality::default() };
    for event in [
        row::Event::Latched("10.0.0.1:6002".parse().unwrap()),
        row::Event::OneWay,
        row::Event::TimedOut,
        row::Event::Digit(5, 100),
        row::Event::Unprotected(3),
        row::Event::Quality(quality),
    ] {
        media.mscs[0].say_all(&Message::Event { stream: id, end: anchor::Side::A, event });
    }
    media.pump(&mut world);
    read(&mut world);
    media.cut(&mut world, 0);
    world.receive(ALICE, ACCESS, &Caller::new("room").request("INVITE", "", &of(ALICE_SDP)));
    read(&mut world);
    let (mut world, ..) = taken_over();
    read(&mut world);
}
