//! The flags of a command as policies: those of rtpengine's defaults, changed by what is said.

use crate::bencode::Value;
use crate::command::Command;
use anchor::{CodecName, Family, Feedback, Ice, Origin, Policy, Protection, RtcpMux, Side, Srtp};
use srtp::{Suite, sdes};

/// The suites, in rtpengine's order.
const SUITES: [Suite; 8] = [
    Suite::AeadAes256Gcm,
    Suite::AeadAes128Gcm,
    Suite::AesCm256HmacSha1_80,
    Suite::AesCm256HmacSha1_32,
    Suite::AesCm192HmacSha1_80,
    Suite::AesCm192HmacSha1_32,
    Suite::AesCm128HmacSha1_80,
    Suite::AesCm128HmacSha1_32,
];

/// What a side has if nothing is said.
pub(crate) fn usual() -> Policy {
    Policy {
        srtp: Srtp {
            protection: Protection::Optional,
            sdes: sdes::Policy::of(SUITES.to_vec()),
            dtls: true,
            opportunistic: false,
            active: true,
        },
        rtcp_mux: RtcpMux::Follow,
        ice: Ice::Follow,
        latching_anywhere: true,
        other: true,
        origin: Origin::Pass,
        ..Policy::default()
    }
}

/// Takes the flags of an offer from that side.
pub(crate) fn offer(command: &Command<'_>, from: Side, policies: &mut [Policy; 2]) {
    let (a, b) = policies.split_at_mut(1);
    let (speaker, other) =
        if from == Side::A { (&mut a[0], &mut b[0]) } else { (&mut b[0], &mut a[0]) };
    // What the last offer said of the side that is spoken to counts no more.
    let Policy { latching, latching_anywhere, .. } = *other;
    *other = Policy { latching, latching_anywhere, ..usual() };
    transport(command, other);
    keys(command, other);
    match command.text("ICE") {
        Some(b"force" | b"force-relay" | b"force_relay") => other.ice = Ice::Offer,
        Some(b"remove") => other.ice = Ice::Remove,
        _ => {}
    }
    mux(command, speaker, other);
    codecs(command, other);
    match command.texts("address-family").next() {
        Some(b"IP4") => other.family = Family::V4,
        Some(b"IP6") => other.family = Family::V6,
        _ => {}
    }
    if command.has("flags", "asymmetric") {
        speaker.latching = false;
    } else if command.has("flags", "symmetric") {
        speaker.latching = true;
    }
    speaker.latching_anywhere = learns_anywhere(command);
    if let Some(tos) = command.what.at("TOS").and_then(Value::number) {
        let dscp = u8::try_from(tos).ok().map(|tos| tos >> 2);
        (speaker.dscp, other.dscp) = (dscp, dscp);
    }
    written(command, other);
}

/// Whether packets of anyone may teach where the speaker is. So rtpengine does, and so do drivers
/// expect it whose far ends are behind another address translator than their signalling; those that
/// say `strict source` or `trust address` have the far end at the host of its description or at the
/// one of `received-from`, and nowhere else.
fn learns_anywhere(command: &Command<'_>) -> bool {
    !["strict-source", "trust-address"].iter().any(|flag| command.has("flags", flag))
}

/// Takes the flags of an answer, which goes to `to`.
pub(crate) fn answer(command: &Command<'_>, to: Side, policies: &mut [Policy; 2]) {
    policies[to.other().index()].latching_anywhere = learns_anywhere(command);
    let policy = &mut policies[to.index()];
    if command.text("ICE") == Some(b"remove") {
        policy.ice = Ice::Remove;
    }
    written(command, policy);
}

/// What changes how a description is written.
fn written(command: &Command<'_>, policy: &mut Policy) {
    policy.origin =
        if command.has("replace", "origin") { Origin::PassAtOwnAddress } else { Origin::Pass };
    policy.rtcp_attribute = !command.has("flags", "no-rtcp-attribute");
    let ms = command.what.at("ptime").and_then(Value::number);
    policy.packet_ms = ms.and_then(|ms| u16::try_from(ms).ok()).filter(|ms| *ms > 0);
}

