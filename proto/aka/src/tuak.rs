//! TUAK (TS 35.231 §6, §7): one permutation of Keccak over all that goes in.
//!
//! ```text
//! TOP or TOPc 32 · INSTANCE 1 · "TUAK1.0" 7 · RAND 16 · AMF 2 · SQN 6 · K 32 · 0x1f … 0x80 · 0 …
//!     each with its last octet first ─→ Keccak-f[1600] ─→ MAC, RES · CK · IK · AK, each 32 apart
//! ```

use crate::keccak::{STATE, permute};
use crate::{Amf, Keys, Rand, Secret, Sqn};
use core::fmt;
use zeroize::Zeroize;

const NAME: &[u8; 7] = b"TUAK1.0";
const INSTANCE_AT: usize = 32;
const NAME_AT: usize = 33;
const RAND_AT: usize = 40;
const AMF_AT: usize = 56;
const SQN_AT: usize = 58;
const KEY_AT: usize = 64;
const PAD_AT: usize = 96;
const PAD_END: usize = 135;

/// Where results stand in what comes out.
const CK_AT: usize = 32;
const IK_AT: usize = 64;
const AK_AT: usize = 96;

/// Bits of INSTANCE that say which function it is (§7.2 to §7.5).
const F1_STAR: u8 = 0x80;
const F2345: u8 = 0x40;
const F5_STAR: u8 = 0xc0;

/// How long MAC-A and MAC-S are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MacLength {
    /// 8 octets: what TS 33.102 §6.3.2 has in AUTN.
    Bits64,
    /// 16 octets.
    Bits128,
    /// 32 octets.
    Bits256,
}

impl MacLength {
    /// In octets.
    #[must_use]
    pub const fn octets(self) -> usize {
        match self {
            Self::Bits64 => 8,
            Self::Bits128 => 16,
            Self::Bits256 => 32,
        }
    }

    const fn instance(self) -> u8 {
        match self {
            Self::Bits64 => 0x08,
            Self::Bits128 => 0x10,
            Self::Bits256 => 0x20,
        }
    }
}

/// How long RES is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResLength {
    /// 4 octets.
    Bits32,
    /// 8 octets.
    Bits64,
    /// 16 octets.
    Bits128,
    /// 32 octets.
    Bits256,
}

impl ResLength {
    /// In octets.
    #[must_use]
    pub const fn octets(self) -> usize {
        match self {
            Self::Bits32 => 4,
            Self::Bits64 => 8,
            Self::Bits128 => 16,
            Self::Bits256 => 32,
        }
    }

    const fn instance(self) -> u8 {
        match self {
            Self::Bits32 => 0,
            Self::Bits64 => 0x08,
            Self::Bits128 => 0x10,
            Self::Bits256 => 0x20,
        }
    }
}

/// How long CK or IK is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SessionLength {
    /// 16 octets.
    Bits128,
    /// 32 octets.
    Bits256,
}

impl SessionLength {
    /// In octets.
    #[must_use]
    pub const fn octets(self) -> usize {
        match self {
            Self::Bits128 => 16,
            Self::Bits256 => 32,
        }
    }
}

/// What an operator has chosen (TS 35.231 §5.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lengths {
    /// Of MAC-A and MAC-S.
    pub mac: MacLength,
    /// Of RES.
    pub res: ResLength,
    /// Of CK.
    pub ck: SessionLength,
    /// Of IK.
    pub ik: SessionLength,
}

impl Lengths {
    /// Those of TS 33.102 §6.3.7, as Milenage has them.
    pub const USUAL: Self = Self {
        mac: MacLength::Bits64,
        res: ResLength::Bits64,
        ck: SessionLength::Bits128,
        ik: SessionLength::Bits128,
    };
}

/// TUAK with the keys of one subscription.
pub struct Tuak {
    k: Secret,
    topc: Secret,
    lengths: Lengths,
    iterations: u8,
}

