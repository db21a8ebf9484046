//! What came, decoded once where many got the same octets.
//!
//! ```text
//!   Reference:  |UPDATE|UPDATE|UPDATE|UPDATE|      its Contents are those at its end
//!   Reader A:    ────────equal───────→              compared, not decoded
//!   Reader B:    ──equal──→|other UPDATE|…          on another reference, or alone with Contents
//! ```
//! A reference holds whole UPDATEs only, without End-of-RIB; who stands at its end and gets more
//! makes it longer. What is neither there nor routes (KEEPALIVE, End-of-RIB) is taken out of each
//! stream before it is compared.

use crate::contents::{Contents, feeders};
use crate::digest::Sum;
use crate::keys::Keys;
use bgp::codec::{Context, EXTENDED_MESSAGE_BYTES_MAX, Framing, MessageType, Messages, frame};

/// Streams that are kept for comparison at most.
pub const REFERENCES_MAX: usize = 8;
/// Octets of all references at most; who would make them longer is decoded alone from then on.
const REFERENCE_BYTES_MAX: usize = 2 << 30;
/// Octets between two marks, from which the beginning of a message is looked for.
const MARK_BYTES: usize = 64 << 10;
/// Octets that are compared at once.
const COMPARE_BYTES: usize = 4 << 10;
/// Octets of the longest End-of-RIB (RFC 4724 §2): empty MP_UNREACH_NLRI, extended length.
const END_OF_RIB_BYTES_MAX: usize = 30;

/// A stream that others are compared with.
#[derive(Debug, Default)]
struct Reference {
    octets: Vec<u8>,
    contents: Contents,
    /// Beginnings of messages, at least [`MARK_BYTES`] apart.
    marks: Vec<Mark>,
    /// Where the UPDATE ends with the route that was waited for; zero: it has not come.
    seen_at: usize,
}

/// The beginning of a message in a reference.
#[derive(Debug, Clone, Copy, Default)]
struct Mark {
    at: usize,
    /// Updates before it.
    updates: u64,
}

/// What a client holds that others are ahead of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Behind {
    /// Without its own routes.
    pub(crate) sum: Sum,
    pub(crate) updates: u64,
    pub(crate) violations: u64,
}

impl Reference {
    fn append(&mut self, keys: &mut Keys, message: &[u8], context: &Context) {
        let start = self.octets.len();
        if self.marks.last().map_or(0, |mark| mark.at + MARK_BYTES) <= start {
            self.marks.push(Mark { at: start, updates: self.contents.updates() });
        }
        self.octets.extend_from_slice(message);
        self.contents.update(keys, message, context);
        if std::mem::take(&mut self.contents.has_seen) && self.seen_at == 0 {
            self.seen_at = self.octets.len();
        }
    }

    /// The beginning of the message that the octet `at` belongs to, or begins.
    fn message_before(&self, at: usize) -> usize {
        let mark = self.marks.partition_point(|mark| mark.at <= at);
        let mut start = if mark == 0 { 0 } else { self.marks[mark - 1].at };
        for (_, message) in Messages::new(&self.octets[start..], EXTENDED_MESSAGE_BYTES_MAX) {
            if start + message.len() > at {
                break;
            }
            start += message.len();
        }
        start
    }
}

/// All references, and the numbers of all routes.
#[derive(Debug, Default)]
pub struct Streams {
    references: Vec<Reference>,
    bytes: usize,
    /// The numbers of all routes.
    pub keys: Keys,
}

impl Streams {
    /// None yet.
    #[must_use]
    pub fn new(keys: Keys) -> Self {
        Self { references: Vec::new(), bytes: 0, keys }
    }

    /// How many references there are.
    #[must_use]
    pub fn references(&self) -> usize {
        self.references.len()
    }

    /// Waits for a route anew.
    pub(crate) fn watch(&mut self, watched: Option<(u32, u32)>) {
        self.keys.watched = watched;
        self.references.iter_mut().for_each(|reference| reference.seen_at = 0);
    }

    /// Another reference that equals `from` up to `start` and goes on with `message`.
    fn alike(&self, from: usize, start: usize, message: &[u8]) -> Option<usize> {
        let known = &self.references[from].octets[..start];
        self.references.iter().enumerate().position(|(index, other)| {
            index != from
                && other.octets.get(start..).is_some_and(|rest| rest.starts_with(message))
                && other.octets[..start] == *known
        })
    }

    /// What is held after the first `length` octets of a reference.
    fn replay(&mut self, from: usize, length: usize, context: &Context) -> Contents {
        let mut contents = Contents::new();
        let octets = &self.references[from].octets[..length];
        for (_, message) in Messages::new(octets, EXTENDED_MESSAGE_BYTES_MAX) {
            contents.update(&mut self.keys, message, context);
        }
        contents
    }

