//! From octets to JSON.

use super::{FLAGS, OCTETS, UNKNOWN};
use crate::codec::{Avp, AvpFlags, Avps, DEPTH_MAX, Message, Violation};
use crate::dictionary::Dictionary;
use crate::row::Kind;
use ber::json::{hex, string};
use core::fmt::Write as _;

fn push(out: &mut String, words: core::fmt::Arguments<'_>) {
    out.write_fmt(words).expect("a string takes whatever is written");
}

fn key(out: &mut String, name: &str) {
    string(out, name);
    out.push(':');
}

/// Names or numbers.
fn word(out: &mut String, name: Option<&str>, number: u32) {
    match name {
        Some(name) => string(out, name),
        None => push(out, format_args!("{number}")),
    }
}

impl Dictionary {
    /// Appends a message as JSON.
    ///
    /// # Errors
    /// Its AVPs do not follow each other; `out` is as it was then.
    pub fn to_json(&self, message: &Message<'_>, out: &mut String) -> Result<(), Violation> {
        let (header, before) = (&message.header, out.len());
        let command = self.command(header).ok();
        let name = command.map(|it| if message.is_request() { it.request } else { it.answer });
        out.push('{');
        key(out, "command");
        word(out, name, header.command);
        out.push(',');
        key(out, "application");
        word(out, self.application(header.application).map(|it| it.name), header.application);
        let (hop_by_hop, end_to_end) = (header.hop_by_hop, header.end_to_end);
        push(out, format_args!(",\"{FLAGS}\":\"{}\"", header.flags.letters()));
        push(out, format_args!(",\"hop-by-hop\":{hop_by_hop},\"end-to-end\":{end_to_end},"));
        key(out, "avps");
        let written = self.list(message.avps(), 0, out);
        out.push('}');
        written.inspect_err(|_| out.truncate(before))
    }

    fn list(&self, avps: Avps<'_>, depth: usize, out: &mut String) -> Result<(), Violation> {
        out.push('[');
        for (n, avp) in avps.enumerate() {
            if n > 0 {
                out.push(',');
            }
            self.avp(&avp?, depth, out);
        }
        out.push(']');
        Ok(())
    }

    fn avp(&self, avp: &Avp<'_>, depth: usize, out: &mut String) {
        out.push('{');
        let row = self.row(avp.vendor, avp.code);
        match row {
            Some(row) => {
                key(out, row.name);
                self.data(avp, &row.kind, depth, out);
            }
            None => {
                push(out, format_args!("\"{UNKNOWN}"));
                if avp.vendor != 0 {
                    push(out, format_args!("{}:", avp.vendor));
                }
                push(out, format_args!("{}\":", avp.code));
                hex(out, avp.data.iter().copied());
            }
        }
        if row.map(|row| row.flags()) != Some(avp.flags.0 & AvpFlags::KNOWN) {
            push(out, format_args!(",\"{FLAGS}\":\"{}\"", letters(avp.flags)));
        }
        out.push('}');
    }

    fn data(&self, avp: &Avp<'_>, kind: &Kind, depth: usize, out: &mut String) {
        let before = out.len();
        if self.value(avp, kind, depth, out).is_none() {
            out.truncate(before);
            push(out, format_args!("{{\"{OCTETS}\":"));
            hex(out, avp.data.iter().copied());
            out.push('}');
        }
    }

    /// `None`: the data is not what the row says.
    fn value(&self, avp: &Avp<'_>, kind: &Kind, depth: usize, out: &mut String) -> Option<()> {
        match kind {
            Kind::OctetString | Kind::Float32 | Kind::Float64 => {
                hex(out, avp.data.iter().copied());
            }
            Kind::Unsigned32 => push(out, format_args!("{}", avp.unsigned32().ok()?)),
            Kind::Integer32 => push(out, format_args!("{}", avp.integer32().ok()?)),
            Kind::Integer64 => push(out, format_args!("{}", avp.integer64().ok()?)),
            Kind::Unsigned64 => {
                // A number of JSON has a sign here.
                let number = i64::try_from(avp.unsigned64().ok()?).ok()?;
                push(out, format_args!("{number}"));
            }
            Kind::Time => push(out, format_args!("{}", avp.time().ok()?)),
            Kind::Address => push(out, format_args!("\"{}\"", avp.address().ok()??)),
            Kind::Utf8String | Kind::DiameterIdentity | Kind::DiameterUri | Kind::IpFilterRule => {
                string(out, avp.text().ok()?)
            }
            Kind::Enumerated(names) => {
                let number = avp.integer32().ok()?;
                match names.iter().find(|it| it.0 == number) {
                    Some((_, name)) => string(out, name),
                    None => push(out, format_args!("{number}")),
                }
            }
            Kind::Grouped(_) if depth >= DEPTH_MAX => return None,
            Kind::Grouped(_) => self.list(avp.group(), depth + 1, out).ok()?,
        }
        Some(())
    }
}

fn letters(flags: AvpFlags) -> String {
    let all = [(AvpFlags::VENDOR, 'V'), (AvpFlags::MANDATORY, 'M'), (AvpFlags::PROTECTED, 'P')];
    all.iter().filter(|it| flags.has(it.0)).map(|it| it.1).collect()
}
