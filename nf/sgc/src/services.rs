//! Who takes the dialogues of a subsystem of TCAP: an application, with instances or with a service
//! inside; or, without one, `tcu::Refuse` and `tcu::Echo`.

use crate::applications::Applications;
use crate::config::sccp::Dialogues;
use machine::{Machine, Time};
use runtime::Seed;
use tcap::{In, Out, Transactions};
use tcu::{Echo, Indication, Refuse, Request, Service, Speech, carry_out, indications};

/// What waits for TCAP, and who is told.
pub(crate) struct Services {
    waiting: Vec<(Dialogues, In)>,
    pub(crate) applications: Applications,
    /// Messages of this turn have waited so long that no dialogue begins: those that stand go
    /// first.
    pub(crate) sheds_begins: bool,
    refuse: Refuse,
    echo: Echo,
    requests: Vec<Request>,
}

impl Services {
    pub(crate) fn new(seed: &Seed) -> Self {
        Self {
            waiting: Vec::new(),
            applications: Applications::new(seed),
            sheds_begins: false,
            refuse: Refuse,
            echo: Echo,
            requests: Vec::new(),
        }
    }

    /// Data came for a subsystem of TCAP.
    pub(crate) fn unitdata(&mut self, dialogues: Dialogues, unitdata: In) {
        self.waiting.push((dialogues, unitdata));
    }

    /// Data of a dialogue came back.
    pub(crate) fn notice(&mut self, notice: In) {
        self.waiting.push((Dialogues::default(), notice));
    }

    /// When [`Services::tick`] wants to be called next.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.applications.deadline()
    }

    /// Gives what waits to TCAP; what that sends is left in `outs`.
    pub(crate) fn serve(
        &mut self,
        now: Time,
        transactions: &mut Transactions,
        outs: &mut Vec<Out>,
    ) {
        for (dialogues, input) in core::mem::take(&mut self.waiting) {
            let first = outs.len();
            transactions.step(now, input, outs);
            let told = indications(&outs[first..]);
            self.dispatch(now, dialogues, told, transactions, outs);
        }
    }

    /// The timers of TCAP have fired.
    pub(crate) fn tick(&mut self, now: Time, transactions: &mut Transactions, outs: &mut Vec<Out>) {
        let first = outs.len();
        transactions.tick(now, outs);
        let told = indications(&outs[first..]);
        self.dispatch(now, Dialogues::default(), told, transactions, outs);
        self.applications.tick(now, &mut tcu::Side { transactions, outs });
    }

    /// Tells whom it concerns. Dialogues of no application end where they begin: what else is told
    /// is nobody's.
    fn dispatch(
        &mut self,
        now: Time,
        dialogues: Dialogues,
        told: Vec<Indication>,
        transactions: &mut Transactions,
        outs: &mut Vec<Out>,
    ) {
        for it in told {
            let told = self.applications.indicated(now, it, transactions, outs);
            let Some(it) = told else { continue };
            let service: &mut dyn Service = match dialogues {
                Dialogues::Refused => &mut self.refuse,
                Dialogues::Echoed => &mut self.echo,
            };
            let mut requests = core::mem::take(&mut self.requests);
            service.indicated(now, it, &mut requests);
            for request in requests.drain(..) {
                // It has just begun, and nothing was said: what is asked for is in order.
                let _ = carry_out(now, transactions, &request, Speech::Unknown, outs);
            }
            self.requests = requests;
        }
    }
}
