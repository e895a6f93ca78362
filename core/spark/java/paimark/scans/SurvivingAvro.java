package paimark.scans;

import java.io.Serializable;
import java.util.ArrayList;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.avro.AvroFileFormat;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.collection.Iterator;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction1;

/**
 * The format of Avro files with bits, as in {@code SurvivingRows}. Rows are identified by their index in the file.
 *
 * <p>Spark's reader doesn't give the index, so rows are counted: files are not split, and no row is skipped.
 */
public final class SurvivingAvro extends AvroFileFormat {
    public boolean isSplitable(SparkSession session, Map options, Path path) {
        return false;
    }

    public Function1 buildReader(
            SparkSession session,
            StructType data,
            StructType partition,
            StructType required,
            Seq filters,
            Map options,
            Configuration conf) {
        StructType others = withoutNumber(required);
        if (others.length() == required.length()) {
            return super.buildReader(session, data, partition, required, filters, options, conf);
        }
        if (!required.apply(others.length()).name().equals(SurvivingRows.NUMBER)) {
            throw new IllegalStateException("the rows' number is not the last of the columns");
        }
        Seq none = PythonUtils.toSeq(new ArrayList());
        return new CountingReader(
                super.buildReader(session, withoutNumber(data), partition, others, none, options, conf));
    }

    private static StructType withoutNumber(StructType schema) {
        ArrayList fields = new ArrayList();
        for (int place = 0; place < schema.length(); place++) {
            if (!schema.apply(place).name().equals(SurvivingRows.NUMBER)) {
                fields.add(schema.apply(place));
            }
        }
        return new StructType((StructField[]) fields.toArray(new StructField[0]));
    }
}

/** In a task: reads one file after the other. */
final class CountingReader extends AbstractFunction1 implements Serializable {
    private final Function1 reader;

    CountingReader(Function1 reader) {
        this.reader = reader;
    }

    public Object apply(Object split) {
        return new Survivors((Iterator) reader.apply(split), new CountedRows(SurvivingRows.bits(split)));
    }
}

/** Each row gets its number. */
final class CountedRows implements Survival {
    private final FileBits bits;
    private final GenericInternalRow number = new GenericInternalRow(1);
    private final JoinedRow made = new JoinedRow();
    private long count;

    CountedRows(FileBits bits) {
        this.bits = bits;
    }

    public Object survivor(Object read) {
        long place = count++;
        if (bits != null && !bits.isSet(place)) {
            return null;
        }
        number.setLong(0, place);
        return made.apply((InternalRow) read, number);
    }

    public void close() {}
}
