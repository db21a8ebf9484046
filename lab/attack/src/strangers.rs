//! SIP requests within dialogs that nobody has: BYE, UPDATE, re-INVITE, INFO with names of both
//! sides, as who guesses them would send them.

use crate::datagrams;
use crate::sockets::{Numbers, Pace, SocketAttack};
use std::fmt::Write as _;

const METHODS: [&str; 4] = ["BYE", "UPDATE", "INVITE", "INFO"];

pub(crate) fn run(attack: &SocketAttack, pace: &mut Pace) -> anyhow::Result<()> {
    let mut names = Numbers::new(4);
    let (target, mut text) = (attack.target, String::new());
    datagrams::send(attack, pace, |source, at, out| {
        let [call, ours, theirs] = [(); 3].map(|()| names.next());
        let method = METHODS[usize::try_from(at).unwrap_or_default() % METHODS.len()];
        text.clear();
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "{method} sip:{target} SIP/2.0\r\n\
            Via: SIP/2.0/UDP {source}:5060;rport;branch=z9hG4bK{call:x}\r\nMax-Forwards: 70\r\n\
            From: <sip:a@lab>;tag={ours:x}\r\nTo: <sip:b@lab>;tag={theirs:x}\r\n\
            Call-ID: {call:x}\r\nCSeq: 2147483647 {method}\r\nContact: <sip:a@{source}:5060>\r\n\
            Content-Length: 0\r\n\r\n"
        );
        out.extend_from_slice(text.as_bytes());
    })
}

#[cfg(test)]
mod tests {
    use crate::SocketKind;
    use crate::datagrams::tests::arrived;
    use std::collections::BTreeSet;

    #[test]
    fn every_request_is_of_another_dialog_and_names_both_sides() {
        let (all, _) = arrived(SocketKind::Strangers);
        let mut dialogs = BTreeSet::new();
        for bytes in &all {
            assert_eq!(sip::frame(bytes), sip::Framing::Message(bytes.len()));
            let text = std::str::from_utf8(bytes).unwrap();
            let line = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap();
            assert!(line("From:").contains(";tag=") && line("To:").contains(";tag="));
            dialogs.insert(line("Call-ID:").to_owned());
        }
        assert_eq!(dialogs.len(), all.len());
    }
}
