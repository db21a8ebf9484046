//! What of a stream passes the transcoder, and how its ends code and send digits.
//!
//! ```text
//!   payloads, dtmf, what was agreed beside ─┬→ up: payload types that the forwarder hands up
//!                                           └→ ends: what the transcoder is told
//! ```
//! A direction passes the transcoder whole, with events and comfort noise, where nothing of it can
//! pass as it is, or where digits come out of its sound or go into it: then its packets have one
//! source. Else only what must be coded anew is handed up. What is handed up and nobody is told of
//! ends there: so are digits taken out.

use anchor::{Action, Codec, Dtmf, Payload, Side, Stream};
use codec::{Digits, End, Events, Format};
use handshake::Agreement;
use media::PayloadTypes;

/// Whether a payload has sound, not what goes beside it.
fn is_main(payload: &Payload) -> bool {
    payload.codec.is_some_and(|codec| !codec.shape().is_auxiliary)
}

fn is_coded(payload: &Payload) -> bool {
    is_main(payload) && payload.codec.is_some_and(|codec| codec.shape().is_coded)
}

fn of_side(stream: &Stream, side: Side) -> impl Iterator<Item = &Payload> {
    stream.payloads.iter().filter(move |payload| payload.from == side)
}

/// What a side sends that is decoded, if something is: what must be coded anew, or else the first
/// that could be.
fn spoken(stream: &Stream, side: Side) -> Option<&Payload> {
    let is_transcoded = |it: &&Payload| matches!(it.action, Action::Transcode(_));
    let coded = || of_side(stream, side).filter(|it| is_coded(it));
    coded().find(is_transcoded).or_else(|| coded().next())
}

/// Whether the direction from a side passes the transcoder whole.
fn is_whole(stream: &Stream, side: Side, agreement: &Agreement) -> bool {
    let (from, to) = (stream.end(side), stream.end(side.other()));
    let mut coded = of_side(stream, side).filter(|it| is_main(it)).peekable();
    let is_transcoded =
        coded.peek().is_some() && coded.all(|it| matches!(it.action, Action::Transcode(_)));
    let becomes_tones =
        || to.dtmf == Dtmf::Tones && of_side(stream, side).any(|it| it.action == Action::Digit);
    let listens = from.dtmf == Dtmf::Tones
        && (to.dtmf == Dtmf::Info || to.dtmf != Dtmf::Tones && to.event.is_some());
    is_transcoded
        || (becomes_tones() || listens || agreement.of(to).is_played)
            && spoken(stream, side).is_some()
}

/// The payload types from a side that go up.
pub(crate) fn up(stream: &Stream, side: Side, agreement: &Agreement) -> PayloadTypes {
    let is_whole = is_whole(stream, side, agreement);
    let spoken = spoken(stream, side).map(|it| it.number);
    let blocks = agreement.of(stream.end(side)).is_without_digits;
    let is_up = |it: &&Payload| {
        let is_event = it.codec == Some(Codec::TelephoneEvent);
        let is_beside = is_event || it.codec == Some(Codec::ComfortNoise);
        it.action != Action::Pass
            || is_whole && (is_beside || Some(it.number) == spoken)
            || blocks && is_event
    };
    let types = of_side(stream, side).filter(is_up);
    types.fold(PayloadTypes::default(), |all, it| all.with(it.number))
}

/// Whether something of a stream has to pass the transcoder.
fn is_needed(stream: &Stream, agreement: &Agreement) -> bool {
    stream.is_transcoded() || Side::BOTH.iter().any(|side| is_whole(stream, *side, agreement))
}

/// The ends of a stream as the transcoder is told them, without numbers, sources and places.
///
/// `Ok(None)`: nothing of it passes there.
///
/// # Errors
/// Why it cannot be coded.
pub(crate) fn ends(
    stream: &Stream,
    agreement: &Agreement,
) -> Result<Option<[End; 2]>, &'static str> {
    if !is_needed(stream, agreement) {
        return Ok(None);
    }
    let [a, b] = Side::BOTH.map(|side| end(stream, side, agreement));
    Ok(Some([a?, b?]))
}

fn end(stream: &Stream, side: Side, agreement: &Agreement) -> Result<End, &'static str> {
    let end = stream.end(side);
    let payload = spoken(stream, side).ok_or("what an end sends is not coded here")?;
    let codec = payload.codec.and_then(|codec| codec::Codec::named(codec.name()));
    let codec = codec.ok_or("a codec is not coded here")?;
    let parameters = core::str::from_utf8(&end.parameters).unwrap_or_default();
    let format = Format::with_parameters(codec, parameters)?;
    let others = || of_side(stream, side.other());
    let is_it = |it: &&Payload| match it.action {
        Action::Transcode(coding) => Some(coding.codec) == payload.codec,
        Action::Pass => it.codec == payload.codec,
        Action::Digit => false,
    };
    let send = others().find(is_it).map_or(payload.number, |it| it.becomes);
    let noise = of_side(stream, side).find(|it| it.codec == Some(Codec::ComfortNoise));
    let events = end.event.map(|event| {
        // Where it may send none, a number that is sound's already: none is read as one.
        let blocks = agreement.of(end).is_without_digits;
        let receive = if blocks { payload.number } else { event.receive };
        Events { receive, send: event.send, clock_hz: event.clock }
    });
    Ok(End {
        receive: payload.number,
        send,
        noise: noise.map(|it| it.number),
        events: events.filter(|it| (8_000..=48_000).contains(&it.clock_hz)),
        digits: digits(end.dtmf),
        packet_ms: end.packet_ms,
        ..End::new(format, payload.number, 0)
    })
}

const fn digits(dtmf: Dtmf) -> Digits {
    match dtmf {
        Dtmf::Pass => Digits::Pass,
        Dtmf::Events => Digits::Events,
        Dtmf::Info => Digits::Info,
        Dtmf::Tones => Digits::Tones,
    }
}
