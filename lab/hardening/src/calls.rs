//! Attacks on a session border controller and its site, beside calls, TLS handshakes, requests
//! over new connections, and the API.

use super::good::{Served, paced};
use super::raid::{Bench, Found, LOCAL, Raid, Target, make_key};
use peers::free_port;
use report::site::Site;
use report::site_file::SiteFile;
use runtime::Transport;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, Stream};
use sbc::{Load, Shape, Topology, site};
use serde_json::json;
use sip_load::{Ladder, Trial};
use std::collections::HashSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Calls a second, their time, and how long after it they may end.
pub(super) const CALLS: f64 = 1_000.0;
const HOLD: Duration = Duration::from_millis(200);
const DRAIN: Duration = Duration::from_secs(3);
/// Calls a second where each is looked up in the SAS, and the time until the last one is found.
const FOUND: f64 = 200.0;
const FOUND_MAX: Duration = Duration::from_secs(5);
/// Connections, handshakes, API requests a second.
const CONNECTIONS: f64 = 200.0;
const HANDSHAKES: f64 = 100.0;
const REQUESTS: f64 = 50.0;
/// Time for a connection and its answer.
const PATIENCE: Duration = Duration::from_secs(1);
/// What the attackers send a second.
const IDLE_RATE: u32 = 8_000;
const GREETINGS_RATE: u32 = 4_000;
const API_RATE: u32 = 500;
const QUESTIONS_RATE: u32 = 5_000;
const STRANGERS_RATE: u32 = 10_000;
const DIALOGS_RATE: u32 = 20;
const HEP_RATE: u32 = 20_000;
/// Time until tables of connections are full.
const FILLED: Duration = Duration::from_secs(3);

/// A site with a controller between subscribers and a far end; strangers come to a realm of their
/// own, over TCP and UDP, and reach an accomplice only.
struct Stand {
    topology: Topology,
    site: Site,
    open: SocketAddr,
    accomplice: SocketAddr,
}

impl Stand {
    fn new(bench: &Bench) -> anyhow::Result<Self> {
        Self::with(bench, &Shape::default(), |site| site)
    }

    fn with(
        bench: &Bench,
        shape: &Shape<'_>,
        more: impl FnOnce(SiteFile) -> SiteFile,
    ) -> anyhow::Result<Self> {
        let topology = Topology::new()?;
        make_key(topology.directory(), "hep.key")?;
        let (open, accomplice) = (free_port(LOCAL)?, free_port(LOCAL)?);
        let listen = [format!("tcp:{open}"), format!("udp:{open}")];
        let text = site(&topology, shape)
            .realm("open", "access", &listen)
            .next_hop("accomplice", format_args!("udp:{accomplice}"))
            .route("open", "accomplice");
        let site = bench.site(topology.directory(), &more(text).text(), topology.api)?;
        Ok(Self { topology, site, open, accomplice })
    }

    fn hold(
        &self,
        bench: &Bench,
        raid: &Raid,
        good: impl FnMut(Duration) -> anyhow::Result<Served>,
    ) -> anyhow::Result<Found> {
        bench.hold(&Target::new(&self.site, self.topology.directory()), raid, good)
    }

    /// Calls beside an attack.
    fn calls(&self, bench: &Bench, raid: &Raid) -> anyhow::Result<Found> {
        let load =
            Load::start_without_sink(&self.topology, Ladder::built_in("SIP")?, Transport::Udp)?;
        self.hold(bench, raid, |length| calls(&load, CALLS, length))
    }
}

/// Calls at a rate, for a time.
pub(super) fn calls(load: &Load, rate: f64, length: Duration) -> anyhow::Result<Served> {
    let trial = Trial { rate, length, hold: HOLD, ..Trial::default() };
    let report = load.run(trial, DRAIN, 0)?;
    Ok(Served { asked: report.started, served: report.completed })
}

fn connect(to: SocketAddr) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&to, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// Whether what is asked is answered with text that begins so.
fn answered(stream: &mut (impl Read + Write), question: &str, begin: &[u8]) -> bool {
    let mut answer = vec![0; begin.len()];
    let read = stream
        .write_all(question.as_bytes())
        .and_then(|()| stream.flush())
        .and_then(|()| stream.read_exact(&mut answer));
    read.is_ok() && answer == begin
}

/// A request that goes no further.
fn options(to: SocketAddr, transport: &str, number: u64) -> String {
    format!(
        "OPTIONS sip:{to} SIP/2.0\r\n\
        Via: SIP/2.0/{transport} 127.0.0.1:5999;branch=z9hG4bKgood{number}\r\nMax-Forwards: 0\r\n\
        From: <sip:good@lab>;tag=good{number}\r\nTo: <sip:{to}>\r\nCall-ID: good{number}\r\n\
        CSeq: 1 OPTIONS\r\nContent-Length: 0\r\n\r\n"
    )
}

