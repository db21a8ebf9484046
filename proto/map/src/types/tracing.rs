//! Operation and maintenance: tracing (TS 29.002 §17.7.2).

use super::identities::{
    AddressString, EUtranCgi, ExtensionContainer, GlobalCellId, GsnAddress, Imsi, LaiFixedLength,
    PlmnId, RaIdentity, TaId,
};
use ber::{BitString, Integer, Null, OctetString, SequenceOf};

ber::named! {
    pub TraceReference = "TraceReference", "TS 29.002 §17.7.2", OctetString<1, 2>;
    pub TraceType = "TraceType", "TS 29.002 §17.7.2", Integer<0, 255>;
    pub TraceReference2 = "TraceReference2", "TS 29.002 §17.7.2", OctetString<3, 3>;
    pub TraceRecordingSessionReference =
        "TraceRecordingSessionReference", "TS 29.002 §17.7.2",
        OctetString<2, 2>;
}

ber::enumerated! {
    pub enum TraceDepth: "TraceDepth", "TS 29.002 §17.7.2" {
        Minimum = 0, "minimum";
        Medium = 1, "medium";
        Maximum = 2, "maximum";
        ...
    }
}

ber::named! {
    pub RncInterfaceList = "RNC-InterfaceList", "TS 29.002 §17.7.2", BitString<4, 8>;
    pub MscSInterfaceList = "MSC-S-InterfaceList", "TS 29.002 §17.7.2", BitString<10, 16>;
    pub MscSEventList = "MSC-S-EventList", "TS 29.002 §17.7.2", BitString<5, 16>;
    pub MgwInterfaceList = "MGW-InterfaceList", "TS 29.002 §17.7.2", BitString<3, 8>;
    pub MgwEventList = "MGW-EventList", "TS 29.002 §17.7.2", BitString<1, 8>;
}

ber::enumerated! {
    pub enum TraceDepthExtension: "TraceDepthExtension", "TS 29.002 §17.7.2" {
        MinimumWithoutVendorSpecificExtension = 0, "minimumWithoutVendorSpecificExtension";
        MediumWithoutVendorSpecificExtension = 1, "mediumWithoutVendorSpecificExtension";
        MaximumWithoutVendorSpecificExtension = 2, "maximumWithoutVendorSpecificExtension";
        ...
    }
}

ber::sequence! {
    pub enum TracePropagationList = "TracePropagationList", "TS 29.002 §17.7.2" {
        TraceReference = "traceReference", TraceReference [0], optional;
        TraceType = "traceType", TraceType [1], optional;
        TraceReference2 = "traceReference2", TraceReference2 [2], optional;
        TraceRecordingSessionReference =
            "traceRecordingSessionReference", TraceRecordingSessionReference [3], optional;
        RncTraceDepth = "rnc-TraceDepth", TraceDepth [4], optional;
        RncInterfaceList = "rnc-InterfaceList", RncInterfaceList [5], optional;
        MscSTraceDepth = "msc-s-TraceDepth", TraceDepth [6], optional;
        MscSInterfaceList = "msc-s-InterfaceList", MscSInterfaceList [7], optional;
        MscSEventList = "msc-s-EventList", MscSEventList [8], optional;
        MgwTraceDepth = "mgw-TraceDepth", TraceDepth [9], optional;
        MgwInterfaceList = "mgw-InterfaceList", MgwInterfaceList [10], optional;
        MgwEventList = "mgw-EventList", MgwEventList [11], optional;
        RncTraceDepthExtension = "rnc-TraceDepthExtension", TraceDepthExtension [12], optional;
        MscSTraceDepthExtension = "msc-s-TraceDepthExtension", TraceDepthExtension [13], optional;
        MgwTraceDepthExtension = "mgw-TraceDepthExtension", TraceDepthExtension [14], optional;
        ...
    }
}

