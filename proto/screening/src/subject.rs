//! What rules are about: an SCCP message with TCAP in it.

use crate::names::{ContextId, OperationId};
use sccp::codec::{Address, Routing};
use tcap::codec::{
    Code, Component, Dialogue, Message, MessageType, Payload, TransactionId, UserInformation,
    Violation,
};

/// Subsystems of CAP (TS 23.003 §8): 146 CAP, 147 gsmSCF.
const CAP: [u8; 2] = [146, 147];
/// Subsystems whose data are not TCAP (TS 23.003 §8, Q.713 §3.4.2.2): SCCP management, ISUP,
/// RANAP, RNSAP, BSSAP-LE of BSC, MSC and SMLC, BSS operation, and the A interface.
const OTHER: [u8; 9] = [1, 3, 142, 143, 250, 251, 252, 253, 254];

/// Where a message comes from and goes to.
#[derive(Debug, Clone, Copy)]
pub struct Way<'a> {
    /// Originating Point Code, its number.
    pub opc: u32,
    /// Destination Point Code, its number.
    pub dpc: u32,
    /// Who is called: with the subsystem that it comes to, where that is known and is another one
    /// than its sender has named.
    pub called: &'a Address,
    /// Who calls.
    pub calling: &'a Address,
}

impl Way<'_> {
    /// Whether what goes this way is TCAP. What is routed by its title may come to any subsystem.
    #[must_use]
    pub fn has_tcap(&self) -> bool {
        let called = self.called;
        let is_other = called.subsystem.is_some_and(|it| OTHER.contains(&it));
        !(is_other && called.routing == Routing::Subsystem)
    }

    /// Whether it goes to a subsystem of CAP: there no operation is one of MAP.
    #[must_use]
    pub fn calls_cap(&self) -> bool {
        self.called.subsystem.is_some_and(|it| CAP.contains(&it))
    }
}

/// A message that is not read: nobody knows what it does to who gets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreadable {
    /// The transaction at who sent it.
    pub otid: Option<TransactionId>,
    /// The transaction at who gets it.
    pub dtid: Option<TransactionId>,
    /// Why, in words.
    pub why: &'static str,
}

impl From<Violation> for Unreadable {
    fn from(violation: Violation) -> Self {
        Self { otid: violation.otid, dtid: violation.dtid, why: violation.malformed.what }
    }
}

/// A message.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    pub(crate) way: Way<'a>,
    pub(crate) message: Message<'a>,
    /// Contents of the object identifier of its context.
    pub(crate) oid: &'a [u8],
    pub(crate) context: ContextId,
    /// What the users of the dialogue say of it as it begins.
    pub(crate) user: UserInformation<'a>,
}

impl<'a> Subject<'a> {
    /// Reads what goes a way.
    ///
    /// # Errors
    /// [`Unreadable`].
    pub fn read(way: Way<'a>, data: &'a [u8]) -> Result<Self, Unreadable> {
        let message = Message::read(data)?;
        let unreadable = |why| Unreadable { otid: message.otid, dtid: message.dtid, why };
        let begins = matches!(message.kind, MessageType::Begin | MessageType::Unidirectional);
        let mut user = UserInformation::default();
        let (oid, context): (&[u8], _) = match &message.dialogue {
            None if begins => (&[], ContextId::NONE),
            None => (&[], ContextId::UNTOLD),
            Some(portion) => match Dialogue::read(portion) {
                Ok(
                    Dialogue::Request { context, user_information, .. }
                    | Dialogue::Unidirectional { context, user_information, .. }
                    | Dialogue::Response { context, user_information, .. },
                ) => {
                    user = user_information;
                    (context.contents(), ContextId::of_oid(context.contents()))
                }
                // A dialogue that begins with another syntax is of no protocol here.
                Ok(_) if begins => (&[], ContextId::UNKNOWN),
                Ok(_) => (&[], ContextId::UNTOLD),
                Err(violation) => return Err(unreadable(violation.what)),
            },
        };
        Ok(Self { way, message, oid, context, user })
    }

    /// The message.
    #[must_use]
    pub const fn message(&self) -> &Message<'a> {
        &self.message
    }

    /// Whether a number of an operation is one of MAP's, and whether it is one of CAP's. What the
    /// message leaves open is asked of both.
    fn protocols(&self) -> (bool, bool) {
        let begins = self.message.kind == MessageType::Begin;
        let is_for_cap = self.way.calls_cap();
        match self.context {
            it if it.is_of_map() => (true, false),
            it if it.is_of_cap() => (!is_for_cap, true),
            ContextId::UNKNOWN => (true, true),
            _ if is_for_cap => (false, true),
            // Who calls chooses its subsystem: it alone does not make an operation one of CAP.
            _ => {
                let calling = self.way.calling.subsystem;
                (true, !begins && calling.is_some_and(|it| CAP.contains(&it)))
            }
        }
    }

    /// What the code of an invoke may mean.
    fn meanings(&self, code: Code<'_>) -> [Option<OperationId>; 2] {
        match (code, self.protocols()) {
            (Code::Global(_), _) => [Some(OperationId::GLOBAL), None],
            (Code::Local(code), (map, cap)) => {
                [map.then(|| OperationId::map(code)), cap.then(|| OperationId::cap(code))]
            }
        }
    }

    /// Calls `each` with every operation that is invoked, or with [`OperationId::NONE`].
    ///
    /// # Errors
    /// A component is not well-formed: what stands behind it is not known.
    pub(crate) fn each(
        &self,
        mut each: impl FnMut(OperationId, Option<&Component<'a>>),
    ) -> Result<(), Unreadable> {
        let mut invokes = false;
        for component in self.message.components() {
            let component = component.map_err(|_| Unreadable {
                otid: self.message.otid,
                dtid: self.message.dtid,
                why: "a component is not well-formed",
            })?;
            let Payload::Invoke { code, .. } = component.payload else { continue };
            invokes = true;
            for operation in self.meanings(code).into_iter().flatten() {
                each(operation, Some(&component));
            }
        }
        if !invokes {
            each(OperationId::NONE, None);
        }
        Ok(())
    }
}
