//! What became of echo requests, and their frames (RFC 792, RFC 791 §3.1) where no kernel makes
//! them.

/// Octets of a frame: Ethernet, IPv4, ICMP with the 56 octets of ping(8).
pub(super) const OCTETS: usize = 98;
const IP: usize = 14;
const ICMP: usize = IP + 20;
const SEQUENCE: usize = ICMP + 6;
const REQUEST: u8 = 8;
const REPLY: u8 = 0;

/// What was answered so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Echoes {
    /// Requests from the first that was answered to the last.
    pub(super) sent: u64,
    /// Those that were answered.
    pub(super) answered: u64,
    last: u16,
    round_trips_us: Vec<u64>,
}

impl Echoes {
    /// The request with this sequence number was answered.
    pub(super) fn add(&mut self, sequence: u16, round_trip_us: u64) {
        let step = sequence.wrapping_sub(self.last);
        let is_later = step < 1 << 15;
        if self.answered == 0 {
            self.sent = 1;
        } else if is_later {
            self.sent += u64::from(step);
        }
        if is_later || self.answered == 0 {
            self.last = sequence;
        }
        self.answered += 1;
        self.round_trips_us.push(round_trip_us);
    }

    /// The median of the round trips, microseconds.
    pub(super) fn median_us(&self) -> u64 {
        let mut all = self.round_trips_us.clone();
        all.sort_unstable();
        all.get(all.len() / 2).copied().unwrap_or(0)
    }
}

/// One end of the way: its own MAC address, the edge's, and its own IPv4 address.
#[derive(Debug, Clone, Copy)]
pub(super) struct End {
    pub(super) mac: [u8; 6],
    pub(super) edge: [u8; 6],
    pub(super) address: [u8; 4],
}

/// The request with this sequence number from one end to the other.
pub(super) fn request(from: &End, to: &End, sequence: u16) -> [u8; OCTETS] {
    let mut frame = [0; OCTETS];
    frame[..6].copy_from_slice(&from.edge);
    frame[6..12].copy_from_slice(&from.mac);
    frame[12..IP].copy_from_slice(&[8, 0]);
    let length = ((OCTETS - IP) as u16).to_be_bytes();
    frame[IP..IP + 9].copy_from_slice(&[0x45, 0, length[0], length[1], 0, 0, 0x40, 0, 64]);
    frame[IP + 9] = 1; // ICMP
    frame[IP + 12..IP + 16].copy_from_slice(&from.address);
    frame[IP + 16..ICMP].copy_from_slice(&to.address);
    frame[ICMP] = REQUEST;
    frame[SEQUENCE..SEQUENCE + 2].copy_from_slice(&sequence.to_be_bytes());
    finish(&mut frame);
    frame
}

/// What an end answers to a request for it.
pub(super) fn reply(end: &End, frame: &[u8]) -> Option<[u8; OCTETS]> {
    let mut frame: [u8; OCTETS] = frame.get(..OCTETS)?.try_into().ok()?;
    let is_asked = frame[ICMP] == REQUEST && frame[IP + 16..ICMP] == end.address;
    if !is_icmp(&frame) || !is_asked {
        return None;
    }
    frame[..6].copy_from_slice(&end.edge);
    frame[6..12].copy_from_slice(&end.mac);
    let (from, to) = frame[IP + 12..ICMP].split_at_mut(4);
    from.swap_with_slice(to);
    frame[IP + 8] = 64;
    frame[ICMP] = REPLY;
    finish(&mut frame);
    Some(frame)
}

/// The sequence number of a reply to an end, whole and with right checksums.
pub(super) fn answered(end: &End, frame: &[u8]) -> Option<u16> {
    let frame = frame.get(..OCTETS)?;
    let is_for_us = frame[IP + 16..ICMP] == end.address && frame[ICMP] == REPLY;
    let is_whole = checksum(&frame[IP..ICMP]) == 0 && checksum(&frame[ICMP..]) == 0;
    (is_icmp(frame) && is_for_us && is_whole)
        .then(|| u16::from_be_bytes([frame[SEQUENCE], frame[SEQUENCE + 1]]))
}

fn is_icmp(frame: &[u8]) -> bool {
    frame[12..IP] == [8, 0] && frame[IP] == 0x45 && frame[IP + 9] == 1
}

/// Writes both checksums.
fn finish(frame: &mut [u8; OCTETS]) {
    frame[IP + 10..IP + 12].fill(0);
    frame[ICMP + 2..ICMP + 4].fill(0);
    let header = checksum(&frame[IP..ICMP]).to_be_bytes();
    frame[IP + 10..IP + 12].copy_from_slice(&header);
    let message = checksum(&frame[ICMP..]).to_be_bytes();
    frame[ICMP + 2..ICMP + 4].copy_from_slice(&message);
}

/// The Internet checksum (RFC 1071) of an even number of octets.
fn checksum(octets: &[u8]) -> u16 {
    let words = octets.chunks_exact(2).map(|two| u32::from(u16::from_be_bytes([two[0], two[1]])));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: End =
        End { mac: [2, 0, 0, 0, 1, 2], edge: [2, 0, 0, 0, 1, 1], address: [10, 0, 1, 2] };
    const B: End =
        End { mac: [2, 0, 0, 0, 2, 2], edge: [2, 0, 0, 0, 2, 1], address: [10, 0, 2, 2] };

    #[test]
    fn a_request_is_answered_to_who_asked_and_nobody_else() {
        let asked = request(&A, &B, 7);
        let told = reply(&B, &asked).unwrap();
        assert_eq!((answered(&A, &told), answered(&B, &told)), (Some(7), None));
        assert_eq!((&told[..6], &told[6..12]), (&B.edge[..], &B.mac[..]));
        assert!(reply(&A, &asked).is_none() && reply(&B, &told).is_none());
        let mut broken = told;
        broken[OCTETS - 1] ^= 1;
        assert_eq!(answered(&A, &broken), None);
        assert!(reply(&B, &asked[..40]).is_none() && answered(&A, &told[..40]).is_none());
    }

    #[test]
    fn what_is_lost_is_what_was_sent_between_and_not_answered() {
        let mut echoes = Echoes::default();
        for sequence in [65_534, 65_535, 1, 0, 2] {
            echoes.add(sequence, 10);
        }
        assert_eq!((echoes.sent, echoes.answered, echoes.median_us()), (5, 5, 10));
        echoes.add(5, 30);
        assert_eq!((echoes.sent, echoes.answered), (8, 6));
    }
}
