//! What a message costs: it is debited before the message is taken or delivered, and refunded where
//! it was not after all (RFC 8506 §6.3, §6.4).

use crate::step::Step;
use sms::Cause;
use smsdiameter::{Charge, Charged};

/// The account of one message, or of the messages of one text.
#[derive(Debug, Default)]
pub(crate) struct Account {
    charge: Option<Charge>,
    is_debited: bool,
}

impl Account {
    /// One that another node has had debited.
    pub(crate) const fn debited(charge: Charge) -> Self {
        Self { charge: Some(charge), is_debited: true }
    }

    /// Whether something is debited, and not refunded.
    pub(crate) const fn is_debited(&self) -> bool {
        self.is_debited
    }

    /// Has it debited; false: nothing is charged here, or it was asked for already.
    pub(crate) fn debit(&mut self, charge: Charge, step: &mut Step<'_>) -> bool {
        let home = &step.settings().home;
        let is_charged = if charge.is_delivery { home.charges_deliveries } else { home.charges };
        if !is_charged || self.charge.is_some() {
            return false;
        }
        step.charge(charge.clone());
        self.charge = Some(charge);
        true
    }

    /// What the online charging system said.
    ///
    /// # Errors
    /// The message is not to be taken: why.
    pub(crate) fn charged(&mut self, charged: Charged) -> Result<(), Cause> {
        match charged {
            Charged::Debited => self.is_debited = true,
            Charged::Free => {}
            Charged::Refused(cause) => return Err(cause),
        }
        Ok(())
    }

    /// The message is not taken: what was debited is refunded, once.
    pub(crate) fn refund(&mut self, step: &mut Step<'_>) {
        if core::mem::take(&mut self.is_debited)
            && let Some(charge) = self.charge.clone()
        {
            step.refund(charge);
        }
    }
}
