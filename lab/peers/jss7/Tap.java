import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.HexFormat;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Stands between jSS7 and whoever it speaks with, and writes down what passes, a line for what was
 * read at once: its way, the number of the tap, that of the connection, hexadecimal digits. To jSS7
 * it has a port that jSS7 knows, which another has not.
 */
final class Tap {
    private static final AtomicInteger CONNECTIONS = new AtomicInteger();
    private final ServerSocket listener;
    private final InetSocketAddress to;
    private final int from;
    private final int number;
    private final PrintWriter notes;

    private Tap(int listens, int to, int from, int number, PrintWriter notes) throws IOException {
        var here = InetAddress.getByName("127.0.0.1");
        listener = new ServerSocket(listens, 8, here);
        this.to = new InetSocketAddress(here, to);
        this.from = from;
        this.number = number;
        this.notes = notes;
        var thread = new Thread(this::serve, "tap");
        thread.setDaemon(true);
        thread.start();
    }

    /** Before who connects to {@code to}; returns where it connects instead. */
    static int before(int to, int number, PrintWriter notes) throws IOException {
        return new Tap(0, to, 0, number, notes).listener.getLocalPort();
    }

    /** Listens on a port, and connects from there to {@code to} by the port {@code from}. */
    static void behind(int listens, int to, int from, int number, PrintWriter notes)
            throws IOException {
        new Tap(listens, to, from, number, notes);
    }

    /** A port that is free now. */
    static int free() throws IOException {
        try (var socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        }
    }

    private void serve() {
        while (true) {
            try (var one = listener.accept(); var other = new Socket()) {
                one.setTcpNoDelay(true);
                other.setReuseAddress(true);
                other.bind(new InetSocketAddress(to.getAddress(), from));
                other.setTcpNoDelay(true);
                other.connect(to);
                String names = " " + number + " " + CONNECTIONS.incrementAndGet() + " ";
                var back = new Thread(() -> pass(other, one, "<" + names), "tap back");
                back.setDaemon(true);
                back.start();
                pass(one, other, ">" + names);
            } catch (IOException again) {
                // Who connected tries once more.
            }
        }
    }

    private void pass(Socket one, Socket other, String way) {
        byte[] octets = new byte[65_536];
        try {
            InputStream in = one.getInputStream();
            OutputStream out = other.getOutputStream();
            for (int count = in.read(octets); count > 0; count = in.read(octets)) {
                note(way, octets, count);
                out.write(octets, 0, count);
            }
            other.close();
        } catch (IOException over) {
            // The connection has ended, and so does what passes.
        }
    }

    private void note(String way, byte[] octets, int count) {
        String digits = HexFormat.of().formatHex(octets, 0, count);
        synchronized (notes) {
            notes.println(way + digits);
            notes.flush();
        }
    }
}
