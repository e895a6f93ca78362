package paimark.scans;

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

/** Reads whole files by Spark's own readers; dates and times are in one calendar, as in Paimon. */
public final class FileReaders {
    /**
     * A function from a {@code whole} file to an iterator of its rows in these columns; missing columns are null.
     *
     * <p>Not thread-safe. A row is valid until the next one of any file is read.
     *
     * <p>Filters let the reader skip pages and row groups; other rows that don't match are returned. With
     * {@code batches} the rows come in batches, if the session allows that.
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
        // Columns are matched by name, whatever the session's setting is.
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
