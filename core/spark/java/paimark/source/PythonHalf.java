package paimark.source;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSource;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Python's half of one write: it decides what is written to, and commits what Paimon's library wrote.
 *
 * <p>Spark runs it as that of any source, but gives it no rows.
 */
public final class PythonHalf {
    private static final String NAME = "paimark";

    private final UserDefinedPythonDataSource python;
    private final Door.Visit visit;
    private final byte[] writer;

    private PythonHalf(UserDefinedPythonDataSource python, Door.Visit visit, byte[] writer) {
        this.python = python;
        this.visit = visit;
        this.writer = writer;
    }

    /**
     * {@code columns} are those of the rows; {@code options} name the table, and {@code asked} says what is done to
     * it beside an INSERT.
     */
    public static PythonHalf begin(UserDefinedPythonDataSource python, SparkSession session, StructType columns,
            boolean replaces, Map<String, String> options, Map<String, String> asked) {
        Door door = Door.open();
        Door.Visit visit = door.enter(session, asked);
        Map<String, String> all = new HashMap<>(options);
        all.put(Door.OPTION, door.way(visit));
        byte[] writer = python.createWriteInfoInPython(
                NAME, columns, new CaseInsensitiveStringMap(all), replaces, false).writer();
        return new PythonHalf(python, visit, writer);
    }

    /** The library's write, which Python opened. */
    public Object begun() {
        return visit.begun();
    }

    /** Make the commit. If that fails, Python has deleted the files, or leaves them where it may have been made. */
    public void commit() {
        python.commitWriteInPython(writer, new WriterCommitMessage[0], false);
    }
}
