//! The kinds of messages, and the tags of fields.

wire::rows! {
    /// What a message is.
    pub enum Kind: u8 {
        /// To the application: it has to prove that it has the key.
        Challenge = 0x01, "challenge", "TCU";
        /// To the application: it is taken in.
        Welcome = 0x02, "welcome", "TCU";
        /// To the application: a message was not understood.
        Malformed = 0x03, "malformed", "TCU";
        /// To the application: the connection ends.
        Bye = 0x04, "bye", "TCU";
        /// From the application: the greeting.
        Hello = 0x05, "hello", "TCU";
        /// TC-UNI.
        Uni = 0x10, "uni", "Q.771 §3.1.1";
        /// TC-BEGIN.
        Begin = 0x11, "begin", "Q.771 §3.1.2";
        /// TC-CONTINUE.
        Continue = 0x12, "continue", "Q.771 §3.1.2";
        /// TC-END.
        End = 0x13, "end", "Q.771 §3.1.2";
        /// TC-U-ABORT.
        UAbort = 0x14, "u-abort", "Q.771 §3.1.2";
        /// TC-P-ABORT.
        PAbort = 0x15, "p-abort", "Q.771 §3.1.4";
        /// TC-NOTICE.
        Notice = 0x16, "notice", "Q.771 §3.1.2";
        /// TC-L-REJECT.
        LocalReject = 0x17, "l-reject", "Q.771 §3.1.3";
        /// TC-L-CANCEL.
        LocalCancel = 0x18, "l-cancel", "Q.771 §3.1.3";
        /// TC-U-CANCEL.
        UserCancel = 0x19, "u-cancel", "Q.771 §3.1.3";
        /// TC-TIMER-RESET.
        TimerReset = 0x1a, "timer-reset", "Q.771 §3.1.3";
        /// N-STATE.
        State = 0x20, "n-state", "Q.711 §6.3.3";
        /// N-PCSTATE.
        PointCode = 0x21, "n-pcstate", "Q.711 §6.3.3";
        /// A dialogue was begun.
        Begun = 0x30, "begun", "TCU";
        /// A request was not carried out.
        Refused = 0x31, "refused", "TCU";
        /// A dialogue goes on at another instance.
        Resume = 0x32, "resume", "TCU";
        /// More waits than the instance reads.
        Slow = 0x33, "slow", "TCU";
        /// The application's state of a dialogue.
        Keep = 0x34, "keep", "TCU";
        /// N-CONNECT, request and indication.
        NetworkConnect = 0x40, "n-connect", "Q.711 §6.2.2";
        /// A connection that was asked for has a number.
        NetworkConnecting = 0x41, "n-connecting", "TCU";
        /// N-CONNECT response.
        NetworkAccept = 0x42, "n-accept", "Q.711 §6.2.2";
        /// N-CONNECT confirm.
        NetworkConnected = 0x43, "n-connected", "Q.711 §6.2.2";
        /// N-DATA.
        NetworkData = 0x44, "n-data", "Q.711 §6.2.3";
        /// N-EXPEDITED-DATA.
        NetworkExpedited = 0x45, "n-expedited-data", "Q.711 §6.2.4";
        /// N-RESET, request and indication.
        NetworkReset = 0x46, "n-reset", "Q.711 §6.2.5";
        /// N-RESET response.
        NetworkResetResponse = 0x47, "n-reset-response", "Q.711 §6.2.5";
        /// N-RESET confirm.
        NetworkResetConfirm = 0x48, "n-reset-confirm", "Q.711 §6.2.5";
        /// N-DISCONNECT.
        NetworkDisconnect = 0x49, "n-disconnect", "Q.711 §6.2.6";
        /// N-INFORM.
        NetworkInform = 0x4a, "n-inform", "Q.711 §6.2.7";
        /// Data of a connection were not sent.
        NetworkNotSent = 0x4b, "n-not-sent", "TCU";
        /// N-UNITDATA.
        NetworkUnitdata = 0x4c, "n-unitdata", "Q.711 §6.3.2";
        /// N-NOTICE.
        NetworkNotice = 0x4d, "n-notice", "Q.711 §6.3.2";
        /// A connection goes on at another node.
        NetworkResume = 0x4e, "n-resume", "TCU";
    }
}

