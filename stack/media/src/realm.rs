//! `media` of a realm: what a side of a call wants of its media, as a site file says it.

use crate::config::near;
use anchor::{CodecName, Policy};
use config::Issue;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use srtp::{Suite, sdes};

/// How media of a realm pass. A call is anchored at a media controller if one of its two realms
/// wants that; without this key a realm does not, and is given what is written here as the default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[allow(clippy::struct_excessive_bools, reason = "a list of keys")]
pub struct RealmMedia {
    /// Whether media go through a media controller; if not, they may all the same, for the sake of
    /// the other realm.
    pub anchor: bool,
    /// Group of addresses of the media controllers that far ends of this realm send to
    /// (`[[msc.group]]`); absent: the one with the realm's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Protection of RTP: `off`, `optional` (as the other side has it), `required`, or `end-to-end`
    /// (keys pass between the far ends, which must be so for both realms).
    pub srtp: Protection,
    /// Suites of keys in the description (RFC 4568), best first: `AES_CM_128_HMAC_SHA1_80`,
    /// `AEAD_AES_256_GCM`; empty: no such keys.
    pub suites: Vec<String>,
    /// Whether keys may come by DTLS (RFC 5763).
    pub dtls: bool,
    /// With `optional`: keys are offered in a plain profile, and the answer decides (RFC 8643).
    pub opportunistic: bool,
    /// Which codecs, and in which order.
    pub codecs: CodecLists,
    /// How digits are sent to the far ends of this realm and taken from them: `pass` (as the other
    /// side does), `rtp` (RFC 4733), `info` (INFO requests) or `tones`.
    pub dtmf: Digits,
    /// Milliseconds of a packet that the far ends are asked for; absent: as the other side wishes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_ms: Option<u16>,
    /// Whether media may go back to where packets really come from (RFC 7362), as far ends behind
    /// an address translator need it: to the host of the description, or to the one that signals.
    pub latching: bool,
    /// With `latching`: whether it may be any other host, too, as far ends need it whose media take
    /// another address translator than their signalling. Whoever sends to a port before the far
    /// end does gets its media then.
    pub latching_anywhere: bool,
    /// Whether the address that signalling comes from stands for those in descriptions.
    pub source_address: bool,
    /// RTP and RTCP on one port (RFC 5761): `off`, `follow` (as both sides have it), `accept`,
    /// `offer` or `require`.
    pub rtcp_mux: RtcpMux,
    /// Connectivity checks (RFC 8445), the lite end of them: `remove`, `accept`, `follow` (as the
    /// other side has it) or `offer`.
    pub ice: Ice,
    /// Addresses that the far ends are given: `same` (of the family that they use), `ipv4`, `ipv6`.
    pub family: Family,
    /// Kilobits a second of a stream at most; a description that wants more is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth_kbps_max: Option<u32>,
    /// Whether packets beyond the bandwidth of a description, or of its codecs, are dropped.
    pub police: bool,
    /// Code point of packets to the far ends (RFC 2474), 0 to 63; absent: as they came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dscp: Option<u8>,
    /// Seconds without packets after which a stream is reported; 0: never.
    pub timeout_s: u16,
    /// Kinds of media beside `audio` that are allowed.
    pub kinds: Vec<MediaKind>,
    /// Whether streams that are no datagrams (MSRP) pass as they are, past the media controller.
    pub other: bool,
    /// Whether streams of a group may share a port (RFC 9143).
    pub bundle: bool,
}

impl Default for RealmMedia {
    fn default() -> Self {
        use MediaKind::{Application, Image, Message, Text, Video};
        let suites = [Suite::AesCm128HmacSha1_80, Suite::AesCm128HmacSha1_32];
        Self {
            anchor: false,
            group: None,
            srtp: Protection::Off,
            suites: suites.map(|suite| suite.name().to_owned()).to_vec(),
            dtls: false,
            opportunistic: false,
            codecs: CodecLists::default(),
            dtmf: Digits::Pass,
            packet_ms: None,
            latching: true,
            latching_anywhere: false,
            source_address: false,
            rtcp_mux: RtcpMux::Accept,
            ice: Ice::Remove,
            family: Family::Same,
            bandwidth_kbps_max: None,
            police: false,
            dscp: None,
            timeout_s: 0,
            kinds: vec![Video, Image, Application, Message, Text],
            other: false,
            bundle: false,
        }
    }
}

/// Lists of codecs: `PCMA`, `AMR-WB/16000`, `opus/48000/2`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CodecLists {
    /// Those that come first in what the far ends are offered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub order: Vec<String>,
    /// Those that are allowed; empty: all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// Those that are not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
    /// Those that are offered even where the other side lacks them: the media controller
    /// transcodes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub transcode: Vec<String>,
}

