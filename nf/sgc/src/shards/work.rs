//! What shards hand to each other, as octets. Both ends are of the same process: what cannot be
//! read is discarded.

use super::connection;
use crate::clustered::Stands;
use bytes::Bytes;
use m3ua::codec::{NetworkAppearance, PointCode};
use m3ua::{PeerId, Transfer};
use sccp::codec::{Address, Class, LocalReference};
use sccp::{ConnectionEvent, ConnectionInput, Unitdata};
use tcu::{Indication, PointCodeStatus};
use wire::{Cursor, Malformed};

const SPEC: &str = "work of the gateway's shards";
pub(super) const CUT: &str = "work is cut off";
/// No point code, no association, no rank, no importance.
const NONE: u32 = u32::MAX;
pub(super) const NO_OCTET: u8 = u8::MAX;
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
const WAYS: u8 = 12;
const MSU: u8 = 13;
const MANAGEMENT: u8 = 14;
const STANDS: u8 = 15;
const CONNECTED: u8 = 16;

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
    /// Point codes that a node of the cluster has a way to.
    Ways(Vec<PointCode>),
    /// An MSU that a node of the cluster has a way for.
    Msu(Transfer),
    /// What SCCP management elsewhere has told one node of the cluster.
    Management(Transfer),
    /// A message of a connection that a node of the cluster has.
    Connected(Transfer),
    /// How a node of the cluster stands.
    Stands(Stands),
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
            Self::Ways(ways) => {
                out.push(WAYS);
                ways.iter().for_each(|it| write_point_code(Some(*it), out));
            }
            Self::Msu(it) => write_transfer(MSU, it, out),
            Self::Management(it) => write_transfer(MANAGEMENT, it, out),
            Self::Connected(it) => write_transfer(CONNECTED, it, out),
            Self::Stands(it) => {
                out.extend([STANDS, u8::from(it.is_leaving)]);
                out.extend(it.digest.to_be_bytes());
                out.extend(it.dialogues.to_be_bytes());
                out.extend(it.hears.to_be_bytes());
            }
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
            WAYS => {
                let (codes, _) = cursor.rest().as_chunks::<4>();
                let codes = codes.iter().map(|it| PointCode::new(u32::from_be_bytes(*it)));
                Self::Ways(codes.flatten().collect())
            }
            MSU => Self::Msu(read_transfer(&mut cursor)?),
            MANAGEMENT => Self::Management(read_transfer(&mut cursor)?),
            CONNECTED => Self::Connected(read_transfer(&mut cursor)?),
            STANDS => Self::Stands(Stands {
                is_leaving: cursor.octet(CUT)? != 0,
                digest: u64::from_be_bytes(cursor.array(CUT)?),
                dialogues: cursor.be32(CUT)?,
                hears: u16::from_be_bytes(cursor.array(CUT)?),
            }),
            RETURNED => Self::Returned(cursor.octet(CUT)?, read_unitdata(&mut cursor)?),
            CONNECTION => Self::Connection(connection::read_input(&mut cursor)?),
            EVENT => {
                let of = connection::read_reference(&mut cursor)?;
                Self::Event(of, connection::read_event(&mut cursor)?)
            }
            NOT_CONNECTED => Self::NotConnected(cursor.be64(CUT)?, cursor.octet(CUT)?),
            _ => return Err(cursor.offence("no work of this name")),
        })
    }
}

fn write_transfer(kind: u8, it: &Transfer, out: &mut Vec<u8>) {
    out.push(kind);
    out.push(u8::from(it.network.is_some()));
    out.extend(it.network.map_or(0, |it| it.0).to_be_bytes());
    write_point_code(Some(it.opc), out);
    write_point_code(Some(it.dpc), out);
    out.extend([it.si, it.ni, it.mp, it.sls]);
    out.extend_from_slice(&it.payload);
}

