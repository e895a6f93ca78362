package paimark.library;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.api.python.SimplePythonFunction;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSource;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import paimark.clauses.LakeExtensions;
import paimark.source.PythonHalf;

/** How statements write to the tables of a {@link LakeCatalog}: Paimark's Python begins and commits each write. */
final class LakeWrites {
    private static final String PYTHON = "python";
    private static final String READ_ONLY = "read-only";
    private static final List<String> NOTE = List.of("message", "author");
    private static final String EXTENSIONS = "spark.sql.extensions";
    private static final String ASSIGNMENT = "spark.sql.storeAssignmentPolicy";
    /** Our source in Python, by its name, as Python's pickle writes it. */
    private static final String SOURCE = "cpaimark.core.spark.source\nPaimarkSource\n.";
    /** Of an error in Python, its last line. */
    private static final Pattern LAST = Pattern.compile("(?m)^(\\w[\\w.]*(?:Error|Exception|Interrupt)\\b.*)$");
    private static final Pattern NUMBERS = Pattern.compile("\\d+\\.\\d+");
    private static final String VERSION = "import sys; print('%d.%d' % sys.version_info[:2])";
    /** What an error of ours says, in the last lines of a Python error. */
    private static final Pattern TOLD = Pattern.compile("(?m)^paimark\\.[\\w.]+: (.+)");

    private final SparkSession session;
    private final Map<String, String> options;
    private final String python;
    private final boolean isReadOnly;
    private UserDefinedPythonDataSource source;

    /** {@code given} are the options of the catalog: its address, the store's options, and our own. */
    LakeWrites(SparkSession session, CaseInsensitiveStringMap given) {
        this.session = session;
        options = new HashMap<>(given.asCaseSensitiveMap());
        python = options.remove(PYTHON);
        isReadOnly = isTrue(options.remove(READ_ONLY));
    }

    /** A value that is not understood must not allow anything. */
    private static boolean isTrue(String text) {
        if (text == null || text.equalsIgnoreCase("false")) {
            return false;
        }
        if (text.equalsIgnoreCase("true")) {
            return true;
        }
        throw new IllegalArgumentException("The catalog's option " + READ_ONLY + " is true or false, not " + text);
    }

    /** The options that a program gave with its rows. Others of the source would name another table than Spark's. */
    static Map<String, String> given(CaseInsensitiveStringMap options) {
        for (String each : options.keySet()) {
            if (!NOTE.contains(each.toLowerCase(Locale.ROOT))) {
                throw new IllegalArgumentException("A write to this catalog has no option " + each + ": there are "
                        + String.join(" and ", NOTE) + ". Those of the store are options of the catalog");
            }
        }
        return new HashMap<>(options.asCaseSensitiveMap());
    }

    void requireAllowed() {
        if (isReadOnly) {
            throw new UnsupportedOperationException("Nothing is changed in read-only mode");
        }
        if (python == null) {
            throw new UnsupportedOperationException("Rows are written by Paimark's Python, and this catalog names none."
                    + " Start Spark with the settings that `paimark jars catalog` prints");
        }
        String extensions = session.sparkContext().conf().get(EXTENSIONS, "");
        if (!extensions.contains(LakeExtensions.class.getName())) {
            throw new UnsupportedOperationException("Spark would round and cut values that a column can't hold. Set "
                    + EXTENSIONS + "=" + LakeExtensions.class.getName() + " to write");
        }
        String assignment = session.conf().get(ASSIGNMENT);
        if (!assignment.equalsIgnoreCase("ANSI")) {
            throw new UnsupportedOperationException(
                    ASSIGNMENT + " is " + assignment + ", and values could be cut in silence. SET " + ASSIGNMENT + "=ANSI first");
        }
    }

    /** Begin one write; {@code more} are a program's options, {@code asked} says what is done. */
    PythonHalf begin(LakeName table, StructType columns, boolean replaces, Map<String, String> more,
            Map<String, String> asked) {
        Map<String, String> all = new HashMap<>(options);
        all.putAll(more);
        all.put("table", table.database() + "." + table.table());
        if (!table.isMain()) {
            all.put("branch", table.branch());
        }
        try {
            return PythonHalf.begin(source(), session, columns, replaces, all, asked);
        } catch (Exception error) {
            throw told(error, "");
        }
    }

    /** {@code name} is the table's, for people. */
    void commit(PythonHalf begun, String name) {
        try {
            begun.commit();
        } catch (Exception error) {
            throw told(error, ". Whether this was committed, `paimark operations` tells for " + name);
        } finally {
            SourceRows.end(begun.begun());
        }
    }

    private synchronized UserDefinedPythonDataSource source() {
        if (source == null) {
            Map<String, String> environment = Map.of("PYTHONPATH", PythonUtils.sparkPythonPath());
            source = new UserDefinedPythonDataSource(new SimplePythonFunction(
                    SOURCE.getBytes(StandardCharsets.US_ASCII), new HashMap<>(environment), List.of(), python, version(),
                    List.of(), null));
        }
        return source;
    }

    private String version() {
        String told;
        try {
            Process asked = new ProcessBuilder(python, "-c", VERSION).redirectErrorStream(true).start();
            told = new String(asked.getInputStream().readAllBytes(), StandardCharsets.UTF_8).trim();
        } catch (IOException error) {
            throw new UncheckedIOException("Paimark's Python does not start: " + error.getMessage(), error);
        }
        if (!NUMBERS.matcher(told).matches()) {
            throw new IllegalArgumentException("Paimark's Python does not start: " + python + " says "
                    + (told.isEmpty() ? "nothing" : told.lines().reduce("", (before, line) -> line)));
        }
        return told;
    }

    /** One sentence, where the error is one of ours; others do not say what is {@code unsaid}. */
    private static RuntimeException told(Exception error, String unsaid) {
        String text = String.valueOf(error.getMessage()), ours = last(TOLD, text);
        if (ours != null) {
            return new IllegalArgumentException(ours, error);
        }
        String other = text.contains("Traceback (most recent call last)") ? last(LAST, text) : null;
        String said = other == null ? text : "Paimark's Python failed: " + other;
        return new IllegalArgumentException(said.replaceAll("\\.\\s*$", "") + unsaid, error);
    }

    private static String last(Pattern pattern, String text) {
        Matcher found = pattern.matcher(text);
        String last = null;
        while (found.find()) {
            last = found.group(1);
        }
        return last;
    }
}
