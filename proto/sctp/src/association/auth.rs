//! Authenticated chunks (RFC 4895): the keys that follow from what both sides said at the set-up,
//! the AUTH chunk before chunks that the peer wants authenticated, and the check of the peer's.

use crate::codec::{self, Chunk, ChunkType, ChunkTypes, List, Parameter};
use crate::offer::Offer;
use crate::parameters::Extensions;
use bytes::Bytes;
use hmac::{Hmac, Mac};
use sha1::Sha1;
use sha2::Sha256;

/// HMAC Identifiers (RFC 4895 §3.3).
const HMAC_SHA1: u16 = 1;
const HMAC_SHA256: u16 = 3;
/// The algorithms that we offer, the better one first.
const OFFERED: [u8; 4] = [0, HMAC_SHA256.to_be_bytes()[1], 0, HMAC_SHA1.to_be_bytes()[1]];
/// Endpoint pair shared keys of an association at most.
const KEYS_MAX: usize = 16;
/// Octets of a random number (RFC 4895 §6.1).
pub(crate) const RANDOM_BYTES: usize = 32;
/// Octets of an AUTH chunk before the HMAC.
const HEAD_BYTES: usize = 8;

/// What a side knows before the other one has spoken.
#[derive(Debug, Clone)]
pub(crate) struct Secrets {
    /// Our random number.
    pub(crate) random: [u8; RANDOM_BYTES],
    /// Endpoint pair shared keys by identifier; 0 is there always, and empty at first.
    keys: Vec<(u16, Bytes)>,
    active: u16,
}

impl Secrets {
    pub(crate) fn new(random: [u8; RANDOM_BYTES], keys: &[(u16, Bytes)], active: u16) -> Self {
        let mut secrets = Self { random, keys: vec![(0, Bytes::new())], active: 0 };
        for (id, key) in keys {
            secrets.set(*id, key.clone());
        }
        secrets.choose(active);
        secrets
    }

    /// The same keys for another life of the association.
    pub(crate) fn renewed(&self, random: [u8; RANDOM_BYTES]) -> Self {
        Self { random, ..self.clone() }
    }

    /// Sets a key; false when there are too many.
    fn set(&mut self, id: u16, key: Bytes) -> bool {
        let is_new = !self.keys.iter().any(|known| known.0 == id);
        if is_new && self.keys.len() >= KEYS_MAX {
            return false;
        }
        self.keys.retain(|known| known.0 != id);
        self.keys.push((id, key));
        true
    }

    fn choose(&mut self, id: u16) -> bool {
        let is_known = self.keys.iter().any(|known| known.0 == id);
        self.active = if is_known { id } else { self.active };
        is_known
    }

    fn remove(&mut self, id: u16) -> bool {
        let count = self.keys.len();
        self.keys.retain(|known| known.0 != id || id == self.active);
        self.keys.len() < count
    }
}

/// The types that we want authenticated (RFC 5061 §4.1.1, §4.1.2: ASCONF and ASCONF-ACK always).
pub(crate) fn wanted(extensions: &Extensions) -> ChunkTypes {
    let asked = extensions.authenticated.iter().filter(|kind| is_allowed(*kind));
    let set: ChunkTypes = asked.collect();
    match extensions.address_reconfiguration {
        true => set.with(ChunkType::Asconf.number()).with(ChunkType::AsconfAck.number()),
        false => set,
    }
}

/// INIT, INIT ACK, SHUTDOWN COMPLETE and AUTH are never authenticated (RFC 4895 §3.2).
fn is_allowed(kind: u8) -> bool {
    let never = [ChunkType::Init, ChunkType::InitAck, ChunkType::ShutdownComplete, ChunkType::Auth];
    !never.iter().any(|it| it.number() == kind)
}

