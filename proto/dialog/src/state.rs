//! The dialog itself (RFC 3261 §12): identity, order, target.
//!
//! Its texts share one allocation; a dialog of the usual size costs some 500 bytes.

use super::RouteSet;
use sip::{CSEQ_MAX, Header, Message, Method, NameAddr, Writer};

/// On which side of the dialog we stand; it decides who chose the Call-ID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// We sent the request that made the dialog.
    Client,
    /// We received it.
    Server,
}

/// What a request inside the dialog is to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Ours and in order.
    Accept,
    /// Ours, but older than one that was seen: to be answered 500 (§12.2.2).
    OutOfOrder,
    /// Of another dialog: 481.
    NotOurs,
}

#[derive(Debug, Clone, Copy)]
enum Text {
    CallId,
    /// Our From (or To) value, tag included.
    Local,
    /// Theirs.
    Remote,
    /// The URI of their Contact.
    Target,
}

const TEXTS: usize = 4;

/// A dialog, early or confirmed, as one of its ends sees it.
#[derive(Debug, Clone)]
pub struct Dialog {
    text: Box<[u8]>,
    ends: [u16; TEXTS],
    /// Start and length of the tags inside the text.
    local_tag: (u16, u16),
    remote_tag: (u16, u16),
    routes: RouteSet,
    local_cseq: u32,
    remote_cseq: Option<u32>,
    side: Side,
    is_confirmed: bool,
    is_secure: bool,
}

impl Dialog {
    /// As the client side makes it, from the request sent and a 101 to 299 with a To tag that
    /// came back (§12.1.2). `None` without that tag, without a usable Contact in a 2xx, or with
    /// too much text.
    #[must_use]
    pub fn from_response(request: &Message<'_>, response: &Message<'_>) -> Option<Self> {
        let tag = response.to_tag().filter(|tag| !tag.is_empty())?;
        let status = response.status().filter(|status| (101..300).contains(status))?;
        let target = contact_uri(response).or(request.request_uri())?;
        let local = request.header(Header::From)?;
        let remote = response.header(Header::To)?;
        let texts = [request.call_id(), local, remote, target];
        let mut dialog = Self::build(texts, request.from_tag()?, tag)?;
        dialog.routes = RouteSet::from_response(response)?;
        dialog.local_cseq = request.cseq().number;
        dialog.is_confirmed = status >= 200;
        dialog.is_secure = is_sips(request.request_uri()?);
        Some(dialog)
    }

    /// As the server side makes it, from the request received and the tag it puts into the To
    /// (§12.1.1). `None` without a usable Contact, or with too much text.
    #[must_use]
    pub fn from_request(request: &Message<'_>, local_tag: &[u8]) -> Option<Self> {
        let to = request.header(Header::To)?;
        let mut local = Vec::with_capacity(to.len() + local_tag.len() + 5);
        local.extend_from_slice(to);
        if request.to_tag().is_none() {
            local.extend_from_slice(b";tag=");
            local.extend_from_slice(local_tag);
        }
        let remote = request.header(Header::From)?;
        let texts = [request.call_id(), &local, remote, contact_uri(request)?];
        let mut dialog = Self::build(texts, local_tag, request.from_tag().unwrap_or_default())?;
        dialog.routes = RouteSet::from_request(request)?;
        dialog.remote_cseq = Some(request.cseq().number);
        dialog.side = Side::Server;
        dialog.is_secure = is_sips(request.request_uri()?);
        Some(dialog)
    }

    fn build(texts: [&[u8]; TEXTS], local_tag: &[u8], remote_tag: &[u8]) -> Option<Self> {
        let (text, ends) = join(texts)?;
        let place = |which: Text, tag: &[u8]| -> Option<(u16, u16)> {
            let start = if which as usize == 0 { 0 } else { ends[which as usize - 1] };
            let value = texts[which as usize];
            if tag.is_empty() {
                return Some((start, 0));
            }
            let found = NameAddr::parse(value).ok()?.tag().filter(|found| *found == tag)?;
            let at = found.as_ptr() as usize - value.as_ptr() as usize;
            Some((start.checked_add(u16::try_from(at).ok()?)?, u16::try_from(tag.len()).ok()?))
        };
        Some(Self {
            local_tag: place(Text::Local, local_tag)?,
            remote_tag: place(Text::Remote, remote_tag)?,
            text,
            ends,
            routes: RouteSet::default(),
            local_cseq: 0,
            remote_cseq: None,
            side: Side::Client,
            is_confirmed: false,
            is_secure: false,
        })
    }

    fn text(&self, which: Text) -> &[u8] {
        let which = which as usize;
        let start = if which == 0 { 0 } else { usize::from(self.ends[which - 1]) };
        &self.text[start..usize::from(self.ends[which])]
    }

    fn slice(&self, place: (u16, u16)) -> &[u8] {
        let (start, length) = place;
        &self.text[usize::from(start)..usize::from(start) + usize::from(length)]
    }

    /// The Call-ID.
    #[must_use]
    pub fn call_id(&self) -> &[u8] {
        self.text(Text::CallId)
    }

    /// Our tag.
    #[must_use]
    pub fn local_tag(&self) -> &[u8] {
        self.slice(self.local_tag)
    }

    /// Their tag; empty for a peer of RFC 2543 that sent none (§12.1.1).
    #[must_use]
    pub fn remote_tag(&self) -> &[u8] {
        self.slice(self.remote_tag)
    }

