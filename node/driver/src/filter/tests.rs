//! Frames made by hand, judged by the program in the kernel.

use super::*;
use caps::{CapSet, Capability};
use std::net::{Ipv4Addr, Ipv6Addr};

const OURS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const CORE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
const THEIRS: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 9);
const OURS_6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 0, 1);
const THEIRS_6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0xbad, 0, 0, 0, 0, 7);
const UDP: u8 = 17;
const TCP: u8 = 6;
const ICMP: u8 = 1;
const SYN: u8 = 2;
const ACK: u8 = 16;
/// Longer than any test.
const LONG: Duration = Duration::from_secs(3_600);

fn rates() -> Rates {
    // One a second: a test that takes less sees bursts only.
    let rate = |burst| Rate { per_s: 1, burst };
    Rates { source: rate(4), datagrams: rate(10), syns: rate(6), echoes: rate(5) }
}

/// In a network namespace of the test's own, before its loopback: what the kernel says that a frame
/// which is judged came in by. With no rights but those that a site keeps.
fn filter() -> Filter {
    // SAFETY: a plain number; the kernel changes the namespace of this thread alone.
    let apart = unsafe { libc::unshare(libc::CLONE_NEWNET) };
    assert_eq!(apart, 0, "a namespace cannot be made: needs root");
    for right in [Capability::CAP_SYS_ADMIN, Capability::CAP_PERFMON] {
        caps::drop(None, CapSet::Effective, right).unwrap();
    }
    another()
}

fn another() -> Filter {
    let mut filter = Filter::load(rates()).unwrap();
    let listener =
        |address: IpAddr, port, protocol, trusts| Listener { address, port, protocol, trusts };
    filter
        .set_listeners(&[
            listener(OURS.into(), 5060, Protocol::Udp, false),
            listener(OURS.into(), 5060, Protocol::Tcp, false),
            listener(OURS_6.into(), 5060, Protocol::Udp, false),
            listener(CORE.into(), 5060, Protocol::Udp, true),
        ])
        .unwrap();
    filter.attach(1).unwrap();
    filter
}

fn ethernet(kind: u16, packet: &[u8]) -> Vec<u8> {
    [&[2; 12], &kind.to_be_bytes()[..], packet].concat()
}

/// An IPv4 packet; its sums are nothing that the filter looks at.
fn ipv4(from: Ipv4Addr, to: Ipv4Addr, protocol: u8, body: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 20 + body.len() as u8, 0, 0, 0, 0, 64, protocol, 0, 0];
    packet.extend([from.octets(), to.octets()].concat());
    packet.extend(body);
    packet
}

fn ipv6(from: Ipv6Addr, to: Ipv6Addr, next: u8, body: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0, 0, body.len() as u8, next, 64];
    packet.extend([from.octets(), to.octets()].concat());
    packet.extend(body);
    packet
}

fn datagram(port: u16) -> Vec<u8> {
    [&[0x13, 0xc4], &port.to_be_bytes()[..], &[0, 12, 0, 0], b"ping"].concat()
}

fn segment(port: u16, flags: u8) -> Vec<u8> {
    let mut segment = [&[0x13, 0xc4], &port.to_be_bytes()[..], &[0; 16]].concat();
    (segment[12], segment[13]) = (0x50, flags);
    segment
}

fn udp(from: Ipv4Addr, to: Ipv4Addr, port: u16) -> Vec<u8> {
    ethernet(0x0800, &ipv4(from, to, UDP, &datagram(port)))
}

fn tcp(from: Ipv4Addr, port: u16, flags: u8) -> Vec<u8> {
    ethernet(0x0800, &ipv4(from, OURS, TCP, &segment(port, flags)))
}

/// The `n`th stranger.
const fn stranger(n: u8) -> Ipv4Addr {
    Ipv4Addr::new(198, 51, 100, n)
}

/// What the program would do with a frame: whether it passes.
fn judge(filter: &Filter, frame: &[u8]) -> bool {
    filter.owner.run(frame).unwrap() == 2 // XDP_PASS
}

/// How many of so many frames pass.
fn passed(filter: &mut Filter, frames: impl Iterator<Item = Vec<u8>>) -> usize {
    frames.filter(|frame| judge(filter, frame)).count()
}

#[test]
fn a_source_has_its_own_budget_and_all_have_one_together() {
    let mut filter = filter();
    let same = (0..9).map(|_| udp(THEIRS, OURS, 5060));
    assert_eq!(passed(&mut filter, same), 4);
    let many = (0..50).map(|n| udp(stranger(n), OURS, 5060));
    assert_eq!(passed(&mut filter, many), 6, "ten in all");
    let counts = filter.counts().unwrap();
    let count = |which: Count| counts[which as usize];
    assert_eq!([Count::Passed, Count::Excess, Count::Crowded].map(count), [10, 5, 44]);
}

