package paimark.scans;

import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.arrow.ArrowConverters$;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.execution.datasources.PartitionPath;
import org.apache.spark.sql.execution.datasources.PartitionSpec;
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.collection.mutable.LinkedHashMap;

/**
 * Makes data frames of exactly the given files, in a table's columns.
 */
public final class Scans {
    /** Options of Spark's readers. Paimon's writers use the Gregorian calendar for all times, as Spark since 3.0. */
    private static final Map<String, String> OPTIONS = Map.of(
            "datetimeRebaseMode", "CORRECTED",
            "int96RebaseMode", "CORRECTED",
            // Columns of ORC files are matched by name, whatever the session's setting is.
            "orc.force.positional.evolution", "false",
            // A missing or corrupt file is an error, whatever the session's setting is: a rewrite without its rows
            // would lose them.
            "ignoreMissingFiles", "false",
            "ignoreCorruptFiles", "false");

    private final SparkSession session;

    public Scans(SparkSession session) {
        this.session = session;
    }

    /**
     * The rows of files in the columns of a {@code table}. That, {@code columns} (the files' own) and
     * {@code constants} (with a value for each file) are schemas in JSON.
     *
     * <p>{@code listed} is JSON of files; {@code more} has further such texts, or is null. {@code number} is the
     * column in which {@code SurvivingRows} numbers the rows that survive; null if all do. {@code made}, JSON too,
     * has for each column of the table the quoted name of its source, or null.
     */
    public Dataset<Row> files(
            String root,
            FileFormat format,
            String columns,
            String constants,
            String listed,
            List<String> more,
            String number,
            String table,
            String made)
            throws Exception {
        List<String> texts = new ArrayList<>();
        texts.add(listed);
        if (more != null) {
            texts.addAll(more);
        }
        StructType constant = schema(constants);
        HadoopFsRelation relation =
                new HadoopFsRelation(
                        new FileList(session, root, constant, texts),
                        constant,
                        schema(columns),
                        Option.empty(),
                        format,
                        PythonUtils.toScalaMap(OPTIONS),
                        session);
        Dataset<Row> rows = session.baseRelationToDataFrame(relation);
        return columns(number == null ? rows : rows.where(functions.col(number).isNotNull()), table, made);
    }

    /** So many rows of nulls in a table's columns, for a statement that needs no column. */
    public Dataset<Row> counted(long rows, int slices, String table) throws Exception {
        return columns(session.range(0L, rows, 1L, slices), table, "[]");
    }

    /** Rows that are in this process: an Arrow batch in a table's columns, empty if there are no rows. */
    public Dataset<Row> local(byte[] batch, String table) {
        List<byte[]> batches = batch.length > 0 ? List.of(batch) : List.of();
        return ArrowConverters$.MODULE$.toDataFrame(PythonUtils.toSeq(batches).iterator(), table, session);
    }

    private static Dataset<Row> columns(Dataset<?> rows, String table, String made) throws Exception {
        JsonNode names = new ObjectMapper().readTree(made);
        StructField[] fields = schema(table).fields();
        Column[] columns = new Column[fields.length];
        for (int place = 0; place < fields.length; place++) {
            JsonNode name = names.get(place);
            Column column = name == null || name.isNull() ? functions.lit(null) : functions.col(name.asText());
            columns[place] = as(column, fields[place]);
        }
        return rows.select(columns);
    }

    private static Column as(Column column, StructField field) {
        Column made = column.cast(field.dataType());
        if (field.dataType() instanceof FloatType || field.dataType() instanceof DoubleType) {
            // The same value, but an expression, so that no condition is pushed down to it: files' statistics
            // leave out NaN, which Spark considers greater than all numbers, so it would skip rows.
            made = functions.nanvl(made, functions.lit(Double.NaN).cast(field.dataType()));
        }
        return made.as(field.name(), Metadata.empty());
    }

    /** A constant column's value in Spark's internal form: dates in days, times in microseconds. */
    public static Object value(DataType type, String text) {
        if (type instanceof StringType) {
            return UTF8String.fromString(text);
        }
        if (type instanceof IntegerType || type instanceof DateType) {
            return Integer.valueOf(text);
        }
        if (type instanceof BooleanType) {
            return Boolean.valueOf(text);
        }
        if (type instanceof ByteType) {
            return Byte.valueOf(text);
        }
        if (type instanceof ShortType) {
            return Short.valueOf(text);
        }
        if (type instanceof DecimalType) {
            DecimalType decimal = (DecimalType) type;
            return Decimal.apply(new BigDecimal(text), decimal.precision(), decimal.scale());
        }
        return Long.valueOf(text);
    }

