package paimark.library;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.Decimal;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.predicate.Predicate;
import org.apache.paimon.predicate.PredicateBuilder;
import org.apache.paimon.stats.SimpleStats;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.table.source.DeletionFile;
import org.apache.paimon.table.source.Split;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.DataTypeChecks;
import org.apache.paimon.types.DecimalType;
import org.apache.paimon.utils.SerializationUtils;
import org.apache.spark.sql.catalyst.InternalRow;

/** A question for the rows with some values, or for the first rows, and where these are: {@code library/lookups.py}. */
final class ChosenFiles {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final LibraryTable opened;
    private final FileStoreTable table;
    private final JsonNode question;
    /** Those that files may be asked too. */
    private final List<Predicate> ofFiles = new ArrayList<>();
    private final List<Predicate> all = new ArrayList<>();
    /** Rows of a key are in its order: after these there is none. */
    private final List<Predicate> past = new ArrayList<>();

    ChosenFiles(LibraryTable opened, String question) throws IOException {
        this.opened = opened;
        table = opened.table;
        this.question = JSON.readTree(question);
        PredicateBuilder builder = new PredicateBuilder(table.rowType());
        List<String> keys = table.schema().trimmedPrimaryKeys();
        PushedConditions pushed = new PushedConditions(table.rowType());
        for (JsonNode each : this.question.get("conditions")) {
            DataField field = table.rowType().getField(each.get(0).asText());
            List<Object> values = new ArrayList<>();
            for (JsonNode value : each.get(1)) {
                values.add(value(field, value));
            }
            Predicate condition = builder.in(builder.indexOf(field.name()), values);
            all.add(condition);
            if (pushed.isForFiles(condition)) {
                ofFiles.add(condition);
            }
            if (keys.indexOf(field.name()) == 0) {
                values.forEach(value -> past.add(builder.greaterThan(builder.indexOf(field.name()), value)));
            }
        }
    }

    FewRows rows() {
        List<String> columns = new ArrayList<>();
        question.get("columns").forEach(each -> columns.add(each.asText()));
        return new FewRows(
                table,
                SparkTypes.of(table.rowType()),
                columns,
                allOf(all),
                allOf(ofFiles),
                allOf(past),
                question.get("most_rows").asLong(),
                question.get("most_bytes").asLong());
    }

    /** The rows that are asked for, as they are found. Null if there are too many, or too many have to be looked at. */
    List<InternalRow> found(FewRows rows) throws IOException {
        List<Split> splits = question.has("splits") ? splits() : planned();
        if (splits == null) {
            return null;
        }
        return question.has("first") ? rows.first(splits, question.get("first").asInt()) : rows.of(splits);
    }

    /** The splits that the library itself finds; null if they have too many files. */
    private List<Split> planned() {
        int files = 0;
        List<Split> splits = opened.splits(allOf(all));
        for (Split split : splits) {
            files += split instanceof DataSplit ? ((DataSplit) split).dataFiles().size() : 1;
        }
        return files > question.get("most_files").asInt() ? null : splits;
    }

    private static Predicate allOf(List<Predicate> conditions) {
        return conditions.isEmpty() ? null : PredicateBuilder.and(conditions);
    }

    private List<Split> splits() throws IOException {
        List<Split> splits = new ArrayList<>();
        for (JsonNode each : question.get("splits")) {
            List<DataFileMeta> files = new ArrayList<>();
            List<DeletionFile> vectors = new ArrayList<>();
            for (JsonNode file : each.get("files")) {
                files.add(file(file));
                JsonNode vector = file.get("vector");
                vectors.add(vector.isNull() ? null : new DeletionFile(
                        vector.get(0).asText(), vector.get(1).asLong(), vector.get(2).asLong(), null));
            }
            org.apache.paimon.data.BinaryRow partition =
                    SerializationUtils.deserializeBinaryRow(each.get("partition").binaryValue());
            int bucket = each.get("bucket").asInt();
            splits.add(DataSplit.builder()
                    .withSnapshot(0)
                    .withPartition(partition)
                    .withBucket(bucket)
                    .withBucketPath(table.store().pathFactory().bucketPath(partition, bucket).toString())
                    .withDataFiles(files)
                    .withDataDeletionFiles(vectors)
                    .rawConvertible(!each.get("merged").asBoolean())
                    .build());
        }
        return splits;
    }

    private static DataFileMeta file(JsonNode file) throws IOException {
        List<String> extra = new ArrayList<>();
        file.get("extra_files").forEach(each -> extra.add(each.asText()));
        return DataFileMeta.create(
                file.get("name").asText(),
                file.get("size").asLong(),
                file.get("rows").asLong(),
                SerializationUtils.deserializeBinaryRow(file.get("min_key").binaryValue()),
                SerializationUtils.deserializeBinaryRow(file.get("max_key").binaryValue()),
                SimpleStats.EMPTY_STATS,
                SimpleStats.EMPTY_STATS,
                file.get("min_sequence").asLong(),
                file.get("max_sequence").asLong(),
                file.get("schema_id").asLong(),
                file.get("level").asInt(),
                extra,
                file.get("deletes").isNull() ? null : file.get("deletes").asLong(),
                file.get("index").isNull() ? null : file.get("index").binaryValue(),
                null,
                null,
                file.get("external_path").isNull() ? null : file.get("external_path").asText(),
                null,
                null);
    }

    private static Object value(DataField field, JsonNode value) {
        switch (field.type().getTypeRoot()) {
            case BOOLEAN: return value.asBoolean();
            case TINYINT: return (byte) value.asInt();
            case SMALLINT: return (short) value.asInt();
            case INTEGER: case DATE: return value.asInt();
            case BIGINT: return value.asLong();
            case VARCHAR: return BinaryString.fromString(value.asText());
            case TIMESTAMP_WITHOUT_TIME_ZONE:
                // Spark sees finer times cut off.
                if (DataTypeChecks.getPrecision(field.type()) <= 6) {
                    return Timestamp.fromMicros(value.asLong());
                }
                break;
            case DECIMAL: {
                DecimalType type = (DecimalType) field.type();
                return Decimal.fromBigDecimal(new BigDecimal(value.asText()), type.getPrecision(), type.getScale());
            }
            default: break;
        }
        throw new IllegalArgumentException(field.type().asSQLString());
    }
}
