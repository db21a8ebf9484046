//! osmo-stp, which stands on the kernel's SCTP, as the signalling gateway of ASPs of ours, and as
//! an ASP of a gateway of ours.

use super::asp::{Asp, msu, pc, run};
use super::guest::guest;
use crate::node::{OUR_PORT, capture};
use m3ua::codec::{Affected, Notification, RoutingContext, TrafficMode};
use m3ua::{In, Indication, Key, PeerSettings, Role, ServerSettings, Side};
use peers::{GUEST_ADDRESSES, Talk};
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

/// Point codes, in osmo-stp's words 0.1.1, 0.1.2 and 0.1.3.
const A: u32 = 9;
const B: u32 = 10;

/// An osmo-stp of its own; `more` goes into its `cs7 instance`.
struct Stp {
    port: u16,
    _talk: Talk,
}

impl Stp {
    fn start(more: &str) -> Self {
        // Each has a port, a name of its files and an address of its terminal of its own.
        static NEXT: AtomicU8 = AtomicU8::new(2);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let port = 2_900 + u16::from(number);
        let configuration = format!(
            "line vty\n bind 127.0.0.{number}\ncs7 instance 0\n \
             xua rkm routing-key-allocation dynamic-permitted\n{more} listen m3ua {port}\n  \
             accept-asp-connections dynamic-permitted\n  local-ip {}\n",
            GUEST_ADDRESSES[0],
        );
        let file = format!("/tmp/stp{number}.cfg");
        guest()
            .run(&format!(
                "cat >{file} <<'END'\n{}\nEND",
                configuration.replace("PORT", &port.to_string())
            ))
            .unwrap();
        let talk = guest().talk(&format!("osmo-stp -c {file}")).unwrap();
        Self { port, _talk: talk }
    }

    /// Until it listens and the ASPs are active.
    fn serve(&self, asps: &mut [&mut Asp]) {
        let listens = format!("netstat -a 2>/dev/null; /debian/ss -San | grep -q :{} ", self.port);
        let until = std::time::Instant::now() + crate::node::LIMIT;
        while guest().run(&listens).is_err() {
            assert!(std::time::Instant::now() < until, "osmo-stp does not listen");
            std::thread::sleep(Duration::from_millis(100));
        }
        for asp in asps.iter_mut() {
            asp.associate(self.port);
        }
        run(asps, "all are active", |asps| asps.iter().all(|it| it.is_active()));
    }
}

fn asp(context: Option<u32>, dpc: u32, mode: Option<TrafficMode>) -> Asp {
    let context = context.map(RoutingContext);
    let mut server = ServerSettings::new(Side::Here, context, Key::of(pc(dpc)));
    server.mode = mode;
    Asp::new(false, PeerSettings::new(Role::Asp), server)
}

/// osmo-stp's words for an Application Server and those who may serve it.
fn served(name: &str, (context, dpc): (u32, u32), mode: &str, asps: &mut [&mut Asp]) -> String {
    let mut words = String::new();
    for (number, asp) in asps.iter_mut().enumerate() {
        let address = asp.node.wire(0).address;
        words += &format!(
            " asp {name}{number} {OUR_PORT} PORT m3ua\n  local-ip {}\n  remote-ip {address}\n  \
             role sg\n  sctp-role server\n",
            GUEST_ADDRESSES[0]
        );
    }
    words += &format!(" as {name} m3ua\n");
    for number in 0..asps.len() {
        words += &format!("  asp {name}{number}\n");
    }
    let dpc = format!("0.{}.{}", dpc >> 3, dpc & 7);
    words
        + &format!(
            "  routing-key {context} {dpc}\n  traffic-mode {mode}\n \
         route-table system\n  update route {dpc} 7.255.7 linkset {name}\n"
        )
}

fn told(asp: &Asp, what: Notification) -> bool {
    let told = |it: &Indication| matches!(it, Indication::Notified(_, _, it, _) if *it == what);
    asp.told.iter().any(told)
}

fn payloads(asp: &Asp) -> Vec<&[u8]> {
    asp.came().map(|it| &it.payload[..]).collect()
}

fn check(asps: [Asp; 2]) {
    asps.iter().for_each(|it| capture::check(&it.node.passed));
}

