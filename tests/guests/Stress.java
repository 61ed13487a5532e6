// SPDX-License-Identifier: MIT
/*
 * Threads that allocate much and sometimes follow null pointers: the virtual machine
 * compiles, collects garbage in threads of its own and stops the others for it, and
 * detects null pointers in compiled code by a SIGSEGV.
 */
import java.util.ArrayList;
import java.util.List;

public class Stress {
    static class Node {
        int value;
        Node next;
    }

    static volatile int sink;
    static int caught;

    /* Compiled code detects a null pointer by a SIGSEGV. */
    static int follow(Node n) {
        try {
            return n.next.value;
        } catch (NullPointerException e) {
            synchronized (Stress.class) {
                caught++;
            }
            return 1;
        }
    }

    static long work(int which) {
        long sum = 0;
        List<Node> kept = new ArrayList<>();
        for (int i = 0; i < 4000; i++) {
            Node n = new Node();
            n.value = i * which;
            if (i % 100 != 0) {
                n.next = new Node();
                n.next.value = i ^ which;
            }
            if (i % 7 == 0) {
                kept.add(n);
            }
            byte[] garbage = new byte[2048];
            garbage[i % 2048] = (byte) i;
            sum += follow(n) + garbage[(i * 3) % 2048];
        }
        return sum + kept.size();
    }

    public static void main(String[] args) throws Exception {
        Thread[] threads = new Thread[3];
        long[] sums = new long[threads.length];
        for (int i = 0; i < threads.length; i++) {
            int which = i;
            threads[i] = new Thread(() -> sums[which] = work(which + 2));
            threads[i].start();
        }
        long total = 0;
        for (int i = 0; i < threads.length; i++) {
            threads[i].join();
            total += sums[i];
        }
        System.gc();
        System.out.println("sum " + total + " caught " + caught);
    }
}
