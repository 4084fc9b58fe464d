// SPDX-License-Identifier: MIT
// Threads of Java that share a monitor, and a garbage collector that has something to do.
public class Counts {
    static long sum;

    public static void main(String[] arguments) throws Exception {
        Thread[] threads = new Thread[50];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> {
                for (int k = 0; k < 1000; k++) {
                    byte[] garbage = new byte[1000];
                    synchronized (Counts.class) {
                        sum += garbage.length;
                    }
                }
            });
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println(sum);
    }
}
