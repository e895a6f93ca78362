package paimark.library;

import java.io.IOException;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.paimon.predicate.Predicate;
import org.apache.paimon.predicate.PredicateBuilder;
import org.apache.paimon.table.source.Split;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.types.StructType;

/** The rows of a few keys, read in this process: a job would take longer than they do. */
final class FewKeys implements LocalScan {
    private static final Set<String> BINDING = Set.of("=", "<=>", "IN");
    private static final int MOST_KEYS = 64;
    private static final int MOST_SPLITS = 16;
    /** What the files with these keys may have; of each only the row groups with a key are read. */
    private static final long MOST_BYTES = 256L << 20;
    private final LibraryTable table;
    private final StructType shown;
    private final Predicate condition;
    private InternalRow[] rows;

    FewKeys(LibraryTable table, StructType shown, Predicate condition) {
        this.table = table;
        this.shown = shown;
        this.condition = condition;
    }

    /** Whether the conditions leave few keys, in few files. {@code given} are the same conditions in Spark's form. */
    static boolean areFew(
            LibraryTable table,
            List<Predicate> conditions,
            org.apache.spark.sql.connector.expressions.filter.Predicate[] given) {
        Set<String> open = new HashSet<>(table.table.primaryKeys());
        if (open.isEmpty()) {
            return false;
        }
        long keys = 1;
        for (org.apache.spark.sql.connector.expressions.filter.Predicate each : given) {
            boolean isBound = BINDING.contains(each.name()) && each.references().length == 1;
            if (isBound && open.remove(String.join(".", each.references()[0].fieldNames()))) {
                keys *= each.children().length - 1;
            }
        }
        if (!open.isEmpty() || keys > MOST_KEYS) {
            return false;
        }
        List<Split> splits = table.splits(PredicateBuilder.and(conditions));
        return splits.size() <= MOST_SPLITS
                && splits.stream().mapToLong(PackedSplits::bytesOf).sum() <= MOST_BYTES;
    }

    @Override
    public StructType readSchema() {
        return shown;
    }

    @Override
    public synchronized InternalRow[] rows() {
        if (rows == null) {
            try {
                FewRows found = new FewRows(
                        table.table, shown, Arrays.asList(shown.fieldNames()), condition, condition,
                        null, Long.MAX_VALUE, Long.MAX_VALUE);
                rows = found.of(table.splits(condition)).toArray(new InternalRow[0]);
            } catch (IOException error) {
                throw ReadErrors.told(error, table.name());
            }
        }
        return rows;
    }
}