    /// A new reference that equals `from` up to `start`; `None` when there are enough.
    fn branch(&mut self, from: usize, start: usize, context: &Context) -> Option<usize> {
        let has_room = self.bytes + start <= REFERENCE_BYTES_MAX;
        if self.references.len() >= REFERENCES_MAX || !has_room {
            return None;
        }
        let mut contents = self.replay(from, start, context);
        contents.has_seen = false;
        let octets = self.references[from].octets[..start].to_vec();
        let seen_at = Some(self.references[from].seen_at).filter(|at| *at <= start).unwrap_or(0);
        let marks = self.references[from].marks.iter().copied().filter(|mark| mark.at < start);
        let marks = marks.collect();
        self.bytes += start;
        self.references.push(Reference { octets, contents, marks, seen_at });
        Some(self.references.len() - 1)
    }
}

#[derive(Debug)]
enum Place {
    /// Equal to that reference up to there.
    Following { reference: usize, at: usize },
    /// Decoded by itself.
    Alone(Box<Contents>),
}

/// What one client got.
#[derive(Debug)]
pub struct Reader {
    place: Place,
    context: Context,
    has_seen: bool,
}

/// What a message that is not compared is.
enum Kind {
    Routes,
    EndOfRib,
    Other,
}

fn kind(kind: MessageType, message: &[u8]) -> Kind {
    match kind {
        MessageType::Update if message.len() > END_OF_RIB_BYTES_MAX => Kind::Routes,
        MessageType::Update if is_end_of_rib(message) => Kind::EndOfRib,
        MessageType::Update => Kind::Routes,
        _ => Kind::Other,
    }
}

/// Without routes: nothing behind the two lengths, or MP_UNREACH_NLRI with AFI and SAFI alone.
fn is_end_of_rib(message: &[u8]) -> bool {
    matches!(
        message[19..],
        [0, 0, 0, 0] | [0, 0, 0, 6, _, 15, 3, _, _, _] | [0, 0, 0, 7, _, 15, 0, 3, _, _, _]
    )
}

impl Reader {
    /// One that got nothing yet, and reads in this context.
    #[must_use]
    pub fn new(streams: &mut Streams, context: Context) -> Self {
        if streams.references.is_empty() {
            streams.references.push(Reference::default());
        }
        let place = Place::Following { reference: 0, at: 0 };
        Self { place, context, has_seen: false }
    }

    /// What is held, when all that came is taken account of in it; `None` while another client is
    /// ahead.
    #[must_use]
    pub fn contents<'a>(&'a self, streams: &'a Streams) -> Option<&'a Contents> {
        match &self.place {
            Place::Alone(contents) => Some(contents),
            Place::Following { reference, at } => {
                let reference = &streams.references[*reference];
                Some(&reference.contents).filter(|_| *at == reference.octets.len())
            }
        }
    }

    /// What is held, when another client is ahead by nothing but `client`'s own routes: who
    /// reflects may not send them to where they came from.
    pub(crate) fn behind(&self, streams: &mut Streams, client: usize) -> Option<Behind> {
        let Place::Following { reference, at } = self.place else { return None };
        let Streams { references, keys, .. } = streams;
        let known = &references[reference];
        if at == known.octets.len() || known.message_before(at) != at {
            return None;
        }
        let mut count = 0;
        let mut is_own = |feeder: usize| {
            count += 1;
            feeder == client
        };
        for (_, message) in Messages::new(&known.octets[at..], EXTENDED_MESSAGE_BYTES_MAX) {
            if !feeders(keys, message, &self.context, &mut is_own) {
                return None;
            }
        }
        let contents = &known.contents;
        let (sum, violations) = (contents.held_without(client), contents.violations);
        Some(Behind { sum, updates: contents.updates() - count, violations })
    }

    /// What is held, when another client is ahead by whatever it is: decoded from the beginning.
    pub(crate) fn counted(&self, streams: &mut Streams, client: usize) -> Option<Behind> {
        let Place::Following { reference, at } = self.place else { return None };
        if streams.references[reference].message_before(at) != at {
            return None;
        }
        let contents = streams.replay(reference, at, &self.context);
        let (sum, violations) = (contents.held_without(client), contents.violations);
        Some(Behind { sum, updates: contents.updates(), violations })
    }

