package paimark.library;

import java.util.ArrayList;
import java.util.List;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.SpecialFields;
import org.apache.spark.sql.connector.expressions.FieldReference;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.DeltaWriteBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.RowLevelOperation;
import org.apache.spark.sql.connector.write.SupportsDelta;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * DELETE, UPDATE and MERGE, as Spark does them: by rows of a kind, by marks where rows lie, or by files that are
 * written again.
 */
final class RowChanges {
    private RowChanges() {}

    static RowLevelOperation of(ChangedTable table, RowLevelOperation.Command command) {
        FileStoreTable written = table.rows.table;
        if (!written.primaryKeys().isEmpty()) {
            return new ByKey(table, command);
        }
        if (ChangeColumns.isGrouped(written)) {
            requireNoIndex(table);
        }
        return written.coreOptions().deletionVectorsEnabled()
                ? new ByPlace(table, command) : new ByFile(table, command);
    }

    /** An index finds rows by their ids, which stay: it would find them by their old values. */
    private static void requireNoIndex(ChangedTable table) {
        if (table.state != null && table.state.indexManifest() != null && !table.rows.table.store()
                .newIndexFileHandler().scan(table.state, each -> each.indexFile().globalIndexMeta() != null).isEmpty()) {
            throw RefusedRow.of(table.name() + " has a global index, which would find rows by their old values."
                    + " Drop it with the engine that made it, or by pypaimon: table.drop_global_index(column).");
        }
    }

    private static NamedReference[] columns(List<String> names) {
        return names.stream().map(FieldReference::column).toArray(NamedReference[]::new);
    }

    private abstract static class Operation implements RowLevelOperation {
        final ChangedTable table;
        private final Command command;
        private final TouchedFiles touched;

        /** {@code touched} hears which files are read; null for a table with keys. */
        Operation(ChangedTable table, Command command, TouchedFiles touched) {
            this.table = table;
            this.command = command;
            this.touched = touched;
        }

        @Override
        public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
            return new ChangedRows.Builder(table.rows, touched);
        }

        @Override
        public DeltaWriteBuilder newWriteBuilder(LogicalWriteInfo info) {
            return new ChangeWrite(table, info, command, touched);
        }

        @Override
        public Command command() {
            return command;
        }

        NamedReference[] tracked(List<String> more) {
            List<String> names = new ArrayList<>(more);
            if (ChangeColumns.isTracked(table.rows.table)) {
                names.add(SpecialFields.ROW_ID.name());
                names.add(SpecialFields.SEQUENCE_NUMBER.name());
            }
            return columns(names);
        }
    }

    private static final class ByKey extends Operation implements SupportsDelta {
        ByKey(ChangedTable table, Command command) {
            super(table, command, null);
        }

        @Override
        public NamedReference[] rowId() {
            return columns(table.rows.table.primaryKeys());
        }

        /** All other columns: a delete is written as the whole row, and an update is compared with it. */
        @Override
        public NamedReference[] requiredMetadataAttributes() {
            FileStoreTable of = table.rows.table;
            return of.rowType().getFieldNames().stream().filter(name -> !of.primaryKeys().contains(name))
                    .map(name -> FieldReference.column(ChangeColumns.BEFORE + name)).toArray(NamedReference[]::new);
        }
    }

    private static final class ByPlace extends Operation implements SupportsDelta {
        ByPlace(ChangedTable table, Command command) {
            super(table, command, new TouchedFiles(true));
        }

        @Override
        public NamedReference[] rowId() {
            return columns(List.of(ChangeColumns.FILE, ChangeColumns.PLACE));
        }

        @Override
        public NamedReference[] requiredMetadataAttributes() {
            return tracked(List.of());
        }
    }

    private static final class ByFile extends Operation {
        ByFile(ChangedTable table, Command command) {
            super(table, command, new TouchedFiles(false));
        }

        @Override
        public NamedReference[] requiredMetadataAttributes() {
            return tracked(List.of(ChangeColumns.FILE, ChangeColumns.KEPT));
        }
    }
}