#[test]
fn what_does_not_go_to_a_listener_passes() {
    let mut filter = filter();
    let frames = [
        udp(THEIRS, OURS, 5061),
        udp(THEIRS, Ipv4Addr::new(192, 0, 2, 77), 5060),
        udp(THEIRS, CORE, 5060),
        tcp(THEIRS, 5060, ACK),
        ethernet(0x0806, &[0; 28]),
        ethernet(0x0800, &ipv4(THEIRS, OURS, ICMP, &[3, 3, 0, 0, 0, 0, 0, 0])),
        ethernet(0x0800, &[0x45, 0, 0, 20]),
        ethernet(0x86dd, &[0x60; 12]),
        ethernet(0x0800, &ipv4(THEIRS, OURS, UDP, &[0x13])),
    ];
    for (n, frame) in frames.iter().enumerate() {
        let all = passed(&mut filter, (0..30).map(|_| frame.clone()));
        assert_eq!(all, 30, "frame {n}");
    }
    assert_eq!(filter.counts().unwrap(), [0; COUNTS]);
}

#[test]
fn known_and_trusted_sources_pass_and_the_blacklist_does_not() {
    let mut filter = filter();
    let (known, neighbour) = (stranger(1), Ipv4Addr::new(10, 20, 30, 40));
    filter.know(known.into(), Some(LONG)).unwrap();
    filter.set_trusted(&[(Ipv4Addr::new(10, 20, 0, 0).into(), 16)]).unwrap();
    filter.block(THEIRS.into(), LONG).unwrap();
    filter.block(known.into(), LONG).unwrap();
    for source in [known, neighbour] {
        assert_eq!(passed(&mut filter, (0..30).map(|_| udp(source, OURS, 5060))), 30, "{source}");
    }
    let of_a_stream = (0..3).map(|_| tcp(THEIRS, 5060, ACK));
    assert_eq!(passed(&mut filter, of_a_stream.chain([udp(THEIRS, OURS, 5060)])), 0);
    let counts = filter.counts().unwrap();
    assert_eq!((counts[Count::Known as usize], counts[Count::Blacklisted as usize]), (60, 4));
    filter.pardon(Some(THEIRS.into()));
    filter.forget(known.into());
    filter.set_trusted(&[]).unwrap();
    filter.pardon(None);
    for source in [THEIRS, known, neighbour] {
        let frames = (0..3).map(|_| udp(source, OURS, 5060));
        assert_eq!(passed(&mut filter, frames), 3, "{source} is unknown");
    }
    assert_eq!(filter.counts().unwrap()[Count::Passed as usize], 9);
}

#[test]
fn a_sentence_and_a_friendship_end_with_their_time() {
    let mut filter = filter();
    filter.block(THEIRS.into(), Duration::ZERO).unwrap();
    filter.know(stranger(1).into(), Some(Duration::ZERO)).unwrap();
    assert!(judge(&filter, &udp(THEIRS, OURS, 5060)));
    assert_eq!(passed(&mut filter, (0..9).map(|_| udp(stranger(1), OURS, 5060))), 4);
}

#[test]
fn syns_and_echoes_are_policed_and_not_all_dropped() {
    let mut filter = filter();
    let echo = |n| ethernet(0x0800, &ipv4(stranger(n), OURS, ICMP, &[8, 0, 0, 0, 0, 1, 0, 1]));
    assert_eq!(passed(&mut filter, (0..40).map(echo)), 5);
    assert_eq!(passed(&mut filter, (0..40).map(|n| tcp(stranger(n), 5060, SYN))), 6);
    assert_eq!(passed(&mut filter, (0..40).map(|n| tcp(stranger(n), 22, SYN))), 6, "another port");
    let answers = (0..40).map(|n| tcp(stranger(n), 5060, SYN | ACK));
    assert_eq!(passed(&mut filter, answers), 40, "a far end takes our connection");
    let counts = filter.counts().unwrap();
    assert_eq!((counts[Count::Echoes as usize], counts[Count::Syns as usize]), (35, 68));
}

#[test]
fn ipv6_sources_count_by_their_64_and_tags_hide_nothing() {
    let mut filter = filter();
    let from = |n: u16| {
        let mut parts = THEIRS_6.segments();
        parts[7] = n;
        ethernet(0x86dd, &ipv6(Ipv6Addr::from(parts), OURS_6, UDP, &datagram(5060)))
    };
    assert_eq!(passed(&mut filter, (0..20).map(from)), 4);
    let inner = [&[0, 7, 8, 0], &ipv4(THEIRS, OURS, UDP, &datagram(5060))[..]].concat();
    let tagged = ethernet(0x88a8, &[&[0, 9, 0x81, 0], &inner[..]].concat());
    assert_eq!(passed(&mut filter, (0..20).map(|_| tagged.clone())), 4);
}

