//! What shards hand to each other, as octets. Both ends are of the same process: what cannot be
//! read is discarded.

use bytes::Bytes;
use cluster::connection;
use cluster::post::{read_point_code, read_unitdata, write_point_code, write_unitdata};
use m3ua::PeerId;
use m3ua::codec::PointCode;
use sccp::codec::LocalReference;
use sccp::{ConnectionEvent, ConnectionInput, Unitdata};
use tcu::{Indication, PointCodeStatus};
use wire::{Cursor, Malformed};

const SPEC: &str = "work of the gateway's shards";
const CUT: &str = "work is cut off";
/// No association, no rank, no importance.
const NONE: u32 = u32::MAX;
const NO_OCTET: u8 = u8::MAX;
/// No dialogue that begins.
const NO_PLACE: u16 = u16::MAX;

const UNITDATA: u8 = 1;
const NOTICE: u8 = 2;
const STATE: u8 = 3;
const POINT_CODE: u8 = 4;
const RANK: u8 = 5;
const BORN: u8 = 6;
const CONNECTION: u8 = 7;
const EVENT: u8 = 8;
const NOT_CONNECTED: u8 = 9;
const RETURNED: u8 = 10;
const RELEASED: u8 = 11;

/// Data on their way between SCCP and TCAP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Transit {
    /// The association that has led to them: what it causes goes to where it may send.
    pub(crate) by: Option<PeerId>,
    /// The point code that they came from; none: from this node.
    pub(crate) from: Option<PointCode>,
    /// The place at which the first shard has counted the dialogue that begins.
    pub(crate) place: Option<u16>,
    pub(crate) unitdata: Unitdata,
}

/// A piece of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Work {
    /// N-UNITDATA: an indication on the way to dialogues, a request on the way back.
    Unitdata(Transit),
    /// N-NOTICE: the return cause, and the data.
    Notice(u8, Bytes),
    /// N-STATE or N-PCSTATE, for all instances.
    Told(Indication),
    /// The first group that takes dialogues of a subsystem there; none: no instance does.
    Rank(u8, Option<u8>),
    /// A shard has begun: nothing stands in it.
    Born,
    /// What an application wants of a connection.
    Connection(ConnectionInput),
    /// What happened to a connection.
    Event(LocalReference, ConnectionEvent),
    /// A connection that was asked for with that tag got no reference.
    NotConnected(u64, u8),
    /// N-NOTICE of a subsystem without TCAP: the return cause, and what came back.
    Returned(u8, Unitdata),
    /// Dialogues that were counted at these places are over.
    Released(Vec<u16>),
}

impl Work {
    /// The association that has led to it.
    pub(crate) const fn by(&self) -> Option<PeerId> {
        match self {
            Self::Unitdata(it) => it.by,
            _ => None,
        }
    }

    /// Appends it.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Unitdata(it) => {
                out.push(UNITDATA);
                let (index, generation) = it.by.map_or((NONE, NONE), PeerId::numbers);
                [index, generation].iter().for_each(|it| out.extend(it.to_be_bytes()));
                write_point_code(it.from, out);
                out.extend(it.place.unwrap_or(NO_PLACE).to_be_bytes());
                write_unitdata(&it.unitdata, out);
            }
            Self::Released(places) => {
                out.push(RELEASED);
                places.iter().for_each(|place| out.extend(place.to_be_bytes()));
            }
            Self::Returned(cause, unitdata) => {
                out.extend([RETURNED, *cause]);
                write_unitdata(unitdata, out);
            }
            Self::Notice(cause, data) => {
                out.extend([NOTICE, *cause]);
                out.extend_from_slice(data);
            }
            Self::Told(Indication::State { point_code, subsystem, in_service }) => {
                out.push(STATE);
                write_point_code(Some(*point_code), out);
                out.extend([*subsystem, u8::from(*in_service)]);
            }
            Self::Told(Indication::PointCode { point_code, status }) => {
                out.push(POINT_CODE);
                write_point_code(Some(*point_code), out);
                out.extend(status_octets(*status));
            }
            // Nothing else is told of all.
            Self::Told(_) => {}
            Self::Rank(subsystem, rank) => out.extend([RANK, *subsystem, rank.unwrap_or(NO_OCTET)]),
            Self::Born => out.push(BORN),
            Self::Connection(it) => {
                out.push(CONNECTION);
                connection::write_input(it, out);
            }
            Self::Event(of, it) => {
                out.push(EVENT);
                connection::write_event(*of, it, out);
            }
            Self::NotConnected(tag, cause) => {
                out.push(NOT_CONNECTED);
                out.extend(tag.to_be_bytes());
                out.push(*cause);
            }
        }
    }

    /// Reads it.
    ///
    /// # Errors
    /// What is cut off, and what is no work.
    pub(crate) fn read(octets: &[u8]) -> Result<Self, Malformed> {
        let mut cursor = Cursor::new(octets, 0, SPEC);
        Ok(match cursor.octet(CUT)? {
            UNITDATA => Self::Unitdata(read_transit(&mut cursor)?),
            NOTICE => Self::Notice(cursor.octet(CUT)?, Bytes::copy_from_slice(cursor.rest())),
            STATE => {
                let point_code = read_point_code(&mut cursor)?.unwrap_or_default();
                let (subsystem, in_service) = (cursor.octet(CUT)?, cursor.octet(CUT)? == 1);
                Self::Told(Indication::State { point_code, subsystem, in_service })
            }
            POINT_CODE => {
                let point_code = read_point_code(&mut cursor)?.unwrap_or_default();
                let status = status(cursor.octet(CUT)?, cursor.octet(CUT)?);
                Self::Told(Indication::PointCode { point_code, status })
            }
            RANK => {
                let (subsystem, rank) = (cursor.octet(CUT)?, cursor.octet(CUT)?);
                Self::Rank(subsystem, Some(rank).filter(|it| *it != NO_OCTET))
            }
            BORN => Self::Born,
            RELEASED => {
                let places = cursor.rest().chunks_exact(2);
                Self::Released(places.map(|it| u16::from_be_bytes([it[0], it[1]])).collect())
            }
            RETURNED => Self::Returned(cursor.octet(CUT)?, read_unitdata(&mut cursor)?),
            CONNECTION => Self::Connection(connection::read_input(&mut cursor)?),
            EVENT => {
                let of = connection::read_reference(&mut cursor)?;
                Self::Event(of, connection::read_event(&mut cursor)?)
            }
            NOT_CONNECTED => Self::NotConnected(cursor.be64(CUT)?, cursor.octet(CUT)?),
            _ => return Err(cursor.violation("no work of this name")),
        })
    }
}

