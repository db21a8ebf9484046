//! Types of MAP as the tests need them: every shape, tagged in every way.

use ber::{
    Any, BitString, Boolean, Ia5String, Integer, Null, NumericString, ObjectIdentifier,
    OctetString, SequenceOf, SetOf, Utf8String, VisibleString,
};

ber::named! {
    /// Digits with their nature and plan.
    pub AddressString = "AddressString", "TS 29.002 §17.7.8", OctetString<1, 20>;
    /// Digits of a subscriber.
    pub IsdnAddressString = "ISDN-AddressString", "TS 29.002 §17.7.8", OctetString<1, 9>;
    /// Digits of an IMSI.
    pub Imsi = "IMSI", "TS 29.002 §17.7.8", OctetString<3, 8>;
    /// What only its maker reads.
    pub Lmsi = "LMSI", "TS 29.002 §17.7.8", OctetString<4, 4>;
}

ber::sequence! {
    /// Extensions by operators.
    pub enum ExtensionContainer = "ExtensionContainer", "TS 29.002 §17.7.11" {
        Private = "privateExtensionList", SequenceOf<PrivateExtension, 1, 10> [0], optional;
        Pcs = "pcs-Extensions", Any [1], optional;
        ...
    }
}

ber::sequence! {
    /// One of them.
    pub enum PrivateExtension = "PrivateExtension", "TS 29.002 §17.7.11" {
        Id = "extId", ObjectIdentifier;
        Kind = "extType", Any, optional;
    }
}

ber::sequence! {
    /// Argument of sendRoutingInfoForSM.
    pub enum RoutingInfoForSmArg = "RoutingInfoForSM-Arg", "TS 29.002 §17.7.6" {
        Msisdn = "msisdn", IsdnAddressString [0];
        Priority = "sm-RP-PRI", Boolean [1];
        ServiceCentreAddress = "serviceCentreAddress", AddressString [2];
        ExtensionContainer = "extensionContainer", ExtensionContainer [6], optional;
        GprsSupportIndicator = "gprsSupportIndicator", Null [7], optional;
        MessageType = "sm-RP-MTI", Integer<0, 10> [8], optional;
        Entity = "sm-RP-SMEA", OctetString<1, 12> [9], optional;
        ...
    }
}

ber::sequence! {
    /// Where a subscriber is.
    pub enum LocationInfoWithLmsi = "LocationInfoWithLMSI", "TS 29.002 §17.7.6" {
        NetworkNodeNumber = "networkNode-Number", IsdnAddressString [1];
        Lmsi = "lmsi", Lmsi, optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        GprsNodeIndicator = "gprsNodeIndicator", Null [5], optional;
        ...
    }
}

ber::sequence! {
    /// Result of sendRoutingInfoForSM.
    pub enum RoutingInfoForSmRes = "RoutingInfoForSM-Res", "TS 29.002 §17.7.6" {
        Imsi = "imsi", Imsi;
        Location = "locationInfoWithLMSI", LocationInfoWithLmsi [0];
        ExtensionContainer = "extensionContainer", ExtensionContainer [4], optional;
        ...
    }
}

ber::choice! {
    /// How a VLR wants to be charged with data.
    pub enum SuperChargerInfo = "SuperChargerInfo", "TS 29.002 §17.7.1" {
        SendSubscriberData = "sendSubscriberData", Null [0];
        SubscriberDataStored = "subscriberDataStored", OctetString<1, 6> [1];
    }
}

ber::sequence! {
    /// What a VLR can do.
    pub enum VlrCapability = "VLR-Capability", "TS 29.002 §17.7.1" {
        CamelPhases = "supportedCamelPhases", BitString<1, 16> [0], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        SolsaSupport = "solsaSupportIndicator", Null [2], optional;
        SuperCharger =
            "superChargerSupportedInServingNetworkEntity", SuperChargerInfo [3], optional;
        ...
    }
}

ber::sequence! {
    /// Argument of updateLocation.
    pub enum UpdateLocationArg = "UpdateLocationArg", "TS 29.002 §17.7.1" {
        Imsi = "imsi", Imsi;
        MscNumber = "msc-Number", IsdnAddressString [1];
        VlrNumber = "vlr-Number", IsdnAddressString;
        Lmsi = "lmsi", Lmsi [10], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        VlrCapability = "vlr-Capability", VlrCapability [6], optional;
        ...
    }
}

ber::enumerated! {
    /// A fruit; others may come.
    pub enum Fruit: "Fruit", "SHOP §1" {
        /// An apple.
        Apple = 0, "apple";
        /// A pear.
        Pear = 5, "pear";
        ...
    }
}

ber::choice! {
    /// A thing; others may come.
    pub enum Thing = "Thing", "SHOP §2" {
        Fruit = "fruit", Fruit [1];
        Name = "name", Utf8String<0, 30>;
        Far = "far", SequenceOf<Integer<{ i64::MIN }, { i64::MAX }>, 0, 9> [APPLICATION 4000];
        ...
    }
}

ber::set! {
    /// A basket, its things in any order.
    pub enum Basket = "Basket", "SHOP §3" {
        Things = "things", SetOf<Thing, 0, 5> [0];
        Label = "label", VisibleString<1, 10> [1 explicit], optional;
        Digits = "digits", NumericString<1, 10> [PRIVATE 31], optional;
        Letters = "letters", Ia5String<0, 300> [200], optional;
    }
}