/// Appends RANDOM, CHUNKS and HMAC-ALGO, each padded, and gives them without padding: our key
/// vector (RFC 4895 §6.1).
pub(crate) fn write_parameters(
    extensions: &Extensions,
    random: &[u8; RANDOM_BYTES],
    out: &mut Vec<u8>,
) -> Vec<u8> {
    let chunks: Vec<u8> = wanted(extensions).iter().collect();
    let mut vector = Vec::new();
    for parameter in [
        Parameter::Random(random),
        Parameter::ChunkList(&chunks),
        Parameter::HmacAlgorithms(List::new(&OFFERED)),
    ] {
        if parameter == Parameter::ChunkList(&[]) {
            continue;
        }
        let at = out.len();
        parameter.write(out);
        let length = usize::from(u16::from_be_bytes([out[at + 2], out[at + 3]]));
        vector.extend_from_slice(&out[at..at + length]);
    }
    vector
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Algorithm {
    Sha1,
    Sha256,
}

impl Algorithm {
    const fn of(id: u16) -> Option<Self> {
        match id {
            HMAC_SHA1 => Some(Self::Sha1),
            HMAC_SHA256 => Some(Self::Sha256),
            _ => None,
        }
    }

    const fn id(self) -> u16 {
        match self {
            Self::Sha1 => HMAC_SHA1,
            Self::Sha256 => HMAC_SHA256,
        }
    }

    const fn bytes(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }
}

/// An association shared key, ready for both algorithms.
struct Key {
    id: u16,
    sha1: Hmac<Sha1>,
    sha256: Hmac<Sha256>,
}

impl core::fmt::Debug for Key {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Key {}", self.id)
    }
}

impl Key {
    fn new(id: u16, key: &[u8]) -> Self {
        let any = "HMAC takes keys of any length";
        let sha1 = Hmac::new_from_slice(key).expect(any);
        Self { id, sha1, sha256: Hmac::new_from_slice(key).expect(any) }
    }

    /// The HMAC of these pieces, one after the other.
    fn sign(&self, algorithm: Algorithm, pieces: &[&[u8]]) -> Vec<u8> {
        match algorithm {
            Algorithm::Sha1 => sign(self.sha1.clone(), pieces),
            Algorithm::Sha256 => sign(self.sha256.clone(), pieces),
        }
    }
}

fn sign<M: Mac>(mut mac: M, pieces: &[&[u8]]) -> Vec<u8> {
    pieces.iter().for_each(|piece| mac.update(piece));
    mac.finalize().into_bytes().to_vec()
}

/// What became of an AUTH chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// What follows it is authentic.
    Authentic,
    /// It and what follows it is to be discarded.
    Forged,
    /// The same, and the peer is told of that HMAC Identifier (RFC 4895 §6.3).
    UnsupportedHmac(u16),
}

/// What both sides have agreed on.
#[derive(Debug)]
pub(crate) struct Auth {
    algorithm: Algorithm,
    /// The types that the peer wants authenticated.
    theirs: ChunkTypes,
    /// The types that we want authenticated.
    ours: ChunkTypes,
    /// Both key vectors, the smaller one first.
    vectors: Vec<u8>,
    keys: Vec<Key>,
    active: u16,
}

