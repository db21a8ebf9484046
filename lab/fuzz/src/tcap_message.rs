//! Any octets as a TCAP message: nothing panics, and components that are understood are read as the
//! same when they are written again.

use tcap::codec::{Dialogue, Message, Payload, TransactionId, Writer};

pub fn run(bytes: &[u8]) {
    let message = match Message::read(bytes) {
        Ok(message) => message,
        Err(violation) => return assert!(violation.malformed.at <= bytes.len()),
    };
    if let Some(dialogue) = &message.dialogue
        && let Ok(Dialogue::Request { context, user_information, .. }) = Dialogue::read(dialogue)
    {
        assert!(!context.contents().is_empty());
        assert!(user_information.iter().count() <= 64);
    }
    let invokes = message.components().flatten().filter_map(|it| match it.payload {
        Payload::Invoke { linked_id, code, parameter } => {
            Some((it.invoke_id?, linked_id, code, parameter.map(|it| it.whole())))
        }
        _ => None,
    });
    let invokes: Vec<_> = invokes.collect();
    let mut again = Vec::new();
    Writer::begin(TransactionId::of(1)).write(&mut again, |out| {
        for (id, linked_id, code, parameter) in &invokes {
            out.invoke(*id, *linked_id, *code, *parameter);
        }
    });
    let back = Message::read(&again).expect("what is written can be read");
    let back = back.components().map(|it| it.expect("each component too").invoke_id);
    assert!(back.eq(invokes.iter().map(|it| Some(it.0))));
}
