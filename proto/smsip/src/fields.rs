//! Registrations and messages as tagged fields ([`wire::field`]): what shards of a function hand to
//! each other. What is not known is skipped.

use crate::message::{Body, Received, Register, Route, Sending, Sent};
use mapsms::identity::{Imsi, Msisdn};
use wire::Malformed;
use wire::field::bytes;
use wire::field::value::{each, number, put, required};

const SPEC: &str = "records of short messages in SIP";

mod tag {
    pub const FLOW: u8 = 1;
    pub const ATTEMPT: u8 = 2;
    pub const TRAIL: u8 = 3;
    /// The public user identity, or the Request-URI.
    pub const TO: u8 = 4;
    /// The S-CSCF that serves; absent: wherever the configuration says.
    pub const S_CSCF: u8 = 5;
    pub const EXPIRES: u8 = 6;
    pub const MSISDN: u8 = 7;
    pub const IMSI: u8 = 8;
    /// There is a list of contacts, however long.
    pub const HAS_CONTACTS: u8 = 9;
    /// One contact; several follow each other.
    pub const CONTACT: u8 = 10;
    /// One asserted identity.
    pub const ASSERTED: u8 = 11;
    pub const CALL_ID: u8 = 12;
    pub const IN_REPLY_TO: u8 = 13;
    pub const CONTENT_TYPE: u8 = 14;
    pub const BODY: u8 = 15;
    /// Whose text the body is; absent: it is an RP message.
    pub const FROM: u8 = 16;
}

fn text(out: &mut Vec<u8>, tag: u8, text: &str) {
    bytes(out, tag, text.as_bytes());
}

fn read_text(value: &[u8]) -> Result<String, Malformed> {
    let no_text = |_| Malformed::new(0, "a text is none", SPEC);
    str::from_utf8(value).map(ToOwned::to_owned).map_err(no_text)
}

impl Sent {
    /// Appends it.
    pub fn write(self, out: &mut Vec<u8>) {
        put(out, tag::FLOW, self.flow);
        put(out, tag::ATTEMPT, self.attempt.into());
    }

    /// Reads what [`Sent::write`] wrote.
    ///
    /// # Errors
    /// A field that lacks, is cut off, or does not fit.
    pub fn read(octets: &[u8]) -> Result<Self, Malformed> {
        Draft::read(octets)?.sent()
    }
}

impl Register {
    /// Appends it.
    pub fn write(&self, out: &mut Vec<u8>) {
        text(out, tag::TO, &self.identity);
        text(out, tag::S_CSCF, &self.s_cscf);
        put(out, tag::EXPIRES, self.expires_s.into());
        self.msisdn.iter().for_each(|it| text(out, tag::MSISDN, it.digits()));
        self.imsi.iter().for_each(|it| text(out, tag::IMSI, it.digits()));
        if let Some(contacts) = &self.contacts {
            put(out, tag::HAS_CONTACTS, 1);
            contacts.iter().for_each(|it| text(out, tag::CONTACT, it));
        }
    }

    /// Reads what [`Register::write`] wrote.
    ///
    /// # Errors
    /// A field that lacks, is cut off, or does not fit.
    pub fn read(octets: &[u8]) -> Result<Self, Malformed> {
        let draft = Draft::read(octets)?;
        Ok(Self {
            identity: required(draft.to)?,
            s_cscf: required(draft.s_cscf)?,
            expires_s: draft.expires_s,
            msisdn: draft.msisdn,
            imsi: draft.imsi,
            contacts: draft.contacts,
        })
    }
}

impl Received {
    /// Appends it.
    pub fn write(&self, out: &mut Vec<u8>) {
        text(out, tag::TO, &self.to);
        self.asserted.iter().for_each(|it| text(out, tag::ASSERTED, it));
        text(out, tag::CALL_ID, &self.call_id);
        self.in_reply_to.iter().for_each(|it| text(out, tag::IN_REPLY_TO, it));
        text(out, tag::CONTENT_TYPE, &self.content_type);
        bytes(out, tag::BODY, &self.body);
        put(out, tag::TRAIL, self.trail);
    }

    /// Reads what [`Received::write`] wrote.
    ///
    /// # Errors
    /// A field that lacks, is cut off, or does not fit.
    pub fn read(octets: &[u8]) -> Result<Self, Malformed> {
        let draft = Draft::read(octets)?;
        Ok(Self {
            to: required(draft.to)?,
            asserted: draft.asserted,
            call_id: required(draft.call_id)?,
            in_reply_to: draft.in_reply_to,
            content_type: required(draft.content_type)?,
            body: draft.body,
            trail: required(draft.trail)?,
        })
    }
}

impl Sending {
    /// Appends it.
    pub fn write(&self, out: &mut Vec<u8>) {
        self.number.write(out);
        text(out, tag::TO, &self.to);
        if let Route::Serving(uri) = &self.route {
            text(out, tag::S_CSCF, uri);
        }
        text(out, tag::CALL_ID, &self.call_id);
        self.in_reply_to.iter().for_each(|it| text(out, tag::IN_REPLY_TO, it));
        if let Body::Text { from, .. } = &self.body {
            text(out, tag::FROM, from);
        }
        bytes(out, tag::BODY, self.body.octets());
        put(out, tag::TRAIL, self.trail);
    }

