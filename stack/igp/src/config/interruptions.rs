//! Adjacencies that another configuration interrupts, said before it is made to run.

use super::{Area, Interface, Ospf};
use config::interrupted;

impl Ospf {
    /// What neighbours lose when `next` takes the place of this section: a sentence each.
    #[must_use]
    pub fn interruptions(&self, next: Option<&Self>) -> Vec<String> {
        let names = |it: &Self| it.speaking().map(|(_, it)| it.name.clone()).collect::<Vec<_>>();
        let Some(next) = next else {
            let ended = interrupted("interface", "interfaces", "speak OSPF no more", &names(self));
            return ended.into_iter().collect();
        };
        if self.router_id != next.router_id {
            let what = "the router has another number: all adjacencies of OSPF begin anew";
            return vec![what.to_owned()];
        }
        let (mut ending, mut restarting) = (Vec::new(), Vec::new());
        for (area, it) in self.speaking() {
            match next.interfaces().find(|(_, other)| other.name == it.name) {
                None => ending.push(it.name.clone()),
                Some((of, other)) => {
                    let is_same = area.id == of.id && area.kind == of.kind;
                    if !is_same || !it.is_heard_as(other) {
                        restarting.push(it.name.clone());
                    }
                }
            }
        }
        let ended = interrupted("interface", "interfaces", "speak OSPF no more", &ending);
        let verb = "begin their adjacencies anew";
        let anew = interrupted("interface", "interfaces", verb, &restarting);
        ended.into_iter().chain(anew).collect()
    }

    fn speaking(&self) -> impl Iterator<Item = (&Area, &Interface)> {
        self.interfaces().filter(|(_, it)| !it.passive)
    }
}
