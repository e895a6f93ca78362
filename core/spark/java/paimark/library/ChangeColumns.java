package paimark.library;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.SpecialFields;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.RowType;
import org.apache.spark.sql.catalyst.ProjectingInternalRow;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * The columns that a scan of a table shows, for which rows are changed.
 *
 * <p>They are the table's own, and some for Spark: of a table with keys the other columns as they were before
 * ({@code __paimark_before_v}), of one without the file and the place of a row, whether it is kept, and its tracked id.
 */
final class ChangeColumns implements Serializable {
    private static final long serialVersionUID = 1L;

    static final String BEFORE = "__paimark_before_";
    static final String FILE = "__paimark_file";
    static final String PLACE = "__paimark_place";
    /** Not null, but of a row that the statement updates: Spark makes it so. */
    static final String KEPT = "__paimark_kept";
    private static final List<String> OF_FILE = List.of(FILE, PLACE, KEPT);

    /** What the library reads. */
    final RowType read;
    final StructType shown;
    /** Where each shown column stands among those read, which {@link #OF_FILE} follow. */
    private final int[] places;

    ChangeColumns(FileStoreTable table, StructType wanted) {
        RowType whole = isTracked(table) ? SpecialFields.rowTypeWithRowTracking(table.rowType()) : table.rowType();
        List<DataField> fields = new ArrayList<>();
        List<String> names = new ArrayList<>();
        String[] own = new String[wanted.length()];
        for (int i = 0; i < own.length; i++) {
            own[i] = ownName(whole, wanted.fields()[i].name());
            if (whole.containsField(own[i]) && !names.contains(own[i])) {
                names.add(own[i]);
                fields.add(whole.getField(own[i]));
            }
        }
        if (isGrouped(table) && Arrays.asList(own).contains(FILE) && !names.contains(SpecialFields.ROW_ID.name())) {
            names.add(SpecialFields.ROW_ID.name());
            fields.add(SpecialFields.ROW_ID);
        }
        read = new RowType(fields);
        shown = wanted;
        places = new int[own.length];
        for (int i = 0; i < own.length; i++) {
            int ofFile = OF_FILE.indexOf(own[i]);
            places[i] = ofFile < 0 ? names.indexOf(own[i]) : names.size() + ofFile;
        }
    }

    /** Whether files have parts of rows: then {@link #FILE} names their group. */
    static boolean isGrouped(FileStoreTable table) {
        return table.coreOptions().dataEvolutionEnabled();
    }

    static boolean isTracked(FileStoreTable table) {
        return table.coreOptions().rowTrackingEnabled();
    }

    /** The column of the table that a column shows. */
    static String ownName(RowType whole, String name) {
        return name.startsWith(BEFORE) && !whole.containsField(name) ? name.substring(BEFORE.length()) : name;
    }

    boolean tellsPlace() {
        return IntStream.of(places).anyMatch(place -> place >= read.getFieldCount());
    }

    /** A view of a row that was read, followed by its file and place. */
    ProjectingInternalRow view() {
        List<Object> ordinals = new ArrayList<>();
        for (int place : places) {
            ordinals.add(place);
        }
        return ProjectingInternalRow.apply(
                shown, scala.jdk.javaapi.CollectionConverters.asScala(ordinals).toIndexedSeq());
    }

    static MetadataColumn[] metadata(FileStoreTable table) {
        List<MetadataColumn> found = new ArrayList<>();
        if (!table.primaryKeys().isEmpty()) {
            for (DataField field : table.rowType().getFields()) {
                if (!table.primaryKeys().contains(field.name())) {
                    found.add(column(BEFORE + field.name(), SparkTypes.of(field.type()), true, null));
                }
            }
            return found.toArray(new MetadataColumn[0]);
        }
        found.add(column(FILE, DataTypes.StringType, false, null));
        found.add(column(PLACE, DataTypes.LongType, false, null));
        found.add(column(KEPT, DataTypes.BooleanType, true, json(MetadataColumn.PRESERVE_ON_UPDATE, false)));
        if (isTracked(table)) {
            found.add(column(SpecialFields.ROW_ID.name(), DataTypes.LongType, true, null));
            // A row that is changed gets a new number from its commit.
            found.add(column(SpecialFields.SEQUENCE_NUMBER.name(), DataTypes.LongType, true,
                    json(MetadataColumn.PRESERVE_ON_UPDATE, false)));
        }
        return found.toArray(new MetadataColumn[0]);
    }

    private static String json(String name, boolean value) {
        return "{\"" + name + "\": " + value + "}";
    }

    private static MetadataColumn column(String name, DataType type, boolean isNullable, String json) {
        return new MetadataColumn() {
            @Override
            public String name() {
                return name;
            }

            @Override
            public DataType dataType() {
                return type;
            }

            @Override
            public boolean isNullable() {
                return isNullable;
            }

            @Override
            public String metadataInJSON() {
                return json;
            }
        };
    }
}
