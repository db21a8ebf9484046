//! Any octets as an MRT file: nothing panics, offsets lie in the file, pieces give what the whole
//! gives, and attributes that were made canonical stay as they are.

use bgp::codec::{MessageType, Update};
use mrt::{Body, Message, Records, RibEntries, canonical};

fn message(message: &Message<'_>) {
    if message.kind != MessageType::Update {
        return;
    }
    if let Ok(update) = Update::read(message.message, &message.context()) {
        let _ = (update.announced().count(), update.withdrawn().count());
    }
}

pub fn run(file: &[u8]) {
    let whole: Vec<_> = Records::new(file).map_while(Result::ok).collect();
    let mut pieces = Vec::new();
    let (mut from, half) = (0, file.len() / 2);
    for to in [half, file.len()] {
        let mut records = Records::piece(&file[from..to], from);
        pieces.extend(records.by_ref().map_while(Result::ok));
        from = records.at();
    }
    assert!(pieces.len() <= whole.len() && pieces[..] == whole[..pieces.len()]);
    for record in &whole {
        match record.read() {
            Ok(Body::Message(it)) => message(&it),
            Ok(Body::Rib(rib)) => assert_eq!(rib.entries.count(), rib.entries.len()),
            Ok(_) => {}
            Err(malformed) => assert!(malformed.at <= file.len()),
        }
    }
    for entry in RibEntries::new(file).flatten() {
        let again = canonical(&entry.attributes, 0, entry.family, false);
        assert_eq!(again.as_deref(), Ok(&entry.attributes[..]));
        let _ = (entry.key(), entry.next_hop().map(<[u8]>::len));
    }
}
