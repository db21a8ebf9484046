//! Blocks of a pcapng file as they are written (draft-ietf-opsawg-pcapng): one section, its
//! interfaces in their order, then packets.

/// Options of blocks (§3.5).
const OPT_END: u16 = 0;
const OPT_COMMENT: u16 = 1;

/// Appends the header of a section, and an interface of each of those links.
pub fn begin(out: &mut Vec<u8>, links: &[u16]) {
    let mut section = vec![0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0];
    section.extend_from_slice(&u64::MAX.to_le_bytes());
    block(out, 0x0a0d_0d0a, &section);
    for link in links {
        let mut interface = link.to_le_bytes().to_vec();
        interface.extend_from_slice(&[0, 0]);
        interface.extend_from_slice(&0x0004_0000_u32.to_le_bytes());
        block(out, 1, &interface);
    }
}

/// Appends an Enhanced Packet Block (§4.3); time in microseconds, which is the default resolution.
/// An empty comment is none.
pub fn packet(out: &mut Vec<u8>, interface: u32, at_us: u64, bytes: &[u8], comment: &str) {
    let mut body = Vec::with_capacity(bytes.len() + comment.len() + 40);
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    let [a, b, c, d, e, f, g, h] = at_us.to_be_bytes();
    let [at_high, at_low] = [[a, b, c, d], [e, f, g, h]].map(u32::from_be_bytes);
    for number in [interface, at_high, at_low, length, length] {
        body.extend_from_slice(&number.to_le_bytes());
    }
    body.extend_from_slice(bytes);
    if !comment.is_empty() {
        pad(&mut body);
        for (option, value) in [(OPT_COMMENT, comment.as_bytes()), (OPT_END, b"")] {
            let value = &value[..value.len().min(usize::from(u16::MAX))];
            body.extend_from_slice(&option.to_le_bytes());
            body.extend_from_slice(&u16::try_from(value.len()).unwrap_or(u16::MAX).to_le_bytes());
            body.extend_from_slice(value);
            pad(&mut body);
        }
    }
    block(out, 6, &body);
}

fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

fn block(out: &mut Vec<u8>, kind: u32, body: &[u8]) {
    let octets = body.len().next_multiple_of(4) + 12;
    let length = u32::try_from(octets).unwrap_or(u32::MAX);
    out.extend_from_slice(&kind.to_le_bytes());
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(body);
    out.extend_from_slice(&[0; 3][..octets - 12 - body.len()]);
    out.extend_from_slice(&length.to_le_bytes());
}
