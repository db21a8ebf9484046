//! TCP of the guest's kernel inside of ESP as the other end of ours: it answers what we open, and
//! we answer what it opens.
//!
//! ```text
//! ipsec::Streams 10.92.0.1 ── esp, raw ──→ 10.92.0.2 │ XFRM │ TCP │ socat: each octet comes back
//! ```

use super::esp::{End, GUEST, OURS, PATIENCE, RAW, associate, enter};
use super::guest::guest;
use ::esp::{Algorithm, Encryption, Integrity, KeyLength};
use ipsec::{Incoming, Lane, Streams, TCP, Way};
use machine::Time;
use machine::slots::Key;
use runtime::{Flow, Transport};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// More than a window, and less than what may wait.
const OCTETS: usize = 200_000;

/// The one lane of a set.
const fn way(set: Key) -> Way {
    Way { set, lane: Lane::First }
}

struct Talk {
    end: End,
    streams: Streams,
    began: Instant,
    came: Vec<u8>,
}

impl Talk {
    fn now(&self) -> Time {
        Time::ZERO + self.began.elapsed()
    }

    /// Takes what has come, and sends what is due.
    fn turn(&mut self, set: Key) {
        let now = self.now();
        let End { esp, socket, receive, send } = &mut self.end;
        receive.receive(socket).unwrap();
        let came: Vec<_> = receive.datagrams().map(|it| (it.remote, it.bytes.to_vec())).collect();
        for (remote, bytes) in came {
            let flow = Flow::to(RAW, Transport::Udp, SocketAddr::new(OURS.into(), 0), remote);
            let Some(arrived) = esp.unprotect(now, &flow, &bytes) else { continue };
            if arrived.protocol == TCP {
                self.streams.arrived(now, esp, &arrived, true);
            }
        }
        if let Some(Incoming { octets, .. }) = self.streams.incoming(way(set)) {
            self.came.append(octets);
        }
        self.streams.tick(now);
        self.streams.leave(now, esp, |flow, bytes| {
            let mut batch = send.fill();
            batch.push(&flow.remote, None, 0, std::iter::once(bytes));
            let _ = batch.send(socket, 0);
        });
        std::thread::sleep(Duration::from_millis(1));
    }

    fn until(&mut self, set: Key, what: &str, done: impl Fn(&Self) -> bool) {
        let until = Instant::now() + PATIENCE;
        while !done(self) {
            let octets = self.came.len();
            assert!(Instant::now() < until, "{what}: {octets} octets came");
            self.turn(set);
        }
    }
}

fn text() -> Vec<u8> {
    (0..OCTETS).map(|at| (at % 251) as u8).collect()
}

#[test]
fn the_kernels_tcp_inside_of_esp_answers_ours_and_ours_answers_it() {
    let test = || {
        enter();
        let (end, idle) = (End::open(8), Duration::from_secs(600));
        let streams = Streams::new(7, idle);
        let mut talk = Talk { end, streams, began: Instant::now(), came: Vec::new() };
        let algorithm =
            Algorithm::new(Encryption::AesCbc(KeyLength::Bits128), Integrity::HmacSha1_96);
        let algorithm = algorithm.expect("they go together");

        // We open.
        let port = 7_301;
        let set = associate(&mut talk.end, 31, algorithm, (TCP, port));
        let _echo = guest().talk(&format!("socat TCP4-LISTEN:{port} EXEC:cat")).unwrap();
        let listens = format!("ss -ltn | grep -q ':{port} '");
        let until = Instant::now() + PATIENCE;
        while guest().run(&listens).is_err() {
            assert!(Instant::now() < until, "socat listens");
        }
        let ends = (SocketAddr::new(OURS.into(), 6_200), SocketAddr::new(GUEST.into(), port));
        let now = talk.now();
        assert!(talk.streams.send(now, &mut talk.end.esp, way(set), ends, &text()));
        talk.until(set, "what we have sent comes back", |it| it.came.len() == OCTETS);
        assert!(talk.came == text());
        talk.streams.close(way(set));
        talk.until(set, "both have closed", |it| !it.streams.is_open(way(set)));

        // The kernel opens.
        talk.came.clear();
        let port = 7_302;
        let set = associate(&mut talk.end, 32, algorithm, (TCP, port));
        let words = format!("socat TCP4:{OURS}:5062,bind={GUEST}:{port} EXEC:cat");
        let _opens = guest().talk(&words).unwrap();
        talk.until(set, "it opens", |it| it.streams.is_open(way(set)));
        let ends = (SocketAddr::new(OURS.into(), 5_062), SocketAddr::new(GUEST.into(), port));
        let now = talk.now();
        assert!(talk.streams.send(now, &mut talk.end.esp, way(set), ends, &text()));
        talk.until(set, "what we have sent comes back", |it| it.came.len() == OCTETS);
        assert!(talk.came == text());
        assert_eq!(talk.end.esp.count(ipsec::Metric::StreamsOpened), 2);
        assert_eq!(talk.end.esp.count(ipsec::Metric::StreamsFailed), 0);
    };
    std::thread::scope(|scope| scope.spawn(test).join().unwrap());
}
