//! What happens to the clients of a reflector in turn: a table is fed, a route changes while a
//! newcomer gets all, a client reads nothing for a while, all is withdrawn.

use crate::clients::{Clients, Convergence, Error};
use crate::digest::Sum;
use crate::evpn::Evpn;
use crate::table::{Feed, Origin, Table};
use bgp::codec::Identifier;
use std::time::Duration;

/// Time for each part: slow reflectors need it.
const PART_MAX: Duration = Duration::from_secs(900);
/// Time for all memberships to be known (RFC 4684).
const SETTLE: Duration = Duration::from_secs(2);
/// LOCAL_PREF is so much higher when the table comes again, when it does while a client stalls, and
/// for the one route that changes.
const AGAIN: u32 = 1;
const STALLED: u32 = 2;
const CHANGED: u32 = 3;

/// A table for clients `0..clients`; the next one feeds it, the one behind that comes late.
#[derive(Debug, Clone, Copy)]
pub struct Course<'a> {
    table: &'a Table,
    clients: usize,
    origin: Origin,
}

/// How one route changed for all.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// From its first octet to the last client.
    pub seconds: f64,
    /// The newcomer had not got the table by then.
    pub is_meanwhile: bool,
}

impl<'a> Course<'a> {
    /// One for a field of `clients + 2`.
    #[must_use]
    pub const fn new(table: &'a Table, clients: usize, cluster: Identifier) -> Self {
        Self { table, clients, origin: Origin { client: clients, cluster } }
    }

    const fn newcomer(&self) -> usize {
        self.clients + 1
    }

    fn expect(&self, field: &mut Clients, sum: Sum) {
        (0..self.clients).for_each(|client| field.expect(client, Some(sum)));
    }

    /// What is fed first; all clients but the newcomer are connected.
    #[must_use]
    pub fn prepare(&self, field: &mut Clients) -> Feed {
        field.keys().reserve(self.table.len());
        self.table.announce(&self.origin, 0, field.keys())
    }

    /// Feeds it.
    ///
    /// # Errors
    /// When clients do not hold what they must; so in all parts.
    pub fn feed(&self, field: &mut Clients, feed: &Feed) -> Result<Convergence, Error> {
        self.expect(field, feed.sum);
        field.feed(self.origin.client, feed);
        field.converge(PART_MAX)
    }

    /// One route changes while a newcomer gets the table.
    ///
    /// # Errors
    /// As [`Course::feed`].
    pub fn change(&self, field: &mut Clients) -> Result<Change, Error> {
        let one = |revision, field: &mut Clients| {
            self.table.announce_one(0, &self.origin, revision, field.keys())
        };
        let (old, new) = (one(0, field), one(CHANGED, field));
        let all = self.table.announce(&self.origin, 0, field.keys()).sum;
        let all = all.without(old.sum).and(new.sum);
        field.expect(self.newcomer(), Some(all));
        field.connect(self.newcomer()..self.newcomer() + 1, PART_MAX)?;
        let seconds = field.change(self.origin.client, &new, 0..self.clients, PART_MAX)?;
        let is_meanwhile = !field.holds(self.newcomer());
        self.expect(field, all);
        field.converge(PART_MAX)?;
        Ok(Change { seconds, is_meanwhile })
    }

    /// The table again, without and with a client that reads nothing, which then reads again; how
    /// long the others needed, in seconds.
    ///
    /// # Errors
    /// As [`Course::feed`].
    pub fn stalled(&self, field: &mut Clients) -> Result<[f64; 2], Error> {
        let mut seconds = [0.0; 2];
        for (at, revision) in [AGAIN, STALLED].into_iter().enumerate() {
            let feed = self.table.announce(&self.origin, revision, field.keys());
            self.expect(field, feed.sum);
            field.expect(self.newcomer(), Some(feed.sum));
            field.pause(0, at == 1)?;
            field.feed(self.origin.client, &feed);
            seconds[at] = field.converge(PART_MAX)?.seconds;
        }
        field.pause(0, false)?;
        field.converge(PART_MAX)?;
        Ok(seconds)
    }

    /// All is withdrawn.
    ///
    /// # Errors
    /// As [`Course::feed`].
    pub fn withdraw(&self, field: &mut Clients) -> Result<Convergence, Error> {
        field.expect(self.newcomer(), Some(Sum::default()));
        self.feed(field, &self.table.withdraw())
    }
}

impl Evpn {
    /// What each client feeds, and each is to hold what the others do: with route-target constraint
    /// of its own instances only, whose memberships are fed at once.
    ///
    /// # Errors
    /// When a session ends.
    pub fn prepare(&self, field: &mut Clients, is_constrained: bool) -> Result<Vec<Feed>, Error> {
        field.keys().reserve(self.macs + self.evis * self.sites);
        let (mut feeds, mut places) = (Vec::with_capacity(self.clients), Vec::new());
        for client in 0..self.clients {
            let mut of_client = Vec::new();
            feeds.push(self.announce(client, field.keys(), &mut of_client));
            places.push(of_client);
        }
        let mut by_evi = vec![Sum::default(); self.evis];
        for (evi, sum) in places.iter().flatten() {
            by_evi[*evi] = by_evi[*evi].and(*sum);
        }
        let total = by_evi.iter().fold(Sum::default(), |all, sum| all.and(*sum));
        if is_constrained {
            for client in 0..self.clients {
                field.feed(client, &self.memberships(client));
            }
            field.run(SETTLE)?;
        }
        for (client, feed) in feeds.iter().enumerate() {
            let of_own = places[client].iter().map(|(evi, _)| by_evi[*evi]);
            let own = of_own.fold(Sum::default(), Sum::and);
            let wanted = if is_constrained { own } else { total };
            field.expect(client, Some(wanted.without(feed.sum)));
        }
        Ok(feeds)
    }

    /// All feed at once.
    ///
    /// # Errors
    /// As [`Course::feed`].
    pub fn feed(field: &mut Clients, feeds: &[Feed]) -> Result<Convergence, Error> {
        feeds.iter().enumerate().for_each(|(client, feed)| field.feed(client, feed));
        field.converge(PART_MAX)
    }
}
