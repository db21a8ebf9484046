//! What an operator changes while an instance runs, and what he sees of it. What can change under
//! an adjacency does; a circuit that neighbours must meet anew is down after its change.

use super::{Instance, Out};
use crate::address::{FragmentId, Level, Levels, Snpa, SystemId};
use crate::adjacency::AdjacencyState;
use crate::circuit::Circuit;
use crate::doubt::Doubted;
use crate::routes::Route;
use crate::settings::{BadSetting, CircuitSettings, Prefix, Settings};
use machine::{Duration, Time};
use std::net::{Ipv4Addr, Ipv6Addr};

/// A neighbour for people to see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Neighbouring {
    /// The system.
    pub system: SystemId,
    /// Its address on the link.
    pub snpa: Snpa,
    /// Levels of the adjacency.
    pub levels: Levels,
    /// How far it is.
    pub state: AdjacencyState,
    /// Its priority as designated system; of a LAN.
    pub priority: u8,
    /// Its addresses of IPv4.
    pub addresses: Vec<Ipv4Addr>,
    /// Its link-local addresses of IPv6.
    pub ipv6: Vec<Ipv6Addr>,
    /// Time until it counts as gone.
    pub holds: Duration,
    /// It restarts, and is borne.
    pub is_restarting: bool,
    /// Octets that its hellos are padded to; 0: they are not.
    pub padded: u16,
}

impl CircuitSettings {
    /// Whether adjacencies outlive that change: each hello says the rest anew.
    #[must_use]
    pub fn outlives(&self, new: &Self) -> bool {
        let met = |it: &Self| (it.link, it.levels, it.mtu, it.snpa, it.is_passive);
        met(self) == met(new)
    }
}

impl Instance {
    /// Other settings of an instance that runs. System, areas, levels, metrics and a restart stay
    /// as they were: whoever wants others begins anew.
    ///
    /// # Errors
    /// What is wrong with the settings; then nothing is changed.
    pub fn change(
        &mut self,
        now: Time,
        new: Settings,
        out: &mut Vec<Out>,
    ) -> Result<(), BadSetting> {
        let own = &self.settings;
        let new = Settings {
            system: own.system,
            areas: own.areas.clone(),
            levels: own.levels,
            style: own.style,
            restart: own.restart,
            ..new
        };
        if *own == new {
            return Ok(());
        }
        new.check()?;
        if own.authentication != new.authentication {
            // What others have of us has the proof of before: all is said anew.
            let said: Vec<FragmentId> = self.own.said.keys().copied().collect();
            self.own.contested.extend(said);
        }
        self.backoff.set_delays(new.delays);
        self.settings = new;
        self.changed(now);
        self.settle(now, out);
        Ok(())
    }

    /// Gives a circuit other settings; whether it is down now: neighbours must meet it anew. One
    /// that is not there is added.
    ///
    /// # Errors
    /// What is wrong with the settings; then nothing is changed.
    pub fn change_circuit(
        &mut self,
        now: Time,
        new: CircuitSettings,
        out: &mut Vec<Out>,
    ) -> Result<bool, BadSetting> {
        let index = new.index;
        let Some(circuit) = self.circuits.get(&index) else {
            return self.add_circuit(new).map(|()| true);
        };
        if circuit.settings == new {
            return Ok(!circuit.is_up);
        }
        self.settings.check_circuit(&new)?;
        let outlives = circuit.settings.outlives(&new);
        if !outlives {
            self.circuit_down(now, index, out);
        }
        let levels = self.settings.levels;
        if let Some(circuit) = self.circuits.get_mut(&index) {
            if outlives {
                circuit.settings = new;
                for state in circuit.levels.iter_mut().filter(|it| it.hello_at != Time::MAX) {
                    // What is new is told at once, a priority elected by.
                    (state.hello_at, state.is_undecided) = (now, true);
                }
            } else {
                let sids = core::mem::take(&mut circuit.sids);
                *circuit = Circuit { sids, ..Circuit::new(new, circuit.id, levels) };
            }
        }
        self.changed(now);
        self.settle(now, out);
        Ok(!outlives)
    }

    /// Takes a circuit away.
    pub fn remove_circuit(&mut self, now: Time, index: u32, out: &mut Vec<Out>) {
        self.circuit_down(now, index, out);
        if self.circuits.remove(&index).is_some() {
            self.changed(now);
            self.settle(now, out);
        }
    }

    /// The numbers of the circuits.
    pub fn circuits(&self) -> impl Iterator<Item = u32> {
        self.circuits.keys().copied()
    }

    /// What a circuit was told.
    #[must_use]
    pub fn settings_of(&self, circuit: u32) -> Option<&CircuitSettings> {
        self.circuits.get(&circuit).map(|it| &it.settings)
    }

    /// Whether a circuit carries PDUs, as far as we were told.
    #[must_use]
    pub fn is_up(&self, circuit: u32) -> bool {
        self.circuits.get(&circuit).is_some_and(|it| it.is_up)
    }

    /// A circuit's neighbours.
    pub fn neighbourhood(
        &self,
        circuit: u32,
        now: Time,
    ) -> impl Iterator<Item = Neighbouring> + use<'_> {
        let found = self.circuits.get(&circuit).map(|it| it.adjacencies.values());
        found.into_iter().flatten().map(move |it| Neighbouring {
            system: it.system,
            snpa: it.snpa,
            levels: it.levels,
            state: it.state,
            priority: it.priority,
            addresses: it.addresses.clone(),
            ipv6: it.ipv6.clone(),
            holds: it.hold_until.since(now),
            is_restarting: it.is_restarting,
            padded: it.padded,
        })
    }

    /// What came last by a circuit and was not believed, or is odd.
    #[must_use]
    pub fn doubted(&self, circuit: u32) -> Option<&Doubted> {
        self.circuits.get(&circuit)?.doubted.as_ref()
    }

    /// The route to a prefix.
    #[must_use]
    pub fn route(&self, prefix: Prefix) -> Option<&Route> {
        self.routes.get(&prefix)
    }

    /// LSPs of a level's database, those that are said to be gone among them.
    #[must_use]
    pub fn lsps(&self, level: Level) -> usize {
        self.data(level).lsdb.len()
    }

    /// When the next run of SPF is due, while one waits.
    #[must_use]
    pub const fn spf_due(&self) -> Option<Time> {
        self.backoff.due()
    }

    /// Its own settings.
    #[must_use]
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }
}