pub(super) fn idle_connections(bench: &Bench) -> anyhow::Result<Found> {
    let stand = Stand::new(bench)?;
    let to = stand.open;
    let raid = Raid { lead: FILLED, ..Raid::new("idle-connections", to, IDLE_RATE) };
    stand.hold(bench, &raid, |length| {
        Ok(paced(CONNECTIONS, length, |number| {
            let ask = |mut stream| answered(&mut stream, &options(to, "TCP", number), b"SIP/2.0 ");
            connect(to).is_ok_and(ask)
        }))
    })
}

/// A TLS client that believes the certificate of the topology.
fn client(topology: &Topology) -> anyhow::Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(&topology.tls.certificate)?)?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    // Every one is a whole handshake.
    config.resumption = rustls::client::Resumption::disabled();
    Ok(Arc::new(config))
}

pub(super) fn half_handshakes(bench: &Bench) -> anyhow::Result<Found> {
    let stand = Stand::new(bench)?;
    let (to, config) = (stand.topology.access_tls, client(&stand.topology)?);
    let name = ServerName::from(to.ip());
    let refused = AtomicU64::new(0);
    let handshake = |number| -> anyhow::Result<bool> {
        let stream = connect(to);
        refused.fetch_add(u64::from(stream.is_err()), Relaxed);
        let mut stream = stream?;
        let mut session = ClientConnection::new(Arc::clone(&config), name.clone())?;
        let mut tls = Stream::new(&mut session, &mut stream);
        Ok(answered(&mut tls, &options(to, "TLS", number), b"SIP/2.0 "))
    };
    let raid = Raid { lead: FILLED, ..Raid::new("half-handshakes", to, GREETINGS_RATE) };
    let mut found = stand.hold(bench, &raid, |length| {
        Ok(paced(HANDSHAKES, length, |number| handshake(number).unwrap_or(false)))
    })?;
    found.more = json!({ "connections_not_taken": refused.load(Relaxed) });
    Ok(found)
}

pub(super) fn idle_api(bench: &Bench) -> anyhow::Result<Found> {
    let stand = Stand::new(bench)?;
    let to = stand.topology.api;
    let raid = Raid { lead: FILLED, ..Raid::new("idle-connections", to, API_RATE) };
    let question = format!("GET /livez HTTP/1.1\r\nHost: {to}\r\nConnection: close\r\n\r\n");
    stand.hold(bench, &raid, |length| {
        Ok(paced(REQUESTS, length, |_| {
            let ask = |mut stream| answered(&mut stream, &question, b"HTTP/1.1 200");
            connect(to).is_ok_and(ask)
        }))
    })
}

pub(super) fn slow_reading(bench: &Bench) -> anyhow::Result<Found> {
    let stand = Stand::new(bench)?;
    stand.calls(bench, &Raid::new("slow-reading", stand.open, QUESTIONS_RATE))
}

pub(super) fn strangers(bench: &Bench) -> anyhow::Result<Found> {
    let stand = Stand::new(bench)?;
    let raid = Raid::new("strangers-dialogs", stand.topology.access, STRANGERS_RATE);
    stand.calls(bench, &raid)
}

pub(super) fn oversized(bench: &Bench) -> anyhow::Result<Found> {
    let stand = Stand::new(bench)?;
    let mut raid = Raid::new("oversized-dialogs", stand.open, DIALOGS_RATE);
    raid.more.push(("--other", stand.accomplice.to_string()));
    stand.calls(bench, &raid)
}

/// The collector takes what comes with its key, where the program has one for its own controller;
/// else whatever comes.
pub(super) fn forged_hep(bench: &Bench) -> anyhow::Result<Found> {
    let (forged, own) = (free_port(LOCAL)?, free_port(LOCAL)?);
    let is_keyed = bench.knows("ssc", "capture_key_file");
    let key = |name| if is_keyed { format!("{name} = \"hep.key\"") } else { String::new() };
    let capture = format!("capture = \"tcp:{own}\"\n{}", key("capture_key_file"));
    let shape = Shape { ssc: &capture, ..Shape::default() };
    let stand = Stand::with(bench, &shape, |site| {
        site.with(format_args!("\n[sas]\nlisten = [\"tcp:{own}\", \"udp:{forged}\"]"))
            .with(key("auth_key_file"))
    })?;
    let load = Load::start_without_sink(&stand.topology, Ladder::built_in("SIP")?, Transport::Udp)?;
    let mut known = HashSet::new();
    let mut found = stand.hold(bench, &Raid::new("hep", forged, HEP_RATE), |length| {
        calls(&load, FOUND, length)?;
        let placed: HashSet<String> = load.call_ids()?.into_iter().collect();
        let new: HashSet<&String> = placed.difference(&known).collect();
        let asked = new.len() as u64;
        let begun = Instant::now();
        let mut served = 0;
        while served < asked && begun.elapsed() < FOUND_MAX {
            let stored = stand.site.answered()?;
            served = new.iter().filter(|id| stored.contains(**id)).count() as u64;
        }
        known = placed;
        Ok(Served { asked, served })
    })?;
    found.more = json!({ "key": is_keyed });
    Ok(found)
}
