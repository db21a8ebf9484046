//! Any octets as a message of LSP ping: read or refused, answered or not, and what is read is
//! written and read alike.

use lspping::{Fec, Here, Message, answer};

pub fn run(octets: &[u8]) {
    if let Ok(it) = Message::read(octets) {
        let is_ours = it.stack.iter().all(|it| matches!(it, Fec::Ldp4(..)));
        if is_ours && !it.is_strange {
            assert_eq!(Message::read(&it.write()), Ok(it));
        }
    }
    for here in [Here::Egress, Here::Switched(100_000), Here::Unknown] {
        if let Some(reply) = answer(octets, Some(100_000), 1, |_, _| here) {
            assert_eq!(Message::read(&reply.write()), Ok(reply));
        }
    }
}