    /// Routes that were announced and withdrawn.
    pub(crate) fn updates(&self, streams: &mut Streams) -> u64 {
        let (reference, at) = match &self.place {
            Place::Alone(contents) => return contents.updates(),
            Place::Following { reference, at } => (*reference, *at),
        };
        let Streams { references, keys, .. } = streams;
        let known = &references[reference];
        if at == known.octets.len() {
            return known.contents.updates();
        }
        let marks = known.marks.partition_point(|mark| mark.at <= at);
        let Mark { at: from, mut updates } =
            marks.checked_sub(1).map_or_else(Mark::default, |it| known.marks[it]);
        for (_, message) in Messages::new(&known.octets[from..at], EXTENDED_MESSAGE_BYTES_MAX) {
            feeders(keys, message, &self.context, |_| {
                updates += 1;
                true
            });
        }
        updates
    }

    /// Whether it is decoded by itself.
    #[must_use]
    pub const fn is_alone(&self) -> bool {
        matches!(self.place, Place::Alone(_))
    }

    /// Whether the route that is waited for has come.
    pub(crate) fn has_seen(&mut self, streams: &Streams) -> bool {
        self.has_seen |= match &self.place {
            Place::Alone(contents) => contents.has_seen,
            Place::Following { reference, at } => {
                let seen_at = streams.references[*reference].seen_at;
                seen_at != 0 && *at >= seen_at
            }
        };
        self.has_seen
    }

    /// Forgets what was waited for.
    pub(crate) fn forget_seen(&mut self) {
        self.has_seen = false;
        if let Place::Alone(contents) = &mut self.place {
            contents.has_seen = false;
        }
    }

    /// Takes what came: the octets that begin a message which is not whole are given back, and
    /// must come again in front of what follows. Messages that are no UPDATEs go to `others`.
    pub fn take(
        &mut self,
        streams: &mut Streams,
        octets: &[u8],
        others: &mut Vec<Vec<u8>>,
    ) -> Vec<u8> {
        let mut rest = Rest::Borrowed(octets);
        loop {
            let done = match self.place {
                Place::Alone(_) => return self.decode(streams, rest.octets(), others),
                Place::Following { reference, at } => {
                    self.compare(streams, reference, at, rest.octets())
                }
            };
            match done {
                Compared::All => return Vec::new(),
                Compared::Cut(octets) => return octets,
                Compared::Taken(count) => rest.drop_front(count),
                Compared::Other(octets, length) => {
                    others.push(octets[..length].to_vec());
                    rest = Rest::Owned(octets, length);
                }
                Compared::Neutral(octets, length) => rest = Rest::Owned(octets, length),
                Compared::Left(octets) => rest = Rest::Owned(octets, 0),
            }
        }
    }

    fn compare(
        &mut self,
        streams: &mut Streams,
        reference: usize,
        at: usize,
        octets: &[u8],
    ) -> Compared {
        let known = &streams.references[reference].octets[at..];
        let equal = equal_octets(known, octets);
        let here = at + equal;
        self.place = Place::Following { reference, at: here };
        if equal == octets.len() {
            return Compared::All;
        }
        if equal < known.len() {
            return self.differs(streams, reference, here, &octets[equal..]);
        }
        let rest = &octets[equal..];
        let Framing::Message(kind_of, message) = frame(rest, EXTENDED_MESSAGE_BYTES_MAX) else {
            return Compared::Cut(rest.to_vec());
        };
        let length = message.len();
        match kind(kind_of, message) {
            Kind::EndOfRib => Compared::Taken(equal + length),
            Kind::Other => Compared::Other(rest.to_vec(), length),
            Kind::Routes if streams.bytes + length > REFERENCE_BYTES_MAX => {
                self.place = Place::Alone(Box::new(streams.replay(reference, here, &self.context)));
                Compared::Taken(equal)
            }
            Kind::Routes => {
                streams.bytes += length;
                let Streams { references, keys, .. } = streams;
                references[reference].append(keys, message, &self.context);
                self.place = Place::Following { reference, at: here + length };
                Compared::Taken(equal + length)
            }
        }
    }

    /// The octet at `at` is another one than the first of `rest`: the message that it belongs to
    /// is looked at.
    fn differs(
        &mut self,
        streams: &mut Streams,
        reference: usize,
        at: usize,
        rest: &[u8],
    ) -> Compared {
        let start = streams.references[reference].message_before(at);
        let octets = [&streams.references[reference].octets[start..at], rest].concat();
        self.place = Place::Following { reference, at: start };
        let Framing::Message(kind_of, message) = frame(&octets, EXTENDED_MESSAGE_BYTES_MAX) else {
            return Compared::Cut(octets);
        };
        let length = message.len();
        match kind(kind_of, message) {
            Kind::EndOfRib => return Compared::Neutral(octets, length),
            Kind::Other => return Compared::Other(octets, length),
            Kind::Routes => {}
        }
        let other = streams.alike(reference, start, message);
        let other = other.or_else(|| streams.branch(reference, start, &self.context));
        self.place = match other {
            Some(reference) => Place::Following { reference, at: start },
            None => Place::Alone(Box::new(streams.replay(reference, start, &self.context))),
        };
        Compared::Left(octets)
    }

