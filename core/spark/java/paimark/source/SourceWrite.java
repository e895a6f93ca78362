package paimark.source;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.SupportsTruncate;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import paimark.library.SourceRows;

/**
 * Writes rows to the table that options name: Python's source begins, Paimon's library writes, Python's source commits.
 *
 * <p>Spark runs Python's part as that of any source, but gives it no rows.
 */
public final class SourceWrite {
    private final PythonDataSourceV2 python;
    private final Map<String, String> options;

    public SourceWrite(PythonDataSourceV2 python, CaseInsensitiveStringMap options) {
        this.python = python;
        this.options = options.asCaseSensitiveMap();
    }

    /** {@code more} are options for Python. */
    public void run(Dataset<Row> rows, boolean replaces, Map<String, String> more) {
        Door door = Door.open();
        Door.Visit visit = door.enter(rows.sparkSession());
        try {
            Map<String, String> all = new HashMap<>(options);
            all.putAll(more);
            all.put(Door.OPTION, door.way(visit));
            BatchWrite write = begin(rows.schema(), replaces, new CaseInsensitiveStringMap(all));
            write.createBatchWriterFactory(() -> 1);
            SourceRows.write(visit.begun(), rows);
            write.commit(new WriterCommitMessage[0]);
        } finally {
            door.leave(visit);
            SourceRows.end(visit.begun());
        }
    }

    private BatchWrite begin(StructType columns, boolean replaces, CaseInsensitiveStringMap all) {
        SupportsWrite table = (SupportsWrite) python.getTable(columns, new Transform[0], options);
        WriteBuilder builder = table.newWriteBuilder(new LogicalWriteInfo() {
            @Override
            public CaseInsensitiveStringMap options() {
                return all;
            }

            @Override
            public String queryId() {
                return Door.OPTION;
            }

            @Override
            public StructType schema() {
                return columns;
            }
        });
        return (replaces ? ((SupportsTruncate) builder).truncate() : builder).build().toBatch();
    }
}
