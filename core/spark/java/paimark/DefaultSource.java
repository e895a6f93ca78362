package paimark;

import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSource;
import org.apache.spark.sql.execution.streaming.Sink;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.CreatableRelationProvider;
import org.apache.spark.sql.sources.StreamSinkProvider;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import paimark.source.SourceRead;
import paimark.source.SourceWrite;
import paimark.source.StreamSink;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The data source {@code paimark} where Spark has this jar. Spark finds it by its name. {@code PaimarkSource} in Python
 * decides about what is read and written; Paimon's library reads and writes the rows. Those of streams Python reads, and
 * what the library can't.
 */
public final class DefaultSource implements TableProvider, CreatableRelationProvider, StreamSinkProvider {
    /** What Python's class calls itself, and under what it is registered where Spark has this one. */
    private static final String NAME = "paimark";
    private static final String REGISTERED = "paimark_python";
    /** The option that says that the library may read the table. */
    private static final String JAVA = "java";
    /** In which Spark tells such a source of partitionBy. */
    private static final String PARTITIONED = "__partition_columns";

    private final PythonDataSourceV2 python = new Python();

    @Override
    public StructType inferSchema(CaseInsensitiveStringMap options) {
        Map<String, String> all = new HashMap<>(options.asCaseSensitiveMap());
        all.put(JAVA, "true");
        return python.inferSchema(new CaseInsensitiveStringMap(all));
    }

    @Override
    public Table getTable(StructType columns, Transform[] partitioning, Map<String, String> options) {
        return new OfPython(python.getTable(columns, partitioning, options), columns, partitioning, options);
    }

    @Override
    public boolean supportsExternalMetadata() {
        return true;
    }

    @Override
    public BaseRelation createRelation(SQLContext context, SaveMode mode,
            scala.collection.immutable.Map<String, String> options, Dataset<Row> rows) {
        if (mode != SaveMode.Append && mode != SaveMode.Overwrite) {
            throw new IllegalArgumentException("Rows are written in the mode append or overwrite, not " + mode);
        }
        CaseInsensitiveStringMap given = new CaseInsensitiveStringMap(CollectionConverters.asJava(options));
        requireNoPartitions(given.containsKey(PARTITIONED));
        new SourceWrite(python, given).run(rows, mode == SaveMode.Overwrite, Map.of());
        return new BaseRelation() {
            @Override
            public SQLContext sqlContext() {
                return context;
            }

            @Override
            public StructType schema() {
                return rows.schema();
            }
        };
    }

    @Override
    public Sink createSink(SQLContext context, scala.collection.immutable.Map<String, String> options,
            scala.collection.immutable.Seq<String> partitionColumns, OutputMode mode) {
        requireNoPartitions(!partitionColumns.isEmpty());
        if (!mode.toString().equalsIgnoreCase("append")) {
            throw new IllegalArgumentException("A stream is written in the output mode append, not "
                    + mode.toString().toLowerCase(Locale.ROOT) + ". Write what changes with foreachBatch");
        }
        return new StreamSink(python, new CaseInsensitiveStringMap(CollectionConverters.asJava(options)));
    }

    private static void requireNoPartitions(boolean areGiven) {
        if (areGiven) {
            throw new IllegalArgumentException("partitionBy has no effect here: the table's own partition columns apply");
        }
    }

    private static final class Python extends PythonDataSourceV2 {
        private final SparkSession session = (SparkSession) SparkSession.active();

        Python() {
            setShortName(NAME);
        }

        /** Whether a streaming query asks: its rows Python reads. */
        boolean isOfStream() {
            return session.sparkContext().getLocalProperty("sql.streaming.queryId") != null;
        }

        @Override
        public UserDefinedPythonDataSource source() {
            return session.sessionState().dataSourceManager().lookupDataSource(REGISTERED);
        }
    }

    private static final class OfPython implements SupportsRead {
        private final Table python;
        private final StructType columns;
        private final Transform[] partitioning;
        private final Map<String, String> given;

        OfPython(Table python, StructType columns, Transform[] partitioning, Map<String, String> given) {
            this.python = python;
            this.columns = columns;
            this.partitioning = partitioning;
            this.given = given;
        }

        @Override
        public String name() {
            return python.name();
        }

        @Override
        @Deprecated
        public StructType schema() {
            return python.schema();
        }

        /** To write, Spark asks the source itself where the table can't. */
        @Override
        public Set<TableCapability> capabilities() {
            return Set.of(TableCapability.BATCH_READ, TableCapability.MICRO_BATCH_READ);
        }

        @Override
        public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
            Python named = new Python();
            if (named.isOfStream()) {
                return ((SupportsRead) python).newScanBuilder(options);
            }
            ScanBuilder found = SourceRead.begin(named, columns, options);
            // Spark's Python table reads at all times the state that it was first asked for.
            return found != null
                    ? found
                    : ((SupportsRead) new Python().getTable(columns, partitioning, given)).newScanBuilder(options);
        }
    }
}
