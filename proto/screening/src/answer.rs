//! What a message that is refused is answered with.

use crate::rule::Action;
use crate::subject::Subject;
use tcap::codec::{Code, InvokeProblem, MessageType, PAbortCause, Problem, TransactionId, Writer};

/// The data of the message that goes back to who sent one that is refused; `None`: nothing is said,
/// or there is nobody to say it to.
///
/// The first message of a dialogue is answered with its end, so that an error or a reject reaches
/// the operation; what comes later is answered with an abort, as the dialogue is none of this
/// node's.
#[must_use]
pub fn answer(action: Action, subject: &Subject<'_>, invoke_id: Option<i8>) -> Option<Vec<u8>> {
    let message = subject.message();
    let otid = message.otid?;
    let mut data = Vec::new();
    match (action, invoke_id, message.kind) {
        (Action::Error(_) | Action::Reject, Some(id), MessageType::Begin) => {
            let writer = Writer::end(otid);
            let writer = match subject.oid {
                [] => writer,
                context => writer.accept(context, &[]),
            };
            writer.write(&mut data, |components| match action {
                Action::Error(code) => components.error(id, Code::Local(code), None),
                _ => {
                    let problem = Problem::Invoke(InvokeProblem::UnrecognizedOperation);
                    components.reject(Some(id), problem);
                }
            });
        }
        (Action::Error(_) | Action::Reject | Action::Abort, _, _) => return Some(abort(otid)),
        (Action::Pass | Action::Count | Action::Discard | Action::Return(_), ..) => return None,
    }
    Some(data)
}

/// The abort of TCAP itself of a transaction: of who sent a message that is refused, and, as it
/// stands in the middle of a dialogue, of who would have got it.
#[must_use]
pub fn abort(transaction: TransactionId) -> Vec<u8> {
    let mut data = Vec::new();
    Writer::p_abort(transaction, PAbortCause::ResourceLimitation).write(&mut data, |_| ());
    data
}
