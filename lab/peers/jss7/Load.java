import java.io.File;
import java.util.Arrays;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Two ends of jSS7 for measurements: {@code answer} serves, {@code ask} begins dialogues in an open
 * loop (a rate) or a closed one (rate 0, a window), and prints a line of JSON.
 */
final class Load {
    private static final int TIMES_MAX = 8_000_000;

    private final long[] times = new long[TIMES_MAX];
    private final AtomicInteger ended = new AtomicInteger();
    private final AtomicLong failed = new AtomicLong();

    /**
     * {@code answer|ask}, the port of who listens, that of who connects, the own point code and the
     * other's, the routing context, a folder; for {@code ask} also {@code sri|call}, dialogues a
     * second, seconds, dialogues at once.
     */
    public static void main(String[] words) throws Exception {
        boolean asks = words[0].equals("ask");
        var place = new Node.Place(
                asks, Integer.parseInt(words[1]), Integer.parseInt(words[2]),
                Integer.parseInt(words[3]), Integer.parseInt(words[4]), Long.parseLong(words[5]));
        Peer peer = Peer.of(place, new File(words[6]), true);
        System.out.println("ready");
        System.out.flush();
        if (asks) {
            Thread.sleep(2_000);
            new Load().run(
                    peer, words[7], Integer.parseInt(words[8]), Integer.parseInt(words[9]),
                    Integer.parseInt(words[10]));
            System.exit(0);
        }
        while (System.in.read() >= 0) {
            // It serves until its input ends.
        }
        System.exit(0);
    }

    private void run(Peer peer, String what, int rate, int seconds, int window)
            throws Exception {
        var room = new Semaphore(window);
        // The machine compiles what is used: this much is not measured.
        peer.released = begin -> room.release();
        long warm = System.nanoTime() + 3_000_000_000L;
        while (System.nanoTime() < warm) {
            room.acquire();
            peer.ask(what, null, 0);
        }
        room.acquire(window);
        room.release(window);
        peer.released = begin -> {
            int index = ended.getAndIncrement();
            if (index < TIMES_MAX) {
                times[index] = System.nanoTime() - begin;
            }
            room.release();
        };
        long begun = System.nanoTime();
        long until = begun + seconds * 1_000_000_000L;
        long asked = 0;
        for (long now = begun; now < until; now = System.nanoTime()) {
            long due = rate == 0 ? now : begun + asked * 1_000_000_000L / rate;
            if (due > now) {
                Thread.sleep(0, (int) Math.min(due - now, 500_000));
                continue;
            }
            room.acquire();
            try {
                peer.ask(what, null, due);
                asked++;
            } catch (Exception wrong) {
                failed.incrementAndGet();
                room.release();
            }
        }
        room.tryAcquire(window, 10, java.util.concurrent.TimeUnit.SECONDS);
        print(asked, (System.nanoTime() - begun) / 1e9);
    }

    private void print(long asked, double seconds) {
        int count = Math.min(ended.get(), TIMES_MAX);
        long[] sorted = Arrays.copyOf(times, count);
        Arrays.sort(sorted);
        var text = new StringBuilder();
        for (double part : new double[] {0.5, 0.75, 0.9, 0.95, 0.99}) {
            long at = count == 0 ? 0 : sorted[(int) Math.min(count - 1, (long) (part * count))];
            text.append(text.length() == 0 ? "" : ", ").append(String.format("%.3f", at / 1e6));
        }
        System.out.printf(
                "{\"asked\": %d, \"ended\": %d, \"failed\": %d, \"per_s\": %.0f, \"ms\": [%s]}%n",
                asked, ended.get(), failed.get(), ended.get() / seconds, text);
    }
}
