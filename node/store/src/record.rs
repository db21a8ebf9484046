//! What the store keeps: entries (opaque bytes, many to an id) and one record per id, with the
//! keys it is found by.

/// Classes of keys a store may have.
pub const CLASSES: usize = 8;
/// Tags of a record: small numbers that a search filters by.
pub const TAGS: usize = 4;
/// Keys that one record may have; more are refused by [`crate::Writer::record`].
pub const KEYS_MAX: usize = 256;
/// Largest entry or record body in octets.
pub const BODY_BYTES_MAX: usize = 1 << 20;

/// Where an entry or a record stands; stays valid until its partition is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Number of the partition.
    pub partition: u32,
    /// Number of the block in the partition's journal.
    pub block: u32,
    /// Number of the entry in the block.
    pub entry: u16,
}

/// One key: a class (`Call-ID`, number, address: the owner's choice) and a value in whose order
/// ranges make sense, or a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Below [`CLASSES`].
    pub class: u8,
    /// The value.
    pub value: u64,
}

/// What a search shows and filters without reading a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The owner's number, unique over the life of the store.
    pub id: u64,
    /// Microseconds since the UNIX epoch; searches answer newest first.
    pub start_us: u64,
    /// Small numbers to filter by.
    pub tags: [u16; TAGS],
}

/// The record of one id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Shown and filtered by.
    pub head: Head,
    /// Found by.
    pub keys: Vec<Key>,
    /// What the owner wants to read back.
    pub body: Vec<u8>,
}

const FIXED_BYTES: usize = 8 + 8 + 2 * TAGS + 2;
const KEY_BYTES: usize = 9;

/// Appends a record as it stands in a block.
pub(crate) fn encode(record: &Record, out: &mut Vec<u8>) {
    out.extend_from_slice(&record.head.id.to_le_bytes());
    out.extend_from_slice(&record.head.start_us.to_le_bytes());
    for tag in record.head.tags {
        out.extend_from_slice(&tag.to_le_bytes());
    }
    // The writer refuses a record with more keys than KEYS_MAX.
    let count = u16::try_from(record.keys.len()).unwrap_or(u16::MAX);
    out.extend_from_slice(&count.to_le_bytes());
    for key in &record.keys[..usize::from(count)] {
        out.push(key.class);
        out.extend_from_slice(&key.value.to_le_bytes());
    }
    out.extend_from_slice(&record.body);
}

/// Reads what [`encode`] wrote; `None` when it is not that.
pub(crate) fn decode(bytes: &[u8]) -> Option<Record> {
    let (fixed, rest) = bytes.split_at_checked(FIXED_BYTES)?;
    let tag = |i: usize| u16::from_le_bytes([fixed[16 + 2 * i], fixed[17 + 2 * i]]);
    let head =
        Head { id: u64_at(fixed, 0), start_us: u64_at(fixed, 8), tags: core::array::from_fn(tag) };
    let count = usize::from(tag(TAGS));
    let (keys, body) = rest.split_at_checked(count * KEY_BYTES)?;
    let keys = keys.chunks_exact(KEY_BYTES).map(|k| Key { class: k[0], value: u64_at(k, 1) });
    Some(Record { head, keys: keys.collect(), body: body.to_vec() })
}

/// Eight octets at `at`, low end first. The caller has checked the length.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut octets = [0; 8];
    octets.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(octets)
}

/// Four octets at `at`, low end first. The caller has checked the length.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut octets = [0; 4];
    octets.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(octets)
}
