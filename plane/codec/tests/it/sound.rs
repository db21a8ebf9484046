//! Sounds to be coded, and how well they come back.

/// Samples out of a file of 16 bits each, the low octet first.
pub fn samples(octets: &[u8]) -> Vec<i16> {
    octets.as_chunks::<2>().0.iter().map(|it| i16::from_le_bytes(*it)).collect()
}

/// Half a second of something like speech and a quarter of a rising tone, at 16 kHz.
pub fn speech_16k() -> Vec<i16> {
    samples(include_bytes!("../vectors/speech-16k.raw"))
}
