//! What anybody may send to sessions of each kind, with time passing: nothing panics, what is not
//! believed changes nothing, and the deadline stays ahead.

use bfd::{AuthType, Authentication, In, Key, Limits, Path, Received, SessionSettings, Sessions};
use bfd::{State, Timers};
use machine::{Duration, Machine, Time};

pub fn run(octets: &[u8]) {
    let mut machine = Sessions::new(Limits::default(), [7; 32]);
    let mut now = Time::from_millis(1);
    let timers = Timers::every(Duration::from_millis(5), 3);
    let mut ids = Vec::new();
    for (fec, kind) in [None, Some(AuthType::SimplePassword), Some(AuthType::MeticulousKeyedSha1)]
        .into_iter()
        .enumerate()
    {
        let key = kind.and_then(|kind| Some((kind, Key::new(kind, 1, b"secret")?)));
        let keys = key.and_then(|(kind, key)| Authentication::new(kind, vec![key]));
        let authentication = keys.and_then(|keys| machine.keys.add(keys));
        let path = Path::Pseudowire { number: fec as u32 };
        let settings = SessionSettings { authentication, ..SessionSettings::new(path, timers) };
        ids.push((path, machine.add(now, settings).expect("there is room")));
    }
    let mut out = Vec::new();
    // The first octet of each piece: its length; which session; whether time passes; whether its
    // discriminator is put in.
    let mut rest = octets;
    while let Some((&first, more)) = rest.split_first() {
        let (piece, more) = more.split_at(more.len().min(usize::from(first & 0x3F)));
        rest = more;
        let (path, id) = ids[usize::from(first >> 6) % ids.len()];
        let mut packet = piece.to_vec();
        if packet.len() >= 24 && packet[8] == 0xFF {
            let named = machine.summary(id).expect("it is there").discriminator;
            packet[8..12].copy_from_slice(&named.to_be_bytes());
        }
        now += Duration::from_millis(u64::from(first % 7));
        machine.tick(now, &mut out);
        assert!(machine.deadline().is_none_or(|at| at > now));
        machine.step(now, In::Received(Received { path, ttl: 255, octets: packet }), &mut out);
        machine.step(now, In::EchoReturned(piece.to_vec()), &mut out);
        out.clear();
    }
    let state = machine.summary(ids[2].1).expect("it is there").state;
    assert_eq!(state, State::Down, "nobody knows the key");
}
