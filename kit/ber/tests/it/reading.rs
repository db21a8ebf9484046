//! Elements: what is read, and what is refused where.

use ber::{DEPTH_MAX, Element, Reader, Tag};

/// Every element, all the way down.
fn walk(octets: &[u8]) -> Result<usize, wire::Malformed> {
    fn down(reader: Reader<'_>) -> Result<usize, wire::Malformed> {
        let mut count = 0;
        for element in reader {
            let element = element?;
            count += 1;
            if element.is_constructed() {
                count += down(element.children()?)?;
            }
        }
        Ok(count)
    }
    down(Reader::new(octets))
}

#[test]
fn what_is_not_well_formed_is_refused_with_its_place() {
    let table: &[(&[u8], usize, &str)] = &[
        (&[0x04], 1, "a length lacks"),
        (&[0x04, 2, 7], 2, "an element is cut off"),
        (&[0x04, 0x82, 1], 2, "a length is cut off"),
        (&[0x04, 0xff, 1], 1, "a reserved length octet"),
        (&[0x04, 0x89, 0, 0, 0, 0, 0, 0, 0, 0, 0], 1, "a length of more than eight octets"),
        (&[0x04, 0x88, 255, 255, 255, 255, 255, 255, 255, 255], 10, "an element is cut off"),
        (&[0x04, 0x80, 0, 0], 0, "a primitive element of indefinite length"),
        (&[0x1f, 0x80, 1, 0], 0, "a tag number begins with zeros"),
        (&[0x1f, 0x1e, 0], 0, "a short tag number in the long form"),
        (&[0x1f, 0x81, 0x81, 0x81, 0x81, 1, 0], 0, "a tag number of more than 28 bits"),
        (&[0x1f, 0x81], 2, "a tag is cut off"),
        (&[0x30, 2, 0, 0], 2, "end-of-contents without a beginning"),
        (&[0, 0], 0, "end-of-contents without a beginning"),
        (&[0x30, 0x80, 4, 0], 4, "end-of-contents lacks"),
        (&[0x30, 0x80, 4, 9, 0, 0], 4, "an element is cut off"),
        (&[0x30, 4, 4, 3, 1, 2], 4, "an element is cut off"),
        (&[0x30, 0x80, 0, 1, 0, 0], 2, "end-of-contents without a beginning"),
    ];
    for (octets, at, what) in table {
        let violation = walk(octets).unwrap_err();
        assert_eq!((violation.at, violation.what), (*at, *what), "{octets:02x?}");
    }
}

#[test]
fn an_element_has_its_contents_in_either_form_and_keeps_its_octets() {
    let definite = [0x61, 0x82, 0, 5, 4, 3, 1, 2, 3];
    let indefinite = [0x61, 0x80, 4, 3, 1, 2, 3, 0, 0];
    for (octets, head) in [(&definite, 4), (&indefinite, 2)] {
        let element = Element::only(octets).unwrap();
        assert_eq!((element.tag(), element.contents_at()), (Tag::application(1), head));
        assert_eq!((element.contents(), element.whole()), (&[4, 3, 1, 2, 3][..], &octets[..]));
        let inner = element.inner().unwrap();
        assert_eq!((inner.at(), inner.primitive().unwrap()), (head, &[1, 2, 3][..]));
    }
    let violation = Element::only(&[5, 0, 5, 0]).unwrap_err();
    assert_eq!((violation.at, violation.what), (2, "octets follow the last element"));
    assert_eq!(Element::only(&[]).unwrap_err().what, "an element lacks");
}

#[test]
fn indefinite_elements_stand_within_each_other_beside_definite_ones() {
    let octets = [0x30, 0x80, 0x30, 0x80, 5, 0, 0, 0, 4, 2, 0, 0, 0x31, 0x80, 0, 0, 0, 0, 2, 1, 7];
    assert_eq!(walk(&octets).unwrap(), 6);
    let kinds = Reader::new(&octets).map(|element| element.unwrap().tag().number());
    assert_eq!(kinds.collect::<Vec<_>>(), [16, 2]);
}

