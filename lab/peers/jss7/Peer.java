import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.log4j.BasicConfigurator;
import org.apache.log4j.Level;
import org.apache.log4j.Logger;
import org.mobicents.protocols.api.Association;
import org.mobicents.protocols.api.ManagementEventListener;
import org.mobicents.protocols.asn.AsnOutputStream;
import org.mobicents.protocols.ss7.cap.CAPStackImpl;
import org.mobicents.protocols.ss7.cap.api.CAPApplicationContext;
import org.mobicents.protocols.ss7.cap.api.CAPDialog;
import org.mobicents.protocols.ss7.cap.api.CAPDialogListener;
import org.mobicents.protocols.ss7.cap.api.CAPMessage;
import org.mobicents.protocols.ss7.cap.api.CAPProvider;
import org.mobicents.protocols.ss7.cap.api.primitives.EventTypeBCSM;
import org.mobicents.protocols.ss7.cap.api.service.circuitSwitchedCall.CAPDialogCircuitSwitchedCall;
import org.mobicents.protocols.ss7.cap.api.service.circuitSwitchedCall.CAPServiceCircuitSwitchedCallListener;
import org.mobicents.protocols.ss7.cap.api.service.circuitSwitchedCall.EventReportBCSMRequest;
import org.mobicents.protocols.ss7.cap.api.service.circuitSwitchedCall.RequestReportBCSMEventRequest;
import org.mobicents.protocols.ss7.cap.primitives.CAPAsnPrimitive;
import org.mobicents.protocols.ss7.map.MAPStackImpl;
import org.mobicents.protocols.ss7.map.api.MAPApplicationContext;
import org.mobicents.protocols.ss7.map.api.MAPApplicationContextName;
import org.mobicents.protocols.ss7.map.api.MAPApplicationContextVersion;
import org.mobicents.protocols.ss7.map.api.MAPDialog;
import org.mobicents.protocols.ss7.map.api.MAPDialogListener;
import org.mobicents.protocols.ss7.map.api.MAPMessage;
import org.mobicents.protocols.ss7.map.api.MAPProvider;
import org.mobicents.protocols.ss7.map.api.errors.MAPErrorMessage;
import org.mobicents.protocols.ss7.map.api.service.mobility.MAPDialogMobility;
import org.mobicents.protocols.ss7.map.api.service.mobility.MAPServiceMobilityListener;
import org.mobicents.protocols.ss7.map.api.service.sms.MAPDialogSms;
import org.mobicents.protocols.ss7.map.api.service.sms.MAPServiceSmsListener;
import org.mobicents.protocols.ss7.map.api.service.sms.SendRoutingInfoForSMResponse;
import org.mobicents.protocols.ss7.map.api.service.supplementary.MAPDialogSupplementary;
import org.mobicents.protocols.ss7.map.api.service.supplementary.MAPServiceSupplementaryListener;
import org.mobicents.protocols.ss7.map.primitives.MAPAsnPrimitive;
import org.mobicents.protocols.ss7.sccp.parameter.SccpAddress;

/**
 * jSS7 as HLR, VLR, USSD service, gsmSSF and gsmSCF. It tells on its standard output each primitive
 * that it hears: the name of the operation, and its parameter as jSS7 writes it again after reading.
 * A line on its standard input begins a dialogue: {@code sri}, {@code location}, {@code ussd},
 * {@code call}; with a second word by that title. After {@code hold} it says nothing in dialogues
 * that stand, until {@code go}. Associations that come and go are told as well.
 */
final class Peer implements InvocationHandler {
    private static final int HLR = 6;
    private static final int SCF = 146;

    private final Node node;
    private final boolean isQuiet;
    private final MAPProvider map;
    private final CAPProvider cap;
    private final Values values;
    /** Told when a dialogue that this side began is over. */
    Released released = (due, answered) -> {};
    /** Questions answered here and calls whose release was told; calls whose answer was told. */
    final AtomicLong served = new AtomicLong();
    final AtomicLong reported = new AtomicLong();
    /** What could not be carried out, or was not what is said here. */
    final AtomicLong wrong = new AtomicLong();
    private final Map<Object, Begun> begun = new ConcurrentHashMap<>();
    /** Dialogues in which it is to speak, while it says nothing; null: it speaks. */
    private List<Object> held;

    /** With when it was due, and when what was asked for was heard: zero if it was not. */
    interface Released {
        void over(long due, long answered);
    }

    private static final class Begun {
        final long due;
        volatile long answered;
        volatile boolean isMonitored;

        Begun(long due) {
            this.due = due;
        }
    }

