//! What the configuration means to SCCP and TCAP.

use super::Sgc;
use config::Issue;
use machine::Duration;
use sccp::codec::HOPS_MAX;
use sccp::{ConnectionParameters, Parameters, Rules, Settings};
use std::sync::Arc;

/// What the order of local references is drawn for.
const ORDER_OF_REFERENCES: u64 = 0x5343_4350;

impl Sgc {
    /// Whether this node has SCCP.
    pub(crate) fn has_sccp(&self) -> bool {
        let has_rules = !self.translation.is_empty() || !self.translation_files.is_empty();
        has_rules || !self.subsystem.is_empty()
    }

    /// What rules for global titles are held against.
    pub(super) fn translating(&self) -> translation::Node {
        translation::Node {
            key: "sgc",
            format: self.point_code_format,
            own: self.own_point_codes(),
            subsystems: self.subsystem.iter().map(|it| (it.number, it.name.clone())).collect(),
        }
    }

    /// Takes the texts of `translation_files`, in order, and makes of all rules what titles are
    /// looked up by. What is wrong with lines comes back; then nothing of the files is kept.
    pub fn take_rules(&mut self, texts: Vec<(String, String)>) -> Vec<Issue> {
        let node = self.translating();
        self.filed.take(texts, &self.translation, &node)
    }

    /// What titles are looked up by.
    pub(crate) fn rules(&self) -> Arc<Rules> {
        self.filed.rules(&self.translation, self.point_code_format)
    }

    /// What the SCCP node is; of what cannot be read nothing is kept.
    pub(crate) fn sccp_settings(&self) -> Settings {
        let ms = |ms: u32| Duration::from_millis(ms.into());
        let own = self.own_point_codes();
        let (keys, format) = (&self.sccp, self.point_code_format);
        let concerned = keys.concerned.iter().filter_map(|text| format.read(text));
        Settings {
            network: self.network(),
            point_code: own.first().copied().unwrap_or_default(),
            aliases: own.get(1..).unwrap_or_default().to_vec(),
            network_indicator: keys.network_indicator,
            concerned: concerned.collect(),
            parameters: Parameters {
                reassembly: ms(keys.t_reassembly_ms),
                status_first: ms(keys.t_status_ms),
                status_most: ms(keys.t_status_max_ms),
                message_octets_max: keys.message_octets_max as usize,
                has_long: keys.long_unitdata,
                hops: keys.hops.clamp(1, HOPS_MAX),
                relays_extended: keys.relay_extended,
                reassembly_octets_max: keys.reassembly_octets_max as usize,
                remotes_max: keys.destinations_max as usize,
                couples: keys.connections.coupled,
                segments_part: self.cluster.as_ref().map(|it| it.node.wrapping_sub(1)),
                connections: sccp::ConnectionParameters {
                    is_shared: self.cluster.is_some(),
                    ..keys.connections.parameters()
                },
                ..Parameters::q714()
            },
        }
    }

    /// The same at the start, with the first local reference drawn anew: those of before do not
    /// come back, and T(guard) is for nothing.
    pub(crate) fn sccp_settings_of(&self, secret: u64) -> Settings {
        let mut settings = self.sccp_settings();
        let [.., a, b, c] = machine::identity::mix(secret).to_be_bytes();
        let connections = &mut settings.parameters.connections;
        connections.reference_first = u32::from_be_bytes([0, a, b, c]);
        connections.reference_key = machine::identity::mix(secret ^ ORDER_OF_REFERENCES);
        settings
    }

    /// What the TCAP transactions of a shard are.
    pub(crate) fn tcap_settings(&self, shard: u16, secret: u64) -> tcap::Settings {
        tcap::Settings {
            shard,
            secret,
            dialogues_max: self.share(self.tcap.dialogues_max),
            dialogues_per_source_max: self.tcap.dialogues_per_source_max,
            // Of several shards the first one counts them for all.
            sources_elsewhere: self.shards > 1,
            idle: Duration::from_millis(self.tcap.t_idle_ms.into()),
        }
    }

    /// What each shard with dialogues has of a limit.
    pub(crate) fn share(&self, most: u32) -> u32 {
        let shards = self.shards.saturating_sub(1).max(1);
        most.div_ceil(shards.into())
    }
}

impl super::sccp::Connections {
    fn parameters(&self) -> ConnectionParameters {
        let ms = |ms: u32| Duration::from_millis(ms.into());
        ConnectionParameters {
            establishment: ms(self.t_conn_est_ms),
            inactivity_send: ms(self.t_ias_ms),
            inactivity_receive: ms(self.t_iar_ms),
            release: ms(self.t_rel_ms),
            release_repeat: ms(self.t_rel_ms),
            release_most: ms(self.t_int_ms),
            guard: Duration::ZERO,
            reset: ms(self.t_reset_ms),
            references_max: self.references_max as usize,
            credit_max: self.credit_max,
            waiting_octets_max: self.waiting_octets_max as usize,
            ..ConnectionParameters::q714()
        }
    }
}
