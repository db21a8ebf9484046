//! What is wanted of connections of SCCP, and what happens to them, as octets: for parts of a
//! gateway that pass it on to each other.

use crate::post::{read_address, read_point_code, write_address, write_point_code};
use bytes::Bytes;
use sccp::codec::{Address, ConnectionClass, LocalReference};
use sccp::{
    Accept, Connect, ConnectionEvent as Event, ConnectionInput as Input, Disconnect, Disconnected,
    Inform,
};
use wire::{Cursor, Malformed};

const CUT: &str = "work is cut off";
/// No importance.
const NO_OCTET: u8 = u8::MAX;

fn write_reference(it: LocalReference, out: &mut Vec<u8>) {
    out.extend(it.number().to_be_bytes());
}

/// Reads a local reference.
///
/// # Errors
/// It is cut off.
pub fn read_reference(cursor: &mut Cursor<'_>) -> Result<LocalReference, Malformed> {
    Ok(LocalReference::truncated(cursor.be32(CUT)?))
}

/// An address that may lack: its point code alone says nothing then.
fn write_if(it: Option<&Address>, out: &mut Vec<u8>) {
    out.push(u8::from(it.is_some()));
    match it {
        Some(it) => write_address(it, out),
        None => write_point_code(None, out),
    }
}

fn read_if(cursor: &mut Cursor<'_>) -> Result<Option<Address>, Malformed> {
    match cursor.octet(CUT)? {
        0 => read_point_code(cursor).map(|_| None),
        _ => read_address(cursor).map(Some),
    }
}

fn class(number: u8) -> ConnectionClass {
    match number {
        3 => ConnectionClass::FlowControl,
        _ => ConnectionClass::Basic,
    }
}

fn rest(cursor: &Cursor<'_>) -> Bytes {
    Bytes::copy_from_slice(cursor.rest())
}

/// Appends what is wanted of a connection; nothing may stand behind it.
pub fn write_input(it: &Input, out: &mut Vec<u8>) {
    let mut of = |number: u8, reference: &LocalReference, data: &[u8]| {
        out.push(number);
        write_reference(*reference, out);
        out.extend_from_slice(data);
    };
    match it {
        // Of the configuration, which each shard has.
        Input::Serve(..) => {}
        Input::Connect(it) => {
            out.push(1);
            out.extend(it.tag.to_be_bytes());
            out.extend([it.class.number(), it.importance.unwrap_or(NO_OCTET)]);
            write_address(&it.called, out);
            write_if(it.calling.as_ref(), out);
            out.extend_from_slice(&it.data);
        }
        Input::Accept(reference, it) => {
            out.push(2);
            write_reference(*reference, out);
            out.push(it.class.number());
            write_if(it.responding.as_ref(), out);
            out.extend_from_slice(&it.data);
        }
        Input::Data(reference, data) => of(3, reference, data),
        Input::Expedited(reference, data) => of(4, reference, data),
        Input::Reset(reference, cause) => of(5, reference, &[*cause]),
        Input::ResetResponse(reference) => of(6, reference, &[]),
        Input::Busy(reference, is_busy) => of(8, reference, &[u8::from(*is_busy)]),
        Input::Disconnect(reference, it) => {
            of(7, reference, &[it.cause]);
            out.extend_from_slice(&it.data);
        }
    }
}

/// Reads it, to the end.
///
/// # Errors
/// It is cut off, or nothing of the kind.
pub fn read_input(cursor: &mut Cursor<'_>) -> Result<Input, Malformed> {
    let kind = cursor.octet(CUT)?;
    if kind == 1 {
        let (tag, number) = (cursor.be64(CUT)?, cursor.octet(CUT)?);
        let importance = Some(cursor.octet(CUT)?).filter(|it| *it != NO_OCTET);
        let (called, calling) = (read_address(cursor)?, read_if(cursor)?);
        let (class, data) = (class(number), rest(cursor));
        return Ok(Input::Connect(Connect { tag, called, calling, class, importance, data }));
    }
    let reference = read_reference(cursor)?;
    Ok(match kind {
        2 => {
            let (class, responding) = (class(cursor.octet(CUT)?), read_if(cursor)?);
            Input::Accept(reference, Accept { class, responding, data: rest(cursor) })
        }
        3 => Input::Data(reference, rest(cursor)),
        4 => Input::Expedited(reference, rest(cursor)),
        5 => Input::Reset(reference, cursor.octet(CUT)?),
        6 => Input::ResetResponse(reference),
        8 => Input::Busy(reference, cursor.octet(CUT)? == 1),
        7 => {
            let cause = cursor.octet(CUT)?;
            Input::Disconnect(reference, Disconnect { cause, data: rest(cursor) })
        }
        _ => return Err(cursor.violation("nothing that is wanted of a connection")),
    })
}

