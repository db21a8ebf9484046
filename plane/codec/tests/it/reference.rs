//! G.722 to the octet against the encoder and the decoder of FFmpeg 5.1 (`-c:a g722 -trellis 0`).

use crate::sound::{samples, speech_16k};
use codec::g722::{Decoder, Encoder};

const CODED: &[u8] = include_bytes!("../vectors/speech.g722");
const DECODED: &[u8] = include_bytes!("../vectors/speech-g722-16k.raw");

#[test]
fn g722_codes_to_the_octets_of_another_encoder_whatever_the_pieces_are() {
    for piece in [2, 160, 320, 640, 12_000] {
        let (mut encoder, mut out) = (Encoder::default(), Vec::new());
        speech_16k().chunks(piece).for_each(|piece| encoder.encode(piece, &mut out));
        let first = out.iter().zip(CODED).position(|(mine, its)| mine != its);
        assert_eq!((first, out.len()), (None, CODED.len()), "pieces of {piece}");
    }
}

#[test]
fn g722_decodes_to_the_samples_of_another_decoder() {
    let (mut decoder, mut out) = (Decoder::default(), Vec::new());
    CODED.chunks(160).for_each(|piece| decoder.decode(piece, &mut out));
    let wanted = samples(DECODED);
    let first = out.iter().zip(&wanted).position(|(mine, its)| mine != its);
    assert_eq!((first, out.len()), (None, wanted.len()));
}
