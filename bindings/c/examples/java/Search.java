// Searches a store from Java 22 or later; with ../java-jna/Store.java from Java 17:
//
//     LD_LIBRARY_PATH=PREFIX/lib java --enable-native-access=ALL-UNNAMED Search.java STORE HEX...
import java.util.Arrays;

public final class Search {
    public static void main(String[] args) {
        boolean found = false;
        long[] needles = Arrays.stream(args).skip(1).mapToLong(text -> Long.parseUnsignedLong(text, 16)).toArray();
        try (Store store = new Store(args[0])) {
            Hit[][] answer = store.searchMany(needles, 3, 10);
            for (int i = 0; i < needles.length; i++) {
                for (Hit hit : answer[i]) {
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
