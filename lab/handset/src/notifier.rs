//! What a home network tells of registrations (RFC 3680): a notifier for whoever subscribes.

use crate::text::line;
use reginfo::{Contact, ContactState, Event, Reginfo, Registration, RegistrationState, State};
use sip::{Header, Message, NameAddr};
use std::net::SocketAddr;

/// Subscriptions at most.
const SUBSCRIPTIONS_MAX: usize = 1 << 20;

/// Who is told.
struct Subscription {
    call_id: Vec<u8>,
    /// Its tag, and ours.
    tags: [Vec<u8>; 2],
    /// The URI by which it is reached, and from where it came.
    target: Vec<u8>,
    from: SocketAddr,
    identity: String,
    cseq: u32,
    version: u32,
    expires: u32,
}

/// All who are told.
#[derive(Default)]
pub(crate) struct Notifier {
    subscriptions: Vec<Subscription>,
    out: Vec<(SocketAddr, Vec<u8>)>,
    sent: u64,
}

impl Notifier {
    fn of(&self, message: &Message<'_>) -> Option<&Subscription> {
        let is_it = |it: &&Subscription| {
            it.call_id == message.call_id()
                && message.from_tag() == Some(&it.tags[0])
                && message.to_tag().is_none_or(|tag| tag == it.tags[1])
        };
        self.subscriptions.iter().find(is_it)
    }

    /// The identity that the dialog of a request is about.
    pub fn identity_of(&self, message: &Message<'_>) -> Option<String> {
        message.to_tag()?;
        self.of(message).map(|it| it.identity.clone())
    }

    /// Our tag in the dialog of a request.
    pub fn tag_of(&self, message: &Message<'_>) -> Option<String> {
        self.of(message).map(|it| String::from_utf8_lossy(&it.tags[1]).into_owned())
    }

    /// A SUBSCRIBE: the lines of its 200, or another status.
    pub fn subscribe(
        &mut self,
        message: &Message<'_>,
        from: SocketAddr,
        identity: &str,
        tag: &str,
    ) -> Result<Vec<(&'static str, Vec<u8>)>, &'static str> {
        if message.header(Header::Event) != Some(b"reg") {
            return Err("489 Bad Event");
        }
        let target = message.first(Header::Contact).and_then(|it| NameAddr::parse(it).ok());
        let target = target.ok_or("400 Bad Request")?.uri.to_vec();
        let expires = message.header(Header::Expires).unwrap_or(b"3761").to_vec();
        let text = String::from_utf8_lossy(&expires).into_owned();
        let seconds: u32 = text.trim().parse().map_err(|_| "400 Bad Request")?;
        let (call_id, theirs) = (message.call_id(), message.from_tag().unwrap_or_default());
        let known = self.of(message).is_some();
        if !known && (message.to_tag().is_some() || self.subscriptions.len() >= SUBSCRIPTIONS_MAX) {
            return Err("481 Call/Transaction Does Not Exist");
        }
        if !known {
            self.subscriptions.push(Subscription {
                call_id: call_id.to_vec(),
                tags: [theirs.to_vec(), tag.as_bytes().to_vec()],
                target,
                from,
                identity: identity.to_owned(),
                cseq: 0,
                version: 0,
                expires: seconds,
            });
        } else if let Some(it) = self.subscriptions.iter_mut().find(|it| it.call_id == call_id) {
            it.expires = seconds;
        }
        let own = format!("<sip:{}>", self.own(identity));
        Ok(vec![("Expires", expires), ("Contact", own.into_bytes())])
    }

    /// Its own name.
    fn own(&self, identity: &str) -> String {
        let host = identity.split('@').next_back().unwrap_or("home");
        format!("scscf@{host}")
    }

    /// Tells all who have subscribed to an identity where its contact stands: registered, or ended
    /// by the network.
    pub fn tell(&mut self, identity: &str, contact: Option<&[u8]>, ended: Option<Event>) {
        let uri = contact.and_then(|it| NameAddr::parse(it).ok()).map(|it| it.uri);
        let uri = uri.map(|uri| String::from_utf8_lossy(uri).into_owned());
        let is_active = uri.is_some() && ended.is_none();
        let own = self.own(identity);
        for it in self.subscriptions.iter_mut().filter(|it| it.identity == identity) {
            let contacts = uri.iter().map(|uri| Contact {
                id: "c1".to_owned(),
                state: if is_active { ContactState::Active } else { ContactState::Terminated },
                event: ended.unwrap_or(Event::Registered),
                expires_s: None,
                uri: uri.clone(),
            });
            let state = match is_active {
                true => RegistrationState::Active,
                false => RegistrationState::Terminated,
            };
            let registration = Registration {
                aor: identity.to_owned(),
                id: "r1".to_owned(),
                state,
                contacts: contacts.collect(),
            };
            let reginfo = Reginfo {
                version: it.version,
                state: State::Full,
                registrations: vec![registration],
            };
            self.sent += 1;
            (it.cseq, it.version) = (it.cseq + 1, it.version + 1);
            let is_over = !is_active || it.expires == 0;
            self.out.push((it.from, it.notify(&own, self.sent, is_over, &reginfo)));
        }
        self.subscriptions.retain(|it| it.identity != identity || is_active && it.expires > 0);
    }

    pub fn take(&mut self) -> Vec<(SocketAddr, Vec<u8>)> {
        core::mem::take(&mut self.out)
    }
}

impl Subscription {
    fn notify(&self, own: &str, number: u64, is_over: bool, reginfo: &Reginfo) -> Vec<u8> {
        let [theirs, ours] = self.tags.each_ref().map(|tag| String::from_utf8_lossy(tag));
        let mut out = b"NOTIFY ".to_vec();
        out.extend_from_slice(&self.target);
        out.extend_from_slice(b" SIP/2.0\r\n");
        let state = match is_over {
            true => "terminated;reason=noresource".to_owned(),
            false => format!("active;expires={}", self.expires),
        };
        let (identity, cseq) = (&self.identity, self.cseq);
        let mut body = Vec::new();
        reginfo.write(&mut body);
        let lines = [
            ("Via", format!("SIP/2.0/UDP home.invalid;rport;branch=z9hG4bKhome{number}")),
            ("Max-Forwards", "70".to_owned()),
            ("From", format!("<{identity}>;tag={ours}")),
            ("To", format!("<sip:pcscf>;tag={theirs}")),
            ("CSeq", format!("{cseq} NOTIFY")),
            ("Contact", format!("<sip:{own}>")),
            ("Event", "reg".to_owned()),
            ("Subscription-State", state),
            ("Content-Type", reginfo::MEDIA_TYPE.to_owned()),
        ];
        line(&mut out, "Call-ID", &self.call_id);
        lines.iter().for_each(|(name, value)| line(&mut out, name, value.as_bytes()));
        sip::write::content_length(&mut out, body.len());
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(&body);
        out
    }
}
