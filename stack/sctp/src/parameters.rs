//! Parameters and extensions as a site file has them: a preset, and what differs from it.

use config::Issue;
use core::time::Duration;
use schemars::JsonSchema;
use sctp::Parameters;
use serde::{Deserialize, Serialize};

/// Largest time of any parameter, milliseconds: a day.
const TIME_MAX_MS: u32 = 86_400_000;
/// Smallest buffer: two full packets of 1,500 octets; RFC 9260 §6.2 wants 1,500 of a receiver.
const BUFFER_MIN: u32 = 4_096;
/// Smallest PMTU that is believed (RFC 9260 §7.3).
const PMTU_MIN: u16 = 512;

/// Parameters that differ from the preset; what is absent is the preset's. RTO.Alpha and RTO.Beta
/// (RFC 9260 §16) are 1/8 and 1/4 and no keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Overrides {
    /// RTO.Initial, milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rto_initial_ms: Option<u32>,
    /// RTO.Min, milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rto_min_ms: Option<u32>,
    /// RTO.Max, milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rto_max_ms: Option<u32>,
    /// Path.Max.Retrans: a path is inactive after more time-outs in a row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_max_retrans: Option<u16>,
    /// PotentiallyFailed.Max.Retrans (RFC 7829): data leaves a path after more time-outs in a
    /// row. Not below `path_max_retrans` means that there is no such state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub potentially_failed_max_retrans: Option<u16>,
    /// Primary.Switchover.Max.Retrans (RFC 7829): after more time-outs in a row the path that
    /// took over becomes the primary; 65535: the primary gets its traffic back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub primary_switchover_max_retrans: Option<u16>,
    /// HB.interval, milliseconds; 0: no heartbeats on a path that works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hb_interval_ms: Option<u32>,
    /// HB.Max.Burst: heartbeats at most at one time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hb_max_burst: Option<u16>,
    /// PMTU at the start, octets of the IP packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pmtu: Option<u16>,
    /// Largest PMTU to search for by probes (RFC 8899); 0: it stays at `pmtu`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pmtu_max: Option<u16>,
    /// Association.Max.Retrans.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub association_max_retrans: Option<u16>,
    /// Max.Init.Retransmits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_init_retransmits: Option<u16>,
    /// Valid.Cookie.Life, milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid_cookie_life_ms: Option<u32>,
    /// Max.Burst: packets at most that one event lets out; 0: as many as the window allows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_burst: Option<u16>,
    /// SACK.Delay, milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sack_delay_ms: Option<u32>,
    /// Packets with DATA after which a SACK is sent at once (RFC 9260 §6.2: 2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sack_frequency: Option<u16>,
    /// Whether small messages wait for an acknowledgement or for a full packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nagle: Option<bool>,
    /// Octets of a message from which on it may be split to fill a packet with its beginning:
    /// fewer packets, but a message that needs two of them; 0: only what is too long for a packet
    /// is split. 512 with the carriers `ip` and `xdp` without `interleaving`, else 0: a run of
    /// equal packets over UDP costs less, and Linux cannot put fragments of I-DATA together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split_from_bytes: Option<u32>,
    /// Outbound streams to ask for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outbound_streams: Option<u16>,
    /// Inbound streams to accept at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inbound_streams: Option<u16>,
    /// Octets of user data that may wait for order or reassembly, an association.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_buffer_bytes: Option<u32>,
    /// A message that has not come whole is given to its user in parts of at least so many octets,
    /// so that it may be longer than the receive buffer (RFC 6458 §8.1.21); 0: only whole messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial_delivery_point: Option<u32>,
    /// Octets of user data that may wait for sending or acknowledgement, an association.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_buffer_bytes: Option<u32>,
}

/// Extensions that differ from the preset; each is used when the peer has it too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Extensions {
    /// Messages that are worth sending for a time only (RFC 3758).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial_reliability: Option<bool>,
    /// Large messages do not hold up others (I-DATA, RFC 8260).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interleaving: Option<bool>,
    /// Streams are reset and added (RFC 6525).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reconfiguration: Option<bool>,
    /// Chunks are authenticated (RFC 4895).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authentication: Option<bool>,
    /// Addresses are added and deleted while an association stands (RFC 5061); brings
    /// `authentication` along.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address_reconfiguration: Option<bool>,
    /// Adaptation Layer Indication to send (RFC 5061 §4.2.6).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adaptation: Option<u32>,
    /// The error detection method of a layer below that makes a checksum of zero acceptable
    /// (RFC 9653; 1: DTLS).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zero_checksum: Option<u32>,
}

/// The parameters of a preset: `rfc9260`, `tandem`, `telecom(2)`.
#[must_use]
pub fn preset(name: &str) -> Option<Parameters> {
    let telecom = |text: &str| text.strip_prefix("telecom(")?.strip_suffix(')')?.parse().ok();
    match name {
        "rfc9260" => Some(Parameters::rfc9260()),
        "tandem" => Some(Parameters::tandem()),
        other => telecom(other).map(Parameters::telecom),
    }
}

const fn ms(milliseconds: u32) -> Duration {
    Duration::from_millis(milliseconds as u64)
}

fn set<T: Copy>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

/// Zero stands for none.
fn set_some<T: Default + PartialEq, U>(
    place: &mut Option<U>,
    value: Option<T>,
    made: impl Fn(T) -> U,
) {
    if let Some(value) = value {
        *place = if value == T::default() { None } else { Some(made(value)) };
    }
}

