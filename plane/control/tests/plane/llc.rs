//! Frames of IEEE 802.2: those of IS-IS go up whole, whatever tags their interface has.

use super::world::{HOST, World, interface, programs};
use nodes::Program;
use nodes::program::{Class, ProtectionRow};

const LEVEL_1: [u8; 6] = [1, 0x80, 0xc2, 0, 0, 0x14];
const BOTH: [u8; 6] = [9, 0, 0x2b, 0, 0, 5];

fn frame(to: [u8; 6], tags: &[u8], llc: &[u8]) -> Vec<u8> {
    let length = (llc.len() as u16).to_be_bytes();
    let mut made = [&to[..], &HOST, tags, &length, llc].concat();
    made.resize(made.len().max(60), 0xee);
    made
}

#[test]
fn frames_of_isis_go_up_without_tags_and_without_what_fills_them() {
    let mut said = programs();
    let tagged = nodes::program::Interface { outer: Some(7), ..interface(3, 0) };
    let double = nodes::program::Interface { outer: Some(8), inner: Some(9), ..interface(4, 0) };
    said.extend([Program::Interface(tagged), Program::Interface(double)]);
    let mut world = World::of(&said);
    let pdu = [0xfe, 0xfe, 3, 0x83, 27, 1];
    let tags: [&[u8]; 4] =
        [&[], &[0x81, 0, 0xe0, 0], &[0x81, 0, 0, 7], &[0x88, 0xa8, 0, 8, 0x81, 0, 0, 9]];
    for (nth, tags) in tags.into_iter().enumerate() {
        let to = if nth % 2 == 0 { LEVEL_1 } else { BOTH };
        let left = world.send(0, &frame(to, tags, &pdu));
        assert_eq!(left.punted, [[&to[..], &HOST, &[0, 6], &pdu].concat()], "{tags:?}");
        assert_eq!(left.classes, [Class::Isis as u32]);
    }
    assert_eq!(world.dropped().values().sum::<u64>(), 0, "{:?}", world.dropped());
}

#[test]
fn other_frames_of_802_2_end_here_and_those_of_isis_are_policed() {
    let mut world = World::new();
    let pdu = [0xfe, 0xfe, 3, 0x83];
    let mut cut = frame(LEVEL_1, &[], &pdu);
    cut[12..14].copy_from_slice(&[0, 200]);
    let own = super::world::mac(0);
    for (frame, why) in [
        (cut, "llc frame is cut"),
        (frame(LEVEL_1, &[], &[0x42, 0x42, 3, 0]), "llc frame is none of isis"),
        (frame(own, &[], &pdu), "llc frame is none of isis"),
        (frame([1, 0x80, 0xc2, 0, 0, 0], &[], &pdu), "llc frame is none of isis"),
    ] {
        let before = world.dropped().get(why).copied().unwrap_or(0);
        let left = world.send(0, &frame);
        assert_eq!((left.punted.len(), left.sent.len()), (0, 0), "{why}");
        assert_eq!(world.dropped()[why], before + 1);
    }
    let class = Class::Isis;
    let row = ProtectionRow { class, rate_pps: 4, burst: 4, source_pps: 2 };
    world.apply(Program::Protection { rows: vec![row] });
    let came = (0..10).map(|_| world.send(0, &frame(LEVEL_1, &[], &pdu)).punted.len());
    assert_eq!(came.sum::<usize>(), 2, "of one source");
    assert_eq!(world.dropped()["policed: isis, as frames"], 8);
}

#[test]
fn frames_of_isis_by_an_interface_that_does_not_speak_it_take_nothing_of_the_class() {
    let mut world = World::new();
    let customers = nodes::program::Interface { speaks: Vec::new(), ..interface(2, 1) };
    world.apply(Program::Interface(customers));
    let class = Class::Isis;
    let row = ProtectionRow { class, rate_pps: 4, burst: 4, source_pps: 4 };
    world.apply(Program::Protection { rows: vec![row] });
    let pdu = frame(LEVEL_1, &[], &[0xfe, 0xfe, 3, 0x83]);
    for number in 0..100_u8 {
        let mut flood = pdu.clone();
        flood[11] = number;
        assert!(world.send(1, &flood).punted.is_empty());
    }
    assert_eq!(world.dropped()["isis is not spoken there"], 100);
    let came = (0..3).map(|_| world.send(0, &pdu).punted.len());
    assert_eq!(came.sum::<usize>(), 3, "three quarters, as if nobody else had asked");
}
