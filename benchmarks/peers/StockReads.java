import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.catalog.CatalogFactory;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.options.Options;
import org.apache.paimon.predicate.PredicateBuilder;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.sink.BatchTableCommit;
import org.apache.paimon.table.sink.BatchTableWrite;
import org.apache.paimon.table.sink.BatchWriteBuilder;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.table.source.ReadBuilder;
import org.apache.paimon.table.source.Split;
import org.apache.paimon.table.source.TableRead;
import org.apache.paimon.types.DataTypes;

/**
 * Stock Paimon answering the questions of {@code benchmarks.spark_scans}, a thread for each processor, no engine around.
 *
 * <p>A line on stdin is a command, words apart by tabs; the answer is a line: the result, wall and CPU ms.
 */
public final class StockReads {
    private static final int THREADS = Runtime.getRuntime().availableProcessors();
    private static final ExecutorService POOL = Executors.newFixedThreadPool(THREADS, StockReads::daemon);

    private final Catalog catalog;

    private StockReads(String warehouse) {
        Options options = new Options();
        options.set("warehouse", warehouse);
        options.set("cache-enabled", "false");
        catalog = CatalogFactory.createCatalog(CatalogContext.create(options));
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err);
        StockReads stock = new StockReads(arguments[0]);
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            long wall = System.nanoTime();
            long cpu = cpu();
            String result = stock.answer(line.split("\t"));
            answers.println(result + "\t" + (System.nanoTime() - wall) / 1e6 + "\t" + (cpu() - cpu) / 1e6);
            answers.flush();
        }
        POOL.shutdown();
    }

    /** A thread that keeps no process alive whose main thread failed: the asker would wait for ever. */
    private static Thread daemon(Runnable work) {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        return thread;
    }

    private static long cpu() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
                .getProcessCpuTime();
    }

    private String answer(String[] words) throws Exception {
        switch (words[0]) {
            case "create":
                return create(words[1], words[2], words[3].equals("keyed"), words.length > 4 ? words[4] : "");
            case "write":
                return write(words[1], words[2], Long.parseLong(words[3]), Long.parseLong(words[4]),
                        Long.parseLong(words[5]), words[6]);
            case "delete", "update", "merge":
                return StockChanges.change(catalog.getTable(Identifier.create(words[1], words[2])), words[0],
                        Long.parseLong(words[3]), Long.parseLong(words[4]), POOL);
            case "compact":
                return StockChanges.compact(catalog.getTable(Identifier.create(words[1], words[2])), POOL);
            default:
                return ask(words[0], words[1], words[2], Long.parseLong(words[3]));
        }
    }

    /** {@code options} are {@code name=value}, apart by semicolons. */
    private String create(String database, String table, boolean keyed, String options) throws Exception {
        catalog.createDatabase(database, true);
        Schema.Builder schema = Schema.newBuilder()
                .column("id", DataTypes.BIGINT().notNull())
                .column("region", DataTypes.STRING())
                .column("amount", DataTypes.DOUBLE())
                .column("quantity", DataTypes.INT())
                .column("note", DataTypes.STRING());
        if (keyed) {
            schema.primaryKey("id").option("bucket", "2");
        }
        // Runs stay as they were written until a compaction is asked for.
        schema.option("write-only", "true");
        for (String option : options.isEmpty() ? new String[0] : options.split(";")) {
            schema.option(option.substring(0, option.indexOf('=')), option.substring(option.indexOf('=') + 1));
        }
        catalog.createTable(Identifier.create(database, table), schema.build(), false);
        return "";
    }

    /**
     * One commit of {@code count} rows with the ids {@code first}, {@code first + step}, ...
     *
     * <p>{@code after}: {@code keep} the files as they are, {@code merge} them as the table does on its own, or
     * {@code compact} them all.
     */
    private String write(String database, String name, long first, long step, long count, String after)
            throws Exception {
        Table table = catalog.getTable(Identifier.create(database, name));
        table = table.copy(Map.of("write-only", String.valueOf(after.equals("keep"))));
        BatchWriteBuilder builder = table.newBatchWriteBuilder();
        try (BatchTableWrite writer = builder.newWrite(); BatchTableCommit commit = builder.newCommit()) {
            writer.withIOManager(IOManager.create(System.getProperty("java.io.tmpdir")));
            for (long number = 0; number < count; number++) {
                long id = first + number * step;
                long mixed = id * 0x9E3779B97F4A7C15L >>> 20;
                writer.write(GenericRow.of(
                        id,
                        BinaryString.fromString("region-" + mixed % 16),
                        (double) (mixed % 100000) / 4,
                        (int) (mixed % 1000),
                        BinaryString.fromString("note " + mixed)));
            }
            if (after.equals("compact")) {
                writer.compact(BinaryRow.EMPTY_ROW, 0, true);
                writer.compact(BinaryRow.EMPTY_ROW, 1, true);
            }
            commit.commit(writer.prepareCommit());
        }
        return "";
    }

    private String ask(String question, String database, String name, long id) throws Exception {
        ReadBuilder builder = catalog.getTable(Identifier.create(database, name)).newReadBuilder();
        PredicateBuilder predicates = new PredicateBuilder(builder.readType());
        switch (question) {
            case "aggregate":
                return sums(builder.withProjection(new int[] {2}), -1, 0).toString();
            case "group":
                return String.valueOf(sums(builder.withProjection(new int[] {1, 2}), 0, 1).size());
            case "count":
                return String.valueOf(count(builder));
            case "point":
                builder.withFilter(predicates.equal(0, id));
                return String.valueOf(rows(builder, Integer.MAX_VALUE));
            default:
                return String.valueOf(rows(builder.withLimit(10), 10));
        }
    }

    private static Map<String, Double> sums(ReadBuilder builder, int key, int value) throws Exception {
        List<Future<Map<String, Double>>> parts = new ArrayList<>();
        for (Split split : builder.newScan().plan().splits()) {
            parts.add(POOL.submit(() -> {
                Map<BinaryString, double[]> sums = new HashMap<>();
                BinaryString all = BinaryString.fromString("all");
                try (RecordReader<InternalRow> reader = builder.newRead().createReader(split)) {
                    reader.forEachRemaining(row -> {
                        BinaryString group = key < 0 ? all : row.getString(key);
                        double[] sum = sums.get(group);
                        if (sum == null) {
                            sums.put(group.copy(), sum = new double[1]);
                        }
                        sum[0] += row.getDouble(value);
                    });
                }
                Map<String, Double> named = new HashMap<>();
                sums.forEach((group, sum) -> named.put(group.toString(), sum[0]));
                return named;
            }));
        }
        Map<String, Double> sums = new HashMap<>();
        for (Future<Map<String, Double>> part : parts) {
            part.get().forEach((group, sum) -> sums.merge(group, sum, Double::sum));
        }
        return sums;
    }

    /** From metadata where they have it, as stock connectors do. */
    private static long count(ReadBuilder builder) throws Exception {
        long known = 0;
        List<Future<Long>> parts = new ArrayList<>();
        builder.withProjection(new int[] {0});
        for (Split split : builder.newScan().plan().splits()) {
            OptionalLong merged = ((DataSplit) split).mergedRowCount();
            if (merged.isPresent()) {
                known += merged.getAsLong();
                continue;
            }
            parts.add(POOL.submit(() -> {
                long[] count = new long[1];
                try (RecordReader<InternalRow> reader = builder.newRead().createReader(split)) {
                    reader.forEachRemaining(row -> count[0]++);
                }
                return count[0];
            }));
        }
        for (Future<Long> part : parts) {
            known += part.get();
        }
        return known;
    }

    private static int rows(ReadBuilder builder, int most) throws Exception {
        TableRead read = builder.newRead().executeFilter();
        int found = 0;
        for (Split split : builder.newScan().plan().splits()) {
            try (RecordReader<InternalRow> reader = read.createReader(split)) {
                for (RecordReader.RecordIterator<InternalRow> batch = reader.readBatch();
                        batch != null && found < most;
                        batch = reader.readBatch()) {
                    while (found < most && batch.next() != null) {
                        found++;
                    }
                    batch.releaseBatch();
                }
            }
        }
        return found;
    }
}
