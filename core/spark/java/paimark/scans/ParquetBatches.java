package paimark.scans;

import java.io.IOException;
import java.lang.reflect.Method;
import java.util.Iterator;
import java.util.LinkedHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.FileSplit;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl;
import org.apache.parquet.HadoopReadOptions;
import org.apache.parquet.filter2.predicate.FilterApi;
import org.apache.parquet.filter2.predicate.FilterPredicate;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.ParquetInputFormat;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ParquetMetadata;
import org.apache.parquet.hadoop.util.HadoopInputFile;
import org.apache.parquet.io.SeekableInputStream;
import org.apache.parquet.schema.MessageType;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.RebaseDateTime.RebaseSpec;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.RecordReaderIterator;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFilters;
import org.apache.spark.sql.execution.datasources.parquet.VectorizedParquetRecordReader;
import org.apache.spark.sql.internal.LegacyBehaviorPolicy$;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.Some;

/**
 * Reads Parquet files by Spark's own reader, in small batches, with the settings of {@code FileReaders}.
 *
 * <p>Spark's file format sends settings to executors for each question, copies them for each file, and reads each
 * footer again, which takes longer than reading the rows of a key. Thread-safe.
 */
public final class ParquetBatches {
    private static final int ROWS = 1024;
    private static final String SPARK_WROTE_IT = "org.apache.spark.version";
    private static final String CORRECTED = "CORRECTED";
    private final SQLConf settings;
    private final ParquetFooters footers;
    private final scala.collection.immutable.Seq filters;
    private final Configuration unfiltered;
    private JobConf filtered;
    private FilterPredicate filter;

    /** Null if Spark would not read such columns in batches, or if the session needs other settings of readers. */
    public static ParquetBatches of(
            SparkSession session, StructType columns, scala.collection.immutable.Seq filters, ParquetFooters footers)
            throws Exception {
        SQLConf settings = session.sessionState().conf();
        boolean isRead = new ParquetFileFormat().supportBatch(session, columns);
        boolean isPlain = !settings.isParquetINT96TimestampConversion() && !settings.offHeapColumnVectorEnabled();
        try {
            return isRead && isPlain ? new ParquetBatches(session, settings, columns, filters, footers) : null;
        } catch (NoSuchMethodException other) {
            // This version of Spark sets up its readers in another way.
            return null;
        }
    }

    private ParquetBatches(
            SparkSession session,
            SQLConf settings,
            StructType columns,
            scala.collection.immutable.Seq filters,
            ParquetFooters footers)
            throws Exception {
        this.settings = settings;
        this.filters = filters;
        this.footers = footers;
        unfiltered = session.sessionState().newHadoopConf();
        Method setUp =
                ParquetFileFormat.class.getDeclaredMethod(
                        "setupHadoopConf", new Class[] {Configuration.class, SQLConf.class, StructType.class});
        setUp.setAccessible(true);
        setUp.invoke(new ParquetFileFormat(), new Object[] {unfiltered, settings, columns});
    }

    /** Null for a file that Spark wrote: its own metadata tell how its times are read. */
    public RecordReaderIterator open(String address, long size) throws Exception {
        Path path = new Path(address);
        HadoopInputFile file =
                HadoopInputFile.fromStatus(new FileStatus(size, false, 1, 0L, 0L, path), unfiltered);
        SeekableInputStream stream = file.newStream();
        VectorizedParquetRecordReader reader = null;
        try {
            ParquetMetadata footer = footers.of(file, stream, unfiltered);
            if (footer.getFileMetaData().getKeyValueMetaData().containsKey(SPARK_WROTE_IT)) {
                return null;
            }
            reader = new VectorizedParquetRecordReader(null, CORRECTED, "UTC", CORRECTED, "UTC", false, ROWS);
            Configuration conf = conf(footer.getFileMetaData().getSchema());
            reader.initialize(
                    new FileSplit(path, 0L, size, new String[0]),
                    new TaskAttemptContextImpl(conf, new TaskAttemptID()),
                    new Some(file),
                    new Some(stream),
                    new Some(footer));
            reader.initBatch(new StructType(), new GenericInternalRow(new Object[0]));
            reader.enableReturningBatches();
            RecordReaderIterator rows = new RecordReaderIterator(reader);
            reader = null;
            stream = null;
            return rows;
        } finally {
            // The reader, if it was made, closes the stream.
            if (reader != null) {
                reader.close();
            }
            if (stream != null) {
                stream.close();
            }
        }
    }

    /** The configuration with the filter for a file's schema. Files share one JobConf, which is not copied. */
    private synchronized Configuration conf(MessageType schema) {
        FilterPredicate wanted = filter(schema);
        if (wanted == null) {
            return unfiltered;
        }
        if (filtered == null || !wanted.equals(filter)) {
            filtered = new JobConf(unfiltered);
            filter = wanted;
            ParquetInputFormat.setFilterPredicate(filtered, wanted);
        }
        return filtered;
    }

    private FilterPredicate filter(MessageType schema) {
        if (!settings.parquetFilterPushDown()) {
            return null;
        }
        ParquetFilters made =
                new ParquetFilters(
                        schema,
                        settings.parquetFilterPushDownDate(),
                        settings.parquetFilterPushDownTimestamp(),
                        settings.parquetFilterPushDownDecimal(),
                        settings.parquetFilterPushDownStringPredicate(),
                        settings.parquetFilterPushDownInFilterThreshold(),
                        settings.caseSensitiveAnalysis(),
                        new RebaseSpec(
                                LegacyBehaviorPolicy$.MODULE$.CORRECTED(), Option.apply(null)));
        FilterPredicate all = null;
        for (int number = 0; number < filters.length(); number++) {
            Option each = made.createFilter((Filter) filters.apply(number));
            if (each.isDefined()) {
                FilterPredicate one = (FilterPredicate) each.get();
                all = all == null ? one : FilterApi.and(all, one);
            }
        }
        return all;
    }
}

/** A cache of the footers that were read last. They stay valid: no file is written twice under one name. */
final class ParquetFooters {
    // The metadata of one column in one row group take half a kilobyte.
    private static final int MOST_CHUNKS = 20000;
    private final LinkedHashMap kept = new LinkedHashMap(16, 0.75f, true);
    private int chunks;

    ParquetMetadata of(HadoopInputFile file, SeekableInputStream stream, Configuration conf) throws IOException {
        String address = file.getPath() + " " + file.getLength();
        synchronized (this) {
            ParquetMetadata known = (ParquetMetadata) kept.get(address);
            if (known != null) {
                return known;
            }
        }
        ParquetMetadata read =
                ParquetFileReader.readFooter(
                        file, HadoopReadOptions.builder(conf, file.getPath()).build(), stream);
        // The footer of an encrypted file contains a decryptor, which is for one thread only.
        if (read.getFileMetaData().getFileDecryptor() == null) {
            keep(address, read);
        }
        return read;
    }

    private synchronized void keep(String address, ParquetMetadata footer) {
        if (kept.put(address, footer) == null) {
            chunks += chunks(footer);
        }
        Iterator oldest = kept.values().iterator();
        while (chunks > MOST_CHUNKS && oldest.hasNext()) {
            chunks -= chunks((ParquetMetadata) oldest.next());
            oldest.remove();
        }
    }

    private static int chunks(ParquetMetadata footer) {
        int found = 0;
        for (int group = 0; group < footer.getBlocks().size(); group++) {
            found += ((BlockMetaData) footer.getBlocks().get(group)).getColumns().size();
        }
        return found;
    }
}
