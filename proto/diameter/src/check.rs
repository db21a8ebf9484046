//! Whether a message is what its rows say (RFC 6733 §3.2, §4.1, §7.1): each violation has the
//! result code of its own, and the AVP that the Failed-AVP of the answer shows.

use crate::codec::{
    AVPS_MAX, Avp, AvpFlags, AvpWriter, Avps, DEPTH_MAX, Flags, Message, ResultCode, Violation,
};
use crate::dictionary::{Dictionary, MEMBERS_MAX};
use crate::row::{Command, Kind, Member, Row};
use crate::rows::base;

/// The first Result-Code of a failure (RFC 6733 §7.1).
const FAILURE: u32 = 3_000;
/// Octets of a host or realm at most (RFC 1035 §2.3.4).
const IDENTITY_MAX: usize = 255;

impl Dictionary {
    /// Checks a message whole: header against command, and each AVP, in groups too, against its
    /// row. Of an answer with the E bit, that it is one (RFC 6733 §7.2).
    ///
    /// # Errors
    /// The first violation.
    pub fn check(&self, message: &Message<'_>) -> Result<&'static Command, Violation> {
        let header = &message.header;
        let command = self.command(header).map_err(|code| {
            let (at, what) = match code {
                ResultCode::ApplicationUnsupported => (8, "an application that is not known"),
                _ => (5, "a command that the application has not"),
            };
            Violation::new(code, at, what, "RFC 6733 §6.1.4")
        })?;
        let is_error = header.flags.has(Flags::ERROR) || is_failure(message);
        if header.flags.has(Flags::PROXIABLE) != command.proxiable && !is_error {
            let what = "the P bit is not that of the command";
            return Err(Violation::new(ResultCode::InvalidHdrBits, 4, what, command.spec));
        }
        let members = if is_error { base::ERROR } else { command.members(message.is_request()) };
        let mut walk = Walk { dictionary: self, left: AVPS_MAX };
        walk.members(message.avps(), members, 0, command.spec)?;
        Ok(command)
    }
}

/// Whether a message is an answer that tells of a failure: it may lack what the command has, with
/// the E bit or without (RFC 6733 §7.2, and what servers do).
fn is_failure(message: &Message<'_>) -> bool {
    let result = || message.avps().find(&base::RESULT_CODE)?.unsigned32().ok();
    !message.is_request() && result().is_some_and(|code| code >= FAILURE)
}

struct Walk<'d> {
    dictionary: &'d Dictionary,
    /// AVPs that may still come.
    left: usize,
}

impl Walk<'_> {
    fn members(
        &mut self,
        avps: Avps<'_>,
        members: &'static [Member],
        depth: usize,
        spec: &'static str,
    ) -> Result<(), Violation> {
        let mut counts = [0u8; MEMBERS_MAX];
        let mut end = 0;
        for avp in avps {
            let avp = avp?;
            end = avp.at + avp.whole.len();
            let Some(left) = self.left.checked_sub(1) else {
                let what = "more AVPs than a message may have";
                return Err(Violation::new(ResultCode::UnableToComply, avp.at, what, spec));
            };
            self.left = left;
            let at = members.iter().position(|member| avp.is(member.row));
            let Some(at) = at else {
                self.other(&avp, depth)?;
                continue;
            };
            counts[at] = counts[at].saturating_add(1);
            if counts[at] > members[at].max {
                let what = "an AVP that stands there too often";
                let code = ResultCode::AvpOccursTooManyTimes;
                return Err(Violation::new(code, avp.at, what, spec).with(avp.whole));
            }
            self.value(&avp, members[at].row, depth)?;
        }
        let lacks = members.iter().zip(counts).find(|(member, count)| *count < member.min);
        match lacks {
            None => Ok(()),
            Some((member, _)) => {
                let violation =
                    Violation::new(ResultCode::MissingAvp, end, "an AVP that lacks", spec);
                Err(violation.with(&example(member.row)))
            }
        }
    }

    /// An AVP that is not listed: any may stand there that is known, or that may be passed over.
    fn other(&mut self, avp: &Avp<'_>, depth: usize) -> Result<(), Violation> {
        match self.dictionary.row(avp.vendor, avp.code) {
            Some(row) => self.value(avp, row, depth),
            None if avp.flags.has(AvpFlags::MANDATORY) => {
                let what = "an AVP with the M bit that is not known";
                let violation =
                    Violation::new(ResultCode::AvpUnsupported, avp.at, what, "RFC 6733 §4.1");
                Err(violation.with(avp.whole))
            }
            None => Ok(()),
        }
    }

    fn value(&mut self, avp: &Avp<'_>, row: &'static Row, depth: usize) -> Result<(), Violation> {
        match &row.kind {
            Kind::OctetString => Ok(()),
            Kind::Integer32 | Kind::Unsigned32 | Kind::Time => avp.unsigned32().map(drop),
            Kind::Integer64 | Kind::Unsigned64 | Kind::Float64 => avp.unsigned64().map(drop),
            Kind::Float32 => avp.unsigned32().map(drop),
            Kind::Address => avp.address().map(drop),
            Kind::Utf8String => avp.text().map(drop),
            Kind::DiameterIdentity => identity(avp, row.spec),
            Kind::DiameterUri => match avp.text()? {
                it if it.starts_with("aaa://") || it.starts_with("aaas://") => Ok(()),
                _ => Err(avp.value("a URI that is not aaa or aaas", row.spec)),
            },
            Kind::IpFilterRule => match avp.text()?.is_ascii() {
                true => Ok(()),
                false => Err(avp.value("a filter rule that is not ASCII", row.spec)),
            },
            Kind::Enumerated(names) => {
                let number = avp.integer32()?;
                match names.iter().any(|it| it.0 == number) {
                    true => Ok(()),
                    false => Err(avp.value("a number that the AVP has not", row.spec)),
                }
            }
            // What is shown there is wrong by its nature.
            Kind::Grouped(_) if avp.is(&base::FAILED_AVP) => Ok(()),
            Kind::Grouped(_) if depth >= DEPTH_MAX => {
                Err(avp.value("groups within each other that are too deep", row.spec))
            }
            Kind::Grouped(members) => self
                .members(avp.group(), members, depth + 1, row.spec)
                .map_err(|violation| within(avp, violation)),
        }
    }
}

/// A violation of what stands in a group shows the group with it alone (RFC 6733 §7.5).
fn within(group: &Avp<'_>, mut violation: Violation) -> Violation {
    if !violation.failed.is_empty() {
        let mut inner = Vec::new();
        AvpWriter::new(&mut inner).copy(&violation.failed);
        violation.failed.clear();
        let mut out = AvpWriter::new(&mut violation.failed);
        out.raw(group.code, group.vendor, group.flags, &inner);
    }
    violation
}

/// A host or realm (RFC 6733 §4.3.1). An underscore is let pass, as names of the DNS have it.
fn identity(avp: &Avp<'_>, spec: &'static str) -> Result<(), Violation> {
    let is_letter = |it: &u8| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'.' | b'_');
    let is_well = (1..=IDENTITY_MAX).contains(&avp.data.len()) && avp.data.iter().all(is_letter);
    if is_well { Ok(()) } else { Err(avp.value("no name of a host or realm", spec)) }
}

/// An AVP that lacks, with zeros of the smallest length (RFC 6733 §7.1.5).
fn example(row: &Row) -> Vec<u8> {
    let mut octets = Vec::new();
    let zeros = [0; 8];
    AvpWriter::new(&mut octets).put(row, &zeros[..row.kind.least()]);
    octets
}