macro_rules! words {
    ($($(#[$doc:meta])+ $name:ident -> $to:ty { $($word:ident => $value:ident,)+ })+) => {$(
        $(#[$doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        #[allow(missing_docs, reason = "the words say it")]
        pub enum $name { $($word),+ }

        impl $name {
            const fn meaning(self) -> $to {
                match self { $(Self::$word => <$to>::$value),+ }
            }
        }
    )+};
}

words! {
    /// Protection of RTP.
    Protection -> anchor::Protection {
        Off => Off,
        Optional => Optional,
        Required => Required,
        EndToEnd => EndToEnd,
    }
    /// How digits are sent and taken.
    Digits -> anchor::Dtmf {
        Pass => Pass,
        Rtp => Events,
        Info => Info,
        Tones => Tones,
    }
    /// RTP and RTCP on one port.
    RtcpMux -> anchor::RtcpMux {
        Off => Off,
        Follow => Follow,
        Accept => Accept,
        Offer => Offer,
        Require => Require,
    }
    /// Connectivity checks.
    Ice -> anchor::Ice {
        Remove => Remove,
        Accept => Accept,
        Follow => Follow,
        Offer => Offer,
    }
    /// Addresses of a side.
    Family -> anchor::Family {
        Same => Same,
        Ipv4 => V4,
        Ipv6 => V6,
    }
}

/// A kind of media beside audio.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MediaKind {
    /// Pictures that move.
    Video,
    /// Fax.
    Image,
    /// What applications exchange.
    Application,
    /// Messages.
    Message,
    /// Text, and kinds without a name of their own.
    Text,
}

impl RealmMedia {
    /// Finds what is wrong; `at` is the path of the key.
    pub fn validate(&self, at: &str, issues: &mut Vec<Issue>) {
        for (n, name) in self.suites.iter().enumerate() {
            if suite(name).is_none() {
                let known: Vec<_> = sdes_suites().map(|suite| suite.name()).collect();
                let what = format!("`{name}` is no suite of RFC 4568");
                issues.push(Issue::new(format!("{at}.suites[{n}]"), what, near(name, &known)));
            }
        }
        let is_protected = matches!(self.srtp, Protection::Optional | Protection::Required);
        if is_protected && self.suites.is_empty() && !self.dtls {
            let hint = "name suites, or set dtls = true";
            issues.push(Issue::new(format!("{at}.srtp"), "there is no way to keys", hint));
        }
        if self.opportunistic && self.srtp != Protection::Optional {
            let hint = "set srtp = \"optional\", or leave it out";
            let what = "it is of `srtp = \"optional\"` alone";
            issues.push(Issue::new(format!("{at}.opportunistic"), what, hint));
        }
        if self.dscp.is_some_and(|dscp| dscp > 63) {
            let at = format!("{at}.dscp");
            issues.push(Issue::new(at, "not a code point", "use 0 to 63; 46 is expedited"));
        }
        if self.packet_ms.is_some_and(|ms| !(1..=200).contains(&ms)) {
            issues.push(Issue::new(format!("{at}.packet_ms"), "out of range", "use 1 to 200"));
        }
        let CodecLists { order, allow, deny, transcode } = &self.codecs;
        let lists = [("order", order), ("allow", allow), ("deny", deny), ("transcode", transcode)];
        for (key, list) in lists {
            for (n, name) in list.iter().enumerate() {
                let at = || format!("{at}.codecs.{key}[{n}]");
                let Some(read) = CodecName::read(name.as_bytes()) else {
                    let what = format!("`{name}` is no codec");
                    issues.push(Issue::new(at(), what, "write PCMA or opus/48000/2"));
                    continue;
                };
                let codec = read.codec().filter(|codec| codec.shape().is_coded);
                if key == "transcode" && codec.is_none() {
                    let coded = anchor::Codec::ALL.iter().filter(|it| it.shape().is_coded);
                    let known: Vec<_> = coded.map(|codec| codec.name()).collect();
                    let what = format!("`{name}` is not transcoded");
                    issues.push(Issue::new(at(), what, near(name, &known)));
                }
            }
        }
    }

    /// What it means for calls that are anchored.
    #[must_use]
    pub fn policy(&self) -> Policy {
        let names = |list: &[String]| -> Vec<CodecName> {
            list.iter().filter_map(|name| CodecName::read(name.as_bytes())).collect()
        };
        let has = |kind| self.kinds.contains(&kind);
        Policy {
            anchor: true, // of two realms that want it or not, one does
            srtp: anchor::Srtp {
                protection: self.srtp.meaning(),
                sdes: sdes::Policy::of(self.suites.iter().filter_map(|it| suite(it)).collect()),
                dtls: self.dtls,
                opportunistic: self.opportunistic,
                active: false,
            },
            codecs: anchor::Codecs {
                order: names(&self.codecs.order),
                allow: names(&self.codecs.allow),
                deny: names(&self.codecs.deny),
                transcode: names(&self.codecs.transcode),
                mask: Vec::new(),
            },
            dtmf: self.dtmf.meaning(),
            packet_ms: self.packet_ms,
            latching: self.latching,
            latching_anywhere: self.latching_anywhere,
            rtcp_mux: self.rtcp_mux.meaning(),
            ice: self.ice.meaning(),
            family: self.family.meaning(),
            bandwidth: anchor::Bandwidth { kbps_max: self.bandwidth_kbps_max, police: self.police },
            dscp: self.dscp,
            timeout_s: self.timeout_s,
            kinds: anchor::Kinds {
                video: has(MediaKind::Video),
                image: has(MediaKind::Image),
                application: has(MediaKind::Application),
                message: has(MediaKind::Message),
                text: has(MediaKind::Text),
            },
            other: self.other,
            bundle: self.bundle,
            ..Policy::default()
        }
    }
}

/// Suites that a description may name.
fn sdes_suites() -> impl Iterator<Item = Suite> {
    let is_null = |suite: &Suite| suite.name().starts_with("NULL");
    Suite::ALL.iter().copied().filter(move |suite| !is_null(suite))
}

fn suite(name: &str) -> Option<Suite> {
    sdes_suites().find(|suite| suite.name().eq_ignore_ascii_case(name))
}

/// A realm as its calls find it.
#[derive(Debug, Clone)]
pub struct RealmPolicy {
    /// Whether it wants its media anchored.
    pub anchor: bool,
    /// What it wants where they are.
    pub policy: Policy,
    /// Its group of addresses.
    pub group: Box<str>,
    /// Whether the address that signalling comes from stands for those in descriptions.
    pub source_address: bool,
    /// Whether its far ends send and take digits as INFO requests.
    pub is_info: bool,
    /// What media controllers have to code for it: a bit for the number of each codec.
    pub codecs: u32,
}

impl RealmPolicy {
    /// That of the realm of this name.
    #[must_use]
    pub fn of(name: &str, media: Option<&RealmMedia>) -> Self {
        let default = RealmMedia::default();
        let media = media.unwrap_or(&default);
        let policy = media.policy();
        let coded = policy.codecs.transcode.iter().filter_map(CodecName::codec);
        Self {
            anchor: media.anchor,
            codecs: coded.fold(0, |all, codec| all | 1 << codec.number()),
            policy,
            group: media.group.as_deref().unwrap_or(name).into(),
            source_address: media.source_address,
            is_info: media.dtmf == Digits::Info,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issues(text: &str) -> Vec<String> {
        let media: RealmMedia = toml::from_str(text).expect("its shape is right");
        let mut issues = Vec::new();
        media.validate("media", &mut issues);
        issues.iter().map(|issue| format!("{issue:?}")).collect()
    }

    #[test]
    fn what_a_realm_cannot_mean_is_named_with_a_hint() {
        for (text, at, hint) in [
            ("suites = ['AES_CM_128_HMAC_SHA1_8']", "media.suites[0]", "AES_CM_128_HMAC_SHA1_80"),
            ("suites = ['NULL_HMAC_SHA1_80']", "media.suites[0]", ""),
            ("srtp = 'required'\nsuites = []", "media.srtp", "dtls = true"),
            ("opportunistic = true", "media.opportunistic", "optional"),
            ("dscp = 64", "media.dscp", "46"),
            ("packet_ms = 0", "media.packet_ms", "200"),
            ("codecs = { order = ['/8000'] }", "media.codecs.order[0]", "PCMA"),
            ("codecs = { transcode = ['G729'] }", "media.codecs.transcode[0]", ""),
        ] {
            let found = issues(text);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert!(found[0].contains(at) && found[0].contains(hint), "{text}: {found:?}");
        }
        assert!(issues("anchor = true\nsrtp = 'optional'\ndtmf = 'rtp'").is_empty());
        assert!(toml::from_str::<RealmMedia>("srtp = 'maybe'").is_err());
    }

    #[test]
    fn a_realm_without_the_key_anchors_nothing_and_has_a_group_of_its_name() {
        let realm = RealmPolicy::of("access", None);
        assert!(!realm.anchor && &*realm.group == "access");
        let media: RealmMedia =
            toml::from_str("anchor = true\ngroup = 'a'\ndtmf = 'info'").unwrap();
        let realm = RealmPolicy::of("access", Some(&media));
        assert!(realm.anchor && realm.is_info && &*realm.group == "a");
        assert_eq!(realm.policy, Policy { dtmf: anchor::Dtmf::Info, ..Policy::default() });
    }
}
