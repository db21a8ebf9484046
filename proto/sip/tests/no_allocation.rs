//! Reading a message allocates nothing, whatever it is and however it is read.
//! A program of its own: what counts allocations replaces the allocator of all of it.

use sip::{Header, Message, NameAddr, Uri, frame};

/// Reads everything there is to read.
fn read_all(bytes: &[u8]) -> usize {
    let mut sum = usize::from(matches!(frame(bytes), sip::Framing::Message(_)));
    let Ok(message) = Message::parse(bytes) else { return sum };
    sum += usize::from(message.check().is_ok());
    for line in message.lines() {
        sum += line.name.len() + line.value.len();
        sum += message.named(line.name).count();
        for value in message.values(line.header) {
            sum += NameAddr::parse(value).map_or(0, |address| address.params.len());
        }
    }
    sum += message.uri().map_or(0, |uri| uri.digits().count());
    for address in [message.from(), message.to()] {
        sum += Uri::parse(address.uri).map_or(0, |uri| uri.params.len());
    }
    sum + message.values(Header::Via).count()
}

#[test]
fn no_message_makes_the_parser_allocate() {
    let mut messages = Vec::new();
    for directory in ["rfc4475", "rfc5118"] {
        let path = format!("{}/tests/vectors/{directory}", env!("CARGO_MANIFEST_DIR"));
        for entry in std::fs::read_dir(path).expect("the directory stands") {
            messages.push(std::fs::read(entry.expect("an entry").path()).expect("a file"));
        }
    }
    assert!(messages.len() > 60);
    let mut sum = 0;
    let counted = allocation_counter::measure(|| {
        sum = messages.iter().map(|bytes| read_all(bytes)).sum();
    });
    assert!(sum > 0);
    assert_eq!(counted.count_total, 0, "reading {} messages allocated", messages.len());
    let control = allocation_counter::measure(|| drop(messages.clone()));
    assert!(control.count_total > 60, "the counter counts");
}
