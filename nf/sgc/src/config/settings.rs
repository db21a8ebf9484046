//! What the configuration means to the M3UA process, and what it needs of the machine.

use super::{ApplicationServer, Destination, Mode, PointCodeFormat, Registration, ServedBy, Sgc};
use config::need::{NET_RAW, Need, Wanted};
use m3ua::codec::{NetworkAppearance, PointCode, RoutingContext, TrafficMode};
use m3ua::{Key, Parameters, ServerSettings, Settings, Side};
use m3ua_stack::config::PEERS_MAX;
use machine::Duration;

impl Sgc {
    /// What the carrier of SCTP, and what the cluster tracks, needs.
    #[must_use]
    pub fn needs(&self) -> Vec<Wanted> {
        let mut needs: Vec<Wanted> =
            self.sctp.iter().flat_map(|it| it.needs("sctp.carrier")).collect();
        if self.cluster.as_ref().is_some_and(|it| it.members().asks_gateways()) {
            let reason = "gateways are asked by raw sockets";
            needs.push(("cluster.track", Need::Capability(NET_RAW), reason));
        }
        needs
    }

    /// A number for what has to be alike at all nodes of a cluster: what they are to the network.
    pub(crate) fn cluster_digest(&self) -> u64 {
        let alike = (
            (&self.point_code_format, &self.point_codes, self.network_appearance),
            (&self.sccp, &self.tcap, &self.subsystem, (&self.translation, self.filed.digest())),
            self.application.iter().map(|it| (&it.name, &it.subsystem)).collect::<Vec<_>>(),
            self.cluster.as_ref().map(|it| (&it.nodes, it.replicate, it.cluster)),
        );
        // What cannot be written as text is none of these.
        machine::identity::hash_combine(0, &serde_json::to_vec(&alike).unwrap_or_default())
    }

    /// Limits and parameters of the process.
    pub(crate) fn settings(&self) -> Settings {
        Settings {
            peers_max: PEERS_MAX,
            servers_max: self.limits.application_servers_max as usize,
            parameters: self.parameters(),
        }
    }

    pub(crate) fn parameters(&self) -> Parameters {
        let ms = |ms: u32| Duration::from_millis(ms.into());
        let (timers, policy, limits) = (&self.timers, &self.policy, &self.limits);
        Parameters {
            t_ack: ms(timers.t_ack_ms),
            ack_retries_max: Some(timers.ack_retries_max).filter(|max| *max > 0),
            t_refused: ms(timers.t_refused_ms),
            t_r: ms(timers.t_r_ms),
            t_beat: Some(ms(timers.t_beat_ms)).filter(|t_beat| !t_beat.is_zero()),
            t_audit: Some(ms(timers.t_audit_ms)).filter(|t_audit| !t_audit.is_zero()),
            pending_messages_max: limits.pending_messages_max as usize,
            pending_bytes_max: limits.pending_octets_max as usize,
            pending_total_bytes_max: limits.pending_total_octets_max as usize,
            requires_asp_identifier: policy.requires_asp_identifier,
            registration: match policy.registration {
                Registration::Unsupported => m3ua::Registration::Unsupported,
                Registration::Provisioned => m3ua::Registration::Provisioned,
                Registration::Open => m3ua::Registration::Open,
            },
            takes_unknown_as_available: policy.unknown_is_available,
            refuses_audits: policy.refuses_audits,
            point_code_bits: self.point_code_format.bits(),
            sends_restricted: !policy.hides_restricted,
        }
    }

    /// The network of the node's own point codes.
    #[must_use]
    pub fn network(&self) -> Option<NetworkAppearance> {
        self.network_appearance.map(NetworkAppearance)
    }

    /// The node's own point codes; those that cannot be read are left out.
    pub(crate) fn own_point_codes(&self) -> Vec<PointCode> {
        let format = self.point_code_format;
        self.point_codes.iter().filter_map(|text| format.read(text)).collect()
    }

    /// An Application Server for the process; `None` when a point code cannot be read.
    pub(crate) fn server_settings(&self, server: &ApplicationServer) -> Option<ServerSettings> {
        let format = self.point_code_format;
        let destinations = server.destination.iter().map(|it| it.settings(format));
        Some(ServerSettings {
            side: match server.served_by {
                ServedBy::Peers => Side::There,
                ServedBy::Here => Side::Here,
            },
            routing_context: server.routing_context.map(RoutingContext),
            key: Key {
                network: server.network_appearance.map(NetworkAppearance).or(self.network()),
                destinations: destinations.collect::<Option<_>>()?,
            },
            mode: server.traffic_mode.map(Mode::settings),
            asps_min: server.asps_min,
            starts: server.starts,
            takes_over: server.takes_over,
            registers: server.registers,
        })
    }
}

impl Mode {
    const fn settings(self) -> TrafficMode {
        match self {
            Self::Override => TrafficMode::Override,
            Self::Loadshare => TrafficMode::Loadshare,
            Self::Broadcast => TrafficMode::Broadcast,
        }
    }
}

impl Destination {
    fn settings(&self, format: PointCodeFormat) -> Option<m3ua::Destination> {
        let originating = self.originating.iter().map(|text| format.read(text));
        Some(m3ua::Destination {
            dpc: format.read(&self.point_code)?,
            service_indicators: self.service_indicators.clone(),
            originating: originating.collect::<Option<_>>()?,
        })
    }
}
