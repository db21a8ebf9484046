//! Messages in segments that come to several nodes of a cluster, of which one dies amid them.

use crate::clusters::{Site, ms};
use crate::world::asp::point_code;
use bytes::Bytes;
use m3ua::{In, Transfer};
use sccp::codec::{Address, Class, Form, Segmentation, Unit, Word};
use tcap::codec::{Code, MessageType, TransactionId, Writer};

const CONTEXT: &[u8] = &[4, 0, 0, 1, 0, 20, 3];
/// Segments of a message.
const SEGMENTS: usize = 3;

/// A BEGIN that is as long as three segments.
fn begin() -> Vec<u8> {
    let argument = [&[0x04, 0x82, 0x01, 0xf4][..], &[7; 500]].concat();
    let mut message = Vec::new();
    Writer::begin(TransactionId::of(7))
        .request(CONTEXT, &[])
        .write(&mut message, |out| out.invoke(1, None, Code::Local(45), Some(&argument)));
    message
}

/// A segment of it comes by the association of that node.
fn segment(site: &mut Site, by: usize, number: usize, reference: u32) {
    let message = begin();
    let data = message.chunks(message.len().div_ceil(SEGMENTS)).nth(number).unwrap();
    let segmentation = Segmentation {
        is_first: number == 0,
        is_sequenced: true,
        remaining: u8::try_from(SEGMENTS - 1 - number).unwrap(),
        reference,
    };
    let unit = Unit {
        form: Form::Extended,
        word: Word::Data(Class { is_sequenced: true, returns: number == 0 }),
        hops: 7,
        called: Address::subsystem(None, 6),
        calling: Address::subsystem(Some(point_code(1)), 8),
        segmentation: Some(segmentation),
        importance: None,
        data,
    };
    let mut payload = Vec::new();
    unit.write(&mut payload).unwrap();
    let (opc, dpc, payload) = (point_code(1), point_code(9), Bytes::from(payload));
    let msu = Transfer { network: None, opc, dpc, si: 3, ni: 2, mp: 0, sls: 5, payload };
    site.world.at(site.asps[by], |asp, now| asp.tell(now, In::Transfer(msu)));
    site.world.pass(ms(20));
}

/// Messages that came back to the peer, by whichever node: answers, and returned ones.
fn came(site: &mut Site) -> (usize, usize) {
    let (mut answers, mut others) = (0, 0);
    for by in 0..3 {
        let asp = site.asps[by];
        let count = site.world.asp_of(asp).received.len();
        let of = site.came(by).iter().filter(|it| it.0 == MessageType::Continue).count();
        answers += of;
        others += count - of;
    }
    (answers, others)
}

#[test]
fn a_message_is_whole_once_whichever_nodes_its_segments_come_to() {
    let mut site = Site::of(3, "");
    for way in 0..27 {
        let nodes = [way % 3, way / 3 % 3, way / 9];
        for (number, by) in nodes.into_iter().enumerate() {
            segment(&mut site, by, number, way as u32);
        }
        site.world.pass(ms(100));
        assert_eq!(came(&mut site), (1, 0), "{nodes:?}");
    }
    // None that had the first ones waits for more, and sends anything back.
    site.world.pass(ms(20_000));
    assert_eq!(came(&mut site), (0, 0));
}

#[test]
fn a_message_is_whole_when_the_node_dies_that_had_its_first_segments() {
    for after in 1..SEGMENTS {
        for next in [1, 2] {
            let mut site = Site::of(3, "");
            (0..after).for_each(|number| segment(&mut site, 0, number, 9));
            site.world.kill(site.gateways[0]);
            (after..SEGMENTS).for_each(|number| segment(&mut site, next, number, 9));
            // A partition of it may be nobody's yet.
            site.world.pass(ms(1_500));
            assert_eq!(came(&mut site), (1, 0), "{after}, {next}");
        }
    }
}
