//! `ip4-options`: headers with options (RFC 791 §3.1, RFC 7126): source routes do not pass, the
//! others are carried as they are. Router alert (RFC 2113) takes nobody past filters and tables: a
//! packet goes up where its destination is this system, alert or not (RFC 6398 §4).

use crate::arcs::IP4_IN;
use crate::header::IP4;
use crate::icmp::{Message, PARAMETER};
use graph::{Context, Edge, Node, Reason, Row, Slot, Verdict};
use machine::narrow::place;

const TO_ERROR: Verdict = Verdict::to(Edge(0));
/// Not an edge but the arc.
const ONWARD: Verdict = Verdict::to(Edge(1));
const SOURCE_ROUTE: Verdict = Verdict::drop(Reason(0));
const REASONS: &[&str] = &["ip4 source route"];

/// Loose source route.
const LOOSE: u8 = 131;
/// Strict source route.
const STRICT: u8 = 137;

/// The node.
#[derive(Default)]
pub struct Ip4Options;

impl Node for Ip4Options {
    fn row(&self) -> Row {
        Row::of("ip4-options", &["ip4-error"], REASONS)
    }

    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>) {
        for slot in batch {
            let packet = cx.packets.bytes(*slot);
            let octets = (usize::from(packet[0] & 15) * 4).clamp(IP4, packet.len());
            let (verdict, pointer) = judged(&packet[..octets]);
            if verdict == ONWARD {
                cx.next.start(IP4_IN, &[*slot], cx.packets);
                continue;
            }
            let meta = cx.packets.meta_mut(*slot);
            let verdict = Message::ask(meta, PARAMETER, place(pointer), verdict);
            cx.next.dispatch(&[verdict], &[*slot]);
        }
    }
}

/// What becomes of a packet with this header, and where in it something is wrong.
fn judged(header: &[u8]) -> (Verdict, usize) {
    let mut at = IP4;
    while at < header.len() {
        let octets = match header[at] {
            0 => break,
            1 => 1,
            _ => match header.get(at + 1) {
                Some(octets @ 2..) if at + usize::from(*octets) <= header.len() => {
                    usize::from(*octets)
                }
                Some(_) => return (TO_ERROR, at + 1),
                None => return (TO_ERROR, at),
            },
        };
        if matches!(header[at], LOOSE | STRICT) {
            return (SOURCE_ROUTE, at);
        }
        at += octets;
    }
    (ONWARD, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(options: &[u8]) -> Vec<u8> {
        let mut header = vec![0_u8; IP4];
        header.extend(options);
        header.resize(header.len().next_multiple_of(4), 0);
        header[0] = 0x40 | (header.len() / 4) as u8;
        header
    }

    #[test]
    fn options_are_walked_to_their_end_and_no_further() {
        assert_eq!(judged(&header(&[1, 1, 1, 0])), (ONWARD, 0));
        assert_eq!(judged(&header(&[7, 7, 4, 0, 0, 0, 0, 0])), (ONWARD, 0), "record route");
        assert_eq!(judged(&header(&[148, 4, 0, 0])), (ONWARD, 0), "router alert");
        assert_eq!(judged(&header(&[1, 131, 3, 4])), (SOURCE_ROUTE, 21));
        assert_eq!(judged(&header(&[7, 9, 0, 0])), (TO_ERROR, 21), "too long");
        assert_eq!(judged(&header(&[7, 1, 0, 0])), (TO_ERROR, 21), "too short");
        assert_eq!(judged(&header(&[1, 1, 1, 7])), (TO_ERROR, 23), "no length");
    }
}