impl Auth {
    /// From what we offer and what the peer has offered; `None`: there is no authentication
    /// between these two.
    pub(crate) fn agree(
        extensions: &Extensions,
        secrets: &Secrets,
        offer: &Offer<'_>,
    ) -> Option<Self> {
        let is_ours = extensions.authentication || extensions.address_reconfiguration;
        let theirs = offer.auth().filter(|_| is_ours)?;
        let algorithm = theirs.algorithms().find_map(Algorithm::of)?;
        let own = write_parameters(extensions, &secrets.random, &mut Vec::new());
        let mut vectors = [own, theirs.vector()];
        // They begin with the type of RANDOM, so a longer one is a larger number (§6.1).
        vectors.sort_by(|a, b| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
        let mut auth = Self {
            algorithm,
            theirs: theirs.chunks().filter(|kind| is_allowed(*kind)).collect(),
            ours: wanted(extensions),
            vectors: vectors.concat(),
            keys: Vec::new(),
            active: secrets.active,
        };
        secrets.keys.iter().for_each(|(id, key)| auth.set(*id, key));
        Some(auth)
    }

    fn set(&mut self, id: u16, shared: &[u8]) {
        self.keys.retain(|key| key.id != id);
        self.keys.push(Key::new(id, &[shared, &self.vectors].concat()));
    }

    /// Whether both sides want ASCONF and ASCONF-ACK authenticated.
    pub(crate) const fn covers_asconf(&self) -> bool {
        let (one, two) = (ChunkType::Asconf.number(), ChunkType::AsconfAck.number());
        self.theirs.contains(one) && self.theirs.contains(two) && self.ours.contains(one)
    }

    /// Whether a chunk of the peer's is only taken behind AUTH.
    pub(crate) const fn wants(&self, kind: u8) -> bool {
        self.ours.contains(kind)
    }

    /// Octets of the AUTH chunk that a chunk of ours needs before it.
    pub(crate) const fn bytes_before(&self, kind: u8) -> usize {
        if self.theirs.contains(kind) { HEAD_BYTES + self.algorithm.bytes() } else { 0 }
    }

    /// Appends an AUTH chunk whose HMAC [`Auth::seal`] fills in.
    pub(crate) fn begin(&self, out: &mut Vec<u8>) {
        let (key, hmac_id) = (self.active, self.algorithm.id());
        let hmac = &[0; 32][..self.algorithm.bytes()];
        Chunk::Auth(codec::Auth { key, hmac_id, hmac }).write(out);
    }

    /// Fills in the HMAC of the AUTH chunk at the start of `octets`, over all of them.
    pub(crate) fn seal(&self, octets: &mut [u8]) {
        let Some(key) = self.keys.iter().find(|key| key.id == self.active) else { return };
        let hmac = key.sign(self.algorithm, &[octets]);
        octets[HEAD_BYTES..HEAD_BYTES + hmac.len()].copy_from_slice(&hmac);
    }

    /// Checks the AUTH chunk at the start of `octets`, which reach to the end of the packet
    /// (RFC 4895 §6.3).
    pub(crate) fn check(&self, chunk: &codec::Auth<'_>, octets: &[u8]) -> Verdict {
        let Some(algorithm) = Algorithm::of(chunk.hmac_id) else {
            return Verdict::UnsupportedHmac(chunk.hmac_id);
        };
        let key = self.keys.iter().find(|key| key.id == chunk.key);
        let (Some(key), true) = (key, chunk.hmac.len() == algorithm.bytes()) else {
            return Verdict::Forged;
        };
        let (head, rest) = (&octets[..HEAD_BYTES], &octets[HEAD_BYTES + chunk.hmac.len()..]);
        let zeros = &[0; 32][..algorithm.bytes()];
        let expected = key.sign(algorithm, &[head, zeros, rest]);
        let difference = expected.iter().zip(chunk.hmac).fold(0, |sum, (a, b)| sum | (a ^ b));
        if difference == 0 { Verdict::Authentic } else { Verdict::Forged }
    }
}

impl Secrets {
    /// A key of the endpoint pair for AUTH (RFC 4895 §6.1); false when there are too many.
    pub(crate) fn set_shared(&mut self, auth: &mut Option<Auth>, id: u16, key: Bytes) -> bool {
        let is_set = self.set(id, key.clone());
        if let (true, Some(auth)) = (is_set, auth) {
            auth.set(id, &key);
        }
        is_set
    }

    /// The key that our AUTH chunks name from now on; false when it is not known.
    pub(crate) fn use_shared(&mut self, auth: &mut Option<Auth>, id: u16) -> bool {
        let is_known = self.choose(id);
        if let Some(auth) = auth {
            auth.active = self.active;
        }
        is_known
    }

    /// Forgets a key that is not in use; false when it is, or is not known.
    pub(crate) fn remove_shared(&mut self, auth: &mut Option<Auth>, id: u16) -> bool {
        let is_gone = self.remove(id);
        if let (true, Some(auth)) = (is_gone, auth) {
            auth.keys.retain(|key| key.id != id);
        }
        is_gone
    }
}
