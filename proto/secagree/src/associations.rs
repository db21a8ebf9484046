//! The four associations of an agreement (TS 33.203 §7.1).
//!
//! ```text
//! UE port-c ══ spi-s of the P-CSCF ══→ P-CSCF port-s      requests of the UE, answers by TCP
//! UE port-c ←═ spi-c of the UE ═══════ P-CSCF port-s
//! UE port-s ←═ spi-s of the UE ═══════ P-CSCF port-c      requests to the UE, answers by UDP
//! UE port-s ══ spi-c of the P-CSCF ══→ P-CSCF port-c
//! ```

use crate::{Ipsec, Mode};
use core::net::IpAddr;
use esp::{Parameters, Selector, Side, Spi, Tunnel, Udp};

/// Who.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum End {
    /// The phone.
    Ue,
    /// The network's first proxy.
    Pcscf,
}

/// Which ports are connected.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Pair {
    /// The phone's client port and the proxy's server port.
    UeClient,
    /// The phone's server port and the proxy's client port.
    UeServer,
}

/// What goes through them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Transport {
    /// Both.
    Any,
    /// UDP alone.
    Udp,
    /// TCP alone.
    Tcp,
}

/// One end of an agreement: its address and what it said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Peer {
    /// Its address in the packets that are inside.
    pub address: IpAddr,
    /// Where packets come from and go to outside, if a NAT stands between: address and port.
    pub outside: Option<(IpAddr, u16)>,
    /// What it said of the mechanism that was chosen.
    pub ipsec: Ipsec,
}

/// One of the four.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Association {
    /// Its index.
    pub spi: Spi,
    /// Who sends.
    pub from: End,
    /// Between which ports.
    pub pair: Pair,
    /// The phone's port.
    pub ue_port: u16,
    /// The proxy's port.
    pub pcscf_port: u16,
}

/// An agreement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Agreement {
    /// The phone.
    pub ue: Peer,
    /// The proxy. Algorithms and mode are those that it said.
    pub pcscf: Peer,
    /// What is carried.
    pub transport: Transport,
}

impl Agreement {
    /// The four associations; `None` if two of the four indices are alike, which a proxy must not
    /// choose (§7.1: else packets could be turned round), or the algorithms do not go together.
    #[must_use]
    pub fn associations(&self) -> Option<[Association; 4]> {
        let (ue, pcscf) = (&self.ue.ipsec, &self.pcscf.ipsec);
        let one = |spi, from, pair| {
            let (ue_port, pcscf_port) = match pair {
                Pair::UeClient => (ue.port_c, pcscf.port_s),
                Pair::UeServer => (ue.port_s, pcscf.port_c),
            };
            Association { spi, from, pair, ue_port, pcscf_port }
        };
        let four = [
            one(pcscf.spi_s, End::Ue, Pair::UeClient),
            one(ue.spi_c, End::Pcscf, Pair::UeClient),
            one(ue.spi_s, End::Pcscf, Pair::UeServer),
            one(pcscf.spi_c, End::Ue, Pair::UeServer),
        ];
        let differ = (1..4).all(|at| four[..at].iter().all(|it| it.spi != four[at].spi));
        let is_known = pcscf.algorithm().is_some();
        (ue.is_sound() && pcscf.is_sound() && differ && is_known).then_some(four)
    }

    /// The parameters of one of them as one end has it; window, lifetime and the block of numbers
    /// are the caller's. `None` as in [`Agreement::associations`].
    #[must_use]
    pub fn parameters(&self, association: &Association, own: End) -> Option<Parameters> {
        let algorithm = self.pcscf.ipsec.algorithm()?;
        let (ours, theirs) = match own {
            End::Ue => (&self.ue, &self.pcscf),
            End::Pcscf => (&self.pcscf, &self.ue),
        };
        let ports = match own {
            End::Ue => (association.ue_port, association.pcscf_port),
            End::Pcscf => (association.pcscf_port, association.ue_port),
        };
        let selector = |protocol| Selector {
            protocol: Some(protocol),
            local: Side::port(ours.address, ports.0),
            remote: Side::port(theirs.address, ports.1),
        };
        let selectors = match self.transport {
            Transport::Any => vec![selector(17), selector(6)],
            Transport::Udp => vec![selector(17)],
            Transport::Tcp => vec![selector(6)],
        };
        let outside = |peer: &Peer| peer.outside.unwrap_or((peer.address, Udp::PORT));
        let tunnel = || {
            let (local, remote) = (outside(ours).0, outside(theirs).0);
            esp::Mode::Tunnel(Tunnel::between(local, remote))
        };
        let (mode, udp) = match self.pcscf.ipsec.mode {
            Mode::Transport => (esp::Mode::Transport, None),
            Mode::Tunnel => (tunnel(), None),
            Mode::UdpTunnel => {
                let ports = Udp { local: outside(ours).1, remote: outside(theirs).1 };
                (tunnel(), Some(ports))
            }
        };
        let parameters = Parameters::new(association.spi, algorithm);
        Some(Parameters {
            mode,
            udp,
            selectors,
            allows_legacy: algorithm.is_legacy(),
            ..parameters
        })
    }
}
