//! Both ends of a dialogue, as their messages show them: a stranger who knows a transaction can say
//! what he likes to it, but neither keeps its trail nor ends it.

use super::unit::Unit;
use tcap::codec::MessageType;

/// A message with the names of its transactions.
pub(super) struct Named<'a> {
    pub(super) unit: Unit<'a>,
    pub(super) own: Option<String>,
    pub(super) far: Option<String>,
    pub(super) segments: Option<String>,
}

impl<'a> Named<'a> {
    pub(super) fn of(unit: Unit<'a>) -> Self {
        let ([own, far], segments) = (unit.transactions(), unit.segments());
        Self { unit, own, far, segments }
    }

    pub(super) fn kind(&self) -> Option<MessageType> {
        self.unit.head.map(|head| head.kind)
    }
}

/// Transactions of the ends that have spoken, each `number@address`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ends {
    first: Option<Box<str>>,
    second: Option<Box<str>>,
}

impl Ends {
    /// Takes a message in. Returns whether it is one of the dialogue: the address of an end changes
    /// no more when both have spoken (Q.771 §3.1.2.2.2.1).
    pub(super) fn take(&mut self, named: &Named<'_>) -> bool {
        let (own, far) = (named.own.as_deref(), named.far.as_deref());
        let is_back = named.unit.cause().is_some();
        match (named.kind(), &self.first, &self.second) {
            (None | Some(MessageType::Unidirectional), ..) => true,
            (Some(MessageType::Begin | MessageType::Continue), None, _) => {
                if !is_back {
                    self.first = own.map(Into::into);
                }
                true
            }
            (Some(_), None, _) => true,
            (Some(MessageType::Begin), Some(first), None) => own == Some(&**first),
            (Some(MessageType::Begin), Some(_), Some(_)) => !is_back,
            (Some(MessageType::Continue), Some(first), None) => {
                let (is_first, is_answer) = (own == Some(&**first), far == Some(&**first));
                if is_answer && !is_first && !is_back {
                    self.second = own.map(Into::into);
                }
                is_first || is_answer
            }
            (Some(MessageType::Continue), Some(first), Some(second)) => {
                let (first, second) = (Some(&**first), Some(&**second));
                (own, far) == (first, second) || (own, far) == (second, first)
            }
            (Some(MessageType::End | MessageType::Abort), Some(first), second) => {
                let sender = &*named.unit.sender.name;
                let is_of = |end: &str| end.split_once('@').is_some_and(|it| it.1 == sender);
                match second {
                    None => far == Some(&**first) || is_of(first),
                    Some(second) => {
                        far == Some(&**first) && is_of(second)
                            || far == Some(&**second) && is_of(first)
                    }
                }
            }
        }
    }

    /// Whether both have spoken.
    pub(super) const fn have_met(&self) -> bool {
        self.second.is_some()
    }
}
