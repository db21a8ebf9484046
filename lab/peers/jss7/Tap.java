import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;

/**
 * Stands between jSS7 and whoever it speaks with, and writes down what passes, a line of hexadecimal
 * digits for what was read at once. To jSS7 it has a port that jSS7 knows, which another has not.
 */
final class Tap {
    private final ServerSocket listener;
    private final InetSocketAddress to;
    private final int from;
    private final PrintWriter notes;

    private Tap(int listens, int to, int from, String file) throws IOException {
        var here = InetAddress.getByName("127.0.0.1");
        listener = new ServerSocket(listens, 8, here);
        this.to = new InetSocketAddress(here, to);
        this.from = from;
        notes = new PrintWriter(file);
        var thread = new Thread(this::serve, "tap");
        thread.setDaemon(true);
        thread.start();
    }

    /** Before who connects to {@code to}; returns where it connects instead. */
    static int before(int to, String file) throws IOException {
        return new Tap(0, to, 0, file).listener.getLocalPort();
    }

    /** Listens on a port, and connects from there to {@code to} by the port {@code from}. */
    static void behind(int listens, int to, int from, String file) throws IOException {
        new Tap(listens, to, from, file);
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
                var back = new Thread(() -> pass(other, one, "<"), "tap back");
                back.setDaemon(true);
                back.start();
                pass(one, other, ">");
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

    private synchronized void note(String way, byte[] octets, int count) {
        var line = new StringBuilder(way);
        for (int at = 0; at < count; at++) {
            line.append(String.format("%02x", octets[at]));
        }
        notes.println(line);
        notes.flush();
    }
}
