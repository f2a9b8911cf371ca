// Searches a store from Java 17 with JNA; Hit and Search are those of ../java:
//
//     javac -cp jna.jar -d classes Store.java ../java/Hit.java ../java/Search.java
//     java -cp jna.jar:classes -Djna.library.path=PREFIX/lib Search STORE HEX...
import com.sun.jna.*;
import com.sun.jna.ptr.PointerByReference;
import java.nio.charset.StandardCharsets;

/** A store, read into memory because the JVM cannot recover from SIGBUS, and a searcher for one thread. */
final class Store implements AutoCloseable {
    static { Native.register("fpstore"); }
    static native int fps_open(String path, Pointer options, PointerByReference store, byte[] message, long len);
    static native void fps_close(Pointer store);
    static native int fps_searcher_new(Pointer store, PointerByReference searcher, byte[] message, long len);
    static native void fps_searcher_free(Pointer searcher);
    static native int fps_search_many(
            Pointer searcher, long[] needles, long count, Pointer query, Pointer batch, byte[] message, long len);

    // Plain memory for fps_query and fps_batch, which JNA need not copy.
    private final Memory query = new Memory(56), batch = new Memory(88);
    private final byte[] message = new byte[512];
    private final Pointer store, searcher;

    private void check(int status) {
        if (status != 0) throw new IllegalStateException(Native.toString(message, "UTF-8"));
    }

    Store(String path) {
        Memory options = new Memory(16);
        options.setLong(0, 16); // size
        options.setLong(8, 2); // FPS_ACCESS_MEMORY
        query.clear();
        PointerByReference out = new PointerByReference();
        check(fps_open(path, options, out, message, message.length));
        store = out.getValue();
        check(fps_searcher_new(store, out, message, message.length));
        searcher = out.getValue();
    }

    /** The hits of each needle within k bits, with up to maxIds ids each. */
    Hit[][] searchMany(long[] needles, int k, int maxIds) {
        query.setInt(8, k);
        query.setInt(12, maxIds);
        check(fps_search_many(searcher, needles, needles.length, query, batch, message, message.length));
        return Hit.of(array(0, 1), array(16, 3), array(32, 3));
    }

    /** The array at a pointer of fps_batch, which its length follows, as numbers. */
    private long[] array(long at, int words) {
        int len = Math.toIntExact(batch.getLong(at + 8) * words);
        return len == 0 ? new long[0] : batch.getPointer(at).getLongArray(0, len);
    }

    static String text(long address, long len) {
        return new String(new Pointer(address).getByteArray(0, (int) len), StandardCharsets.UTF_8);
    }

    @Override
    public void close() {
        fps_searcher_free(searcher);
        fps_close(store);
    }
}
