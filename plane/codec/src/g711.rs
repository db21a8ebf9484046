//! G.711: A-law and µ-law by tables, exact to the octet as the reference of ITU-T G.191 has it.
//!
//! Linear samples are left-justified in 16 bits: A-law looks at the upper 13, µ-law at the
//! upper 14.

/// One of the two laws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Law {
    /// A-law.
    A,
    /// µ-law.
    Mu,
}

impl Law {
    /// The octet of a sample of silence.
    #[must_use]
    pub const fn silence(self) -> u8 {
        match self {
            Self::A => 0xD5,
            Self::Mu => 0xFF,
        }
    }

    /// Appends the samples of a payload.
    pub fn decode(self, payload: &[u8], out: &mut Vec<i16>) {
        let table = match self {
            Self::A => &A_LINEAR,
            Self::Mu => &MU_LINEAR,
        };
        out.extend(payload.iter().map(|&octet| table[usize::from(octet)]));
    }

    /// Appends the payload of samples.
    pub fn encode(self, samples: &[i16], out: &mut Vec<u8>) {
        match self {
            Self::A => out.extend(samples.iter().map(|&it| A_OCTETS[upper::<4>(it)])),
            Self::Mu => out.extend(samples.iter().map(|&it| MU_OCTETS[upper::<2>(it)])),
        }
    }
}

/// The upper bits of a sample as a place in a table.
#[inline]
const fn upper<const SHIFT: u32>(sample: i16) -> usize {
    (sample.cast_unsigned() >> SHIFT) as usize
}

static A_LINEAR: [i16; 256] = a_linear();
static MU_LINEAR: [i16; 256] = mu_linear();
static A_OCTETS: [u8; 1 << 12] = a_octets();
static MU_OCTETS: [u8; 1 << 14] = mu_octets();

#[allow(clippy::cast_possible_truncation, reason = "tables of fewer than 2^15 entries")]
const fn a_linear() -> [i16; 256] {
    let mut table = [0; 256];
    let mut octet = 0;
    while octet < 256 {
        let code = octet ^ 0x55;
        let segment = (code >> 4 & 7) as u32;
        let step = (code & 15) as i16;
        let magnitude = match segment {
            0 => (step << 4) + 8,
            _ => (((step + 16) << 4) + 8) << (segment - 1),
        };
        table[octet] = if octet & 0x80 == 0 { -magnitude } else { magnitude };
        octet += 1;
    }
    table
}

#[allow(clippy::cast_possible_truncation, reason = "tables of fewer than 2^15 entries")]
const fn mu_linear() -> [i16; 256] {
    let mut table = [0; 256];
    let mut octet = 0;
    while octet < 256 {
        let code = !octet;
        let segment = (code >> 4 & 7) as u32;
        let step = (code & 15) as i16;
        let magnitude = (((step << 3) + 0x84) << segment) - 0x84;
        table[octet] = if octet & 0x80 == 0 { -magnitude } else { magnitude };
        octet += 1;
    }
    table
}

/// The segment in which the magnitude of 13 bits lies, and the four bits of its step.
#[allow(clippy::cast_possible_truncation, reason = "tables of fewer than 2^15 entries")]
const fn a_octets() -> [u8; 1 << 12] {
    let mut table = [0; 1 << 12];
    let mut upper = 0;
    while upper < 1 << 12 {
        let is_negative = upper & 0x800 != 0;
        let magnitude = if is_negative { !upper & 0x7FF } else { upper } as u32;
        let code = match magnitude {
            ..16 => magnitude,
            _ => {
                let segment = 28 - magnitude.leading_zeros();
                segment << 4 | (magnitude >> (segment - 1)) & 15
            }
        };
        let sign = if is_negative { 0 } else { 0x80 };
        table[upper] = (code as u8 | sign) ^ 0x55;
        upper += 1;
    }
    table
}

#[allow(clippy::cast_possible_truncation, reason = "tables of fewer than 2^15 entries")]
const fn mu_octets() -> [u8; 1 << 14] {
    let mut table = [0; 1 << 14];
    let mut upper = 0;
    while upper < 1 << 14 {
        let is_negative = upper & 0x2000 != 0;
        let magnitude = if is_negative { !upper & 0x1FFF } else { upper } as u32 + 33;
        let magnitude = if magnitude > 0x1FFF { 0x1FFF } else { magnitude };
        let segment = 26 - magnitude.leading_zeros();
        let code = segment << 4 | (magnitude >> (segment + 1)) & 15;
        let sign = if is_negative { 0 } else { 0x80 };
        table[upper] = !(code as u8) & 0x7F | sign;
        upper += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `alaw_compress` of G.191, word for word.
    fn a_reference(sample: i16) -> u8 {
        let mut ix = if sample < 0 { !sample >> 4 } else { sample >> 4 };
        if ix > 15 {
            let mut exponent = 1;
            while ix > 16 + 15 {
                ix >>= 1;
                exponent += 1;
            }
            ix -= 16;
            ix += exponent << 4;
        }
        if sample >= 0 {
            ix |= 0x80;
        }
        (ix ^ 0x55) as u8
    }

    /// `ulaw_compress` of G.191, word for word.
    fn mu_reference(sample: i16) -> u8 {
        let absolute = if sample < 0 { (!sample >> 2) + 33 } else { (sample >> 2) + 33 };
        let absolute = absolute.min(0x1FFF);
        let (mut i, mut segment) = (absolute >> 6, 1);
        while i != 0 {
            segment += 1;
            i >>= 1;
        }
        let octet = (8 - segment) << 4 | (15 - (absolute >> segment & 15));
        (if sample >= 0 { octet | 0x80 } else { octet }) as u8
    }

    #[test]
    fn every_sample_is_coded_as_g_191_codes_it() {
        let all: Vec<i16> = (i16::MIN..=i16::MAX).collect();
        let (mut a, mut mu) = (Vec::new(), Vec::new());
        Law::A.encode(&all, &mut a);
        Law::Mu.encode(&all, &mut mu);
        for (at, &sample) in all.iter().enumerate() {
            assert_eq!(a[at], a_reference(sample), "A-law of {sample}");
            assert_eq!(mu[at], mu_reference(sample), "µ-law of {sample}");
        }
    }

    #[test]
    fn every_octet_is_what_it_was_decoded_from() {
        let all: Vec<u8> = (0..=255).collect();
        for law in [Law::A, Law::Mu] {
            let (mut samples, mut again) = (Vec::new(), Vec::new());
            law.decode(&all, &mut samples);
            law.encode(&samples, &mut again);
            for (&octet, &back) in all.iter().zip(&again) {
                // The two zeros of µ-law are one sample.
                let is_zero = law == Law::Mu && octet == 0x7F;
                assert_eq!(back, if is_zero { 0xFF } else { octet }, "{law:?}");
            }
            let mut silent = Vec::new();
            law.encode(&[0], &mut silent);
            assert_eq!(silent, [law.silence()]);
        }
        let mut samples = Vec::new();
        Law::A.decode(&[0xD5, 0x55, 0x2A, 0xAA], &mut samples);
        Law::Mu.decode(&[0xFF, 0x00, 0x80], &mut samples);
        assert_eq!(samples, [8, -8, -32_256, 32_256, 0, -32_124, 32_124]);
    }
}
