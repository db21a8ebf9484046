//! Names through a small name server that stands in for the real one.

use crate::echo::{Behaviour, Echo, Seen, count, launch, port, until, wait_for};
use runtime::*;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::Receiver;
use std::time::Duration;

const A: u16 = 1;
const AAAA: u16 = 28;
const SRV: u16 = 33;
const NAPTR: u16 = 35;

/// Answers from a fixed zone, and counts the questions.
struct Server {
    at: SocketAddr,
    asked: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

fn name(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    for label in text.split('.') {
        out.push(label.len() as u8);
        out.extend_from_slice(label.as_bytes());
    }
    out.push(0);
    out
}

fn text(value: &str) -> Vec<u8> {
    let mut out = vec![value.len() as u8];
    out.extend_from_slice(value.as_bytes());
    out
}

/// The record data of the zone.
fn zone(question: &str, kind: u16) -> Vec<Vec<u8>> {
    match (question, kind) {
        ("core.example.org", A) => vec![vec![192, 0, 2, 1], vec![192, 0, 2, 2]],
        ("core.example.org", AAAA) => vec![[&[0x20, 1, 0xD, 0xB8][..], &[0; 11], &[1]].concat()],
        ("_sip._udp.example.org", SRV) => [(10u16, 60u16, 5060u16), (20, 0, 5070)]
            .iter()
            .map(|(priority, weight, port)| {
                let mut out = Vec::new();
                for number in [priority, weight, port] {
                    out.extend_from_slice(&number.to_be_bytes());
                }
                out.extend(name("core.example.org"));
                out
            })
            .collect(),
        ("example.org", NAPTR) => {
            let mut out = vec![0, 10, 0, 50];
            for part in ["s", "SIP+D2U", ""] {
                out.extend(text(part));
            }
            out.extend(name("_sip._udp.example.org"));
            vec![out]
        }
        _ => Vec::new(),
    }
}

fn answer(query: &[u8]) -> Vec<u8> {
    let mut labels = Vec::new();
    let mut at = 12;
    while query[at] != 0 {
        let length = usize::from(query[at]);
        labels.push(String::from_utf8_lossy(&query[at + 1..=at + length]).to_ascii_lowercase());
        at += length + 1;
    }
    let kind = u16::from_be_bytes([query[at + 1], query[at + 2]]);
    let question_end = at + 5;
    let records = zone(&labels.join("."), kind);
    let mut out = query[..2].to_vec();
    out.extend_from_slice(&[0x85, 0x80, 0, 1, 0, records.len() as u8, 0, 0, 0, 0]);
    out.extend_from_slice(&query[12..question_end]);
    for data in records {
        out.extend_from_slice(&[0xC0, 12]); // the name of the question
        out.extend_from_slice(&kind.to_be_bytes());
        out.extend_from_slice(&[0, 1, 0, 0, 1, 0]); // IN, 256 s
        out.extend_from_slice(&(data.len() as u16).to_be_bytes());
        out.extend(data);
    }
    out
}

impl Server {
    fn start(mute: bool) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let at = socket.local_addr().unwrap();
        let (asked, stop) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let (count, end) = (Arc::clone(&asked), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            let mut buffer = [0u8; 1_500];
            while !end.load(SeqCst) {
                let Ok((length, from)) = socket.recv_from(&mut buffer) else { continue };
                count.fetch_add(1, SeqCst);
                if !mute {
                    socket.send_to(&answer(&buffer[..length]), from).unwrap();
                }
            }
        });
        Self { at, asked, stop, thread: Some(thread) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, SeqCst);
        self.thread.take().unwrap().join().unwrap();
    }
}

fn function(server: &Server, dns: DnsSpec) -> (Running<Echo>, Receiver<Seen>) {
    let ports = vec![port(0, Transport::Udp, "127.0.0.1")];
    let dns = DnsSpec { servers: vec![server.at], ..dns };
    launch(ShardSpec { ports, dns, ..ShardSpec::default() }, Behaviour::default())
}

/// Makes the function look a name up.
fn look(running: &Running<Echo>, events: &Receiver<Seen>, what: &str) -> (u64, Answer) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.send_to(what.as_bytes(), running.local_addr(PortId(0))).unwrap();
    wait_for(events, |seen| match seen {
        Seen::Resolved(number, answer) => Some((*number, answer.clone())),
        _ => None,
    })
}

fn ips(texts: &[&str]) -> Vec<IpAddr> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

