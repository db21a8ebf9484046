//! A flood of REGISTERs with forged sources, beside phones that nobody knows yet: each registers
//! once, from an address of its own, asks again as RFC 3261 §17.1.2 has it, and answers a challenge
//! (§22.2).

use super::good::{Served, paced};
use super::raid::{Bench, Found, Raid, Target};
use anyhow::Context;
use sbc::flood_testbed::{self, EVIL, Registrar, SUT_MAC, Testbed};
use serde_json::json;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

/// Registrations a second.
const PHONES: f64 = 50.0;
/// Frames a second of the flood.
const FLOOD_RATE: u32 = 50_000;
const SOURCES: &str = "198.18.0.0/15";
/// Where the phones are, behind the generator's wire.
const HOMES: [u8; 3] = [10, 199, 3];
const HOMES_TEXT: &str = "10.199.3.0/24";
/// The first wait for an answer (T1), which doubles, and all waits together.
const T1: Duration = Duration::from_millis(500);
const PATIENCE: Duration = Duration::from_secs(4);
/// Within this time the flood has been recognised.
const RECOGNISED: Duration = Duration::from_secs(1);

/// A phone's credentials for the nonce of a challenge. Nobody here knows its password, so nobody
/// looks at the response: the registrar accepts whoever comes.
fn credentials(challenge: &str, to: SocketAddr, number: u64) -> Option<String> {
    let param = |name: &str| challenge.split(name).nth(1)?.split('"').next();
    let (realm, nonce) = (param("realm=\"")?, param("nonce=\"")?);
    Some(format!(
        "Authorization: Digest username=\"new{number}\", realm=\"{realm}\", nonce=\"{nonce}\", \
        uri=\"sip:{to}\", response=\"{number:032x}\"\r\n"
    ))
}

/// One phone registers; whether it is answered by 200.
fn register(to: SocketAddr, number: u64) -> std::io::Result<bool> {
    let [low, ..] = number.to_le_bytes();
    let home = Ipv4Addr::from([HOMES[0], HOMES[1], HOMES[2], 1 + low % 250]);
    let phone = UdpSocket::bind((home, 0))?;
    let own = phone.local_addr()?;
    let request = |cseq: u32, credentials: &str| {
        format!(
            "REGISTER sip:{to} SIP/2.0\r\n\
            Via: SIP/2.0/UDP {own};rport;branch=z9hG4bKnew{number}-{cseq}\r\nMax-Forwards: 70\r\n\
            From: <sip:new{number}@lab>;tag=new{number}\r\nTo: <sip:new{number}@lab>\r\n\
            Call-ID: new{number}\r\nCSeq: {cseq} REGISTER\r\n\
            Contact: <sip:new{number}@{own}>\r\nExpires: 3600\r\n{credentials}\
            Content-Length: 0\r\n\r\n"
        )
    };
    let (mut cseq, mut credentials_held) = (1, String::new());
    let (begun, mut wait, mut bytes) = (Instant::now(), T1, [0; 4_096]);
    'asking: while begun.elapsed() < PATIENCE {
        let request = request(cseq, &credentials_held);
        phone.send_to(request.as_bytes(), to)?;
        let until = Instant::now() + wait;
        while let Some(left) =
            until.checked_duration_since(Instant::now()).filter(|it| !it.is_zero())
        {
            phone.set_read_timeout(Some(left))?;
            let Ok((length, _)) = phone.recv_from(&mut bytes) else { continue };
            let answer = String::from_utf8_lossy(&bytes[..length]);
            if answer.starts_with("SIP/2.0 200 ") {
                return Ok(true);
            }
            let is_challenge = answer.starts_with("SIP/2.0 401 ")
                && answer.contains(&format!("CSeq: {cseq} REGISTER"));
            if is_challenge && let Some(held) = credentials(&answer, to, number) {
                (cseq, credentials_held, wait) = (cseq + 1, held, T1);
                continue 'asking;
            }
        }
        wait *= 2;
    }
    Ok(false)
}

pub(super) fn flood(bench: &Bench) -> anyhow::Result<Found> {
    let testbed = Testbed::new().context("needs root, network namespaces and ip(8)")?;
    testbed.good.ip(&["route", "add", "local", HOMES_TEXT, "dev", "lo"])?;
    testbed.sut.ip(&["route", "add", HOMES_TEXT, "via", "10.199.1.2"])?;
    std::thread::scope(|scope| {
        let inside = scope.spawn(|| -> anyhow::Result<Found> {
            attack::enter(testbed.good.name())?;
            inside(bench, &testbed)
        });
        inside.join().unwrap_or_else(|_| anyhow::bail!("the measuring thread failed"))
    })
}

fn inside(bench: &Bench, testbed: &Testbed) -> anyhow::Result<Found> {
    let topology = flood_testbed::topology()?;
    let _registrar = Registrar::start()?;
    let flood_testbed::Target::Tandem(site) =
        flood_testbed::tandem(testbed, &topology, &bench.tandem, "auto")?
    else {
        anyhow::bail!("the target is no site")
    };
    let raid = Raid {
        sources: SOURCES.to_owned(),
        more: vec![("--interface", EVIL.to_owned()), ("--mac", SUT_MAC.to_owned())],
        lead: RECOGNISED,
        namespace: Some(testbed.evil.name().to_owned()),
        ..Raid::new("register", topology.access, FLOOD_RATE)
    };
    let mut first = 0;
    let target = Target::new(&site, topology.directory());
    let mut found = bench.hold(&target, &raid, |length| {
        let served = paced(PHONES, length, |number| {
            register(topology.access, first + number).unwrap_or(false)
        });
        first += served.asked;
        Ok(Served { ..served })
    })?;
    let shield = site.get("functions/ssc/shield")?;
    found.more = json!({ "shield": shield });
    Ok(found)
}
