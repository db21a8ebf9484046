//! Whether a gateway answers: echo requests (RFC 792, RFC 4443 §4.1), to several of them by one
//! socket of each family.

use crate::link::checksum;
use crate::socket::open;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};

const ECHO_REQUEST: [u8; 2] = [8, 128];
const ECHO_REPLY: [u8; 2] = [0, 129];
/// Octets of a request: the head, and the mark by which its answer is known.
const REQUEST_BYTES: usize = 16;
/// Answers that one look takes.
const ANSWERS_MAX: usize = 64;
/// Room for an answer and, from a raw socket, its IP header.
const ANSWER_BYTES: usize = 512;

/// Sends echo requests and hears the answers.
#[derive(Debug)]
pub struct Prober {
    /// Of IPv4 and IPv6, made when they are needed, and whether each is a raw one.
    sockets: [Option<(UdpSocket, bool)>; 2],
    mark: [u8; 8],
}

impl Prober {
    /// One whose requests carry this mark, which nobody else knows.
    #[must_use]
    pub const fn new(mark: [u8; 8]) -> Self {
        Self { sockets: [None, None], mark }
    }

    fn socket(&mut self, is_v6: bool) -> io::Result<&UdpSocket> {
        let socket = &mut self.sockets[usize::from(is_v6)];
        if socket.is_none() {
            let any: SocketAddr =
                if is_v6 { ([0u16; 8], 0).into() } else { ([0, 0, 0, 0], 0).into() };
            let protocol = if is_v6 { libc::IPPROTO_ICMPV6 } else { libc::IPPROTO_ICMP };
            // The kernel lets some users have the first kind (`ping_group_range`), and those with
            // CAP_NET_RAW the second one.
            let made = open(&any, libc::SOCK_DGRAM, protocol).map(|fd| (fd, false));
            let made = made.or_else(|_| open(&any, libc::SOCK_RAW, protocol).map(|fd| (fd, true)));
            let (fd, is_raw) = made?;
            *socket = Some((UdpSocket::from(fd), is_raw));
        }
        let made = socket.as_ref().map(|(socket, _)| socket);
        made.ok_or_else(|| io::Error::from(io::ErrorKind::NotConnected))
    }

    /// Asks a gateway.
    ///
    /// # Errors
    /// The kernel's: not permitted, no route.
    pub fn ask(&mut self, gateway: IpAddr, sequence: u16) -> io::Result<()> {
        let is_v6 = gateway.is_ipv6();
        let mut request = [0; REQUEST_BYTES];
        request[0] = ECHO_REQUEST[usize::from(is_v6)];
        request[4..6].copy_from_slice(&self.mark[..2]);
        request[6..8].copy_from_slice(&sequence.to_be_bytes());
        request[8..].copy_from_slice(&self.mark);
        // That of IPv6 is the kernel's (RFC 3542 §3.1).
        if !is_v6 {
            let sum = checksum(&request).to_be_bytes();
            request[2..4].copy_from_slice(&sum);
        }
        self.socket(is_v6)?.send_to(&request, (gateway, 0)).map(drop)
    }

    /// Who has answered, and which request.
    #[must_use]
    pub fn answers(&mut self) -> Vec<(IpAddr, u16)> {
        let mut answers = Vec::new();
        let mut buffer = [0; ANSWER_BYTES];
        for (is_v6, socket) in [false, true].into_iter().zip(&self.sockets) {
            let Some((socket, is_raw)) = socket else { continue };
            for _ in 0..ANSWERS_MAX {
                let Ok((length, from)) = socket.recv_from(&mut buffer) else { break };
                let bytes = payload(&buffer[..length], *is_raw && !is_v6);
                if let Some(sequence) = answered(bytes, is_v6, &self.mark) {
                    answers.push((from.ip(), sequence));
                }
            }
        }
        answers
    }
}

/// What stands behind the IP header, which raw sockets of IPv4 show.
fn payload(bytes: &[u8], has_header: bool) -> &[u8] {
    let head =
        if has_header { bytes.first().map_or(0, |first| usize::from(first & 15) * 4) } else { 0 };
    bytes.get(head..).unwrap_or_default()
}

/// The number of the request that this answers, if it is one of ours.
fn answered(bytes: &[u8], is_v6: bool, mark: &[u8; 8]) -> Option<u16> {
    let is_answer = bytes.first() == Some(&ECHO_REPLY[usize::from(is_v6)])
        && bytes.get(8..REQUEST_BYTES) == Some(&mark[..]);
    let sequence = bytes.get(6..8).filter(|_| is_answer)?;
    Some(u16::from_be_bytes([sequence[0], sequence[1]]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_known_by_its_mark_and_nothing_else_is_one() {
        let mark = *b"a secret";
        let mut bytes = vec![0, 0, 0, 0, 1, 2, 0, 7];
        bytes.extend_from_slice(&mark);
        assert_eq!(answered(&bytes, false, &mark), Some(7));
        assert_eq!(answered(&bytes, true, &mark), None);
        assert_eq!(answered(&bytes, false, b"no secre"), None);
        for cut in 0..bytes.len() {
            assert_eq!(answered(&bytes[..cut], false, &mark), None);
        }
        bytes[0] = 129;
        assert_eq!(answered(&bytes, true, &mark), Some(7));
        let raw = [&[0x45][..], &[0; 19], &bytes].concat();
        assert_eq!(payload(&raw, true), bytes);
        assert_eq!(payload(&[0x4f, 1], true), [0u8; 0]);
    }

    #[test]
    fn loopback_answers_those_who_may_ask() {
        let (mut prober, here) = (Prober::new(*b"own mark"), IpAddr::from([127, 0, 0, 1]));
        prober.ask(here, 9).expect("tests run with the right to ask");
        let mut answers = Vec::new();
        for _ in 0..1_000 {
            answers.append(&mut prober.answers());
            if !answers.is_empty() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        assert_eq!(answers, [(here, 9)]);
    }
}
