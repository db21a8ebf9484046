//! P-Abort causes and problems (Q.773 §3.3, §3.7).

wire::rows! {
    /// Why a transaction is ended by TCAP itself.
    pub enum PAbortCause: u8 {
        /// No such message.
        UnrecognizedMessageType = 0, "unrecognizedMessageType", "Q.773 §3.3";
        /// No such transaction.
        UnrecognizedTransactionId = 1, "unrecognizedTransactionID", "Q.773 §3.3";
        /// The transaction portion is not well-formed.
        BadlyFormatted = 2, "badlyFormattedTransactionPortion", "Q.773 §3.3";
        /// Its parts are not those of the message.
        IncorrectPortion = 3, "incorrectTransactionPortion", "Q.773 §3.3";
        /// There is no room.
        ResourceLimitation = 4, "resourceLimitation", "Q.773 §3.3";
    }
}

wire::rows! {
    /// What is wrong with a component of any kind.
    pub enum GeneralProblem: u8 {
        /// No such component.
        UnrecognizedComponent = 0, "unrecognizedComponent", "Q.773 §3.7";
        /// Its parts are not those of its kind.
        MistypedComponent = 1, "mistypedComponent", "Q.773 §3.7";
        /// It is not well-formed.
        BadlyStructuredComponent = 2, "badlyStructuredComponent", "Q.773 §3.7";
    }
}

wire::rows! {
    /// What is wrong with an invoke.
    pub enum InvokeProblem: u8 {
        /// The identifier is in use.
        DuplicateInvokeId = 0, "duplicateInvokeID", "Q.773 §3.7";
        /// The user has no such operation.
        UnrecognizedOperation = 1, "unrecognizedOperation", "Q.773 §3.7";
        /// The parameter is another.
        MistypedParameter = 2, "mistypedParameter", "Q.773 §3.7";
        /// There is no room.
        ResourceLimitation = 3, "resourceLimitation", "Q.773 §3.7";
        /// The dialogue is about to end.
        InitiatingRelease = 4, "initiatingRelease", "Q.773 §3.7";
        /// The linked identifier is of no operation.
        UnrecognizedLinkedId = 5, "unrecognizedLinkedID", "Q.773 §3.7";
        /// The operation has no linked ones.
        LinkedResponseUnexpected = 6, "linkedResponseUnexpected", "Q.773 §3.7";
        /// The operation has no such linked one.
        UnexpectedLinkedOperation = 7, "unexpectedLinkedOperation", "Q.773 §3.7";
    }
}

wire::rows! {
    /// What is wrong with a result.
    pub enum ReturnResultProblem: u8 {
        /// The identifier is of no operation.
        UnrecognizedInvokeId = 0, "unrecognizedInvokeID", "Q.773 §3.7";
        /// The operation has no result.
        Unexpected = 1, "returnResultUnexpected", "Q.773 §3.7";
        /// The parameter is another.
        MistypedParameter = 2, "mistypedParameter", "Q.773 §3.7";
    }
}

wire::rows! {
    /// What is wrong with an error.
    pub enum ReturnErrorProblem: u8 {
        /// The identifier is of no operation.
        UnrecognizedInvokeId = 0, "unrecognizedInvokeID", "Q.773 §3.7";
        /// The operation has no errors.
        Unexpected = 1, "returnErrorUnexpected", "Q.773 §3.7";
        /// The user has no such error.
        UnrecognizedError = 2, "unrecognizedError", "Q.773 §3.7";
        /// The operation has no such error.
        UnexpectedError = 3, "unexpectedError", "Q.773 §3.7";
        /// The parameter is another.
        MistypedParameter = 4, "mistypedParameter", "Q.773 §3.7";
    }
}

/// Why a component is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Problem {
    /// Of any kind.
    General(GeneralProblem),
    /// An invoke.
    Invoke(InvokeProblem),
    /// A result.
    ReturnResult(ReturnResultProblem),
    /// An error.
    ReturnError(ReturnErrorProblem),
    /// One of a number that has no name: which of the four, and the number.
    Other(u8, i64),
}

impl Problem {
    /// The problem of that context tag with that number.
    #[must_use]
    pub fn of(tag: u8, number: i64) -> Self {
        let row = u8::try_from(number).ok();
        let named = match tag {
            0 => row.and_then(GeneralProblem::of).map(Self::General),
            1 => row.and_then(InvokeProblem::of).map(Self::Invoke),
            2 => row.and_then(ReturnResultProblem::of).map(Self::ReturnResult),
            _ => row.and_then(ReturnErrorProblem::of).map(Self::ReturnError),
        };
        named.unwrap_or(Self::Other(tag, number))
    }

    /// The context tag and the number.
    #[must_use]
    pub fn parts(self) -> (u8, i64) {
        match self {
            Self::General(row) => (0, row.number().into()),
            Self::Invoke(row) => (1, row.number().into()),
            Self::ReturnResult(row) => (2, row.number().into()),
            Self::ReturnError(row) => (3, row.number().into()),
            Self::Other(tag, number) => (tag, number),
        }
    }
}
