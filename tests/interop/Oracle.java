import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import org.apache.paimon.CoreOptions;
import org.apache.paimon.append.AppendCompactCoordinator;
import org.apache.paimon.append.AppendCompactTask;
import org.apache.paimon.casting.CastExecutor;
import org.apache.paimon.casting.CastExecutors;
import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.catalog.CatalogFactory;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.fs.FileIO;
import org.apache.paimon.fs.FileStatus;
import org.apache.paimon.fs.Path;
import org.apache.paimon.iceberg.IcebergOptions;
import org.apache.paimon.operation.BaseAppendFileStoreWrite;
import org.apache.paimon.operation.LocalOrphanFilesClean;
import org.apache.paimon.options.ConfigOption;
import org.apache.paimon.options.ExpireConfig;
import org.apache.paimon.options.Options;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.schema.SchemaChange;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.paimon.table.BucketMode;
import org.apache.paimon.table.CatalogEnvironment;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.FileStoreTableFactory;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.sink.BatchTableCommit;
import org.apache.paimon.table.sink.BatchTableWrite;
import org.apache.paimon.table.sink.BatchWriteBuilder;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.source.ReadBuilder;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DataTypeFamily;
import org.apache.paimon.types.DataTypeJsonParser;
import org.apache.paimon.types.DataTypeRoot;
import org.apache.paimon.types.DataTypes;
import org.apache.paimon.stats.Statistics;
import org.apache.paimon.types.RowKind;
import org.apache.paimon.types.RowType;
import org.apache.paimon.utils.InternalRowUtils;
import org.apache.paimon.utils.TypeUtils;

/**
 * Stock Paimon as a server: one JSON request a line, one JSON answer a line, on a port of this machine.
 *
 * <p>A request names its {@code command}, {@code warehouse} and {@code table} ({@code shop.orders},
 * {@code shop.orders$branch_b}, {@code shop.orders$snapshots}). The answer is {@code {"result": ...}} or {@code
 * {"error": "..."}}. A request that names a {@code session} goes through that session's catalog, which remembers the
 * tables that it opened. Every other request opens the table anew, as a new job would. Each connection has sessions of
 * its own, and waits for no other.
 */
public final class Oracle {
    private static final ObjectMapper JSON = new ObjectMapper();

    /** Loads our own programs and what they need, apart from what judges. */
    private static ClassLoader programs;

    /** The catalogs of sessions, with the default cache of a catalog. */
    private final Map<String, Catalog> sessions;

    private final Map<String, Object> request;

    private Oracle(Map<String, Object> request, Map<String, Catalog> sessions) {
        this.request = request;
        this.sessions = sessions;
    }

    /** Says its port, and ends with the process of the number given. The class path of our programs comes next. */
    public static void main(String[] arguments) throws Exception {
        List<URL> jars = new ArrayList<>();
        for (String jar : arguments[1].split(File.pathSeparator)) {
            jars.add(new File(jar).toURI().toURL());
        }
        programs = new URLClassLoader(jars.toArray(new URL[0]), ClassLoader.getPlatformClassLoader());
        ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        System.out.println(server.getLocalPort());
        ProcessHandle.of(Long.parseLong(arguments[0])).ifPresent(
                each -> each.onExit().thenRun(() -> Runtime.getRuntime().halt(0)));
        while (true) {
            Socket client = server.accept();
            client.setTcpNoDelay(true);
            Thread serving = new Thread(() -> serve(client));
            serving.setDaemon(true);
            serving.start();
        }
    }

    private static void serve(Socket client) {
        Map<String, Catalog> sessions = new HashMap<>();
        try (client) {
            InputStreamReader given = new InputStreamReader(client.getInputStream(), StandardCharsets.UTF_8);
            BufferedReader requests = new BufferedReader(given);
            OutputStream answers = client.getOutputStream();
            for (String line = requests.readLine(); line != null; line = requests.readLine()) {
                Map<String, Object> answer = answer(line, sessions);
                answers.write((JSON.writeValueAsString(answer) + "\n").getBytes(StandardCharsets.UTF_8));
                answers.flush();
            }
        } catch (IOException gone) {
            // The process that asked has ended.
        }
    }

