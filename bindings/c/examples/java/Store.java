import static java.lang.foreign.FunctionDescriptor.*;
import static java.lang.foreign.ValueLayout.*;

import java.lang.foreign.*;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;

/** A store, read into memory because the JVM cannot recover from SIGBUS, and a searcher for one thread. */
final class Store implements AutoCloseable {
    private static final MethodHandle
            OPEN = function("fps_open", of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS, ADDRESS, JAVA_LONG)),
            CLOSE = function("fps_close", ofVoid(ADDRESS)),
            NEW = function("fps_searcher_new", of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS, JAVA_LONG)),
            FREE = function("fps_searcher_free", ofVoid(ADDRESS)),
            SEARCH_MANY = function("fps_search_many",
                    of(JAVA_INT, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS, ADDRESS, JAVA_LONG));
    private final Arena arena = Arena.ofAuto();
    private final MemorySegment message = arena.allocate(512), query = arena.allocate(56, 8); // fps_query
    private final MemorySegment batch = arena.allocate(88, 8), store, searcher; // fps_batch
    private MemorySegment numbers = arena.allocate(8, 8);

    private interface Call { int run() throws Throwable; }

    private static MethodHandle function(String name, FunctionDescriptor type) {
        SymbolLookup library = SymbolLookup.libraryLookup(System.mapLibraryName("fpstore"), Arena.global());
        return Linker.nativeLinker().downcallHandle(library.find(name).orElseThrow(), type);
    }

    private void check(Call call) {
        int status;
        try {
            status = call.run();
        } catch (Throwable error) {
            throw new AssertionError(error);
        }
        if (status != 0) throw new IllegalStateException(message.getString(0));
    }

    Store(String path) {
        MemorySegment options = arena.allocateFrom(JAVA_LONG, 16, 2); // size, FPS_ACCESS_MEMORY
        MemorySegment name = arena.allocateFrom(path), out = arena.allocate(ADDRESS);
        check(() -> (int) OPEN.invokeExact(name, options, out, message, 512L));
        store = out.get(ADDRESS, 0);
        check(() -> (int) NEW.invokeExact(store, out, message, 512L));
        searcher = out.get(ADDRESS, 0);
    }

    /** The hits of each needle within k bits, with up to maxIds ids each. */
    Hit[][] searchMany(long[] needles, int k, int maxIds) {
        query.set(JAVA_INT, 8, k);
        query.set(JAVA_INT, 12, maxIds);
        if (numbers.byteSize() < 8L * needles.length) numbers = arena.allocate(JAVA_LONG, needles.length);
        MemorySegment.copy(needles, 0, numbers, JAVA_LONG, 0, needles.length);
        check(() -> (int) SEARCH_MANY.invokeExact(
                searcher, numbers, (long) needles.length, query, batch, message, 512L));
        return Hit.of(array(0, 1), array(16, 3), array(32, 3));
    }

    /** The array at a pointer of fps_batch, which its length follows, as numbers. */
    private long[] array(long at, int words) {
        return batch.get(ADDRESS, at).reinterpret(batch.get(JAVA_LONG, at + 8) * 8 * words).toArray(JAVA_LONG);
    }

    static String text(long address, long len) {
        MemorySegment text = MemorySegment.ofAddress(address).reinterpret(len);
        return StandardCharsets.UTF_8.decode(text.asByteBuffer()).toString();
    }

    @Override
    public void close() {
        check(() -> {
            FREE.invokeExact(searcher);
            CLOSE.invokeExact(store);
            return 0;
        });
    }
}