ber::sequence! {
    pub enum TraceDepthList = "TraceDepthList", "TS 29.002 §17.7.2" {
        MscSTraceDepth = "msc-s-TraceDepth", TraceDepth [0], optional;
        MgwTraceDepth = "mgw-TraceDepth", TraceDepth [1], optional;
        SgsnTraceDepth = "sgsn-TraceDepth", TraceDepth [2], optional;
        GgsnTraceDepth = "ggsn-TraceDepth", TraceDepth [3], optional;
        RncTraceDepth = "rnc-TraceDepth", TraceDepth [4], optional;
        BmscTraceDepth = "bmsc-TraceDepth", TraceDepth [5], optional;
        MmeTraceDepth = "mme-TraceDepth", TraceDepth [6], optional;
        SgwTraceDepth = "sgw-TraceDepth", TraceDepth [7], optional;
        PgwTraceDepth = "pgw-TraceDepth", TraceDepth [8], optional;
        ENbTraceDepth = "eNB-TraceDepth", TraceDepth [9], optional;
        MscSTraceDepthExtension = "msc-s-TraceDepthExtension", TraceDepthExtension [10], optional;
        MgwTraceDepthExtension = "mgw-TraceDepthExtension", TraceDepthExtension [11], optional;
        SgsnTraceDepthExtension = "sgsn-TraceDepthExtension", TraceDepthExtension [12], optional;
        GgsnTraceDepthExtension = "ggsn-TraceDepthExtension", TraceDepthExtension [13], optional;
        RncTraceDepthExtension = "rnc-TraceDepthExtension", TraceDepthExtension [14], optional;
        BmscTraceDepthExtension = "bmsc-TraceDepthExtension", TraceDepthExtension [15], optional;
        MmeTraceDepthExtension = "mme-TraceDepthExtension", TraceDepthExtension [16], optional;
        SgwTraceDepthExtension = "sgw-TraceDepthExtension", TraceDepthExtension [17], optional;
        PgwTraceDepthExtension = "pgw-TraceDepthExtension", TraceDepthExtension [18], optional;
        ENbTraceDepthExtension = "eNB-TraceDepthExtension", TraceDepthExtension [19], optional;
        ...
    }
}

ber::named! {
    pub TraceNeTypeList = "TraceNE-TypeList", "TS 29.002 §17.7.2", BitString<6, 16>;
    pub SgsnInterfaceList = "SGSN-InterfaceList", "TS 29.002 §17.7.2", BitString<8, 16>;
    pub GgsnInterfaceList = "GGSN-InterfaceList", "TS 29.002 §17.7.2", BitString<3, 8>;
    pub BmscInterfaceList = "BMSC-InterfaceList", "TS 29.002 §17.7.2", BitString<1, 8>;
    pub MmeInterfaceList = "MME-InterfaceList", "TS 29.002 §17.7.2", BitString<5, 8>;
    pub SgwInterfaceList = "SGW-InterfaceList", "TS 29.002 §17.7.2", BitString<5, 8>;
    pub PgwInterfaceList = "PGW-InterfaceList", "TS 29.002 §17.7.2", BitString<8, 16>;
    pub EnbInterfaceList = "ENB-InterfaceList", "TS 29.002 §17.7.2", BitString<3, 8>;
}

ber::sequence! {
    pub enum TraceInterfaceList = "TraceInterfaceList", "TS 29.002 §17.7.2" {
        MscSList = "msc-s-List", MscSInterfaceList [0], optional;
        MgwList = "mgw-List", MgwInterfaceList [1], optional;
        SgsnList = "sgsn-List", SgsnInterfaceList [2], optional;
        GgsnList = "ggsn-List", GgsnInterfaceList [3], optional;
        RncList = "rnc-List", RncInterfaceList [4], optional;
        BmscList = "bmsc-List", BmscInterfaceList [5], optional;
        MmeList = "mme-List", MmeInterfaceList [6], optional;
        SgwList = "sgw-List", SgwInterfaceList [7], optional;
        PgwList = "pgw-List", PgwInterfaceList [8], optional;
        ENbList = "eNB-List", EnbInterfaceList [9], optional;
        ...
    }
}

