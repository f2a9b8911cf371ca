import java.util.*;

/** A stored fingerprint within the distance of a needle. */
record Hit(long fingerprint, int distance, List<String> ids) {
    /** The hits of each needle, from the arrays of fps_batch as numbers: an fps_hit or fps_id is three. */
    static List<List<Hit>> of(long[] ends, long[] hits, long[] ids) {
        List<List<Hit>> answer = new ArrayList<>(ends.length);
        int at = 0;
        for (long end : ends) {
            List<Hit> found = new ArrayList<>();
            for (; at < 3 * end; at += 3) {
                // The third number is id_count and, in its upper half, the distance.
                List<String> texts = new ArrayList<>();
                for (int id = 3 * (int) hits[at + 1], last = id + 3 * (int) hits[at + 2]; id < last; id += 3) {
                    texts.add(ids[id] == 0 ? Long.toUnsignedString(ids[id + 2]) : Store.text(ids[id], ids[id + 1]));
                }
                found.add(new Hit(hits[at], (int) (hits[at + 2] >>> 32), texts));
            }
            answer.add(found);
        }
        return answer;
    }
}
