//! The codecs of RTP: one row each (RFC 3551 §6 and the payload formats).

/// What is known of a codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Its static payload type.
    pub number: Option<u8>,
    /// Clock rate, Hz; 0: any.
    pub clock: u32,
    /// Channels.
    pub channels: u8,
    /// Bits a second at most, without headers; 0: unknown.
    pub rate_bps: u32,
    /// Whether the media plane codes and decodes it.
    pub is_coded: bool,
    /// Whether it only goes beside another one: events, comfort noise, redundancy.
    pub is_auxiliary: bool,
}

const fn coded(number: Option<u8>, clock: u32, channels: u8, rate_bps: u32) -> Shape {
    Shape { number, clock, channels, rate_bps, is_coded: true, is_auxiliary: false }
}

const fn relayed(number: Option<u8>, clock: u32, rate_bps: u32) -> Shape {
    Shape { number, clock, channels: 1, rate_bps, is_coded: false, is_auxiliary: false }
}

const fn beside(number: Option<u8>, clock: u32) -> Shape {
    Shape { number, clock, channels: 1, rate_bps: 0, is_coded: false, is_auxiliary: true }
}

wire::rows! {
    /// Codecs by the name of their media subtype.
    pub enum Codec: u8, pub shape: Shape {
        /// G.711 µ-law.
        Pcmu = 1, "PCMU", coded(Some(0), 8_000, 1, 64_000), "RFC 3551 §4.5.14";
        /// G.711 A-law.
        Pcma = 2, "PCMA", coded(Some(8), 8_000, 1, 64_000), "RFC 3551 §4.5.14";
        /// G.722; its clock is 8,000 by an old mistake.
        G722 = 3, "G722", coded(Some(9), 8_000, 1, 64_000), "RFC 3551 §4.5.2";
        /// Opus.
        Opus = 4, "opus", coded(None, 48_000, 2, 128_000), "RFC 7587 §7";
        /// AMR.
        Amr = 5, "AMR", coded(None, 8_000, 1, 12_800), "RFC 4867 §8.1";
        /// AMR-WB.
        AmrWb = 6, "AMR-WB", coded(None, 16_000, 1, 24_400), "RFC 4867 §8.2";
        /// EVS.
        Evs = 7, "EVS", relayed(None, 16_000, 128_000), "TS 26.445 §A.3";
        /// G.729, with all its annexes.
        G729 = 8, "G729", relayed(Some(18), 8_000, 8_000), "RFC 3551 §4.5.6";
        /// GSM full rate.
        Gsm = 9, "GSM", relayed(Some(3), 8_000, 13_200), "RFC 3551 §4.5.8";
        /// G.723.1.
        G723 = 10, "G723", relayed(Some(4), 8_000, 6_400), "RFC 3551 §4.5.3";
        /// G.728.
        G728 = 11, "G728", relayed(Some(15), 8_000, 16_000), "RFC 3551 §4.5.5";
        /// iLBC.
        Ilbc = 12, "iLBC", relayed(None, 8_000, 15_200), "RFC 3952 §4.1";
        /// Speex.
        Speex = 13, "speex", relayed(None, 0, 44_200), "RFC 5574 §4.1";
        /// Linear, 16 bits.
        L16 = 14, "L16", relayed(None, 0, 1_411_200), "RFC 3551 §4.5.11";
        /// G.726 at 32 kbit/s.
        G726 = 15, "G726-32", relayed(None, 8_000, 32_000), "RFC 3551 §4.5.4";
        /// Comfort noise.
        ComfortNoise = 16, "CN", beside(Some(13), 0), "RFC 3389 §5";
        /// Digits and other events.
        TelephoneEvent = 17, "telephone-event", beside(None, 0), "RFC 4733 §7.1.1";
        /// Redundancy.
        Red = 18, "red", beside(None, 0), "RFC 2198 §5";
        /// Retransmission.
        Rtx = 19, "rtx", beside(None, 0), "RFC 4588 §8.6";
        /// Forward error correction.
        UlpFec = 20, "ulpfec", beside(None, 0), "RFC 5109 §14";
        /// The same for any payload.
        FlexFec = 21, "flexfec-03", beside(None, 0), "RFC 8627 §5.1";
        /// H.264.
        H264 = 22, "H264", relayed(None, 90_000, 0), "RFC 6184 §8.1";
        /// VP8.
        Vp8 = 23, "VP8", relayed(None, 90_000, 0), "RFC 7741 §6.1";
    }
}

impl Codec {
    /// The row of that name; case does not matter (RFC 8866 §6.6).
    #[must_use]
    pub fn named(name: &[u8]) -> Option<Self> {
        let is = |codec: &&Self| codec.name().as_bytes().eq_ignore_ascii_case(name);
        Self::ALL.iter().find(is).copied()
    }

    /// The row of a static payload type (RFC 3551 §6).
    #[must_use]
    pub fn numbered(number: u8) -> Option<Self> {
        Self::ALL.iter().find(|codec| codec.shape().number == Some(number)).copied()
    }
}
