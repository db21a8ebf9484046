//! What the management side may see: no keys.

use crate::access::Access;
use crate::named;
use ipsec::{Lane, Way};
use machine::{Duration, Time};
use question::Condition;
use runtime::PortId;
use schemars::JsonSchema;
use serde::Serialize;

/// How long a challenge without keys is an alarm.
const KEYLESS: Duration = Duration::from_secs(300);
/// Of ten agreements or registrations under way that may be so many are an alarm.
const SCARCE_TENTHS: u64 = 9;

/// A security agreement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct IpsecRow {
    /// The private identity.
    pub impi: String,
    /// The realm.
    pub realm: String,
    /// `offered`, `challenged`, `answered`, `current`, `old` or `ending`.
    pub state: &'static str,
    /// The phone as its messages show it: its address and protected server port.
    pub ue: String,
    /// Where its packets come from, if a NAT stands between.
    pub outside: Option<String>,
    /// Integrity and encryption algorithm.
    pub algorithms: Option<String>,
    /// Protected ports of the phone: client, server.
    pub ue_ports: Option<[u16; 2]>,
    /// Ours: client, server.
    pub own_ports: Option<[u16; 2]>,
    /// Indices by which packets come.
    pub spi_in: Vec<u32>,
    /// Indices by which packets leave.
    pub spi_out: Vec<u32>,
    /// Packets that came and that left.
    pub packets_in: u64,
    /// Packets that left.
    pub packets_out: u64,
    /// Packets that came before or too late.
    pub replayed: u64,
    /// Packets with a wrong ICV.
    pub forged: u64,
    /// Microseconds of the function's clock at which it ends.
    pub expires_at_us: u64,
    /// Octets of its associations, and of the connections of TCP inside of them.
    pub octets: u64,
}

/// What a shard counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct IpsecShardRow {
    /// Registrations under way.
    pub under_way: u64,
    /// Agreements that stand.
    pub standing: u64,
}

/// Why an attach failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ExplainRow {
    /// The private identity, as the phone said.
    pub impi: String,
    /// Where it came from.
    pub source: String,
    /// Seconds ago.
    pub ago_s: u64,
    /// In words, with the section.
    pub why: String,
}

fn text(octets: &[u8]) -> String {
    String::from_utf8_lossy(octets).into_owned()
}

