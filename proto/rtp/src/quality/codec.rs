//! What codecs do to speech (G.113 (09/2024), appendices I and IV).
//!
//! | columns | what | source |
//! |---|---|---|
//! | Ie, Bpl narrowband | equipment impairment, robustness to losses | Tables I.1 and I.4 |
//! | Ie,WB, Bpl,WB | the same on the scale of wideband, for a handset | Tables IV.1 and IV.4 |
//!
//! G.113 has Bpl,WB for three rates of AMR-WB, and those for two ears: they stand here for one ear
//! too. It has nothing of AMR but that two of its rates are algorithms that are in the table
//! (GSM EFR, IS-641), and nothing of Opus and EVS on these scales. [`Basis`] says which is which.

/// The scale of a rating.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Band {
    /// 300 to 3,400 Hz: G.107.
    Narrow,
    /// 50 to 7,000 Hz: G.107.1.
    Wide,
}

/// Where an impairment comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// G.113 has both figures.
    Published,
    /// G.113 has the impairment; the robustness is that of a codec of its kind.
    Robustness,
    /// G.113 has neither: between those of its kind, rather too bad than too good.
    Assumed,
}

/// What a codec does to speech.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Impairment {
    /// The scale.
    pub band: Band,
    /// The equipment impairment factor.
    pub ie: f64,
    /// The packet-loss robustness factor.
    pub bpl: f64,
    /// Where both come from.
    pub basis: Basis,
}

const fn narrow(ie: f64, bpl: f64, basis: Basis) -> Impairment {
    Impairment { band: Band::Narrow, ie, bpl, basis }
}

const fn wide(ie: f64, bpl: f64, basis: Basis) -> Impairment {
    Impairment { band: Band::Wide, ie, bpl, basis }
}

use Basis::{Assumed, Published, Robustness};

wire::rows! {
    /// The codecs.
    pub enum Codec: u8, pub impairment: Impairment {
        /// G.711 with the concealment of its appendix I.
        G711 = 0, "G.711", narrow(0.0, 25.1, Published), "G.113 Table I.4";
        /// G.711 that conceals nothing.
        G711Bare = 1, "G.711 without concealment", narrow(0.0, 4.3, Published), "G.113 Table I.4";
        /// G.726 at 32 kbit/s.
        G726 = 2, "G.726-32", narrow(7.0, 10.0, Robustness), "G.113 Table I.1";
        /// G.729 without silence suppression.
        G729 = 3, "G.729", narrow(10.0, 19.0, Robustness), "G.113 Table I.1";
        /// G.729A with silence suppression.
        G729Ab = 4, "G.729AB", narrow(11.0, 19.0, Published), "G.113 Table I.4";
        /// G.723.1 at 6.3 kbit/s with silence suppression.
        G7231 = 5, "G.723.1-6.3", narrow(15.0, 16.1, Published), "G.113 Table I.4";
        /// GSM full rate.
        GsmFullRate = 6, "GSM-FR", narrow(20.0, 10.0, Robustness), "G.113 Table I.1";
        /// GSM enhanced full rate.
        GsmEfr = 7, "GSM-EFR", narrow(5.0, 10.0, Published), "G.113 Table I.4";
        /// AMR at 12.2 kbit/s, the algorithm of GSM EFR (TS 26.071).
        Amr1220 = 8, "AMR 12.2", narrow(5.0, 10.0, Published), "G.113 Table I.4 (GSM-EFR)";
        /// AMR at 10.2 kbit/s.
        Amr1020 = 9, "AMR 10.2", narrow(7.0, 10.0, Assumed), "G.113 Table I.1";
        /// AMR at 7.95 kbit/s.
        Amr795 = 10, "AMR 7.95", narrow(9.0, 10.0, Assumed), "G.113 Table I.1";
        /// AMR at 7.4 kbit/s, the algorithm of IS-641 (TS 26.071).
        Amr740 = 11, "AMR 7.4", narrow(10.0, 10.0, Robustness), "G.113 Table I.1 (IS-641)";
        /// AMR at 6.7 kbit/s.
        Amr670 = 12, "AMR 6.7", narrow(13.0, 10.0, Assumed), "G.113 Table I.1";
        /// AMR at 5.9 kbit/s.
        Amr590 = 13, "AMR 5.9", narrow(16.0, 10.0, Assumed), "G.113 Table I.1";
        /// AMR at 5.15 kbit/s.
        Amr515 = 14, "AMR 5.15", narrow(19.0, 10.0, Assumed), "G.113 Table I.1";
        /// AMR at 4.75 kbit/s.
        Amr475 = 15, "AMR 4.75", narrow(21.0, 10.0, Assumed), "G.113 Table I.1";
        /// G.722 at 64 kbit/s.
        G722 = 16, "G.722", wide(13.0, 4.3, Robustness), "G.113 Table IV.1";
        /// G.722 at 56 kbit/s.
        G722At56 = 17, "G.722-56", wide(20.0, 4.3, Robustness), "G.113 Table IV.1";
        /// G.722 at 48 kbit/s.
        G722At48 = 18, "G.722-48", wide(31.0, 4.3, Robustness), "G.113 Table IV.1";
        /// AMR-WB at 6.6 kbit/s.
        AmrWb660 = 19, "AMR-WB 6.6", wide(41.0, 4.3, Robustness), "G.113 Table IV.1";
        /// AMR-WB at 8.85 kbit/s.
        AmrWb885 = 20, "AMR-WB 8.85", wide(26.0, 4.3, Robustness), "G.113 Table IV.1";
        /// AMR-WB at 12.65 kbit/s.
        AmrWb1265 = 21, "AMR-WB 12.65", wide(13.0, 4.3, Robustness), "G.113 Table IV.1";
        /// AMR-WB at 14.25 kbit/s.
        AmrWb1425 = 22, "AMR-WB 14.25", wide(10.0, 4.3, Robustness), "G.113 Table IV.1";
        /// AMR-WB at 15.85 kbit/s.
        AmrWb1585 = 23, "AMR-WB 15.85", wide(7.0, 4.3, Robustness), "G.113 Table IV.1";
        /// AMR-WB at 18.25 kbit/s.
        AmrWb1825 = 24, "AMR-WB 18.25", wide(5.0, 4.3, Robustness), "G.113 Table IV.1";
        /// AMR-WB at 19.85 kbit/s.
        AmrWb1985 = 25, "AMR-WB 19.85", wide(3.0, 4.3, Robustness), "G.113 Table IV.1";
        /// AMR-WB at 23.05 kbit/s.
        AmrWb2305 = 26, "AMR-WB 23.05", wide(1.0, 4.6, Robustness), "G.113 Table IV.1";
        /// AMR-WB at 23.85 kbit/s: worse than at 23.05, as G.113 has it.
        AmrWb2385 = 27, "AMR-WB 23.85", wide(8.0, 4.9, Robustness), "G.113 Table IV.1";
        /// Opus at the rates of speech, as wideband.
        Opus = 28, "Opus", wide(8.0, 10.0, Assumed), "G.113 Table IV.1";
        /// EVS at 13.2 kbit/s and above, as wideband.
        Evs = 29, "EVS", wide(7.0, 10.0, Assumed), "G.113 Table IV.1";
    }
}

