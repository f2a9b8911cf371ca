// Searches a store from Java 17, with JNA:
//
//     java -cp jna.jar -Djna.library.path=PREFIX/lib Search.java STORE HEX...
//
// From Java 22 on, the same functions can be called without JNA, by java.lang.foreign.
import com.sun.jna.Library;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import com.sun.jna.Structure;
import com.sun.jna.ptr.PointerByReference;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

public final class Search {
    interface Fps extends Library {
        int fps_open(String path, Options options, PointerByReference store, byte[] message, long messageLen);
        void fps_close(Pointer store);
        int fps_searcher_new(Pointer store, PointerByReference searcher, byte[] message, long messageLen);
        void fps_searcher_free(Pointer searcher);
        int fps_search_many(Pointer searcher, long[] needles, long count, Query query, Batch batch,
                byte[] message, long messageLen);
    }

    @Structure.FieldOrder({"size", "access", "warm"})
    public static class Options extends Structure {
        public long size = 16;
        public int access, warm;
    }

    @Structure.FieldOrder({"needle", "k", "maxIds", "limit", "maxCompared", "timeoutUs", "reserved"})
    public static class Query extends Structure {
        public long needle;
        public int k, maxIds;
        public long limit, maxCompared, timeoutUs;
        public long[] reserved = new long[2];
    }

    @Structure.FieldOrder({"hitEnds", "queryCount", "hits", "hitCount", "ids", "idCount", "generation", "cutCount"})
    public static class Batch extends Structure {
        public Pointer hitEnds;
        public long queryCount;
        public Pointer hits;
        public long hitCount;
        public Pointer ids;
        public long idCount, generation, cutCount;
    }

    record Hit(long fingerprint, int distance, List<String> ids) {}

    /** A store in memory (the JVM cannot recover from SIGBUS) and a searcher of one thread. */
    static final class Store implements AutoCloseable {
        private static final Fps FPS = Native.load("fpstore", Fps.class);
        private final byte[] message = new byte[512];
        private final Pointer store, searcher;

        Store(String path) {
            Options options = new Options();
            options.access = 2;
            PointerByReference out = new PointerByReference();
            check(FPS.fps_open(path, options, out, message, message.length));
            store = out.getValue();
            check(FPS.fps_searcher_new(store, out, message, message.length));
            searcher = out.getValue();
        }

        private void check(int status) {
            if (status != 0) {
                throw new IllegalStateException(Native.toString(message, "UTF-8"));
            }
        }

        /** The hits of each needle within k bits, with up to maxIds ids for each hit. */
        List<List<Hit>> searchMany(long[] needles, int k, int maxIds) {
            Query query = new Query();
            query.k = k;
            query.maxIds = maxIds;
            Batch batch = new Batch();
            check(FPS.fps_search_many(searcher, needles, needles.length, query, batch, message, message.length));
            List<List<Hit>> answers = new ArrayList<>();
            long at = 0;
            for (int i = 0; i < needles.length; i++) {
                List<Hit> hits = new ArrayList<>();
                for (long end = batch.hitEnds.getLong(8L * i); at < end; at++) {
                    Pointer hit = batch.hits.share(24 * at);
                    List<String> ids = new ArrayList<>();
                    for (int id = 0; id < hit.getInt(16); id++) {
                        ids.add(idAt(batch.ids.share(24 * (hit.getLong(8) + id))));
                    }
                    hits.add(new Hit(hit.getLong(0), hit.getInt(20), ids));
                }
                answers.add(hits);
            }
            return answers;
        }

        private static String idAt(Pointer id) {
            Pointer text = id.getPointer(0);
            if (text == null) {
                return Long.toUnsignedString(id.getLong(16));
            }
            return new String(text.getByteArray(0, (int) id.getLong(8)), StandardCharsets.UTF_8);
        }

        @Override
        public void close() {
            FPS.fps_searcher_free(searcher);
            FPS.fps_close(store);
        }
    }

    public static void main(String[] args) {
        boolean found = false;
        try (Store store = new Store(args[0])) {
            long[] needles = new long[args.length - 1];
            for (int i = 0; i < needles.length; i++) {
                needles[i] = Long.parseUnsignedLong(args[i + 1], 16);
            }
            List<List<Hit>> answers = store.searchMany(needles, 3, 10);
            for (int i = 0; i < needles.length; i++) {
                for (Hit hit : answers.get(i)) {
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
