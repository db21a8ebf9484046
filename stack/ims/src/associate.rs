//! The four associations of an agreement: made for a challenge, and made once more by the node that
//! takes over.

use crate::access::Access;
use crate::key_log::Line;
use crate::metrics::Metric;
use crate::request::of_mode;
use crate::set::{Associated, Set, Stage};
use aka::digest::SessionKeys;
use esp::{Inbound, Keys, Outbound, Parameters, Udp};
use ipsec::{Address, Associations, Endpoint, Path};
use machine::slots::Key;
use machine::{Duration, Time};
use rand_chacha::rand_core::RngCore;
use secagree::{Agreement, Choice, End, Ipsec, Peer, Protocol, Transport};
use std::net::{IpAddr, SocketAddr};

/// How often other indices are tried when one is a phone's own.
const TRIES: usize = 4;

/// The ends of an agreement.
struct Ends<'a> {
    set: &'a Set,
    own: Ipsec,
    /// Our address that takes ESP.
    address: Address,
    /// Where the phone is seen; of raw packets the port is 0.
    outside: SocketAddr,
}

impl Ends<'_> {
    /// Our port of ESP in UDP, if that is used.
    fn in_udp(&self) -> Option<(runtime::PortId, u16)> {
        self.address.in_udp.filter(|_| self.set.is_behind_nat)
    }

    fn agreement(&self) -> Option<Agreement> {
        let in_udp = self.in_udp();
        Some(Agreement {
            ue: Peer {
                address: self.set.inside,
                outside: in_udp.map(|_| (self.outside.ip(), self.outside.port())),
                ipsec: self.set.choice?.of,
            },
            pcscf: Peer {
                address: self.set.local,
                outside: in_udp.map(|(_, number)| (self.set.local, number)),
                ipsec: self.own,
            },
            transport: Transport::Any,
        })
    }

    fn path(&self) -> Path {
        let (local, remote) = (self.set.local, self.outside);
        match self.in_udp() {
            Some((port, number)) => {
                Path { port, local: SocketAddr::new(local, number), remote, in_udp: true }
            }
            None => Path {
                port: self.address.raw,
                local: SocketAddr::new(local, 0),
                remote: SocketAddr::new(remote.ip(), 0),
                in_udp: false,
            },
        }
    }
}

