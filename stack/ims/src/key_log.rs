//! Keys for analysers: of each association a line as Wireshark keeps them in `esp_sa`, by which
//! tshark decrypts what a tap has recorded. Off unless a realm names a file; an alarm stands while
//! one does.
//!
//! ```text
//! associate ── four lines ──→ kept until the step ends ── Effects::write ──→ append::PrivateFile
//! ```
//! The file is opened for each piece anew: whoever moves it away gets another one.

use crate::settings::Row;
use append::PrivateFile;
use esp::{Encryption, Integrity, Material, Spi};
use question::Condition;
use runtime::{ChannelEvent, Effects, PortId};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::IpAddr;
use std::sync::Arc;

/// Octets of lines that wait for the end of their step; those beyond are left out.
const WAITING_OCTETS_MAX: usize = 1 << 20;

/// How files of such lines begin: ours, and those that Wireshark has written.
const BEGINS: &[&[u8]] =
    &[b"\"IPv4\",", b"\"IPv6\",", GMAC.as_bytes(), b"# This file is automatically"];
/// What stands in the place of an association that Wireshark has no name for.
const GMAC: &str = "# GMAC, which has no name here";

/// Lines that wait, and what became of those before.
#[derive(Debug, Default)]
pub(crate) struct KeyLog {
    /// Each with the place of its realm.
    waiting: Vec<(usize, String)>,
    octets: usize,
    /// Why the files of realms take nothing.
    trouble: BTreeMap<usize, String>,
}

/// An association as an analyser has to know it.
pub(crate) struct Line<'a> {
    pub from: IpAddr,
    pub to: IpAddr,
    pub spi: Spi,
    pub algorithm: esp::Algorithm,
    pub material: Material<'a>,
}

/// What Wireshark calls them; GMAC it does not know.
const fn names(encryption: Encryption, integrity: Integrity) -> Option<[&'static str; 2]> {
    let cipher = match encryption {
        Encryption::Null => "NULL",
        Encryption::AesCbc(_) => "AES-CBC [RFC3602]",
        Encryption::AesGcm16(_) => "AES-GCM with 16 octet ICV [RFC4106]",
        Encryption::TripleDesCbc => "TripleDES-CBC [RFC2451]",
    };
    let code = match integrity {
        Integrity::HmacSha1_96 => "HMAC-SHA-1-96 [RFC2404]",
        Integrity::HmacSha256_128 => "HMAC-SHA-256-128 [RFC4868]",
        Integrity::HmacSha384_192 => "HMAC-SHA-384-192 [RFC4868]",
        Integrity::HmacSha512_256 => "HMAC-SHA-512-256 [RFC4868]",
        Integrity::HmacMd5_96 => "HMAC-MD5-96 [RFC2403]",
        Integrity::Combined => "NULL",
        Integrity::AesGmac(_) => return None,
    };
    Some([cipher, code])
}

fn hex(key: &[u8]) -> String {
    let start = if key.is_empty() { String::new() } else { "0x".to_owned() };
    key.iter().fold(start, |mut text, octet| {
        let _ = write!(text, "{octet:02x}");
        text
    })
}

impl Line<'_> {
    fn write(&self, out: &mut String) {
        let Self { from, to, spi: Spi(spi), algorithm, material } = self;
        let names = names(algorithm.encryption(), algorithm.integrity());
        let _ = match names {
            Some([cipher, code]) => writeln!(
                out,
                "\"{}\",\"{from}\",\"{to}\",\"{spi:#010x}\",\"{cipher}\",\"{}\",\"{code}\",\"{}\",\
                 \"32-bit\",\"0x00000000\"",
                if from.is_ipv4() { "IPv4" } else { "IPv6" },
                hex(material.encryption),
                hex(material.integrity),
            ),
            None => writeln!(out, "{GMAC}: {from} to {to}, {spi:#010x}"),
        };
    }
}

impl KeyLog {
    /// An association of that realm was made.
    pub fn note(&mut self, realm: usize, line: &Line<'_>) {
        if self.octets > WAITING_OCTETS_MAX {
            return;
        }
        let mut text = String::new();
        line.write(&mut text);
        self.octets += text.len();
        match self.waiting.last_mut().filter(|(of, _)| *of == realm) {
            Some((_, before)) => before.push_str(&text),
            None => self.waiting.push((realm, text)),
        }
    }

    /// What is wrong while keys are written.
    pub fn alarms(&self, rows: &[Row], alarms: &mut Vec<Condition>) {
        for (at, row) in rows.iter().enumerate() {
            let (name, section) = (row.realm.name.as_str(), &row.realm.section);
            let Some(path) = &section.key_log else { continue };
            let text = format!(
                "keys of security associations are written to {path}: whoever has it reads what \
                 phones say. Take `key_log` out of the realm when it is not needed any more"
            );
            let row = Condition::new("ims-keys-written", name, "major", text);
            alarms.push(row.caused_by("configuration-or-customization-error"));
            if let Some(why) = self.trouble.get(&at) {
                let text = format!("{path} takes no keys: {why}");
                let row = Condition::new("ims-keys-not-written", name, "minor", text);
                alarms.push(row.caused_by("configuration-or-customization-error"));
            }
        }
    }
}

/// The channel of a realm's file: behind the numbers of all ports.
fn channel(realm: usize) -> PortId {
    PortId(u16::MAX - 1 - u16::try_from(realm).unwrap_or(u16::MAX / 2))
}

impl KeyLog {
    /// Writes the lines that wait.
    pub fn write(&mut self, rows: &[Row], out: &mut Effects) {
        self.octets = 0;
        for (realm, lines) in self.waiting.drain(..) {
            let row = rows.get(realm).map(|row| &row.realm.section);
            let Some(path) = row.and_then(|section| section.key_log.as_ref()) else { continue };
            let file = PrivateFile { path: path.into(), begins: BEGINS };
            out.connect(channel(realm), Arc::new(file));
            out.write(channel(realm), |buffer| buffer.extend_from_slice(lines.as_bytes()));
        }
    }

    /// What became of the channel of a realm's file.
    pub fn channel(&mut self, rows: &[Row], port: PortId, event: &ChannelEvent<'_>) {
        let Some(realm) = (0..rows.len()).find(|at| channel(*at) == port) else { return };
        let why = match event {
            ChannelEvent::Up => {
                self.trouble.remove(&realm);
                return;
            }
            ChannelEvent::Absent(why) => why.unwrap_or("it cannot be opened"),
            ChannelEvent::Down(why) => why,
            _ => return,
        };
        self.trouble.insert(realm, why.to_owned());
    }
}
