//! The application contexts of MAP: number, name, and for each version the operations that
//! initiator
//! and responder may invoke (TS 29.002 §17.2, §17.3).

use crate::operation::Operation;

/// The octets in front of context and version: 0.4.0.0.1.0, map-ac (TS 29.002 §17.3.3).
const MAP_AC: [u8; 5] = [4, 0, 0, 1, 0];

/// A version of an application context.
#[derive(Debug, Clone, Copy)]
pub struct Version {
    /// 1 to 4.
    pub version: u8,
    /// What the side that begins the dialogue may invoke.
    pub initiator: &'static [Operation],
    /// What the other side may invoke.
    pub responder: &'static [Operation],
}

macro_rules! contexts {
    ($($row:ident = $number:literal, $asn:literal, $spec:literal {
        $($version:literal [$($ours:ident),*] [$($theirs:ident),*];)+
    })+) => {
        /// An application context.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Context { $(#[doc = concat!("`", $asn, "` (", $spec, ").")] $row),+ }

        impl Context {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$row),+];

            /// The number behind map-ac in its object identifier.
            #[must_use]
            pub const fn number(self) -> u8 {
                match self { $(Self::$row => $number),+ }
            }

            /// The context of that number.
            #[must_use]
            pub const fn of(number: u8) -> Option<Self> {
                match number { $($number => Some(Self::$row),)+ _ => None }
            }

            /// The name as the specification writes it, without the version.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$row => $asn),+ }
            }

            /// Document and section.
            #[must_use]
            pub const fn spec(self) -> &'static str {
                match self { $(Self::$row => $spec),+ }
            }

            /// Its versions, the highest first.
            #[must_use]
            pub const fn versions(self) -> &'static [Version] {
                match self { $(Self::$row => const { &[$(Version {
                    version: $version,
                    initiator: &[$(Operation::$ours),*],
                    responder: &[$(Operation::$theirs),*],
                }),+] }),+ }
            }
        }
    };
}

impl Context {
    /// That version, if there is one.
    #[must_use]
    pub fn version(self, version: u8) -> Option<&'static Version> {
        self.versions().iter().find(|it| it.version == version)
    }

    /// The contents octets of the object identifier of that version.
    #[must_use]
    pub const fn oid(self, version: u8) -> [u8; 7] {
        let [a, b, c, d, e] = MAP_AC;
        [a, b, c, d, e, self.number(), version]
    }

    /// Context and version of an object identifier by its contents octets; the version may be one
    /// that there is not.
    #[must_use]
    pub fn of_oid(contents: &[u8]) -> Option<(Self, u8)> {
        match contents.strip_prefix(&MAP_AC)? {
            [number, version] => Some((Self::of(*number)?, *version)),
            _ => None,
        }
    }

    /// The context whose version 1 has the services of this one: a few are part of others there.
    #[must_use]
    pub fn in_version_1(self) -> Option<Self> {
        match self {
            Self::InterVlrInfoRetrieval => Some(Self::InfoRetrieval),
            Self::NetworkUnstructuredSs => Some(Self::NetworkFunctionalSs),
            Self::ShortMsgMtRelay => Some(Self::ShortMsgMoRelay),
            other => other.version(1).map(|_| other),
        }
    }
}

