//! Call-IDs of messages of ours: whoever answers one names its flow, and that it was sent from here
//! or from the other node of a pair, which is gone.

use crate::effects::Sent;
use machine::KeyedHash;
use std::collections::BTreeMap;

/// Hexadecimal digits of a Call-ID: flow, attempt, proof.
const DIGITS: usize = 34;

/// The flow of a message as the node that sent it named it, and the proof of that.
pub(crate) type Former = (u64, u64);

/// What proves them.
#[derive(Debug)]
pub(crate) struct Calls {
    hash: KeyedHash,
    /// Messages under way that another node sent, and the flows here that go on with them.
    resumed: BTreeMap<Former, u64>,
}

impl Calls {
    pub(crate) const fn new(hash: KeyedHash) -> Self {
        Self { hash, resumed: BTreeMap::new() }
    }

    /// A sum that nobody else can make.
    pub(crate) fn sum(&self, text: &[u8]) -> u64 {
        self.hash.hash(text)
    }

    /// The proof that a message was sent from here.
    pub(crate) fn proof(&self, sent: Sent) -> u64 {
        self.sum(&[&sent.flow.to_be_bytes()[..], &[sent.attempt]].concat())
    }

    /// The Call-ID, in front of the host, of a MESSAGE.
    pub(crate) fn call_id(&self, sent: Sent) -> String {
        format!("{:016x}{:02x}{:016x}", sent.flow, sent.attempt, self.proof(sent))
    }

    /// The MESSAGE that a Call-ID names, if it is one of ours.
    pub(crate) fn sent_of(&self, call_id: &str) -> Option<Sent> {
        let digits = call_id.split('@').next()?;
        if digits.len() != DIGITS || !digits.is_ascii() {
            return None;
        }
        let flow = u64::from_str_radix(&digits[..16], 16).ok()?;
        let attempt = u8::from_str_radix(&digits[16..18], 16).ok()?;
        let proof = u64::from_str_radix(&digits[18..], 16).ok()?;
        let sent = Sent { flow, attempt };
        if self.proof(sent) == proof {
            return Some(sent);
        }
        self.resumed.get(&(flow, proof)).map(|own| Sent { flow: *own, attempt })
    }

    /// A flow goes on with a message that another node sent.
    pub(crate) fn resume(&mut self, former: Former, flow: u64) {
        self.resumed.insert(former, flow);
    }

    /// Nobody goes on with it any more.
    pub(crate) fn forget(&mut self, former: Former) {
        self.resumed.remove(&former);
    }
}