impl Tuak {
    /// With K of 16 or 32 octets and TOPc of this K; `None` if K is of another length.
    /// `iterations` is how often the permutation runs, once at least.
    #[must_use]
    pub fn new(k: &[u8], topc: &[u8; 32], lengths: Lengths, iterations: u8) -> Option<Self> {
        if !matches!(k.len(), 16 | 32) {
            return None;
        }
        let (k, topc) = (Secret::new(k)?, Secret::cut(topc));
        Some(Self { k, topc, lengths, iterations: iterations.max(1) })
    }

    /// With the operator's TOP, of which TOPc is made (§7.1).
    #[must_use]
    pub fn with_top(k: &[u8], top: &[u8; 32], lengths: Lengths, iterations: u8) -> Option<Self> {
        let mut tuak = Self::new(k, top, lengths, iterations)?;
        let mut out = tuak.permuted(0, None);
        tuak.topc = taken(&out, 0, 32);
        out.zeroize();
        Some(tuak)
    }

    /// TOPc.
    #[must_use]
    pub const fn topc(&self) -> &Secret {
        &self.topc
    }

    pub(crate) const fn lengths(&self) -> Lengths {
        self.lengths
    }

    fn permuted(&self, instance: u8, input: Option<(&Rand, Sqn, Amf)>) -> [u8; STATE] {
        let mut state = [0; STATE];
        put(&mut state, 0, self.topc.expose());
        state[INSTANCE_AT] = instance | u8::from(self.k.octets() == 32);
        put(&mut state, NAME_AT, NAME);
        if let Some((rand, sqn, amf)) = input {
            put(&mut state, RAND_AT, &rand.0);
            put(&mut state, AMF_AT, &amf.0);
            put(&mut state, SQN_AT, &sqn.octets());
        }
        put(&mut state, KEY_AT, self.k.expose());
        state[PAD_AT] = 0x1f;
        state[PAD_END] = 0x80;
        for _ in 0..self.iterations {
            permute(&mut state);
        }
        state
    }

    fn code(&self, star: u8, rand: &Rand, sqn: Sqn, amf: Amf) -> Secret {
        let instance = star | self.lengths.mac.instance();
        let mut out = self.permuted(instance, Some((rand, sqn, amf)));
        let code = taken(&out, 0, self.lengths.mac.octets());
        out.zeroize();
        code
    }

    pub(crate) fn f1(&self, rand: &Rand, sqn: Sqn, amf: Amf) -> Secret {
        self.code(0, rand, sqn, amf)
    }

    pub(crate) fn f1_star(&self, rand: &Rand, sqn: Sqn, amf: Amf) -> Secret {
        self.code(F1_STAR, rand, sqn, amf)
    }

    pub(crate) fn f2345(&self, rand: &Rand) -> Keys {
        let Lengths { res, ck, ik, .. } = self.lengths;
        let long = |length, bit| if length == SessionLength::Bits256 { bit } else { 0 };
        let instance = F2345 | res.instance() | long(ck, 0x04) | long(ik, 0x02);
        let mut out = self.permuted(instance, Some((rand, Sqn::default(), Amf::default())));
        let keys = Keys {
            res: taken(&out, 0, res.octets()),
            ck: taken(&out, CK_AT, ck.octets()),
            ik: taken(&out, IK_AT, ik.octets()),
            ak: taken(&out, AK_AT, 6),
        };
        out.zeroize();
        keys
    }

    pub(crate) fn f5_star(&self, rand: &Rand) -> Secret {
        let mut out = self.permuted(F5_STAR, Some((rand, Sqn::default(), Amf::default())));
        let ak = taken(&out, AK_AT, 6);
        out.zeroize();
        ak
    }
}

/// Puts octets into the state, the last one first.
fn put(state: &mut [u8; STATE], at: usize, octets: &[u8]) {
    for (to, from) in state[at..].iter_mut().zip(octets.iter().rev()) {
        *to = *from;
    }
}

/// Takes octets out of the state, the last one first.
fn taken(state: &[u8; STATE], at: usize, count: usize) -> Secret {
    let mut octets = [0; 32];
    for (to, from) in octets.iter_mut().zip(state[at..at + count].iter().rev()) {
        *to = *from;
    }
    let secret = Secret::cut(&octets[..count]);
    octets.zeroize();
    secret
}

impl fmt::Debug for Tuak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tuak").field("lengths", &self.lengths).finish_non_exhaustive()
    }
}