#[test]
fn msus_pass_between_two_configured_application_servers_and_one_that_goes_is_unavailable() {
    let (mut a, mut b) = (asp(Some(100), A, None), asp(Some(200), B, None));
    let words = served("one", (100, A), "override", &mut [&mut a])
        + &served("two", (200, B), "override", &mut [&mut b]);
    Stp::start(&words).serve(&mut [&mut a, &mut b]);
    run(&mut [&mut a, &mut b], "both are told that their AS is active", |asps| {
        asps.iter().all(|it| told(it, Notification::Active))
    });
    for sls in 0..16 {
        a.step(In::Transfer(msu(A, B, sls, "there")));
        b.step(In::Transfer(msu(B, A, sls, "and back")));
    }
    run(&mut [&mut a, &mut b], "they pass", |asps| asps.iter().all(|it| it.came().count() == 16));
    for (asp, from, to, words) in [(&a, B, A, "and back"), (&b, A, B, "there")] {
        for sls in 0..16 {
            assert!(asp.came().any(|it| *it == msu(from, to, sls, words)), "{sls}");
        }
    }
    let (peer, server) = (b.peer, b.server);
    b.step(In::AspInactive(peer, server));
    let gone = Indication::Pause(None, Affected::one(pc(B)));
    run(&mut [&mut a, &mut b], "DUNA", |asps| asps[0].was_told(&gone));
    b.step(In::AspActive(peer, server));
    let back = Indication::Resume(None, Affected::one(pc(B)));
    run(&mut [&mut a, &mut b], "DAVA", |asps| asps[0].was_told(&back));
    check([a, b]);
}

fn registering(dpc: u32) -> Asp {
    let mut server = ServerSettings::new(Side::Here, None, Key::of(pc(dpc)));
    server.registers = true;
    Asp::new(false, PeerSettings::new(Role::Asp), server)
}

#[test]
fn routing_keys_are_registered_used_and_given_back() {
    let (mut a, mut b) = (registering(A), registering(B));
    let stp = Stp::start("");
    stp.serve(&mut [&mut a, &mut b]);
    let contexts = [&a, &b].map(|it| it.process.routing_context(it.peer, it.server));
    assert!(contexts[0].is_some() && contexts[0] != contexts[1], "{contexts:?}");
    a.step(In::Transfer(msu(A, B, 1, "there")));
    b.step(In::Transfer(msu(B, A, 2, "and back")));
    run(&mut [&mut a, &mut b], "they pass", |asps| asps.iter().all(|it| it.came().count() == 1));
    assert_eq!((payloads(&a), payloads(&b)), (vec![&b"and back"[..]], vec![&b"there"[..]]));
    let (peer, server) = (b.peer, b.server);
    b.step(In::AspInactive(peer, server));
    run(&mut [&mut a, &mut b], "b is inactive", |asps| !asps[1].is_active());
    b.step(In::Deregister(peer, server));
    let done = |it: &Indication| matches!(it, Indication::Deregistered(_, _, 0));
    run(&mut [&mut a, &mut b], "it is given back", |asps| asps[1].told.iter().any(done));
    check([a, b]);
}

#[test]
fn in_override_mode_the_one_that_comes_last_has_the_traffic() {
    let mode = Some(TrafficMode::Override);
    let (mut first, mut second) = (asp(Some(100), A, mode), asp(Some(100), A, mode));
    let mut far = asp(Some(200), B, None);
    let words = served("one", (100, A), "override", &mut [&mut first, &mut second])
        + &served("two", (200, B), "override", &mut [&mut far]);
    let stp = Stp::start(&words);
    stp.serve(&mut [&mut first, &mut far]);
    far.step(In::Transfer(msu(B, A, 1, "to the first")));
    run(&mut [&mut first, &mut far], "it comes", |asps| asps[0].came().count() == 1);
    second.associate(stp.port);
    run(&mut [&mut first, &mut second, &mut far], "it is overridden", |asps| {
        asps[1].is_active() && told(asps[0], Notification::AlternateAspActive)
    });
    assert!(!first.is_active());
    far.step(In::Transfer(msu(B, A, 1, "to the second")));
    run(&mut [&mut first, &mut second, &mut far], "it comes", |asps| asps[1].came().count() == 1);
    assert_eq!(payloads(&first), [b"to the first"]);
    let (peer, server) = (first.peer, first.server);
    first.step(In::AspActive(peer, server));
    run(&mut [&mut first, &mut second, &mut far], "it takes over again", |asps| {
        asps[0].is_active() && told(asps[1], Notification::AlternateAspActive)
    });
    far.step(In::Transfer(msu(B, A, 1, "again")));
    run(&mut [&mut first, &mut second, &mut far], "it comes", |asps| asps[0].came().count() == 2);
    check([first, second]);
}

