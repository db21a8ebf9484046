//! Writing messages (Q.773 §3, §4).

use super::dialogue::{REQUEST, RESPONSE, usual_opening};
use super::message::{COMPONENT_PORTION, DIALOGUE_PORTION, DTID, OTID, P_ABORT};
use super::{Code, DIALOGUE, Diagnostic, MessageType, PAbortCause, Problem, TransactionId};
use super::{UNIDIALOGUE, VERSION_1};
use ber::Tag;

/// Result accepted (0), source dialogue-service-user, null (0).
const ACCEPTED: [u8; 12] = [0xa2, 3, 2, 1, 0, 0xa3, 5, 0xa1, 3, 2, 1, 0];

/// What stands in a dialogue portion.
#[derive(Debug, Clone, Copy)]
enum Portion<'a> {
    Open { syntax: &'static [u8; 7], context: &'a [u8], user: &'a [u8] },
    Answer { context: &'a [u8], refused: bool, diagnostic: Diagnostic, user: &'a [u8] },
    Abort { by_provider: bool, user: &'a [u8] },
}

/// A message to write: its transaction portion and its dialogue portion.
#[derive(Debug, Clone, Copy)]
#[must_use = "it is not written yet"]
pub struct Writer<'a> {
    kind: MessageType,
    otid: Option<TransactionId>,
    dtid: Option<TransactionId>,
    cause: Option<PAbortCause>,
    portion: Option<Portion<'a>>,
}

impl<'a> Writer<'a> {
    const fn new(
        kind: MessageType,
        otid: Option<TransactionId>,
        dtid: Option<TransactionId>,
    ) -> Self {
        Self { kind, otid, dtid, cause: None, portion: None }
    }

    /// Unidirectional.
    pub const fn unidirectional() -> Self {
        Self::new(MessageType::Unidirectional, None, None)
    }

    /// Begin.
    pub const fn begin(otid: TransactionId) -> Self {
        Self::new(MessageType::Begin, Some(otid), None)
    }

    /// Continue.
    pub const fn go_on(otid: TransactionId, dtid: TransactionId) -> Self {
        Self::new(MessageType::Continue, Some(otid), Some(dtid))
    }

    /// End.
    pub const fn end(dtid: TransactionId) -> Self {
        Self::new(MessageType::End, None, Some(dtid))
    }

    /// Abort by the user; a dialogue portion may say why.
    pub const fn abort(dtid: TransactionId) -> Self {
        Self::new(MessageType::Abort, None, Some(dtid))
    }

    /// Abort by TCAP itself.
    pub const fn p_abort(dtid: TransactionId, cause: PAbortCause) -> Self {
        Self { cause: Some(cause), ..Self::abort(dtid) }
    }

    /// With an AARQ, or an AUDT in a unidirectional message: contents octets of the application
    /// context, and whole EXTERNALs for the user.
    pub fn request(self, context: &'a [u8], user: &'a [u8]) -> Self {
        let is_uni = self.kind == MessageType::Unidirectional;
        let syntax = if is_uni { UNIDIALOGUE } else { DIALOGUE };
        Self { portion: Some(Portion::Open { syntax, context, user }), ..self }
    }

    /// With an AARE that accepts.
    pub const fn accept(self, context: &'a [u8], user: &'a [u8]) -> Self {
        let diagnostic = Diagnostic::User(0);
        let portion = Portion::Answer { context, refused: false, diagnostic, user };
        Self { portion: Some(portion), ..self }
    }

    /// The same, of octets that live shorter than those of this writer.
    pub(crate) const fn with_answer<'b>(self, context: &'b [u8], user: &'b [u8]) -> Writer<'b>
    where
        'a: 'b,
    {
        self.accept(context, user)
    }

    /// With an AARE that refuses, and the context that might be used instead.
    pub const fn refuse(self, context: &'a [u8], diagnostic: Diagnostic, user: &'a [u8]) -> Self {
        let portion = Portion::Answer { context, refused: true, diagnostic, user };
        Self { portion: Some(portion), ..self }
    }

    /// With an ABRT.
    pub const fn abrt(self, by_provider: bool, user: &'a [u8]) -> Self {
        Self { portion: Some(Portion::Abort { by_provider, user }), ..self }
    }

    /// Appends the message with the components that `write` writes; without any there is no
    /// component portion.
    pub fn write(self, out: &mut Vec<u8>, write: impl FnOnce(&mut ComponentWriter<'_, '_>)) {
        let tag = Tag::application(self.kind.number().into());
        ber::Writer::new(out).constructed(tag, |out| {
            for (tag, identifier) in [(OTID, self.otid), (DTID, self.dtid)] {
                if let Some((octets, skip)) = identifier.map(TransactionId::octets) {
                    out.octets(tag, &octets[skip..]);
                }
            }
            if let Some(cause) = self.cause {
                out.integer(P_ABORT, cause.number().into());
            }
            if let Some(portion) = &self.portion {
                out.constructed(DIALOGUE_PORTION, |out| portion.write(out));
            }
            out.constructed_if_any(COMPONENT_PORTION, |out| write(&mut ComponentWriter { out }));
        });
    }
}

