//! `ip6-options`: hop-by-hop options (RFC 8200 §4.3, RFC 9673): those that are not known are
//! treated as their type says, the rest is carried. Router alert (RFC 2711) takes nobody past
//! filters and tables: a packet goes up where its destination is this system (RFC 6398 §4).

use crate::arcs::IP6_IN;
use crate::header::IP6;
use crate::icmp::{Message, OPTION, PARAMETER};
use graph::{Context, Edge, Node, Reason, Row, Slot, Verdict};
use machine::narrow::place;

const TO_ERROR: Verdict = Verdict::to(Edge(0));
/// Not an edge but the arc.
const ONWARD: Verdict = Verdict::to(Edge(1));
const UNKNOWN: Verdict = Verdict::drop(Reason(0));
const SHORT: Verdict = Verdict::drop(Reason(1));
const REASONS: &[&str] = &["ip6 option not known", "ip6 options longer than the packet"];

/// The node.
#[derive(Default)]
pub struct Ip6Options;

impl Node for Ip6Options {
    fn row(&self) -> Row {
        Row::of("ip6-options", &["ip6-error"], REASONS)
    }

    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>) {
        for slot in batch {
            let (verdict, message, pointer) = judged(cx.packets.bytes(*slot));
            if verdict == ONWARD {
                cx.next.start(IP6_IN, &[*slot], cx.packets);
                continue;
            }
            let meta = cx.packets.meta_mut(*slot);
            let verdict = Message::ask(meta, message, place(pointer), verdict);
            cx.next.dispatch(&[verdict], &[*slot]);
        }
    }
}

/// What becomes of a packet with hop-by-hop options, and of what is wrong, where it is.
fn judged(packet: &[u8]) -> (Verdict, Message, usize) {
    let Some(units) = packet.get(IP6 + 1) else { return (SHORT, PARAMETER, 0) };
    let end = IP6 + 8 + usize::from(*units) * 8;
    let Some(options) = packet.get(..end) else { return (SHORT, PARAMETER, 0) };
    let mut at = IP6 + 2;
    while at < end {
        let kind = options[at];
        let octets = match options.get(at + 1) {
            _ if kind == 0 => 1,
            Some(octets) if at + 2 + usize::from(*octets) <= end => 2 + usize::from(*octets),
            _ => return (TO_ERROR, PARAMETER, at),
        };
        match (kind, kind >> 6) {
            (0 | 1, _) => {}
            (_, 0) => {}
            (_, 1) => return (UNKNOWN, OPTION, at),
            (_, 2) => return (TO_ERROR, OPTION, at),
            // Code 3: not if it came to a group, which does not come here.
            _ => return (TO_ERROR, OPTION, at),
        }
        at += octets;
    }
    (ONWARD, PARAMETER, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(options: &[u8]) -> Vec<u8> {
        let mut packet = vec![0_u8; IP6];
        (packet[0], packet[6]) = (0x60, 0);
        packet.extend([59, 0]);
        packet.extend(options);
        packet.resize(IP6 + 8, 0);
        packet
    }

    #[test]
    fn unknown_options_are_treated_as_their_type_says() {
        assert_eq!(judged(&packet(&[1, 4])).0, ONWARD);
        assert_eq!(judged(&packet(&[5, 2, 0, 0])).0, ONWARD, "router alert");
        assert_eq!(judged(&packet(&[0x1e, 0])).0, ONWARD);
        assert_eq!(judged(&packet(&[0x5e, 0])).0, UNKNOWN);
        assert_eq!(judged(&packet(&[0, 0x9e, 0])), (TO_ERROR, OPTION, 43));
        assert_eq!(judged(&packet(&[1, 9])), (TO_ERROR, PARAMETER, 42));
        assert_eq!(judged(&packet(&[])[..45]).0, SHORT);
    }
}
