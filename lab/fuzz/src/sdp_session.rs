//! An offer, a zero octet, an answer: what is accepted is made of its lines, every view of it reads
//! without a panic, and comparing it with itself finds the same streams.

use sdp::Session;

pub fn run(octets: &[u8]) {
    let cut = octets.iter().position(|&octet| octet == 0).unwrap_or(octets.len());
    let offer = read(&octets[..cut]);
    let answer = octets.get(cut + 1..).and_then(read);
    if let (Some(offer), Some(answer)) = (offer, answer) {
        let _ = sdp::fits(&offer, &answer);
    }
}

fn read(octets: &[u8]) -> Option<Session<'_>> {
    let session = match Session::parse(octets) {
        Ok(session) => session,
        Err(violation) => {
            assert!(violation.at <= octets.len());
            return None;
        }
    };
    let lines: usize = session.lines().map(|line| line.raw.len()).sum();
    assert_eq!(lines, octets.len(), "the lines are the whole");
    for media in session.media() {
        media.attributes().for_each(drop);
        media.format_list().for_each(drop);
        media.preconditions().for_each(drop);
        let _ = (media.rtcp_port(), media.is_on_hold(), media.is_ready());
    }
    let _ = (session.is_on_hold(), session.attributes().count());
    assert_ne!(sdp::fits(&session, &session), Err(sdp::Mismatch::StreamCount));
    Some(session)
}
