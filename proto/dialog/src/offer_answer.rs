//! Which session description is an offer and which an answer (RFC 3264 §4, RFC 6337 §2).
//!
//! At most one offer is outstanding in a dialog; the next description the other way is its
//! answer, and the same answer may come again (an unreliable 18x before the 2xx).

/// What a session description is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// A new offer.
    Offer,
    /// The answer to the outstanding offer.
    Answer,
    /// The answer once more, in a later response to the same request; to be ignored.
    Repeated,
}

/// Why an offer cannot be taken now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfferError {
    /// Ours is outstanding: answer 491 (RFC 3261 §14.2, RFC 3311 §5.2).
    Pending,
    /// Theirs is not answered yet: answer 500 with a Retry-After of 0 to 10 s (RFC 3311 §5.2).
    Unanswered,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Outstanding {
    #[default]
    None,
    Ours,
    Theirs,
}

/// The state of offers and answers in one dialog. Descriptions in requests and in the first
/// response that has one go in here; `in_response_to` is the CSeq number of the request.
#[derive(Debug, Clone, Copy, Default)]
pub struct OfferAnswer {
    outstanding: Outstanding,
    /// Request whose response carried the answer, and whether that answer was ours.
    answered: Option<(u32, bool)>,
}

impl OfferAnswer {
    /// A description came in a request (`cseq` its number, `is_response` false) or in a response.
    ///
    /// # Errors
    /// [`OfferError`] when it is an offer at the wrong time; the state stays as it was.
    pub fn received(&mut self, cseq: u32, is_response: bool) -> Result<Part, OfferError> {
        self.step(cseq, is_response, Outstanding::Theirs)
    }

    /// We want to send a description in a request or in a response.
    ///
    /// # Errors
    /// [`OfferError`] when it would be an offer at the wrong time; keep it until the state is
    /// stable.
    pub fn sending(&mut self, cseq: u32, is_response: bool) -> Result<Part, OfferError> {
        self.step(cseq, is_response, Outstanding::Ours)
    }

    fn step(&mut self, cseq: u32, is_response: bool, by: Outstanding) -> Result<Part, OfferError> {
        let ours = by == Outstanding::Ours;
        match self.outstanding {
            Outstanding::None if is_response && self.answered == Some((cseq, ours)) => {
                Ok(Part::Repeated)
            }
            Outstanding::None => {
                self.outstanding = by;
                self.answered = None;
                Ok(Part::Offer)
            }
            // The same offer again, in a later response to an INVITE without one.
            same if same == by && is_response => Ok(Part::Repeated),
            Outstanding::Ours if ours => Err(OfferError::Pending),
            Outstanding::Theirs if !ours => Err(OfferError::Unanswered),
            // The other way: the answer; but a request cannot answer a request except PRACK and
            // ACK, which the caller tells apart by `answering`.
            _ if !is_response => {
                Err(if ours { OfferError::Unanswered } else { OfferError::Pending })
            }
            _ => {
                self.outstanding = Outstanding::None;
                self.answered = Some((cseq, ours));
                Ok(Part::Answer)
            }
        }
    }

    /// A description in an ACK or a PRACK: the answer if an offer from the other side is
    /// outstanding, else an offer (a PRACK only).
    ///
    /// # Errors
    /// [`OfferError`] when it is neither.
    pub fn acknowledging(&mut self, ours: bool) -> Result<Part, OfferError> {
        let by = if ours { Outstanding::Ours } else { Outstanding::Theirs };
        match self.outstanding {
            Outstanding::None => {
                self.outstanding = by;
                self.answered = None;
                Ok(Part::Offer)
            }
            other if other == by => {
                Err(if ours { OfferError::Pending } else { OfferError::Unanswered })
            }
            _ => {
                self.outstanding = Outstanding::None;
                Ok(Part::Answer)
            }
        }
    }

    /// The request with the outstanding offer was refused, or its exchange ended without an
    /// answer: the session is as before (RFC 3261 §14.1, RFC 6337 §2.2).
    pub const fn refused(&mut self) {
        self.outstanding = Outstanding::None;
    }

    /// Whether no offer is outstanding.
    #[must_use]
    pub fn is_stable(&self) -> bool {
        self.outstanding == Outstanding::None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offer_in_the_invite_is_answered_once_however_often_it_is_said() {
        let mut caller = OfferAnswer::default();
        assert_eq!(caller.sending(1, false), Ok(Part::Offer));
        assert_eq!(caller.received(1, true), Ok(Part::Answer));
        assert_eq!(caller.received(1, true), Ok(Part::Repeated));
        assert!(caller.is_stable());
    }

    #[test]
    fn an_invite_without_an_offer_is_answered_in_the_ack() {
        let mut callee = OfferAnswer::default();
        assert_eq!(callee.sending(1, true), Ok(Part::Offer));
        assert_eq!(callee.sending(1, true), Ok(Part::Repeated));
        assert_eq!(callee.acknowledging(false), Ok(Part::Answer));
        assert!(callee.is_stable());
    }

    #[test]
    fn two_offers_that_cross_get_491_and_a_second_one_500() {
        let mut ours = OfferAnswer::default();
        ours.sending(5, false).unwrap();
        assert_eq!(ours.received(9, false), Err(OfferError::Pending));
        assert_eq!(ours.sending(6, false), Err(OfferError::Pending));
        let mut theirs = OfferAnswer::default();
        theirs.received(9, false).unwrap();
        assert_eq!(theirs.received(10, false), Err(OfferError::Unanswered));
        assert_eq!(theirs.sending(6, false), Err(OfferError::Unanswered));
        assert_eq!(theirs.sending(9, true), Ok(Part::Answer));
    }

    #[test]
    fn after_a_refusal_the_next_offer_is_free() {
        let mut state = OfferAnswer::default();
        state.sending(5, false).unwrap();
        state.refused();
        assert_eq!(state.received(9, false), Ok(Part::Offer));
    }

    #[test]
    fn precondition_flow_has_three_exchanges_in_a_row() {
        let mut caller = OfferAnswer::default();
        assert_eq!(caller.sending(1, false), Ok(Part::Offer)); // INVITE
        assert_eq!(caller.received(1, true), Ok(Part::Answer)); // 183, reliable
        assert_eq!(caller.acknowledging(true), Ok(Part::Offer)); // PRACK
        assert_eq!(caller.received(2, true), Ok(Part::Answer)); // its 200
        assert_eq!(caller.sending(3, false), Ok(Part::Offer)); // UPDATE
        assert_eq!(caller.received(3, true), Ok(Part::Answer)); // its 200
        assert!(caller.is_stable());
    }
}