ber::named! {
    pub SgsnEventList = "SGSN-EventList", "TS 29.002 §17.7.2", BitString<4, 16>;
    pub GgsnEventList = "GGSN-EventList", "TS 29.002 §17.7.2", BitString<2, 8>;
    pub BmscEventList = "BMSC-EventList", "TS 29.002 §17.7.2", BitString<1, 8>;
    pub MmeEventList = "MME-EventList", "TS 29.002 §17.7.2", BitString<6, 8>;
    pub SgwEventList = "SGW-EventList", "TS 29.002 §17.7.2", BitString<3, 8>;
    pub PgwEventList = "PGW-EventList", "TS 29.002 §17.7.2", BitString<3, 8>;
}

ber::sequence! {
    pub enum TraceEventList = "TraceEventList", "TS 29.002 §17.7.2" {
        MscSList = "msc-s-List", MscSEventList [0], optional;
        MgwList = "mgw-List", MgwEventList [1], optional;
        SgsnList = "sgsn-List", SgsnEventList [2], optional;
        GgsnList = "ggsn-List", GgsnEventList [3], optional;
        BmscList = "bmsc-List", BmscEventList [4], optional;
        MmeList = "mme-List", MmeEventList [5], optional;
        SgwList = "sgw-List", SgwEventList [6], optional;
        PgwList = "pgw-List", PgwEventList [7], optional;
        ...
    }
}

ber::enumerated! {
    pub enum JobType: "JobType", "TS 29.002 §17.7.2" {
        ImmediateMdtOnly = 0, "immediate-MDT-only";
        LoggedMdtOnly = 1, "logged-MDT-only";
        TraceOnly = 2, "trace-only";
        ImmediateMdtAndTrace = 3, "immediate-MDT-and-trace";
    }
}

ber::named! {
    pub CgiList = "CGI-List", "TS 29.002 §17.7.2", SequenceOf<GlobalCellId, 1, 32>;
    pub EUtranCgiList = "E-UTRAN-CGI-List", "TS 29.002 §17.7.2", SequenceOf<EUtranCgi, 1, 32>;
    pub RoutingAreaIdList =
        "RoutingAreaId-List", "TS 29.002 §17.7.2",
        SequenceOf<RaIdentity, 1, 8>;
    pub LocationAreaIdList =
        "LocationAreaId-List", "TS 29.002 §17.7.2",
        SequenceOf<LaiFixedLength, 1, 8>;
    pub TrackingAreaIdList = "TrackingAreaId-List", "TS 29.002 §17.7.2", SequenceOf<TaId, 1, 8>;
}

ber::sequence! {
    pub enum AreaScope = "AreaScope", "TS 29.002 §17.7.2" {
        CgiList = "cgi-List", CgiList [0], optional;
        EUtranCgiList = "e-utran-cgi-List", EUtranCgiList [1], optional;
        RoutingAreaIdList = "routingAreaId-List", RoutingAreaIdList [2], optional;
        LocationAreaIdList = "locationAreaId-List", LocationAreaIdList [3], optional;
        TrackingAreaIdList = "trackingAreaId-List", TrackingAreaIdList [4], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [5], optional;
        ...
    }
}

ber::named! {
    pub ListOfMeasurements = "ListOfMeasurements", "TS 29.002 §17.7.2", OctetString<4, 4>;
    pub ReportingTrigger = "ReportingTrigger", "TS 29.002 §17.7.2", OctetString<1, 1>;
}

ber::enumerated! {
    pub enum ReportInterval: "ReportInterval", "TS 29.002 §17.7.2" {
        Umts250ms = 0, "umts250ms";
        Umts500ms = 1, "umts500ms";
        Umts1000ms = 2, "umts1000ms";
        Umts2000ms = 3, "umts2000ms";
        Umts3000ms = 4, "umts3000ms";
        Umts4000ms = 5, "umts4000ms";
        Umts6000ms = 6, "umts6000ms";
        Umts8000ms = 7, "umts8000ms";
        Umts12000ms = 8, "umts12000ms";
        Umts16000ms = 9, "umts16000ms";
        Umts20000ms = 10, "umts20000ms";
        Umts24000ms = 11, "umts24000ms";
        Umts28000ms = 12, "umts28000ms";
        Umts32000ms = 13, "umts32000ms";
        Umts64000ms = 14, "umts64000ms";
        Lte120ms = 15, "lte120ms";
        Lte240ms = 16, "lte240ms";
        Lte480ms = 17, "lte480ms";
        Lte640ms = 18, "lte640ms";
        Lte1024ms = 19, "lte1024ms";
        Lte2048ms = 20, "lte2048ms";
        Lte5120ms = 21, "lte5120ms";
        Lte10240ms = 22, "lte10240ms";
        Lte1min = 23, "lte1min";
        Lte6min = 24, "lte6min";
        Lte12min = 25, "lte12min";
        Lte30min = 26, "lte30min";
        Lte60min = 27, "lte60min";
    }
}

