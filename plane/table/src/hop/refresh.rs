//! What the writer does when a hop changes: the ways out of it are found anew, its line or its
//! buckets are published, and then all that stands on it is looked at.

use super::buckets::{self, Share};
use super::{
    Entry, Head, Hop, HopError, Hops, Kind, Line, MEMBERS_MAX, Member, NESTING_MAX, NO_MEMBER,
    Pair, Push, REWRITE_MAX, WAYS_MAX, below, size_of_buckets,
};
use crate::memory::{LINE_BYTES, LINE_WORDS};
use machine::narrow::index;
use std::sync::atomic::Ordering;

/// The weight of a hop that is no group.
const ONE: u64 = 1 << 16;

/// How much a hop asks of those that stand on it.
#[derive(Clone, Copy, Default)]
struct Extent {
    /// Hops on the longest way down, itself too.
    height: usize,
    /// Ways out.
    ways: usize,
    /// Octets of the longest rewrite.
    rewrite: usize,
}

/// A hop that is to become another one.
#[derive(Clone, Copy)]
struct Renewed<'a> {
    number: u32,
    hop: &'a Hop,
}

impl Hops {
    /// Whether the hop can be as it should, and those that stand on it as they are.
    pub(super) fn check(&self, number: Option<u32>, hop: &Hop) -> Result<(), HopError> {
        if let Some(number) = number
            && self.entry(number)?.is_hidden
        {
            return Err(HopError::Unknown);
        }
        for below in below(hop) {
            if self.entry(below)?.is_hidden {
                return Err(HopError::Unknown);
            }
            if Some(below) == number {
                return Err(HopError::Nesting);
            }
        }
        if let Hop::Group(members) = hop
            && members.len() > MEMBERS_MAX
        {
            return Err(HopError::Members);
        }
        let extent = self.extent(hop, number.map(|number| Renewed { number, hop }), 0)?;
        let Some(number) = number else { return Ok(()) };
        let before = self.extent(&self.entry(number)?.hop, None, 0)?;
        let is_more = extent.height > before.height
            || extent.ways > before.ways
            || extent.rewrite > before.rewrite;
        if is_more { self.check_users(number, Renewed { number, hop }, 0) } else { Ok(()) }
    }

    fn check_users(&self, of: u32, new: Renewed<'_>, depth: usize) -> Result<(), HopError> {
        if depth > NESTING_MAX {
            return Err(HopError::Nesting);
        }
        for user in &self.entry(of)?.users {
            self.extent(&self.entry(*user)?.hop, Some(new), 0)?;
            self.check_users(*user, new, depth + 1)?;
        }
        Ok(())
    }

    /// The extent of a hop where `new` stands for what the hop of that number is now.
    fn extent(
        &self,
        hop: &Hop,
        new: Option<Renewed<'_>>,
        depth: usize,
    ) -> Result<Extent, HopError> {
        if depth > NESTING_MAX {
            return Err(HopError::Nesting);
        }
        let mut extent = Extent::default();
        for below in below(hop) {
            let hop = match new.filter(|it| it.number == below) {
                Some(new) => new.hop,
                None => &self.entry(below)?.hop,
            };
            let one = self.extent(hop, new, depth + 1)?;
            extent.height = extent.height.max(one.height);
            extent.ways += one.ways;
            extent.rewrite = extent.rewrite.max(one.rewrite);
        }
        extent.height += 1;
        match hop {
            Hop::Line(line) => {
                extent.ways = 1;
                extent.rewrite = line.rewrite_len();
            }
            Hop::Push(push) => extent.rewrite += push.octets.len(),
            Hop::Group(_) | Hop::Backup { .. } => {}
        }
        match extent {
            Extent { height, .. } if height > NESTING_MAX + 1 => Err(HopError::Nesting),
            Extent { ways, .. } if ways > WAYS_MAX => Err(HopError::Members),
            Extent { rewrite, .. } if rewrite > REWRITE_MAX => Err(HopError::Rewrite),
            _ => Ok(extent),
        }
    }

    /// Publishes a hop anew if anything of it changed, and then what stands on it.
    pub(super) fn refresh(&mut self, number: u32) -> Result<(), HopError> {
        let mut unused = Vec::new();
        let shares = self.shares(number, &mut unused)?;
        let pair = self.pair(number)?;
        let line = if pair.is_some() { None } else { self.line(number, &shares) };
        let entry = self.entry(number)?;
        let is_published = entry.line.is_some() || entry.buckets.is_some() || entry.pair.is_some();
        let is_same = entry.shares == shares
            && entry.line.map(|(_, line)| line) == line
            && entry.pair.map(|(_, pair)| pair) == pair;
        if !(is_published && is_same) {
            self.written += 1;
            match (pair, line) {
                (Some(pair), _) => self.publish_pair(number, pair)?,
                (None, Some(line)) => self.publish_line(number, line)?,
                (None, None) => self.publish_buckets(number, &shares)?,
            }
            let entry = self.entry_mut(number);
            entry.shares = shares;
            for user in entry.users.clone() {
                // A push over one of several ways goes when its way does.
                if self.entry(user).is_ok() {
                    self.refresh(user)?;
                }
            }
        }
        unused.into_iter().for_each(|hidden| self.forget(hidden));
        Ok(())
    }