impl Portion<'_> {
    /// A request or an acceptance without anything for the user, as nearly all are; `false`: it is
    /// another, and nothing was written.
    fn write_usual(&self, out: &mut ber::Writer<'_>) -> bool {
        let (syntax, pdu, context, behind) = match *self {
            Self::Open { syntax, context, user: [] } => (syntax, REQUEST, context, &[][..]),
            Self::Answer { context, refused: false, diagnostic: Diagnostic::User(0), user: [] } => {
                (DIALOGUE, RESPONSE, context, &ACCEPTED[..])
            }
            _ => return false,
        };
        let count = u8::try_from(behind.len()).unwrap_or_default();
        let Some(opening) = usual_opening(syntax, pdu, context.len(), count) else { return false };
        out.element(&opening);
        out.element(context);
        out.element(behind);
        true
    }

    fn write(&self, out: &mut ber::Writer<'_>) {
        if self.write_usual(out) {
            return;
        }
        let syntax = if let Self::Open { syntax, .. } = self { *syntax } else { DIALOGUE };
        out.constructed(Tag::EXTERNAL, |out| {
            out.primitive(Tag::OBJECT_IDENTIFIER, syntax);
            out.constructed(Tag::context(0), |out| self.write_pdu(out));
        });
    }

    fn write_pdu(&self, out: &mut ber::Writer<'_>) {
        match *self {
            Self::Open { context, user, .. } => out.constructed(Tag::application(0), |out| {
                write_opening(out, context);
                write_user(out, user);
            }),
            Self::Answer { context, refused, diagnostic, user } => {
                out.constructed(Tag::application(1), |out| {
                    write_opening(out, context);
                    let explicit = |out: &mut ber::Writer<'_>, tag, number| {
                        out.constructed(tag, |out| out.integer(Tag::INTEGER, number));
                    };
                    explicit(out, Tag::context(2), refused.into());
                    out.constructed(Tag::context(3), |out| match diagnostic {
                        Diagnostic::User(number) => explicit(out, Tag::context(1), number),
                        Diagnostic::Provider(number) => explicit(out, Tag::context(2), number),
                    });
                    write_user(out, user);
                });
            }
            Self::Abort { by_provider, user } => out.constructed(Tag::application(4), |out| {
                out.integer(Tag::context(0), by_provider.into());
                write_user(out, user);
            }),
        }
    }
}

fn write_opening(out: &mut ber::Writer<'_>, context: &[u8]) {
    out.bits(Tag::context(0), &[0x80 >> VERSION_1], VERSION_1 + 1);
    out.constructed(Tag::context(1), |out| out.primitive(Tag::OBJECT_IDENTIFIER, context));
}

fn write_user(out: &mut ber::Writer<'_>, user: &[u8]) {
    out.constructed_if_any(Tag::context(30), |out| out.element(user));
}

/// The components of a message under construction. Parameters are whole elements.
#[derive(Debug)]
pub struct ComponentWriter<'w, 'o> {
    out: &'w mut ber::Writer<'o>,
}

impl ComponentWriter<'_, '_> {
    fn component(&mut self, kind: u32, id: Option<i8>, write: impl FnOnce(&mut ber::Writer<'_>)) {
        self.out.constructed(Tag::context(kind), |out| {
            match id {
                Some(id) => out.integer(Tag::INTEGER, id.into()),
                None => out.null(Tag::NULL),
            }
            write(out);
        });
    }

    /// An invoke.
    pub fn invoke(
        &mut self,
        id: i8,
        linked_id: Option<i8>,
        code: Code<'_>,
        parameter: Option<&[u8]>,
    ) {
        self.component(1, Some(id), |out| {
            if let Some(linked) = linked_id {
                out.integer(Tag::context(0), linked.into());
            }
            write_code(out, code, parameter);
        });
    }

    /// A result, or a part of one.
    pub fn result(&mut self, id: i8, is_last: bool, result: Option<(Code<'_>, Option<&[u8]>)>) {
        if let (true, Some((Code::Local(code), Some(parameter)))) = (is_last, result)
            && self.usual_result(id, code, parameter)
        {
            return;
        }
        self.component(if is_last { 2 } else { 7 }, Some(id), |out| {
            if let Some((code, parameter)) = result {
                out.constructed(Tag::SEQUENCE, |out| write_code(out, code, parameter));
            }
        });
    }

    /// A result as nearly all are: a local operation of one octet, each length in one octet.
    /// `false`: it is another, and nothing was written.
    fn usual_result(&mut self, id: i8, code: i64, parameter: &[u8]) -> bool {
        const OCTETS_MAX: u8 = 100;
        let (Ok(code), Ok(count @ 0..OCTETS_MAX)) =
            (i8::try_from(code), u8::try_from(parameter.len()))
        else {
            return false;
        };
        let (id, code) = (id.cast_unsigned(), code.cast_unsigned());
        // [2], the identifier of the invoke, and a SEQUENCE with the operation.
        self.out.element(&[0xa2, count + 8, 2, 1, id, 0x30, count + 3, 2, 1, code]);
        self.out.element(parameter);
        true
    }

    /// An error.
    pub fn error(&mut self, id: i8, code: Code<'_>, parameter: Option<&[u8]>) {
        self.component(3, Some(id), |out| write_code(out, code, parameter));
    }

    /// A reject.
    pub fn reject(&mut self, id: Option<i8>, problem: Problem) {
        let (tag, number) = problem.parts();
        self.component(4, id, |out| out.integer(Tag::context(tag.into()), number));
    }

    /// A component as it was written before.
    pub fn component_as_is(&mut self, whole: &[u8]) {
        self.out.element(whole);
    }
}

fn write_code(out: &mut ber::Writer<'_>, code: Code<'_>, parameter: Option<&[u8]>) {
    match code {
        Code::Local(number) => out.integer(Tag::INTEGER, number),
        Code::Global(oid) => out.primitive(Tag::OBJECT_IDENTIFIER, oid.contents()),
    }
    if let Some(parameter) = parameter {
        out.element(parameter);
    }
}