    private static StructType schema(String json) {
        return (StructType) DataType.fromJson(json);
    }
}

/**
 * An index of exactly the given files, each with its own values of the partition columns. Lists no directory.
 *
 * <p>For Spark every file is a partition, in a directory of its own, whose name is its number.
 */
final class FileList extends PartitioningAwareFileIndex {
    private final Seq<Path> roots;
    private final PartitionSpec partitions;
    private final LinkedHashMap<Path, FileStatus> files = new LinkedHashMap<>();
    private final scala.collection.immutable.Map<Path, FileStatus[]> byDirectory;
    private final Map<Path, FileStatusWithMetadata> bits = new HashMap<>();

    /**
     * {@code listed} has JSON lists of {@code [address, size, bits, value, ...]}: the values are texts or null,
     * the bits base64, or null for a file that is read whole.
     */
    FileList(SparkSession session, String root, StructType columns, List<String> listed) throws Exception {
        super(
            session,
            PythonUtils.toScalaMap(Map.of()),
            Option.empty(),
            PartitioningAwareFileIndex.$lessinit$greater$default$4());
        List<PartitionPath> paths = new ArrayList<>();
        Map<Path, FileStatus[]> directories = new HashMap<>();
        ObjectMapper json = new ObjectMapper();
        // By default Jackson refuses texts of over 20 MB.
        json.getFactory().setStreamReadConstraints(
                StreamReadConstraints.builder().maxStringLength(Integer.MAX_VALUE).build());
        for (String part : listed) {
            for (JsonNode each : json.readTree(part)) {
                Path directory = new Path("/" + paths.size());
                directories.put(directory, new FileStatus[] {file(each)});
                Object[] values = new Object[columns.length()];
                // The first value is the file's number: without a partition column Spark would list directories.
                values[0] = paths.size();
                for (int place = 1; place < values.length; place++) {
                    JsonNode text = each.get(place + 2);
                    values[place] = text.isNull() ? null : Scans.value(columns.apply(place).dataType(), text.asText());
                }
                paths.add(new PartitionPath(new GenericInternalRow(values), directory));
            }
        }
        this.roots = PythonUtils.toSeq(List.of(new Path(root)));
        this.byDirectory = PythonUtils.toScalaMap(directories);
        this.partitions = new PartitionSpec(columns, PythonUtils.toSeq(paths));
    }

    private FileStatus file(JsonNode described) throws Exception {
        Path path = new Path(described.get(0).asText());
        FileStatus file = new FileStatus(described.get(1).asLong(), false, 1, 128L << 20, 0L, path);
        files.put(path, file);
        JsonNode ofRows = described.get(2);
        if (!ofRows.isNull()) {
            Map<String, Object> beside = Map.of(SurvivingRows.BITS, ofRows.binaryValue());
            bits.put(path, new FileStatusWithMetadata(file, PythonUtils.toScalaMap(beside)));
        }
        return file;
    }

    /** Adds the files' bits, which Spark sends to tasks with the files. */
    @Override
    public Seq<PartitionDirectory> listFiles(Seq<Expression> onPartitions, Seq<Expression> onData) {
        Seq<PartitionDirectory> found = super.listFiles(onPartitions, onData);
        return bits.isEmpty() ? found : found.map(this::withBits).toSeq();
    }

    private PartitionDirectory withBits(PartitionDirectory directory) {
        return new PartitionDirectory(
                directory.values(), directory.files().map(each -> bits.getOrDefault(each.getPath(), each)).toSeq());
    }

    @Override
    public PartitionSpec partitionSpec() {
        return partitions;
    }

    @Override
    public LinkedHashMap<Path, FileStatus> leafFiles() {
        return files;
    }

    @Override
    public scala.collection.immutable.Map<Path, FileStatus[]> leafDirToChildrenFiles() {
        return byDirectory;
    }

    @Override
    public Seq<Path> rootPaths() {
        return roots;
    }

    @Override
    public void refresh() {}

    @Override
    public String toString() {
        return "PaimonFiles";
    }
}