impl Access {
    /// Makes the four associations of an offer.
    ///
    /// # Errors
    /// Why there are none.
    pub(crate) fn associate(
        &mut self,
        now: Time,
        key: Key,
        keys: &SessionKeys,
    ) -> Result<(), &'static str> {
        if self.table.knows_keys(keys) {
            self.metrics.add(Metric::Repeated, 1);
            return Err("the core has repeated a challenge: its keys were used before \
                        (TS 33.102 §6.3.2, RFC 3310 §3.2)");
        }
        let made = self.associate_by(now, key, keys);
        made.ok_or("no associations could be made: there are as many as may be")
    }

    fn associate_by(&mut self, now: Time, key: Key, keys: &SessionKeys) -> Option<()> {
        let set = self.table.at(key)?;
        let row = self.rows.get(set.realm)?;
        let section = &row.realm.section;
        let challenge = Duration::from_secs(section.challenge_s.into());
        let choice = set.choice?;
        let listener = row.protected(set.local)?.port;
        let used = self
            .table
            .by_impi(&set.impi)
            .iter()
            .rev()
            .find_map(|other| self.table.at(*other).and_then(Set::own).map(|own| own.port_c));
        let [first, second] = section.client_ports;
        let port_c = if used == Some(first) { second } else { first };
        let ports = (port_c, section.server_port);
        let preference = of_mode(&row.preference, set.is_behind_nat);
        let outside = self.seen_at(&set.impi, set.identity.remote.ip());
        let (reserved, own) = self.indices(choice, ports)?;
        let made = self.associations(key, own, outside, keys);
        let path = made.as_ref().map(|made| made.path);
        let installed = made.is_some_and(|made| self.esp.install(reserved, made));
        if !installed {
            self.esp.remove(reserved);
            return None;
        }
        if let Some(path) = path {
            self.log_keys(key, own, path, keys);
        }
        // Whoever takes over makes them of the same keys.
        let kept = self.pair.is_on().then(|| Box::new(keys.clone()));
        let associated = Associated { key: reserved, own, keys: kept, spent: 0 };
        self.table.associate(key, associated, keys);
        if let Some(set) = self.table.at_mut(key) {
            set.server = preference.list(&own, own.mode).into();
            set.identity.port = listener;
        }
        self.table.advance(key, Stage::Challenged, now + challenge);
        Some(())
    }

    /// Notes the keys of a set for analysers, where its realm has them written.
    fn log_keys(&mut self, key: Key, own: Ipsec, path: Path, keys: &SessionKeys) {
        let Some(set) = self.table.at(key) else { return };
        let row = self.rows.get(set.realm).filter(|row| row.realm.section.key_log.is_some());
        let (Some(_), Some(choice), Some(keys)) = (row, set.choice, own.keys(keys)) else { return };
        let Some(algorithm) = own.algorithm() else { return };
        let (ours, phone) = (path.local.ip(), path.remote.ip());
        for (spi, from, to) in [
            (own.spi_s, phone, ours),
            (own.spi_c, phone, ours),
            (choice.of.spi_c, ours, phone),
            (choice.of.spi_s, ours, phone),
        ] {
            let line = Line { from, to, spi, algorithm, material: keys.material() };
            self.key_log.note(set.realm, &line);
        }
    }

    /// The associations of a set in the table, whose phone is seen at `outside`.
    pub(crate) fn associations(
        &mut self,
        key: Key,
        own: Ipsec,
        outside: SocketAddr,
        keys: &SessionKeys,
    ) -> Option<Associations> {
        let set = self.table.at(key)?;
        let address = *self.esp.address(set.local)?;
        if set.is_behind_nat && address.in_udp.is_none() {
            return None;
        }
        let ends = Ends { set, own, address, outside };
        let (agreement, path) = (ends.agreement()?, ends.path());
        self.made(&agreement, keys, path, key.index)
    }

    /// Where the NAT of a phone is seen: where its associations of now come from, or the port that
    /// it has before anything came.
    fn seen_at(&self, impi: &[u8], source: IpAddr) -> SocketAddr {
        let paths = self.table.by_impi(impi).iter().rev().filter_map(|key| {
            let associations = self.table.at(*key)?.associations()?;
            self.esp.path(associations).filter(|path| path.in_udp).map(|path| path.remote)
        });
        let known = paths.into_iter().find(|remote| remote.ip() == source);
        known.unwrap_or(SocketAddr::new(source, Udp::PORT))
    }

    /// A slot for a set, whose indices are none of the phone's.
    fn indices(&mut self, choice: Choice, ports: (u16, u16)) -> Option<(Key, Ipsec)> {
        let ((alg, ealg), ue) = (choice.pair, choice.of);
        let mut refused = Vec::new();
        let mut found = None;
        for _ in 0..TRIES {
            let Some((key, [spi_s, spi_c])) = self.esp.reserve() else { break };
            if [spi_s, spi_c].iter().any(|spi| *spi == ue.spi_c || *spi == ue.spi_s) {
                refused.push(key);
                continue;
            }
            let (port_c, port_s) = ports;
            let (protocol, mode) = (Protocol::Esp, ue.mode);
            found = Some((key, Ipsec { alg, ealg, protocol, mode, spi_c, spi_s, port_c, port_s }));
            break;
        }
        refused.into_iter().for_each(|key| self.esp.remove(key));
        found
    }

    fn made(
        &mut self,
        agreement: &Agreement,
        keys: &SessionKeys,
        path: Path,
        owner: u32,
    ) -> Option<Associations> {
        let [to_server, to_phone_client, to_phone_server, to_client] = agreement.associations()?;
        let (ipsec, keys) = (agreement.pcscf.ipsec, agreement.pcscf.ipsec.keys(keys)?);
        let algorithm = ipsec.algorithm()?;
        let keys = Keys::new(algorithm, keys.material(), algorithm.is_legacy()).ok()?;
        let block = Endpoint::block(self.pair.is_on());
        let parameters =
            |association| -> Option<Parameters> { agreement.parameters(&association, End::Pcscf) };
        let inbound = |association| Inbound::with_keys(parameters(association)?, &keys).ok();
        let mut outbound = |association| {
            let mut seed = [0; 16];
            self.random.fill_bytes(&mut seed);
            let parameters = Parameters { block, ..parameters(association)? };
            Outbound::with_keys(parameters, &keys, seed).ok()
        };
        Some(Associations {
            inbound: [Some(inbound(to_server)?), Some(inbound(to_client)?)],
            outbound: [Some(outbound(to_phone_client)?), Some(outbound(to_phone_server)?)],
            path,
            owner,
        })
    }
}
