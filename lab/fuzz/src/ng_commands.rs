//! What somebody may send to the NG port, messages one behind the other: each that has a cookie
//! gets a reply that can be read, no port is lost, and what nobody ends ends in time.

use crate::anchor_calls::{Ports, counting};
use anchor::Local;
use anchor::row::Statistics;
use core::net::IpAddr;
use machine::Time;
use ng::bencode::Value;
use ng::{Around, Command, Counters, Engine, World, frame};
use srtp::dtls::Fingerprint;

struct Place(Ports);

impl World for Place {
    fn take(&mut self, _interface: Option<&[u8]>, is_v6: bool) -> Option<Local> {
        self.0.take_of(is_v6)
    }

    fn give_back(&mut self, local: Local) {
        self.0.put_back(local);
    }

    fn address(&self, number: u16) -> IpAddr {
        Ports::address_of(number)
    }

    fn has_interface(&self, name: &[u8]) -> bool {
        name == b"inside"
    }

    fn fingerprint(&self) -> Option<&Fingerprint> {
        Some(self.0.print())
    }
}

struct Nothing;

impl Counters for Nothing {
    fn of(&self, _call: u64, _line: u8) -> [Statistics; 2] {
        [Statistics::default(); 2]
    }
}

pub fn run(octets: &[u8]) {
    let mut place = Place(Ports::new());
    let mut random = counting();
    let mut engine = Engine::new(Time::ZERO, 1);
    let mut rest = octets;
    while let Ok(Some(length)) = frame(rest) {
        let (message, more) = rest.split_at(length);
        let mut out = Vec::new();
        let mut around = Around { world: &mut place, counters: &Nothing, random: &mut random };
        engine.take(Time::ZERO, message, &mut around, &mut out);
        if let Ok(command) = Command::read(message) {
            let reply = out.get(command.cookie.len() + 1..).expect("it begins with the cookie");
            assert!(matches!(Value::read(reply), Ok(Some(_))), "a reply can be read");
        }
        rest = more;
    }
    assert!(engine.len() <= 100 || place.0.in_use() > 0);
    let mut now = Time::ZERO;
    for _ in 0..1_000 {
        let Some(next) = engine.deadline() else { break };
        assert!(next > now, "time goes on");
        now = next;
        let mut around = Around { world: &mut place, counters: &Nothing, random: &mut random };
        engine.tick(now, &mut around);
    }
    assert_eq!((engine.len(), engine.octets(), place.0.in_use()), (0, 0, 0));
}
