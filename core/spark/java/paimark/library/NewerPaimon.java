package paimark.library;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;

/** What Paimon 1.4 does not know: {@code newer.txt} lists it, which Python reads, too. */
final class NewerPaimon {
    /** By kind and name, with the Paimon and the jar. */
    private static final Map<String, String[]> LISTED = listed();

    private NewerPaimon() {}

    /** Options by which a reader sees other rows. A star stands for a column. */
    static Iterable<String> options() {
        return LISTED.keySet().stream()
                .filter(each -> each.startsWith("option "))
                .map(each -> each.substring("option ".length()))
                .collect(Collectors.toList());
    }

    /** {@code , of Paimon 2.0}; empty if nothing is known of it. */
    static String of(String kind, String name) {
        String[] found = LISTED.get(kind + " " + name);
        return found == null ? "" : ", of Paimon " + found[0] + (found.length > 1 ? " (" + found[1] + ")" : "");
    }

    /** Where it is read. */
    static String hint(String kind, String name) {
        String[] found = LISTED.get(kind + " " + name);
        if (found == null) {
            return "Read it with the engine that wrote it";
        }
        return found.length > 1
                ? "Read it with an engine that has the jar " + found[1]
                : "Read it with an engine of that version";
    }

    private static Map<String, String[]> listed() {
        Map<String, String[]> found = new LinkedHashMap<>();
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(
                NewerPaimon.class.getResourceAsStream("newer.txt"), StandardCharsets.UTF_8))) {
            lines.lines().filter(line -> !line.startsWith("#")).map(line -> line.split(" ", 3)).forEach(words ->
                    found.put(words[0] + " " + words[1], words[2].split(" ")));
        } catch (IOException unread) {
            throw new UncheckedIOException(unread);
        }
        return found;
    }
}