impl Access {
    /// The ports of whose messages captures name the associations.
    pub fn named_ports(&self) -> impl Iterator<Item = PortId> + '_ {
        let all = self.rows.iter().flat_map(|row| &row.realm.listeners);
        all.filter(|it| it.is_protected && it.is_known).map(|it| it.port)
    }

    /// Appends the name of the associations by which the message came that is dealt with, or by
    /// which it was judged.
    pub fn write_arrived_by(&self, out: &mut Vec<u8>) {
        if let Some(set) = self.came.or(self.named.judged).and_then(|key| self.table.at(key)) {
            named::write(set, out);
        }
    }

    /// Appends that of those by which the last message of [`Access::leaving`] has left.
    pub fn write_left_by(&self, out: &mut Vec<u8>) {
        if let Some(set) = self.named.left.and_then(|key| self.table.at(key)) {
            named::write(set, out);
        }
    }

    /// A row for each agreement, at most `limit`; of one private identity where one is named, for
    /// which the others are not looked at.
    #[must_use]
    pub fn show(&self, impi: Option<&str>, limit: usize) -> Vec<IpsecRow> {
        let row = |set: &crate::set::Set| {
            let associations = set.associations().and_then(|key| self.esp.show(key));
            let counted = associations.as_ref();
            let streams = set.associations().map_or(0, |set| {
                let lanes = [Lane::First, Lane::Second].into_iter();
                lanes.map(|lane| self.streams.size(Way { set, lane })).sum::<usize>()
            });
            let indices = |of: fn(&ipsec::SetRow) -> [Option<u32>; 2]| {
                counted.map(|it| of(it).into_iter().flatten().collect()).unwrap_or_default()
            };
            let choice = set.choice;
            IpsecRow {
                impi: text(&set.impi),
                realm: self.rows.get(set.realm).map(|it| it.realm.name.clone()).unwrap_or_default(),
                state: set.stage.word(),
                ue: set.identity.remote.to_string(),
                outside: counted.filter(|_| set.is_behind_nat).map(|it| it.path.remote.to_string()),
                algorithms: choice.map(|it| format!("{}/{}", it.pair.0.name(), it.pair.1.name())),
                ue_ports: choice.map(|it| [it.of.port_c, it.of.port_s]),
                own_ports: set.own().map(|own| [own.port_c, own.port_s]),
                spi_in: indices(|it| it.spi_in),
                spi_out: indices(|it| it.spi_out),
                packets_in: counted.map_or(0, |it| it.came.0),
                packets_out: counted.map_or(0, |it| it.left.0),
                replayed: counted.map_or(0, |it| it.failed.replayed),
                forged: counted.map_or(0, |it| it.failed.forged),
                expires_at_us: set.expires.as_micros(),
                octets: counted.map_or(0, |it| it.octets + streams) as u64,
            }
        };
        match impi {
            Some(impi) => self.table.naming(impi.as_bytes()).take(limit).map(row).collect(),
            None => self.table.iter().take(limit).map(|(_, set)| row(set)).collect(),
        }
    }

    /// Why attaches failed of late, the newest first; of one private identity where one is named.
    #[must_use]
    pub fn explain(&self, now: Time, impi: Option<&str>, limit: usize) -> Vec<ExplainRow> {
        let wanted =
            self.failures.iter().filter(|it| impi.is_none_or(|impi| *it.impi == *impi.as_bytes()));
        let row = |it: &crate::explain::Failure| ExplainRow {
            impi: text(&it.impi),
            source: it.source.to_string(),
            ago_s: now.since(it.at).as_secs(),
            why: it.why.clone(),
        };
        wanted.take(limit).map(row).collect()
    }

    /// The conditions that stand.
    #[must_use]
    pub fn alarms(&self, now: Time) -> Vec<Condition> {
        let mut alarms = Vec::new();
        if self.keyless.is_some_and(|at| now.since(at) < KEYLESS) {
            let text = "the core challenges phones without ck and ik: none of them can attach";
            let row = Condition::new("ims-challenge-without-keys", "core", "major", text.into());
            alarms.push(row.caused_by("configuration-or-customization-error"));
        }
        if self.pair.lacks_some {
            let text = "this standby could not take all agreements of the other node: after a \
                takeover their phones register anew";
            let row = Condition::new("ims-standby-incomplete", "pair", "major", text.into());
            alarms.push(row.caused_by("configuration-or-customization-error"));
        }
        let sections = self.rows.iter().map(|row| &row.realm.section);
        let (sets, under_way) = sections.fold((0_u64, 0_u64), |most, it| {
            (most.0.max(it.sets_max.into()), most.1.max(it.under_way_max.into()))
        });
        let is_scarce =
            |used: usize, most: u64| most > 0 && used as u64 * 10 >= most * SCARCE_TENTHS;
        if is_scarce(self.esp.len(), sets) {
            let text = format!("{} of {sets} sets of associations are in use", self.esp.len());
            let row = Condition::new("ims-agreements-scarce", "sets_max", "major", text);
            alarms.push(row.caused_by("resource-at-or-nearing-capacity"));
        }
        let count = self.table.counts().0;
        if is_scarce(count, under_way) {
            let text = format!("{count} registrations of {under_way} are under way");
            let row = Condition::new("ims-registrations-scarce", "under_way_max", "minor", text);
            alarms.push(row.caused_by("resource-at-or-nearing-capacity"));
        }
        self.reg_event_alarms(now, &mut alarms);
        self.key_log.alarms(&self.rows, &mut alarms);
        alarms
    }

    /// What is counted.
    #[must_use]
    pub fn show_shard(&self) -> IpsecShardRow {
        let (under_way, standing) = self.table.counts();
        IpsecShardRow { under_way: under_way as u64, standing: standing as u64 }
    }
}
