//! Joined frames are cut as a wire would have carried them, with checksums that check.

use super::*;
use proptest::prelude::*;

/// Headers up to the payload; `sum_at` counts from the transport header.
struct Case {
    network: usize,
    headers: Vec<u8>,
    kind: u8,
    sum_at: u16,
}

fn ipv4(protocol: u8) -> Vec<u8> {
    let mut bytes = vec![2; 12];
    bytes.extend([0x08, 0, 0x45, 0, 0, 0, 0xff, 0xff, 0x40, 0, 64, protocol, 0, 0]);
    bytes.extend([10, 0, 0, 1, 10, 0, 0, 2]);
    bytes
}

fn tcp() -> Vec<u8> {
    let mut bytes = vec![0x1f, 0x90, 0, 80, 0xff, 0xff, 0xff, 0, 0, 0, 0, 1, 0x80];
    bytes.extend([0x99, 1, 0, 0, 0, 0, 0]); // CWR, ACK, PSH, FIN; window; sum; urgent
    bytes.extend([1; 12]); // options
    bytes
}

fn cases() -> Vec<Case> {
    let udp = vec![0x1f, 0x90, 0, 80, 0, 0, 0, 0];
    let mut ipv6 = vec![2; 12];
    ipv6.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 0, 6, 64]);
    ipv6.extend([0xfd; 32]);
    let mut tagged = ipv4(6);
    tagged.splice(12..12, [0x81, 0, 0, 7]);
    vec![
        Case { network: 14, headers: [ipv4(6), tcp()].concat(), kind: TCP4 | ECN, sum_at: 16 },
        Case { network: 18, headers: [tagged, tcp()].concat(), kind: TCP4, sum_at: 16 },
        Case { network: 14, headers: [ipv6, tcp()].concat(), kind: TCP6, sum_at: 16 },
        Case { network: 14, headers: [ipv4(17), udp].concat(), kind: UDP, sum_at: 6 },
    ]
}

impl Case {
    fn transport(&self) -> usize {
        self.network + if self.kind == TCP6 { 40 } else { 20 }
    }

    fn frames(&self, payload: &[u8], segment: u16) -> Vec<Frame> {
        let bytes = [&self.headers[..], payload].concat();
        let sum_from = self.transport() as u16;
        let (kind, sum_at) = (self.kind, self.sum_at);
        let offload = Offload { flags: 1, kind, header: 0, segment, sum_from, sum_at };
        let received = Received { offload, head: &bytes, tag: None, tail: &[], arrived_ns: None };
        let mut frames = Vec::new();
        Frame::read(&received, |frame| frames.push(frame));
        frames
    }

    /// Whether the checksum of a finished frame checks.
    fn checks(&self, bytes: &[u8]) -> bool {
        let (network, transport) = (self.network, self.transport());
        let is_ipv4 = self.kind != TCP6;
        let addresses = if is_ipv4 { 12..20 } else { 8..40 };
        let pseudo = words(&bytes[network + addresses.start..network + addresses.end]);
        let protocol = if self.kind == UDP { 17 } else { 6 };
        let length = (bytes.len() - transport) as u64;
        let header = !is_ipv4 || folded(words(&bytes[network..transport])) == 0xffff;
        header && folded(words(&bytes[transport..]) + pseudo + protocol + length) == 0xffff
    }
}

#[test]
fn a_joined_frame_is_cut_into_segments_with_right_numbers_and_checksums() {
    let payload: Vec<u8> = (0..3_333u32).map(|octet| octet as u8).collect();
    for case in cases() {
        let frames = case.frames(&payload, 1_000);
        assert_eq!(frames.len(), 4);
        let mut found = Vec::new();
        for (number, mut frame) in frames.into_iter().enumerate() {
            assert_eq!((frame.offload.kind, frame.offload.flags), (0, UNFINISHED));
            frame.finish();
            assert_eq!(frame.offload, Offload::default());
            assert!(case.checks(&frame.bytes), "segment {number}");
            found.extend_from_slice(&frame.bytes[case.headers.len()..]);
            if case.kind != UDP {
                let tcp = &frame.bytes[case.transport()..];
                let sequence = u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]);
                assert_eq!(sequence, 0xffff_ff00u32.wrapping_add(1_000 * number as u32));
                assert_eq!(tcp[13], [0x90, 0x10, 0x10, 0x19][number]);
            }
        }
        assert_eq!(found, payload);
    }
}

