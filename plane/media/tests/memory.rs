//! What a call takes of memory, counted by the allocator: octets that are asked for, whatever they
//! are for.
//! A program of its own, for all of its memory is counted.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(unsafe_code, reason = "it counts what the allocator is asked for")]

use core::net::{IpAddr, SocketAddr};
use media::program::{FEATURE, FlowSaid, Guard, Keys, Place, Range, Said};
use media::{Expected, PayloadTypes, Rate, Settings, Sources, Use};
use nodes::Program;
use nodes::program::Item;
use plane_control::Plane;
use rtp::{ClockRate, Rewrite};
use srtp::{KeyEntry, MasterKey, Parameters, Suite};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, Ordering::Relaxed};

static OCTETS: AtomicIsize = AtomicIsize::new(0);

struct Counting;

// SAFETY: all is done by the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        OCTETS.fetch_add(layout.size().cast_signed(), Relaxed);
        // SAFETY: as the caller says.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        OCTETS.fetch_sub(layout.size().cast_signed(), Relaxed);
        // SAFETY: as the caller says.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const CALLS: u16 = 8_192;

fn item(said: &Said) -> Program {
    let (key, value) = (said.name().key(), said.value());
    Program::Item(Item { feature: FEATURE.to_owned(), key, value })
}

fn place(side: u8, port: u16) -> Place {
    Place { vrf: 0, address: IpAddr::from([10, 0, side, 1]), port }
}

fn keys(suite: Suite, number: u16, side: u8) -> Keys {
    let mut octets = vec![side; MasterKey::octets_of(suite)];
    octets[..2].copy_from_slice(&number.to_be_bytes());
    let key = MasterKey::of(suite, &octets).unwrap();
    Keys { parameters: Parameters::of(suite), entries: vec![KeyEntry::alone(key)] }
}

fn flow(side: u8, port: u16, of: Use, suite: Option<Suite>) -> Program {
    let even = port & !1;
    let settings = Settings {
        of,
        is_active: true,
        payload_types: PayloadTypes::default().with(8).with(101),
        untimed: PayloadTypes::default().with(101),
        ssrcs: Sources::ANY,
        clock: ClockRate::TELEPHONY,
        rate: Rate::bits(100_000),
        rewrite: Rewrite::default(),
    };
    let guard = suite.map_or(Guard::None, |suite| Guard::Keys {
        receive: keys(suite, even, side),
        send: keys(suite, even, side + 10),
    });
    let peer = SocketAddr::from(([192, 0, 2, side], port));
    item(&Said::Flow(Box::new(FlowSaid {
        at: place(side, port),
        to: Some(place(3 - side, port)),
        settings,
        expected: Expected { signaller: Some(peer.ip()), ..Expected::at(peer) },
        guard,
        dscp: Some(46),
        timeout: Some(core::time::Duration::from_secs(30)),
        becomes: Vec::new(),
        branches: Vec::new(),
        up: PayloadTypes::default(),
        up_per_s: 0,
        digits: PayloadTypes::default().with(101),
        stun: false,
        dtls: false,
        association: None,
        resume: None,
    })))
}

/// Octets of a call, once it is told: with RTCP on RTP's port, or on one of its own.
fn octets(is_muxed: bool, suite: Option<Suite>) -> isize {
    let mut plane = Plane::new(1).unwrap();
    for side in [1, 2] {
        let start = place(side, 20_000);
        let range = Range { vrf: 0, address: start.address, first: start.port, ports: 2 * CALLS };
        plane.apply(&item(&Said::Range(range))).unwrap();
    }
    plane.publish();
    let before = OCTETS.load(Relaxed);
    for call in 0..CALLS {
        let port = 20_000 + 2 * call;
        for side in [1, 2] {
            if is_muxed {
                plane.apply(&flow(side, port, Use::Muxed, suite)).unwrap();
            } else {
                plane.apply(&flow(side, port, Use::Rtp, suite)).unwrap();
                plane.apply(&flow(side, port + 1, Use::Rtcp, suite)).unwrap();
            }
        }
    }
    plane.publish();
    let octets = (OCTETS.load(Relaxed) - before) / isize::try_from(CALLS).unwrap();
    drop(plane);
    octets
}

/// Octets of a call at most: in the clear, and with SRTP on both sides; RTCP on RTP's port.
#[test]
fn a_call_takes_as_much_memory_as_was_agreed() {
    let suite = Suite::AesCm128HmacSha1_80;
    let all = [(true, None), (true, Some(suite)), (false, None), (false, Some(suite))];
    let found = all.map(|(is_muxed, suite)| octets(is_muxed, suite));
    let most = [1_024, 2_450, 2_048, 4_300];
    for (found, most) in found.into_iter().zip(most) {
        assert!(found <= most, "{found} octets a call, wanted {most}");
    }
}