    private static Map<String, Object> answer(String line, Map<String, Catalog> sessions) {
        Map<String, Object> answer = new LinkedHashMap<>();
        try {
            @SuppressWarnings("unchecked")
            Map<String, Object> request = JSON.readValue(line, Map.class);
            answer.put("result", new Oracle(request, sessions).run());
        } catch (Throwable failure) {
            failure.printStackTrace();
            answer.put("error", failure.toString());
        }
        return answer;
    }

    /** What a program of ours prints to the input {@code given}. Each has this process's streams for itself. */
    private static String printed(String program, String given) throws Exception {
        synchronized (Oracle.class) {
            InputStream in = System.in;
            PrintStream out = System.out;
            ClassLoader loader = Thread.currentThread().getContextClassLoader();
            ByteArrayOutputStream printed = new ByteArrayOutputStream();
            try {
                System.setIn(new ByteArrayInputStream(given.getBytes(StandardCharsets.UTF_8)));
                System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
                Thread.currentThread().setContextClassLoader(programs);
                programs.loadClass(program).getMethod("main", String[].class).invoke(null, (Object) new String[0]);
            } finally {
                System.setIn(in);
                System.setOut(out);
                Thread.currentThread().setContextClassLoader(loader);
            }
            return printed.toString(StandardCharsets.UTF_8);
        }
    }

    private Object run() throws Exception {
        switch (text("command")) {
            case "read":
                return read();
            case "rows":
                return rows();
            case "write":
                return write();
            case "put":
                return put();
            case "create":
                return create();
            case "alter":
                return alter();
            case "alter-types":
                return alterTypes();
            case "misplaced":
                return new Buckets(fileStoreTable()).misplaced();
            case "look-up":
                return lookUp();
            case "compact":
                return compact();
            case "statistics":
                return statistics();
            case "delete-rows":
                return deleteRows();
            case "expire":
                return expire();
            case "clean-orphans":
                return cleanOrphans();
            case "create-tag":
                fileStoreTable().createTag(text("tag"), number("snapshot"));
                return null;
            case "delete-tag":
                fileStoreTable().deleteTag(text("tag"));
                return null;
            case "create-branch":
                fileStoreTable().createBranch(text("branch"), text("tag"));
                return null;
            case "create-if-not-exists":
                try (Catalog catalog = catalog()) {
                    Schema schema = Schema.newBuilder().column("k", DataTypes.BIGINT()).build();
                    catalog.createTable(Identifier.fromString(text("table")), schema, true);
                }
                return null;
            case "options":
                return options();
            case "program":
                return printed(text("program"), text("given"));
            case "takes-option":
                return takesOption(text("option"), text("value"));
            case "drop":
                try (Catalog catalog = catalog()) {
                    catalog.dropTable(Identifier.fromString(text("table")), false);
                }
                return null;
            case "delete-branch":
                fileStoreTable().deleteBranch(text("branch"));
                return null;
            case "fast-forward":
                fileStoreTable().fastForward(text("branch"));
                return null;
            default:
                throw new IllegalArgumentException("no command " + text("command"));
        }
    }

    /** The keys of every option that a table may have. */
    private static List<String> options() throws Exception {
        List<String> keys = new ArrayList<>();
        for (ConfigOption<?> option : configOptions()) {
            keys.add(option.key());
        }
        return keys;
    }

    /** Whether Paimon can read the value of an option. */
    private static boolean takesOption(String key, String value) throws Exception {
        Options options = new Options();
        options.set(key, value);
        for (ConfigOption<?> option : configOptions()) {
            if (option.key().equals(key)) {
                try {
                    options.get(option);
                } catch (IllegalArgumentException error) {
                    return false;
                }
            }
        }
        return true;
    }

    private static List<ConfigOption<?>> configOptions() throws Exception {
        List<ConfigOption<?>> found = new ArrayList<>();
        for (Class<?> owner : List.of(CoreOptions.class, IcebergOptions.class)) {
            for (Field field : owner.getFields()) {
                if (field.getType() == ConfigOption.class) {
                    found.add((ConfigOption<?>) field.get(null));
                }
            }
        }
        return found;
    }