#[test]
fn a_flipped_bit_breaks_the_checksum_and_nothing_else() {
    for case in cases() {
        let [whole] = &case.frames(&[7; 700], 1_000)[..] else { panic!("one segment") };
        for bit in [0, 1_234, 8 * whole.bytes.len() - 1] {
            let mut frame = whole.clone();
            frame.flip(bit);
            let mut right = whole.clone();
            right.finish();
            let differ = |(a, b): (&u8, &u8)| (a ^ b).count_ones();
            assert_eq!(frame.bytes.iter().zip(&right.bytes).map(differ).sum::<u32>(), 1);
            assert_eq!(frame.bytes[..ETHERNET], right.bytes[..ETHERNET]);
            assert_eq!(frame.offload.flags & UNFINISHED, 0);
        }
    }
}

#[test]
fn what_is_not_what_it_says_passes_as_it_is() {
    let case = &cases()[0];
    for length in [0, 13, 14, 40, 50, case.headers.len()] {
        let bytes = &case.headers[..length];
        for (sum_from, segment) in [(34, 1_000), (0, 1_000), (34, 0), (u16::MAX, 9)] {
            let offload = Offload { flags: 1, kind: 1, header: 0, segment, sum_from, sum_at: 16 };
            let received =
                Received { offload, head: bytes, tag: None, tail: &[], arrived_ns: None };
            let mut frames = Vec::new();
            Frame::read(&received, |frame| frames.push(frame));
            assert_eq!(frames, [Frame { offload, bytes: bytes.to_vec() }]);
            frames[0].finish();
        }
    }
}

#[test]
fn a_tcp_header_shorter_than_its_least_is_not_cut() {
    let mut case = cases().swap_remove(0);
    case.headers.truncate(34 + 13); // up to the data offset
    case.headers[34 + 12] = 0x20; // 8 octets
    let frames = case.frames(&[], 1);
    assert_eq!(frames.len(), 1);
    assert_eq!(frames[0].bytes, case.headers);
}

#[test]
fn a_tag_that_the_kernel_took_out_is_put_back() {
    let received = Received {
        offload: Offload::default(),
        head: &[1; 12],
        tag: Some([0x81, 0, 0, 7]),
        tail: &[8, 0, 3],
        arrived_ns: None,
    };
    let mut frames = Vec::new();
    Frame::read(&received, |frame| frames.push(frame));
    assert_eq!(frames[0].bytes[10..], [1, 1, 0x81, 0, 0, 7, 8, 0, 3]);
}

proptest! {
    /// Whatever a frame and its offload say: nothing panics, and no octet is lost.
    #[test]
    fn any_frame_with_any_offload_passes(
        mut bytes in prop::collection::vec(any::<u8>(), 1..300),
        (flags, kind) in (0u8..4, prop::sample::select(vec![0, 1, 3, 4, 5, 0x81, 0x84])),
        (header, segment) in (0u16..200, 0u16..100),
        (sum_from, sum_at) in (0u16..320, 0u16..40),
        ethertype in prop::sample::select(vec![0x0800u16, 0x86dd, 0x8100, 0x88cc]),
        bit: usize,
    ) {
        if bytes.len() >= ETHERNET {
            put(&mut bytes, 12, ethertype);
        }
        let offload = Offload { flags, kind, header, segment, sum_from, sum_at };
        let received = Received { offload, head: &bytes, tag: None, tail: &[], arrived_ns: None };
        let mut octets = 0;
        Frame::read(&received, |mut frame| {
            octets += frame.bytes.len();
            frame.flip(bit % (8 * frame.bytes.len()));
        });
        prop_assert!(octets >= bytes.len());
    }
}
