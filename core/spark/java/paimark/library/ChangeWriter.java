package paimark.library;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.paimon.deletionvectors.Bitmap64DeletionVector;
import org.apache.paimon.deletionvectors.BitmapDeletionVector;
import org.apache.paimon.deletionvectors.DeletionVector;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.SpecialFields;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.types.RowKind;
import org.apache.paimon.types.RowType;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.connector.write.DeltaWriter;
import org.apache.spark.sql.connector.write.DeltaWriterFactory;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.StructType;

/** Writes what one task changes to files that no snapshot names yet. */
final class ChangeWriter implements DeltaWriter<InternalRow> {
    private final Factory of;
    private final RowWriter files;
    /** For rows that keep their tracked ids. */
    private RowWriter again;
    /** For those of groups; null: there are none. */
    private final GroupFiles groups;
    private final RowsForPaimon.OfRow after;
    private final RowsForPaimon.OfRow before;
    private final RowsForPaimon.OfRow kept;
    private final ChangeCheck check;
    private final int isKept;
    private final Map<String, DeletionVector> marked = new HashMap<>();
    private final ChangeCounts counts = new ChangeCounts();

    private ChangeWriter(Factory of) {
        this.of = of;
        files = of.rows.createWriter(null);
        groups = ChangeColumns.isGrouped(of.table) && of.metadata != null ? new GroupFiles(of.rows) : null;
        RowType type = of.table.rowType();
        List<String> given = Arrays.asList(of.schema.fieldNames()), old = new ArrayList<>();
        for (StructType each : Arrays.asList(of.ids, of.metadata)) {
            if (each != null) {
                Arrays.stream(each.fieldNames()).map(name -> ChangeColumns.ownName(type, name)).forEach(old::add);
            }
        }
        after = new RowsForPaimon.OfRow(type, RowWriter.places(type, given));
        before = new RowsForPaimon.OfRow(type, RowWriter.places(type, old));
        List<String> both = new ArrayList<>(of.metadata == null ? List.of() : Arrays.asList(of.metadata.fieldNames()));
        both.addAll(given);
        RowType tracked = SpecialFields.rowTypeWithRowTracking(type, false, true);
        kept = !ChangeColumns.isTracked(of.table) ? null
                : new RowsForPaimon.OfRow(tracked, RowWriter.places(tracked, both));
        isKept = of.metadata == null ? -1 : Arrays.asList(of.metadata.fieldNames()).indexOf(ChangeColumns.KEPT);
        check = of.table.primaryKeys().isEmpty() ? null : new ChangeCheck(of.table);
    }

    /** A row of a MERGE must not meet another one of its key. */
    private void requireOne(RowsForPaimon.OfRow row) {
        if (check != null && of.isMerge) {
            check.requireOtherKey(row);
        }
    }

    @Override
    public void insert(InternalRow given) throws IOException {
        after.of(given).setRowKind(RowKind.INSERT);
        requireOne(after);
        files.put(after);
        counts.inserted++;
    }

    @Override
    public void update(InternalRow metadata, InternalRow id, InternalRow given) throws IOException {
        counts.updated++;
        if (of.marks) {
            mark(id);
            keep(metadata, given);
            return;
        }
        before.of(metadata == null ? id : new JoinedRow(id, metadata)).setRowKind(RowKind.INSERT);
        after.of(given).setRowKind(RowKind.UPDATE_AFTER);
        requireOne(before);
        check.requireUpdated(before, after);
        files.put(after);
    }

    @Override
    public void delete(InternalRow metadata, InternalRow id) throws IOException {
        counts.deleted++;
        if (of.marks) {
            mark(id);
            return;
        }
        // The whole row: by its sequence fields it is no older than what it deletes, and changelogs show it.
        before.of(metadata == null ? id : new JoinedRow(id, metadata)).setRowKind(RowKind.INSERT);
        requireOne(before);
        check.requireDeleted(before);
        before.setRowKind(RowKind.DELETE);
        files.put(before);
    }

    private void mark(InternalRow id) {
        boolean wide = of.table.coreOptions().deletionVectorBitmap64();
        marked.computeIfAbsent(id.getUTF8String(0).toString(),
                file -> wide ? new Bitmap64DeletionVector() : new BitmapDeletionVector()).delete(id.getLong(1));
    }

    /** A row that is added, or one of a file that is written again. */
    @Override
    public void write(InternalRow given) throws IOException {
        if (given.numFields() != of.schema.length()) {
            throw new IllegalStateException("a row has " + given.numFields() + " columns, not " + of.schema.length());
        }
        insert(given);
    }

    @Override
    public void write(InternalRow metadata, InternalRow given) throws IOException {
        if (metadata.isNullAt(isKept)) {
            counts.updated++;
        } else {
            counts.kept++;
        }
        keep(metadata, given);
    }

    private void keep(InternalRow metadata, InternalRow given) throws IOException {
        if (kept == null || metadata == null || metadata.isNullAt(of.metadata.fieldIndex(SpecialFields.ROW_ID.name()))) {
            after.of(given).setRowKind(RowKind.INSERT);
            files.put(after);
            return;
        }
        if (groups != null) {
            groups.put(metadata.getString(of.metadata.fieldIndex(ChangeColumns.FILE)),
                    metadata.getLong(of.metadata.fieldIndex(SpecialFields.ROW_ID.name())), after.of(given));
            return;
        }
        if (again == null) {
            RowType tracked = SpecialFields.rowTypeWithRowTracking(of.table.rowType(), false, true);
            again = of.rows.createWriter(tracked);
        }
        again.put(kept.of(new JoinedRow(metadata, given)));
    }

    @Override
    public WriterCommitMessage commit() throws IOException {
        List<CommitMessage> messages = new ArrayList<>(((RowWriter.Told) files.commit()).messages);
        if (again != null) {
            messages.addAll(((RowWriter.Told) again.commit()).messages);
        }
        if (groups != null) {
            messages.addAll(groups.commit());
        }
        Map<String, byte[]> vectors = new HashMap<>();
        marked.forEach((file, vector) -> vectors.put(file, DeletionVector.serializeToBytes(vector)));
        return new Told(messages, vectors, counts);
    }

    @Override
    public void abort() throws IOException {
        try {
            files.abort();
        } finally {
            if (again != null) {
                again.abort();
            }
            if (groups != null) {
                groups.abort();
            }
        }
    }

    @Override
    public void close() throws IOException {
        try {
            files.close();
        } finally {
            if (again != null) {
                again.close();
            }
            if (groups != null) {
                groups.close();
            }
        }
    }

    /** What a task wrote, and the rows that it marked as deleted, by file. */
    static final class Told implements WriterCommitMessage {
        private static final long serialVersionUID = 1L;

        final List<CommitMessage> messages;
        final Map<String, byte[]> marked;
        final ChangeCounts counts;

        Told(List<CommitMessage> messages, Map<String, byte[]> marked, ChangeCounts counts) {
            this.messages = messages;
            this.marked = marked;
            this.counts = counts;
        }
    }

    record Factory(FileStoreTable table, RowWriter.Factory rows, StructType schema, StructType ids, StructType metadata,
            boolean marks, boolean isMerge) implements DeltaWriterFactory {
        @Override
        public DeltaWriter<InternalRow> createWriter(int partition, long task) {
            return new ChangeWriter(this);
        }
    }
}
