// Searches a store from Java 17, with JNA; java/Search.java needs Java 22, but no JNA.
//
//     java -cp jna.jar -Djna.library.path=PREFIX/lib Search.java STORE HEX...
import com.sun.jna.Memory;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.PointerByReference;
import java.nio.charset.StandardCharsets;
import java.util.*;

public final class Search {
    /** Functions of fpstore.h; structs are plain memory, which JNA need not copy. */
    static final class Fps {
        static { Native.register("fpstore"); }
        static native int fps_open(String path, Pointer options, PointerByReference store, byte[] message, long len);
        static native void fps_close(Pointer store);
        static native int fps_searcher_new(Pointer store, PointerByReference searcher, byte[] message, long len);
        static native void fps_searcher_free(Pointer searcher);
        static native int fps_search_many(
                Pointer searcher, long[] needles, long count, Pointer query, Pointer batch, byte[] message, long len);
    }

    record Hit(long fingerprint, int distance, List<String> ids) {}

    /** The hits of many needles, valid until the next call of their store. */
    record Batch(Pointer ends, Pointer hits, Pointer ids, long hitCount) {
        int distance(long hit) {
            return hits.getInt(24 * hit + 20);
        }

        List<Hit> hits(int needle) {
            List<Hit> found = new ArrayList<>();
            long at = needle > 0 ? ends.getLong(8L * (needle - 1)) : 0;
            for (; at < ends.getLong(8L * needle); at++) {
                Pointer hit = hits.share(24 * at);
                List<String> texts = new ArrayList<>();
                for (long id = hit.getLong(8), last = id + hit.getInt(16); id < last; id++) {
                    texts.add(text(ids.share(24 * id)));
                }
                found.add(new Hit(hit.getLong(0), hit.getInt(20), texts));
            }
            return found;
        }

        private static String text(Pointer id) {
            Pointer text = id.getPointer(0);
            return text == null
                    ? Long.toUnsignedString(id.getLong(16))
                    : new String(text.getByteArray(0, (int) id.getLong(8)), StandardCharsets.UTF_8);
        }
    }

    /** A store, read into memory because the JVM cannot recover from SIGBUS, and a searcher for one thread. */
    static final class Store implements AutoCloseable {
        private final byte[] message = new byte[512];
        private final Memory query = new Memory(56), batch = new Memory(88);
        private final Pointer store, searcher;

        Store(String path) {
            Memory options = new Memory(16);
            options.setLong(0, 16); // size
            options.setLong(8, 2); // FPS_ACCESS_MEMORY
            query.clear();
            PointerByReference out = new PointerByReference();
            check(Fps.fps_open(path, options, out, message, message.length));
            store = out.getValue();
            check(Fps.fps_searcher_new(store, out, message, message.length));
            searcher = out.getValue();
        }

        private void check(int status) {
            if (status != 0) {
                throw new IllegalStateException(Native.toString(message, "UTF-8"));
            }
        }

        /** Searches for all needles within k bits, with up to maxIds ids for each hit. */
        Batch searchMany(long[] needles, int k, int maxIds) {
            query.setInt(8, k);
            query.setInt(12, maxIds);
            check(Fps.fps_search_many(searcher, needles, needles.length, query, batch, message, message.length));
            return new Batch(batch.getPointer(0), batch.getPointer(16), batch.getPointer(32), batch.getLong(24));
        }

        @Override
        public void close() {
            Fps.fps_searcher_free(searcher);
            Fps.fps_close(store);
        }
    }

    public static void main(String[] args) {
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
