package paimark.library;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TimeZone;
import java.util.function.Supplier;
import org.apache.paimon.factories.FactoryException;
import org.apache.paimon.fs.Path;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.source.ReadBuilder;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.unsafe.types.UTF8String;

/** A system table, whose rows are listed where the statement is planned. */
final class ListedTable implements SupportsRead {
    private static final String BRANCH = "branch-";

    private final String name;
    private final StructType columns;
    private final Supplier<List<InternalRow>> rows;

    private ListedTable(String name, StructType columns, Supplier<List<InternalRow>> rows) {
        this.name = name;
        this.columns = columns;
        this.rows = rows;
    }

    /** One of Paimon's library. */
    static ListedTable of(String name, Table listed) {
        return new ListedTable(name, SparkTypes.declared(listed.rowType()), () -> rows(listed));
    }

    /** The columns are the library's, which looks for branches only where the table's own directory is main. */
    static ListedTable branches(String name, Table listed, Path table, StoreFiles files) {
        return new ListedTable(name, SparkTypes.declared(listed.rowType()), () -> {
            List<InternalRow> found = new ArrayList<>();
            Path all = new Path(table, "branch");
            for (String each : files.names(all, status -> status.isDir() && status.getPath().getName().startsWith(BRANCH))) {
                Long made = files.exists(new Path(all, each + "/schema")) ? files.time(new Path(all, each)) : null;
                if (made != null) {
                    long local = made + TimeZone.getDefault().getOffset(made);
                    found.add(new GenericInternalRow(
                            new Object[] {UTF8String.fromString(each.substring(BRANCH.length())), local * 1000}));
                }
            }
            return found;
        });
    }

    /** The savepoints of a root, by number. */
    static ListedTable savepoints(String name, LakeStates states) {
        StructType columns = new StructType();
        for (String each : LakeStates.SAVEPOINT_COLUMNS) {
            columns = columns.add(each, DataTypes.LongType, false);
        }
        return new ListedTable(name, columns, () -> {
            List<InternalRow> found = new ArrayList<>();
            states.savepoints().forEach(each -> found.add(new GenericInternalRow(each)));
            return found;
        });
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public StructType schema() {
        return columns;
    }

    @Override
    public Set<TableCapability> capabilities() {
        return Set.of(TableCapability.BATCH_READ);
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
        return () -> new LocalScan() {
            @Override
            public InternalRow[] rows() {
                return rows.get().toArray(new InternalRow[0]);
            }

            @Override
            public StructType readSchema() {
                return columns;
            }
        };
    }

    private static List<InternalRow> rows(Table listed) {
        ReadBuilder builder = listed.newReadBuilder();
        List<InternalRow> found = new ArrayList<>();
        try (RecordReader<org.apache.paimon.data.InternalRow> reader =
                builder.newRead().createReader(builder.newScan().plan())) {
            RowValues.Row view = new RowValues.Row(listed.rowType());
            reader.forEachRemaining(row -> found.add(view.of(row).copy()));
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        } catch (FactoryException unknown) {
            throw ReadErrors.told(unknown, listed.fullName());
        }
        return found;
    }
}