/// Appends what has happened to a connection; nothing may stand behind it.
pub fn write_event(reference: LocalReference, it: &Event, out: &mut Vec<u8>) {
    write_reference(reference, out);
    match it {
        Event::Begun(tag) => {
            out.push(1);
            out.extend(tag.to_be_bytes());
        }
        Event::Offered { called, calling, class, importance, data } => {
            out.extend([2, class.number(), importance.unwrap_or(NO_OCTET)]);
            write_address(called, out);
            write_if(calling.as_ref(), out);
            out.extend_from_slice(data);
        }
        Event::Confirmed { class, responding, data } => {
            out.extend([3, class.number()]);
            write_if(responding.as_ref(), out);
            out.extend_from_slice(data);
        }
        Event::Data(data) => {
            out.push(4);
            out.extend_from_slice(data);
        }
        Event::Expedited(data) => {
            out.push(5);
            out.extend_from_slice(data);
        }
        Event::Reset(cause) => out.extend([6, *cause]),
        Event::ResetConfirmed => out.push(7),
        Event::Disconnected { why, data } => {
            match why {
                Disconnected::Refused(cause) => out.extend([8, *cause]),
                Disconnected::Released(cause) => out.extend([9, *cause]),
            }
            out.extend_from_slice(data);
        }
        Event::Inform(what) => out.extend([10, u8::from(*what == Inform::Return)]),
        // The data that came back are not told.
        Event::NotSent(_) => out.push(11),
    }
}

/// Reads it, to the end, behind its local reference.
///
/// # Errors
/// It is cut off, or nothing of the kind.
pub fn read_event(cursor: &mut Cursor<'_>) -> Result<Event, Malformed> {
    Ok(match cursor.octet(CUT)? {
        1 => Event::Begun(cursor.be64(CUT)?),
        2 => {
            let class = class(cursor.octet(CUT)?);
            let importance = Some(cursor.octet(CUT)?).filter(|it| *it != NO_OCTET);
            let (called, calling) = (read_address(cursor)?, read_if(cursor)?);
            Event::Offered { called, calling, class, importance, data: rest(cursor) }
        }
        3 => {
            let (class, responding) = (class(cursor.octet(CUT)?), read_if(cursor)?);
            Event::Confirmed { class, responding, data: rest(cursor) }
        }
        4 => Event::Data(rest(cursor)),
        5 => Event::Expedited(rest(cursor)),
        6 => Event::Reset(cursor.octet(CUT)?),
        7 => Event::ResetConfirmed,
        8 => {
            let why = Disconnected::Refused(cursor.octet(CUT)?);
            Event::Disconnected { why, data: rest(cursor) }
        }
        9 => {
            let why = Disconnected::Released(cursor.octet(CUT)?);
            Event::Disconnected { why, data: rest(cursor) }
        }
        10 => Event::Inform(match cursor.octet(CUT)? {
            1 => Inform::Return,
            _ => Inform::Failure,
        }),
        11 => Event::NotSent(Bytes::new()),
        _ => return Err(cursor.violation("nothing that happens to a connection")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use m3ua::codec::PointCode;

    #[test]
    fn what_is_wanted_and_what_happens_is_read_as_it_was_written() {
        let of = LocalReference::truncated(0x12_3456);
        let address = Address::subsystem(PointCode::new(9), 254);
        let data = Bytes::from_static(b"data");
        let (class, importance) = (ConnectionClass::FlowControl, Some(3));
        let connect = |calling| {
            let (called, data) = (address, data.clone());
            Input::Connect(Connect { tag: 1 << 50, called, calling, class, importance, data })
        };
        let accept = Accept { class, responding: None, data: data.clone() };
        let inputs = [
            connect(Some(address)),
            connect(None),
            Input::Accept(of, accept),
            Input::Data(of, data.clone()),
            Input::Expedited(of, data.clone()),
            Input::Reset(of, 3),
            Input::ResetResponse(of),
            Input::Busy(of, true),
            Input::Busy(of, false),
            Input::Disconnect(of, Disconnect { cause: 3, data: data.clone() }),
        ];
        let disconnected = |why| Event::Disconnected { why, data: data.clone() };
        let (called, calling, responding) = (address, None, Some(address));
        let events = [
            Event::Begun(7),
            Event::Offered { called, calling, class, importance: None, data: data.clone() },
            Event::Confirmed { class: ConnectionClass::Basic, responding, data: data.clone() },
            Event::Data(data.clone()),
            Event::Expedited(data.clone()),
            Event::Reset(1),
            Event::ResetConfirmed,
            disconnected(Disconnected::Refused(4)),
            disconnected(Disconnected::Released(5)),
            Event::Inform(Inform::Failure),
            Event::Inform(Inform::Return),
            Event::NotSent(Bytes::new()),
        ];
        for input in inputs {
            let mut octets = Vec::new();
            write_input(&input, &mut octets);
            let read = |octets: &[u8]| read_input(&mut Cursor::new(octets, 0, "a test"));
            assert_eq!(read(&octets).as_ref(), Ok(&input));
            (0..octets.len().min(6)).for_each(|end| drop(read(&octets[..end])));
        }
        for event in events {
            let mut octets = Vec::new();
            write_event(of, &event, &mut octets);
            let read = |octets: &[u8]| {
                let mut cursor = Cursor::new(octets, 0, "a test");
                Ok::<_, Malformed>((read_reference(&mut cursor)?, read_event(&mut cursor)?))
            };
            assert_eq!(read(&octets), Ok((of, event)));
            (0..octets.len().min(6)).for_each(|end| drop(read(&octets[..end])));
        }
    }
}