    Peer(Node node, File folder, boolean isQuiet) throws Exception {
        this.node = node;
        this.isQuiet = isQuiet;
        var mapStack = new MAPStackImpl("map", node.provider(), HLR);
        var capStack = new CAPStackImpl("cap", node.provider(), SCF);
        for (var tcap : new Object[] {mapStack.getTCAPStack(), capStack.getTCAPStack()}) {
            var stack = (org.mobicents.protocols.ss7.tcap.TCAPStackImpl) tcap;
            stack.setPersistDir(folder.getPath());
        }
        mapStack.start();
        capStack.start();
        for (var tcap : new Object[] {mapStack.getTCAPStack(), capStack.getTCAPStack()}) {
            ((org.mobicents.protocols.ss7.tcap.TCAPStackImpl) tcap).setMaxDialogs(1_000_000);
        }
        map = mapStack.getMAPProvider();
        cap = capStack.getCAPProvider();
        values = new Values(map.getMAPParameterFactory());
        listen();
    }

    private void listen() {
        Class<?>[] all = {
            ManagementEventListener.class,
            MAPDialogListener.class, MAPServiceSmsListener.class, MAPServiceMobilityListener.class,
            MAPServiceSupplementaryListener.class, CAPDialogListener.class,
            CAPServiceCircuitSwitchedCallListener.class,
        };
        Object told = Proxy.newProxyInstance(Peer.class.getClassLoader(), all, this);
        node.transport().addManagementEventListener((ManagementEventListener) told);
        map.addMAPDialogListener((MAPDialogListener) told);
        map.getMAPServiceSms().addMAPServiceListener((MAPServiceSmsListener) told);
        map.getMAPServiceMobility().addMAPServiceListener((MAPServiceMobilityListener) told);
        map.getMAPServiceSupplementary()
                .addMAPServiceListener((MAPServiceSupplementaryListener) told);
        map.getMAPServiceSms().acivate();
        map.getMAPServiceMobility().acivate();
        map.getMAPServiceSupplementary().acivate();
        cap.addCAPDialogListener((CAPDialogListener) told);
        cap.getCAPServiceCircuitSwitchedCall()
                .addCAPServiceListener((CAPServiceCircuitSwitchedCallListener) told);
        cap.getCAPServiceCircuitSwitchedCall().acivate();
    }

    private void tell(String line) {
        if (!isQuiet) {
            synchronized (System.out) {
                System.out.println(line);
                System.out.flush();
            }
        }
    }

    @Override
    public Object invoke(Object proxy, Method method, Object[] words) {
        String name = method.getName();
        if (method.getDeclaringClass() == Object.class) {
            return name.equals("equals") ? (Object) (proxy == words[0])
                    : name.equals("hashCode") ? (Object) 7 : "listener";
        }
        try {
            if (method.getDeclaringClass() == ManagementEventListener.class) {
                transport(name, words);
            } else {
                heard(name, words);
            }
        } catch (Exception cause) {
            wrong.incrementAndGet();
            tell("wrong " + cause);
        }
        return null;
    }

    private void transport(String name, Object[] words) {
        switch (name) {
            case "onAssociationUp" -> tell("up " + ((Association) words[0]).getName());
            case "onAssociationDown" -> tell("down " + ((Association) words[0]).getName());
            default -> {}
        }
    }

    private void heard(String name, Object[] words) throws Exception {
        switch (name) {
            case "onMAPMessage", "onCAPMessage", "onDialogAccept" -> {}
            case "onDialogDelimiter" -> {
                if (!isHeld(words[0])) {
                    delimiter(words[0]);
                }
            }
            case "onDialogRelease" -> over(words[0]);
            case "onDialogRequest" -> tell("begin " + context(words[0]));
            case "onDialogClose" -> tell("end");
            case "onDialogReject" -> tell("refused " + words[1] + " " + words[2]);
            case "onErrorComponent" -> tell("error " + error(words[2]));
            case "onRejectComponent" -> tell("reject " + words[2]);
            case "onDialogUserAbort", "onDialogProviderAbort" -> tell(name + " " + words[1]);
            case "onDialogNotice", "onDialogTimeout", "onInvokeTimeout" -> tell(name);
            default -> message(name, words[0]);
        }
    }

    private void over(Object dialogue) {
        Begun it = begun.remove(dialogue);
        if (it != null) {
            released.over(it.due, it.answered);
        }
    }

    /** What a dialogue was begun for came, as it should be or not. */
    private void answered(Object dialogue, boolean isRight) {
        Begun it = begun.get(dialogue);
        if (it != null && isRight) {
            it.answered = System.nanoTime();
        }
    }

    private static Object error(Object it) {
        return it instanceof MAPErrorMessage message ? message.getErrorCode() : it;
    }

    private static Object context(Object dialogue) {
        return dialogue instanceof MAPDialog it
                ? it.getApplicationContext() : ((CAPDialog) dialogue).getApplicationContext();
    }

