//! What another configuration takes away.

use super::Section;
use config::Issue;

impl Section<'_> {
    /// What ends when a running function takes `new` in place of this section; paths are those of
    /// [`Section::validate`].
    #[must_use]
    pub fn interruptions(&self, new: &Section<'_>) -> Vec<Issue> {
        let (old, node) = (self.node, new.node);
        let own =
            |it: &super::Node| (it.host.clone(), it.realm.clone(), it.product.clone(), it.relays);
        if own(old) != own(node) || self.applications != new.applications {
            let what = "every Diameter connection ends and begins again: this node is another one";
            return vec![Issue::new("host", what, "")];
        }
        let changed = |(n, peer): (usize, &super::Peer)| {
            let before = self.peer.iter().find(|it| it.name == peer.name)?;
            let what = format!("the Diameter connection with {} ends and begins again", peer.name);
            (before != peer).then(|| Issue::new(format!("peer[{n}]"), what, ""))
        };
        let is_gone = |it: &&super::Peer| !new.peer.iter().any(|peer| peer.name == it.name);
        let gone = self.peer.iter().filter(is_gone).map(|peer| {
            let what = format!("the Diameter connection with {} ends", peer.name);
            Issue::new("peer", what, "")
        });
        new.peer.iter().enumerate().filter_map(changed).chain(gone).collect()
    }
}
