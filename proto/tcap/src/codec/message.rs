//! Messages: the transaction portion (Q.773 §3.1 to §3.3).

use super::{Component, Components, PAbortCause, Rejected, TransactionId};
use ber::{Class, Element, Reader, Tag};
use wire::Malformed;

const SPEC: &str = "Q.773 §3.1";
pub(crate) const OTID: Tag = Tag::application(8);
pub(crate) const DTID: Tag = Tag::application(9);
pub(crate) const P_ABORT: Tag = Tag::application(10);
pub(crate) const DIALOGUE_PORTION: Tag = Tag::application(11);
pub(crate) const COMPONENT_PORTION: Tag = Tag::application(12);

wire::rows! {
    /// Messages, by the number of their application tag.
    pub enum MessageType: u8 {
        /// Components without a transaction.
        Unidirectional = 1, "Unidirectional", "Q.773 §3.1";
        /// Begins a transaction.
        Begin = 2, "Begin", "Q.773 §3.1";
        /// Ends one.
        End = 4, "End", "Q.773 §3.1";
        /// Goes on.
        Continue = 5, "Continue", "Q.773 §3.1";
        /// Breaks one off.
        Abort = 7, "Abort", "Q.773 §3.1";
    }
}

/// What is wrong with a transaction portion, and how it is answered (Q.774 §3.2.2.1, table 9).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Violation {
    /// The cause of the abort that answers it.
    pub cause: PAbortCause,
    /// The transaction at who sent it: where the abort goes to. Without one the message is
    /// discarded.
    pub otid: Option<TransactionId>,
    /// The transaction here, which is ended as well.
    pub dtid: Option<TransactionId>,
    /// Where, what, and the section.
    pub malformed: Malformed,
}

/// A message whose transaction portion is that of its type.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    /// Its type.
    pub kind: MessageType,
    /// The transaction at who sent it.
    pub otid: Option<TransactionId>,
    /// The transaction at who gets it.
    pub dtid: Option<TransactionId>,
    /// The number of the P-Abort cause of an abort by TCAP itself.
    pub p_abort: Option<i64>,
    /// The element within the dialogue portion: see [`super::Dialogue::read`].
    pub dialogue: Option<Element<'a>>,
    components: Option<Element<'a>>,
}

impl<'a> Message<'a> {
    /// Reads one whole message.
    ///
    /// # Errors
    /// [`Violation`] with the answer; what it says of dialogue and components is not read yet.
    pub fn read(octets: &'a [u8]) -> Result<Self, Violation> {
        let mut parts = Parts::default();
        let first = Reader::new(octets).only();
        let outer = first.map_err(|it| parts.violation(PAbortCause::BadlyFormatted, it))?;
        let malformed = parts.read(&outer);
        let number = u8::try_from(outer.tag().number()).unwrap_or(u8::MAX);
        let kind = match outer.tag().class() {
            Class::Application => MessageType::of(number),
            _ => None,
        };
        let Some(kind) = kind else {
            let what = Malformed::new(0, "no message of TCAP", SPEC);
            return Err(parts.violation(PAbortCause::UnrecognizedMessageType, what));
        };
        malformed.map_err(|it| parts.violation(PAbortCause::BadlyFormatted, it))?;
        let lacks = match kind {
            MessageType::Unidirectional => parts.components.is_none(),
            MessageType::Begin => parts.otid.is_none(),
            MessageType::End | MessageType::Abort => parts.dtid.is_none(),
            MessageType::Continue => parts.otid.is_none() || parts.dtid.is_none(),
        };
        let has_other = match kind {
            MessageType::Unidirectional => parts.otid.is_some() || parts.dtid.is_some(),
            MessageType::Begin => parts.dtid.is_some(),
            MessageType::End | MessageType::Abort => parts.otid.is_some(),
            MessageType::Continue => false,
        } || (kind != MessageType::Abort && parts.p_abort.is_some())
            || (kind == MessageType::Abort && parts.components.is_some());
        if lacks || has_other {
            let what = if lacks { "a part lacks" } else { "a part that the message has not" };
            let what = Malformed::new(0, what, SPEC);
            return Err(parts.violation(PAbortCause::IncorrectPortion, what));
        }
        let Parts { otid, dtid, p_abort, dialogue, components, .. } = parts;
        Ok(Self { kind, otid, dtid, p_abort, dialogue, components })
    }

    /// The components, each with its element when it is one.
    pub(crate) fn components_with_elements(
        &self,
    ) -> impl Iterator<Item = (Option<Element<'a>>, Result<Component<'a>, Rejected>)> + use<'a>
    {
        let elements = self.components.and_then(|portion| portion.children().ok());
        elements.into_iter().flatten().map(|element| match element {
            Ok(element) => (Some(element), Component::read(&element)),
            Err(_) => (None, Err(Rejected::UNREADABLE)),
        })
    }

    /// The components, in their order.
    #[must_use]
    pub fn components(&self) -> Components<'a> {
        Components::new(self.components.as_ref())
    }
}

/// What was found, also of a message that is not well-formed: as much as its answer needs.
#[derive(Debug, Default)]
struct Parts<'a> {
    otid: Option<TransactionId>,
    dtid: Option<TransactionId>,
    p_abort: Option<i64>,
    dialogue: Option<Element<'a>>,
    components: Option<Element<'a>>,
    order: u32,
}

impl<'a> Parts<'a> {
    const fn violation(&self, cause: PAbortCause, malformed: Malformed) -> Violation {
        Violation { cause, otid: self.otid, dtid: self.dtid, malformed }
    }

    fn read(&mut self, outer: &Element<'a>) -> Result<(), Malformed> {
        for element in outer.children()? {
            let element = element?;
            let tag = element.tag();
            // The parts stand in the order of their tags, each once.
            if tag.class() != Class::Application || tag.number() <= self.order {
                return Err(element.violation("a part twice, out of order, or of no message", SPEC));
            }
            self.order = tag.number();
            match tag {
                OTID => self.otid = Some(identifier(&element)?),
                DTID => self.dtid = Some(identifier(&element)?),
                P_ABORT => self.p_abort = Some(element.integer()?),
                DIALOGUE_PORTION => self.dialogue = Some(element.inner()?),
                COMPONENT_PORTION => {
                    element.children()?;
                    self.components = Some(element);
                }
                _ => return Err(element.violation("a part of no message", SPEC)),
            }
        }
        Ok(())
    }
}

fn identifier(element: &Element<'_>) -> Result<TransactionId, Malformed> {
    let octets = element.primitive()?;
    TransactionId::read(octets)
        .ok_or(element.violation("a transaction identifier has one to four octets", SPEC))
}