contexts! {
    NetworkLocUp = 1, "networkLocUpContext", "TS 29.002 §17.3.2.2" {
        3
            [UpdateLocation, RestoreData]
            [ForwardCheckSsIndication, InsertSubscriberData, ActivateTraceMode];
        2
            [UpdateLocation, RestoreData]
            [ForwardCheckSsIndication, InsertSubscriberData, ActivateTraceMode];
        1
            [UpdateLocation, SendParameters]
            [ForwardCheckSsIndication, InsertSubscriberData, ActivateTraceMode];
    }
    LocationCancellation = 2, "locationCancellationContext", "TS 29.002 §17.3.2.3" {
        3 [CancelLocation] [];
        2 [CancelLocation] [];
        1 [CancelLocation] [];
    }
    RoamingNumberEnquiry = 3, "roamingNumberEnquiryContext", "TS 29.002 §17.3.2.4" {
        3 [ProvideRoamingNumber] [];
        2 [ProvideRoamingNumber] [];
        1 [ProvideRoamingNumber] [];
    }
    IstAlerting = 4, "istAlertingContext", "TS 29.002 §17.3.2.44" {
        3 [IstAlert] [];
    }
    LocationInfoRetrieval = 5, "locationInfoRetrievalContext", "TS 29.002 §17.3.2.6" {
        3 [SendRoutingInfo] [];
        2 [SendRoutingInfo] [];
        1 [SendRoutingInfo] [];
    }
    CallControlTransfer = 6, "callControlTransferContext", "TS 29.002 §17.3.2.7" {
        4 [ResumeCallHandling] [];
        3 [ResumeCallHandling] [];
    }
    Reporting = 7, "reportingContext", "TS 29.002 §17.3.2.37" {
        3 [SetReportingState, StatusReport, RemoteUserFree] [SetReportingState, StatusReport];
    }
    CallCompletion = 8, "callCompletionContext", "TS 29.002 §17.3.2.38" {
        3 [RegisterCcEntry, EraseCcEntry] [];
    }
    ServiceTermination = 9, "serviceTerminationContext", "TS 29.002 §17.3.2.45" {
        3 [IstCommand] [];
    }
    Reset = 10, "resetContext", "TS 29.002 §17.3.2.11" {
        3 [Reset] [];
        2 [Reset] [];
        1 [Reset] [];
    }
    HandoverControl = 11, "handoverControlContext", "TS 29.002 §17.3.2.12" {
        3
            [PrepareHandover, ForwardAccessSignalling]
            [SendEndSignal, ProcessAccessSignalling, PrepareSubsequentHandover];
        2
            [PrepareHandover, ForwardAccessSignalling]
            [SendEndSignal, ProcessAccessSignalling, PrepareSubsequentHandover];
        1
            [PerformHandover, ForwardAccessSignalling, TraceSubscriberActivity]
            [SendEndSignal, NoteInternalHandover, ProcessAccessSignalling,
             PerformSubsequentHandover];
    }
    EquipmentMngt = 13, "equipmentMngtContext", "TS 29.002 §17.3.2.14" {
        3 [CheckImei] [];
        2 [CheckImei] [];
        1 [CheckImei] [];
    }
    InfoRetrieval = 14, "infoRetrievalContext", "TS 29.002 §17.3.2.15" {
        3 [SendAuthenticationInfo] [];
        2 [SendAuthenticationInfo] [];
        1 [SendParameters] [];
    }
    InterVlrInfoRetrieval = 15, "interVlrInfoRetrievalContext", "TS 29.002 §17.3.2.16" {
        3 [SendIdentification] [];
        2 [SendIdentification] [];
    }
    SubscriberDataMngt = 16, "subscriberDataMngtContext", "TS 29.002 §17.3.2.17" {
        3 [InsertSubscriberData, DeleteSubscriberData] [];
        2 [InsertSubscriberData, DeleteSubscriberData] [];
        1 [InsertSubscriberData, DeleteSubscriberData] [];
    }
    Tracing = 17, "tracingContext", "TS 29.002 §17.3.2.18" {
        3 [ActivateTraceMode, DeactivateTraceMode] [];
        2 [ActivateTraceMode, DeactivateTraceMode] [];
        1 [ActivateTraceMode, DeactivateTraceMode] [];
    }
    NetworkFunctionalSs = 18, "networkFunctionalSsContext", "TS 29.002 §17.3.2.19" {
        2
            [RegisterSs, EraseSs, ActivateSs, DeactivateSs, RegisterPassword, InterrogateSs]
            [GetPassword];
        1
            [RegisterSs, EraseSs, ActivateSs, DeactivateSs, RegisterPassword, InterrogateSs,
             ProcessUnstructuredSsData, BeginSubscriberActivity]
            [GetPassword];
    }
    NetworkUnstructuredSs = 19, "networkUnstructuredSsContext", "TS 29.002 §17.3.2.20" {
        2
            [ProcessUnstructuredSsRequest, UnstructuredSsRequest, UnstructuredSsNotify]
            [ProcessUnstructuredSsRequest, UnstructuredSsRequest, UnstructuredSsNotify];
    }
    ShortMsgGateway = 20, "shortMsgGatewayContext", "TS 29.002 §17.3.2.21" {
        3 [SendRoutingInfoForSm, ReportSmDeliveryStatus] [InformServiceCentre];
        2 [SendRoutingInfoForSm, ReportSmDeliveryStatus] [InformServiceCentre];
        1 [SendRoutingInfoForSm, ReportSmDeliveryStatus] [];
    }
    ShortMsgMoRelay = 21, "shortMsgMO-RelayContext", "TS 29.002 §17.3.2.22" {
        3 [MoForwardSm] [];
        2 [MoForwardSm] [];
        1 [MoForwardSm] [];
    }
    SubscriberDataModificationNotification = 22,
        "subscriberDataModificationNotificationContext", "TS 29.002 §17.3.2.48" {
        3 [NoteSubscriberDataModified] [];
    }
    ShortMsgAlert = 23, "shortMsgAlertContext", "TS 29.002 §17.3.2.24" {
        2 [AlertServiceCentre] [];
        1 [AlertServiceCentreWithoutResult] [];
    }
    MwdMngt = 24, "mwdMngtContext", "TS 29.002 §17.3.2.25" {
        3 [ReadyForSm] [];
        2 [ReadyForSm] [];
        1 [NoteSubscriberPresent] [];
    }
    ShortMsgMtRelay = 25, "shortMsgMT-RelayContext", "TS 29.002 §17.3.2.26" {
        3 [MtForwardSm] [];
        2 [MoForwardSm] [];
    }
    ImsiRetrieval = 26, "imsiRetrievalContext", "TS 29.002 §17.3.2.13" {
        2 [SendImsi] [];
    }
    MsPurging = 27, "msPurgingContext", "TS 29.002 §17.3.2.27" {
        3 [PurgeMs] [];
        2 [PurgeMs] [];
    }
    SubscriberInfoEnquiry = 28, "subscriberInfoEnquiryContext", "TS 29.002 §17.3.2.28" {
        3 [ProvideSubscriberInfo] [];
    }
    AnyTimeInfoEnquiry = 29, "anyTimeInfoEnquiryContext", "TS 29.002 §17.3.2.29" {
        3 [AnyTimeInterrogation] [];
    }
    GroupCallControl = 31, "groupCallControlContext", "TS 29.002 §17.3.2.30" {
        3
            [PrepareGroupCall, ForwardGroupCallSignalling]
            [SendGroupCallEndSignal, ProcessGroupCallSignalling];
    }
    GprsLocationUpdate = 32, "gprsLocationUpdateContext", "TS 29.002 §17.3.2.32" {
        3 [UpdateGprsLocation] [InsertSubscriberData, ActivateTraceMode];
    }
    GprsLocationInfoRetrieval = 33, "gprsLocationInfoRetrievalContext", "TS 29.002 §17.3.2.33" {
        4 [SendRoutingInfoForGprs] [];
        3 [SendRoutingInfoForGprs] [];
    }
    FailureReport = 34, "failureReportContext", "TS 29.002 §17.3.2.34" {
        3 [FailureReport] [];
    }
    GprsNotify = 35, "gprsNotifyContext", "TS 29.002 §17.3.2.35" {
        3 [NoteMsPresentForGprs] [];
    }
    SsInvocationNotification = 36, "ss-InvocationNotificationContext", "TS 29.002 §17.3.2.36" {
        3 [SsInvocationNotification] [];
    }
    LocationSvcGateway = 37, "locationSvcGatewayContext", "TS 29.002 §17.3.2.39" {
        3 [SendRoutingInfoForLcs] [];
    }
    LocationSvcEnquiry = 38, "locationSvcEnquiryContext", "TS 29.002 §17.3.2.40" {
        3 [ProvideSubscriberLocation, SubscriberLocationReport] [];
    }
    AuthenticationFailureReport = 39, "authenticationFailureReportContext", "TS 29.002 §17.3.2.49" {
        3 [AuthenticationFailureReport] [];
    }
    ShortMsgMtRelayVgcs = 41, "shortMsgMT-Relay-VGCS-Context", "TS 29.002 §17.3.2.51" {
        3 [MtForwardSmVgcs] [];
    }
    MmEventReporting = 42, "mm-EventReportingContext", "TS 29.002 §17.3.2.46" {
        3 [NoteMmEvent] [];
    }
    AnyTimeInfoHandling = 43, "anyTimeInfoHandlingContext", "TS 29.002 §17.3.2.47" {
        3 [AnyTimeSubscriptionInterrogation, AnyTimeModification] [];
    }
    ResourceManagement = 44, "resourceManagementContext", "TS 29.002 §17.3.2.50" {
        3 [ReleaseResources] [];
    }
    GroupCallInfoRetrieval = 45, "groupCallInfoRetrievalContext", "TS 29.002 §17.3.2.30A" {
        3 [SendGroupCallInfo] [];
    }
    VcsgLocationUpdate = 46, "vcsgLocationUpdateContext", "TS 29.002 §17.3.2.52" {
        3 [UpdateVcsgLocation] [InsertSubscriberData];
    }
    VcsgLocationCancel = 47, "vcsgLocationCancellationContext", "TS 29.002 §17.3.2.53" {
        3 [CancelVcsgLocation] [];
    }
}
