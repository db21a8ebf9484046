//! Any octets as an M3UA message and as a stream of them: nothing panics, and DATA that is
//! understood survives a round trip.

use m3ua::codec::{Data, Framing, MESSAGE_BYTES_MAX, Message, MessageType, RoutingKey, Tag, frame};

pub fn run(bytes: &[u8]) {
    if let Framing::Message(length) = frame(bytes) {
        assert!(length <= bytes.len() && length <= MESSAGE_BYTES_MAX);
    }
    let message = match Message::read(bytes) {
        Ok(message) => message,
        Err(violation) => return assert!(violation.malformed.at <= bytes.len()),
    };
    for (at, value) in message.all(Tag::RoutingKey) {
        let _ = RoutingKey::read(at, value).map(|key| key.groups().len());
    }
    if message.kind != MessageType::Data {
        return;
    }
    if let Ok(data) = Data::of(&message) {
        let mut again = Vec::new();
        data.write(&mut again);
        let back = Message::read(&again).expect("what is written can be read");
        assert_eq!(Data::of(&back), Ok(data));
    }
}
