import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.locks.LockSupport;

/**
 * Two ends of jSS7 for measurements: {@code answer} serves, {@code ask} begins dialogues in an open
 * loop (a rate) or a closed one (rate 0, a window), and prints a line of JSON. Each of them prints
 * what it has served so far for a line {@code count}.
 */
final class Load {
    private static final long SECOND = 1_000_000_000L;
    /** Longest wait for a dialogue that is due: shorter than what is measured. */
    private static final long WAIT = 500_000;
    /** For the last dialogues to end, seconds. */
    private static final int DRAIN = 20;
    /** When a dialogue is due that only asks whether the association is there. */
    private static final long PROBE = -1;
    private static final int PROBES_MAX = 60;

    private final Times times = new Times();
    private final AtomicLong ended = new AtomicLong();
    private final AtomicLong failed = new AtomicLong();
    /** Dialogues that were answered before the load: the association is there. */
    private final AtomicLong before = new AtomicLong();
    private volatile long from = Long.MAX_VALUE;
    private long asked;
    private long unbegun;

    /** Counts of microseconds, three digits of each. */
    private static final class Times {
        private static final long MOST = 60_000_000;

        private final AtomicLongArray counts = new AtomicLongArray(18 * 1_024);

        void add(long nanos) {
            long us = Math.max(0, Math.min(MOST, nanos / 1_000));
            int shift = Math.max(0, 53 - Long.numberOfLeadingZeros(us));
            counts.incrementAndGet(shift * 1_024 + (int) (us >> shift));
        }

        /** What that part of all took at most, milliseconds. */
        double part(double part) {
            long all = 0;
            for (int at = 0; at < counts.length(); at++) {
                all += counts.get(at);
            }
            long left = Math.max(1, (long) Math.ceil(part * all));
            for (int at = 0; at < counts.length(); at++) {
                left -= counts.get(at);
                if (left <= 0) {
                    int shift = Math.max(0, at / 1_024 - 1);
                    return (((long) (at - shift * 1_024) + 1 << shift) - 1) / 1e3;
                }
            }
            return 0;
        }
    }

    /**
     * {@code answer|ask}, the port of who listens, that of who connects, the own point code and the
     * other's, the routing context, a folder; for {@code ask} also {@code sri|call}, dialogues a
     * second, seconds that are not measured and those that are, dialogues at once.
     */
    public static void main(String[] words) throws Exception {
        boolean asks = words[0].equals("ask");
        var link = new Node.Link(Integer.parseInt(words[1]), Integer.parseInt(words[2]));
        var place = new Node.Place(
                asks, List.of(link), Integer.parseInt(words[3]), Integer.parseInt(words[4]),
                Long.parseLong(words[5]));
        Peer peer = Peer.of(place, new File(words[6]), true);
        System.out.println("ready");
        System.out.flush();
        if (asks) {
            new Load().run(
                    peer, words[7], Integer.parseInt(words[8]), Integer.parseInt(words[9]),
                    Integer.parseInt(words[10]), Integer.parseInt(words[11]));
        }
        // What was said last still goes out; it ends with its input.
        var lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            System.out.printf(
                    "{\"served\": %d, \"reported\": %d, \"wrong\": %d}%n",
                    peer.served.get(), peer.reported.get(), peer.wrong.get());
            System.out.flush();
        }
        System.exit(0);
    }

    private void run(Peer peer, String what, int rate, int warm, int seconds, int window)
            throws Exception {
        var room = new Semaphore(window);
        peer.released = (due, answered) -> {
            if (due == PROBE) {
                before.addAndGet(answered == 0 ? 0 : 1);
                return;
            }
            if (answered == 0) {
                failed.incrementAndGet();
            } else {
                ended.incrementAndGet();
                if (due >= from) {
                    times.add(answered - due);
                }
            }
            room.release();
        };
        for (int count = 0; before.get() == 0 && count < PROBES_MAX; count++) {
            try {
                peer.ask(what, null, PROBE);
            } catch (Exception soon) {
                // It is asked again.
            }
            Thread.sleep(500);
        }
        // The machine compiles what is used: this much is not measured.
        ask(peer, what, 0, System.nanoTime(), warm * SECOND, room);
        if (rate > 0 && room.tryAcquire(window, DRAIN, TimeUnit.SECONDS)) {
            room.release(window);
        }
        from = System.nanoTime();
        long earlier = ended.get();
        ask(peer, what, rate, from, seconds * SECOND, room);
        double took = (System.nanoTime() - from) / 1e9;
        long measured = ended.get() - earlier;
        room.tryAcquire(window, DRAIN, TimeUnit.SECONDS);
        var text = new StringBuilder();
        for (double part : new double[] {0.5, 0.75, 0.9, 0.95, 0.99}) {
            text.append(text.length() == 0 ? "" : ", ");
            text.append(String.format("%.3f", times.part(part)));
        }
        System.out.printf(
                "{\"asked\": %d, \"ended\": %d, \"failed\": %d, \"wrong\": %d, \"unbegun\": %d, "
                        + "\"per_s\": %.0f, \"ms\": [%s]}%n",
                asked + before.get(), ended.get() + before.get(), failed.get(), peer.wrong.get(),
                unbegun, measured / took, text);
        System.out.flush();
    }

    /** Begins dialogues for that long. */
    private void ask(Peer peer, String what, int rate, long begun, long nanos, Semaphore room)
            throws Exception {
        long until = begun + nanos;
        long count = 0;
        for (long now = System.nanoTime(); now < until; now = System.nanoTime()) {
            long due = rate == 0 ? now : begun + count * SECOND / rate;
            if (due > now) {
                LockSupport.parkNanos(Math.min(due - now, WAIT));
                continue;
            }
            if (!room.tryAcquire(until - now, TimeUnit.NANOSECONDS)) {
                break;
            }
            count++;
            asked++;
            try {
                peer.ask(what, null, rate == 0 ? System.nanoTime() : due);
            } catch (Exception wrong) {
                failed.incrementAndGet();
                room.release();
            }
        }
        // A few that are due as it ends are none.
        long due = nanos / SECOND * rate;
        unbegun += Math.max(0, due - count - rate / 1_000 - 1);
    }
}