fn read_transit(cursor: &mut Cursor<'_>) -> Result<Transit, Malformed> {
    let (index, generation) = (cursor.be32(CUT)?, cursor.be32(CUT)?);
    let by = (index != NONE).then(|| PeerId::of_numbers(index, generation));
    let from = read_point_code(cursor)?;
    let place = Some(u16::from_be_bytes(cursor.array(CUT)?)).filter(|it| *it != NO_PLACE);
    Ok(Transit { by, from, place, unitdata: read_unitdata(cursor)? })
}

const fn status_octets(status: PointCodeStatus) -> [u8; 2] {
    match status {
        PointCodeStatus::Accessible => [0, 0],
        PointCodeStatus::Inaccessible => [1, 0],
        PointCodeStatus::SccpAvailable => [2, 0],
        PointCodeStatus::SccpUnavailable => [3, 0],
        PointCodeStatus::Congested(level) => [4, level],
    }
}

const fn status(number: u8, level: u8) -> PointCodeStatus {
    match number {
        0 => PointCodeStatus::Accessible,
        1 => PointCodeStatus::Inaccessible,
        2 => PointCodeStatus::SccpAvailable,
        3 => PointCodeStatus::SccpUnavailable,
        _ => PointCodeStatus::Congested(level),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sccp::codec::{Address, Class, Digits, Title};

    fn point_code(number: u32) -> PointCode {
        PointCode::new(number).unwrap()
    }

    #[test]
    fn all_work_is_read_as_it_was_written_and_none_that_is_cut_off() {
        let title = Title::e164(Digits::parse("447700900123").unwrap());
        let unitdata = Unitdata {
            called: Address { point_code: Some(PointCode::MAX), ..Address::title(title, 6) },
            calling: Address::subsystem(Some(point_code(9)), 8),
            class: Class { is_sequenced: true, returns: false },
            sls: 5,
            importance: Some(3),
            data: Bytes::from_static(b"BEGIN"),
        };
        let by = Some(PeerId::of_numbers(3, 1));
        let whole =
            Transit { by, from: Some(point_code(1)), place: Some(7), unitdata: unitdata.clone() };
        let without = Transit { by: None, from: None, place: None, unitdata };
        let state = Indication::State { point_code: point_code(7), subsystem: 8, in_service: true };
        let statuses = [
            PointCodeStatus::Accessible,
            PointCodeStatus::Inaccessible,
            PointCodeStatus::SccpAvailable,
            PointCodeStatus::SccpUnavailable,
            PointCodeStatus::Congested(2),
        ];
        let point_code = point_code(7);
        let told = statuses.map(|status| Work::Told(Indication::PointCode { point_code, status }));
        let mut all = vec![
            Work::Unitdata(whole),
            Work::Returned(3, without.unitdata.clone()),
            Work::Unitdata(without),
            Work::Notice(3, Bytes::from_static(b"data")),
            Work::Told(state),
            Work::Rank(6, Some(0)),
            Work::Released(vec![7, 7, 4_095]),
            Work::Rank(6, None),
            Work::Born,
        ];
        all.extend(told);
        for work in all {
            let mut octets = Vec::new();
            work.write(&mut octets);
            assert_eq!(Work::read(&octets).as_ref(), Ok(&work));
            let fixed = octets.len().min(10);
            (0..fixed).for_each(|end| drop(Work::read(&octets[..end])));
        }
        assert!(Work::read(&[]).is_err() && Work::read(&[99]).is_err());
        assert!(Work::read(&[UNITDATA, 0]).is_err());
    }
}
