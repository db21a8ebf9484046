//! A signalling endpoint: SCTP with two addresses, M3UA as an IPSP on it, and what they told.

use bytes::Bytes;
use m3ua::codec::{PointCode, RoutingContext, SCTP_PPID};
use m3ua::{Key, PeerId, PeerSettings, Process, Role, ServerSettings, Side, Transfer};
use machine::{Machine, Time};
use sctp::{
    AssociationId, Endpoint, Failure, Indication, Outgoing, Packet, Parameters, PathState, Status,
    Transmit,
};
use std::net::{IpAddr, SocketAddr};

/// Point code of the endpoint that sends MSUs.
const SOURCE: PointCode = PointCode::truncated(1);
/// Point code of the other one.
const SINK: PointCode = PointCode::truncated(2);
const CONTEXT: RoutingContext = RoutingContext(1);
/// Streams each way: one for each value of SLS, and stream 0 for management.
pub const STREAMS: u16 = 17;
/// Values of SLS, dealt in turn.
pub const SLS_VALUES: u64 = 16;
/// Service Indicator of SCCP.
const SCCP: u8 = 3;
/// Octets that may wait for sending: the source is never held up, however long a failover takes.
const SEND_BUFFER: u32 = 1 << 30;
/// Things that went wrong which are kept as words.
const OFFENCES_MAX: usize = 8;
/// Ports of source and sink.
pub const PORTS: [u16; 2] = [2905, 2906];

/// One of the two: 0 sends MSUs, 1 takes them.
pub struct End {
    side: usize,
    endpoint: Endpoint,
    process: Process,
    peer: PeerId,
    association: Option<AssociationId>,
    /// M3UA may send.
    pub is_active: bool,
    /// Packets that want to leave.
    pub packets: Vec<Transmit>,
    /// MSUs that came.
    pub arrived: Vec<Bytes>,
    /// States of paths, as SCTP told them.
    pub changes: Vec<(Time, IpAddr, PathState)>,
    /// The association was lost; MSUs that were on their way are lost with it.
    pub is_lost: bool,
    /// What may not happen, in words.
    pub violations: Vec<String>,
    told: Vec<sctp::Out>,
    wanted: Vec<m3ua::Out>,
}

impl End {
    /// Side 0 or 1 with its addresses, one for each path.
    pub fn new(
        side: usize,
        addresses: Vec<IpAddr>,
        parameters: Parameters,
        seed: [u8; 32],
    ) -> anyhow::Result<Self> {
        let parameters = Parameters {
            outbound_streams: STREAMS,
            inbound_streams: STREAMS,
            send_buffer: SEND_BUFFER,
            ..parameters
        };
        let settings = sctp::Settings {
            port: PORTS[side],
            addresses,
            listens: side == 1,
            associations_max: 1,
            parameters,
        };
        let (process, peer) = process(side)?;
        Ok(Self {
            side,
            endpoint: Endpoint::new(settings, seed),
            process,
            peer,
            association: None,
            is_active: false,
            packets: Vec::new(),
            arrived: Vec::new(),
            changes: Vec::new(),
            is_lost: false,
            violations: Vec::new(),
            told: Vec::new(),
            wanted: Vec::new(),
        })
    }

    /// Begins the association with the peer at `address`; its UDP port is 0 without encapsulation.
    pub fn associate(&mut self, now: Time, address: SocketAddr) -> anyhow::Result<()> {
        let port = PORTS[1 - self.side];
        let begun = self.endpoint.associate(now, &[address], port, &mut self.told);
        self.association = Some(begun.map_err(|why| anyhow::anyhow!("ASSOCIATE: {why:?}"))?);
        self.settle(now);
        Ok(())
    }

    /// A packet came.
    pub fn receive(&mut self, now: Time, packet: Packet) {
        self.endpoint.step(now, sctp::In::Packet(packet), &mut self.told);
        self.settle(now);
    }

    /// MTP-TRANSFER request with that SLS; what it makes leave is in [`End::packets`].
    pub fn transfer(&mut self, now: Time, sls: u8, payload: Bytes) {
        let (opc, dpc) = if self.side == 0 { (SOURCE, SINK) } else { (SINK, SOURCE) };
        let msu = Transfer { network: None, opc, dpc, si: SCCP, ni: 2, mp: 0, sls, payload };
        self.process.step(now, m3ua::In::Transfer(msu), &mut self.wanted);
        self.settle(now);
        self.tick(now);
    }