    /// Every message is decoded.
    fn decode(
        &mut self,
        streams: &mut Streams,
        octets: &[u8],
        others: &mut Vec<Vec<u8>>,
    ) -> Vec<u8> {
        let Place::Alone(contents) = &mut self.place else { return octets.to_vec() };
        let mut messages = Messages::new(octets, EXTENDED_MESSAGE_BYTES_MAX);
        for (kind_of, message) in messages.by_ref() {
            match kind(kind_of, message) {
                Kind::Routes => contents.update(&mut streams.keys, message, &self.context),
                Kind::EndOfRib => {}
                Kind::Other => others.push(message.to_vec()),
            }
        }
        messages.rest().to_vec()
    }
}

/// What is still to be looked at.
enum Rest<'a> {
    Borrowed(&'a [u8]),
    Owned(Vec<u8>, usize),
}

impl Rest<'_> {
    fn octets(&self) -> &[u8] {
        match self {
            Self::Borrowed(octets) => octets,
            Self::Owned(octets, from) => &octets[*from..],
        }
    }

    fn drop_front(&mut self, count: usize) {
        match self {
            Self::Borrowed(octets) => *octets = &octets[count..],
            Self::Owned(_, from) => *from += count,
        }
    }
}

/// How far a comparison came.
enum Compared {
    /// All was equal.
    All,
    /// These octets begin a message that is not whole.
    Cut(Vec<u8>),
    /// So many octets are done with.
    Taken(usize),
    /// These are left, and begin with a message of that length that is no UPDATE.
    Other(Vec<u8>, usize),
    /// The same with an End-of-RIB.
    Neutral(Vec<u8>, usize),
    /// These are left, and are compared with another reference or decoded.
    Left(Vec<u8>),
}

/// How many octets both begin with alike.
fn equal_octets(known: &[u8], octets: &[u8]) -> usize {
    let length = known.len().min(octets.len());
    let mut at = 0;
    while at < length {
        let end = length.min(at + COMPARE_BYTES);
        if known[at..end] != octets[at..end] {
            let pairs = known[at..end].iter().zip(&octets[at..end]);
            return at + pairs.take_while(|(one, other)| one == other).count();
        }
        at = end;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Origin, Table};
    use bgp::codec::Peering;
    use bgp::family::{Family, FamilySet};

    const CONTEXT: Context = Context {
        peering: Peering::Internal,
        four_octet_as: true,
        families: FamilySet::only(Family::Ipv4Unicast),
        add_path: FamilySet::EMPTY,
        extended_next_hop: FamilySet::EMPTY,
        multiple_labels: FamilySet::EMPTY,
        aigp: false,
        first_as: None,
    };

    #[test]
    fn who_lacks_its_own_routes_only_holds_what_those_do_who_are_ahead() {
        let mut streams = Streams::new(Keys::new());
        let mut others = Table::synthetic(2_000, 10, 1);
        let sets = others.sets.split_off(100);
        let own = Table { sets, prefixes: others.prefixes.split_off(100) };
        let origins = [8, 9].map(|client| Origin { client, cluster: 1 });
        let of_others = others.announce(&origins[0], 0, &mut streams.keys);
        let of_own = own.announce(&origins[1], 0, &mut streams.keys);
        let mut ahead = Reader::new(&mut streams, CONTEXT);
        ahead.take(&mut streams, &of_others.octets, &mut Vec::new());
        let expected = streams.references[0].contents.held_without(9);
        ahead.take(&mut streams, &of_own.octets, &mut Vec::new());
        let mut feeder = Reader::new(&mut streams, CONTEXT);
        let half = of_others.octets.len() / 2;
        let cut = feeder.take(&mut streams, &of_others.octets[..half], &mut Vec::new());
        assert!(feeder.behind(&mut streams, 9).is_none(), "routes of others lack");
        let rest = [&cut[..], &of_others.octets[half..]].concat();
        feeder.take(&mut streams, &rest, &mut Vec::new());
        let behind = feeder.behind(&mut streams, 9).expect("it is behind by its own routes only");
        assert_eq!(
            (behind.sum, behind.updates, behind.violations),
            (expected, of_others.routes, 0)
        );
        assert!(feeder.behind(&mut streams, 8).is_none(), "those are routes of another");
        assert_eq!(feeder.updates(&mut streams), of_others.routes);
        assert_eq!(ahead.updates(&mut streams), of_others.routes + of_own.routes);
        assert_eq!(streams.references(), 1);
    }
}
