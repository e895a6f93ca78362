package paimark.source;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** Reads the table that options name by Paimon's library: Python's source says at which state. */
public final class SourceRead {
    private SourceRead() {}

    /** Null: the library can't read it, or it has other columns than these by now. */
    public static ScanBuilder begin(PythonDataSourceV2 python, StructType columns, CaseInsensitiveStringMap options) {
        Door door = Door.open();
        Door.Visit visit = door.enter(org.apache.spark.sql.classic.SparkSession.active(), Map.of());
        Map<String, String> all = new HashMap<>(options.asCaseSensitiveMap());
        all.put(Door.OPTION, door.way(visit));
        StructType found = python.inferSchema(new CaseInsensitiveStringMap(all));
        boolean isForThese = visit.begun() != null && found.equals(columns);
        return isForThese ? ((SupportsRead) visit.begun()).newScanBuilder(options) : null;
    }
}