    /// Lets time pass.
    pub fn tick(&mut self, now: Time) {
        self.endpoint.tick(now, &mut self.told);
        if self.process.deadline().is_some_and(|at| at <= now) {
            self.process.tick(now, &mut self.wanted);
        }
        self.settle(now);
    }

    /// When [`End::tick`] wants to be called next.
    pub fn deadline(&self) -> Option<Time> {
        let process = self.process.deadline();
        self.endpoint.deadline().map_or(process, |at| Some(process.map_or(at, |it| it.min(at))))
    }

    /// The association as it stands.
    pub fn status(&self) -> Option<Status> {
        self.endpoint.status(self.association?)
    }

    /// Hands on between SCTP and M3UA until neither wants anything.
    fn settle(&mut self, now: Time) {
        while !self.told.is_empty() || !self.wanted.is_empty() {
            for out in std::mem::take(&mut self.told) {
                match out {
                    sctp::Out::Transmit(packet) => self.packets.push(packet),
                    sctp::Out::Indicate(id, what) => self.indicated(now, id, what),
                }
            }
            for out in std::mem::take(&mut self.wanted) {
                self.wanted(now, out);
            }
        }
    }

    fn indicated(&mut self, now: Time, id: AssociationId, what: Indication) {
        let input = match what {
            Indication::CommunicationUp(streams, _) => {
                self.association = Some(id);
                m3ua::In::CommunicationUp(self.peer, Some(streams))
            }
            Indication::Data(message) => {
                m3ua::In::Message(self.peer, message.stream, message.payload)
            }
            Indication::NetworkStatusChange(address, state) => {
                self.changes.push((now, address, state));
                return;
            }
            Indication::CommunicationLost(_) => {
                self.is_lost = true;
                m3ua::In::CommunicationLost(self.peer)
            }
            // They are told with the loss of the association, and counted as MSUs that lack.
            Indication::SendFailure(_, Failure::Lost | Failure::LostUnsent) => return,
            other => return self.offend(format!("SCTP: {other:?}")),
        };
        self.process.step(now, input, &mut self.wanted);
    }

    fn wanted(&mut self, now: Time, what: m3ua::Out) {
        match what {
            m3ua::Out::Send(_, stream, bytes) => {
                let Some(id) = self.association else { return };
                let message = Outgoing::new(stream, SCTP_PPID, bytes);
                self.endpoint.step(now, sctp::In::Send(id, message), &mut self.told);
            }
            m3ua::Out::Abort(_) => self.offend("M3UA aborts the association".into()),
            m3ua::Out::Indicate(m3ua::Indication::Transfer(.., msu)) => {
                self.arrived.push(msu.payload);
            }
            m3ua::Out::Indicate(m3ua::Indication::AspActive(_, _, is_active)) => {
                self.is_active = is_active;
            }
            m3ua::Out::Indicate(m3ua::Indication::Error(_, code)) => {
                self.offend(format!("M3UA: ERR {code}"));
            }
            m3ua::Out::Indicate(_) => {}
        }
    }

    fn offend(&mut self, what: String) {
        if self.violations.len() < OFFENCES_MAX {
            self.violations.push(what);
        }
    }
}

/// M3UA as an IPSP of a single exchange: side 0 asks and sends to the Application Server of side 1.
fn process(side: usize) -> anyhow::Result<(Process, PeerId)> {
    let parameters = m3ua::Parameters::rfc4666();
    let settings = m3ua::Settings { peers_max: 1, servers_max: 2, parameters };
    let mut process = Process::new(settings).map_err(anyhow::Error::msg)?;
    let refused = |why: m3ua::Refused| anyhow::anyhow!("M3UA: {why:?}");
    let role = if side == 0 { Role::IpspClient } else { Role::IpspServer };
    let peer = process.add_peer(PeerSettings::new(role)).map_err(refused)?;
    let far = if side == 0 { SINK } else { SOURCE };
    let server = ServerSettings::new(Side::There, Some(CONTEXT), Key::of(far));
    let server = process.add_server(server).map_err(refused)?;
    process.assign(Time::ZERO, server, peer, &mut Vec::new()).map_err(refused)?;
    Ok((process, peer))
}
