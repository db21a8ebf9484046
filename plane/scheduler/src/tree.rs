//! The queues of a port as the plane is told of them: a tree of nodes, each with its parent.

use crate::build::{Class, Config, Discipline, Refused, Service};
use program::{Queue, Scheduler};
use std::collections::BTreeMap;

/// Octets that Ethernet adds to each frame on the line: preamble, check sequence, gap.
const LINE_OVERHEAD: u16 = 24;
/// Packets that wait at a port at most, in all queues.
pub const HELD_MAX: u32 = 32_768;

impl Config {
    /// The services and classes of a tree: below the port are services (with an interface, or
    /// with classes below) and the classes of all other interfaces.
    ///
    /// # Errors
    /// When the tree is none of a port, services and classes.
    pub fn of(scheduler: &Scheduler) -> Result<Self, Refused> {
        let mut below: BTreeMap<u32, Vec<&Queue>> = BTreeMap::new();
        for queue in &scheduler.queues {
            if queue.queue == 0 || queue.queue == queue.parent {
                return Err(Refused::Tree(queue.queue, "the port itself is queue 0"));
            }
            below.entry(queue.parent).or_default().push(queue);
        }
        let top = below.remove(&0).unwrap_or_default();
        let (mut services, mut others) = (Vec::new(), Vec::new());
        for queue in top {
            match below.remove(&queue.queue) {
                None if queue.interface.is_none() => others.push(queue),
                children => services.push(service(queue, &children.unwrap_or_default())?),
            }
        }
        if let Some(orphan) = below.values().flatten().next() {
            return Err(Refused::Tree(orphan.queue, "queues are the port's, or a service's"));
        }
        let other = Service {
            interfaces: Vec::new(),
            rate: 0,
            burst: 0,
            weight: 1,
            classes: classes(&others)?,
        };
        let made = Self {
            rate: bits(scheduler.rate_bytes),
            burst: 0,
            overhead: LINE_OVERHEAD,
            packets_max: HELD_MAX,
            services,
            other,
        };
        made.check().map(|()| made)
    }
}

fn service(queue: &Queue, children: &[&Queue]) -> Result<Service, Refused> {
    let mut interfaces: Vec<u32> = queue.interface.into_iter().collect();
    interfaces.extend(children.iter().filter_map(|child| child.interface));
    interfaces.sort_unstable();
    interfaces.dedup();
    let own = [queue];
    let classes = classes(if children.is_empty() { &own } else { children })?;
    let weight = weight(queue)?;
    Ok(Service { interfaces, rate: bits(queue.rate_bytes), burst: 0, weight, classes })
}

/// Bit/s of octets a second; what no shaper holds stays beyond it.
fn bits(octets: u64) -> u64 {
    octets.saturating_mul(8)
}

fn weight(queue: &Queue) -> Result<u16, Refused> {
    u16::try_from(queue.weight.max(1)).map_err(|_| Refused::Weight(u16::MAX))
}

/// Queues of the last priority share by weight; those before are strict, one of each priority.
fn classes(queues: &[&Queue]) -> Result<Vec<Class>, Refused> {
    let mut queues = queues.to_vec();
    queues.sort_by_key(|queue| (queue.priority, queue.queue));
    let last = queues.last().map_or(0, |queue| queue.priority);
    let twins =
        queues.windows(2).find(|two| two[0].priority == two[1].priority && two[0].priority != last);
    if let Some(twins) = twins {
        return Err(Refused::Tree(twins[0].queue, "only the last priority is shared by weight"));
    }
    if queues.is_empty() {
        // Interfaces that nothing is said of have one queue.
        return Ok(vec![Class {
            classes: Vec::new(),
            discipline: Discipline::Weight(1),
            rate: 0,
            packets_max: HELD_MAX,
            wred: None,
        }]);
    }
    let single = queues.len() == 1;
    let class = |queue: &&Queue| {
        let shares = queue.priority == last;
        Ok(Class {
            classes: queue.class.into_iter().collect(),
            discipline: if shares {
                Discipline::Weight(weight(queue)?)
            } else {
                Discipline::Strict
            },
            // The rate of a service that is its own class is the service's.
            rate: if single && queue.interface.is_some() { 0 } else { bits(queue.rate_bytes) },
            packets_max: queue.packets_max,
            wred: queue.wred,
        })
    };
    queues.iter().map(class).collect()
}