#[test]
fn nothing_is_read_deeper_than_the_limit() {
    let nested = |depth: usize, head: &[u8], tail: &[u8]| {
        let mut octets = head.repeat(depth);
        octets.extend(tail.repeat(depth));
        octets
    };
    let limit = usize::from(DEPTH_MAX);
    assert_eq!(walk(&nested(limit, &[0x30, 0x80], &[0, 0])).unwrap(), limit);
    for depth in [limit + 2, 250, 255, 256, 300, 5_000] {
        let violation = walk(&nested(depth, &[0x30, 0x80], &[0, 0])).unwrap_err();
        assert_eq!(violation.what, "too deep", "{depth}");
    }
    let mut definite = vec![5, 0];
    for _ in 0..60 {
        let length = u8::try_from(definite.len()).unwrap();
        definite
            .splice(0..0, if length < 128 { vec![0x30, length] } else { vec![0x30, 0x81, length] });
    }
    assert_eq!(walk(&definite).unwrap_err().what, "too deep");
}

#[test]
fn a_string_in_pieces_is_what_it_is_in_one() {
    let whole = Element::only(&[0x84, 5, 1, 2, 3, 4, 5]).unwrap().octets().unwrap();
    let pieces: [&[u8]; 3] = [
        &[0xa4, 9, 4, 2, 1, 2, 4, 3, 3, 4, 5],
        &[0xa4, 0x80, 4, 1, 1, 0x24, 0x80, 4, 3, 2, 3, 4, 4, 0, 0, 0, 4, 1, 5, 0, 0],
        &[0xa4, 9, 0x24, 7, 4, 5, 1, 2, 3, 4, 5],
    ];
    for octets in pieces {
        let read = Element::only(octets).unwrap().octets().unwrap();
        assert_eq!((read, read.len()), (whole, 5), "{octets:02x?}");
        assert_eq!(read.copy(&mut [0; 8]), Some(&[1, 2, 3, 4, 5][..]));
        assert_eq!(read.copy(&mut [0; 4]), None);
    }
    let one_piece = Element::only(pieces[2]).unwrap().octets().unwrap();
    assert_eq!(one_piece.whole(), Some(&[1, 2, 3, 4, 5][..]));
    assert_eq!(Element::only(pieces[0]).unwrap().octets().unwrap().whole(), None);
    let other = Element::only(&[0x24, 3, 2, 1, 7]).unwrap().octets().unwrap_err();
    assert_eq!((other.at, other.what), (2, "a piece of a string is of another kind"));
}

#[test]
fn bits_are_counted_from_the_first_and_come_in_pieces_too() {
    let whole: &[u8] = &[0x03, 3, 6, 0xa5, 0x40];
    let pieces: &[u8] = &[0x23, 0x80, 3, 2, 0, 0xa5, 3, 2, 6, 0x40, 0, 0];
    for octets in [whole, pieces] {
        let bits = Element::only(octets).unwrap().bits().unwrap();
        assert_eq!((bits.len(), format!("{bits:?}").as_str()), (10, "1010010101"));
        assert!(bits.is_set(9) && !bits.is_set(8) && !bits.is_set(10) && !bits.is_set(800));
    }
    let bad: [&[u8]; 4] = [&[3, 0], &[3, 1, 1], &[3, 2, 8, 0], &[0x23, 8, 3, 2, 1, 0, 3, 2, 0, 0]];
    for octets in bad {
        assert!(Element::only(octets).unwrap().bits().is_err(), "{octets:02x?}");
    }
}

#[test]
fn values_of_the_wrong_size_or_form_are_refused() {
    let of = |octets| Element::only(octets).unwrap();
    assert!(of(&[1, 1, 7]).boolean().unwrap() && !of(&[1, 1, 0]).boolean().unwrap());
    assert!(of(&[1, 0]).boolean().is_err() && of(&[1, 2, 0, 0]).boolean().is_err());
    assert!(of(&[0x21, 3, 1, 1, 0]).boolean().is_err(), "it is primitive always");
    assert!(of(&[5, 1, 0]).null().is_err() && of(&[5, 0]).null().is_ok());
    assert!(of(&[2, 0]).integer().is_err() && of(&[2, 2, 0, 1]).integer().is_err());
    let context = of(&[6, 7, 4, 0, 0, 1, 0, 20, 3]).oid().unwrap();
    assert_eq!(context.to_string(), "0.4.0.0.1.0.20.3");
    assert_eq!(of(&[6, 3, 0x88, 0x37, 3]).oid().unwrap().to_string(), "2.999.3");
    let wide = [&[6, 20, 1, 0x84][..], &[0x80; 17], &[0]].concat();
    let long = [&[6, 21, 1, 0x81][..], &[0x80; 18], &[0]].concat();
    for bad in [&[6, 0][..], &[6, 1, 0x80], &[6, 2, 0x80, 1], &[6, 2, 4, 0x81], &wide, &long] {
        assert!(of(bad).oid().is_err(), "{bad:02x?}");
    }
}
