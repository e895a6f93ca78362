package paimark.library;

import org.apache.paimon.CoreOptions.MergeEngine;
import org.apache.paimon.KeyValue;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.data.serializer.InternalRowSerializer;
import org.apache.paimon.mergetree.compact.MergeFunction;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.PrimaryKeyTableUtils;
import org.apache.paimon.types.RowKind;
import org.apache.paimon.types.RowType;
import org.apache.paimon.utils.FieldsComparator;
import org.apache.paimon.utils.UserDefinedSeqComparator;

/**
 * Whether the table will show a row as a statement leaves it. By its rules it may keep the old one, or parts of it, and
 * Paimon says nothing.
 */
final class ChangeCheck {
    private final FileStoreTable table;
    private final RowType type;
    private final int[] keys;
    private final FieldsComparator sequence;
    private final InternalRowSerializer serializer;
    private final InternalRowSerializer ofKeys;
    /** Null where the newer row takes the place of the older one. */
    private final MergeFunction<KeyValue> merging;
    private final boolean ignoresDeletes;
    private BinaryRow last;

    ChangeCheck(FileStoreTable table) {
        this.table = table;
        type = table.rowType();
        keys = table.primaryKeys().stream().mapToInt(type::getFieldIndex).toArray();
        sequence = UserDefinedSeqComparator.create(type, table.coreOptions());
        serializer = new InternalRowSerializer(type);
        ofKeys = new InternalRowSerializer(type.project(keys));
        ignoresDeletes = table.coreOptions().ignoreDelete();
        merging = table.coreOptions().mergeEngine() == MergeEngine.DEDUPLICATE ? null
                : PrimaryKeyTableUtils.createMergeFunctionFactory(table.schema()).create();
    }

    /** Rows come in the order of their keys. */
    void requireOtherKey(InternalRow row) {
        BinaryRow key = key(row);
        if (key.equals(last)) {
            throw RefusedRow.of("The statement gives two rows for one key: " + named(row)
                    + ". Let the source have one row for each key.");
        }
        last = key.copy();
    }

    void requireUpdated(InternalRow before, InternalRow after) {
        if (!key(before).copy().equals(key(after))) {
            throw RefusedRow.of("A primary key can't be updated: " + named(before) + " would become "
                    + named(after) + ". Delete the row, and insert it with its new key.");
        }
        if (sequence != null && sequence.compare(before, after) > 0) {
            throw RefusedRow.of("The row of " + named(before) + " would become older than it is, by "
                    + String.join(", ", table.coreOptions().sequenceField()) + ", and Paimon would keep it as it is."
                    + " Leave that as it is, or raise it.");
        }
        if (merging == null) {
            return;
        }
        BinaryRow wanted = binary(after);
        KeyValue made = merged(before, after, RowKind.INSERT);
        if (made == null || !binary(made.value()).equals(wanted)) {
            throw RefusedRow.of("Column " + firstOther(made, after) + " of the row of " + named(before)
                    + " would not become what the statement says: by its options the table merges the old value with"
                    + " the new one. A NULL, or a row that is older by its sequence group, changes nothing there.");
        }
    }

    void requireDeleted(InternalRow before) {
        if (merging == null && !ignoresDeletes) {
            return;
        }
        if (ignoresDeletes || !takesDelete(before)) {
            throw RefusedRow.of("The row of " + named(before) + " would stay: by its options the table"
                    + " does not delete it.");
        }
    }

    private boolean takesDelete(InternalRow row) {
        try {
            KeyValue made = merged(row, row, RowKind.DELETE);
            return made == null || !made.isAdd();
        } catch (IllegalArgumentException refused) {
            // It has many lines of advice.
            return false;
        }
    }

    private BinaryRow binary(InternalRow row) {
        BinaryRow copy = serializer.toBinaryRow(row).copy();
        // It would tell two equal rows apart.
        copy.setRowKind(RowKind.INSERT);
        return copy;
    }

    private KeyValue merged(InternalRow before, InternalRow after, RowKind kind) {
        BinaryRow key = key(before).copy();
        merging.reset();
        merging.add(new KeyValue().replace(key, 0, RowKind.INSERT, binary(before)));
        merging.add(new KeyValue().replace(key, 1, kind, binary(after)));
        return merging.getResult();
    }

    private String firstOther(KeyValue made, InternalRow wanted) {
        for (int i = 0; made != null && i < type.getFieldCount(); i++) {
            InternalRowSerializer one = new InternalRowSerializer(type.project(new int[] {i}));
            InternalRow.FieldGetter getter = InternalRow.createFieldGetter(type.getTypeAt(i), i);
            BinaryRow found = one.toBinaryRow(GenericRow.of(getter.getFieldOrNull(made.value()))).copy();
            if (!found.equals(one.toBinaryRow(GenericRow.of(getter.getFieldOrNull(wanted))))) {
                return type.getFieldNames().get(i);
            }
        }
        return "?";
    }

    private BinaryRow key(InternalRow row) {
        GenericRow key = new GenericRow(keys.length);
        for (int i = 0; i < keys.length; i++) {
            key.setField(i, InternalRow.createFieldGetter(type.getTypeAt(keys[i]), keys[i]).getFieldOrNull(row));
        }
        return ofKeys.toBinaryRow(key);
    }

    private String named(InternalRow row) {
        StringBuilder text = new StringBuilder();
        for (int key : keys) {
            Object value = InternalRow.createFieldGetter(type.getTypeAt(key), key).getFieldOrNull(row);
            text.append(text.length() == 0 ? "" : ", ")
                    .append(type.getFieldNames().get(key)).append(" = ").append(value);
        }
        return text.toString();
    }
}
