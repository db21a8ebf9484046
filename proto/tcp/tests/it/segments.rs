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

#[test]
fn a_segment_is_signed_with_one_key_and_no_octet_of_it_may_be_another() {
    let six = ("2001:db8::1".parse().unwrap(), "2001:db8::2".parse().unwrap());
    for (ends, mss) in [(ENDS, Some(1_400)), (ENDS, None), (six, Some(1_400)), (six, None)] {
        let it = Segment {
            source: 179,
            destination: 40_000,
            seq: 7,
            ack: 9,
            flags: Flags::ACK,
            window: 100,
            mss,
            payload: b"what it carries",
        };
        let mut octets = Vec::new();
        assert!(it.write(ends, &mut octets));
        assert!(tcp::is_sound(ends, &octets) && !tcp::is_signed(ends, b"key", &octets));
        assert!(tcp::sign(ends, b"key", &mut octets));
        assert!(tcp::is_sound(ends, &octets) && tcp::is_signed(ends, b"key", &octets));
        assert!(!tcp::is_signed(ends, b"another", &octets));
        assert!(!tcp::is_signed((ends.1, ends.0), b"key", &octets));
        assert_eq!(Segment::read(&octets), Ok(it));
        for at in 0..octets.len() {
            let mut other = octets.clone();
            other[at] ^= 1;
            // The checksum, which every router may mend, and fillers are not signed.
            let is_free =
                matches!(at, 16 | 17) || (20..octets.len() - it.payload.len()).contains(&at);
            assert!(is_free || !tcp::is_signed(ends, b"key", &other), "octet {at}");
            assert!(!tcp::is_sound(ends, &other), "octet {at}");
        }
        for end in 0..octets.len() {
            assert!(!tcp::is_signed(ends, b"key", &octets[..end]), "cut at {end}");
        }
    }
}
