package paimark.library;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.DataTypeChecks;
import org.apache.paimon.types.DataTypeRoot;

/**
 * Times before the Gregorian calendar, which Paimon's ORC files give back as others.
 *
 * <p>Each time that such a row is written again, its times move by days.
 */
final class OldMoments {
    /** 1582-10-15. */
    private static final long FIRST = -12_219_292_800_000L;

    private final FileStoreTable table;
    private final List<Integer> places = new ArrayList<>();

    OldMoments(FileStoreTable table) {
        this.table = table;
        boolean isOrc = "orc".equalsIgnoreCase(table.coreOptions().fileFormatString())
                || table.coreOptions().fileFormatPerLevel().containsValue("orc");
        List<DataField> fields = table.rowType().getFields();
        for (int place = 0; isOrc && place < fields.size(); place++) {
            DataTypeRoot root = fields.get(place).type().getTypeRoot();
            if (root == DataTypeRoot.TIMESTAMP_WITHOUT_TIME_ZONE || root == DataTypeRoot.TIMESTAMP_WITH_LOCAL_TIME_ZONE) {
                places.add(place);
            }
        }
    }

    /** Of a row that goes, the key counts alone. */
    void requireKept(InternalRow row) throws IOException {
        for (int place : places) {
            DataField field = table.rowType().getFields().get(place);
            boolean counts = row.getRowKind().isAdd() || table.primaryKeys().contains(field.name());
            if (counts && !row.isNullAt(place)
                    && row.getTimestamp(place, DataTypeChecks.getPrecision(field.type())).getMillisecond() < FIRST) {
                throw new IOException("Column " + field.name() + " has a time before 1582-10-15, and Paimon's ORC files "
                        + "give such times back moved by days. Keep them in Parquet or Avro files.");
            }
        }
    }
}
