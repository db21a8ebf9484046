//! Heartbeats of a pair's other node that it never sent: active, in a far epoch, with everything.
//! Whoever believes them falls silent.

use crate::datagrams;
use crate::sockets::{Pace, SocketAttack};

/// First octets, and the kind of a heartbeat.
const HEAD: &[u8] = b"TDR1\x01";
/// Tags of its fields.
const PAIR: u8 = 1;
const NODE: u8 = 2;
const INCARNATION: u8 = 3;
const STAMP: u8 = 4;
const ROLE: u8 = 6;
const EPOCH: u8 = 7;
const STATE_EPOCH: u8 = 8;
const SYNCED: u8 = 9;
const PRIORITY: u8 = 11;
const VERSION: u8 = 20;

/// The pair and the node that it claims to be.
pub(crate) const THE_PAIR: u64 = 1;
pub(crate) const NODE_B: u64 = 2;
/// Nobody gets so far by himself.
const FAR: u64 = 1 << 40;

/// Appends a field: tag, length, number.
pub(crate) fn number(out: &mut Vec<u8>, tag: u8, value: u64) {
    out.push(tag);
    out.extend_from_slice(&8u32.to_be_bytes());
    out.extend_from_slice(&value.to_be_bytes());
}

fn beat(at: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(HEAD);
    let fields = [
        (PAIR, THE_PAIR),
        (NODE, NODE_B),
        (INCARNATION, FAR),
        (STAMP, FAR + at),
        (ROLE, 1),
        (EPOCH, FAR + at),
        (STATE_EPOCH, FAR + at),
        (SYNCED, 1),
        (PRIORITY, 255),
        (VERSION, 1),
    ];
    fields.into_iter().for_each(|(tag, value)| number(out, tag, value));
}

pub(crate) fn run(attack: &SocketAttack, pace: &mut Pace) -> anyhow::Result<()> {
    datagrams::send(attack, pace, |_, at, out| beat(at, out))
}

#[cfg(test)]
mod tests {
    use crate::SocketKind;
    use crate::datagrams::tests::arrived;
    use replica::field::{Fields, read};
    use std::collections::BTreeMap;

    #[test]
    fn every_heartbeat_is_of_the_other_node_active_and_newer_than_the_last() {
        let (all, _) = arrived(SocketKind::Replica);
        let mut last = 0;
        for bytes in all {
            let rest = bytes.strip_prefix(b"TDR1\x01").unwrap();
            let fields: BTreeMap<u8, u64> =
                Fields::new(rest).map(|(tag, value)| (tag, read(value))).collect();
            assert_eq!((fields[&1], fields[&2], fields[&6]), (1, 2, 1));
            assert!(fields[&7] > last && fields.len() == 10);
            last = fields[&7];
        }
    }
}
