// SPDX-License-Identifier: MIT
// A server for `pirn soak`: Soak PORT. It listens on the loopback, a thread for each connection.
//
// A request is a line with a number, the reply a line with a sum that the client knows. The parts of
// the sum are made by a pool of threads and by one thread that lives for the request: each makes
// garbage, sends its part through a relay (a socket to an echoing thread of this process), and keeps
// something in a cache of fixed size, so that the collector has old objects to move.

import java.io.*;
import java.net.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.locks.*;

public class Soak {
    static final int PARTS = 8, STEPS = 100, POOL = 12, RELAYS = 4, CACHED = 4000;
    static final ExecutorService pool = Executors.newFixedThreadPool(POOL);
    static final BlockingQueue<Relay> relays = new ArrayBlockingQueue<>(RELAYS);

    // An entry for each of the last CACHED parts, the oldest goes first.
    static final Map<Long, byte[]> cache = new LinkedHashMap<>() {
        protected boolean removeEldestEntry(Map.Entry<Long, byte[]> eldest) {
            return size() > CACHED;
        }
    };
    static long entries; // guarded by the cache

    // A connection whose other end sends back what it receives, in a thread of its own.
    static class Relay {
        final DataInputStream in;
        final DataOutputStream out;

        Relay(ServerSocket listener) throws IOException {
            Socket near = new Socket(listener.getInetAddress(), listener.getLocalPort());
            Socket far = listener.accept();
            for (Socket one : new Socket[] {near, far})
                one.setTcpNoDelay(true);
            in = new DataInputStream(near.getInputStream());
            out = new DataOutputStream(near.getOutputStream());
            Thread echo = new Thread(() -> {
                try (InputStream from = far.getInputStream(); OutputStream to = far.getOutputStream()) {
                    from.transferTo(to);
                } catch (IOException e) {
                    fail(e);
                }
            });
            echo.setDaemon(true);
            echo.start();
        }

        long pass(long value) throws IOException {
            out.writeLong(value);
            out.flush();
            return in.readLong();
        }
    }

    // The parts of one request: the last one wakes the connection's thread.
    static class Sum {
        private final Lock lock = new ReentrantLock();
        private final Condition complete = lock.newCondition();
        private int missing = PARTS;
        private long total;

        void add(long part) {
            lock.lock();
            try {
                total += part;
                if (--missing == 0)
                    complete.signal();
            } finally {
                lock.unlock();
            }
        }

        long await() throws InterruptedException {
            lock.lock();
            try {
                while (missing > 0)
                    complete.await();
                return total;
            } finally {
                lock.unlock();
            }
        }
    }

    static long churn(long x) {
        Map<String, Long> made = new HashMap<>();
        for (int i = 0; i < STEPS; i++) {
            x = (x * 1103515245 + 12345) & 0x7fffffff;
            made.put("entry " + i, x);
        }
        long sum = 0;
        for (long one : made.values())
            sum += one % 1000;
        return sum;
    }

    static void part(long seed, Sum sum) {
        try {
            long made = churn(seed);
            Relay relay = relays.take();
            long passed = relay.pass(made);
            relays.put(relay);
            synchronized (cache) {
                cache.put(entries++, new byte[1024]);
            }
            sum.add(passed);
        } catch (IOException | InterruptedException e) {
            fail(e);
        }
    }

    static void serve(Socket client) {
        try (client) {
            client.setTcpNoDelay(true);
            BufferedReader in = new BufferedReader(
                new InputStreamReader(client.getInputStream(), StandardCharsets.US_ASCII));
            OutputStream out = client.getOutputStream();
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                long seed = Long.parseLong(line);
                Sum sum = new Sum();
                for (int i = 1; i < PARTS; i++) {
                    long each = seed + i;
                    pool.execute(() -> part(each, sum));
                }
                Thread own = new Thread(() -> part(seed, sum));
                own.start();
                long total = sum.await();
                own.join();
                out.write((total + "\n").getBytes(StandardCharsets.US_ASCII));
            }
        } catch (IOException | InterruptedException e) {
            fail(e);
        }
    }

    static void fail(Exception e) {
        e.printStackTrace();
        System.exit(1);
    }

    public static void main(String[] args) throws Exception {
        InetAddress loopback = InetAddress.getLoopbackAddress();
        try (ServerSocket relay = new ServerSocket(0, RELAYS, loopback)) {
            for (int i = 0; i < RELAYS; i++)
                relays.add(new Relay(relay));
        }
        try (ServerSocket listener = new ServerSocket(Integer.parseInt(args[0]), 50, loopback)) {
            while (true) {
                Socket client = listener.accept();
                new Thread(() -> serve(client)).start();
            }
        }
    }
}
