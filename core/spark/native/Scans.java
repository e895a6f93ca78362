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
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
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

/**
 * Data frames of exactly the files given, in a table's columns.
 *
 * <p>Compiled where Spark runs, by the compiler that Spark brings for its own queries (Janino: no lambdas, no
 * generics).
 */
public class Scans {
    private final SparkSession session;

    public Scans(SparkSession session) {
        this.session = session;
    }

    /** The files' own {@code columns}, then their {@code constants}; schemas and {@code listed} are JSON. */
    public Dataset files(
            String root, String format, String columns, String constants, String listed, Map options)
            throws Exception {
        StructType constant = schema(constants);
        HadoopFsRelation relation =
                new HadoopFsRelation(
                        new FileList(session, root, constant, listed),
                        constant,
                        schema(columns),
                        scala.Option.apply(null),
                        (FileFormat) Class.forName(format).getConstructors()[0].newInstance(new Object[0]),
                        PythonUtils.toScalaMap(options),
                        session);
        return (Dataset) (Object) session.baseRelationToDataFrame(relation);
    }

    /** Those rows whose bit is set; {@code firstBit} is a column with the bit of a file's row 0, or null. */
    public Dataset surviving(Dataset files, String rowIndex, String firstBit, Dataset words) {
        // Taken before anything is built upon it: further up Spark no longer knows it.
        String row = "__paimon_row";
        Dataset numbered =
                select(files, new Column[] {functions.col("*"), functions.col(rowIndex).as(row)});
        Column bit = functions.col(firstBit).plus(functions.col(row));
        Column word = functions.get(words.scalar(), functions.shiftright(bit, 6).cast("int"));
        Column isSet = functions.getbit(word, bit.bitwiseAND(Integer.valueOf(63))).equalTo(Integer.valueOf(1));
        return (Dataset) (Object) numbered.where(functions.col(firstBit).isNull().or(isSet));
    }

    /**
     * The columns of a {@code table}, a schema as JSON. For each of them {@code made} names, quoted, the column
     * that it is made of, or null.
     */
    public Dataset columns(Dataset rows, String table, List made) {
        StructField[] fields = schema(table).fields();
        Column[] columns = new Column[fields.length];
        for (int place = 0; place < fields.length; place++) {
            String name = (String) made.get(place);
            Column column = name == null ? functions.lit(null) : functions.col(name);
            columns[place] = as(column, fields[place]);
        }
        return select(rows, columns);
    }

    private static Column as(Column column, StructField field) {
        Column made = column.cast(field.dataType());
        if (field.dataType() instanceof FloatType || field.dataType() instanceof DoubleType) {
            // The same value, but no column that a condition is pushed down to: files' statistics leave NaN
            // out, and Spark, for which it is greater than all numbers, would pass over rows.
            made = functions.nanvl(made, functions.lit(Double.valueOf(Double.NaN)).cast(field.dataType()));
        }
        return made.as(field.name(), Metadata.empty());
    }

    private static Dataset select(Dataset rows, Column[] columns) {
        return (Dataset) (Object) rows.select(columns);
    }

    private static StructType schema(String json) {
        return (StructType) DataType.fromJson(json);
    }
}

/**
 * Exactly the files it is given, each with values of its own for the partition columns; lists no directory.
 *
 * <p>To Spark every file is a partition, in a directory of its own whose name is its number.
 */
final class FileList extends PartitioningAwareFileIndex {
    private final scala.collection.immutable.Seq roots;
    private final PartitionSpec partitions;
    private final scala.collection.mutable.LinkedHashMap files = new scala.collection.mutable.LinkedHashMap();
    private final scala.collection.immutable.Map byDirectory;

    /** {@code json} is a list of {@code [address, bytes, value, ...]}, the values as texts or null. */
    public FileList(SparkSession session, String root, StructType columns, String json) throws Exception {
        super(
            session,
            (scala.collection.immutable.Map) scala.collection.immutable.Map$.MODULE$.empty(),
            scala.Option.apply(null),
            PartitioningAwareFileIndex.$lessinit$greater$default$4());
        ArrayList rootPaths = new ArrayList();
        rootPaths.add(new Path(root));
        ArrayList paths = new ArrayList();
        HashMap directories = new HashMap();
        JsonNode listed = (JsonNode) (Object) new ObjectMapper().readTree(json);
        for (int number = 0; number < listed.size(); number++) {
            JsonNode each = item(listed, number);
            Path path = new Path(item(each, 0).asText());
            FileStatus file = new FileStatus(item(each, 1).asLong(), false, 1, 128L << 20, 0L, path);
            Path directory = new Path("/" + number);
            files.put(path, file);
            directories.put(directory, new FileStatus[] {file});
            Object[] values = new Object[columns.length()];
            for (int place = 0; place < values.length; place++) {
                JsonNode text = item(each, place + 2);
                values[place] = text.isNull() ? null : value(columns.apply(place).dataType(), text.asText());
            }
            paths.add(new PartitionPath(new GenericInternalRow(values), directory));
        }
        this.roots = PythonUtils.toSeq(rootPaths);
        this.byDirectory = PythonUtils.toScalaMap(directories);
        this.partitions = new PartitionSpec(columns, PythonUtils.toSeq(paths));
    }

    private static JsonNode item(JsonNode list, int number) {
        return (JsonNode) (Object) list.get(number);
    }

    /** As Spark holds it: dates in days, times in microseconds. */
    private static Object value(DataType type, String text) {
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

    public PartitionSpec partitionSpec() {
        return partitions;
    }

    public scala.collection.mutable.LinkedHashMap leafFiles() {
        return files;
    }

    public scala.collection.immutable.Map leafDirToChildrenFiles() {
        return byDirectory;
    }

    public scala.collection.immutable.Seq rootPaths() {
        return roots;
    }

    public void refresh() {}

    public String toString() {
        return "PaimonFiles";
    }
}
