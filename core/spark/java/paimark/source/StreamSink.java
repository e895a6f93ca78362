package paimark.source;

import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.execution.LogicalRDD$;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.streaming.Sink;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** Writes each micro-batch of a streaming query as one commit. */
public final class StreamSink implements Sink {
    private final PythonDataSourceV2 python;
    private final CaseInsensitiveStringMap options;

    public StreamSink(PythonDataSourceV2 python, CaseInsensitiveStringMap options) {
        this.python = python;
        this.options = options;
    }

    @Override
    public void addBatch(long batch, Dataset<Row> rows) {
        org.apache.spark.sql.classic.Dataset<Row> given = (org.apache.spark.sql.classic.Dataset<Row>) rows;
        // The plan of a batch is not to be planned again: it holds the state of the query.
        Dataset<Row> plain = org.apache.spark.sql.classic.Dataset.ofRows(given.sparkSession(),
                LogicalRDD$.MODULE$.fromDataset(given.queryExecution().toRdd(), given, false));
        // A query's jobs are a group that has the name of its run.
        String run = given.sparkSession().sparkContext().getLocalProperty("spark.jobGroup.id");
        Map<String, String> more = Map.of("batch", String.valueOf(batch), "run", run == null ? "" : run);
        new SourceWrite(python, options).run(plain, false, more);
    }
}
