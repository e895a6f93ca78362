package paimark.library;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.paimon.Snapshot;
import org.apache.paimon.fs.FileStatus;
import org.apache.paimon.fs.Path;
import org.apache.paimon.schema.SchemaManager;
import org.apache.paimon.schema.TableSchema;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.system.SystemTableLoader;
import org.apache.spark.sql.catalyst.analysis.NoSuchFunctionException;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.FunctionCatalog;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableWritePrivilege;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import paimark.catalog.ReadOnlyCatalog;
import paimark.clauses.StatementUses;

/**
 * A warehouse as a catalog of anybody's Spark, to read and change rows: {@code spark.sql.catalog.lake} = this class, and
 * {@code spark.sql.catalog.lake.warehouse} = its address. {@code LakeExtensions} adds clauses.
 *
 * <p>It knows what Paimon's own catalog does not: savepoints as versions, the closest savepoint where snapshots have
 * expired, and the branch that is main.
 */
public final class LakeCatalog extends ReadOnlyCatalog implements FunctionCatalog {
    private static final String DATABASE = ".db";
    /** Before a snapshot's number: the table as it is now, at that snapshot. No tag has a name with a slash. */
    private static final String NOW = "now/";
    /** How the library says which type it can't parse. */
    private static final Pattern TYPE = Pattern.compile("(?:Input type string: |Can not parse: .*\"type\":\")(\\w+)");
    /** System tables that have rows of the table. */
    private static final Set<String> WITH_ROWS = Set.of("audit_log", "binlog", "ro", "row_tracking");

    private String name;
    private Path warehouse;
    private StoreFiles files;
    private LibraryReads reads;
    private LakeDoor door;
    private LakeWrites writes;

    public LakeCatalog() {
        super("This catalog changes rows alone. Change tables with `paimark`, or with Paimon's own catalog");
    }

