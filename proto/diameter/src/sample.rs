//! Messages made up by seed from the rows, for tests and fuzzing: they pass the check.

use crate::codec::{AvpWriter, Flags, Header, TooLong, Writer};
use crate::row::{Command, Kind, Member, Row};

/// AVPs of a row that may stand there any number of times.
const MANY: u64 = 3;
/// Octets of a value.
const OCTETS_MAX: u64 = 24;

impl Command {
    /// Writes its request or its answer with made-up AVPs. `random` gives numbers; the same ones
    /// make the same message.
    ///
    /// # Errors
    /// It became too long, which those of rows here do not.
    pub fn sample(
        &self,
        application: u32,
        is_request: bool,
        random: &mut dyn FnMut() -> u64,
        out: &mut Vec<u8>,
    ) -> Result<(), TooLong> {
        let request = if is_request { Flags::REQUEST } else { 0 };
        let proxiable = if self.proxiable { Flags::PROXIABLE } else { 0 };
        let header = Header {
            flags: Flags(request | proxiable),
            command: self.code,
            application,
            hop_by_hop: machine::narrow::half(random()),
            end_to_end: machine::narrow::half(random()),
        };
        let mut writer = Writer::begin(out, &header);
        members(self.members(is_request), random, writer.avps());
        writer.end()
    }
}

fn members(members: &[Member], random: &mut dyn FnMut() -> u64, out: &mut AvpWriter<'_>) {
    for member in members {
        let more = match member.max {
            max if max > 1 => random() % MANY,
            _ => random() % 2,
        };
        for _ in 0..u64::from(member.min).max(more) {
            member.row.sample(random, out);
        }
    }
}

impl Row {
    /// Writes the AVP with a made-up value.
    pub fn sample(&self, random: &mut dyn FnMut() -> u64, out: &mut AvpWriter<'_>) {
        let number = random();
        match &self.kind {
            Kind::OctetString => {
                let octets: Vec<u8> =
                    (0..1 + number % OCTETS_MAX).map(|_| random().to_be_bytes()[0]).collect();
                out.put(self, octets);
            }
            Kind::Integer32 | Kind::Unsigned32 | Kind::Float32 => {
                out.number(self, machine::narrow::half(number));
            }
            Kind::Integer64 | Kind::Unsigned64 | Kind::Float64 => out.number64(self, number),
            Kind::Time => out.number(self, machine::narrow::half(number)),
            Kind::Address if number.is_multiple_of(2) => {
                out.address(self, machine::narrow::half(random()).to_be_bytes().into());
            }
            Kind::Address => {
                let octets = (u128::from(number) << 64 | u128::from(random())).to_be_bytes();
                out.address(self, octets.into());
            }
            Kind::Utf8String => out.put(self, text(number, random)),
            Kind::IpFilterRule => {
                out.put(self, format!("permit in ip from any to 10.0.0.{}", number % 256));
            }
            Kind::DiameterIdentity => out.put(self, format!("n{}.example.org", number % 1_000)),
            Kind::DiameterUri => out.put(self, format!("aaa://n{}.example.org", number % 1_000)),
            Kind::Enumerated(names) => {
                let at = machine::narrow::slot(number, names.len().max(1));
                out.integer(self, names.get(at).map_or(0, |it| it.0));
            }
            // What Failed-AVP shows may be anything.
            Kind::Grouped([]) => {
                out.group(self, |out| crate::rows::base::USER_NAME.sample(random, out))
            }
            Kind::Grouped(inner) => out.group(self, |out| {
                let before = out.len();
                members(inner, random, out);
                if out.len() == before {
                    inner[0].row.sample(random, out);
                }
            }),
        }
    }
}

/// Letters of one, two and three octets.
fn text(length: u64, random: &mut dyn FnMut() -> u64) -> String {
    let letter = |number: u64| match number % 40 {
        26 => 'ü',
        27 => '€',
        28 => '"',
        at @ 0..26 => char::from(b'a' + at.to_be_bytes()[7]),
        at => char::from(b'0' + at.to_be_bytes()[7] % 10),
    };
    (0..1 + length % OCTETS_MAX).map(|_| letter(random())).collect()
}
