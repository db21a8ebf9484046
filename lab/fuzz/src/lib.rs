//! What fuzzing runs. A *target* is a function that takes any octets; it fails by a panic. The
//! same functions have three callers: libFuzzer (`fuzz/`, `make fuzz`), which looks for inputs
//! that reach new code; `tests/it.rs`, which runs what it kept and what was ever found on
//! every `make test`; and the same test in `make test-long`, which changes each finding a million
//! times by seed.
//!
//! Another target is another file with `pub fn run(&[u8])` and its line in [`TARGETS`].
#![allow(missing_docs, reason = "the head of a file says what its target is, and all run alike")]

pub mod aka_digest;
pub mod anchor_calls;
pub mod anchor_messages;
pub mod api_bodies;
pub mod ber_elements;
pub mod bfd_sessions;
pub mod bgp_message;
pub mod bgp_session;
pub mod bmp_message;
pub mod capture_file;
pub mod cluster_posts;
pub mod codec_payloads;
pub mod diameter_message;
pub mod diameter_node;
pub mod esp_packet;
pub mod forwarder_messages;
pub mod guardian_words;
pub mod hep_packet;
pub mod igp_packets;
pub mod ims_registrations;
pub mod ipsmgw_flows;
pub mod ipsmgw_rows;
pub mod isis_instance;
pub mod isis_pdu;
pub mod keyed_changes;
pub mod ldp_message;
pub mod ldp_packets;
pub mod ldp_speaker;
pub mod lsp_message;
pub mod m3ua_message;
pub mod m3ua_process;
pub mod manipulation_rules;
pub mod mapsms_values;
pub mod media_reports;
pub mod media_words;
pub mod memif_peer;
pub mod mrt_records;
pub mod ng_commands;
pub mod operation_values;
pub mod ospf_instance;
pub mod ospf_packet;
pub mod plane;
pub mod policy_attributes;
pub mod recorded_routes;
pub mod reginfo_document;
pub mod replica_cluster;
pub mod replica_pair;
pub mod rpki_pdu;
pub mod rtcp_packet;
pub mod rtp_packet;
pub mod sccp_connections;
pub mod sccp_message;
pub mod sccp_node;
pub mod screening_messages;
mod script;
pub mod sctp_association;
pub mod sctp_greeting;
pub mod sctp_packet;
pub mod sdes_line;
pub mod sdp_session;
pub mod security_list;
pub mod sip_message;
pub mod sip_stream;
pub mod sip_uri;
pub mod sms_by_diameter;
pub mod sms_messages;
pub mod smsip;
pub mod spf_changes;
pub mod srtp_packet;
pub mod ssc_dialogs;
pub mod store_blocks;
pub mod stun_message;
pub mod tcap_dialogues;
pub mod tcap_message;
pub mod tcap_records;
pub mod tcp_connection;
pub mod tcu_application;
pub mod tcu_message;
pub mod tls_greeting;
pub mod traffic_analyser;

/// A target.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name: of the folders of its corpus and its findings, and what libFuzzer is started with.
    pub name: &'static str,
    /// Runs one input; a fault is a panic.
    pub run: fn(&[u8]),
}

const fn target(name: &'static str, run: fn(&[u8])) -> Target {
    Target { name, run }
}

/// Every target; those that meet the network with whole functions come first.
pub const TARGETS: &[Target] = &[
    target("ssc_dialogs", ssc_dialogs::run),
    target("sctp_greeting", sctp_greeting::run),
    target("bgp_session", bgp_session::run),
    target("replica_cluster", replica_cluster::run),
    target("replica_pair", replica_pair::run),
    target("hep_packet", hep_packet::run),
    target("api_bodies", api_bodies::run),
    target("media_reports", media_reports::run),
    target("tls_greeting", tls_greeting::run),
    target("sip_message", sip_message::run),
    target("sip_stream", sip_stream::run),
    target("sip_uri", sip_uri::run),
    target("sdp_session", sdp_session::run),
    target("anchor_calls", anchor_calls::run),
    target("anchor_messages", anchor_messages::run),
    target("ng_commands", ng_commands::run),
    target("srtp_packet", srtp_packet::run),
    target("sdes_line", sdes_line::run),
    target("esp_packet", esp_packet::run),
    target("aka_digest", aka_digest::run),
    target("ims_registrations", ims_registrations::run),
    target("security_list", security_list::run),
    target("reginfo_document", reginfo_document::run),
    target("tcp_connection", tcp_connection::run),
    target("manipulation_rules", manipulation_rules::run),
    target("sctp_packet", sctp_packet::run),
    target("sctp_association", sctp_association::run),
    target("m3ua_message", m3ua_message::run),
    target("m3ua_process", m3ua_process::run),
    target("diameter_message", diameter_message::run),
    target("diameter_node", diameter_node::run),
    target("sccp_message", sccp_message::run),
    target("sccp_connections", sccp_connections::run),
    target("sccp_node", sccp_node::run),
    target("tcap_message", tcap_message::run),
    target("tcap_dialogues", tcap_dialogues::run),
    target("tcap_records", tcap_records::run),
    target("screening_messages", screening_messages::run),
    target("guardian_words", guardian_words::run),
    target("tcu_message", tcu_message::run),
    target("tcu_application", tcu_application::run),
    target("operation_values", operation_values::run),
    target("sms_by_diameter", sms_by_diameter::run),
    target("sms_messages", sms_messages::run),
    target("mapsms_values", mapsms_values::run),
    target("ipsmgw_flows", ipsmgw_flows::run),
    target("ipsmgw_rows", ipsmgw_rows::run),
    target("keyed_changes", keyed_changes::run),
    target("smsip", smsip::run),
    target("ber_elements", ber_elements::run),
    target("bgp_message", bgp_message::run),
    target("bfd_sessions", bfd_sessions::run),
    target("ospf_packet", ospf_packet::run),
    target("ospf_instance", ospf_instance::run),
    target("igp_packets", igp_packets::run),
    target("isis_pdu", isis_pdu::run),
    target("isis_instance", isis_instance::run),
    target("ldp_message", ldp_message::run),
    target("ldp_packets", ldp_packets::run),
    target("ldp_speaker", ldp_speaker::run),
    target("lsp_message", lsp_message::run),
    target("spf_changes", spf_changes::run),
    target("policy_attributes", policy_attributes::run),
    target("mrt_records", mrt_records::run),
    target("recorded_routes", recorded_routes::run),
    target("rpki_pdu", rpki_pdu::run),
    target("rtp_packet", rtp_packet::run),
    target("rtcp_packet", rtcp_packet::run),
    target("stun_message", stun_message::run),
    target("bmp_message", bmp_message::run),
    target("capture_file", capture_file::run),
    target("cluster_posts", cluster_posts::run),
    target("codec_payloads", codec_payloads::run),
    target("plane_frames", plane::frames),
    target("plane_programs", plane::changes),
    target("media_words", media_words::run),
    target("memif_peer", memif_peer::run),
    target("forwarder_messages", forwarder_messages::run),
    target("store_blocks", store_blocks::run),
    target("traffic_analyser", traffic_analyser::run),
];

/// The target of that name.
#[must_use]
pub fn named(name: &str) -> Option<Target> {
    TARGETS.iter().find(|target| target.name == name).copied()
}
