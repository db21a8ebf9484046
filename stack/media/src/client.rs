//! The client: descriptions in, descriptions out; media controllers beside.

mod calls;
mod input;

use crate::config::{Gone, Media};
use crate::connection::{Own, Target};
use crate::controller::{Controller, own};
use crate::leases::{Leases, Sizes};
use crate::metrics::MediaMetric;
use crate::realm::{RealmMedia, RealmPolicy};
use crate::session::Anchored;
use anchor::row::Event;
use anchor::{Protection, Reason, Side};
use event::Metrics;
use machine::slots::{Key, Slots};
use machine::{Duration, Time};
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{RngCore as _, SeedableRng as _};
use runtime::{Effects, Flow, PortId};

/// Media controllers are spoken to this often.
const BEAT: Duration = Duration::from_secs(1);
/// Calls of a media controller that is gone that are told to move at once, and how often.
const LEAVING_AT_ONCE: u32 = 64;
const LEAVING_EVERY: Duration = Duration::from_millis(20);

/// What a function's section says of its media.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Name of the function.
    pub name: String,
    /// The media controllers.
    pub media: Media,
    /// Each realm: its name and what it says of media.
    pub realms: Vec<(String, Option<RealmMedia>)>,
    /// The port of the first media controller; the others follow.
    pub first_port: PortId,
    /// Calls at most.
    pub calls_max: u32,
}

/// What a media controller makes its function do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// Something happened to a stream of a call.
    Stream {
        /// The call.
        owner: Key,
        /// The stream.
        line: u8,
        /// The end.
        end: Side,
        /// What.
        event: Event,
        /// Whether the media controller has written it to the service assurance.
        is_traced: bool,
    },
    /// The media controller of a call is gone, or the call's ports are: see [`Client::relocate`].
    Gone {
        /// The call.
        owner: Key,
    },
    /// The media controller of a call began anew and does not know how far its keys were used: its
    /// protected streams are gone until others are agreed on by a re-INVITE on each leg.
    Renew {
        /// The call.
        owner: Key,
    },
}

/// What the media of a call cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Demand {
    /// Sides whose media are protected.
    pub protected: u16,
    /// Whether some may be transcoded.
    pub is_transcoded: bool,
}

/// What becomes of the body of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It stays as it is.
    Same,
    /// The message goes without.
    Without,
    /// [`Client::body`] stands in its place.
    Instead,
}

/// A description that was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused {
    /// Status of a response.
    pub status: u16,
    /// Words for a person.
    pub words: &'static str,
}

impl From<anchor::Refusal> for Refused {
    fn from(refusal: anchor::Refusal) -> Self {
        Self { status: refusal.status(), words: refusal.words() }
    }
}

impl Refused {
    /// No media controller has a free port.
    pub const ROOM: Self = Self { status: Reason::Room.status(), words: Reason::Room.name() };
    /// No media controller answers, so that nobody knows of ports.
    pub const AWAY: Self =
        Self { status: Reason::Room.status(), words: "no media controller answers" };
    /// A description would pass beside the one that is taken.
    pub(crate) const BESIDE: Self = Self {
        status: Reason::Description.status(),
        words: "a description stands where none is taken",
    };
    /// What describes the session cannot be read here.
    pub(crate) const UNREADABLE: Self =
        Self { status: Reason::Description.status(), words: "the description cannot be read" };
}

/// The client of media controllers of one shard.
pub struct Client {
    pub(crate) own: Own,
    pub(crate) settings: Settings,
    pub(crate) shard: u16,
    shards: u16,
    realms: Vec<RealmPolicy>,
    /// By number: the groups of addresses, which keep their numbers.
    pub(crate) groups: Vec<Box<str>>,
    /// By realm: its group.
    groups_of: Vec<u16>,
    pub(crate) controllers: Vec<Controller>,
    pub(crate) sessions: Slots<Anchored>,
    /// What happened since it was asked for last.
    pub notices: Vec<Notice>,
    /// A body as it goes on.
    body: Vec<u8>,
    random: ChaCha12Rng,
    beat_at: Time,
    leave_at: Time,
    /// Calls that need new keys.
    renewing: Vec<Key>,
    /// Whether this node serves.
    pub(crate) is_active: bool,
    /// Room for a record.
    pub(crate) scratch: Vec<u8>,
    /// Whether the standby knows our epoch.
    pub(crate) is_epoch_told: bool,
    /// What is counted.
    pub metrics: Metrics<MediaMetric>,
}

impl Client {
    /// A client without calls, of one shard of several; `random` is the secret that it draws from.
    #[must_use]
    pub fn new(settings: Settings, random: [u8; 32], shard: (u16, u16), now: Time) -> Self {
        let mut random = ChaCha12Rng::from_seed(random);
        let (shard, shards) = shard;
        let epoch = random.next_u64();
        let mut client = Self {
            own: own(&settings.name, shard, shards, epoch),
            sessions: Slots::new(settings.calls_max, now),
            settings: settings.clone(),
            shard,
            shards,
            realms: Vec::new(),
            groups: Vec::new(),
            groups_of: Vec::new(),
            controllers: Vec::new(),
            notices: Vec::new(),
            body: Vec::new(),
            random,
            beat_at: now + BEAT,
            leave_at: Time::MAX,
            renewing: Vec::new(),
            is_active: true,
            scratch: Vec::new(),
            is_epoch_told: false,
            metrics: Metrics::new(),
        };
        client.configure(now, settings, &mut Effects::default());
        client
    }