    /** All rows as objects; {@code options} carry the time travel, as {@code scan.tag-name} does. */
    private List<Map<String, Object>> read() throws Exception {
        Table table = table();
        List<DataField> fields = table.rowType().getFields();
        List<Function<InternalRow, Object>> columns = new ArrayList<>();
        for (int index = 0; index < fields.size(); index++) {
            columns.add(column(fields.get(index), index));
        }
        List<Map<String, Object>> rows = new ArrayList<>();
        ReadBuilder builder = table.newReadBuilder();
        try (RecordReader<InternalRow> reader = builder.newRead().createReader(builder.newScan().plan())) {
            reader.forEachRemaining(
                    row -> {
                        Map<String, Object> values = new LinkedHashMap<>();
                        for (int index = 0; index < fields.size(); index++) {
                            values.put(fields.get(index).name(), columns.get(index).apply(row));
                        }
                        rows.add(values);
                    });
        }
        return rows;
    }

    /** All rows as lists of their fields, or of those in {@code columns}, without loss; {@code options} as above. */
    @SuppressWarnings("unchecked")
    private List<Object> rows() throws Exception {
        Table table = table();
        List<String> wanted = (List<String>) request.getOrDefault("columns", table.rowType().getFieldNames());
        RowType type = table.rowType().project(wanted);
        List<Object> rows = new ArrayList<>();
        ReadBuilder builder = table.newReadBuilder().withReadType(type);
        try (RecordReader<InternalRow> reader = builder.newRead().createReader(builder.newScan().plan())) {
            reader.forEachRemaining(row -> rows.add(Values.fields(row, type)));
        }
        return rows;
    }

    /** One commit of {@code rows} as {@code rows} gives them; {@code kinds} are their row kinds. */
    @SuppressWarnings("unchecked")
    private Object put() throws Exception {
        List<List<Object>> rows = (List<List<Object>>) request.get("rows");
        List<String> kinds = (List<String>) request.get("kinds");
        boolean postpones = Boolean.TRUE.equals(request.get("postpones"));
        boolean joins = Boolean.TRUE.equals(request.get("joins"));
        Writing.put(fileStoreTable(), rows, kinds, postpones, joins, temporaryFiles());
        return null;
    }

    @SuppressWarnings("unchecked")
    private Object create() throws Exception {
        Identifier table = Identifier.fromString(text("table"));
        Schema schema =
                Writing.schema(
                        (List<List<String>>) request.get("columns"),
                        (List<String>) request.get("keys"),
                        (List<String>) request.get("partitions"),
                        (Map<String, String>) request.get("options"));
        try (Catalog catalog = catalog()) {
            catalog.createDatabase(table.getDatabaseName(), true);
            catalog.createTable(table, schema, false);
        }
        return null;
    }

    @SuppressWarnings("unchecked")
    private Object lookUp() throws Exception {
        return new Buckets(fileStoreTable()).lookUp((List<List<Object>>) request.get("rows"), temporaryFiles());
    }

    /** One change of the schema: {@code add}, {@code drop}, {@code rename}, {@code widen}, {@code first} or {@code loosen}. */
    private Object alter() throws Exception {
        String column = text("column");
        SchemaChange change;
        switch (text("change")) {
            case "add":
                change = SchemaChange.addColumn(column, DataTypeJsonParser.parseAtomicTypeSQLString(text("type")));
                break;
            case "drop":
                change = SchemaChange.dropColumn(column);
                break;
            case "rename":
                change = SchemaChange.renameColumn(column, text("name"));
                break;
            case "loosen":
                change = SchemaChange.updateColumnNullability(column, true);
                break;
            case "widen":
                change =
                        SchemaChange.updateColumnType(
                                column, DataTypeJsonParser.parseAtomicTypeSQLString(text("type")));
                break;
            default:
                change = SchemaChange.updateColumnPosition(SchemaChange.Move.first(column));
        }
        try (Catalog catalog = catalog()) {
            catalog.alterTable(Identifier.fromString(text("table")), change, false);
        }
        return null;
    }

    /** Gives each of {@code columns}, pairs of a name and a type, that type if a cast exists; returns their names. */
    @SuppressWarnings("unchecked")
    private List<String> alterTypes() throws Exception {
        RowType now = table().rowType();
        List<String> names = new ArrayList<>();
        List<SchemaChange> changes = new ArrayList<>();
        for (List<String> column : (List<List<String>>) request.get("columns")) {
            DataType type = DataTypeJsonParser.parseAtomicTypeSQLString(column.get(1));
            if (CastExecutors.resolve(now.getField(column.get(0)).type(), type) != null) {
                names.add(column.get(0));
                changes.add(SchemaChange.updateColumnType(column.get(0), type));
            }
        }
        try (Catalog catalog = catalog()) {
            catalog.alterTable(Identifier.fromString(text("table")), changes, false);
        }
        return names;
    }

