//! What somebody should look at: adjacencies that were lost, and a number that another router has.

use crate::around::Protocol;
use crate::history::{Double, History, Lost};
use crate::router::Router;
use machine::Time;
use question::Condition;

/// Alarms of lost adjacencies of a protocol at most; the others have one together.
const LOST_ALARMS_MAX: usize = 50;

impl Router {
    /// Alarms that stand.
    #[must_use]
    pub fn alarms(&self, now: Time) -> Vec<Condition> {
        let mut rows = Vec::new();
        if let Some(it) = &self.ospf {
            let at = |(interface, address): (u32, _)| {
                let name = it.name_of(interface);
                (name.to_owned(), format!("{name} {address}"))
            };
            let why = |id| it.doubted_of(now, id).map(|why| why.to_string());
            rows.extend(self.lost(&it.history, at, why));
            rows.extend(self.double(it.history.double(now), Protocol::Ospf, &it.section.router_id));
        }
        if let Some(it) = &self.isis {
            let at = |(circuit, system, _): (u32, isis::SystemId, u8)| {
                let name = it.name_of(circuit);
                (name.to_owned(), format!("{name} {system}"))
            };
            let why = |id: (u32, isis::SystemId, u8)| it.against_lost(now, id.0, id.1);
            rows.extend(self.lost(&it.history, at, why));
            rows.extend(self.double(it.history.double(now), Protocol::Isis, &it.section.net));
        }
        let sessions =
            self.watch.rows().filter_map(|(said, notice, _)| Some((said.name, *notice?)));
        rows.extend(sessions.filter(|it| it.1.is_lost).take(LOST_ALARMS_MAX).map(
            |(at, notice)| {
                let (name, address) = (self.name_of(at.interface), at.address);
                let why = notice.diagnostic.map_or("", bfd::Diagnostic::name);
                let text = format!("the plane does without {address} at {name}: {why}");
                alarm("bfd-neighbour-lost", &format!("{name} {address}"), "major", text)
            },
        ));
        rows.extend(self.watch.guessed(now).take(LOST_ALARMS_MAX).map(|at| {
            let (name, address) = (self.name_of(at.interface), at.address);
            let text = format!(
                "somebody at {name} sends packets of BFD as {address} and guesses what its session \
                is called: look for it there, and have `bfd.key_file`"
            );
            alarm("bfd-session-guessed", &format!("{name} {address}"), "warning", text)
        }));
        rows.extend(self.repairs.in_use().into_iter().map(|((of, way), routes)| {
            let name = match of {
                Protocol::Ospf => self.ospf.as_ref().map(|it| it.name_of(way.interface)),
                Protocol::Isis => self.isis.as_ref().map(|it| it.name_of(way.interface)),
            };
            let (name, gateway) = (name.unwrap_or_default(), way.gateway);
            let text = format!("{routes} routes by {gateway} at {name} go by their repairs");
            alarm("igp-repair-in-use", &format!("{name} {gateway}"), "warning", text)
        }));
        rows
    }

    /// Adjacencies that were lost: `at` says the interface of one, and its subject; `why`, what
    /// stands against it now.
    fn lost<K: Ord + Copy, S: Copy>(
        &self,
        history: &History<K, S>,
        at: impl Fn(K) -> (String, String),
        why: impl Fn(K) -> Option<String>,
    ) -> Vec<Condition> {
        let told = history.lost.iter().take(LOST_ALARMS_MAX).map(|(id, lost)| {
            let ((name, subject), Lost { who, .. }) = (at(*id), lost);
            let why = why(*id).unwrap_or_else(|| lost.why.clone());
            let text = format!("{who} at {name} is no neighbour any more: {why}");
            alarm("igp-adjacency-lost", &subject, "major", text)
        });
        let more = history.lost.len().checked_sub(LOST_ALARMS_MAX).filter(|it| *it > 0);
        let more = more.map(|more| {
            let text = format!("{more} more routers are no neighbours any more");
            alarm("igp-adjacencies-lost", &self.function, "major", text)
        });
        told.chain(more).collect()
    }

    /// Another router has this one's number.
    fn double(
        &self,
        found: Option<Double>,
        of: Protocol,
        own: &dyn std::fmt::Display,
    ) -> Option<Condition> {
        let (number, said, key) = match of {
            Protocol::Ospf => ("number", "LSAs", "router_id"),
            Protocol::Isis => ("system ID", "LSPs", "net"),
        };
        let text = match found? {
            Double::Near => format!("another router on a link of this one has its {number} {own}"),
            Double::Far => format!("another router says {said} as {own}, which is this one's"),
        };
        let text = format!("{text}: routes by either may be wrong; give one another `{key}`");
        Some(alarm("igp-duplicate-router-id", &self.function, "critical", text))
    }
}

fn alarm(name: &str, subject: &str, severity: &str, text: String) -> Condition {
    Condition::new(name, subject, severity, text).caused_by("communications-subsystem-failure")
}
