package paimark.library;

import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.paimon.CoreOptions;
import org.apache.paimon.Snapshot;
import org.apache.paimon.factories.FactoryException;
import org.apache.paimon.format.FileFormat;
import org.apache.paimon.fs.FileIO;
import org.apache.paimon.fs.Path;
import org.apache.paimon.options.ConfigOption;
import org.apache.paimon.options.MemorySize;
import org.apache.paimon.options.Options;
import org.apache.paimon.schema.TableSchema;
import org.apache.paimon.table.CatalogEnvironment;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.FileStoreTableFactory;
import org.apache.paimon.utils.SegmentsCache;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;
import scala.collection.immutable.Seq;

/** Opens tables, each at a state, to be read by Paimon's own library: the door for Python. */
public final class LibraryReads {
    private static final SegmentsCache<Path> MANIFESTS =
            SegmentsCache.create(MemorySize.ofMebiBytes(64), Long.MAX_VALUE);
    private static final String BRANCH = "branch";
    /** Options of a table that name a state. */
    static final List<String> STATES = List.of(
            "scan.mode", "scan.snapshot-id", "scan.tag-name", "scan.version", "scan.timestamp", "scan.timestamp-millis",
            "scan.watermark", "scan.creation-time-millis", "scan.file-creation-time-millis", "incremental-between",
            "incremental-between-timestamp", "incremental-to-auto-tag");

    private final SparkSession session;
    private volatile FewRows current;

    public LibraryReads(SparkSession session) {
        this.session = session;
    }

    /**
     * A table at a state. {@code path} is an address for Hadoop, {@code branch} null for the table's own directory.
     * {@code schema} and {@code snapshot} are records in JSON; an empty snapshot has no rows. {@code only} is null, or
     * the names of the only data files to read, apart by new lines. {@code scope}: a version reads a table that
     * stands on several branches as the version's time had them, a root reads only that branch.
     */
    public LibraryTable table(String path, String branch, String schema, String snapshot, String only, String scope) {
        FileStoreTable table = open(path, branch, schema, scope.equals("root") || only != null);
        table.setManifestCache(MANIFESTS);
        Snapshot state = snapshot.isEmpty() ? null : Snapshot.fromJson(snapshot);
        String name = path.substring(path.lastIndexOf('/') + 1);
        return new LibraryTable(name, table, state, scope.equals("version"), only);
    }

    /** Whether this library has an option of tables: one that came later is nothing to it. */
    public boolean knows(String option) {
        for (Field field : CoreOptions.class.getFields()) {
            try {
                Object value = Modifier.isStatic(field.getModifiers()) ? field.get(null) : null;
                if (option.equals(value) || value instanceof ConfigOption && ((ConfigOption<?>) value).key().equals(option)) {
                    return true;
                }
            } catch (IllegalAccessException hidden) {
                throw new IllegalStateException(hidden);
            }
        }
        return false;
    }

    /** Whether this library reads files of a format. */
    public boolean reads(String format) {
        try {
            FileFormat.fromIdentifier(format, new Options());
            return true;
        } catch (FactoryException unknown) {
            return false;
        }
    }

    /** The rows of a table. {@code most} is how many are enough, if no condition leaves some out; negative for all. */
    public Dataset<Row> frame(LibraryTable table, int most) {
        CaseInsensitiveStringMap options = new CaseInsensitiveStringMap(Map.of(LibraryTable.MOST, String.valueOf(most)));
        return Dataset.ofRows(
                session, DataSourceV2Relation.create(table, Option.empty(), Option.empty(), options, Option.empty()));
    }

    /**
     * The rows with some values, or the first rows: {@code ChosenFiles} describes the question. Null if too many rows
     * are found, or have to be looked at.
     */
    public Dataset<Row> few(LibraryTable table, String question) throws IOException {
        ChosenFiles chosen = new ChosenFiles(table, question);
        FewRows rows = chosen.rows();
        current = rows;
        try {
            List<InternalRow> found = chosen.found(rows);
            if (found == null) {
                return null;
            }
            LocalRelation made = new LocalRelation(
                    (Seq) DataTypeUtils.toAttributes(SparkTypes.of(table.table.rowType())),
                    PythonUtils.toSeq(found),
                    false,
                    Option.empty());
            made.setAnalyzed();
            return Dataset.ofRows(session, made);
        } finally {
            current = null;
        }
    }

    /** Makes a running {@code few} fail, if there is one. Any thread may call this. */
    public void stop() {
        FewRows rows = current;
        if (rows != null) {
            rows.stop();
        }
    }

    FileStoreTable open(String path, String branch, String schema, boolean isAlone) {
        try {
            return opened(path, branch, schema, isAlone);
        } catch (FactoryException unknown) {
            throw ReadErrors.told(unknown, path);
        }
    }

    private FileStoreTable opened(String path, String branch, String schema, boolean isAlone) {
        Path place = new Path(path);
        TableSchema found = TableSchema.fromJson(schema);
        Map<String, String> options = withoutStates(found.options());
        options.put("path", path);
        if (branch != null) {
            options.put(BRANCH, branch);
        }
        if (isAlone) {
            options.remove("chain-table.enabled");
            return FileStoreTableFactory.createWithoutFallbackBranch(
                    files(place), place, found.copy(options), new Options(), CatalogEnvironment.empty());
        }
        return ChainSnapshots.ordered(
                FileStoreTableFactory.create(files(place), place, found.copy(options), CatalogEnvironment.empty()));
    }

    /** Options of a table without those that name a state or branch: the library would take that one's columns. */
    static Map<String, String> withoutStates(Map<String, String> options) {
        Map<String, String> left = new HashMap<>(options);
        left.keySet().removeAll(STATES);
        left.remove(BRANCH);
        return left;
    }

    FileIO files(Path place) {
        return StoreFiles.reached(place, session.sessionState().newHadoopConf());
    }
}
