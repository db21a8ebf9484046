//! What helper threads give back to a shard, and by which way.

use crate::error::words;
use crate::function::Answer;
use crate::handshake::Shaken;
use crate::ring::Mailbox;
use crossbeam_channel::Sender;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// What a helper gives back to a shard.
pub(crate) enum Delivery {
    Shaken(Shaken),
    /// The question of a life of the shard, and its answer.
    Resolved(Asked, Answer),
    /// A helper thread panicked and goes on: which one, and the panic's words.
    Crashed(&'static str, String),
}

/// A question to the DNS.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) shard: u16,
    /// Which life of the shard asks: what a former one asked is nothing to this one.
    pub(crate) life: u32,
    pub(crate) number: u64,
}

/// Where helper_threads put what they have done.
#[derive(Clone)]
pub(crate) struct CompletionSender {
    pub(crate) mailboxes: Arc<[Mailbox]>,
    pub(crate) deliveries: Arc<[Sender<Delivery>]>,
}

impl CompletionSender {
    /// Delivers to a shard; one that has ended takes nothing.
    pub(crate) fn deliver(&self, shard: u16, delivery: Delivery) {
        let at = usize::from(shard);
        if self.deliveries[at].send(delivery).is_ok() {
            self.mailboxes[at].waker.wake();
        }
    }

    /// Runs a helper thread's work to its end. After each panic a shard is told, and the work
    /// begins anew.
    pub(crate) fn outlive<W>(
        &self,
        helper: &'static str,
        work: &mut W,
        run: impl Fn(&mut W),
        begin_anew: impl Fn(&mut W),
    ) {
        while let Err(panic) = catch_unwind(AssertUnwindSafe(|| run(work))) {
            self.crashed(0, helper, &*panic);
            begin_anew(work);
        }
    }

    /// Tells a shard that a helper thread panicked.
    pub(crate) fn crashed(&self, shard: u16, helper: &'static str, panic: &(dyn Any + Send)) {
        let why = words(panic);
        tracing::error!(helper, why, "a helper thread crashed and goes on");
        self.deliver(shard, Delivery::Crashed(helper, why.to_owned()));
    }
}
