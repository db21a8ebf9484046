//! What nodes of a cluster post to each other, as octets; and how parts of it are written, for
//! whatever else passes between parts of a gateway.
//!
//! ```text
//!   post: how often it has crossed (1) · kind (1) · what it says
//! ```
//! The other end may be of another version: a kind that is not known is counted, and passed over.

use crate::peers::Stands;
use bytes::Bytes;
use m3ua::Transfer;
use m3ua::codec::{NetworkAppearance, PointCode};
use sccp::Unitdata;
use sccp::codec::{Address, Class};
use wire::{Cursor, Malformed};

const SPEC: &str = "a post of a cluster";
const CUT: &str = "a post is cut off";
/// No point code.
const NONE: u32 = u32::MAX;
/// No rank, no importance.
const NO_OCTET: u8 = u8::MAX;

const UNITDATA: u8 = 1;
const NOTICE: u8 = 2;
const RANK: u8 = 3;
const BORN: u8 = 4;
const WAYS: u8 = 5;
const MSU: u8 = 6;
const MANAGEMENT: u8 = 7;
const CONNECTED: u8 = 8;
const STANDS: u8 = 9;
const MORE_WAYS: u8 = 10;
const SEGMENT: u8 = 11;
const REASSEMBLED: u8 = 12;
const WAITING: u8 = 13;

/// What is posted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Post {
    /// N-UNITDATA for the node that serves its dialogue: the point code that it came from, and it.
    Unitdata(Option<PointCode>, Unitdata),
    /// N-NOTICE for it: the return cause, and the data.
    Notice(u8, Bytes),
    /// The first group that takes dialogues of a subsystem there; none: no instance does.
    Rank(u8, Option<u8>),
    /// The node knows nothing of the one that it tells so.
    Born,
    /// Point codes that the node has a way to: in place of those before.
    Ways(Vec<PointCode>),
    /// Point codes that it has a way to beside those.
    MoreWays(Vec<PointCode>),
    /// Those of them where MSUs wait for an ASP that has gone.
    Waiting(Vec<PointCode>),
    /// An MSU that the other node has a way for.
    Msu(Transfer),
    /// What SCCP management elsewhere has told one node.
    Management(Transfer),
    /// A message of a connection that the other node serves, or one that asks for a connection.
    Connected(Transfer),
    /// A segment of a message that waits at the node for others.
    Segment(Transfer),
    /// A message of which the node told segments is whole there, or never will be: its last one.
    Reassembled(Transfer),
    /// How the node stands.
    Stands(Stands),
}

impl Post {
    /// Appends it.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Unitdata(from, unitdata) => {
                out.push(UNITDATA);
                write_point_code(*from, out);
                write_unitdata(unitdata, out);
            }
            Self::Notice(cause, data) => {
                out.extend([NOTICE, *cause]);
                out.extend_from_slice(data);
            }
            Self::Rank(subsystem, rank) => out.extend([RANK, *subsystem, rank.unwrap_or(NO_OCTET)]),
            Self::Born => out.push(BORN),
            Self::Ways(ways) => write_ways(WAYS, ways, out),
            Self::MoreWays(ways) => write_ways(MORE_WAYS, ways, out),
            Self::Waiting(ways) => write_ways(WAITING, ways, out),
            Self::Msu(it) => write_transfer(MSU, it, out),
            Self::Management(it) => write_transfer(MANAGEMENT, it, out),
            Self::Connected(it) => write_transfer(CONNECTED, it, out),
            Self::Segment(it) => write_transfer(SEGMENT, it, out),
            Self::Reassembled(it) => write_transfer(REASSEMBLED, it, out),
            Self::Stands(it) => {
                out.extend([STANDS, u8::from(it.is_leaving)]);
                out.extend(it.digest.to_be_bytes());
                out.extend(it.dialogues.to_be_bytes());
                out.extend(it.hears.to_be_bytes());
            }
        }
    }

    /// Reads it.
    ///
    /// # Errors
    /// What is cut off, and a kind that is not known.
    pub fn read(octets: &[u8]) -> Result<Self, Malformed> {
        let mut cursor = Cursor::new(octets, 0, SPEC);
        Ok(match cursor.octet(CUT)? {
            UNITDATA => {
                let from = read_point_code(&mut cursor)?;
                Self::Unitdata(from, read_unitdata(&mut cursor)?)
            }
            NOTICE => Self::Notice(cursor.octet(CUT)?, Bytes::copy_from_slice(cursor.rest())),
            RANK => {
                let (subsystem, rank) = (cursor.octet(CUT)?, cursor.octet(CUT)?);
                Self::Rank(subsystem, Some(rank).filter(|it| *it != NO_OCTET))
            }
            BORN => Self::Born,
            WAYS => Self::Ways(read_ways(&mut cursor)?),
            MORE_WAYS => Self::MoreWays(read_ways(&mut cursor)?),
            WAITING => Self::Waiting(read_ways(&mut cursor)?),
            MSU => Self::Msu(read_transfer(&mut cursor)?),
            MANAGEMENT => Self::Management(read_transfer(&mut cursor)?),
            CONNECTED => Self::Connected(read_transfer(&mut cursor)?),
            SEGMENT => Self::Segment(read_transfer(&mut cursor)?),
            REASSEMBLED => Self::Reassembled(read_transfer(&mut cursor)?),
            STANDS => Self::Stands(Stands {
                is_leaving: cursor.octet(CUT)? != 0,
                digest: u64::from_be_bytes(cursor.array(CUT)?),
                dialogues: cursor.be32(CUT)?,
                hears: u16::from_be_bytes(cursor.array(CUT)?),
            }),
            _ => return Err(cursor.violation("no post of this kind")),
        })
    }
}

