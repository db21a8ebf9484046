//! The same value in the other forms that X.690 allows.

use ber::{Element, Reader};

/// The element with indefinite lengths, and with strings of more than one octet in two pieces.
pub fn rewritten(element: &Element<'_>, has_pieces: &dyn Fn(&Element<'_>) -> bool) -> Vec<u8> {
    let head = element.whole().len() - element.contents().len();
    let identifier = identifier(element.whole(), head);
    let mut out = identifier.to_vec();
    if element.is_constructed() {
        out.push(0x80);
        for child in element.children().unwrap() {
            out.extend(rewritten(&child.unwrap(), has_pieces));
        }
        out.extend([0, 0]);
    } else if has_pieces(element) {
        out[0] |= 0x20;
        out.push(0x80);
        let (left, right) = element.contents().split_at(element.contents().len() / 2);
        for piece in [left, right] {
            out.extend([4, 0x82]);
            out.extend(u16::try_from(piece.len()).unwrap().to_be_bytes());
            out.extend(piece);
        }
        out.extend([0, 0]);
    } else {
        out.extend([0x84]);
        out.extend(u32::try_from(element.contents().len()).unwrap().to_be_bytes());
        out.extend(element.contents());
    }
    out
}

fn identifier(whole: &[u8], head: usize) -> &[u8] {
    let long = whole[..head].iter().skip(1).take_while(|it| **it & 0x80 != 0).count();
    &whole[..if whole[0] & 0x1f == 0x1f { long + 2 } else { 1 }]
}

#[test]
fn what_is_rewritten_reads_the_same() {
    let octets = [0x30, 8, 0x9f, 31, 2, 1, 2, 0x81, 1, 7];
    let octets = [&octets[..], &[]].concat();
    let element = Element::only(&octets).unwrap();
    let again = rewritten(&element, &|it| it.tag().number() == 31);
    let again = Reader::new(&again).only().unwrap();
    let first = again.children().unwrap().next().unwrap().unwrap();
    assert!(first.is_constructed() && first.octets().unwrap() == [1, 2][..]);
}
