// Java 22 or later: the same as bench.c, with the classes of examples/java.
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.*;
import java.util.Arrays;
import java.util.function.IntUnaryOperator;

public final class Bench {
    static double median(int count, IntUnaryOperator act) {
        double[] times = new double[count];
        int sum = 0;
        // The first rounds make the JVM compile the code.
        for (int round = 0; round < 3; round++) {
            for (int i = 0; i < count; i++) {
                long start = System.nanoTime();
                sum += act.applyAsInt(i);
                times[i] = (System.nanoTime() - start) / 1e3;
            }
        }
        if (sum == 0) throw new IllegalStateException();
        Arrays.sort(times);
        return times[count > 1000 ? count / 2 : 0];
    }

    static int distances(Hit[][] answer) {
        int sum = 0;
        for (Hit[] hits : answer) for (Hit hit : hits) sum += hit.distance();
        return sum;
    }

    public static void main(String[] args) throws IOException {
        ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(Path.of(args[1]))).order(ByteOrder.LITTLE_ENDIAN);
        long[] queries = new long[bytes.remaining() / 8];
        bytes.asLongBuffer().get(queries);
        try (Store store = new Store(args[0])) {
            long[] one = new long[1];
            for (int ids : new int[] {0, 10}) {
                System.out.printf("%.3f ", median(queries.length, i -> {
                    one[0] = queries[i];
                    return store.searchMany(one, 3, ids)[0].length;
                }));
            }
            System.out.printf("%.1f%n", median(queries.length / 1000, i -> distances(
                    store.searchMany(Arrays.copyOfRange(queries, 1000 * i, 1000 * i + 1000), 3, 0))));
        }
    }
}