    /** JSON has numbers, booleans and strings; every other type is written as Paimon's own cast to a string. */
    @SuppressWarnings("unchecked")
    private static Function<InternalRow, Object> column(DataField field, int index) {
        boolean plain = field.type().isAnyOf(DataTypeFamily.INTEGER_NUMERIC, DataTypeFamily.APPROXIMATE_NUMERIC)
                || field.type().is(DataTypeRoot.BOOLEAN);
        CastExecutor<Object, Object> toText =
                (CastExecutor<Object, Object>) CastExecutors.resolveToString(field.type());
        return row -> {
            Object value = row.isNullAt(index) ? null : InternalRowUtils.get(row, index, field.type());
            return value == null || plain ? value : toText.cast(value).toString();
        };
    }

    /** One commit of {@code rows}: objects by column name, each with its row kind ({@code +I}, {@code -D}). */
    @SuppressWarnings("unchecked")
    private Object write() throws Exception {
        Table table = table();
        List<DataField> fields = table.rowType().getFields();
        BatchWriteBuilder builder = table.newBatchWriteBuilder();
        try (BatchTableWrite writer = builder.newWrite()) {
            writer.withIOManager(temporaryFiles());
            for (Map<String, Object> values : (List<Map<String, Object>>) request.get("rows")) {
                GenericRow row = new GenericRow(RowKind.fromShortString(text("kind")), fields.size());
                for (int index = 0; index < fields.size(); index++) {
                    Object value = values.get(fields.get(index).name());
                    if (value != null) {
                        row.setField(index, TypeUtils.castFromString(value.toString(), fields.get(index).type()));
                    }
                }
                writer.write(row);
            }
            commit(builder, writer.prepareCommit());
        }
        return null;
    }

    @SuppressWarnings("unchecked")
    private Object deleteRows() throws Exception {
        FileStoreTable table = fileStoreTable();
        List<Integer> numbers = (List<Integer>) request.get("numbers");
        commit(table.newBatchWriteBuilder(), Vectors.deletions(table, numbers));
        return null;
    }

    /** Full compaction of every bucket; of a table without buckets, of every partition with two files. */
    /** The number of rows, and of each column: how many values, the least, the greatest, nulls, the greatest length. */
    private Object statistics() throws Exception {
        Statistics known = fileStoreTable().statistics().get();
        Map<String, Object> told = new TreeMap<>();
        told.put("", known.mergedRecordCount().getAsLong());
        known.colStats().forEach((name, of) -> told.put(name, Arrays.asList(of.distinctCount().getAsLong(),
                of.min().map(Object::toString).orElse(null), of.max().map(Object::toString).orElse(null),
                of.nullCount().getAsLong(), of.maxLen().getAsLong())));
        return told;
    }

    private Object compact() throws Exception {
        FileStoreTable table = fileStoreTable().copy(Map.of("compaction.min.file-num", "2", "write-only", "false"));
        BatchWriteBuilder builder = table.newBatchWriteBuilder();
        if (table.bucketMode() == BucketMode.BUCKET_UNAWARE) {
            List<CommitMessage> messages = new ArrayList<>();
            BaseAppendFileStoreWrite store =
                    (BaseAppendFileStoreWrite) table.newWrite("judge").withIOManager(temporaryFiles()).getWrite();
            for (AppendCompactTask task : new AppendCompactCoordinator(table, false).run()) {
                messages.add(task.doCompact(table, store));
            }
            store.close();
            commit(builder, messages);
            return null;
        }
        Writing.compact(table, temporaryFiles());
        return null;
    }

    /**
     * Keeps the newest {@code retain} snapshots, or as the table's options say; returns the number of expired ones.
     *
     * <p>With {@code gate}, a path, the store waits before deletion {@code stopAt} until the file {@code <gate>.1}
     * exists. If that deletion was not of a manifest, it waits again before the first manifest, for {@code <gate>.2}.
     * A file with {@code .reached} after these names shows that it waits.
     */
    private int expire() throws Exception {
        FileStoreTable table = fileStoreTable();
        if (request.containsKey("gate")) {
            FileIO store = new StandingStill((int) number("stopAt"), text("gate"));
            table = FileStoreTableFactory.create(
                    store, table.location(), table.schema(), new Options(), CatalogEnvironment.empty());
        }
        if (!request.containsKey("retain")) {
            return table.newExpireSnapshots().config(table.coreOptions().expireConfig()).expire();
        }
        ExpireConfig config =
                ExpireConfig.builder()
                        .snapshotRetainMin((int) number("retain"))
                        .snapshotRetainMax((int) number("retain"))
                        .snapshotTimeRetain(Duration.ZERO)
                        .snapshotMaxDeletes(Integer.MAX_VALUE)
                        .build();
        return table.newExpireSnapshots().config(config).expire();
    }

