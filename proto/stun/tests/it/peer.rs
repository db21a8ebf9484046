//! The other side of an agent, as simple as it can be.

use machine::{Machine, Time};
use std::net::SocketAddr;
use stun::ice::{Agent, Credentials, Datagram, In, Out, Pair, Role, Settings};
use stun::{Algorithm, AttributeType, BINDING, Class, TransactionId, Writer};

/// Fragment and password of the side that is tested.
pub fn local() -> Credentials {
    Credentials::read(b"ours", b"localpasswordof22chars").unwrap()
}

/// Those of the other side.
pub fn remote() -> Credentials {
    Credentials::read(b"thrs", b"remotepasswordof23chars").unwrap()
}

pub fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

/// The pair number `n`.
pub fn pair(n: u16) -> Pair {
    let remote = SocketAddr::new([192, 0, 2, 7].into(), 10_000 + n);
    Pair { component: 1, local: address("192.0.2.1:4000"), remote }
}

/// An agent whose other side is known.
pub fn agent(asks_consent: bool) -> Agent {
    let role = Role::Controlled;
    let settings = Settings { local: local(), remote: Some(remote()), role, asks_consent };
    Agent::new(settings, [7; 32])
}

/// A check as the other side sends it.
pub struct Check {
    pub name: &'static str,
    pub password: Vec<u8>,
    pub algorithm: Algorithm,
    pub is_chosen: bool,
    pub priority: u32,
    pub role: AttributeType,
    pub extra: Option<u16>,
}

impl Default for Check {
    fn default() -> Self {
        Self {
            name: "ours:thrs",
            password: local().password().as_bytes().to_vec(),
            algorithm: Algorithm::Sha1,
            is_chosen: false,
            priority: 0x6E00_01FF,
            role: AttributeType::IceControlling,
            extra: None,
        }
    }
}

impl Check {
    pub fn octets(&self, number: u8) -> Vec<u8> {
        let mut octets = Vec::new();
        let transaction = TransactionId([number; 12]);
        let mut writer = Writer::new(Class::Request, BINDING, transaction, &mut octets);
        writer
            .attribute(AttributeType::Username, self.name.as_bytes())
            .attribute(AttributeType::Priority, &self.priority.to_be_bytes())
            .attribute(self.role, &[1; 8]);
        if self.is_chosen {
            writer.attribute(AttributeType::UseCandidate, &[]);
        }
        if let Some(number) = self.extra {
            writer.raw_attribute(number, &[0; 8]);
        }
        writer.integrity(self.algorithm, &self.password).fingerprint();
        octets
    }
}

/// What the agent does with octets.
pub fn step(agent: &mut Agent, now: Time, pair: Pair, octets: &[u8]) -> Vec<Out> {
    let Pair { component, local, remote } = pair;
    let mut out = Vec::new();
    let datagram = Datagram { component, local, remote, octets: octets.to_vec() };
    agent.step(now, In::Datagram(datagram), &mut out);
    out
}

/// The only datagram that is sent.
pub fn sent(out: &[Out]) -> &Datagram {
    let mut sent = out.iter().filter_map(|it| match it {
        Out::Send(datagram) => Some(datagram),
        _ => None,
    });
    let first = sent.next().expect("an answer");
    assert!(sent.next().is_none(), "{out:?}");
    first
}
