//! Milenage (TS 35.206 §4.1) with AES-128 as its kernel.
//!
//! ```text
//! TEMP = E(RAND ⊕ OPc)
//! OUT1 = E(TEMP ⊕ rot(SQN‖AMF‖SQN‖AMF ⊕ OPc, r1) ⊕ c1) ⊕ OPc      f1 │ f1*
//! OUTn = E(rot(TEMP ⊕ OPc, rn) ⊕ cn) ⊕ OPc      2: f5, f2 · 3: f3 · 4: f4 · 5: f5*
//! ```

use crate::{Amf, Keys, Rand, Secret, Sqn};
use cipher::Aes;
use core::fmt;
use zeroize::Zeroize;

/// What a block is turned by, bits, and what is added to it (§4.1).
const R: [u32; 5] = [64, 0, 32, 64, 96];
const C: [u128; 5] = [0, 1, 2, 4, 8];

/// Milenage with the keys of one subscription: AES under K, and OPc.
pub struct Milenage {
    aes: Box<Aes>,
    opc: u128,
}

impl Milenage {
    /// With K and the operator's OPc of this K.
    #[must_use]
    pub fn new(k: &[u8; 16], opc: &[u8; 16]) -> Self {
        let aes = Box::new(Aes::new(k).expect("AES takes 16 octets"));
        Self { aes, opc: u128::from_be_bytes(*opc) }
    }

    /// With K and the operator's OP, of which OPc is made.
    #[must_use]
    pub fn with_op(k: &[u8; 16], op: &[u8; 16]) -> Self {
        let aes = Box::new(Aes::new(k).expect("AES takes 16 octets"));
        let opc = encrypted(&aes, u128::from_be_bytes(*op)) ^ u128::from_be_bytes(*op);
        Self { aes, opc }
    }

    /// OPc (§4.1).
    #[must_use]
    pub fn opc(&self) -> Secret {
        Secret::cut(&self.opc.to_be_bytes())
    }

    fn temp(&self, rand: &Rand) -> u128 {
        encrypted(&self.aes, u128::from_be_bytes(rand.0) ^ self.opc)
    }

    /// OUT1: the codes of f1 and of f1*.
    fn codes(&self, rand: &Rand, sqn: Sqn, amf: Amf) -> [u8; 16] {
        let half = u128::from(sqn.number()) << 16 | u128::from(u16::from_be_bytes(amf.0));
        let turned = (half << 64 | half) ^ self.opc;
        let input = self.temp(rand) ^ turned.rotate_left(R[0]) ^ C[0];
        (encrypted(&self.aes, input) ^ self.opc).to_be_bytes()
    }

    /// OUT2 to OUT5.
    fn out(&self, temp: u128, number: usize) -> [u8; 16] {
        let input = (temp ^ self.opc).rotate_left(R[number - 1]) ^ C[number - 1];
        (encrypted(&self.aes, input) ^ self.opc).to_be_bytes()
    }

    pub(crate) fn f1(&self, rand: &Rand, sqn: Sqn, amf: Amf) -> Secret {
        Secret::cut(&self.codes(rand, sqn, amf)[..8])
    }

    pub(crate) fn f1_star(&self, rand: &Rand, sqn: Sqn, amf: Amf) -> Secret {
        Secret::cut(&self.codes(rand, sqn, amf)[8..])
    }

    pub(crate) fn f2345(&self, rand: &Rand) -> Keys {
        let temp = self.temp(rand);
        let mut outs = [2, 3, 4].map(|number| self.out(temp, number));
        let keys = Keys {
            res: Secret::cut(&outs[0][8..]),
            ck: Secret::cut(&outs[1]),
            ik: Secret::cut(&outs[2]),
            ak: Secret::cut(&outs[0][..6]),
        };
        outs.zeroize();
        keys
    }

    pub(crate) fn f5_star(&self, rand: &Rand) -> Secret {
        Secret::cut(&self.out(self.temp(rand), 5)[..6])
    }
}

fn encrypted(aes: &Aes, block: u128) -> u128 {
    let mut octets = block.to_be_bytes();
    aes.encrypt(&mut octets);
    u128::from_be_bytes(octets)
}

impl Drop for Milenage {
    fn drop(&mut self) {
        self.opc.zeroize();
    }
}

impl fmt::Debug for Milenage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Milenage").finish_non_exhaustive()
    }
}
