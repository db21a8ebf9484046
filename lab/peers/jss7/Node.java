import java.io.File;
import java.util.List;
import org.mobicents.protocols.api.IpChannelType;
import org.mobicents.protocols.sctp.netty.NettySctpManagementImpl;
import org.mobicents.protocols.ss7.indicator.NatureOfAddress;
import org.mobicents.protocols.ss7.indicator.NumberingPlan;
import org.mobicents.protocols.ss7.indicator.RoutingIndicator;
import org.mobicents.protocols.ss7.m3ua.ExchangeType;
import org.mobicents.protocols.ss7.m3ua.Functionality;
import org.mobicents.protocols.ss7.m3ua.IPSPType;
import org.mobicents.protocols.ss7.m3ua.impl.M3UAManagementImpl;
import org.mobicents.protocols.ss7.m3ua.impl.parameter.ParameterFactoryImpl;
import org.mobicents.protocols.ss7.m3ua.parameter.TrafficModeType;
import org.mobicents.protocols.ss7.sccp.LoadSharingAlgorithm;
import org.mobicents.protocols.ss7.sccp.OriginationType;
import org.mobicents.protocols.ss7.sccp.RuleType;
import org.mobicents.protocols.ss7.sccp.SccpProvider;
import org.mobicents.protocols.ss7.sccp.impl.SccpStackImpl;
import org.mobicents.protocols.ss7.sccp.parameter.GlobalTitle;
import org.mobicents.protocols.ss7.sccp.parameter.SccpAddress;

/**
 * A node of jSS7 up to SCCP: an IPSP over TCP, single exchange, that connects or is connected to.
 * National network, and titles of E.164 lead to the other node. That may be several, which share
 * the load of one point code: an association each.
 */
final class Node {
    private static final String HOST = "127.0.0.1";
    private static final int NATIONAL = 2;
    private static final int SCCP = 3;

    final int own;
    final int far;
    private final SccpStackImpl sccp = new SccpStackImpl("sccp");
    private final NettySctpManagementImpl transport;

    /** The ports of who listens and of who connects: jSS7 wants to know both. */
    record Link(int listening, int connecting) {}

    /** Its place: who listens has one port for all links. */
    record Place(boolean connects, List<Link> links, int own, int far, long context) {}

    Node(Place place, File folder) throws Exception {
        own = place.own;
        far = place.far;
        transport = transport(place, folder);
        var m3ua = m3ua(place, folder);
        sccp.setMtp3UserPart(1, m3ua);
        sccp.setPersistDir(folder.getPath());
        sccp.start();
        sccp.removeAllResourses();
        sccp.getRouter().addMtp3ServiceAccessPoint(1, 1, own, NATIONAL, 0);
        sccp.getRouter().addMtp3Destination(1, 1, far, far, 0, 255, 255);
        sccp.getSccpResource().addRemoteSpc(1, far, 0, 0);
        for (int number : new int[] {6, 146}) {
            sccp.getSccpResource().addRemoteSsn(number, far, number, 0, false);
        }
        translate();
        for (int at = 0; at < place.links.size(); at++) {
            m3ua.startAsp("far" + at);
        }
    }

    private static NettySctpManagementImpl transport(Place place, File folder) throws Exception {
        var transport = new NettySctpManagementImpl("transport");
        transport.setPersistDir(folder.getPath());
        transport.start();
        transport.setConnectDelay(200);
        transport.removeAllResourses();
        int listening = place.links.get(0).listening;
        if (!place.connects) {
            transport.addServer("own", HOST, listening, IpChannelType.TCP, null);
        }
        for (int at = 0; at < place.links.size(); at++) {
            Link link = place.links.get(at);
            if (place.connects) {
                transport.addAssociation(
                        HOST, link.connecting, HOST, link.listening, "far" + at,
                        IpChannelType.TCP, null);
            } else {
                transport.addServerAssociation(
                        HOST, link.connecting, "own", "far" + at, IpChannelType.TCP);
            }
        }
        if (!place.connects) {
            transport.startServer("own");
        }
        return transport;
    }

    private M3UAManagementImpl m3ua(Place place, File folder) throws Exception {
        var m3ua = new M3UAManagementImpl("m3ua", "lab");
        m3ua.setPersistDir(folder.getPath());
        m3ua.setTransportManagement(transport);
        m3ua.start();
        m3ua.removeAllResourses();
        var made = new ParameterFactoryImpl();
        var mode = made.createTrafficModeType(TrafficModeType.Loadshare);
        var type = place.connects ? IPSPType.CLIENT : IPSPType.SERVER;
        var contexts = made.createRoutingContext(new long[] {place.context});
        m3ua.createAs(
                "far", Functionality.IPSP, ExchangeType.SE, type, contexts, mode, 1, null);
        for (int at = 0; at < place.links.size(); at++) {
            m3ua.createAspFactory("far" + at, "far" + at);
            m3ua.assignAspToAs("far", "far" + at);
        }
        m3ua.addRoute(far, own, SCCP, "far");
        return m3ua;
    }

    /** Every title leads to the other node: from here to the subsystem that stands beside it. */
    private void translate() throws Exception {
        var made = sccp.getSccpProvider().getParameterFactory();
        var to = RoutingIndicator.ROUTING_BASED_ON_GLOBAL_TITLE;
        GlobalTitle all = made.createGlobalTitle(
                "*", 0, NumberingPlan.ISDN_TELEPHONY, null, NatureOfAddress.INTERNATIONAL);
        GlobalTitle kept = made.createGlobalTitle(
                "-", 0, NumberingPlan.ISDN_TELEPHONY, null, NatureOfAddress.INTERNATIONAL);
        sccp.getRouter().addRoutingAddress(1, made.createSccpAddress(to, kept, far, 0));
        sccp.getRouter().addRule(
                1, RuleType.SOLITARY, LoadSharingAlgorithm.Undefined, OriginationType.LOCAL,
                made.createSccpAddress(to, all, 0, 0), "K", 1, -1, null, 0, null);
    }

    NettySctpManagementImpl transport() {
        return transport;
    }

    SccpProvider provider() {
        return sccp.getSccpProvider();
    }

    /** An address by subsystem, or by a title where there are digits. */
    SccpAddress address(int pointCode, int subsystem, String digits) {
        var made = sccp.getSccpProvider().getParameterFactory();
        if (digits == null) {
            var by = RoutingIndicator.ROUTING_BASED_ON_DPC_AND_SSN;
            return made.createSccpAddress(by, null, pointCode, subsystem);
        }
        GlobalTitle title = made.createGlobalTitle(
                digits, 0, NumberingPlan.ISDN_TELEPHONY, null, NatureOfAddress.INTERNATIONAL);
        return made.createSccpAddress(
                RoutingIndicator.ROUTING_BASED_ON_GLOBAL_TITLE, title, 0, subsystem);
    }
}
