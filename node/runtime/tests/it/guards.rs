//! What a port demands of its far ends, on real sockets: TCP MD5 (RFC 2385) and the TTL security
//! of RFC 5082. The kernel's lack of TCP MD5 is known by the errno of its option alone.

use crate::feeder::{self, Observed, Plan, Seen, Sink, launch, octets_of, spec};
use driver::guard::{Prefix, demand_md5, set_ttl};
use machine::Duration;
use runtime::*;
use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::sync::Arc;

const SILENCE: Duration = Duration::from_millis(400);

fn guard(prefix: &str, bits: u8, key: Option<&str>) -> Guard {
    let md5 = key.map(Secret::new);
    Guard { prefix: (prefix.parse().unwrap(), bits), md5, ttl_min: None, ttl: None }
}

fn guarded(shards: u16, ip: &str, guards: Vec<Guard>) -> ShardSpec {
    let mut spec = spec(shards);
    spec.ports[0].listen = SocketAddr::new(ip.parse().unwrap(), 0);
    spec.ports[0].stream_mut().unwrap().guards = guards.into();
    spec
}

fn quiet() -> Plan {
    Plan { octets: 0, ..Plan::default() }
}

fn signing(to: SocketAddr, key: &str) -> impl FnOnce(&OwnedFd) -> io::Result<()> + '_ {
    let bits = if to.is_ipv4() { 32 } else { 128 };
    move |socket| demand_md5(socket, Prefix { ip: to.ip(), bits }, key.as_bytes())
}

fn speaks(sink: &mut Sink, told: &Observed) {
    sink.say(b"hello");
    assert_eq!(told.message().1, octets_of(b"hello"));
}

#[test]
fn only_those_who_sign_with_the_key_of_their_prefix_are_accepted() {
    if !knows_md5().unwrap() {
        return;
    }
    for ip in ["127.0.0.1", "::1"] {
        let bits = if ip == "::1" { 127 } else { 24 };
        let (running, told) = launch(guarded(2, ip, vec![guard(ip, bits, Some("key"))]), quiet());
        let to = running.local_addr(PortId(0));
        for _ in 0..6 {
            let mut sink = Sink::connect_with(to, 0, signing(to, "key")).unwrap();
            told.up();
            speaks(&mut sink, &told);
        }
        assert!(Sink::connect_with(to, 0, signing(to, "another")).is_none());
        assert!(Sink::connect_with(to, 0, |_| Ok(())).is_none(), "unsigned");
    }
}

#[test]
fn a_connection_that_is_opened_is_signed_and_a_far_end_with_another_key_is_not_reached() {
    if !knows_md5().unwrap() {
        return;
    }
    let guards = vec![guard("127.0.0.0", 8, Some("key"))];
    let mut spec = guarded(1, "127.0.0.1", guards);
    spec.streams.connect_timeout = SILENCE;
    let (running, told) = launch(spec, quiet());
    let listener = |key: &'static str| {
        let whom = Prefix { ip: IpAddr::from([127, 0, 0, 1]), bits: 32 };
        let signed = |socket: &OwnedFd| demand_md5(socket, whom, key.as_bytes());
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        driver::tcp::listen(address, &driver::SocketOptions::default(), signed).unwrap()
    };
    let (same, other) = (listener("key"), listener("another"));
    let accepted = |listener: &TcpListener| {
        listener.set_nonblocking(false).unwrap();
        listener.accept().unwrap().0
    };
    told.speak(&running, "127.0.0.1", same.local_addr().unwrap(), 2_000);
    let mut sink = Sink::of(accepted(&same));
    sink.expect(2_000);
    told.speak(&running, "127.0.0.1", other.local_addr().unwrap(), 2_000);
    let (flow, why) = told.down();
    assert_eq!(flow.remote, other.local_addr().unwrap());
    assert!(why.contains("segments with a wrong or no password"), "{why}");
}

