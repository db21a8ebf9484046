//! Any octets as a message of STUN, to an agent as they are, and as attributes of a request that
//! is guarded as one who knows the password would: nothing panics, an answer goes to where the
//! request came from and is not longer than it, and the deadline advances.

use machine::{Duration, Machine, Time};
use stun::ice::{Agent, Credentials, Out, Pair, Role, Settings};
use stun::{Algorithm, AttributeType, BINDING, Class, Message, TransactionId, Writer};

const FRAGMENT: &[u8] = b"ours";
const PASSWORD: &[u8] = b"localpasswordof22chars";

fn pair(number: u8) -> Pair {
    let (local, remote) = (([192, 0, 2, 1], 4_000).into(), ([192, 0, 2, number], 5_000).into());
    Pair { component: 1 + number % 2, local, remote }
}

fn agent() -> Agent {
    let credentials = || Credentials::read(FRAGMENT, PASSWORD).expect("they are valid");
    let (local, remote) = (credentials(), Some(credentials()));
    let settings = Settings { local, remote, role: Role::Controlled, asks_consent: true };
    Agent::new(settings, [7; 32])
}

fn step(agent: &mut Agent, now: Time, pair: Pair, octets: &[u8]) {
    let mut out = Vec::new();
    agent.tick(now, &mut out);
    assert!(agent.deadline().is_none_or(|at| at > now), "the deadline advances");
    out.clear();
    agent.datagram(now, pair, octets, &mut out);
    for effect in out {
        let Out::Send(answer) = effect else { continue };
        assert_eq!(answer.remote, pair.remote);
        assert!(answer.octets.len() <= octets.len(), "an answer is longer than its request");
        assert!(Message::read(&answer.octets).is_ok());
    }
}

pub fn run(bytes: &[u8]) {
    if let Ok(message) = Message::read(bytes) {
        let _ = (message.fingerprint(), message.integrity(PASSWORD), message.refusal());
        let _ = (message.mapped_address(), message.unknown_required(&mut [0; 3]));
    }
    let (mut agent, mut now) = (agent(), Time::from_millis(1));
    step(&mut agent, now, pair(1), bytes);
    // An octet says how much time passes and from where, one each the type and the length.
    let mut rest = bytes;
    while let Some((&[when, kinds, length], tail)) = rest.split_first_chunk::<3>() {
        now += Duration::from_millis(u64::from(when) * 50);
        let (value, tail) = tail.split_at(tail.len().min(usize::from(length)));
        rest = tail;
        let mut octets = Vec::new();
        let transaction = TransactionId([when; 12]);
        let class = Class::ALL[usize::from(kinds >> 6)];
        let mut writer = Writer::new(class, BINDING, transaction, &mut octets);
        for (bit, kind) in [
            (1, AttributeType::Username),
            (2, AttributeType::Priority),
            (4, AttributeType::UseCandidate),
            (8, AttributeType::IceControlled),
        ] {
            if kinds & bit != 0 {
                let name: &[u8] = if bit == 1 { b"ours:ours" } else { &[0, 0, 0, 1] };
                writer.attribute(kind, if length & 1 == 0 { name } else { value });
            }
        }
        writer.raw_attribute(u16::from_be_bytes([when, kinds]), value);
        let algorithm = if kinds & 16 == 0 { Algorithm::Sha1 } else { Algorithm::Sha256 };
        writer.integrity(algorithm, PASSWORD).fingerprint();
        step(&mut agent, now, pair(when % 3), &octets);
    }
}
