//! What is written.

use ber::{Element, Tag, Writer};

fn written(write: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut octets = Vec::new();
    write(&mut Writer::new(&mut octets));
    octets
}

#[test]
fn lengths_are_as_short_as_they_can_be_within_each_other_too() {
    for length in [0, 1, 127, 128, 255, 256, 65_535, 65_536] {
        let contents = vec![7; length];
        let octets = written(|out| {
            out.constructed(Tag::SEQUENCE, |out| out.octets(Tag::OCTET_STRING, &contents));
        });
        let inner = Element::only(&octets).unwrap().inner().unwrap();
        assert_eq!(inner.contents(), contents);
        let head = match length {
            0..128 => 2,
            128..256 => 3,
            256..65_536 => 4,
            _ => 5,
        };
        assert_eq!(inner.whole().len() - length, head);
    }
}

#[test]
fn tags_have_as_few_octets_as_they_need() {
    let table: [(Tag, &[u8]); 6] = [
        (Tag::context(30), &[0x9e, 0]),
        (Tag::context(31), &[0x9f, 31, 0]),
        (Tag::application(127), &[0x5f, 127, 0]),
        (Tag::private(128), &[0xdf, 0x81, 0, 0]),
        (Tag::universal(16_384), &[0x1f, 0x81, 0x80, 0, 0]),
        (Tag::context((1 << 28) - 1), &[0x9f, 0xff, 0xff, 0xff, 0x7f, 0]),
    ];
    for (tag, octets) in table {
        assert_eq!(written(|out| out.null(tag)), octets, "{tag}");
        assert_eq!(Element::only(octets).unwrap().tag(), tag);
    }
}

#[test]
fn values_are_written_as_they_are_read() {
    assert_eq!(written(|out| out.integer(Tag::INTEGER, -129)), [2, 2, 0xff, 0x7f]);
    assert_eq!(written(|out| out.boolean(Tag::BOOLEAN, true)), [1, 1, 0xff]);
    assert_eq!(written(|out| out.bits(Tag::BIT_STRING, &[0xff, 0xff], 10)), [3, 3, 6, 0xff, 0xc0]);
    assert_eq!(written(|out| out.bits(Tag::BIT_STRING, &[], 10)), [3, 1, 0]);
    let oid = written(|out| out.oid(Tag::OBJECT_IDENTIFIER, &[2, 999, 3]));
    assert_eq!(oid, [6, 3, 0x88, 0x37, 3]);
}