fn write_ways(kind: u8, ways: &[PointCode], out: &mut Vec<u8>) {
    out.push(kind);
    ways.iter().for_each(|it| write_point_code(Some(*it), out));
}

fn read_ways(cursor: &mut Cursor<'_>) -> Result<Vec<PointCode>, Malformed> {
    let (codes, behind) = cursor.rest().as_chunks::<4>();
    if !behind.is_empty() {
        return Err(cursor.violation(CUT));
    }
    let codes = codes.iter().map(|it| PointCode::new(u32::from_be_bytes(*it)));
    Ok(codes.flatten().collect())
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
        it.ok_or_else(|| cursor.violation("no point code"))
    };
    let (opc, dpc) = (code()?, code()?);
    let [si, ni, mp, sls] = cursor.array(CUT)?;
    let payload = Bytes::copy_from_slice(cursor.rest());
    Ok(Transfer { network, opc, dpc, si, ni, mp, sls, payload })
}

/// Appends N-UNITDATA; nothing may stand behind it.
pub fn write_unitdata(it: &Unitdata, out: &mut Vec<u8>) {
    let Unitdata { called, calling, class, sls, importance, data } = it;
    let class = u8::from(class.is_sequenced) | u8::from(class.returns) << 1;
    out.extend([class, *sls, importance.unwrap_or(NO_OCTET)]);
    write_address(called, out);
    write_address(calling, out);
    out.extend_from_slice(data);
}

/// Reads N-UNITDATA, to the end.
///
/// # Errors
/// It is cut off.
pub fn read_unitdata(cursor: &mut Cursor<'_>) -> Result<Unitdata, Malformed> {
    let (class, sls, importance) = (cursor.octet(CUT)?, cursor.octet(CUT)?, cursor.octet(CUT)?);
    let (called, calling) = (read_address(cursor)?, read_address(cursor)?);
    let class = Class { is_sequenced: class & 1 != 0, returns: class & 2 != 0 };
    let importance = Some(importance).filter(|it| *it != NO_OCTET);
    let data = Bytes::copy_from_slice(cursor.rest());
    Ok(Unitdata { called, calling, class, sls, importance, data })
}

/// Appends a point code that may lack.
pub fn write_point_code(it: Option<PointCode>, out: &mut Vec<u8>) {
    out.extend(it.map_or(NONE, PointCode::number).to_be_bytes());
}

/// Reads a point code that may lack.
///
/// # Errors
/// It is cut off.
pub fn read_point_code(cursor: &mut Cursor<'_>) -> Result<Option<PointCode>, Malformed> {
    Ok(PointCode::new(cursor.be32(CUT)?))
}

/// Appends an address: its point code apart, for that of Q.713 has 14 bits.
pub fn write_address(it: &Address, out: &mut Vec<u8>) {
    write_point_code(it.point_code, out);
    let at = out.len();
    out.push(0);
    Address { point_code: None, ..*it }.write(out);
    // An indicator, a subsystem, and a title of 32 digits at most.
    out[at] = u8::try_from(out.len() - at - 1).unwrap_or_default();
}

/// Reads an address.
///
/// # Errors
/// It is cut off, or none of Q.713.
pub fn read_address(cursor: &mut Cursor<'_>) -> Result<Address, Malformed> {
    let point_code = read_point_code(cursor)?;
    let length = cursor.octet(CUT)?;
    let at = cursor.at();
    let address = Address::read(cursor.take(length.into(), CUT)?, at)?;
    Ok(Address { point_code, ..address })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sccp::codec::{Digits, Title};

    #[test]
    fn every_post_is_read_as_it_was_written_and_none_that_is_cut_off() {
        let title = Title::e164(Digits::parse("447700900123").unwrap());
        let point_code = |number| PointCode::new(number).unwrap();
        let unitdata = Unitdata {
            called: Address { point_code: Some(PointCode::MAX), ..Address::title(title, 6) },
            calling: Address::subsystem(Some(point_code(9)), 8),
            class: Class { is_sequenced: true, returns: false },
            sls: 5,
            importance: Some(3),
            data: Bytes::from_static(b"BEGIN"),
        };
        let transfer = Transfer {
            network: Some(NetworkAppearance(9)),
            opc: point_code(1),
            dpc: point_code(2),
            si: 3,
            ni: 2,
            mp: 1,
            sls: 15,
            payload: Bytes::from_static(b"payload"),
        };
        let all = [
            Post::Unitdata(Some(point_code(1)), unitdata.clone()),
            Post::Unitdata(None, unitdata),
            Post::Notice(3, Bytes::from_static(b"data")),
            Post::Rank(6, Some(0)),
            Post::Rank(6, None),
            Post::Born,
            Post::Ways(vec![point_code(7)]),
            Post::MoreWays(vec![point_code(7), point_code(8)]),
            Post::Waiting(vec![point_code(8)]),
            Post::Msu(transfer.clone()),
            Post::Connected(transfer.clone()),
            Post::Segment(transfer.clone()),
            Post::Reassembled(transfer.clone()),
            Post::Management(transfer),
            Post::Stands(Stands { digest: 1 << 63, dialogues: 7, hears: 5, is_leaving: true }),
        ];
        for post in all {
            let mut octets = Vec::new();
            post.write(&mut octets);
            assert_eq!(Post::read(&octets).as_ref(), Ok(&post));
            let fixed = octets.len().min(10);
            (0..fixed).for_each(|end| drop(Post::read(&octets[..end])));
        }
        assert!(Post::read(&[]).is_err() && Post::read(&[99]).is_err());
        assert!(Post::read(&[UNITDATA, 0]).is_err());
        assert!(Post::read(&[WAYS, 0, 0, 0, 7, 0]).is_err());
        assert!(Post::read(&[MORE_WAYS, 0, 0, 7]).is_err());
    }
}
