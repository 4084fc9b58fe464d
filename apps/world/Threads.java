// SPDX-License-Identifier: MIT
// A pool of threads with garbage to collect, a parallel stream, a queue between two threads.

import java.util.ArrayList;
import java.util.concurrent.*;
import java.util.stream.*;

public class Threads {
    static long churn(int seed) {
        long sum = 0;
        for (int i = 0; i < 300; i++) {
            ArrayList<Integer> list = new ArrayList<>();
            for (int j = 0; j < 1000; j++)
                list.add(j * seed + i);
            for (int one : list)
                sum = (sum * 31 + one) % 1000003;
        }
        return sum;
    }

    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(8);
        ArrayList<Future<Long>> all = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            int seed = i;
            all.add(pool.submit(() -> churn(seed)));
        }
        for (Future<Long> one : all)
            System.out.println(one.get());
        pool.shutdown();
        System.out.println(IntStream.range(0, 2000000).parallel().mapToLong(x -> (long) x * x % 7).sum());
        SynchronousQueue<Integer> queue = new SynchronousQueue<>();
        Thread sender = new Thread(() -> {
            try {
                for (int i = 0; i < 20000; i++)
                    queue.put(i);
            } catch (InterruptedException e) {
                throw new RuntimeException(e);
            }
        });
        sender.start();
        long sum = 0;
        for (int i = 0; i < 20000; i++)
            sum += queue.take();
        sender.join();
        System.out.println(sum);
    }
}