    private void message(String name, Object it) throws Exception {
        if (!isQuiet) {
            var type = it instanceof MAPMessage message
                    ? message.getMessageType() : ((CAPMessage) it).getMessageType();
            tell("message " + type + " " + octets(it));
        }
        if (it instanceof SendRoutingInfoForSMResponse found) {
            boolean isRight = found.getIMSI().getData().equals(Values.IMSI_DIGITS)
                    && found.getLocationInfoWithLMSI().getNetworkNodeNumber().getAddress()
                            .equals(Values.MSC);
            answered(found.getMAPDialog(), isRight);
        }
        if (it instanceof MAPMessage message) {
            answer(name, message.getMAPDialog(), message.getInvokeId());
        } else {
            control(name, (CAPDialogCircuitSwitchedCall) ((CAPMessage) it).getCAPDialog(), it);
        }
    }

    /** The parameter as jSS7 writes what it has read; nothing where there is none. */
    private static String octets(Object it) {
        var out = new AsnOutputStream();
        try {
            if (it instanceof MAPAsnPrimitive value) {
                value.encodeAll(out);
            } else if (it instanceof CAPAsnPrimitive value) {
                value.encodeAll(out);
            }
        } catch (Exception none) {
            return "";
        }
        var text = new StringBuilder();
        for (byte octet : out.toByteArray()) {
            text.append(String.format("%02x", octet));
        }
        return text.toString();
    }

    /** What follows an operation of MAP; it is sent at the end of the message. */
    private void answer(String name, MAPDialog dialogue, long invoke) throws Exception {
        switch (name) {
            case "onSendRoutingInfoForSMRequest" -> {
                values.routingInfoForSm((MAPDialogSms) dialogue, invoke);
                dialogue.setUserObject("close");
                served.incrementAndGet();
            }
            case "onUpdateLocationRequest" -> {
                values.subscriberData((MAPDialogMobility) dialogue);
                dialogue.setUserObject(invoke);
            }
            case "onInsertSubscriberDataRequest" -> {
                values.subscriberData((MAPDialogMobility) dialogue, invoke);
                dialogue.setUserObject("send");
            }
            case "onInsertSubscriberDataResponse" -> {
                values.updateLocation(
                        (MAPDialogMobility) dialogue, (Long) dialogue.getUserObject());
                dialogue.setUserObject("close");
            }
            case "onProcessUnstructuredSSRequest" -> {
                values.ussdAsks((MAPDialogSupplementary) dialogue, "Balance: 1, top up: 2");
                dialogue.setUserObject(invoke);
            }
            case "onUnstructuredSSRequest" -> {
                values.ussdAnswers((MAPDialogSupplementary) dialogue, invoke, "1");
                dialogue.setUserObject("send");
            }
            case "onUnstructuredSSResponse" -> {
                values.ussdEnds(
                        (MAPDialogSupplementary) dialogue, (Long) dialogue.getUserObject(),
                        "Balance 7.25");
                dialogue.setUserObject("close");
            }
            default -> {}
        }
    }

    private void control(String name, CAPDialogCircuitSwitchedCall dialogue, Object it)
            throws Exception {
        switch (name) {
            case "onInitialDPRequest" -> {
                values.monitor(cap, dialogue);
                dialogue.setUserObject("send");
            }
            case "onRequestReportBCSMEventRequest" -> {
                var events = ((RequestReportBCSMEventRequest) it).getBCSMEventList();
                Begun call = begun.get(dialogue);
                if (call != null) {
                    call.isMonitored = events.size() == 2
                            && events.get(0).getEventTypeBCSM() == EventTypeBCSM.oAnswer
                            && events.get(1).getEventTypeBCSM() == EventTypeBCSM.oDisconnect;
                }
            }
            case "onContinueRequest" -> {
                Begun call = begun.get(dialogue);
                answered(dialogue, call != null && call.isMonitored);
                dialogue.setUserObject("answered");
            }
            case "onEventReportBCSMRequest" -> {
                var event = ((EventReportBCSMRequest) it).getEventTypeBCSM();
                boolean isOver = event == EventTypeBCSM.oDisconnect;
                (isOver ? served : reported).incrementAndGet();
                dialogue.setUserObject(isOver ? "prearranged" : null);
            }
            default -> {}
        }
    }

    private synchronized boolean isHeld(Object dialogue) {
        return held != null && held.add(dialogue);
    }

    private synchronized void hold() {
        held = new ArrayList<>();
    }

    private void go() throws Exception {
        List<Object> all;
        synchronized (this) {
            all = held;
            held = null;
        }
        for (Object dialogue : all) {
            delimiter(dialogue);
        }
    }

