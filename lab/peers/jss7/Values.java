import java.util.ArrayList;
import java.util.List;
import org.mobicents.protocols.ss7.cap.api.CAPParameterFactory;
import org.mobicents.protocols.ss7.cap.api.CAPProvider;
import org.mobicents.protocols.ss7.cap.api.primitives.BCSMEvent;
import org.mobicents.protocols.ss7.cap.api.primitives.EventTypeBCSM;
import org.mobicents.protocols.ss7.cap.api.primitives.MonitorMode;
import org.mobicents.protocols.ss7.cap.api.service.circuitSwitchedCall.CAPDialogCircuitSwitchedCall;
import org.mobicents.protocols.ss7.inap.api.primitives.LegType;
import org.mobicents.protocols.ss7.inap.primitives.MiscCallInfoImpl;
import org.mobicents.protocols.ss7.inap.api.primitives.MiscCallInfoMessageType;
import org.mobicents.protocols.ss7.isup.impl.message.parameter.CallingPartyNumberImpl;
import org.mobicents.protocols.ss7.map.api.MAPParameterFactory;
import org.mobicents.protocols.ss7.map.api.primitives.AddressNature;
import org.mobicents.protocols.ss7.map.api.primitives.AddressString;
import org.mobicents.protocols.ss7.map.api.primitives.IMSI;
import org.mobicents.protocols.ss7.map.api.primitives.ISDNAddressString;
import org.mobicents.protocols.ss7.map.api.primitives.NumberingPlan;
import org.mobicents.protocols.ss7.map.api.service.mobility.MAPDialogMobility;
import org.mobicents.protocols.ss7.map.api.service.mobility.subscriberManagement.RegionalSubscriptionResponse;
import org.mobicents.protocols.ss7.map.api.service.sms.MAPDialogSms;
import org.mobicents.protocols.ss7.map.api.service.supplementary.MAPDialogSupplementary;
import org.mobicents.protocols.ss7.map.datacoding.CBSDataCodingSchemeImpl;

/** What jSS7 says, the same each time; a test holds the other side against these values. */
final class Values {
    static final String MSISDN = "447700900123";
    static final String SERVICE_CENTRE = "447700000090";
    static final String IMSI_DIGITS = "234150000000123";
    static final String MSC = "447700000001";
    static final String VLR = "447700000002";
    static final String HLR = "447700000006";
    private static final CBSDataCodingSchemeImpl GSM_7 = new CBSDataCodingSchemeImpl(15);

    private final MAPParameterFactory map;

    Values(MAPParameterFactory map) {
        this.map = map;
    }

    ISDNAddressString number(String digits) {
        return map.createISDNAddressString(
                AddressNature.international_number, NumberingPlan.ISDN, digits);
    }

    IMSI imsi() {
        return map.createIMSI(IMSI_DIGITS);
    }

    /** Whom a dialogue of USSD is about: MAP-OPEN says it by the IMSI. */
    AddressString subscriber() {
        return map.createAddressString(
                AddressNature.international_number, NumberingPlan.land_mobile, IMSI_DIGITS);
    }

    void routingInfoForSm(MAPDialogSms to) throws Exception {
        AddressString centre = map.createAddressString(
                AddressNature.international_number, NumberingPlan.ISDN, SERVICE_CENTRE);
        to.addSendRoutingInfoForSMRequest(
                number(MSISDN), true, centre, null, false, null, null, null, false, null, false,
                false, null);
    }

    void routingInfoForSm(MAPDialogSms to, long invoke) throws Exception {
        var at = map.createLocationInfoWithLMSI(number(MSC), null, null, false, null);
        to.addSendRoutingInfoForSMResponse(invoke, imsi(), at, null, null, null);
    }

    void updateLocation(MAPDialogMobility to) throws Exception {
        to.addUpdateLocationRequest(
                imsi(), number(MSC), null, number(VLR), null, null, null, false, false, null, null,
                null, false, false);
    }

    void subscriberData(MAPDialogMobility to) throws Exception {
        to.addInsertSubscriberDataRequest(
                null, number(MSISDN), null, null, null, null, null, null, false, null, null, null,
                null);
    }

    void subscriberData(MAPDialogMobility to, long invoke) throws Exception {
        // It takes no result without any component, as one may be (TS 29.002 §17.7.1).
        to.addInsertSubscriberDataResponse(
                invoke, null, null, null, null,
                RegionalSubscriptionResponse.networkNodeAreaRestricted);
    }

    void updateLocation(MAPDialogMobility to, long invoke) throws Exception {
        to.addUpdateLocationResponse(invoke, number(HLR), null, false, false);
    }

    void ussd(MAPDialogSupplementary to, String text) throws Exception {
        to.addProcessUnstructuredSSRequest(
                GSM_7, map.createUSSDString(text, GSM_7, null), null, number(MSISDN));
    }

    void ussdAsks(MAPDialogSupplementary to, String text) throws Exception {
        to.addUnstructuredSSRequest(GSM_7, map.createUSSDString(text, GSM_7, null), null, null);
    }

    void ussdAnswers(MAPDialogSupplementary to, long invoke, String text) throws Exception {
        to.addUnstructuredSSResponse(invoke, GSM_7, map.createUSSDString(text, GSM_7, null));
    }

    void ussdEnds(MAPDialogSupplementary to, long invoke, String text) throws Exception {
        to.addProcessUnstructuredSSResponse(invoke, GSM_7, map.createUSSDString(text, GSM_7, null));
    }

    void initialDp(CAPProvider cap, CAPDialogCircuitSwitchedCall to) throws Exception {
        CAPParameterFactory made = cap.getCAPParameterFactory();
        var calling = made.createCallingPartyNumberCap(
                new CallingPartyNumberImpl(4, MSISDN, 1, 0, 0, 3));
        var called = made.createCalledPartyBCDNumber(
                AddressNature.international_number, NumberingPlan.ISDN, "447700900999");
        to.addInitialDPRequest(
                1, null, calling, null, null, null, null, null, null, null, null, null,
                EventTypeBCSM.collectedInfo, null, null, null, null, null, null, null, false, imsi(),
                null, null, null, null, number(MSC), called, null, false, null);
    }

    /** Monitors answer and release, and lets the call go on. */
    void monitor(CAPProvider cap, CAPDialogCircuitSwitchedCall to) throws Exception {
        CAPParameterFactory made = cap.getCAPParameterFactory();
        var legs = cap.getINAPParameterFactory();
        var mode = MonitorMode.notifyAndContinue;
        ArrayList<BCSMEvent> events = new ArrayList<>(List.of(
                made.createBCSMEvent(
                        EventTypeBCSM.oAnswer, mode, legs.createLegID(true, LegType.leg2), null,
                        false),
                made.createBCSMEvent(
                        EventTypeBCSM.oDisconnect, mode, legs.createLegID(true, LegType.leg1), null,
                        false)));
        to.addRequestReportBCSMEventRequest(events, null);
        to.addContinueRequest();
    }

    void report(CAPProvider cap, CAPDialogCircuitSwitchedCall to, EventTypeBCSM event)
            throws Exception {
        CAPParameterFactory made = cap.getCAPParameterFactory();
        boolean answers = event == EventTypeBCSM.oAnswer;
        var leg = made.createReceivingSideID(answers ? LegType.leg2 : LegType.leg1);
        var info = new MiscCallInfoImpl(MiscCallInfoMessageType.notification, null);
        to.addEventReportBCSMRequest(event, null, leg, info, null);
    }
}