    /// Our From value, tag included.
    #[must_use]
    pub fn local(&self) -> &[u8] {
        self.text(Text::Local)
    }

    /// Their To value, tag included.
    #[must_use]
    pub fn remote(&self) -> &[u8] {
        self.text(Text::Remote)
    }

    /// The URI that requests are for.
    #[must_use]
    pub fn remote_target(&self) -> &[u8] {
        self.text(Text::Target)
    }

    /// The hops that requests pass.
    #[must_use]
    pub const fn routes(&self) -> &RouteSet {
        &self.routes
    }

    /// The side on which we stand.
    #[must_use]
    pub const fn side(&self) -> Side {
        self.side
    }

    /// Whether a 2xx made it.
    #[must_use]
    pub const fn is_confirmed(&self) -> bool {
        self.is_confirmed
    }

    /// Whether it was made by a SIPS URI: every hop is to be TLS.
    #[must_use]
    pub const fn is_secure(&self) -> bool {
        self.is_secure
    }

    /// The number of the request sent last.
    #[must_use]
    pub const fn local_cseq(&self) -> u32 {
        self.local_cseq
    }

    /// The number of the request seen last.
    #[must_use]
    pub const fn remote_cseq(&self) -> Option<u32> {
        self.remote_cseq
    }

    /// Whether a message that came in belongs here: Call-ID and both tags are the same.
    #[must_use]
    pub fn is_of(&self, message: &Message<'_>) -> bool {
        let (ours, theirs) = if message.is_request() {
            (message.to_tag(), message.from_tag())
        } else {
            (message.from_tag(), message.to_tag())
        };
        message.call_id() == self.call_id()
            && ours.unwrap_or_default() == self.local_tag()
            && theirs.unwrap_or_default() == self.remote_tag()
    }

    /// Judges a request that came in (§12.2.2). ACK and CANCEL carry the number of their INVITE
    /// and count as in order; every other request must be newer than all before it.
    pub fn in_dialog_request(&mut self, request: &Message<'_>) -> Verdict {
        if !self.is_of(request) {
            return Verdict::NotOurs;
        }
        if matches!(request.method(), Method::Ack | Method::Cancel) {
            return Verdict::Accept;
        }
        let number = request.cseq().number;
        if self.remote_cseq.is_some_and(|last| number <= last) {
            return Verdict::OutOfOrder;
        }
        self.remote_cseq = Some(number);
        Verdict::Accept
    }

    /// The number of the next request we send; `None` once the numbers are used up.
    pub const fn next_cseq(&mut self) -> Option<u32> {
        if self.local_cseq >= CSEQ_MAX {
            return None;
        }
        self.local_cseq += 1;
        Some(self.local_cseq)
    }

    /// A 2xx came to the request that made this early dialog: it is confirmed, with route set
    /// and target taken anew (§13.2.2.4).
    pub fn confirm_by(&mut self, response: &Message<'_>) {
        if let Some(routes) = RouteSet::from_response(response) {
            self.routes = routes;
        }
        self.is_confirmed = true;
        self.refresh_target(response);
    }

    /// We sent the 2xx.
    pub const fn confirm(&mut self) {
        self.is_confirmed = true;
    }

    /// Takes the Contact of a target refresh request (INVITE, UPDATE, SUBSCRIBE, NOTIFY, REFER)
    /// or of its 2xx (§12.2.1.2, §12.2.2). Returns whether the target changed.
    pub fn refresh_target(&mut self, message: &Message<'_>) -> bool {
        match contact_uri(message) {
            Some(target) if target != self.remote_target() => {
                let texts = [self.call_id(), self.local(), self.remote(), target];
                let Some((text, ends)) = join(texts) else { return false };
                (self.text, self.ends) = (text, ends);
                true
            }
            _ => false,
        }
    }

    /// Begins a request inside the dialog with Request-URI, Route, From, To, Call-ID and CSeq
    /// (§12.2.1.1); the caller adds Via, Max-Forwards, Contact and what else it wants.
    pub fn begin_request<'b>(&self, out: &'b mut Vec<u8>, method: &[u8], cseq: u32) -> Writer<'b> {
        let target = self.remote_target();
        let mut writer = Writer::request(out, method, self.routes.request_uri(target));
        self.routes.write(&mut writer, target);
        writer.header(Header::From, self.local());
        writer.header(Header::To, self.remote());
        writer.header(Header::CallId, self.call_id());
        writer.header_with(Header::CSeq, |out| {
            sip::decimal(out, cseq.into());
            out.push(b' ');
            out.extend_from_slice(method);
        });
        writer
    }

    /// Bytes that the dialog costs, its heap included.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.text.len() + self.routes.heap_bytes()
    }
}

/// One allocation for all texts; `None` when they do not fit offsets of 16 bits.
fn join(texts: [&[u8]; TEXTS]) -> Option<(Box<[u8]>, [u16; TEXTS])> {
    let mut ends = [0; TEXTS];
    let mut end = 0;
    for (slot, text) in ends.iter_mut().zip(texts) {
        end += text.len();
        *slot = u16::try_from(end).ok()?;
    }
    Some((texts.concat().into(), ends))
}

/// The URI of the first Contact.
fn contact_uri<'a>(message: &Message<'a>) -> Option<&'a [u8]> {
    let contact = message.values(Header::Contact).next()?;
    NameAddr::parse(contact).ok().map(|contact| contact.uri)
}

fn is_sips(uri: &[u8]) -> bool {
    uri.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"sips:"))
}
