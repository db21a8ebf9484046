//! Any octets as payloads of codecs, as messages of a transcoder and as the packets of a stream
//! that is transcoded: nothing panics, what is read is written as it was, and no more comes out
//! than went in. Codecs that are C libraries are not run here: they run in a process of their own.

use codec::amr::{self, Band, Frame, Frames, Packing};
use codec::intake::Playout;
use codec::message::{LENGTH_OCTETS, Message, whole};
use codec::{Codec, Digits, End, Events, Format, Library, Output, Side, Transcoder};
use machine::{Duration, Time};
use rtp::{Header, Packet};

/// Milliseconds that one packet can become: of a pause nothing comes, of what is lost 100, of an
/// event 200, of sound 120; and what was left before.
const PACKET_MS_MAX: usize = 500;

pub fn run(bytes: &[u8]) {
    for band in [Band::Narrow, Band::Wide] {
        for packing in [Packing::BandwidthEfficient, Packing::OctetAligned] {
            payload(band, packing, bytes);
        }
    }
    let _ = codec::opus::ticks(bytes);
    messages(bytes);
    if let Ok(text) = core::str::from_utf8(bytes) {
        for codec in Codec::ALL {
            let _ = Format::with_parameters(*codec, text);
        }
    }
    stream(bytes);
}

fn payload(band: Band, packing: Packing, bytes: &[u8]) {
    let Ok(read) = Frames::read(band, packing, bytes) else { return };
    let request = read.request;
    let frames: Vec<Frame> = read.collect();
    let mut again = Vec::new();
    amr::write(band, packing, request, &frames, &mut again);
    let back = Frames::read(band, packing, &again).expect("what is written can be read");
    assert_eq!((back.request, back.collect::<Vec<_>>()), (request, frames));
}

fn messages(bytes: &[u8]) {
    let mut rest = bytes;
    while let Ok(Some(octets)) = whole(rest) {
        assert!(octets >= LENGTH_OCTETS);
        if let Ok(Some(message)) = Message::read(&rest[..octets]) {
            let mut again = Vec::new();
            message.write(&mut again);
            assert_eq!(Message::read(&again), Ok(Some(message)));
        }
        rest = &rest[octets..];
    }
    let _ = Message::read(bytes);
}

fn ends(choice: u8) -> [End; 2] {
    let codecs = [Codec::Pcmu, Codec::Pcma, Codec::G722];
    let end = |choice: u8| {
        let mut end = End::new(Format::new(codecs[usize::from(choice % 3)]), 0, 7);
        end.events = (choice & 4 != 0).then_some(Events { receive: 1, send: 1, clock_hz: 8_000 });
        end.noise = (choice & 8 != 0).then_some(2);
        end.format.has_dtx = true;
        end.digits = Digits::ALL[usize::from(choice / 3 % 4)];
        if choice & 16 != 0 {
            end.playout = Playout::Even { most_ms: 60 };
        }
        end
    };
    [end(choice), end(choice.rotate_left(3))]
}

/// Eight octets say how a packet is numbered and timed, how long it is and how long nothing comes
/// behind it.
fn stream(bytes: &[u8]) {
    let Some((&choice, mut rest)) = bytes.split_first() else { return };
    let mut now = Time::from_millis(1_000);
    let mut transcoder = Transcoder::new(Library::default(), 1, now);
    transcoder.put(1, ends(choice)).expect("nothing is needed");
    let (mut out, mut ms, mut header) = (Output::default(), 0, Header::default());
    while let Some((&[kind, s0, s1, t0, t1, t2, length, wait], tail)) = rest.split_first_chunk() {
        header.payload_type = kind & 3;
        header.ssrc = u32::from(kind >> 6);
        header.sequence = header.sequence.wrapping_add(u16::from_be_bytes([s0 & kind, s1]));
        let step = u32::from_be_bytes([t0 & kind, t1 & kind, t2, 0]) / 16;
        header.timestamp = header.timestamp.wrapping_add(step);
        let (payload, tail) = tail.split_at(tail.len().min(length.into()));
        let mut octets = Vec::new();
        Packet { header, payload, ..Packet::default() }.write(&mut octets);
        transcoder.packet(now, 1, Side::A, &octets, &mut out);
        if kind & 32 != 0 {
            transcoder.digit(now, 1, Side::B, kind & 15, 100);
        }
        now += Duration::from_millis(wait.into());
        transcoder.tick(now, &mut out);
        ms += PACKET_MS_MAX + usize::from(wait);
        rest = tail;
    }
    let packets = out.packets().count();
    assert!(packets <= ms / 10, "{packets} in {ms} ms");
    for (at, (_, _, octets)) in out.packets().enumerate() {
        let header = Header::peek(octets).expect("a packet");
        let forth = usize::from(header.sequence) == at % 65_536;
        assert!(forth, "{} at {at}", header.sequence);
    }
}
