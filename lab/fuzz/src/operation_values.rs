//! Any octets as what an operation of MAP or CAP is asked or answered with, or as its JSON: nothing
//! panics, and what passes the check of its type comes back from JSON as a value of it.

use ber::{Element, Type, Writer};

/// The type that three octets choose: of a protocol, an operation or an error, and its parameter.
fn chosen(choice: [u8; 3]) -> Option<&'static Type> {
    let [protocol, row, parameter] = choice.map(usize::from);
    let pick = |kinds: Vec<tcap::operation::Parameter>| {
        kinds.get(parameter % kinds.len().max(1)).map(|it| it.kind)
    };
    match protocol % 4 {
        0 => pick(signatures(map::Operation::ALL, row, map::Operation::signatures)),
        1 => pick(signatures(cap::Operation::ALL, row, cap::Operation::signatures)),
        2 => {
            let error = map::Error::ALL[row % map::Error::ALL.len()];
            pick(error.parameters().iter().filter_map(|it| it.1).collect())
        }
        _ => {
            let error = cap::Error::ALL[row % cap::Error::ALL.len()];
            pick(error.parameters().iter().filter_map(|it| it.1).collect())
        }
    }
}

fn signatures<O: Copy, E: 'static>(
    all: &[O],
    row: usize,
    of: fn(O) -> &'static [tcap::operation::Signature<E>],
) -> Vec<tcap::operation::Parameter> {
    of(all[row % all.len()]).iter().flat_map(|it| [it.argument, it.result]).flatten().collect()
}

/// Runs one input: three octets that choose a type, and its value in BER or, behind `{`, `[` or
/// `"`, in JSON.
pub fn run(bytes: &[u8]) {
    let Some((choice, rest)) = bytes.split_first_chunk::<3>() else { return };
    let Some(of) = chosen(*choice) else { return };
    let mut octets = rest.to_vec();
    if let Ok(text) = core::str::from_utf8(rest)
        && text.starts_with(['{', '[', '"'])
    {
        octets.clear();
        match of.from_json(text, None, &mut Writer::new(&mut octets)) {
            Ok(()) => {}
            Err(violation) => return assert!(violation.at <= text.len()),
        }
    }
    let Ok(element) = Element::only(&octets) else { return };
    if of.begins_with(element.tag()) && of.check(&element).is_ok() {
        let mut text = String::new();
        of.to_json(&element, &mut text).expect("a value has a text");
        let mut again = Vec::new();
        of.from_json(&text, None, &mut Writer::new(&mut again)).expect("its text is read");
        let again = Element::only(&again).expect("what is written is an element");
        of.check(&again).expect("and a value of the type");
    }
}
