package paimark.source;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import paimark.library.SourceRows;

/** Writes rows to the table that options name: Python's source begins, Paimon's library writes, Python commits. */
public final class SourceWrite {
    private final PythonDataSourceV2 python;
    private final Map<String, String> options;

    public SourceWrite(PythonDataSourceV2 python, CaseInsensitiveStringMap options) {
        this.python = python;
        this.options = options.asCaseSensitiveMap();
    }

    /** {@code more} are options for Python. */
    public void run(Dataset<Row> rows, boolean replaces, Map<String, String> more) {
        Map<String, String> all = new HashMap<>(options);
        all.putAll(more);
        PythonHalf half = PythonHalf.begin(python.source(), rows.sparkSession(), rows.schema(), replaces, all,
                Map.of());
        try {
            SourceRows.write(half.begun(), rows);
            half.commit();
        } finally {
            SourceRows.end(half.begun());
        }
    }
}