    /// The ways out of a hop. `unused` are pushes that are no longer among them.
    fn shares(&mut self, number: u32, unused: &mut Vec<u32>) -> Result<Vec<Share>, HopError> {
        let Entry { hop, is_up, .. } = self.entry(number)?;
        let is_up = *is_up;
        if !matches!(hop, Hop::Push(_)) {
            // What was a push before it was changed.
            let pushes = std::mem::take(&mut self.entry_mut(number).pushes);
            unused.extend(pushes.into_iter().map(|(_, hidden)| hidden));
        }
        let mut shares = match &self.entry(number)?.hop {
            Hop::Line(_) => {
                let guard = self.entry(number)?.guard;
                vec![Share { hop: number, weight: ONE, is_up, guard }]
            }
            Hop::Group(members) => self.group(members)?,
            Hop::Backup { primary, backup } => {
                let primary = &self.entry(*primary)?.shares;
                let is_up = primary.iter().any(|share| share.is_up);
                if is_up { primary.clone() } else { self.entry(*backup)?.shares.clone() }
            }
            Hop::Push(push) => {
                let push = push.clone();
                self.pushes(number, &push, unused)?
            }
        };
        shares.iter_mut().for_each(|share| share.is_up &= is_up);
        Ok(shares)
    }

    fn group(&self, members: &[Member]) -> Result<Vec<Share>, HopError> {
        let mut all: Vec<Share> = Vec::new();
        for member in members {
            let shares = &self.entry(member.hop)?.shares;
            let up: u64 = shares.iter().filter(|share| share.is_up).map(|share| share.weight).sum();
            for share in shares {
                // A group within the group keeps its part when one of its own is lost.
                let part = if share.is_up { share.weight * ONE / up.max(1) } else { ONE };
                let weight = part * u64::from(member.weight);
                match all.iter_mut().find(|one| one.hop == share.hop) {
                    Some(one) => one.weight += weight,
                    None => all.push(Share { weight, ..*share }),
                }
            }
        }
        Ok(all)
    }

    /// A push over one way is a way itself; over several, one is made for each.
    fn pushes(
        &mut self,
        number: u32,
        push: &Push,
        unused: &mut Vec<u32>,
    ) -> Result<Vec<Share>, HopError> {
        let before = std::mem::take(&mut self.entry_mut(number).pushes);
        if let Some(way) = self.carrier(push) {
            unused.extend(before.iter().map(|(_, hidden)| *hidden));
            return Ok(vec![Share { hop: number, weight: ONE, ..way }]);
        }
        let ways = self.entry(push.over)?.shares.clone();
        let (mut shares, mut pushes) = (Vec::new(), Vec::<(u32, u32)>::new());
        for way in &ways {
            let one = Hop::Push(Push { over: way.hop, ..push.clone() });
            let known = before.iter().find(|(over, hidden)| {
                let entry = self.entry(*hidden);
                *over == way.hop && entry.is_ok_and(|entry| entry.hop == one)
            });
            let hidden = match known {
                Some((_, hidden)) => *hidden,
                None => match self.put(one, true) {
                    Ok(hidden) => hidden,
                    Err(error) => {
                        let other = before.iter().filter(|one| !pushes.contains(one));
                        let other: Vec<_> = other.copied().collect();
                        pushes.extend(other);
                        self.entry_mut(number).pushes = pushes;
                        return Err(error);
                    }
                },
            };
            pushes.push((way.hop, hidden));
            shares.push(Share { hop: hidden, ..*way });
        }
        let dropped = before.iter().filter(|one| !pushes.contains(one));
        unused.extend(dropped.map(|(_, hidden)| *hidden));
        self.entry_mut(number).pushes = pushes;
        Ok(shares)
    }

    /// The two hops of a pair of which a guard decides: its primary has one way, which is up and
    /// has a guard, and its backup is up.
    fn pair(&self, number: u32) -> Result<Option<Pair>, HopError> {
        let Hop::Backup { primary, backup } = self.entry(number)?.hop else { return Ok(None) };
        let guard = match self.entry(primary)?.shares[..] {
            [way] if way.is_up => way.guard,
            _ => 0,
        };
        let has_backup = self.entry(backup)?.shares.iter().any(|share| share.is_up);
        let is_up = self.entry(number)?.is_up;
        let is_one = guard != 0 && has_backup && is_up;
        Ok(is_one.then_some([primary, backup, guard.into()]))
    }