    /// Reads what [`Sending::write`] wrote.
    ///
    /// # Errors
    /// A field that lacks, is cut off, or does not fit.
    pub fn read(octets: &[u8]) -> Result<Self, Malformed> {
        let draft = Draft::read(octets)?;
        let number = draft.sent()?;
        let body = match draft.from {
            None => Body::Rp(draft.body),
            Some(from) => Body::Text { from, text: read_text(&draft.body)? },
        };
        Ok(Self {
            number,
            to: required(draft.to)?,
            route: draft.s_cscf.map_or(Route::Interrogating, Route::Serving),
            call_id: required(draft.call_id)?,
            in_reply_to: draft.in_reply_to,
            body,
            trail: required(draft.trail)?,
        })
    }
}

/// A record as its fields come.
#[derive(Default)]
struct Draft {
    flow: Option<u64>,
    attempt: Option<u8>,
    trail: Option<u64>,
    to: Option<String>,
    s_cscf: Option<String>,
    expires_s: u32,
    msisdn: Option<Msisdn>,
    imsi: Option<Imsi>,
    contacts: Option<Vec<String>>,
    asserted: Vec<String>,
    call_id: Option<String>,
    in_reply_to: Option<String>,
    content_type: Option<String>,
    body: Vec<u8>,
    from: Option<String>,
}

impl Draft {
    fn read(octets: &[u8]) -> Result<Self, Malformed> {
        let mut draft = Self::default();
        each(octets, |tag, value| draft.take(tag, value))?;
        Ok(draft)
    }

    fn take(&mut self, tag: u8, value: &[u8]) -> Result<(), Malformed> {
        match tag {
            tag::FLOW => self.flow = Some(number(value)?),
            tag::ATTEMPT => self.attempt = Some(number(value)?),
            tag::TRAIL => self.trail = Some(number(value)?),
            tag::EXPIRES => self.expires_s = number(value)?,
            tag::MSISDN => self.msisdn = Msisdn::of(&read_text(value)?),
            tag::IMSI => self.imsi = Imsi::of(&read_text(value)?),
            tag::HAS_CONTACTS => {
                self.contacts.get_or_insert_default();
            }
            tag::CONTACT => self.contacts.get_or_insert_default().push(read_text(value)?),
            tag::ASSERTED => self.asserted.push(read_text(value)?),
            tag::BODY => self.body = value.to_vec(),
            tag::TO => self.to = Some(read_text(value)?),
            tag::S_CSCF => self.s_cscf = Some(read_text(value)?),
            tag::CALL_ID => self.call_id = Some(read_text(value)?),
            tag::IN_REPLY_TO => self.in_reply_to = Some(read_text(value)?),
            tag::CONTENT_TYPE => self.content_type = Some(read_text(value)?),
            tag::FROM => self.from = Some(read_text(value)?),
            _ => {}
        }
        Ok(())
    }

    fn sent(&self) -> Result<Sent, Malformed> {
        Ok(Sent { flow: required(self.flow)?, attempt: required(self.attempt)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held<T: PartialEq + core::fmt::Debug>(
        it: &T,
        write: impl Fn(&T, &mut Vec<u8>),
        read: impl Fn(&[u8]) -> Result<T, Malformed>,
    ) {
        let mut octets = Vec::new();
        write(it, &mut octets);
        assert_eq!(read(&octets).as_ref(), Ok(it));
        for length in 0..octets.len() {
            // Behind a whole field what follows may lack; nothing panics.
            let _ = read(&octets[..length]);
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let text = |it: &str| it.to_owned();
        let register = Register {
            identity: text("sip:alice@ims.example.org"),
            s_cscf: text("sip:scscf.ims.example.org"),
            expires_s: 3_600,
            msisdn: Msisdn::of("447700900123"),
            imsi: Imsi::of("234150999999999"),
            contacts: Some(vec![text("sip:a@192.0.2.1"), text("sip:b@192.0.2.1")]),
        };
        let without = Register { contacts: None, msisdn: None, imsi: None, ..register.clone() };
        let empty = Register { contacts: Some(Vec::new()), ..register.clone() };
        for it in [register, without, empty] {
            held(&it, Register::write, Register::read);
        }
        let received = Received {
            to: text("sip:+447700000099@ims.example.org"),
            asserted: vec![text("sip:alice@ims.example.org"), text("tel:+447700900123")],
            call_id: text("abc@192.0.2.1"),
            in_reply_to: Some(text("def@192.0.2.1")),
            content_type: text("application/vnd.3gpp.sms"),
            body: vec![0, 255, 7],
            trail: 9,
        };
        held(&received, Received::write, Received::read);
        let sending = Sending {
            number: Sent { flow: u64::MAX - 1, attempt: 3 },
            to: text("sip:bob@ims.example.org"),
            route: Route::Serving(text("sip:scscf.ims.example.org")),
            call_id: text("1-2-3"),
            in_reply_to: None,
            body: Body::Rp(vec![1, 2, 3]),
            trail: 10,
        };
        let says = Body::Text { from: text("+447700900123"), text: text("Grüße") };
        let of_text = Sending { route: Route::Interrogating, body: says, ..sending.clone() };
        for it in [sending, of_text] {
            held(&it, Sending::write, Sending::read);
        }
        assert!(Sending::read(&[]).is_err() && Sent::read(&[tag::FLOW, 0, 0, 0, 1, 7]).is_err());
    }
}