fn transport(command: &Command<'_>, policy: &mut Policy) {
    let Some(protocol) = command.texts("transport-protocol").next() else { return };
    let anchor::Carriage::Rtp { security, feedback } = anchor::Carriage::of(protocol) else {
        return;
    };
    policy.feedback = if feedback { Feedback::On } else { Feedback::Off };
    policy.srtp.protection = match security {
        anchor::Security::Plain => Protection::Off,
        anchor::Security::Srtp | anchor::Security::Dtls => Protection::Required,
    };
    if security == anchor::Security::Dtls {
        policy.srtp.sdes = sdes::Policy::of(Vec::new());
    }
    let wants = |word| command.texts("OSRTP").any(|it| it == word);
    if wants(&b"offer"[..]) && security == anchor::Security::Plain {
        policy.srtp.protection = Protection::Optional;
        policy.srtp.opportunistic = true;
    }
}

fn keys(command: &Command<'_>, policy: &mut Policy) {
    match command.text("DTLS") {
        Some(b"off" | b"no" | b"disable") => policy.srtp.dtls = false,
        Some(b"passive") => policy.srtp.active = false,
        _ => {}
    }
    for word in command.texts("SDES") {
        if matches!(word, b"off" | b"no" | b"disable") {
            policy.srtp.sdes.suites.clear();
        } else if let Some(name) = word.strip_prefix(b"no-") {
            policy.srtp.sdes.suites.retain(|suite| suite.name().as_bytes() != name);
        }
    }
}

fn mux(command: &Command<'_>, speaker: &mut Policy, other: &mut Policy) {
    speaker.rtcp_mux = RtcpMux::Follow;
    for word in command.texts("rtcp-mux") {
        match word {
            b"offer" => other.rtcp_mux = RtcpMux::Offer,
            b"require" => other.rtcp_mux = RtcpMux::Require,
            b"demux" => {
                other.rtcp_mux = RtcpMux::Off;
                speaker.rtcp_mux = RtcpMux::Accept;
            }
            b"accept" => speaker.rtcp_mux = RtcpMux::Accept,
            b"reject" => speaker.rtcp_mux = RtcpMux::Off,
            _ => {}
        }
    }
}

/// The lists of `codec`, and flags like `codec-strip-PCMU`; `transcode-PCMU` is the older form of
/// `codec-transcode-PCMU`. Whatever was offered is taken for transcoding (`accept`), with the
/// options that it has (`set` changes none here).
fn codecs(command: &Command<'_>, policy: &mut Policy) {
    let lists = command.what.at("codec");
    let codecs = &mut policy.codecs;
    let mut named = Vec::new();
    for verb in ["strip", "mask", "consume", "transcode", "offer", "except"] {
        let listed = lists.and_then(|lists| lists.at(verb)).into_iter().flat_map(Value::texts);
        let prefix = format!("codec-{verb}-");
        let flagged = command.texts("flags");
        let flagged = flagged.filter_map(|flag| {
            let short = || flag.strip_prefix(b"transcode-").filter(|_| verb == "transcode");
            flag.strip_prefix(prefix.as_bytes()).or_else(short)
        });
        let names: Vec<CodecName> = listed.chain(flagged).filter_map(CodecName::read).collect();
        match verb {
            "strip" => codecs.deny.extend(names),
            "mask" | "consume" => codecs.mask.extend(names),
            "transcode" => codecs.transcode.extend(names),
            _ => named.extend(names),
        }
    }
    // An exception is one of a list of all.
    if codecs.deny.iter().chain(&codecs.mask).any(CodecName::is_all) {
        named.extend(codecs.transcode.iter().cloned());
        codecs.allow = named;
    }
}
