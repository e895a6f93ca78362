import java.util.HashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.paths.SparkPath$;
import org.apache.spark.sql.avro.AvroFileFormat;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.types.StructType;
import scala.Function1;

/** Whole files by Spark's own readers, row by row; dates and times are of one calendar, as in Paimon. */
public final class FileReaders {
    /**
     * From a {@code whole} file to an iterator of its rows in these columns, null where it has none by the name.
     *
     * <p>One thread may use it at a time, and a row is good until the next one of any file.
     *
     * <p>Filters let the reader pass over pages and row groups; rows that do not fit come all the same. In
     * {@code batches} they come where the session lets readers make these.
     */
    public static Function1 of(
            SparkSession session,
            StructType columns,
            String format,
            scala.collection.immutable.Seq filters,
            boolean batches) {
        FileFormat files = format(format);
        HashMap options = new HashMap();
        options.put("returning_batch", String.valueOf(batches && files.supportBatch(session, columns)));
        // By their names, whatever the session says.
        options.put("orc.force.positional.evolution", "false");
        options.put("datetimeRebaseMode", "CORRECTED");
        options.put("int96RebaseMode", "CORRECTED");
        scala.collection.immutable.Map given = PythonUtils.toScalaMap(options);
        Configuration conf = session.sessionState().newHadoopConfWithOptions(given);
        return files.buildReaderWithPartitionValues(session, columns, new StructType(), columns, filters, given, conf);
    }

    private static FileFormat format(String name) {
        if (name.equals("avro")) {
            return new AvroFileFormat();
        }
        return name.equals("parquet") ? (FileFormat) new ParquetFileFormat() : (FileFormat) new OrcFileFormat();
    }

    public static PartitionedFile whole(String address, long size) {
        return new PartitionedFile(
                new GenericInternalRow(new Object[0]),
                SparkPath$.MODULE$.fromPath(new Path(address)),
                0L,
                size,
                new String[0],
                0L,
                size,
                PythonUtils.toScalaMap(new HashMap()));
    }
}