#[test]
fn what_hides_its_ports_counts_as_a_datagram() {
    let mut filter = filter();
    let mut later = ipv4(THEIRS, OURS, UDP, &[0; 64]);
    (later[6], later[7]) = (0, 185);
    let later = ethernet(0x0800, &later);
    assert_eq!(passed(&mut filter, (0..20).map(|_| later.clone())), 4);
    let options = ethernet(0x86dd, &ipv6(THEIRS_6, OURS_6, 60, &[0; 64]));
    assert_eq!(passed(&mut filter, (0..20).map(|_| options.clone())), 4);
    let mut options = ipv4(stranger(1), OURS, UDP, &[&[1; 4][..], &datagram(5060)].concat());
    options[0] = 0x46;
    let options = ethernet(0x0800, &options);
    assert_eq!(passed(&mut filter, (0..20).map(|_| options.clone())), 2, "ten in all");
}

#[test]
fn listeners_come_and_go_and_rates_change() {
    let mut filter = filter();
    filter.set_listeners(&[]).unwrap();
    assert_eq!(passed(&mut filter, (0..30).map(|_| udp(THEIRS, OURS, 5060))), 30);
    let (address, port, protocol) = (OURS.into(), 5060, Protocol::Udp);
    filter.set_listeners(&[Listener { address, port, protocol, trusts: false }]).unwrap();
    filter.set_rates(Rates { source: Rate { per_s: 1, burst: 7 }, ..rates() }).unwrap();
    assert_eq!(passed(&mut filter, (0..30).map(|_| udp(THEIRS, OURS, 5060))), 7);
}

#[test]
fn an_interface_that_is_not_there_is_refused() {
    let mut filter = filter();
    assert!(filter.attach(1 << 30).is_err());
    filter.detach(1 << 30);
}

#[test]
fn two_fences_have_listeners_sources_and_budgets_of_their_own() {
    let mut one = filter();
    let mut other = another();
    assert!(other.standing.is_empty(), "the first has these listeners");
    let listener =
        |port| Listener { address: OURS.into(), port, protocol: Protocol::Udp, trusts: false };
    other.set_listeners(&[listener(5070)]).unwrap();
    one.know(THEIRS.into(), None).unwrap();
    other.block(stranger(1).into(), LONG).unwrap();
    other.set_trusted(&[(stranger(7).into(), 32)]).unwrap();
    let to = |from, port| (0..9).map(move |_| udp(from, OURS, port));
    assert_eq!(passed(&mut one, to(THEIRS, 5060)), 9);
    assert_eq!(passed(&mut one, to(THEIRS, 5070)), 4, "unknown to the other");
    assert_eq!(passed(&mut one, to(stranger(1), 5060)), 4, "blocked by the other");
    assert_eq!(passed(&mut one, to(stranger(1), 5070)), 0);
    assert_eq!(passed(&mut one, to(stranger(7), 5070)), 9);
    one.pardon(None);
    assert_eq!(passed(&mut one, to(stranger(1), 5070)), 0, "another's list");
    let counts = [&one, &other].map(|filter| filter.counts().unwrap());
    assert_eq!(counts.map(|it| it[Count::Known as usize]), [9, 9]);
    assert_eq!(counts.map(|it| it[Count::Blacklisted as usize]), [0, 18]);
    drop(other);
    assert_eq!(passed(&mut one, to(stranger(1), 5070)), 9, "no listener there");
    assert_eq!(passed(&mut one, to(stranger(2), 5060)), 4);
    let mut third = another();
    assert_eq!(third.counts().unwrap(), [0; COUNTS], "whoever had the number before");
    drop(one);
    assert_eq!(passed(&mut third, to(stranger(3), 5060)), 9, "the listeners are free");
    third.set_listeners(&[listener(5060)]).unwrap();
    assert_eq!(passed(&mut third, to(stranger(3), 5060)), 4);
}

extern "C" fn nothing(_: libc::c_int) {}

#[test]
fn signals_do_not_keep_the_program_from_being_loaded() {
    // SAFETY: the handler does nothing, and nobody else here has this signal.
    unsafe { libc::signal(libc::SIGUSR2, nothing as *const () as libc::sighandler_t) };
    // SAFETY: asks for a number.
    let loader = unsafe { libc::pthread_self() };
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..400 {
                if is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    break;
                }
                // SAFETY: the thread is there until this one ends.
                unsafe { libc::pthread_kill(loader, libc::SIGUSR2) };
                std::thread::sleep(Duration::from_micros(300));
            }
        });
        let mut first = filter();
        for _ in 0..10 {
            drop(first);
            first = another();
        }
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}