    @Override
    public void initialize(String name, CaseInsensitiveStringMap options) {
        String address = options.get("warehouse");
        if (address == null) {
            throw new IllegalArgumentException("Set spark.sql.catalog." + name + ".warehouse to the warehouse's address");
        }
        this.name = name;
        warehouse = new Path(address);
        reads = new LibraryReads((SparkSession) SparkSession.active());
        door = new LakeDoor(reads);
        files = new StoreFiles(reads.files(warehouse));
        writes = new LakeWrites((SparkSession) SparkSession.active(), options);
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public Table loadTable(Identifier wanted) throws NoSuchTableException {
        LakeName found = find(wanted);
        TableSchema schema = newest(found);
        return found.system() == null ? table(found, schema, states(found).latest(), "table") : system(found, schema, wanted);
    }

    @Override
    public Table loadTable(Identifier wanted, String version) throws NoSuchTableException {
        LakeName found = find(wanted);
        if (found.system() == null && version.startsWith(NOW)) {
            return table(found, newest(found), states(found).version("snapshot." + version.substring(NOW.length())), "table");
        }
        return past(found, states(found).version(version), wanted);
    }

    @Override
    public Table loadTable(Identifier wanted, long micros) throws NoSuchTableException {
        LakeName found = find(wanted);
        return past(found, states(found).at(Math.floorDiv(micros, 1000)), wanted);
    }

    /** The target of a statement that writes. */
    @Override
    public Table loadTable(Identifier wanted, Set<TableWritePrivilege> privileges) throws NoSuchTableException {
        LakeName found = find(wanted);
        if (found.system() != null) {
            throw new UnsupportedOperationException(wanted + " is a system table: nobody writes to it");
        }
        writes.requireAllowed();
        TableSchema schema = newest(found);
        Snapshot state = states(found).latest();
        FileStoreTable table = reads.open(found.path().toString(), found.branch(), schema.toString(), true);
        return new LakeTarget(writes, found,
                new ChangedTable(wanted.toString(), table, state, null, DefaultValues.of(schema)));
    }

    private Table past(LakeName found, Snapshot state, Identifier wanted) {
        if (found.system() != null) {
            throw new IllegalArgumentException(wanted + " has no past: it lists what is there now");
        }
        return table(found, schema(found, all -> all.schema(state.schemaId())), state, "version");
    }

    private Table table(LakeName found, TableSchema schema, Snapshot state, String scope) {
        String snapshot = state == null ? "" : state.toJson();
        String read = found.isAlone() ? "root" : scope;
        door.require(found.fullName(), schema.options(), found.branch(), read);
        return reads.table(found.path().toString(), found.branch(), schema.toString(), snapshot, null, read);
    }

    private Table system(LakeName found, TableSchema schema, Identifier wanted) throws NoSuchTableException {
        if (found.system().equals("savepoints")) {
            return ListedTable.savepoints(wanted.toString(), states(found));
        }
        if (WITH_ROWS.contains(found.system())) {
            door.require(found.fullName(), schema.options(), found.branch(), "table");
        }
        FileStoreTable table = reads.open(found.path().toString(), found.branch(), schema.toString(), true);
        org.apache.paimon.table.Table listed = SystemTableLoader.load(found.system(), table);
        if (listed == null) {
            throw new NoSuchTableException(wanted);
        }
        return found.system().equals("branches")
                ? ListedTable.branches(wanted.toString(), listed, found.path(), files)
                : ListedTable.of(wanted.toString(), listed);
    }

    private TableSchema newest(LakeName found) {
        return schema(found, all -> all.latest().orElse(null));
    }

    private TableSchema schema(LakeName found, Function<SchemaManager, TableSchema> wanted) {
        TableSchema schema;
        try {
            schema = wanted.apply(schemas(found));
        } catch (IllegalArgumentException unread) {
            Matcher unknown = TYPE.matcher(String.valueOf(unread.getMessage()));
            if (!unknown.find()) {
                throw unread;
            }
            String type = unknown.group(1);
            throw new IllegalArgumentException("A column of " + found.fullName() + " has the type " + type
                    + NewerPaimon.of("type", type) + ", which Paimon's library here does not know. "
                    + NewerPaimon.hint("type", type), unread);
        }
        if (schema == null) {
            throw new IllegalStateException(found.path() + " has no schema");
        }
        return schema;
    }

    private LakeStates states(LakeName found) {
        return new LakeStates(files, found.path(), found.branch(), found.fullName());
    }

    private SchemaManager schemas(LakeName found) {
        return new SchemaManager(files.io, found.path(), found.branch() == null ? "main" : found.branch());
    }

    private LakeName find(Identifier wanted) throws NoSuchTableException {
        LakeName found = LakeName.of(files, warehouse, wanted);
        if (found == null) {
            throw new NoSuchTableException(wanted);
        }
        return found;
    }

    @Override
    public Identifier[] listTables(String[] database) throws NoSuchNamespaceException {
        if (!namespaceExists(database)) {
            throw new NoSuchNamespaceException(database);
        }
        List<Identifier> found = new ArrayList<>();
        for (String each : folders(new Path(warehouse, database[0] + DATABASE))) {
            if (LakeName.of(files, warehouse, Identifier.of(database, each)) != null) {
                found.add(Identifier.of(database, each));
            }
        }
        return found.toArray(new Identifier[0]);
    }

    @Override
    public String[][] listNamespaces() {
        return folders(warehouse).stream()
                .filter(each -> each.endsWith(DATABASE))
                .map(each -> new String[] {each.substring(0, each.length() - DATABASE.length())})
                .toArray(String[][]::new);
    }

    @Override
    public String[][] listNamespaces(String[] database) {
        return database.length == 0 ? listNamespaces() : new String[0][];
    }

    @Override
    public boolean namespaceExists(String[] database) {
        return database.length == 1 && folders(warehouse).contains(database[0] + DATABASE);
    }

    @Override
    public Map<String, String> loadNamespaceMetadata(String[] database) throws NoSuchNamespaceException {
        if (!namespaceExists(database)) {
            throw new NoSuchNamespaceException(database);
        }
        return Map.of("location", new Path(warehouse, database[0] + DATABASE).toString());
    }

    private List<String> folders(Path place) {
        return files.names(place, FileStatus::isDir);
    }

    @Override
    public Identifier[] listFunctions(String[] database) {
        return new Identifier[0];
    }

    @Override
    public UnboundFunction loadFunction(Identifier function) throws NoSuchFunctionException {
        if (function.namespace().length == 0 && function.name().equals(StatementUses.NAME)) {
            return new StatementUses();
        }
        String[] whole = function.namespace().length == 0 ? new String[] {name} : function.namespace();
        throw new NoSuchFunctionException(Identifier.of(whole, function.name()));
    }
}