impl Codec {
    /// The modes of AMR by their number (RFC 4867 §3.1), 0 to 7.
    const AMR: [Self; 8] = [
        Self::Amr475,
        Self::Amr515,
        Self::Amr590,
        Self::Amr670,
        Self::Amr740,
        Self::Amr795,
        Self::Amr1020,
        Self::Amr1220,
    ];
    /// The modes of AMR-WB by their number (RFC 4867 §3.2), 0 to 8.
    const AMR_WB: [Self; 9] = [
        Self::AmrWb660,
        Self::AmrWb885,
        Self::AmrWb1265,
        Self::AmrWb1425,
        Self::AmrWb1585,
        Self::AmrWb1825,
        Self::AmrWb1985,
        Self::AmrWb2305,
        Self::AmrWb2385,
    ];

    /// The codec of that encoding name (RFC 4855 §3; case does not matter), at the rate that is
    /// usual. `None` if it is none that can be rated.
    #[must_use]
    pub fn named(encoding: &[u8]) -> Option<Self> {
        const NAMES: &[(&[u8], Codec)] = &[
            (b"PCMU", Codec::G711),
            (b"PCMA", Codec::G711),
            (b"G722", Codec::G722),
            (b"G723", Codec::G7231),
            (b"G726-32", Codec::G726),
            (b"G729", Codec::G729Ab),
            (b"GSM", Codec::GsmFullRate),
            (b"GSM-EFR", Codec::GsmEfr),
            (b"AMR", Codec::Amr1220),
            (b"AMR-WB", Codec::AmrWb1265),
            (b"opus", Codec::Opus),
            (b"EVS", Codec::Evs),
        ];
        let found = NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(encoding));
        found.map(|(_, codec)| *codec)
    }

    /// AMR in that mode, 0 to 7.
    #[must_use]
    pub fn amr(mode: u8) -> Option<Self> {
        Self::AMR.get(usize::from(mode)).copied()
    }

    /// AMR-WB in that mode, 0 to 8.
    #[must_use]
    pub fn amr_wb(mode: u8) -> Option<Self> {
        Self::AMR_WB.get(usize::from(mode)).copied()
    }
}