    private static final class StandingStill extends Buffered {
        private final int stopAt;
        private final String gate;
        private final AtomicInteger deletions = new AtomicInteger();
        private volatile boolean stoodEarlier;

        private StandingStill(int stopAt, String gate) {
            this.stopAt = stopAt;
            this.gate = gate;
        }

        @Override
        public boolean delete(Path path, boolean recursive) throws IOException {
            boolean isManifest = path.getParent().getName().equals("manifest");
            if (deletions.incrementAndGet() >= stopAt) {
                stand(gate + ".1");
                stoodEarlier |= !isManifest;
            }
            if (isManifest && stoodEarlier) {
                stand(gate + ".2");
            }
            return super.delete(path, recursive);
        }

        private static void stand(String gate) throws IOException {
            Files.write(Paths.get(gate + ".reached"), new byte[0]);
            while (!Files.exists(Paths.get(gate))) {
                LockSupport.parkNanos(1_000_000);
            }
        }
    }

    /** A store that waits before it lists the manifests: an orphan cleaning has listed the branches by then. */
    private static final class ListingLate extends Buffered {
        private final String gate;

        private ListingLate(String gate) {
            this.gate = gate;
        }

        @Override
        public FileStatus[] listStatus(Path path) throws IOException {
            if (path.getName().equals("manifest")) {
                StandingStill.stand(gate + ".1");
            }
            return super.listStatus(path);
        }
    }

    /**
     * Deletes every orphan file, of any age; returns their paths.
     *
     * <p>With {@code gate}, a path, it waits when it has listed the branches, until the file {@code <gate>.1} exists.
     */
    private List<String> cleanOrphans() throws Exception {
        long inAnHour = System.currentTimeMillis() + Duration.ofHours(1).toMillis();
        FileStoreTable table = fileStoreTable();
        if (request.containsKey("gate")) {
            FileIO store = new ListingLate(text("gate"));
            table = FileStoreTableFactory.create(
                    store, table.location(), table.schema(), new Options(), CatalogEnvironment.empty());
        }
        List<String> deleted = new ArrayList<>();
        for (Path path : new LocalOrphanFilesClean(table, inAnHour).clean().getDeletedFilesPath()) {
            deleted.add(path.toUri().getPath());
        }
        return deleted;
    }

    private static void commit(BatchWriteBuilder builder, List<CommitMessage> messages) throws Exception {
        try (BatchTableCommit commit = builder.newCommit()) {
            commit.commit(messages);
        }
    }

    private Table table() throws Exception {
        @SuppressWarnings("unchecked")
        Map<String, String> dynamic = (Map<String, String>) request.getOrDefault("options", Map.of());
        Identifier table = Identifier.fromString(text("table"));
        if (text("session") != null) {
            Catalog open = sessions.computeIfAbsent(text("session") + text("warehouse"), name -> catalog(true));
            return open.getTable(table).copy(dynamic);
        }
        try (Catalog catalog = catalog()) {
            return catalog.getTable(table).copy(dynamic);
        }
    }

    private Catalog catalog() {
        return catalog(false);
    }

    private Catalog catalog(boolean cached) {
        Options options = new Options();
        String warehouse = text("warehouse");
        // Without a scheme nobody is asked which files these are.
        options.set("warehouse", warehouse.startsWith("/") ? "file:" + warehouse : warehouse);
        options.set("cache-enabled", String.valueOf(cached));
        return CatalogFactory.createCatalog(CatalogContext.create(options, new Buffered.Loader(), null));
    }

    private FileStoreTable fileStoreTable() throws Exception {
        return (FileStoreTable) table();
    }

    private static IOManager temporaryFiles() throws Exception {
        return IOManager.create(Files.createTempDirectory("oracle").toString());
    }

    private String text(String name) {
        return (String) request.get(name);
    }

    private long number(String name) {
        return ((Number) request.get(name)).longValue();
    }
}
