//! Trust between realms: which headers may not cross (their rows stand in [`sip::trust`]), and how
//! a Request-URI that names us is turned towards the next hop.

use crate::realm::{RealmId, Realms};
use crate::route::Way;
use crate::write::Set;
use sip::{Message, Scheme, trust};

impl Realms {
    /// The headers that a message loses on its way from one realm to another.
    /// `believed`: whether what the sender asserts is.
    pub(crate) fn distrusted(
        &self,
        (from, believed): (RealmId, bool),
        to: RealmId,
        message: &Message<'_>,
    ) -> Set {
        let mut drop = Set::default();
        if !believed {
            drop = trust::inward(message).without(self.row(from).passes);
        }
        let to = self.row(to);
        if !to.trusted {
            drop = drop.and(trust::outward(message).without(to.passes));
        }
        drop
    }

    /// The Request-URI on the far side: as it came, unless its host is one of our doors; then
    /// the next hop's address takes its place.
    pub(crate) fn write_uri(&self, out: &mut Vec<u8>, message: &Message<'_>, way: &Way) {
        let Some(uri) = message.uri() else { return };
        if !matches!(uri.scheme, Scheme::Sip | Scheme::Sips) || !self.is_ours(uri.host, uri.port) {
            return out.extend_from_slice(uri.raw);
        }
        uri.write_towards(out, way.flow.remote);
        if way.flow.transport.is_stream() && uri.scheme != Scheme::Sips {
            out.extend_from_slice(b";transport=");
            out.extend_from_slice(way.flow.transport.word().as_bytes());
        }
    }
}
