//! Operations asked for from here (Q.774 §3.2.1): which answers they may have, and until when.

use crate::codec::{Problem, ReturnErrorProblem, ReturnResultProblem};
use crate::effects::OperationClass;
use machine::{Duration, Time};

/// An operation that may be answered.
#[derive(Debug, Clone, Copy)]
struct Invocation {
    due: Time,
    /// How long its answer may take, as long as nobody says another time.
    time_ms: u32,
    id: i8,
    class: OperationClass,
}

fn milliseconds(time: Duration) -> u32 {
    u32::try_from(time.as_millis()).unwrap_or(u32::MAX)
}

/// The operations of a dialogue.
#[derive(Debug, Default)]
pub(crate) struct Invocations {
    list: Vec<Invocation>,
}

impl Invocations {
    pub(crate) fn clear(&mut self) {
        self.list.clear();
    }

    /// Those that may be answered.
    pub(crate) const fn len(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn has(&self, id: i8) -> bool {
        self.list.iter().any(|it| it.id == id)
    }

    pub(crate) fn add(&mut self, now: Time, id: i8, class: OperationClass, time: Duration) {
        // Most dialogues have one or two, and many stand.
        self.list.reserve_exact(1);
        let time_ms = milliseconds(time);
        self.list.push(Invocation { due: now + time, time_ms, id, class });
    }

    /// All of them: identifier, class, time, and when that is over.
    pub(crate) fn all(&self) -> impl Iterator<Item = (i8, OperationClass, Duration, Time)> {
        let time = |it: &Invocation| Duration::from_millis(it.time_ms.into());
        self.list.iter().map(move |it| (it.id, it.class, time(it), it.due))
    }

    /// One that another node has asked for.
    pub(crate) fn put(&mut self, id: i8, class: OperationClass, time: Duration, due: Time) {
        self.list.reserve_exact(1);
        self.list.push(Invocation { due, time_ms: milliseconds(time), id, class });
    }

    /// The time of an operation begins anew, as long as it was unless told; whether there is one.
    pub(crate) fn restart(&mut self, now: Time, id: i8, time: Option<Duration>) -> bool {
        let Some(it) = self.list.iter_mut().find(|it| it.id == id) else { return false };
        let time = time.unwrap_or(Duration::from_millis(it.time_ms.into()));
        it.time_ms = milliseconds(time);
        it.due = now + time;
        true
    }

    pub(crate) fn end(&mut self, id: i8) {
        self.list.retain(|it| it.id != id);
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        self.list.iter().map(|it| it.due).min()
    }

    /// The next operation whose time is over.
    pub(crate) fn expire(&mut self, now: Time) -> Option<i8> {
        let at = self.list.iter().position(|it| it.due <= now)?;
        Some(self.list.remove(at).id)
    }

    fn class(&self, id: i8) -> Option<OperationClass> {
        self.list.iter().find(|it| it.id == id).map(|it| it.class)
    }

    /// A result came: whether the operation has one. The last part ends it.
    pub(crate) fn result(&mut self, id: i8, is_last: bool) -> Result<(), Problem> {
        use OperationClass as C;
        let problem = match self.class(id) {
            None => ReturnResultProblem::UnrecognizedInvokeId,
            Some(C::Two | C::Four) => ReturnResultProblem::Unexpected,
            Some(C::One | C::Three) => {
                if is_last {
                    self.end(id);
                }
                return Ok(());
            }
        };
        Err(Problem::ReturnResult(problem))
    }

    /// An error came: whether the operation has one.
    pub(crate) fn error(&mut self, id: i8) -> Result<(), Problem> {
        use OperationClass as C;
        let problem = match self.class(id) {
            None => ReturnErrorProblem::UnrecognizedInvokeId,
            Some(C::Three | C::Four) => ReturnErrorProblem::Unexpected,
            Some(C::One | C::Two) => {
                self.end(id);
                return Ok(());
            }
        };
        Err(Problem::ReturnError(problem))
    }
}
