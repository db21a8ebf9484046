//! Segments, octets and time for one end of a connection of TCP: nothing panics, what waits is
//! bounded, every segment that leaves can be read, and time ends what nobody answers.

use crate::script::Script;
use machine::{Duration, Time};
use std::net::{IpAddr, Ipv4Addr};
use tcp::{Connection, Flags, INCOMING_MAX, QUEUE_MAX, Segment, State};

const ENDS: (IpAddr, IpAddr) =
    (IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)));
const MSS: u16 = 1_300;
/// What one script may do.
const STEPS_MAX: usize = 256;
/// Segments that leave in one go at most: what fits the queue, in the smallest of segments.
const BURST_MAX: usize = 2_000;

/// An end, and the numbers of what it sent last: by them a script hits the window.
struct End {
    now: Time,
    connection: Connection,
    sent: (u32, u32),
}

impl End {
    fn leave(&mut self) {
        for _ in 0..BURST_MAX {
            let mut octets = Vec::new();
            if !self.connection.next(self.now, ENDS, &mut octets) {
                return;
            }
            let segment = Segment::read(&octets).expect("it can be read");
            self.sent = (segment.seq.wrapping_add(segment.span()), segment.ack);
        }
        panic!("it does not stop");
    }

    fn step(&mut self, script: &mut Script<'_>) {
        match script.octet() % 6 {
            0 => drop(self.connection.send(script.piece())),
            1 => self.connection.close(),
            2 => {
                self.now += Duration::from_millis(script.number() as u64);
                self.connection.tick(self.now);
            }
            3 => {
                if let Ok(segment) = Segment::read(script.piece()) {
                    self.connection.receive(self.now, &segment);
                }
            }
            4 => self.connection.incoming().clear(),
            _ => {
                let (ack, seq) = self.sent;
                let off = |script: &mut Script<'_>| u32::from(script.octet()).wrapping_sub(4);
                let flags = Flags(script.octet());
                let (seq, ack) = (seq.wrapping_add(off(script)), ack.wrapping_add(off(script)));
                let (window, payload) = (script.number(), script.piece());
                let window = u16::try_from(window).unwrap_or(0);
                let (source, destination, mss) = (5_062, 6_200, None);
                let it = Segment { source, destination, seq, ack, flags, window, mss, payload };
                self.connection.receive(self.now, &it);
            }
        }
        self.leave();
    }
}

/// Runs one input: the first octet says whether the end opens, is opened, or goes on from an
/// answer that nobody remembers.
pub fn run(octets: &[u8]) {
    let mut script = Script::new(octets);
    let now = Time::ZERO;
    let flags = Flags::SYN;
    let syn = Segment {
        source: 5_062,
        destination: 6_200,
        seq: 7,
        ack: 0,
        flags,
        window: 9_000,
        mss: Some(1_000),
        payload: &[],
    };
    let ack = Segment { flags: Flags::ACK, ack: u32::MAX - 2, ..syn };
    let connection = match script.octet() % 3 {
        0 => Connection::open(now, (6_200, 5_062), u32::MAX - 2, MSS),
        2 => Connection::proven(now, &ack, (MSS, 536)).expect("it acknowledges"),
        _ => Connection::accept(now, &syn, u32::MAX - 2, MSS).expect("it is a SYN"),
    };
    let mut end = End { now, connection, sent: (0, 0) };
    end.leave();
    for _ in 0..STEPS_MAX {
        if script.is_over() {
            break;
        }
        end.step(&mut script);
        let it = &mut end.connection;
        assert!(it.incoming().len() <= INCOMING_MAX && it.waiting() <= QUEUE_MAX);
    }
    // Nobody answers any more.
    for _ in 0..200 {
        let Some(deadline) = end.connection.deadline() else { break };
        end.now = end.now.max(deadline);
        end.connection.tick(end.now);
        end.leave();
    }
    let rests =
        matches!(end.connection.state(), State::Closed | State::Established | State::CloseWait);
    assert!(rests && end.connection.deadline().is_none(), "{:?}", end.connection);
}
