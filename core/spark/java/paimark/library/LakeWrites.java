package paimark.library;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
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
    private static final String EXTENSIONS = "spark.sql.extensions";
    private static final String ASSIGNMENT = "spark.sql.storeAssignmentPolicy";
    /** Our source in Python, by its name, as Python's pickle writes it. */
    private static final String SOURCE = "cpaimark.core.spark.source\nPaimarkSource\n.";
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
        isReadOnly = Boolean.parseBoolean(options.remove(READ_ONLY));
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

    /** Begin one write; {@code more} are options that say what is done. */
    PythonHalf begin(LakeName table, StructType columns, boolean replaces, Map<String, String> more) {
        Map<String, String> all = new HashMap<>(options);
        all.putAll(more);
        all.put("table", table.database + "." + table.table);
        if (!table.isMain) {
            all.put("branch", table.branch);
        }
        try {
            return PythonHalf.begin(source(), session, columns, replaces, all);
        } catch (Exception error) {
            throw told(error);
        }
    }

    void commit(PythonHalf begun) {
        try {
            begun.commit();
        } catch (Exception error) {
            throw told(error);
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
        try {
            Process asked = new ProcessBuilder(python, "-c", VERSION).redirectErrorStream(true).start();
            return new String(asked.getInputStream().readAllBytes(), StandardCharsets.UTF_8).trim();
        } catch (IOException error) {
            throw new UncheckedIOException("Paimark's Python does not start: " + error.getMessage(), error);
        }
    }

    /** One sentence, where the error is one of ours. */
    private static RuntimeException told(Exception error) {
        Matcher found = TOLD.matcher(String.valueOf(error.getMessage()));
        String last = null;
        while (found.find()) {
            last = found.group(1);
        }
        return last == null ? new IllegalStateException(error.getMessage(), error)
                : new IllegalArgumentException(last, error);
    }
}