impl Overrides {
    /// Writes what is given over a preset.
    pub fn apply(&self, to: &mut Parameters) {
        self.apply_path(&mut to.path);
        set(&mut to.association_max_retrans, self.association_max_retrans);
        set(&mut to.max_init_retransmits, self.max_init_retransmits);
        set(&mut to.valid_cookie_life, self.valid_cookie_life_ms.map(ms));
        set_some(&mut to.max_burst, self.max_burst, |burst| burst);
        set(&mut to.hb_max_burst, self.hb_max_burst);
        set(&mut to.sack_delay, self.sack_delay_ms.map(ms));
        set(&mut to.sack_frequency, self.sack_frequency);
        if let Some(limit) = self.primary_switchover_max_retrans {
            to.primary_switchover_max_retrans = (limit != u16::MAX).then_some(limit);
        }
        set(&mut to.nagle, self.nagle);
        set_some(&mut to.split_from_bytes, self.split_from_bytes, |octets| octets);
        set(&mut to.outbound_streams, self.outbound_streams);
        set(&mut to.inbound_streams, self.inbound_streams);
        set(&mut to.receive_buffer, self.receive_buffer_bytes);
        set_some(&mut to.partial_delivery_point, self.partial_delivery_point, |octets| octets);
        set(&mut to.send_buffer, self.send_buffer_bytes);
    }

    fn apply_path(&self, to: &mut sctp::PathParameters) {
        set(&mut to.rto_initial, self.rto_initial_ms.map(ms));
        set(&mut to.rto_min, self.rto_min_ms.map(ms));
        set(&mut to.rto_max, self.rto_max_ms.map(ms));
        set(&mut to.path_max_retrans, self.path_max_retrans);
        if let Some(limit) = self.potentially_failed_max_retrans {
            to.potentially_failed_max_retrans = (limit < to.path_max_retrans).then_some(limit);
        }
        set_some(&mut to.hb_interval, self.hb_interval_ms, ms);
        set(&mut to.pmtu, self.pmtu);
        set_some(&mut to.pmtu_max, self.pmtu_max, |pmtu| pmtu);
    }

    /// Pushes what is wrong with the parameters as they result; paths are those of the overrides.
    pub(crate) fn validate(result: &Parameters, issues: &mut Vec<Issue>) {
        let mut refuse = |path: &str, what: String, hint: &str| {
            issues.push(Issue::new(path, what, hint));
        };
        let path = &result.path;
        let times = [
            ("rto_initial_ms", path.rto_initial),
            ("rto_min_ms", path.rto_min),
            ("rto_max_ms", path.rto_max),
            ("valid_cookie_life_ms", result.valid_cookie_life),
        ];
        for (key, time) in times {
            if time.is_zero() || time > ms(TIME_MAX_MS) {
                refuse(key, format!("{} ms is out of range", time.as_millis()), "use 1 to a day");
            }
        }
        if path.rto_min > path.rto_max {
            refuse("rto_min_ms", "it is above rto_max_ms".to_owned(), "let it be at most that");
        }
        // RFC 9260 §6.2: the delay MUST NOT be above 500 ms.
        if result.sack_delay > Duration::from_millis(500) {
            let what = format!("{} ms is out of range", result.sack_delay.as_millis());
            refuse("sack_delay_ms", what, "use 0 to 500 (RFC 9260 §6.2)");
        }
        if path.hb_interval.is_some_and(|interval| interval > ms(TIME_MAX_MS)) {
            refuse("hb_interval_ms", "it is out of range".to_owned(), "use at most a day");
        }
        if path.pmtu < PMTU_MIN {
            refuse("pmtu", format!("{} is out of range", path.pmtu), "use 512 to 65535");
        }
        if path.pmtu_max.is_some_and(|most| most < path.pmtu) {
            refuse("pmtu_max", "it is below pmtu".to_owned(), "use pmtu or more, 0 for no search");
        }
        if result.partial_delivery_point.is_some_and(|point| point > result.receive_buffer / 2) {
            let what = "it is above half of receive_buffer_bytes".to_owned();
            refuse("partial_delivery_point", what, "let it be at most that");
        }
        let positive = [
            ("sack_frequency", result.sack_frequency),
            ("hb_max_burst", result.hb_max_burst),
            ("outbound_streams", result.outbound_streams),
            ("inbound_streams", result.inbound_streams),
        ];
        for (key, _) in positive.into_iter().filter(|(_, number)| *number == 0) {
            refuse(key, "0 is out of range".to_owned(), "use 1 to 65535");
        }
        let buffers = [
            ("receive_buffer_bytes", result.receive_buffer),
            ("send_buffer_bytes", result.send_buffer),
        ];
        for (key, bytes) in buffers.into_iter().filter(|(_, bytes)| *bytes < BUFFER_MIN) {
            refuse(key, format!("{bytes} is out of range"), "use 4096 or more");
        }
    }
}

impl Extensions {
    /// Writes what is given over a preset.
    pub fn apply(&self, to: &mut sctp::Extensions) {
        set(&mut to.partial_reliability, self.partial_reliability);
        set(&mut to.interleaving, self.interleaving);
        set(&mut to.reconfiguration, self.reconfiguration);
        set(&mut to.authentication, self.authentication);
        set(&mut to.address_reconfiguration, self.address_reconfiguration);
        to.adaptation = self.adaptation.or(to.adaptation);
        to.zero_checksum = self.zero_checksum.or(to.zero_checksum);
    }
}
