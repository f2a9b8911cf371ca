/** A stored fingerprint within the distance of a needle. */
record Hit(long fingerprint, int distance, String[] ids) {
    /** The hits of each needle, from the arrays of fps_batch as numbers: an fps_hit or fps_id is three. */
    static Hit[][] of(long[] ends, long[] hits, long[] ids) {
        Hit[][] answer = new Hit[ends.length][];
        int at = 0;
        for (int needle = 0; needle < ends.length; needle++) {
            Hit[] found = answer[needle] = new Hit[(int) ends[needle] - at / 3];
            for (int i = 0; i < found.length; i++, at += 3) {
                // The third number is id_count and, in its upper half, the distance.
                String[] texts = new String[(int) hits[at + 2]];
                for (int j = 0; j < texts.length; j++) texts[j] = id(ids, 3 * ((int) hits[at + 1] + j));
                found[i] = new Hit(hits[at], (int) (hits[at + 2] >>> 32), texts);
            }
        }
        return answer;
    }

    private static String id(long[] ids, int at) {
        return ids[at] == 0 ? Long.toUnsignedString(ids[at + 2]) : Store.text(ids[at], ids[at + 1]);
    }
}
