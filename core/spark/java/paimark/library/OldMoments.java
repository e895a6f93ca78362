package paimark.library;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.paimon.Snapshot;
import org.apache.paimon.data.InternalArray;
import org.apache.paimon.data.InternalMap;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.predicate.PredicateBuilder;
import org.apache.paimon.reader.RecordReaderIterator;
import org.apache.paimon.stats.SimpleStatsEvolution;
import org.apache.paimon.stats.SimpleStatsEvolutions;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.table.source.InnerTableRead;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DataTypeChecks;
import org.apache.paimon.types.DataTypeFamily;
import org.apache.paimon.types.DataTypeRoot;
import org.apache.paimon.types.DataTypes;

/**
 * Times before the Gregorian calendar, which Paimon's ORC files give back as others.
 *
 * <p>Each time that such a row is written again, its times move by days.
 */
final class OldMoments {
    /** 1582-10-15. */
    private static final long FIRST = -12_219_292_800_000L;
    /** More than the days by which a file's statistics, too, may have moved. */
    private static final long MOVED = 30L * 24 * 3600 * 1000;

    private final FileStoreTable table;
    private final List<Integer> places = new ArrayList<>();
    private final List<InternalRow.FieldGetter> values = new ArrayList<>();

    OldMoments(FileStoreTable table) {
        this.table = table;
        boolean isOrc = "orc".equalsIgnoreCase(table.coreOptions().fileFormatString())
                || table.coreOptions().fileFormatPerLevel().containsValue("orc");
        List<DataField> fields = table.rowType().getFields();
        for (int place = 0; isOrc && place < fields.size(); place++) {
            if (hasTimes(fields.get(place).type())) {
                places.add(place);
                values.add(InternalRow.createFieldGetter(fields.get(place).type(), place));
            }
        }
    }

    /** Of a row that goes, the key counts alone. */
    void requireKept(InternalRow row) throws IOException {
        for (int i = 0; i < places.size(); i++) {
            DataField field = table.rowType().getFields().get(places.get(i));
            boolean counts = row.getRowKind().isAdd() || table.primaryKeys().contains(field.name());
            if (counts && hasOld(values.get(i).getFieldOrNull(row), field.type())) {
                throw moved(field);
            }
        }
    }

    private static boolean isTime(DataType type) {
        return type.is(DataTypeRoot.TIMESTAMP_WITHOUT_TIME_ZONE) || type.is(DataTypeRoot.TIMESTAMP_WITH_LOCAL_TIME_ZONE);
    }

    private static boolean hasTimes(DataType type) {
        return isTime(type) || (type.is(DataTypeFamily.CONSTRUCTED)
                && DataTypeChecks.getNestedTypes(type).stream().anyMatch(OldMoments::hasTimes));
    }

    private static boolean hasOld(Object value, DataType type) {
        if (value == null || !hasTimes(type)) {
            return false;
        }
        if (isTime(type)) {
            return ((Timestamp) value).getMillisecond() < FIRST;
        }
        List<DataType> parts = DataTypeChecks.getNestedTypes(type);
        if (value instanceof InternalMap) {
            InternalMap map = (InternalMap) value;
            return hasOld(map.keyArray(), DataTypes.ARRAY(parts.get(0)))
                    || (parts.size() > 1 && hasOld(map.valueArray(), DataTypes.ARRAY(parts.get(1))));
        }
        if (value instanceof InternalArray) {
            InternalArray array = (InternalArray) value;
            InternalArray.ElementGetter getter = InternalArray.createElementGetter(parts.get(0));
            return IntStream.range(0, array.size()).anyMatch(i -> hasOld(getter.getElementOrNull(array, i), parts.get(0)));
        }
        InternalRow row = (InternalRow) value;
        return IntStream.range(0, parts.size()).anyMatch(i ->
                hasOld(InternalRow.createFieldGetter(parts.get(i), i).getFieldOrNull(row), parts.get(i)));
    }

    /** Of files whose rows are written again. Their statistics rule most of them out; the others are looked into. */
    void requireKept(CommitMessageImpl compacted) throws IOException {
        Set<String> kept = compacted.compactIncrement().compactAfter().stream().map(DataFileMeta::fileName)
                .collect(Collectors.toSet());
        SimpleStatsEvolutions evolutions =
                new SimpleStatsEvolutions(id -> table.schemaManager().schema(id).fields(), table.schema().id());
        for (DataFileMeta file : compacted.compactIncrement().compactBefore()) {
            if (places.isEmpty() || kept.contains(file.fileName())) {
                continue;
            }
            SimpleStatsEvolution.Result known = evolutions.getOrCreate(file.schemaId())
                    .evolution(file.valueStats(), file.rowCount(), file.valueStatsCols());
            for (int place : places) {
                if (mayHaveOld(known, place, file.rowCount()) && hasOld(compacted, file, place)) {
                    throw moved(table.rowType().getFields().get(place));
                }
            }
        }
    }

    private boolean mayHaveOld(SimpleStatsEvolution.Result known, int place, long rows) {
        boolean hasOnlyNulls = !known.nullCounts().isNullAt(place) && known.nullCounts().getLong(place) == rows;
        DataType type = table.rowType().getTypeAt(place);
        return !hasOnlyNulls && (!isTime(type) || known.minValues().isNullAt(place)
                || known.minValues().getTimestamp(place, DataTypeChecks.getPrecision(type)).getMillisecond()
                        < FIRST + MOVED);
    }

    private boolean hasOld(CommitMessageImpl of, DataFileMeta file, int place) throws IOException {
        DataType type = table.rowType().getTypeAt(place);
        DataSplit split = DataSplit.builder()
                .withSnapshot(Snapshot.FIRST_SNAPSHOT_ID)
                .withPartition(of.partition())
                .withBucket(of.bucket())
                .withBucketPath(table.store().pathFactory().bucketPath(of.partition(), of.bucket()).toString())
                .withTotalBuckets(of.totalBuckets())
                .withDataFiles(List.of(file))
                .isStreaming(false)
                .rawConvertible(true)
                .build();
        InnerTableRead read = table.newRead().withReadType(table.rowType().project(new int[] {place}));
        if (isTime(type)) {
            // The format leaves out most of the file by it.
            read = read.withFilter(new PredicateBuilder(table.rowType()).lessThan(place, Timestamp.fromEpochMillis(FIRST)));
        }
        InternalRow.FieldGetter value = InternalRow.createFieldGetter(type, 0);
        try (RecordReaderIterator<InternalRow> rows = new RecordReaderIterator<>(read.createReader(split))) {
            while (rows.hasNext()) {
                if (hasOld(value.getFieldOrNull(rows.next()), type)) {
                    return true;
                }
            }
            return false;
        } catch (IOException error) {
            throw error;
        } catch (Exception error) {
            throw new IOException(error);
        }
    }

    private static IOException moved(DataField field) {
        return new IOException("Column " + field.name() + " has a time before 1582-10-15, and Paimon's ORC files give "
                + "such times back moved by days. Keep them in Parquet or Avro files (file.format).");
    }
}
