//! The card's end (TS 33.102 §6.3.3): proves the network, then answers.

use crate::{Algorithm, Amf, Autn, Auts, Freshness, Rand, Secret, Sqn};

/// What a card answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// RES.
    pub res: Secret,
    /// The cipher key.
    pub ck: Secret,
    /// The integrity key.
    pub ik: Secret,
}

/// Why a card does not answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reject {
    /// MAC-A is wrong: this is not the home network.
    Mac,
    /// The sequence number is not fresh; with this the home network resynchronises.
    Synchronisation(Auts),
}

/// A card.
#[derive(Debug)]
pub struct Card {
    algorithm: Algorithm,
    freshness: Freshness,
}

impl Card {
    /// A card.
    #[must_use]
    pub const fn new(algorithm: Algorithm, freshness: Freshness) -> Self {
        Self { algorithm, freshness }
    }

    /// The numbers that it has taken.
    #[must_use]
    pub const fn freshness(&self) -> &Freshness {
        &self.freshness
    }

    /// Octets of the codes in its tokens.
    #[must_use]
    pub fn mac_octets(&self) -> usize {
        self.algorithm.mac_octets()
    }

    /// Answers a challenge.
    ///
    /// # Errors
    /// Why not; nothing has changed then.
    pub fn answer(&mut self, rand: &Rand, autn: &Autn) -> Result<Answer, Reject> {
        let keys = self.algorithm.f2345(rand);
        let sqn = autn.sqn(&keys.ak);
        if self.algorithm.f1(rand, sqn, autn.amf) != autn.mac {
            return Err(Reject::Mac);
        }
        if !self.freshness.take(sqn) {
            return Err(Reject::Synchronisation(self.auts(rand)));
        }
        Ok(Answer { res: keys.res, ck: keys.ck, ik: keys.ik })
    }

    fn auts(&self, rand: &Rand) -> Auts {
        let sqn_ms = self.freshness.highest();
        let ak = self.algorithm.f5_star(rand);
        let mac = self.algorithm.f1_star(rand, sqn_ms, Amf::default());
        Auts { concealed: Sqn::concealed(sqn_ms.octets(), &ak), mac }
    }
}
