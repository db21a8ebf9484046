//! What is said about errors, and when dialogues are broken off (TS 29.078 §5).

use super::parties::InvokeId;

ber::enumerated! {
    pub enum CancelFailedParamProblem: "cancelFailed.param.problem", "TS 29.078 §5.2" {
        UnknownOperation = 0, "unknownOperation";
        TooLate = 1, "tooLate";
        OperationNotCancellable = 2, "operationNotCancellable";
    }
}

ber::sequence! {
    pub enum CancelFailedParam = "cancelFailed.param", "TS 29.078 §5.2" {
        Problem = "problem", CancelFailedParamProblem [0];
        Operation = "operation", InvokeId [1];
        ...
    }
}

ber::enumerated! {
    pub enum RequestedInfoErrorParam: "requestedInfoError.param", "TS 29.078 §5.2" {
        UnknownRequestedInfo = 1, "unknownRequestedInfo";
        RequestedInfoNotAvailable = 2, "requestedInfoNotAvailable";
    }
}

ber::enumerated! {
    pub enum TaskRefusedParam: "taskRefused.param", "TS 29.078 §5.2" {
        Generic = 0, "generic";
        Unobtainable = 1, "unobtainable";
        Congestion = 2, "congestion";
    }
}

ber::enumerated! {
    pub enum CapUAbortReason: "CAP-U-ABORT-REASON", "TS 29.078 §5" {
        NoReasonGiven = 1, "no-reason-given";
        ApplicationTimerExpired = 2, "application-timer-expired";
        NotAllowedProcedures = 3, "not-allowed-procedures";
        AbnormalProcessing = 4, "abnormal-processing";
        Congestion = 5, "congestion";
        InvalidReference = 6, "invalid-reference";
        MissingReference = 7, "missing-reference";
        OverlappingDialogue = 8, "overlapping-dialogue";
    }
}