#[test]
fn in_loadshare_mode_each_msu_comes_once_and_both_have_some() {
    let mode = Some(TrafficMode::Loadshare);
    let (mut first, mut second) = (asp(Some(100), A, mode), asp(Some(100), A, mode));
    let mut far = asp(Some(200), B, None);
    let words = served("one", (100, A), "loadshare", &mut [&mut first, &mut second])
        + &served("two", (200, B), "override", &mut [&mut far]);
    Stp::start(&words).serve(&mut [&mut first, &mut second, &mut far]);
    for n in 0..64 {
        far.step(In::Transfer(msu(B, A, n % 16, "shared")));
    }
    run(&mut [&mut first, &mut second, &mut far], "all come", |asps| {
        asps[0].came().count() + asps[1].came().count() == 64
    });
    let counts = [&first, &second].map(|it| it.came().count());
    assert!(counts.iter().all(|it| *it > 0), "{counts:?}");
    for sls in 0..16 {
        let came = [&first, &second].map(|it| it.came().filter(|it| it.sls == sls).count());
        assert_eq!(came.iter().sum::<usize>(), 4, "{sls}");
    }
    check([first, second]);
}

#[test]
fn an_asp_that_is_lost_is_missed_and_its_traffic_comes_again_with_it() {
    let (mut a, mut b) = (asp(Some(100), A, None), asp(Some(200), B, None));
    let words = served("one", (100, A), "override", &mut [&mut a])
        + &served("two", (200, B), "override", &mut [&mut b]);
    let stp = Stp::start(&words);
    stp.serve(&mut [&mut a, &mut b]);
    run(&mut [&mut a, &mut b], "the AS is active", |asps| told(asps[1], Notification::Active));
    b.lose();
    let gone = Indication::Pause(None, Affected::one(pc(B)));
    run(&mut [&mut a, &mut b], "DUNA", |asps| asps[0].was_told(&gone));
    b.associate(stp.port);
    run(&mut [&mut a, &mut b], "it is active again", |asps| asps[1].is_active());
    let back = Indication::Resume(None, Affected::one(pc(B)));
    run(&mut [&mut a, &mut b], "DAVA", |asps| asps[0].was_told(&back));
    a.step(In::Transfer(msu(A, B, 1, "again")));
    run(&mut [&mut a, &mut b], "it comes", |asps| payloads(asps[1]) == [b"again"]);
    check([a, b]);
}

#[test]
fn as_an_asp_osmo_stp_is_served_by_a_gateway_of_ours() {
    let server = ServerSettings::new(Side::There, Some(RoutingContext(300)), Key::of(pc(A)));
    let mut gateway = Asp::new(true, PeerSettings::new(Role::Sgp), server);
    // osmo-stp sends what comes for A on to this one.
    let mut far = asp(Some(100), A, None);
    let address = gateway.node.wire(0).address;
    let words = served("one", (100, A), "override", &mut [&mut far])
        + &format!(
            " asp up {OUR_PORT} 0 m3ua\n  local-ip {}\n  remote-ip {address}\n  role asp\n  \
         sctp-role client\n as up m3ua\n  asp up\n  routing-key 300 0.1.1\n \
         route-table system\n  update route 0.1.2 7.255.7 linkset up\n",
            GUEST_ADDRESSES[0]
        );
    let stp = Stp::start(&words);
    run(&mut [&mut gateway], "osmo-stp is active", |asps| asps[0].is_active());
    stp.serve(&mut [&mut far]);
    gateway.step(In::Transfer(msu(B, A, 3, "down")));
    run(&mut [&mut gateway, &mut far], "it comes", |asps| payloads(asps[1]) == [b"down"]);
    check([gateway, far]);
}