fn read_transfer(cursor: &mut Cursor<'_>) -> Result<Transfer, Malformed> {
    let (has, number) = (cursor.octet(CUT)?, cursor.be32(CUT)?);
    let network = (has != 0).then_some(NetworkAppearance(number));
    let mut code = || {
        let it = read_point_code(cursor)?;
        it.ok_or_else(|| cursor.offence("no point code"))
    };
    let (opc, dpc) = (code()?, code()?);
    let [si, ni, mp, sls] = cursor.array(CUT)?;
    let payload = Bytes::copy_from_slice(cursor.rest());
    Ok(Transfer { network, opc, dpc, si, ni, mp, sls, payload })
}

fn read_transit(cursor: &mut Cursor<'_>) -> Result<Transit, Malformed> {
    let (index, generation) = (cursor.be32(CUT)?, cursor.be32(CUT)?);
    let by = (index != NONE).then(|| PeerId::of_numbers(index, generation));
    let from = read_point_code(cursor)?;
    let place = Some(u16::from_be_bytes(cursor.array(CUT)?)).filter(|it| *it != NO_PLACE);
    Ok(Transit { by, from, place, unitdata: read_unitdata(cursor)? })
}

fn write_unitdata(it: &Unitdata, out: &mut Vec<u8>) {
    let Unitdata { called, calling, class, sls, importance, data } = it;
    let class = u8::from(class.is_sequenced) | u8::from(class.returns) << 1;
    out.extend([class, *sls, importance.unwrap_or(NO_OCTET)]);
    write_address(called, out);
    write_address(calling, out);
    out.extend_from_slice(data);
}

fn read_unitdata(cursor: &mut Cursor<'_>) -> Result<Unitdata, Malformed> {
    let (class, sls, importance) = (cursor.octet(CUT)?, cursor.octet(CUT)?, cursor.octet(CUT)?);
    let (called, calling) = (read_address(cursor)?, read_address(cursor)?);
    let class = Class { is_sequenced: class & 1 != 0, returns: class & 2 != 0 };
    let importance = Some(importance).filter(|it| *it != NO_OCTET);
    let data = Bytes::copy_from_slice(cursor.rest());
    Ok(Unitdata { called, calling, class, sls, importance, data })
}

pub(super) fn write_point_code(it: Option<PointCode>, out: &mut Vec<u8>) {
    out.extend(it.map_or(NONE, PointCode::number).to_be_bytes());
}

pub(super) fn read_point_code(cursor: &mut Cursor<'_>) -> Result<Option<PointCode>, Malformed> {
    Ok(PointCode::new(cursor.be32(CUT)?))
}

/// An address: its point code apart, for that of Q.713 has 14 bits.
pub(super) fn write_address(it: &Address, out: &mut Vec<u8>) {
    write_point_code(it.point_code, out);
    let at = out.len();
    out.push(0);
    Address { point_code: None, ..*it }.write(out);
    // An indicator, a subsystem, and a title of 32 digits at most.
    out[at] = u8::try_from(out.len() - at - 1).unwrap_or_default();
}

pub(super) fn read_address(cursor: &mut Cursor<'_>) -> Result<Address, Malformed> {
    let point_code = read_point_code(cursor)?;
    let length = cursor.octet(CUT)?;
    let at = cursor.at();
    let address = Address::read(cursor.take(length.into(), CUT)?, at)?;
    Ok(Address { point_code, ..address })
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
    use sccp::codec::{Digits, Title};

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
        let transfer = Transfer {
            network: Some(NetworkAppearance(9)),
            opc: PointCode::new(1).unwrap_or_default(),
            dpc: PointCode::new(2).unwrap_or_default(),
            si: 3,
            ni: 2,
            mp: 1,
            sls: 15,
            payload: Bytes::from_static(b"payload"),
        };
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
            Work::Ways(vec![PointCode::new(7).unwrap_or_default()]),
            Work::Msu(transfer.clone()),
            Work::Connected(transfer.clone()),
            Work::Management(transfer),
            Work::Stands(Stands { digest: 1 << 63, dialogues: 7, hears: 5, is_leaving: true }),
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
