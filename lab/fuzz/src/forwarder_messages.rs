//! What a forwarder and its control read of each other: any octets are a message, the beginning of
//! one or refused, and what was read is the same when it is written and read again.

use forwarder::ipc::{self, Message, Reply, Request};
use std::fmt::Debug;

/// All messages in a row; a length is one octet here, so that few are too long.
fn read<T: Message + Debug>(octets: &[u8]) {
    let mut rest = octets;
    while let Some((length, more)) = rest.split_first() {
        let body = &more[..usize::from(*length).min(more.len())];
        let mut framed = (body.len() as u32).to_be_bytes().to_vec();
        framed.extend_from_slice(body);
        rest = &more[body.len()..];
        assert!(ipc::is_whole(&framed));
        let Ok(Some((message, taken))) = ipc::read::<T>(&framed) else { continue };
        assert_eq!(taken, framed.len());
        let mut again = Vec::new();
        ipc::write(&message, &mut again).expect("it is not longer than what it is of");
        let (same, _) = ipc::read::<T>(&again).expect("a message").expect("a whole one");
        assert_eq!(format!("{message:?}"), format!("{same:?}"));
    }
}

pub fn run(octets: &[u8]) {
    // As they come from a socket: nothing panics.
    let _ = ipc::read::<Request>(octets);
    let _ = ipc::read::<Reply>(octets);
    read::<Request>(octets);
    read::<Reply>(octets);
}
