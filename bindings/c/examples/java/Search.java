// Searches a store from Java 22 or later, with java.lang.foreign:
//
//     LD_LIBRARY_PATH=PREFIX/lib java --enable-native-access=ALL-UNNAMED Search.java STORE HEX...
import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.*;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;
import java.util.*;

public final class Search {
    record Hit(long fingerprint, int distance, List<String> ids) {}

    /** The hits of many needles, valid until the next call of their store. */
    record Batch(MemorySegment ends, MemorySegment hits, MemorySegment ids) {
        long hitCount() {
            return hits.byteSize() / 24;
        }

        int distance(long hit) {
            return hits.get(JAVA_INT, 24 * hit + 20);
        }

        List<Hit> hits(int needle) {
            List<Hit> found = new ArrayList<>();
            long at = needle > 0 ? ends.getAtIndex(JAVA_LONG, needle - 1) : 0;
            for (; at < ends.getAtIndex(JAVA_LONG, needle); at++) {
                MemorySegment hit = hits.asSlice(24 * at, 24);
                List<String> texts = new ArrayList<>();
                for (long id = hit.get(JAVA_LONG, 8), last = id + hit.get(JAVA_INT, 16); id < last; id++) {
                    texts.add(text(ids.asSlice(24 * id, 24)));
                }
                found.add(new Hit(hit.get(JAVA_LONG, 0), hit.get(JAVA_INT, 20), texts));
            }
            return found;
        }

        private static String text(MemorySegment id) {
            MemorySegment text = id.get(ADDRESS, 0).reinterpret(id.get(JAVA_LONG, 8));
            return text.address() == 0
                    ? Long.toUnsignedString(id.get(JAVA_LONG, 16))
                    : new String(text.toArray(JAVA_BYTE), StandardCharsets.UTF_8);
        }
    }

    /** A store, read into memory because the JVM cannot recover from SIGBUS, and a searcher for one thread. */
    static final class Store implements AutoCloseable {
        private static final SymbolLookup LIBRARY =
                SymbolLookup.libraryLookup(System.mapLibraryName("fpstore"), Arena.global());
        private static final MethodHandle OPEN = of("fps_open", ADDRESS, ADDRESS, ADDRESS, ADDRESS, JAVA_LONG);
        private static final MethodHandle NEW = of("fps_searcher_new", ADDRESS, ADDRESS, ADDRESS, JAVA_LONG);
        private static final MethodHandle SEARCH_MANY = of("fps_search_many",
                ADDRESS, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS, ADDRESS, JAVA_LONG);
        private static final MethodHandle FREE = ofVoid("fps_searcher_free"), CLOSE = ofVoid("fps_close");
        private final Arena arena = Arena.ofConfined();
        private final MemorySegment message = arena.allocate(512), query = arena.allocate(56, 8);
        private final MemorySegment batch = arena.allocate(88, 8), store, searcher;
        private MemorySegment numbers = arena.allocate(0);

        private static MethodHandle of(String name, MemoryLayout... arguments) {
            return Linker.nativeLinker().downcallHandle(
                    LIBRARY.find(name).get(), FunctionDescriptor.of(JAVA_INT, arguments));
        }

        private static MethodHandle ofVoid(String name) {
            return Linker.nativeLinker().downcallHandle(LIBRARY.find(name).get(), FunctionDescriptor.ofVoid(ADDRESS));
        }

        Store(String path) throws Throwable {
            MemorySegment options = arena.allocate(16, 8), out = arena.allocate(ADDRESS);
            options.set(JAVA_LONG, 0, 16); // size
            options.set(JAVA_INT, 8, 2); // FPS_ACCESS_MEMORY
            check((int) OPEN.invokeExact(arena.allocateFrom(path), options, out, message, 512L));
            store = out.get(ADDRESS, 0);
            check((int) NEW.invokeExact(store, out, message, 512L));
            searcher = out.get(ADDRESS, 0);
        }

        private void check(int status) {
            if (status != 0) {
                throw new IllegalStateException(message.getString(0));
            }
        }

        /** Searches for all needles within k bits, with up to maxIds ids for each hit. */
        Batch searchMany(long[] needles, int k, int maxIds) throws Throwable {
            query.set(JAVA_INT, 8, k);
            query.set(JAVA_INT, 12, maxIds);
            if (numbers.byteSize() < 8L * needles.length) {
                numbers = arena.allocate(JAVA_LONG, needles.length);
            }
            MemorySegment.copy(needles, 0, numbers, JAVA_LONG, 0, needles.length);
            check((int) SEARCH_MANY.invokeExact(
                    searcher, numbers, (long) needles.length, query, batch, message, 512L));
            return new Batch(array(0, 8), array(16, 24), array(32, 24));
        }

        /** The array at a pointer of the batch, which is followed by the number of elements. */
        private MemorySegment array(long offset, long elementLen) {
            return batch.get(ADDRESS, offset).reinterpret(batch.get(JAVA_LONG, offset + 8) * elementLen);
        }

        @Override
        public void close() throws Exception {
            try {
                FREE.invokeExact(searcher);
                CLOSE.invokeExact(store);
            } catch (Throwable error) {
                throw new IllegalStateException(error);
            }
            arena.close();
        }
    }

    public static void main(String[] args) throws Throwable {
        boolean found = false;
        try (Store store = new Store(args[0])) {
            long[] needles = Arrays.stream(args).skip(1).mapToLong(text -> Long.parseUnsignedLong(text, 16)).toArray();
            Batch batch = store.searchMany(needles, 3, 10);
            for (int i = 0; i < needles.length; i++) {
                for (Hit hit : batch.hits(i)) {
                    for (String id : hit.ids()) {
                        System.out.printf("%016x\t%016x\t%d\t%s%n", needles[i], hit.fingerprint(), hit.distance(), id);
                        found = true;
                    }
                }
            }
        } catch (IllegalStateException error) {
            System.err.println("search: " + error.getMessage());
            System.exit(2);
        }
        System.exit(found ? 0 : 1);
    }
}
