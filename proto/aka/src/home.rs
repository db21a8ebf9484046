//! The home network's end (TS 33.102 §6.3.2, §6.3.5): makes vectors and resynchronises.

use crate::{Algorithm, Amf, Autn, Auts, Exhausted, Generator, Rand, Secret, Sqn};
use core::fmt;

/// All that a node needs for one challenge.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Vector {
    /// The challenge.
    pub rand: Rand,
    /// What proves the network.
    pub autn: Autn,
    /// The answer that is expected.
    pub xres: Secret,
    /// The cipher key.
    pub ck: Secret,
    /// The integrity key.
    pub ik: Secret,
}

/// A resynchronisation that the card did not ask for: its MAC-S is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Forged;

impl fmt::Display for Forged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the code in AUTS is wrong")
    }
}

impl core::error::Error for Forged {}

/// A subscription as its home network has it.
#[derive(Debug)]
pub struct Home {
    algorithm: Algorithm,
    amf: Amf,
    generator: Generator,
}

impl Home {
    /// A subscription.
    #[must_use]
    pub const fn new(algorithm: Algorithm, amf: Amf, generator: Generator) -> Self {
        Self { algorithm, amf, generator }
    }

    /// Its sequence numbers, whose state a standby must know.
    #[must_use]
    pub const fn generator(&self) -> &Generator {
        &self.generator
    }

    /// A vector for a challenge that was drawn at random; `clock` in units of the scheme.
    ///
    /// # Errors
    /// [`Exhausted`].
    pub fn vector(&mut self, rand: Rand, clock: u64) -> Result<Vector, Exhausted> {
        let sqn = self.generator.next(clock)?;
        Ok(self.vector_of(rand, sqn))
    }

    /// The vector of that sequence number.
    fn vector_of(&self, rand: Rand, sqn: Sqn) -> Vector {
        let mac = self.algorithm.f1(&rand, sqn, self.amf);
        let keys = self.algorithm.f2345(&rand);
        let autn = Autn { concealed: Sqn::concealed(sqn.octets(), &keys.ak), amf: self.amf, mac };
        Vector { rand, autn, xres: keys.res, ck: keys.ck, ik: keys.ik }
    }

    /// Goes on from the number that the card tells, unless the card would take the next one anyway:
    /// then it was told before. `rand` is the challenge that the card answers.
    ///
    /// # Errors
    /// [`Forged`], and nothing has changed.
    pub fn resynchronise(&mut self, rand: &Rand, auts: &Auts, clock: u64) -> Result<(), Forged> {
        let sqn_ms = auts.sqn(&self.algorithm.f5_star(rand));
        // AMF is zero there (§6.3.3): whatever the challenge said is no part of it.
        if self.algorithm.f1_star(rand, sqn_ms, Amf::default()) != auts.mac {
            return Err(Forged);
        }
        if !self.generator.is_in_range(sqn_ms) {
            self.generator.resynchronise(sqn_ms, clock);
        }
        Ok(())
    }
}
