//! A controller that is one of a pair: its questions about the pair, its planned switchover.

use crate::pool::EXCHANGE;
use crate::supervise::{RELOAD, Supervised, Unit};
use event::Cells;
use oam::{Managed, PortRow, State};
use replica::{Node, Role};
use runtime::{Ask, AskError};
use serde_json::{Value, json};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Questions to a controller of a pair that change something.
const ACTIONS: &[&str] = &["calls/terminate", "blacklist/clear", RELOAD, "switchover", EXCHANGE];
/// Pause between two looks at a switchover.
const LOOK: Duration = Duration::from_millis(5);
/// Longest time for the nodes to change places once nothing is under way.
const CHANGE_MAX: Duration = Duration::from_secs(3);

/// A controller and its node.
pub struct Paired {
    /// The controller.
    pub unit: Arc<Supervised<ssc::Controller>>,
    /// Its place in the pair.
    pub node: Arc<Node>,
}

impl Paired {
    /// Leaves new requests unanswered, or no more; how many are under way.
    fn hand_over(&self, begin: bool) -> Result<u64, AskError> {
        let params = [("begin".to_owned(), begin.to_string())].into();
        let rows = self.unit.ask(Ask { path: "hand-over".into(), params })?;
        let rows = rows.as_array().map(Vec::as_slice).unwrap_or_default();
        Ok(rows.iter().filter_map(|row| row["requests"].as_u64()).sum())
    }

    /// Waits until nothing is under way, then lets the nodes change places.
    fn switch_over(&self) -> Result<Value, AskError> {
        let refuse = |why: &str| Err(AskError::BadParameter(why.into()));
        let standing = self.node.standing();
        if standing.role != Role::Active {
            return refuse("this node is the standby: ask the active one");
        }
        if !standing.is_peer_alive || !standing.is_synced {
            return refuse("the other node is away or does not have everything");
        }
        let began = Instant::now();
        let mut left = self.hand_over(true)?;
        while left > 0 && began.elapsed() < self.node.drain() {
            thread::sleep(LOOK);
            left = self.hand_over(true)?;
        }
        self.node.switch_over();
        let until = Instant::now() + CHANGE_MAX;
        while self.node.standing().role == Role::Active && Instant::now() < until {
            thread::sleep(LOOK);
        }
        if self.node.standing().role == Role::Active {
            self.hand_over(false)?;
            return refuse("the other node did not take over; this one serves on");
        }
        let took_ms = began.elapsed().as_millis() as u64;
        Ok(json!([{ "switched": true, "took_ms": took_ms, "requests_lost": left }]))
    }
}

impl Unit for Paired {
    fn watch(&self, now: Instant) {
        self.unit.watch(now);
    }

    fn account(&self) -> String {
        let replica = self.unit.present().0.replica.as_ref().map_or(0, |replica| replica.pair);
        format!("pair-{replica}")
    }

    fn drain(&self) {
        self.node.switch_over(); // does nothing unless the other one can take over
        self.unit.drain();
    }

    fn is_idle(&self) -> bool {
        let standing = self.node.standing();
        let is_standby = standing.role == Role::Standby && !standing.is_handing_over;
        is_standby || self.unit.is_idle()
    }

    fn end(&self) {
        self.node.end();
        self.unit.end();
    }
}

impl Managed for Paired {
    fn name(&self) -> String {
        self.unit.name()
    }

    fn kind(&self) -> &'static str {
        self.unit.kind()
    }

    fn state(&self) -> State {
        self.unit.state()
    }

    fn failure(&self) -> Option<String> {
        self.unit.failure()
    }

    fn shards(&self) -> u16 {
        self.unit.shards()
    }

    fn started_at_us(&self) -> u64 {
        self.unit.started_at_us()
    }

    fn ports(&self) -> Vec<PortRow> {
        self.unit.ports()
    }

    fn cells(&self) -> Vec<(u16, Vec<Cells>)> {
        let mut cells = self.unit.cells();
        cells.push((0, vec![self.node.cells()]));
        cells
    }

    fn ask(&self, ask: Ask) -> Result<Value, AskError> {
        match ask.path.as_str() {
            "replica" => Ok(self.node.row()),
            "switchover" => self.switch_over(),
            "hand-over" => Err(AskError::NotFound(ask.path)),
            "alarms" => {
                let mut rows = self.node.alarms();
                if let Ok(Value::Array(own)) = self.unit.ask(ask) {
                    rows.extend(own);
                }
                Ok(Value::Array(rows))
            }
            _ => self.unit.ask(ask),
        }
    }

    fn actions(&self) -> &'static [&'static str] {
        ACTIONS
    }
}