#[test]
fn the_three_steps_of_rfc_3263_are_answered_and_cached() {
    let server = Server::start(false);
    let (running, events) = function(&server, DnsSpec::default());
    let naptr = look(&running, &events, "naptr:example.org");
    let row = (10, 50, "s".into(), "SIP+D2U".into(), "_sip._udp.example.org".into());
    assert_eq!(naptr, (9, Answer::Naptr(vec![row])));
    let (number, srv) = look(&running, &events, "srv:_sip._udp.example.org");
    let Answer::Srv(mut rows) = srv else { panic!("an SRV answer") };
    rows.sort();
    let host = "core.example.org".to_owned();
    assert_eq!((number, rows), (8, vec![(10, 60, 5060, host.clone()), (20, 0, 5070, host)]));
    let (number, hosts) = look(&running, &events, "host:core.example.org");
    let Answer::Host(mut found) = hosts else { panic!("addresses") };
    found.sort();
    assert_eq!((number, found), (7, ips(&["192.0.2.1", "192.0.2.2", "2001:db8::1"])));
    let asked = server.asked.load(SeqCst);
    look(&running, &events, "host:core.example.org");
    look(&running, &events, "naptr:example.org");
    assert_eq!(server.asked.load(SeqCst), asked, "the second time comes from the cache");
    assert_eq!(count(&running, RuntimeMetric::Resolved), 5);
}

#[test]
fn literal_addresses_and_configured_hosts_need_no_server() {
    let server = Server::start(true);
    let hosts = [("lab.example".to_owned(), ips(&["127.0.0.7"]))].into();
    let (running, events) = function(&server, DnsSpec { hosts, ..DnsSpec::default() });
    for (host, want) in
        [("Lab.Example.", "127.0.0.7"), ("192.0.2.9", "192.0.2.9"), ("[::1]", "::1")]
    {
        let (_, answer) = look(&running, &events, &format!("host:{host}"));
        assert_eq!(answer, Answer::Host(ips(&[want])));
    }
    assert_eq!(server.asked.load(SeqCst), 0);
}

#[test]
fn a_name_that_does_not_exist_and_one_that_cannot_be_have_no_records() {
    let server = Server::start(false);
    let (running, events) = function(&server, DnsSpec::default());
    let long = format!("srv:{}", "x".repeat(200));
    for (what, want) in [
        ("host:nobody.example.org", Answer::Host(Vec::new())),
        ("srv:nobody.example.org", Answer::Srv(Vec::new())),
        ("naptr:nobody.example.org", Answer::Naptr(Vec::new())),
        (long.as_str(), Answer::Srv(Vec::new())),
    ] {
        assert_eq!(look(&running, &events, what).1, want, "{what}");
    }
}

#[test]
fn a_server_that_says_nothing_gives_an_empty_answer_and_too_many_questions_are_shed() {
    let server = Server::start(true);
    let timeout = Duration::from_millis(400);
    let (running, events) =
        function(&server, DnsSpec { outstanding_max: 2, timeout, ..DnsSpec::default() });
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    for n in 0..5 {
        let what = format!("host:h{n}.example.org");
        socket.send_to(what.as_bytes(), running.local_addr(PortId(0))).unwrap();
    }
    for _ in 0..5 {
        let answer = wait_for(&events, |seen| match seen {
            Seen::Resolved(_, answer) => Some(answer.clone()),
            _ => None,
        });
        assert_eq!(answer, Answer::Host(Vec::new()));
    }
    until("three are counted", || count(&running, RuntimeMetric::ResolveShed) == 3);
}

#[test]
fn an_answer_to_a_former_life_of_the_shard_is_nobodys() {
    let server = Server::start(true);
    let timeout = Duration::from_millis(400);
    let (running, events) = function(&server, DnsSpec { timeout, ..DnsSpec::default() });
    let (socket, to) = (UdpSocket::bind("127.0.0.1:0").unwrap(), running.local_addr(PortId(0)));
    socket.send_to(b"srv:before.example.org", to).unwrap();
    until("it is asked", || server.asked.load(SeqCst) > 0);
    socket.send_to(b"panic:of the test", to).unwrap();
    until("it crashed", || !running.crashes().is_empty());
    // What is asked later is answered later: the answer to the former life comes before.
    let first = look(&running, &events, "host:after.example.org");
    assert_eq!(first, (7, Answer::Host(Vec::new())));
}
