package paimark.catalog;

import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.connector.catalog.CatalogV2Util;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.collection.immutable.Seq;

/** A table whose rows a plan gives, which {@code Swap} puts into the query. */
public abstract class PreparedTable implements SupportsRead {
    private final String label;
    private final Column[] columns;

    /** {@code label} is the name for people. */
    protected PreparedTable(String label, Column[] columns) {
        this.label = label;
        this.columns = columns;
    }

    /** A plan of the rows, whose columns are these. */
    public abstract LogicalPlan plan(Seq<AttributeReference> columns);

    @Override
    public String name() {
        return label;
    }

    @Override
    public Column[] columns() {
        return columns;
    }

    @Override
    public StructType schema() {
        return CatalogV2Util.v2ColumnsToStructType(columns);
    }

    @Override
    public Set<TableCapability> capabilities() {
        return Set.of(TableCapability.BATCH_READ);
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
        throw new IllegalStateException("The plan of " + label + " was not put into the query");
    }
}