ber::enumerated! {
    pub enum ReportAmount: "ReportAmount", "TS 29.002 §17.7.2" {
        D1 = 0, "d1";
        D2 = 1, "d2";
        D4 = 2, "d4";
        D8 = 3, "d8";
        D16 = 4, "d16";
        D32 = 5, "d32";
        D64 = 6, "d64";
        Infinity = 7, "infinity";
    }
}

ber::named! {
    pub EventThresholdRsrp = "EventThresholdRSRP", "TS 29.002 §17.7.2", Integer<0, 97>;
    pub EventThresholdRsrq = "EventThresholdRSRQ", "TS 29.002 §17.7.2", Integer<0, 34>;
}

ber::enumerated! {
    pub enum LoggingInterval: "LoggingInterval", "TS 29.002 §17.7.2" {
        D1dot28 = 0, "d1dot28";
        D2dot56 = 1, "d2dot56";
        D5dot12 = 2, "d5dot12";
        D10dot24 = 3, "d10dot24";
        D20dot48 = 4, "d20dot48";
        D30dot72 = 5, "d30dot72";
        D40dot96 = 6, "d40dot96";
        D61dot44 = 7, "d61dot44";
    }
}

ber::enumerated! {
    pub enum LoggingDuration: "LoggingDuration", "TS 29.002 §17.7.2" {
        D600sec = 0, "d600sec";
        D1200sec = 1, "d1200sec";
        D2400sec = 2, "d2400sec";
        D3600sec = 3, "d3600sec";
        D5400sec = 4, "d5400sec";
        D7200sec = 5, "d7200sec";
    }
}

ber::enumerated! {
    pub enum PeriodUmts: "PeriodUMTS", "TS 29.002 §17.7.2" {
        D250ms = 0, "d250ms";
        D500ms = 1, "d500ms";
        D1000ms = 2, "d1000ms";
        D2000ms = 3, "d2000ms";
        D3000ms = 4, "d3000ms";
        D4000ms = 5, "d4000ms";
        D6000ms = 6, "d6000ms";
        D8000ms = 7, "d8000ms";
        D12000ms = 8, "d12000ms";
        D16000ms = 9, "d16000ms";
        D20000ms = 10, "d20000ms";
        D24000ms = 11, "d24000ms";
        D28000ms = 12, "d28000ms";
        D32000ms = 13, "d32000ms";
        D64000ms = 14, "d64000ms";
    }
}

ber::enumerated! {
    pub enum PeriodLte: "PeriodLTE", "TS 29.002 §17.7.2" {
        D1024ms = 0, "d1024ms";
        D1280ms = 1, "d1280ms";
        D2048ms = 2, "d2048ms";
        D2560ms = 3, "d2560ms";
        D5120ms = 4, "d5120ms";
        D10240ms = 5, "d10240ms";
        D1min = 6, "d1min";
    }
}

ber::named! {
    pub PositioningMethod = "PositioningMethod", "TS 29.002 §17.7.2", OctetString<1, 1>;
    pub MeasurementQuantity = "MeasurementQuantity", "TS 29.002 §17.7.2", OctetString<1, 1>;
    pub EventThreshold1F = "EventThreshold1F", "TS 29.002 §17.7.2", Integer<{ -120 }, 165>;
    pub EventThreshold1I = "EventThreshold1I", "TS 29.002 §17.7.2", Integer<{ -120 }, { -25 }>;
    pub MdtAllowedPlmnIdList =
        "MDT-Allowed-PLMNId-List", "TS 29.002 §17.7.2",
        SequenceOf<PlmnId, 1, 16>;
}

