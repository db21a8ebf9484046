//! The sources that packets name, changed in place: what passes names the sources of the other
//! side.

use super::feedback::{PayloadFormat, TransportFormat};
use super::frame::{HEADER_BYTES, PacketType};
use super::xr::BlockType;

/// Octets of a report block.
const BLOCK_BYTES: usize = 24;
/// Where the report blocks of a sender report begin.
const SENDER_BLOCKS_AT: usize = 28;
/// Octets of an entry of FIR, TMMBR and TMMBN.
const ENTRY_BYTES: usize = 8;
/// Where the information of feedback begins.
const INFORMATION_AT: usize = 12;
/// Where the sources of a REMB begin, and its octet that counts them.
const REMB_SOURCES_AT: usize = 20;
const REMB_COUNT_AT: usize = 16;

/// Changes every source that the packets of a datagram name to what `to` says of it. The datagram
/// was read as a [`super::Compound`] before; what is malformed inside a packet is left as it is.
pub fn rewrite_sources(datagram: &mut [u8], to: impl Fn(u32) -> u32) {
    let mut rest = datagram;
    while let Some(&[_, _, l0, l1]) = rest.first_chunk::<HEADER_BYTES>() {
        let length = HEADER_BYTES + usize::from(u16::from_be_bytes([l0, l1])) * 4;
        let Some((packet, behind)) = rest.split_at_mut_checked(length) else { return };
        rewrite_packet(packet, &to);
        rest = behind;
    }
}

/// Changes the source at an offset, if there is one.
fn rewrite(packet: &mut [u8], at: usize, to: &impl Fn(u32) -> u32) {
    let found = packet.get_mut(at..).and_then(|it| it.first_chunk_mut::<4>());
    if let Some(octets) = found {
        *octets = to(u32::from_be_bytes(*octets)).to_be_bytes();
    }
}

fn rewrite_packet(packet: &mut [u8], to: &impl Fn(u32) -> u32) {
    let (count, number) = (usize::from(packet[0] & 0x1F), packet[1]);
    let Some(kind) = PacketType::of(number) else { return };
    let mut each = |first: usize, step: usize, count: usize| {
        (0..count).for_each(|n| rewrite(packet, first + n * step, to));
    };
    match kind {
        PacketType::SenderReport => {
            each(4, 4, 1);
            each(SENDER_BLOCKS_AT, BLOCK_BYTES, count);
        }
        PacketType::ReceiverReport => {
            each(4, 4, 1);
            each(8, BLOCK_BYTES, count);
        }
        PacketType::Goodbye => each(4, 4, count),
        PacketType::Application => each(4, 4, 1),
        PacketType::SourceDescription => rewrite_chunks(packet, count, to),
        PacketType::TransportFeedback | PacketType::PayloadFeedback => {
            each(4, 4, 1);
            // Zero names no stream: the information does (RFC 5104 §4.3.1.2).
            if packet.get(8..INFORMATION_AT) != Some(&[0; 4]) {
                rewrite(packet, 8, to);
            }
            rewrite_information(packet, kind, to);
        }
        PacketType::ExtendedReport => {
            each(4, 4, 1);
            rewrite_blocks(packet, to);
        }
    }
}

fn rewrite_chunks(packet: &mut [u8], count: usize, to: &impl Fn(u32) -> u32) {
    let mut at = HEADER_BYTES;
    for _ in 0..count {
        rewrite(packet, at, to);
        let start = at;
        at += 4;
        // Items have a type and a length; a zero ends them.
        while let Some(&[1..=u8::MAX, length]) = packet.get(at..).and_then(|it| it.first_chunk()) {
            at += 2 + usize::from(length);
        }
        at = start + (at + 1 - start).next_multiple_of(4);
    }
}

fn rewrite_information(packet: &mut [u8], kind: PacketType, to: &impl Fn(u32) -> u32) {
    let format = packet[0] & 0x1F;
    let is = |transport: Option<TransportFormat>, payload: Option<PayloadFormat>| match kind {
        PacketType::TransportFeedback => {
            transport.is_some() && TransportFormat::of(format) == transport
        }
        _ => payload.is_some() && PayloadFormat::of(format) == payload,
    };
    let has_entries = is(Some(TransportFormat::Tmmbr), Some(PayloadFormat::Fir))
        || is(Some(TransportFormat::Tmmbn), None);
    if has_entries {
        let entries = packet.len().saturating_sub(INFORMATION_AT) / ENTRY_BYTES;
        (0..entries).for_each(|n| rewrite(packet, INFORMATION_AT + n * ENTRY_BYTES, to));
    } else if is(None, Some(PayloadFormat::ApplicationLayer))
        && packet.get(INFORMATION_AT..REMB_COUNT_AT) == Some(b"REMB")
    {
        let count = packet.get(REMB_COUNT_AT).copied().unwrap_or(0);
        (0..usize::from(count)).for_each(|n| rewrite(packet, REMB_SOURCES_AT + 4 * n, to));
    }
}

fn rewrite_blocks(packet: &mut [u8], to: &impl Fn(u32) -> u32) {
    let mut rest = packet.get_mut(HEADER_BYTES + 4..).unwrap_or_default();
    while let Some(&[number, _, l0, l1]) = rest.first_chunk::<4>() {
        let length = 4 + usize::from(u16::from_be_bytes([l0, l1])) * 4;
        let Some((block, behind)) = rest.split_at_mut_checked(length) else { return };
        match BlockType::of(number) {
            None | Some(BlockType::ReferenceTime) => {}
            Some(BlockType::Dlrr) => {
                (0..block.len() / 12).for_each(|n| rewrite(block, 4 + 12 * n, to));
            }
            Some(_) => rewrite(block, 4, to),
        }
        rest = behind;
    }
}