    /// Takes another configuration. Calls keep their media controller as long as it is there.
    pub fn configure(&mut self, now: Time, settings: Settings, out: &mut Effects) {
        let realms = settings.realms.iter();
        self.realms = realms.map(|(name, media)| RealmPolicy::of(name, media.as_ref())).collect();
        self.groups_of.clear();
        let is_any = self.realms.iter().any(|realm| realm.anchor);
        for realm in self.realms.iter().filter(|_| is_any) {
            let at = self.groups.iter().position(|group| *group == realm.group);
            let at = at.unwrap_or_else(|| {
                self.groups.push(realm.group.clone());
                self.groups.len() - 1
            });
            self.groups_of.push(machine::narrow::index(at));
        }
        self.groups_of.resize(self.realms.len(), 0);
        self.sessions.set_max(settings.calls_max);
        self.own = own(&settings.name, self.shard, self.shards, self.own.epoch);
        self.settings = settings;
        self.configure_controllers(now, out);
        self.leave_at = now; // calls of those that are not there any more
    }

    fn configure_controllers(&mut self, now: Time, out: &mut Effects) {
        let sizes = self.sizes();
        for controller in &mut self.controllers {
            let is_there =
                self.settings.media.controller.iter().any(|it| *it.name == *controller.name);
            if !is_there && !controller.is_removed {
                controller.is_removed = true;
                controller.connection.hang_up(Time::MAX, out);
                controller.lost(now);
            }
        }
        for (at, config) in self.settings.media.controller.iter().enumerate() {
            let target = Target {
                port: PortId(self.settings.first_port.0 + machine::narrow::index(at)),
                transport: config.transport(),
                addresses: config.addresses().collect(),
                keys: config.keys.clone(),
            };
            match self.controllers.iter_mut().find(|it| *it.name == *config.name) {
                Some(controller) => {
                    let was_removed = controller.is_removed;
                    controller.configure(now, target, &self.groups, sizes, out);
                    if was_removed && self.is_active {
                        controller.connection.hang_up(now, out);
                    }
                }
                None => {
                    let leases = Leases::new(&self.groups, sizes);
                    let mut controller = Controller::new(&config.name, target, leases, now);
                    if !self.is_active {
                        controller.connection.hang_up(Time::MAX, out);
                    }
                    self.controllers.push(controller);
                }
            }
        }
    }

    fn sizes(&self) -> Sizes {
        let media = &self.settings.media;
        let (pairs_min, pairs_max) = (media.pairs_min, media.pairs_max);
        Sizes { pairs_min, pairs_max, quarantine: media.quarantine() }
    }

    /// Whether no call is anchored, and none will be: what bypass costs.
    #[must_use]
    #[inline]
    pub const fn is_unused(&self) -> bool {
        self.controllers.is_empty()
    }

    /// Whether a call between these realms is anchored.
    #[must_use]
    #[inline]
    pub fn anchors(&self, realms: [u16; 2]) -> bool {
        !self.controllers.is_empty() && realms.iter().any(|realm| self.wants(*realm))
    }

    fn wants(&self, realm: u16) -> bool {
        self.realms.get(usize::from(realm)).is_some_and(|realm| realm.anchor)
    }

    /// What the media of a call cost whose INVITE has this body.
    #[must_use]
    pub fn demand(&self, realms: [u16; 2], body: &[u8]) -> Demand {
        let finds = |text: &[u8]| memchr::memmem::find(body, text).is_some();
        let is_offered = finds(b"/SAVP") || finds(b"\na=crypto:");
        let sides = realms.into_iter().filter_map(|realm| self.realm(realm));
        let mut demand = Demand::default();
        for RealmPolicy { policy, .. } in sides {
            demand.protected += u16::from(match policy.srtp.protection {
                Protection::Off | Protection::EndToEnd => false,
                Protection::Optional => is_offered,
                Protection::Required => true,
            });
            demand.is_transcoded |= !policy.codecs.transcode.is_empty();
        }
        demand
    }

    /// What a realm wants.
    #[must_use]
    pub fn realm(&self, realm: u16) -> Option<&RealmPolicy> {
        self.realms.get(usize::from(realm))
    }

    /// Whether a call ends when one of its streams is without packets.
    #[must_use]
    pub const fn ends_on_timeout(&self) -> bool {
        self.settings.media.timeout_ends_call
    }

    /// Whether calls are moved whose media controller is gone; else they end.
    #[must_use]
    pub fn moves(&self) -> bool {
        self.settings.media.gone == Gone::Move
    }

    /// The body in place of that of the message that was looked at last.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Whether a flow leads to a media controller.
    #[must_use]
    pub fn owns(&self, flow: &Flow) -> bool {
        self.controllers.iter().any(|controller| controller.connection.owns(flow))
    }

    /// Calls that have media here.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.sessions.len()
    }

    /// The calls.
    pub fn calls(&self) -> impl Iterator<Item = Key> {
        self.sessions.iter().map(|(key, _)| key)
    }

    /// Whether no call has media here.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.sessions.is_empty()
    }
}
