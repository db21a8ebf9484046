//! Flow control of class 3 (Q.714 §3.5.2): sequence numbers modulo 128 and windows both ways.

use crate::codec::{ResetCause, Sequencing};

const MODULO: u8 = 128;

/// How far `to` is ahead of `from`.
const fn distance(from: u8, to: u8) -> u8 {
    to.wrapping_sub(from) % MODULO
}

/// Windows of one section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flow {
    /// P(S) of the next DT2 that is sent.
    send: u8,
    /// The last P(R) that came: the lower edge of the window for sending.
    acknowledged: u8,
    /// The window for sending.
    credit_out: u8,
    /// P(S) of the next DT2 that comes.
    receive: u8,
    /// The last P(R) that was sent: the lower edge of the window for receiving.
    told: u8,
    /// The window for receiving.
    credit_in: u8,
    /// The window that was agreed.
    credit: u8,
    is_fresh: bool,
}

impl Flow {
    /// Windows of the size that was agreed.
    pub(crate) const fn new(credit: u8) -> Self {
        Self {
            send: 0,
            acknowledged: 0,
            credit_out: credit,
            receive: 0,
            told: 0,
            credit_in: credit,
            credit,
            is_fresh: true,
        }
    }

    /// The numbers as octets, for another node.
    pub(crate) const fn octets(&self) -> [u8; 8] {
        let Self { send, acknowledged, credit_out, receive, told, credit_in, credit, is_fresh } =
            *self;
        [send, acknowledged, credit_out, receive, told, credit_in, credit, is_fresh as u8]
    }

    /// The same as another node has told them.
    pub(crate) const fn of(octets: [u8; 8]) -> Self {
        let [send, acknowledged, credit_out, receive, told, credit_in, credit, is_fresh] = octets;
        Self {
            send: send % MODULO,
            acknowledged: acknowledged % MODULO,
            credit_out,
            receive: receive % MODULO,
            told: told % MODULO,
            credit_in,
            credit,
            is_fresh: is_fresh != 0,
        }
    }

    /// All is as in the beginning (§3.7.3).
    pub(crate) const fn reset(&mut self) {
        *self = Self::new(self.credit);
    }

    /// The window that was agreed.
    pub(crate) const fn credit(&self) -> u8 {
        self.credit
    }

    /// Whether there is credit for a DT2.
    pub(crate) const fn may_send(&self) -> bool {
        distance(self.acknowledged, self.send) < self.credit_out
    }

    /// The numbers of the next DT2, which acknowledges what came, but where no more is asked for:
    /// then it says again what was said.
    pub(crate) const fn next(&mut self, more: bool, is_held: bool) -> Sequencing {
        let sequencing = Sequencing { more, ..self.as_it_is(is_held) };
        self.send = (self.send + 1) % MODULO;
        sequencing
    }

    /// The numbers as they are, for an IT; they acknowledge as those of a DT2.
    pub(crate) const fn as_it_is(&mut self, is_held: bool) -> Sequencing {
        if !is_held {
            self.told = self.receive;
        }
        Sequencing { send: self.send, receive: self.told, more: false }
    }

    /// What an AK says, which acknowledges what came.
    pub(crate) const fn acknowledgement(&mut self) -> (u8, u8) {
        self.told = self.receive;
        (self.receive, self.credit_in)
    }

    /// Whether half of the window came since the last P(R) was sent.
    pub(crate) const fn owes(&self) -> bool {
        let came = distance(self.told, self.receive);
        came > 0 && came >= self.credit_in.div_ceil(2)
    }

    /// P(R) came; with a credit in AK and IT, without in DT2.
    ///
    /// # Errors
    /// It acknowledges what was not sent.
    pub(crate) fn acknowledge(&mut self, to: u8, credit: Option<u8>) -> Result<(), ResetCause> {
        if distance(self.acknowledged, to) > distance(self.acknowledged, self.send) {
            return Err(ResetCause::IncorrectReceive);
        }
        self.acknowledged = to;
        // More than was agreed is not used.
        self.credit_out = credit.map_or(self.credit_out, |it| it.min(self.credit));
        Ok(())
    }

    /// A DT2 came.
    ///
    /// # Errors
    /// Its P(S) is beyond the window, or not the next one.
    pub(crate) fn take(&mut self, send: u8) -> Result<(), ResetCause> {
        if distance(self.told, send) >= self.credit_in {
            return Err(ResetCause::OutOfWindow);
        }
        if send != self.receive {
            return Err(match self.is_fresh {
                true => ResetCause::IncorrectFirst,
                false => ResetCause::IncorrectSend,
            });
        }
        self.receive = (self.receive + 1) % MODULO;
        self.is_fresh = false;
        Ok(())
    }

    /// Whether the other side, whose IT has that P(S), has sent what did not come. Some give the
    /// number of the next DT2 there, some that of the last.
    pub(crate) const fn lacks(&self, send: u8) -> bool {
        send != self.receive && (send + 1) % MODULO != self.receive
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_closes_and_opens_across_the_end_of_the_numbers() {
        let (mut a, mut b) = (Flow::new(3), Flow::new(3));
        for round in 0..200 {
            let mut sent = 0;
            while a.may_send() {
                assert_eq!(b.take(a.next(false, false).send), Ok(()), "round {round}");
                sent += 1;
            }
            assert_eq!((sent, b.owes()), (3, true));
            let (receive, credit) = b.acknowledgement();
            assert!(!b.owes());
            assert_eq!(a.acknowledge(receive, Some(credit)), Ok(()));
        }
    }

    #[test]
    fn numbers_that_cannot_be_lead_to_a_reset_with_their_cause() {
        let mut flow = Flow::new(4);
        assert_eq!(flow.take(1), Err(ResetCause::IncorrectFirst));
        assert_eq!(flow.take(0), Ok(()));
        assert_eq!(flow.take(2), Err(ResetCause::IncorrectSend));
        assert_eq!(flow.take(4), Err(ResetCause::OutOfWindow));
        assert_eq!(flow.acknowledge(1, None), Err(ResetCause::IncorrectReceive));
        assert_eq!(flow.next(false, true).receive, 0, "no more is asked for");
        assert_eq!(flow.acknowledge(1, Some(0)), Ok(()));
        assert!(!flow.may_send(), "who is busy gives no credit");
        assert!(!flow.lacks(1) && !flow.lacks(0) && flow.lacks(3));
        flow.reset();
        assert!(flow.may_send());
    }
}
