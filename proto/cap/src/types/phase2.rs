//! What phases 1 and 2 of CAMEL write otherwise than those behind them (TS 09.78 §6.1): the
//! address of
//! the GMSC has another tag, since information on carriers stood in front of it.

use super::events::EventTypeBcsm;
use super::parties::{
    AdditionalCallingPartyNumber, BearerCapability, CalledPartyBcdNumber, CalledPartyNumber,
    CallingPartyNumber, CallingPartysCategory, Carrier, Cause, CgEncountered, Extensions,
    HighLayerCompatibility, LocationNumber, OriginalCalledPartyId, RedirectingPartyId,
    RedirectionInformation, ServiceInteractionIndicatorsTwo, ServiceKey, TimeAndTimezone,
};
use super::resource::IpsspCapabilities;
use ber::Null;
use map::types::{
    CallReferenceNumber, CugIndex, CugInterlock, ExtBasicServiceCode, Imsi, IsdnAddressString,
    LocationInformation, SubscriberState,
};

ber::sequence! {
    pub enum InitialDpArgExtensionPhase2 = "InitialDPArgExtension", "TS 09.78 §6.1" {
        GmscAddress = "gmscAddress", IsdnAddressString [1], optional;
        ...
    }
}

ber::sequence! {
    pub enum InitialDpArgPhase2 = "InitialDPArg", "TS 09.78 §6.1" {
        ServiceKey = "serviceKey", ServiceKey [0];
        CalledPartyNumber = "calledPartyNumber", CalledPartyNumber [2], optional;
        CallingPartyNumber = "callingPartyNumber", CallingPartyNumber [3], optional;
        CallingPartysCategory = "callingPartysCategory", CallingPartysCategory [5], optional;
        CGEncountered = "cGEncountered", CgEncountered [7], optional;
        IPsspCapabilities = "iPSSPCapabilities", IpsspCapabilities [8], optional;
        LocationNumber = "locationNumber", LocationNumber [10], optional;
        OriginalCalledPartyId = "originalCalledPartyID", OriginalCalledPartyId [12], optional;
        Extensions = "extensions", Extensions [15], optional;
        HighLayerCompatibility = "highLayerCompatibility", HighLayerCompatibility [23], optional;
        AdditionalCallingPartyNumber =
            "additionalCallingPartyNumber", AdditionalCallingPartyNumber [25], optional;
        BearerCapability = "bearerCapability", BearerCapability [27], optional;
        EventTypeBcsm = "eventTypeBCSM", EventTypeBcsm [28], optional;
        RedirectingPartyId = "redirectingPartyID", RedirectingPartyId [29], optional;
        RedirectionInformation = "redirectionInformation", RedirectionInformation [30], optional;
        Cause = "cause", Cause [17], optional;
        ServiceInteractionIndicatorsTwo =
            "serviceInteractionIndicatorsTwo", ServiceInteractionIndicatorsTwo [32], optional;
        Carrier = "carrier", Carrier [37], optional;
        CugIndex = "cug-Index", CugIndex [45], optional;
        CugInterlock = "cug-Interlock", CugInterlock [46], optional;
        CugOutgoingAccess = "cug-OutgoingAccess", Null [47], optional;
        IMsi = "iMSI", Imsi [50], optional;
        SubscriberState = "subscriberState", SubscriberState [51], optional;
        LocationInformation = "locationInformation", LocationInformation [52], optional;
        ExtBasicServiceCode = "ext-basicServiceCode", ExtBasicServiceCode [53], optional;
        CallReferenceNumber = "callReferenceNumber", CallReferenceNumber [54], optional;
        MscAddress = "mscAddress", IsdnAddressString [55], optional;
        CalledPartyBcdNumber = "calledPartyBCDNumber", CalledPartyBcdNumber [56], optional;
        TimeAndTimezone = "timeAndTimezone", TimeAndTimezone [57], optional;
        CallForwardingSsPending = "callForwardingSS-Pending", Null [58], optional;
        InitialDpArgExtension =
            "initialDPArgExtension", InitialDpArgExtensionPhase2 [59], optional;
        ...
    }
}