wire::rows! {
    /// What a field is.
    pub enum Tag: u8 {
        /// 8 octets.
        Dialogue = 1, "dialogue", "TCU";
        /// 8 octets.
        Reference = 2, "reference", "TCU";
        /// As in Q.713 §3.4.
        Called = 3, "called", "Q.713 §3.4";
        /// As in Q.713 §3.5.
        Calling = 4, "calling", "Q.713 §3.5";
        /// Contents octets of an object identifier.
        Context = 5, "context", "Q.773 §4.2";
        /// EXTERNALs.
        UserInformation = 6, "user information", "Q.773 §4.2";
        /// Fields within.
        Component = 7, "component", "Q.773 §3.4";
        /// Up to 256 octets.
        State = 8, "state", "TCU";
        /// No octets: another instance was told before.
        Again = 9, "again", "TCU";
        /// No octets.
        Prearranged = 10, "prearranged", "Q.771 §3.1.2";
        /// Who refused, and the number of the diagnostic: 1 and 8 octets.
        Diagnostic = 11, "diagnostic", "Q.773 §4.2.2";
        /// One octet, or 8 in TC-P-ABORT.
        Cause = 12, "cause", "Q.773 §3.3";
        /// Context tag and number: 1 and 8 octets.
        Problem = 13, "problem", "Q.773 §3.7";
        /// One octet.
        InvokeId = 14, "invoke", "Q.773 §3.5";
        /// One octet.
        Linked = 15, "linked", "Q.773 §3.5";
        /// 8 octets.
        Local = 16, "local code", "Q.773 §3.5";
        /// Contents octets of an object identifier.
        Global = 17, "global code", "Q.773 §3.5";
        /// An element.
        Parameter = 18, "parameter", "Q.773 §3.5";
        /// One octet.
        Class = 19, "class", "Q.771 §2.2.1.1.1";
        /// Milliseconds, 4 octets.
        Time = 20, "time", "Q.771 §3.1.3";
        /// What a component is: one octet, the number of its tag in Q.773.
        ComponentKind = 21, "component's kind", "Q.773 §3.4";
        /// 4 octets.
        PointCode = 22, "point code", "Q.704 §2";
        /// One octet.
        Subsystem = 23, "subsystem", "Q.713 §3.4.2.2";
        /// One octet: 0 or 1.
        Is = 24, "is", "TCU";
        /// One octet.
        Version = 25, "version", "TCU";
        /// A text.
        Application = 26, "application", "TCU";
        /// A text.
        Group = 27, "group", "TCU";
        /// A text.
        Instance = 28, "instance", "TCU";
        /// 32 octets.
        Proof = 29, "proof", "TCU";
        /// A text.
        Function = 30, "function", "TCU";
        /// A text.
        What = 31, "what", "TCU";
        /// 4 octets.
        At = 32, "at", "TCU";
        /// 4 octets.
        MessageOctetsMax = 33, "message octets", "TCU";
        /// 4 octets.
        StateOctetsMax = 34, "state octets", "TCU";
        /// One octet: see the order in `Refusal`.
        Why = 35, "why", "TCU";
        /// One octet: 0 for TC-P-ABORT by a number, 1 to 3 for what TCAP here says.
        By = 36, "by", "TCU";
        /// One octet.
        Level = 37, "level", "Q.711 §6.3.3";
        /// 4 octets.
        Connection = 38, "connection", "Q.711 §6.2";
        /// Octets.
        Data = 39, "data", "Q.711 §6.2";
    }
}