    /// The line of a hop that has one way out; `None` for those that have buckets.
    fn line(&self, number: u32, shares: &[Share]) -> Option<Line> {
        match &self.entry(number).ok()?.hop {
            Hop::Line(line) => Some(Line { hop: number, ..*line }),
            Hop::Push(push) => {
                let carrier = self.entry(self.carrier(push)?.hop).ok()?;
                Some(pushed(push, carrier.line?.1, &carrier.hop, number))
            }
            Hop::Group(_) | Hop::Backup { .. } => match shares {
                [way] if way.is_up => self.entry(way.hop).ok()?.line.map(|(_, line)| line),
                _ => None,
            },
        }
    }

    /// The one way that a push has, if what it goes over has a line and no buckets.
    fn carrier(&self, push: &Push) -> Option<Share> {
        let over = self.entry(push.over).ok()?;
        match over.shares[..] {
            [way] if over.line.is_some() || over.pair.is_some() => Some(way),
            _ => None,
        }
    }

    fn publish_line(&mut self, number: u32, line: Line) -> Result<(), HopError> {
        let at = self.lines.take(0)?;
        let target = self.lines.region().base().wrapping_add(at as usize * LINE_BYTES);
        // SAFETY: the line was just taken: it lies in the region, and no reader can find it.
        unsafe { target.cast::<Line>().write(line) };
        self.lookups.heads.word(number as usize).store(Head::line(at).0, Ordering::Release);
        self.retire(number);
        self.entry_mut(number).line = Some((at, line));
        Ok(())
    }

    fn publish_pair(&mut self, number: u32, pair: Pair) -> Result<(), HopError> {
        let at = self.lines.take(0)?;
        for (word, value) in pair.iter().enumerate() {
            let word = at as usize * LINE_WORDS + word;
            self.lookups.lines.word(word).store(*value, Ordering::Relaxed);
        }
        self.lookups.heads.word(number as usize).store(Head::pair(at).0, Ordering::Release);
        self.retire(number);
        self.entry_mut(number).pair = Some((at, pair));
        Ok(())
    }

    /// What a hop led to goes once no reader can hold it.
    fn retire(&mut self, number: u32) {
        let entry = self.entries[number as usize].as_deref_mut().expect("it is refreshed");
        let (line, pair) = (entry.line.take().map(|it| it.0), entry.pair.take().map(|it| it.0));
        line.into_iter().chain(pair).for_each(|old| self.lines.retire(old, 0));
        if let Some((old, buckets)) = entry.buckets.take() {
            self.lines.retire(old, size_of_buckets(&buckets));
        }
    }

    fn publish_buckets(&mut self, number: u32, shares: &[Share]) -> Result<(), HopError> {
        let entry = self.entries[number as usize].as_deref_mut().expect("it is refreshed");
        let mut new = entry.buckets.as_ref().map(|(_, old)| old.clone()).unwrap_or_default();
        let wanted = buckets::buckets_for(shares.len()).max(new.len());
        buckets::grow(&mut new, wanted);
        buckets::assign(&mut new, shares, NO_MEMBER);
        if let Some((at, old)) = &mut entry.buckets
            && old.len() == new.len()
        {
            let first = *at as usize * LINE_WORDS;
            for (word, (old, new)) in old.iter().zip(&new).enumerate() {
                if old != new {
                    self.lookups.lines.word(first + word).store(*new, Ordering::Release);
                }
            }
            *old = new;
            return Ok(());
        }
        let at = self.lines.take(size_of_buckets(&new))?;
        for (word, hop) in new.iter().enumerate() {
            let word = at as usize * LINE_WORDS + word;
            self.lookups.lines.word(word).store(*hop, Ordering::Relaxed);
        }
        let head = Head::group(at, new.len());
        self.lookups.heads.word(number as usize).store(head.0, Ordering::Release);
        self.retire(number);
        self.entry_mut(number).buckets = Some((at, new));
        Ok(())
    }
}

/// What the carrier's line becomes with a push over it.
fn pushed(push: &Push, carrier: Line, hop: &Hop, number: u32) -> Line {
    let line = Line { hop: number, counter: push.counter, ..carrier };
    if carrier.kind != Kind::Rewrite {
        return line;
    }
    let mut octets = carrier.rewrite().to_vec();
    let is_bare = match hop {
        Hop::Line(_) => true,
        Hop::Push(below) => below.octets.is_empty(),
        Hop::Group(_) | Hop::Backup { .. } => false,
    };
    if let (Some(ether_type), true, 2..) = (push.ether_type, is_bare, octets.len()) {
        let end = octets.len() - 2;
        octets[end..].copy_from_slice(&ether_type.to_be_bytes());
    }
    octets.extend_from_slice(&push.octets);
    let mtu_bytes = match carrier.mtu_bytes {
        0 => 0,
        mtu => mtu.saturating_sub(index(push.octets.len())).max(1),
    };
    let next = push.next.unwrap_or(carrier.next);
    // Checked before the hop was taken: the octets are no more than a line has.
    let line = Line { mtu_bytes, next, ..line };
    line.with_rewrite(&octets).unwrap_or(Line { kind: Kind::Drop, ..line })
}