ber::sequence! {
    pub enum MdtConfiguration = "MDT-Configuration", "TS 29.002 §17.7.2" {
        JobType = "jobType", JobType;
        AreaScope = "areaScope", AreaScope, optional;
        ListOfMeasurements = "listOfMeasurements", ListOfMeasurements, optional;
        ReportingTrigger = "reportingTrigger", ReportingTrigger [0], optional;
        ReportInterval = "reportInterval", ReportInterval, optional;
        ReportAmount = "reportAmount", ReportAmount [1], optional;
        EventThresholdRsrp = "eventThresholdRSRP", EventThresholdRsrp, optional;
        EventThresholdRsrq = "eventThresholdRSRQ", EventThresholdRsrq [2], optional;
        LoggingInterval = "loggingInterval", LoggingInterval [3], optional;
        LoggingDuration = "loggingDuration", LoggingDuration [4], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [5], optional;
        MeasurementPeriodUmts = "measurementPeriodUMTS", PeriodUmts [6], optional;
        MeasurementPeriodLte = "measurementPeriodLTE", PeriodLte [7], optional;
        CollectionPeriodRrmUmts = "collectionPeriodRRM-UMTS", PeriodUmts [8], optional;
        CollectionPeriodRrmLte = "collectionPeriodRRM-LTE", PeriodLte [9], optional;
        PositioningMethod = "positioningMethod", PositioningMethod [10], optional;
        MeasurementQuantity = "measurementQuantity", MeasurementQuantity [11], optional;
        EventThreshold1F = "eventThreshold1F", EventThreshold1F [12], optional;
        EventThreshold1I = "eventThreshold1I", EventThreshold1I [13], optional;
        MdtAllowedPlmnList = "mdt-Allowed-PLMN-List", MdtAllowedPlmnIdList [14], optional;
        ...
    }
}

ber::sequence! {
    pub enum ActivateTraceModeArg = "ActivateTraceModeArg", "TS 29.002 §17.7.2" {
        Imsi = "imsi", Imsi [0], optional;
        TraceReference = "traceReference", TraceReference [1];
        TraceType = "traceType", TraceType [2];
        OmcId = "omc-Id", AddressString [3], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [4], optional;
        TraceReference2 = "traceReference2", TraceReference2 [5], optional;
        TraceDepthList = "traceDepthList", TraceDepthList [6], optional;
        TraceNeTypeList = "traceNE-TypeList", TraceNeTypeList [7], optional;
        TraceInterfaceList = "traceInterfaceList", TraceInterfaceList [8], optional;
        TraceEventList = "traceEventList", TraceEventList [9], optional;
        TraceCollectionEntity = "traceCollectionEntity", GsnAddress [10], optional;
        MdtConfiguration = "mdt-Configuration", MdtConfiguration [11], optional;
        ...
    }
}

ber::sequence! {
    pub enum ActivateTraceModeRes = "ActivateTraceModeRes", "TS 29.002 §17.7.2" {
        ExtensionContainer = "extensionContainer", ExtensionContainer [0], optional;
        TraceSupportIndicator = "traceSupportIndicator", Null [1], optional;
        ...
    }
}

ber::sequence! {
    pub enum DeactivateTraceModeArg = "DeactivateTraceModeArg", "TS 29.002 §17.7.2" {
        Imsi = "imsi", Imsi [0], optional;
        TraceReference = "traceReference", TraceReference [1];
        ExtensionContainer = "extensionContainer", ExtensionContainer [2], optional;
        TraceReference2 = "traceReference2", TraceReference2 [3], optional;
        ...
    }
}

ber::sequence! {
    pub enum DeactivateTraceModeRes = "DeactivateTraceModeRes", "TS 29.002 §17.7.2" {
        ExtensionContainer = "extensionContainer", ExtensionContainer [0], optional;
        ...
    }
}
