//! What trails are told: the agreement that came with a challenge, and what became of it. Of keys
//! nothing.

use crate::set::Set;
use machine::Time;
use runtime::{Flow, PortId, Transport};
use std::net::SocketAddr;
use trail::{Capture, Event, Field};

/// Events of one step at most: those that end with their time may be many at once.
const EVENTS_MAX: usize = 1_024;
/// Octets of a Call-ID by which trails are found.
const CALL_ID_OCTETS_MAX: usize = 255;

#[derive(Debug)]
struct Row {
    event: Event,
    flow: Flow,
    /// Call-ID of the REGISTER, by which its trail is found.
    call_id: Box<[u8]>,
    fields: Vec<(&'static str, Value)>,
}

#[derive(Debug)]
pub(crate) enum Value {
    Text(Vec<u8>),
    Number(u64),
}

impl Value {
    fn field(&self) -> Field<'_> {
        match self {
            Self::Text(text) => Field::Text(text),
            Self::Number(number) => Field::Number(*number),
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.as_bytes().to_vec())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text.into_bytes())
    }
}

/// Events that are not captured yet.
#[derive(Debug)]
pub(crate) struct Trails {
    is_on: bool,
    rows: Vec<Row>,
}

impl Default for Trails {
    fn default() -> Self {
        Self { is_on: true, rows: Vec::new() }
    }
}

impl Trails {
    /// The Call-ID of a REGISTER as a set keeps it: nothing, where there is no trail.
    pub fn call_id(&self, call_id: &[u8]) -> Box<[u8]> {
        match self.is_on && call_id.len() <= CALL_ID_OCTETS_MAX {
            true => call_id.into(),
            false => Box::default(),
        }
    }

    pub fn push(
        &mut self,
        event: Event,
        flow: Flow,
        call_id: &[u8],
        fields: Vec<(&'static str, Value)>,
    ) {
        if self.is_on && !call_id.is_empty() && self.rows.len() < EVENTS_MAX {
            self.rows.push(Row { event, flow, call_id: call_id.into(), fields });
        }
    }

    /// Tells something of a set: its private identity comes first.
    pub fn of(&mut self, set: &Set, event: Event, fields: Vec<(&'static str, Value)>) {
        if !self.is_on || set.registration.call_id.is_empty() {
            return;
        }
        let port = set.own().map_or(0, |own| own.port_s);
        let local = SocketAddr::new(set.local, port);
        let flow = Flow::to(PortId(u16::MAX), Transport::Udp, local, set.identity.remote);
        let impi = ("impi", Value::Text(set.impi.to_vec()));
        let fields = core::iter::once(impi).chain(fields).collect();
        self.push(event, flow, &set.registration.call_id, fields);
    }

    /// A challenge left, with this agreement.
    pub fn chosen(&mut self, set: &Set) {
        let (Some(own), Some(choice)) = (set.own().filter(|_| self.is_on), set.choice) else {
            return;
        };
        let ue = choice.of;
        let (alg, ealg) = choice.pair;
        let fields = vec![
            ("algorithms", format!("{}/{}", alg.name(), ealg.name()).into()),
            ("mode", own.mode.name().into()),
            ("ue_ports", format!("{}/{}", ue.port_c, ue.port_s).into()),
            ("ue_spis", format!("{}/{}", ue.spi_c.0, ue.spi_s.0).into()),
            ("own_ports", format!("{}/{}", own.port_c, own.port_s).into()),
            ("own_spis", spis(set)),
        ];
        self.of(set, Event::AgreementChosen, fields);
    }

    /// The registration of an agreement was accepted, for so many seconds.
    pub fn accepted(&mut self, set: &Set, event: Event, granted_s: u64) {
        self.of(set, event, vec![("own_spis", spis(set)), ("expires_s", Value::Number(granted_s))]);
    }

    /// An agreement that has associations is over, or is no longer the one of now.
    pub fn over(&mut self, set: &Set, event: Event, why: &str) {
        if set.associated.is_some() {
            self.of(set, event, vec![("own_spis", spis(set)), ("text", why.into())]);
        }
    }

    /// Captures what was kept, and keeps more where anything is captured.
    pub fn capture(&mut self, now: Time, capture: &mut Capture) {
        self.is_on = capture.is_on();
        for row in self.rows.drain(..) {
            let fields: Vec<_> =
                row.fields.iter().map(|(name, value)| (*name, value.field())).collect();
            capture.event_of(now, &row.flow, &row.call_id, row.event, &fields);
        }
    }
}

/// Our indices, by which packets of the phone come: client, server.
fn spis(set: &Set) -> Value {
    set.own().map_or_else(String::new, |own| format!("{}/{}", own.spi_c.0, own.spi_s.0)).into()
}
