//! How long an Opus packet is (RFC 6716 §3), which is a payload of RTP as it is (RFC 7587 §4.2).

use wire::Malformed;

const SPEC: &str = "RFC 6716 §3";
/// Samples of a packet at most at 48 kHz: 120 ms.
pub const TICKS_MAX: u32 = 5_760;
/// A packet of so many octets and fewer has no sound: the sender is silent (DTX).
pub const SILENT_OCTETS: usize = 2;

/// Samples of a packet at 48 kHz, which is the clock of its RTP.
///
/// # Errors
/// No octet, no frame, or more than 120 ms.
pub fn ticks(packet: &[u8]) -> Result<u32, Malformed> {
    let lacks = Malformed::new(0, "the packet is cut off", SPEC);
    let first = *packet.first().ok_or(lacks)?;
    let config = first >> 3;
    let frame = match config {
        ..12 => [480, 960, 1_920, 2_880][usize::from(config & 3)],
        12..16 => [480, 960][usize::from(config & 1)],
        _ => [120, 240, 480, 960][usize::from(config & 3)],
    };
    let frames = match first & 3 {
        0 => 1,
        1 | 2 => 2,
        _ => u32::from(packet.get(1).ok_or(lacks)? & 0x3F),
    };
    match frame * frames {
        0 => Err(Malformed::new(1, "the packet has no frame", SPEC)),
        ticks if ticks > TICKS_MAX => Err(Malformed::new(1, "the packet is too long", SPEC)),
        ticks => Ok(ticks),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_tells_how_long_it_is() {
        assert_eq!(ticks(&[0x08, 1, 2]), Ok(960), "SILK, one frame of 20 ms");
        assert_eq!(ticks(&[0x7C << 1, 1]), Ok(960), "CELT, one frame of 20 ms");
        assert_eq!(ticks(&[0x80 | 3, 48]), Ok(5_760), "48 frames of 2.5 ms");
        assert!(ticks(&[0x80 | 3, 49]).is_err() && ticks(&[0x80 | 3, 0]).is_err());
        assert!(ticks(&[0x0B]).is_err() && ticks(&[]).is_err());
        assert!(ticks(&[0x19]).is_ok_and(|it| it == 5_760), "two of 60 ms");
    }
}
