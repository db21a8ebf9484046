//! A program of its own, since it looks at the size of its process: what a registered subscriber
//! takes of the memory of a gateway, and of its standby's.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ipsmgw::ShortMessageGateway;
use ipsmgw::config::Ipsmgw;
use machine::{Duration, Time};
use runtime::{Effects, Flow, Function as _, In, Mirrored, Seed, Term, Transport};
use std::net::SocketAddr;
use std::sync::Arc;

const SUBSCRIBERS: u32 = 100_000;
/// Octets of a subscriber at most, at either node.
const MOST: usize = 512;
const CORE: &str = "127.0.0.1:6060";

/// Resident octets of this process.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = text.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4_096
}

fn config() -> Arc<Ipsmgw> {
    let text = format!(
        "name = \"sms\"\nnumber = \"447700000099\"\ndomain = \"ims.example.org\"\n\
         listen = [\"udp:127.0.0.1:5090\"]\nstore = {{ journal = false }}\n\
         replica = {{ node = \"a\", listen = \"127.0.0.1:5999\", peer = \"127.0.0.1:5998\" }}\n\
         [[next_hop]]\nname = \"scscf\"\ntargets = [\"udp:{CORE}\"]\nprobe_interval_s = 0\n"
    );
    Arc::new(toml::from_str(&text).unwrap())
}

fn node(config: &Arc<Ipsmgw>, now: Time) -> ShortMessageGateway {
    let seed = Seed { shard: 0, shards: 1, random: [7; 32], now };
    let mut node = ShortMessageGateway::new(seed, Arc::clone(config));
    node.replicate(now, Mirrored::Deactivate, &mut Effects::default());
    node
}

/// A third-party REGISTER as an S-CSCF writes it, with the terminal's own.
fn register(n: u32) -> Vec<u8> {
    let own = format!(
        "REGISTER sip:ims.example.org SIP/2.0\r\nVia: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bKu\r\n\
         Max-Forwards: 70\r\nFrom: <sip:+4477{n:08}@ims.example.org>;tag=u\r\n\
         To: <sip:+4477{n:08}@ims.example.org>\r\nCall-ID: u-{n}\r\nCSeq: 1 REGISTER\r\n\
         Contact: <sip:+4477{n:08}@192.0.2.1:5060>;+g.3gpp.smsip\r\nContent-Length: 0\r\n\r\n"
    );
    format!(
        "REGISTER sip:gw.ims.example.org SIP/2.0\r\n\
         Via: SIP/2.0/UDP {CORE};branch=z9hG4bK{n}\r\n\
         From: <sip:scscf.ims.example.org>;tag={n}\r\n\
         To: <sip:+4477{n:08}@ims.example.org>\r\nCall-ID: {n}@core\r\n\
         CSeq: 1 REGISTER\r\nMax-Forwards: 70\r\nContact: <sip:scscf.ims.example.org:6060>\r\n\
         Expires: 36000\r\nContent-Type: message/sip\r\nContent-Length: {}\r\n\r\n{own}",
        own.len()
    )
    .into_bytes()
}

#[test]
fn a_registered_subscriber_takes_half_a_kilobyte_at_either_node() {
    let mut now = Time::from_millis(1_795_737_882_000);
    let config = config();
    let (mut active, mut standby) = (node(&config, now), node(&config, now));
    let mut out = Effects::default();
    active.replicate(now, Mirrored::Activate { is_current: true }, &mut out);
    active.replicate(now, Mirrored::Term(Term { epoch: 1, served: true }), &mut out);
    active.replicate(now, Mirrored::Followed(None), &mut out);
    let local = ([127, 0, 0, 1], 5_090).into();
    let remote: SocketAddr = CORE.parse().unwrap();
    let flow = Flow::to(config.ports()[0].id, Transport::Udp, local, remote);
    let mut registers = |from: u32, to: u32, now: &mut Time| {
        for n in from..to {
            let mut out = Effects::default();
            active.step(*now, In::Message { flow, bytes: &register(n) }, &mut out);
            let answers: Vec<bool> =
                out.sends().map(|it| it.1.starts_with(b"SIP/2.0 200")).collect();
            assert_eq!(answers, [true], "{n}");
            if n.is_multiple_of(1_000) {
                // What only absorbs retransmissions (RFC 3261 timer J) goes.
                *now += Duration::from_secs(40);
                active.tick(*now, &mut Effects::default());
            }
        }
        *now += Duration::from_secs(40);
        active.tick(*now, &mut Effects::default());
    };
    // Tables of both have room for what is under way before.
    registers(0, 2_000, &mut now);
    let before = resident();
    registers(2_000, 2_000 + SUBSCRIBERS, &mut now);
    let own = (resident() - before) / SUBSCRIBERS as usize;
    // The other one is told all of them.
    let mut told = Effects::default();
    standby.replicate(now, Mirrored::Forget, &mut told);
    let before = resident();
    active.replicate(now, Mirrored::Snapshot(1), &mut told);
    let mut is_whole = false;
    for _ in 0..SUBSCRIBERS {
        for delta in told.deltas() {
            standby.replicate(now, Mirrored::Delta(delta), &mut Effects::default());
        }
        is_whole |= told.snapshot_ended == Some(1);
        if is_whole {
            break;
        }
        told = Effects::default();
        active.tick(now, &mut told);
    }
    assert!(is_whole);
    let other = (resident() - before) / SUBSCRIBERS as usize;
    assert!(own <= MOST && other <= MOST, "{own} octets, at the standby {other}");
}
