import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.HashMap;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.execution.datasources.PartitionPath;
import org.apache.spark.sql.execution.datasources.PartitionSpec;
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Exactly the files it is given, each with values of its own for the partition columns; lists no directory.
 *
 * <p>Compiled where Spark runs, by the compiler that Spark brings for its own queries (Janino: no lambdas, no
 * generics). To Spark every file is a partition, in a directory of its own whose name is its number.
 */
public class FileList extends PartitioningAwareFileIndex {
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
