package paimark.catalog;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.physical.UnknownPartitioning;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.MetadataBuilder;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * A table without rows. Its plan is a leaf whose columns' metadata name its place: {@code 3}, and where it is read
 * more than once, {@code 3.1} and so on.
 */
public final class StandIn extends PreparedTable {
    private final SparkSession session;
    private final RDD<InternalRow> none;
    private final String key;
    private final String place;
    private final AtomicInteger uses = new AtomicInteger();

    /** {@code none} has no rows; {@code key} is that of the place in the metadata. */
    public StandIn(
            String label, Column[] columns, SparkSession session, RDD<InternalRow> none, String key, String place) {
        super(label, columns);
        this.session = session;
        this.none = none;
        this.key = key;
        this.place = place;
    }

    @Override
    public LogicalPlan plan(Seq<AttributeReference> columns) {
        int use = uses.getAndIncrement();
        String at = use == 0 ? place : place + '.' + use;
        List<Attribute> marked = new ArrayList<>();
        for (int number = 0; number < columns.length(); number++) {
            AttributeReference column = columns.apply(number);
            // The column's own metadata tell Spark to which length it pads what is compared with a CHAR.
            Metadata mark = new MetadataBuilder()
                    .withMetadata(column.metadata())
                    .putString(key, at)
                    .build();
            marked.add(column.withMetadata(mark));
        }
        return new LogicalRDD(
                PythonUtils.toSeq(marked),
                none,
                new UnknownPartitioning(0),
                PythonUtils.toSeq(new ArrayList<SortOrder>()),
                false,
                Option.empty(),
                session,
                Option.empty(),
                Option.empty());
    }
}
