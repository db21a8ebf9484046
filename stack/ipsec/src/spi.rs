//! The index of an association, which says where its set stands.

use crate::set::Lane;
use esp::{Datagram, Spi, datagram};
use machine::identity::Layout;
use machine::slots::Key;

/// Seven bits of shard, nineteen of a slot and one of the lane, two of a generation: the other
/// three are a check, so that most indices that are guessed are none.
const LAYOUT: Layout = Layout::of_32(7, 20, 2);
/// Sets of one shard.
pub const SETS_MAX: u32 = 1 << 19;
/// Shards that an index tells apart.
pub const SHARDS_MAX: u16 = LAYOUT.shards_max();

/// The index of one lane of a set; `None` beyond [`SETS_MAX`] and [`SHARDS_MAX`].
pub(crate) fn write(secret: u64, shard: u16, set: Key, lane: Lane) -> Option<Spi> {
    let number = LAYOUT.write(secret, shard, slot_of(set, lane)?)?;
    u32::try_from(number).ok().map(Spi)
}

/// The slot of the set that an index is of, and its lane; the generation of who has the slot now
/// is for [`is_of`] to see.
pub(crate) fn read(secret: u64, shard: u16, spi: Spi) -> Option<(u32, Lane)> {
    let number = LAYOUT.read(secret, spi.0.into())?;
    let lane = if number.index & 1 == 0 { Lane::First } else { Lane::Second };
    (number.shard == shard).then_some((number.index >> 1, lane))
}

/// Whether an index stands for that lane of that set.
pub(crate) fn is_of(secret: u64, spi: Spi, set: Key, lane: Lane) -> bool {
    let number = LAYOUT.read(secret, spi.0.into());
    number.zip(slot_of(set, lane)).is_some_and(|(number, slot)| LAYOUT.is_of(number, slot))
}

fn slot_of(set: Key, lane: Lane) -> Option<Key> {
    let index = set.index.checked_mul(2)? | u32::from(lane == Lane::Second);
    Some(Key { index, generation: set.generation })
}

/// The shard that a packet belongs to: one of a raw port, or of a port of ESP in UDP. `None`: it
/// has no index of ours, and whoever received it drops it.
#[must_use]
pub fn steer(bytes: &[u8], shards: u16) -> Option<u16> {
    let spi = spi_of(bytes)?;
    LAYOUT.shard_of(spi.0.into()).filter(|shard| *shard < shards)
}

/// The index that a packet names. A raw one has no marker of IKE, but zero is no index of ours.
pub(crate) const fn spi_of(bytes: &[u8]) -> Option<Spi> {
    match datagram(bytes) {
        Datagram::Esp(spi) => Some(spi),
        Datagram::Keepalive | Datagram::Ike(_) | Datagram::Short => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_names_its_shard_to_everybody_and_its_set_to_who_knows_the_secret() {
        let key = Key { index: 77_777, generation: 6 };
        for lane in [Lane::First, Lane::Second] {
            let spi = write(9, 3, key, lane).unwrap();
            assert!(spi.0 >= 256);
            assert_eq!(steer(&spi.0.to_be_bytes(), 4), Some(3));
            assert_eq!(steer(&spi.0.to_be_bytes(), 3), None, "a shard that is not there");
            assert_eq!(read(9, 3, spi), Some((77_777, lane)));
            assert_eq!(read(9, 2, spi), None);
            assert!(is_of(9, spi, key, lane));
            assert!(!is_of(9, spi, Key { generation: 7, ..key }, lane));
        }
        assert_eq!(write(9, 3, Key { index: SETS_MAX, generation: 0 }, Lane::First), None);
    }
}