    private void delimiter(Object it) throws Exception {
        if (it instanceof MAPDialog dialogue) {
            Object next = dialogue.getUserObject();
            if ("close".equals(next)) {
                dialogue.close(false);
            } else if (next != null) {
                dialogue.send();
                if ("send".equals(next)) {
                    dialogue.setUserObject(null);
                }
            }
            return;
        }
        var dialogue = (CAPDialogCircuitSwitchedCall) it;
        Object next = dialogue.getUserObject();
        dialogue.setUserObject(null);
        switch (next == null ? "" : (String) next) {
            case "send" -> dialogue.send();
            case "answered" -> {
                values.report(cap, dialogue, EventTypeBCSM.oAnswer);
                dialogue.send();
                values.report(cap, dialogue, EventTypeBCSM.oDisconnect);
                dialogue.send();
                dialogue.close(true);
            }
            case "prearranged" -> dialogue.close(true);
            default -> {}
        }
    }

    private static MAPApplicationContext context(MAPApplicationContextName name, int version) {
        var number = MAPApplicationContextVersion.getInstance(version);
        return MAPApplicationContext.getInstance(name, number);
    }

    /** Begins a dialogue; by a title where there is one. {@code due} is told when it is over. */
    void ask(String what, String title, long due) throws Exception {
        boolean isCall = what.equals("call");
        SccpAddress from = node.address(node.own, isCall ? SCF : HLR, null);
        int subsystem = isCall ? SCF : HLR;
        SccpAddress to = node.address(node.far, subsystem, title);
        switch (what) {
            case "sri" -> {
                var context = context(MAPApplicationContextName.shortMsgGatewayContext, 3);
                var it = map.getMAPServiceSms().createNewDialog(context, from, null, to, null);
                begun.put(it, new Begun(due));
                values.routingInfoForSm(it);
                it.send();
            }
            case "location" -> {
                var context = context(MAPApplicationContextName.networkLocUpContext, 3);
                var it = map.getMAPServiceMobility().createNewDialog(context, from, null, to, null);
                begun.put(it, new Begun(due));
                values.updateLocation(it);
                it.send();
            }
            case "ussd" -> {
                var context = context(MAPApplicationContextName.networkUnstructuredSsContext, 2);
                var service = map.getMAPServiceSupplementary();
                var it = service.createNewDialog(
                        context, from, values.number(Values.MSC), to, values.subscriber());
                begun.put(it, new Begun(due));
                values.ussd(it, "*100#");
                it.send();
            }
            case "call" -> {
                var context = CAPApplicationContext.CapV2_gsmSSF_to_gsmSCF;
                var service = cap.getCAPServiceCircuitSwitchedCall();
                var it = service.createNewDialog(context, from, to);
                begun.put(it, new Begun(due));
                values.initialDp(cap, it);
                it.send();
            }
            default -> tell("wrong " + what);
        }
    }

    static Peer of(Node.Place place, File folder, boolean isQuiet) throws Exception {
        BasicConfigurator.configure();
        Logger.getRootLogger().setLevel(Level.toLevel(System.getProperty("level", "OFF")));
        return new Peer(new Node(place, folder), folder, isQuiet);
    }

    /**
     * {@code connect} or {@code listen}, the own point code and the other's, the routing context, a
     * folder for what is kept, and a port for each association: what passes is written to
     * {@code tap} there.
     */
    public static void main(String[] words) throws Exception {
        boolean connects = words[0].equals("connect");
        File folder = new File(words[4]);
        var notes = new PrintWriter(new File(folder, "tap"));
        int[] ports = Arrays.stream(words).skip(5).mapToInt(Integer::parseInt).toArray();
        var links = new ArrayList<Node.Link>();
        int own = Tap.free();
        for (int at = 0; at < ports.length; at++) {
            int listens = connects ? Tap.before(ports[at], at, notes) : own;
            links.add(new Node.Link(listens, Tap.free()));
        }
        var place = new Node.Place(
                connects, links, Integer.parseInt(words[1]), Integer.parseInt(words[2]),
                Long.parseLong(words[3]));
        Peer peer = of(place, folder, false);
        for (int at = 0; at < ports.length && !connects; at++) {
            Tap.behind(ports[at], own, links.get(at).connecting(), at, notes);
        }
        peer.tell("ready");
        var lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] ask = line.trim().split(" ");
            try {
                switch (ask[0]) {
                    case "hold" -> peer.hold();
                    case "go" -> peer.go();
                    default -> peer.ask(ask[0], ask.length > 1 ? ask[1] : null, 0);
                }
            } catch (Exception wrong) {
                peer.tell("wrong " + wrong);
            }
        }
        System.exit(0);
    }
}
