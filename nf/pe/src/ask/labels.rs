//! The label space of a router, as it is shown: who gives labels, and to what each was given.

use super::section::page;
use crate::ProviderEdge;
use crate::config::{Claim, Giver};
use ldp_stack::IMPLICIT_NULL;
use question::{Page, rows};
use runtime::{Ask, AskError};
use std::collections::BTreeMap;

rows! {
    /// Labels that somebody gives.
    pub(crate) struct LabelSpaceRow {
        /// `table`, `static`, `pseudowire`, `ldp` or `vpn`.
        giver: &'static str,
        /// The key of the section that says so.
        key: String,
        first: u32,
        last: u32,
        /// How many of them are given.
        given: usize,
    }

    /// A label that was given.
    pub(crate) struct LabelRow {
        label: u32,
        /// Who gave it.
        giver: &'static str,
        /// To what: a prefix, a routing table, a pseudowire.
        of: Option<String>,
    }
}

impl ProviderEdge {
    /// Labels as they were given.
    fn given(&self) -> BTreeMap<u32, (Giver, Option<String>)> {
        let pe = &self.settings.pe;
        let single = pe.claims().into_iter().filter(|it| !it.giver.has_range());
        let mut all: BTreeMap<u32, (Giver, Option<String>)> =
            single.map(|it| (it.first, (it.giver, it.name))).collect();
        for vrf in pe.vrf.iter().filter(|it| it.label.is_none()) {
            if let Some(label) = pe.label_of(vrf, self.dataplane.numbers()) {
                all.insert(label, (Giver::Vpn, Some(vrf.name.clone())));
            }
        }
        let bindings = self.learnt.labelled.labels.iter().flat_map(ldp_stack::Labels::bindings);
        for (prefix, label) in bindings.filter(|it| it.1 != IMPLICIT_NULL) {
            all.insert(label, (Giver::Ldp, Some(prefix.to_string())));
        }
        all
    }

    /// Who gives labels, in their order.
    pub(super) fn label_space(&self) -> Vec<LabelSpaceRow> {
        let given = self.given();
        let mut claims = self.settings.pe.claims();
        claims.sort_by_key(|it| it.first);
        let row = |it: Claim| LabelSpaceRow {
            giver: it.giver.word(),
            given: given.range(it.first..=it.last.max(it.first)).count(),
            key: it.at,
            first: it.first,
            last: it.last,
        };
        claims.into_iter().map(row).collect()
    }

    /// Labels that were given, in their order; a page.
    pub(super) fn labels_given(&self, ask: &Ask) -> Result<Page<LabelRow>, AskError> {
        let only = match ask.params.get("label") {
            None => None,
            Some(text) => {
                let wrong = || AskError::BadParameter("label: a number".to_owned());
                Some(text.parse::<u32>().map_err(|_| wrong())?)
            }
        };
        let given = self.given().into_iter().filter(|it| only.is_none_or(|only| only == it.0));
        let given: Vec<_> = given.collect();
        page(ask, given.len(), |at| {
            let (label, (giver, of)) = &given[at];
            LabelRow { label: *label, giver: giver.word(), of: of.clone() }
        })
    }
}
