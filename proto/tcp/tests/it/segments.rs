//! Segments are read as they were written, and checked.

use crate::world::ENDS;
use proptest::prelude::*;
use tcp::{Flags, Segment};

proptest! {
    #[test]
    fn a_segment_is_read_as_it_was_written(
        ports in any::<(u16, u16)>(),
        numbers in any::<(u32, u32)>(),
        flags in 0..64_u8,
        window in any::<u16>(),
        mss in any::<Option<u16>>(),
        payload in prop::collection::vec(any::<u8>(), 0..2_000),
    ) {
        let (source, destination) = ports;
        let (seq, ack) = numbers;
        let flags = Flags(flags);
        let it = Segment { source, destination, seq, ack, flags, window, mss, payload: &payload };
        let mut octets = Vec::new();
        prop_assert!(it.write(ENDS, &mut octets));
        prop_assert_eq!(Segment::read(&octets), Ok(it));
    }

    #[test]
    fn whatever_comes_is_read_or_refused(octets in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(it) = Segment::read(&octets) {
            prop_assert!(it.payload.len() <= octets.len() - tcp::HEADER);
        }
    }
}

#[test]
fn a_checksum_is_that_of_the_standard() {
    // A SYN of Linux, 10.0.0.1:40000 to 10.0.0.2:80, with a maximum segment size alone.
    let it = Segment {
        source: 40_000,
        destination: 80,
        seq: 1,
        ack: 0,
        flags: Flags::SYN,
        window: 64_240,
        mss: Some(1_460),
        payload: &[],
    };
    let mut octets = Vec::new();
    assert!(it.write(ENDS, &mut octets));
    let words = octets.chunks(2).map(|it| u32::from(u16::from_be_bytes([it[0], it[1]])));
    let sum = words.sum::<u32>() + 0x0a00 + 1 + 0x0a00 + 2 + 6 + 24;
    assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff);
    assert_eq!(octets.len(), 24);
}

#[test]
fn options_that_do_not_end_are_refused() {
    let mut octets = Vec::new();
    let it = Segment {
        source: 1,
        destination: 2,
        seq: 3,
        ack: 4,
        flags: Flags::SYN,
        window: 5,
        mss: Some(6),
        payload: &[],
    };
    assert!(it.write(ENDS, &mut octets));
    for (at, value) in [(20, 3), (21, 0), (21, 9)] {
        let mut wrong = octets.clone();
        wrong[at] = value;
        if value == 3 {
            // An unknown kind with a length that fits means nothing.
            assert_eq!(Segment::read(&wrong).map(|it| it.mss), Ok(None));
            continue;
        }
        assert!(Segment::read(&wrong).is_err(), "{at} {value}");
    }
    for short in 0..24 {
        assert!(Segment::read(&octets[..short]).is_err());
    }
}