#[test]
fn keys_change_while_the_port_stands_and_connections_keep_theirs() {
    if !knows_md5().unwrap() {
        return;
    }
    let guards = |key| vec![guard("127.0.0.0", 8, key)];
    let (running, told) = launch(guarded(2, "127.0.0.1", guards(Some("old"))), quiet());
    let to = running.local_addr(PortId(0));
    let change = |guards: Vec<Guard>| {
        let mut ports: Vec<PortSpec> = running.ports().into_iter().map(|(spec, _)| spec).collect();
        ports[0].stream_mut().unwrap().guards = guards.into();
        running.configure(Arc::new(quiet()), ports).unwrap();
    };
    let mut first = Sink::connect_with(to, 0, signing(to, "old")).unwrap();
    told.up();
    change(guards(Some("new")));
    assert_eq!(running.local_addr(PortId(0)), to);
    speaks(&mut first, &told);
    assert!(Sink::connect_with(to, 0, signing(to, "old")).is_none());
    let mut second = Sink::connect_with(to, 0, signing(to, "new")).unwrap();
    told.up();
    speaks(&mut second, &told);
    change(guards(None));
    let mut third = Sink::connect(to, 0);
    told.up();
    [&mut first, &mut second, &mut third].into_iter().for_each(|sink| speaks(sink, &told));
}

#[test]
fn only_those_who_are_near_enough_are_accepted_and_heard() {
    for ip in ["127.0.0.1", "::1"] {
        let near = Guard { ttl_min: Some(254), ttl: Some(255), ..guard(ip, 32, None) };
        let (running, told) = launch(guarded(2, ip, vec![near]), quiet());
        let to = running.local_addr(PortId(0));
        let ttl = |ttl| move |socket: &OwnedFd| set_ttl(socket, ip != "::1", Some(ttl));
        for far in [64, 253] {
            // The handshake is the kernel's; then it is closed before a word is heard.
            let refused = Sink::connect_with(to, 0, ttl(far));
            assert!(refused.is_none_or(|mut sink| sink.rest().is_empty()));
        }
        assert_eq!(told.sum(&running, RuntimeMetric::TooFar), 2);
        let mut sink = Sink::connect_with(to, 0, ttl(254)).unwrap();
        told.up();
        speaks(&mut sink, &told);
        set_ttl(sink.stream(), ip != "::1", Some(64)).unwrap();
        sink.say(b"from far away");
        assert!(told.within(SILENCE).is_none(), "the kernel drops it");
        set_ttl(sink.stream(), ip != "::1", Some(255)).unwrap();
        assert_eq!(told.message().1, octets_of(b"from far away"), "sent again");
    }
}

#[test]
fn a_connection_that_is_opened_leaves_with_its_ttl_and_hears_none_from_afar() {
    let near = Guard { ttl_min: Some(255), ttl: Some(255), ..guard("127.0.0.0", 8, None) };
    let (running, told) = launch(guarded(1, "127.0.0.1", vec![near]), quiet());
    let nearby = driver::tcp::listen(
        SocketAddr::from(([127, 0, 0, 1], 0)),
        &driver::SocketOptions::default(),
        |socket| {
            driver::guard::keep_syn(socket)?;
            set_ttl(socket, true, Some(255))
        },
    )
    .unwrap();
    nearby.set_nonblocking(false).unwrap();
    told.speak(&running, "127.0.0.1", nearby.local_addr().unwrap(), 10);
    let (mut stream, _) = nearby.accept().unwrap();
    assert_eq!(driver::guard::syn_ttl(&stream).unwrap(), Some(255));
    stream.read_exact(&mut [0; 10]).unwrap();
    told.up();
    let afar = TcpListener::bind("127.0.0.1:0").unwrap();
    told.speak(&running, "127.0.0.1", afar.local_addr().unwrap(), 10);
    while let Some(seen) = told.within(SILENCE) {
        assert!(!matches!(seen, Seen::Up(..)), "its SYN-ACK has a TTL of 64");
    }
}

#[test]
fn guards_that_cannot_be_kept_are_refused_in_words_without_their_keys() {
    let refuse = |guards: Vec<Guard>| {
        let spec = guarded(1, "127.0.0.1", guards);
        let seed = |_: Seed, _: Arc<Plan>| -> feeder::Feeder { unreachable!("nothing starts") };
        let Err(error) = start(spec, Arc::new(quiet()), seed) else { panic!("it started") };
        let text = format!("{error} {error:?}");
        assert!(!text.contains("tell nobody"), "{text}");
        error.to_string()
    };
    let long = "tell nobody ".repeat(8);
    assert!(refuse(vec![guard("127.0.0.1", 32, Some(&long))]).contains("80"));
    let shown = format!("{:?}", guarded(1, "127.0.0.1", vec![guard("::", 0, Some(&long))]));
    assert!(!shown.contains("tell nobody"));
}
